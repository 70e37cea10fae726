//! What was moved or copied away from where a log is followed, and what is no longer there.

use std::fs::File;
use std::io;
use std::path::Path;

use super::super::open::Source;
use super::super::options::Cancel;
use super::super::report::{FileReport, FollowError};
use super::super::run::{LogError, Run};
use super::super::siblings::{self, Sibling, siblings};
use super::super::tail::Tail;
use super::{Follow, LAST_LOOKS};

impl Follow<'_> {
    /// Reads what was moved or copied away since: a file that was emptied was copied first, and the copy may have lines
    /// that were not read yet; so may one that was moved away while nobody followed; and of several rotations between two
    /// looks all but the last left files that nobody has seen. What was read before is known by its marks and its lines,
    /// whatever it is called; what was not and is called as rotation does is read if it was written since the last look.
    /// `all` means also those that are called in no way that rotation does. Says also whether there is one to be tried
    /// again.
    pub(super) async fn copies(&mut self, all: bool) -> Result<(u64, bool), FollowError> {
        let found = self.unseen(all)?;
        if found.is_empty() {
            return Ok((0, false));
        }
        // What is held is read first: what a copy has beyond that is new.
        let mut lines = self.moved_files().await?;
        if self.started {
            lines += self.read_tail().await?;
        }
        let (mut new, mut again) = (0, false);
        for sibling in found {
            let wanted = sibling.rotated && self.is_fresh(&sibling) && !self.is_first;
            let imported = self.import(&sibling.path, !wanted).await?;
            new += imported.lines;
            self.missing.retain(|(log, _)| Some(log) != imported.log.as_ref());
            if imported.grows && sibling.rotated && (wanted || imported.known) {
                self.to_hold.push((sibling.clone(), imported.log));
            }
            if !sibling.is_there() {
                // It has another name by now.
                again = true;
                continue;
            }
            let Some(trouble) = imported.trouble.filter(|_| wanted) else {
                self.seen.insert(sibling.id, (sibling.state(), 0));
                continue;
            };
            let tries = self.seen.get(&sibling.id).map_or(LAST_LOOKS, |(_, tries)| tries.saturating_sub(1));
            self.seen.insert(sibling.id, (sibling.state(), tries));
            again |= tries > 0;
            if tries == 0 {
                self.note(format!("{} was not read to its end: {trouble}", sibling.path.display()));
            }
        }
        if new > 0 {
            // One of them may have been the copy of a file that is held.
            self.tails().for_each(Tail::forget);
        }
        Ok((lines + new, again))
    }

    /// What is beside the file and may have something new.
    fn unseen(&mut self, all: bool) -> io::Result<Vec<Sibling>> {
        let found = siblings(&self.path)?;
        self.seen.retain(|id, _| found.iter().any(|sibling| sibling.id == *id));
        let held: Vec<_> =
            self.tails().filter_map(|tail| tail.metadata().ok()).map(|file| siblings::id(&file)).collect();
        let is_done =
            |it: &Sibling| self.seen.get(&it.id).is_some_and(|(state, tries)| *state == it.state() && *tries == 0);
        let may_have = |it: &Sibling| (it.rotated || all) && !held.contains(&it.id) && !is_done(it);
        Ok(found.into_iter().filter(may_have).collect())
    }

    /// Whether it was written since what is beside the file was last looked at.
    fn is_fresh(&self, sibling: &Sibling) -> bool {
        self.since.is_none_or(|since| sibling.modified >= since)
    }

    /// Holds a file that was moved away: its server may still write to it. What is a copy of a file that is held would
    /// only say the same again.
    pub(super) fn hold(&mut self, sibling: &Sibling, log: Option<&str>) -> io::Result<()> {
        if self.tails().any(|tail| tail.log().is_some_and(|(held, _)| Some(held.as_str()) == log)) {
            return Ok(());
        }
        let file = match File::open(&sibling.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            file => file?,
        };
        if siblings::id(&file.metadata()?) == sibling.id {
            self.moved.push((Tail::new(file, self.store, self.options), LAST_LOOKS));
        }
        Ok(())
    }

    pub(super) fn look_for_missing(&mut self) {
        let here: Vec<String> = self.tails().filter_map(|tail| tail.log()).map(|(log, _)| log).collect();
        self.missing.retain(|(log, _)| !here.contains(log));
        self.looks_for_missing = if self.missing.is_empty() { LAST_LOOKS } else { self.looks_for_missing - 1 };
        if self.looks_for_missing == 0 {
            self.looks_for_missing = LAST_LOOKS;
            self.say_what_is_missing();
        }
    }

    pub(super) fn say_what_is_missing(&mut self) {
        for (_, lines) in std::mem::take(&mut self.missing) {
            self.note(format!(
                "the log of which {lines} lines were read is no longer here, nor a copy of it: what was written to it after \
                 them, and what was moved away after it, is not counted if it was not read"
            ));
        }
    }

    pub(super) async fn import(&mut self, path: &Path, only_known: bool) -> Result<Imported, FollowError> {
        let cancel = Cancel::default();
        let mut run = Run::new(self.store, &self.classifier, self.options, &cancel)?;
        (run.only_known, run.followed) = (only_known, self.followed());
        let (report, ended) = run.file(Source::File(path.to_owned()), &mut |_, _| {}).await;
        let FileReport { known, mut tally, unparsable, .. } = report;
        let (log, grows) = (run.log.take(), run.grows);
        // Those were told of by whoever read them first.
        tally.lines -= known;
        tally.duplicates -= known;
        let lines = tally.lines;
        self.add_figures(&tally, unparsable);
        match ended {
            Err(LogError::Store(error)) => Err(error.into()),
            Err(LogError::Log(trouble)) => Ok(Imported { lines, log, grows, known: known > 0, trouble: Some(trouble) }),
            Ok(()) => Ok(Imported { lines, log, grows, known: known > 0, trouble: None }),
        }
    }
}

/// What became of a file that was read as a whole.
pub(super) struct Imported {
    pub(super) lines: u64,
    /// Which log it is.
    log: Option<String>,
    grows: bool,
    /// Some of it was read before.
    known: bool,
    trouble: Option<String>,
}
