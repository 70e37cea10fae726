//! The checks of one page among the others.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, PoisonError, RwLock};

use crate::facts::{PageFacts, PlacedLink, finding, text_findings};
use crate::lines::Lines;
use crate::page::{self, LinkKind};
use crate::resolve::{Asked, Look, Verdict, address, is_partial, resolve};
use crate::site::{Site, Sites};
use crate::{Check, Files, Finding, nav_check, paths, repair};

/// Larger files are not read as pages or navigation.
pub(crate) const LARGEST: usize = 4 * 1024 * 1024;

/// How deep snippets may take in snippets.
const DEEPEST: usize = 5;

/// A tree of files with what is known about it.
pub(crate) struct Context<'a, F: Files + ?Sized> {
    pub(crate) look: Look<'a, F>,
    pub(crate) sites: &'a Sites,
    pages: RwLock<HashMap<String, Option<Arc<PageFacts>>>>,
}

impl<'a, F: Files + ?Sized> Context<'a, F> {
    pub(crate) fn new(files: &'a F, sites: &'a Sites) -> Self {
        Self { look: Look::new(files), sites, pages: RwLock::default() }
    }

    /// What there is to know about a page; none if it cannot be read as text.
    pub(crate) fn facts(&self, path: &str) -> io::Result<Option<Arc<PageFacts>>> {
        if let Some(known) = self.pages.read().unwrap_or_else(PoisonError::into_inner).get(path) {
            return Ok(known.clone());
        }
        let facts = self.text(path)?.map(|text| Arc::new(PageFacts::of(path, &text)));
        self.pages.write().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), facts.clone());
        Ok(facts)
    }

    fn text(&self, path: &str) -> io::Result<Option<String>> {
        let content = self.look.files.read(path)?.filter(|content| content.len() <= LARGEST);
        Ok(content.and_then(|content| String::from_utf8(content).ok()))
    }

    /// The secrets and invisible characters of a file, if it is text. No size and no name keeps them from being seen.
    pub(crate) fn text_findings(&self, path: &str) -> io::Result<Vec<Finding>> {
        let text = self.look.files.read(path)?.and_then(|content| String::from_utf8(content).ok());
        Ok(text.map(|text| text_findings(path, &text, &Lines::of(&text))).unwrap_or_default())
    }

    /// All findings of a file; none if there is no such file.
    pub(crate) fn findings(&self, path: &str) -> io::Result<Vec<Finding>> {
        if !page::is_page(path) {
            return self.text_findings(path);
        }
        if !self.look.exists(path)? {
            return Ok(Vec::new());
        }
        let Some(facts) = self.facts(path)? else {
            let message = format!("the page is not UTF-8 text of at most {LARGEST} bytes");
            let mut findings = self.text_findings(path)?;
            findings.push(finding(Check::Syntax, path, (1, 1), message.clone(), message));
            return Ok(findings);
        };
        let site = self.sites.of(path);
        let is_navigation = self.sites.navigations().any(|(navigation, _)| navigation == path);
        let mut findings = facts.own.clone();
        for link in &facts.links {
            if let Some(fault) = self.judge(site, path, link)?
                && !(is_navigation && fault.0 == Check::Links)
            {
                findings.push(finding(fault.0, path, (link.line, link.column), fault.1, link.target.clone()));
            }
        }
        Ok(findings)
    }

    /// What is wrong with a link: the check and a sentence.
    fn judge(&self, site: &Site, path: &str, link: &PlacedLink) -> io::Result<Option<(Check, String)>> {
        let shown: String = link.target.chars().take(200).collect();
        Ok(match self.fault(site, path, link.kind, &link.target, link.in_tag)? {
            None => None,
            Some(Fault::Nowhere) => Some(match link.kind {
                LinkKind::Image => (Check::Images, format!("the image `{shown}` does not exist")),
                LinkKind::Snippet => (Check::Snippets, format!("the snippet `{shown}` does not exist")),
                LinkKind::Page => {
                    let hint = self.near(path, &link.target)?.map(|near| format!("; did you mean `{near}`?"));
                    (Check::Links, format!("`{shown}` leads nowhere{}", hint.unwrap_or_default()))
                }
            }),
            Some(Fault::NoAnchor { page, fragment }) => {
                let facts = self.facts(&page)?;
                let near = facts
                    .as_ref()
                    .and_then(|facts| repair::nearest(&fragment, facts.headings.iter().map(String::as_str)));
                let hint = near.map(|near| format!("; did you mean `#{near}`?")).unwrap_or_default();
                Some((Check::Anchors, format!("`{shown}`: {page} has no such heading{hint}")))
            }
        })
    }

    /// Why a link is broken; none if it is not, or if that is not certain.
    pub(crate) fn fault(
        &self,
        site: &Site,
        path: &str,
        kind: LinkKind,
        target: &str,
        in_tag: bool,
    ) -> io::Result<Option<Fault>> {
        let Some(address) = address(target) else { return Ok(None) };
        let pages = if address.path.is_empty() {
            if is_partial(site, path) {
                return Ok(None);
            }
            vec![path.to_owned()]
        } else {
            match resolve(&self.look, site, &Asked { page: path, kind, in_tag, path: &address.path })? {
                Verdict::Unknown => return Ok(None),
                Verdict::Missing => return Ok(Some(Fault::Nowhere)),
                Verdict::Found(files) => files,
            }
        };
        let Some(fragment) = address.fragment.filter(|fragment| kind == LinkKind::Page && is_anchor(fragment)) else {
            return Ok(None);
        };
        let key = page::anchor_key(&fragment);
        for page in &pages {
            if !page::is_page(page) || self.has_anchor(page, &key, 0)? {
                return Ok(None);
            }
        }
        Ok(pages.into_iter().next().map(|page| Fault::NoAnchor { page, fragment }))
    }

    /// Whether a page, or a snippet in it, has an anchor; also if that cannot be told.
    fn has_anchor(&self, path: &str, key: &str, depth: usize) -> io::Result<bool> {
        let Some(facts) = self.facts(path)? else { return Ok(true) };
        if key.is_empty() || facts.open || depth > DEEPEST || facts.anchors.contains(key) {
            return Ok(true);
        }
        for link in facts.links.iter().filter(|link| link.kind == LinkKind::Snippet) {
            match self.snippet(path, link)? {
                Verdict::Unknown => return Ok(true),
                Verdict::Missing => {}
                Verdict::Found(files) => {
                    for file in files {
                        if !page::is_page(&file) || self.has_anchor(&file, key, depth + 1)? {
                            return Ok(true);
                        }
                    }
                }
            }
        }
        Ok(false)
    }

    /// What a snippet link of a page takes in.
    pub(crate) fn snippet(&self, path: &str, link: &PlacedLink) -> io::Result<Verdict> {
        match address(&link.target).filter(|address| !address.path.is_empty()) {
            Some(address) => {
                let asked = Asked { page: path, kind: link.kind, in_tag: link.in_tag, path: &address.path };
                resolve(&self.look, self.sites.of(path), &asked)
            }
            None => Ok(Verdict::Unknown),
        }
    }

    /// A page beside the one that a link does not find, with a name that is nearly the same, written as the link is.
    fn near(&self, path: &str, target: &str) -> io::Result<Option<String>> {
        let Some(address) = address(target) else { return Ok(None) };
        let place = match address.path.strip_prefix('/') {
            Some(rooted) => paths::normalise(&self.sites.of(path).root, rooted),
            None => paths::normalise(paths::folder(path), &address.path),
        };
        let Some(place) = place else { return Ok(None) };
        let siblings = self.look.list(paths::folder(&place))?;
        let pages =
            siblings.iter().filter(|sibling| page::is_page(sibling) && paths::folder(sibling) == paths::folder(&place));
        let stem = if page::is_page(&place) { paths::stem(&place) } else { paths::file_name(&place) };
        let Some(near) = repair::nearest(stem, pages.map(|page| paths::stem(page))) else { return Ok(None) };
        Ok(target.rfind(stem).map(|at| format!("{}{near}{}", &target[..at], &target[at + stem.len()..])))
    }

    /// The findings of the navigation files.
    pub(crate) fn navigation_findings(&self) -> io::Result<Vec<Finding>> {
        let mut findings = Vec::new();
        for (path, navigation) in self.sites.navigations() {
            if let Some(text) = self.text(path)? {
                findings.extend(nav_check::findings(self, path, &text, navigation)?);
            }
        }
        Ok(findings)
    }
}

/// Why a link is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// There is nothing where it leads.
    Nowhere,
    /// The page is there, the place in it is not.
    NoAnchor { page: String, fragment: String },
}

/// Whether a fragment names a place in a page: not a line, a footnote, a route or a text to search for.
fn is_anchor(fragment: &str) -> bool {
    let is_line = fragment.strip_prefix('L').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let is_made = fragment.starts_with("__") || fragment.starts_with("fn") || fragment.starts_with("user-content-");
    !fragment.is_empty()
        && fragment != "top"
        && !is_line
        && !is_made
        && !fragment.contains(['/', '=', '&', '?', '~', ':'])
}
