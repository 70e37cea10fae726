//! What the shortcodes of a Hugo site put into pages, as far as anchors depend on it.

use std::collections::BTreeMap;

use crate::page::{IdRule, Shortcode};
use crate::paths;

/// How deep templates may take in templates.
const DEEPEST: usize = 4;

/// Shortcodes of Hugo's own, and such as many themes have, that bring no anchors to which anybody links.
const OWN: [&str; 58] = [
    "ref",
    "relref",
    "figure",
    "highlight",
    "youtube",
    "vimeo",
    "gist",
    "tweet",
    "x",
    "instagram",
    "param",
    "details",
    "qr",
    "comment",
    "alert",
    "pageinfo",
    "tabpane",
    "tab",
    "tabs",
    "button",
    "notice",
    "hint",
    "callout",
    "expand",
    "columns",
    "column",
    "card",
    "cards",
    "cardpane",
    "steps",
    "step",
    "mermaid",
    "katex",
    "math",
    "note",
    "tip",
    "warning",
    "info",
    "important",
    "caution",
    "danger",
    "img",
    "image",
    "video",
    "icon",
    "badge",
    "imgproc",
    "gallery",
    "iframe",
    "swaggerui",
    "redoc",
    "conditional-text",
    "_param",
    "blocks/cover",
    "blocks/section",
    "blocks/lead",
    "blocks/feature",
    "blocks/link-down",
];

/// An id that a template makes.
#[derive(Debug)]
enum Made {
    Whole(String),
    /// What stands before the part that is filled in.
    Start(String),
}

/// Where templates are and what is in them.
struct Templates<'a> {
    root: &'a str,
    /// Parts that templates take in, by name.
    parts: BTreeMap<&'a str, &'a str>,
    read: &'a dyn Fn(&str) -> Option<String>,
}

/// Reads the shortcodes among the files of a repository: those of the site itself, and where it has none of a name, those
/// of themes beside it. Those that may bring any anchors are left out; the others are in the order of their names.
pub(crate) fn of(root: &str, files: &[String], read: &dyn Fn(&str) -> Option<String>) -> Vec<Shortcode> {
    let mut named: BTreeMap<&str, &str> = BTreeMap::new();
    let mut parts: BTreeMap<&str, &str> = BTreeMap::new();
    let layouts = || files.iter().filter(|path| path.contains("layouts/"));
    let (own, others): (Vec<&String>, Vec<&String>) =
        layouts().partition(|path| path.starts_with(&paths::join(root, "layouts/")));
    for path in others.into_iter().chain(own) {
        let after = |mark: &str| path.split_once(mark).map(|(_, name)| name);
        if let Some(name) = after("/_shortcodes/").or_else(|| after("/shortcodes/")) {
            named.insert(name.rsplit_once('.').map_or(name, |(name, _)| name), path);
        } else if let Some(name) = after("/_partials/").or_else(|| after("/partials/")) {
            parts.insert(name, path);
        }
    }
    let templates = Templates { root, parts, read };
    let mut found: BTreeMap<&str, Shortcode> = OWN.iter().map(|name| (*name, bare(name))).collect();
    for (name, path) in named {
        let Some(made) = read(path).and_then(|text| templates.ids(&text, 0)) else {
            found.remove(name);
            continue;
        };
        let is_any = |id: &Made| matches!(id, Made::Start(start) if start.is_empty());
        // Whoever uses a well-known shortcode links to no part of it, whatever its ids are.
        if made.iter().any(is_any) && !OWN.contains(&name) {
            continue;
        }
        let mut shortcode = bare(name);
        for id in made {
            match id {
                Made::Whole(id) => shortcode.ids.push(id),
                Made::Start(start) if !start.is_empty() => shortcode.starts.push(start),
                Made::Start(_) => {}
            }
        }
        found.insert(name, shortcode);
    }
    found.into_values().collect()
}

/// A shortcode that brings nothing, but for those of Docsy that number the parts of a page.
fn bare(name: &str) -> Shortcode {
    let starts = if name.starts_with("blocks/") { vec!["td-".to_owned()] } else { Vec::new() };
    Shortcode { name: name.to_owned(), ids: Vec::new(), starts }
}

impl Templates<'_> {
    /// The ids that a template makes; none if it may bring any.
    fn ids(&self, text: &str, depth: usize) -> Option<Vec<Made>> {
        let text = without_comments(text);
        if [".Content", ".RawContent", ".Summary", ".RenderShortcodes"].iter().any(|mark| text.contains(mark))
            || depth > DEEPEST
        {
            return None;
        }
        let mut found = written_ids(&text);
        found.extend(text.lines().filter_map(heading));
        for name in arguments(&text, "partial").into_iter().chain(arguments(&text, "partialCached")) {
            let name = name?;
            let path = self.parts.get(name).or_else(|| self.parts.get(format!("{name}.html").as_str()))?;
            found.extend(self.ids(&(self.read)(path)?, depth + 1)?);
        }
        for file in arguments(&text, "readFile").into_iter().chain(arguments(&text, "ReadFile")) {
            let path = paths::normalise(self.root, file?.trim_start_matches('/'))?;
            found.extend(self.ids(&(self.read)(&path)?, depth + 1)?);
        }
        Some(found)
    }
}

fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("/*") {
        out.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out
}

/// The id of a heading of Markdown in a template.
fn heading(line: &str) -> Option<Made> {
    let line = line.trim();
    let text = line.trim_start_matches('#');
    if !line.starts_with('#') || !text.starts_with(' ') {
        return None;
    }
    let is_filled = text.contains("{{");
    Some(if is_filled { Made::Start(String::new()) } else { Made::Whole(IdRule::Hugo.slug(text)) })
}

