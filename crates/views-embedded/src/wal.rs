//! The log that makes batches durable: files of records, one after the other, for all projects together.
//!
//! A file begins with a header that says where the log went on from: a file and a length. Whatever is behind that length,
//! and every file between the two, was never acknowledged and is void. So a group that could not be synced stays out of
//! the log even where its bytes could not be cut off. The header is there twice: one damage must not cost it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::disk::{Disk, Written};
use super::record::MAX_BYTES;

const MAGIC: &[u8; 8] = b"cdviews2";
/// How files began that have their header once.
const MAGIC_ONCE: &[u8; 8] = b"cdviews1";
const HEADER_ONCE: usize = 44;
pub(super) const HEADER: usize = 2 * HEADER_ONCE;
pub(super) const RECORD: usize = 20;

/// A place in the log: a file by its number, and how much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogPlace {
    pub(super) file: u64,
    pub(super) bytes: u64,
}

/// A file of the log that is not written to any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Closed {
    pub(super) place: LogPlace,
    /// The number of its last record, or of the last one before it.
    pub(super) last: u64,
    /// Something in it could not be read or applied: it is put aside instead of being removed.
    pub(super) keep: bool,
}

/// What there is of the log; shared with those who remove and copy files.
#[derive(Debug, Default)]
pub(super) struct Files {
    closed: Mutex<Vec<Closed>>,
    /// How much there is of the file that is written to.
    open: Mutex<Option<LogPlace>>,
    /// The file that is not to be written to any more, because it is damaged.
    damaged: AtomicU64,
    /// Held by who removes files, and by who wants none removed.
    pub(super) trimming: Mutex<()>,
}

impl Files {
    pub(super) fn new(closed: Vec<Closed>) -> Self {
        Self { closed: Mutex::new(closed), ..Self::default() }
    }

    pub(super) fn closed(&self) -> MutexGuard<'_, Vec<Closed>> {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// No file is removed while this is held.
    pub(super) fn hold(&self) -> MutexGuard<'_, ()> {
        self.trimming.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn bytes(&self) -> u64 {
        let closed: u64 = self.closed().iter().map(|file| file.place.bytes).sum();
        closed + self.open().map_or(0, |open| open.bytes)
    }

    fn open(&self) -> Option<LogPlace> {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_open(&self, place: Option<LogPlace>) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }

    /// Everything that counts now: each file and how much of it.
    pub(super) fn places(&self) -> Vec<LogPlace> {
        // In this order: a file that is closed meanwhile is in one of both.
        let open = self.open();
        let mut places: Vec<LogPlace> = self.closed().iter().map(|file| file.place).collect();
        if let Some(open) = open {
            places.retain(|place| place.file < open.file);
            places.push(open);
        }
        places
    }

    /// Whether it is known that a file is damaged.
    pub(super) fn is_known(&self, file: u64) -> bool {
        self.damaged.load(Ordering::Acquire) == file || self.closed().iter().any(|it| it.place.file == file && it.keep)
    }

    /// A damaged file is put aside when none of its records is needed; one that is open is written to no more.
    pub(super) fn keep(&self, file: u64) {
        match self.closed().iter_mut().find(|it| it.place.file == file) {
            Some(closed) => closed.keep = true,
            None => self.damaged.store(file, Ordering::Release),
        }
    }

    /// The oldest is gone.
    pub(super) fn remove_first(&self) {
        self.closed().remove(0);
    }
}

/// What a record takes of the log.
pub(super) fn bytes_of(payload: &[u8]) -> u64 {
    (RECORD + payload.len()) as u64
}

/// The name of a file of the log.
pub(super) fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:010}.wal"))
}

/// The writing end of the log.
pub(super) struct Log {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    files: Arc<Files>,
    open: Option<Open>,
    /// Where the log ends while no file is open.
    end: Option<LogPlace>,
    /// The end was found after a crash and may be nowhere but in memory.
    unsynced: bool,
    next_file: u64,
    next_record: u64,
    /// A file that is longer than this is followed by a new one.
    file_bytes: u64,
    buffer: Vec<u8>,
}

struct Open {
    file: Written,
    place: LogPlace,
}

/// How the log was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) end: Option<LogPlace>,
    pub(super) next_file: u64,
    pub(super) next_record: u64,
    pub(super) closed: Vec<Closed>,
    pub(super) damage: Vec<LogDamage>,
}

/// A place of the log that is not as it was written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LogDamage {
    pub(super) path: PathBuf,
    pub(super) at: usize,
    /// What it costs, in a sentence.
    pub(super) what: &'static str,
}

impl Log {
    /// Goes on where the log was found to end.
    pub(super) fn new(disk: Arc<dyn Disk>, folder: PathBuf, found: Found, file_bytes: u64) -> Self {
        let files = Arc::new(Files::new(found.closed));
        Self {
            disk,
            folder,
            files,
            open: None,
            end: found.end,
            unsynced: found.end.is_some(),
            next_file: found.next_file.max(1),
            next_record: found.next_record.max(1),
            file_bytes,
            buffer: Vec::new(),
        }
    }

