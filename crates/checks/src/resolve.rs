//! Where a link of a page leads: there, nowhere, or nobody can tell and why.

use std::io;

use crate::context::Context;
use crate::page::{Link, LinkKind};
use crate::site::{Asked, Reason, Rule, Site, Target, Way, target};
use crate::{paths, redirects};

/// What a link leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// To these files; none if something other than a file answers.
    There(Vec<String>),
    Missing,
    /// Out of the site, as to another host.
    Elsewhere,
    NotJudged(Reason),
}

/// Where a link leads, by the rules of its site.
pub(crate) fn resolve(context: &Context<'_>, site: &Site, asked: &Asked<'_>) -> io::Result<Verdict> {
    first_of(context, site, asked.page, site.generator.ways(asked))
}

/// Where the first of these ways leads that leads anywhere.
pub(crate) fn first_of(context: &Context<'_>, site: &Site, page: &str, ways: Vec<Way>) -> io::Result<Verdict> {
    let mut reasons = Vec::new();
    let mut tried = Vec::new();
    for way in ways {
        let found = match way {
            Way::Package => Some(Vec::new()),
            Way::Elsewhere => return Ok(Verdict::Elsewhere),
            Way::Untold(reason) => {
                reasons.push(reason);
                None
            }
            Way::File(path) => {
                let found = context.look.exists(&path)?.then(|| vec![path.clone()]);
                tried.push(path);
                found
            }
            Way::Label(name) => {
                let found = context.labels(site)?.contains(&name.to_lowercase());
                reasons.extend(site.generator.untold_label(&name));
                found.then(Vec::new)
            }
            Way::Outside(address) => {
                if !matches!(at_address(context, site, &address, &mut Vec::new())?, Verdict::There(_)) {
                    reasons.push(Reason::new("it leads outside the site"));
                }
                None
            }
            Way::Folder(path) => (path.is_empty() || !context.look.list(&path)?.is_empty()).then(Vec::new),
            Way::Page(path) => {
                let found = site.generator.is_page(&path) && context.look.exists(&path)?;
                let found = found.then(|| vec![path.clone()]);
                tried.push(path);
                found
            }
            Way::Address(address) => match at_address(context, site, &address, &mut tried)? {
                Verdict::There(mut files) => {
                    // Of several languages or versions the page's own is meant.
                    let own = language(page);
                    let rank = |file: &String| match language(file) {
                        language if language == own => 3,
                        None => 2,
                        Some("en") => 1,
                        Some(_) => 0,
                    };
                    files.sort_by_key(|file| std::cmp::Reverse((rank(file), common(file, page))));
                    Some(files)
                }
                Verdict::Missing | Verdict::Elsewhere => None,
                Verdict::NotJudged(reason) => {
                    reasons.push(reason);
                    None
                }
            },
        };
        if let Some(files) = found {
            return Ok(Verdict::There(files));
        }
    }
    if let Some(reason) = reasons.into_iter().next() {
        return Ok(Verdict::NotJudged(reason));
    }
    if is_made(context, site, &tried) {
        return Ok(Verdict::NotJudged(Reason::ignored()));
    }
    Ok(site.unread.clone().map_or(Verdict::Missing, Verdict::NotJudged))
}

/// Whether `.gitignore` names one of the files that were looked for. What a site makes of its pages is mostly ignored as
/// well, which says nothing of a page that is not there; but a whole folder that is ignored where files answer as they are
/// is one that a program fills.
pub(crate) fn is_made(context: &Context<'_>, site: &Site, tried: &[String]) -> bool {
    let has_folders = !site.generator.folders().is_empty();
    tried.iter().any(|path| {
        let built = path.split('/').find(|part| part.ends_with(".html")).filter(|_| has_folders);
        let made = built.map_or(path.as_str(), |built| paths::folder(&path[..path.find(built).unwrap_or_default()]));
        !made.is_empty() && context.ignored().is_ok_and(|ignored| ignored.holds(made))
    })
}

