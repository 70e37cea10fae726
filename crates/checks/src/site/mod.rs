//! Documentation sites in a repository: what each is made with, and by which rules its links are read.

mod address;
mod astro;
mod docusaurus;
mod find;
mod generator;
mod glob;
mod hosted;
mod hugo;
mod ignored;
mod jekyll;
mod liquid;
mod mdbook;
mod mintlify;
mod mkdocs;
mod next;
mod permalinks;
mod plain;
mod shortcodes;
mod sphinx;
mod table;
mod vitepress;
mod ways;

use std::sync::Arc;

use crate::nav::Navigation;
use crate::{names, page, paths};

pub(crate) use address::{Address, Target, address, target};
pub(crate) use generator::{Asked, Filled, Front, Generator, Place, Reason, Rule, Way};
pub(crate) use glob::Glob;
pub(crate) use ignored::Ignored;
pub(crate) use table::Table;

/// What is to be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteSettings {
    /// The folders that hold documentation, or single files; `.` for all of the repository.
    pub docs_paths: Vec<String>,
}

impl Default for SiteSettings {
    fn default() -> Self {
        Self { docs_paths: vec![".".to_owned()] }
    }
}

impl SiteSettings {
    pub fn new(docs_paths: &[String]) -> Self {
        Self { docs_paths: docs_paths.to_vec() }
    }

    /// Whether a file is part of the documentation.
    pub fn holds(&self, path: &str) -> bool {
        self.docs_paths.iter().any(|folder| paths::is_below(path, &paths::plain_folder(folder)))
    }

