//! Where a chore is to be done, and how: `in docs/guides and docs/*.md, except in docs/old/, also in code`.

use super::super::chore::{Code, Scope};
use super::NotUnderstood;
use super::reader::Reader;
use super::token::Token;

const MOST_PATHS: usize = 100;

/// What can be said after a chore.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Details {
    pub(super) scope: Scope,
    /// Whether it was said where, be it everywhere.
    pub(super) placed: bool,
    pub(super) code: Option<Code>,
    pub(super) ignore_case: bool,
    pub(super) inside_words: bool,
}

/// Which details a chore takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Places,
    /// Also whether code, case and parts of words count.
    Manner,
}

const CODE: &[&str] =
    &["the code", "code blocks", "code samples", "code examples", "code snippets", "code fences", "code"];
const PROSE: &[&str] = &["the prose", "prose", "the text", "text"];
const PAGES: &[&str] = &["pages", "page", "files", "file", "docs", "documentation", "documents", "places"];
const IN: &[&str] = &["in", "under", "below", "within", "inside", "on", "of", "for", "to", "throughout", "across"];

/// Words that no file or folder is taken to be named by, unless they are quoted or written with a slash.
const RESERVED: &str = "\
    me us you a an the all every any each some it them this that these those my our your and or but not then also \
    only too well please thanks thank kindly can could would will fix correct repair mend replace rename change use \
    add create make fill complete spellcheck typo typos spelling misspellings heading headings link links broken \
    dead anchor anchors missing front frontmatter title titles description descriptions code prose text case whole \
    words word in on of for to at with without except excluding including ignoring everywhere everything first next \
    finally page pages file files folder folders list put update write remove delete move";

/// Reads what is said about where and how; stops where something else starts.
pub(super) fn details(reader: &mut Reader<'_>, takes: Takes) -> Result<Details, NotUnderstood> {
    let mut details = Details::default();
    loop {
        let mark = reader.mark();
        let bracket = reader.take(Token::Bracket);
        if !bracket {
            reader.take(Token::Comma);
            reader.any(&["and", "but"]);
        }
        if !detail(reader, takes, &mut details)? {
            reader.back_to(mark);
            return Ok(details);
        }
        if bracket && !reader.take(Token::Bracket) {
            return Err(reader.refuse(None));
        }
    }
}

fn detail(reader: &mut Reader<'_>, takes: Takes, details: &mut Details) -> Result<bool, NotUnderstood> {
    if takes == Takes::Manner && manner(reader, details)? {
        return Ok(true);
    }
    if left_alone(reader) {
        return Ok(true);
    }
    if reader.any(&["except", "excluding", "but not", "apart from", "other than", "not"]) {
        reader.any(IN);
        let found = paths(reader)?;
        if found.is_empty() {
            return Err(reader.refuse(Some("name a file, a folder or a glob")));
        }
        return take_paths(reader, found, &mut details.scope.except).map(|()| true);
    }
    if everywhere(reader) {
        details.placed = true;
        return Ok(true);
    }
    let mark = reader.mark();
    reader.any(&["only", "but only"]);
    if reader.any(IN) {
        let found = paths(reader)?;
        if !found.is_empty() {
            reader.phrase("only");
            details.placed = true;
            return take_paths(reader, found, &mut details.scope.paths).map(|()| true);
        }
    }
    reader.back_to(mark);
    Ok(false)
}

fn take_paths(reader: &Reader<'_>, found: Vec<String>, into: &mut Vec<String>) -> Result<(), NotUnderstood> {
    into.extend(found);
    if into.len() > MOST_PATHS { Err(reader.refuse(Some("at most 100 paths for one chore"))) } else { Ok(()) }
}

/// That code or front matter is left alone is said for nothing: it is so.
fn left_alone(reader: &mut Reader<'_>) -> bool {
    let not = ["except in", "except", "excluding", "but not in", "not in", "outside of", "outside", "leaving", "leave"];
    let found = reader.whole(|reader| reader.any(&not) && reader.any(CODE));
    if found {
        reader.phrase("alone");
    }
    found
}

/// `also in code`, `ignoring case`, `whole words only` and the like.
fn manner(reader: &mut Reader<'_>, details: &mut Details) -> Result<bool, NotUnderstood> {
    if let Some(code) = code(reader) {
        if details.code.is_some_and(|before| before != code) {
            return Err(reader.refuse(Some("say once whether code counts")));
        }
        details.code = Some(code);
        return Ok(true);
    }
    let ignoring = [
        "ignoring the case",
        "ignoring case",
        "ignore case",
        "case-insensitively",
        "case-insensitive",
        "case insensitively",
        "case insensitive",
        "regardless of case",
        "whatever the case",
    ];
    if reader.any(&ignoring) {
        details.ignore_case = true;
        return Ok(true);
    }
    let inside = ["also inside", "also within", "also in parts of", "also as part of", "even inside", "even within"];
    if reader.whole(|reader| reader.any(&inside) && reader.any(&["other words", "longer words", "words"])) {
        details.inside_words = true;
        return Ok(true);
    }
    // What is so anyway.
    Ok(reader.any(&[
        "case-sensitively",
        "case-sensitive",
        "case sensitively",
        "case sensitive",
        "matching case",
        "whole words only",
        "only whole words",
        "as whole words",
        "as a whole word",
        "whole words",
    ]))
}

