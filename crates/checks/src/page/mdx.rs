//! The layer that MDX puts over Markdown: imports and exports, tags, expressions, comments.

use std::ops::Range;

use super::tags::{self, Form, NoTag, Syntax};
use super::view::Reading;
use super::{Link, LinkKind, Page, Problem, fences, script};
use crate::Check;

/// After this many problems the rest is read as plain Markdown: it says nothing new and costs time.
const MOST_PROBLEMS: usize = 50;

/// Finds what is not Markdown in an MDX page.
pub(super) fn read(text: &str, start: usize, page: &mut Page) -> Reading {
    let reading = Reading { start, is_mdx: true, ..Reading::default() };
    let mut scanner = Scanner {
        text,
        bytes: text.as_bytes(),
        reading,
        page,
        open: Vec::new(),
        paragraph_end: 0,
        unmatched: [0; 32],
        math_until: 0,
        line_until: 0,
    };
    scanner.run(start);
    scanner.reading
}

struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    reading: Reading,
    page: &'a mut Page,
    /// Tags that are open: their names and places.
    open: Vec<(Range<usize>, Range<usize>)>,
    paragraph_end: usize,
    /// For each length of a run of backticks: up to where there is none that closes it.
    unmatched: [usize; 32],
    /// Up to where there is no dollar sign that closes a formula.
    math_until: usize,
    /// The end of the line that was last asked for.
    line_until: usize,
}

