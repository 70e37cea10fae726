//! Components in plain Markdown.

use super::tags::{Dialect, read};
use super::view::Reading;

/// After this many tags that do not end, no more are looked for in plain Markdown.
const MOST_FAILURES: usize = 50;

/// Components (`<Card …>`) in plain Markdown: they are hidden from the Markdown parser, so that what is between them is
/// read as Markdown. HTML is left to it.
pub(super) fn find(text: &str, start: usize) -> Reading {
    let bytes = text.as_bytes();
    let mut reading = Reading { start, is_mdx: false, ..Reading::default() };
    let mut at = start;
    let mut failures = 0;
    while let Some(length) = memchr::memchr(b'<', &bytes[at..]) {
        at += length;
        let first = if bytes.get(at + 1) == Some(&b'/') { at + 2 } else { at + 1 };
        let is_component = bytes.get(first).is_some_and(u8::is_ascii_uppercase);
        let is_escaped = at > 0 && bytes[at - 1] == b'\\';
        if !is_component || is_escaped {
            at += 1;
            continue;
        }
        match read(text, at, Dialect::Jsx) {
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
