//! One Markdown or MDX page, read with byte positions, so that it can be edited without writing it anew.

mod components;
mod definitions;
mod fences;
mod front_matter;
mod ids;
mod markdown;
mod mdx;
mod myst;
mod ranges;
mod script;
mod slug;
mod snippets;
mod tags;
mod templates;
mod view;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use crate::Check;
use crate::paths::extension;

pub use ids::{Case, IdRule};
pub(crate) use myst::{heading_labels, labels};
pub use slug::{anchor_key, slug};
pub use snippets::Snippets;

/// A page as far as checks and edits need it. All ranges are byte ranges of the page's text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// The front matter, if there is any.
    pub front_matter: Option<FrontMatter>,
    pub headings: Vec<Heading>,
    /// Links, images, imports and the like, in order.
    pub links: Vec<Link>,
    /// What people read: text of paragraphs, headings, lists, table cells and between JSX tags; no code, no tags, no
    /// addresses, no front matter. Sorted, not overlapping.
    pub prose: Vec<Range<usize>>,
    /// Fenced, indented and inline code. Sorted, not overlapping.
    pub code: Vec<Range<usize>>,
    /// Places other than headings that a fragment may name: ids, and titles of components that get an anchor.
    pub anchors: Vec<String>,
    /// Where targets stand of definitions that no link uses; in order.
    pub unused: Vec<usize>,
    /// How anchors begin and end that are filled in when the site is built.
    pub made: Vec<(String, String)>,
    /// Whether parts of the page come from elsewhere, so that it may have anchors that are not seen here.
    pub open: bool,
    /// What is not well-formed.
    pub problems: Vec<Problem>,
}

/// The front matter of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontMatter {
    /// All of it, with its fences and the line break after the last.
    pub range: Range<usize>,
    /// What is between the fences.
    pub body: Range<usize>,
    pub fields: Vec<Field>,
}

/// A top-level field of front matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    /// The value, if it is a scalar, unquoted.
    pub value: Option<String>,
    pub range: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// The text, without markup.
    pub text: String,
    /// The anchor that leads to it, as GitHub makes it, made unique within the page, or the one it gives itself.
    pub anchor: String,
    pub range: Range<usize>,
    /// The `#` characters; none for a heading that is underlined or an HTML tag.
    pub marker: Option<Range<usize>>,
}

/// What leads from a page to elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub kind: LinkKind,
    /// Where it leads, as written, with entities and escapes resolved.
    pub target: String,
    /// Where the target stands in the text, without brackets and quotes.
    pub range: Range<usize>,
    /// Whether it stands in an attribute of a tag, where some sites resolve it differently.
    pub in_tag: bool,
    /// Whether that is one of a component of the site's own, which may make another address of it.
    pub in_component: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkKind {
    /// A link, also one by reference (the range is that of the definition) or an `href`.
    Page,
    /// An image, also a `src`.
    Image,
    /// An MDX import, or another way to take a snippet in.
    Snippet,
}

/// A place that is not well-formed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The check that it is a finding of: syntax, front matter or code fences.
    pub check: Check,
    pub message: String,
    pub range: Range<usize>,
}

/// How a site writes its pages.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Dialect {
    /// How headings get their ids.
    pub ids: IdRule,
    /// Whether nobody knows if it is so that they get them, so that any other common rule may hold instead.
    pub any_ids: bool,
    /// Whether `{: #id }` and `{ id=x }` give ids, as with the attribute lists of Python-Markdown and kramdown.
    pub attribute_lists: bool,
    /// Whether a comment after a heading gives its id: `{/* #id */}`.
    pub comment_ids: bool,
    /// Whether `[#id]` after a heading gives its id.
    pub bracket_ids: bool,
    /// Whether the text of `!!! note`, `??? note` and `=== "Tab"` is indented, which is code elsewhere.
    pub indented_blocks: bool,
    /// Whether components get ids for what they are called, as with Mintlify.
    pub component_ids: bool,
    /// Whether terms of definitions get ids as headings do.
    pub term_ids: bool,
    /// Whether `{{ … }}` and `{% … %}` are filled in before the page is read.
    pub templates: bool,
    /// How tabs (`=== "Title"`) get ids, and whether with that of the heading above before it; none if they get none.
    pub tabs: Option<(IdRule, bool)>,
    /// Whether scripts of the site put something in the place of comments such as `<!-- md:name words -->`.
    pub marks: bool,
    /// Whether `::: package.module` takes in the description of a module.
    pub modules: bool,
    /// How files are taken in.
    pub snippets: Snippets,
    /// Roles whose text names a place or a page: ``{ref}`name` ``.
    pub roles: &'static [&'static str],
    /// Whether comments take in pages, as with VitePress.
    pub comment_includes: bool,
    /// Whether headings of the first level have ids; Docusaurus leaves those away.
    pub title_ids: bool,
    /// Whether plain Markdown is read as MDX.
    pub is_mdx: bool,
    /// How lines begin that take in something from elsewhere.
    pub includes: &'static [&'static str],
    /// Those of which it is known what anchors they bring, in the order of their names.
    pub shortcodes: Arc<[Shortcode]>,
}

