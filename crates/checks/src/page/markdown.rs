//! What the Markdown parser finds in a page.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, OffsetIter, Options, Parser, Tag, TagEnd};

use super::ids::{IdRule, Ids};
use super::tags::{self, Form, Syntax};
use super::view::{Reading, View};
use super::{Dialect, Heading, Link, LinkKind, Page, fences, myst, ranges};

/// Reads the Markdown of a page.
pub(super) fn read(text: &str, reading: &Reading, dialect: &Dialect, page: &mut Page) {
    let view = View::of(text, reading, dialect.indented_blocks);
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_GFM;
    let mut walk = Walk {
        text,
        view: &view,
        reading,
        dialect,
        page,
        prose: Vec::new(),
        code: reading.code.clone(),
        tags: Vec::new(),
        headings: Vec::new(),
        heading: None,
        links: Vec::new(),
        in_code: false,
        html: None,
        definitions: Vec::new(),
    };
    let mut events = Parser::new_ext(&view.text, options).into_offset_iter();
    while let Some((event, range)) = events.next() {
        walk.take(event, range, &events);
    }
    walk.finish();
}

struct Walk<'a> {
    text: &'a str,
    view: &'a View,
    reading: &'a Reading,
    dialect: &'a Dialect,
    page: &'a mut Page,
    prose: Vec<Range<usize>>,
    code: Vec<Range<usize>>,
    tags: Vec<tags::Tag>,
    headings: Vec<Draft>,
    heading: Option<Draft>,
    links: Vec<OpenLink>,
    in_code: bool,
    /// The HTML block that the parser is in.
    html: Option<Range<usize>>,
    /// Definitions that were used by a link, and as what.
    definitions: Vec<(usize, LinkKind)>,
}

/// A heading before it has an anchor.
struct Draft {
    level: u8,
    text: String,
    id: Option<String>,
    range: Range<usize>,
    marker: Option<Range<usize>>,
}

struct OpenLink {
    kind: LinkKind,
    link_type: LinkType,
    target: String,
    id: String,
    /// Where its text ends, in the view.
    inner_end: usize,
}

