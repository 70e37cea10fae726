//! What runs in MDX: imports, exports and expressions, and tags whose attributes are such. A full parser says what is code
//! that is only shown; where it gives up, everything is taken for live that is not in a fence.

use std::cell::Cell;
use std::collections::HashSet;
use std::ops::Range;

use copydesk_values::{Statement, is_expression, statements, texts};
use markdown::mdast::{AttributeContent, AttributeValue, Node};
use markdown::{Constructs, MdxExpressionKind, MdxSignal, ParseOptions, to_mdast};

use super::{Item, Subject, html, is_in, url};
use crate::paths;

/// Larger pages are read the plain way.
const LARGEST: usize = 320 * 1024;
/// The reader takes ever longer for tags inside of tags.
const MOST_OPEN: usize = 300;
/// What the parser has for its calls. Only what is used of it takes memory.
const STACK: usize = 256 * 1024 * 1024;
/// Packages of components that generators bring along, and folders of them.
const COMPONENTS: [&str; 10] = [
    "vitepress",
    "vitepress/theme",
    "vitepress/client",
    "@astrojs/starlight/components",
    "astro:assets",
    "astro:components",
    "nextra/components",
    "nextra-theme-docs",
    "nextra-theme-blog",
    "@docusaurus/theme-common",
];
const FOLDERS: [&str; 4] = ["@theme/", "@theme-original/", "fumadocs-ui/components/", "@astrojs/starlight/components/"];
/// Names that pages of MDX know without an import.
const NAMES: [&str; 9] =
    ["props", "frontmatter", "frontMatter", "toc", "contentTitle", "metadata", "children", "siteConfig", "page"];

pub(super) fn find(subject: &Subject<'_>, start: usize, code: &[Range<usize>], found: &mut Vec<Item>) {
    if let Some(text) = unwrapped(subject.text) {
        let subject = Subject { text: &text, ..*subject };
        let code = super::code::of(&subject, start).shown;
        return find(&subject, start, &code, found);
    }
    let read = live_parts(subject.text, start);
    if read.is_none() && !subject.way.may_be_plain {
        let what = "a page that cannot be read as MDX, so nobody can tell what it runs";
        found.push(Item::new(start, what, &subject.text[start..]));
    }
    let live = read.unwrap_or_else(|| plainly(subject.text, start, code));
    let mut names: HashSet<String> = NAMES.iter().map(|name| (*name).to_owned()).collect();
    for (at, script) in &live.modules {
        match statements(script) {
            Ok(read) => {
                names.extend(read.iter().flat_map(|statement| statement.names.iter().cloned()));
                found.extend(read.iter().filter_map(|statement| module(subject, *at, script, statement)));
            }
            Err(_) => found.push(Item::new(*at, "an import or export that cannot be read", script)),
        }
    }
    for (at, script) in &live.expressions {
        if !is_remark(script) && !is_value(script, &names) && !is_formula(subject.text, *at, script) {
            found.push(Item::new(*at, "an expression that runs when the page is built", script).unless_same());
        }
    }
    for element in &live.elements {
        judge(subject, element, &names, found);
    }
    found.extend(live.runners.iter().map(|(at, text)| Item::new(*at, "code that runs in the page", text)));
}

/// The page with those fences blanked whose content is no code but more of the page; none if there are none.
fn unwrapped(text: &str) -> Option<String> {
    const NAME: &str = "mdx-code-block";
    if !text.contains(NAME) {
        return None;
    }
    let mut plain = String::with_capacity(text.len());
    let mut open: Option<usize> = None;
    let mut has_any = false;
    for line in text.split_inclusive('\n') {
        let content = line.trim();
        let rest = content.trim_start_matches(['`', '~']);
        let length = content.len() - rest.len();
        let opens = open.is_none() && length >= 3 && rest.trim_start().starts_with(NAME);
        let closes = open == Some(length) && rest.is_empty();
        open = if opens { Some(length) } else { open.filter(|_| !closes) };
        has_any |= opens;
        if opens || closes {
            plain.extend(line.bytes().map(|byte| if matches!(byte, b'\r' | b'\n') { char::from(byte) } else { ' ' }));
        } else {
            plain.push_str(line);
        }
    }
    has_any.then_some(plain)
}

