//! Pages that are templates: of Vue with VitePress, of Jinja where a plugin of MkDocs makes them so.

use std::ops::Range;

use copydesk_values::{Value, is_harmless, yaml};

use super::{Engine, Item, Subject};
use crate::context::Context;
use crate::paths;

/// Whether the pages of a site of MkDocs are templates.
pub(super) fn is_jinja(context: &Context<'_>, root: &str) -> bool {
    ["mkdocs.yml", "mkdocs.yaml"].iter().any(|name| {
        let text = context.text(&paths::join(root, name)).ok().flatten();
        let config = text.and_then(|text| yaml(&text).ok().flatten());
        config.as_ref().and_then(|config| config.get("plugins")).is_some_and(|plugins| {
            let is_engine = |name: &str| matches!(name, "macros" | "markdownextradata" | "simple-blog" | "jinja2");
            let listed = plugins.items().iter().any(|item| {
                item.text().is_some_and(is_engine) || item.entries().iter().any(|(key, _)| is_engine(&key.name))
            });
            listed || plugins.entries().iter().any(|(key, _): &(_, Value)| is_engine(&key.name))
        })
    })
}

pub(super) fn find(subject: &Subject<'_>, start: usize, code: &[Range<usize>], found: &mut Vec<Item>) {
    match subject.engine {
        Engine::Vue => vue(subject.text, start, code, found),
        Engine::MkDocs if subject.is_jinja => jinja(subject.text, start, found),
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
            found.push(Item::new(at, "an expression that runs when the page is built", &plain[range]));
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
    NAMED.iter().fold(super::url::decoded(&shown), |text, (written, meant)| text.replace(written, meant))
}

/// Templates are filled in before anything is known to be code.
fn jinja(text: &str, start: usize, found: &mut Vec<Item>) {
    for (range, inside) in between(text, start, "{{", "}}") {
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ' ' | '-');
        if !inside.chars().all(is_name) || inside.contains("__") {
            found.push(Item::new(range.start, "a template that runs when the page is built", &text[range.clone()]));
        }
    }
    for (range, inside) in between(text, start, "{%", "%}") {
        if !matches!(inside.trim().trim_matches('-').trim(), "raw" | "endraw" | "endif" | "endfor" | "else") {
            found.push(Item::new(range.start, "a template that runs when the page is built", &text[range.clone()]));
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
