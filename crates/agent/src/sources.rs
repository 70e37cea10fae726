//! Code sources: further repositories that can be read, each below a prefix of its own, and never written to.

use std::io;
use std::sync::Arc;

use copydesk_domain::Timestamp;
use copydesk_forge::{Entry, Kind, Range, Tree, Workspace};

/// The code sources of a job. Cheap to clone.
#[derive(Clone, Default)]
pub struct CodeSources {
    all: Arc<Vec<Source>>,
}

/// One code source as it is given to an editor.
pub struct SourceFiles {
    pub name: String,
    /// The address as people see it.
    pub repository: String,
    /// What is read of it, in words: a branch, or a tag.
    pub revision: String,
    /// Its files; or why there are none, as one sentence.
    pub commit: Result<SourceCommit, String>,
}

/// The commit that a code source is read at, for all of a round.
pub struct SourceCommit {
    pub id: String,
    pub made_at: Timestamp,
    pub tree: Arc<dyn Tree>,
}

/// The range of commits that a job is about.
pub struct AskedRange {
    /// The code source.
    pub source: String,
    /// What both ends are called, and their ids.
    pub from: (String, String),
    pub to: (String, String),
    pub range: Range,
}

/// What is asked about a code source: what leads from one commit to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeQuestion {
    pub source: String,
    /// Tags or ids of commits; none: those that the job is about.
    pub from: Option<String>,
    pub to: Option<String>,
    /// Only this file, or files below this folder.
    pub path: Option<String>,
}

/// One code source among others.
pub(crate) struct Source {
    pub(crate) about: SourceFiles,
    /// The same files with the prefix before their paths; or why there are none.
    files: Result<Workspace, String>,
}

impl CodeSources {
    pub fn new(all: Vec<SourceFiles>) -> Self {
        let mounted = all.into_iter().map(|about| {
            let files = about.commit.as_ref().map(|commit| mounted(&about.name, commit));
            Source { files: files.map_err(Clone::clone), about }
        });
        Self { all: Arc::new(mounted.collect()) }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Source> {
        self.all.iter()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// What their paths begin with, as a list.
    pub(crate) fn prefixes(&self) -> String {
        self.all.iter().map(|source| format!("@{}", source.about.name)).collect::<Vec<_>>().join(", ")
    }

    /// The code source of that name, with or without the mark of a prefix.
    pub(crate) fn named(&self, name: &str) -> Option<&Source> {
        let name = name.trim();
        let name = name.strip_prefix('@').unwrap_or(name);
        self.all.iter().find(|source| source.about.name == name)
    }

    /// The code source that a path leads into, and the path there. A path of the documentation's own repository that
    /// begins in the same way is written with `./` before it.
    pub(crate) fn at<'a>(&self, path: &'a str) -> Option<(&Source, &'a str)> {
        let (name, rest) = path.trim().strip_prefix('@').map(|path| path.split_once('/').unwrap_or((path, "")))?;
        Some((self.all.iter().find(|source| source.about.name == name)?, rest.trim_matches('/')))
    }

    /// The files that a path is about: those of a code source, or else `docs`. Says why if they cannot be read.
    pub(crate) fn files<'a>(&'a self, docs: &'a Workspace, path: Option<&str>) -> Result<&'a Workspace, String> {
        match path.and_then(|path| self.at(path)) {
            Some((source, _)) => source.files(),
            None => Ok(docs),
        }
    }
}

impl Source {
    pub(crate) fn files(&self) -> Result<&Workspace, String> {
        self.files.as_ref().map_err(|why| format!("the code source @{} cannot be read: {why}", self.about.name))
    }
}

/// The files of a source in a workspace in which nothing may be written.
fn mounted(name: &str, commit: &SourceCommit) -> Workspace {
    let tree = Mounted { prefix: format!("@{name}"), tree: Arc::clone(&commit.tree) };
    Workspace::new(Arc::new(tree), Arc::new(|path: &str| Err(read_only(path))))
}

/// What is said of a path that leads into a code source, where something is to be written.
pub(crate) fn read_only(path: &str) -> String {
    format!("{path:?} is in a code source, which can be read and never changed")
}

/// A tree whose paths begin with the name of its source.
struct Mounted {
    prefix: String,
    tree: Arc<dyn Tree>,
}

impl Mounted {
    /// The path in the tree itself; empty for its root. None if it leads elsewhere.
    fn inner<'a>(&self, path: &'a str) -> Option<&'a str> {
        let rest = path.strip_prefix(&self.prefix)?;
        if rest.is_empty() { Some("") } else { rest.strip_prefix('/') }
    }
}

