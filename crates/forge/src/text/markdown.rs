//! Strangers' text made harmless Markdown: what is output here is a mention, a link, a reference, HTML or an order to a
//! code host only if this file says so, and it never does.

use super::plain::{clean, for_code};

/// The longest line that is taken; more of it is left out.
const LONGEST_LINE: usize = 2000;

/// Room for the note that something is left out, and the line breaks before it.
const NOTE: usize = 40;

/// What may stay of a text's structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Paragraphs, lists, code. Headings become paragraphs: the text stands in a section of ours.
    Paragraphs,
    /// Headings and task lists as well: the text is the frame.
    Headings,
}

/// Text as Markdown of at most `most` characters, cut between lines.
pub(crate) fn prose(text: &str, keep: Keep, most: usize) -> String {
    // Markdown is never shorter than the text it is made from, so more than this cannot be of use.
    let text: String = clean(text).chars().take(most + 1).collect();
    let mut page = Page { text: String::new(), left: most.saturating_sub(NOTE) };
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let fits = match fence(line) {
            Some(opening) => {
                let inside: Vec<&str> = lines.by_ref().take_while(|line| !closes(line, opening)).collect();
                page.add(&code_block(&inside.join("\n"), "", page.left))
            }
            None => page.add(&prose_line(line, keep)),
        };
        if !fits {
            return page.cut();
        }
    }
    page.text.trim_matches('\n').to_owned()
}

struct Page {
    text: String,
    left: usize,
}

impl Page {
    fn add(&mut self, block: &str) -> bool {
        let Some(left) = self.left.checked_sub(block.chars().count() + 1) else {
            return false;
        };
        self.left = left;
        self.text.push_str(block);
        self.text.push('\n');
        true
    }

    fn cut(self) -> String {
        format!("{}\n\n… (shortened)", self.text.trim_matches('\n'))
    }
}

/// The sign and length of a line that opens a code block.
fn fence(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    let sign = line.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == sign).count();
    let info = line.trim_start_matches(sign);
    (length >= 3 && !(sign == '`' && info.contains('`'))).then_some((sign, length))
}

fn closes(line: &str, (sign, length): (char, usize)) -> bool {
    let line = line.trim();
    line.chars().all(|c| c == sign) && line.chars().count() >= length
}

/// A code block whose fence is longer than any in it, each line behind `prefix`; at most `most` characters.
pub(crate) fn code_block(text: &str, prefix: &str, most: usize) -> String {
    let text: String = clean(text).chars().take(most).collect();
    let text = short_runs(&for_code(&text));
    // A line that begins with a slash may be an order even in code, depending on how the host looks for code.
    let has_order = text.lines().any(|line| line.trim_start().starts_with('/'));
    let prefix = if has_order && prefix.is_empty() { "> " } else { prefix };
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    let mut block = format!("{prefix}{fence}\n");
    let room = most.saturating_sub(2 * (fence.chars().count() + prefix.chars().count()) + NOTE);
    let mut used = 0;
    for line in text.lines() {
        let line: String = line.chars().take(LONGEST_LINE).collect();
        used += prefix.chars().count() + line.chars().count() + 1;
        if used > room {
            block.push_str(&format!("{prefix}… (shortened)\n"));
            break;
        }
        block.push_str(format!("{prefix}{line}").trim_end());
        block.push('\n');
    }
    format!("{block}{prefix}{fence}")
}

/// One line of text as Markdown that can stand anywhere in a line of ours.
pub(crate) fn phrase(text: &str, most: usize) -> String {
    inline(&super::shorten(&super::one_line(&clean(text)), most))
}

