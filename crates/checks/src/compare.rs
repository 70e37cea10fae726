//! What a change brought and what it mended.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use copydesk_domain::CheckSummary;

use crate::tally::Tally;
use crate::{Check, Finding, paths};

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
    let (mut moved, mut gone) = (Vec::new(), Vec::new());
    for ((_, path, _), findings) in left {
        if moves.deleted.contains(path) { moved.extend(findings) } else { gone.extend(findings) }
    }
    let (mut arrived, mut new): (Vec<&Finding>, Vec<&Finding>) =
        unmatched.into_iter().partition(|finding| moves.added.contains(&finding.path));
    // A link that leads to the same place from elsewhere is written in another way; else it is what is written that counts.
    cancel(&mut arrived, &mut moved, target);
    cancel(&mut arrived, &mut moved, |finding| Some(finding.subject.clone()));
    new.extend(arrived);
    gone.extend(moved);
    // What was broken and still is, in another way: the same place of the same line has another link.
    cancel(&mut new, &mut gone, |finding| finding.around.map(|around| (finding.path.clone(), around)));
    // In the order in which they were found, which is that of the list they are in.
    new.sort_by_key(|finding| std::ptr::from_ref(*finding));
    let owned = |findings: Vec<&Finding>| findings.into_iter().cloned().collect();
    (owned(new), owned(gone))
}

/// Takes away from both what has the same key, as often as both have it.
fn cancel<K: Eq + Hash>(new: &mut Vec<&Finding>, gone: &mut Vec<&Finding>, key: impl Fn(&Finding) -> Option<K>) {
    let key = |finding: &Finding| key(finding).map(|key| (kind(finding.check), key));
    let mut left: HashMap<(Kind, K), usize> = HashMap::new();
    for key in gone.iter().filter_map(|finding| key(finding)) {
        *left.entry(key).or_default() += 1;
    }
    let mut taken: HashMap<(Kind, K), usize> = HashMap::new();
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

/// The file that a finding is about, if it is about a link that is written from where its page lies.
fn target(finding: &Finding) -> Option<String> {
    let is_link = matches!(finding.check, Check::Links | Check::Anchors | Check::Images | Check::Snippets);
    let (path, place) = finding.subject.split_once('#').unwrap_or((&finding.subject, ""));
    if !is_link || path.is_empty() || path.starts_with('/') || path.contains(':') {
        return None;
    }
    Some(format!("{}#{place}", paths::normalise(paths::folder(&finding.path), path)?))
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
