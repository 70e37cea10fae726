//! What a chore works with: the workspace, the pages of the documentation, and the report that it fills.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use copydesk_checks::page::is_page;
use copydesk_checks::paths::is_below;
use copydesk_forge::{Refusal, Workspace};

use super::report::Report;
use crate::text::counted;

/// Why a chore ends early.
#[derive(Debug)]
pub(crate) enum ChoreFailure {
    /// The repository cannot be read now.
    Unreadable(String),
    /// The chore cannot be done as it was asked for; one sentence.
    Refused(String),
    /// Nobody waits for it any more.
    Dropped,
}

impl From<std::io::Error> for ChoreFailure {
    fn from(error: std::io::Error) -> Self {
        Self::Unreadable(format!("the repository cannot be read: {error}"))
    }
}

/// The files, where the documentation is among them, and what was done to it.
pub(crate) struct Docs {
    pub(crate) workspace: Workspace,
    pub(crate) report: Report,
    paths: Vec<String>,
    max_files: usize,
    /// At least as many as the files that are changed: one that is written twice may count twice.
    changed: usize,
    dropped: Arc<AtomicBool>,
}

impl Docs {
    pub(crate) fn new(workspace: Workspace, paths: &[String], max_files: usize, dropped: Arc<AtomicBool>) -> Self {
        let plain = |path: &String| path.trim_start_matches("./").trim_matches('/').to_owned();
        let mut paths: Vec<String> = paths.iter().map(plain).collect();
        if paths.iter().any(|path| path.is_empty() || path == ".") {
            paths = vec![String::new()];
        }
        let changed = workspace.changed_paths().count();
        Self { workspace, report: Report::default(), paths, max_files, changed, dropped }
    }

    /// The folders of the documentation; an empty one is the whole repository.
    pub(crate) fn paths(&self) -> &[String] {
        &self.paths
    }

    /// Whether none of the folders of the documentation is there.
    pub(crate) fn is_nowhere(&self) -> Result<bool, ChoreFailure> {
        for path in &self.paths {
            if path.is_empty() || self.workspace.entry(path)?.is_some() || !self.workspace.list(path)?.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(crate) fn holds(&self, path: &str) -> bool {
        self.paths.iter().any(|folder| is_below(path, folder))
    }

    /// All pages of the documentation, sorted.
    pub(crate) fn pages(&self) -> Result<Vec<String>, ChoreFailure> {
        let mut pages = Vec::new();
        for folder in &self.paths {
            pages.extend(self.workspace.list(folder)?.into_iter().filter(|path| is_page(path)));
            // A docs path may also name a single file.
            if is_page(folder) && self.is_file(folder)? {
                pages.push(folder.clone());
            }
        }
        pages.sort_unstable();
        pages.dedup();
        Ok(pages)
    }

    pub(crate) fn is_file(&self, path: &str) -> Result<bool, ChoreFailure> {
        Ok(self.workspace.entry(path)?.is_some_and(|entry| entry.kind.is_file()))
    }

    /// The text of a page to change. One that cannot be read is left, and the report says why.
    pub(crate) fn text(&mut self, path: &str) -> Result<Option<String>, ChoreFailure> {
        self.go_on()?;
        match self.workspace.text(path) {
            Err(Refusal::Refused(why)) => {
                self.report.note_left(path, why);
                Ok(None)
            }
            text => allowed(text),
        }
    }

    /// The text of a file that is only looked at; none if it cannot be read.
    pub(crate) fn glance(&self, path: &str) -> Result<Option<String>, ChoreFailure> {
        self.go_on()?;
        allowed(self.workspace.text(path))
    }

    /// Writes a file that is changed in so many places; says whether that is allowed. The report says how it was changed,
    /// or why not.
    pub(crate) fn write(
        &mut self,
        path: &str,
        text: String,
        places: usize,
        how: impl Into<String>,
    ) -> Result<bool, ChoreFailure> {
        match self.workspace.write(path, text) {
            Ok(()) => {
                self.count_change()?;
                self.report.note_change(path, places, how);
                Ok(true)
            }
            Err(Refusal::Refused(why)) => {
                self.report.note_left(path, why);
                Ok(false)
            }
            Err(Refusal::Unreadable(error)) => Err(error.into()),
        }
    }

    /// Ends the work if it has changed more files than it may: nothing of it would be taken, so it need not go on.
    pub(crate) fn count_change(&mut self) -> Result<(), ChoreFailure> {
        self.changed += 1;
        if self.changed > self.max_files {
            self.changed = self.workspace.changed_paths().count();
        }
        if self.changed <= self.max_files {
            return Ok(());
        }
        Err(ChoreFailure::Refused(format!(
            "This would change more than {}; limit it to a folder, or raise `limits.changed_files`.",
            counted(self.max_files, "file")
        )))
    }

    /// Ends the work if nobody waits for it any more.
    fn go_on(&self) -> Result<(), ChoreFailure> {
        if self.dropped.load(Ordering::Relaxed) { Err(ChoreFailure::Dropped) } else { Ok(()) }
    }
}

fn allowed(text: Result<String, Refusal>) -> Result<Option<String>, ChoreFailure> {
    match text {
        Ok(text) => Ok(Some(text)),
        Err(Refusal::Refused(_)) => Ok(None),
        Err(Refusal::Unreadable(error)) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use copydesk_forge::MemoryTree;

    use super::*;

    fn docs(paths: &[&str], dropped: bool) -> Docs {
        let tree = MemoryTree::of([("docs/a.md", "teh"), ("docs/b.txt", ""), ("more/c.MDX", ""), ("d.markdown", "")]);
        let workspace = Workspace::new(Arc::new(tree), Arc::new(|_| Ok(())));
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        Docs::new(workspace, &paths, 100, Arc::new(AtomicBool::new(dropped)))
    }

    #[test]
    fn pages_are_those_of_the_documentation() {
        assert_eq!(docs(&["docs/"], false).pages().unwrap(), ["docs/a.md"]);
        assert_eq!(docs(&["./docs", "d.markdown"], false).pages().unwrap(), ["d.markdown", "docs/a.md"]);
        assert_eq!(docs(&["docs", "."], false).pages().unwrap(), ["d.markdown", "docs/a.md", "more/c.MDX"]);
    }

    #[test]
    fn work_that_nobody_waits_for_ends() {
        let mut docs = docs(&["docs"], true);
        let ended = super::super::typos::run(&super::super::chore::Scope::default(), &mut docs);
        assert!(matches!(ended, Err(ChoreFailure::Dropped)));
        assert!(docs.workspace.is_unchanged());
    }
}