impl Walk<'_> {
    fn take(&mut self, event: Event<'_>, range: Range<usize>, events: &OffsetIter<'_>) {
        if !matches!(event, Event::End(_)) {
            for link in &mut self.links {
                link.inner_end = link.inner_end.max(range.end);
            }
        }
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag, range, events),
            Event::Text(content) => self.words(&content, range),
            Event::Code(content) => {
                let range = self.view.source_range(&range);
                if let Some(heading) = &mut self.heading {
                    // What looks like a component in code is hidden from the parser, but it is code.
                    let is_hidden = !ranges::overlapping(&self.reading.masks, &range).is_empty();
                    let written = self.text[range.clone()].trim_matches('`');
                    heading.text.push_str(if is_hidden { written } else { &content });
                }
                self.role(&range);
                self.code.push(range);
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(heading) = &mut self.heading {
                    heading.text.push(' ');
                }
            }
            Event::InlineHtml(_) if !self.reading.is_mdx => {
                let at = self.view.source(range.start);
                self.tags.extend(tags::read(self.text, at, Syntax::Html));
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Heading { level, id, attrs, .. } => {
                let range = self.view.source_range(&range);
                let kept = self.text[range.clone()].trim_end().len();
                let range = range.start..range.start + kept;
                let hashes = self.text[range.clone()].bytes().take_while(|b| *b == b'#').count();
                let marker = (hashes > 0).then(|| range.start..range.start + hashes);
                let named = attrs.iter().find(|(name, _)| name.as_ref() == "id").and_then(|(_, value)| value.as_ref());
                let named = named.map(|value| value.trim_matches(['"', '\'']).to_owned());
                let id = id.map(|id| id.to_string()).or(named.filter(|_| self.dialect.has_attributes()));
                self.heading = Some(Draft { level: level as u8, text: String::new(), id, range, marker });
            }
            Tag::Link { link_type, dest_url, id, .. } => {
                self.open_link(LinkKind::Page, link_type, &dest_url, &id, range)
            }
            Tag::Image { link_type, dest_url, id, .. } => {
                self.open_link(LinkKind::Image, link_type, &dest_url, &id, range);
            }
            Tag::CodeBlock(kind) => self.code_block(&kind, &range),
            Tag::HtmlBlock => self.html = Some(self.view.source_range(&range)),
            _ => {}
        }
    }

    fn open_link(&mut self, kind: LinkKind, link_type: LinkType, target: &str, id: &str, range: Range<usize>) {
        let opening = if kind == LinkKind::Image { 2 } else { 1 };
        let inner_end = range.start + opening;
        self.links.push(OpenLink { kind, link_type, target: target.to_owned(), id: id.to_owned(), inner_end });
    }

    /// MDX has no indented code: what looks like it is text.
    fn code_block(&mut self, kind: &CodeBlockKind<'_>, range: &Range<usize>) {
        let is_fenced = matches!(kind, CodeBlockKind::Fenced(_));
        if self.reading.is_mdx && !is_fenced {
            return;
        }
        self.in_code = true;
        let range = self.view.source_range(range);
        // Where tags may hold Markdown, they end otherwise than the parser thinks, and fences with them.
        let in_tags = self.dialect.attribute_lists && self.text.contains(" markdown");
        if is_fenced && !self.reading.is_mdx && !in_tags {
            self.page.problems.extend(fences::problem(self.text, &range));
        }
        self.code.push(range.start..range.start + self.text[range].trim_end().len());
    }

    fn end(&mut self, tag: TagEnd, range: Range<usize>, events: &OffsetIter<'_>) {
        match tag {
            TagEnd::Heading(_) => self.headings.extend(self.heading.take()),
            TagEnd::CodeBlock => self.in_code = false,
            TagEnd::HtmlBlock => {
                if let Some(block) = self.html.take() {
                    self.html_block(block);
                }
            }
            TagEnd::Link | TagEnd::Image => {
                if let Some(link) = self.links.pop() {
                    self.close_link(link, &range, events);
                }
            }
            _ => {}
        }
    }

    fn words(&mut self, content: &str, range: Range<usize>) {
        let is_address =
            self.links.last().is_some_and(|link| matches!(link.link_type, LinkType::Autolink | LinkType::Email));
        if self.in_code || self.html.is_some() {
            return;
        }
        let range = self.view.source_range(&range);
        if let Some(heading) = &mut self.heading {
            let masks = ranges::overlapping(&self.reading.masks, &range);
            let shown = ranges::subtract(std::slice::from_ref(&range), masks);
            match shown.as_slice() {
                // VitePress makes ids of entities as they are written.
                [only]
                    if *only == range
                        && self.dialect.ids == IdRule::VitePress
                        && is_entity(&self.text[only.clone()]) =>
                {
                    heading.text.push_str(&self.text[only.clone()]);
                }
                [only] if *only == range => heading.text.push_str(content),
                parts => parts.iter().for_each(|part| heading.text.push_str(&self.text[part.clone()])),
            }
        }
        if !is_address {
            self.prose.push(range);
        }
    }

    fn close_link(&mut self, link: OpenLink, range: &Range<usize>, events: &OffsetIter<'_>) {
        let view = self.view.text.as_str();
        let place = match link.link_type {
            LinkType::Inline => destination(view, link.inner_end, range.end, "]("),
            LinkType::Autolink | LinkType::Email => Some(range.start + 1..range.end.saturating_sub(1)),
            _ => {
                let Some(definition) = events.reference_definitions().get(&link.id) else { return };
                let span = definition.span.clone();
                if self.definitions.contains(&(span.start, link.kind)) {
                    return;
                }
                self.definitions.push((span.start, link.kind));
                destination(view, span.start, span.end, "]:")
            }
        };
        let Some(place) = place.filter(|place| place.start <= place.end && view.get(place.clone()).is_some()) else {
            return;
        };
        let range = self.view.source_range(&place);
        let target = if link.link_type == LinkType::Email { format!("mailto:{}", link.target) } else { link.target };
        self.page.links.push(Link { kind: link.kind, target, range, in_tag: false, in_component: false });
    }

    /// A role before code names a place or a page: ``{ref}`name` `` or ``{doc}`Title <path>` ``.
    fn role(&mut self, code: &Range<usize>) {
        // No name of a role is longer.
        let before = &self.text[self.text.floor_char_boundary(code.start.saturating_sub(24))..code.start];
        let Some(name) = before.strip_suffix('}').and_then(|before| before.rsplit_once('{')).map(|(_, name)| name)
        else {
            return;
        };
        if !self.dialect.roles.contains(&name) {
            return;
        }
        let written = self.text[code.clone()].trim_matches('`');
        let mut start =
            code.start + (self.text[code.clone()].len() - self.text[code.clone()].trim_start_matches('`').len());
        let mut wanted = written;
        if let Some((text, inner)) = written.strip_suffix('>').and_then(|written| written.rsplit_once('<')) {
            start += text.len() + 1;
            wanted = inner;
        }
        let wanted = wanted.trim_start_matches(['!', '~']);
        let target = if name == "doc" { wanted.to_owned() } else { format!("#{}", wanted.to_lowercase()) };
        self.page.links.push(Link {
            kind: LinkKind::Page,
            target,
            range: start..start + wanted.len(),
            in_tag: false,
            in_component: false,
        });
    }

    /// Finds tags and text in a block of HTML.
    fn html_block(&mut self, block: Range<usize>) {
        let bytes = self.text.as_bytes();
        let mut at = block.start;
        while at < block.end {
            let Some(length) = memchr::memchr(b'<', &bytes[at..block.end]) else { break };
            self.prose.push(at..at + length);
            at += length;
            if self.text[at..block.end].starts_with("<!--") {
                let end = memchr::memmem::find(&bytes[at..block.end], b"-->");
                at = end.map_or(block.end, |length| at + length + 3);
                continue;
            }
            match tags::read(self.text, at, Syntax::Html) {
                Ok(tag) => {
                    at = tag.range.end;
                    let name = self.text[tag.name.clone()].to_ascii_lowercase();
                    if tag.form == Form::Open && matches!(name.as_str(), "script" | "style") {
                        let close = format!("</{name}");
                        let end = memchr::memmem::find(&bytes[at.min(block.end)..block.end], close.as_bytes());
                        at = end.map_or(block.end, |length| at + length);
                    }
                    self.tags.push(tag);
                }
                Err(_) => at += 1,
            }
        }
        if at < block.end {
            self.prose.push(at..block.end);
        }
    }

    fn finish(mut self) {
        ranges::join(&mut self.code);
        let code = self.code.clone();
        let components = self.reading.tags.iter().filter(|tag| ranges::holding(&code, tag.range.start).is_none());
        self.tags.extend(components.cloned());
        self.tags.sort_by_key(|tag| tag.range.start);
        self.tags.dedup_by_key(|tag| tag.range.start);
        self.pairs();
        for tag in self.tags.iter().chain(&self.reading.shown) {
            tags::collect(self.text, tag, self.dialect, self.page);
        }
        self.name_headings();
        ranges::join(&mut self.code);
        let mut hidden = self.reading.masks.clone();
        hidden.extend(self.tags.iter().map(|tag| tag.range.clone()));
        hidden.extend(self.code.iter().cloned());
        ranges::join(&mut hidden);
        ranges::join(&mut self.prose);
        self.page.prose = ranges::subtract(&self.prose, &hidden);
        self.page.prose.retain(|range| !self.text[range.clone()].trim().is_empty());
        self.page.code = self.code;
    }

    /// Headings that are tags, and code between tags.
    fn pairs(&mut self) {
        for (number, tag) in self.tags.iter().enumerate().filter(|(_, tag)| tag.form == Form::Open) {
            let name = &self.text[tag.name.clone()];
            let level = match name.as_bytes() {
                [b'h' | b'H', level @ b'1'..=b'6'] => Some(level - b'0'),
                _ => None,
            };
            if level.is_none() && !matches!(name, "code" | "pre" | "kbd" | "samp") {
                continue;
            }
            let later = self.tags[number + 1..].iter().take(200);
            let closing =
                later.clone().find(|other| other.form == Form::Close && &self.text[other.name.clone()] == name);
            let Some(closing) = closing else { continue };
            let inside = tag.range.end..closing.range.start;
            let Some(level) = level else {
                self.code.push(inside);
                continue;
            };
            let holes: Vec<Range<usize>> =
                later.map(|tag| tag.range.clone()).take_while(|range| range.start < inside.end).collect();
            let parts = ranges::subtract(&[inside], &holes);
            let text: String = parts.iter().map(|part| &self.text[part.clone()]).collect();
            let id = tag.attributes.iter().find(|attribute| &self.text[attribute.name.clone()] == "id");
            let id = id.and_then(|id| id.value.clone()).map(|value| self.text[value].to_owned());
            let range = tag.range.start..closing.range.end;
            self.headings.push(Draft { level, text: text.trim().to_owned(), id, range, marker: None });
        }
    }

    fn name_headings(&mut self) {
        let mut ids = Ids::new(&self.dialect.ids);
        let mut drafts = std::mem::take(&mut self.headings);
        if self.dialect.term_ids {
            drafts.extend(terms(self.text, &self.code));
        }
        drafts.sort_by_key(|draft| draft.range.start);
        for mut draft in drafts {
            let masks = ranges::overlapping(&self.reading.masks, &draft.range);
            let expressions = masks.iter().map(|mask| &self.text[mask.clone()]).filter(|mask| mask.starts_with('{'));
            for expression in expressions {
                self.page.open |= comment(expression).is_none();
            }
            let mut text = draft.text.trim();
            let written = self.text[draft.range.clone()].trim_end();
            if self.dialect.comment_ids
                && let Some(at) = written.rfind('{')
                && let Some(id) = comment(&written[at..]).filter(|id| is_id(id))
            {
                draft.id = Some(id.to_owned());
                text = text.strip_suffix(&written[at..]).unwrap_or(text).trim_end();
            }
            if self.dialect.bracket_ids
                && let Some((before, id)) = text.strip_suffix(']').and_then(|text| text.rsplit_once("[#"))
                && is_id(id)
            {
                draft.id = Some(id.to_owned());
                text = before.trim_end();
            }
            if self.dialect.attribute_lists
                && let Some(at) = text.rfind("{:")
                && text.ends_with('}')
            {
                draft.id = draft.id.or_else(|| attribute_id(&text[at..]));
                text = text[..at].trim_end();
            }
            let text = text.to_owned();
            if let IdRule::Myst { deepest } = self.dialect.ids {
                let id = myst::docutils(&text);
                if draft.level > deepest {
                    draft.id.get_or_insert_with(|| id.clone());
                }
                self.page.anchors.push(id);
            }
            let anchor = match draft.id {
                Some(id) => {
                    ids.take(&id);
                    id
                }
                None => ids.give(&text),
            };
            if draft.level == TERM {
                self.page.anchors.push(anchor);
                continue;
            }
            let heading = Heading { level: draft.level, text, anchor, range: draft.range, marker: draft.marker };
            self.page.headings.push(heading);
        }
    }
}

