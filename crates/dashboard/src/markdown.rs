//! Markdown as HTML of which nothing but text, code, lists, tables and links to web pages is left: it is made of our own
//! tags and of escaped text, whatever it says.

use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::rc::Rc;

use askama::filters::Safe;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::escape::escape_into;

/// A part of a text: what surrounds words, or a word.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Token {
    Open(Block),
    Close(Block),
    /// A word, one other character, or white space.
    Word(String, Style),
    Break,
    Rule,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Block {
    Paragraph,
    Heading(u8),
    Quote,
    Code,
    /// What is not text: HTML, components, front matter.
    Raw,
    List,
    Numbered(u64),
    Item,
    Table,
    TableHead,
    TableRow,
    HeadCell,
    Cell,
}

/// How a word looks. Where a link leads to does not make it another word: that is a word of its own, behind the link.
#[derive(Debug, Clone, Default)]
pub(crate) struct Style {
    kind: Kind,
    emphasis: bool,
    strong: bool,
    struck: bool,
    code: bool,
    href: Option<Rc<str>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
enum Kind {
    #[default]
    Text,
    /// What an image shows, in words.
    Image,
    /// Where a link or an image leads to; shown only where it changes.
    Target,
}

impl Style {
    fn key(&self) -> (Kind, bool, bool, bool, bool, bool) {
        (self.kind, self.emphasis, self.strong, self.struck, self.code, self.href.is_some())
    }
}

impl PartialEq for Style {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Style {}

impl Hash for Style {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// What became of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Same,
    Gone,
    New,
}

/// A paragraph, a list, a table, … of a text: where it is, and what it is made of.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) range: Range<usize>,
    pub(crate) tokens: Vec<Token>,
}

/// Text in Markdown as HTML.
pub(crate) fn html(text: &str) -> Safe<String> {
    let mut out = Html::new();
    for part in parts(text, Options::empty()) {
        render(&mut out, part.tokens.iter().map(|token| (Mark::Same, token)));
    }
    Safe(out.text)
}

/// What is written so far of a text that stands below a second heading of a page.
pub(crate) struct Html {
    pub(crate) text: String,
    /// The rank of the last heading. One that leaves a rank out would lead those astray who hear a page by its headings.
    last_heading: u8,
}

impl Html {
    pub(crate) fn new() -> Self {
        Self { text: String::new(), last_heading: 2 }
    }
}

/// The parts of a page of a documentation site, which may begin with settings.
pub(crate) fn page(text: &str) -> Vec<Part> {
    parts(text, Options::ENABLE_YAML_STYLE_METADATA_BLOCKS)
}

fn parts(text: &str, more: Options) -> Vec<Part> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS | more;
    let mut reader = Reader::default();
    let (mut parts, mut begin, mut depth) = (Vec::new(), 0, 0_usize);
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        if depth == 0 {
            begin = range.start;
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        reader.read(event);
        if depth == 0 {
            parts.push(Part { range: begin..range.end.max(begin), tokens: std::mem::take(&mut reader.tokens) });
        }
    }
    parts
}

#[derive(Default)]
struct Reader {
    tokens: Vec<Token>,
    style: Style,
    /// Where the links and images lead to that are open.
    targets: Vec<(Rc<str>, bool)>,
    lists: Vec<Block>,
    in_head: bool,
    /// Whether white space counts.
    verbatim: bool,
}

