use std::borrow::Cow;
use std::fmt::Write;

/// The text with characters that cannot be seen or that change the direction of reading written out, so that nothing is
/// shown other than it is.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_hidden(c) {
            // Writing to a string cannot fail.
            let _ = write!(out, "<U+{:04X}>", u32::from(c));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Zero-width and direction characters, and the invisible letters of the tag block. The joiners that emoji and some
/// scripts need are left alone.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}'
        | '\u{2066}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hides() {
        assert_eq!(visible("a\u{202e}b\u{e0041}"), "a<U+202E>b<U+E0041>");
        assert!(matches!(visible("plain ünïcode 👩‍💻"), Cow::Borrowed(_)));
    }
}
