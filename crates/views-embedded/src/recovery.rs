//! Reading the log again after a start.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::disk::Disk;
use super::wal::{self, Closed, Found, HEADER, Header, LogPlace, read_record};

/// What a reader makes of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// All is well, or it was known already.
    Done,
    /// It cannot be used now; the file must not be thrown away.
    Not,
}

/// Reads the log in order, cuts a torn end off, and says how to go on.
pub(super) fn read(
    disk: &dyn Disk,
    folder: &Path,
    each: &mut dyn FnMut(u64, &[u8]) -> io::Result<Taken>,
) -> io::Result<Found> {
    let files = list(folder)?;
    let mut found =
        Found { next_file: files.last().map_or(1, |file| file.number + 1), next_record: 1, ..Found::default() };
    let chain = chain(disk, files)?;
    for (place, link) in chain.iter().enumerate() {
        let is_last = place + 1 == chain.len();
        let bound = chain.get(place + 1).and_then(|next| next.header.after);
        // It may be the end of another file, one that is damaged and was put aside.
        let bound = bound.filter(|after| after.file == link.header.number).map(|after| after.bytes);
        let closed = read_file(disk, link, is_last, bound, &mut found, each)?;
        found.end = Some(closed.place);
        found.closed.push(closed);
    }
    Ok(found)
}

struct LogFile {
    number: u64,
    path: PathBuf,
}

/// A file that is part of the log.
struct Link {
    path: PathBuf,
    header: Header,
}

fn list(folder: &Path) -> io::Result<Vec<LogFile>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".wal"));
        if let Some(number) = name.and_then(|name| name.parse().ok()) {
            files.push(LogFile { number, path });
        }
    }
    files.sort_by_key(|file| file.number);
    Ok(files)
}

/// The files that follow each other. Those that a later one leaves out are void and are removed.
fn chain(disk: &dyn Disk, files: Vec<LogFile>) -> io::Result<Vec<Link>> {
    let mut chain: Vec<Link> = Vec::new();
    for LogFile { number, path } in files {
        let head = head(&path)?;
        let Some(header) = wal::read_header(&head).filter(|header| header.number == number) else {
            put_aside_or_remove(disk, &path, head.len())?;
            continue;
        };
        let from = header.after.map_or(0, |after| after.file);
        while let Some(void) = chain.pop_if(|link| link.header.number > from) {
            tracing::debug!(file = %void.path.display(), "a file of the log that never counted is removed");
            disk.remove(&void.path)?;
        }
        chain.push(Link { path, header });
    }
    Ok(chain)
}

fn head(path: &Path) -> io::Result<Vec<u8>> {
    use std::io::Read;
    let mut head = Vec::with_capacity(HEADER + 1);
    fs::File::open(path)?.take(HEADER as u64 + 1).read_to_end(&mut head)?;
    Ok(head)
}

/// A file without a whole header: nothing in it was ever acknowledged, unless it was damaged later.
fn put_aside_or_remove(disk: &dyn Disk, path: &Path, bytes: usize) -> io::Result<()> {
    if bytes <= HEADER {
        return disk.remove(path);
    }
    tracing::error!(file = %path.display(), "a file of the log is damaged at its beginning and was put aside");
    disk.rename(path, &set_aside(path))
}

/// The name of a file that could not be read in whole.
pub(super) fn set_aside(path: &Path) -> PathBuf {
    path.with_extension("wal.damaged")
}

fn read_file(
    disk: &dyn Disk,
    link: &Link,
    is_last: bool,
    bound: Option<u64>,
    found: &mut Found,
    each: &mut dyn FnMut(u64, &[u8]) -> io::Result<Taken>,
) -> io::Result<Closed> {
    let mut bytes = fs::read(&link.path)?;
    let number = link.header.number;
    let mut keep = false;
    match bound.and_then(|bound| usize::try_from(bound).ok()) {
        Some(bound) if bound > bytes.len() => keep = true,
        Some(bound) => bytes.truncate(bound),
        None => {}
    }
    found.next_record = found.next_record.max(link.header.next_record);
    let (mut at, mut end) = (HEADER.min(bytes.len()), HEADER);
    while at < bytes.len() {
        let Some(record) = read_record(&bytes, number, at) else {
            let Some(next) = (at + 1..bytes.len()).find(|at| read_record(&bytes, number, *at).is_some()) else { break };
            tracing::error!(file = %link.path.display(), at, next, "a part of the log is damaged");
            keep = true;
            at = next;
            continue;
        };
        keep |= each(record.number, record.payload)? == Taken::Not;
        found.next_record = found.next_record.max(record.number + 1);
        (at, end) = (record.end, record.end);
    }
    if end < bytes.len() {
        if is_last {
            cut(disk, &link.path, end);
        } else {
            tracing::error!(file = %link.path.display(), at = end, "the rest of a file of the log is damaged");
            keep = true;
            end = bytes.len();
        }
    }
    let place = LogPlace { file: number, bytes: end as u64 };
    Ok(Closed { place, last: found.next_record - 1, keep })
}

/// Cuts a torn end off. If that cannot be done now, the next file of the log will say where this one ends.
fn cut(disk: &dyn Disk, path: &Path, bytes: usize) {
    tracing::info!(file = %path.display(), bytes, "the torn end of the log is cut off");
    if let Err(error) = disk.reopen(path).and_then(|file| disk.truncate(&file, bytes as u64)) {
        tracing::warn!(file = %path.display(), %error, "the torn end of the log could not be cut off");
    }
}
