//! The checks of redirects: each leads somewhere, at once, and none goes in circles.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

use crate::context::Context;
use crate::finding::finding;
use crate::lines::Lines;
use crate::page::LinkKind;
use crate::resolve::{Verdict, at_address, is_made, resolve};
use crate::site::{Asked, Place, Reason, Site, address};
use crate::tally::Count;
use crate::{Check, Finding, Severity, paths, redirects};

/// A redirect and where it is written.
struct Written<'a> {
    source: &'a str,
    destination: &'a str,
    place: Place,
}

/// What is wrong with the redirects of the sites that are checked.
pub(crate) fn findings(context: &Context<'_>, count: &mut Count) -> io::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for site in context.sites.asked_for() {
        let (file, redirects) = written(site);
        let mut by_file: BTreeMap<&str, Vec<(usize, Found)>> = BTreeMap::new();
        for (number, found) in faults(context, site, &redirects, count)? {
            let file = redirects[number].place.file.as_deref().unwrap_or(file);
            by_file.entry(file).or_default().push((redirects[number].place.at, found));
        }
        for (file, found) in by_file {
            let text = context.text(file)?.unwrap_or_default();
            let lines = Lines::of(&text);
            findings.extend(found.into_iter().map(|(at, found)| {
                let severity = if found.is_chain { Severity::Warning } else { Severity::Error };
                Finding { severity, ..finding(Check::Redirects, file, lines.place(at), found.message, found.subject) }
            }));
        }
    }
    Ok(findings)
}

/// The redirects of a site, and the file that they are in if none is named.
fn written(site: &Site) -> (&str, Vec<Written<'_>>) {
    if let Some((path, navigation)) = site.navigation.as_ref().filter(|(_, it)| !it.redirects.is_empty()) {
        let written = navigation.redirects.iter().map(|redirect| Written {
            source: &redirect.source,
            destination: &redirect.destination,
            place: Place { file: None, at: redirect.range.start },
        });
        return (path, written.collect());
    }
    let written = site.generator.redirects().iter().filter_map(|rule| {
        let place = rule.place.clone()?;
        Some(Written { source: &rule.source, destination: &rule.destination, place })
    });
    (&site.config, written.collect())
}

struct Found {
    message: String,
    subject: String,
    is_chain: bool,
}

impl Found {
    fn new(message: String, subject: String) -> Self {
        Self { message, subject, is_chain: false }
    }
}

/// What is wrong, by the number of the redirect.
fn faults(
    context: &Context<'_>,
    site: &Site,
    all: &[Written<'_>],
    count: &mut Count,
) -> io::Result<Vec<(usize, Found)>> {
    let mut next: HashMap<&str, &str> = HashMap::new();
    for redirect in all.iter().filter(|redirect| is_exact(redirect.source)) {
        next.entry(plain(redirect.source)).or_insert(plain_here(redirect.destination));
    }
    let circles = circles(&next);
    let mut sources = HashSet::new();
    let mut found = Vec::new();
    for (number, redirect) in all.iter().enumerate() {
        let (from, to) = (short(redirect.source), short(redirect.destination));
        let source = plain(redirect.source);
        let destination = plain_here(redirect.destination);
        let further = next.get(destination).filter(|_| !destination.is_empty() && is_exact(redirect.source));
        let verdict = end(context, site, redirect.destination)?;
        count.add(&match &verdict {
            Verdict::NotJudged(reason) => Err(reason.clone()),
            _ => Ok(()),
        });
        if !sources.insert(redirect.source.trim_matches('/')) {
            found.push((number, Found::new(format!("`{from}` is redirected twice"), format!("twice {from}"))));
        } else if is_exact(redirect.source) && circles.contains(source) {
            let message = format!("the redirect from `{from}` goes in circles");
            found.push((number, Found::new(message, format!("circle {from}"))));
        } else if let Some(further) = further {
            let message =
                format!("the redirect from `{from}` leads to `{to}`, which redirects to `/{}`", short(further));
            found.push((number, Found { is_chain: true, ..Found::new(message, format!("chain {from} {to}")) }));
        } else if verdict == Verdict::Missing {
            let message = format!("the redirect from `{from}` leads to `{to}`, where there is no page");
            found.push((number, Found::new(message, format!("{from} {to}"))));
        }
    }
    Ok(found)
}

fn short(text: &str) -> String {
    text.chars().take(200).collect()
}

/// Whether a redirect is for one address: no wildcards, and not for a place in a page.
fn is_exact(source: &str) -> bool {
    !redirects::is_pattern(source) && !source.contains(['#', '?'])
}

/// An address as it is compared: without the slashes around it, the query and the fragment.
fn plain(address: &str) -> &str {
    address.split(['#', '?']).next().unwrap_or_default().trim_matches('/')
}

/// The same of an address of this site; empty for one of another.
fn plain_here(destination: &str) -> &str {
    if destination.starts_with('/') && !destination.starts_with("//") { plain(destination) } else { "" }
}

/// The sources from which one comes back to where one was. Each is walked over once.
fn circles<'a>(next: &HashMap<&'a str, &'a str>) -> HashSet<&'a str> {
    let mut circles = HashSet::new();
    // Which walk came by first, and at which step.
    let mut walked: HashMap<&str, (usize, usize)> = HashMap::new();
    for (walk, start) in next.keys().enumerate() {
        let mut way: Vec<&str> = Vec::new();
        let mut at = *start;
        while next.contains_key(at) && !walked.contains_key(at) {
            walked.insert(at, (walk, way.len()));
            way.push(at);
            at = next[at];
        }
        if let Some((_, step)) = walked.get(at).filter(|(before, _)| *before == walk) {
            circles.extend(&way[*step..]);
        }
    }
    circles
}

/// Where a redirect leads to.
fn end(context: &Context<'_>, site: &Site, destination: &str) -> io::Result<Verdict> {
    if redirects::is_pattern(destination) {
        return Ok(Verdict::NotJudged(Reason::new("it leads to many addresses")));
    }
    let address = address(destination).filter(|address| !address.path.is_empty());
    let Some(address) = address.filter(|_| !plain_here(destination).is_empty()) else { return Ok(Verdict::Elsewhere) };
    let mut tried = Vec::new();
    let found = at_address(context, site, address.path.trim_matches('/'), &mut tried)?;
    if found != Verdict::Missing {
        return Ok(found);
    }
    // With the base path of the site, as a link would have it.
    let page = paths::join(site.generator.folders().first().unwrap_or(&""), "index.md");
    let asked = Asked { page: &page, at: None, kind: LinkKind::Page, in_tag: false, path: &address.path };
    Ok(match resolve(context, site, &asked)? {
        Verdict::There(files) => Verdict::There(files),
        Verdict::NotJudged(reason) if reason == Reason::ignored() => Verdict::NotJudged(reason),
        _ if is_made(context, site, &tried) => Verdict::NotJudged(Reason::ignored()),
        _ => Verdict::Missing,
    })
}
