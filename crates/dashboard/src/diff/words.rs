//! What two lists have in common.

use std::hash::Hash;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput, Interner};

/// From where to where two lists differ, on both sides.
pub(super) type Difference = (Range<usize>, Range<usize>);

/// What is different between two lists.
pub(super) fn compare<'t, T: Eq + Hash + 't>(
    old: impl Iterator<Item = &'t T>,
    new: impl Iterator<Item = &'t T>,
) -> Vec<Difference> {
    let mut input = InternedInput { before: Vec::new(), after: Vec::new(), interner: Interner::new(64) };
    input.update_before(old);
    input.update_after(new);
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let wide = |range: Range<u32>| range.start as usize..range.end as usize;
    diff.hunks().map(|hunk| (wide(hunk.before), wide(hunk.after))).collect()
}

/// What a token weighs when two texts are held against each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    Word,
    Space,
    /// Signs, and what surrounds words.
    Other,
}

impl Weight {
    pub(super) fn of(word: &str) -> Self {
        match word.chars().next() {
            Some(c) if c.is_alphanumeric() => Self::Word,
            Some(c) if c.is_whitespace() => Self::Space,
            _ => Self::Other,
        }
    }
}

/// The differences of two texts as somebody reads them: words that were changed together are changed as one. None if too little
/// stays for marks to be of any help.
pub(super) fn readable(differences: Vec<Difference>, old: &[Weight], new: &[Weight]) -> Option<Vec<Difference>> {
    // Signs alone make no two texts alike, unless there is nothing else.
    let has_words = old.iter().chain(new).any(|weight| *weight == Weight::Word);
    let counts = |weights: &[Weight]| {
        let counted = |weight: &&Weight| **weight == Weight::Word || (!has_words && **weight == Weight::Other);
        weights.iter().filter(counted).count()
    };
    let gone: usize = differences.iter().map(|(range, _)| counts(&old[range.clone()])).sum();
    let (all_old, all_new) = (counts(old), counts(new));
    if 5 * all_old.saturating_sub(gone) < 2 * all_old.max(all_new) {
        return None;
    }
    let mut joined: Vec<Difference> = Vec::with_capacity(differences.len());
    for (gone, come) in differences {
        match joined.last_mut() {
            Some((before, after)) if old[before.end..gone.start].iter().all(|weight| *weight == Weight::Space) => {
                (before.end, after.end) = (gone.end, come.end);
            }
            _ => joined.push((gone, come)),
        }
    }
    Some(joined)
}
