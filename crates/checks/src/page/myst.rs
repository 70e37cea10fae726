//! What MyST adds to Markdown: directives whose text is Markdown, and names for places that hold in the whole project.

/// Directives whose text is Markdown, so that links in it count.
const TRANSPARENT: [&str; 34] = [
    "admonition",
    "attention",
    "caution",
    "danger",
    "error",
    "hint",
    "important",
    "note",
    "seealso",
    "tip",
    "warning",
    "versionadded",
    "versionchanged",
    "deprecated",
    "tab-set",
    "tab-item",
    "tabs",
    "tab",
    "grid",
    "grid-item",
    "grid-item-card",
    "card",
    "card-carousel",
    "dropdown",
    "details",
    "div",
    "container",
    "sidebar",
    "margin",
    "topic",
    "epigraph",
    "toggle",
    "only",
    "aside",
];

/// The text, byte for byte as long, without the fences of directives whose text is Markdown, and without comments and
/// the lines that name places.
pub(super) fn smoothed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // The fences that are open, and whether what is in them is Markdown.
    let mut open: Vec<(char, usize, bool)> = Vec::new();
    for line in text.split_inclusive('\n') {
        let content = line.trim();
        let mark = content.chars().next().filter(|c| matches!(c, '`' | '~' | ':')).unwrap_or(' ');
        let length = content.chars().take_while(|c| *c == mark).count();
        let rest = &content[length.min(content.len())..];
        let in_code = open.last().is_some_and(|(.., is_markdown)| !is_markdown);
        let closes = rest.is_empty() && open.last().is_some_and(|(c, least, _)| *c == mark && length >= *least);
        let hides = if mark != ' ' && length >= 3 && closes {
            open.pop().is_some_and(|(.., is_markdown)| is_markdown)
        } else if mark != ' ' && length >= 3 && !in_code && !(mark == ':' && rest.is_empty()) {
            let name = rest.trim_start().strip_prefix('{').and_then(|rest| rest.split_once('}')).map(|(name, _)| name);
            let is_markdown = name.is_some_and(|name| TRANSPARENT.contains(&name)) || mark == ':' && name.is_none();
            if mark != '`' || !rest.contains('`') {
                open.push((mark, length, is_markdown));
            }
            is_markdown
        } else {
            !in_code && (target(content).is_some() || line.starts_with('%'))
        };
        if hides {
            let kept = line.trim_end_matches(['\n', '\r']).len();
            out.extend(std::iter::repeat_n(' ', kept));
            out.push_str(&line[kept..]);
        } else {
            out.push_str(line);
        }
    }
    out
}

/// The name of a line such as `(name)=`.
fn target(line: &str) -> Option<&str> {
    line.strip_prefix('(')?.strip_suffix(")=").map(str::trim).filter(|name| !name.is_empty())
}

/// The names that a file of MyST or reStructuredText gives to places: they hold in the whole project.
pub(crate) fn labels(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        let name = target(line)
            .or_else(|| line.strip_prefix(":name:"))
            .or_else(|| line.strip_prefix(":label:"))
            .or_else(|| line.strip_prefix("label:"))
            .or_else(|| line.strip_prefix("#| label:"))
            .or_else(|| line.strip_prefix(".. _").and_then(|rest| rest.strip_suffix(':')))
            .or_else(|| line.strip_prefix("$$ (").and_then(|rest| rest.strip_suffix(')')))
            .or_else(|| line.strip_prefix("$$(").and_then(|rest| rest.strip_suffix(')')));
        found.extend(name.map(|name| name.trim().trim_matches('`').to_lowercase()));
        for list in line.split('{').skip(1) {
            let id = list.split(['}', ' ']).find_map(|word| word.strip_prefix('#'));
            found.extend(id.filter(|_| list.contains('}')).map(str::to_lowercase));
        }
    }
    found
}

/// The ids of the headings of a page.
pub(crate) fn heading_labels(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#'));
    headings.filter(|title| title.starts_with(' ')).map(docutils).collect()
}

/// The id that docutils gives to a section of this title.
pub(super) fn docutils(title: &str) -> String {
    let mut id = String::with_capacity(title.len());
    for c in unicode_normalization::UnicodeNormalization::nfkd(title.to_lowercase().as_str()) {
        match c {
            'a'..='z' | '0'..='9' => id.push(c),
            _ if !c.is_ascii() => {}
            _ if id.ends_with('-') => {}
            _ => id.push('-'),
        }
    }
    id.trim_start_matches(|c: char| c == '-' || c.is_ascii_digit()).trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_directives_is_markdown() {
        let text =
            "(a)=\n# A\n\n````{note} x\n```{tip}\n[l](m)\n```\n````\n\n```{code-block} md\n(b)=\n[c](d)\n```\n:::\n";
        let shown = smoothed(text);
        assert_eq!(shown.len(), text.len());
        assert!(!shown.contains("{note}") && !shown.contains("{tip}") && !shown.contains("(a)="), "{shown}");
        assert!(shown.contains("```{code-block} md\n(b)=\n[c](d)\n```\n"), "{shown}");
        assert_eq!(shown.matches("```").count(), 2, "{shown}");
    }

    #[test]
    fn names_of_places_are_found() {
        let text = "(One Two)=\n:name: three\n.. _four:\n[x]{#five}\n$$ (six)\n{.c #seven}\n{{ #no\n";
        assert_eq!(labels(text), ["one two", "three", "four", "five", "six", "seven"]);
    }

    #[test]
    fn sections_have_ids_of_docutils() {
        for (title, id) in [("A B: c!", "a-b-c"), ("1. Start", "start"), ("Über x_y", "uber-x-y")] {
            assert_eq!(docutils(title), id);
        }
    }
}
