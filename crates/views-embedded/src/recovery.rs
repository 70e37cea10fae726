//! Reading the log again after a start.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::disk::Disk;
use super::manifest::set_aside;
use super::wal::{self, Closed, Found, HEADER, Header, LogDamage, LogPlace, read_record};

/// What a reader makes of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// All is well, or it was known already.
    Done,
    /// It cannot be used now; the file must not be thrown away.
    Not,
}

/// Reads the log in order, cuts a torn end off, and says how to go on. Records are taken wherever they are whole.
pub(super) fn read(
    disk: &dyn Disk,
    folder: &Path,
    each: &mut dyn FnMut(u64, &[u8]) -> io::Result<Taken>,
) -> io::Result<Found> {
    let files = list(folder)?;
    let mut found =
        Found { next_file: files.last().map_or(1, |file| file.number + 1), next_record: 1, ..Found::default() };
    let chain = chain(disk, files, &mut found)?;
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
fn chain(disk: &dyn Disk, files: Vec<LogFile>, found: &mut Found) -> io::Result<Vec<Link>> {
    let mut chain: Vec<Link> = Vec::new();
    for LogFile { number, path } in files {
        let header = wal::read_header(&head(&path)?).filter(|header| header.number == number);
        match header {
            Some(header) => {
                let from = header.after.map_or(0, |after| after.file);
                while let Some(void) = chain.pop_if(|link| link.header.number > from) {
                    tracing::debug!(file = %void.path.display(), "a file of the log that never counted is removed");
                    disk.remove(&void.path)?;
                }
                chain.push(Link { path, header });
            }
            None => chain.extend(without_header(disk, path, number, found)?),
        }
    }
    Ok(chain)
}

fn head(path: &Path) -> io::Result<Vec<u8>> {
    use std::io::Read;
    let mut head = Vec::with_capacity(HEADER);
    fs::File::open(path)?.take(HEADER as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// A file without a whole header. Its records say by themselves that they are of this file; what is not known any more is
/// whether something of an earlier file was void.
fn without_header(disk: &dyn Disk, path: PathBuf, number: u64, found: &mut Found) -> io::Result<Option<Link>> {
    let bytes = fs::read(&path)?;
    if (0..bytes.len()).any(|at| read_record(&bytes, number, at).is_some()) {
        found.note(&path, 0, "the beginning of a file of the log is damaged; views that were refused may be counted");
        let header = Header { number, next_record: 1, after: None, bytes: 0, is_whole: false };
        return Ok(Some(Link { path, header }));
    }
    if bytes.len() <= HEADER {
        // Nothing in it was ever acknowledged.
        disk.remove(&path)?;
    } else {
        found.note(&path, 0, "a file of the log is damaged and was put aside");
        disk.rename(&path, &set_aside(&path))?;
    }
    Ok(None)
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
    // What was taken from a file without a header is looked at again when its reason is known.
    let mut keep = link.header.bytes == 0;
    match bound.and_then(|bound| usize::try_from(bound).ok()) {
        Some(bound) if bound > bytes.len() => {
            found.note(&link.path, bytes.len(), "the end of a file of the log is gone");
            keep = true;
        }
        Some(bound) => bytes.truncate(bound),
        None => {}
    }
    found.next_record = found.next_record.max(link.header.next_record);
    let (mut at, mut end) = (link.header.bytes.min(bytes.len()), link.header.bytes);
    while at < bytes.len() {
        let Some(record) = read_record(&bytes, number, at) else {
            let Some(next) = (at + 1..bytes.len()).find(|at| read_record(&bytes, number, *at).is_some()) else { break };
            // Before the first record of a file without a header is that header.
            if at > 0 {
                found.note(&link.path, at, "a part of the log is damaged: what was told at that time may be missing");
            }
            keep = true;
            at = next;
            continue;
        };
        keep |= each(record.number, record.payload)? == Taken::Not;
        found.next_record = found.next_record.max(record.number + 1);
        (at, end) = (record.end, record.end);
    }
    if end < bytes.len() {
        let was_told = !wal::was_never_finished(&bytes, number, end);
        if was_told {
            found.note(&link.path, end, "the end of a file of the log is damaged: what was told last may be missing");
        }
        if is_last {
            cut(disk, &link.path, &bytes[end..], end, was_told);
        } else {
            keep = true;
            end = bytes.len();
        }
    }
    let place = LogPlace { file: number, bytes: end as u64 };
    Ok(Closed { place, last: found.next_record - 1, keep })
}

/// Cuts a torn end off. What may have been acknowledged is kept aside first. If the end cannot be cut now, the next file of
/// the log will say where this one ends.
fn cut(disk: &dyn Disk, path: &Path, rest: &[u8], at: usize, was_told: bool) {
    tracing::info!(file = %path.display(), at, bytes = rest.len(), "the torn end of the log is cut off");
    let kept = || {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{at}"));
        let aside = disk.create(&set_aside(Path::new(&name)))?;
        disk.append(&aside, rest)?;
        disk.sync(&aside)
    };
    let kept = if was_told { kept() } else { Ok(()) };
    let cut = || disk.reopen(path).and_then(|file| disk.truncate(&file, at as u64));
    if let Err(error) = kept.and_then(|()| cut()) {
        tracing::warn!(file = %path.display(), %error, "the torn end of the log could not be cut off");
    }
}

impl Found {
    fn note(&mut self, path: &Path, at: usize, what: &'static str) {
        self.damage.push(LogDamage { path: path.to_owned(), at, what });
    }
}
