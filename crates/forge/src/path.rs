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
