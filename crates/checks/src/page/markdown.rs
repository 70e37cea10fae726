//! What the Markdown parser finds in a page.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, OffsetIter, Options, Parser, Tag, TagEnd};

use super::slug::Anchors;
use super::tags::{self, Dialect, Form};
use super::view::{Reading, View};
use super::{Heading, Link, LinkKind, Page, fences, ranges, slug};

/// Reads the Markdown of a page.
pub(super) fn read(text: &str, reading: &Reading, page: &mut Page) {
    let view = View::of(text, reading);
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
                if let Some(heading) = &mut self.heading {
                    heading.text.push_str(&content);
                }
                self.code.push(self.view.source_range(&range));
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(heading) = &mut self.heading {
                    heading.text.push(' ');
                }
            }
            Event::InlineHtml(_) if !self.reading.is_mdx => {
                let at = self.view.source(range.start);
                self.tags.extend(tags::read(self.text, at, Dialect::Html));
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Heading { level, id, .. } => {
                let range = self.view.source_range(&range);
                let kept = self.text[range.clone()].trim_end().len();
                let range = range.start..range.start + kept;
                let hashes = self.text[range.clone()].bytes().take_while(|b| *b == b'#').count();
                let marker = (hashes > 0).then(|| range.start..range.start + hashes);
                let id = id.map(|id| id.to_string());
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
        if is_fenced && !self.reading.is_mdx {
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
        self.page.links.push(Link { kind: link.kind, target: link.target, range, in_tag: false });
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
            match tags::read(self.text, at, Dialect::Html) {
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
        for tag in &self.tags {
            tags::collect(self.text, tag, self.page);
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
        let mut anchors = Anchors::default();
        let mut drafts = std::mem::take(&mut self.headings);
        drafts.sort_by_key(|draft| draft.range.start);
        for draft in drafts {
            let masks = ranges::overlapping(&self.reading.masks, &draft.range);
            self.page.open |= masks.iter().any(|mask| self.text.as_bytes()[mask.start] == b'{');
            let text = draft.text.trim().to_owned();
            let anchor = match draft.id {
                Some(id) => {
                    anchors.take(&id);
                    self.page.anchors.push(slug(&text));
                    id
                }
                None => anchors.unique(slug(&text)),
            };
            let heading = Heading { level: draft.level, text, anchor, range: draft.range, marker: draft.marker };
            self.page.headings.push(heading);
        }
    }
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
