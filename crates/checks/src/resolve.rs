//! Where a link of a page leads. A link is called broken only where that is certain.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, PoisonError, RwLock};

use crate::page::LinkKind;
use crate::site::{Rules, Site};
use crate::{Files, paths};

/// Files, with what was asked about them kept.
pub(crate) struct Look<'a> {
    pub(crate) files: &'a dyn Files,
    exists: RwLock<HashMap<String, bool>>,
    lists: RwLock<HashMap<String, Arc<Vec<String>>>>,
}

impl<'a> Look<'a> {
    pub(crate) fn new(files: &'a dyn Files) -> Self {
        Self { files, exists: RwLock::default(), lists: RwLock::default() }
    }

    pub(crate) fn exists(&self, path: &str) -> io::Result<bool> {
        if let Some(known) = self.exists.read().unwrap_or_else(PoisonError::into_inner).get(path) {
            return Ok(*known);
        }
        let exists = self.files.exists(path)?;
        self.exists.write().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), exists);
        Ok(exists)
    }

    pub(crate) fn list(&self, folder: &str) -> io::Result<Arc<Vec<String>>> {
        if let Some(known) = self.lists.read().unwrap_or_else(PoisonError::into_inner).get(folder) {
            return Ok(Arc::clone(known));
        }
        let list = Arc::new(self.files.list(folder)?);
        self.lists.write().unwrap_or_else(PoisonError::into_inner).insert(folder.to_owned(), Arc::clone(&list));
        Ok(list)
    }
}

/// What a link leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Elsewhere, or nobody can say.
    Unknown,
    /// To these files, of which any may be meant; none if something other than a file answers.
    Found(Vec<String>),
    Missing,
}

/// A link's address in parts, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) path: String,
    pub(crate) fragment: Option<String>,
}

/// Takes a local address apart; none if it leads elsewhere or is made up by a template.
pub(crate) fn address(target: &str) -> Option<Address> {
    let target = target.trim();
    if target.is_empty()
        || target.starts_with("//")
        || target.contains(['{', '}', '<', '>', '\\', '$', '\0', '\n'])
        || has_scheme(target)
    {
        return None;
    }
    let (rest, fragment) = target.split_once('#').map_or((target, None), |(rest, fragment)| (rest, Some(fragment)));
    let path = rest.split('?').next().unwrap_or_default();
    if path.is_empty() && rest.contains('?') {
        return None;
    }
    let fragment = fragment.map(|fragment| decoded(fragment).unwrap_or_else(|| fragment.to_owned()));
    Some(Address { path: decoded(path)?, fragment })
}

fn has_scheme(target: &str) -> bool {
    let scheme = target.split(['/', '#', '?']).next().unwrap_or_default();
    scheme.split_once(':').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

/// Percent-encoding resolved; none if it is wrong or hides a slash.
fn decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte == b'%' {
            let byte = text.get(at + 1..at + 3).and_then(|digits| u8::from_str_radix(digits, 16).ok())?;
            if matches!(byte, b'/' | 0 | b'\\') {
                return None;
            }
            out.push(byte);
            at += 3;
        } else {
            out.push(byte);
            at += 1;
        }
    }
    String::from_utf8(out).ok()
}

/// A link as far as resolving needs it.
pub(crate) struct Asked<'a> {
    pub(crate) page: &'a str,
    pub(crate) kind: LinkKind,
    pub(crate) in_tag: bool,
    /// The path of its address, decoded, not empty.
    pub(crate) path: &'a str,
}

/// Where a link leads, by the rules of its site.
pub(crate) fn resolve(look: &Look<'_>, site: &Site, asked: &Asked<'_>) -> io::Result<Verdict> {
    let Some(plan) = plan(site, asked) else { return Ok(Verdict::Unknown) };
    let mut found = Vec::new();
    for candidate in plan.candidates {
        if !candidate.is_empty() && !found.contains(&candidate) && look.exists(&candidate)? {
            found.push(candidate);
        }
    }
    if !found.is_empty() {
        return Ok(Verdict::Found(found));
    }
    if let Some((_, navigation)) = &site.navigation
        && plan.address.iter().any(|address| navigation.redirects(&format!("/{address}")))
    {
        return Ok(Verdict::Found(Vec::new()));
    }
    if !plan.certain || is_made_up(look, site, &plan.address)? {
        return Ok(Verdict::Unknown);
    }
    Ok(Verdict::Missing)
}

