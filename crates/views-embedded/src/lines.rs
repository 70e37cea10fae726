//! The lines of logs that were counted, so that a copy of a log is known whatever it is called and wherever it was cut.
//!
//! One file a project that only grows: each flush adds a frame with the lines of its table and the number of its last
//! record. A frame of records that no manifest holds does not count, and the next one takes its place. When the file is too
//! long its oldest frames go.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use copydesk_views::store::{Loss, Lost};
use copydesk_views::{CountedLines, Stretch};

use super::disk::{Disk, is_lasting};
use super::manifest::{Manifest, keep_aside, lines_file};
use super::project::Project;
use super::record::{put_stretch, stretches};
use super::shared::Shared;

/// Bytes that are kept of a project, two for each line.
const MOST: u64 = 64 << 20;
const MAGIC: &[u8; 8] = b"cdlines1";
const HEADER: usize = 32;

/// Makes lines durable that are in records up to `last`, where a manifest holds those up to `held`. Done again it does
/// nothing. Says whether lines were found to be damaged; what is left of them is written anew.
pub(super) fn append(disk: &dyn Disk, folder: &Path, lines: &[Stretch], held: u64, last: u64) -> io::Result<bool> {
    if lines.is_empty() {
        return Ok(false);
    }
    let path = lines_file(folder);
    let mut known = Lines::open(&path)?;
    if let Some(frame) = known.frames.last().filter(|frame| frame.last >= last)
        && known.bytes_of(frame)?.is_some()
    {
        return Ok(false);
    }
    known.frames.retain(|frame| frame.last <= held);
    let (new, end) = (encode(lines, last), known.end());
    if known.damaged || end > known.bytes {
        keep_aside(&path);
        known.rewrite(disk, &path, &new)?;
        return Ok(true);
    }
    if end + new.len() as u64 > MOST + MOST / 4 {
        known.make_room(new.len() as u64);
        return known.rewrite(disk, &path, &new).map(|()| false);
    }
    let file = if known.frames.is_empty() { disk.create(&path)? } else { disk.reopen(&path)? };
    if !known.frames.is_empty() && known.bytes > end {
        // What a crash or a full disk left behind.
        disk.truncate(&file, end)?;
    }
    disk.append(&file, &new)?;
    disk.sync(&file)?;
    Ok(false)
}

/// Everything that is on disk, as far as a manifest holds it, and what is in memory behind it.
pub(super) fn all(folder: &Path, manifest: &Manifest, in_memory: Vec<Stretch>) -> io::Result<CountedLines> {
    let known = Lines::open(&lines_file(folder))?;
    let mut lines = CountedLines { damaged: known.damaged, ..CountedLines::default() };
    let counts = |frame: &&Frame| frame.last > manifest.lines_after && frame.last <= manifest.flushed;
    for frame in known.frames.iter().filter(counts) {
        match known.bytes_of(frame)?.and_then(|bytes| stretches(&bytes[HEADER..])) {
            Some(stretches) => stretches.into_iter().for_each(|stretch| stretch.join(&mut lines.stretches)),
            None => lines.damaged = true,
        }
    }
    in_memory.into_iter().for_each(|stretch| stretch.join(&mut lines.stretches));
    Ok(lines)
}

/// Writes anew what can be read of the lines that a manifest holds. The damaged file is kept aside.
pub(super) fn repair(disk: &dyn Disk, folder: &Path, held: u64) -> io::Result<()> {
    let path = lines_file(folder);
    let mut known = Lines::open(&path)?;
    known.frames.retain(|frame| frame.last <= held);
    keep_aside(&path);
    known.rewrite(disk, &path, &[])
}

/// What it costs that lines are damaged.
pub(super) fn loss(shared: &Shared, project: &Project) -> Loss {
    let what = "what is remembered of imported logs is damaged: lines of a copy may be counted again";
    shared.loss(Some(&project.id), Lost::Ids, &lines_file(&project.folder), what)
}

/// A part of the file.
#[derive(Debug, Clone, Copy)]
struct Frame {
    /// Where its header begins.
    begin: u64,
    /// Of its header and its body.
    length: u64,
    sum: u32,
    last: u64,
}

