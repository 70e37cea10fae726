//! Tags of HTML and JSX: where they end and what their attributes say.

use std::ops::Range;

use super::script;
use super::{Dialect, IdRule, Link, LinkKind, Page};
use crate::paths;
use crate::references::decoded;

/// No tag of HTML is longer; those of JSX may hold whole tables.
const LONGEST_HTML: usize = 32 * 1024;
const LONGEST_JSX: usize = 1024 * 1024;

/// A tag in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tag {
    /// The name; empty for a fragment.
    pub(super) name: Range<usize>,
    pub(super) form: Form,
    pub(super) attributes: Vec<Attribute>,
    /// All of it, with its brackets.
    pub(super) range: Range<usize>,
}

/// Whether a tag opens, closes or does both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Open,
    Close,
    Alone,
}

/// An attribute of a tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Attribute {
    pub(super) name: Range<usize>,
    /// The value without its quotes, if it is plain text.
    pub(super) value: Option<Range<usize>>,
}

/// Why there is no tag at a `<`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoTag {
    /// It is just a character.
    Text,
    /// It cannot be one thing or the other: what is wrong and how far it was read.
    Broken(&'static str, usize),
}

/// Whose rules hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    Html,
    Jsx,
}

/// Reads the tag that starts with the `<` at `at`.
pub(super) fn read(text: &str, at: usize, syntax: Syntax) -> Result<Tag, NoTag> {
    let longest = if syntax == Syntax::Html { LONGEST_HTML } else { LONGEST_JSX };
    let end = text.floor_char_boundary(text.len().min(at.saturating_add(longest)));
    let bytes = &text.as_bytes()[..end];
    let mut cursor = at + 1;
    let closes = bytes.get(cursor) == Some(&b'/');
    if closes {
        cursor += 1;
        // JSX takes `</ Tag>` for `</Tag>`.
        if syntax == Syntax::Jsx && bytes.get(skip_space(bytes, cursor)).is_some_and(u8::is_ascii_alphabetic) {
            cursor = skip_space(bytes, cursor);
        }
    }
    let name = name_from(bytes, cursor);
    cursor = name.end;
    match bytes.get(cursor) {
        None | Some(b' ' | b'\n' | b'\t' | b'\r') if name.is_empty() => return Err(NoTag::Text),
        Some(b'>' | b'/' | b' ' | b'\n' | b'\t' | b'\r') | None => {}
        Some(_) if syntax == Syntax::Html => return Err(NoTag::Text),
        Some(_) if name.is_empty() => return Err(NoTag::Broken("starts a tag without a name; write `\\<`", cursor)),
        Some(b':' | b'@') => return Err(NoTag::Broken("is no tag; addresses in `<…>` are not MDX", cursor)),
        Some(_) => return Err(NoTag::Broken("is no tag; write `\\<` for the character", cursor)),
    }
    if name.is_empty() && syntax == Syntax::Html {
        return Err(NoTag::Text);
    }
    let mut tag =
        Tag { name, form: if closes { Form::Close } else { Form::Open }, attributes: Vec::new(), range: at..at };
    loop {
        cursor = skip_space(bytes, cursor);
        match bytes.get(cursor) {
            Some(b'>') => {
                tag.range.end = cursor + 1;
                return Ok(tag);
            }
            Some(b'/') => {
                cursor += 1;
                if bytes.get(cursor) == Some(&b'>') && !closes {
                    tag.form = Form::Alone;
                }
            }
            Some(b'{') if syntax == Syntax::Jsx => {
                cursor = script::after_braces(&text[..end], cursor)
                    .ok_or(NoTag::Broken("has a brace in its tag that is not closed", cursor))?;
            }
            // A template that is filled in before anybody reads the tag.
            Some(b'{') => cursor = after_template(bytes, cursor).ok_or(NoTag::Text)?,
            Some(_) => cursor = attribute(&text[..end], cursor, syntax, &mut tag.attributes)?,
            None => return Err(unfinished(syntax, cursor)),
        }
    }
}

