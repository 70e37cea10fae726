//! What a chore works with: the workspace, the pages of the documentation, and the report that it fills.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use copydesk_checks::page::is_page;
use copydesk_forge::{Refusal, Workspace};

use super::report::Report;
use super::words::counted;

/// Why a chore ends early.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The repository cannot be read now.
    Unreadable(String),
    /// The chore cannot be done as it was asked for; one sentence.
    Refused(String),
    /// Nobody waits for it any more.
    Dropped,
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Self {
        Self::Unreadable(format!("the repository cannot be read: {error}"))
    }
}

/// The files, and where the documentation is among them.
pub(crate) struct Desk {
    pub(crate) workspace: Workspace,
    docs_paths: Vec<String>,
    max_files: usize,
    /// At least as many as the files that are changed: one that is written twice may count twice.
    changed: usize,
    dropped: Arc<AtomicBool>,
}

impl Desk {
    pub(crate) fn new(workspace: Workspace, docs_paths: &[String], max_files: usize, dropped: Arc<AtomicBool>) -> Self {
        let plain = |path: &String| path.trim_start_matches("./").trim_matches('/').to_owned();
        let mut docs_paths: Vec<String> = docs_paths.iter().map(plain).collect();
        if docs_paths.iter().any(|path| path.is_empty() || path == ".") {
            docs_paths = vec![String::new()];
        }
        let changed = workspace.changed_paths().count();
        Self { workspace, docs_paths, max_files, changed, dropped }
    }

    /// The folders of the documentation; an empty one is the whole repository.
    pub(crate) fn docs_paths(&self) -> &[String] {
        &self.docs_paths
    }

    /// Whether a path is in the documentation.
    pub(crate) fn is_docs(&self, path: &str) -> bool {
        self.docs_paths.iter().any(|folder| is_below(path, folder) || path == folder)
    }

    /// All pages of the documentation, sorted.
    pub(crate) fn pages(&self) -> Result<Vec<String>, Trouble> {
        let mut pages = Vec::new();
        for folder in &self.docs_paths {
            pages.extend(self.workspace.list(folder)?.into_iter().filter(|path| is_page(path)));
            // A docs path may also name a single file.
            if is_page(folder) && self.workspace.entry(folder)?.is_some_and(|entry| entry.kind.is_file()) {
                pages.push(folder.clone());
            }
        }
        pages.sort_unstable();
        pages.dedup();
        Ok(pages)
    }

    /// The text of a page. One that cannot be read is left, and the report says why.
    pub(crate) fn text(&self, path: &str, report: &mut Report) -> Result<Option<String>, Trouble> {
        self.go_on()?;
        match self.workspace.text(path) {
            Ok(text) => Ok(Some(text)),
            Err(Refusal::Refused(why)) => {
                report.leave(path, why);
                Ok(None)
            }
            Err(Refusal::Unreadable(error)) => Err(error.into()),
        }
    }

    /// Writes a page; says whether that is allowed. If not, the report says why.
    pub(crate) fn write(&mut self, path: &str, text: String, report: &mut Report) -> Result<bool, Trouble> {
        match self.workspace.write(path, text) {
            Ok(()) => self.count_change().map(|()| true),
            Err(Refusal::Refused(why)) => {
                report.leave(path, why);
                Ok(false)
            }
            Err(Refusal::Unreadable(error)) => Err(error.into()),
        }
    }

    /// Ends the work if it has changed more files than it may: nothing of it would be taken, so it need not go on.
    pub(crate) fn count_change(&mut self) -> Result<(), Trouble> {
        self.changed += 1;
        if self.changed > self.max_files {
            self.changed = self.workspace.changed_paths().count();
        }
        if self.changed <= self.max_files {
            return Ok(());
        }
        Err(Trouble::Refused(format!(
            "This would change more than {}; limit it to a folder, or raise `limits.changed_files`.",
            counted(self.max_files, "file")
        )))
    }

    /// Ends the work if nobody waits for it any more.
    pub(crate) fn go_on(&self) -> Result<(), Trouble> {
        if self.dropped.load(Ordering::Relaxed) { Err(Trouble::Dropped) } else { Ok(()) }
    }
}

/// Whether a path is somewhere below a folder.
pub(crate) fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use copydesk_forge::MemoryTree;

    use super::*;

    fn desk(docs_paths: &[&str], dropped: bool) -> Desk {
        let tree = MemoryTree::of([("docs/a.md", "teh"), ("docs/b.txt", ""), ("more/c.MDX", ""), ("d.markdown", "")]);
        let workspace = Workspace::new(Arc::new(tree), Arc::new(|_| Ok(())));
        let docs_paths: Vec<String> = docs_paths.iter().map(|path| (*path).to_owned()).collect();
        Desk::new(workspace, &docs_paths, 100, Arc::new(AtomicBool::new(dropped)))
    }

    #[test]
    fn pages_are_those_of_the_documentation() {
        assert_eq!(desk(&["docs/"], false).pages().unwrap(), ["docs/a.md"]);
        assert_eq!(desk(&["./docs", "d.markdown"], false).pages().unwrap(), ["d.markdown", "docs/a.md"]);
        assert_eq!(desk(&["docs", "."], false).pages().unwrap(), ["d.markdown", "docs/a.md", "more/c.MDX"]);
    }

    #[test]
    fn work_that_nobody_waits_for_ends() {
        let mut desk = desk(&["docs"], true);
        let ended = super::super::typos::run(&super::super::chore::Scope::default(), &mut desk);
        assert!(matches!(ended, Err(Trouble::Dropped)));
        assert!(desk.workspace.is_unchanged());
    }
}