fn code(reader: &mut Reader<'_>) -> Option<Code> {
    let too = ["also in", "including in", "including", "even in", "in prose and in", "in prose and", "in text and"];
    if reader.whole(|reader| reader.any(&too) && reader.any(CODE)) {
        return Some(Code::Too);
    }
    let not = ["except in", "excluding", "but not in", "not in", "outside of", "outside"];
    if reader.whole(|reader| reader.any(&not) && reader.any(CODE)) {
        return Some(Code::Not);
    }
    let code = reader.attempt(|reader| {
        let only = reader.phrase("only");
        match reader.phrase("in") {
            true if reader.any(PROSE) => Some(Code::Not),
            true if reader.any(CODE) => {
                let too = !only && reader.any(&["too", "as well", "and prose", "and in prose", "and text"]);
                Some(if too { Code::Too } else { Code::Only })
            }
            _ => None,
        }
    })?;
    reader.phrase("only");
    Some(code)
}

/// `everywhere`, `in all pages`, `throughout the docs`.
fn everywhere(reader: &mut Reader<'_>) -> bool {
    if reader.phrase("everywhere") {
        return true;
    }
    reader.whole(|reader| {
        if !reader.any(IN) {
            return false;
        }
        let all = reader.any(&["all of the", "all the", "all", "every", "each", "the whole", "the entire", "whole"]);
        let article = !all && reader.any(&["the", "our", "my", "this"]);
        let noun = (all || article)
            && (reader.any(&["docs pages", "documentation pages", "docs files", "documentation files", "docs site"])
                || reader.any(&[
                    "markdown files",
                    "markdown file",
                    "markdown pages",
                    "markdown page",
                    "mdx files",
                    "md files",
                ])
                || reader.any(PAGES)
                || reader.any(&["repository", "repo", "project", "site"]));
        // `in the docs folder` and `in the file x` name a path.
        let path = reader.any(&["folder", "directory"]) || (article && matches!(reader.peek(), Token::Quoted(_)));
        let path = path || (article && next_is_path(reader));
        noun && !path
    })
}

fn next_is_path(reader: &Reader<'_>) -> bool {
    matches!(reader.peek(), Token::Word(word) if is_strong(word))
}

/// A list of files, folders and globs; empty if there is none.
fn paths(reader: &mut Reader<'_>) -> Result<Vec<String>, NotUnderstood> {
    let mut found = Vec::new();
    loop {
        let mark = reader.mark();
        if !found.is_empty() {
            let or = reader.phrase("or");
            if !or && !reader.joined() {
                break;
            }
            // `in docs/a and in docs/b`
            reader.any(&["in", "under", "below"]);
        }
        match path(reader) {
            Some(path) => found.push(path),
            None => {
                reader.back_to(mark);
                break;
            }
        }
        if found.len() > MOST_PATHS {
            return Err(reader.refuse(Some("at most 100 paths for one chore")));
        }
    }
    Ok(found)
}

/// One file, folder or glob.
pub(super) fn path(reader: &mut Reader<'_>) -> Option<String> {
    let nouns = ["files", "file", "folders", "folder", "directories", "directory", "pages", "page"];
    let path = reader.attempt(|reader| {
        reader.phrase("the");
        let _ = reader.any(&nouns) || reader.phrase("path");
        match reader.next() {
            Token::Quoted(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
            Token::Word(word) if is_path(word) => Some(word.to_owned()),
            _ => None,
        }
    })?;
    reader.any(&nouns);
    Some(path)
}

/// Whether a word that is not quoted can only be a path.
pub(super) fn is_strong(word: &str) -> bool {
    is_plain(word) && (word.contains(['/', '*']) || word.rsplit_once('.').is_some_and(|(_, end)| !end.is_empty()))
}

fn is_path(word: &str) -> bool {
    is_strong(word) || (is_plain(word) && !RESERVED.split(' ').any(|one| one.eq_ignore_ascii_case(word)))
}

fn is_plain(word: &str) -> bool {
    word.chars().any(char::is_alphanumeric)
        && word.chars().all(|c| c.is_alphanumeric() || "/.*?-_{}[],@+~!".contains(c))
        || !word.is_empty() && word.chars().all(|c| "*./".contains(c)) && word.contains('*')
}
