use std::io;

/// A tree of files to look at: a folder on disk, or a commit with edits over it. Paths are relative, separated by `/`,
/// without `.` and `..`.
pub trait Files: Sync {
    /// What is in a file; none if there is no regular file of that path.
    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>>;

    /// Whether there is a regular file of that path. Cheaper than reading it.
    fn exists(&self, path: &str) -> io::Result<bool>;

    /// The paths of all regular files below a folder, sorted by bytes; all files if the folder is empty.
    fn list(&self, folder: &str) -> io::Result<Vec<String>>;
}
