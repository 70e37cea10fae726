//! Documentation sites in a repository: where their roots are and by which rules their links resolve.

use std::io;

use crate::nav::{self, NavKind, Navigation};
use crate::{Files, names, page, paths};

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

    /// Whether a path is that of a navigation file where one is looked for.
    pub(crate) fn may_hold_navigation(&self, path: &str) -> bool {
        nav::kind_of(path).is_some()
            && self.folders().iter().any(|folder| candidates().iter().any(|name| paths::join(folder, name) == path))
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

/// The rules by which links of a page resolve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Rules {
    Mintlify,
    MkDocs,
    Book,
    Docusaurus,
    VitePress,
    /// A generator that is not known here: only links to files are certain.
    Other,
    /// No generator: files link to files.
    Plain,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) rules: Rules,
    /// The folder that addresses begin at.
    pub(crate) root: String,
    /// Whether pages may come from elsewhere than the files.
    pub(crate) open: bool,
    /// The navigation file and what it says, if there is one.
    pub(crate) navigation: Option<(String, Navigation)>,
}

/// The sites of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sites {
    sites: Vec<Site>,
    plain: Site,
}

const SCRIPTS: [&str; 5] = ["js", "ts", "mjs", "mts", "cjs"];

/// Files that give away a generator whose rules are not known here.
const OTHER_GENERATORS: [&str; 14] = [
    "hugo.toml",
    "hugo.yaml",
    "hugo.json",
    "config.toml",
    "_config.yml",
    "astro.config.mjs",
    "astro.config.ts",
    "gatsby-config.js",
    ".eleventy.js",
    "eleventy.config.js",
    "_quarto.yml",
    "antora.yml",
    "next.config.mjs",
    "next.config.js",
];

impl Sites {
    /// Finds the sites: looks for the files that every generator has, in the folders of the documentation and above.
    pub fn find(files: &dyn Files, settings: &SiteSettings) -> io::Result<Self> {
        let mut sites = Vec::new();
        let mut plain = Site { rules: Rules::Plain, root: String::new(), open: false, navigation: None };
        for folder in settings.folders() {
            for name in candidates() {
                let path = paths::join(&folder, &name);
                if sites.iter().any(|site| is_second(site, &path)) || !files.exists(&path)? {
                    continue;
                }
                let Some(text) = files.read(&path)?.and_then(|content| String::from_utf8(content).ok()) else {
                    continue;
                };
                sites.extend(site_of(&path, &folder, &text));
            }
            for name in OTHER_GENERATORS {
                if plain.rules == Rules::Plain && files.exists(&paths::join(&folder, name))? {
                    plain.rules = Rules::Other;
                }
            }
        }
        sites.sort_by_key(|site: &Site| usize::MAX - site.root.len());
        Ok(Self { sites, plain })
    }

    /// Whether a path is that of a file by which sites are found.
    pub(crate) fn depends_on(path: &str) -> bool {
        let name = paths::file_name(path);
        nav::kind_of(path).is_some()
            || paths::stem(path) == "docusaurus.config"
            || path.contains(".vitepress/")
            || OTHER_GENERATORS.contains(&name)
    }

    /// The site that a page belongs to.
    pub(crate) fn of(&self, path: &str) -> &Site {
        let site = self.sites.iter().find(|site| paths::is_below(path, &site.root));
        let is_aside = matches!(
            paths::stem(path).to_ascii_lowercase().as_str(),
            "readme" | "contributing" | "changelog" | "code_of_conduct" | "security" | "agents" | "claude"
        );
        match site {
            Some(site) if site.rules == Rules::Mintlify && is_aside && !is_listed(site, path) => &self.plain,
            Some(site) => site,
            None => &self.plain,
        }
    }

    /// The navigation files and what they say.
    pub fn navigations(&self) -> impl Iterator<Item = (&str, &Navigation)> {
        self.sites
            .iter()
            .filter_map(|site| site.navigation.as_ref())
            .map(|(path, navigation)| (path.as_str(), navigation))
    }

    /// Whether the links of pages resolve by the same rules, redirects aside.
    pub(crate) fn has_same_rules(&self, other: &Self) -> bool {
        let key = |site: &Site| {
            let generated = site.navigation.as_ref().map(|(_, navigation)| navigation.generated.clone());
            (site.rules, site.root.clone(), site.open, generated)
        };
        self.plain.rules == other.plain.rules && self.sites.iter().map(key).eq(other.sites.iter().map(key))
    }
}

fn is_listed(site: &Site, path: &str) -> bool {
    site.navigation.as_ref().is_some_and(|(_, navigation)| {
        let written = navigation.written(path);
        navigation.entries.iter().any(|entry| Some(entry.target.trim_matches('/')) == written.as_deref())
    })
}

fn candidates() -> Vec<String> {
    let mut names: Vec<String> =
        ["docs.json", "mint.json", "mkdocs.yml", "mkdocs.yaml", "SUMMARY.md", "src/SUMMARY.md", "sidebars.json"]
            .map(str::to_owned)
            .into();
    for extension in SCRIPTS {
        names.extend(
            ["docusaurus.config", "sidebars", ".vitepress/config", ".vitepress/config/index"]
                .map(|stem| format!("{stem}.{extension}")),
        );
    }
    names
}

/// Both names of Mintlify's file in one folder: the newer one counts.
fn is_second(site: &Site, path: &str) -> bool {
    path.ends_with("mint.json") && site.rules == Rules::Mintlify && site.root == paths::folder(path)
}

fn site_of(path: &str, folder: &str, text: &str) -> Option<Site> {
    if paths::stem(path) == "docusaurus.config" {
        let open = text.contains("staticDirectories");
        return Some(Site { rules: Rules::Docusaurus, root: folder.to_owned(), open, navigation: None });
    }
    if nav::kind_of(path).is_none() {
        return Some(Site { rules: Rules::VitePress, root: folder.to_owned(), open: true, navigation: None });
    }
    let navigation = nav::parse(path, text)?;
    let (rules, root, open) = match navigation.kind {
        NavKind::Mintlify => (Rules::Mintlify, folder.to_owned(), navigation.open),
        NavKind::MkDocs => (Rules::MkDocs, navigation.root.clone(), navigation.open),
        NavKind::Summary => (Rules::Book, navigation.root.clone(), false),
        NavKind::Docusaurus => (Rules::Docusaurus, folder.to_owned(), false),
        NavKind::VitePress => (Rules::VitePress, folder.to_owned(), navigation.open),
    };
    Some(Site { rules, root, open, navigation: Some((path.to_owned(), navigation)) })
}

/// Whether a file is looked through for secrets and invisible characters: pages and the data beside them. What locks
/// versions is full of hashes and nobody reads it; in a change it is looked through as well.
pub(crate) fn is_text(path: &str) -> bool {
    let name = paths::file_name(path);
    let is_locked = name.contains("-lock.") || name.ends_with(".lock") || name == "npm-shrinkwrap.json";
    page::is_page(path) || names::is_documentation(path) && !is_locked
}

/// Whether a file lies in a folder that holds no documentation of its own: packages, and what is hidden.
pub(crate) fn is_foreign(path: &str) -> bool {
    path.split('/').rev().skip(1).any(|part| {
        matches!(part, "node_modules" | "vendor" | "third_party" | "__pycache__")
            || part.starts_with('.') && part != ".vitepress"
    })
}