/// The tags that a script between braces shows: `{items.map((it) => <a href="/x">x</a>)}`. What stands in strings is none.
pub(super) fn inside(text: &str, range: Range<usize>) -> Vec<Tag> {
    // After so many that are none it is something else.
    const MOST_FAILURES: usize = 50;
    let bytes = &text.as_bytes()[..range.end];
    let (mut found, mut failures, mut at) = (Vec::new(), 0, range.start);
    while at < range.end && failures < MOST_FAILURES {
        let in_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
        let end = match bytes[at] {
            quote @ (b'"' | b'\'' | b'`') if !in_word => script::after_string(bytes, at, quote),
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                memchr::memmem::find(&bytes[at..], b"*/").map(|length| at + length + 2)
            }
            b'<' if !in_word && bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic) => {
                read(&text[..range.end], at, Syntax::Jsx).ok().map(|tag| {
                    let end = tag.range.end;
                    found.push(tag);
                    end
                })
            }
            _ => Some(at + 1),
        };
        failures += usize::from(end.is_none());
        at = end.unwrap_or(at + 1);
    }
    found
}

/// Where a template ends that starts at `at`.
fn after_template(bytes: &[u8], at: usize) -> Option<usize> {
    let closing: &[u8] = match bytes.get(at + 1)? {
        b'{' => b"}}",
        b'%' => b"%}",
        _ => return None,
    };
    memchr::memmem::find(&bytes[at + 2..], closing).map(|length| at + 2 + length + 2)
}

fn unfinished(syntax: Syntax, cursor: usize) -> NoTag {
    match syntax {
        Syntax::Html => NoTag::Text,
        Syntax::Jsx => NoTag::Broken("starts a tag that has no `>`", cursor),
    }
}

/// Reads one attribute; gives the position after it.
fn attribute(text: &str, at: usize, syntax: Syntax, attributes: &mut Vec<Attribute>) -> Result<usize, NoTag> {
    let bytes = text.as_bytes();
    let stop = |b: &u8| matches!(b, b' ' | b'\n' | b'\t' | b'\r' | b'=' | b'>' | b'/' | b'{' | b'"' | b'\'' | b'<');
    let length = bytes[at..].iter().position(stop).unwrap_or(bytes.len() - at);
    if length == 0 {
        return match syntax {
            Syntax::Html => Err(NoTag::Text),
            Syntax::Jsx => Err(NoTag::Broken("has a character in its tag that does not belong there", at)),
        };
    }
    let name = at..at + length;
    let equals = skip_space(bytes, name.end);
    if bytes.get(equals) != Some(&b'=') {
        attributes.push(Attribute { name: name.clone(), value: None });
        return Ok(name.end);
    }
    let start = skip_space(bytes, equals + 1);
    let (value, after) = match bytes.get(start) {
        Some(quote @ (b'"' | b'\'')) => {
            let length = memchr::memchr(*quote, &bytes[start + 1..]);
            let end = length.map(|length| start + 1 + length).ok_or(match syntax {
                Syntax::Html => NoTag::Text,
                Syntax::Jsx => NoTag::Broken("has an attribute whose quote is not closed", start),
            })?;
            (Some(start + 1..end), end + 1)
        }
        Some(b'{') if syntax == Syntax::Jsx => {
            let after = script::after_braces(text, start)
                .ok_or(NoTag::Broken("has a brace in its tag that is not closed", start))?;
            (script::lone_string(text, start + 1..after - 1), after)
        }
        Some(_) if syntax == Syntax::Html => {
            let ends = |b: &u8| matches!(b, b' ' | b'\n' | b'\t' | b'\r' | b'>' | b'"' | b'\'' | b'<');
            let length = bytes[start..].iter().position(ends).unwrap_or(bytes.len() - start);
            (Some(start..start + length), start + length.max(1))
        }
        Some(b'<') => return Err(NoTag::Broken("has an attribute whose value is a tag without braces", start)),
        Some(_) => return Err(NoTag::Broken("has an attribute whose value is not in quotes", start)),
        None => return Err(unfinished(syntax, start)),
    };
    attributes.push(Attribute { name, value });
    Ok(after)
}

