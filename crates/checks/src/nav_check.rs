//! The checks of navigation files.

use std::collections::HashSet;
use std::io;

use crate::context::Context;
use crate::finding::finding;
use crate::lines::Lines;
use crate::nav::{Entry, NavKind, Navigation};
use crate::page::LinkKind;
use crate::resolve::{Verdict, resolve};
use crate::site::{Asked, Reason, address};
use crate::tally::{Count, Tally};
use crate::{Check, Finding, link, paths, redirect_check};

/// What is wrong with the navigation files.
pub(crate) fn findings(context: &Context<'_>, tally: &mut Tally) -> io::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (path, navigation) in context.sites.navigations() {
        let Some(text) = context.text(path)? else { continue };
        let lines = Lines::of(&text);
        for problem in &navigation.problems {
            let place = lines.place(problem.at);
            findings.push(finding(Check::Navigation, path, place, problem.message.clone(), problem.message.clone()));
        }
        entries(context, path, navigation, &lines, &mut findings, &mut tally.navigation)?;
    }
    findings.extend(redirect_check::findings(context, &mut tally.redirects)?);
    Ok(findings)
}

fn entries(
    context: &Context<'_>,
    path: &str,
    navigation: &Navigation,
    lines: &Lines<'_>,
    findings: &mut Vec<Finding>,
    count: &mut Count,
) -> io::Result<()> {
    let mut listed = HashSet::new();
    for entry in &navigation.entries {
        context.look.files.go_on()?;
        let verdict = verdict(context, path, navigation, entry)?;
        count.add(&match &verdict {
            Verdict::NotJudged(reason) => Err(reason.clone()),
            _ => Ok(()),
        });
        let place = lines.place(entry.range.start);
        let shown: String = entry.target.chars().take(200).collect();
        if !listed.insert((entry.list, entry.target.trim_matches('/'))) && navigation.kind != NavKind::Summary {
            let message = format!("`{shown}` is listed twice in the same group");
            findings.push(finding(Check::Navigation, path, place, message, format!("twice {shown}")));
        } else if verdict == Verdict::Missing {
            let message = format!("the navigation lists `{shown}`, but there is no such page");
            findings.push(finding(Check::Navigation, path, place, message, entry.target.clone()));
        }
    }
    Ok(())
}

/// Whether there is a page for an entry of the navigation file `path`.
fn verdict(context: &Context<'_>, path: &str, navigation: &Navigation, entry: &Entry) -> io::Result<Verdict> {
    if navigation.kind == NavKind::VitePress {
        return by_address(context, path, entry);
    }
    let target = entry.target.trim_matches('/');
    let files = navigation.files_of(entry);
    if let Some(file) = first_of(context, &files)? {
        return Ok(Verdict::There(vec![file]));
    }
    let reason = if navigation.kind == NavKind::Docusaurus {
        Reason::new("the sidebar may name pages that plugins make")
    } else if navigation.open {
        Reason::new("plugins may make pages")
    } else if files.is_empty() {
        Reason::new("it is not a path in the repository")
    } else if navigation.generated.iter().any(|folder| paths::is_below(target, folder)) {
        Reason::new("a generator makes the pages below it")
    } else if files.iter().any(|file| context.ignored().is_ok_and(|ignored| ignored.holds(file))) {
        Reason::ignored()
    } else {
        return Ok(Verdict::Missing);
    };
    // Whatever else may make pages: what the change has deleted is gone.
    let was_there = context.base.map(|base| first_of(base, &files)).transpose()?.flatten().is_some();
    Ok(if was_there { Verdict::Missing } else { Verdict::NotJudged(reason) })
}

fn first_of(context: &Context<'_>, files: &[String]) -> io::Result<Option<String>> {
    for file in files {
        if context.look.exists(file)? {
            return Ok(Some(file.clone()));
        }
    }
    Ok(None)
}

/// Where an entry that is an address leads, as a link in a page of the site would.
fn by_address(context: &Context<'_>, path: &str, entry: &Entry) -> io::Result<Verdict> {
    let rooted = address(&entry.target).filter(|address| address.path.starts_with('/'));
    let (Some(site), Some(address)) = (context.sites.navigated(path), rooted) else {
        return Ok(Verdict::NotJudged(Reason::new("it is not an address from the root of the site")));
    };
    let asked = Asked { page: path, at: None, kind: LinkKind::Page, in_tag: false, path: &address.path };
    match resolve(context, site, &asked)? {
        Verdict::NotJudged(_) if link::led_to_what_is_gone(context, &asked)? => Ok(Verdict::Missing),
        verdict => Ok(verdict),
    }
}
