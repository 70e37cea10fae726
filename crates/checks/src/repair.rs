//! What a broken link must have meant, where that is proven; and what it may have meant, where it is not.
//!
//! A link is only looked at if the model of the site says that its target is missing, and a new target is only given if
//! the same model says that it is there and leads to the file that the proof names.

mod anchor;
mod places;
mod written;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::rc::Rc;

use crate::context::Context;
use crate::link::{Judgement, LinkFault, judge};
use crate::page::{self, Link, LinkKind, Page};
use crate::resolve::{Verdict, resolve};
use crate::site::{Asked, Sites, address};
use crate::{Files, paths};

use places::{FileIndex, Moved, Redirected};

/// How many letters are compared for near anchors in all; a page of nothing but broken anchors does not take for ever.
const MOST_COMPARED: usize = 200_000_000;
/// How many candidates of a link are named.
const MOST_CANDIDATES: usize = 3;

/// A link that is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenLink {
    /// The link, with its place.
    pub link: Link,
    /// Whether the page is there and only the place in it is missing.
    pub only_anchor: bool,
    pub meant: Meant,
}

/// What a broken link meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meant {
    /// This target, for this reason. The target is there.
    Proven { target: String, proof: Proof },
    /// Nobody can tell; these come into question.
    Unknown { candidates: Vec<String> },
}

/// Why a new target is the one that was meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Only case, ending or slash differ.
    Spelling,
    /// The history has renamed the file.
    Rename,
    /// A redirect of the site leads there.
    Redirect,
    /// No other place of the page has nearly this name.
    Anchor,
}

/// Repairs links of a tree of files.
pub struct Repairs<'a> {
    context: Context<'a>,
    files: FileIndex,
    renames: Vec<(String, String)>,
    moved: RefCell<HashMap<usize, Rc<Moved>>>,
    redirected: RefCell<HashMap<usize, Rc<Redirected>>>,
    compared: Cell<usize>,
}

impl<'a> Repairs<'a> {
    /// `renames` are those of the history, the newest first.
    pub fn new(files: &'a dyn Files, sites: &'a Sites, renames: &[(String, String)]) -> io::Result<Self> {
        let context = Context::new(files, sites);
        let all = context.look.list("")?;
        Ok(Self {
            files: FileIndex::of(&all),
            renames: places::last_names(renames, &all),
            context,
            moved: RefCell::default(),
            redirected: RefCell::default(),
            compared: Cell::new(0),
        })
    }

    /// The page as its site reads it.
    pub fn parse(&self, path: &str, text: &str) -> Page {
        page::parse_as(path, text, &self.context.sites.of(path).generator.dialect())
    }

    /// The links of a page that are broken for certain, in order, and what they meant.
    pub fn broken(&self, path: &str, page: &Page) -> io::Result<Vec<BrokenLink>> {
        let mut broken: Vec<BrokenLink> = Vec::new();
        for link in page.links.iter().filter(|link| link.kind == LinkKind::Page) {
            // Links by reference share the place of their definition.
            if broken.last().is_some_and(|last| last.link.range == link.range) {
                continue;
            }
            let (only_anchor, meant) = match judge(&self.context, path, link)?.fault {
                None => continue,
                Some(LinkFault::Nowhere) => (false, self.page_meant(path, link)?),
                Some(LinkFault::NoAnchor { page, fragment }) => {
                    (true, self.anchor_meant(path, link, &page, &fragment)?)
                }
            };
            broken.push(BrokenLink { link: link.clone(), only_anchor, meant });
        }
        Ok(broken)
    }

    /// What a link to a place meant whose page is there.
    fn anchor_meant(&self, path: &str, link: &Link, page: &str, fragment: &str) -> io::Result<Meant> {
        let before = link.target.split('#').next().unwrap_or_default();
        let Some(near) = self.near_anchor(page, fragment)? else {
            let candidates = self.anchor_candidates(page, fragment)?;
            return Ok(Meant::Unknown { candidates });
        };
        let target = format!("{before}#{}", written::encoded(&near));
        let judgement = self.judge_as(path, link, &target)?;
        if judgement.fault.is_none() && judgement.anchor == Some(Ok(())) {
            return Ok(Meant::Proven { target, proof: Proof::Anchor });
        }
        Ok(Meant::Unknown { candidates: vec![target] })
    }

    /// The one anchor of a page that is nearly the fragment.
    fn near_anchor(&self, page: &str, fragment: &str) -> io::Result<Option<String>> {
        let Some(facts) = self.context.facts(page)? else { return Ok(None) };
        let wanted = self.context.sites.of(page).generator.dialect().ids.fragment(fragment);
        let cost = facts.anchors.len().saturating_mul(wanted.len() + 16);
        self.compared.set(self.compared.get().saturating_add(cost));
        if self.compared.get() > MOST_COMPARED {
            return Ok(None);
        }
        let near = anchor::only_near(&wanted, facts.anchors.iter().map(String::as_str));
        Ok(near.filter(|near| facts.is_undisputed(near)).map(str::to_owned))
    }

    fn anchor_candidates(&self, page: &str, fragment: &str) -> io::Result<Vec<String>> {
        let Some(facts) = self.context.facts(page)? else { return Ok(Vec::new()) };
        if self.compared.get() > MOST_COMPARED {
            return Ok(Vec::new());
        }
        let sure = facts.headings.iter().filter(|anchor| facts.is_undisputed(anchor));
        let found = anchor::candidates(fragment, sure.map(String::as_str));
        Ok(found.into_iter().take(MOST_CANDIDATES).map(|anchor| format!("#{anchor}")).collect())
    }

