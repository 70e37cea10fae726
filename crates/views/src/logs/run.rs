//! One log: what it is, what of it is new, and its counted blocks put in order and kept.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::thread;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::blocks::{Position, log_name};
use super::counter::Terms;
use super::format::Parser;
use super::head::Beginning;
use super::known::Known;
use super::ledger::Ledger;
use super::open::{LastLine, Source};
use super::options::{Cancel, Options};
use super::reader::{Opened, Reader};
use super::report::{FileReport, State};
use super::tally::Tally;
use super::workers::{CountedBlock, End, Message, Workers};
use crate::classify::Classifier;
use crate::store::{ViewStore, ViewsError};
use crate::{Followed, Mark};

/// Blocks that are on their way at most, so that memory is bounded.
const ON_THEIR_WAY: usize = 48;

/// Is told how many bytes of a log, as it is on disk, and how many lines were read.
pub(super) type Told<'t> = dyn FnMut(u64, u64) + Send + 't;

/// An import on its way.
pub(super) struct Run<'a> {
    store: &'a dyn ViewStore,
    options: &'a Options,
    cancel: &'a Cancel,
    workers: Workers,
    /// Bytes read of the present log, as they are on disk.
    read: Arc<AtomicU64>,
    /// Lines that were counted before; asked for when the first log is read.
    known: Option<Arc<Known>>,
    /// The lines of one log are to be known when the next one is read.
    pub(super) remembers: bool,
    /// Which log was read last.
    pub(super) log: Option<String>,
    /// It is a file that may grow.
    pub(super) grows: bool,
    /// The file that is read, if it could be emptied meanwhile, and how it began.
    guard: Option<(File, Beginning)>,
    /// Where the log is followed, if it is.
    pub(super) followed: Option<Followed>,
    /// Only the rest is read of logs that were read before.
    pub(super) only_known: bool,
}

/// Why a log could not be read to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum LogError {
    #[error("{0}")]
    Log(String),
    #[error("{0}")]
    Store(#[from] ViewsError),
}

impl From<io::Error> for LogError {
    fn from(error: io::Error) -> Self {
        Self::Log(error.to_string())
    }
}

impl<'a> Run<'a> {
    pub(super) fn new(
        store: &'a dyn ViewStore,
        classifier: &Arc<Classifier>,
        options: &'a Options,
        cancel: &'a Cancel,
    ) -> io::Result<Self> {
        let (workers, read) = (Workers::start(classifier)?, Arc::default());
        let (known, remembers, log, grows, followed, only_known) = (None, false, None, false, None, false);
        let guard = None;
        Ok(Self { store, options, cancel, workers, read, known, remembers, log, grows, guard, followed, only_known })
    }

    pub(super) async fn file(&mut self, source: Source, told: &mut Told<'_>) -> (FileReport, Result<(), LogError>) {
        (self.read, self.log, self.grows, self.guard) = (Arc::default(), None, false, None);
        let mut report = FileReport::new(source.name());
        let ended = self.try_file(source, &mut report, told).await;
        (report, ended)
    }

    async fn try_file(&mut self, source: Source, report: &mut FileReport, told: &mut Told<'_>) -> Result<(), LogError> {
        let (read, complete) = (Arc::clone(&self.read), self.options.complete);
        let opened = tokio::task::spawn_blocking(move || Opened::new(source, read, complete)).await;
        let opened = opened.map_err(io::Error::from)??;
        let takes_last = opened.last_line != LastLine::Unfinished;
        let whole = opened.head.whole(takes_last);
        let Some(log) = log_name(whole) else {
            report.state = State::Imported;
            report.tally.lines = memchr::memchr_iter(b'\n', whole).count() as u64;
            report.tally.blank = report.tally.lines;
            if whole.len() < opened.head.read.len() {
                report.notes.push(unfinished((opened.head.read.len() - whole.len()) as u64));
            }
            return Ok(());
        };
        (self.log, self.grows, self.guard) = (Some(log.clone()), opened.grows, opened.guard()?);
        let marks = self.store.marks(&self.options.project, &log).await?;
        if self.only_known && marks.is_empty() {
            report.state = State::AlreadyImported;
            return Ok(());
        }
        let parser = self.options.parser(&opened.head.lines(takes_last)).map_err(LogError::Log)?;
        report.format = Some(parser.format().clone());
        let floor = self.store.status(&self.options.project).await?.floor;
        let terms = Arc::new(Terms { floor, hosts: self.options.hosts.clone() });
        let known = self.known(report).await?;
        let listener = self.start(opened, &log, marks, known, parser, terms)?;
        self.keep(listener, log, report, told).await
    }

    /// The lines that were counted before.
    async fn known(&mut self, report: &mut FileReport) -> Result<Arc<Known>, LogError> {
        if let Some(known) = &self.known {
            return Ok(Arc::clone(known));
        }
        let lines = self.store.lines(&self.options.project).await?;
        if lines.damaged {
            report.notes.push(FORGOTTEN.to_owned());
        }
        let known = tokio::task::spawn_blocking(move || Known::new(lines)).await.map_err(io::Error::from)?;
        Ok(Arc::clone(self.known.insert(Arc::new(known))))
    }

