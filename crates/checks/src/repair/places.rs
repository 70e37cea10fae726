//! Which files a missing place may have been: by spelling, by the history, by redirects.

use std::collections::{HashMap, HashSet};
use std::io;
use std::rc::Rc;

use super::{Repairs, distinct, folded};
use crate::page::LinkKind;
use crate::resolve::{Verdict, at_address};
use crate::site::{Asked, Front, Site, Table, Way, address};
use crate::{page, paths, redirects};

/// A longer chain of renames is not followed.
const LONGEST_CHAIN: usize = 50;

/// A place at which a link looks for its target.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    File(String),
    Address(String),
}

/// The files by what spelling leaves of their paths, and by name.
pub(super) struct FileIndex {
    by_spelling: HashMap<String, Vec<String>>,
    pages_by_name: HashMap<String, Vec<String>>,
}

impl FileIndex {
    pub(super) fn of(all: &[String]) -> Self {
        let mut index = Self { by_spelling: HashMap::new(), pages_by_name: HashMap::new() };
        for file in all {
            index.by_spelling.entry(folded(file)).or_default().push(file.clone());
            if let Some(name) = name_of(file).filter(|_| page::is_page(file)) {
                index.pages_by_name.entry(name).or_default().push(file.clone());
            }
        }
        index
    }

    /// Pages with the name that a link says, wherever they are.
    pub(super) fn of_name(&self, target: &str) -> &[String] {
        name_of(target).and_then(|name| self.pages_by_name.get(&name)).map_or(&[], Vec::as_slice)
    }
}

fn name_of(path: &str) -> Option<String> {
    let folded = folded(path);
    let name = paths::file_name(&folded);
    (!matches!(name, "" | "." | "..")).then(|| name.to_owned())
}

/// What files are called now that had other names, for the addresses of a site.
#[derive(Default)]
pub(super) struct Moved {
    by_address: HashMap<String, Vec<String>>,
}

/// Where redirects of a site lead, those without wildcards.
#[derive(Default)]
pub(super) struct Redirected {
    by_source: HashMap<String, String>,
}

/// Each old name with the last one of the same file, if that is there now.
pub(super) fn last_names(renames: &[(String, String)], all: &[String]) -> Vec<(String, String)> {
    let there: HashSet<&str> = all.iter().map(String::as_str).collect();
    let mut next: HashMap<&str, &str> = HashMap::new();
    let mut last = Vec::new();
    // The newest first: what a file was renamed to may have been renamed since.
    for (old, new) in renames {
        let mut now = new.as_str();
        for _ in 0..LONGEST_CHAIN {
            match next.get(now) {
                Some(newer) if !there.contains(now) => now = newer,
                _ => break,
            }
        }
        next.entry(old).or_insert(new);
        if there.contains(now) && !there.contains(old.as_str()) {
            last.push((old.clone(), now.to_owned()));
        }
    }
    last.sort_unstable();
    last.dedup();
    last
}

/// Whether an index is named and the file is a readme, or the other way round: these are two files.
fn is_other_index(written: &str, file: &str) -> bool {
    let stem = |path: &str| paths::stem(path).to_ascii_lowercase();
    let (old, new) = (stem(written), stem(file));
    matches!(old.as_str(), "index" | "readme" | "_index") && old != new
}