    pub(super) fn files(&self) -> &Arc<Files> {
        &self.files
    }

    /// The number for one more record. It is greater than `than`: what a project has on disk may be ahead of a log that
    /// was lost.
    pub(super) fn number_after(&mut self, than: u64) -> u64 {
        let number = self.next_record.max(than.saturating_add(1));
        self.next_record = number + 1;
        number
    }

    /// The number of the last record that was given one.
    pub(super) fn last(&self) -> u64 {
        self.next_record - 1
    }

    /// Writes a group of records. They are on disk when it returns; after an error none of them is part of the log.
    pub(super) fn commit<'a>(&mut self, records: impl Iterator<Item = (u64, &'a [u8], u32)>) -> io::Result<()> {
        if self.open.as_ref().is_some_and(|open| self.files.is_known(open.place.file)) {
            self.rotate();
        }
        let Open { file, place } = match self.open.take() {
            Some(open) => open,
            None => self.begin()?,
        };
        self.buffer.clear();
        for (number, payload, crc) in records {
            let header = record_header(place.file, place.bytes + self.buffer.len() as u64, number, payload.len(), crc);
            self.buffer.extend_from_slice(&header);
            self.buffer.extend_from_slice(payload);
        }
        if let Err(error) = self.disk.append(&file, &self.buffer) {
            // Only a cut that is known to be on disk lets the file be used on.
            if self.cut(&file, place.bytes).is_ok() {
                self.open = Some(Open { file, place });
            } else {
                self.end_file(place);
            }
            return Err(error);
        }
        if let Err(error) = self.disk.sync(&file) {
            // What a failed sync leaves behind is unknown, also to a second sync: this file is done with.
            let _ = self.cut(&file, place.bytes);
            self.end_file(place);
            return Err(error);
        }
        let place = LogPlace { bytes: place.bytes + self.buffer.len() as u64, ..place };
        self.buffer.shrink_to(4 << 20);
        self.open = Some(Open { file, place });
        self.files.set_open(Some(place));
        if place.bytes >= self.file_bytes {
            self.rotate();
        }
        Ok(())
    }

    /// Makes sure that what was found after a crash is on disk. Nothing may be acknowledged that rests on it before.
    pub(super) fn sync_found(&mut self) -> io::Result<()> {
        if self.unsynced
            && let Some(end) = self.end
        {
            let last = self.disk.reopen(&path(&self.folder, end.file))?;
            self.disk.sync(&last)?;
            self.unsynced = false;
        }
        Ok(())
    }

    fn cut(&self, file: &Written, bytes: u64) -> io::Result<()> {
        self.disk.truncate(file, bytes).and_then(|()| self.disk.sync(file)).inspect_err(|error| {
            tracing::warn!(file = %file.path.display(), %error, "the log could not be cut; a new file will go on");
        })
    }

    /// Writes no more to the open file: all of the log is before `end`.
    fn end_file(&mut self, end: LogPlace) {
        self.open = None;
        self.end = Some(end);
        self.unsynced = false;
        let keep = self.files.is_known(end.file);
        self.files.closed().push(Closed { place: end, last: self.last(), keep });
        self.files.set_open(None);
    }

    /// Goes on in a new file, if one can be made; otherwise the old one just grows.
    fn rotate(&mut self) {
        let Some(Open { place, .. }) = self.open else { return };
        self.end = Some(place);
        self.unsynced = false;
        match self.begin() {
            Ok(open) => {
                self.end_file(place);
                self.files.set_open(Some(open.place));
                self.open = Some(open);
            }
            Err(error) => {
                // A file that says that the log goes on from here may be on disk, or come back there: nothing may be
                // written behind this place any more.
                tracing::debug!(%error, "the next file of the log could not be begun; the next batch tries again");
                self.end_file(place);
            }
        }
    }

    /// A new file that says where the log went on from.
    fn begin(&mut self) -> io::Result<Open> {
        self.sync_found()?;
        let number = self.next_file;
        self.next_file += 1;
        let file = path(&self.folder, number);
        self.begin_at(&file, number).inspect_err(|_| {
            // It is void anyway; this only spares the next start a look.
            let _ = self.disk.remove(&file);
        })
    }

    fn begin_at(&self, path: &Path, number: u64) -> io::Result<Open> {
        let file = self.disk.create(path)?;
        self.disk.append(&file, &header(number, self.next_record, self.end))?;
        self.disk.sync(&file)?;
        self.disk.sync_folder(&self.folder)?;
        Ok(Open { file, place: LogPlace { file: number, bytes: HEADER as u64 } })
    }
}

