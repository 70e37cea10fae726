//! How a link to a file may be written, the likeliest way first: in the manner of the link that was there.

use super::places::Place;
use crate::paths;

/// The page that a link stands in and the file that it is to lead to, with their addresses.
pub(super) struct Ends<'a> {
    pub(super) page: &'a str,
    pub(super) at: Option<&'a str>,
    pub(super) file: &'a str,
    pub(super) address: Option<&'a str>,
}

/// The ways to write the path of a link. Each must be judged before it is taken.
pub(super) fn forms(old: &str, ends: &Ends<'_>, places: &[Place]) -> Vec<String> {
    let mut forms: Vec<String> = Vec::new();
    forms.extend(recased(old, ends.file));
    forms.extend(ends.address.and_then(|address| recased(old, address)));
    let has_ending = !paths::extension(old).is_empty();
    let slash = if old.ends_with('/') { "/" } else { "" };
    if old.starts_with('/') {
        forms.extend(rooted(old, ends, places, slash));
    } else {
        let dot =
            |path: String| if old.starts_with("./") && !path.starts_with('.') { format!("./{path}") } else { path };
        let by_file = encoded(&relative(paths::folder(ends.page), ends.file));
        let by_address = || {
            let (Some(at), Some(address)) = (ends.at, ends.address) else { return Vec::new() };
            [paths::folder(at), at].map(|from| format!("{}{slash}", encoded(&relative(from, address)))).to_vec()
        };
        if has_ending {
            forms.push(dot(by_file));
            forms.extend(by_address().into_iter().map(dot));
        } else {
            // Where files can be named, naming one outlives a new address of it.
            forms.push(dot(format!("{}{slash}", bare(&by_file))));
            forms.push(dot(by_file));
            forms.extend(by_address().into_iter().map(dot));
        }
    }
    // `page.mdx` is a file of its folder's address, which nobody names.
    let is_part = paths::stem(ends.file) == "page" && paths::stem(old) != "page";
    let mut seen = std::collections::HashSet::new();
    forms.retain(|form| {
        let names_part = is_part && paths::stem(form) == "page";
        form != old && !form.is_empty() && !names_part && seen.insert(form.clone())
    });
    forms
}

/// Ways from the root of the site, below the prefix that the old link had.
fn rooted(old: &str, ends: &Ends<'_>, places: &[Place], slash: &str) -> Vec<String> {
    let trimmed = old.trim_end_matches('/');
    let prefix = |known: &str, path: &str| path.strip_suffix(known).filter(|it| it.ends_with('/')).map(str::to_owned);
    let mut forms = Vec::new();
    for place in places {
        match (place, ends.address) {
            (Place::Address(was), Some(address)) => {
                let Some(prefix) = prefix(was, trimmed) else { continue };
                let address = encoded(address);
                let ending = paths::extension(trimmed);
                if !ending.is_empty() && paths::extension(&address).is_empty() {
                    forms.push(format!("{prefix}{address}.{ending}"));
                }
                forms.push(format!("{prefix}{address}{slash}"));
            }
            (Place::File(was), _) => {
                // The old link stood for a file below some folder; the new file may be below the same.
                let Some(root) = was.strip_suffix(trimmed.trim_start_matches('/')) else { continue };
                if let Some(below) = ends.file.strip_prefix(root) {
                    forms.push(format!("/{}", encoded(below)));
                }
            }
            (Place::Address(_), None) => {}
        }
    }
    forms
}

/// The old path with the parts of the new one that differ in case only; none if there are none, or others.
fn recased(old: &str, new: &str) -> Option<String> {
    let mut olds: Vec<&str> = old.split('/').collect();
    let mut rest = new.split('/').rev();
    let mut changed = false;
    for part in olds.iter_mut().rev() {
        if matches!(*part, "" | "." | "..") {
            continue;
        }
        let Some(wanted) = rest.next() else { break };
        let wanted = if paths::extension(part).is_empty() { paths::stem(wanted) } else { wanted };
        if part.to_lowercase() != wanted.to_lowercase() {
            return None;
        }
        changed |= *part != wanted;
        *part = wanted;
    }
    changed.then(|| olds.join("/"))
}

/// A path without the ending of a page, an index as its folder.
fn bare(path: &str) -> &str {
    let stem = [".mdx", ".md", ".markdown"].iter().find_map(|ending| path.strip_suffix(ending)).unwrap_or(path);
    stem.strip_suffix("/index").unwrap_or(stem)
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
pub(super) fn encoded(path: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manner_of_the_old_link_comes_first() {
        let ends = Ends { page: "docs/a/p.md", at: Some("a/p"), file: "docs/b/New.md", address: Some("b/New") };
        let first = |old: &str, places: &[Place]| forms(old, &ends, places).into_iter().next();
        assert_eq!(first("../b/old.md", &[]).as_deref(), Some("../b/New.md"));
        assert_eq!(first("./old", &[]).as_deref(), Some("../b/New"));
        assert_eq!(first("../b/new.md", &[]).as_deref(), Some("../b/New.md"));
        assert_eq!(first("/base/old/", &[Place::Address("old".to_owned())]).as_deref(), Some("/base/b/New/"));
        let next = Ends { page: "app/a/page.mdx", at: Some("a"), file: "app/b/page.mdx", address: Some("b") };
        assert!(forms("./b.mdx", &next, &[]).iter().all(|form| !form.ends_with("page.mdx")));
        assert_eq!(first("/old.md", &[Place::File("docs/old.md".to_owned())]).as_deref(), Some("/b/New.md"));
    }
}
