use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use copydesk_values::Modules;

/// A tree of files to look at: a folder on disk, or a commit with edits over it. Paths are relative, separated by `/`,
/// without `.` and `..`.
pub trait Files: Sync {
    /// What is in a file; none if there is no regular file of that path.
    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>>;

    /// Whether there is a regular file of that path. Cheaper than reading it.
    fn exists(&self, path: &str) -> io::Result<bool>;

    /// The paths of all regular files below a folder, sorted by bytes; all files if the folder is empty.
    fn list(&self, folder: &str) -> io::Result<Vec<String>>;

    /// An error if whoever asked does not wait any more. Asked between the steps of long work that reads nothing.
    fn go_on(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Files that can be looked at until somebody says that it is enough: then everything fails, and with it the work.
pub struct Until<'a> {
    files: &'a dyn Files,
    is_enough: &'a AtomicBool,
}

impl<'a> Until<'a> {
    pub fn new(files: &'a dyn Files, is_enough: &'a AtomicBool) -> Self {
        Self { files, is_enough }
    }
}

impl Files for Until<'_> {
    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        self.go_on()?;
        self.files.read(path)
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        self.go_on()?;
        self.files.exists(path)
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.go_on()?;
        self.files.list(folder)
    }

    fn go_on(&self) -> io::Result<()> {
        if self.is_enough.load(Ordering::Relaxed) {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "nobody waits for it any more"));
        }
        Ok(())
    }
}

/// The text of a file; none if there is none, or it cannot be read as text.
pub(crate) fn text_of(files: &dyn Files, path: &str) -> Option<String> {
    files.read(path).ok().flatten().and_then(|content| String::from_utf8(content).ok())
}

/// The files of a tree as scripts take them in.
pub(crate) struct Scripts<'a>(pub(crate) &'a dyn Files);

impl Modules for Scripts<'_> {
    fn read(&self, path: &str) -> Option<String> {
        text_of(self.0, path)
    }
}

/// One script without the others.
pub(crate) struct Alone<'a> {
    pub(crate) path: &'a str,
    pub(crate) text: &'a str,
}

impl Modules for Alone<'_> {
    fn read(&self, path: &str) -> Option<String> {
        (path == self.path).then(|| self.text.to_owned())
    }
}
