//! Corrects typos that have exactly one correction. Code, front matter, addresses and identifiers are left alone.

mod dictionary;

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use copydesk_checks::page::{Page, parse};

use super::chore::Scope;
use super::docs::{ChoreFailure, Docs};
use super::edits::Edits;
use super::follow::{Renamed, follow};
use super::language::is_english;
use super::report::code;
use super::scope::pages_of;
use super::words::counted;

const MOST_NAMED: usize = 8;

/// First all pages are looked through, since a word that is in code anywhere is no slip; then those with typos are
/// corrected.
pub(crate) fn run(scope: &Scope, docs: &mut Docs) -> Result<(), ChoreFailure> {
    let mut with_typos = Vec::new();
    let mut in_code = HashSet::new();
    for path in pages_of(scope, docs)? {
        if let Some(text) = docs.text(&path)? {
            let page = parse(&path, &text);
            collect_code(&page, &text, &mut in_code);
            if !find(&page, &text, &HashSet::new()).is_empty() {
                with_typos.push(path);
            }
        }
    }
    let mut renamed = Vec::new();
    for path in &with_typos {
        if let Some(text) = docs.text(path)? {
            renamed.extend(one_page(path, &text, &in_code, docs)?);
        }
    }
    follow(&renamed, docs)
}

/// Corrects one page; gives the anchors that change.
fn one_page(path: &str, text: &str, in_code: &HashSet<String>, docs: &mut Docs) -> Result<Vec<Renamed>, ChoreFailure> {
    let page = parse(path, text);
    if !is_english(&page, text) {
        docs.report.note_left(path, "it does not seem to be in English, the only language whose typos are known");
        return Ok(Vec::new());
    }
    let mut edits = Edits::default();
    let mut made: BTreeMap<String, usize> = BTreeMap::new();
    let mut left: BTreeMap<String, usize> = BTreeMap::new();
    for typo in find(&page, text, in_code) {
        let word = code(&text[typo.range.clone()]);
        match typo.verdict {
            Verdict::Correct(correction) => {
                *made.entry(format!("{word} → {}", code(&correction))).or_default() += 1;
                edits.replace(typo.range, correction);
            }
            Verdict::Leave(why) => *left.entry(format!("{word} {why}")).or_default() += 1,
        }
    }
    left.iter().for_each(|(what, count)| docs.report.note_left(path, times(what, *count)));
    let places = edits.len();
    let new_text = edits.apply(text);
    let renamed = Renamed::between(path, &page, &parse(path, &new_text));
    let is_written = places > 0 && docs.write(path, new_text, places, named(&made))?;
    Ok(if is_written { renamed } else { Vec::new() })
}

fn times(what: &str, count: usize) -> String {
    if count > 1 { format!("{what} ({count} times)") } else { what.to_owned() }
}

/// The corrections of a page, the first few by name.
fn named(made: &BTreeMap<String, usize>) -> String {
    let mut parts: Vec<String> = made.iter().take(MOST_NAMED).map(|(what, count)| times(what, *count)).collect();
    if made.len() > MOST_NAMED {
        parts.push(format!("and {}", counted(made.len() - MOST_NAMED, "other word")));
    }
    parts.join(", ")
}

/// A word that is in the dictionary of typos.
struct Typo {
    range: Range<usize>,
    verdict: Verdict,
}

enum Verdict {
    Correct(String),
    Leave(String),
}

/// The typos in the prose of a page. `in_code` holds the words, in small letters, that are also in code.
fn find(page: &Page, text: &str, in_code: &HashSet<String>) -> Vec<Typo> {
    let mut found = Vec::new();
    for range in words(page, text) {
        let word = &text[range.clone()];
        let Some(corrections) = dictionary::corrections(word).filter(|_| !is_acronym(word)) else {
            continue;
        };
        let verdict = match corrections.as_slice() {
            [correction] if is_perhaps_a_name(text, &range) => {
                Verdict::Leave(format!("may be a name rather than a slip for {}", code(correction)))
            }
            [_] if in_code.contains(&word.to_lowercase()) => Verdict::Leave("is also in code".to_owned()),
            [correction] => match in_case_of(word, correction) {
                Some(correction) => Verdict::Correct(correction),
                None => continue,
            },
            several => {
                let several: Vec<String> = several.iter().take(4).map(|one| code(one)).collect();
                Verdict::Leave(format!("may be {}", several.join(" or ")))
            }
        };
        found.push(Typo { range, verdict });
    }
    found
}

