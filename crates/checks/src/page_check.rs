//! The checks of one page among the others.

use std::io;

use crate::context::{Context, LARGEST};
use crate::facts;
use crate::finding::finding;
use crate::lines::Lines;
use crate::link::{LinkFault, fault};
use crate::page::{self, Link, LinkKind};
use crate::resolve::address;
use crate::{Check, Finding, paths, repair};

/// The secrets and invisible characters of a file, if it is text. No size and no name keeps them from being seen.
pub(crate) fn text_findings(context: &Context<'_>, path: &str) -> io::Result<Vec<Finding>> {
    let text = context.look.files.read(path)?.and_then(|content| String::from_utf8(content).ok());
    Ok(text.map(|text| facts::text_findings(path, &text, &Lines::of(&text))).unwrap_or_default())
}

/// All findings of a file; none if there is no such file.
pub(crate) fn findings(context: &Context<'_>, path: &str) -> io::Result<Vec<Finding>> {
    if !page::is_page(path) {
        return text_findings(context, path);
    }
    if !context.look.exists(path)? {
        return Ok(Vec::new());
    }
    let Some(facts) = context.facts(path)? else {
        let message = format!("the page is not UTF-8 text of at most {LARGEST} bytes");
        let mut findings = text_findings(context, path)?;
        findings.push(finding(Check::Syntax, path, (1, 1), message.clone(), message));
        return Ok(findings);
    };
    let is_navigation = context.sites.navigations().any(|(navigation, _)| navigation == path);
    let mut findings = facts.own.clone();
    for placed in &facts.links {
        if let Some((check, message)) = judge(context, path, &placed.link)?
            && !(is_navigation && check == Check::Links)
        {
            findings.push(finding(check, path, placed.place, message, placed.link.target.clone()));
        }
    }
    Ok(findings)
}

/// What is wrong with a link: the check and a sentence.
fn judge(context: &Context<'_>, path: &str, link: &Link) -> io::Result<Option<(Check, String)>> {
    let shown: String = link.target.chars().take(200).collect();
    Ok(match (fault(context, path, link)?, link.kind) {
        (None, _) => None,
        (Some(LinkFault::Nowhere), LinkKind::Image) => {
            Some((Check::Images, format!("the image `{shown}` does not exist")))
        }
        (Some(LinkFault::Nowhere), LinkKind::Snippet) => {
            Some((Check::Snippets, format!("the snippet `{shown}` does not exist")))
        }
        (Some(LinkFault::Nowhere), LinkKind::Page) => {
            let hint = near(context, path, &link.target)?.map(|near| format!("; did you mean `{near}`?"));
            Some((Check::Links, format!("`{shown}` leads nowhere{}", hint.unwrap_or_default())))
        }
        (Some(LinkFault::NoAnchor { page, fragment }), _) => {
            let facts = context.facts(&page)?;
            let headings = facts.iter().flat_map(|facts| &facts.headings).map(String::as_str);
            let hint = repair::nearest(&fragment, headings).map(|near| format!("; did you mean `#{near}`?"));
            let message = format!("`{shown}`: {page} has no such heading{}", hint.unwrap_or_default());
            Some((Check::Anchors, message))
        }
    })
}

/// A page beside the one that a link does not find, with a name that is nearly the same, written as the link is.
fn near(context: &Context<'_>, path: &str, target: &str) -> io::Result<Option<String>> {
    let Some(address) = address(target) else { return Ok(None) };
    let place = match address.path.strip_prefix('/') {
        Some(rooted) => paths::normalise(&context.sites.of(path).root, rooted),
        None => paths::normalise(paths::folder(path), &address.path),
    };
    let Some(place) = place else { return Ok(None) };
    let folder = paths::folder(&place);
    let siblings = context.look.list(folder)?;
    let pages = siblings.iter().filter(|sibling| page::is_page(sibling) && paths::folder(sibling) == folder);
    let stem = if page::is_page(&place) { paths::stem(&place) } else { paths::file_name(&place) };
    let Some(near) = repair::nearest(stem, pages.map(|page| paths::stem(page))) else { return Ok(None) };
    Ok(target.rfind(stem).map(|at| format!("{}{near}{}", &target[..at], &target[at + stem.len()..])))
}
