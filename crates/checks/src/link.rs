//! Whether a link of a page is broken.

use std::io;

use crate::context::Context;
use crate::page::{self, Link, LinkKind};
use crate::resolve::{Asked, Verdict, address, is_partial, resolve};

/// How deep snippets may take in snippets.
const DEEPEST: usize = 5;

/// Why a link is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LinkFault {
    /// There is nothing where it leads.
    Nowhere,
    /// The page is there, the place in it is not.
    NoAnchor { page: String, fragment: String },
}

/// Why a link of the page `path` is broken; none if it is not, or if that is not certain.
pub(crate) fn fault(context: &Context<'_>, path: &str, link: &Link) -> io::Result<Option<LinkFault>> {
    let site = context.sites.of(path);
    let Some(address) = address(&link.target) else { return Ok(None) };
    let pages = if address.path.is_empty() {
        if is_partial(site, path) {
            return Ok(None);
        }
        vec![path.to_owned()]
    } else {
        let asked = Asked { page: path, kind: link.kind, in_tag: link.in_tag, path: &address.path };
        match resolve(&context.look, site, &asked)? {
            Verdict::Unknown => return Ok(None),
            Verdict::Missing => return Ok(Some(LinkFault::Nowhere)),
            Verdict::Found(files) => files,
        }
    };
    let Some(fragment) = address.fragment.filter(|fragment| link.kind == LinkKind::Page && is_anchor(fragment)) else {
        return Ok(None);
    };
    let key = page::anchor_key(&fragment);
    for page in &pages {
        if !page::is_page(page) || has_anchor(context, page, &key, 0)? {
            return Ok(None);
        }
    }
    Ok(pages.into_iter().next().map(|page| LinkFault::NoAnchor { page, fragment }))
}

/// Whether a page, or a snippet in it, has an anchor; also if that cannot be told.
fn has_anchor(context: &Context<'_>, path: &str, key: &str, depth: usize) -> io::Result<bool> {
    let Some(facts) = context.facts(path)? else { return Ok(true) };
    if key.is_empty() || facts.open || depth > DEEPEST || facts.anchors.contains(key) {
        return Ok(true);
    }
    for link in facts.snippets() {
        match snippet(context, path, link)? {
            Verdict::Unknown => return Ok(true),
            Verdict::Missing => {}
            Verdict::Found(files) => {
                for file in files {
                    if !page::is_page(&file) || has_anchor(context, &file, key, depth + 1)? {
                        return Ok(true);
                    }
                }
            }
        }
    }
    Ok(false)
}

/// What a snippet link of a page takes in.
pub(crate) fn snippet(context: &Context<'_>, path: &str, link: &Link) -> io::Result<Verdict> {
    let Some(address) = address(&link.target).filter(|address| !address.path.is_empty()) else {
        return Ok(Verdict::Unknown);
    };
    let asked = Asked { page: path, kind: link.kind, in_tag: link.in_tag, path: &address.path };
    resolve(&context.look, context.sites.of(path), &asked)
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