    /// Where a file lies below the folder of the documentation; none if that is all of the repository, or if it tells code
    /// hosts what the folder is.
    pub(crate) fn below<'p>(&self, path: &'p str) -> Option<&'p str> {
        let folders = self.docs_paths.iter().map(|folder| paths::plain_folder(folder)).filter(|it| !it.is_empty());
        let folder = folders.filter(|folder| paths::is_below(path, folder)).max_by_key(String::len)?;
        paths::below(path, &folder)
            .filter(|below| !below.is_empty() && !paths::stem(path).eq_ignore_ascii_case("readme"))
    }

    /// Whether a site has pages of the documentation, or its configuration lies in it.
    fn concerns(&self, generator: &dyn Generator, config: &str) -> bool {
        self.docs_paths.iter().map(|folder| paths::plain_folder(folder)).any(|asked| {
            let mut folders = generator.folders().into_iter().chain([config]);
            folders.any(|folder| paths::is_below(folder, &asked) || paths::is_below(&asked, folder))
        })
    }

    /// Whether the configuration of a site is looked for in a folder.
    pub(crate) fn is_navigation_folder(&self, folder: &str) -> bool {
        self.folders().iter().any(|known| known == folder)
    }

    /// The folders in which navigation files are looked for: those of the documentation and all above them, and the
    /// usual ones if all of the repository is documentation.
    fn folders(&self) -> Vec<String> {
        let mut folders = vec![String::new()];
        for folder in &self.docs_paths {
            let folder = paths::plain_folder(folder);
            if folder.is_empty() {
                folders.extend(["docs", "doc", "documentation", "website", "site", "book", "guide"].map(str::to_owned));
            }
            let mut above = folder.as_str();
            while !above.is_empty() {
                folders.push(above.to_owned());
                above = paths::folder(above);
            }
        }
        folders.sort();
        folders.dedup();
        folders
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Site {
    pub(crate) generator: Arc<dyn Generator>,
    /// The number of the site among the others.
    pub(crate) number: usize,
    /// The navigation file and what it says, if there is one.
    pub(crate) navigation: Option<(String, Navigation)>,
    /// The file by which it was found.
    pub(crate) config: String,
    /// Why the configuration cannot be read at all: then nobody knows what else answers than what is seen.
    pub(crate) unread: Option<Reason>,
    /// Whether it is of the documentation that is checked. Others are there for the links that lead to them.
    pub(crate) is_asked_for: bool,
}

/// The sites of a repository.
#[derive(Debug, Clone)]
pub struct Sites {
    sites: Vec<Site>,
    plain: Site,
    /// The documentation that is checked.
    asked: SiteSettings,
}

impl Sites {
    /// Whether a file is part of the documentation that is checked.
    pub(crate) fn holds(&self, path: &str) -> bool {
        self.asked.holds(path)
    }

    /// Whether a file is the navigation of a site.
    pub(crate) fn is_navigation(&self, path: &str) -> bool {
        self.navigations().any(|(navigation, _)| navigation == path)
    }

    /// The site that a page belongs to.
    pub(crate) fn of(&self, path: &str) -> &Site {
        let of_site = |site: &&Site| -> Option<usize> {
            let folders = site.generator.folders().into_iter().filter(|folder| paths::is_below(path, folder));
            folders.map(str::len).max()
        };
        let sites = self.sites.iter().filter_map(|site| of_site(&site).map(|length| (length, site)));
        let site = sites.max_by_key(|(length, _)| *length).map(|(_, site)| site);
        // Parts of pages may lie anywhere in the folder of a site, but what code hosts show is not of it.
        let roots = self.sites.iter().filter(|site| paths::is_below(path, site.generator.root()));
        let around = roots.max_by_key(|site| site.generator.root().len());
        let is_part = |site: &Site| site.generator.source().is_some_and(|source| paths::is_below(path, &source));
        let is_shown = |site: &Site| !site.generator.root().is_empty() || paths::extension(path) == "mdx";
        let around = around.filter(|site| is_shown(site) || is_part(site));
        match site.or(around) {
            Some(site) if is_aside(path) && !site.generator.is_page(path) => &self.plain,
            Some(site) if site.generator.leaves_out(path) => &self.plain,
            Some(site) if is_aside(path) && !is_listed(site, path) => &self.plain,
            Some(site) => site,
            None => &self.plain,
        }
    }

    /// The sites that may read a file as a page: all whose folders reach nearest to it, whatever they make of it then.
    pub(crate) fn around(&self, path: &str) -> Vec<&Site> {
        let reach = |site: &Site| -> Option<usize> {
            let folders = site.generator.folders();
            folders.into_iter().filter(|folder| paths::is_below(path, folder)).map(str::len).max()
        };
        let longest = self.sites.iter().filter_map(reach).max();
        let mut sites: Vec<&Site> =
            self.sites.iter().filter(|site| longest.is_some() && reach(site) == longest).collect();
        if sites.is_empty() {
            sites.push(self.of(path));
        }
        sites
    }

    /// The site that a navigation file is of.
    pub(crate) fn navigated(&self, path: &str) -> Option<&Site> {
        self.sites.iter().find(|site| site.navigation.as_ref().is_some_and(|(known, _)| known == path))
    }

    /// The sites that are checked.
    pub(crate) fn asked_for(&self) -> impl Iterator<Item = &Site> {
        self.sites.iter().filter(|site| site.is_asked_for)
    }

    pub(crate) fn len(&self) -> usize {
        self.sites.len()
    }

    /// Whether no generator makes anything of the repository, not even one that is not known here.
    pub(crate) fn are_plain(&self) -> bool {
        self.sites.is_empty() && self.plain.generator.dialect().ids != page::IdRule::Unknown
    }

    /// The navigation files of what is checked, and what they say.
    pub fn navigations(&self) -> impl Iterator<Item = (&str, &Navigation)> {
        self.asked_for()
            .filter_map(|site| site.navigation.as_ref())
            .map(|(path, navigation)| (path.as_str(), navigation))
    }

    /// The redirects of all sites.
    pub(crate) fn redirects(&self) -> impl Iterator<Item = &Rule> {
        self.sites.iter().flat_map(|site| site.generator.redirects())
    }

    /// Whether links of pages lead to the same places.
    pub(crate) fn has_same_rules(&self, other: &Self) -> bool {
        let rules = |sites: &Self| -> Vec<String> {
            sites
                .sites
                .iter()
                .chain([&sites.plain])
                .map(|site| format!("{:?} {:?}", site.generator, site.unread))
                .collect()
        };
        rules(self) == rules(other)
    }
}

/// Files that code hosts show, and that lie beside the pages of some sites without being of them.
pub(crate) fn is_aside(path: &str) -> bool {
    if paths::extension(path) != "md" {
        return false;
    }
    let stem = paths::stem(path).to_ascii_lowercase();
    let names = ["contributing", "changelog", "code_of_conduct", "security", "agents", "claude", "license"];
    names.contains(&stem.as_str()) || stem == "readme"
}

fn is_listed(site: &Site, path: &str) -> bool {
    if site.generator.name() != "Mintlify" {
        return true;
    }
    site.navigation.as_ref().is_some_and(|(_, navigation)| {
        let written = navigation.written(path);
        navigation.entries.iter().any(|entry| Some(entry.target.trim_matches('/')) == written.as_deref())
    })
}

/// Whether a file is looked through for secrets and invisible characters: pages and the data beside them. What locks
/// versions is full of hashes and nobody reads it; in a change it is looked through as well.
pub(crate) fn is_text(path: &str) -> bool {
    let name = paths::file_name(path);
    let is_locked = name.contains("-lock.") || name.ends_with(".lock") || name == "npm-shrinkwrap.json";
    page::is_page(path) || names::is_documentation(path) && !is_locked
}

/// Whether a file lies in a folder that holds no documentation of its own: packages, and what is hidden.
pub fn is_foreign(path: &str) -> bool {
    path.split('/').rev().skip(1).any(|part| {
        let is_test = matches!(part, "__tests__" | "__fixtures__" | "fixtures" | "testdata");
        matches!(part, "node_modules" | "vendor" | "_vendor" | "third_party" | "__pycache__")
            || is_test
            || part.starts_with('.') && part != ".vitepress"
    })
}