/// Where to look for what a link leads to.
struct Plan {
    candidates: Vec<String>,
    /// Whether it is certain that nothing is there if none of the candidates exists.
    certain: bool,
    /// The addresses in the site, without a leading slash, that the link may mean.
    address: Vec<String>,
}

fn plan(site: &Site, asked: &Asked<'_>) -> Option<Plan> {
    match asked.kind {
        LinkKind::Snippet => snippet_plan(site, asked),
        LinkKind::Image => image_plan(site, asked),
        LinkKind::Page => match asked.path.strip_prefix('/') {
            Some(rooted) => rooted_plan(site, rooted),
            None => relative_plan(site, asked),
        },
    }
}

/// Folders that a relative address may start from, the page's own first; none if it leaves the repository from there.
fn bases(site: &Site, asked: &Asked<'_>) -> Option<Vec<String>> {
    let folder = paths::folder(asked.page);
    let mut bases = vec![paths::normalise(folder, asked.path)?];
    // Where a page is served as a folder, addresses in it start one level deeper.
    let inside = paths::join(folder, paths::stem(asked.page));
    bases.extend(paths::normalise(&inside, asked.path));
    bases.extend(paths::normalise(&site.root, asked.path));
    if site.rules == Rules::Docusaurus {
        bases.extend(paths::normalise(&paths::join(&site.root, "docs"), asked.path));
    }
    Some(bases)
}

fn relative_plan(site: &Site, asked: &Asked<'_>) -> Option<Plan> {
    if is_partial(site, asked.page) {
        return None;
    }
    let bases = bases(site, asked)?;
    let ending = paths::extension(asked.path);
    let by_address = matches!(site.rules, Rules::Mintlify | Rules::VitePress) && !site.open;
    let certain = match ending.as_str() {
        "md" | "mdx" | "markdown" => !site.open && !is_translation(site, asked.page),
        "html" | "htm" => false,
        _ if paths::is_image(asked.path) => site.rules != Rules::Other && !site.open,
        "" => by_address,
        // `v1.2` is a name.
        other => by_address && other.bytes().all(|b| b.is_ascii_digit()),
    };
    let address = bases.iter().filter_map(|base| below(base, &site.root)).collect();
    let candidates = bases.iter().flat_map(|base| page_files(base)).collect();
    Some(Plan { candidates, certain, address })
}

fn rooted_plan(site: &Site, path: &str) -> Option<Plan> {
    let path = paths::normalise("", path)?;
    let base = paths::join(&site.root, &path);
    let base = base.trim_end_matches('/');
    let mut candidates = page_files(base);
    let certain = match site.rules {
        Rules::Mintlify => !site.open && !is_served(&path),
        Rules::VitePress => {
            candidates.push(paths::join(&paths::join(&site.root, "public"), &path));
            !site.open && matches!(paths::extension(&path).as_str(), "" | "md" | "html")
        }
        _ => return None,
    };
    Some(Plan { candidates, certain, address: vec![path] })
}

fn image_plan(site: &Site, asked: &Asked<'_>) -> Option<Plan> {
    if !paths::is_image(asked.path) || site.rules == Rules::Other {
        return None;
    }
    let folder = |name: &str, path: &str| paths::join(&paths::join(&site.root, name), path);
    let everywhere = |path: &str| ["static", "public", "assets"].map(|name| folder(name, path));
    if let Some(path) = asked.path.strip_prefix('/') {
        let path = paths::normalise("", path)?;
        let certain = match site.rules {
            Rules::Mintlify | Rules::VitePress => !site.open,
            Rules::Docusaurus => !site.open && !asked.in_tag,
            _ => return None,
        };
        let mut candidates = vec![paths::join(&site.root, &path)];
        candidates.extend(everywhere(&path));
        return Some(Plan { candidates, certain, address: vec![path] });
    }
    if is_partial(site, asked.page) || asked.path.starts_with(['@', '~']) {
        return None;
    }
    let mut candidates = bases(site, asked)?;
    if let Some(path) = paths::normalise("", asked.path) {
        candidates.extend(everywhere(&path));
    }
    let certain = !site.open && !is_translation(site, asked.page);
    Some(Plan { candidates, certain, address: Vec::new() })
}

