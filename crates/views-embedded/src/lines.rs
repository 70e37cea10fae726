//! The lines of logs that were counted, so that a copy of a log is known whatever it is called and wherever it was cut.
//!
//! One file a project that only grows: each flush adds a frame with the lines of its table and the number of its last
//! record. A frame of records that no manifest holds yet does not count, so nothing here has to be undone. When the file
//! is too long its oldest frames go.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use copydesk_views::{CountedLines, Stretch};

use super::disk::Disk;
use super::manifest::{Manifest, lines_file};
use super::record::{put_stretch, stretches};

/// Bytes that are kept of a project, two for each line.
const MOST: u64 = 64 << 20;
const MAGIC: &[u8; 8] = b"cdlines1";
const HEADER: usize = 32;

/// Makes lines durable that are in records up to `last`. Done again it does nothing.
pub(super) fn append(disk: &dyn Disk, folder: &Path, lines: &[Stretch], last: u64) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let path = lines_file(folder);
    let Scanned { frames, end, bytes, damaged } = scan(&path)?;
    if damaged {
        tracing::error!(file = %path.display(), "lines of imported logs were damaged and are forgotten from there on");
    }
    if frames.last().is_some_and(|frame| frame.last >= last) {
        return Ok(());
    }
    let new = encode(lines, last);
    if end + new.len() as u64 > MOST + MOST / 4 {
        return rewrite(disk, &path, &frames, &new);
    }
    let file = if frames.is_empty() { disk.create(&path)? } else { disk.reopen(&path)? };
    if !frames.is_empty() && bytes > end {
        // What a crash or a full disk left behind.
        disk.truncate(&file, end)?;
    }
    disk.append(&file, &new)?;
    disk.sync(&file)
}

/// Everything that is on disk, as far as a manifest holds it, and what is in memory behind it.
pub(super) fn all(folder: &Path, manifest: &Manifest, in_memory: Vec<Stretch>) -> io::Result<CountedLines> {
    let file = lines_file(folder);
    let mut lines = CountedLines::default();
    let Scanned { frames, damaged, .. } = scan(&file)?;
    lines.damaged = damaged;
    let counts = |frame: &&Frame| frame.last > manifest.lines_after && frame.last <= manifest.flushed;
    for frame in frames.iter().filter(counts) {
        match read(&file, frame)? {
            Some(stretches) => stretches.into_iter().for_each(|stretch| stretch.join(&mut lines.stretches)),
            None => lines.damaged = true,
        }
    }
    in_memory.into_iter().for_each(|stretch| stretch.join(&mut lines.stretches));
    Ok(lines)
}

/// A part of the file.
#[derive(Debug, Clone, Copy)]
struct Frame {
    /// Where its body begins.
    begin: u64,
    length: u64,
    sum: u32,
    last: u64,
}

#[derive(Debug, Default)]
struct Scanned {
    frames: Vec<Frame>,
    /// Behind the last whole frame.
    end: u64,
    /// Of the file.
    bytes: u64,
    /// There is something behind that is no frame.
    damaged: bool,
}

fn encode(lines: &[Stretch], last: u64) -> Vec<u8> {
    let mut body = Vec::new();
    lines.iter().for_each(|stretch| put_stretch(&mut body, stretch));
    let mut frame = MAGIC.to_vec();
    frame.extend_from_slice(&last.to_le_bytes());
    frame.extend_from_slice(&(body.len() as u64).to_le_bytes());
    frame.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
    let sum = crc32fast::hash(&frame);
    frame.extend_from_slice(&sum.to_le_bytes());
    frame.extend_from_slice(&body);
    frame
}

/// The frames of a file; none if there is no file.
fn scan(path: &Path) -> io::Result<Scanned> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Scanned::default()),
        file => file?,
    };
    let mut scanned = Scanned { bytes: file.metadata()?.len(), ..Scanned::default() };
    let mut header = [0; HEADER];
    while scanned.bytes - scanned.end >= HEADER as u64 {
        file.seek(SeekFrom::Start(scanned.end))?;
        file.read_exact(&mut header)?;
        let Some(frame) = frame(&header, scanned.end + HEADER as u64) else {
            scanned.damaged = true;
            break;
        };
        match frame.begin.checked_add(frame.length).filter(|end| *end <= scanned.bytes) {
            Some(end) => scanned.end = end,
            // Its end is missing: it was being written when the machine stopped, and its records are in the log.
            None => break,
        }
        scanned.frames.push(frame);
    }
    Ok(scanned)
}

