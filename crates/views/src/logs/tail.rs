//! The end of a file that is still being written.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use super::blocks::{BLOCK, Blocks, Position, log_name};
use super::counter::{Counter, Terms};
use super::format::Parser;
use super::ledger::Ledger;
use super::options::Options;
use super::report::{FollowError, Sample};
use super::resume::resume;
use super::tally::Tally;
use crate::store::ViewStore;

/// What is read of a file to tell its format, in bytes.
const HEAD: usize = 64 * 1024;
/// How much of the beginning tells whether a file was emptied and filled again.
const BEGINNING: usize = 256;

/// A file that is read as it grows.
pub(super) struct Tail<'a> {
    file: File,
    store: &'a dyn ViewStore,
    options: &'a Options,
    /// Not before the first line is there.
    reading: Option<Reading<'a>>,
    /// The figures of what was read before it was forgotten.
    figures: (Tally, Vec<Sample>),
}

/// What is known of a log once it has a line.
struct Reading<'a> {
    parser: Parser,
    terms: Terms,
    ledger: Ledger<'a>,
    beginning: Vec<u8>,
}

/// How a file stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// As before, or longer.
    Same,
    /// Emptied, and perhaps filled again.
    Emptied,
}

impl<'a> Tail<'a> {
    pub(super) fn new(file: File, store: &'a dyn ViewStore, options: &'a Options) -> Self {
        Self { file, store, options, reading: None, figures: Default::default() }
    }

