use crate::Refusal;

/// A path inside the repository in its plain form, or why it is none. What git itself would refuse to check out
/// somewhere is refused as well: names that mean `.git` to macOS or Windows.
pub(crate) fn plain_path(text: &str) -> Result<String, Refusal> {
    let refuse = |why: &str| Err(Refusal::Refused(format!("{text:?} {why}")));
    if text.is_empty() || text.len() > 1024 {
        return refuse("is not a path of 1 to 1024 bytes");
    }
    if text.chars().any(|c| c.is_control() || c == '\\' || c == ':') {
        return refuse("holds a character that a path here may not hold");
    }
    if text.starts_with('/') || text.starts_with('~') {
        return refuse("is not relative to the repository");
    }
    let mut parts = Vec::new();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." => return refuse("leaves the repository"),
            _ if part.len() > 255 => return refuse("has a name of more than 255 bytes"),
            _ if means_git(part) => return refuse("is git's own"),
            _ => parts.push(part),
        }
    }
    if parts.is_empty() || text.ends_with('/') {
        return refuse("is a folder, not a file");
    }
    Ok(parts.join("/"))
}

/// Whether a file system may take this name for `.git`: it ignores case, some characters (macOS), trailing dots and
/// spaces, and has short names (Windows).
fn means_git(name: &str) -> bool {
    let ignored =
        |c: char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let name: String = name.chars().filter(|c| !ignored(*c)).collect();
    let name = name.trim_end_matches(['.', ' ']).to_ascii_lowercase();
    name == ".git" || name == "git~1"
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_are_made_plain() {
        for (text, plain) in [
            ("a.md", "a.md"),
            ("./a.md", "a.md"),
            ("docs//b/./c.md", "docs/b/c.md"),
            (".github/x.md", ".github/x.md"),
            (".gitignore", ".gitignore"),
            ("git/x", "git/x"),
            ("a b/ü.md", "a b/ü.md"),
        ] {
            assert_eq!(plain_path(text).unwrap(), plain);
        }
    }

    #[test]
    fn what_leaves_the_repository_or_is_gits_own_is_refused() {
        let long = format!("{}.md", "x".repeat(255));
        let deep = "a/".repeat(600) + "b";
        for text in [
            "",
            ".",
            "/",
            "./",
            "a/",
            "/etc/passwd",
            "~/x",
            "../x",
            "a/../b",
            "a/..",
            "..",
            "a\\..\\b",
            "C:x",
            "a\0b",
            "a\nb",
            ".git",
            ".git/config",
            "docs/.git/hooks/x",
            ".GIT/config",
            ".Git",
            ".git.",
            ".git ",
            ".git . .",
            "git~1",
            "GIT~1/config",
            ".g\u{200c}it/config",
            "\u{feff}.git",
            ".gi\u{200d}t",
            ".git::$INDEX_ALLOCATION",
            &long,
            &deep,
        ] {
            assert!(plain_path(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_plain_path_stays_inside(text in "[a-cA-C./\\\\~: ]{0,24}|\\PC{0,40}") {
            if let Ok(path) = plain_path(&text) {
                prop_assert_eq!(plain_path(&path).unwrap(), path.clone());
                prop_assert!(!path.starts_with('/') && !path.ends_with('/'));
                prop_assert!(path.split('/').all(|part| !matches!(part, "" | "." | "..") && !part.eq_ignore_ascii_case(".git")));
            }
        }
    }
}