fn frame(header: &[u8; HEADER], begin: u64) -> Option<Frame> {
    let field = |at: usize| header[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let sum = |at: usize| header[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let good = header.starts_with(MAGIC) && crc32fast::hash(&header[..28]) == sum(28);
    good.then(|| Frame { begin, length: field(16), sum: sum(24), last: field(8) })
}

/// The lines of a frame; none if it is damaged.
fn read(path: &Path, frame: &Frame) -> io::Result<Option<Vec<Stretch>>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(frame.begin))?;
    let mut body = Vec::new();
    file.take(frame.length).read_to_end(&mut body)?;
    Ok(if crc32fast::hash(&body) == frame.sum { stretches(&body) } else { None })
}

/// Keeps the newest frames, as many as there is room for, and adds one.
fn rewrite(disk: &dyn Disk, path: &Path, frames: &[Frame], new: &[u8]) -> io::Result<()> {
    let mut room = MOST.saturating_sub(new.len() as u64);
    let fits = |frame: &&Frame| {
        let fits = frame.length <= room;
        room = room.saturating_sub(frame.length);
        fits
    };
    let from = frames.iter().rev().take_while(fits).last().map(|frame| frame.begin - HEADER as u64);
    let to = frames.last().map_or(0, |frame| frame.begin + frame.length);
    let made = path.with_extension("new");
    let write = || {
        let file = disk.create(&made)?;
        if let Some(from) = from {
            let kept = fs::read(path)?;
            let range = usize::try_from(from).unwrap_or(usize::MAX)..usize::try_from(to).unwrap_or(usize::MAX);
            disk.append(&file, kept.get(range).unwrap_or_default())?;
        }
        disk.append(&file, new)?;
        disk.sync(&file)?;
        disk.rename(&made, path)
    };
    write().inspect_err(|_| drop(disk.remove(&made)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;

    fn stretch(first: u64, prints: usize) -> Stretch {
        Stretch { log: "log".to_owned(), first, prints: vec![first as u16; prints] }
    }

    fn kept(path: &Path) -> (Vec<u64>, bool) {
        let scanned = scan(path).unwrap();
        let bad = scanned.frames.iter().filter(|frame| read(path, frame).unwrap().is_none()).count();
        (scanned.frames.iter().map(|frame| frame.last).collect(), scanned.damaged || bad > 0)
    }

    #[test]
    fn a_frame_is_added_once_and_a_torn_one_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let file = lines_file(folder.path());
        append(&RealDisk, folder.path(), &[stretch(0, 3)], 5).unwrap();
        append(&RealDisk, folder.path(), &[stretch(0, 3)], 5).unwrap();
        append(&RealDisk, folder.path(), &[stretch(3, 3)], 7).unwrap();
        assert_eq!(kept(&file), (vec![5, 7], false));
        let whole = fs::read(&file).unwrap();
        fs::write(&file, &whole[..whole.len() - 1]).unwrap();
        append(&RealDisk, folder.path(), &[stretch(3, 3)], 7).unwrap();
        assert_eq!(fs::read(&file).unwrap(), whole);
    }

    #[test]
    fn every_flipped_byte_is_told_of() {
        let folder = tempfile::tempdir().unwrap();
        append(&RealDisk, folder.path(), &[stretch(0, 3)], 5).unwrap();
        append(&RealDisk, folder.path(), &[stretch(3, 3)], 7).unwrap();
        let file = lines_file(folder.path());
        let whole = fs::read(&file).unwrap();
        for place in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[place] ^= 0x10;
            fs::write(&file, &flipped).unwrap();
            assert!(kept(&file).1, "byte {place}");
        }
    }

    #[test]
    fn the_oldest_frames_make_room() {
        let folder = tempfile::tempdir().unwrap();
        let lines = (MOST / 2 / 10) as usize;
        for number in 0..14 {
            append(&RealDisk, folder.path(), &[stretch(number, lines)], number + 1).unwrap();
        }
        let (records, damaged) = kept(&lines_file(folder.path()));
        assert!(!damaged && fs::metadata(lines_file(folder.path())).unwrap().len() <= MOST + MOST / 4);
        assert_eq!(records.last(), Some(&14));
        assert!(records.len() >= 9 && records[0] > 1, "{records:?}");
    }
}