/// What the header of a file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) number: u64,
    /// The number that the next record would have had.
    pub(super) next_record: u64,
    /// Where the log went on from.
    pub(super) after: Option<LogPlace>,
    /// Where the first record begins.
    pub(super) bytes: usize,
    /// All of it is as it was written.
    pub(super) is_whole: bool,
}

fn header(number: u64, next_record: u64, after: Option<LogPlace>) -> Vec<u8> {
    let after = after.unwrap_or(LogPlace { file: 0, bytes: 0 });
    let mut out = MAGIC.to_vec();
    for value in [number, next_record, after.file, after.bytes] {
        out.extend_from_slice(&value.to_le_bytes());
    }
    let crc = crc32fast::hash(&out);
    out.extend_from_slice(&crc.to_le_bytes());
    out.repeat(2)
}

/// The header that a file's bytes begin with, if it is whole in one place.
pub(super) fn read_header(bytes: &[u8]) -> Option<Header> {
    let (first, second) = (one_header(bytes), bytes.get(HEADER_ONCE..).and_then(one_header));
    match first.filter(|first| first.bytes == HEADER_ONCE) {
        Some(once) => Some(once),
        None => {
            let both = first.is_some() && second.is_some();
            let either = first.or(second.filter(|second| second.bytes == HEADER))?;
            Some(Header { is_whole: both, ..either })
        }
    }
}

fn one_header(bytes: &[u8]) -> Option<Header> {
    let header: &[u8; HEADER_ONCE] = bytes.first_chunk()?;
    let bytes = match header.first_chunk() {
        Some(MAGIC) => HEADER,
        Some(MAGIC_ONCE) => HEADER_ONCE,
        _ => return None,
    };
    let (content, sum) = header.split_at(HEADER_ONCE - 4);
    let field = |place: usize| content[8 + place * 8..].first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let after = LogPlace { file: field(2)?, bytes: field(3)? };
    let after = (after.file > 0).then_some(after);
    let is_right = crc32fast::hash(content).to_le_bytes() == sum;
    is_right.then_some(Header { number: field(0)?, next_record: field(1)?, after, bytes, is_whole: true })
}

/// A record's header. Its sum covers where it is, so that old bytes are not taken for a record of another place.
fn record_header(file: u64, at: u64, number: u64, length: usize, crc: u32) -> [u8; RECORD] {
    let mut out = [0; RECORD];
    // The writer refuses what is longer than MAX_BYTES, which fits.
    out[..4].copy_from_slice(&(length as u32).to_le_bytes());
    out[4..8].copy_from_slice(&crc.to_le_bytes());
    out[8..16].copy_from_slice(&number.to_le_bytes());
    let sum = header_sum(file, at, &out[..16]);
    out[16..].copy_from_slice(&sum.to_le_bytes());
    out
}

fn header_sum(file: u64, at: u64, fields: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&file.to_le_bytes());
    sum.update(&at.to_le_bytes());
    sum.update(fields);
    sum.finalize()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub(super) number: u64,
    pub(super) payload: &'a [u8],
    /// Where the next one begins.
    pub(super) end: usize,
}

/// The record at a place of a file's bytes; none if there is no whole one.
pub(super) fn read_record(bytes: &[u8], file: u64, at: usize) -> Option<Record<'_>> {
    let (number, length, crc) = read_record_header(bytes, file, at)?;
    let begin = at + RECORD;
    let payload = bytes.get(begin..begin.checked_add(length)?)?;
    (crc32fast::hash(payload) == crc).then_some(Record { number, payload, end: begin + length })
}

/// Number, length and checksum of the record at a place, whatever there is of the record itself.
fn read_record_header(bytes: &[u8], file: u64, at: usize) -> Option<(u64, usize, u32)> {
    let header: &[u8; RECORD] = bytes.get(at..)?.first_chunk()?;
    let (fields, sum) = header.split_at(16);
    if header_sum(file, at as u64, fields).to_le_bytes() != sum {
        return None;
    }
    let length = u32::from_le_bytes(*fields.first_chunk()?) as usize;
    let crc = u32::from_le_bytes(*fields[4..].first_chunk()?);
    let number = u64::from_le_bytes(*fields[8..].first_chunk()?);
    (length <= MAX_BYTES).then_some((number, length, crc))
}

/// Whether what is behind the last whole record of a file is a record that was never written to its end, so that nobody
/// was told that it is there. A record whose end is there has been damaged instead, or was torn in a way that cannot be
/// told from it.
pub(super) fn was_never_finished(bytes: &[u8], file: u64, at: usize) -> bool {
    let rest = bytes.get(at..).unwrap_or_default();
    let is_cut_off =
        read_record_header(bytes, file, at).is_some_and(|(_, length, _)| at + RECORD + length > bytes.len());
    rest.len() < RECORD || is_cut_off || rest.iter().all(|byte| *byte == 0)
}