    /// Whether this is the file that is now at `path`; none if there is no file.
    pub(super) fn is_at(&self, path: &Path) -> io::Result<Option<bool>> {
        let here = self.file.metadata()?;
        match std::fs::metadata(path) {
            Ok(there) => Ok(Some(here.dev() == there.dev() && here.ino() == there.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether what was read is still there.
    pub(super) fn standing(&self) -> io::Result<Standing> {
        self.reading.as_ref().map_or(Ok(Standing::Same), |reading| reading.standing(&self.file))
    }

    /// Counts and keeps the lines that were finished since. Says how many.
    pub(super) async fn read(&mut self, counter: &mut Counter) -> Result<u64, FollowError> {
        if self.reading.is_none() {
            self.reading = self.begin().await?;
        }
        let Some(reading) = &mut self.reading else { return Ok(0) };
        let before = reading.ledger.lines();
        let from = reading.ledger.position().clone();
        let end = last_end(&self.file, from.bytes)?;
        let mut file = &self.file;
        file.seek(SeekFrom::Start(from.bytes))?;
        let mut blocks = Blocks::new(file.take(end - from.bytes), from);
        let mut buffer = Vec::new();
        while let Some(block) = blocks.next(buffer)? {
            let now = self.options.clock.now();
            let counted = counter.count(&block.bytes, &mut reading.parser, &reading.terms, now);
            reading.ledger.add(counted, block.end);
            if reading.ledger.is_full() {
                reading.commit(&self.file).await?;
            }
            buffer = block.bytes;
        }
        reading.commit(&self.file).await?;
        if reading.beginning.len() < BEGINNING {
            reading.beginning = beginning(&self.file, reading.ledger.position())?;
        }
        Ok(reading.ledger.lines() - before)
    }

    /// Counts a last line that was never finished, if it can be read.
    pub(super) async fn finish(&mut self, counter: &mut Counter) -> Result<u64, FollowError> {
        let mut lines = self.read(counter).await?;
        let Some(reading) = &mut self.reading else { return Ok(lines) };
        let from = reading.ledger.position().clone();
        let mut file = &self.file;
        file.seek(SeekFrom::Start(from.bytes))?;
        if let Some(block) = Blocks::new(file, from).next(Vec::new())? {
            let now = self.options.clock.now();
            let counted = counter.count(&block.bytes, &mut reading.parser, &reading.terms, now);
            if counted.tally.unparsable == 0 && counted.tally.blank == 0 {
                lines += counted.tally.lines;
                reading.ledger.add(counted, block.end);
                reading.commit(&self.file).await?;
            } else {
                reading.ledger.add_unfinished(&counted);
            }
        }
        Ok(lines)
    }

    /// Forgets how far it was read. The marks know.
    pub(super) fn forget(&mut self) {
        if let Some(reading) = self.reading.take() {
            let (tally, samples) = reading.ledger.into_figures();
            self.figures.0.add(&tally);
            self.figures.1.extend(samples);
        }
    }

    /// The figures since they were taken last, of what was made durable.
    pub(super) fn take_figures(&mut self) -> (Tally, Vec<Sample>) {
        let (mut tally, mut samples) = std::mem::take(&mut self.figures);
        if let Some(reading) = &mut self.reading {
            let (more, others) = reading.ledger.take_figures();
            tally.add(&more);
            samples.extend(others);
        }
        (tally, samples)
    }

    /// Finds out which log this is and how far it was read before; none before it has a line.
    async fn begin(&self) -> Result<Option<Reading<'a>>, FollowError> {
        let mut head = vec![0; HEAD];
        let length = read_up_to(&self.file, &mut head)?;
        head.truncate(length);
        let whole = memchr::memrchr(b'\n', &head).map_or(0, |last| last + 1);
        let Some(log) = log_name(&head[..whole]) else { return Ok(None) };
        let mut parser = match self.options.parser(&head[..whole]) {
            Ok(parser) => parser,
            // More lines may tell.
            Err(_) if head.len() < HEAD => return Ok(None),
            Err(why) => return Err(FollowError::Unreadable(why)),
        };
        let marks = self.store.marks(&self.options.project, &log).await?;
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(0))?;
        let again = || {
            let mut file = self.file.try_clone()?;
            file.seek(SeekFrom::Start(0))?;
            Ok(Some(Box::new(file) as super::open::Bytes))
        };
        let (position, _) = resume(Box::new(file), marks, again)?;
        if position.bytes > 0 {
            parser.learn_columns(&head);
        }
        let beginning = beginning(&self.file, &position)?;
        let floor = self.store.status(&self.options.project).await?.floor;
        let terms = Terms { floor, hosts: self.options.hosts.clone() };
        let ledger = Ledger::new(self.store, self.options, log, position);
        Ok(Some(Reading { parser, terms, ledger, beginning }))
    }
}

impl Reading<'_> {
    /// Whether the beginning of `file` is still what was read.
    fn standing(&self, file: &File) -> io::Result<Standing> {
        if file.metadata()?.len() < self.ledger.position().bytes {
            return Ok(Standing::Emptied);
        }
        let mut beginning = vec![0; self.beginning.len()];
        let length = read_up_to(file, &mut beginning)?;
        Ok(if beginning[..length] == self.beginning { Standing::Same } else { Standing::Emptied })
    }

    /// Makes durable what was counted, unless the file was emptied meanwhile: then nobody knows what was read.
    async fn commit(&mut self, file: &File) -> Result<(), FollowError> {
        if self.standing(file)? == Standing::Emptied {
            return Err(FollowError::File(io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(self.ledger.commit().await?)
    }
}

/// How the part begins that was read.
fn beginning(file: &File, read: &Position) -> io::Result<Vec<u8>> {
    let mut beginning = vec![0; usize::try_from(read.bytes).unwrap_or(BEGINNING).min(BEGINNING)];
    let length = read_up_to(file, &mut beginning)?;
    beginning.truncate(length);
    Ok(beginning)
}

fn read_up_to(file: &File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read_at(&mut buffer[length..], length as u64) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// Behind the last line that is finished; `from` if none is behind it.
fn last_end(file: &File, from: u64) -> io::Result<u64> {
    let mut end = file.metadata()?.len();
    let mut buffer = vec![0; BLOCK.min(64 * 1024)];
    while end > from {
        let start = end.saturating_sub(buffer.len() as u64).max(from);
        let length = usize::try_from(end - start).unwrap_or(buffer.len());
        file.read_exact_at(&mut buffer[..length], start)?;
        if let Some(last) = memchr::memrchr(b'\n', &buffer[..length]) {
            return Ok(start + last as u64 + 1);
        }
        end = start;
    }
    Ok(from)
}
