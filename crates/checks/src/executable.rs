//! What a page runs: when the site is built, or in front of its readers. Most of it is normal on a site that has it; what a
//! change brings in is for a person to look at.

mod html;
mod include;
mod mdx;
mod template;
mod url;

use std::io;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use sha2::{Digest, Sha256};

use crate::all::documentation;
use crate::context::Context;
use crate::finding::finding;
use crate::lines::Lines;
use crate::page::Page;
use crate::site::SiteSettings;
use crate::{Check, Finding, page, paths};

pub(crate) use html::is_live;

/// More than these are not told of a page.
const MOST: usize = 100;

/// Something in a page that runs, or may.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Item {
    at: usize,
    /// What it is, as part of a sentence.
    what: String,
    /// All of it: with the same text it was there before.
    text: String,
    /// It is fine if a page of the site has one of these already.
    pardons: Vec<Pardon>,
}

/// What a page of the site may have already.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Pardon {
    kind: &'static str,
    /// As it is written in pages.
    name: String,
}

impl Item {
    fn new(at: usize, what: impl Into<String>, text: &str) -> Self {
        Self { at, what: what.into(), text: text.to_owned(), pardons: Vec::new() }
    }

    fn unless(mut self, kind: &'static str, name: impl Into<String>) -> Self {
        self.pardons.push(Pardon { kind, name: name.into() });
        self
    }
}

/// By whose rules a page runs something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Engine {
    /// Scripts between braces, and imports: every page of MDX, and all of some generators.
    Mdx,
    /// Templates of Vue.
    Vue,
    MkDocs,
    Sphinx,
    Book,
    Jekyll,
    Hugo,
    AsciiDoc,
    Other,
}

/// A page and what surrounds it.
struct Subject<'a> {
    path: &'a str,
    text: &'a str,
    engine: Engine,
    /// Whether pages are templates of Jinja.
    is_jinja: bool,
    /// Whether there is such a file.
    exists: &'a dyn Fn(&str) -> bool,
    /// Whether a path is part of the documentation.
    is_docs: &'a dyn Fn(&str) -> bool,
}

/// What a page runs that neither it nor any other page of the site had before, as findings. What a page of `base` has
/// is told by `base`, so both must be asked.
pub(crate) fn findings(
    context: &Context<'_>,
    base: &Context<'_>,
    settings: &SiteSettings,
    path: &str,
) -> io::Result<Vec<Finding>> {
    if !is_read(path) {
        return Ok(Vec::new());
    }
    let Some(text) = context.text(path)? else { return Ok(Vec::new()) };
    let items = items_of(context, settings, path, &text);
    let lines = Lines::of(&text);
    let mut findings = Vec::new();
    for item in items.into_iter().take(MOST) {
        if !is_pardoned(&item, base, settings)? {
            let message = format!("{}: `{}`", item.what, shown(&item.text));
            findings.push(finding(Check::Executable, path, lines.place(item.at), message, subject(&item)));
        }
    }
    Ok(findings)
}

/// Pages, and texts in which directives take something in.
fn is_read(path: &str) -> bool {
    page::is_page(path) || matches!(paths::extension(path).as_str(), "mkd" | "rst" | "adoc" | "asciidoc")
}

fn items_of(context: &Context<'_>, settings: &SiteSettings, path: &str, text: &str) -> Vec<Item> {
    let exists = |path: &str| context.look.exists(path).unwrap_or(false);
    let is_docs = |path: &str| settings.holds(path);
    let site = context.sites.of(path);
    let engine = engine(path, site.generator.name());
    let is_jinja = engine == Engine::MkDocs && template::is_jinja(context, site.generator.root());
    items(&Subject { path, text, engine, is_jinja, exists: &exists, is_docs: &is_docs })
}

fn engine(path: &str, generator: &str) -> Engine {
    match (paths::extension(path).as_str(), generator) {
        ("mdx", _) => Engine::Mdx,
        ("rst", _) => Engine::Sphinx,
        ("adoc" | "asciidoc", _) => Engine::AsciiDoc,
        (_, "Docusaurus" | "Mintlify") => Engine::Mdx,
        (_, "VitePress") => Engine::Vue,
        (_, "MkDocs") => Engine::MkDocs,
        (_, "Sphinx") => Engine::Sphinx,
        (_, "mdBook") => Engine::Book,
        (_, "Jekyll") => Engine::Jekyll,
        (_, "Hugo") => Engine::Hugo,
        _ => Engine::Other,
    }
}

fn items(subject: &Subject<'_>) -> Vec<Item> {
    let mut found = Vec::new();
    let page = page::parse(subject.path, subject.text);
    let start = front_matter(subject, &page, &mut found);
    let code = if subject.engine == Engine::Sphinx && paths::extension(subject.path) == "rst"
        || subject.engine == Engine::AsciiDoc
    {
        Vec::new()
    } else {
        code_of(subject, start)
    };
    match subject.engine {
        Engine::Mdx => mdx::find(subject, start, &code, &mut found),
        engine => {
            html::find(subject.text, start, &code, engine == Engine::Vue, &mut found);
            template::find(subject, start, &code, &mut found);
            if engine == Engine::Vue {
                mdx::set_up(subject, &mut found);
            }
        }
    }
    include::find(subject, start, &mut found);
    links(&page, &mut found);
    found.sort_by_key(|item| item.at);
    found
}