impl Reader {
    fn read(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::FootnoteReference(text) => self.words(&text),
            Event::Html(text) => self.words(&text),
            Event::Code(text) | Event::InlineHtml(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.style.code = true;
                self.words(&text);
                self.style.code = false;
            }
            Event::SoftBreak => self.words(" "),
            Event::HardBreak => self.tokens.push(Token::Break),
            Event::Rule => self.tokens.push(Token::Rule),
            Event::TaskListMarker(is_done) => self.words(if is_done { "☑ " } else { "☐ " }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let block = match tag {
            Tag::Emphasis => return self.style.emphasis = true,
            Tag::Strong => return self.style.strong = true,
            Tag::Strikethrough => return self.style.struck = true,
            Tag::Superscript | Tag::Subscript => return,
            Tag::Link { dest_url, .. } => return self.enter(&dest_url, false),
            Tag::Image { dest_url, .. } => return self.enter(&dest_url, true),
            Tag::Heading { level, .. } => Block::Heading(rank(level)),
            Tag::BlockQuote(_) => Block::Quote,
            Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) => {
                self.verbatim = true;
                Block::Code
            }
            Tag::HtmlBlock | Tag::MetadataBlock(_) => {
                self.verbatim = true;
                Block::Raw
            }
            Tag::List(first) => {
                let list = first.map_or(Block::List, Block::Numbered);
                self.lists.push(list);
                list
            }
            Tag::Item => Block::Item,
            Tag::Table(_) => Block::Table,
            Tag::TableHead => {
                self.in_head = true;
                Block::TableHead
            }
            Tag::TableRow => Block::TableRow,
            Tag::TableCell => self.cell(),
            Tag::Paragraph
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition => Block::Paragraph,
        };
        self.tokens.push(Token::Open(block));
    }

    fn end(&mut self, tag: TagEnd) {
        let block = match tag {
            TagEnd::Emphasis => return self.style.emphasis = false,
            TagEnd::Strong => return self.style.strong = false,
            TagEnd::Strikethrough => return self.style.struck = false,
            TagEnd::Superscript | TagEnd::Subscript => return,
            TagEnd::Link | TagEnd::Image => return self.leave(),
            TagEnd::Heading(level) => Block::Heading(rank(level)),
            TagEnd::BlockQuote(_) => Block::Quote,
            TagEnd::CodeBlock => {
                self.verbatim = false;
                Block::Code
            }
            TagEnd::HtmlBlock | TagEnd::MetadataBlock(_) => {
                self.verbatim = false;
                Block::Raw
            }
            TagEnd::List(_) => self.lists.pop().unwrap_or(Block::List),
            TagEnd::Item => Block::Item,
            TagEnd::Table => Block::Table,
            TagEnd::TableHead => {
                self.in_head = false;
                Block::TableHead
            }
            TagEnd::TableRow => Block::TableRow,
            TagEnd::TableCell => self.cell(),
            TagEnd::Paragraph
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition => Block::Paragraph,
        };
        self.tokens.push(Token::Close(block));
    }

    fn cell(&self) -> Block {
        if self.in_head { Block::HeadCell } else { Block::Cell }
    }

    fn enter(&mut self, target: &str, is_image: bool) {
        let target: Rc<str> = target.into();
        if is_image {
            self.style.kind = Kind::Image;
            self.words("image: ");
        } else {
            let is_web = ["https://", "http://"].iter().any(|scheme| target.starts_with(scheme));
            self.style.href = is_web.then(|| Rc::clone(&target));
        }
        self.targets.push((target, is_image));
    }

    fn leave(&mut self) {
        let Some((target, is_image)) = self.targets.pop() else { return };
        if is_image {
            self.style.kind = Kind::Text;
        } else {
            self.style.href = None;
        }
        self.tokens.push(Token::Word(target.to_string(), Style { kind: Kind::Target, ..Style::default() }));
    }

    fn words(&mut self, text: &str) {
        for word in words(text) {
            let is_space = word.starts_with(char::is_whitespace);
            let word = if is_space && !self.verbatim { " " } else { word };
            self.tokens.push(Token::Word(word.to_owned(), self.style.clone()));
        }
    }
}

fn rank(level: HeadingLevel) -> u8 {
    level as u8
}