impl Repairs<'_> {
    /// Where a link looks for its target.
    pub(super) fn places(&self, path: &str, target: &str) -> io::Result<Vec<Place>> {
        let Some(address) = address(target).filter(|address| !address.path.is_empty()) else { return Ok(Vec::new()) };
        let site = self.context.sites.of(path);
        let at = self.context.table(site)?.address_of(path).filter(|_| !address.path.starts_with('/'));
        let asked = Asked { page: path, at, kind: LinkKind::Page, in_tag: false, path: &address.path };
        let place = |way: Way| match way {
            Way::File(file) | Way::Page(file) => Some(Place::File(file)),
            Way::Address(address) => Some(Place::Address(address)),
            Way::Folder(_) | Way::Package | Way::Label(_) | Way::Elsewhere | Way::Outside(_) | Way::Untold(_) => None,
        };
        Ok(site.generator.ways(&asked).into_iter().filter_map(place).collect())
    }

    /// Files whose path or address differs from a place in nothing but spelling.
    pub(super) fn files_by_spelling(&self, path: &str, places: &[Place]) -> io::Result<Vec<String>> {
        let site = self.context.sites.of(path);
        let table = self.context.table(site)?;
        let mut found = Vec::new();
        // What a program builds from a folder that no known generator reads is not its source.
        let is_plain = site.generator.folders().is_empty();
        for place in places {
            let (written, files) = match place {
                Place::File(file) => (file, self.files.by_spelling.get(&folded(file)).cloned().unwrap_or_default()),
                Place::Address(address) => (address, table.nearly_at(&folded(address), &folded)),
            };
            let is_built = is_plain && matches!(paths::extension(written).as_str(), "html" | "htm");
            found.extend(files.into_iter().filter(|file| !is_built && !is_other_index(written, file)));
        }
        Ok(distinct(found))
    }

    /// What files are called now that were at a place once.
    pub(super) fn files_by_rename(&self, path: &str, places: &[Place]) -> Vec<String> {
        if self.renames.is_empty() {
            return Vec::new();
        }
        let site = self.context.sites.of(path);
        let moved = self.moved(site);
        let mut found = Vec::new();
        for place in places {
            match place {
                Place::File(file) => {
                    let first = self.renames.partition_point(|(old, _)| old < file);
                    let same = self.renames[first..].iter().take_while(|(old, _)| old == file);
                    found.extend(same.map(|(_, new)| new.clone()));
                }
                Place::Address(address) => found.extend(moved.by_address.get(address).into_iter().flatten().cloned()),
            }
        }
        distinct(found)
    }

    fn moved(&self, site: &Site) -> Rc<Moved> {
        if let Some(known) = self.moved.borrow().get(&site.number) {
            return Rc::clone(known);
        }
        let mut moved = Moved::default();
        for (old, new) in &self.renames {
            if self.context.sites.of(old).number == site.number && site.generator.is_page(old) {
                for address in site.generator.addresses(old, &Front::default()) {
                    moved.by_address.entry(address).or_default().push(new.clone());
                }
            }
        }
        let moved = Rc::new(moved);
        self.moved.borrow_mut().insert(site.number, Rc::clone(&moved));
        moved
    }

    /// The page to which the site redirects from where a file would be.
    pub(super) fn files_by_redirect(&self, path: &str, places: &[Place]) -> io::Result<Vec<String>> {
        let site = self.context.sites.of(path);
        let table: &Table = self.context.table(site)?;
        let redirected = self.redirected(site);
        let mut found = Vec::new();
        for place in places {
            let Place::File(file) = place else { continue };
            if !site.generator.is_page(file) {
                continue;
            }
            for address in site.generator.addresses(file, &Front::default()) {
                if let Some(page) = table.alias(&address) {
                    found.push(page.to_owned());
                } else if let Some(destination) = redirected.by_source.get(&address) {
                    found.extend(self.file_at(site, destination)?);
                }
            }
        }
        Ok(distinct(found))
    }

    /// The file that the destination of a redirect is: an address, or with some generators the file itself.
    fn file_at(&self, site: &Site, destination: &str) -> io::Result<Option<String>> {
        if let Verdict::There(files) = at_address(&self.context, site, destination, &mut Vec::new())?
            && let Some(file) = files.into_iter().next()
        {
            return Ok(Some(file));
        }
        for folder in site.generator.folders() {
            let file = paths::join(folder, destination);
            if site.generator.is_page(&file) && self.context.look.exists(&file)? {
                return Ok(Some(file));
            }
        }
        Ok(None)
    }

    fn redirected(&self, site: &Site) -> Rc<Redirected> {
        if let Some(known) = self.redirected.borrow().get(&site.number) {
            return Rc::clone(known);
        }
        let mut redirected = Redirected::default();
        for rule in site.generator.redirects().iter().filter(|rule| !redirects::is_pattern(&rule.source)) {
            // The first rule for an address is the one that counts.
            let destination = address(&rule.destination).map(|address| address.path.trim_matches('/').to_owned());
            if let Some(destination) = destination {
                redirected.by_source.entry(rule.source.trim_matches('/').to_owned()).or_insert(destination);
            }
        }
        let redirected = Rc::new(redirected);
        self.redirected.borrow_mut().insert(site.number, Rc::clone(&redirected));
        redirected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renames_are_followed_to_the_last_name() {
        let pair = |old: &str, new: &str| (old.to_owned(), new.to_owned());
        let all = ["c.md", "z.md", "q.md"].map(str::to_owned);
        let renames = [pair("b.md", "c.md"), pair("a.md", "b.md"), pair("x.md", "gone.md"), pair("z.md", "q.md")];
        assert_eq!(last_names(&renames, &all), [pair("a.md", "c.md"), pair("b.md", "c.md")]);
        // A name that was two files in turn is both.
        let twice = [pair("a.md", "c.md"), pair("a.md", "z.md")];
        assert_eq!(last_names(&twice, &all), [pair("a.md", "c.md"), pair("a.md", "z.md")]);
        // Renames in a circle end.
        assert!(last_names(&[pair("a.md", "b.md"), pair("b.md", "a.md")], &all).is_empty());
    }
}
