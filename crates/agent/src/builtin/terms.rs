//! Finds a term in a text: whole words, and where lines break, white space is white space.

use std::ops::Range;

use copydesk_checks::page::Page;

/// A character of a text and where it stands. White space, with what stands at the start of the next line of the same
/// paragraph, is one space.
#[derive(Debug, Clone, Copy)]
struct Unit {
    c: char,
    start: usize,
    end: usize,
}

/// A term to find, and what it is to become.
pub(crate) struct Term {
    old: Vec<char>,
    new: Vec<char>,
    ignore_case: bool,
    inside_words: bool,
    /// Where the old term stands in the new one: what is already new is not made new again.
    old_in_new: Vec<usize>,
}

/// A place where the term stands, and what to write there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) range: Range<usize>,
    pub(crate) new: String,
}

impl Term {
    pub(crate) fn new(old: &str, new: &str, ignore_case: bool, inside_words: bool) -> Self {
        let mut term = Self { old: spaced(old), new: spaced(new), ignore_case, inside_words, old_in_new: Vec::new() };
        let last = term.new.len().checked_sub(term.old.len()).filter(|_| !term.old.is_empty());
        let starts = (0..=last.unwrap_or(0)).filter(|_| last.is_some());
        let same = |at: &usize| term.new[*at..].iter().zip(&term.old).all(|(a, b)| term.same(*a, *b));
        term.old_in_new = starts.filter(same).collect();
        term
    }

    /// Whether the term can be in a text at all; quick, and may say yes for nothing.
    pub(crate) fn may_be_in(&self, text: &str) -> bool {
        let word: String = self.old.iter().take_while(|c| **c != ' ').collect();
        if self.ignore_case { text.to_lowercase().contains(&word.to_lowercase()) } else { text.contains(&word) }
    }

    /// Where the term stands in what people read of a page, but not in addresses that are written out.
    pub(crate) fn in_prose(&self, page: &Page, text: &str) -> Vec<Match> {
        let runs = runs(page, text);
        runs.iter().flat_map(|run| self.find(&units(text, run), text)).collect()
    }

    /// Where the term stands in a part of a text, as it is written.
    pub(crate) fn in_part(&self, text: &str, part: &Range<usize>) -> Vec<Match> {
        let Some(inside) = text.get(part.clone()) else {
            return Vec::new();
        };
        let unit = |(at, c): (usize, char)| Unit { c, start: part.start + at, end: part.start + at + c.len_utf8() };
        let units: Vec<Unit> = inside.char_indices().map(unit).collect();
        self.find(&units, text)
    }

    /// A text with the term replaced; the number of places too.
    pub(crate) fn replaced(&self, text: &str) -> (String, usize) {
        let mut edits = super::edits::Edits::default();
        for found in self.in_part(text, &(0..text.len())) {
            edits.replace(found.range, found.new);
        }
        let count = edits.len();
        (edits.apply(text), count)
    }

    fn same(&self, a: char, b: char) -> bool {
        a == b || (self.ignore_case && a.to_lowercase().eq(b.to_lowercase()))
    }

    fn find(&self, units: &[Unit], text: &str) -> Vec<Match> {
        let mut found = Vec::new();
        let mut at = 0;
        while at + self.old.len() <= units.len() && !self.old.is_empty() {
            if let Some(skip) = self.already_new(units, at) {
                at += skip;
            } else if self.is_at(units, at, text) {
                let matched = &units[at..at + self.old.len()];
                found.push(Match {
                    range: matched[0].start..matched[matched.len() - 1].end,
                    new: self.written(matched, text),
                });
                at += self.old.len();
            } else {
                at += 1;
            }
        }
        found
    }

    fn is_at(&self, units: &[Unit], at: usize, text: &str) -> bool {
        let end = at + self.old.len();
        let here = &units[at..end];
        here.iter().zip(&self.old).all(|(unit, c)| self.same(unit.c, *c))
            && (self.inside_words
                || (is_edge(units, at, here[0].start, text, Side::Before)
                    && is_edge(units, end, here[here.len() - 1].end, text, Side::After)))
    }

