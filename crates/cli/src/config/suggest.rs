//! Finds the name somebody probably meant.

/// A name that would have been right.
pub(super) struct Candidate {
    /// The whole name, as the source would write it.
    pub(super) name: String,
    /// Its last part, which decides how many slips still count as close.
    pub(super) leaf: String,
}

/// The candidate closest to `written`, if one is close.
pub(super) fn nearest<'a>(written: &str, written_leaf: &str, candidates: &'a [Candidate]) -> Option<&'a str> {
    let close = candidates
        .iter()
        .map(|candidate| (distance(written, &candidate.name), candidate))
        .filter(|(slips, candidate)| *slips <= (candidate.leaf.len() / 3).clamp(1, 3))
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate);
    // The right name in a wrong or missing section is far away in letters.
    close.or_else(|| candidates.iter().find(|one| one.leaf == written_leaf)).map(|candidate| candidate.name.as_str())
}

/// Edits between two texts, where swapping two neighbours is one edit.
pub(super) fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}
