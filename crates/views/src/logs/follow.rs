//! Follows a log that is being written, through its rotations.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::counter::{Counter, SAMPLES};
use super::open::Source;
use super::options::{Cancel, Options};
use super::report::{FileReport, FollowError, Sample, State};
use super::run::{LogError, Run};
use super::tail::{Standing, Tail};
use super::tally::Tally;
use crate::classify::Classifier;
use crate::store::{ViewStore, ViewsError};

/// How many looks in a row must find nothing new in a file that was moved away before it is let go: servers go on
/// writing to it until they are told.
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
    counter: Counter,
    tail: Option<Tail<'a>>,
    /// Files that were moved away, with the looks they still get.
    moved: Vec<(Tail<'a>, u32)>,
    /// Copies are to be looked for: the file was emptied, or this is the start.
    looks_for_copies: bool,
    report: FileReport,
}

/// What a look found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Polled {
    pub lines: u64,
    /// The file was moved away or emptied.
    pub rotated: bool,
}

impl<'a> Follow<'a> {
    /// Follows what is at `path`, now or later.
    pub fn new(store: &'a dyn ViewStore, classifier: &Arc<Classifier>, path: PathBuf, options: &'a Options) -> Self {
        let report = FileReport { state: State::Imported, ..FileReport::new(path.display().to_string()) };
        let (classifier, counter) = (Arc::clone(classifier), Counter::new(Arc::clone(classifier)));
        let (tail, moved) = (None, Vec::new());
        Self { store, classifier, options, path, counter, tail, moved, looks_for_copies: true, report }
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
        told: &mut dyn FnMut(Result<Polled, &FollowError>),
    ) -> FileReport {
        let mut goes_on = true;
        loop {
            let polled = self.poll().await;
            told(polled.as_ref().copied());
            if let Err(error @ (FollowError::Unreadable(_) | FollowError::Store(ViewsError::Damaged(_)))) = &polled {
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
        let polled = self.look().await;
        if let Err(error) = &polled {
            // What is durable is known by its mark; what is not is read again.
            self.tails().for_each(Tail::forget);
            self.collect();
            self.looks_for_copies |= matches!(error, FollowError::File(_));
        }
        polled
    }

    async fn look(&mut self) -> Result<Polled, FollowError> {
        let mut polled = Polled::default();
        if let Some(tail) = &self.tail
            && tail.standing()? == Standing::Emptied
        {
            self.looks_for_copies = true;
            polled.rotated = true;
            self.end_tail();
        }
        if self.looks_for_copies {
            polled.lines += self.rest_of_copies().await?;
            polled.lines += self.all_that_is_there().await?;
            self.looks_for_copies = false;
        }
        polled.lines += self.moved_files().await?;
        if self.tail.is_none() {
            self.tail = self.open()?;
        }
        let Some(tail) = &mut self.tail else { return Ok(polled) };
        polled.lines += tail.read(&mut self.counter).await?;
        if tail.is_at(&self.path)? == Some(false) {
            polled.rotated = true;
            // What was written between the look and the move.
            polled.lines += tail.read(&mut self.counter).await?;
            self.moved.extend(self.tail.take().map(|tail| (tail, LAST_LOOKS)));
            self.tail = self.open()?;
            if let Some(tail) = &mut self.tail {
                polled.lines += tail.read(&mut self.counter).await?;
            }
        }
        Ok(polled)
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

    /// Goes on reading files that were moved away, and lets go those that are quiet.
    async fn moved_files(&mut self) -> Result<u64, FollowError> {
        let mut lines = 0;
        for (tail, looks) in &mut self.moved {
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
        quiet.into_iter().for_each(|(tail, _)| self.add(tail));
        Ok(lines)
    }

    /// What is in the file at the start may be much, so it is read by all cores.
    async fn all_that_is_there(&mut self) -> Result<u64, FollowError> {
        if !self.path.exists() {
            return Ok(0);
        }
        let path = self.path.clone();
        self.import(&path, |run| run.waits_for_line = true).await
    }

    /// A file that was emptied was copied first, and the copy may have lines that were not read yet; so may one that was
    /// moved away while nobody followed. They are known by their marks, whatever they are called.
    async fn rest_of_copies(&mut self) -> Result<u64, FollowError> {
        let mut lines = 0;
        for copy in copies(&self.path)? {
            lines += self.import(&copy, |run| run.only_known = true).await?;
        }
        Ok(lines)
    }

    async fn import(&mut self, path: &Path, how: impl FnOnce(&mut Run<'_>)) -> Result<u64, FollowError> {
        let cancel = Cancel::default();
        let mut run = Run::new(self.store, &self.classifier, self.options, &cancel)?;
        how(&mut run);
        let (report, ended) = run.file(Source::File(path.to_owned()), &mut |_, _| {}).await;
        let FileReport { known, mut tally, unparsable, .. } = report;
        // Those were told of by whoever read them first.
        tally.lines -= known;
        tally.duplicates -= known;
        let lines = tally.lines;
        self.add_figures(&tally, unparsable);
        match ended {
            Err(LogError::Store(error)) => Err(error.into()),
            // Copies are anything that is called alike; and the file itself will be looked at line by line.
            Err(LogError::Log(_)) | Ok(()) => Ok(lines),
        }
    }

    fn end_tail(&mut self) {
        if let Some(tail) = self.tail.take() {
            self.add(tail);
        }
    }

    fn finish(&mut self) {
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

/// Files beside `path` that may be what was in it: `access.log.1`, `access.log-20241010.gz`, `access-20241010.log`.
fn copies(path: &Path) -> io::Result<Vec<PathBuf>> {
    let (Some(name), Some(stem)) = (path.file_name(), path.file_stem()) else { return Ok(Vec::new()) };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut copies = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let other = entry.file_name();
        let alike = other.as_encoded_bytes().starts_with(stem.as_encoded_bytes()) && other != name;
        if alike && entry.file_type()?.is_file() {
            copies.push(entry.path());
        }
    }
    copies.sort();
    Ok(copies)
}
