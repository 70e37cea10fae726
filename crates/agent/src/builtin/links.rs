//! Repairs links that lead nowhere, where it is proven what they meant. What is not proven is left and named, with what
//! it may have meant.

use std::collections::HashMap;

use copydesk_checks::page::{Link, Page};
use copydesk_checks::repair::{BrokenLink, Meant, Proof, Repairs};
use copydesk_checks::{SiteSettings, Sites};
use copydesk_forge::Renames;

use super::chore::Links;
use super::docs::{ChoreFailure, Docs};
use super::report::code;
use super::scope::pages_of;
use super::words::listed;
use crate::WorkspaceFiles;
use crate::edits::Edits;

/// How many repairs of a page are named.
const MOST_NAMED: usize = 5;

/// `renames` is what is known of the history; an error says why nothing is.
pub(crate) fn run(chore: &Links, docs: &mut Docs, renames: &Result<Renames, String>) -> Result<(), ChoreFailure> {
    let chosen = pages_of(&chore.scope, docs)?;
    let settings = SiteSettings::new(docs.paths());
    let before = docs.workspace.clone();
    let files = WorkspaceFiles::Edited(&before);
    let sites = Sites::find(&files, &settings)?;
    let pairs = renames.as_ref().map(|it| it.pairs.as_slice()).unwrap_or_default();
    let repairs = Repairs::new(&files, &sites, pairs)?;
    let mut left_pages = false;
    for path in &chosen {
        let Some(text) = docs.text(path)? else { continue };
        let page = repairs.parse(path, &text);
        let mut broken = repairs.broken(path, &page)?;
        broken.retain(|broken| broken.only_anchor || chore.pages);
        let outcome = repair(&repairs, path, &text, &page, &broken);
        if let Some(new_text) = outcome.new_text
            && !docs.write(path, new_text, outcome.made.len(), named(&outcome.made))?
        {
            continue;
        }
        left_pages |= outcome.left_pages;
        outcome.left.into_iter().for_each(|why| docs.report.note_left(path, why));
    }
    if let Some(why) = unknown_past(renames).filter(|_| left_pages) {
        docs.report.note_left(".git", format!("moves of files may not have been seen: {why}"));
    }
    Ok(())
}

/// Why a page that has moved may not be found.
fn unknown_past(renames: &Result<Renames, String>) -> Option<&str> {
    match renames {
        Ok(renames) => renames.cut.as_deref(),
        Err(why) => Some(why),
    }
}

fn named(made: &[String]) -> String {
    let more = made.len().saturating_sub(MOST_NAMED);
    let shown = made[..made.len() - more].join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

/// What was done to one page.
#[derive(Default)]
struct Outcome {
    new_text: Option<String>,
    made: Vec<String>,
    left: Vec<String>,
    /// Whether a link to a page is among those that are left.
    left_pages: bool,
}

fn repair(repairs: &Repairs<'_>, path: &str, text: &str, page: &Page, broken: &[BrokenLink]) -> Outcome {
    let mut outcome = Outcome::default();
    let mut edits = Edits::default();
    let mut new_targets: HashMap<usize, &str> = HashMap::new();
    for broken in broken {
        let old = &broken.link.target;
        match &broken.meant {
            Meant::Proven { target, proof } => {
                outcome.made.push(format!("{} → {} ({})", code(old), code(target), because(*proof)));
                edits.replace(broken.link.range.clone(), target.clone());
                new_targets.insert(broken.link.range.start, target);
            }
            Meant::Unknown { candidates } => {
                outcome.left_pages |= !broken.only_anchor;
                outcome.left.push(left(old, broken.only_anchor, candidates));
            }
        }
    }
    if edits.len() == 0 {
        return outcome;
    }
    let new_text = edits.apply(text);
    if is_as_meant(page, &repairs.parse(path, &new_text), &new_targets) {
        outcome.new_text = Some(new_text);
    } else {
        outcome.left = vec!["its links cannot be changed safely".to_owned()];
        outcome.made.clear();
    }
    outcome
}

fn because(proof: Proof) -> &'static str {
    match proof {
        Proof::Spelling => "spelling",
        Proof::Rename => "renamed",
        Proof::Redirect => "redirected",
        Proof::Anchor => "the only heading near it",
    }
}

fn left(old: &str, only_anchor: bool, candidates: &[String]) -> String {
    let what = if only_anchor { "heading" } else { "page" };
    let candidates: Vec<String> = candidates.iter().map(|it| code(it)).collect();
    let hint = if candidates.is_empty() { String::new() } else { format!("; it may be {}", listed(&candidates, 3)) };
    format!("{}: no {what} is certainly meant{hint}", code(old))
}

/// Whether the changed page has the links that it is to have, and is the same otherwise.
fn is_as_meant(before: &Page, after: &Page, new_targets: &HashMap<usize, &str>) -> bool {
    let target =
        |link: &Link| new_targets.get(&link.range.start).map_or_else(|| link.target.clone(), |it| (*it).to_owned());
    before.links.len() == after.links.len()
        && before.problems.len() == after.problems.len()
        && before.links.iter().zip(&after.links).all(|(old, new)| target(old) == new.target && old.kind == new.kind)
        && before.headings.len() == after.headings.len()
        && before.headings.iter().zip(&after.headings).all(|(old, new)| old.anchor == new.anchor)
}
