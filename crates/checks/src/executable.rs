//! What a page runs: when the site is built, or in front of its readers. Most of it is normal on a site that has it; what a
//! change brings in is for a person to look at.

mod code;
mod front;
mod html;
mod include;
mod mdx;
mod template;
mod url;

use std::collections::HashSet;
use std::io;
use std::ops::Range;

use sha2::{Digest, Sha256};

use crate::all::documentation;
use crate::context::Context;
use crate::finding::finding;
use crate::lines::Lines;
use crate::page::Page;
use crate::site::{Site, SiteSettings, is_foreign};
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

    /// It is fine if another page has all of the same.
    fn unless_same(self) -> Self {
        let text = self.text.clone();
        self.unless("the same", text)
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

/// How a page is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Way {
    engine: Engine,
    /// Whether pages are templates of Jinja.
    is_jinja: bool,
    /// Whether fences of code may stand inside of lists and quotes.
    nests_fences: bool,
    /// Whether Markdown is read inside of tags that ask for it.
    reads_inside: bool,
    /// Whether lines of a template take in files.
    takes_in: bool,
    /// Whether a page may be plain Markdown with tags, although it looks like MDX.
    may_be_plain: bool,
}

/// A page and what surrounds it.
struct Subject<'a> {
    path: &'a str,
    text: &'a str,
    way: Way,
    /// The folder of the site.
    root: &'a str,
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
    let items = items_of(context, base, settings, path, &text);
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

/// What a page runs, by the rules of every site that it is of, now and before: a change does not choose by which rules it
/// is judged.
fn items_of(context: &Context<'_>, base: &Context<'_>, settings: &SiteSettings, path: &str, text: &str) -> Vec<Item> {
    let exists = |path: &str| context.look.exists(path).unwrap_or(false);
    let is_docs = |path: &str| settings.holds(path);
    let mut ways: Vec<(Way, &str)> = Vec::new();
    for of in [base, context] {
        for site in of.sites.around(path) {
            let way = (way_of(of, site, path), site.generator.root());
            if !ways.contains(&way) {
                ways.push(way);
            }
        }
    }
    let mut found: Vec<Item> = Vec::new();
    let mut known = HashSet::new();
    for (way, root) in ways {
        for item in items(&Subject { path, text, way, root, exists: &exists, is_docs: &is_docs }) {
            if known.insert((item.at, item.what.clone(), item.text.len())) {
                found.push(item);
            }
        }
    }
    found.sort_by_key(|item| item.at);
    found
}

fn way_of(context: &Context<'_>, site: &Site, path: &str) -> Way {
    let engine = engine(path, site.generator.name());
    let text = |path: &str| context.text(path).ok().flatten();
    match engine {
        Engine::MkDocs => template::mkdocs(&text, &site.config),
        Engine::Mdx if paths::extension(path) != "mdx" => {
            let may_be_plain = site.generator.name() == "Next.js" || says_format(&text, &site.config);
            Way { may_be_plain, ..Way::new(engine) }
        }
        _ => Way::new(engine),
    }
}

/// Whether a configuration says what pages are written in.
fn says_format(text: &dyn Fn(&str) -> Option<String>, config: &str) -> bool {
    config.contains("docusaurus.config") && text(config).is_none_or(|config| config.contains("format"))
}

impl Way {
    fn new(engine: Engine) -> Self {
        let is_jekyll = engine == Engine::Jekyll;
        Self {
            engine,
            is_jinja: false,
            nests_fences: is_jekyll,
            reads_inside: is_jekyll,
            takes_in: false,
            may_be_plain: false,
        }
    }
}

fn engine(path: &str, generator: &str) -> Engine {
    match (paths::extension(path).as_str(), generator) {
        ("mdx", _) => Engine::Mdx,
        ("rst", _) => Engine::Sphinx,
        ("adoc" | "asciidoc", _) => Engine::AsciiDoc,
        (_, "Docusaurus" | "Mintlify" | "Next.js") => Engine::Mdx,
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
    let start = front::find(subject, &page, &mut found);
    let code = code::of(subject, start);
    let is_vue = subject.way.engine == Engine::Vue;
    match subject.way.engine {
        Engine::Mdx => {
            mdx::find(subject, start, &code.shown, &mut found);
            if subject.way.may_be_plain || front::says_format(&page) {
                html::find(subject.text, start, &code.shown, false, &mut found);
            }
        }
        _ => {
            html::find(subject.text, start, &code.shown, is_vue, &mut found);
            html::braces(subject.text, start, &code.shown, is_vue, &mut found);
            template::find(subject, start, &code.mute, &mut found);
            if is_vue {
                mdx::set_up(subject, &mut found);
            }
        }
    }
    include::find(subject, start, &code.shown, &mut found);
    links(&page, &mut found);
    found.sort_by_key(|item| item.at);
    found
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

/// All pages of the documentation, of every format that is read here.
fn pages(context: &Context<'_>, settings: &SiteSettings) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for folder in &settings.docs_paths {
        found.extend(context.look.files.list(&paths::plain_folder(folder))?);
    }
    found.extend(documentation(context.look.files, settings)?);
    found.retain(|path| is_read(path) && !is_foreign(path));
    found.sort();
    found.dedup();
    Ok(found)
}

fn is_pardoned(item: &Item, base: &Context<'_>, settings: &SiteSettings) -> io::Result<bool> {
    for pardon in &item.pardons {
        for path in pages(base, settings)? {
            let content = base.look.files.read(&path)?.unwrap_or_default();
            if memchr::memmem::find(&content, pardon.name.as_bytes()).is_none() {
                continue;
            }
            let Ok(text) = String::from_utf8(content) else { continue };
            if items_of(base, base, settings, &path, &text).iter().any(|known| known.pardons.contains(pardon)) {
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
