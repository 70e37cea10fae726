//! Pages are read with positions.

mod differential;
mod front_matter;
mod markdown;
mod mdx;
mod properties;

use copydesk_checks::page::{LinkKind, Page, parse};

/// The links of a page: kind, target, and what stands at the range.
pub(crate) fn links<'a>(text: &'a str, page: &'a Page) -> Vec<(LinkKind, &'a str, &'a str)> {
    page.links.iter().map(|link| (link.kind, link.target.as_str(), &text[link.range.clone()])).collect()
}

pub(crate) fn targets(page: &Page) -> Vec<&str> {
    page.links.iter().map(|link| link.target.as_str()).collect()
}

pub(crate) fn prose(text: &str, page: &Page) -> Vec<String> {
    page.prose.iter().map(|range| text[range.clone()].trim().to_owned()).collect()
}

pub(crate) fn messages(path: &str, text: &str) -> Vec<String> {
    parse(path, text).problems.into_iter().map(|problem| problem.message).collect()
}
