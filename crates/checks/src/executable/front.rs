//! What the front matter of a page runs. Readers do not agree where it ends, so what is not surely front matter is looked at
//! as text of the page as well.

use copydesk_values::{Value, toml, yaml};

use super::{Engine, Item, Subject, html, is_live};
use crate::page::Page;

/// Tells what the front matter runs; gives the position from which on the page is text.
pub(super) fn find(subject: &Subject<'_>, page: &Page, found: &mut Vec<Item>) -> usize {
    let text = subject.text;
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let first = text[start..].lines().next().unwrap_or_default();
    // Some readers take what follows the dashes for a language, and run it.
    let language = first.strip_prefix("---").map(|rest| rest.trim_start_matches('-').trim());
    if language.is_some_and(|language| language.starts_with(|c: char| c.is_alphabetic())) {
        found.push(Item::new(start, "front matter in a language that runs", &text[start..]));
    }
    if first.trim_end() == "---" {
        return marked(subject, page, start, found);
    }
    let Some(front) = &page.front_matter else { return start };
    let body = &text[front.body.clone()];
    match toml(body) {
        Ok(value) => fields(&value, front.body.start, body, found),
        Err(_) => return start,
    }
    // Only these take plus signs for the marks of front matter.
    if matches!(subject.way.engine, Engine::Hugo | Engine::Other) { front.range.end } else { start }
}

/// Front matter between dashes, as the reader with the least patience has it: up to the first line that begins with them.
fn marked(subject: &Subject<'_>, page: &Page, start: usize, found: &mut Vec<Item>) -> usize {
    let text = subject.text;
    let from = text[start..].find('\n').map_or(text.len(), |length| start + length + 1);
    let end = text[from.saturating_sub(1)..].find("\n---").map_or(text.len(), |length| from + length);
    let body = text.get(from..end).unwrap_or_default();
    let value = yaml(body).ok().flatten();
    if let Some(value) = &value {
        fields(value, from, body, found);
    }
    let is_map = value.is_none_or(|value| !value.entries().is_empty() || value.is_null());
    let is_one = !body.lines().any(|line| line.starts_with("...")) && yaml(body).is_ok();
    match &page.front_matter {
        Some(front) if is_map && is_one && front.body.end.abs_diff(end) <= 1 => front.range.end,
        _ => start,
    }
}

/// Whether a page says what it is written in.
pub(super) fn says_format(page: &Page) -> bool {
    page.front_matter.as_ref().is_some_and(|front| front.fields.iter().any(|field| field.name == "mdx"))
}

fn fields(value: &Value, at: usize, body: &str, found: &mut Vec<Item>) {
    if let Some(tag) = first_tag(value) {
        found.push(Item::new(at, format!("front matter with a tag that programs act upon (`{tag}`)"), body));
    }
    for (key, value) in value.entries().iter().filter(|(key, value)| runs(&key.name, value)) {
        let what = format!("the field `{}` of the front matter makes the site run or take in something", key.name);
        let end = value.range.end.min(body.len()).max(key.range.start);
        let item = Item::new(at + key.range.start, what, body.get(key.range.start..end).unwrap_or(body));
        let is_layout = matches!(key.name.as_str(), "layout" | "template");
        found.push(if is_layout { item.unless_same() } else { item });
    }
}

fn first_tag(value: &Value) -> Option<&str> {
    let keys = value.entries().iter().filter_map(|(key, _)| key.other.as_deref().and_then(first_tag));
    let own = value.tag.as_deref().into_iter().chain(keys);
    let inner = value.items().iter().chain(value.entries().iter().map(|(_, value)| value));
    own.chain(inner.filter_map(first_tag)).next()
}

/// Fields by which generators run code, or put scripts into the head of a page.
fn names_runner(name: &str) -> bool {
    const NAMES: [&str; 33] = [
        "execute",
        "execution",
        "jupyter",
        "jupytext",
        "kernelspec",
        "kernel",
        "engine",
        "engines",
        "filters",
        "filter",
        "knitr",
        "server",
        "runtime",
        "mystnb",
        "file_format",
        "head",
        "script",
        "scripts",
        "custom_js",
        "js",
        "extra_javascript",
        "extra_js",
        "include-in-header",
        "include-before-body",
        "include-after-body",
        "header-includes",
        "shortcodes",
        "eleventycomputed",
        "templateengineoverride",
        "exec",
        "eval",
        "pre-render",
        "post-render",
    ];
    NAMES.contains(&name.to_ascii_lowercase().as_str())
}

fn runs(name: &str, value: &Value) -> bool {
    let written = value.written().unwrap_or_default();
    let leaves = written.contains("..") || written.starts_with('/') || written.contains("://");
    match name {
        "head" => puts_more_than_remarks(value),
        "layout" | "template" => leaves || written.contains(".astro") || written.contains(".js"),
        "format" => value.entries().iter().any(|(_, value)| !value.entries().is_empty()),
        _ => names_runner(name) || has_live_text(value),
    }
}

/// Whether what goes into the head of a page is more than remarks about it: the tags and links that only describe it.
fn puts_more_than_remarks(value: &Value) -> bool {
    const TAGS: [&str; 3] = ["meta", "link", "title"];
    if let Some(text) = value.written() {
        return is_live(text);
    }
    let tag = value.items().first().or_else(|| value.get("tag")).and_then(Value::written);
    tag.is_some_and(|tag| !TAGS.contains(&tag.to_ascii_lowercase().as_str()))
        || value.items().iter().any(puts_more_than_remarks)
        || value.entries().iter().any(|(key, value)| {
            is_event_name(&key.name)
                || key.name.eq_ignore_ascii_case("rel") && !value.written().is_some_and(only_describes)
                || puts_more_than_remarks(value)
        })
}

/// Whether a link by which a page names another is none that is loaded and acted upon.
fn only_describes(rel: &str) -> bool {
    const KINDS: [&str; 12] = [
        "alternate",
        "author",
        "canonical",
        "dns-prefetch",
        "help",
        "icon",
        "apple-touch-icon",
        "license",
        "me",
        "next",
        "preconnect",
        "prev",
    ];
    rel.split_whitespace().all(|kind| kind == "shortcut" || KINDS.contains(&kind.to_ascii_lowercase().as_str()))
}

fn is_event_name(name: &str) -> bool {
    const NAMES: [&str; 4] = ["innerHTML", "http-equiv", "httpEquiv", "srcdoc"];
    let is_name = name.chars().all(|c| c.is_alphanumeric() || "-_:.$".contains(c));
    html::is_event(name, true) || !is_name || NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

fn has_live_text(value: &Value) -> bool {
    value.written().is_some_and(is_live)
        || value.items().iter().any(has_live_text)
        || value.entries().iter().any(|(_, value)| has_live_text(value))
}
