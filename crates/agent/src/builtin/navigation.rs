//! The navigation files of the documentation: their sections, and listing a page.

use copydesk_checks::nav::{Entry, NavKind, Navigation, insert_page, kind_of, parse};
use copydesk_checks::paths::is_below;
use serde_json::Value;

use super::docs::{ChoreFailure, Docs};
use super::report::code;
use super::words::listed;

struct File {
    path: String,
    text: String,
    navigation: Navigation,
}

/// A section of the navigation, and the pages that are listed directly in it.
pub(crate) struct Section {
    file: String,
    /// The pages, in order; at least one.
    pub(crate) pages: Vec<String>,
}

pub(crate) struct Listing<'a> {
    pub(crate) page: &'a str,
    pub(crate) title: &'a str,
    pub(crate) section: Option<&'a Section>,
}

impl Listing<'_> {
    /// Lists the page in the section, or else in the navigation files nearest to it; gives these, written as code.
    pub(crate) fn list(&self, docs: &mut Docs) -> Result<Vec<String>, ChoreFailure> {
        let mut files = files(docs)?;
        files.retain(|file| match self.section {
            Some(section) => file.path == section.file,
            None => file.navigation.written(self.page).is_some(),
        });
        let nearest = files.iter().map(|file| file.navigation.root.len()).max();
        let mut done = Vec::new();
        for file in files.into_iter().filter(|file| Some(file.navigation.root.len()) == nearest) {
            let after = self.section.and_then(|section| section.pages.last()).map(String::as_str);
            let Some(text) = insert_page(&file.path, &file.text, self.page, self.title, after) else {
                docs.report.note_left(&file.path, format!("no place was found in it to list {}", code(self.page)));
                continue;
            };
            if docs.write(&file.path, text, 1, "lists the page")? {
                done.push(code(&file.path));
            }
        }
        Ok(done)
    }
}

/// Whether a path is that of a script that makes a site's navigation.
fn is_navigation_script(path: &str) -> bool {
    const ENDINGS: [&str; 7] = ["js", "ts", "mjs", "mts", "cjs", "jsx", "tsx"];
    const STEMS: [&str; 3] = ["astro.config", "docusaurus.config", "_meta"];
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    name.rsplit_once('.').is_some_and(|(stem, end)| STEMS.contains(&stem) && ENDINGS.contains(&end))
}

/// Scripts that make the navigation around a page, which nothing here can edit: settings of a site above it, and the lists of
/// its folders. At most three, the nearest first.
pub(crate) fn scripts_around(page: &str, docs: &Docs) -> Result<Vec<String>, ChoreFailure> {
    let is_one = |path: &&String| {
        is_navigation_script(path) && is_below(page, path.rsplit_once('/').map_or("", |(folder, _)| folder))
    };
    let all = docs.workspace.list("")?;
    let mut found: Vec<String> = all.iter().filter(is_one).cloned().collect();
    found.sort_by_key(|path| std::cmp::Reverse(path.matches('/').count()));
    found.truncate(3);
    Ok(found)
}

impl Section {
    /// The section of that name; there must be exactly one, and it must list a page.
    pub(crate) fn find(name: &str, docs: &Docs) -> Result<Self, ChoreFailure> {
        let mut found = Vec::new();
        for file in files(docs)? {
            for entries in sections(&file, name) {
                let mut pages = Vec::new();
                for entry in entries {
                    pages.extend(page_of(&file.navigation, entry, docs)?);
                }
                found.push(Self { file: file.path.clone(), pages });
            }
        }
        let written = if found.is_empty() { written_in(name, docs)? } else { Vec::new() };
        let name = code(name);
        let refuse = |why: String| Err(ChoreFailure::Refused(format!("{why}, so nothing was changed.")));
        match found.len() {
            0 if !written.is_empty() => Err(ChoreFailure::Refused(format!(
                "The section {name} is in {}, which only a model or a person can edit, so nothing was changed. Leave out \
                 \"under …\" and name the path of the page, which is then in no navigation; or name a model.",
                listed(&written, 3)
            ))),
            0 => refuse(format!("There is no section {name} in the navigation")),
            1 => match found.pop().filter(|section| !section.pages.is_empty()) {
                Some(section) => Ok(section),
                None => {
                    refuse(format!("The section {name} of the navigation lists no page that a new one could follow"))
                }
            },
            _ => {
                let files: Vec<String> = found.iter().map(|section| code(&section.file)).collect();
                refuse(format!("There are several sections {name} in the navigation ({})", listed(&files, 3)))
            }
        }
    }
}

