//! The end of a file that is still being written.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

use copydesk_domain::Timestamp;

use super::blocks::{BLOCK, Block, Blocks, log_name};
use super::counter::{Counter, Terms};
use super::format::Parser;
use super::head::{Beginning, Head};
use super::known::prints;
use super::ledger::Ledger;
use super::options::Options;
use super::reader::is_whole;
use super::report::{FollowError, Sample};
use super::resume::resume;
use super::siblings::id;
use super::tally::Tally;
use super::workers::CountedBlock;
use crate::Followed;
use crate::store::ViewStore;

/// A file that is read as it grows.
pub(super) struct Tail<'a> {
    file: File,
    store: &'a dyn ViewStore,
    options: &'a Options,
    /// Not before the first line is there.
    reading: Option<Reading<'a>>,
    /// Where it is followed, and since when.
    pub(super) followed: Option<Followed>,
    /// The figures of what was read before it was forgotten.
    figures: (Tally, Vec<Sample>),
    /// Which log it is and how many lines of it were read, as far as it is known.
    log: Option<(String, u64)>,
    /// What is to be said of it.
    notes: Vec<String>,
    /// It was said that its format cannot be told yet.
    undecided: bool,
}

/// What is known of a log once it has a line.
struct Reading<'a> {
    parser: Parser,
    terms: Terms,
    ledger: Ledger<'a>,
    beginning: Beginning,
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
        let (figures, log, notes) = Default::default();
        Self { file, store, options, reading: None, followed: None, figures, log, notes, undecided: false }
    }

    /// What the system says about the file.
    pub(super) fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }

    /// Which log it is and how many lines of it were read; none before it has one.
    pub(super) fn log(&self) -> Option<(String, u64)> {
        let now = self.reading.as_ref().map(|reading| (reading.ledger.log().to_owned(), reading.ledger.lines()));
        now.or_else(|| self.log.clone())
    }

    /// What is to be said and was not yet.
    pub(super) fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Whether this is the file that is now at `path`; none if there is no file.
    pub(super) fn is_at(&self, path: &Path) -> io::Result<Option<bool>> {
        let here = self.file.metadata()?;
        match std::fs::metadata(path) {
            Ok(there) => Ok(Some(id(&here) == id(&there))),
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
        reading.ledger.followed.clone_from(&self.followed);
        let before = reading.ledger.lines();
        let from = reading.ledger.position().clone();
        let end = last_end(&self.file, from.bytes)?;
        let mut file = &self.file;
        file.seek(SeekFrom::Start(from.bytes))?;
        let mut blocks = Blocks::new(file.take(end - from.bytes), from);
        let mut buffer = Vec::new();
        while let Some(block) = blocks.next(buffer)? {
            let now = self.options.clock.now();
            reading.count(&block, counter, now);
            if reading.ledger.is_full() {
                reading.commit(&self.file).await?;
            }
            buffer = block.bytes;
        }
        reading.commit(&self.file).await?;
        Ok(reading.ledger.lines() - before)
    }

    /// Counts a last line that was never finished, if nothing of it is missing. What is left is told of.
    pub(super) async fn finish(&mut self, counter: &mut Counter) -> Result<u64, FollowError> {
        let mut lines = self.read(counter).await?;
        let Some(reading) = &mut self.reading else { return Ok(lines) };
        let from = reading.ledger.position().clone();
        let mut file = &self.file;
        file.seek(SeekFrom::Start(from.bytes))?;
        if let Some(block) = Blocks::new(file, from).next(Vec::new())? {
            if self.options.complete || is_whole(&block.bytes, &reading.parser) {
                lines += 1;
                reading.count(&block, counter, self.options.clock.now());
                reading.commit(&self.file).await?;
            } else {
                let bytes = block.bytes.len();
                self.notes.push(format!(
                    "the last line ({bytes} bytes) of the file that was moved away has no end and is not counted"
                ));
            }
        }
        Ok(lines)
    }

    /// Forgets how far it was read. The marks know.
    pub(super) fn forget(&mut self) {
        self.log = self.log();
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
    async fn begin(&mut self) -> Result<Option<Reading<'a>>, FollowError> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(0))?;
        let head = Head::of(&mut file);
        if head.is_one_line() {
            return Err(FollowError::Unreadable("it begins with a line that has no end".to_owned()));
        }
        let Some(log) = log_name(head.whole(false)) else { return Ok(None) };
        let mut parser = match self.options.parser(&head.lines(false)) {
            Ok(parser) => parser,
            Err(why) if head.is_all() => {
                if !std::mem::replace(&mut self.undecided, true) {
                    self.notes.push(format!("{why}; waiting for more lines"));
                }
                return Ok(None);
            }
            Err(why) => return Err(FollowError::Unreadable(why)),
        };
        let marks = self.store.marks(&self.options.project, &log).await?;
        file.seek(SeekFrom::Start(0))?;
        let again = || {
            let mut file = self.file.try_clone()?;
            file.seek(SeekFrom::Start(0))?;
            Ok(Some(Box::new(file) as super::open::Bytes))
        };
        let (position, _) = resume(Box::new(file), marks, again)?;
        if position.bytes > 0 {
            parser.learn_columns(head.whole(false));
        }
        let beginning = head.beginning();
        let floor = self.store.status(&self.options.project).await?.floor;
        let terms = Terms { floor, hosts: self.options.hosts.clone() };
        let ledger = Ledger::new(self.store, self.options, log, position);
        Ok(Some(Reading { parser, terms, ledger, beginning }))
    }
}

impl Reading<'_> {
    fn count(&mut self, block: &Block, counter: &mut Counter, now: Timestamp) {
        let counted = counter.count(&block.bytes, &[], &mut self.parser, &self.terms, now);
        let (prints, end) = (prints(&block.bytes), block.end.clone());
        self.ledger.add(CountedBlock { counted, end, prints, known: Vec::new() });
    }

    /// Whether the beginning of `file` is still what was read.
    fn standing(&self, file: &File) -> io::Result<Standing> {
        let same = self.beginning.is_of(file, self.ledger.position().bytes)?;
        Ok(if same { Standing::Same } else { Standing::Emptied })
    }

    /// Makes durable what was counted, unless the file was emptied meanwhile: then nobody knows what was read.
    async fn commit(&mut self, file: &File) -> Result<(), FollowError> {
        if self.standing(file)? == Standing::Emptied {
            return Err(FollowError::File(io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(self.ledger.commit().await?)
    }
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
