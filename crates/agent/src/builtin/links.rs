//! Repairs links that lead nowhere, where only one page or heading can be meant.

use copydesk_checks::page::{LinkKind, Page, parse};
use copydesk_checks::repair::{BrokenLink, anchor_for, broken_links, page_for, relink};
use copydesk_checks::{SiteSettings, Sites};

use super::chore::Links;
use super::docs::{ChoreFailure, Docs};
use super::edits::Edits;
use super::report::code;
use super::scope::pages_of;
use crate::WorkspaceFiles;

/// How many repairs of a page are named.
const MOST_NAMED: usize = 5;

pub(crate) fn run(chore: &Links, docs: &mut Docs) -> Result<(), ChoreFailure> {
    let chosen = pages_of(&chore.scope, docs)?;
    let all = docs.pages()?;
    let settings = SiteSettings::new(docs.paths());
    let sites = Sites::find(&WorkspaceFiles::Edited(&docs.workspace), &settings)?;
    let map = Map { sites: &sites, pages: &all, moved: chore.pages };
    for path in &chosen {
        let Some(text) = docs.text(path)? else { continue };
        let mut outcome = map.repair(path, &text, docs)?;
        if let Some(first) = outcome.new_text.take() {
            // A link that leads to a page again may still name a heading that the page does not have.
            let second = map.repair(path, &first, docs)?;
            outcome.made.extend(second.made);
            outcome.left = second.left;
            let new_text = second.new_text.unwrap_or(first);
            if !docs.write(path, new_text, outcome.made.len(), named(&outcome.made))? {
                continue;
            }
        }
        outcome.left.into_iter().for_each(|why| docs.report.note_left(path, why));
    }
    Ok(())
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
    fn repair(&self, path: &str, text: &str, docs: &Docs) -> Result<Outcome, ChoreFailure> {
        let page = parse(path, text);
        let mut outcome = Outcome { new_text: None, made: Vec::new(), left: Vec::new() };
        let mut edits = Edits::default();
        let files = WorkspaceFiles::Edited(&docs.workspace);
        for broken in broken_links(&files, self.sites, path, &page)? {
            if broken.link.kind != LinkKind::Page || (broken.missing_anchor.is_none() && !self.moved) {
                continue;
            }
            let old = &broken.link.target;
            match self.mended(path, &page, &broken, docs)? {
                Some(new) if new != *old => {
                    outcome.made.push(format!("{} → {}", code(old), code(&new)));
                    edits.replace(broken.link.range, new);
                }
                _ if broken.missing_anchor.is_none() => {
                    outcome.left.push(format!("{}: no page is certainly meant", code(old)))
                }
                _ => outcome.left.push(format!("{}: no heading is certainly meant", code(old))),
            }
        }
        if edits.len() > 0 {
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
    fn mended(
        &self,
        path: &str,
        page: &Page,
        broken: &BrokenLink,
        docs: &Docs,
    ) -> Result<Option<String>, ChoreFailure> {
        let link = &broken.link;
        let Some((target, fragment)) = &broken.missing_anchor else {
            return Ok(page_for(path, &link.target, self.pages).and_then(|to| relink(self.sites, path, link, &to)));
        };
        let anchor = if target == path {
            anchor_for(fragment, page)
        } else {
            docs.glance(target)?.and_then(|text| anchor_for(fragment, &parse(target, &text)))
        };
        let before = link.target.split('#').next().unwrap_or_default();
        Ok(anchor.map(|anchor| format!("{before}#{anchor}")))
    }
}