/// Files of the navigation that hold the name of a section as a text of its own and that nothing here can edit: scripts, and
/// sidebars of any format. Written as code.
fn written_in(name: &str, docs: &Docs) -> Result<Vec<String>, ChoreFailure> {
    let name = name.trim().to_lowercase();
    let texts = ['"', '\'', '`'].map(|quote| format!("{quote}{name}{quote}"));
    let mut found = Vec::new();
    for path in docs.workspace.list("")? {
        let is_closed =
            matches!(kind_of(&path), Some(NavKind::Docusaurus | NavKind::VitePress)) || is_navigation_script(&path);
        if !is_closed || path.split('/').any(|part| part == "node_modules") {
            continue;
        }
        let text = docs.glance(&path)?.unwrap_or_default().to_lowercase();
        if texts.iter().any(|quoted| text.contains(quoted)) {
            found.push(code(&path));
        }
    }
    Ok(found)
}

/// The navigation files that list pages of the documentation.
fn files(docs: &Docs) -> Result<Vec<File>, ChoreFailure> {
    let mut files = Vec::new();
    for path in docs.workspace.list("")? {
        if kind_of(&path).is_none() || path.split('/').any(|part| part == "node_modules") {
            continue;
        }
        let Some(text) = docs.glance(&path)? else { continue };
        let Some(navigation) = parse(&path, &text) else { continue };
        files.push(File { path, text, navigation });
    }
    Ok(files)
}

/// The file of an entry.
fn page_of(navigation: &Navigation, entry: &Entry, docs: &Docs) -> Result<Option<String>, ChoreFailure> {
    for file in navigation.files_of(entry) {
        if docs.is_file(&file)? {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// For each section of that name, the entries directly in it.
fn sections<'a>(file: &'a File, name: &str) -> Vec<Vec<&'a Entry>> {
    match file.navigation.kind {
        NavKind::Mintlify => {
            let mut found = Vec::new();
            if let Ok(document) = serde_json::from_str::<Value>(&file.text) {
                groups(document.get("navigation").unwrap_or(&Value::Null), name, &mut found);
            }
            let entry = |target: &String| file.navigation.entries.iter().find(|entry| entry.target == *target);
            found.iter().map(|pages| pages.iter().filter_map(entry).collect()).collect()
        }
        NavKind::MkDocs => by_lines(file, |line| mkdocs_name(line).is_some_and(|it| same_name(it, name))),
        NavKind::Summary => by_lines(file, |line| summary_name(line).is_some_and(|it| same_name(it, name))),
        NavKind::Docusaurus | NavKind::VitePress => Vec::new(),
    }
}

fn same_name(a: &str, b: &str) -> bool {
    a.trim().to_lowercase() == b.trim().to_lowercase()
}

/// The pages directly in groups, tabs and the like of that name. JSON that is nested deeply is not parsed at all, so
/// that this does not go deep either.
fn groups(node: &Value, name: &str, found: &mut Vec<Vec<String>>) {
    match node {
        Value::Array(items) => items.iter().for_each(|item| groups(item, name, found)),
        Value::Object(fields) => {
            let names = ["group", "tab", "anchor", "dropdown", "version", "language", "product"];
            let is_it = names.iter().filter_map(|key| fields.get(*key)?.as_str()).any(|it| same_name(it, name));
            if is_it && let Some(pages) = fields.get("pages").and_then(Value::as_array) {
                found.push(pages.iter().filter_map(|page| page.as_str().map(str::to_owned)).collect());
            }
            fields.values().for_each(|value| groups(value, name, found));
        }
        _ => {}
    }
}

/// For each line that names the section, the entries below it that are not in a section further below.
fn by_lines(file: &File, names_it: impl Fn(&str) -> bool) -> Vec<Vec<&Entry>> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in file.text.split_inclusive('\n') {
        at += line.len();
        if names_it(line) {
            let end = at + section_length(&file.text[at..], line);
            let inside: Vec<&Entry> = file
                .navigation
                .entries
                .iter()
                .filter(|entry| entry.range.start >= at && entry.range.end <= end)
                .collect();
            let depth = |entry: &&Entry| indentation(line_of(&file.text, entry.range.start));
            let least = inside.iter().map(depth).min();
            found.push(inside.into_iter().filter(|entry| Some(depth(entry)) == least).collect());
        }
    }
    found
}

