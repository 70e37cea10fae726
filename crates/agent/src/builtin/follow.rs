//! Links to headings whose anchor has changed.

use std::collections::{HashMap, HashSet};

use copydesk_checks::page::{LinkKind, Page, anchor_key, parse};

use super::address::{Address, Pages};
use super::docs::{ChoreFailure, Docs};
use crate::edits::Edits;
use crate::text::counted;

/// An anchor of a page that has another name now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Renamed {
    path: String,
    old: String,
    new: String,
}

impl Renamed {
    /// The anchors that differ between two states of a page; none if the headings are not the same ones.
    pub(crate) fn between(path: &str, before: &Page, after: &Page) -> Vec<Self> {
        if before.headings.len() != after.headings.len() {
            return Vec::new();
        }
        let pairs = before.headings.iter().zip(&after.headings).filter(|(old, new)| old.anchor != new.anchor);
        pairs
            .map(|(old, new)| Self { path: path.to_owned(), old: old.anchor.clone(), new: new.anchor.clone() })
            .collect()
    }
}

/// Changes the links of all pages that lead to these anchors.
pub(crate) fn follow(renamed: &[Renamed], docs: &mut Docs) -> Result<(), ChoreFailure> {
    if renamed.is_empty() {
        return Ok(());
    }
    let all = docs.pages()?;
    let roots = docs.paths().to_vec();
    let pages = Pages::new(&all, &roots);
    let targets: HashMap<(&str, String), &str> =
        renamed.iter().map(|it| ((it.path.as_str(), anchor_key(&it.old)), it.new.as_str())).collect();
    let names: HashSet<String> = renamed.iter().map(|it| anchor_key(&it.old)).collect();
    for path in &all {
        // What cannot be read was named before, if it was among the pages to change.
        let Some(text) = docs.glance(path)?.filter(|text| text.contains('#')) else {
            continue;
        };
        let mut edits = Edits::default();
        for link in parse(path, &text).links.iter().filter(|link| link.kind == LinkKind::Page) {
            let Some(address) = Address::of(&link.target) else { continue };
            let Some(key) = address.fragment.as_deref().map(anchor_key).filter(|key| names.contains(key)) else {
                continue;
            };
            let Some(page) = pages.find(path, &address.path) else { continue };
            let Some(new) = targets.get(&(page, key)) else { continue };
            if let Some(at) = text[link.range.clone()].find('#') {
                edits.replace(link.range.start + at + 1..link.range.end, *new);
            }
        }
        let places = edits.len();
        if places > 0 {
            let how = format!("{} to a heading that was renamed", counted(places, "link"));
            docs.write(path, edits.apply(&text), places, how)?;
        }
    }
    Ok(())
}
