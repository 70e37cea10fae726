//! The checks of navigation files and redirects.

use std::collections::{HashMap, HashSet};
use std::io;

use crate::context::Context;
use crate::finding::finding;
use crate::lines::Lines;
use crate::nav::{Entry, NavKind, Navigation};
use crate::page::LinkKind;
use crate::resolve::{Asked, Verdict, address, resolve};
use crate::{Check, Finding, paths, redirects};

/// What is wrong with the navigation files.
pub(crate) fn findings(context: &Context<'_>) -> io::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (path, navigation) in context.sites.navigations() {
        let Some(text) = context.text(path)? else { continue };
        let lines = Lines::of(&text);
        for problem in &navigation.problems {
            let place = lines.place(problem.at);
            findings.push(finding(Check::Navigation, path, place, problem.message.clone(), problem.message.clone()));
        }
        entries(context, path, navigation, &lines, &mut findings)?;
        redirect_findings(context, path, navigation, &lines, &mut findings)?;
    }
    Ok(findings)
}

fn entries(
    context: &Context<'_>,
    path: &str,
    navigation: &Navigation,
    lines: &Lines<'_>,
    findings: &mut Vec<Finding>,
) -> io::Result<()> {
    let mut listed = HashSet::new();
    for entry in &navigation.entries {
        let place = lines.place(entry.range.start);
        let shown: String = entry.target.chars().take(200).collect();
        if !listed.insert((entry.list, entry.target.trim_matches('/'))) && navigation.kind != NavKind::Summary {
            let message = format!("`{shown}` is listed twice in the same group");
            findings.push(finding(Check::Navigation, path, place, message, format!("twice {shown}")));
        } else if is_missing(context, navigation, entry)? {
            let message = format!("the navigation lists `{shown}`, but there is no such page");
            findings.push(finding(Check::Navigation, path, place, message, entry.target.clone()));
        }
    }
    Ok(())
}

fn is_missing(context: &Context<'_>, navigation: &Navigation, entry: &Entry) -> io::Result<bool> {
    let target = entry.target.trim_matches('/');
    let is_generated = navigation.generated.iter().any(|folder| paths::is_below(target, folder));
    let files = navigation.files_of(entry);
    if navigation.open || is_generated || files.is_empty() || navigation.kind == NavKind::Docusaurus {
        return Ok(false);
    }
    for file in &files {
        if context.look.exists(file)? {
            return Ok(false);
        }
    }
    // A route with a parameter may answer.
    let folder = paths::normalise(&navigation.root, paths::folder(target)).unwrap_or_default();
    let has_route = navigation.kind == NavKind::VitePress
        && context.look.list(&folder)?.iter().any(|sibling| sibling.contains('['));
    Ok(!has_route)
}

fn redirect_findings(
    context: &Context<'_>,
    path: &str,
    navigation: &Navigation,
    lines: &Lines<'_>,
    findings: &mut Vec<Finding>,
) -> io::Result<()> {
    let mut exact: HashMap<&str, &str> = HashMap::new();
    for redirect in navigation.redirects.iter().filter(|redirect| !redirects::is_pattern(&redirect.source)) {
        exact.entry(plain(&redirect.source)).or_insert(plain(&redirect.destination));
    }
    let mut sources = HashSet::new();
    for redirect in &navigation.redirects {
        let shown: String = redirect.source.chars().take(200).collect();
        let mut report = |message: String, subject: String| {
            findings.push(finding(Check::Redirects, path, lines.place(redirect.range.start), message, subject));
        };
        if !sources.insert(plain(&redirect.source)) {
            report(format!("`{shown}` is redirected twice"), format!("twice {shown}"));
        } else if goes_in_circles(&exact, plain(&redirect.source)) {
            report(format!("the redirect from `{shown}` goes in circles"), format!("circle {shown}"));
        } else if leads_nowhere(context, path, &redirect.destination)? {
            let to: String = redirect.destination.chars().take(200).collect();
            let message = format!("the redirect from `{shown}` leads to `{to}`, where there is no page");
            report(message, format!("{shown} {to}"));
        }
    }
    Ok(())
}

/// An address as it is compared: without the slashes around it, the query and the fragment.
fn plain(address: &str) -> &str {
    address.split(['#', '?']).next().unwrap_or_default().trim_matches('/')
}

fn goes_in_circles(exact: &HashMap<&str, &str>, source: &str) -> bool {
    let mut at = source;
    for _ in 0..=exact.len() {
        match exact.get(at) {
            Some(next) if *next == source => return true,
            Some(next) => at = next,
            None => return false,
        }
    }
    // It runs into a circle that it is not part of: the redirects of that circle are reported.
    false
}

fn leads_nowhere(context: &Context<'_>, path: &str, destination: &str) -> io::Result<bool> {
    if redirects::is_pattern(destination) {
        return Ok(false);
    }
    let Some(address) = address(destination).filter(|address| !address.path.is_empty()) else { return Ok(false) };
    let rooted = format!("/{}", address.path.trim_start_matches('/'));
    let site = context.sites.of(path);
    let asked = Asked { page: path, kind: LinkKind::Page, in_tag: false, path: &rooted };
    Ok(resolve(&context.look, site, &asked)? == Verdict::Missing)
}
