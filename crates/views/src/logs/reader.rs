//! The thread that reads a log and cuts it into blocks for others to count.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};

use copydesk_domain::Clock;
use tokio::sync::mpsc::UnboundedSender;

use super::blocks::{Block, Blocks, Position};
use super::counter::Terms;
use super::format::Parser;
use super::head::{Beginning, Head};
use super::known::{Known, Looked, Recogniser, prints};
use super::line::LogLine;
use super::open::{self, Bytes, LastLine, Source};
use super::options::Cancel;
use super::resume::resume;
use super::workers::{End, Job, Message};
use crate::Mark;

/// A log that was opened and looked at.
pub(super) struct Opened {
    file: Option<File>,
    /// How it begins.
    pub(super) head: Head,
    pub(super) last_line: LastLine,
    /// It is a plain file, which may grow, be moved away or be emptied.
    pub(super) grows: bool,
    bytes: Bytes,
    read: Arc<AtomicU64>,
}

impl Opened {
    pub(super) fn new(mut source: Source, read: Arc<AtomicU64>, complete: bool) -> io::Result<Self> {
        let (mut bytes, last_line, file) = open::open(&mut source, &read)?;
        let grows = last_line == LastLine::Unfinished;
        let last_line = if complete { LastLine::Line } else { last_line };
        let mut head = Head::of(&mut bytes);
        if head.whole(false).is_empty()
            && let Some(trouble) = head.trouble.take()
        {
            return Err(trouble);
        }
        if head.is_one_line() {
            return Err(io::Error::other("it begins with a line that has no end"));
        }
        let bytes = Box::new(Cursor::new(head.read.clone()).chain(Broken(head.trouble.take())).chain(bytes));
        Ok(Self { file, head, last_line, grows, bytes, read })
    }

    /// Whether what is read is still there, as long as nobody has emptied the file.
    pub(super) fn guard(&self) -> io::Result<Option<(File, Beginning)>> {
        let file = self.file.as_ref().filter(|_| self.grows).map(File::try_clone).transpose()?;
        Ok(file.map(|file| (file, self.head.beginning())))
    }

    /// The log from the furthest mark on that it has passed.
    fn resume(self, marks: Vec<Mark>) -> io::Result<(Position, Bytes)> {
        let Self { file, bytes, read, .. } = self;
        // What was read twice is still read once.
        let again = |file| {
            read.store(0, std::sync::atomic::Ordering::Relaxed);
            open::reopen(file, &read)
        };
        resume(bytes, marks, || file.as_ref().map(again).transpose())
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
    /// Which log it is.
    pub(super) log: String,
    pub(super) marks: Vec<Mark>,
    /// Lines that were counted before.
    pub(super) known: Arc<Known>,
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

/// Blocks that were handed on, and the buffers that come back.
struct Handed {
    blocks: u64,
    spare: Sender<Vec<u8>>,
    spares: Receiver<Vec<u8>>,
}

impl Reader {
    /// Reads all of it. Whoever listens may have gone: then so does this.
    pub(super) fn run(mut self, opened: Opened) {
        let (spare, spares) = channel();
        let mut handed = Handed { blocks: 0, spare, spares };
        let why = self.read(opened, &mut handed);
        let _ = self.messages.send(Message::Ended { blocks: handed.blocks, why });
    }

    fn read(&mut self, opened: Opened, handed: &mut Handed) -> io::Result<End> {
        self.parser.learn_columns(opened.head.whole(false));
        let last_line = opened.last_line;
        let (position, bytes) = opened.resume(std::mem::take(&mut self.marks))?;
        let unknown = self.only_known && position.bytes == 0;
        let _ = self.messages.send(Message::From(Box::new(position.clone())));
        if unknown {
            return Ok(End::OfLog { unfinished: 0 });
        }
        if position.bytes == 0 {
            // The lines that were learnt from come again.
            self.parser = Parser::new(self.parser.format());
        }
        // Gone before anybody hears of the end, so that lines can be added to it.
        let known = std::mem::take(&mut self.known);
        let mut recogniser = Recogniser::new(&known, std::mem::take(&mut self.log), position.lines);
        let ended = self.blocks(Blocks::new(bytes, position), last_line, &mut recogniser, handed);
        // What came before trouble is good.
        if let Some(last) = recogniser.end() {
            self.hand_on(last, handed);
        }
        ended
    }

    fn blocks(
        &mut self,
        mut blocks: Blocks<Bytes>,
        last_line: LastLine,
        recogniser: &mut Recogniser<'_, Block>,
        handed: &mut Handed,
    ) -> io::Result<End> {
        while !self.cancel.is_cancelled() {
            let buffer = handed.spares.try_recv().unwrap_or_default();
            let Some(block) = blocks.next(buffer)? else { return Ok(End::OfLog { unfinished: 0 }) };
            if block.open && !self.takes(&block.bytes, last_line) {
                return Ok(End::OfLog { unfinished: block.bytes.len() as u64 });
            }
            let prints = prints(&block.bytes);
            if let Some(looked) = recogniser.take(block, prints)
                && !self.hand_on(looked, handed)
            {
                break;
            }
        }
        Ok(End::Cancelled)
    }

    /// Whether a last line without an end is read.
    fn takes(&self, line: &[u8], last_line: LastLine) -> bool {
        match last_line {
            LastLine::Unfinished => false,
            LastLine::IfWhole => is_whole(line, &self.parser),
            LastLine::Line => true,
        }
    }

    /// Has a block counted. Says whether anybody still does that.
    fn hand_on(&mut self, block: Looked<Block>, handed: &mut Handed) -> bool {
        if self.permits.recv().is_err() {
            return false;
        }
        let parser = self.parser.clone();
        self.parser.learn_columns(&block.thing.bytes);
        let job = Job {
            number: handed.blocks,
            block,
            parser,
            terms: Arc::clone(&self.terms),
            now: self.clock.now(),
            done: self.messages.clone(),
            spare: handed.spare.clone(),
        };
        handed.blocks += 1;
        self.jobs.send(job).is_ok()
    }
}

/// Whether a line without an end can be read and shows that nothing of it is missing.
pub(super) fn is_whole(line: &[u8], parser: &Parser) -> bool {
    parser.format().is_closed_by(line) && matches!(parser.clone().parse(line), LogLine::Hit(_))
}
