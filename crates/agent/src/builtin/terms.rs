//! Finds a term in a text: whole words, and where lines break, white space is white space.

use std::ops::Range;

use copydesk_checks::page::Page;

use crate::edits::Edits;

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

    /// Where the term stands, and what to write there, in what people read of a page, but not in addresses that are written out.
    pub(crate) fn in_prose(&self, page: &Page, text: &str) -> Vec<(Range<usize>, String)> {
        let runs = runs(page, text);
        runs.iter().flat_map(|run| self.find(&units(text, run), text)).collect()
    }

    /// The same in a part of a text, as it is written.
    pub(crate) fn in_part(&self, text: &str, part: &Range<usize>) -> Vec<(Range<usize>, String)> {
        let Some(inside) = text.get(part.clone()) else {
            return Vec::new();
        };
        let unit = |(at, c): (usize, char)| Unit { c, start: part.start + at, end: part.start + at + c.len_utf8() };
        let units: Vec<Unit> = inside.char_indices().map(unit).collect();
        self.find(&units, text)
    }

    /// A text with the term replaced; the number of places too.
    pub(crate) fn replaced(&self, text: &str) -> (String, usize) {
        let mut edits = Edits::default();
        edits.replace_all(self.in_part(text, &(0..text.len())));
        let count = edits.len();
        (edits.apply(text), count)
    }

    fn same(&self, a: char, b: char) -> bool {
        a == b || (self.ignore_case && a.to_lowercase().eq(b.to_lowercase()))
    }

    fn find(&self, units: &[Unit], text: &str) -> Vec<(Range<usize>, String)> {
        let mut found = Vec::new();
        let mut at = 0;
        while at + self.old.len() <= units.len() && !self.old.is_empty() {
            if let Some(skip) = self.already_new(units, at) {
                at += skip;
            } else if self.is_at(units, at, text) {
                let matched = &units[at..at + self.old.len()];
                let range = matched[0].start..matched[matched.len() - 1].end;
                found.push((range, self.written(matched, text)));
                at += self.old.len();
            } else {
                at += 1;
            }
        }
        found
    }

    fn is_at(&self, units: &[Unit], at: usize, text: &str) -> bool {
        let end = at + self.old.len();
        let (first, last) = (units[at], units[end - 1]);
        let before = at.checked_sub(1).and_then(|at| units.get(at));
        units[at..end].iter().zip(&self.old).all(|(unit, c)| self.same(unit.c, *c))
            && (self.inside_words
                || (is_edge(first, before, text[..first.start].chars().next_back())
                    && is_edge(last, units.get(end), text[last.end..].chars().next())))
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
        let gaps = matched.iter().filter(|unit| unit.c == ' ').map(|unit| &text[unit.start..unit.end]);
        let mut gaps = gaps.peekable();
        let mut new = String::new();
        for c in &self.new {
            match gaps.next_if(|_| *c == ' ') {
                Some(gap) => new.push_str(gap),
                None => new.push(*c),
            }
        }
        new
    }
}

fn spaced(term: &str) -> Vec<char> {
    term.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect()
}

/// Whether a word ends between a unit and the one next to it. Outside of the units is markup, where `_` is not part of a
/// word.
fn is_edge(own: Unit, next: Option<&Unit>, outside: Option<char>) -> bool {
    !is_word(own.c) || !next.map_or_else(|| outside.is_some_and(char::is_alphanumeric), |unit| is_word(unit.c))
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
            let end = start + c.len_utf8();
            push(&mut units, Unit { c: if c.is_whitespace() { ' ' } else { c }, start, end });
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

/// Whether a term is an address itself, so that addresses are what it is to be replaced in: `https://a.example/x`,
/// `docs.a.example`.
pub(crate) fn names_address(term: &str) -> bool {
    let host = term.split('/').next().unwrap_or_default();
    let labels: Vec<&str> = host.split('.').collect();
    let label = |label: &&str| !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let top = labels.last().is_some_and(|top| top.len() >= 2 && top.chars().all(|c| c.is_ascii_alphabetic()));
    let is_host = labels.len() >= 3 && labels.iter().all(label) && top;
    !term.contains(char::is_whitespace) && (term.contains("://") || term.starts_with("www.") || is_host)
}

/// Whether an address ends where a found one does: `https://a.example` is not in `https://a.example.org`, and a host is not
/// in the address of mail or in a longer name.
pub(crate) fn is_whole_address(text: &str, found: &Range<usize>) -> bool {
    let before = text[..found.start].chars().next_back();
    let mut after = text[found.end..].chars();
    let next = after.next();
    let goes_on = next.is_some_and(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
        || next == Some('.') && after.next().is_some_and(char::is_alphanumeric);
    let ends = text[found.clone()].ends_with('/') || !goes_on;
    ends && !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '@'))
}

/// Whether a word is an address or a path rather than something to read.
fn is_address(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let mail = word.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
    word.contains("://") || word.starts_with("www.") || word.starts_with("mailto:") || mail
}

#[cfg(test)]
mod tests {
    use copydesk_checks::page::parse;
    use proptest::prelude::*;

    use super::*;

    fn replaced(text: &str, old: &str, new: &str) -> String {
        with(text, &Term::new(old, new, false, false))
    }

    fn with(text: &str, term: &Term) -> String {
        let mut edits = Edits::default();
        edits.replace_all(term.in_prose(&parse("a.md", text), text));
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
            for (range, _) in &found {
                prop_assert!(page.prose.iter().any(|prose| prose.start <= range.start && range.end <= prose.end));
                prop_assert_eq!(&text[range.clone()], "cat");
            }
            prop_assert!(found.windows(2).all(|pair| pair[0].0.end <= pair[1].0.start));
        }
    }
}
