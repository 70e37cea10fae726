//! Follows a log that is being written, through its rotations.

mod copies;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_128;

use super::counter::{Counter, SAMPLES};
use super::options::Options;
use super::report::{FileReport, FollowError, Sample, State};
use super::siblings::{self, Sibling, siblings};
use super::tail::{Standing, Tail};
use super::tally::Tally;
use crate::classify::Classifier;
use crate::store::{ViewStore, ViewsError};
use crate::{Batch, Followed, Mark};

/// How many looks in a row must find nothing new in a file that was moved away before it is let go: servers go on
/// writing to it until they are told. As many tries has a file that cannot be read, because it may be being packed.
const LAST_LOOKS: u32 = 40;

/// Follows a file: what was there before, what is added, and the rest of what was moved or copied away.
///
/// It looks only when it is told to ([`Follow::poll`]), so whoever owns it owns the clock too. Where it is, is known by
/// the marks in the store, so that it can end and begin again at any moment.
pub struct Follow<'a> {
    store: &'a dyn ViewStore,
    classifier: Arc<Classifier>,
    options: &'a Options,
    path: PathBuf,
    /// The path, as marks name it.
    place: String,
    counter: Counter,
    tail: Option<Tail<'a>>,
    /// Files that were moved away, with the looks they still get.
    moved: Vec<(Tail<'a>, u32)>,
    /// Files that were last written before this were read; none before the first look.
    since: Option<i64>,
    /// The first look was finished.
    started: bool,
    /// Nobody has followed it before: what was moved away earlier is left alone.
    is_first: bool,
    /// What is beside the file and was read: how it was then, and how often it will be tried again.
    seen: HashMap<(u64, u64), ((i64, u64), u32)>,
    /// Files that were moved away and may still be written to, each with the log that it is.
    to_hold: Vec<(Sibling, Option<String>)>,
    /// Logs that should be among what is beside the file, with the lines that were read of them.
    missing: Vec<(String, u64)>,
    /// How often they are looked for before they are said to be gone: files are renamed and packed meanwhile.
    looks_for_missing: u32,
    report: FileReport,
    /// What was said of it in this look.
    notes: Vec<String>,
}

/// What a look found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Polled {
    pub lines: u64,
    /// The file was moved away or emptied.
    pub rotated: bool,
    /// What somebody should know who looks after the log.
    pub notes: Vec<String>,
}

impl<'a> Follow<'a> {
    /// Follows what is at `path`, now or later.
    pub fn new(store: &'a dyn ViewStore, classifier: &Arc<Classifier>, path: PathBuf, options: &'a Options) -> Self {
        let report = FileReport { state: State::Imported, ..FileReport::new(path.display().to_string()) };
        let absolute = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
        Self {
            store,
            classifier: Arc::clone(classifier),
            options,
            path,
            place: format!("at {:032x}", xxh3_128(absolute.as_os_str().as_encoded_bytes())),
            counter: Counter::new(Arc::clone(classifier)),
            tail: None,
            moved: Vec::new(),
            since: None,
            started: false,
            is_first: false,
            seen: HashMap::new(),
            to_hold: Vec::new(),
            missing: Vec::new(),
            looks_for_missing: LAST_LOOKS,
            report,
            notes: Vec::new(),
        }
    }

    /// What became of all lines that this follower made durable.
    pub fn report(&mut self) -> &FileReport {
        self.collect();
        &self.report
    }

    /// Looks at `tick` until it says that it is enough; then looks a last time. An error that may pass is told of and
    /// waited out.
    pub async fn run(
        mut self,
        mut tick: impl AsyncFnMut() -> bool,
        told: &mut dyn FnMut(Result<&Polled, &FollowError>),
    ) -> FileReport {
        let mut goes_on = true;
        loop {
            let polled = self.poll().await;
            told(polled.as_ref());
            if let Err(
                error @ (FollowError::Unreadable(_)
                | FollowError::Store(ViewsError::Unsure(_) | ViewsError::Damaged(_))),
            ) = &polled
            {
                self.report.error = Some(error.to_string());
                break;
            }
            if !goes_on {
                self.report.error = polled.err().map(|error| error.to_string());
                break;
            }
            goes_on = tick().await;
        }
        self.finish();
        self.report
    }

    /// Keeps what came since the last look. When it answers, that is on disk.
    pub async fn poll(&mut self) -> Result<Polled, FollowError> {
        let mut polled = self.look().await;
        if polled.is_err() {
            // What is durable is known by its mark; what is not is read again.
            self.tails().for_each(Tail::forget);
            self.collect();
        }
        let said: Vec<Vec<String>> = self.tails().map(Tail::take_notes).collect();
        said.into_iter().flatten().for_each(|note| self.note(note));
        if let Ok(polled) = &mut polled {
            polled.notes = std::mem::take(&mut self.notes);
        }
        polled
    }

    async fn look(&mut self) -> Result<Polled, FollowError> {
        let mut polled = Polled::default();
        let starts = !self.started;
        if self.since.is_none() {
            self.start().await?;
        }
        if let Some(tail) = &self.tail
            && tail.standing()? == Standing::Emptied
        {
            polled.rotated = true;
            self.missing.extend(tail.log());
            self.end_tail();
        }
        if self.tail.is_none() {
            self.tail = self.open()?;
        }
        // Before anything is read: what is written from now on is newer.
        let looked_at =
            self.tail.as_ref().map(|tail| tail.metadata()).transpose()?.map(|file| siblings::modified(&file));
        if starts {
            // What is there may be much, so it is read by all cores: the oldest first.
            polled.lines += self.copies(true).await?.0;
            polled.lines += self.all_that_is_there().await?;
            (self.started, self.is_first) = (true, false);
        }
        polled.lines += self.moved_files().await?;
        polled.lines += self.read_tail().await?;
        if let Some(tail) = &self.tail
            && tail.is_at(&self.path)? == Some(false)
        {
            polled.rotated = true;
            polled.lines += self.change_files().await?;
        }
        let (lines, again) = self.copies(polled.rotated).await?;
        polled.lines += lines;
        for (sibling, log) in std::mem::take(&mut self.to_hold) {
            self.hold(&sibling, log.as_deref())?;
        }
        if !again {
            self.since = looked_at.max(self.since);
        }
        self.look_for_missing();
        Ok(polled)
    }

