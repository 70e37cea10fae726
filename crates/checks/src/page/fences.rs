//! Code fences: where they open, where they end, and whether they are closed.

use std::ops::Range;

use super::Problem;
use crate::Check;

/// A line that opens fenced code.
pub(super) struct Opening {
    character: u8,
    length: usize,
    /// Where the fence stands in its line.
    column: usize,
    /// Whether it stands in a quotation.
    quoted: bool,
    /// How far the text of the list item is indented whose marker stands on the same line.
    item: Option<usize>,
}

/// The fence that a line opens, whatever its indentation.
pub(super) fn opening(line: &str) -> Option<Opening> {
    let bytes = line.as_bytes();
    let (mut column, mut quoted, mut item) = (0, false, None);
    loop {
        column += bytes[column..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        let rest = &bytes[column..];
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        match rest {
            [b'>', ..] => (column, quoted) = (column + 1, true),
            [b'-' | b'*' | b'+', b' ' | b'\t', ..] => {
                column += 2;
                item = Some(column);
            }
            _ if (1..10).contains(&digits)
                && matches!(rest.get(digits), Some(b'.' | b')'))
                && matches!(rest.get(digits + 1), Some(b' ' | b'\t')) =>
            {
                column += digits + 2;
                item = Some(column);
            }
            _ => break,
        }
    }
    let (character, length) = run(&line[column..])?;
    let info = &bytes[column + length..];
    let is_fence = length >= 3 && !(character == b'`' && info.contains(&b'`'));
    is_fence.then_some(Opening { character, length, column, quoted, item })
}

fn run(text: &str) -> Option<(u8, usize)> {
    let first = *text.as_bytes().first().filter(|b| matches!(b, b'`' | b'~'))?;
    Some((first, text.bytes().take_while(|b| *b == first).count()))
}

/// Where the fenced code ends whose first line starts at `at`, and what is wrong with it.
pub(super) fn end(text: &str, at: usize, opening: &Opening) -> (usize, Option<Problem>) {
    let first_end = at + text[at..].find('\n').map_or(text.len() - at, |length| length + 1);
    let mut position = first_end;
    for line in text[first_end..].split_inclusive('\n') {
        let indentation = line.len() - line.trim_start_matches([' ', '\t']).len();
        let is_blank = line.trim().is_empty();
        let leaves_quotation = opening.quoted && !line.trim_start().starts_with('>');
        let leaves_item = !opening.quoted && opening.item.is_some_and(|item| !is_blank && indentation < item.min(4));
        if leaves_quotation || leaves_item {
            return (position, None);
        }
        position += line.len();
        let content = if opening.quoted { line.trim_start_matches([' ', '\t', '>']) } else { line.trim_start() };
        if closes(content, opening.character, opening.length) {
            return (position, None);
        }
    }
    let fence = at + opening.column..at + opening.column + opening.length;
    (text.len(), Some(not_closed(text, fence, first_end..text.len())))
}

fn closes(line: &str, character: u8, length: usize) -> bool {
    run(line).is_some_and(|(c, n)| c == character && n >= length && line[n..].trim().is_empty())
}

/// What is wrong with fenced code that the Markdown parser found, if it runs to the end of the text.
pub(super) fn problem(text: &str, block: &Range<usize>) -> Option<Problem> {
    let source = &text[block.clone()];
    let (character, length) = run(source)?;
    let fence = block.start..block.start + length;
    let body = block.start + source.find('\n').map_or(source.len(), |length| length + 1)..block.end;
    let last = text[body.clone()].trim_end().lines().next_back().unwrap_or_default();
    let is_closed = closes(last.trim_start_matches([' ', '\t', '>']), character, length);
    let runs_to_end = text[block.end..].trim().is_empty();
    (!is_closed && runs_to_end).then(|| not_closed(text, fence, body))
}

fn not_closed(text: &str, fence: Range<usize>, body: Range<usize>) -> Problem {
    let near = text[body.clone()].lines().position(|line| {
        let line = line.trim_start_matches([' ', '\t', '>']);
        run(line).is_some_and(|(_, length)| length >= 3 && line[length..].trim().is_empty())
    });
    let hint = near.map(|lines| {
        let line = text[..body.start].matches('\n').count() + lines + 1;
        format!("; the fence in line {line} has another length or character")
    });
    let message = format!("the code fence is not closed{}", hint.unwrap_or_default());
    Problem { check: Check::CodeFences, message, range: fence }
}
