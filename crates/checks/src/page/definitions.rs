//! Definitions of links that no link uses, or that another of the same name hides: they say where something is as well,
//! and the next link that uses them goes there.

use std::collections::HashSet;
use std::ops::Range;

use super::{Link, LinkKind, Page, ranges};

/// Adds the targets of definitions that the page has no link for.
pub(super) fn add(text: &str, start: usize, page: &mut Page) {
    if memchr::memmem::find(text.as_bytes(), b"]:").is_none() {
        return;
    }
    let known: HashSet<usize> = page.links.iter().map(|link| link.range.start).collect();
    let mut at = start;
    // Whether a definition may stand on the next line: it interrupts no paragraph.
    let mut is_free = true;
    let mut in_comment = false;
    for line in text[start..].split_inclusive('\n') {
        let begin = at;
        at += line.len();
        let was_free = std::mem::replace(&mut is_free, line.trim().is_empty() || line.starts_with('#'));
        let was_comment = in_comment;
        in_comment = match (line.rfind("<!--"), line.rfind("-->")) {
            (Some(open), close) => close.is_none_or(|close| close < open),
            (None, Some(_)) => false,
            (None, None) => in_comment,
        };
        if !was_free || was_comment {
            continue;
        }
        let Some(place) = target(line) else { continue };
        is_free = true;
        let range = begin + place.start..begin + place.end;
        if known.contains(&range.start) || ranges::holding(&page.code, range.start).is_some() {
            continue;
        }
        let target = text[range.clone()].to_owned();
        page.unused.push(range.start);
        page.links.push(Link { kind: LinkKind::Page, target, range, in_tag: false, in_component: false });
    }
}

/// Where the target stands in a line that is a definition and nothing else, if it looks like a path.
fn target(line: &str) -> Option<Range<usize>> {
    let content = line.trim_start_matches(' ');
    let rest = content.strip_prefix('[').filter(|rest| !rest.starts_with(['^', '[']))?;
    let (label, after) = rest.split_once("]:")?;
    if label.trim().is_empty() || label.contains(['[', ']']) || label.ends_with('\\') {
        return None;
    }
    let written = after.trim_start();
    let (skipped, target) = match written.strip_prefix('<') {
        Some(inside) => (1, inside.split_once('>')?.0),
        None => (0, written.split_whitespace().next()?),
    };
    let title = written[skipped * 2 + target.len()..].trim();
    let is_whole = title.is_empty() || title.starts_with(['"', '\'', '(', '{']);
    let is_path = target.contains(['/', '.', '#']) && !target.contains(['{', '[', '`', '"']);
    if !is_whole || !is_path {
        return None;
    }
    let start = line.len() - written.len() + skipped;
    Some(start..start + target.len())
}

#[cfg(test)]
mod tests {
    use crate::page::parse;

    #[test]
    fn definitions_are_links_even_if_none_uses_them() {
        let text = "# A [used]\n\n[used]: a.md\n[unused]: <b c.md> \"title\"\n[used]: d.md\n[//]: - \"x\"\n[^note]: e.md\n\n\
                    text\n[text]: f.md\n\n```\n\n[code]: g.md\n```\n\n<!--\n\n[hidden]: h.md\n-->\n\n[words]: more words. here\n";
        let page = parse("x.md", text);
        let targets: Vec<&str> = page.links.iter().map(|link| &text[link.range.clone()]).collect();
        assert_eq!(targets, ["a.md", "b c.md", "d.md"]);
    }
}
