//! Navigation files of documentation sites: which pages they list, which redirects they hold, and how to change them
//! without writing them anew.

mod edit;
mod mintlify;
mod mkdocs;
mod sidebars;
mod summary;

use std::ops::Range;

use crate::paths;

pub use edit::insert_page;

/// What a navigation file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Navigation {
    pub kind: NavKind,
    /// The folder that the listed pages are in.
    pub root: String,
    /// The pages it lists, in order.
    pub entries: Vec<Entry>,
    pub redirects: Vec<Redirect>,
    /// Folders below the root whose pages a generator makes, so that there are no files of them.
    pub generated: Vec<String>,
    /// Whether pages may come from anywhere else than the files below the root.
    pub open: bool,
    /// What is not well-formed.
    pub problems: Vec<NavProblem>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NavKind {
    /// `docs.json` or `mint.json`.
    Mintlify,
    /// `mkdocs.yml`.
    MkDocs,
    /// `SUMMARY.md` of mdBook or GitBook.
    Summary,
    /// `sidebars.js`, `.ts` or `.json`.
    Docusaurus,
    /// `.vitepress/config.*`.
    VitePress,
}

/// A page in the navigation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The page as written.
    pub target: String,
    /// Where it stands, without quotes.
    pub range: Range<usize>,
    /// The number of the list it is in: two entries of one list have the same.
    pub list: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Redirect {
    /// The address that is left.
    pub source: String,
    pub destination: String,
    /// Where the source stands in the file.
    pub range: Range<usize>,
}

/// A place in a navigation file that is not well-formed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NavProblem {
    /// What is wrong, as one sentence.
    pub message: String,
    pub at: usize,
}

/// The kind of navigation file that a path is by its name; the content may say otherwise.
pub fn kind_of(path: &str) -> Option<NavKind> {
    let name = paths::file_name(path);
    let stem = paths::stem(path);
    let is_script = has_script_extension(path);
    match name {
        "docs.json" | "mint.json" => Some(NavKind::Mintlify),
        "mkdocs.yml" | "mkdocs.yaml" => Some(NavKind::MkDocs),
        "SUMMARY.md" => Some(NavKind::Summary),
        "sidebars.json" => Some(NavKind::Docusaurus),
        _ if is_script && stem == "sidebars" => Some(NavKind::Docusaurus),
        _ if is_script && stem == "config" && paths::file_name(paths::folder(path)) == ".vitepress" => {
            Some(NavKind::VitePress)
        }
        _ => None,
    }
}

/// Whether a path is that of a navigation file that is run: only its literals are read here, but a build runs all of it.
pub(crate) fn is_script(path: &str) -> bool {
    let folded = path.to_lowercase();
    has_script_extension(path) && kind_of(&folded).is_some()
}

fn has_script_extension(path: &str) -> bool {
    matches!(paths::extension(path).as_str(), "js" | "ts" | "cjs" | "mjs" | "mts" | "cts")
}

/// Reads a navigation file; none if it is not one after all.
pub fn parse(path: &str, text: &str) -> Option<Navigation> {
    match kind_of(path)? {
        NavKind::Mintlify => mintlify::read(path, text),
        NavKind::MkDocs => mkdocs::read(path, text),
        NavKind::Summary => summary::read(path, text),
        NavKind::Docusaurus => sidebars::docusaurus(path, text),
        NavKind::VitePress => sidebars::vitepress(path, text),
    }
}

impl Navigation {
    fn new(kind: NavKind, root: &str) -> Self {
        Self {
            kind,
            root: root.to_owned(),
            entries: Vec::new(),
            redirects: Vec::new(),
            generated: Vec::new(),
            open: false,
            problems: Vec::new(),
        }
    }

    /// The files that an entry may mean, the likeliest first.
    pub fn files_of(&self, entry: &Entry) -> Vec<String> {
        let target = entry.target.split(['#', '?']).next().unwrap_or_default();
        let Some(path) = paths::normalise(&self.root, target) else { return Vec::new() };
        let mut files = Vec::new();
        if matches!(self.kind, NavKind::MkDocs | NavKind::Summary) || crate::page::is_page(&path) {
            files.push(path.clone());
        }
        let folder = if target.ends_with('/') || path == self.root { "index" } else { "" };
        let bases = if folder.is_empty() {
            vec![path.clone(), paths::join(&path, "index")]
        } else {
            vec![paths::join(&path, "index")]
        };
        for base in bases {
            for extension in ["mdx", "md"] {
                files.push(format!("{base}.{extension}"));
            }
        }
        files.extend(["README.md", "readme.md", "README.mdx"].map(|name| paths::join(&path, name)));
        files
    }

    /// How the navigation writes a page, given by its path; none if the page is not below the root.
    pub fn written(&self, page: &str) -> Option<String> {
        let below = match self.root.as_str() {
            "" => page,
            root => page.strip_prefix(root)?.strip_prefix('/')?,
        };
        let bare = below.strip_suffix(".mdx").or_else(|| below.strip_suffix(".md")).unwrap_or(below);
        Some(match self.kind {
            NavKind::MkDocs | NavKind::Summary => below.to_owned(),
            NavKind::Mintlify | NavKind::Docusaurus => bare.to_owned(),
            NavKind::VitePress => format!("/{}", bare.strip_suffix("index").unwrap_or(bare)),
        })
    }
}