    /// How far to go on if the term at `at` is part of the new term, which stands here already.
    fn already_new(&self, units: &[Unit], at: usize) -> Option<usize> {
        let is_new = |offset: &&usize| {
            let Some(start) = at.checked_sub(**offset) else { return false };
            let Some(here) = units.get(start..start + self.new.len()) else { return false };
            here.iter().zip(&self.new).all(|(unit, c)| unit.c == *c)
        };
        let offset = self.old_in_new.iter().find(is_new)?;
        Some(self.new.len() - offset)
    }

    /// The new term, with the line breaks that were in the old one.
    fn written(&self, matched: &[Unit], text: &str) -> String {
        let mut gaps = matched.iter().filter(|unit| unit.c == ' ').map(|unit| &text[unit.start..unit.end]);
        let mut new = String::new();
        for c in &self.new {
            match (c, gaps.next_if_space(*c)) {
                (_, Some(gap)) => new.push_str(gap),
                (c, None) => new.push(*c),
            }
        }
        new
    }
}

/// Takes a gap for a space, and nothing for other characters.
trait Gaps<'a> {
    fn next_if_space(&mut self, c: char) -> Option<&'a str>;
}

impl<'a, I: Iterator<Item = &'a str>> Gaps<'a> for I {
    fn next_if_space(&mut self, c: char) -> Option<&'a str> {
        if c == ' ' { self.next() } else { None }
    }
}

