//! One log: what it is, what of it is new, and its counted blocks put in order and kept.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::thread;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::blocks::{Position, log_name};
use super::counter::{Counted, Terms};
use super::format::Parser;
use super::ledger::Ledger;
use super::open::Source;
use super::options::{Cancel, Options};
use super::reader::{Opened, Reader};
use super::report::{FileReport, State};
use super::tally::Tally;
use super::workers::{End, Message, Workers};
use crate::Mark;
use crate::classify::Classifier;
use crate::store::{ViewStore, ViewsError};

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
    /// A last line without an end is left for later, not counted.
    pub(super) waits_for_line: bool,
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
        Ok(Self { store, options, cancel, workers, read, waits_for_line: false, only_known: false })
    }

    pub(super) async fn file(&mut self, source: Source, told: &mut Told<'_>) -> (FileReport, Result<(), LogError>) {
        self.read = Arc::default();
        let mut report = FileReport::new(source.name());
        let ended = self.try_file(source, &mut report, told).await;
        (report, ended)
    }

    async fn try_file(&self, source: Source, report: &mut FileReport, told: &mut Told<'_>) -> Result<(), LogError> {
        let read = Arc::clone(&self.read);
        let opened = tokio::task::spawn_blocking(move || Opened::new(source, read)).await;
        let opened = opened.map_err(io::Error::from)??;
        let Some(log) = log_name(&opened.head) else {
            report.state = State::Imported;
            report.tally.lines = memchr::memchr_iter(b'\n', &opened.head).count() as u64;
            report.tally.blank = report.tally.lines;
            return Ok(());
        };
        let marks = self.store.marks(&self.options.project, &log).await?;
        if self.only_known && marks.is_empty() {
            report.state = State::AlreadyImported;
            return Ok(());
        }
        let parser = self.options.parser(&opened.head).map_err(LogError::Log)?;
        report.format = Some(parser.format().clone());
        let floor = self.store.status(&self.options.project).await?.floor;
        let terms = Arc::new(Terms { floor, hosts: self.options.hosts.clone() });
        let listener = self.start(opened, marks, parser, terms)?;
        self.keep(listener, log, report, told).await
    }

    /// Starts the thread that reads.
    fn start(&self, opened: Opened, marks: Vec<Mark>, parser: Parser, terms: Arc<Terms>) -> Result<Listener, LogError> {
        let (messages, heard) = unbounded_channel();
        let (permit, permits) = std::sync::mpsc::channel();
        for _ in 0..ON_THEIR_WAY {
            // The other end is in hand.
            let _ = permit.send(());
        }
        let reader = Reader {
            marks,
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
        &self,
        mut listener: Listener,
        log: String,
        report: &mut FileReport,
        told: &mut Told<'_>,
    ) -> Result<(), LogError> {
        let from = listener.from().await?;
        let known = from.lines;
        let mut ledger = Ledger::new(self.store, self.options, log, from);
        let ended = loop {
            match listener.next().await {
                Ok(Next::Block(counted, end, open)) => {
                    self.take(&mut ledger, *counted, *end, open);
                    if ledger.is_full()
                        && let Err(error) = ledger.commit().await
                    {
                        break Err(error.into());
                    }
                    told(self.read.load(Ordering::Relaxed), ledger.lines());
                }
                Ok(Next::End(end)) => break ledger.commit().await.map(|()| end).map_err(LogError::from),
                // What was read before the trouble is good.
                Err(error) => break ledger.commit().await.map_err(LogError::from).and(Err(error)),
            }
        };
        let fresh = ledger.lines() > known;
        (report.tally, report.unparsable) = ledger.into_figures();
        report.known = known;
        report.tally.add(&Tally { lines: known, duplicates: known, ..Tally::default() });
        report.state = match (ended?, known > 0, fresh) {
            (End::Cancelled, ..) => State::Stopped,
            (End::OfLog, false, _) => State::Imported,
            (End::OfLog, true, true) => State::Continued,
            (End::OfLog, true, false) => State::AlreadyImported,
        };
        Ok(())
    }

    fn take(&self, ledger: &mut Ledger<'_>, counted: Counted, end: Position, open: bool) {
        if !open {
            ledger.add(counted, end);
        } else if !self.waits_for_line {
            let whole = counted.tally.unparsable == 0 && counted.tally.blank == 0;
            if whole { ledger.add(counted, end) } else { ledger.add_unfinished(&counted) }
        }
    }
}

/// Hears of counted blocks in whatever order, and tells of them in the order of the log.
struct Listener {
    heard: UnboundedReceiver<Message>,
    permit: Sender<()>,
    next: u64,
    early: BTreeMap<u64, (Box<Counted>, Box<Position>, bool)>,
    ended: Option<(u64, io::Result<End>)>,
}

enum Next {
    Block(Box<Counted>, Box<Position>, bool),
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
            if let Some((counted, end, open)) = self.early.remove(&self.next) {
                self.next += 1;
                // The reader may be done, and then needs no more.
                let _ = self.permit.send(());
                return Ok(Next::Block(counted, end, open));
            }
            if let Some((_, why)) = self.ended.take_if(|(blocks, _)| *blocks == self.next) {
                return why.map(Next::End).map_err(LogError::from);
            }
            match self.heard.recv().await {
                Some(Message::Counted { number, counted, end, open }) => {
                    self.early.insert(number, (counted, end, open));
                }
                Some(Message::Ended { blocks, why }) => self.ended = Some((blocks, why)),
                Some(Message::From(_)) | None => return Err(LogError::Log(BROKEN.to_owned())),
            }
        }
    }
}

/// A thread is gone.
const BROKEN: &str = "reading broke off";
