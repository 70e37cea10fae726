//! Templates in addresses, `{{ … }}` and `{% … %}`: they are filled in before Markdown is read, which would stumble over
//! their spaces and quotes.

use super::{Dialect, Heading, Link, Page};

/// No template in an address is longer.
const LONGEST: usize = 400;

/// The text, byte for byte as long, with templates in addresses written so that Markdown takes them for addresses; none
/// if there are none.
pub(super) fn smoothed(text: &str) -> Option<String> {
    let mut bytes: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(length) = memchr::memchr(b'{', &text.as_bytes()[at..]) {
        let start = at + length;
        let Some(end) = template_end(text, start) else {
            at = start + 1;
            continue;
        };
        at = end;
        let known = bytes.as_deref().unwrap_or(text.as_bytes());
        if is_in_address(known, start) {
            let bytes = bytes.get_or_insert_with(|| text.as_bytes().to_vec());
            bytes[start + 2..end - 2].iter_mut().filter(|byte| byte.is_ascii() && !is_plain(**byte)).for_each(|byte| {
                *byte = b'-';
            });
        }
    }
    bytes.and_then(|bytes| String::from_utf8(bytes).ok())
}

/// Where a template ends that starts at `start`, if one does; it is on one line.
fn template_end(text: &str, start: usize) -> Option<usize> {
    let closing: &[u8] = match text.as_bytes().get(start + 1) {
        Some(b'{') => b"}}",
        Some(b'%') => b"%}",
        _ => return None,
    };
    let limit = text.len().min(start + LONGEST);
    let inside = &text.as_bytes()[start + 2..limit];
    let line = memchr::memchr(b'\n', inside).unwrap_or(inside.len());
    memchr::memmem::find(&inside[..line], closing).map(|length| start + 2 + length + 2)
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/' | b'_' | b'-' | b':' | b'#')
}

/// Whether an address has begun on the line before `at`: of a link, a definition or an attribute.
fn is_in_address(bytes: &[u8], at: usize) -> bool {
    let from = at.saturating_sub(LONGEST);
    let start = memchr::memrchr(b'\n', &bytes[from..at]).map_or(from, |newline| from + newline + 1);
    let before = &bytes[start..at];
    let word = before.iter().rposition(u8::is_ascii_whitespace).map_or(0, |space| space + 1);
    let word_start = &before[word..];
    let opens = |mark: &[u8]| memchr::memmem::rfind(word_start, mark).map(|found| &word_start[found + mark.len()..]);
    opens(b"](").is_some_and(|rest| !rest.contains(&b')'))
        || opens(b"=\"").is_some_and(|rest| !rest.contains(&b'"'))
        || opens(b"='").is_some_and(|rest| !rest.contains(&b'\''))
        || before[..word].trim_ascii_end().ends_with(b"]:")
        || before.trim_ascii_end().ends_with(b"](")
}

/// Gives links back what is written in the text, and notes the ids of headings that a template fills in.
pub(super) fn restore(text: &str, dialect: &Dialect, page: &mut Page) {
    let written = |link: &mut Link| {
        if is_template(&link.target)
            && let Some(target) = text.get(link.range.clone())
        {
            target.clone_into(&mut link.target);
        }
    };
    page.links.iter_mut().for_each(written);
    // A line of hyphens after a template underlines nothing.
    let is_line = |heading: &Heading| heading.marker.is_none() && heading.text.starts_with("{{");
    let filled = page.headings.iter().filter(|heading| is_template(&heading.text) && !is_line(heading));
    for heading in filled.filter(|heading| !names_itself(text, heading)) {
        let ends = |c: char| matches!(c, '{' | '}');
        let start = heading.text.split(ends).next().unwrap_or_default();
        let end = heading.text.rsplit(ends).next().unwrap_or_default();
        let slug = |part: &str| dialect.ids.slug(part).trim_matches(['-', '_']).to_owned();
        let (start, end) = (slug(start), slug(end));
        if start.is_empty() && end.is_empty() {
            page.open = true;
        } else {
            page.made.push((start, end));
        }
    }
}

fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("{%")
}

/// Whether a heading gives itself an id that no template fills in.
fn names_itself(text: &str, heading: &Heading) -> bool {
    let written = text.get(heading.range.clone()).unwrap_or_default().trim_end();
    let list = written.strip_suffix('}').and_then(|written| written.rsplit_once('{')).map(|(_, list)| list);
    list.is_some_and(|list| list.trim_start_matches([':', ' ']).starts_with('#') && list.contains(&heading.anchor))
}