/// Text as an inline code span; nothing if it is empty.
pub(crate) fn code(text: &str) -> String {
    let text = super::one_line(&short_runs(&for_code(text)));
    if text.is_empty() {
        return text;
    }
    let fence = "`".repeat(longest_run(&text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Text without endless runs of backticks: the fence around it must be longer.
fn short_runs(text: &str) -> String {
    const LONGEST: usize = 20;
    let mut run = 0;
    let keep = |c: &char| {
        run = if *c == '`' { run + 1 } else { 0 };
        run <= LONGEST
    };
    text.chars().filter(keep).collect()
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

fn prose_line(line: &str, keep: Keep) -> String {
    let line: String = line.chars().take(LONGEST_LINE).collect();
    let indent = (line.len() - line.trim_start_matches(' ').len()).min(6);
    let line = line.trim();
    // An underline would make the line above a heading.
    if line.is_empty() || line.chars().all(|c| matches!(c, '-' | '=' | ' ')) {
        return String::new();
    }
    if let Some((level, heading)) = heading(line) {
        let heading = inline(heading);
        return if keep == Keep::Headings { format!("{} {heading}", "#".repeat(level)) } else { heading };
    }
    let Some((marker, item)) = list_marker(line) else {
        return inline(line);
    };
    let indent = " ".repeat(indent);
    let task = (keep == Keep::Headings).then(|| task(item)).flatten();
    match task {
        Some((mark, item)) => format!("{indent}{marker} {mark} {}", inline(item)),
        None => format!("{indent}{marker} {}", inline(item)),
    }
}

pub(crate) fn heading(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    ((1..=6).contains(&level) && text.starts_with(' ')).then(|| (level, text.trim()))
}

fn list_marker(line: &str) -> Option<(&str, &str)> {
    let (marker, item) = line.split_once(' ')?;
    let number = marker.strip_suffix(['.', ')']).unwrap_or_default();
    let is_number = (1..=3).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
    (matches!(marker, "-" | "*" | "+") || is_number).then_some((marker, item))
}

/// A box to tick. It is never ticked here: that is for people to do.
fn task(item: &str) -> Option<(&'static str, &str)> {
    let item = item.trim_start();
    let rest = item.strip_prefix("[ ]").or_else(|| item.strip_prefix("[x]")).or_else(|| item.strip_prefix("[X]"))?;
    rest.starts_with(' ').then(|| ("[ ]", rest.trim_start()))
}

/// One line: code spans stay code, words that a code host would act upon become code, the rest is escaped.
fn inline(line: &str) -> String {
    let mut out = Inline::default();
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        let run = rest[at..].len() - rest[at..].trim_start_matches('`').len();
        let (before, after) = (&rest[..at], &rest[at + run..]);
        // A backslash before it, itself not escaped, makes a backtick an ordinary one.
        if (before.len() - before.trim_end_matches('\\').len()) % 2 == 1 {
            out.words(&before[..before.len() - 1]);
            out.text("`");
            rest = &rest[at + 1..];
            continue;
        }
        out.words(before);
        match end_of_span(after, run) {
            Some(end) => {
                out.code(&after[..end]);
                rest = &after[end + run..];
            }
            None => {
                out.text(&"`".repeat(run));
                rest = after;
            }
        }
    }
    out.words(rest);
    out.0
}

/// Where a run of exactly `run` backticks stands.
fn end_of_span(text: &str, run: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let start = at + found;
        let length = text[start..].len() - text[start..].trim_start_matches('`').len();
        if length == run {
            return Some(start);
        }
        at = start + length;
    }
    None
}

#[derive(Default)]
struct Inline(String);

impl Inline {
    fn code(&mut self, text: &str) {
        // Two spans side by side would be read as one.
        if self.0.ends_with('`') {
            self.0.push(' ');
        }
        self.0.push_str(&code(text));
    }

    fn words(&mut self, text: &str) {
        for piece in text.split_inclusive(char::is_whitespace) {
            let word = piece.trim_end();
            let space = if word.len() < piece.len() { " " } else { "" };
            let core = word.trim_start_matches(['(', '"', '\'', '*', '_']);
            let before = &word[..word.len() - core.len()];
            // A bracket that was opened in the word belongs to it.
            let closing = |c: char| ".,;:?\"'*_".contains(c) || (c == ')' && !core.contains('('));
            let core = core.trim_end_matches(closing);
            let after = &word[before.len() + core.len()..];
            match (acts(core), acts(word)) {
                (true, _) => {
                    self.text(before);
                    self.code(core);
                    self.text(after);
                }
                (false, true) => self.code(word),
                (false, false) => self.text(word),
            }
            self.0.push_str(space);
        }
    }

    fn text(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '`' | '\\' | '[' | ']' | '#' | '~' | '|' | '$' => self.0.extend(['\\', c]),
                _ => self.0.push(c),
            }
        }
    }
}

/// Whether a code host may act upon a word: mention, reference, address, quick action, formula.
fn acts(word: &str) -> bool {
    let chars: Vec<char> = word.chars().collect();
    let before_name = |window: &[char]| {
        matches!(window[0], '#' | '!' | '&' | '~' | '%' | '^') && (window[1].is_alphanumeric() || window[1] == '"')
    };
    word.contains(['@', '$'])
        || word.contains("://")
        || word.to_ascii_lowercase().contains("www.")
        || word.starts_with('/')
        || chars.windows(2).any(before_name)
        || chars.windows(3).any(|it| it[0].is_alphanumeric() && it[1] == '-' && it[2].is_ascii_digit())
        || word.split(|c: char| !c.is_ascii_hexdigit()).any(|run| run.len() >= 7)
}
