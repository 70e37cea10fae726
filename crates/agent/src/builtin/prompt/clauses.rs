//! The chores that start with a verb: replace, fix, fill in, add.

use super::super::chore::{Chore, Code, FrontMatter, Links, Replace, Scope};
use super::places::{Details, Takes, details};
use super::reader::Reader;
use super::token::Token;
use super::{Found, NotUnderstood, new_page};

const MOST_TERM: usize = 1000;

/// The chores of one verb.
pub(super) fn clause(reader: &mut Reader<'_>) -> Result<Vec<Found>, NotUnderstood> {
    let start = reader.mark();
    if let Some(found) = replacements(reader)? {
        return Ok(found);
    }
    if reader.any(&["spellcheck", "spell-check", "spell check"]) {
        return Ok(vec![typos(reader)?]);
    }
    if reader.any(&["fix up", "fix", "correct", "repair"]) {
        return objects(reader, fixed);
    }
    if reader.any(&["fill in", "fill out", "fill", "complete", "generate"]) {
        return objects(reader, filled);
    }
    if reader.any(&["add", "create"]) {
        if let Some(page) = new_page::page(reader)? {
            return Ok(vec![Found { chore: Chore::AddPage(page), placed: None }]);
        }
        return objects(reader, filled);
    }
    reader.back_to(start);
    Err(reader.refuse(None))
}

/// Things that one verb is said about: `typos and heading levels in docs/`. What is said at the end about where holds
/// for all of them.
fn objects(reader: &mut Reader<'_>, object: fn(&mut Reader<'_>) -> Option<Chore>) -> Result<Vec<Found>, NotUnderstood> {
    let mut all: Vec<(Chore, Details)> = Vec::new();
    loop {
        let mark = reader.mark();
        if !all.is_empty() && !reader.joined() {
            break;
        }
        match object(reader) {
            Some(chore) => all.push((chore, details(reader, Takes::Places)?)),
            None if all.is_empty() => return Err(reader.refuse(None)),
            None => {
                reader.back_to(mark);
                break;
            }
        }
    }
    let shared = match all.split_last() {
        Some(((_, last), before)) if before.iter().all(|(_, it)| !it.placed && it.scope == Scope::default()) => {
            Some((last.scope.clone(), last.placed))
        }
        _ => None,
    };
    let found = all.into_iter().map(|(chore, own)| {
        let (scope, placed) = shared.clone().unwrap_or((own.scope, own.placed));
        Found { chore: placed_in(chore, scope), placed: Some(placed) }
    });
    Ok(found.collect())
}

/// The chore, to be done there.
pub(super) fn placed_in(chore: Chore, scope: Scope) -> Chore {
    match chore {
        Chore::Replace(it) => Chore::Replace(Replace { scope, ..it }),
        Chore::Typos(_) => Chore::Typos(scope),
        Chore::Headings(_) => Chore::Headings(scope),
        Chore::Links(it) => Chore::Links(Links { scope, ..it }),
        Chore::FrontMatter(it) => Chore::FrontMatter(FrontMatter { scope, ..it }),
        Chore::AddPage(_) => chore,
    }
}

/// Typos without a verb for them: `spellcheck docs/guides`.
fn typos(reader: &mut Reader<'_>) -> Result<Found, NotUnderstood> {
    let mut found = details(reader, Takes::Places)?;
    if !found.placed {
        let all = reader.any(&["all pages", "all the docs", "all docs", "the docs", "the documentation", "everything"]);
        match (all, super::places::path(reader)) {
            (false, Some(path)) => found.scope.paths.push(path),
            (true, None) => {}
            (false, None) => {}
            (true, Some(_)) => return Err(reader.refuse(None)),
        }
        found.placed = all || !found.scope.paths.is_empty();
    }
    Ok(Found { chore: Chore::Typos(found.scope), placed: Some(found.placed) })
}

fn fixed(reader: &mut Reader<'_>) -> Option<Chore> {
    reader.attempt(fixed_by_name).or_else(|| filled(reader))
}

fn fixed_by_name(reader: &mut Reader<'_>) -> Option<Chore> {
    reader.skip(&["all of the", "all", "any", "every", "the"]);
    let typos = [
        "typos",
        "typo",
        "spelling mistakes",
        "spelling errors",
        "spelling",
        "misspellings",
        "misspelled words",
        "misspelt words",
        "typing errors",
        "typographical errors",
    ];
    if reader.any(&typos) {
        return Some(Chore::Typos(Scope::default()));
    }
    if levels(reader) {
        return Some(Chore::Headings(Scope::default()));
    }
    links(reader).map(|pages| Chore::Links(Links { pages, scope: Scope::default() }))
}

fn levels(reader: &mut Reader<'_>) -> bool {
    let levels = ["heading levels", "heading level", "heading hierarchy", "levels of headings", "header levels"];
    let named = ["headings that skip levels", "headings that skip a level", "headings which skip levels"];
    reader.whole(|reader| {
        let skipped = reader.any(&["skipped", "skipping"]);
        if reader.any(&levels) {
            reader.any(&["that skip", "which skip", "that are skipped"]);
            return true;
        }
        reader.any(&named) || (skipped && reader.phrase("headings"))
    })
}

