//! Lines that take in files from elsewhere, and blocks whose code runs when the site is built.

use std::ops::Range;

use super::template::between;
use super::{Engine, Item, Subject, is_in, url};
use crate::paths;

/// Directives of Sphinx and MyST that only lay text out, up to their domain.
const DIRECTIVES: [&str; 86] = [
    "note",
    "warning",
    "tip",
    "hint",
    "important",
    "attention",
    "caution",
    "danger",
    "error",
    "admonition",
    "seealso",
    "todo",
    "versionadded",
    "versionchanged",
    "versionremoved",
    "deprecated",
    "toctree",
    "contents",
    "figure",
    "image",
    "figure-md",
    "code",
    "code-block",
    "sourcecode",
    "parsed-literal",
    "highlight",
    "math",
    "table",
    "list-table",
    "csv-table",
    "eval-rst",
    "glossary",
    "tab-set",
    "tab-item",
    "tabs",
    "tab",
    "code-tab",
    "group-tab",
    "grid",
    "grid-item",
    "grid-item-card",
    "card",
    "dropdown",
    "button-link",
    "button-ref",
    "epigraph",
    "pull-quote",
    "sidebar",
    "topic",
    "margin",
    "aside",
    "rubric",
    "centered",
    "hlist",
    "index",
    "only",
    "container",
    "class",
    "div",
    "mermaid",
    "productionlist",
    "option",
    "program",
    "envvar",
    "confval",
    "function",
    "class",
    "method",
    "staticmethod",
    "classmethod",
    "attribute",
    "property",
    "data",
    "exception",
    "decorator",
    "describe",
    "object",
    "cmdoption",
    "module",
    "currentmodule",
    "highlights",
    "footbibliography",
    "bibliography",
    "meta",
    "replace",
    "line-block",
];
/// Directives that run what they hold, whoever else has them.
const RUNNERS: [&str; 16] = [
    "code-cell",
    "jupyter-execute",
    "jupyter-kernel",
    "execute_code",
    "exec",
    "execute",
    "plot",
    "ipython",
    "program-output",
    "command-output",
    "runcmd",
    "doctest",
    "testcode",
    "testsetup",
    "raw",
    "parse-literal-exec",
];
/// Languages whose chunks are run by the tools that know chunks.
const CHUNKS: [&str; 15] = [
    "python",
    "r",
    "julia",
    "bash",
    "sh",
    "js",
    "ojs",
    "sql",
    "node",
    "ruby",
    "perl",
    "stan",
    "rcpp",
    "observable",
    "python3",
];

pub(super) fn find(subject: &Subject<'_>, start: usize, code: &[Range<usize>], found: &mut Vec<Item>) {
    let mut at = start;
    let mut is_list = false;
    for line in subject.text[start..].split_inclusive('\n') {
        let content = line.trim();
        let place = at + (line.len() - line.trim_start().len());
        at += line.len();
        chunk(content, place, found);
        match subject.way.engine {
            Engine::MkDocs => {
                // Between two marks that stand alone every line is a file.
                let mark = content.trim_start_matches('-').strip_prefix("8<").unwrap_or("x");
                let is_mark = content.starts_with('-') && !mark.is_empty() && mark.bytes().all(|b| b == b'-');
                is_list ^= is_mark;
                if is_list && !is_mark && !content.is_empty() {
                    taken(subject, content.trim_start_matches([';', ' ']), place, content, found);
                }
                mkdocs(subject, content, place, found);
            }
            // What is only shown has no directives; all others take files in before they read what is code.
            Engine::Sphinx if is_in(code, place).is_none() => sphinx(subject, content, place, found),
            Engine::Vue => vitepress(subject, content, place, found),
            Engine::AsciiDoc => {
                if let Some((path, _)) = content.strip_prefix("include::").and_then(|rest| rest.split_once('[')) {
                    taken(subject, path, place, content, found);
                }
            }
            _ => {}
        }
    }
    match subject.way.engine {
        Engine::Book => book(subject, start, found),
        Engine::Jekyll => liquid(subject, start, found),
        Engine::Hugo => hugo(subject, start, found),
        Engine::Vue => vue_comments(subject, found),
        _ => {}
    }
}

/// The rest of a line that opens a fence.
fn info(content: &str) -> Option<&str> {
    let content = content.trim_start_matches(['>', ' ', '-', '*']);
    let rest = content.trim_start_matches(['`', '~', ':']);
    (content.len() - rest.len() >= 3).then_some(rest.trim())
}

/// `{python}` after a fence: the code is run.
fn chunk(content: &str, at: usize, found: &mut Vec<Item>) {
    let Some(inside) = info(content).and_then(|info| info.strip_prefix('{')) else { return };
    let name: String = inside.chars().take_while(|c| c.is_alphanumeric()).collect();
    let rest = &inside[name.len()..];
    if CHUNKS.contains(&name.to_ascii_lowercase().as_str()) && rest.starts_with(['}', ' ', ',']) {
        found.push(Item::new(at, "a block of code that runs when the site is built", content));
    }
}

