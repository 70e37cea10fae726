//! Threads that count blocks of lines.

use std::io;
use std::sync::mpsc::{Receiver, Sender, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use copydesk_domain::Timestamp;
use tokio::sync::mpsc::UnboundedSender;

use super::blocks::{Block, Position};
use super::counter::{Counted, Counter, Terms};
use super::format::Parser;
use super::known::Looked;
use crate::classify::Classifier;

/// A block to be counted.
pub(super) struct Job {
    /// Its place among the blocks of its log.
    pub(super) number: u64,
    pub(super) block: Looked<Block>,
    pub(super) parser: Parser,
    pub(super) terms: Arc<Terms>,
    pub(super) now: Timestamp,
    pub(super) done: UnboundedSender<Message>,
    /// Takes the buffer back.
    pub(super) spare: Sender<Vec<u8>>,
}

/// What the one who puts the blocks in order hears.
pub(super) enum Message {
    /// The log is read from here on.
    From(Box<Position>),
    /// A block was counted.
    Counted { number: u64, counted: Box<CountedBlock> },
    /// There are so many blocks, and why there are no more.
    Ended { blocks: u64, why: io::Result<End> },
}

/// What was made of a block, and the place behind it.
pub(super) struct CountedBlock {
    pub(super) counted: Counted,
    pub(super) end: Position,
    pub(super) prints: Vec<u16>,
    pub(super) known: Vec<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The log has no more, but for so many bytes of a line that is not finished.
    OfLog {
        unfinished: u64,
    },
    Cancelled,
}

/// As many threads as the machine has cores, for as long as this is kept. Each remembers the readers and pages it saw.
pub(super) struct Workers {
    jobs: SyncSender<Job>,
}

impl Workers {
    pub(super) fn start(classifier: &Arc<Classifier>) -> io::Result<Self> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let (jobs, queue) = sync_channel(threads);
        let queue = Arc::new(Mutex::new(queue));
        for number in 0..threads {
            let (queue, counter) = (Arc::clone(&queue), Counter::new(Arc::clone(classifier)));
            thread::Builder::new().name(format!("import-{number}")).spawn(move || work(&queue, counter))?;
        }
        Ok(Self { jobs })
    }

    pub(super) fn jobs(&self) -> SyncSender<Job> {
        self.jobs.clone()
    }
}

fn work(queue: &Mutex<Receiver<Job>>, mut counter: Counter) {
    loop {
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Job { number, block, mut parser, terms, now, done, spare }) = job else { return };
        let Looked { thing: Block { bytes, end, .. }, prints, known } = block;
        let counted = counter.count(&bytes, &known, &mut parser, &terms, now);
        let counted = Box::new(CountedBlock { counted, end, prints, known });
        // Nobody waits for either any more if the import failed.
        let _ = spare.send(bytes);
        let _ = done.send(Message::Counted { number, counted });
    }
}