/// A template of the site that pages name, and the anchors that it brings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Shortcode {
    pub name: String,
    pub ids: Vec<String>,
    /// How those begin that are filled in.
    pub starts: Vec<String>,
}

impl Default for Dialect {
    fn default() -> Self {
        Self {
            ids: IdRule::GitHub,
            any_ids: false,
            attribute_lists: false,
            comment_ids: false,
            bracket_ids: false,
            indented_blocks: false,
            component_ids: false,
            term_ids: false,
            templates: false,
            tabs: None,
            marks: false,
            modules: false,
            snippets: Snippets::Scripts,
            roles: &[],
            comment_includes: false,
            title_ids: true,
            is_mdx: false,
            includes: &[],
            shortcodes: Arc::default(),
        }
    }
}

impl Dialect {
    /// Whether `{ id=x }` after a heading gives its id.
    fn has_attributes(&self) -> bool {
        self.attribute_lists || self.ids == IdRule::Hugo
    }

    /// What a shortcode brings, if that is known.
    pub(crate) fn shortcode(&self, name: &str) -> Option<&Shortcode> {
        let at = self.shortcodes.binary_search_by(|known| known.name.as_str().cmp(name)).ok()?;
        self.shortcodes.get(at)
    }
}

/// The ids that the headings of a page have by common rules, each heading's with its own first.
pub(crate) fn common_ids<'p>(text: &'p str, page: &'p Page) -> impl Iterator<Item = (&'p Heading, Vec<String>)> {
    page.headings.iter().map(|heading| {
        let raw = text.get(heading.range.clone()).unwrap_or_default();
        (heading, ids::common(without_attributes(&heading.text), without_attributes(title_line(raw))))
    })
}

/// The line of a heading that names it, without the marks around: the last before the line that underlines it.
fn title_line(raw: &str) -> &str {
    let is_underline = |line: &str| !line.is_empty() && line.trim_matches(['=', '-', ' ']).is_empty();
    let line = raw.lines().map(str::trim).rfind(|line| !line.is_empty() && !is_underline(line));
    line.unwrap_or_default().trim_matches('#').trim()
}

/// A heading without the id that it may give itself: `Title {#id}`.
fn without_attributes(heading: &str) -> &str {
    let heading = heading.trim_end();
    let before = heading.strip_suffix('}').and_then(|inside| inside.rsplit_once('{')).map(|(before, _)| before);
    before.map_or(heading, str::trim_end)
}

/// Whether a path is that of a page.
pub fn is_page(path: &str) -> bool {
    matches!(extension(path).as_str(), "md" | "mdx" | "markdown")
}

/// Whether a position is in one of the ranges, which are in order.
pub(crate) fn is_within(ranges: &[Range<usize>], at: usize) -> bool {
    ranges::holding(ranges, at).is_some()
}

/// What the front matter of a page says; none if it has none, or none that can be read.
pub(crate) fn front_values(text: &str) -> Option<copydesk_values::Value> {
    front_matter::values(text)
}

/// Reads a page as code hosts do. Whatever the text is, it gives a page; what is wrong with it is in `problems`.
pub fn parse(path: &str, text: &str) -> Page {
    parse_as(path, text, &Dialect::default())
}

/// Reads a page as its site does.
pub fn parse_as(path: &str, text: &str, dialect: &Dialect) -> Page {
    let mut page = Page::default();
    let start = front_matter::read(text, &mut page);
    let is_myst = matches!(dialect.ids, IdRule::Myst { .. });
    let smoothed = match () {
        () if is_myst => Some(myst::smoothed(text)),
        () if dialect.templates => templates::smoothed(text),
        () => None,
    };
    let shown = smoothed.as_deref().unwrap_or(text);
    let read = if extension(path) == "mdx" || dialect.is_mdx && front_matter::format(&page) != Some("md") {
        mdx::read(shown, start, &mut page)
    } else {
        components::find(shown, start, dialect.attribute_lists)
    };
    markdown::read(shown, &read, dialect, &mut page);
    if dialect.templates {
        templates::restore(text, dialect, &mut page);
    }
    brought(text, dialect, &mut page);
    if let Some((ids, with_heading)) = &dialect.tabs {
        tab_ids(text, ids, *with_heading, &mut page);
    }
    if dialect.marks {
        marks(text, &mut page);
    }
    if dialect.modules {
        modules(text, &dialect.ids, &mut page);
    }
    page.open |= takes_in_more(text, dialect, &page.code) || front_matter::generates(&page);
    if dialect.comment_includes {
        comment_includes(text, &mut page);
    }
    attribute_ids(text, &mut page);
    if dialect.attribute_lists {
        fence_ids(text, &mut page);
    }
    definitions::add(text, start, &mut page);
    page.links.extend(snippets::find(text, dialect.snippets, &page.code));
    if is_myst {
        page.anchors.extend(labels(text));
    }
    page.problems.sort_by_key(|problem| problem.range.start);
    page.links.sort_by_key(|link| link.range.start);
    page
}

