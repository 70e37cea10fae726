//! Files and folders that are closed to others and on the disk before anybody relies on them.

use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().mode(0o700).create(folder)
}

/// Writes a file that must not be there yet.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Copies a file into one that only its owner may read: a backup may have lost its modes on its way.
pub(crate) fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::copy(from, to)?;
    std::fs::set_permissions(to, std::fs::Permissions::from_mode(0o600))?;
    std::fs::File::open(to)?.sync_all()
}

/// Copies a folder into a new one. A link could lead anywhere, and is left out.
pub(crate) fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    make_private(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()? {
            kind if kind.is_dir() => copy_folder(&entry.path(), &target)?,
            kind if kind.is_file() => copy_file(&entry.path(), &target)?,
            _ => {}
        }
    }
    sync_folder(to)
}

/// The same for a copy that is only looked at: files of page views that never change get a second name instead, where that
/// works.
pub(crate) fn mirror_folder(from: &Path, to: &Path) -> io::Result<()> {
    make_private(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            mirror_folder(&path, &target)?;
        } else if path.extension().is_none_or(|kind| kind != "seg") || std::fs::hard_link(&path, &target).is_err() {
            std::fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    std::fs::File::open(folder)?.sync_all()
}