/// Whether an expression is only a value, and none that runs as an address.
fn is_value(script: &str, names: &HashSet<String>) -> bool {
    texts(script, &|name| names.contains(name)).is_some_and(|texts| !url::runs_in(&texts))
}

/// The parts of a page that are not Markdown, with their places.
#[derive(Default)]
struct Live {
    modules: Vec<(usize, String)>,
    expressions: Vec<(usize, String)>,
    elements: Vec<Element>,
    /// Blocks of code that say that they run.
    runners: Vec<(usize, String)>,
}

struct Element {
    range: Range<usize>,
    name: String,
    /// Names and values; a value is a text, or a script.
    attributes: Vec<(String, Option<String>, Option<String>)>,
}

/// Reads a page with a full parser; none if it cannot.
fn live_parts(text: &str, start: usize) -> Option<Live> {
    let body = &text[start..];
    let count = |mark: &str| memchr::memmem::find_iter(body.as_bytes(), mark).count();
    let opened = memchr::memchr_iter(b'<', body.as_bytes())
        .filter(|at| body.as_bytes().get(at + 1).is_some_and(u8::is_ascii_alphabetic))
        .count();
    if body.len() > LARGEST || opened.saturating_sub(count("</") + count("/>")) > MOST_OPEN {
        return None;
    }
    // Some sites take comments of HTML; what is in them is looked at all the same.
    let body = body.replace("<!--", "    ").replace("-->", "   ");
    let work = move || {
        let constructs = Constructs { frontmatter: false, ..both(Constructs::gfm(), Constructs::mdx()) };
        let options = ParseOptions {
            constructs,
            mdx_esm_parse: Some(Box::new(modules())),
            mdx_expression_parse: Some(Box::new(expressions())),
            ..ParseOptions::mdx()
        };
        let tree = to_mdast(&body, &options).ok()?;
        let mut live = Live::default();
        walk(&tree, start, &mut live);
        Some(live)
    };
    let thread = std::thread::Builder::new().name("page".to_owned()).stack_size(STACK).spawn(work).ok()?;
    thread.join().ok().flatten()
}

/// Tells where imports and exports end: at the first empty line at which they are whole.
fn modules() -> impl Fn(&str) -> MdxSignal {
    let left = Cell::new(MOST_READ);
    move |script| {
        left.set(left.get().saturating_sub(script.len() + 64));
        if left.get() == 0 || statements(script).is_ok() {
            MdxSignal::Ok
        } else {
            MdxSignal::Eof("it is not whole".to_owned(), Box::new("page".to_owned()), Box::new("module".to_owned()))
        }
    }
}

/// How much of expressions is read to find out where they end. After that, braces are counted on by nobody.
const MOST_READ: usize = 4 * 1024 * 1024;

/// Tells where an expression ends: at the first brace at which it is whole, as braces in texts are no ends.
fn expressions() -> impl Fn(&str, &MdxExpressionKind) -> MdxSignal {
    let left = Cell::new(MOST_READ);
    move |script, kind| {
        left.set(left.get().saturating_sub(script.len() + 64));
        let is_spread = matches!(kind, MdxExpressionKind::AttributeExpression);
        let is_whole = left.get() > 0 && (is_expression(script, is_spread) || is_remark(script));
        if is_whole || left.get() == 0 || !script.contains(['"', '\'', '`', '/', '{']) {
            MdxSignal::Ok
        } else {
            MdxSignal::Eof("it is not whole".to_owned(), Box::new("page".to_owned()), Box::new("expression".to_owned()))
        }
    }
}

/// What MDX knows, and the tables and the like that sites add.
fn both(gfm: Constructs, mdx: Constructs) -> Constructs {
    Constructs {
        gfm_autolink_literal: gfm.gfm_autolink_literal,
        gfm_footnote_definition: gfm.gfm_footnote_definition,
        gfm_label_start_footnote: gfm.gfm_label_start_footnote,
        gfm_strikethrough: gfm.gfm_strikethrough,
        gfm_table: gfm.gfm_table,
        gfm_task_list_item: gfm.gfm_task_list_item,
        ..mdx
    }
}

