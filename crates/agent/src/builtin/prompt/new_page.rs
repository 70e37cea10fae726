//! `add a page "Rate limits" at docs/guides/rate-limits.mdx under "Guides" with the text: …`

use super::super::chore::AddPage;
use super::NotUnderstood;
use super::places::{is_strong, path};
use super::reader::Reader;
use super::token::Token;

const NAVIGATION: &[&str] =
    &["the navigation", "the nav", "the sidebar", "the menu", "the table of contents", "navigation"];
const SECTION: &[&str] = &["the section", "the group", "section", "group"];

/// A page to add; none if something else is to be added.
pub(super) fn page(reader: &mut Reader<'_>) -> Result<Option<AddPage>, NotUnderstood> {
    let is_page = reader.whole(|reader| {
        reader.any(&["a", "an", "the"]);
        reader.phrase("new");
        reader.any(&["docs", "documentation"]);
        reader.phrase("page")
    });
    if !is_page {
        return Ok(None);
    }
    let mut page = AddPage::default();
    loop {
        let mark = reader.mark();
        let joined = reader.joined();
        if !part(reader, &mut page, joined)? {
            reader.back_to(mark);
            break;
        }
    }
    if page.title.is_none() && page.path.is_none() {
        return Err(reader.refuse(Some("name the page's title in quotes, its path, or both")));
    }
    Ok(Some(page))
}

/// One thing that is said about the page; false if it is none.
fn part(reader: &mut Reader<'_>, page: &mut AddPage, joined: bool) -> Result<bool, NotUnderstood> {
    if listed(reader) {
        return Ok(true);
    }
    if reader.any(&["with the description", "with description", "described as", "the description"]) {
        let description = reader.quoted().ok_or_else(|| reader.refuse(Some("put the description in quotes")))?;
        return once(reader, &mut page.description, description.trim());
    }
    if wants_text(reader) {
        let text = reader.long_text();
        return once(reader, &mut page.text, text);
    }
    let named = reader.any(&["called", "titled", "named", "entitled", "with the title", "with title"]);
    if named || (!joined && page.title.is_none() && matches!(reader.peek(), Token::Quoted(text) if !is_strong(text))) {
        let title = reader.quoted().ok_or_else(|| reader.refuse(Some("put the title in quotes")))?;
        return once(reader, &mut page.title, title.trim());
    }
    if matches!(reader.peek(), Token::Word(word) if is_strong(word))
        || matches!(reader.peek(), Token::Quoted(text) if page.path.is_none() && is_strong(text))
    {
        let found = path(reader).unwrap_or_default();
        return once(reader, &mut page.path, &found);
    }
    placed(reader, page)
}

/// `at PATH`, `in FOLDER`, `under "Section"`, `in the "Section" group`.
fn placed(reader: &mut Reader<'_>, page: &mut AddPage) -> Result<bool, NotUnderstood> {
    let mark = reader.mark();
    if reader.any(&["at", "as"]) {
        let found = path(reader).ok_or_else(|| reader.refuse(Some("name the page's path")))?;
        return once(reader, &mut page.path, &found);
    }
    if !reader.any(&["under", "in", "into", "to", "below", "inside", "within"]) {
        return Ok(false);
    }
    if reader.any(NAVIGATION) {
        return Ok(true);
    }
    let after_preposition = reader.mark();
    let named = reader.any(SECTION) || {
        reader.phrase("the");
        false
    };
    if let Token::Quoted(text) = reader.peek()
        && (named || !is_strong(text))
    {
        reader.next();
        reader.any(&["section", "group"]);
        return once(reader, &mut page.section, text.trim());
    }
    reader.back_to(after_preposition);
    match path(reader) {
        Some(found) => once(reader, &mut page.path, &found),
        None => {
            reader.back_to(mark);
            Ok(false)
        }
    }
}

/// That the page is listed in the navigation is said for nothing: it is.
fn listed(reader: &mut Reader<'_>) -> bool {
    let verbs = ["list it", "add it", "put it", "include it", "listed", "and list it"];
    reader.whole(|reader| reader.any(&verbs) && reader.any(&["in", "to", "into"]) && reader.any(NAVIGATION))
        // `list it under "Guides"` says where, which comes next.
        || reader.whole(|reader| reader.any(&["list it", "put it"]) && reader.follows("under"))
}

fn wants_text(reader: &mut Reader<'_>) -> bool {
    let wants = reader.whole(|reader| {
        reader.any(&["with", "containing"]) && {
            reader.skip(&["the", "this", "following"]);
            reader.any(&["text", "content", "contents", "body"])
        }
    });
    if wants {
        reader.take(Token::Colon);
    }
    wants
}

/// Keeps what is said, unless it was said before or is empty.
fn once(reader: &Reader<'_>, into: &mut Option<String>, text: &str) -> Result<bool, NotUnderstood> {
    if text.is_empty() || into.is_some() {
        return Err(reader.refuse(Some("say title, path, section and text once each")));
    }
    *into = Some(text.to_owned());
    Ok(true)
}