/// The language in the name of a file: `page.fr.mdx`.
fn language(path: &str) -> Option<&str> {
    let (_, language) = paths::stem(path).rsplit_once('.')?;
    let is_one = (2..=5).contains(&language.len()) && language.chars().all(|c| c.is_ascii_alphabetic() || c == '-');
    is_one.then_some(language)
}

/// How many folders two paths have in common.
fn common(a: &str, b: &str) -> usize {
    a.split('/').zip(b.split('/')).take_while(|(a, b)| a == b).count()
}

/// What answers to an address of the site.
pub(crate) fn at_address(
    context: &Context<'_>,
    site: &Site,
    address: &str,
    tried: &mut Vec<String>,
) -> io::Result<Verdict> {
    at_end(context, site, address, tried, MOST_REDIRECTS)
}

/// How many redirects are followed.
const MOST_REDIRECTS: usize = 3;

/// What answers to an address after so many redirects at most.
fn at_end(
    context: &Context<'_>,
    site: &Site,
    address: &str,
    tried: &mut Vec<String>,
    most: usize,
) -> io::Result<Verdict> {
    let table = context.table(site)?;
    let pages = table.at(address);
    if !pages.is_empty() {
        return Ok(Verdict::There(pages));
    }
    if let Some(page) = table.fallback(address) {
        return Ok(Verdict::There(vec![page.to_owned()]));
    }
    for path in site.generator.files_at(address) {
        if context.look.exists(&path)? {
            return Ok(Verdict::There(vec![path]));
        }
        tried.push(path);
    }
    if let Some(page) = table.alias(address) {
        return Ok(Verdict::There(vec![page.to_owned()]));
    }
    if let Some(rule) = table.redirect(address).and_then(|number| site.generator.redirects().get(number)) {
        return redirected(context, site, rule, address, most);
    }
    if table.has_list(address) {
        return Ok(Verdict::There(Vec::new()));
    }
    for path in site.generator.sources(address) {
        // Notebooks lie where the pages are that programs make of them.
        let notebook = path.rsplit_once('.').map(|(bare, _)| format!("{bare}.ipynb"));
        if notebook.is_some_and(|notebook| context.look.exists(&notebook).unwrap_or(false)) {
            return Ok(Verdict::NotJudged(Reason::new("a program may make it from a notebook")));
        }
        tried.push(path);
    }
    Ok(site.generator.untold(address).map_or(Verdict::Missing, Verdict::NotJudged))
}

/// What answers where a redirect leads. One that leads nowhere is a fault of its own, unless it is for many addresses:
/// then it is one of the address.
fn redirected(context: &Context<'_>, site: &Site, rule: &Rule, address: &str, most: usize) -> io::Result<Verdict> {
    let somewhere = Ok(Verdict::There(Vec::new()));
    let Some(to) = redirects::destination(&rule.source, &rule.destination, address).filter(|_| most > 0) else {
        return somewhere;
    };
    let page = paths::join(site.generator.folders().first().unwrap_or(&""), "index.md");
    let asked = Asked { page: &page, at: None, kind: LinkKind::Page, in_tag: false, path: &to };
    for way in site.generator.ways(&asked) {
        let Way::Address(address) = way else { continue };
        match at_end(context, site, &address, &mut Vec::new(), most - 1)? {
            Verdict::Missing => {}
            Verdict::There(files) => return Ok(Verdict::There(files)),
            _ => return somewhere,
        }
    }
    let is_for_many = redirects::is_pattern(&rule.source) && redirects::is_pattern(&rule.destination);
    if is_for_many { Ok(Verdict::Missing) } else { somewhere }
}

/// What a snippet link of a page takes in.
pub(crate) fn snippet(context: &Context<'_>, path: &str, link: &Link) -> io::Result<Verdict> {
    let Target::Local(address) = target(&link.target) else {
        return Ok(Verdict::NotJudged(Reason::new("a template fills it in")));
    };
    let asked = Asked { page: path, at: None, kind: link.kind, in_tag: link.in_tag, path: &address.path };
    resolve(context, context.sites.of(path), &asked)
}
