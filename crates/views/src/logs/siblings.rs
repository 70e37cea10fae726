//! Files beside a log that may be what was in it.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file that is called like a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sibling {
    pub(super) path: PathBuf,
    /// What it is, whatever it is called.
    pub(super) id: (u64, u64),
    /// When it was last written, in nanoseconds since 1970.
    pub(super) modified: i64,
    pub(super) bytes: u64,
    /// It is called as rotation calls what it moves away.
    pub(super) rotated: bool,
}

impl Sibling {
    /// Whether it still has its name.
    pub(super) fn is_there(&self) -> bool {
        std::fs::metadata(&self.path).is_ok_and(|file| id(&file) == self.id)
    }

    /// What changes when something is written to it.
    pub(super) fn state(&self) -> (i64, u64) {
        (self.modified, self.bytes)
    }
}

/// What changes when something is written to a file.
pub(super) fn state(file: &Metadata) -> (i64, u64) {
    (modified(file), file.len())
}

/// What a file is, whatever it is called.
pub(super) fn id(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

/// When a file was last written, in nanoseconds since 1970.
pub(super) fn modified(file: &Metadata) -> i64 {
    file.mtime().saturating_mul(1_000_000_000).saturating_add(file.mtime_nsec())
}

/// The folder of a file.
pub(super) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Files that are called like `path`, oldest first: `access.log.1`, `access.log-20241010.gz`, `access-20241010.log`.
///
/// A list that is made while files are renamed may leave out some of them, so it holds only if it is the same twice.
pub(super) fn siblings(path: &Path) -> io::Result<Vec<Sibling>> {
    let mut found = list(path)?;
    for _ in 0..LISTED {
        let again = list(path)?;
        let names = |it: &[Sibling]| it.iter().map(|it| (it.path.clone(), it.id)).collect::<Vec<_>>();
        let same = names(&found) == names(&again);
        found = again;
        if same {
            break;
        }
    }
    Ok(found)
}

/// How often a folder is listed at the most until it is the same twice.
const LISTED: usize = 20;

fn list(path: &Path) -> io::Result<Vec<Sibling>> {
    let (Some(name), Some(stem)) = (path.file_name(), path.file_stem()) else { return Ok(Vec::new()) };
    let (name, stem) = (name.as_encoded_bytes(), stem.as_encoded_bytes());
    let mut siblings = Vec::new();
    for entry in std::fs::read_dir(folder(path))? {
        let entry = entry?;
        let other = entry.file_name();
        let other = other.as_encoded_bytes();
        if !other.starts_with(stem) || other == name {
            continue;
        }
        // What is gone by now has another name; it is found by that when the folder is listed again.
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_file() {
            let (id, modified, rotated) = (id(&metadata), modified(&metadata), is_rotated(name, stem, other));
            siblings.push(Sibling { path: entry.path(), id, modified, bytes: metadata.len(), rotated });
        }
    }
    siblings.sort_by(|one, other| (one.modified, &other.path).cmp(&(other.modified, &one.path)));
    Ok(siblings)
}

/// Whether `other` is how rotation calls a file `name`, whose name without its ending is `stem`.
fn is_rotated(name: &[u8], stem: &[u8], other: &[u8]) -> bool {
    let packed = [&b".gz"[..], b".zst", b".xz", b".bz2"];
    let other = packed.iter().find_map(|ending| other.strip_suffix(*ending)).unwrap_or(other);
    if let Some(number) = other.strip_prefix(name) {
        return is_number(number, 1);
    }
    let ending = &name[stem.len()..];
    let Some(between) = other.strip_prefix(stem).and_then(|rest| rest.strip_suffix(ending)) else { return false };
    // `access-2.log` is another log; `access.2.log` and `access-20241010.log` are this one.
    is_number(between, if between.starts_with(b".") { 1 } else { 8 })
}

/// A number or a date, behind a dot or a dash.
fn is_number(text: &[u8], digits: usize) -> bool {
    let Some((b'.' | b'-' | b'_', rest)) = text.split_first() else { return false };
    let of_number = |byte: &u8| byte.is_ascii_digit() || b"-._:T".contains(byte);
    rest.iter().all(of_number) && rest.iter().filter(|byte| byte.is_ascii_digit()).count() >= digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_moved_away_is_known_by_its_name() {
        let rotated = |other: &str| is_rotated(b"access.log", b"access", other.as_bytes());
        for name in [
            "access.log.1",
            "access.log.2.gz",
            "access.log-20241010",
            "access.log-2024-10-10T13:55.zst",
            "access-20241010.log",
            "access.1.log",
            "access.log.20241010-1728568536.gz",
        ] {
            assert!(rotated(name), "{name}");
        }
        for name in [
            "access.log.bak",
            "access-2.log",
            "access-admin.log",
            "access.log.",
            "access_error.log",
            "access.log.1.swp",
        ] {
            assert!(!rotated(name), "{name}");
        }
    }

    #[test]
    fn the_oldest_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for (name, age) in
            [("access.log", 0), ("access.log.2", 20), ("access.log.1", 10), ("access.log.3", 10), ("other.log", 1)]
        {
            let file = std::fs::File::create(path(name)).unwrap();
            let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000 - age);
            file.set_modified(at).unwrap();
        }
        let found: Vec<PathBuf> = siblings(&path("access.log")).unwrap().into_iter().map(|it| it.path).collect();
        // Of two of the same moment the higher number is older.
        assert_eq!(found, [path("access.log.2"), path("access.log.3"), path("access.log.1")]);
    }
}