fn mkdocs(subject: &Subject<'_>, content: &str, at: usize, found: &mut Vec<Item>) {
    let is_escaped = content.starts_with(';');
    if let Some(place) = content.find("8<-").filter(|place| content[..*place].ends_with('-') && !is_escaped) {
        let rest = content[place..].trim_start_matches(['8', '<', '-', ' ']);
        let path = rest.trim_matches(['"', '\'']);
        if !path.is_empty() {
            taken(subject, path, at, content, found);
        }
    }
    if let Some(info) = info(content)
        && ["exec=", "exec =", "html=\"on", "session="].iter().any(|mark| info.contains(mark))
        && content.trim_start_matches(['>', ' ', '-', '*']).starts_with(['`', '~'])
    {
        found.push(Item::new(at, "a block of code that runs when the site is built", content));
    }
    if let Some(name) = content.strip_prefix("::: ") {
        let name = name.split_whitespace().next().unwrap_or_default();
        let package = name.split('.').next().unwrap_or_default();
        found.push(
            Item::new(at, "the description of a module that no other page shows", content).unless("module", package),
        );
    }
    let pairs = if subject.way.takes_in { &[("{%", "%}"), ("{!", "!}")][..] } else { &[] };
    for &(open, close) in pairs {
        for (_, inside) in between(content, 0, open, close) {
            let inside = inside.trim();
            let path = if open == "{!" { Some(inside) } else { inside.strip_prefix("include").and_then(quoted) };
            if let Some(path) = path {
                taken(subject, path, at, content, found);
            }
        }
    }
}

fn quoted(text: &str) -> Option<&str> {
    let from = text.find(['"', '\''])?;
    let quote = text[from..].chars().next()?;
    text[from + 1..].split(quote).next()
}

fn sphinx(subject: &Subject<'_>, content: &str, at: usize, found: &mut Vec<Item>) {
    let named = match content.strip_prefix(".. ") {
        Some(rest) => rest.split_once("::").filter(|(name, _)| !name.contains([' ', '[', '_'])),
        None => info(content).and_then(|info| info.strip_prefix('{')).and_then(|rest| rest.split_once('}')),
    };
    let is_option = content.strip_prefix(":file:").or_else(|| content.strip_prefix(":url:"));
    if let Some(path) = is_option {
        taken(subject, path.trim(), at, content, found);
    }
    let Some((name, argument)) = named else { return };
    let plain = name.rsplit(':').next().unwrap_or(name).trim().to_ascii_lowercase();
    match plain.as_str() {
        "include" | "literalinclude" | "mdinclude" => taken(subject, argument.trim(), at, content, found),
        _ if RUNNERS.contains(&plain.as_str()) => {
            found.push(Item::new(at, format!("the directive `{plain}` runs what it holds"), content));
        }
        _ if DIRECTIVES.contains(&plain.as_str()) || name.contains(':') => {}
        _ => {
            let what = format!("the directive `{plain}`, which no other page has");
            found.push(Item::new(at, what, content).unless("directive", name.trim()));
        }
    }
}

/// `<<< path`, wherever a block may begin.
fn vitepress(subject: &Subject<'_>, content: &str, at: usize, found: &mut Vec<Item>) {
    let block = content.trim_start_matches(|c: char| c.is_ascii_digit() || ">-*+.) \t".contains(c));
    if let Some(path) = block.strip_prefix("<<<") {
        vue_file(subject, path.trim(), at, content, found);
    }
}

/// `<!-- @include: path -->`, which is replaced before anything else is read.
fn vue_comments(subject: &Subject<'_>, found: &mut Vec<Item>) {
    for (range, inside) in between(subject.text, 0, "<!--", "-->") {
        if let Some(path) = inside.trim_start().strip_prefix("@include") {
            let all = &subject.text[range.clone()];
            vue_file(subject, path.trim_start_matches([':', ' ', '\t', '\r', '\n']).trim(), range.start, all, found);
        }
    }
}

/// A file with the lines or the region of it that is meant, and with a language or a title.
fn vue_file(subject: &Subject<'_>, written: &str, at: usize, all: &str, found: &mut Vec<Item>) {
    let (path, more) = written.split_at(written.find(['#', '{', '[', ' ']).unwrap_or(written.len()));
    let path = path.strip_prefix("@/").map_or_else(|| path.to_owned(), |path| format!("./{path}"));
    if more.contains("..")
        || more.contains(['/', '\\']) && !more.trim_start().starts_with(['[', '{'])
        || path.is_empty()
    {
        found.push(Item::new(at, "something from outside the documentation", all));
    } else {
        taken(subject, &path, at, all, found);
    }
}

