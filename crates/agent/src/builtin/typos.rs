//! Corrects typos that have exactly one correction and can be nothing else. Code, front matter, addresses, names,
//! quotations and other languages than English are left alone.

mod certain;
mod dictionary;
mod names;
mod vocabulary;

use std::collections::BTreeMap;
use std::ops::Range;

use copydesk_checks::page::{Heading, Page, parse};

use super::chore::Scope;
use super::docs::{ChoreFailure, Docs};
use super::follow::{Renamed, follow};
use super::language::{foreign_locale, is_english, is_foreign_code, is_in_english};
use super::report::code;
use super::scope::pages_of;
use super::words::line_around;
use crate::edits::Edits;
use crate::text::counted;
use names::Names;
use vocabulary::Vocabulary;

const MOST_NAMED: usize = 8;
/// How often a page is gone over.
const MOST_ROUNDS: usize = 8;
/// How much of a line is looked at on either side of a word.
const LONGEST_LINE: usize = 2000;
const LONGEST_OPTION: usize = 200;

/// Lines that speak about spelling, or say what a word was, keep it.
const ABOUT_SPELLING: [&str; 8] = ["typo", "spell", "[sic]", "→", "->", "=>", "renam", "correct"];

/// First all pages are looked through, since a word that is a name anywhere is no slip; then those with typos are
/// corrected.
pub(crate) fn run(scope: &Scope, docs: &mut Docs) -> Result<(), ChoreFailure> {
    let vocabulary = Vocabulary::read(docs)?;
    let mut names = Names::default();
    docs.workspace.list("")?.iter().for_each(|path| names.add_path(path));
    for path in docs.pages()? {
        if let Some(text) = docs.glance(&path)? {
            let page = parse(&path, &text);
            names.add_page(&page, &text);
            if foreign_locale(&path).is_none() {
                names.add_vocabulary(&page, &text);
            }
            for range in words(&page, &text) {
                let word = &text[range.clone()];
                if dictionary::corrections(word).is_some() {
                    names.add_prose(word, is_inside_sentence(&text, range.start));
                }
            }
        }
    }
    let mut renamed = Vec::new();
    for path in pages_of(scope, docs)? {
        if vocabulary.leaves_out(&path) || is_sample(&path) {
            continue;
        }
        if let Some(text) = docs.text(&path)? {
            renamed.extend(one_page(&path, &text, &names, &vocabulary, docs)?);
        }
    }
    follow(&renamed, docs)
}

/// Pages that programs are tried on, whose words are not for readers.
fn is_sample(path: &str) -> bool {
    path.split('/').rev().skip(1).any(|part| {
        matches!(
            part,
            "test" | "tests" | "__tests__" | "fixtures" | "__fixtures__" | "testdata" | "node_modules" | "vendor"
        )
    })
}

fn is_inside_sentence(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end_matches([' ', '\t', '*', '_', '[']).chars().next_back();
    before.is_some_and(|c| c.is_alphanumeric() || matches!(c, ',' | ';' | '(' | '/' | '"' | '&' | ')'))
}

/// Why all of a page is left; none if it is in English.
fn foreign(path: &str, page: &Page, text: &str) -> Option<String> {
    if let Some(locale) = foreign_locale(path) {
        return Some(format!("its path says that it is in another language: {}", code(locale)));
    }
    let fields = page.front_matter.iter().flat_map(|it| &it.fields);
    let mut languages = fields.filter(|field| matches!(field.name.as_str(), "lang" | "language" | "locale"));
    if let Some(field) = languages.find(|field| field.value.as_deref().is_some_and(is_foreign_code)) {
        return Some(format!("its {} says that it is in another language", code(&field.name)));
    }
    let unlike = !is_english(page, text);
    unlike.then(|| "it does not seem to be in English, the only language whose typos are known".to_owned())
}

