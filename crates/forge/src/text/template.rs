use std::io;

use crate::{Kind, Tree};

use super::markdown::heading;

/// The largest template that is taken.
const LARGEST: u64 = 64 * 1024;

/// Where a repository may keep its template for pull requests, the first that is there counts. Upper and lower case do
/// not matter.
pub fn template_paths() -> &'static [&'static str] {
    &[
        ".github/pull_request_template.md",
        "pull_request_template.md",
        "docs/pull_request_template.md",
        ".gitlab/merge_request_templates/default.md",
        ".gitea/pull_request_template.md",
        ".forgejo/pull_request_template.md",
    ]
}

/// The repository's template for pull requests, if it has one that is text.
pub fn find_template(tree: &dyn Tree) -> io::Result<Option<String>> {
    for path in template_paths() {
        let Some(path) = in_any_case(tree, path)? else { continue };
        let size = tree.entry(&path)?.map_or(0, |entry| entry.size);
        if size > LARGEST {
            continue;
        }
        let text = tree.read(&path)?.and_then(|content| String::from_utf8(content).ok());
        if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

/// Follows `path` through the tree without regard to case.
fn in_any_case(tree: &dyn Tree, path: &str) -> io::Result<Option<String>> {
    let mut found = String::new();
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        let last = parts.peek().is_none();
        let fits = |(name, kind): &(String, Kind)| {
            name.eq_ignore_ascii_case(part) && if last { kind.is_file() } else { *kind == Kind::Folder }
        };
        let Some((name, _)) = tree.folder(&found)?.into_iter().find(fits) else {
            return Ok(None);
        };
        if !found.is_empty() {
            found.push('/');
        }
        found.push_str(&name);
    }
    Ok(Some(found))
}

/// A template without its comments, which are for those who fill it in, and without front matter.
pub(crate) fn without_comments(template: &str) -> String {
    let template = template.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let mut rest = match template.strip_prefix("---\n").and_then(|body| body.split_once("\n---\n")) {
        Some((_, body)) => body,
        None => template.as_str(),
    };
    let mut text = String::new();
    while let Some((before, after)) = rest.split_once("<!--") {
        text.push_str(before);
        // A comment that does not end takes the rest with it, as it does on a code host.
        rest = after.split_once("-->").map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    text
}

/// Where in a template the description belongs: after the line of this number.
pub(crate) fn place_for_description(template: &str) -> Option<usize> {
    const WORDS: &[&str] =
        &["description", "summary", "what", "change", "overview", "purpose", "motivation", "about", "proposed"];
    template.lines().position(|line| {
        heading(line.trim()).is_some_and(|(_, text)| {
            let text = text.to_lowercase();
            WORDS.iter().any(|word| text.contains(word))
        })
    })
}
