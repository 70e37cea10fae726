//! What there is to know about one page, without its text.

use std::collections::HashSet;

use crate::lines::Lines;
use crate::page::{self, LinkKind};
use crate::{Check, Finding, invisible, secrets};

/// What a page says about itself and about others.
pub(crate) struct PageFacts {
    pub(crate) links: Vec<PlacedLink>,
    /// The anchors of its headings, as written.
    pub(crate) headings: Vec<String>,
    /// Keys of all its anchors.
    pub(crate) anchors: HashSet<String>,
    /// Whether it may have more anchors than are seen.
    pub(crate) open: bool,
    /// What is wrong with it, whatever the others are.
    pub(crate) own: Vec<Finding>,
}

/// A link of a page.
pub(crate) struct PlacedLink {
    pub(crate) kind: LinkKind,
    pub(crate) target: String,
    pub(crate) in_tag: bool,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl PageFacts {
    /// Reads a page.
    pub(crate) fn of(path: &str, text: &str) -> Self {
        let page = page::parse(path, text);
        let lines = Lines::of(text);
        let mut own = text_findings(path, text, &lines);
        own.extend(page.problems.iter().map(|problem| {
            let subject = match problem.check {
                // Their message names a line, which may move.
                Check::CodeFences => first_line(&text[problem.range.start..]),
                _ => problem.message.clone(),
            };
            finding(problem.check, path, lines.place(problem.range.start), problem.message.clone(), subject)
        }));
        let links = page.links.iter().map(|link| {
            let (line, column) = lines.place(link.range.start);
            PlacedLink { kind: link.kind, target: link.target.clone(), in_tag: link.in_tag, line, column }
        });
        let headings: Vec<String> = page.headings.iter().map(|heading| heading.anchor.clone()).collect();
        let anchors = headings.iter().chain(&page.anchors).map(|anchor| page::anchor_key(anchor)).collect();
        Self { links: links.collect(), anchors, headings, open: page.open, own }
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(80).collect()
}

pub(crate) fn finding(check: Check, path: &str, place: (u32, u32), message: String, subject: String) -> Finding {
    Finding { check, path: path.to_owned(), line: place.0, column: place.1, message, subject }
}

/// What is wrong with any text: secrets and invisible characters.
pub(crate) fn text_findings(path: &str, text: &str, lines: &Lines<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for secret in secrets::scan(text) {
        let message = format!("this looks like a secret: {}", secret.kind);
        findings.push(finding(Check::Secrets, path, lines.place(secret.range.start), message, secret.subject(text)));
    }
    for hidden in invisible::scan(text) {
        let code = format!("U+{:04X}", u32::from(hidden.character));
        let message = format!("a character that nobody sees stands here: {} ({code})", hidden.name());
        findings.push(finding(Check::InvisibleCharacters, path, lines.place(hidden.at), message, code));
    }
    findings
}
