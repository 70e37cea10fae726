//! What the store notes of itself, beside views: what it has lost or is not sure of, and how late it is.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use copydesk_domain::{Clock, Doubt, SECOND_LOOK, SteadyTime, Timestamp};
use copydesk_views::Bucket;
use copydesk_views::store::{Loss, Losses, Lost};
use serde::{Deserialize, Serialize};

use super::disk::{Disk, is_lasting};
use super::manifest::keep_aside;
use super::twice::{self, Text};

const NAME: &str = "notes";
const FORMAT: &str = "copydesk notes 1";
/// How often the time is written down.
const SAVED_EVERY: Duration = Duration::from_secs(600);
/// Losses that are told apart; a store with more is beyond telling.
const MOST: usize = 1000;

/// What is on disk.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    time: Option<Timestamp>,
    losses: Vec<Loss>,
}

pub(super) struct Notes {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    clock: Arc<dyn Clock>,
    inner: Mutex<Inner>,
    /// Held by who writes.
    saving: Mutex<()>,
}

struct Inner {
    time: SteadyTime,
    losses: Vec<Loss>,
    noted: u64,
    /// When it was last written, by the time that nobody can set; none if it has to be.
    saved: Option<Duration>,
}

impl Notes {
    /// Reads what is there. Notes that cannot be read are no reason not to start, but a loss of their own.
    pub(super) fn open(disk: Arc<dyn Disk>, folder: &Path, clock: Arc<dyn Clock>) -> io::Result<Self> {
        let path = Self::path(folder);
        let read = read(&path)?;
        let is_whole = matches!(read, Some((_, true)));
        let known = read.as_ref().and_then(|(kept, _)| kept.time);
        let time = SteadyTime::new(known, &*clock);
        let losses = match read {
            Some((kept, _)) => kept.losses,
            None => {
                keep_aside(&path);
                vec![forgotten(time.now())]
            }
        };
        let inner = Mutex::new(Inner { time, losses, noted: 0, saved: Some(clock.uptime()) });
        let notes = Self { disk, folder: folder.to_owned(), clock, inner, saving: Mutex::default() };
        if !is_whole {
            notes.save();
        }
        Ok(notes)
    }

    /// Whether what is on disk is as it was written.
    pub(super) fn is_whole(folder: &Path) -> io::Result<bool> {
        Ok(read(&Self::path(folder))?.is_some_and(|(_, is_whole)| is_whole))
    }

    pub(super) fn path(folder: &Path) -> PathBuf {
        folder.join(NAME)
    }

    /// How late it is: a time that a wrong clock does not move far.
    pub(super) fn now(&self) -> Timestamp {
        let mut inner = self.inner();
        match inner.time.look(&*self.clock) {
            Some(Doubt::Began(off)) => tracing::warn!(
                hours = off / 3_600_000,
                "the machine's clock jumped; page views are not forgotten by it until it has kept to that for {} hours",
                SECOND_LOOK.as_secs() / 3600
            ),
            Some(Doubt::Ended(off)) => {
                tracing::warn!(hours = off / 3_600_000, "the machine's clock has kept to its jump and is followed now");
            }
            None => {}
        }
        inner.time.now()
    }

    /// Notes a loss, unless it is known: what was found first is not found again with every look.
    pub(super) fn add(&self, loss: Loss) {
        let mut inner = self.inner();
        if inner.losses.iter().any(|known| same_damage(known, &loss)) {
            return;
        }
        tracing::error!(project = loss.project, file = loss.file, "{}", loss.sentence());
        if inner.losses.len() < MOST {
            inner.losses.push(loss);
        }
        inner.noted += 1;
        inner.saved = None;
        drop(inner);
        self.save();
    }

    /// What is known of the damage to a file has changed: this is left of it.
    pub(super) fn replace(&self, file: &str, loss: Option<Loss>) {
        let mut inner = self.inner();
        inner.losses.retain(|known| known.file != file);
        inner.losses.extend(loss);
        // Whoever got an answer before must not take the present notes for those of that moment.
        inner.noted += 1;
        inner.saved = None;
        drop(inner);
        self.save();
    }

