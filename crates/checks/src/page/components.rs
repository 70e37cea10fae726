//! Components in plain Markdown.

use super::tags::{Form, Syntax, Tag, read};
use super::view::Reading;

/// No span of code in a line of text is longer.
const LONGEST_CODE: usize = 1000;
/// After this many tags that do not end, no more are looked for in plain Markdown.
const MOST_FAILURES: usize = 50;

/// Where a span of code ends that starts with these backticks; the position after them if it ends nowhere near.
fn after_code(bytes: &[u8], at: usize) -> usize {
    let run = |from: usize| bytes[from..].iter().take_while(|byte| **byte == b'`').count();
    let length = run(at);
    let start = at + length;
    let end = bytes.len().min(start + LONGEST_CODE);
    let mut cursor = start;
    while cursor < end
        && let Some(step) = memchr::memchr2(b'`', b'\n', &bytes[cursor..end])
    {
        cursor += step;
        if bytes[cursor] == b'\n' {
            // A span of code ends with its paragraph.
            if matches!(bytes.get(cursor + 1), Some(b'\n' | b'\r') | None) {
                break;
            }
            cursor += 1;
            continue;
        }
        let closing = run(cursor);
        cursor += closing;
        if closing == length {
            return cursor;
        }
    }
    start
}

/// Components (`<Card …>`) in plain Markdown: they are hidden from the Markdown parser, so that what is between them is
/// read as Markdown. HTML is left to it, but for tags that say that Markdown is in them (`<div markdown>`) if
/// `marked_tags` is set.
pub(super) fn find(text: &str, start: usize, marked_tags: bool) -> Reading {
    let bytes = text.as_bytes();
    let mut reading = Reading { start, is_mdx: false, ..Reading::default() };
    let mut at = start;
    let mut failures = 0;
    // The names of marked tags that are open.
    let mut open: Vec<&str> = Vec::new();
    while let Some(length) = memchr::memchr2(b'<', b'`', &bytes[at..]) {
        at += length;
        if bytes[at] == b'`' {
            at = after_code(bytes, at);
            continue;
        }
        let first = if bytes.get(at + 1) == Some(&b'/') { at + 2 } else { at + 1 };
        let is_component = bytes.get(first).is_some_and(u8::is_ascii_uppercase);
        let is_escaped = at > 0 && bytes[at - 1] == b'\\';
        if marked_tags && !is_component && !is_escaped {
            let tag = marked(text, at, &mut open);
            at = tag.as_ref().map_or(at + 1, |tag| tag.range.end);
            reading.masks.extend(tag.iter().map(|tag| tag.range.clone()));
            reading.tags.extend(tag);
            continue;
        }
        if !is_component || is_escaped {
            at += 1;
            continue;
        }
        match read(text, at, Syntax::Jsx) {
            Ok(tag) => {
                at = tag.range.end;
                reading.masks.push(tag.range.clone());
                reading.tags.push(tag);
            }
            Err(_) if failures < MOST_FAILURES => {
                failures += 1;
                at += 1;
            }
            Err(_) => break,
        }
    }
    reading
}

/// The tag at `at`, if it says that Markdown is in it or closes one that did; such tags stand at the beginning of lines.
fn marked<'t>(text: &'t str, at: usize, open: &mut Vec<&'t str>) -> Option<Tag> {
    let before = text[..at].trim_end_matches([' ', '\t']);
    if !before.is_empty() && !before.ends_with('\n') {
        return None;
    }
    let closing = text[at..].strip_prefix("</");
    if let Some(rest) = closing {
        let name = *open.last()?;
        if !rest.strip_prefix(name)?.starts_with('>') {
            return None;
        }
        open.pop();
        return read(text, at, Syntax::Html).ok();
    }
    let end = text[at..].find(['\n', '>']).map_or(text.len(), |length| at + length);
    if !text[at..end].contains(" markdown") {
        return None;
    }
    let tag = read(text, at, Syntax::Html).ok()?;
    let is_marked = tag.attributes.iter().any(|attribute| &text[attribute.name.clone()] == "markdown");
    if !is_marked || tag.form != Form::Open {
        return None;
    }
    open.push(&text[tag.name.clone()]);
    Some(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_passed_over_however_long_its_backticks_are() {
        let text = format!("`{}```` <Card />", "x".repeat(LONGEST_CODE - 2));
        assert_eq!(find(&text, 0, false).tags.len(), 1);
        assert_eq!(find("# `Array<T>` and <Badge />", 0, false).tags.len(), 1);
        assert_eq!(find("`a\n\n<Card /> `", 0, false).tags.len(), 1);
    }
}
