//! Fills in missing titles and descriptions from the page itself. What is there is not touched.

use copydesk_checks::Check;
use copydesk_checks::page::{Page, parse};

use super::chore::FrontMatter;
use super::docs::{ChoreFailure, Docs};
use super::excerpt::first_sentence;
use super::replace::is_toml;
use super::scalar;
use super::scope::{names_itself, pages_of};
use crate::edits::{Edits, line_break};

/// Files that code hosts or other pages show, where front matter would be seen.
const NO_PAGES: [&str; 11] = [
    "readme",
    "summary",
    "changelog",
    "contributing",
    "license",
    "code_of_conduct",
    "security",
    "agents",
    "claude",
    "support",
    "governance",
];

pub(crate) fn run(chore: &FrontMatter, docs: &mut Docs) -> Result<(), ChoreFailure> {
    for path in &pages_of(&chore.scope, docs)? {
        if takes_none(path) && !names_itself(&chore.scope, path) {
            continue;
        }
        if let Some(text) = docs.text(path)? {
            one_page(path, &text, chore, docs)?;
        }
    }
    Ok(())
}

fn one_page(path: &str, text: &str, chore: &FrontMatter, docs: &mut Docs) -> Result<(), ChoreFailure> {
    let page = parse(path, text);
    if let Some(problem) = page.problems.iter().find(|problem| problem.check == Check::FrontMatter) {
        docs.report.note_left(path, problem.message.clone());
        return Ok(());
    }
    let mut fields: Vec<(&str, String)> = Vec::new();
    for (name, wanted) in [("title", chore.title), ("description", chore.description)] {
        if !wanted || has_field(&page, name) {
            continue;
        }
        let value = if name == "title" { title(path, &page) } else { first_sentence(&page, text) };
        match value {
            Some(value) => fields.push((name, value)),
            None => docs.report.note_left(path, format!("no {name} can be taken from the page")),
        }
    }
    if fields.is_empty() {
        return Ok(());
    }
    let new_text = with_fields(&page, text, &fields);
    if parse(path, &new_text).problems.len() > page.problems.len() {
        docs.report.note_left(path, "its front matter cannot be added to safely");
        return Ok(());
    }
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    docs.write(path, new_text, fields.len(), names.join(" and "))?;
    Ok(())
}

fn takes_none(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    let hidden = path.split('/').any(|part| part.starts_with(['_', '.']) || part == "snippets" || part == "includes");
    hidden || NO_PAGES.contains(&stem.as_str())
}

/// An empty field is there as well: somebody has put it there.
fn has_field(page: &Page, name: &str) -> bool {
    page.front_matter.iter().flat_map(|it| &it.fields).any(|field| field.name == name)
}

/// The first heading of the first level, else the name of the file.
fn title(path: &str, page: &Page) -> Option<String> {
    let heading = page.headings.iter().find(|heading| heading.level == 1 && !heading.text.trim().is_empty());
    match heading {
        Some(heading) => Some(heading.text.split_whitespace().collect::<Vec<_>>().join(" ")),
        None => title_from_path(path),
    }
}

/// `docs/rate-limits.mdx` is “Rate limits”; an index page is named like its folder.
pub(crate) fn title_from_path(path: &str) -> Option<String> {
    let mut parts = path.rsplit('/');
    let stem = parts.next()?.rsplit_once('.')?.0;
    let name = if matches!(stem.to_ascii_lowercase().as_str(), "index" | "readme") { parts.next()? } else { stem };
    let words = name.replace(['-', '_', '.'], " ");
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut letters = words.chars();
    let first = letters.next()?;
    Some(first.to_uppercase().chain(letters).collect())
}

/// The page with these fields, at the end of its front matter or in a new one.
fn with_fields(page: &Page, text: &str, fields: &[(&str, String)]) -> String {
    let newline = line_break(text);
    let toml = is_toml(page, text);
    let line = |(name, value): &(&str, String)| match toml {
        true => format!("{name} = {}{newline}", scalar::double_quoted(value)),
        false => format!("{name}: {}{newline}", scalar::yaml(value)),
    };
    let lines: String = fields.iter().map(line).collect();
    let mut edits = Edits::default();
    match &page.front_matter {
        // TOML tables go to the end, so that a field of the top level has to come first.
        Some(front_matter) if toml => edits.replace(front_matter.body.start..front_matter.body.start, lines),
        Some(front_matter) => edits.replace(front_matter.body.end..front_matter.body.end, lines),
        None => {
            let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
            let blank = if text[start..].starts_with(['\n', '\r']) || text.len() == start { "" } else { newline };
            edits.replace(start..start, format!("---{newline}{lines}---{newline}{blank}"));
        }
    }
    edits.apply(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(path: &str, text: &str) -> String {
        let page = parse(path, text);
        let fields = [("title", title(path, &page).unwrap()), ("description", first_sentence(&page, text).unwrap())];
        with_fields(&page, text, &fields)
    }

    #[test]
    fn front_matter_is_made_or_added_to() {
        assert_eq!(
            filled("a.md", "# Rate limits: all\n\nThere *is* a `limit`. More.\n"),
            "---\ntitle: \"Rate limits: all\"\ndescription: There is a limit.\n---\n\n# Rate limits: all\n\nThere *is* a `limit`. More.\n"
        );
        assert_eq!(
            filled("docs/rate-limits.md", "---\r\nicon: x # why\r\n---\r\n\r\nOne.\r\n"),
            "---\r\nicon: x # why\r\ntitle: Rate limits\r\ndescription: One.\r\n---\r\n\r\nOne.\r\n"
        );
        assert_eq!(
            filled("a.md", "+++\n[extra]\nx = 1\n+++\nOne \"two\".\n"),
            "+++\ntitle = \"A\"\ndescription = \"One \\\"two\\\".\"\n[extra]\nx = 1\n+++\nOne \"two\".\n"
        );
        assert_eq!(filled("a.md", "\u{feff}One."), "\u{feff}---\ntitle: A\ndescription: One.\n---\n\nOne.");
    }

    #[test]
    fn titles_come_from_paths() {
        assert_eq!(title_from_path("docs/rate-limits.mdx").as_deref(), Some("Rate limits"));
        assert_eq!(title_from_path("docs/api_keys/index.md").as_deref(), Some("Api keys"));
        assert_eq!(title_from_path("index.md"), None);
    }

    #[test]
    fn some_files_take_no_front_matter() {
        assert!(takes_none("README.md") && takes_none("docs/_part.mdx") && takes_none("docs/snippets/a.mdx"));
        assert!(!takes_none("docs/security-model.md") && !takes_none("docs/a.md"));
    }
}