/// The ids in attributes.
fn written_ids(text: &str) -> Vec<Made> {
    let mut found = Vec::new();
    let mut before = "";
    for (number, part) in text.split("id=").enumerate() {
        let is_attribute = number > 0 && before.ends_with(|c: char| c.is_whitespace() || matches!(c, '"' | '\''));
        before = part;
        if !is_attribute {
            continue;
        }
        let value = part.trim_start_matches(['"', '\'', '\\']);
        let end = value.find(['"', '\'', '\\', ' ', '>', '{', '%', '\n']).unwrap_or(value.len());
        let id = value[..end].to_owned();
        let is_filled = value[end..].starts_with(['{', '%']);
        match () {
            () if id.is_empty() && is_filled => found.extend(filled_ids(text, value)),
            () if is_filled => found.push(Made::Start(id)),
            () => found.push(Made::Whole(id)),
        }
    }
    found
}

/// How ids begin that a variable fills in: by what is assigned to it, if that is a text or begins with one.
fn filled_ids(text: &str, value: &str) -> Vec<Made> {
    let any = || vec![Made::Start(String::new())];
    let inside = value.trim_start_matches('{').trim_start_matches(['-', ' ']);
    let Some(rest) = inside.strip_prefix('$') else { return any() };
    let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let is_alone = rest[name.len()..].trim_start_matches([' ', '-']).starts_with("}}");
    if name.is_empty() || !is_alone {
        return any();
    }
    let mut found = Vec::new();
    for part in text.split(&format!("${name}")).skip(1) {
        let assigned = part.trim_start().strip_prefix(":=").or_else(|| part.trim_start().strip_prefix("= "));
        let Some(assigned) = assigned.map(|it| it.trim_start().trim_start_matches("printf").trim_start()) else {
            continue;
        };
        let literal = assigned.strip_prefix('"').and_then(|rest| rest.split(['"', '%']).next()).unwrap_or_default();
        found.push(Made::Start(literal.to_owned()));
    }
    if found.is_empty() { any() } else { found }
}

/// The first arguments of a function of templates; none for one that is not a plain text.
fn arguments<'t>(text: &'t str, function: &str) -> Vec<Option<&'t str>> {
    let mut found = Vec::new();
    let mut before = "";
    for (number, part) in text.split(function).enumerate() {
        let is_call = number > 0
            && part.starts_with(|c: char| c.is_whitespace())
            && !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$');
        before = part;
        if is_call {
            let argument = part.trim_start();
            let quote = argument.chars().next().filter(|c| matches!(c, '"' | '`'));
            found.push(quote.and_then(|quote| argument[1..].split_once(quote)).map(|(name, _)| name));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Vec<Shortcode> {
        let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
        let read = |path: &str| files.iter().find(|(known, _)| *known == path).map(|(_, text)| (*text).to_owned());
        super::of("site", &paths, &read)
    }

    #[test]
    fn templates_tell_what_they_bring() {
        let known = of(&[
            ("site/layouts/shortcodes/plain.html", "{{/* id=\"{{ x }}\" */}}<h2>{{ .Inner }}</h2>"),
            ("site/layouts/shortcodes/deep/numbered.html", "<div id=\"part-{{ .Ordinal }}\"></div>"),
            ("site/layouts/shortcodes/filled.html", "<div id=\"{{ .Get 0 }}\"></div>"),
            ("site/layouts/shortcodes/named.html", "{{ $id := printf \"row-%d\" 1 }}<div id=\"{{ $id }}\"></div>"),
            ("site/layouts/shortcodes/tab.html", "<div id=\"{{ .Get 0 }}\"></div>"),
            ("site/layouts/shortcodes/taken.html", "{{ readFile \"parts/a.md\" | markdownify }}"),
            ("site/layouts/shortcodes/headed.html", "{{ readFile \"parts/b.md\" | markdownify }}"),
            ("site/layouts/shortcodes/split.html", "{{ partial \"p.html\" . }}"),
            ("site/layouts/shortcodes/note.html", "{{ .Page.Content }}"),
            (
                "site/layouts/shortcodes/included.html",
                "{{ with site.GetPage (.Get 0) }}{{ .RenderShortcodes }}{{ end }}",
            ),
            ("site/layouts/partials/p.html", "<p id=\"fixed\">"),
            ("theme/layouts/_shortcodes/themed.html", "<p>"),
            ("theme/layouts/_shortcodes/plain.html", "{{ .Page.Content }}"),
            ("site/parts/a.md", "text\n"),
            ("site/parts/b.md", "## Heading\n"),
        ]);
        for (name, expected) in [
            ("plain", true),
            ("deep/numbered", true),
            ("filled", false),
            ("taken", true),
            ("headed", true),
            ("named", true),
            ("tab", true),
            ("split", true),
            ("note", false),
            ("included", false),
            ("themed", true),
            ("figure", true),
            ("unknown", false),
        ] {
            assert_eq!(known.iter().any(|it| it.name == name), expected, "{name}");
        }
        let ids: Vec<&str> = known.iter().flat_map(|it| &it.ids).map(String::as_str).collect();
        assert_eq!(ids, ["heading", "fixed"]);
        let starts: Vec<&str> = known.iter().flat_map(|it| &it.starts).map(String::as_str).collect();
        assert!(starts.contains(&"part-") && starts.contains(&"row-"), "{starts:?}");
    }
}