fn walk(node: &Node, start: usize, live: &mut Live) {
    let range = node.position().map_or(start..start, |it| start + it.start.offset..start + it.end.offset);
    match node {
        Node::MdxjsEsm(it) => live.modules.push((range.start, it.value.clone())),
        Node::MdxFlowExpression(it) => live.expressions.push((range.start, it.value.clone())),
        Node::MdxTextExpression(it) => live.expressions.push((range.start, it.value.clone())),
        Node::MdxJsxFlowElement(it) => live.elements.push(element(range, it.name.as_deref(), &it.attributes)),
        Node::MdxJsxTextElement(it) => live.elements.push(element(range, it.name.as_deref(), &it.attributes)),
        Node::Code(it) => {
            let is_live = it.meta.as_deref().unwrap_or_default().split_whitespace().any(|word| word == "live");
            if is_live {
                live.runners.push((range.start, it.value.clone()));
            }
        }
        _ => {}
    }
    for child in node.children().into_iter().flatten() {
        walk(child, start, live);
    }
}

fn element(range: Range<usize>, name: Option<&str>, attributes: &[AttributeContent]) -> Element {
    let attributes = attributes.iter().map(|attribute| match attribute {
        AttributeContent::Expression(it) => (String::new(), None, Some(it.value.clone())),
        AttributeContent::Property(it) => match &it.value {
            None => (it.name.clone(), None, None),
            Some(AttributeValue::Literal(text)) => (it.name.clone(), Some(text.clone()), None),
            Some(AttributeValue::Expression(script)) => (it.name.clone(), None, Some(script.value.clone())),
        },
    });
    Element { range, name: name.unwrap_or_default().to_owned(), attributes: attributes.collect() }
}

/// Reads a page that no parser of MDX takes: whatever is not in code is live.
fn plainly(text: &str, start: usize, code: &[Range<usize>]) -> Live {
    let mut live = Live::default();
    let mut at = start;
    let mut block: Option<usize> = None;
    for line in text[start..].split_inclusive('\n') {
        let is_code = is_in(code, at).is_some();
        let begins = line.starts_with("import") || line.starts_with("export");
        if block.is_none() && begins && !is_code && is_statement(line) {
            block = Some(at);
        }
        if let Some(from) = block.filter(|_| line.trim().is_empty()) {
            live.modules.push((from, text[from..at].to_owned()));
            block = None;
        }
        at += line.len();
    }
    live.modules.extend(block.map(|from| (from, text[from..].to_owned())));
    let modules: Vec<Range<usize>> = live.modules.iter().map(|(from, script)| *from..from + script.len()).collect();
    let mut after = start;
    for at in memchr::memchr_iter(b'{', &text.as_bytes()[start..]).map(|at| start + at) {
        if at < after || is_in(code, at).is_some() || is_in(&modules, at).is_some() {
            continue;
        }
        let end = closing(text, at);
        live.expressions.push((at, text[at + 1..end].to_owned()));
        after = end;
    }
    let mut found = Vec::new();
    html::find(text, start, code, false, &mut found);
    live.runners.extend(found.into_iter().map(|item| (item.at, item.text)));
    live
}

fn is_statement(line: &str) -> bool {
    let rest = line[6..].trim_start();
    line[6..].starts_with([' ', '{', '*', '"', '\'', '\t'])
        && (rest.starts_with(['{', '*', '"', '\'']) || line.contains(" from ") || line.starts_with("export"))
}

