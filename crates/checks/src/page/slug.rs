/// The anchor that GitHub gives to a heading of this text, before it is made unique.
pub fn slug(text: &str) -> String {
    let mut slug = String::with_capacity(text.len());
    for c in text.trim().chars() {
        match c {
            ' ' => slug.push('-'),
            '-' | '_' => slug.push(c),
            _ if c.is_alphanumeric() || is_combining(c) => slug.extend(c.to_lowercase()),
            _ => {}
        }
    }
    slug
}

/// Marks that letters of many scripts are written with; a slug without them would be another word.
fn is_combining(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{dff}' if !c.is_ascii()) && !c.is_ascii_punctuation()
}

/// What is compared when a fragment is looked for. Sites make anchors by rules that differ in punctuation only, so
/// letters and digits decide.
pub fn anchor_key(anchor: &str) -> String {
    anchor.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_as_github_makes_them() {
        for (text, expected) in [
            ("Getting started", "getting-started"),
            ("What's new?", "whats-new"),
            ("C++ & Rust", "c--rust"),
            ("snake_case-and-more", "snake_case-and-more"),
            ("Über uns", "über-uns"),
            ("日本語", "日本語"),
            ("🚀 Launch", "-launch"),
        ] {
            assert_eq!(slug(text), expected, "{text}");
        }
    }

    #[test]
    fn keys_are_equal_across_the_rules_of_sites() {
        assert_eq!(anchor_key("what-s-new"), anchor_key("Whats_new"));
        assert_ne!(anchor_key("install"), anchor_key("installed"));
    }
}
