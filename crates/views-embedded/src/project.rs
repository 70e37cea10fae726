//! A project as it is in memory.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use copydesk_views::Bucket;

use super::files::Files;
use super::ids::IdFile;
use super::manifest::{IdsEntry, Manifest, SegmentEntry};
use super::table::Table;
use crate::segment::SegmentError;

/// How often the writer gives way before it goes on.
const GIVEN_WAY: usize = 100;

#[derive(Debug)]
pub(super) struct Project {
    pub(super) id: Arc<str>,
    pub(super) folder: PathBuf,
    state: RwLock<State>,
    /// How many wait to look at the state.
    looking: AtomicUsize,
    /// Held by who replaces the manifest.
    work: Mutex<Work>,
    /// Held by who rewrites segments.
    merging: Mutex<()>,
    /// Held by who opens files.
    opening: Mutex<()>,
    /// When it was last asked for.
    pub(super) used: AtomicU64,
}

/// What a project's answers are made of. Locked for moments only.
#[derive(Debug)]
pub(super) struct State {
    pub(super) manifest: Arc<Manifest>,
    /// Segments of the manifest that are damaged: answers are made without them until what is left of them is saved.
    pub(super) damaged: Arc<HashSet<u64>>,
    /// The other segments of the manifest, if they are open.
    pub(super) files: Option<Arc<Files>>,
    /// The ids of the manifest, if they are open.
    pub(super) ids: Option<Arc<Vec<OpenIds>>>,
    /// Tables that are being written to disk, oldest first.
    pub(super) frozen: Vec<Arc<Table>>,
    pub(super) table: Table,
    /// How often the project was removed since it is in memory.
    pub(super) removals: u64,
}

/// A manifest and its files, if they are open.
#[derive(Debug)]
pub(super) struct Opened {
    manifest: Arc<Manifest>,
    files: Option<Arc<Files>>,
    ids: Option<Arc<Vec<OpenIds>>>,
}

#[derive(Debug, Clone)]
pub(super) struct OpenIds {
    pub(super) number: u64,
    pub(super) file: Arc<IdFile>,
}

/// What is known to who replaces the manifest.
#[derive(Debug, Default)]
pub(super) struct Work {
    next: u64,
    /// Files that a table was written to while the manifest could not be replaced, by its first record.
    pub(super) written: Option<(u64, Option<SegmentEntry>, Option<IdsEntry>)>,
}

impl Work {
    /// A number for a file. Never one that a manifest on disk might name.
    pub(super) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// The last number that was given.
    pub(super) fn last_number(&self) -> u64 {
        self.next
    }
}

impl Project {
    pub(super) fn new(id: Arc<str>, folder: PathBuf, manifest: Manifest) -> Self {
        let work = Work { next: manifest.next, ..Work::default() };
        let state = State {
            manifest: Arc::new(manifest),
            damaged: Arc::default(),
            files: None,
            ids: None,
            frozen: Vec::new(),
            table: Table::default(),
            removals: 0,
        };
        Self {
            id,
            folder,
            state: RwLock::new(state),
            looking: AtomicUsize::new(0),
            work: Mutex::new(work),
            merging: Mutex::default(),
            opening: Mutex::default(),
            used: AtomicU64::new(0),
        }
    }