impl Tree for Mounted {
    fn entry(&self, path: &str) -> io::Result<Option<Entry>> {
        match self.inner(path) {
            Some("") => Ok(Some(Entry { kind: Kind::Folder, size: 0 })),
            Some(inner) => self.tree.entry(inner),
            None => Ok(None),
        }
    }

    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        self.inner(path).map_or(Ok(None), |inner| self.tree.read(inner))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let inner = if folder.is_empty() { Some("") } else { self.inner(folder) };
        let Some(inner) = inner else { return Ok(Vec::new()) };
        Ok(self.tree.list(inner)?.into_iter().map(|path| format!("{}/{path}", self.prefix)).collect())
    }

    fn folder(&self, folder: &str) -> io::Result<Vec<(String, Kind)>> {
        if folder.is_empty() {
            return Ok(vec![(self.prefix.clone(), Kind::Folder)]);
        }
        self.inner(folder).map_or(Ok(Vec::new()), |inner| self.tree.folder(inner))
    }
}

#[cfg(test)]
mod tests {
    use copydesk_forge::MemoryTree;

    use super::*;

    fn sources() -> CodeSources {
        let files = |name: &str, commit| SourceFiles {
            name: name.to_owned(),
            repository: "https://example.com/acme/sdk".to_owned(),
            revision: "the main branch".to_owned(),
            commit,
        };
        let tree = MemoryTree::of([("src/a.rs", "a\n"), ("b.rs", "b\n")]);
        let commit = SourceCommit { id: "1".repeat(40), made_at: Timestamp::from_millis(0), tree: Arc::new(tree) };
        CodeSources::new(vec![files("api", Err("it is away".to_owned())), files("sdk", Ok(commit))])
    }

    #[test]
    fn a_path_leads_into_a_source_by_its_name_alone() {
        let sources = sources();
        let at = |path| sources.at(path).map(|(source, rest)| (source.about.name.clone(), rest));
        assert_eq!(at("@sdk/src/a.rs"), Some(("sdk".to_owned(), "src/a.rs")));
        for whole in ["@sdk", "@sdk/", " @sdk "] {
            assert_eq!(at(whole), Some(("sdk".to_owned(), "")), "{whole:?}");
        }
        for docs in ["sdk/a", "@sd/a", "@sdks/a", "./@sdk/a", "docs/@sdk/a", "@", ""] {
            assert_eq!(at(docs), None, "{docs:?}");
        }
    }

    #[test]
    fn files_are_read_below_the_prefix_and_never_written() {
        let (sources, docs) = (sources(), Workspace::new(Arc::new(MemoryTree::default()), Arc::new(|_| Ok(()))));
        let sdk = sources.files(&docs, Some("@sdk/x")).unwrap();
        assert_eq!(sdk.list("").unwrap(), ["@sdk/b.rs", "@sdk/src/a.rs"]);
        assert_eq!(sdk.list("@sdk/src").unwrap(), ["@sdk/src/a.rs"]);
        assert_eq!(sdk.text("@sdk/src/a.rs").unwrap(), "a\n");
        assert!(sdk.text("src/a.rs").is_err() && sdk.text("@sdk/../b.rs").is_err() && sdk.text("@sdks/b.rs").is_err());
        assert_eq!(sdk.base().folder("@sdk").unwrap().len(), 2);
        let mut copy = sdk.clone();
        for path in ["@sdk/b.rs", "@sdk/new.rs", "b.rs"] {
            assert!(copy.write(path, "x".to_owned()).is_err(), "{path}");
        }
        assert!(sources.files(&docs, Some("@api/x")).err().unwrap().contains("cannot be read: it is away"));
        assert!(sources.files(&docs, None).unwrap().list("").unwrap().is_empty());
    }
}