/// Where the brace at `at` is closed; the end of the text if it is not.
fn closing(text: &str, at: usize) -> usize {
    let mut depth = 0usize;
    for (offset, byte) in text.as_bytes()[at..].iter().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return at + offset,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// `{#id}` and `{/* … */}`, and what some sites write after a heading.
fn is_remark(script: &str) -> bool {
    let id = script.trim();
    id.strip_prefix('#').is_some_and(|id| id.chars().all(|c| c.is_alphanumeric() || "-_.:".contains(c)))
}

/// How far back the mark of a formula is looked for.
const FAR: usize = 2000;

/// Braces between dollar signs are those of a formula; a name alone can do nothing, wherever it stands.
fn is_formula(text: &str, at: usize, script: &str) -> bool {
    let is_mute = |c: char| c.is_ascii_alphanumeric() || " \\^_{}+-*,|&~".contains(c) || !c.is_ascii();
    let near = &text[text.floor_char_boundary(at.saturating_sub(FAR))..at];
    let line = near.rfind('\n').map_or(0, |at| at + 1);
    let paragraph = near.rfind("\n\n").map_or(0, |at| at + 1);
    let is_marked = near[line..].contains('$') || near[paragraph..].contains("$$");
    is_marked && script.chars().all(is_mute)
}

/// Looks into the scripts that set up pages of Vue: those that only import what is known are fine.
pub(super) fn set_up(subject: &Subject<'_>, found: &mut Vec<Item>) {
    for item in std::mem::take(found) {
        let inside = item.text.strip_prefix("<script setup").and_then(|rest| rest.split_once('>'));
        let read = inside.and_then(|(how, script)| {
            let is_plain = matches!(how.trim(), "" | "lang=\"ts\"" | "lang='ts'");
            let read = statements(script).ok().filter(|read| is_plain && read.iter().all(|it| it.from.is_some()))?;
            let start = item.at + (item.text.len() - script.len());
            Some(read.iter().filter_map(|it| module(subject, start, script, it)).collect::<Vec<_>>())
        });
        match read {
            Some(items) => found.extend(items),
            None => found.push(item),
        }
    }
}

fn is_brought_along(from: &str) -> bool {
    let is_plain = !from.contains("..") && !from.contains(['!', '?', '#']);
    let of_docusaurus = from.strip_prefix("@docusaurus/").is_some_and(|name| !name.contains('/'));
    is_plain && (of_docusaurus || COMPONENTS.contains(&from) || FOLDERS.iter().any(|folder| from.starts_with(folder)))
}

/// What is to be said of an import or export.
fn module(subject: &Subject<'_>, at: usize, script: &str, statement: &Statement) -> Option<Item> {
    let text = &script[statement.range.clone()];
    let at = at + statement.range.start;
    let Some(from) = &statement.from else {
        return Some(Item::new(at, "a statement that runs when the page is built", text));
    };
    if is_brought_along(from) {
        return None;
    }
    let item = Item::new(at, "an import that no other page has", text).unless("import", from.as_str());
    let plain = from.split('?').next().unwrap_or(from);
    if from.contains(['!', '#']) {
        return Some(item);
    }
    let is_local = plain.starts_with(['.', '/', '~', '@']);
    let Some((folder, _)) = plain.rsplit_once('/').filter(|_| is_local) else { return Some(item) };
    let ending = paths::extension(plain);
    let is_content = matches!(ending.as_str(), "md" | "mdx" | "css" | "scss") || paths::is_image(plain);
    let place = place_of(subject, plain);
    let stays =
        place.as_deref().is_none_or(|place| !place.split('/').any(|part| part.starts_with('.') && part.len() > 1));
    let leaves = plain.starts_with('.') && place.is_none();
    let is_as_it_is =
        matches!(from.split_once('?').map(|(_, how)| how), None | Some("raw" | "url" | "inline" | "component"));
    // Pages are taken in from the documentation; others may say what is not for readers.
    let is_page = matches!(ending.as_str(), "md" | "mdx");
    let is_of_docs = !is_page || place.as_deref().is_none_or(|place| (subject.is_docs)(place));
    if is_content && !leaves && stays && is_as_it_is && is_of_docs {
        return None;
    }
    // A component of the repository that is there already; a change cannot write one.
    let is_component =
        |path: &str| matches!(paths::extension(path).as_str(), "jsx" | "tsx" | "vue" | "astro" | "svelte");
    let is_there = |path: &str| {
        let endings = ["", ".jsx", ".tsx", "/index.jsx", "/index.tsx"];
        endings
            .iter()
            .map(|ending| format!("{path}{ending}"))
            .any(|path| is_component(&path) && (subject.exists)(&path))
    };
    if from == plain && place.as_deref().is_some_and(is_there) {
        return None;
    }
    Some(if leaves {
        Item::new(at, "an import from outside of the repository", text)
    } else {
        item.unless("import from", folder)
    })
}

/// The file that an import from beside the page or from the top means; none if it leaves the repository or goes by
/// another name.
fn place_of(subject: &Subject<'_>, from: &str) -> Option<String> {
    if let Some(rooted) = from.strip_prefix("@site/") {
        return paths::normalise(subject.root, rooted);
    }
    match from.strip_prefix('/') {
        Some(rooted) => paths::normalise("", rooted),
        None if from.starts_with('.') => paths::normalise(paths::folder(subject.path), from),
        None => None,
    }
}

fn judge(subject: &Subject<'_>, element: &Element, names: &HashSet<String>, found: &mut Vec<Item>) {
    let all = &subject.text[element.range.clone()];
    let at = element.range.start;
    let opening = &all[..all.find('>').map_or(all.len(), |end| end + 1)];
    let get = |name: &str| -> Option<&str> {
        let attribute = element.attributes.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name));
        attribute.map(|(_, text, value)| text.as_deref().or(value.as_deref().map(unquoted)).unwrap_or_default())
    };
    if element.name.contains('.') && element.name.starts_with(char::is_lowercase) {
        found.push(Item::new(at, "a tag whose name is a value", opening));
    }
    if element.name == "iframe" && !is_static(element, names) {
        found.push(Item::new(at, "a frame whose address is a value", opening));
    }
    // A component may be called like a tag; only those that stand for scripts and frames are meant.
    let is_tag = element.name.starts_with(|c: char| c.is_ascii_lowercase());
    if is_tag || matches!(element.name.as_str(), "Script" | "Iframe") {
        found.extend(html::judged(&element.name, &get, at, opening, subject.text));
    }
    let is_html = element.name.starts_with(|c: char| c.is_ascii_lowercase()) && !element.name.contains('.');
    for (name, text, script) in &element.attributes {
        let runs = match (text, script) {
            (Some(text), _) if html::is_event(name, is_html) => Some(text),
            (Some(text), _) if url::runs(text) => Some(text),
            (_, Some(script)) if html::is_event(name, is_html) => Some(script),
            (_, Some(script)) if matches!(name.as_str(), "dangerouslySetInnerHTML" | "srcDoc" | "innerHTML") => {
                Some(script)
            }
            (Some(text), _) if is_markup(name) && super::is_live(text) => Some(text),
            (_, Some(script)) if is_markup(name) && !is_mute(script) => Some(script),
            (_, Some(script)) if !is_plain(name, script, names) => Some(script),
            _ => None,
        };
        if let Some(text) = runs {
            let what = if name.is_empty() {
                "attributes that are a script".to_owned()
            } else {
                format!("the attribute `{name}` is a script")
            };
            found.push(Item::new(at, what, text).unless_same());
        }
    }
}

fn unquoted(script: &str) -> &str {
    script.trim().trim_matches(['"', '\'', '`'])
}

/// Whether the address of a frame is written down, if it is a script at all, or at least whose site it is of.
fn is_static(element: &Element, names: &HashSet<String>) -> bool {
    let source = element.attributes.iter().find(|(name, ..)| name.eq_ignore_ascii_case("src"));
    let Some(script) = source.and_then(|(_, _, script)| script.as_deref()) else { return true };
    let texts = texts(script, &|name| names.contains(name)).unwrap_or_default();
    texts.first().is_some_and(|text| {
        let has_all_of_host = text.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
        text == unquoted(script) || has_all_of_host && html::is_frame(text)
    })
}

/// Whether an attribute holds what is put into the page as it is.
fn is_markup(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with("html")
}

/// Whether markup is written down, and runs nothing.
fn is_mute(script: &str) -> bool {
    texts(script, &|_| false).is_some_and(|texts| !super::is_live(&texts.concat()))
}

/// Whether the script of an attribute is only a value, and no address that runs.
fn is_plain(name: &str, script: &str, names: &HashSet<String>) -> bool {
    let is_fine = !name.is_empty() || script.trim().starts_with("/*");
    is_fine && is_value(script, names)
}