/// Whether a generator puts something from elsewhere into the page: lines of its own, outside of code.
fn takes_in_more(text: &str, dialect: &Dialect, code: &[Range<usize>]) -> bool {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at + (line.len() - line.trim_start().len());
        at += line.len();
        let content = line.trim();
        let rest = dialect.includes.iter().find_map(|mark| content.strip_prefix(mark));
        let name = rest.map(|rest| rest.trim_start_matches(['/', ' ']).split([' ', '%', '>']).next());
        let name = name.flatten().map(|name| name.trim_end_matches('/'));
        // What is shown as code has no headings.
        let is_code = rest.is_some_and(|rest| rest.contains("code=\"true\"") || rest.contains("code=true"));
        let is_example = rest.is_some_and(|rest| rest.starts_with("/*"));
        let takes_in =
            rest.is_some() && !is_code && !is_example && name.is_none_or(|name| dialect.shortcode(name).is_none());
        let is_box = content.strip_prefix("::: ").is_some_and(is_container);
        if takes_in && !is_box && ranges::holding(code, start).is_none() {
            return true;
        }
    }
    false
}

/// Adds the anchors that the shortcodes in a page bring, each of them once.
fn brought(text: &str, dialect: &Dialect, page: &mut Page) {
    if dialect.shortcodes.is_empty() {
        return;
    }
    figures(text, page);
    let names: BTreeSet<&str> = shortcodes(text).collect();
    for shortcode in names.into_iter().filter_map(|name| dialect.shortcode(name)) {
        page.anchors.extend(shortcode.ids.iter().cloned());
        page.made.extend(shortcode.starts.iter().map(|start| (start.clone(), String::new())));
    }
}

/// The pictures that shortcodes show: `{{< figure src="/x.png" link="/y/" >}}`.
fn figures(text: &str, page: &mut Page) {
    for (at, _) in text.match_indices("{{") {
        let inside = &text[at + 2..];
        let Some(call) = inside.strip_prefix(['<', '%']).and_then(|it| it.split_once("}}")).map(|(call, _)| call)
        else {
            continue;
        };
        let is_figure = matches!(call.split_whitespace().next(), Some("figure" | "img" | "image"));
        if !is_figure || ranges::holding(&page.code, at).is_some() {
            continue;
        }
        for (name, kind) in [(" src=\"", LinkKind::Image), (" link=\"", LinkKind::Page)] {
            let Some((before, rest)) = call.split_once(name) else { continue };
            let Some((target, _)) = rest.split_once('"').filter(|(target, _)| !target.is_empty()) else { continue };
            let start = at + 3 + before.len() + name.len();
            let range = start..start + target.len();
            page.links.push(Link { kind, target: target.to_owned(), range, in_tag: true, in_component: false });
        }
    }
}

/// The names of the shortcodes in a text; those that only close one begin with a slash.
pub(crate) fn shortcodes(text: &str) -> impl Iterator<Item = &str> {
    text.split("{{").skip(1).filter_map(|template| {
        let inside = template.strip_prefix(['<', '%'])?.trim_start_matches(['-', ' ']);
        let name = inside.split([' ', '%', '>', '\n']).next().unwrap_or_default().trim_end_matches('/');
        (!name.is_empty()).then_some(name)
    })
}

/// The ids of tabs.
fn tab_ids(text: &str, ids: &IdRule, with_heading: bool, page: &mut Page) {
    let mut at = 0;
    let mut headings = page.headings.iter().peekable();
    let mut heading = None;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        while let Some(passed) = headings.next_if(|next| next.range.start <= start) {
            heading = Some(passed.anchor.as_str());
        }
        let content = line.trim();
        let rest = ["=== ", "===! ", "===+ "].iter().find_map(|mark| content.strip_prefix(mark));
        let Some(title) = rest.and_then(|rest| rest.strip_prefix('"')?.strip_suffix('"')) else { continue };
        if ranges::holding(&page.code, start).is_some() {
            continue;
        }
        let words = title.split(' ').filter(|word| word.len() < 3 || !(word.starts_with(':') && word.ends_with(':')));
        let slug = ids.slug(&words.collect::<Vec<_>>().join(" ").replace('`', ""));
        page.anchors.push(match heading.filter(|_| with_heading) {
            Some(heading) => format!("{heading}-{slug}"),
            None => slug,
        });
    }
}

