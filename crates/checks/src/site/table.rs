//! The addresses of a site.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::OnceLock;

use super::generator::{Front, Generator};
use crate::look::Look;
use crate::redirects::Sources;

/// Which address each page answers to.
#[derive(Debug, Default)]
pub(crate) struct Table {
    files: Vec<String>,
    by_address: HashMap<String, Vec<u32>>,
    by_file: HashMap<String, String>,
    aliases: HashMap<String, u32>,
    fallbacks: HashMap<String, u32>,
    lists: HashSet<String>,
    redirects: Sources,
    /// Made when somebody asks for what is nearly there.
    by_folded: OnceLock<HashMap<String, Vec<u32>>>,
}

impl Table {
    /// Lists the pages of a site; `front` reads the front matter of one.
    pub(crate) fn of(
        generator: &dyn Generator,
        look: &Look<'_>,
        front: &dyn Fn(&str) -> io::Result<Front>,
    ) -> io::Result<Self> {
        // What is for a place in a page leaves the page where it is.
        let sources = generator.redirects().iter().map(|rule| rule.source.as_str());
        let redirects = Sources::of(sources.filter(|source| !source.contains('#')));
        let mut table = Self { redirects, ..Self::default() };
        let mut folders = generator.folders();
        folders.sort_unstable();
        folders.dedup();
        for folder in folders {
            for path in look.list(folder)?.iter().filter(|path| generator.is_page(path)) {
                if table.by_file.contains_key(path) {
                    continue;
                }
                let front = if generator.reads_front_matter() { front(path)? } else { Front::default() };
                table.add(generator, path, &front);
            }
        }
        Ok(table)
    }

    fn add(&mut self, generator: &dyn Generator, path: &str, front: &Front) {
        let number = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        self.files.push(path.to_owned());
        let addresses = generator.addresses(path, front);
        if let Some(first) = addresses.first() {
            self.by_file.insert(path.to_owned(), first.clone());
        }
        for address in addresses {
            let files = self.by_address.entry(address).or_default();
            if !files.contains(&number) {
                files.push(number);
            }
        }
        for address in generator.fallbacks(path, front) {
            self.fallbacks.entry(address).or_insert(number);
        }
        self.lists.extend(generator.lists(path, front));
        for alias in generator.aliases(path, front) {
            self.aliases.insert(alias, number);
        }
    }

    /// The files that answer to an address.
    pub(crate) fn at(&self, address: &str) -> Vec<String> {
        let numbers = self.by_address.get(address).into_iter().flatten();
        numbers.filter_map(|number| self.files.get(*number as usize)).cloned().collect()
    }

    /// The page that an address redirects to by the page's own words.
    pub(crate) fn alias(&self, address: &str) -> Option<&str> {
        self.aliases.get(address).and_then(|number| self.files.get(*number as usize)).map(String::as_str)
    }

    /// Whether a list of pages is at an address.
    pub(crate) fn has_list(&self, address: &str) -> bool {
        self.lists.contains(address)
    }

    /// The number of the redirect of the site that is for an address.
    pub(crate) fn redirect(&self, address: &str) -> Option<usize> {
        self.redirects.find(address)
    }

    /// The page that stands in where there is none.
    pub(crate) fn fallback(&self, address: &str) -> Option<&str> {
        self.fallbacks.get(address).and_then(|number| self.files.get(*number as usize)).map(String::as_str)
    }

    /// The files whose addresses are the same once they are folded; `fold` folds them.
    pub(crate) fn nearly_at(&self, folded: &str, fold: &dyn Fn(&str) -> String) -> Vec<String> {
        let by_folded = self.by_folded.get_or_init(|| {
            let mut by_folded: HashMap<String, Vec<u32>> = HashMap::new();
            for (address, numbers) in &self.by_address {
                by_folded.entry(fold(address)).or_default().extend(numbers);
            }
            by_folded
        });
        let numbers = by_folded.get(folded).into_iter().flatten();
        numbers.filter_map(|number| self.files.get(*number as usize)).cloned().collect()
    }

    /// The address of a page.
    pub(crate) fn address_of(&self, path: &str) -> Option<&str> {
        self.by_file.get(path).map(String::as_str)
    }
}