/// The level of what is no heading but a term of a definition.
const TERM: u8 = 0;

/// Terms of definitions: lines before one that starts with a colon.
fn terms(text: &str, code: &[Range<usize>]) -> Vec<Draft> {
    let (mut at, mut before, mut found) = (0, 0..0, Vec::new());
    for line in text.split_inclusive('\n') {
        let range = at..at + line.trim_end().len();
        at += line.len();
        if line.starts_with(": ") && !before.is_empty() && ranges::holding(code, range.start).is_none() {
            let plain = text[before.clone()].chars().filter(|c| !matches!(c, '`' | '*')).collect();
            found.push(Draft { level: TERM, text: plain, id: None, range: before.clone(), marker: None });
        }
        if !range.is_empty() {
            before = range;
        }
    }
    found
}

/// What a comment of MDX says, without the `#` before an id; none if it is no comment.
fn comment(expression: &str) -> Option<&str> {
    let inside = expression.strip_prefix('{')?.strip_suffix('}')?.trim();
    let inside = inside.strip_prefix("/*")?.strip_suffix("*/")?.trim();
    Some(inside.strip_prefix('#').unwrap_or(inside))
}

fn is_entity(text: &str) -> bool {
    text.starts_with('&') && text.ends_with(';')
}

fn is_id(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace)
}

