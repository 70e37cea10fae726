//! What there is to know about one page, without its text.

use std::collections::HashSet;

use crate::finding::finding;
use crate::lines::Lines;
use crate::page::{self, Link, LinkKind};
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

pub(crate) struct PlacedLink {
    pub(crate) link: Link,
    pub(crate) place: (u32, u32),
}

impl PageFacts {
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
        let headings: Vec<String> = page.headings.iter().map(|heading| heading.anchor.clone()).collect();
        let anchors = headings.iter().chain(&page.anchors).map(|anchor| page::anchor_key(anchor)).collect();
        let links = page.links.into_iter().map(|link| PlacedLink { place: lines.place(link.range.start), link });
        Self { links: links.collect(), anchors, headings, open: page.open, own }
    }

    /// The links that take in a snippet.
    pub(crate) fn snippets(&self) -> impl Iterator<Item = &Link> {
        self.links.iter().map(|placed| &placed.link).filter(|link| link.kind == LinkKind::Snippet)
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(80).collect()
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