/// The ids that scripts make of comments: they are the words of the comment, maybe with a mark before them.
fn marks(text: &str, page: &mut Page) {
    for at in memchr::memmem::find_iter(text.as_bytes(), b"<!-- md:") {
        let inside = text[at + 4..].split("-->").next().unwrap_or_default();
        let is_line = !inside.contains('\n') && ranges::holding(&page.code, at).is_none();
        let words = inside.split_whitespace().skip(1).filter(|_| is_line);
        for word in words.map(|word| word.trim_matches('`')) {
            page.made.extend(["", "+"].map(|mark| (format!("{mark}{word}"), word.to_owned())));
        }
    }
}

/// The objects of code that `::: package.module` describes: their names, and those of what is in them, become ids. For
/// `::: mkdocs-click` those are the names of a command and of what is below it.
fn modules(text: &str, ids: &IdRule, page: &mut Page) {
    let mut at = 0;
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let start = at;
        at += line.len();
        let Some(name) = line.trim().strip_prefix("::: ").map(str::trim) else { continue };
        let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
        if !is_name || is_container(name) || ranges::holding(&page.code, start).is_some() {
            continue;
        }
        if !name.starts_with("mkdocs-") {
            page.made.push((name.to_owned(), String::new()));
            continue;
        }
        let (mut command, mut program) = (None, None);
        while let Some(option) = lines.next_if(|line| line.starts_with([' ', '\t'])) {
            at += option.len();
            let value = |name: &str| option.trim().strip_prefix(name).map(|value| ids.slug(value.trim()));
            command = command.or(value(":command:"));
            program = program.or(value(":prog_name:"));
        }
        match program.or(command).filter(|name| !name.is_empty()) {
            Some(name) => page.made.push((name, String::new())),
            None => page.open = true,
        }
    }
}

/// Pages that comments take in: `<!--@include: ./part.md{2,}-->`.
fn comment_includes(text: &str, page: &mut Page) {
    for at in memchr::memmem::find_iter(text.as_bytes(), b"<!--") {
        let inside = &text[at + 4..];
        let Some(rest) = inside.trim_start().strip_prefix("@include:") else { continue };
        let Some(written) = rest.split('\n').next().and_then(|line| line.split_once("-->")).map(|(path, _)| path)
        else {
            continue;
        };
        let path = written.trim().split(['{', '#']).next().unwrap_or_default().trim();
        if path.is_empty() || ranges::holding(&page.code, at).is_some() {
            continue;
        }
        let start = text.len() - rest.len() + (written.len() - written.trim_start().len());
        let range = start..start + path.len();
        page.links.push(Link {
            kind: LinkKind::Snippet,
            target: path.to_owned(),
            range,
            in_tag: false,
            in_component: false,
        });
    }
}

/// Ids that some dialects of Markdown give to headings and paragraphs: `{: #id }`.
fn attribute_ids(text: &str, page: &mut Page) {
    for at in memchr::memchr_iter(b'{', text.as_bytes()) {
        let inside = text[at + 1..].trim_start_matches([':', ' ']);
        if let Some(id) = inside.strip_prefix('#')
            && ranges::holding(&page.code, at).is_none()
        {
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
            let id: String = id.chars().take_while(|c| is_part(*c)).take(200).collect();
            page.anchors.extend((!id.is_empty()).then_some(id));
        }
    }
}

/// Ids of blocks of code: ```` ``` { .py #id } ````.
fn fence_ids(text: &str, page: &mut Page) {
    let is_fence = |line: &&str| line.starts_with("```") || line.starts_with("~~~");
    for line in text.lines().map(str::trim_start).filter(is_fence) {
        let list = line.split_once('{').and_then(|(_, rest)| rest.rsplit_once('}')).map(|(list, _)| list);
        let ids = list.into_iter().flat_map(str::split_whitespace).filter_map(|word| word.strip_prefix('#'));
        page.anchors.extend(ids.map(str::to_owned));
    }
}

/// `::: tip` is a box; `::: package.module` takes in the description of a module.
fn is_container(rest: &str) -> bool {
    const CONTAINERS: [&str; 12] = [
        "tip",
        "info",
        "warning",
        "danger",
        "details",
        "note",
        "caution",
        "important",
        "code-group",
        "raw",
        "v-pre",
        "tabs",
    ];
    rest.split_whitespace().next().is_none_or(|word| CONTAINERS.contains(&word))
}
