//! Where a page only shows code. Readers of Markdown do not agree about that: what counts is what the one of the site takes
//! for code, and where that is hard to tell, nothing is.

use std::collections::HashMap;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::{Engine, Subject};
use crate::paths;

/// The code of a page, in order.
#[derive(Debug, Default)]
pub(super) struct Code {
    /// Tags in it are text.
    pub(super) shown: Vec<Range<usize>>,
    /// Templates of Vue in it are text as well.
    pub(super) mute: Vec<Range<usize>>,
}

/// A piece of code as the standard has it.
struct Piece {
    range: Range<usize>,
    kind: Kind,
}

#[derive(PartialEq, Eq)]
enum Kind {
    /// With what stands behind the fence.
    Fenced(String),
    Indented,
    Span,
}

pub(super) fn of(subject: &Subject<'_>, start: usize) -> Code {
    let is_markdown = !matches!(paths::extension(subject.path).as_str(), "rst" | "adoc" | "asciidoc");
    if !is_markdown || subject.way.engine == Engine::AsciiDoc {
        return Code::default();
    }
    let pieces = pieces(subject.text, start);
    match subject.way.engine {
        Engine::MkDocs | Engine::Jekyll => Code { shown: of_others(subject, start, &pieces), mute: Vec::new() },
        Engine::Mdx => {
            let shown = pieces.into_iter().filter(|piece| piece.kind != Kind::Indented).map(|piece| piece.range);
            Code { shown: shown.collect(), mute: Vec::new() }
        }
        engine => {
            let is_shown = |piece: &&Piece| !matches!(&piece.kind, Kind::Fenced(info) if engine == Engine::Sphinx && is_laid_out(info));
            let is_mute = |piece: &&Piece| match &piece.kind {
                Kind::Fenced(info) => !info.contains("-vue"),
                Kind::Indented => false,
                Kind::Span => !subject.text[piece.range.end..].starts_with('{'),
            };
            let inside = |piece: &Piece| inside(subject.text, piece);
            Code {
                shown: pieces.iter().filter(is_shown).map(inside).collect(),
                mute: pieces.iter().filter(is_mute).map(inside).collect(),
            }
        }
    }
}

/// A directive whose text is Markdown as well.
fn is_laid_out(info: &str) -> bool {
    const CODE: [&str; 6] = ["code-block", "code", "sourcecode", "parsed-literal", "math", "mermaid"];
    let name = info.trim_start().strip_prefix('{').and_then(|rest| rest.split_once('}')).map(|(name, _)| name.trim());
    name.is_some_and(|name| !CODE.contains(&name))
}

/// The first line of a fence is not code: some put parts of it into the page as they are.
fn inside(text: &str, piece: &Piece) -> Range<usize> {
    let Range { start, end } = piece.range;
    match piece.kind {
        Kind::Fenced(_) => text[start..end].find('\n').map_or(end, |length| start + length)..end,
        _ => start..end,
    }
}

fn pieces(text: &str, start: usize) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut block = None;
    for (event, range) in Parser::new_ext(&text[start..], Options::empty()).into_offset_iter() {
        let range = start + range.start..start + range.end;
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                block = Some(Piece { range, kind: Kind::Fenced(info.into_string()) });
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)) => {
                block = Some(Piece { range, kind: Kind::Indented })
            }
            Event::End(TagEnd::CodeBlock) => pieces.extend(block.take()),
            Event::Code(_) => pieces.push(Piece { range, kind: Kind::Span }),
            _ => {}
        }
    }
    pieces
}

/// The code of readers that are older than the standard: a fence counts if it has its end, and a span if it is in one
/// line and not inside of tags.
fn of_others(subject: &Subject<'_>, start: usize, pieces: &[Piece]) -> Vec<Range<usize>> {
    let text = subject.text;
    let fences = both(&fences(subject, start, true), &fences(subject, start, false));
    let raw = raw(subject, start);
    let is_plain =
        |range: &&Range<usize>| !text[(*range).clone()].contains('\n') && super::is_in(&raw, range.start).is_none();
    let spans = pieces.iter().filter(|piece| piece.kind == Kind::Span).map(|piece| &piece.range);
    joined(fences.into_iter().chain(spans.filter(is_plain).cloned()).collect())
}