fn snippet_plan(site: &Site, asked: &Asked<'_>) -> Option<Plan> {
    let is_mintlify = site.rules == Rules::Mintlify;
    let starts = if asked.in_tag && is_mintlify {
        let path = asked.path.trim_start_matches('/');
        ["snippets", "_snippets", ""]
            .iter()
            .filter_map(|name| paths::normalise(&paths::join(&site.root, name), path))
            .collect()
    } else if let Some(path) = asked.path.strip_prefix('/').filter(|_| is_mintlify) {
        vec![paths::normalise(&site.root, path)?]
    } else if asked.path.starts_with('.') && !asked.in_tag {
        vec![paths::normalise(paths::folder(asked.page), asked.path)?]
    } else {
        return None;
    };
    let mut candidates: Vec<String> = starts.clone();
    for start in &starts {
        for extension in ["mdx", "md", "jsx", "tsx", "js", "ts", "json"] {
            candidates.extend([format!("{start}.{extension}"), paths::join(start, &format!("index.{extension}"))]);
        }
    }
    Some(Plan { candidates, certain: true, address: Vec::new() })
}

/// The files that an address may stand for.
fn page_files(base: &str) -> Vec<String> {
    let swap = |from: &str, to: &str| format!("{}{to}", &base[..base.len() - from.len()]);
    let mut files = vec![base.to_owned()];
    match paths::extension(base).as_str() {
        "md" => files.push(swap("md", "mdx")),
        "mdx" => files.push(swap("mdx", "md")),
        "html" => files.extend([swap("html", "md"), swap("html", "mdx")]),
        _ => {
            files.extend([format!("{base}.mdx"), format!("{base}.md"), format!("{base}.markdown")]);
            let names = ["index.mdx", "index.md", "README.md", "README.mdx", "readme.md", "_index.md"];
            files.extend(names.map(|name| paths::join(base, name)));
        }
    }
    files
}

fn below(path: &str, root: &str) -> Option<String> {
    if root.is_empty() {
        return Some(path.to_owned());
    }
    if path == root {
        return Some(String::new());
    }
    path.strip_prefix(root)?.strip_prefix('/').map(str::to_owned)
}

/// Whether a page is only a part of others, so that its relative links start elsewhere.
pub(crate) fn is_partial(site: &Site, page: &str) -> bool {
    let name = paths::file_name(page);
    let inside = below(page, &site.root).unwrap_or_default();
    let is_snippet = inside.split('/').any(|part| matches!(part, "snippets" | "_snippets" | "_partials" | "_includes"));
    is_snippet || name.starts_with('_') && name != "_index.md"
}

/// A translation may link to pages that are only there in the first language.
fn is_translation(site: &Site, page: &str) -> bool {
    site.rules == Rules::Docusaurus && page.split('/').any(|part| part == "i18n" || part == "versioned_docs")
}

/// What Mintlify serves although there is no file of it.
fn is_served(path: &str) -> bool {
    const NAMES: [&str; 9] =
        ["llms.txt", "llms-full.txt", "sitemap.xml", "robots.txt", "skill.md", "mcp", "_mintlify", "login", "logout"];
    let first = path.split('/').next().unwrap_or_default();
    NAMES.contains(&first) || first == ".well-known" || path.ends_with("rss.xml")
}

/// Whether an address without a file may still be answered: by pages from an API description, by a route with a
/// parameter, or by a folder, which shows its first page.
fn is_made_up(look: &Look<'_>, site: &Site, addresses: &[String]) -> io::Result<bool> {
    for address in addresses {
        let generated = site.navigation.iter().flat_map(|(_, navigation)| &navigation.generated);
        if generated.into_iter().any(|folder| paths::is_below(address, folder)) {
            return Ok(true);
        }
        let path = paths::join(&site.root, address);
        let path = path.trim_end_matches('/');
        if !path.is_empty() && !look.list(path)?.is_empty() {
            return Ok(true);
        }
        if site.rules == Rules::VitePress {
            let siblings = look.list(paths::folder(path))?;
            if siblings.iter().any(|sibling| sibling.contains('[')) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let local = |path: &str, fragment: Option<&str>| {
            Some(Address { path: path.to_owned(), fragment: fragment.map(str::to_owned) })
        };
        for (target, expected) in [
            ("a.md", local("a.md", None)),
            ("/a/b?x=1#c", local("/a/b", Some("c"))),
            ("#top", local("", Some("top"))),
            ("a%20b.md#%C3%A9", local("a b.md", Some("é"))),
            ("v1:2/x", local("v1:2/x", None).filter(|_| false)),
            ("https://x", None),
            ("mailto:a@b", None),
            ("//host/x", None),
            ("{{ x }}", None),
            ("?q=1", None),
            ("a%2Fb", None),
            ("a%zz", None),
            ("", None),
        ] {
            assert_eq!(address(target), expected, "{target}");
        }
    }
}
