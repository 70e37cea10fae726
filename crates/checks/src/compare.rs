//! What a change brought and what it mended.

use std::collections::{HashMap, HashSet};

use copydesk_domain::CheckSummary;

use crate::tally::Tally;
use crate::{Check, Finding};

/// How a change compares with its base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// What each check says of the change, in their order.
    pub checks: Vec<CheckSummary>,
    /// What is wrong now and was not before, check by check.
    pub new: Vec<Finding>,
    /// What was judged in the pages that the change may have broken.
    pub tally: Tally,
    /// How many pages that was.
    pub pages: usize,
    /// The checks that had nothing to judge.
    pub idle: Vec<Check>,
}

/// Files that only one side has: a finding that moves from the one kind to the other has moved with its file.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    pub(crate) deleted: HashSet<String>,
    pub(crate) added: HashSet<String>,
}

/// The findings of `now` that `base` does not have, and those of `base` that are gone. Places do not matter, numbers do.
pub(crate) fn difference(base: &[Finding], now: &[Finding], moves: &Moves) -> (Vec<Finding>, Vec<Finding>) {
    let mut left: HashMap<(Kind, &str, &str), Vec<&Finding>> = HashMap::new();
    for finding in base {
        left.entry((kind(finding.check), &finding.path, &finding.subject)).or_default().push(finding);
    }
    let mut unmatched = Vec::new();
    for finding in now {
        let key = (kind(finding.check), finding.path.as_str(), finding.subject.as_str());
        if left.get_mut(&key).and_then(Vec::pop).is_none() {
            unmatched.push(finding);
        }
    }
    let mut moved: HashMap<(Kind, &str), Vec<&Finding>> = HashMap::new();
    let mut gone = Vec::new();
    for ((kind, path, subject), findings) in left {
        if moves.deleted.contains(path) {
            moved.entry((kind, subject)).or_default().extend(findings);
        } else {
            gone.extend(findings);
        }
    }
    let mut new = Vec::new();
    for finding in unmatched {
        let key = (kind(finding.check), finding.subject.as_str());
        let has_moved = moves.added.contains(&finding.path) && moved.get_mut(&key).and_then(Vec::pop).is_some();
        if !has_moved {
            new.push(finding.clone());
        }
    }
    gone.extend(moved.into_values().flatten());
    exchanged(&mut new, &mut gone);
    (new, gone.into_iter().cloned().collect())
}

/// Takes away what was broken and still is, in another way: the same place of the same line has another link.
fn exchanged(new: &mut Vec<Finding>, gone: &mut Vec<&Finding>) {
    let key = |finding: &Finding| finding.around.map(|around| (kind(finding.check), finding.path.clone(), around));
    let mut left: HashMap<_, usize> = HashMap::new();
    for key in gone.iter().filter_map(|finding| key(finding)) {
        *left.entry(key).or_default() += 1;
    }
    let mut taken: HashMap<_, usize> = HashMap::new();
    new.retain(|finding| {
        let Some(key) = key(finding) else { return true };
        let Some(count) = left.get_mut(&key).filter(|count| **count > 0) else { return true };
        *count -= 1;
        *taken.entry(key).or_default() += 1;
        false
    });
    gone.retain(|finding| {
        let count = key(finding).and_then(|key| taken.get_mut(&key)).filter(|count| **count > 0);
        count.map(|count| *count -= 1).is_none()
    });
}

/// A link that led nowhere and now leads to a page without its anchor was broken and still is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Link,
    Of(Check),
}

fn kind(check: Check) -> Kind {
    match check {
        Check::Links | Check::Anchors => Kind::Link,
        other => Kind::Of(other),
    }
}
