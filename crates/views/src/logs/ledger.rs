//! Keeps what was counted of a log, in the order of its lines.

use super::blocks::Position;
use super::counter::SAMPLES;
use super::options::Options;
use super::report::Sample;
use super::tally::{Figure, Tally};
use super::workers::CountedBlock;
use crate::store::{ViewStore, ViewsError};
use crate::{Appended, Batch, Bucket, Followed, Stretch, View};

/// Bytes that become durable together, more or less: paths may be long, and a batch is kept as a whole.
const MOST_BYTES: usize = 32 * 1024 * 1024;
/// Lines after which what is known of a log becomes durable, however few views they have.
const MOST_LINES: u64 = 1_000_000;

/// What was counted of one log and is not durable yet, and the figures of what is.
pub(super) struct Ledger<'a> {
    store: &'a dyn ViewStore,
    options: &'a Options,
    log: String,
    /// Up to here the log was counted.
    position: Position,
    views: Vec<View>,
    /// The lines that are new.
    lines: Vec<Stretch>,
    /// What the views take, about.
    bytes: usize,
    pending: Tally,
    /// The mark that this import wrote last. Only those are replaced: where an earlier one stopped, the same log or
    /// a copy of it may be met again.
    written: Option<String>,
    /// What this import made durable.
    tally: Tally,
    /// Lines among them that were known, though no mark said so.
    recognised: u64,
    /// The lines that this import made durable, if somebody wants to know.
    pub(super) counted: Option<Vec<Stretch>>,
    /// Where the log is followed, if it is.
    pub(super) followed: Option<Followed>,
    samples: Vec<Sample>,
}

impl<'a> Ledger<'a> {
    pub(super) fn new(store: &'a dyn ViewStore, options: &'a Options, log: String, position: Position) -> Self {
        Self {
            store,
            options,
            log,
            position,
            views: Vec::new(),
            lines: Vec::new(),
            bytes: 0,
            pending: Tally::default(),
            written: None,
            tally: Tally::default(),
            recognised: 0,
            counted: None,
            followed: None,
            samples: Vec::new(),
        }
    }

    /// Which log it is.
    pub(super) fn log(&self) -> &str {
        &self.log
    }

    /// Lines that were known, though no mark said so.
    pub(super) fn recognised(&self) -> u64 {
        self.recognised
    }

    /// The figures of what was made durable, and the first unparsable lines.
    pub(super) fn into_figures(self) -> (Tally, Vec<Sample>) {
        (self.tally, self.samples)
    }

    /// The figures of what was made durable since they were taken last.
    pub(super) fn take_figures(&mut self) -> (Tally, Vec<Sample>) {
        (std::mem::take(&mut self.tally), std::mem::take(&mut self.samples))
    }

    /// Where the next lines begin.
    pub(super) fn position(&self) -> &Position {
        &self.position
    }

    /// Lines counted so far, durable or not.
    pub(super) fn lines(&self) -> u64 {
        self.position.lines
    }

    /// Takes the lines that come next.
    pub(super) fn add(&mut self, block: CountedBlock) {
        let CountedBlock { mut counted, end, prints, known } = block;
        let before = self.position.lines;
        let room = SAMPLES.saturating_sub(self.samples.len());
        let placed = |sample: Sample| Sample { line: before + sample.line, ..sample };
        self.samples.extend(counted.samples.drain(..).take(room).map(placed));
        self.add_lines(before, &prints, &known);
        self.position = end.with_lines(before + counted.tally.lines);
        self.bytes += counted.views.iter().map(|view| size_of::<View>() + view.path.len()).sum::<usize>();
        self.views.append(&mut counted.views);
        self.pending.add(&counted.tally);
    }

    /// Remembers the lines that are new; `before` are before the first of them.
    fn add_lines(&mut self, before: u64, prints: &[u16], known: &[bool]) {
        let is_known = |line: usize| known.get(line).copied().unwrap_or(false);
        let mut line = 0;
        while line < prints.len() {
            let from = line;
            while line < prints.len() && is_known(line) == is_known(from) {
                line += 1;
            }
            if !is_known(from) {
                let (first, prints) = (before + from as u64, prints[from..line].to_vec());
                Stretch { log: self.log.clone(), first, prints }.join(&mut self.lines);
            }
        }
    }

    /// Whether it is time to make durable what was counted.
    pub(super) fn is_full(&self) -> bool {
        self.views.len() >= self.options.batch || self.bytes >= MOST_BYTES || self.pending.lines >= MOST_LINES
    }

    /// Makes durable what was counted, and how far the log has been read with it.
    pub(super) async fn commit(&mut self) -> Result<(), ViewsError> {
        if self.pending.lines == 0 {
            return Ok(());
        }
        let (views, lines) = (std::mem::take(&mut self.views), std::mem::take(&mut self.lines));
        self.bytes = 0;
        let mut tally = std::mem::take(&mut self.pending);
        let (recognised, counted) = (tally.duplicates, self.counted.is_some().then(|| lines.clone()));
        let mut stored = None;
        if !self.options.dry_run {
            let kept: Vec<Kept> = views.iter().map(Kept::of).collect();
            let mut mark = self.position.mark(&self.log);
            mark.replaces = self.written.take();
            mark.followed.clone_from(&self.followed);
            let digest = mark.digest.clone();
            let batch = Batch { project: self.options.project.clone(), views, mark: Some(mark), lines };
            stored = Some((kept, self.store.append(batch).await?));
            self.written = Some(digest);
        }
        // Only now: what could not be made durable is not known.
        self.counted.iter_mut().zip(counted).for_each(|(all, counted)| all.extend(counted));
        if let Some((kept, appended)) = stored {
            self.move_uncounted(&mut tally, &kept, &appended).await?;
        }
        self.recognised += recognised;
        self.tally.add(&tally);
        Ok(())
    }

    /// Moves what the store did not count to where it belongs.
    async fn move_uncounted(&self, tally: &mut Tally, kept: &[Kept], appended: &Appended) -> Result<(), ViewsError> {
        let mut there = appended.duplicates.iter().map(|&place| place as usize).peekable();
        let mut fresh = Vec::new();
        for (place, view) in kept.iter().enumerate() {
            if there.next_if_eq(&place).is_some() {
                tally.was_there(view.figure, view.count);
            } else {
                fresh.push(view);
            }
        }
        if fresh.iter().map(|view| view.count).sum::<u64>() == appended.counted {
            return Ok(());
        }
        // The project began to keep less while the log was being read.
        let floor = self.store.status(&self.options.project).await?.floor.unwrap_or(Bucket::MIN);
        for view in fresh.iter().filter(|view| view.bucket < floor) {
            tally.was_too_old(view.figure, view.count);
        }
        Ok(())
    }
}

/// What is remembered of a view while the store keeps it.
struct Kept {
    bucket: Bucket,
    figure: Figure,
    count: u64,
}

impl Kept {
    fn of(view: &View) -> Self {
        Self { bucket: view.bucket, figure: Figure::of(&view.client.verdict), count: u64::from(view.count) }
    }
}