fn book(subject: &Subject<'_>, start: usize, found: &mut Vec<Item>) {
    for (range, inside) in between(subject.text, start, "{{#", "}}") {
        let all = &subject.text[range.clone()];
        let is_escaped = subject.text[..range.start].ends_with('\\');
        let mut words = inside.split_whitespace();
        let name = words.next().unwrap_or_default();
        let path = words.next().unwrap_or_default();
        match name {
            _ if is_escaped => {}
            "title" => {}
            "include" | "rustdoc_include" | "playground" | "playpen" | "template" => {
                taken(subject, path.split(':').next().unwrap_or(path), range.start, all, found);
            }
            _ => found.push(
                Item::new(range.start, "a command of the book that no other page has", all).unless("command", name),
            ),
        }
    }
}

fn liquid(subject: &Subject<'_>, start: usize, found: &mut Vec<Item>) {
    for (range, inside) in between(subject.text, start, "{%", "%}") {
        let mut words = inside.trim().trim_matches('-').split_whitespace();
        let name = words.next().unwrap_or_default();
        let path = words.next().unwrap_or_default();
        let is_include = name.starts_with("include") || name.starts_with("render");
        if is_include && (path.contains("..") || path.starts_with('/')) {
            found.push(Item::new(
                range.start,
                "something from outside the documentation",
                &subject.text[range.clone()],
            ));
        }
    }
}

fn hugo(subject: &Subject<'_>, start: usize, found: &mut Vec<Item>) {
    for (open, close) in [("{{<", ">}}"), ("{{%", "%}}")] {
        for (range, inside) in between(subject.text, start, open, close) {
            let inside = inside.trim();
            let is_shown = inside.starts_with("/*");
            let name = inside.trim_start_matches('/').split_whitespace().next().unwrap_or_default();
            let all = &subject.text[range.clone()];
            let lower = name.to_ascii_lowercase();
            let reads = ["readfile", "include", "rawhtml", "unsafe", "script"].iter().any(|part| lower.contains(part));
            if is_shown || inside.starts_with('/') {
                continue;
            }
            if name.contains(".inline") {
                found.push(Item::new(range.start, "a template that runs when the page is built", all));
            } else if reads && (inside.contains("..") || lower.contains("script")) {
                found.push(Item::new(range.start, "something from outside the documentation", all));
            } else if reads || name.contains("html") {
                found.push(Item::new(range.start, "a command that no other page has", all).unless("command", name));
            }
        }
    }
}

/// A file that is taken in: fine within the documentation, and where other pages take from already.
fn taken(subject: &Subject<'_>, path: &str, at: usize, all: &str, found: &mut Vec<Item>) {
    const OUTSIDE: &str = "something from outside the documentation";
    if let Some(host) = url::host(path) {
        found.push(Item::new(at, OUTSIDE, all).unless("host", host));
        return;
    }
    let path = path.split([':', '#']).next().unwrap_or(path).trim();
    // Paths from the top are those of the site with some generators, and of the machine with others.
    let rooted = path.starts_with(['/', '~', '\\']) && subject.way.engine != Engine::Sphinx;
    let path = path.trim_start_matches('/');
    let from_page = paths::normalise(paths::folder(subject.path), path);
    let from_top = paths::normalise("", path);
    let is_hidden = path.split('/').any(|part| part.starts_with('.') && !part.chars().all(|c| c == '.'));
    if rooted || is_hidden || (from_page.is_none() && from_top.is_none()) || path.contains(['$', '<', '*']) {
        found.push(Item::new(at, OUTSIDE, all));
        return;
    }
    // With these, a file stands where the page says or nowhere; what is not there is taken in by nobody.
    let is_sure = matches!(subject.way.engine, Engine::Sphinx | Engine::Vue | Engine::Book | Engine::AsciiDoc);
    if is_sure && from_page.as_deref().is_some_and(|place| (subject.is_docs)(place) && !place.is_empty()) {
        return;
    }
    let is_fine = |place: &Option<String>| {
        place.as_deref().is_some_and(|place| (subject.is_docs)(place) && !place.is_empty() && (subject.exists)(place))
    };
    let is_elsewhere = from_top.as_deref().is_some_and(|place| !(subject.is_docs)(place) && (subject.exists)(place));
    if is_fine(&from_page) || is_fine(&from_top) || !path.contains('/') && !path.contains("..") && !is_elsewhere {
        return;
    }
    let mut item = Item::new(at, OUTSIDE, all);
    // The deeper folders of one that is known are known as well.
    let folder = paths::folder(path);
    let first: Vec<&str> = folder.split('/').collect();
    let named = first.iter().position(|part| *part != "..").map(|at| first[..=at].join("/"));
    item = item.unless("folder", named.unwrap_or_else(|| folder.to_owned()));
    found.push(item);
}