impl Scanner<'_> {
    fn run(&mut self, start: usize) {
        let mut at = start;
        let mut after_blank = true;
        while at < self.text.len() {
            let line_end = self.line_end(at);
            let line = &self.text[at..line_end];
            if let Some(opening) = fences::opening(line) {
                at = self.fence(at, &opening);
                after_blank = true;
            } else if line.trim().is_empty() {
                at = line_end;
                after_blank = true;
            } else if after_blank && !self.is_tired() && is_module_line(line) {
                at = self.module(at);
            } else if line.trim() == "$$" {
                at = self.formula(line_end);
            } else if is_definition(line) {
                at = line_end;
            } else {
                at = self.inline(at);
                after_blank = false;
            }
        }
        for (name, range) in std::mem::take(&mut self.open) {
            let message = format!("`<{}>` is not closed", short(&self.text[name]));
            self.report(message, range);
        }
    }

    fn line_end(&self, at: usize) -> usize {
        memchr::memchr(b'\n', &self.bytes[at..]).map_or(self.text.len(), |length| at + length + 1)
    }

    fn report(&mut self, message: String, range: Range<usize>) {
        if self.page.problems.len() < MOST_PROBLEMS {
            self.page.problems.push(Problem { check: Check::Syntax, message, range });
        }
    }

    fn fence(&mut self, at: usize, opening: &fences::Opening) -> usize {
        let (end, problem) = fences::end(self.text, at, opening);
        let kept = self.text[at..end].trim_end_matches(['\n', '\r']).len();
        self.reading.code.push(at..at + kept);
        self.reading.fences.push(at..end);
        self.page.problems.extend(problem);
        end
    }

    fn formula(&mut self, at: usize) -> usize {
        let mut position = at;
        while position < self.text.len() {
            let end = self.line_end(position);
            if self.text[position..end].trim() == "$$" {
                return end;
            }
            position = end;
        }
        at
    }

    /// Imports and exports: up to the first blank line at which all brackets are closed.
    fn module(&mut self, at: usize) -> usize {
        let mut first_blank = None;
        let mut end = at;
        let mut tries = 0;
        while end < self.text.len() {
            let line_end = self.line_end(end);
            if self.text[end..line_end].trim().is_empty() {
                first_blank.get_or_insert(end);
                tries += 1;
                if tries > 100 || script::is_complete(&self.text[at..end]) {
                    break;
                }
            }
            end = line_end;
        }
        if !script::is_complete(&self.text[at..end]) {
            end = first_blank.unwrap_or(end);
            let first = at..at + self.text[at..].lines().next().unwrap_or_default().len();
            self.report("the brackets of this import or export are not closed".to_owned(), first);
        }
        self.imports(at..end);
        self.reading.masks.push(at..end);
        end
    }

    /// Every import of a block, of which several may stand on one line and one on several.
    fn imports(&mut self, block: Range<usize>) {
        let script = &self.text[block.clone()];
        for at in memchr::memmem::find_iter(script.as_bytes(), b"import") {
            let before = script[..at].trim_end_matches([' ', '\t']);
            let starts = before.is_empty() || before.ends_with(['\n', ';', '"', '\'']);
            let statement = &script[at..];
            if starts && let Some(range) = imported(statement) {
                let range = block.start + at + range.start..block.start + at + range.end;
                // Formatters of Markdown escape what means nothing in a script: `'./\_part.mdx'`.
                let target = self.text[range.clone()].replace('\\', "");
                if target.starts_with(['.', '/', '@', '~']) {
                    let kind = if is_image(&target) { LinkKind::Image } else { LinkKind::Snippet };
                    self.page.links.push(Link { kind, target, range, in_tag: false, in_component: false });
                }
            }
        }
    }

    /// Reads text up to the end of the line; what began on it may end later.
    fn inline(&mut self, from: usize) -> usize {
        let mut at = from;
        while let Some(&byte) = self.bytes.get(at) {
            at = match byte {
                b'\n' => return at + 1,
                b'\\' => at + 1 + usize::from(self.bytes.get(at + 1).is_some_and(u8::is_ascii_punctuation)),
                b'`' => self.code_span(at),
                b']' if self.bytes.get(at + 1) == Some(&b'(') => self.destination(at + 2),
                b'<' if !self.is_tired() => self.tag(at),
                b'{' if !self.is_tired() => self.expression(at),
                b'$' => self.math(at),
                _ => at + 1,
            };
        }
        self.text.len()
    }

    fn is_tired(&self) -> bool {
        self.page.problems.len() >= MOST_PROBLEMS
    }

    fn code_span(&mut self, at: usize) -> usize {
        let length = self.bytes[at..].iter().take_while(|b| **b == b'`').count();
        let after = at + length;
        let slot = length.min(self.unmatched.len() - 1);
        if self.unmatched[slot] > at {
            return after;
        }
        let limit = self.end_of_paragraph(at);
        let mut position = after;
        while let Some(found) = memchr::memchr(b'`', &self.bytes[position..limit]) {
            let start = position + found;
            let run = self.bytes[start..limit].iter().take_while(|b| **b == b'`').count();
            position = start + run;
            if run == length {
                self.reading.code.push(at..position);
                return position;
            }
        }
        self.unmatched[slot] = limit;
        after
    }

    fn end_of_paragraph(&mut self, at: usize) -> usize {
        if self.paragraph_end > at {
            return self.paragraph_end;
        }
        let mut end = self.line_end(at);
        while end < self.text.len() {
            let next = self.line_end(end);
            let line = &self.text[end..next];
            if line.trim().is_empty() || fences::opening(line).is_some() {
                break;
            }
            end = next;
        }
        self.paragraph_end = end;
        end
    }

    /// Skips the destination of a link, in which braces and angle brackets are just characters.
    fn destination(&self, at: usize) -> usize {
        let mut depth = 0usize;
        for (offset, byte) in self.bytes[at..].iter().take(2048).enumerate() {
            match byte {
                b']' if self.bytes.get(at + offset + 1) == Some(&b'(') => return at,
                b'(' => depth += 1,
                b')' if depth == 0 => return at + offset + 1,
                b')' => depth -= 1,
                b' ' | b'\n' | b'\t' => return at + offset,
                _ => {}
            }
        }
        at
    }

    /// Skips `$…$` on one line: a formula, in which braces and angle brackets mean something else.
    fn math(&mut self, at: usize) -> usize {
        let is_open = self.bytes.get(at + 1).is_some_and(|b| !b.is_ascii_whitespace() && *b != b'$');
        if !is_open || at < self.math_until {
            return at + 1;
        }
        if self.line_until <= at {
            self.line_until = self.line_end(at);
        }
        let end = self.line_until;
        let mut position = at + 1;
        while let Some(length) = memchr::memchr(b'$', &self.bytes[position..end]) {
            let close = position + length;
            let ends = !self.bytes[close - 1].is_ascii_whitespace() && self.bytes[close - 1] != b'\\';
            if ends && !self.bytes.get(close + 1).is_some_and(u8::is_ascii_digit) {
                return close + 1;
            }
            position = close + 1;
        }
        self.math_until = end;
        at + 1
    }

    fn expression(&mut self, at: usize) -> usize {
        if let Some(end) = heading_id(&self.text[at..]) {
            return at + end;
        }
        match script::after_braces(self.text, at) {
            Some(end) => {
                self.reading.masks.push(at..end);
                self.reading.shown.extend(tags::inside(self.text, at + 1..end));
                end
            }
            None => {
                let is_comment = self.text[at..].starts_with("{/*");
                let message = if is_comment { "the comment is not closed with `*/}`" } else { "`{` is not closed" };
                self.report(message.to_owned(), at..at + 1);
                at + 1
            }
        }
    }

    fn tag(&mut self, at: usize) -> usize {
        if self.text[at..].starts_with("<!--") {
            return self.comment(at);
        }
        match tags::read(self.text, at, Syntax::Jsx) {
            Ok(tag) => {
                self.nest(&tag);
                let end = tag.range.end;
                if self.text[tag.range.clone()].contains('{') {
                    self.reading.shown.extend(tags::inside(self.text, tag.range.start + 1..end));
                }
                self.reading.masks.push(tag.range.clone());
                self.reading.tags.push(tag);
                end
            }
            Err(NoTag::Text) => at + 1,
            Err(NoTag::Broken(why, read_to)) => {
                let line = self.text[at..].lines().next().unwrap_or_default();
                let word: String = line.chars().take_while(|c| !c.is_whitespace()).take(40).collect();
                self.report(format!("`{}` {why}", word.replace('`', "'")), at..at + 1);
                read_to.max(at) + 1
            }
        }
    }

    /// Some sites take comments of HTML in MDX, so they are no problem as such.
    fn comment(&mut self, at: usize) -> usize {
        match memchr::memmem::find(&self.bytes[at..], b"-->") {
            Some(length) => {
                self.reading.masks.push(at..at + length + 3);
                at + length + 3
            }
            None => {
                self.report("the comment is not closed with `-->`".to_owned(), at..at + 4);
                at + 4
            }
        }
    }

    fn nest(&mut self, tag: &tags::Tag) {
        let name = &self.text[tag.name.clone()];
        match tag.form {
            Form::Alone => {}
            Form::Open => self.open.push((tag.name.clone(), tag.range.clone())),
            Form::Close => match self.open.iter().rposition(|(open, _)| &self.text[open.clone()] == name) {
                Some(position) => {
                    for (inner, range) in self.open.split_off(position).into_iter().skip(1) {
                        let inner = short(&self.text[inner]);
                        self.report(format!("`<{inner}>` is not closed before `</{}>`", short(name)), range);
                    }
                }
                None => self.report(format!("`</{}>` closes nothing that is open", short(name)), tag.range.clone()),
            },
        }
    }
}

