//! A disk that fails and forgets.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::disk::{Disk, RealDisk, Written};

/// A disk that fails when it is told to, and that knows what a loss of power would leave.
pub(super) struct FaultyDisk(Mutex<Faults>);

#[derive(Default)]
struct Faults {
    random: u64,
    /// Of 100 steps, so many fail.
    percent: u64,
    /// After so many steps nothing works any more; the one after them is torn.
    ends_in: Option<usize>,
    ended: bool,
    /// A log could not be cut: what was refused may come back.
    pub(super) uncut: bool,
    /// What is on the platters of files that were written to.
    files: HashMap<PathBuf, Vec<u8>>,
    /// Changes of names since the folder was synced, to be undone.
    names: HashMap<PathBuf, Vec<Undo>>,
    truncated: Option<PathBuf>,
}

enum Undo {
    Made(PathBuf),
    Had(PathBuf, Vec<u8>),
}

impl FaultyDisk {
    pub(super) fn new(seed: u64) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Faults { random: seed, ..Faults::default() })))
    }

    /// The disk after the process has ended: what was not synced is still not.
    pub(super) fn after(&self, seed: u64) -> Arc<Self> {
        let mut old = self.faults();
        let (files, names) = (std::mem::take(&mut old.files), std::mem::take(&mut old.names));
        Arc::new(Self(Mutex::new(Faults { random: seed, files, names, ..Faults::default() })))
    }

    fn faults(&self) -> MutexGuard<'_, Faults> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on so many of 100 steps fail.
    pub(super) fn fail(&self, percent: u64) {
        self.faults().percent = percent;
    }

    /// After so many steps more nothing works any more.
    pub(super) fn end_in(&self, steps: usize) {
        self.faults().ends_in = Some(steps);
    }

    /// Whether a log could not be cut since this was last asked.
    pub(super) fn was_uncut(&self) -> bool {
        std::mem::take(&mut self.faults().uncut)
    }

    /// What a loss of power leaves: of what was not synced, some.
    pub(super) fn lose_power(&self) {
        let mut faults = self.faults();
        let (files, names) = (std::mem::take(&mut faults.files), std::mem::take(&mut faults.names));
        for (path, synced) in files {
            let Ok(now) = fs::read(&path) else { continue };
            let common = synced.iter().zip(&now).take_while(|(one, other)| one == other).count();
            let longer = if now.len() > synced.len() { &now } else { &synced };
            let left = common + faults.below(longer.len() - common + 1);
            fs::write(&path, &longer[..left.max(synced.len().min(now.len()))]).unwrap();
        }
        for mut undos in names.into_values() {
            let left = faults.below(undos.len() + 1);
            for undo in undos.drain(left..).rev() {
                match undo {
                    Undo::Made(path) => drop(fs::remove_file(path)),
                    // Unless its folder is gone as a whole.
                    Undo::Had(path, _) if !path.parent().unwrap().exists() => {}
                    Undo::Had(path, bytes) => fs::write(path, bytes).unwrap(),
                }
            }
        }
    }
}

impl Faults {
    fn below(&mut self, end: usize) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) as usize % end.max(1)
    }

    /// Whether this step is done; an error if it is told to fail, before or after it is done.
    fn step(&mut self) -> (bool, io::Result<()>) {
        if self.ended {
            return (false, Err(io::Error::other("the end")));
        }
        if let Some(left) = &mut self.ends_in {
            self.ended = *left == 0;
            *left = left.saturating_sub(1);
        }
        if self.ended || (self.below(100) as u64) < self.percent {
            return (self.below(2) == 0, Err(io::Error::other("a fault")));
        }
        (true, Ok(()))
    }

    fn note(&mut self, undo: Undo) {
        let (Undo::Made(path) | Undo::Had(path, _)) = &undo;
        let folder = path.parent().unwrap().to_owned();
        self.names.entry(folder).or_default().push(undo);
    }

    fn had(&mut self, path: &Path) {
        match fs::read(path) {
            Ok(bytes) => self.note(Undo::Had(path.to_owned(), bytes)),
            Err(_) => self.note(Undo::Made(path.to_owned())),
        }
    }
}

impl Disk for FaultyDisk {
    fn create(&self, path: &Path) -> io::Result<Written> {
        let mut faults = self.faults();
        let (done, result) = faults.step();
        if !done {
            return Err(io::Error::other("a fault"));
        }
        faults.had(path);
        let file = RealDisk.create(path)?;
        faults.files.insert(path.to_owned(), Vec::new());
        result.map(|()| file)
    }

    fn reopen(&self, path: &Path) -> io::Result<Written> {
        self.faults().step().1?;
        RealDisk.reopen(path)
    }

    fn append(&self, to: &Written, bytes: &[u8]) -> io::Result<()> {
        let mut faults = self.faults();
        faults.truncated = None;
        let was_ended = faults.ended;
        let (_, result) = faults.step();
        let part = if result.is_ok() { bytes.len() } else { faults.below(bytes.len() + 1) };
        if !was_ended {
            (&to.file).write_all(&bytes[..part])?;
        }
        result
    }

    fn sync(&self, file: &Written) -> io::Result<()> {
        let mut faults = self.faults();
        let (done, result) = faults.step();
        if result.is_err() && faults.truncated.as_ref() == Some(&file.path) {
            faults.uncut = true;
        }
        if done {
            let bytes = fs::read(&file.path)?;
            faults.files.insert(file.path.clone(), bytes);
        }
        result
    }

    fn truncate(&self, file: &Written, bytes: u64) -> io::Result<()> {
        let mut faults = self.faults();
        let (done, result) = faults.step();
        if done {
            RealDisk.truncate(file, bytes)?;
        }
        faults.uncut |= result.is_err();
        faults.truncated = Some(file.path.clone());
        result
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut faults = self.faults();
        let (done, result) = faults.step();
        if done {
            faults.had(to);
            RealDisk.rename(from, to)?;
            let synced = faults.files.remove(from);
            faults.files.remove(to);
            if let Some(synced) = synced {
                faults.files.insert(to.to_owned(), synced);
            }
        }
        result
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let mut faults = self.faults();
        let (done, result) = faults.step();
        if done {
            faults.names.remove(folder);
        }
        result
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut faults = self.faults();
        let (done, result) = faults.step();
        if done {
            if path.exists() {
                faults.had(path);
            }
            faults.files.remove(path);
            RealDisk.remove(path)?;
        }
        result
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.faults().step().1?;
        RealDisk.remove_folder(path)
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.faults().step().1?;
        RealDisk.create_folder(path)
    }
}
