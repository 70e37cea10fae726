//! Lines and marks by which a page takes in a file: each generator has its own.

use std::ops::Range;

use super::{Link, LinkKind, ranges};

/// How a page takes in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Snippets {
    /// By imports and components, or not at all.
    Scripts,
    /// `{% include x.html %}`
    Liquid,
    /// `--8<-- "x.md"`, alone or as a block
    Scissors,
    /// `{{#include x.rs:anchor}}`
    MdBook,
    /// `{include} x.md` after a fence
    Myst,
}

/// The files that a page takes in, and pictures that it shows in the same way.
pub(super) fn find(text: &str, rule: Snippets, code: &[Range<usize>]) -> Vec<Link> {
    let mut found = Vec::new();
    let mut block = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        match rule {
            Snippets::Scripts => return found,
            Snippets::Liquid => {
                found.extend(
                    liquid(line, start).into_iter().filter(|it| ranges::holding(code, it.range.start).is_none()),
                );
            }
            Snippets::Scissors => found.extend(scissors(line, start, &mut block)),
            Snippets::MdBook => found.extend(mdbook(line, start)),
            // The fence of a directive begins code of its own; one within code is an example.
            Snippets::Myst => found.extend(directive(line, start).filter(|_| {
                let fence = start + (line.len() - line.trim_start().len());
                ranges::holding(code, fence).is_none_or(|around| around.start == fence)
            })),
        }
    }
    found
}

/// A link to the file whose name is `name`, a part of `line`, which starts at `start`.
fn link(kind: LinkKind, line: &str, start: usize, name: &str) -> Option<Link> {
    let offset = name.as_ptr() as usize - line.as_ptr() as usize;
    let is_file = !name.is_empty() && !name.contains("://") && !name.contains(['{', '}', '$', '*', '<', '>']);
    let range = start + offset..start + offset + name.len();
    is_file.then(|| Link { kind, target: name.to_owned(), range, in_tag: true, in_component: false })
}

fn liquid(line: &str, start: usize) -> Vec<Link> {
    let mut found = Vec::new();
    for tag in line.split("{%").skip(1) {
        let tag = tag.trim_start_matches('-').trim_start();
        let Some(rest) = tag.strip_prefix("include_relative ").or_else(|| tag.strip_prefix("include ")) else {
            continue;
        };
        let name = rest.trim_start().split([' ', '%']).next().unwrap_or_default();
        found.extend(link(LinkKind::Snippet, line, start, name));
    }
    found
}

/// `file.md:3:5` and `file.md:section` are parts of the file.
fn scissors(line: &str, start: usize, block: &mut bool) -> Option<Link> {
    let content = line.trim();
    let rest = content.strip_prefix("--8<--").or_else(|| content.strip_prefix("-8<-"));
    let name = match rest.map(str::trim) {
        Some("") => {
            *block = !*block;
            return None;
        }
        Some(rest) => rest.strip_prefix(['"', '\''])?.trim_end_matches(['"', '\'']),
        None if *block => content,
        None => return None,
    };
    if name.starts_with(';') || name.contains("://") {
        return None;
    }
    link(LinkKind::Snippet, line, start, name.split(':').next().unwrap_or_default())
}

fn mdbook(line: &str, start: usize) -> Vec<Link> {
    let mut found = Vec::new();
    let mut before = "";
    for tag in line.split("{{#") {
        let is_escaped = before.ends_with('\\');
        let is_first = before.is_empty() && tag.as_ptr() == line.as_ptr();
        before = tag;
        if is_escaped || is_first {
            continue;
        }
        let Some((inside, _)) = tag.split_once("}}") else { continue };
        let mut words = inside.split_whitespace();
        let takes_in =
            matches!(words.next(), Some("include" | "rustdoc_include" | "playground" | "playpen" | "template"));
        if let Some(name) = words.next().filter(|_| takes_in) {
            found.extend(link(LinkKind::Snippet, line, start, name.split(':').next().unwrap_or_default()));
        }
    }
    found
}

fn directive(line: &str, start: usize) -> Option<Link> {
    let content = line.trim();
    let rest = content.trim_start_matches(['`', ':', '~']);
    if content.len() < rest.len() + 3 {
        return None;
    }
    let (name, argument) = rest.strip_prefix('{')?.split_once('}')?;
    let kind = match name {
        "include" | "literalinclude" => LinkKind::Snippet,
        "figure" | "image" => LinkKind::Image,
        _ => return None,
    };
    link(kind, line, start, argument.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_taken_in_are_found() {
        for (rule, text, expected) in [
            (
                Snippets::Liquid,
                "{% include a.html x=1 %} {%- include_relative b.md -%} {% include {{ c }} %}",
                vec!["a.html", "b.md"],
            ),
            (Snippets::Scissors, "--8<-- \"a.md\"\n    --8<-- 'b.py:2:5'\n;--8<-- \"c.md\"\n", vec!["a.md", "b.py"]),
            (Snippets::Scissors, "--8<--\na.md\n; b.md\nc.md:part\n--8<--\nd.md\n", vec!["a.md", "c.md"]),
            (Snippets::Scissors, "--8<-- \"https://x/y.md\"\n", vec![]),
            (
                Snippets::MdBook,
                "{{#include a.rs:3:5}} and {{#rustdoc_include b.rs}}\n{{#title X}}\n",
                vec!["a.rs", "b.rs"],
            ),
            (Snippets::MdBook, "\\{{#include a.rs}}\n", vec![]),
            (
                Snippets::Myst,
                "```{include} ../a.md\n:::{figure} b.png\n```{note} c.md\n{include} d.md\n",
                vec!["../a.md", "b.png"],
            ),
        ] {
            let found = find(text, rule, &[]);
            assert!(found.iter().all(|link| text[link.range.clone()] == link.target), "{text}");
            let targets: Vec<&str> = found.iter().map(|link| link.target.as_str()).collect();
            assert_eq!(targets, expected, "{text}");
        }
    }
}