/// What the front matter runs; gives the position after it.
fn front_matter(subject: &Subject<'_>, page: &Page, found: &mut Vec<Item>) -> usize {
    let text = subject.text;
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let first = text[start..].lines().next().unwrap_or_default();
    // Some readers take what follows the dashes for a language, and run it.
    let language = first.strip_prefix("---").map(|rest| rest.trim_start_matches('-').trim());
    if language.is_some_and(|language| language.starts_with(|c: char| c.is_alphabetic())) {
        found.push(Item::new(start, "front matter in a language that runs", &text[start..]));
    }
    let Some(front) = &page.front_matter else { return start };
    let body = &text[front.body.clone()];
    let at = front.body.start;
    match copydesk_values::yaml(body) {
        Ok(Some(value)) if text[start..].starts_with("---") => {
            if let Some(tag) = first_tag(&value) {
                found.push(Item::new(at, format!("front matter with a tag that programs act upon (`{tag}`)"), body));
            }
            for (key, value) in value.entries().iter().filter(|(key, value)| runs(&key.name, value)) {
                let what =
                    format!("the field `{}` of the front matter makes the site run or take in something", key.name);
                let end = value.range.end.min(body.len()).max(key.range.start);
                found.push(Item::new(at + key.range.start, what, body.get(key.range.start..end).unwrap_or(body)));
            }
        }
        _ => {
            for field in front.fields.iter().filter(|field| names_runner(&field.name)) {
                let what = format!("the field `{}` of the front matter makes the site run something", field.name);
                found.push(Item::new(field.range.start, what, &text[field.range.clone()]));
            }
        }
    }
    front.range.end
}

fn first_tag(value: &copydesk_values::Value) -> Option<&str> {
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

fn runs(name: &str, value: &copydesk_values::Value) -> bool {
    let written = value.written().unwrap_or_default();
    let leaves = written.contains("..") || written.starts_with('/') || written.contains("://");
    match name {
        "head" => puts_more_than_remarks(value),
        "layout" | "template" => leaves || written.contains(".astro") || written.contains(".js"),
        "format" => value.entries().iter().any(|(_, value)| !value.entries().is_empty()),
        _ => names_runner(name) || has_live_text(value),
    }
}

/// Whether what goes into the head of a page is more than remarks about it.
fn puts_more_than_remarks(value: &copydesk_values::Value) -> bool {
    const TAGS: [&str; 7] = ["script", "style", "base", "noscript", "stylesheet", "modulepreload", "import"];
    let is_more = |text: &str| TAGS.contains(&text.to_ascii_lowercase().as_str()) || is_live(text);
    value.written().is_some_and(is_more)
        || value.items().iter().any(puts_more_than_remarks)
        || value.entries().iter().any(|(key, value)| is_event_name(&key.name) || puts_more_than_remarks(value))
}

fn is_event_name(name: &str) -> bool {
    html::is_event(name, true) || matches!(name, "innerHTML" | "http-equiv" | "srcdoc")
}

fn has_live_text(value: &copydesk_values::Value) -> bool {
    value.written().is_some_and(is_live)
        || value.items().iter().any(has_live_text)
        || value.entries().iter().any(|(_, value)| has_live_text(value))
}

/// Where code stands that is shown and not run. Indented text is code only where every reader takes it for that.
fn code_of(subject: &Subject<'_>, start: usize) -> Vec<Range<usize>> {
    let mut code = Vec::new();
    let mut block = None;
    let is_indented_shown = !matches!(subject.engine, Engine::MkDocs | Engine::Mdx);
    for (event, range) in Parser::new_ext(&subject.text[start..], Options::empty()).into_offset_iter() {
        let range = start + range.start..start + range.end;
        match event {
            Event::Start(Tag::CodeBlock(kind)) if kind.is_fenced() || is_indented_shown => block = Some(range),
            Event::End(TagEnd::CodeBlock) => code.extend(block.take()),
            Event::Code(_) => code.push(range),
            _ => {}
        }
    }
    code
}

fn is_in(code: &[Range<usize>], at: usize) -> Option<usize> {
    let after = code.partition_point(|range| range.start <= at);
    code[..after].last().filter(|range| range.end > at).map(|range| range.end)
}

/// Addresses that are scripts.
fn links(page: &Page, found: &mut Vec<Item>) {
    for link in page.links.iter().filter(|link| url::runs(&link.target)) {
        found.push(Item::new(link.range.start, "an address that is a script", &link.target));
    }
}

fn is_pardoned(item: &Item, base: &Context<'_>, settings: &SiteSettings) -> io::Result<bool> {
    for pardon in &item.pardons {
        for path in documentation(base.look.files, settings)?.into_iter().filter(|path| is_read(path)) {
            let content = base.look.files.read(&path)?.unwrap_or_default();
            if memchr::memmem::find(&content, pardon.name.as_bytes()).is_none() {
                continue;
            }
            let Ok(text) = String::from_utf8(content) else { continue };
            if items_of(base, settings, &path, &text).iter().any(|known| known.pardons.contains(pardon)) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Names an item by all of its text, however long it is.
fn subject(item: &Item) -> String {
    let plain = item.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let hash = Sha256::digest(plain.as_bytes());
    let start: String = plain.chars().take(80).collect();
    format!(
        "{} {start} {:02x}{:02x}{:02x}{:02x}{:02x}{:02x}",
        item.what, hash[0], hash[1], hash[2], hash[3], hash[4], hash[5]
    )
}

fn shown(text: &str) -> String {
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('`', "'");
    let start: String = plain.chars().take(100).collect();
    if start.len() < plain.len() { format!("{start}…") } else { start }
}

#[cfg(test)]
mod tests;