    /// What a link meant that leads nowhere.
    fn page_meant(&self, path: &str, link: &Link) -> io::Result<Meant> {
        let places = self.places(path, &link.target)?;
        let proofs = [
            (Proof::Spelling, self.files_by_spelling(path, &places)?),
            (Proof::Rename, self.files_by_rename(path, &places)),
            (Proof::Redirect, self.files_by_redirect(path, &places)?),
        ];
        let mut candidates = Vec::new();
        for (proof, files) in proofs {
            match files.as_slice() {
                [] => {}
                [file] => {
                    if let Some(target) = self.target_for(path, link, file, &places)? {
                        return Ok(Meant::Proven { target, proof });
                    }
                    candidates.push(file.clone());
                }
                several => candidates.extend(several.iter().cloned()),
            }
        }
        let named = address(&link.target).map(|address| self.files.of_name(&address.path)).unwrap_or_default();
        candidates.extend(named.iter().filter(|file| *file != path).take(MOST_CANDIDATES).cloned());
        let mut seen = std::collections::HashSet::new();
        candidates.retain(|file| seen.insert(file.clone()));
        candidates.truncate(MOST_CANDIDATES);
        Ok(Meant::Unknown { candidates })
    }

    fn judge_as(&self, path: &str, link: &Link, target: &str) -> io::Result<Judgement> {
        judge(&self.context, path, &Link { target: target.to_owned(), ..link.clone() })
    }

    /// The file that a target leads to from a page; none unless that is certain.
    fn leads_to(&self, path: &str, link: &Link, target: &str) -> io::Result<Option<String>> {
        let judgement = self.judge_as(path, link, target)?;
        if judgement.fault.is_some() || judgement.target != Some(Ok(())) {
            return Ok(None);
        }
        let Some(address) = address(target) else { return Ok(None) };
        let site = self.context.sites.of(path);
        let at = self.context.table(site)?.address_of(path).filter(|_| !address.path.starts_with('/'));
        let asked = Asked { page: path, at, kind: link.kind, in_tag: link.in_tag, path: &address.path };
        match resolve(&self.context, site, &asked)? {
            Verdict::There(files) => Ok(files.into_iter().next()),
            Verdict::Missing | Verdict::Elsewhere | Verdict::NotJudged(_) => Ok(None),
        }
    }

    /// How the link is written that leads to a file, its fragment included; none if there is no certain way.
    fn target_for(&self, path: &str, link: &Link, file: &str, places: &[places::Place]) -> io::Result<Option<String>> {
        let (before, fragment) =
            link.target.split_once('#').map_or((link.target.as_str(), None), |(a, b)| (a, Some(b)));
        let (old, query) = before.split_at(before.find('?').unwrap_or(before.len()));
        let site = self.context.sites.of(path);
        let table = self.context.table(site)?;
        let ends = written::Ends { page: path, at: table.address_of(path), file, address: table.address_of(file) };
        for form in written::forms(old, &ends, places) {
            let target = format!("{form}{query}");
            if self.leads_to(path, link, &target)?.as_deref() != Some(file) {
                continue;
            }
            let Some(fragment) = fragment.filter(|fragment| !fragment.is_empty()) else { return Ok(Some(target)) };
            return self.with_fragment(path, link, &target, fragment);
        }
        Ok(None)
    }

    /// The target with the fragment that it had, or the one that was meant by it.
    fn with_fragment(&self, path: &str, link: &Link, target: &str, fragment: &str) -> io::Result<Option<String>> {
        let kept = format!("{target}#{fragment}");
        let judgement = self.judge_as(path, link, &kept)?;
        match judgement.fault {
            // A place that cannot be judged is none that is known to be there.
            None => Ok(judgement.anchor.is_none_or(|anchor| anchor.is_ok()).then_some(kept)),
            Some(LinkFault::NoAnchor { page, fragment }) => match self.near_anchor(&page, &fragment)? {
                Some(near) => {
                    let target = format!("{target}#{}", written::encoded(&near));
                    let judgement = self.judge_as(path, link, &target)?;
                    Ok((judgement.fault.is_none() && judgement.anchor == Some(Ok(()))).then_some(target))
                }
                None => Ok(None),
            },
            Some(LinkFault::Nowhere) => Ok(None),
        }
    }
}

/// The one of several files, once each.
fn distinct(mut files: Vec<String>) -> Vec<String> {
    files.sort_unstable();
    files.dedup();
    files
}

/// A path or address without what spelling may change: case, the ending of a page, the name of an index, slashes.
fn folded(path: &str) -> String {
    let lower = path.to_lowercase();
    let parts: Vec<&str> = lower.split('/').filter(|part| !part.is_empty()).collect();
    let plain = parts.join("/");
    let bare = match paths::extension(&plain).as_str() {
        "md" | "mdx" | "markdown" | "html" | "htm" => &plain[..plain.rfind('.').unwrap_or(plain.len())],
        _ => plain.as_str(),
    };
    let is_index = matches!(paths::file_name(bare), "index" | "readme" | "_index");
    if is_index { paths::folder(bare).to_owned() } else { bare.to_owned() }
}
