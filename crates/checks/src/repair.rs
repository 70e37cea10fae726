//! What a broken link must have meant, where that is not a guess.

use std::collections::HashMap;
use std::io;

use crate::context::Context;
use crate::link::{LinkFault, fault};
use crate::page::{self, Link, LinkKind, Page};
use crate::resolve::address;
use crate::site::{Rules, Sites};
use crate::{Files, paths};

/// A link that is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenLink {
    /// The link, with its place.
    pub link: Link,
    /// The page that it leads to and the fragment, if only the place in that page is missing; none if it leads nowhere.
    pub missing_anchor: Option<(String, String)>,
}

/// The links of a page that are broken for certain, in order. `path` is that of the page.
pub fn broken_links(files: &dyn Files, sites: &Sites, path: &str, page: &Page) -> io::Result<Vec<BrokenLink>> {
    let context = Context::new(files, sites);
    let mut broken = Vec::new();
    for link in &page.links {
        let missing_anchor = match fault(&context, path, link)? {
            None => continue,
            Some(LinkFault::Nowhere) => None,
            Some(LinkFault::NoAnchor { page, fragment }) => Some((page, fragment)),
        };
        broken.push(BrokenLink { link: link.clone(), missing_anchor });
    }
    Ok(broken)
}

/// The one file that a broken link must mean: the only one of `files` with the same name, or else with the same words in
/// its name, in another folder. None if there is no such file, or more than one.
///
/// `target` is the link as written, `page` the path of the page it stands in, `files` the paths that come into question
/// (pages for links, images for images).
pub fn page_for(page: &str, target: &str, files: &[String]) -> Option<String> {
    let path = address(target).filter(|address| !address.path.is_empty())?.path;
    let trimmed = path.trim_matches('/');
    let wanted = named(trimmed)?;
    let others = || files.iter().filter(|file| file.as_str() != page);
    let same_name = |file: &&String| named(file).as_deref() == Some(wanted.as_str());
    let same_words =
        |file: &&String| named(file).is_some_and(|name| page::anchor_key(&name) == page::anchor_key(&wanted));
    let found: Vec<&String> = others().filter(same_name).collect();
    let found = if found.is_empty() { others().filter(same_words).collect() } else { found };
    // Of several with the name, the one whose folder has the link's folder in it, if only one has.
    let folder = paths::file_name(paths::folder(trimmed));
    match found.as_slice() {
        [only] => Some((*only).clone()),
        several => {
            let fits = |file: &&&String| {
                !matches!(folder, "" | "." | "..") && paths::folder(file).split('/').any(|part| part == folder)
            };
            let mut fitting = several.iter().filter(fits);
            fitting.next().filter(|_| fitting.next().is_none()).map(|file| (*file).clone())
        }
    }
}

/// What a file is known by: its name without an ending, or for an index page that of its folder. Other files keep their
/// ending.
fn named(path: &str) -> Option<String> {
    let stem = paths::stem(path);
    let is_index = matches!(stem.to_ascii_lowercase().as_str(), "index" | "readme");
    let name = match paths::extension(path).as_str() {
        _ if is_index => paths::file_name(paths::folder(path)),
        "md" | "mdx" | "markdown" | "html" => stem,
        _ => paths::file_name(path),
    };
    (!matches!(name, "" | "." | "..")).then(|| name.to_owned())
}

/// The one anchor of a page that a fragment must mean: a heading whose words are the same in another order of
/// punctuation, that begins with the fragment or the other way round, or that differs in a letter or two; the only one
/// of these. None if there is no such heading, or more than one.
pub fn anchor_for(fragment: &str, page: &Page) -> Option<String> {
    let wanted = page::anchor_key(fragment);
    if wanted.len() < 3 {
        return None;
    }
    let keys: Vec<(String, &str)> =
        page.headings.iter().map(|heading| (page::anchor_key(&heading.anchor), heading.anchor.as_str())).collect();
    let only = |fits: &dyn Fn(&str) -> bool| {
        let mut found = keys.iter().filter(|(key, _)| fits(key));
        match (found.next(), found.next()) {
            (Some((_, anchor)), None) => Some((*anchor).to_owned()),
            _ => None,
        }
    };
    let extends =
        |key: &str| key.len() >= 4 && wanted.len() >= 4 && (key.starts_with(&wanted) || wanted.starts_with(key));
    only(&|key| key == wanted)
        .or_else(|| only(&extends))
        .or_else(|| nearest(fragment, page.headings.iter().map(|heading| heading.anchor.as_str())).map(str::to_owned))
}

/// How a link is written that leads from `page` to the file `to`, in the manner of the link that was there: from the
/// root of the site or relative, with or without its ending, query and fragment kept. None if the site has no such way.
pub fn relink(sites: &Sites, page: &str, link: &Link, to: &str) -> Option<String> {
    let old = link.target.as_str();
    let path_end = old.find(['#', '?']).unwrap_or(old.len());
    let (path, tail) = old.split_at(path_end);
    let site = sites.of(page);
    let bare = |to: &str| {
        let stem = to.strip_suffix(".mdx").or_else(|| to.strip_suffix(".md")).unwrap_or(to);
        stem.strip_suffix("/index").unwrap_or(stem).to_owned()
    };
    let has_ending = !paths::extension(path).is_empty() || link.kind != LinkKind::Page;
    let new = if path.starts_with('/') {
        if !matches!(site.rules, Rules::Mintlify | Rules::VitePress) {
            return None;
        }
        let below = if site.root.is_empty() { to } else { to.strip_prefix(&site.root)?.strip_prefix('/')? };
        format!("/{}", if has_ending { below.to_owned() } else { bare(below) })
    } else {
        let to = if has_ending { to.to_owned() } else { bare(to) };
        let relative = relative(paths::folder(page), &to);
        if path.starts_with("./") && !relative.starts_with("../") { format!("./{relative}") } else { relative }
    };
    Some(format!("{}{tail}", encoded(&new)))
}

fn relative(folder: &str, to: &str) -> String {
    let from: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let to: Vec<&str> = to.split('/').collect();
    let common = from.iter().zip(to.iter().take(to.len() - 1)).take_while(|(a, b)| a == b).count();
    let mut parts = vec![".."; from.len() - common];
    parts.extend(&to[common..]);
    parts.join("/")
}

/// What would end a link or change its meaning is percent-encoded.
fn encoded(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for c in path.chars() {
        match c {
            ' ' | '(' | ')' | '<' | '>' | '"' | '#' | '?' | '%' | '\\' => {
                out.push_str(&format!("%{:02X}", u32::from(c)))
            }
            _ => out.push(c),
        }
    }
    out
}

/// The one of the names that differs least from `wanted`, if it differs in at most two characters and no other does.
pub(crate) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = match wanted.chars().count() {
        0..=3 => return None,
        4..=6 => 1,
        _ => 2,
    };
    let mut by_distance: HashMap<usize, Vec<&str>> = HashMap::new();
    for name in names.take(5000) {
        if let Some(distance) = distance(wanted, name, allowed) {
            by_distance.entry(distance).or_default().push(name);
        }
    }
    let best = (0..=allowed).find_map(|distance| by_distance.remove(&distance))?;
    if best.iter().all(|name| *name == best[0]) { best.first().copied() } else { None }
}

/// How many characters must be added, dropped or replaced to get from one text to the other; none if more than `most`.
fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    // A character has at most four bytes: what differs more in length differs in more characters.
    if a.len().abs_diff(b.len()) > most * 4 || a.len() > 200 || b.len() > 200 {
        return None;
    }
    Some(strsim::levenshtein(a, b)).filter(|distance| *distance <= most)
}
