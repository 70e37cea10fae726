//! Drafts on hosts that tell them by the beginning of the title.

/// The title with or without `mark` at its beginning. Whatever else the host would take for the mark of a draft goes.
pub(super) fn marked(title: &str, mark: &str, marks: &[&str], draft: bool) -> String {
    let bare = without(title, marks);
    // A title of marks alone says nothing, but it may not be empty either.
    let bare = if bare.is_empty() { "Update the documentation" } else { bare };
    if draft { format!("{mark}{bare}") } else { bare.to_owned() }
}

/// The title without the marks at its beginning.
pub(super) fn without<'a>(title: &'a str, marks: &[&str]) -> &'a str {
    let mut rest = title.trim();
    while let Some(shorter) = marks.iter().find_map(|mark| {
        let start = rest.get(..mark.len())?;
        start.eq_ignore_ascii_case(mark).then(|| rest[mark.len()..].trim_start())
    }) {
        rest = shorter;
    }
    rest
}

/// Whether a title begins with one of the marks.
pub(super) fn is_marked(title: &str, marks: &[&str]) -> bool {
    without(title, marks) != title.trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKS: &[&str] = &["draft:", "[draft]", "(draft)"];

    #[test]
    fn titles_say_what_they_are_and_nothing_else() {
        assert_eq!(marked("Explain it", "Draft: ", MARKS, true), "Draft: Explain it");
        assert_eq!(marked("Draft: Explain it", "Draft: ", MARKS, true), "Draft: Explain it");
        assert_eq!(marked("[DRAFT] draft:Explain it", "Draft: ", MARKS, false), "Explain it");
        assert_eq!(marked("Drafting emails", "Draft: ", MARKS, false), "Drafting emails");
        assert_eq!(marked("Draft:", "Draft: ", MARKS, false), "Update the documentation");
        assert_eq!(marked("ärger", "Draft: ", MARKS, true), "Draft: ärger");
        assert!(is_marked("draft: x", MARKS) && !is_marked("x draft:", MARKS));
    }
}