/// An open file and its frames. What is read is of one moment, whatever takes the file's place.
#[derive(Debug, Default)]
struct Lines {
    /// None if there is none.
    file: Option<File>,
    bytes: u64,
    /// The end of the last one may be missing.
    frames: Vec<Frame>,
    /// There is something that is no frame.
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

impl Lines {
    fn open(path: &Path) -> io::Result<Self> {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            file => file?,
        };
        let mut lines = Self { bytes: file.metadata()?.len(), file: Some(file), ..Self::default() };
        let mut at = 0;
        while lines.bytes.saturating_sub(at) >= HEADER as u64 {
            let header = lines.read(at, HEADER as u64)?;
            let frame = match header.and_then(|header| frame(&header, at)) {
                Some(frame) => Some(frame),
                None => lines.behind_damage(at)?,
            };
            let Some(frame) = frame else { break };
            at = frame.end();
            lines.frames.push(frame);
        }
        Ok(lines)
    }

    /// The next frame behind a place where none begins. Where there is none, something was being written when the machine
    /// stopped: a beginning that is too short for a header, or room that was never filled. Anything else is damage.
    fn behind_damage(&mut self, at: u64) -> io::Result<Option<Frame>> {
        let rest = self.read(at, self.bytes - at)?.unwrap_or_default();
        let candidates = rest.windows(HEADER).enumerate().filter(|(_, window)| window.starts_with(MAGIC));
        let next = candidates.filter_map(|(place, header)| frame(header, at + place as u64)).next();
        let written = rest.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        self.damaged |= next.is_some() || written >= HEADER || rest.is_empty();
        Ok(next)
    }

    /// So many bytes; none if they are not there or the disk cannot read them.
    fn read(&self, at: u64, length: u64) -> io::Result<Option<Vec<u8>>> {
        let Some(file) = self.file.as_ref().filter(|_| at.saturating_add(length) <= self.bytes) else {
            return Ok(None);
        };
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        match file.read_exact_at(&mut bytes, at) {
            Err(error) if is_lasting(&error) => Ok(None),
            read => read.map(|()| Some(bytes)),
        }
    }

    /// The bytes of a frame; none if it is damaged.
    fn bytes_of(&self, frame: &Frame) -> io::Result<Option<Vec<u8>>> {
        let bytes = self.read(frame.begin, frame.length)?;
        Ok(bytes.filter(|bytes| crc32fast::hash(&bytes[HEADER..]) == frame.sum))
    }

    /// Behind the last frame.
    fn end(&self) -> u64 {
        self.frames.last().map_or(0, Frame::end)
    }

    /// Lets go of the oldest frames, until there is room for a new one of so many bytes.
    fn make_room(&mut self, new: u64) {
        let mut room = MOST.saturating_sub(new);
        let fits = |frame: &&Frame| {
            let fits = frame.length <= room;
            room = room.saturating_sub(frame.length);
            fits
        };
        let kept = self.frames.iter().rev().take_while(fits).count();
        self.frames.drain(..self.frames.len() - kept);
    }

    /// Writes the frames that can be read and `new` behind them, in the place of the file.
    fn rewrite(&self, disk: &dyn Disk, path: &Path, new: &[u8]) -> io::Result<()> {
        let made = path.with_extension("new");
        let write = || {
            let file = disk.create(&made)?;
            for frame in &self.frames {
                disk.append(&file, &self.bytes_of(frame)?.unwrap_or_default())?;
            }
            disk.append(&file, new)?;
            disk.sync(&file)?;
            disk.rename(&made, path)
        };
        write().inspect_err(|_| drop(disk.remove(&made)))
    }
}

impl Frame {
    fn end(&self) -> u64 {
        self.begin.saturating_add(self.length)
    }
}

