//! Parts of a page that stand apart from its run: quotations, asides, components and lists.

use std::ops::Range;

use copydesk_checks::page::Page;

use super::words::line_around;

/// Longer tags are not read to their end.
const LONGEST_TAG: usize = 8_000;
/// How far back the start of a line is looked for.
const LONGEST_LINE: usize = 2000;
/// Tags without an end.
const VOID: [&str; 10] = ["br", "img", "hr", "input", "meta", "link", "source", "wbr", "area", "col"];

/// The ranges of asides (`:::`) and of components and tags with an end, sorted; of those that nest the outermost.
pub(crate) fn boxes(page: &Page, text: &str) -> Vec<Range<usize>> {
    let mut found = fenced(page, text);
    found.extend(tagged(page, text));
    found.sort_unstable_by_key(|range| (range.start, range.end));
    found.dedup_by(|next, kept| {
        let overlaps = next.start < kept.end;
        if overlaps {
            kept.end = kept.end.max(next.end);
        }
        overlaps
    });
    found
}

/// Whether a place is in one of the boxes.
pub(crate) fn is_boxed(boxes: &[Range<usize>], at: usize) -> bool {
    let after = boxes.partition_point(|range| range.start < at);
    boxes[..after].last().is_some_and(|range| at < range.end)
}

/// Whether a place is in a quotation; a box that is written like one, `> [!NOTE]`, is none.
pub(crate) fn is_quoted(text: &str, at: usize) -> bool {
    let mut start = line_around(text, &(at..at), LONGEST_LINE).start;
    let is_quote = |line: &str| line.trim_start().starts_with('>');
    if !is_quote(&text[start..]) {
        return false;
    }
    for line in text[..start].split_inclusive('\n').rev().take(200).take_while(|line| is_quote(line)) {
        start -= line.len();
    }
    !text[start..].trim_start_matches(['>', ' ', '\t']).starts_with("[!")
}

/// Whether what starts at a place stands in a quotation or in a list: something comes before it on its line.
pub(crate) fn is_indented(text: &str, at: usize) -> bool {
    let before = &text[line_around(text, &(at..at), LONGEST_LINE).start..at];
    !before.trim().is_empty() || before.len() >= 2
}

fn in_code(page: &Page, at: usize) -> bool {
    let after = page.code.partition_point(|range| range.start <= at);
    page.code[..after].last().is_some_and(|range| at < range.end)
}

/// `:::note` up to its `:::`.
fn fenced(page: &Page, text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let Some(rest) = line.trim().strip_prefix(":::") else { continue };
        if in_code(page, start) {
            continue;
        }
        if !rest.trim_start_matches(':').trim().is_empty() {
            open.push(start);
        } else if let Some(start) = open.pop() {
            found.push(start..at);
        }
    }
    found
}

/// `<Name …>` up to its `</Name>`; one that has no end is none.
fn tagged(page: &Page, text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open: Vec<(&str, usize)> = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].find('<') {
        let start = at + next;
        at = start + 1;
        if in_code(page, start) {
            continue;
        }
        let is_end = text[at..].starts_with('/');
        let rest = &text[at + usize::from(is_end)..];
        let name =
            &rest[..rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | '-' | '_')).unwrap_or(rest.len())];
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || VOID.contains(&name) {
            continue;
        }
        if is_end {
            if let Some(number) = open.iter().rposition(|(opened, _)| *opened == name) {
                found.push(open[number].1..at);
                open.truncate(number);
            }
        } else if let Some(end) = end_of_tag(rest) {
            if !rest[..end].ends_with('/') && open.len() < 200 {
                open.push((name, start));
            }
            at += end;
        }
    }
    found
}

/// Where a tag ends, not counting what is in quotes and braces.
fn end_of_tag(rest: &str) -> Option<usize> {
    let mut quote: Option<u8> = None;
    let mut braces = 0_usize;
    for (at, byte) in rest.bytes().enumerate().take(LONGEST_TAG) {
        match (quote, byte) {
            (Some(open), _) if byte == open => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'{') => braces += 1,
            (None, b'}') => braces = braces.saturating_sub(1),
            (None, b'>') if braces == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use copydesk_checks::page::parse;

    use super::*;

    #[test]
    fn asides_and_components_are_boxes() {
        let text = "a\n\n:::note[X]\nb\n:::\n\n<Card a={() => 1} b='>'>\n\nc\n\n</Card>\n\n<br>\n\nd <Icon /> e\n\n```\n<x>\n:::note\n```\n\nf\n\n<p>g\n";
        let boxes = boxes(&parse("a.mdx", text), text);
        for (mark, boxed) in [
            ("a\n", false),
            ("b\n", true),
            ("c\n", true),
            ("d <", false),
            (" e\n", false),
            ("f\n", false),
            ("g\n", false),
        ] {
            assert_eq!(is_boxed(&boxes, text.find(mark).unwrap()), boxed, "{mark}");
        }
    }
}