/// Letters and digits together, white space together, every other character alone.
pub(crate) fn words(text: &str) -> Vec<&str> {
    #[derive(PartialEq, Clone, Copy)]
    enum Class {
        Letter,
        Space,
        Other,
    }
    let class = |c: char| match c {
        c if c.is_alphanumeric() => Class::Letter,
        c if c.is_whitespace() => Class::Space,
        _ => Class::Other,
    };
    let (mut out, mut begin, mut last) = (Vec::new(), 0, None);
    for (at, c) in text.char_indices() {
        let now = class(c);
        if last.is_some_and(|last| last != now || now == Class::Other) {
            out.push(&text[begin..at]);
            begin = at;
        }
        last = Some(now);
    }
    if begin < text.len() {
        out.push(&text[begin..]);
    }
    out
}

/// Whether everything that is opened is closed, in order.
pub(crate) fn is_whole<'t>(tokens: impl Iterator<Item = &'t Token>) -> bool {
    let mut open = Vec::new();
    for token in tokens {
        match token {
            Token::Open(block) => open.push(*block),
            Token::Close(block) if open.pop() != Some(*block) => return false,
            _ => {}
        }
    }
    open.is_empty()
}

/// Writes tokens as HTML, with marks around the words that are gone and those that are new.
pub(crate) fn render<'t>(out: &mut Html, tokens: impl Iterator<Item = (Mark, &'t Token)>) {
    let mut run = Run::default();
    for (mark, token) in tokens {
        match token {
            Token::Word(_, style) if style.kind == Kind::Target && mark == Mark::Same => {}
            Token::Word(word, style) => run.add(&mut out.text, mark, word, style),
            token => {
                run.end(&mut out.text);
                structure(out, token);
            }
        }
    }
    run.end(&mut out.text);
}

fn structure(html: &mut Html, token: &Token) {
    let out = &mut html.text;
    match token {
        Token::Open(Block::Heading(rank)) => {
            html.last_heading = (rank + 2).min(html.last_heading + 1).min(6);
            out.push_str(["<h3>", "<h4>", "<h5>", "<h6>"][usize::from(html.last_heading.saturating_sub(3))]);
        }
        Token::Close(Block::Heading(_)) => {
            out.push_str(
                ["</h3>\n", "</h4>\n", "</h5>\n", "</h6>\n"][usize::from(html.last_heading.saturating_sub(3))],
            );
        }
        Token::Open(Block::Numbered(first)) if *first != 1 => {
            out.push_str("<ol start=\"");
            out.push_str(&first.to_string());
            out.push_str("\">");
        }
        Token::Open(block) => out.push_str(block.tags().0),
        Token::Close(block) => out.push_str(block.tags().1),
        Token::Break => out.push_str("<br>"),
        Token::Rule => out.push_str("<hr>"),
        Token::Word(..) => {}
    }
}

impl Block {
    fn tags(self) -> (&'static str, &'static str) {
        match self {
            Self::Paragraph => ("<p>", "</p>\n"),
            // Its rank depends on those before it.
            Self::Heading(_) => ("", ""),
            Self::Quote => ("<blockquote>", "</blockquote>\n"),
            Self::Code => ("<pre tabindex=\"0\"><code>", "</code></pre>\n"),
            Self::Raw => ("<pre class=\"raw\" tabindex=\"0\">", "</pre>\n"),
            Self::List => ("<ul>", "</ul>\n"),
            Self::Numbered(_) => ("<ol>", "</ol>\n"),
            Self::Item => ("<li>", "</li>\n"),
            Self::Table => ("<div class=\"scroll\" tabindex=\"0\"><table>", "</table></div>\n"),
            Self::TableHead => ("<thead><tr>", "</tr></thead>\n"),
            Self::TableRow => ("<tr>", "</tr>\n"),
            Self::HeadCell => ("<th scope=\"col\">", "</th>"),
            Self::Cell => ("<td>", "</td>"),
        }
    }
}

/// Words that look the same, and so stand in one pair of tags.
#[derive(Default)]
struct Run {
    like: Option<(Mark, Style)>,
    text: String,
}

impl Run {
    fn add(&mut self, out: &mut String, mark: Mark, word: &str, style: &Style) {
        let goes_on = self
            .like
            .as_ref()
            .is_some_and(|(was, before)| *was == mark && before == style && before.href == style.href);
        if !goes_on {
            self.end(out);
            self.like = Some((mark, style.clone()));
        }
        self.text.push_str(word);
    }