fn spaced(term: &str) -> Vec<char> {
    term.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

/// Whether a word ends here. What is next to it may be markup, where `_` is not part of a word.
fn is_edge(units: &[Unit], at: usize, byte: usize, text: &str, side: Side) -> bool {
    let (inside, outside) = match side {
        Side::Before => (at.checked_sub(1).and_then(|at| units.get(at)), text[..byte].chars().next_back()),
        Side::After => (units.get(at), text[byte..].chars().next()),
    };
    let own = match side {
        Side::Before => units.get(at),
        Side::After => at.checked_sub(1).and_then(|at| units.get(at)),
    };
    if !own.is_some_and(|unit| is_word(unit.c)) {
        return true;
    }
    match (inside, outside) {
        (Some(unit), _) => !is_word(unit.c),
        (None, Some(c)) => !c.is_alphanumeric(),
        (None, None) => true,
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The prose of a page in pieces that belong together: lines of a paragraph are one, a heading is one of its own.
fn runs(page: &Page, text: &str) -> Vec<Vec<Range<usize>>> {
    let mut runs: Vec<Vec<Range<usize>>> = Vec::new();
    for range in &page.prose {
        let joins = runs.last().and_then(|run| run.last()).is_some_and(|last| {
            let same_heading = heading_of(page, last.start) == heading_of(page, range.start);
            same_heading && text.get(last.end..range.start).is_some_and(is_soft_break)
        });
        match runs.last_mut() {
            Some(run) if joins => run.push(range.clone()),
            _ => runs.push(vec![range.clone()]),
        }
    }
    runs
}

fn heading_of(page: &Page, at: usize) -> Option<usize> {
    let after = page.headings.partition_point(|heading| heading.range.start <= at);
    let last = after.checked_sub(1)?;
    page.headings.get(last).filter(|heading| at < heading.range.end).map(|_| last)
}

/// A line break within a paragraph, also one in a quotation.
fn is_soft_break(gap: &str) -> bool {
    gap.is_empty()
        || (gap.matches('\n').count() <= 1 && gap.chars().all(|c| c.is_whitespace() || c == '>'))
            && gap.starts_with(['\n', '\r', ' '])
}

fn units(text: &str, run: &[Range<usize>]) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    for range in run {
        let inside = text.get(range.clone()).unwrap_or_default();
        if let Some(last) = units.last()
            && last.end < range.start
        {
            let gap = Unit { c: ' ', start: last.end, end: range.start };
            push(&mut units, gap);
        }
        for (at, c) in inside.char_indices() {
            let start = range.start + at;
            let c = if c.is_whitespace() { ' ' } else { c };
            push(&mut units, Unit { c, start, end: start + text[start..].chars().next().map_or(0, char::len_utf8) });
        }
    }
    hide_addresses(&mut units);
    units
}

fn push(units: &mut Vec<Unit>, unit: Unit) {
    match units.last_mut() {
        Some(last) if last.c == ' ' && unit.c == ' ' => last.end = unit.end,
        _ => units.push(unit),
    }
}

/// Addresses that are written out in a text are no prose: their characters match nothing.
fn hide_addresses(units: &mut [Unit]) {
    for word in units.split_mut(|unit| unit.c == ' ') {
        let text: String = word.iter().map(|unit| unit.c).collect();
        if is_address(&text) {
            word.iter_mut().for_each(|unit| unit.c = '\u{0}');
        }
    }
}

/// Whether a word is an address or a path rather than something to read.
pub(crate) fn is_address(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let mail = word.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
    word.contains("://") || word.starts_with("www.") || word.starts_with("mailto:") || mail
}

#[cfg(test)]
mod tests {
    use copydesk_checks::page::parse;
    use proptest::prelude::*;

    use super::super::edits::Edits;
    use super::*;

    fn replaced(text: &str, old: &str, new: &str) -> String {
        with(text, &Term::new(old, new, false, false))
    }

    fn with(text: &str, term: &Term) -> String {
        let mut edits = Edits::default();
        for found in term.in_prose(&parse("a.md", text), text) {
            edits.replace(found.range, found.new);
        }
        edits.apply(text)
    }

    #[test]
    fn whole_words_only_unless_asked_for() {
        assert_eq!(
            replaced("cat, category, a cat-like cat_x concat cat", "cat", "dog"),
            "dog, category, a dog-like cat_x concat dog"
        );
        assert_eq!(with("category", &Term::new("cat", "dog", false, true)), "dogegory");
        assert_eq!(with("Cat CAT cat", &Term::new("cat", "dog", true, false)), "dog dog dog");
        assert_eq!(replaced("Cat cat", "cat", "dog"), "Cat dog");
        assert_eq!(replaced("C++ and C", "C++", "Rust"), "Rust and C");
    }

    #[test]
    fn markup_around_a_term_is_no_part_of_it() {
        assert_eq!(
            replaced("_Acme Cloud_ **Acme Cloud** [Acme Cloud](x)", "Acme Cloud", "Sky"),
            "_Sky_ **Sky** [Sky](x)"
        );
        assert_eq!(replaced("`cat`cat", "cat", "dog"), "`cat`dog");
    }

    #[test]
    fn lines_of_a_paragraph_break_anywhere_but_paragraphs_and_headings_are_apart() {
        assert_eq!(replaced("> Acme\n> Cloud is", "Acme Cloud", "Acme Sky"), "> Acme\n> Sky is");
        assert_eq!(replaced("Acme\r\n  Cloud is", "Acme Cloud", "Sky"), "Sky is");
        for text in ["# Acme\nCloud", "Acme\n\nCloud", "- Acme\n- Cloud", "| Acme | Cloud |\n| --- | --- |\n"] {
            assert_eq!(replaced(text, "Acme Cloud", "Sky"), text);
        }
    }

    #[test]
    fn addresses_are_left() {
        let text = "see https://cat.example/cat or cat@cat.example, cat";
        assert_eq!(replaced(text, "cat", "dog"), "see https://cat.example/cat or cat@cat.example, dog");
    }

    #[test]
    fn what_is_new_already_is_not_made_new_again() {
        assert_eq!(replaced("Cloud, Acme Cloud", "Cloud", "Acme Cloud"), "Acme Cloud, Acme Cloud");
        assert_eq!(replaced("Cloud", "Cloud", "Cloud Cloud"), "Cloud Cloud");
        assert_eq!(replaced("Cloud Cloud", "Cloud", "Cloud Cloud"), "Cloud Cloud");
    }

    proptest! {
        #[test]
        fn only_prose_changes_and_only_once(
            parts in prop::collection::vec(prop::sample::select(vec![
                "cat", " ", "\n", "\n\n", "# ", "`cat`", "[cat](cat)", "```\ncat\n```\n", "<b cat='cat'>", "- ", "| ", "*", "_",
                "> ", "\\", "{cat}", "&cat;", "äcat", "https://cat", "\r\n", "ー",
            ]), 0..24),
            path in prop::sample::select(vec!["a.md", "a.mdx"]),
        ) {
            let text = parts.concat();
            let page = parse(path, &text);
            let term = Term::new("cat", "the dog", false, false);
            let found = term.in_prose(&page, &text);
            for one in &found {
                prop_assert!(page.prose.iter().any(|prose| prose.start <= one.range.start && one.range.end <= prose.end));
                prop_assert_eq!(&text[one.range.clone()], "cat");
            }
            prop_assert!(found.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start));
        }
    }
}