    /// Starts the thread that reads.
    fn start(
        &self,
        opened: Opened,
        log: &str,
        marks: Vec<Mark>,
        known: Arc<Known>,
        parser: Parser,
        terms: Arc<Terms>,
    ) -> Result<Listener, LogError> {
        let (messages, heard) = unbounded_channel();
        let (permit, permits) = std::sync::mpsc::channel();
        for _ in 0..ON_THEIR_WAY {
            // The other end is in hand.
            let _ = permit.send(());
        }
        let reader = Reader {
            log: log.to_owned(),
            marks,
            known,
            parser,
            terms,
            clock: Arc::clone(&self.options.clock),
            cancel: self.cancel.clone(),
            only_known: self.only_known,
            jobs: self.workers.jobs(),
            messages,
            permits,
        };
        thread::Builder::new().name("import-read".to_owned()).spawn(move || reader.run(opened))?;
        Ok(Listener { heard, permit, next: 0, early: BTreeMap::new(), ended: None })
    }

    /// Keeps what is counted, until the log ends.
    async fn keep(
        &mut self,
        mut listener: Listener,
        log: String,
        report: &mut FileReport,
        told: &mut Told<'_>,
    ) -> Result<(), LogError> {
        let from = listener.from().await?;
        let before = from.lines;
        let mut ledger = Ledger::new(self.store, self.options, log, from);
        ledger.counted = self.remembers.then(Vec::new);
        ledger.followed.clone_from(&self.followed);
        let ended = loop {
            match listener.next().await {
                Ok(Next::Block(block)) => {
                    ledger.add(*block);
                    if ledger.is_full()
                        && let Err(error) = self.commit(&mut ledger).await
                    {
                        break Err(error);
                    }
                    told(self.read.load(Ordering::Relaxed), ledger.lines());
                }
                Ok(Next::End(end)) => break self.commit(&mut ledger).await.map(|()| end),
                // What was read before the trouble is good.
                Err(error) => break self.commit(&mut ledger).await.and(Err(error)),
            }
        };
        report.known = before + ledger.recognised();
        let fresh = ledger.lines() > report.known;
        if let Some(lines) = ledger.counted.take() {
            // If the thread that reads still has it, something failed, and the store is asked again.
            match self.known.as_mut().and_then(Arc::get_mut) {
                Some(known) => known.add(lines),
                None => self.known = None,
            }
        }
        (report.tally, report.unparsable) = ledger.into_figures();
        report.tally.add(&Tally { lines: before, duplicates: before, ..Tally::default() });
        let ended = ended?;
        if let End::OfLog { unfinished: bytes @ 1.. } = ended {
            report.notes.push(unfinished(bytes));
        }
        report.state = match (ended, report.known > 0, fresh) {
            (End::Cancelled, ..) => State::Stopped,
            (End::OfLog { .. }, false, _) => State::Imported,
            (End::OfLog { .. }, true, true) => State::Continued,
            (End::OfLog { .. }, true, false) => State::AlreadyImported,
        };
        Ok(())
    }
}

impl Run<'_> {
    /// Makes durable what was counted, unless the file was emptied meanwhile: then nobody knows what was read.
    async fn commit(&self, ledger: &mut Ledger<'_>) -> Result<(), LogError> {
        if let Some((file, beginning)) = &self.guard
            && !beginning.is_of(file, ledger.position().bytes)?
        {
            return Err(LogError::Log("it was emptied while it was being read".to_owned()));
        }
        Ok(ledger.commit().await?)
    }
}

/// What is remembered of earlier imports is damaged.
const FORGOTTEN: &str =
    "what is remembered of logs that were imported is damaged; a copy of one of them may count again";

/// What is said of a last line that was left.
pub(super) fn unfinished(bytes: u64) -> String {
    format!("its last line ({bytes} bytes) is not finished and is left for the next import; --complete counts it")
}

/// Hears of counted blocks in whatever order, and tells of them in the order of the log.
struct Listener {
    heard: UnboundedReceiver<Message>,
    permit: Sender<()>,
    next: u64,
    early: BTreeMap<u64, Box<CountedBlock>>,
    ended: Option<(u64, io::Result<End>)>,
}

enum Next {
    Block(Box<CountedBlock>),
    End(End),
}

impl Listener {
    /// Where the log is read from.
    async fn from(&mut self) -> Result<Position, LogError> {
        match self.heard.recv().await {
            Some(Message::From(position)) => Ok(*position),
            Some(Message::Ended { why: Err(error), .. }) => Err(error.into()),
            _ => Err(LogError::Log(BROKEN.to_owned())),
        }
    }

    async fn next(&mut self) -> Result<Next, LogError> {
        loop {
            if let Some(counted) = self.early.remove(&self.next) {
                self.next += 1;
                // The reader may be done, and then needs no more.
                let _ = self.permit.send(());
                return Ok(Next::Block(counted));
            }
            if let Some((_, why)) = self.ended.take_if(|(blocks, _)| *blocks == self.next) {
                return why.map(Next::End).map_err(LogError::from);
            }
            match self.heard.recv().await {
                Some(Message::Counted { number, counted }) => drop(self.early.insert(number, counted)),
                Some(Message::Ended { blocks, why }) => self.ended = Some((blocks, why)),
                Some(Message::From(_)) | None => return Err(LogError::Log(BROKEN.to_owned())),
            }
        }
    }
}

/// A thread is gone.
const BROKEN: &str = "reading broke off";
