//! One Markdown or MDX page, read with byte positions, so that it can be edited without writing it anew.

use std::ops::Range;

/// A page as far as checks and edits need it. All ranges are byte ranges of the page's text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// The front matter, if there is any.
    pub front_matter: Option<FrontMatter>,
    /// The headings in order.
    pub headings: Vec<Heading>,
    /// Links, images, imports and the like, in order.
    pub links: Vec<Link>,
    /// What people read: text of paragraphs, headings, lists, table cells and between JSX tags; no code, no tags, no
    /// addresses, no front matter. Sorted, not overlapping.
    pub prose: Vec<Range<usize>>,
    /// Fenced, indented and inline code. Sorted, not overlapping.
    pub code: Vec<Range<usize>>,
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
    /// The top-level fields.
    pub fields: Vec<Field>,
}

/// A top-level field of front matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The value, if it is a scalar, unquoted.
    pub value: Option<String>,
    /// Where the value stands.
    pub range: Range<usize>,
}

/// A heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// The text, without markup.
    pub text: String,
    /// The anchor that leads to it, as GitHub makes it, made unique within the page, or the one it gives itself.
    pub anchor: String,
    /// The whole heading.
    pub range: Range<usize>,
    /// The `#` characters; none for a heading that is underlined or an HTML tag.
    pub marker: Option<Range<usize>>,
}

/// What leads from a page to elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// What it is.
    pub kind: LinkKind,
    /// Where it leads, as written, with entities and escapes resolved.
    pub target: String,
    /// Where the target stands in the text, without brackets and quotes.
    pub range: Range<usize>,
}

/// Kinds of links.
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
    /// What is wrong, as one sentence.
    pub message: String,
    /// Where.
    pub range: Range<usize>,
}