    pub(super) fn state(&self) -> RwLockReadGuard<'_, State> {
        self.looking.fetch_add(1, Ordering::Relaxed);
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        self.looking.fetch_sub(1, Ordering::Relaxed);
        state
    }

    /// Lets those who wait to look at the state have it first, within reason. The lock alone does not: who counts batch
    /// after batch has it again before anybody is awake.
    pub(super) fn give_way(&self) {
        for _ in 0..GIVEN_WAY {
            if self.looking.load(Ordering::Relaxed) == 0 {
                return;
            }
            std::thread::yield_now();
        }
    }

    pub(super) fn state_mut(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn merging(&self) -> MutexGuard<'_, ()> {
        self.merging.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the segments, if they are not open.
    pub(super) fn open_files(&self) -> Result<Arc<Files>, SegmentError> {
        if let Some(files) = &self.state().files {
            return Ok(Arc::clone(files));
        }
        let _opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let (manifest, damaged) = {
                let state = self.state();
                if let Some(files) = &state.files {
                    return Ok(Arc::clone(files));
                }
                (Arc::clone(&state.manifest), Arc::clone(&state.damaged))
            };
            let opened = Files::open(&self.folder, &manifest, &damaged, None).map(Arc::new);
            let mut state = self.state_mut();
            // A merge may have replaced the manifest meanwhile, and removed a file before it was opened.
            if Arc::ptr_eq(&state.manifest, &manifest) && Arc::ptr_eq(&state.damaged, &damaged) {
                let files = opened?;
                state.files = Some(Arc::clone(&files));
                return Ok(files);
            }
        }
    }

    /// Opens the files of ids, if they are not open.
    pub(super) fn open_ids(&self) -> io::Result<Arc<Vec<OpenIds>>> {
        loop {
            let manifest = {
                let state = self.state();
                if let Some(ids) = &state.ids {
                    return Ok(Arc::clone(ids));
                }
                Arc::clone(&state.manifest)
            };
            let open = |entry: &IdsEntry| self.open_ids_of(entry);
            let opened = manifest.ids.iter().map(open).collect::<io::Result<Vec<_>>>().map(Arc::new);
            let mut state = self.state_mut();
            if Arc::ptr_eq(&state.manifest, &manifest) {
                let ids = opened?;
                state.ids = Some(Arc::clone(&ids));
                return Ok(ids);
            }
        }
    }

    fn open_ids_of(&self, entry: &IdsEntry) -> io::Result<OpenIds> {
        let file = IdFile::open(&entry.file(&self.folder), entry.count)?;
        Ok(OpenIds { number: entry.number, file: Arc::new(file) })
    }

    /// What a new manifest names, opened as far as the files of the old one are, so that no question and no append waits
    /// for it.
    pub(super) fn opened(&self, manifest: Manifest) -> Opened {
        let (files, ids, damaged) = {
            let state = self.state();
            (state.files.clone(), state.ids.clone(), Arc::clone(&state.damaged))
        };
        let files = files.and_then(|before| self.files_of(&manifest, &damaged, &before));
        let ids = ids.and_then(|before| self.ids_of(&manifest, &before));
        Opened { manifest: Arc::new(manifest), files, ids }
    }

    fn files_of(&self, manifest: &Manifest, damaged: &HashSet<u64>, before: &Files) -> Option<Arc<Files>> {
        let files = Files::open(&self.folder, manifest, damaged, Some(before)).ok()?;
        if before.known_paths().is_some() {
            files.paths().ok()?;
        }
        Some(Arc::new(files))
    }

    fn ids_of(&self, manifest: &Manifest, before: &[OpenIds]) -> Option<Arc<Vec<OpenIds>>> {
        let ids = manifest.ids.iter().map(|entry| {
            let known = before.iter().find(|ids| ids.number == entry.number).cloned();
            known.or_else(|| self.open_ids_of(entry).ok())
        });
        ids.collect::<Option<Vec<_>>>().map(Arc::new)
    }

    /// Sets the table aside to be written to disk; views that come now go into a new one.
    pub(super) fn freeze(&self) -> Vec<Arc<Table>> {
        let mut state = self.state_mut();
        if !state.table.is_empty() {
            let table = std::mem::take(&mut state.table);
            state.frozen.push(Arc::new(table));
        }
        state.frozen.clone()
    }

    /// Lets go of what can be read again.
    pub(super) fn forget(&self) {
        let mut state = self.state_mut();
        (state.files, state.ids) = (None, None);
    }
}

fn ids_memory(ids: &[OpenIds]) -> usize {
    ids.iter().map(|ids| ids.file.memory()).sum()
}

impl State {
    /// Takes a new manifest for true. What it returns is the old one; it is dropped when nobody waits any more.
    #[must_use]
    pub(super) fn take_over(&mut self, new: Opened) -> Opened {
        // What was found to be damaged since they were opened is left out when they are opened again.
        let is_sound = |files: &Arc<Files>| files.parts.iter().all(|part| !self.damaged.contains(&part.number));
        let files = new.files.filter(is_sound);
        Opened {
            manifest: std::mem::replace(&mut self.manifest, new.manifest),
            files: std::mem::replace(&mut self.files, files),
            ids: std::mem::replace(&mut self.ids, new.ids),
        }
    }

    /// The tables, those that are being written first.
    pub(super) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.frozen.iter().map(AsRef::as_ref).chain([&self.table])
    }

    /// The first record that is in no segment.
    pub(super) fn first_record(&self) -> Option<u64> {
        self.tables().filter_map(|table| Some(table.records?.0)).min()
    }

    pub(super) fn last_record(&self) -> u64 {
        self.tables().filter_map(|table| Some(table.records?.1)).fold(self.manifest.flushed, u64::max)
    }

    pub(super) fn table_bytes(&self) -> usize {
        self.tables().map(Table::bytes).sum()
    }

    /// Bytes of what was read from disk, and how many files are open.
    pub(super) fn loaded(&self) -> (usize, usize) {
        let marks = self.manifest.marks.len() * 200 + 1024;
        let (files, parts) = self.files.as_ref().map_or((0, 0), |files| (files.memory(), files.parts.len()));
        let (ids, open) = self.ids.as_ref().map_or((0, 0), |ids| (ids_memory(ids), ids.len()));
        (marks + files + ids, parts + open)
    }

    /// Nothing before this counts.
    pub(super) fn floor(&self) -> Bucket {
        self.manifest.floor.unwrap_or(Bucket::MIN)
    }

    /// Since when there are views by script, and from the server side.
    pub(super) fn since(&self) -> (Option<Bucket>, Option<Bucket>) {
        let least =
            |known: Option<Bucket>, of: fn(&Table) -> Option<Bucket>| self.tables().filter_map(of).chain(known).min();
        let script = least(self.manifest.script_since, |table| table.script_since);
        (script, least(self.manifest.server_since, |table| table.server_since))
    }
}