/// The frame that a header begins; none if it is damaged.
fn frame(header: &[u8], begin: u64) -> Option<Frame> {
    let field = |at: usize| header.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let sum = |at: usize| header.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    let good = header.starts_with(MAGIC) && crc32fast::hash(header.get(..28)?) == sum(28)?;
    let length = field(16)?.checked_add(HEADER as u64)?;
    good.then_some(Frame { begin, length, sum: sum(24)?, last: field(8)? })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::disk::RealDisk;

    fn stretch(first: u64, prints: usize) -> Stretch {
        Stretch { log: "log".to_owned(), first, prints: vec![first as u16; prints] }
    }

    fn kept(path: &Path) -> (Vec<u64>, bool) {
        let lines = Lines::open(path).unwrap();
        let (good, bad): (Vec<Frame>, Vec<Frame>) =
            lines.frames.iter().copied().partition(|frame| lines.bytes_of(frame).unwrap().is_some());
        (good.iter().map(|frame| frame.last).collect(), lines.damaged || !bad.is_empty())
    }

    /// A folder with three frames, and what is in the file.
    fn three() -> (tempfile::TempDir, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        for (first, last) in [(0, 5), (3, 7), (6, 9)] {
            assert!(!append(&RealDisk, folder.path(), &[stretch(first, 3)], last - 1, last).unwrap());
        }
        let bytes = fs::read(lines_file(folder.path())).unwrap();
        (folder, bytes)
    }

    #[test]
    fn a_frame_is_added_once_and_a_torn_one_is_written_over() {
        let (folder, whole) = three();
        let file = lines_file(folder.path());
        let again = || append(&RealDisk, folder.path(), &[stretch(6, 3)], 7, 9).unwrap();
        assert!(!again());
        assert_eq!(kept(&file), (vec![5, 7, 9], false));
        let third = whole.len() / 3 * 2;
        let zeros = |from: usize| [&whole[..from], &vec![0; whole.len() - from]].concat();
        // Cut anywhere, or never filled from there on, as a loss of power leaves it.
        for at in third..whole.len() {
            for torn in [whole[..at].to_vec(), zeros(at)] {
                fs::write(&file, &torn).unwrap();
                let manifest = Manifest { flushed: 7, ..Manifest::default() };
                assert!(!all(folder.path(), &manifest, Vec::new()).unwrap().damaged, "at {at}");
                assert!(!again(), "at {at}");
                assert_eq!(fs::read(&file).unwrap(), whole, "at {at}");
            }
        }
    }

    #[test]
    fn what_no_manifest_held_gives_way_to_what_has_it_again() {
        let (folder, _) = three();
        append(&RealDisk, folder.path(), &[stretch(3, 6)], 5, 11).unwrap();
        assert_eq!(kept(&lines_file(folder.path())), (vec![5, 11], false));
        let manifest = Manifest { flushed: 11, ..Manifest::default() };
        let lines = all(folder.path(), &manifest, Vec::new()).unwrap().stretches;
        assert_eq!(lines.iter().map(|it| (it.first, it.prints.len())).collect::<Vec<_>>(), [(0, 9)]);
    }

    #[test]
    fn every_flipped_byte_is_told_of_and_costs_one_frame() {
        let (folder, whole) = three();
        let file = lines_file(folder.path());
        for place in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[place] ^= 0x10;
            fs::write(&file, &flipped).unwrap();
            let (left, damaged) = kept(&file);
            assert!(damaged && left.len() == 2, "byte {place}: {left:?}");
            repair(&RealDisk, folder.path(), 9).unwrap();
            assert_eq!(kept(&file), (left, false), "byte {place}");
            assert_eq!(fs::read(crate::manifest::set_aside(&file)).unwrap(), flipped);
        }
    }

    #[test]
    fn a_flush_behind_damage_says_so_and_costs_no_more() {
        let (folder, whole) = three();
        let file = lines_file(folder.path());
        for (place, left) in [(3, [7, 9, 11]), (whole.len() / 3 + 20, [5, 9, 11])] {
            let mut flipped = whole.clone();
            flipped[place] ^= 0x10;
            fs::write(&file, &flipped).unwrap();
            assert!(append(&RealDisk, folder.path(), &[stretch(9, 3)], 9, 11).unwrap());
            assert_eq!(kept(&file), (left.to_vec(), false));
        }
        // The end of what a manifest holds is gone.
        fs::write(&file, &whole[..whole.len() - 1]).unwrap();
        assert!(append(&RealDisk, folder.path(), &[stretch(9, 3)], 9, 11).unwrap());
        assert_eq!(kept(&file), (vec![5, 7, 11], false));
    }

    #[test]
    fn what_is_being_read_may_be_written_anew() {
        let (folder, _) = three();
        let file = lines_file(folder.path());
        let reading = Lines::open(&file).unwrap();
        fs::remove_file(&file).unwrap();
        append(&RealDisk, folder.path(), &[stretch(50, 90)], 9, 11).unwrap();
        assert!(reading.frames.iter().all(|frame| reading.bytes_of(frame).unwrap().is_some()));
    }

    #[test]
    fn the_oldest_frames_make_room() {
        let folder = tempfile::tempdir().unwrap();
        let lines = (MOST / 2 / 10) as usize;
        for number in 0..14 {
            append(&RealDisk, folder.path(), &[stretch(number, lines)], number, number + 1).unwrap();
        }
        let (records, damaged) = kept(&lines_file(folder.path()));
        assert!(!damaged && fs::metadata(lines_file(folder.path())).unwrap().len() <= MOST + MOST / 4);
        assert_eq!(records.last(), Some(&14));
        assert!(records.len() >= 9 && records[0] > 1, "{records:?}");
    }
}