/// What stands between fences. Those with something behind them that not every reader knows are fences or not.
fn fences(subject: &Subject<'_>, start: usize, odd_ones: bool) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // What stands before the fence, the fence, and where its content begins.
    let mut open: Option<(&str, &str, usize)> = None;
    let mut at = start;
    for line in subject.text[start..].split_inclusive('\n') {
        let begin = at;
        at += line.len();
        let content = line.trim_end();
        if let Some((prefix, fence, from)) = open {
            let rest = content.strip_prefix(prefix);
            if rest == Some(fence) {
                found.push(from..begin);
                open = None;
                continue;
            }
            if rest.is_some() || content.trim_start_matches(['>', ' ', '\t']).is_empty() {
                continue;
            }
            open = None;
        }
        let rest = content.trim_start_matches([' ', '\t', '>']);
        let prefix = &content[..content.len() - rest.len()];
        let mark = if rest.starts_with('~') { '~' } else { '`' };
        let info = rest.trim_start_matches(mark);
        let fence = &rest[..rest.len() - info.len()];
        let may_nest = subject.way.nests_fences || prefix.is_empty();
        if fence.len() >= 3 && may_nest && !info.contains('`') && (odd_ones || is_known(subject, info.trim())) {
            open = Some((prefix, fence, at));
        }
    }
    found
}

/// Whether every reader takes a fence for one that has this behind it.
fn is_known(subject: &Subject<'_>, info: &str) -> bool {
    const OPTIONS: [&str; 3] = ["hl_lines", "linenums", "title"];
    if subject.way.engine == Engine::Jekyll {
        return true;
    }
    let (language, mut rest) = match info.strip_prefix('{').and_then(|info| info.strip_suffix('}')) {
        Some(inside) => ("", inside.trim()),
        None => info.split_once([' ', '\t']).map_or((info, ""), |(language, rest)| (language, rest.trim())),
    };
    let is_word = |word: &str| word.chars().all(|c| c.is_alphanumeric() || "_#.+-".contains(c));
    let known = if subject.way.nests_fences { &OPTIONS[..] } else { &OPTIONS[..1] };
    while !rest.is_empty() {
        let end = rest.find([' ', '\t', '=']).unwrap_or(rest.len());
        let name = &rest[..end];
        rest = match rest[end..].strip_prefix('=') {
            None if info.starts_with('{') && name.starts_with(['.', '#']) && is_word(name) => rest[end..].trim_start(),
            None => return false,
            Some(value) => {
                let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
                let inner = quote.and_then(|quote| value[1..].split_once(quote));
                match inner.filter(|_| known.contains(&name)) {
                    Some((_, rest)) => rest.trim_start(),
                    None => return false,
                }
            }
        };
    }
    is_word(language)
}

/// What stands between tags at the beginning of lines: Markdown is not read there unless it is asked for.
fn raw(subject: &Subject<'_>, start: usize) -> Vec<Range<usize>> {
    const INLINE: [&str; 22] = [
        "a", "abbr", "b", "br", "code", "del", "em", "hr", "i", "img", "input", "ins", "kbd", "mark", "q", "s",
        "small", "span", "strong", "sub", "sup", "u",
    ];
    let text = subject.text;
    let name_of = |rest: &str| -> String {
        rest.chars().take_while(char::is_ascii_alphanumeric).take(20).collect::<String>().to_ascii_lowercase()
    };
    let mut ends: HashMap<String, usize> = HashMap::new();
    for at in memchr::memmem::find_iter(&text.as_bytes()[start..], b"</").map(|at| start + at) {
        ends.insert(name_of(&text[at + 2..]), at);
    }
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut at = start;
    for line in text[start..].split_inclusive('\n') {
        let begin = at;
        at += line.len();
        let content = line.trim_start_matches(' ');
        let Some(tag) = content.strip_prefix('<').filter(|_| line.len() - content.len() < 4) else { continue };
        let name = name_of(tag);
        let asks = subject.way.reads_inside && asks_for_markdown(line);
        if name.is_empty() || INLINE.contains(&name.as_str()) || asks {
            continue;
        }
        let end = ends.get(&name).copied().unwrap_or(text.len());
        if end > begin && found.last().is_none_or(|last| last.end < end) {
            found.push(begin..end);
        }
    }
    joined(found)
}

/// Whether a tag asks for Markdown to be read inside of it.
fn asks_for_markdown(line: &str) -> bool {
    let after = line.split_once(" markdown").map(|(_, after)| after);
    let asked = [">", " ", "=1", "=\"1\"", "='1'", "=\"block\"", "=\"span\"", "=\"md\""];
    after.is_some_and(|after| asked.iter().any(|way| after.starts_with(way)))
}

/// Ranges in order, with those that touch made one.
fn joined(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// What is in one of the ranges of each.
fn both(one: &[Range<usize>], other: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut first, mut second) = (one.iter().peekable(), other.iter().peekable());
    while let (Some(a), Some(b)) = (first.peek(), second.peek()) {
        let (from, to) = (a.start.max(b.start), a.end.min(b.end));
        if from < to {
            found.push(from..to);
        }
        if a.end <= b.end {
            first.next()
        } else {
            second.next()
        };
    }
    found
}
