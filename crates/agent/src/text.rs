//! Cutting text to size without cutting a character in two, and counting things in words.

/// `1 line`, `2 lines`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// The first bytes of `text`, at most `most` of them.
pub(crate) fn head(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// `text` if it has at most `most` bytes, else its beginning and `…`.
pub(crate) fn short(text: &str, most: usize) -> String {
    if text.len() <= most { text.to_owned() } else { format!("{}…", head(text, most)) }
}

/// `text` in one line, without control characters, at most `most` bytes and `…`.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let spaced = text.chars().map(|c| if c.is_control() || c == '\u{2028}' || c == '\u{2029}' { ' ' } else { c });
    // More than enough to begin with, so that an endless text is not walked to its end.
    let start: String = spaced.take(most.saturating_mul(4)).collect();
    let words: Vec<&str> = start.split_whitespace().collect();
    short(&words.join(" "), most)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cuts_between_characters() {
        assert_eq!(short("aä", 2), "a…");
        assert_eq!(short("aä", 3), "aä");
        assert_eq!(one_line(" a\n\tb\u{0}c ", 80), "a b c");
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "line")), ["0 lines", "1 line", "2 lines"]);
    }

    proptest! {
        #[test]
        fn never_longer_and_never_a_panic(text in "\\PC{0,40}", most in 0usize..60) {
            prop_assert!(head(&text, most).len() <= most);
            prop_assert!(one_line(&text, most).len() <= most + "…".len());
        }
    }
}