/// Adds the words of a page's code that would be typos in prose.
fn collect_code(page: &Page, text: &str, into: &mut HashSet<String>) {
    for inside in page.code.iter().filter_map(|range| text.get(range.clone())) {
        let words = inside.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
        let known = words.filter(|word| dictionary::corrections(word).is_some());
        into.extend(known.map(str::to_lowercase));
    }
}

/// The words of the prose that can be typos: letters only, and not part of an address, a path or an identifier.
fn words(page: &Page, text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    for prose in &page.prose {
        let Some(inside) = text.get(prose.clone()) else {
            continue;
        };
        let mut at = 0;
        for chunk in inside.split_inclusive(char::is_whitespace) {
            let start = prose.start + at;
            at += chunk.len();
            words_of_chunk(text, start..start + chunk.trim_end().len(), prose, &mut words);
        }
    }
    words
}

/// The words of what stands between two spaces.
fn words_of_chunk(text: &str, chunk: Range<usize>, prose: &Range<usize>, words: &mut Vec<Range<usize>>) {
    let outer = text[chunk.clone()].trim_matches(|c: char| !c.is_alphanumeric());
    // A sign inside makes it a path, an address, an identifier, a number or an entity.
    let signs = |c: char| c.is_ascii_digit() || "/\\@_.:=#$%&{}<>~^+*|`[]()".contains(c);
    if outer.is_empty() || outer.contains(signs) || starts_like_code(&text[chunk.clone()]) {
        return;
    }
    let start = chunk.start + text[chunk].find(outer).unwrap_or_default();
    let mut at = start;
    for part in outer.split_inclusive(['-', '–', '—', '\'', '’', ',', ';', '!', '?', '"', '“', '”', '…']) {
        let word = part.trim_end_matches(|c: char| !c.is_alphanumeric());
        let range = at..at + word.len();
        let before_apostrophe = part.ends_with(['\'', '’']);
        at += part.len();
        let after_apostrophe = text[..range.start].ends_with(['\'', '’']) && range.start > start;
        // Of `doesn't` neither part is a word; of `tabel's` the first is.
        let rest = text.get(at..start + outer.len()).unwrap_or_default();
        let possessive = rest == "s" || rest.starts_with("s ");
        if after_apostrophe
            || (before_apostrophe && !possessive)
            || !is_word(word)
            || !stands_alone(text, &range, prose)
        {
            continue;
        }
        words.push(range);
    }
}

/// `--flag`, `$name`, `@name`, `#tag`, `.name` and the like.
fn starts_like_code(chunk: &str) -> bool {
    let bare = chunk.trim_start_matches(['(', '"', '\'', '“', '‘', '*']);
    bare.starts_with(['$', '@', '#', '.', '/', '\\', '&', '<', '{', '%', '~', '=', ':']) || bare.starts_with("--")
}

/// Letters in one of the three ways that words are written: `word`, `Word`, `WORD`.
fn is_word(word: &str) -> bool {
    let mut chars = word.chars();
    let Some(first) = chars.next() else {
        return false;
    };
    let rest = chars.as_str();
    rest.chars().count() >= 1
        && word.chars().all(char::is_alphabetic)
        && (rest.chars().all(char::is_lowercase) || (first.is_uppercase() && rest.chars().all(char::is_uppercase)))
}

/// Whether no other word touches it where the prose is interrupted by markup: `recie**ve**` is left alone.
fn stands_alone(text: &str, word: &Range<usize>, prose: &Range<usize>) -> bool {
    let touches = |c: char| c.is_alphanumeric() || matches!(c, '`' | '_' | '\\' | '&' | '{' | '}');
    let markup = |c: char| matches!(c, '_' | '*' | '~');
    let before = text[..word.start].chars().rev().find(|c| !markup(*c));
    let after = text[word.end..].chars().find(|c| !markup(*c));
    let open = word.start > prose.start || !before.is_some_and(touches);
    open && (word.end < prose.end || !after.is_some_and(touches))
}

/// A few capitals, which no dictionary of typos knows anything about.
fn is_acronym(word: &str) -> bool {
    word.chars().all(char::is_uppercase) && word.chars().count() <= 5
}

