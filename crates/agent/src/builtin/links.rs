//! Repairs links that lead nowhere, where only one page or heading can be meant.

use copydesk_checks::page::{Link, LinkKind, Page, parse};
use copydesk_checks::repair::{BrokenLink, anchor_for, broken_links, page_for, relink};
use copydesk_checks::{SiteSettings, Sites};

use super::address::Address;
use super::chore::Links;
use super::desk::{Desk, Trouble};
use super::edits::Edits;
use super::report::{Report, code};
use super::scope::pages_of;
use crate::WorkspaceFiles;

/// How many repairs of a page are named.
const MOST_NAMED: usize = 5;

/// Does it.
pub(crate) fn run(chore: &Links, desk: &mut Desk) -> Result<Report, Trouble> {
    let mut report = Report::default();
    let chosen = pages_of(&chore.scope, desk)?;
    report.looked_at(chosen.len());
    let all = desk.pages()?;
    let settings = SiteSettings::new(desk.docs_paths());
    let sites = Sites::find(&WorkspaceFiles::Edited(&desk.workspace), &settings)?;
    let map = Map { sites: &sites, pages: &all, moved: chore.pages };
    for path in &chosen {
        let Some(text) = desk.text(path, &mut report)? else {
            continue;
        };
        let mut outcome = map.repair(path, &text, desk)?;
        if let Some(first) = outcome.new_text.take() {
            // A link that leads to a page again may still name a heading that the page does not have.
            let second = map.repair(path, &first, desk)?;
            outcome.made.extend(second.made);
            outcome.left = second.left;
            let places = outcome.made.len();
            if !desk.write(path, second.new_text.unwrap_or(first), &mut report)? {
                continue;
            }
            report.change(path, places, named(&outcome.made));
        }
        outcome.left.into_iter().for_each(|why| report.leave(path, why));
    }
    Ok(report)
}

fn named(made: &[String]) -> String {
    let more = made.len().saturating_sub(MOST_NAMED);
    let shown = made[..made.len() - more].join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

/// What is known about the documentation.
struct Map<'a> {
    sites: &'a Sites,
    pages: &'a [String],
    /// Whether links to pages that are not there are repaired too.
    moved: bool,
}

/// What was done to one page.
struct Outcome {
    new_text: Option<String>,
    made: Vec<String>,
    left: Vec<String>,
}

impl Map<'_> {
    fn repair(&self, path: &str, text: &str, desk: &Desk) -> Result<Outcome, Trouble> {
        let page = parse(path, text);
        let mut outcome = Outcome { new_text: None, made: Vec::new(), left: Vec::new() };
        let mut edits = Edits::default();
        let files = WorkspaceFiles::Edited(&desk.workspace);
        for broken in broken_links(&files, self.sites, path, &page)? {
            if broken.link.kind != LinkKind::Page || (broken.page.is_none() && !self.moved) {
                continue;
            }
            let old = &broken.link.target;
            match self.mended(path, &page, &broken, desk)? {
                Some(new) if new != *old => {
                    outcome.made.push(format!("{} → {}", code(old), code(&new)));
                    edits.replace(broken.link.range, new);
                }
                _ if broken.page.is_none() => outcome.left.push(format!("{}: no page is certainly meant", code(old))),
                _ => outcome.left.push(format!("{}: no heading is certainly meant", code(old))),
            }
        }
        if !edits.is_empty() {
            let new_text = edits.apply(text);
            let new_page = parse(path, &new_text);
            if new_page.links.len() == page.links.len() && new_page.problems.len() == page.problems.len() {
                outcome.new_text = Some(new_text);
            } else {
                outcome.left = vec!["its links cannot be changed safely".to_owned()];
                outcome.made.clear();
            }
        }
        Ok(outcome)
    }

    /// The link as it must have been meant; none if that is not certain.
    fn mended(&self, path: &str, page: &Page, broken: &BrokenLink, desk: &Desk) -> Result<Option<String>, Trouble> {
        let link: &Link = &broken.link;
        let Some(target) = &broken.page else {
            return Ok(page_for(path, &link.target, self.pages).and_then(|to| relink(self.sites, path, link, &to)));
        };
        let Some(fragment) = Address::of(&link.target).and_then(|address| address.fragment) else {
            return Ok(None);
        };
        let anchor = if target == path {
            anchor_for(&fragment, page)
        } else {
            let text = desk.text(target, &mut Report::default())?;
            text.and_then(|text| anchor_for(&fragment, &parse(target, &text)))
        };
        let before = link.target.split('#').next().unwrap_or_default();
        Ok(anchor.map(|anchor| format!("{before}#{anchor}")))
    }
}
