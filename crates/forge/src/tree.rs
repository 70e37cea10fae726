use std::io;

use serde::{Deserialize, Serialize};

/// The most that a file may hold to be read or written as text.
pub const LARGEST_TEXT: u64 = 2 * 1024 * 1024;

/// The files of a commit.
pub trait Tree: Send + Sync {
    /// What is at a path; none if nothing is.
    fn entry(&self, path: &str) -> io::Result<Option<Entry>>;

    /// What is in a regular file; none if there is no regular file of that path.
    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>>;

    /// The paths of all regular files below a folder, sorted by bytes; all files if the folder is empty.
    fn list(&self, folder: &str) -> io::Result<Vec<String>>;

    /// What is directly in a folder, by name, sorted by bytes; the root if the folder is empty.
    fn folder(&self, folder: &str) -> io::Result<Vec<(String, Kind)>>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub kind: Kind,
    /// How many bytes a file has; 0 for what is no file.
    pub size: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    File,
    Executable,
    Folder,
    Symlink,
    Submodule,
}

impl Kind {
    pub fn is_file(self) -> bool {
        matches!(self, Self::File | Self::Executable)
    }
}

/// One file that a change touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    pub path: String,
    /// What it holds now; none: it is deleted.
    pub content: Option<Vec<u8>>,
}
