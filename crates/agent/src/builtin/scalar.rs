//! Values of front matter, written so that they read back as the same text.

/// A value as plain text if that is safe, else in double quotes.
pub(crate) fn yaml(value: &str) -> String {
    if is_plain(value) { value.to_owned() } else { double_quoted(value) }
}

/// A value in double quotes, as both YAML and TOML read them.
pub(crate) fn double_quoted(value: &str) -> String {
    let mut out = String::from("\"");
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || c == '\u{feff}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A value written as the one before it was: plain or in the same quotes, where that is safe. None for a value of
/// several lines.
pub(crate) fn like(before: &str, value: &str, is_toml: bool) -> Option<String> {
    if before.contains('\n') || before.starts_with(['|', '>']) || before.starts_with("\"\"\"") {
        return None;
    }
    Some(match before.chars().next() {
        Some('\'') if is_toml && value.contains('\'') => double_quoted(value),
        Some('\'') if value.chars().any(char::is_control) => double_quoted(value),
        Some('\'') => format!("'{}'", value.replace('\'', "''")),
        Some('"') => double_quoted(value),
        _ if is_toml => return None,
        _ => yaml(value),
    })
}

/// Whether YAML reads the text, without quotes, as that text and nothing else.
fn is_plain(value: &str) -> bool {
    let first_is_safe = value.chars().next().is_some_and(|c| c.is_alphabetic() || c == '(');
    let reads_otherwise = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    first_is_safe
        && value.trim() == value
        && !value.ends_with(':')
        && !value.contains(": ")
        && !value.contains(" #")
        && !value.chars().any(|c| c.is_control() || matches!(c, '\u{feff}' | '\u{85}' | '\u{2028}' | '\u{2029}'))
        && !reads_otherwise.iter().any(|word| value.eq_ignore_ascii_case(word))
        && !value.eq_ignore_ascii_case("inf")
        && !value.eq_ignore_ascii_case("nan")
}

#[cfg(test)]
mod tests {
    use copydesk_checks::page::parse;
    use proptest::prelude::*;

    use super::*;

    fn read_back(fence: &str, line: &str) -> Option<String> {
        let text = format!("{fence}\n{line}\n{fence}\n");
        let page = parse("a.md", &text);
        assert!(page.problems.is_empty(), "{text}: {:?}", page.problems);
        page.front_matter?.fields.into_iter().next()?.value
    }

    #[test]
    fn plain_where_it_can_be() {
        assert_eq!(yaml("Rate limits"), "Rate limits");
        assert_eq!(yaml("Rate limits: all"), "\"Rate limits: all\"");
        assert_eq!(like("'a'", "it's", false).as_deref(), Some("'it''s'"));
        assert_eq!(like("'a'", "it's", true).as_deref(), Some("\"it's\""));
        assert_eq!(like("|\n  a", "b", false), None);
    }

    proptest! {
        #[test]
        fn every_value_reads_back(value in "\\PC{1,30}|(true|No|1e3|~|- a|a: b|a #b|\\? x|'x|\"x|\\[a|0x1f|2024-01-01)") {
            prop_assume!(!value.contains('\u{feff}') && !value.contains("{{") && !value.contains("{%"));
            prop_assert_eq!(read_back("---", &format!("a: {}", yaml(&value))), Some(value.clone()));
            prop_assert_eq!(read_back("---", &format!("a: {}", like("'x'", &value, false).unwrap())), Some(value.clone()));
            prop_assert_eq!(read_back("+++", &format!("a = {}", like("'x'", &value, true).unwrap())), Some(value));
        }
    }
}
