//! Changes of navigation files by the smallest edit of their text.

use super::{Entry, NavKind, Navigation, parse};
use crate::paths;

/// The text of a navigation file with a page added to it; none if it is listed already or if there is no place that
/// fits. Works for `docs.json`, `mint.json`, `mkdocs.yml` and `SUMMARY.md`.
///
/// `page` and `after` are paths of files in the repository. The page goes after `after`, or, if that is not given or
/// not listed, after the listed page that is nearest to it in the tree of folders. `title` is used where the file's
/// other entries have titles.
pub fn insert_page(nav_path: &str, text: &str, page: &str, title: &str, after: Option<&str>) -> Option<String> {
    let navigation = parse(nav_path, text)?;
    let target = navigation.written(page)?;
    if navigation.entries.iter().any(|entry| navigation.files_of(entry).iter().any(|file| file == page)) {
        return None;
    }
    let named = after.and_then(|after| entry_of(&navigation, after));
    let neighbour = named.or_else(|| nearest(&navigation, page))?;
    let (at, addition) = match navigation.kind {
        NavKind::Mintlify => after_json(text, neighbour, &target),
        NavKind::MkDocs => after_line(text, neighbour, |line, entry| mkdocs_line(line, entry, &target, title))?,
        NavKind::Summary => after_line(text, neighbour, |line, _| summary_line(line, &target, title))?,
        NavKind::Docusaurus | NavKind::VitePress => return None,
    };
    let edited = format!("{}{addition}{}", &text[..at], &text[at..]);
    let lists_it = parse(nav_path, &edited)?.entries.iter().any(|entry| entry.target == target);
    lists_it.then_some(edited)
}

fn entry_of<'a>(navigation: &'a Navigation, page: &str) -> Option<&'a Entry> {
    navigation.entries.iter().rfind(|entry| navigation.files_of(entry).iter().any(|file| file == page))
}

/// The last of the entries that have the most folders in common with the page.
fn nearest<'a>(navigation: &'a Navigation, page: &str) -> Option<&'a Entry> {
    navigation.entries.iter().max_by_key(|entry| {
        let path = paths::normalise(&navigation.root, &entry.target).unwrap_or_default();
        let common = folders(&path).zip(folders(page)).take_while(|(a, b)| a == b).count();
        let apart = folders(&path).count().abs_diff(common);
        (common, usize::MAX - apart)
    })
}

fn folders(path: &str) -> impl Iterator<Item = &str> {
    paths::folder(path).split('/').filter(|part| !part.is_empty())
}

/// After an item of a list in JSON: on its own line if the item before it is.
fn after_json(text: &str, neighbour: &Entry, target: &str) -> (usize, String) {
    let start = neighbour.range.start - 1;
    let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let before = &text[line..start];
    let gap =
        if before.trim().is_empty() && line > 0 { format!("{}{before}", line_break(text)) } else { " ".to_owned() };
    (neighbour.range.end + 1, format!(",{gap}{}", copydesk_values::quoted(target)))
}

fn line_break(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// A line after that of an entry, made from the text before the entry's item.
fn after_line(text: &str, neighbour: &Entry, write: impl Fn(&str, &str) -> Option<String>) -> Option<(usize, String)> {
    let start = text[..neighbour.range.start].rfind('\n').map_or(0, |at| at + 1);
    let length = text[start..].find('\n').unwrap_or(text.len() - start);
    let line = text[start..start + length].trim_end_matches('\r');
    let written = write(line, &neighbour.target)?;
    Some((start + line.len(), format!("{}{written}", line_break(text))))
}

/// `- Title: path` or `- path`, as the line before.
fn mkdocs_line(line: &str, entry: &str, target: &str, title: &str) -> Option<String> {
    let dash = line.find("- ")?;
    let indentation = &line[..dash];
    if !indentation.trim().is_empty() {
        return None;
    }
    let item = line[dash + 2..].trim();
    let is_bare = item.trim_matches(['"', '\'']) == entry;
    let plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '/' | '.' | '(' | ')');
    let target = if target.chars().all(plain) { target.to_owned() } else { copydesk_values::quoted(target) };
    if is_bare {
        return Some(format!("{indentation}- {target}"));
    }
    let is_word = title.starts_with(char::is_alphabetic) && title.trim() == title && title.chars().all(plain);
    let is_special = ["true", "false", "yes", "no", "null", "on", "off"].contains(&title.to_ascii_lowercase().as_str());
    let title = if is_word && !is_special { title.to_owned() } else { copydesk_values::quoted(title) };
    Some(format!("{indentation}- {title}: {target}"))
}

/// `- [Title](path)`, with the bullet of the line before.
fn summary_line(line: &str, target: &str, title: &str) -> Option<String> {
    let bracket = line.find('[')?;
    let bullet = &line[..bracket];
    if !bullet.trim().chars().all(|c| matches!(c, '-' | '*' | '+')) || bullet.trim().len() > 1 {
        return None;
    }
    let title = title.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]");
    let plain = !target.contains([' ', '(', ')', '<', '>']);
    let target = if plain { target.to_owned() } else { format!("<{target}>") };
    Some(format!("{bullet}[{title}]({target})"))
}
