//! Just enough JavaScript to find where it ends.

/// More than this is not looked through for a closing brace.
const LONGEST: usize = 1024 * 1024;

/// The position after the brace that closes the one at `at`; none if it is not closed.
pub(super) fn after_braces(text: &str, at: usize) -> Option<usize> {
    balanced(text, at, true).or_else(|| balanced(text, at, false))
}

/// With `strict` off, quotes mean nothing: text between tags inside an expression may hold an apostrophe.
fn balanced(text: &str, at: usize, strict: bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let end = bytes.len().min(at.saturating_add(LONGEST));
    let mut depth = 0usize;
    let mut position = at;
    while position < end {
        match bytes[position] {
            b'{' => depth += 1,
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(position + 1);
                }
            }
            b'/' if bytes.get(position + 1) == Some(&b'*') => {
                position = find(bytes, position + 2, b"*/")? + 1;
            }
            b'/' if strict && bytes.get(position + 1) == Some(&b'/') && !after_colon(bytes, position) => {
                position = memchr::memchr(b'\n', &bytes[position..]).map_or(end, |length| position + length);
            }
            quote @ (b'"' | b'\'' | b'`') if strict => {
                if let Some(after) = after_string(bytes, position, quote) {
                    position = after - 1;
                }
            }
            _ => {}
        }
        position += 1;
    }
    None
}

/// `https://` between tags is no comment.
fn after_colon(bytes: &[u8], position: usize) -> bool {
    position > 0 && bytes[position - 1] == b':'
}

/// The position after a string; none if it does not end on its line (a template may have many lines).
pub(super) fn after_string(bytes: &[u8], at: usize, quote: u8) -> Option<usize> {
    let mut position = at + 1;
    while let Some(&byte) = bytes.get(position) {
        match byte {
            b'\\' => position += 1,
            b'\n' if quote != b'`' => return None,
            _ if byte == quote => return Some(position + 1),
            _ => {}
        }
        position += 1;
    }
    None
}

/// Whether all brackets of a piece of script are closed.
pub(super) fn is_complete(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut open = 0i64;
    let mut position = 0;
    while let Some(&byte) = bytes.get(position) {
        match byte {
            b'{' | b'(' | b'[' => open += 1,
            b'}' | b')' | b']' => open -= 1,
            b'/' if bytes.get(position + 1) == Some(&b'*') => match find(bytes, position + 2, b"*/") {
                Some(end) => position = end + 1,
                None => return false,
            },
            b'/' if bytes.get(position + 1) == Some(&b'/') && !after_colon(bytes, position) => {
                position = memchr::memchr(b'\n', &bytes[position..]).map_or(bytes.len(), |length| position + length);
            }
            b'"' | b'\'' | b'`' => match after_string(bytes, position, byte) {
                Some(after) => position = after - 1,
                None if byte == b'`' => return false,
                None => {}
            },
            _ => {}
        }
        position += 1;
    }
    open <= 0
}

fn find(bytes: &[u8], from: usize, needle: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes.get(from..)?, needle).map(|length| from + length)
}

/// The text of a string literal that is all there is between braces: `{"…"}`, with its range.
pub(super) fn lone_string(text: &str, inside: std::ops::Range<usize>) -> Option<std::ops::Range<usize>> {
    let inner = text.get(inside.clone())?;
    let start = inside.start + (inner.len() - inner.trim_start().len());
    let trimmed = inner.trim();
    let quote = *trimmed.as_bytes().first()?;
    let closes = matches!(quote, b'"' | b'\'' | b'`')
        && after_string(trimmed.as_bytes(), 0, quote) == Some(trimmed.len())
        && !trimmed.contains(['\\', '$']);
    closes.then(|| start + 1..start + trimmed.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_an_expression_is_found() {
        for text in [
            "{}",
            "{a: {b: 1}}",
            "{'}'}",
            "{`${x} }`}",
            "{/* } */ x}",
            "{x && <p>Don't</p>}",
            "{a // }\n}",
            "{<a href='https://x'>y</a>}",
        ] {
            assert_eq!(after_braces(&format!("{text} tail"), 0), Some(text.len()), "{text}");
        }
        for text in ["{", "{{}", "{ /* }"] {
            assert_eq!(after_braces(text, 0), None, "{text}");
        }
    }

    #[test]
    fn a_lone_string_is_read() {
        assert_eq!(lone_string(r#"{ "/x" }"#, 1..7), Some(3..5));
        assert_eq!(lone_string("{`/x${y}`}", 1..9), None);
        assert_eq!(lone_string(r#"{"a" + "b"}"#, 1..10), None);
    }
}