fn short(name: &str) -> String {
    name.chars().take(40).collect()
}

/// `{#id}` after a heading; the length of it.
fn heading_id(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("{#")?;
    let end = rest.find('}')?;
    (!rest[..end].contains(char::is_whitespace)).then_some(end + 3)
}

/// Whether a line is the beginning of an import or export and not a sentence that starts with the word.
fn is_module_line(line: &str) -> bool {
    if let Some(rest) = line.strip_prefix("import") {
        let starts = rest.starts_with([' ', '{', '"', '\'', '*']);
        let rest = rest.trim();
        let is_list = rest.starts_with(['{', '*']);
        return starts && (is_list || rest.starts_with(['"', '\'']) || rest.contains(" from "));
    }
    const WORDS: [&str; 10] =
        ["const", "let", "var", "function", "default", "class", "async", "type", "interface", "enum"];
    line.strip_prefix("export").is_some_and(|rest| {
        let rest = rest.trim_start();
        rest.starts_with(['{', '*']) || WORDS.iter().any(|word| is_word(rest, word))
    })
}

fn is_word(text: &str, word: &str) -> bool {
    text.strip_prefix(word).is_some_and(|rest| rest.starts_with([' ', '\t', '{', '(']))
}

/// Where the module is named in an import statement.
fn imported(statement: &str) -> Option<Range<usize>> {
    // No list of names is longer.
    let quote_at = statement[..statement.floor_char_boundary(4096)].find(['"', '\''])?;
    let named = |c: char| c.is_alphanumeric() || c.is_whitespace() || matches!(c, '{' | '}' | ',' | '*' | '_' | '$');
    if !statement[..quote_at].chars().all(named) {
        return None;
    }
    let quote = statement.as_bytes()[quote_at];
    let end = script::after_string(statement.as_bytes(), quote_at, quote)?;
    Some(quote_at + 1..end - 1)
}

fn is_image(target: &str) -> bool {
    crate::paths::is_image(target.split('?').next().unwrap_or(target))
}

/// `[label]: address`, whose address may hold anything.
fn is_definition(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with('[')
        && !line.starts_with("[^")
        && line.find("]:").is_some_and(|at| !line[1..at].contains(['[', ']', '`']))
}