    /// Finds out where an earlier follower was.
    async fn start(&mut self) -> Result<(), FollowError> {
        let marks = self.store.marks(&self.options.project, &self.place).await?;
        let last = marks.into_iter().rev().find_map(|mark| Some((mark.log, mark.lines, mark.followed?.since)));
        self.is_first = last.is_none();
        if let Some((log, lines, since)) = last {
            self.missing.extend((lines > 0).then_some((log, lines)));
            self.since = Some(since);
            return Ok(());
        }
        // Whatever comes after this moment is written after it.
        let there = std::fs::metadata(&self.path).or_else(|_| std::fs::metadata(siblings::folder(&self.path)))?;
        let since = siblings::modified(&there);
        // Whoever comes after this one shall know it too, even if there was nothing to read.
        let followed = Some(Followed { place: self.place.clone(), since });
        let mark = Mark { log: self.place.clone(), followed, ..Mark::default() };
        let project = self.options.project.clone();
        self.store.append(Batch { project, mark: Some(mark), ..Batch::default() }).await?;
        self.since = Some(since);
        Ok(())
    }

    /// Goes on to the file that has taken the place of the one that is followed.
    async fn change_files(&mut self) -> Result<u64, FollowError> {
        // What was written between the look and the move.
        let mut lines = self.read_tail().await?;
        if let Some(tail) = self.tail.take() {
            let id = siblings::id(&tail.metadata()?);
            if !siblings(&self.path)?.iter().any(|sibling| sibling.id == id) {
                // Packed by now, or gone: and with it perhaps what came after it.
                self.missing.extend(tail.log());
            }
            self.moved.push((tail, LAST_LOOKS));
        }
        self.tail = self.open()?;
        lines += self.read_tail().await?;
        Ok(lines)
    }

    fn tails(&mut self) -> impl Iterator<Item = &mut Tail<'a>> {
        self.tail.iter_mut().chain(self.moved.iter_mut().map(|(tail, _)| tail))
    }

    fn open(&self) -> io::Result<Option<Tail<'a>>> {
        match File::open(&self.path) {
            Ok(file) => Ok(Some(Tail::new(file, self.store, self.options))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn followed(&self) -> Option<Followed> {
        self.since.map(|since| Followed { place: self.place.clone(), since })
    }

    async fn read_tail(&mut self) -> Result<u64, FollowError> {
        let followed = self.followed();
        let Some(tail) = &mut self.tail else { return Ok(0) };
        tail.followed = followed;
        let before = tail.log();
        let lines = tail.read(&mut self.counter).await?;
        if let (Some(before), Some((now, _))) = (before, tail.log())
            && before.0 != now
        {
            // Emptied and filled again while it was being read.
            self.missing.push(before);
        }
        Ok(lines)
    }

    /// Goes on reading files that were moved away, and lets go those that are quiet.
    async fn moved_files(&mut self) -> Result<u64, FollowError> {
        let (mut lines, followed) = (0, self.followed());
        for (tail, looks) in &mut self.moved {
            tail.followed.clone_from(&followed);
            let new = tail.read(&mut self.counter).await?;
            lines += new;
            *looks = if new > 0 { LAST_LOOKS } else { looks.saturating_sub(1) };
            if *looks == 0 {
                lines += tail.finish(&mut self.counter).await?;
            }
        }
        let (quiet, moved) = std::mem::take(&mut self.moved).into_iter().partition(|(_, looks)| *looks == 0);
        self.moved = moved;
        let quiet: Vec<(Tail<'a>, u32)> = quiet;
        for (tail, _) in quiet {
            let file = tail.metadata()?;
            self.seen.insert(siblings::id(&file), (siblings::state(&file), 0));
            self.add(tail);
        }
        Ok(lines)
    }

    async fn all_that_is_there(&mut self) -> Result<u64, FollowError> {
        if self.tail.is_none() {
            return Ok(0);
        }
        let path = self.path.clone();
        // If it cannot be read, whoever looks at it line by line will say why.
        Ok(self.import(&path, false).await?.lines)
    }

    fn note(&mut self, note: String) {
        self.notes.push(note.clone());
        if !self.report.notes.contains(&note) {
            self.report.notes.push(note);
        }
    }

    fn end_tail(&mut self) {
        if let Some(tail) = self.tail.take() {
            self.add(tail);
        }
    }

    fn finish(&mut self) {
        self.say_what_is_missing();
        self.end_tail();
        for (tail, _) in std::mem::take(&mut self.moved) {
            self.add(tail);
        }
        self.collect();
    }

    fn add(&mut self, mut tail: Tail<'_>) {
        tail.forget();
        let (tally, samples) = tail.take_figures();
        self.add_figures(&tally, samples);
    }

    /// Takes over the figures of what was forgotten.
    fn collect(&mut self) {
        let figures: Vec<_> = self.tails().map(Tail::take_figures).collect();
        figures.into_iter().for_each(|(tally, samples)| self.add_figures(&tally, samples));
    }

    fn add_figures(&mut self, tally: &Tally, samples: Vec<Sample>) {
        self.report.tally.add(tally);
        self.report.unparsable.extend(samples);
        self.report.unparsable.truncate(SAMPLES);
    }
}
