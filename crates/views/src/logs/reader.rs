//! The thread that reads a log and cuts it into blocks for others to count.

use std::io::{self, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, SyncSender};

use copydesk_domain::Clock;
use tokio::sync::mpsc::UnboundedSender;

use super::blocks::{Blocks, Position};
use super::counter::Terms;
use super::format::Parser;
use super::open::{self, Bytes, Source};
use super::options::Cancel;
use super::resume::resume;
use super::workers::{End, Job, Message};
use crate::Mark;

/// What is read of a log to tell what it is, in bytes.
const HEAD: u64 = 64 * 1024;

/// A log that was opened and looked at.
pub(super) struct Opened {
    source: Source,
    /// How it begins.
    pub(super) head: Vec<u8>,
    bytes: Bytes,
    read: Arc<AtomicU64>,
}

impl Opened {
    pub(super) fn new(mut source: Source, read: Arc<AtomicU64>) -> io::Result<Self> {
        let mut bytes = open::open(&mut source, &read)?;
        let mut head = Vec::new();
        let trouble = (&mut bytes).take(HEAD).read_to_end(&mut head).err();
        let bytes = Box::new(Cursor::new(head.clone()).chain(Broken(trouble)).chain(bytes));
        Ok(Self { source, head, bytes, read })
    }

    /// The log from the furthest mark on that it has passed.
    fn resume(self, marks: Vec<Mark>) -> io::Result<(Position, Bytes)> {
        let Self { source, bytes, read, .. } = self;
        resume(bytes, marks, || match &source {
            Source::File(path) => {
                // What was read twice is still read once.
                read.store(0, std::sync::atomic::Ordering::Relaxed);
                open::open_file(path, &read).map(Some)
            }
            _ => Ok(None),
        })
    }
}

/// Trouble that was met, to be met again behind what came before it.
struct Broken(Option<io::Error>);

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

pub(super) struct Reader {
    pub(super) marks: Vec<Mark>,
    pub(super) parser: Parser,
    pub(super) terms: Arc<Terms>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) cancel: Cancel,
    /// Nothing is read of a log that was not read before.
    pub(super) only_known: bool,
    pub(super) jobs: SyncSender<Job>,
    pub(super) messages: UnboundedSender<Message>,
    /// One for each block that may be on its way.
    pub(super) permits: Receiver<()>,
}

impl Reader {
    /// Reads all of it. Whoever listens may have gone: then so does this.
    pub(super) fn run(mut self, opened: Opened) {
        let mut blocks = 0;
        let why = self.read(opened, &mut blocks);
        let _ = self.messages.send(Message::Ended { blocks, why });
    }

    fn read(&mut self, opened: Opened, number: &mut u64) -> io::Result<End> {
        self.parser.learn_columns(&opened.head);
        let (position, bytes) = opened.resume(std::mem::take(&mut self.marks))?;
        let unknown = self.only_known && position.bytes == 0;
        let _ = self.messages.send(Message::From(Box::new(position.clone())));
        if unknown {
            return Ok(End::OfLog);
        }
        if position.bytes == 0 {
            // The lines that were learnt from come again.
            self.parser = Parser::new(self.parser.format());
        }
        let (spare, spares) = std::sync::mpsc::channel();
        let mut blocks = Blocks::new(bytes, position);
        while !self.cancel.is_cancelled() {
            let Some(block) = blocks.next(spares.try_recv().unwrap_or_default())? else { return Ok(End::OfLog) };
            if self.permits.recv().is_err() {
                return Ok(End::Cancelled);
            }
            let parser = self.parser.clone();
            self.parser.learn_columns(&block.bytes);
            let job = Job {
                number: *number,
                block,
                parser,
                terms: Arc::clone(&self.terms),
                now: self.clock.now(),
                done: self.messages.clone(),
                spare: spare.clone(),
            };
            if self.jobs.send(job).is_err() {
                return Ok(End::Cancelled);
            }
            *number += 1;
        }
        Ok(End::Cancelled)
    }
}