/// The id in a list of attributes: `{: #id .class }` or `{: id="x" }`.
fn attribute_id(list: &str) -> Option<String> {
    let words = list.trim_matches(['{', '}', ':', ' ']).split_whitespace();
    let id = |word: &str| {
        let named = word.strip_prefix('#').or_else(|| word.strip_prefix("id="))?;
        Some(named.trim_matches(['"', '\'']).to_owned())
    };
    words.filter_map(id).next_back()
}

/// Where the address of a link stands: after `mark`, which is searched from `from`.
fn destination(view: &str, from: usize, end: usize, mark: &str) -> Option<Range<usize>> {
    let inside = view.get(from..end)?;
    let after = from + inside.find(mark)? + mark.len();
    let rest = &view[after..end];
    let start = after + (rest.len() - rest.trim_start().len());
    let bytes = &view.as_bytes()[start..end];
    if bytes.first() == Some(&b'<') {
        let length = unescaped_position(&bytes[1..], |b| b == b'>')?;
        return Some(start + 1..start + 1 + length);
    }
    let mut depth = 0usize;
    let closes = |b: u8| {
        match b {
            b'(' => depth += 1,
            b')' if depth == 0 => return true,
            b')' => depth -= 1,
            _ => {}
        }
        b.is_ascii_whitespace()
    };
    let length = unescaped_position(bytes, closes).unwrap_or(bytes.len());
    Some(start..start + length)
}

fn unescaped_position(bytes: &[u8], mut wanted: impl FnMut(u8) -> bool) -> Option<usize> {
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte == b'\\' && bytes.get(at + 1).is_some_and(u8::is_ascii_punctuation) {
            at += 2;
            continue;
        }
        if wanted(byte) {
            return Some(at);
        }
        at += 1;
    }
    None
}
