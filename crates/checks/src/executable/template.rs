//! Pages that are templates: of Vue with VitePress, of Jinja where a plugin of MkDocs makes them so.

use std::ops::Range;

use copydesk_values::{Value, is_harmless, yaml};

use super::{Engine, Item, Subject, Way};
use crate::paths;

/// How many configurations may take in one another.
const DEEPEST: usize = 8;

/// How a site of MkDocs reads its pages, by its configuration and those that it takes in.
pub(super) fn mkdocs(text: &dyn Fn(&str) -> Option<String>, config: &str) -> Way {
    let mut way = Way { nests_fences: false, reads_inside: false, ..Way::new(Engine::MkDocs) };
    let mut next = Some(config.to_owned());
    for _ in 0..DEEPEST {
        let Some(path) = next.take() else { break };
        let Some(config) = text(&path).and_then(|text| yaml(&text).ok().flatten()) else { break };
        let names = |key: &str| -> Vec<String> { config.get(key).map(listed).unwrap_or_default() };
        const ENGINES: [&str; 5] = ["macros", "markdownextradata", "simple-blog", "jinja2", "table-reader"];
        way.is_jinja |= names("plugins").iter().any(|name| ENGINES.contains(&name.as_str()));
        way.takes_in |= way.is_jinja || names("plugins").iter().any(|name| name.contains("include"));
        let extensions = names("markdown_extensions");
        way.takes_in |= extensions.iter().any(|name| name.contains("include"));
        let has = |known: &[&str]| extensions.iter().any(|name| known.contains(&name.as_str()));
        way.nests_fences |= has(&["pymdownx.superfences", "pymdownx.extra"]);
        way.reads_inside |= has(&["md_in_html", "markdown.extensions.md_in_html", "extra", "pymdownx.extra"]);
        next = config.get("INHERIT").and_then(Value::text).and_then(|it| paths::normalise(paths::folder(&path), it));
    }
    way
}

/// The names of a list of names, each with its settings or without, or of a map of them.
fn listed(value: &Value) -> Vec<String> {
    let keys = |value: &Value| -> Vec<String> { value.entries().iter().map(|(key, _)| key.name.clone()).collect() };
    let items =
        value.items().iter().flat_map(|item| item.text().map(|it| vec![it.to_owned()]).unwrap_or_else(|| keys(item)));
    items.chain(keys(value)).collect()
}

pub(super) fn find(subject: &Subject<'_>, start: usize, code: &[Range<usize>], found: &mut Vec<Item>) {
    match subject.way.engine {
        Engine::Vue => vue(subject.text, start, code, found),
        Engine::MkDocs if subject.way.is_jinja => jinja(subject.text, 0, found),
        _ => {}
    }
}

/// Vue sees what Markdown makes of the page: references are resolved and escapes are gone by then.
fn vue(text: &str, start: usize, code: &[Range<usize>], found: &mut Vec<Item>) {
    let plain = as_rendered(text, start, code);
    for (range, inside) in between(&plain, 0, "{{", "}}") {
        if !is_harmless(inside.trim(), &|_| true) {
            let line = plain[..range.start].matches('\n').count();
            let at =
                text[start..].match_indices('\n').nth(line.wrapping_sub(1)).map_or(start, |(at, _)| start + at + 1);
            found.push(Item::new(at, "an expression that runs when the page is built", &plain[range]).unless_same());
        }
    }
}

/// The text without its code, with references resolved and escapes taken away; lines stay lines.
fn as_rendered(text: &str, start: usize, code: &[Range<usize>]) -> String {
    let mut shown = String::with_capacity(text.len() - start);
    let mut at = start;
    for range in code.iter().filter(|range| range.start >= start) {
        shown.push_str(text.get(at..range.start).unwrap_or_default());
        shown.extend(text[range.clone()].chars().filter(|c| *c == '\n'));
        shown.push(' ');
        at = at.max(range.end);
    }
    shown.push_str(text.get(at..).unwrap_or_default());
    const NAMED: [(&str, &str); 6] =
        [("&lbrace;", "{"), ("&lcub;", "{"), ("&rbrace;", "}"), ("&rcub;", "}"), ("\\{", "{"), ("\\}", "}")];
    NAMED.iter().fold(crate::references::decoded(&shown), |text, (written, meant)| text.replace(written, meant))
}

/// Templates are filled in before anything is known to be code.
fn jinja(text: &str, start: usize, found: &mut Vec<Item>) {
    for (range, inside) in between(text, start, "{{", "}}") {
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ' ' | '-');
        if !inside.chars().all(is_name) || inside.contains("__") {
            let what = "a template that runs when the page is built";
            found.push(Item::new(range.start, what, &text[range.clone()]).unless_same());
        }
    }
    for (range, inside) in between(text, start, "{%", "%}") {
        if !matches!(inside.trim().trim_matches('-').trim(), "raw" | "endraw" | "endif" | "endfor" | "else") {
            let what = "a template that runs when the page is built";
            found.push(Item::new(range.start, what, &text[range.clone()]).unless_same());
        }
    }
}

/// The places between two marks, with and without them.
pub(super) fn between<'a>(text: &'a str, start: usize, open: &str, close: &str) -> Vec<(Range<usize>, &'a str)> {
    let mut places = Vec::new();
    let mut at = start;
    while let Some(length) = text[at..].find(open) {
        let begin = at + length;
        let inside = begin + open.len();
        let Some(length) = text[inside..].find(close) else { break };
        at = inside + length + close.len();
        places.push((begin..at, &text[inside..inside + length]));
    }
    places
}
