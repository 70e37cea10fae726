//! What the store asks of a file system, so that tests can let any of it fail.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that is being written, and where it is.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
}

/// The steps whose order and outcome decide what survives.
pub(crate) trait Disk: Send + Sync + 'static {
    /// A new empty file; what was there is gone.
    fn create(&self, path: &Path) -> io::Result<Written>;
    /// An existing file, to be cut or synced.
    fn reopen(&self, path: &Path) -> io::Result<Written>;
    /// Writes all of `bytes` at the end. After an error, any part of them may be there.
    fn append(&self, to: &Written, bytes: &[u8]) -> io::Result<()>;
    /// Returns when what was written is on the disk.
    fn sync(&self, file: &Written) -> io::Result<()>;
    fn truncate(&self, file: &Written, bytes: u64) -> io::Result<()>;
    /// Gives a file another name, in the place of the one that has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Makes names in a folder last.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
    /// Removes a file; fine if there is none.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes a folder and those above it; fine if it is there.
    fn create_folder(&self, path: &Path) -> io::Result<()>;
    fn remove_folder(&self, path: &Path) -> io::Result<()>;
}

/// Whether an error will be the same at the next try: the file is damaged, cut or gone, or on a bad spot of the disk.
pub(crate) fn is_lasting(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, NotFound, UnexpectedEof};
    const BAD_SPOT: i32 = 5;
    matches!(error.kind(), InvalidData | NotFound | UnexpectedEof) || error.raw_os_error() == Some(BAD_SPOT)
}

/// A second name for a file that is never changed, which is as good as a copy; a copy where there can be none.
pub(crate) fn link_or_copy(from: &Path, into: &Path) -> io::Result<()> {
    if fs::hard_link(from, into).is_ok() {
        return Ok(());
    }
    fs::copy(from, into)?;
    File::open(into)?.sync_all()
}

/// The machine's file system.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RealDisk;

impl Disk for RealDisk {
    fn create(&self, path: &Path) -> io::Result<Written> {
        // Appending, so that a cut file goes on at its new end.
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        file.set_len(0)?;
        Ok(Written { path: path.to_owned(), file })
    }

    fn reopen(&self, path: &Path) -> io::Result<Written> {
        Ok(Written { path: path.to_owned(), file: OpenOptions::new().append(true).open(path)? })
    }

    fn append(&self, to: &Written, bytes: &[u8]) -> io::Result<()> {
        (&to.file).write_all(bytes)
    }

    fn sync(&self, file: &Written) -> io::Result<()> {
        file.file.sync_data()
    }

    fn truncate(&self, file: &Written, bytes: u64) -> io::Result<()> {
        file.file.set_len(bytes)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }
}