/// How much of the text after the line of a section belongs to it.
fn section_length(rest: &str, named_by: &str) -> usize {
    let heading = named_by.trim_start().starts_with('#');
    let mut length = 0;
    for line in rest.split_inclusive('\n') {
        let ends = match heading {
            true => line.trim_start().starts_with('#') || line.trim() == "---",
            false => !line.trim().is_empty() && indentation(line) <= indentation(named_by),
        };
        if ends {
            break;
        }
        length += line.len();
    }
    length
}

fn line_of(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |at| at + 1);
    text[start..].lines().next().unwrap_or_default()
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// `- Guides:`
fn mkdocs_name(line: &str) -> Option<&str> {
    let name = line.trim().strip_prefix("- ")?.strip_suffix(':')?;
    Some(name.trim().trim_matches(['"', '\'']))
}

/// `# Guides` or `- [Guides](guides.md)`
fn summary_name(line: &str) -> Option<&str> {
    let line = line.trim();
    if line.starts_with('#') {
        return Some(line.trim_start_matches('#').trim());
    }
    let item = line.strip_prefix(['-', '*', '+'])?.trim_start().strip_prefix('[')?;
    item.split(']').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(path: &str, text: &str, name: &str) -> Vec<Vec<String>> {
        let navigation = parse(path, text).unwrap();
        let file = File { path: path.to_owned(), text: text.to_owned(), navigation };
        let found = sections(&file, name);
        found.iter().map(|entries| entries.iter().map(|entry| entry.target.clone()).collect()).collect()
    }

    #[test]
    fn sections_of_json() {
        let text = r#"{"navigation": {"tabs": [{"tab": "T", "groups": [
            {"group": "Guides", "pages": ["a", {"group": "More", "pages": ["c"]}, "b"]}]}]}}"#;
        assert_eq!(targets("docs/docs.json", text, "guides"), [["a", "b"]]);
        assert_eq!(targets("docs/docs.json", text, "More"), [["c"]]);
        assert!(targets("docs/docs.json", text, "Other").is_empty());
    }

    #[test]
    fn sections_of_yaml() {
        let text = "nav:\n  - Home: index.md\n  - Guides:\n      - A: a.md\n      - More:\n          - c.md\n      - b.md\n  - End: e.md\n";
        assert_eq!(targets("mkdocs.yml", text, "Guides"), [["a.md", "b.md"]]);
        assert_eq!(targets("mkdocs.yml", text, "more"), [["c.md"]]);
    }

    #[test]
    fn sections_of_a_summary() {
        let text = "# Summary\n\n- [Home](README.md)\n\n# Guides\n\n- [A](a.md)\n  - [C](c.md)\n- [B](b.md)\n\n# End\n\n- [E](e.md)\n";
        assert_eq!(targets("src/SUMMARY.md", text, "Guides"), [["a.md", "b.md"]]);
        assert_eq!(targets("src/SUMMARY.md", text, "A"), [["c.md"]]);
    }
}