fn name_from(bytes: &[u8], at: usize) -> Range<usize> {
    let is_start = |b: &u8| b.is_ascii_alphabetic() || *b == b'_' || *b == b'$' || *b >= 0x80;
    if !bytes.get(at).is_some_and(is_start) {
        return at..at;
    }
    let goes_on = |b: &u8| is_start(b) || b.is_ascii_digit() || matches!(b, b'-' | b'.');
    let mut end = at + bytes[at..].iter().take_while(|b| goes_on(b)).count();
    // A namespace; but `https://` is none.
    if bytes.get(end) == Some(&b':') && bytes.get(end + 1).is_some_and(is_start) {
        end += 1 + bytes[end + 1..].iter().take_while(|b| goes_on(b)).count();
    }
    at..end
}

fn skip_space(bytes: &[u8], at: usize) -> usize {
    at + bytes[at.min(bytes.len())..].iter().take_while(|b| b.is_ascii_whitespace()).count()
}

/// Takes links and anchors from a tag's attributes.
pub(super) fn collect(text: &str, tag: &Tag, dialect: &Dialect, page: &mut Page) {
    let name = &text[tag.name.clone()];
    for attribute in &tag.attributes {
        let Some(range) = attribute.value.clone() else { continue };
        let value = decoded(&text[range.clone()]);
        let attribute = &text[attribute.name.clone()];
        let shown = (attribute == "src" && is_shown(name, &value)).then_some(LinkKind::Image);
        match (link_kind(name, attribute).or(shown), attribute) {
            (Some(kind), _) => {
                let in_component = is_own(name);
                page.links.push(Link { kind, target: value, range, in_tag: true, in_component });
            }
            (None, "id") => page.anchors.push(value),
            (None, "name") if name == "a" => page.anchors.push(value),
            (None, _) if dialect.component_ids => {
                page.anchors.extend(component_id(name, attribute, &value, &dialect.ids))
            }
            (None, _) => {}
        }
    }
}

/// The id that Mintlify gives to a component for what it is called.
fn component_id(tag: &str, attribute: &str, value: &str, ids: &IdRule) -> Option<String> {
    match (tag, attribute) {
        ("Tab" | "Accordion" | "View" | "Step", "title") | ("Update", "label") => Some(ids.slug(value)),
        ("ParamField" | "Param", "query" | "path" | "body" | "header") | ("ResponseField", "name") => {
            Some(format!("param-{}", decamelized(value)))
        }
        _ => None,
    }
}

/// `someName.part` as `some-name-part`.
fn decamelized(text: &str) -> String {
    let mut slug = String::with_capacity(text.len() + 4);
    let mut was_lower = false;
    for c in text.chars() {
        if c.is_uppercase() && was_lower {
            slug.push('-');
        }
        was_lower = c.is_lowercase() || c.is_ascii_digit();
        if c.is_alphanumeric() {
            slug.extend(c.to_lowercase());
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_matches('-').to_owned()
}

fn link_kind(tag: &str, attribute: &str) -> Option<LinkKind> {
    match (tag, attribute) {
        ("Snippet", "file") => Some(LinkKind::Snippet),
        ("script" | "iframe" | "link" | "base" | "embed" | "object" | "Iframe", _) => None,
        // Parts of drawings name other parts of theirs.
        ("use" | "linearGradient" | "radialGradient" | "pattern" | "textPath" | "mpath" | "filter", "href") => None,
        (_, "href") => Some(LinkKind::Page),
        ("Link", "to") => Some(LinkKind::Page),
        ("img" | "Image" | "video" | "source" | "audio" | "Frame", "src") | (_, "poster") => Some(LinkKind::Image),
        ("Card", "img") => Some(LinkKind::Image),
        _ => None,
    }
}

/// Whether a tag is a component of which no generator says what it does with an address.
fn is_own(tag: &str) -> bool {
    const KNOWN: [&str; 9] =
        ["Card", "Cards.Card", "Link", "LinkCard", "LinkButton", "Button", "Tile", "Image", "Snippet"];
    tag.starts_with(|c: char| c.is_ascii_uppercase()) && !KNOWN.contains(&tag)
}

/// Whether a component shows this file: a picture or a film that is named by its whole address.
fn is_shown(tag: &str, value: &str) -> bool {
    let is_component = tag.starts_with(|c: char| c.is_ascii_uppercase());
    is_component && tag != "Iframe" && value.starts_with('/') && paths::is_image(value)
}
