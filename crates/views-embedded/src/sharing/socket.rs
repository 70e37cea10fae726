use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The socket's path. A socket's address may have hardly more than 100 bytes, so a long path is gone through an open
/// folder.
pub(super) struct SocketPath {
    path: PathBuf,
    _folder: Option<File>,
}

/// The number is that of what is said through it: processes that say it differently must not find each other.
const NAME: &str = "views-3.sock";
const MAX_ADDRESS: usize = 100;

impl SocketPath {
    pub(super) fn of(folder: &Path) -> io::Result<Self> {
        let path = folder.join(NAME);
        if path.as_os_str().len() <= MAX_ADDRESS {
            return Ok(Self { path, _folder: None });
        }
        let folder = File::open(folder)?;
        let number = std::os::fd::AsRawFd::as_raw_fd(&folder);
        Ok(Self { path: PathBuf::from(format!("/proc/self/fd/{number}/{NAME}")), _folder: Some(folder) })
    }

    pub(super) fn as_path(&self) -> &Path {
        &self.path
    }
}