/// Corrects one page; gives the anchors that change.
fn one_page(
    path: &str,
    text: &str,
    names: &Names,
    vocabulary: &Vocabulary,
    docs: &mut Docs,
) -> Result<Vec<Renamed>, ChoreFailure> {
    let page = parse(path, text);
    if find(&page, text, names, vocabulary).is_empty() {
        return Ok(Vec::new());
    }
    if let Some(why) = foreign(path, &page, text) {
        docs.report.note_left(path, why);
        return Ok(Vec::new());
    }
    let mut new_text = text.to_owned();
    let mut made: BTreeMap<String, usize> = BTreeMap::new();
    let mut left: BTreeMap<String, usize> = BTreeMap::new();
    // A line shows its language better once the words around it are right.
    for _ in 0..MOST_ROUNDS {
        let mut edits = Edits::default();
        left.clear();
        for typo in find(&parse(path, &new_text), &new_text, names, vocabulary) {
            let word = code(&new_text[typo.range.clone()]);
            match typo.verdict {
                Verdict::Correct(correction) => {
                    *made.entry(format!("{word} → {}", code(&correction))).or_default() += 1;
                    edits.replace(typo.range, correction);
                }
                Verdict::Leave(why) => *left.entry(format!("{word} {why}")).or_default() += 1,
            }
        }
        if edits.len() == 0 {
            break;
        }
        new_text = edits.apply(&new_text);
    }
    left.iter().for_each(|(what, count)| docs.report.note_left(path, times(what, *count)));
    let places = made.values().sum();
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

/// The typos in the prose of a page.
fn find(page: &Page, text: &str, names: &Names, vocabulary: &Vocabulary) -> Vec<Typo> {
    let mut found = Vec::new();
    for range in words(page, text) {
        let word = &text[range.clone()];
        let Some(corrections) = dictionary::corrections(word).filter(|_| !is_acronym(word)) else {
            continue;
        };
        if vocabulary.holds(word) {
            continue;
        }
        let verdict = match corrections.as_slice() {
            [correction] => match why_left(page, text, &range, correction, names) {
                Some(why) => Verdict::Leave(why),
                None => Verdict::Correct((*correction).to_owned()),
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

/// Why a word is left; none if it is a slip beyond doubt.
fn why_left(page: &Page, text: &str, range: &Range<usize>, correction: &str, names: &Names) -> Option<String> {
    let word = &text[range.clone()];
    if let Some(doubt) = certain::doubt(word, correction) {
        return Some(format!("{doubt} {}", code(correction)));
    }
    if let Some(why) = names.why(word) {
        return Some(why.to_owned());
    }
    if let Some(why) = names.why_not(word, correction) {
        return Some(format!("{why} {}", code(correction)));
    }
    if !is_in_english(text, range) {
        return Some("may be a word of another language".to_owned());
    }
    if is_cited(text, range) {
        return Some("is cited".to_owned());
    }
    let heading = heading_of(page, range.start).filter(|heading| names.is_linked(&heading.anchor));
    heading.map(|_| "is in a heading that other pages link to".to_owned())
}

fn heading_of(page: &Page, at: usize) -> Option<&Heading> {
    let after = page.headings.partition_point(|heading| heading.range.start <= at);
    page.headings[..after].last().filter(|heading| at < heading.range.end)
}

/// Whether a word is spoken of rather than used: in quotes or brackets, in a quotation, in the text of a link, or in a line
/// about spelling.
fn is_cited(text: &str, range: &Range<usize>) -> bool {
    let before = text[..range.start].chars().next_back();
    let after = text[range.end..].chars().next();
    let wrapped = matches!(
        (before, after),
        (Some('"' | '“' | '‘' | '\'' | '(' | '[' | '«'), Some('"' | '”' | '’' | '\'' | ')' | ']' | '»'))
    );
    let around = line_around(text, range, LONGEST_LINE);
    let line = &text[around.clone()];
    let quoted = line.trim_start().starts_with('>');
    let lower = line.to_lowercase();
    let about = ABOUT_SPELLING.iter().any(|mark| lower.contains(mark));
    wrapped || quoted || about || is_link_text(&text[around.start..range.start], &text[range.end..around.end])
}

/// Whether brackets are open around a word on its line.
fn is_link_text(before: &str, after: &str) -> bool {
    let opens = before.rfind('[').is_some_and(|open| !before[open..].contains(']'));
    opens && after.find(']').is_some_and(|close| !after[..close].contains('['))
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
    // `name-of-a-heading` is one as well, and so is the value of a directive's option.
    let is_slug = outer.matches('-').count() >= 2 && outer.chars().all(|c| c == '-' || c.is_lowercase());
    if outer.is_empty()
        || outer.contains(signs)
        || is_slug
        || starts_like_code(&text[chunk.clone()])
        || is_option(text, chunk.start)
    {
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

/// Whether a place is on a line such as `:name: value`.
fn is_option(text: &str, at: usize) -> bool {
    let line_start = line_around(text, &(at..at), LONGEST_OPTION).start;
    let Some(rest) = text[line_start..at].trim_start().strip_prefix(':') else { return false };
    rest.split_once(':').is_some_and(|(name, _)| !name.is_empty() && !name.contains(char::is_whitespace))
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(path: &str, text: &str) -> Vec<Typo> {
        let page = parse(path, text);
        let mut names = Names::default();
        names.add_page(&page, text);
        find(&page, text, &names, &Vocabulary::default())
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
    fn typos_are_corrected() {
        assert_eq!(corrected("a.md", "You recieve teh mail."), "You receive the mail.");
        assert_eq!(
            corrected("a.md", "# You recieve **teh** _seperate_ non-existant"),
            "# You receive **the** _separate_ non-existant"
        );
        assert_eq!(corrected("a.md", "the goverment's day"), "the government's day");
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
            "to-recieve-mail",
            ":::{dropdown} A\n:name: recieve it\n:::",
        ] {
            assert_eq!(corrected("a.md", text), text);
        }
    }

    #[test]
    fn what_is_not_certain_is_left_and_named() {
        let text = "We thw it for Flate and Recieve, an NAM; `seperate` is seperate, `recieveMail` may recieve, a writeable disk.";
        assert_eq!(corrected("a.md", text), text);
        let left: Vec<String> = found("a.md", text).into_iter().map(|it| text[it.range].to_owned()).collect();
        assert_eq!(left, ["thw", "Flate", "Recieve", "seperate", "recieve", "writeable"]);
    }

    #[test]
    fn what_is_cited_is_left() {
        for text in [
            "> They recieve it [sic].",
            "The key \"recieve\" is unknown.",
            "It is a broker (recieve) of mail.",
            "* Fix typo: recieve it.",
            "* recieve → receive it.",
            "See [how to recieve it](x.md).",
        ] {
            assert_eq!(corrected("a.md", text), text);
        }
    }

    #[test]
    fn a_word_near_two_others_is_left() {
        let text = "Use multiples of ten. If multipled of ten are used, it is seperate.";
        let page = parse("a.md", text);
        let mut names = Names::default();
        names.add_vocabulary(&page, text);
        assert!(names.why_not("multipled", "multiplied").is_some());
        assert!(names.why_not("seperate", "separate").is_none());
        let many: String = (0..4000).map(|number| format!("w{} ", word_of(number))).collect();
        names.add_vocabulary(&parse("a.md", &many), &many);
        assert!(names.why_not("seperate", "separate").is_some());
    }

    fn word_of(number: u32) -> String {
        number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).cycle().take(12).collect()
    }

    #[test]
    fn a_word_that_stands_often_is_meant() {
        let mut names = Names::default();
        (0..3).for_each(|_| names.add_prose("recieve", true));
        assert_eq!(names.why("recieve"), None);
        names.add_prose("recieve", true);
        assert!(names.why("recieve").is_some());
        names.add_prose("Seperate", false);
        assert_eq!(names.why("seperate"), None);
        names.add_prose("Seperate", true);
        assert!(names.why("seperate").is_some());
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
            for typo in find(&page, &text, &Names::default(), &Vocabulary::default()) {
                prop_assert!(page.prose.iter().any(|it| it.start <= typo.range.start && typo.range.end <= it.end));
            }
            let once = corrected(path, &text);
            prop_assert_eq!(corrected(path, &once), once.clone());
        }
    }
}