    fn end(&mut self, out: &mut String) {
        let Some((mark, style)) = self.like.take() else { return };
        let mut tags: Vec<(&str, &str)> = Vec::new();
        match mark {
            Mark::Same => {}
            Mark::Gone => tags.push(("<del>", "</del>")),
            Mark::New => tags.push(("<ins>", "</ins>")),
        }
        let link = style.href.as_deref().map(|href| {
            let mut tag = "<a rel=\"noreferrer\" href=\"".to_owned();
            escape_into(&mut tag, href);
            tag + "\">"
        });
        if let Some(link) = &link {
            tags.push((link, "</a>"));
        }
        let looks = [
            (style.kind == Kind::Image, ("<span class=\"badge bare\">", "</span>")),
            (style.kind == Kind::Target, (" <small>(", ")</small>")),
            (style.strong, ("<strong>", "</strong>")),
            (style.emphasis, ("<em>", "</em>")),
            (style.struck, ("<s>", "</s>")),
            (style.code, ("<code>", "</code>")),
        ];
        tags.extend(looks.into_iter().filter(|(is, _)| *is).map(|(_, tags)| tags));
        tags.iter().for_each(|(open, _)| out.push_str(open));
        escape_into(out, &self.text);
        tags.iter().rev().for_each(|(_, close)| out.push_str(close));
        self.text.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_leave_no_rank_out() {
        let ranks =
            |text| html(text).0.split("<h").skip(1).map(|rest| rest[..1].parse::<u8>().unwrap()).collect::<Vec<_>>();
        assert_eq!(ranks("### A\n\n# B\n\n## C\n\n###### D\n\n###### E\n"), [3, 3, 4, 5, 6]);
        assert!(html("### A\n").0.contains("<h3>A</h3>"));
    }

    #[test]
    fn markdown_cannot_do_anything() {
        let html = html(
            "<script>x</script>\n\na <img src=x onerror=y> ![i](http://x/i.png) [j](javascript:x) [d](data:x) <b>c</b>\n",
        )
        .0;
        for bad in ["<script", "<img", "javascript:", "data:x", "<b>", "<a"] {
            assert!(!html.contains(bad), "{html}");
        }
        assert!(html.contains("image: i") && html.contains("a\u{20}<code>"), "{html}");
    }

    #[test]
    fn what_is_harmless_stays() {
        let shown = html("[a](https://example.com/?a=\"b) and `c`\u{202e}").0;
        assert!(shown.contains("<a rel=\"noreferrer\" href=\"https://example.com/?a=&#34;b\">a</a>"), "{shown}");
        assert!(shown.contains("<code>c</code>&#60;U+202E&#62;"), "{shown}");
        let table = html("| a | b |\n|---|---|\n| 1 | *2* |\n\n3. x\n4. y\n\n- [x] done").0;
        assert!(table.contains("<th scope=\"col\">a</th>") && table.contains("<td><em>2</em></td>"), "{table}");
        assert!(table.contains("<ol start=\"3\"><li>x</li>") && table.contains("☑ done"), "{table}");
    }

    #[test]
    fn every_part_knows_its_place() {
        let text = "---\ntitle: T\n---\n\n# Head\n\nOne\ntwo.\n\n- a\n- b\n\n<Card>\n";
        let parts = page(text);
        let shown: Vec<&str> = parts.iter().map(|part| text[part.range.clone()].trim_end()).collect();
        assert_eq!(shown, ["---\ntitle: T\n---", "# Head", "One\ntwo.", "- a\n- b", "<Card>"]);
        assert!(parts.iter().all(|part| is_whole(part.tokens.iter())));
    }

    #[test]
    fn words_are_letters_together_and_the_rest_apart() {
        assert_eq!(words("Über 2x,  (a)."), ["Über", " ", "2x", ",", "  ", "(", "a", ")", "."]);
        assert_eq!(words(""), Vec::<&str>::new());
    }
}
