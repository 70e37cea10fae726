//! What two lists have in common.

use std::hash::Hash;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput, Interner};

/// What is different between two lists: from where to where, on both sides.
pub(super) fn compare<'t, T: Eq + Hash + 't>(
    old: impl Iterator<Item = &'t T>,
    new: impl Iterator<Item = &'t T>,
) -> Vec<(Range<usize>, Range<usize>)> {
    let mut input = InternedInput { before: Vec::new(), after: Vec::new(), interner: Interner::new(64) };
    input.update_before(old);
    input.update_after(new);
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let wide = |range: Range<u32>| range.start as usize..range.end as usize;
    diff.hunks().map(|hunk| (wide(hunk.before), wide(hunk.after))).collect()
}

/// How much must stay for a difference to be worth marking in the middle of a line or a paragraph.
pub(super) fn is_alike(changed: &[(Range<usize>, Range<usize>)], old: usize, new: usize) -> bool {
    let gone: usize = changed.iter().map(|(old, _)| old.len()).sum();
    5 * old.saturating_sub(gone) >= 2 * old.max(new)
}

/// The places of a changed line that are marked, on both sides; none if it is as good as another line.
pub(super) fn marks(old: &[&str], new: &[&str]) -> Option<(Vec<bool>, Vec<bool>)> {
    let changed = compare(old.iter(), new.iter());
    if !is_alike(&changed, old.len(), new.len()) {
        return None;
    }
    let (mut before, mut after) = (vec![false; old.len()], vec![false; new.len()]);
    for (gone, come) in changed {
        before[gone].fill(true);
        after[come].fill(true);
    }
    bridge(&mut before, old);
    bridge(&mut after, new);
    Some((before, after))
}

/// A space between two marked words is marked too: they were changed together.
fn bridge(marks: &mut [bool], words: &[&str]) {
    for at in 1..marks.len().saturating_sub(1) {
        if marks[at - 1] && marks[at + 1] && words[at].starts_with(char::is_whitespace) {
            marks[at] = true;
        }
    }
}