/// Whether links are meant, and if so, whether those whose page is missing too.
fn links(reader: &mut Reader<'_>) -> Option<bool> {
    let all = ["links and anchors", "anchors and links", "links or anchors", "links", "link", "cross-references"];
    reader.attempt(|reader| {
        reader.skip(&["broken", "dead", "internal", "wrong", "invalid"]);
        let pages = reader.any(&all);
        (pages || reader.any(&["anchor links", "anchors", "anchor"])).then_some(pages)
    })
}

/// What can be filled in.
fn filled(reader: &mut Reader<'_>) -> Option<Chore> {
    reader.attempt(missing_fields)
}

fn missing_fields(reader: &mut Reader<'_>) -> Option<Chore> {
    reader.skip(&["all", "any", "the"]);
    let mut sure = reader.phrase("missing");
    let mut front_matter = reader.any(&["front matter", "frontmatter", "front-matter"]);
    reader.any(&["fields", "field"]);
    let (mut title, mut description) = (false, false);
    loop {
        let before = reader.mark();
        if (title || description) && !reader.joined() {
            break;
        }
        reader.skip(&["a", "the", "missing"]);
        if reader.any(&["titles", "title"]) {
            title = true;
        } else if reader.any(&["descriptions", "description"]) {
            description = true;
        } else {
            reader.back_to(before);
            break;
        }
    }
    front_matter |=
        reader.any(&["in the front matter", "in front matter", "to the front matter", "in the frontmatter"]);
    reader.any(&["from the page's text", "from the page", "from the pages", "from their text", "from its text"]);
    sure |= reader.any(&["where it is missing", "where they are missing", "where missing", "if missing"]);
    reader.any(&["from the page", "from the pages"]);
    let said = title || description;
    if !(front_matter || (sure && said)) {
        return None;
    }
    let (title, description) = if said { (title, description) } else { (true, true) };
    Some(Chore::FrontMatter(FrontMatter { title, description, scope: Scope::default() }))
}

/// `replace "a" with "b" and "c" with "d"`, `rename "a" to "b"`, `change "a" to "b"`, `use "b" instead of "a"`; none if
/// it starts with another verb.
fn replacements(reader: &mut Reader<'_>) -> Result<Option<Vec<Found>>, NotUnderstood> {
    let (between, new_first): (&[&str], bool) = if reader.phrase("replace") {
        (&["with", "by"], false)
    } else if reader.any(&["rename", "change"]) {
        (&["to", "into"], false)
    } else if reader.phrase("use") {
        (&["instead of"], true)
    } else {
        return Ok(None);
    };
    let mut all: Vec<((String, String), Details)> = Vec::new();
    loop {
        let mark = reader.mark();
        let mut another = || reader.joined() && matches!(reader.peek(), Token::Quoted(_));
        if !all.is_empty() && !another() {
            reader.back_to(mark);
            break;
        }
        let (first, second) = pair(reader, between)?;
        let terms = if new_first { (second, first) } else { (first, second) };
        all.push((terms, details(reader, Takes::Manner)?));
    }
    let last_for_all =
        all.split_last().is_some_and(|(_, before)| before.iter().all(|(_, it)| *it == Details::default()));
    let shared = all.last().filter(|_| last_for_all).map(|(_, details)| details.clone());
    Ok(Some(all.into_iter().map(|(terms, own)| replacement(terms, shared.clone().unwrap_or(own))).collect()))
}

fn replacement((old, new): (String, String), details: Details) -> Found {
    let chore = Replace {
        old,
        new,
        scope: details.scope,
        code: details.code.unwrap_or(Code::Not),
        ignore_case: details.ignore_case,
        inside_words: details.inside_words,
    };
    Found { chore: Chore::Replace(chore), placed: Some(details.placed) }
}

/// Two different terms with one of these words between them.
fn pair(reader: &mut Reader<'_>, between: &[&str]) -> Result<(String, String), NotUnderstood> {
    let start = reader.mark();
    let named = noun(reader);
    let first = term(reader, named)?;
    if !reader.any(between) {
        return Err(reader.refuse(None));
    }
    let named = noun(reader) || named;
    let second = term(reader, named)?;
    if first == second {
        reader.back_to(start);
        return Err(reader.refuse(Some("both terms are the same")));
    }
    Ok((first, second))
}

/// `all occurrences of the word`. Says whether what follows is called a word or term, so that it needs no quotes.
fn noun(reader: &mut Reader<'_>) -> bool {
    reader.any(&["all", "every", "each", "any"]);
    reader.phrase("the");
    if reader.any(&["occurrences", "occurrence", "uses", "use", "mentions", "mention", "instances", "instance"]) {
        reader.phrase("of");
    }
    reader.phrase("the");
    reader.any(&["words", "word", "terms", "term", "name", "phrase", "string", "text"])
}

fn term(reader: &mut Reader<'_>, named: bool) -> Result<String, NotUnderstood> {
    let text = match reader.peek() {
        Token::Quoted(text) => text.trim(),
        Token::Word(word) if named && word.chars().all(|c| c.is_alphanumeric() || c == '-') => word,
        Token::Unclosed => return Err(reader.refuse(Some("the quote does not end on its line"))),
        _ => return Err(reader.refuse(Some("put both terms in quotes"))),
    };
    if text.is_empty() || text.len() > MOST_TERM || text.chars().any(char::is_control) {
        return Err(reader.refuse(Some("a term has 1 to 1000 bytes on one line")));
    }
    reader.next();
    Ok(text.to_owned())
}
