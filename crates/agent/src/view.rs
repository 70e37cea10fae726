use std::io;

use copydesk_checks::Files;
use copydesk_forge::{Tree, Workspace};

/// A workspace, or the tree below it, as the docs checks want to see it.
pub enum WorkspaceFiles<'a> {
    /// With the edits.
    Edited(&'a Workspace),
    /// Without them.
    Base(&'a dyn Tree),
}

impl Files for WorkspaceFiles<'_> {
    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        match self {
            Self::Edited(workspace) => workspace.read(path),
            Self::Base(tree) => tree.read(path),
        }
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        let entry = match self {
            Self::Edited(workspace) => workspace.entry(path)?,
            Self::Base(tree) => tree.entry(path)?,
        };
        Ok(entry.is_some_and(|entry| entry.kind.is_file()))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        match self {
            Self::Edited(workspace) => workspace.list(folder),
            Self::Base(tree) => tree.list(folder),
        }
    }
}