/// Short words with a capital inside a sentence are mostly names, and words of two letters can be anything.
fn is_perhaps_a_name(text: &str, range: &Range<usize>) -> bool {
    let word = &text[range.clone()];
    let length = word.chars().count();
    let before = text[..range.start].trim_end_matches([' ', '\t']).chars().next_back();
    let inside_sentence = before.is_some_and(|c| c.is_alphanumeric() || matches!(c, ',' | ';' | '(' | '/'));
    length <= 2 || (length <= 4 && word.starts_with(char::is_uppercase) && inside_sentence)
}

/// The correction written as the word is: small, with a capital, or in capitals.
fn in_case_of(word: &str, correction: &str) -> Option<String> {
    let mut letters = word.chars();
    let first = letters.next()?;
    let written = if !first.is_uppercase() {
        correction.to_owned()
    } else if letters.next().is_some_and(char::is_uppercase) {
        correction.to_uppercase()
    } else {
        let mut rest = correction.chars();
        rest.next()?.to_uppercase().chain(rest).collect()
    };
    Some(written).filter(|written| written != word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(path: &str, text: &str) -> Vec<Typo> {
        let page = parse(path, text);
        let mut in_code = HashSet::new();
        collect_code(&page, text, &mut in_code);
        find(&page, text, &in_code)
    }

    fn corrected(path: &str, text: &str) -> String {
        let mut edits = Edits::default();
        for typo in found(path, text) {
            if let Verdict::Correct(correction) = typo.verdict {
                edits.replace(typo.range, correction);
            }
        }
        edits.apply(text)
    }

    #[test]
    fn typos_are_corrected_in_their_case() {
        assert_eq!(
            corrected("a.md", "You recieve teh mail. Teh RECIEVED ones."),
            "You receive the mail. The RECEIVED ones."
        );
        assert_eq!(
            corrected("a.md", "# Recieve **teh** _tabel's_ non-existant"),
            "# Receive **the** _table's_ non-existent"
        );
    }

    #[test]
    fn what_is_no_prose_is_left_alone() {
        for text in [
            "---\ntitle: Recieve teh\n---\n",
            "`recieve` and ``teh``",
            "```\nrecieve\n```",
            "    recieve",
            "[x](recieve/teh.md \"x\")",
            "<https://recieve.example>",
            "https://recieve.example/teh recieve.md docs/recieve recieve@example.com",
            "recieveMail recieve_mail RecieveMail recieve2 --recieve $recieve @recieve #recieve",
            "<Recieve teh=\"teh\" />",
            "recie**ve**",
            "`x`recieve",
            "&recieve;",
        ] {
            assert_eq!(corrected("a.md", text), text);
        }
    }

    #[test]
    fn what_is_not_certain_is_left_and_named() {
        let text = "We thw it for Flate and Ded, an NAM; `tabel` is a tabel.";
        assert_eq!(corrected("a.md", text), text.replace("Flate", "Flat"));
        let left = found("a.md", text).into_iter().filter(|it| matches!(it.verdict, Verdict::Leave(_)));
        let left: Vec<&str> = left.map(|it| &text[it.range]).collect();
        assert_eq!(left, ["thw", "Ded", "tabel"]);
    }

    proptest! {
        #[test]
        fn only_prose_changes_and_a_second_time_nothing(
            parts in prop::collection::vec(prop::sample::select(vec![
                "recieve", "Teh", " ", "\n", "\n\n", "# ", "`teh`", "[teh](recieve)", "```\nteh\n```\n", "<Teh teh='teh'>",
                "- ", "| ", "*", "_", "\\", "{teh}", "&teh;", "ä", "'s", "'t", ".", "/", "-", "https://teh", "ー",
            ]), 0..24),
            path in prop::sample::select(vec!["a.md", "a.mdx"]),
        ) {
            let text = format!("---\ntitle: teh\n---\n{}", parts.concat());
            let page = parse(path, &text);
            for typo in find(&page, &text, &HashSet::new()) {
                prop_assert!(page.prose.iter().any(|it| it.start <= typo.range.start && typo.range.end <= it.end));
            }
            let once = corrected(path, &text);
            prop_assert_eq!(corrected(path, &once), once.clone());
        }
    }
}
