//! One Markdown or MDX page, read with byte positions, so that it can be edited without writing it anew.

mod components;
mod fences;
mod front_matter;
mod markdown;
mod mdx;
mod ranges;
mod script;
mod slug;
mod tags;
mod view;

use std::ops::Range;

use crate::Check;
use crate::paths::extension;

pub use slug::{anchor_key, slug};

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

/// Whether a path is that of a page.
pub fn is_page(path: &str) -> bool {
    matches!(extension(path).as_str(), "md" | "mdx" | "markdown")
}

/// Reads a page. Whatever the text is, it gives a page; what is wrong with it is in `problems`.
pub fn parse(path: &str, text: &str) -> Page {
    let mut page = Page::default();
    let start = front_matter::read(text, &mut page);
    let read = if extension(path) == "mdx" { mdx::read(text, start, &mut page) } else { components::find(text, start) };
    markdown::read(text, &read, &mut page);
    page.open |= takes_in_more(text, &read, &page.code) || front_matter::generates(&page);
    attribute_ids(text, &mut page);
    page.problems.sort_by_key(|problem| problem.range.start);
    page.links.sort_by_key(|link| link.range.start);
    page
}

/// Whether a generator puts something from elsewhere into the page. In code its marks mean nothing, and in MDX braces
/// are expressions.
fn takes_in_more(text: &str, read: &view::Reading, code: &[Range<usize>]) -> bool {
    const MARKS: [&str; 6] = ["--8<--", "{{", "{%", "@include", "{include}", "<<<"];
    let counts =
        |at: usize| ranges::holding(code, at).is_none() && !(read.is_mdx && ranges::holding(&read.masks, at).is_some());
    MARKS.iter().any(|mark| memchr::memmem::find_iter(text.as_bytes(), mark).any(counts))
        || text.lines().any(|line| line.strip_prefix("::: ").is_some_and(|rest| !is_container(rest)))
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
