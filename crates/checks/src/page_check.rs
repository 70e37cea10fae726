//! The checks of one page among the others.

use std::io;

use crate::context::{Context, LARGEST};
use crate::facts;
use crate::finding::finding;
use crate::lines::Lines;
use crate::link::{LinkFault, judge};
use crate::page::{self, Link, LinkKind};
use crate::site::address;
use crate::tally::Tally;
use crate::{Check, Finding, Severity, paths};

/// For how many broken links of a page it is said what may have been meant.
const MOST_HINTS: usize = 200;

/// The secrets and invisible characters of a file, if it is text. No size and no name keeps them from being seen.
pub(crate) fn text_findings(context: &Context<'_>, path: &str) -> io::Result<Vec<Finding>> {
    let text = context.look.files.read(path)?.and_then(|content| String::from_utf8(content).ok());
    Ok(text.map(|text| facts::text_findings(path, &text, &Lines::of(&text))).unwrap_or_default())
}

/// All findings of a file; none if there is no such file. What was judged is added to the tally.
pub(crate) fn findings(context: &Context<'_>, path: &str, tally: &mut Tally) -> io::Result<Vec<Finding>> {
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
    let is_navigation = context.sites.is_navigation(path);
    let mut findings = facts.own.clone();
    let mut hints = MOST_HINTS;
    for placed in &facts.links {
        let judgement = judge(context, path, &placed.link)?;
        tally.add(placed.link.kind, &judgement);
        let Some(fault) = judgement.fault else { continue };
        let (check, message) = told(&placed.link, &fault);
        if is_navigation && check == Check::Links {
            continue;
        }
        let message = match fault {
            LinkFault::Nowhere if is_beside(context, path, &placed.link)? => {
                format!("{message}: that file is not in the site")
            }
            _ => message,
        };
        let hint = if hints > 0 { hint(context, path, &placed.link, &fault)? } else { None };
        hints = hints.saturating_sub(1);
        let message = if placed.is_unused { format!("no link uses this definition, and {message}") } else { message };
        let message = hint.map_or(message.clone(), |hint| format!("{message}; did you mean `{hint}`?"));
        let found = finding(check, path, placed.place, message, placed.link.target.clone());
        // No reader meets it.
        let severity = if placed.is_unused { Severity::Warning } else { found.severity };
        findings.push(Finding { around: Some(placed.around), severity, ..found });
    }
    Ok(findings)
}

/// What is wrong with a link: the check and a sentence.
fn told(link: &Link, fault: &LinkFault) -> (Check, String) {
    let shown: String = link.target.chars().take(200).collect();
    match (fault, link.kind) {
        (LinkFault::Nowhere, LinkKind::Image) => (Check::Images, format!("the image `{shown}` does not exist")),
        (LinkFault::Nowhere, LinkKind::Snippet) => (Check::Snippets, format!("the snippet `{shown}` does not exist")),
        (LinkFault::Nowhere, LinkKind::Page) => (Check::Links, format!("`{shown}` leads nowhere")),
        (LinkFault::NoAnchor { page, .. }, _) => (Check::Anchors, format!("`{shown}`: {page} has no such heading")),
    }
}

/// Whether a link that leads nowhere names a file all the same, one that no reader of the site gets.
fn is_beside(context: &Context<'_>, path: &str, link: &Link) -> io::Result<bool> {
    let named = address(&link.target).and_then(|address| paths::normalise(paths::folder(path), &address.path));
    named.map_or(Ok(false), |file| context.look.exists(&file))
}

/// What may have been meant.
fn hint(context: &Context<'_>, path: &str, link: &Link, fault: &LinkFault) -> io::Result<Option<String>> {
    match fault {
        LinkFault::Nowhere if link.kind == LinkKind::Page => {
            let Some(near) = near(context, path, &link.target)?.filter(|near| *near != link.target) else {
                return Ok(None);
            };
            let meant = Link { target: near, ..link.clone() };
            let judgement = judge(context, path, &meant)?;
            // A page that no reader of the site gets is no help.
            let is_there = judgement.target == Some(Ok(())) && judgement.fault != Some(LinkFault::Nowhere);
            Ok(is_there.then_some(meant.target))
        }
        LinkFault::Nowhere => Ok(None),
        LinkFault::NoAnchor { page, fragment } => {
            let facts = context.facts(page)?;
            Ok(facts.and_then(|facts| facts.near().nearest(fragment).map(|near| format!("#{near}"))))
        }
    }
}

/// A page of the documentation beside the one that a link does not find, with a name that is nearly the same, written as the
/// link is.
fn near(context: &Context<'_>, path: &str, target: &str) -> io::Result<Option<String>> {
    let Some(address) = address(target) else { return Ok(None) };
    let place = match address.path.strip_prefix('/') {
        Some(rooted) => {
            context.sites.of(path).generator.folders().first().and_then(|root| paths::normalise(root, rooted))
        }
        None => paths::normalise(paths::folder(path), &address.path),
    };
    let Some(place) = place.filter(|place| context.sites.holds(place)) else { return Ok(None) };
    let folder = paths::folder(&place);
    let stem = if page::is_page(&place) { paths::stem(&place) } else { paths::file_name(&place) };
    let pages = context.pages_in(folder)?;
    let Some(near) = pages.nearest(stem) else { return Ok(None) };
    Ok(target.rfind(stem).map(|at| format!("{}{near}{}", &target[..at], &target[at + stem.len()..])))
}
