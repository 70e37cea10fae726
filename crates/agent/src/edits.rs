//! Changes of a text by byte ranges: what is not named is kept to the byte.

use std::ops::Range;

#[derive(Debug, Default)]
pub(crate) struct Edits {
    all: Vec<(Range<usize>, String)>,
}

impl Edits {
    pub(crate) fn replace(&mut self, range: Range<usize>, text: impl Into<String>) {
        self.all.push((range, text.into()));
    }

    pub(crate) fn replace_all(&mut self, all: impl IntoIterator<Item = (Range<usize>, String)>) {
        self.all.extend(all);
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// The ranges that are changed, sorted.
    pub(crate) fn ranges(&self) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = self.all.iter().map(|(range, _)| range.clone()).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        ranges
    }

    /// The text with the changes. A change that overlaps one before it or cuts a character in two is not made.
    pub(crate) fn apply(mut self, text: &str) -> String {
        self.all.sort_by_key(|(range, _)| (range.start, range.end));
        let mut out = String::with_capacity(text.len() + 64);
        let mut at = 0;
        for (range, new) in self.all {
            let (Some(before), true) = (text.get(at..range.start), text.is_char_boundary(range.end)) else {
                continue;
            };
            out.push_str(before);
            out.push_str(&new);
            at = range.end.max(at);
        }
        out.push_str(text.get(at..).unwrap_or_default());
        out
    }
}

/// The line break that a text uses.
pub(crate) fn line_break(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn changes_are_made_in_order_and_once() {
        let mut edits = Edits::default();
        edits.replace(4..5, "E");
        edits.replace(0..1, "AA");
        edits.replace(0..3, "overlaps");
        assert_eq!(edits.apply("abcde"), "AAbcdE");
    }

    proptest! {
        #[test]
        fn no_ranges_make_it_panic(text in "\\PC{0,20}", ranges in prop::collection::vec((0usize..40, 0usize..40), 0..6)) {
            let mut edits = Edits::default();
            for (start, end) in ranges {
                edits.replace(start..end.max(start), "x");
            }
            edits.apply(&text);
        }
    }
}