    /// Forgets the losses that `are` says.
    pub(super) fn forget(&self, are: impl Fn(&Loss) -> bool) {
        let mut inner = self.inner();
        let before = inner.losses.len();
        inner.losses.retain(|loss| !are(loss));
        if inner.losses.len() == before {
            return;
        }
        inner.noted += 1;
        inner.saved = None;
        drop(inner);
        self.save();
    }

    /// What was lost of a project, or may have been; of all without one.
    pub(super) fn losses(&self, project: Option<&str>) -> Losses {
        let concerns = |loss: &&Loss| project.is_none() || loss.project.is_none() || loss.project.as_deref() == project;
        let inner = self.inner();
        Losses { noted: inner.noted, list: inner.losses.iter().filter(concerns).cloned().collect() }
    }

    /// Writes the notes down if that was not possible before, and the time now and then.
    pub(super) fn keep_up(&self) {
        self.now();
        let uptime = self.clock.uptime();
        if self.inner().saved.is_none_or(|saved| uptime.saturating_sub(saved) >= SAVED_EVERY) {
            self.save();
        }
    }

    /// Writes everything down. What cannot be written is tried again.
    pub(super) fn save(&self) {
        let _saving = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = {
            let mut inner = self.inner();
            inner.saved = Some(self.clock.uptime());
            Kept { time: Some(inner.time.now()), losses: inner.losses.clone() }
        };
        if let Err(error) = self.write(&kept) {
            tracing::warn!(%error, "the view store cannot write its notes");
            self.inner().saved = None;
        }
    }

    fn write(&self, kept: &Kept) -> io::Result<()> {
        let path = Self::path(&self.folder);
        let new = path.with_extension("new");
        let file = self.disk.create(&new)?;
        self.disk.append(&file, &twice::encode(FORMAT, &serde_json::to_vec(kept)?))?;
        self.disk.sync(&file)?;
        self.disk.rename(&new, &path)?;
        self.disk.sync_folder(&self.folder)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is in a file of notes, and whether all of it is as it was written; none if it is damaged.
fn read(path: &Path) -> io::Result<Option<(Kept, bool)>> {
    let bytes = match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some((Kept::default(), true))),
        Err(error) if is_lasting(&error) => return Ok(None),
        bytes => bytes?,
    };
    let Some(Text { body, is_whole }) = twice::decode(FORMAT, &bytes) else { return Ok(None) };
    Ok(serde_json::from_slice(body).ok().map(|kept| (kept, is_whole)))
}

fn forgotten(found: Timestamp) -> Loss {
    let what = "the notes of the view store were damaged: what had been lost before is not known any more";
    tracing::error!(file = NAME, "{what}");
    let (from, to) = (Bucket::MIN, Bucket::MAX);
    Loss { project: None, of: Lost::Views, file: NAME.into(), what: what.into(), found, from, to, views: None }
}

/// Whether two losses are of one damage, found at two times.
fn same_damage(one: &Loss, other: &Loss) -> bool {
    one.file == other.file && one.project == other.project && one.of == other.of && one.what == other.what
}

#[cfg(test)]
mod tests {
    use copydesk_domain::SystemClock;

    use super::*;
    use crate::disk::RealDisk;

    #[test]
    fn every_change_of_the_notes_can_be_told_by_their_number() {
        let folder = tempfile::tempdir().unwrap();
        let notes = Notes::open(Arc::new(RealDisk), folder.path(), Arc::new(SystemClock)).unwrap();
        let loss = Loss { file: "3.seg".into(), project: Some("p".into()), ..forgotten(Timestamp::from_millis(0)) };
        let number = || notes.losses(None).noted;
        notes.add(loss.clone());
        assert_eq!(number(), 1);
        notes.add(loss.clone());
        assert_eq!(number(), 1, "known already");
        // Put right between an answer without it and the look for what is missing.
        notes.replace("3.seg", None);
        assert_eq!((number(), notes.losses(None).list), (2, Vec::new()));
        notes.add(loss);
        notes.forget(|loss| loss.file.starts_with('3'));
        assert_eq!(number(), 4);
        notes.forget(|_| true);
        assert_eq!(number(), 4, "nothing was there");
    }
}
