use std::ops::Range;

use super::ranges;
use super::tags::Tag;

/// What was found in a page before the Markdown parser sees it.
#[derive(Default)]
pub(super) struct Reading {
    /// Where the front matter ends.
    pub(super) start: usize,
    pub(super) is_mdx: bool,
    /// Tags, expressions, comments, imports and exports: the Markdown parser must not see them. In order.
    pub(super) masks: Vec<Range<usize>>,
    pub(super) tags: Vec<Tag>,
    /// Tags that scripts between braces show.
    pub(super) shown: Vec<Tag>,
    /// Code that was found already, because MDX has to know it; in order.
    pub(super) code: Vec<Range<usize>>,
    /// Those of `code` that are whole blocks.
    pub(super) fences: Vec<Range<usize>>,
}

/// The text that the Markdown parser is given, and where its parts come from.
pub(super) struct View {
    pub(super) text: String,
    /// Positions in the view and in the page from which both run in step; in order.
    steps: Vec<(usize, usize)>,
}

/// What stands for something hidden in the middle of a line: punctuation that means nothing to Markdown.
const FILLER: char = ',';

impl View {
    /// The view of a page: what is masked is hidden, and for MDX, which has no indented code, lines lose their
    /// indentation and fenced code is left out.
    pub(super) fn of(text: &str, reading: &Reading, indented_blocks: bool) -> Self {
        let mut view = Self { text: String::with_capacity(text.len()), steps: Vec::new() };
        let mut hidden = reading.masks.iter().peekable();
        let mut fences = reading.fences.iter().peekable();
        let mut at = reading.start;
        let mut blocks = indented_blocks.then(Blocks::default);
        if !reading.is_mdx {
            view.steps.push((0, at));
        }
        for line in text[at..].split_inclusive('\n') {
            let range = at..at + line.len();
            at = range.end;
            while hidden.next_if(|mask| mask.end <= range.start).is_some() {}
            while fences.next_if(|fence| fence.end <= range.start).is_some() {}
            if fences.peek().is_some_and(|fence| fence.start < range.end) {
                view.blank_line(&range, line);
                continue;
            }
            let masks: Vec<Range<usize>> = hidden.clone().take_while(|mask| mask.start < range.end).cloned().collect();
            let skipped = blocks.as_mut().map_or(0, |blocks| blocks.skipped(line));
            if blocks.is_some() {
                view.steps.push((view.text.len(), range.start + skipped));
            }
            view.line(text, range.start + skipped..range.end, &masks, reading.is_mdx);
        }
        view
    }

    fn blank_line(&mut self, range: &Range<usize>, line: &str) {
        if line.ends_with('\n') {
            self.steps.push((self.text.len(), range.end - 1));
            self.text.push('\n');
        }
    }

    fn line(&mut self, text: &str, range: Range<usize>, masks: &[Range<usize>], is_mdx: bool) {
        let content = text[range.clone()].trim_end_matches(['\n', '\r']);
        let content = range.start..range.start + content.len();
        let shown = ranges::subtract(std::slice::from_ref(&content), masks);
        let is_blank = shown.iter().all(|part| text[part.clone()].trim().is_empty());
        if is_blank && !is_mdx {
            self.text.extend(std::iter::repeat_n(' ', content.len()));
            self.text.push_str(&text[content.end..range.end]);
            return;
        }
        if is_blank {
            return self.blank_line(&range, &text[range.clone()]);
        }
        let mut at = content.start;
        if is_mdx {
            at += indentation(&text[content.clone()]);
            self.steps.push((self.text.len(), at));
        }
        for part in shown {
            self.text.extend(std::iter::repeat_n(FILLER, part.start.saturating_sub(at)));
            self.text.push_str(text.get(part.start.max(at)..part.end).unwrap_or_default());
            at = part.end.max(at);
        }
        self.text.extend(std::iter::repeat_n(FILLER, content.end.saturating_sub(at)));
        self.text.push_str(&text[content.end..range.end]);
    }

    /// The position in the page of a position in the view.
    pub(super) fn source(&self, at: usize) -> usize {
        let after = self.steps.partition_point(|(start, _)| *start <= at);
        match self.steps[..after].last() {
            Some((start, source)) => source + (at - start),
            None => self.steps.first().map_or(at, |(_, source)| *source),
        }
    }

    /// The range in the page of a range in the view.
    pub(super) fn source_range(&self, range: &Range<usize>) -> Range<usize> {
        let start = self.source(range.start);
        let end = if range.end > range.start { self.source(range.end - 1) + 1 } else { start };
        start..end.max(start)
    }
}

/// Blocks whose text is indented: `!!! note`, `??? note` and `=== "Tab"`. Elsewhere such text would be code. What is in
/// tags that hold Markdown may be indented as well.
#[derive(Default)]
struct Blocks {
    /// How far the text of each block that is open is indented at least.
    open: Vec<usize>,
    /// How far each tag that is open is indented, and what is in it.
    tags: Vec<(usize, Option<usize>)>,
}

impl Blocks {
    const WIDTH: usize = 4;

    /// How many bytes at the beginning of a line belong to blocks.
    fn skipped(&mut self, line: &str) -> usize {
        let content = line.trim_start_matches(' ');
        if content.trim().is_empty() {
            return 0;
        }
        let indentation = line.len() - content.len();
        while self.open.last().is_some_and(|least| indentation < *least) {
            self.open.pop();
        }
        let skipped = (Self::WIDTH * self.open.len()).min(indentation);
        let is_block = ["!!! ", "??? ", "???+ ", "=== \"", "=== '", "===! \"", "===+ \""]
            .iter()
            .any(|mark| content.starts_with(mark));
        if is_block {
            self.open.push(indentation + Self::WIDTH);
        }
        skipped + self.in_tags(content, indentation, indentation - skipped)
    }

    /// How many bytes a line has more before it because it is in a tag; `left` are those that belong to no block.
    fn in_tags(&mut self, content: &str, indentation: usize, left: usize) -> usize {
        while self.tags.last().is_some_and(|(tag, _)| indentation < *tag) {
            self.tags.pop();
        }
        if content.starts_with("</") {
            self.tags.pop();
            return 0;
        }
        let extra = self.tags.last_mut().map_or(0, |(tag, inner)| *inner.get_or_insert(indentation) - *tag);
        if content.starts_with('<') && content.contains(" markdown") {
            self.tags.push((indentation, None));
        }
        extra.min(left)
    }
}

/// Spaces before the text; also those after the marks of a quotation.
fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}
