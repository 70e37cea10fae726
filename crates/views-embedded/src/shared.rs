//! What the threads of the store share: the projects, the budget of memory, and who is to be woken.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use copydesk_views::Bucket;
use copydesk_views::store::moving::{self, MoveNote};
use copydesk_views::store::{Loss, Lost, ViewsError};

use super::disk::Disk;
use super::manifest::{Manifest, ManifestError};
use super::notes::Notes;
use super::project::Project;
use super::wal;
use crate::segment::SegmentError;

/// Files that are open at most, apart from those of a project that is being asked.
const OPEN_FILES: usize = 400;
/// After so many loads it is looked whether something else has to go.
const LOADS: u64 = 16;
/// Cells of a project that are written to a segment together.
pub(super) const FLUSH_CELLS: usize = 250_000;
/// The longest name of a project's folder.
const NAME_BYTES: usize = 200;

pub(super) struct Shared {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) folder: PathBuf,
    pub(super) notes: Notes,
    pub(super) limits: Limits,
    pub(super) log: Arc<wal::Files>,
    projects: Mutex<HashMap<Arc<str>, Arc<Project>>>,
    /// Held by who loads a project.
    loading: Mutex<()>,
    tick: AtomicU64,
    loads: AtomicU64,
    pub(super) table_bytes: AtomicUsize,
    /// Every record up to this one is in a table or was given up.
    pub(super) applied: AtomicU64,
    pub(super) flusher: Wakeup,
    pub(super) merger: Wakeup,
    /// Woken when tables were written to disk.
    pub(super) room: Wakeup,
    /// Projects to look at: those with many cells, and those with many segments.
    pub(super) full: Mutex<HashSet<Arc<str>>>,
    pub(super) to_merge: Mutex<HashSet<Arc<str>>>,
    /// Projects whose manifest was found after a crash, and may be nowhere but in memory.
    pub(super) to_sync: Mutex<HashSet<Arc<str>>>,
    /// Projects that were removed: no record of the log up to this one counts.
    removed: Mutex<HashMap<Arc<str>, u64>>,
    /// The last flush failed: memory is not going to get free soon.
    pub(super) flush_fails: AtomicBool,
    pub(super) closing: AtomicBool,
    /// The folder may be another process's.
    closed: AtomicBool,
    /// What is written down about a move. Held for reading by whatever counts or changes something, for as long as it does.
    pub(super) gate: RwLock<Option<MoveNote>>,
    /// Held for reading by work that must end before the store is closed.
    pub(super) busy: RwLock<()>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) table_bytes: usize,
    pub(super) loaded_bytes: usize,
    pub(super) wal_bytes: u64,
    pub(super) id_seconds: u32,
}

impl Shared {
    pub(super) fn new(
        disk: Arc<dyn Disk>,
        folder: PathBuf,
        notes: Notes,
        limits: Limits,
        log: Arc<wal::Files>,
    ) -> Self {
        Self {
            disk,
            folder,
            notes,
            limits,
            log,
            projects: Mutex::default(),
            loading: Mutex::default(),
            tick: AtomicU64::new(1),
            loads: AtomicU64::new(0),
            table_bytes: AtomicUsize::new(0),
            applied: AtomicU64::new(0),
            flusher: Wakeup::default(),
            merger: Wakeup::default(),
            room: Wakeup::default(),
            full: Mutex::default(),
            to_merge: Mutex::default(),
            to_sync: Mutex::default(),
            removed: Mutex::default(),
            flush_fails: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            gate: RwLock::default(),
            busy: RwLock::default(),
        }
    }

    /// Seconds since 1970, by a time that a wrong clock does not move far.
    pub(super) fn now(&self) -> u32 {
        u32::try_from(self.notes.now().as_millis().div_euclid(1000)).unwrap_or(0)
    }

    /// The name of a file, below the store's folder.
    pub(super) fn name_of(&self, file: &Path) -> String {
        file.strip_prefix(&self.folder).unwrap_or(file).display().to_string()
    }

    /// A loss that nothing more is known of than that it is one.
    pub(super) fn loss(&self, project: Option<&str>, of: Lost, file: &Path, what: &str) -> Loss {
        Loss {
            project: project.map(str::to_owned),
            of,
            file: self.name_of(file),
            what: what.to_owned(),
            found: self.notes.now(),
            from: Bucket::MIN,
            to: Bucket::MAX,
            views: None,
        }
    }

    /// Lets through whoever counts or changes something, until it is dropped.
    pub(super) fn enter(&self) -> Result<RwLockReadGuard<'_, Option<MoveNote>>, ViewsError> {
        let gate = self.gate.read().unwrap_or_else(PoisonError::into_inner);
        if gate.as_ref().is_some_and(MoveNote::is_closed) { Err(moving::closed()) } else { Ok(gate) }
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// No project is loaded from now on: loading one cleans its folder.
    pub(super) fn shut(&self) {
        let _loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        self.closed.store(true, Ordering::Release);
    }

    pub(super) fn wal_folder(&self) -> PathBuf {
        self.folder.join("wal")
    }

    pub(super) fn projects_folder(&self) -> PathBuf {
        self.folder.join("projects")
    }

    pub(super) fn project(&self, id: &str) -> Result<Option<Arc<Project>>, ViewsError> {
        self.find(id, false)
    }

    /// The project; a new one if there is none.
    pub(super) fn project_or_new(&self, id: &str) -> Result<Arc<Project>, ViewsError> {
        self.find(id, true)?.ok_or_else(|| ViewsError::Unavailable("the project could not be made".into()))
    }

    fn find(&self, id: &str, make: bool) -> Result<Option<Arc<Project>>, ViewsError> {
        if let Some(project) = self.loaded(id) {
            return Ok(Some(project));
        }
        let project = self.load(id, make)?;
        if project.is_some() && self.loads.fetch_add(1, Ordering::Relaxed) % LOADS == LOADS - 1 {
            self.evict();
        }
        Ok(project)
    }

    fn load(&self, id: &str, make: bool) -> Result<Option<Arc<Project>>, ViewsError> {
        let Some(folder) = folder_name(id).map(|name| self.projects_folder().join(name)) else {
            return if make { Err(ViewsError::Unavailable("the project's id is too long".into())) } else { Ok(None) };
        };
        let _loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(project) = self.loaded(id) {
            return Ok(Some(project));
        }
        if self.closed.load(Ordering::Acquire) {
            return Err(ViewsError::Unavailable("the view store is closed".into()));
        }
        let read = Manifest::read(&folder);
        if let Err(ManifestError::Damaged(file)) = &read {
            let what =
                "the list of the project's files is damaged: nothing of it can be read until `copydesk views repair`";
            self.notes.add(self.loss(Some(id), Lost::Views, file, what));
        }
        let manifest = match read.map_err(ViewsError::from)? {
            Some(manifest) => manifest,
            None if make => Manifest::default(),
            None => return Ok(None),
        };
        if let Err(error) = manifest.clean(&*self.disk, &folder) {
            tracing::warn!(folder = %folder.display(), %error, "what a crash left behind could not be removed");
        }
        let id: Arc<str> = id.into();
        if manifest.is_empty() && manifest.flushed > 0 {
            self.note_removed(&id, manifest.flushed);
        }
        let project = Arc::new(Project::new(Arc::clone(&id), folder, manifest));
        project.used.store(self.tick.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        self.lock_projects().insert(id, Arc::clone(&project));
        Ok(Some(project))
    }

    /// The project, if it is in memory.
    pub(super) fn loaded(&self, id: &str) -> Option<Arc<Project>> {
        let project = self.lock_projects().get(id).cloned()?;
        project.used.store(self.tick.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Some(project)
    }

    fn lock_projects(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Project>>> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn in_memory(&self) -> Vec<Arc<Project>> {
        self.lock_projects().values().cloned().collect()
    }

    /// Whether a project has views. It is not loaded for that.
    pub(super) fn has_views(&self, id: &str) -> Result<bool, ViewsError> {
        let in_memory = self.lock_projects().get(id).cloned();
        if let Some(project) = in_memory {
            let state = project.state();
            return Ok(!state.manifest.segments.is_empty() || state.tables().any(|table| table.cell_count() > 0));
        }
        let Some(folder) = folder_name(id).map(|name| self.projects_folder().join(name)) else { return Ok(false) };
        Ok(Manifest::read(&folder)?.is_some_and(|manifest| !manifest.segments.is_empty()))
    }

    /// The ids of all projects that have a folder.
    pub(super) fn on_disk(&self) -> io::Result<Vec<String>> {
        let mut ids = Vec::new();
        for entry in fs::read_dir(self.projects_folder())? {
            ids.extend(entry?.file_name().to_str().and_then(project_id));
        }
        Ok(ids)
    }

    /// Makes sure that the manifests that were found after a crash are on disk.
    pub(super) fn sync_found(&self) -> io::Result<()> {
        for id in self.noted(&self.to_sync) {
            let folder = folder_name(&id).map(|name| self.projects_folder().join(name));
            let Some(folder) = folder.filter(|folder| folder.exists()) else { continue };
            let synced = self.disk.sync_folder(&folder).and_then(|()| self.disk.sync_folder(&self.projects_folder()));
            synced.inspect_err(|_| self.note(&self.to_sync, &id))?;
        }
        Ok(())
    }

    /// Keeps in mind that a project was removed.
    pub(super) fn note_removed(&self, id: &Arc<str>, record: u64) {
        self.removed.lock().unwrap_or_else(PoisonError::into_inner).insert(Arc::clone(id), record);
    }

    /// Lets go of what is left of removed projects, once all records of the log up to this one are gone.
    pub(super) fn remove_leftovers(&self, gone: u64) {
        let mut removed = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
        let due: Vec<Arc<str>> = removed.extract_if(|_, record| *record <= gone).map(|(id, _)| id).collect();
        drop(removed);
        for id in due {
            if let Err(error) = self.remove_leftover(&id) {
                tracing::debug!(project = %id, %error, "what is left of a removed project stays for now");
            }
        }
    }

    fn remove_leftover(&self, id: &Arc<str>) -> io::Result<()> {
        // Nobody loads it meanwhile, and nobody has it.
        let _loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(folder) = folder_name(id).map(|name| self.projects_folder().join(name)) else { return Ok(()) };
        {
            let mut projects = self.lock_projects();
            let unused = |project: &Arc<Project>| {
                let state = project.state();
                Arc::strong_count(project) == 1 && state.table_bytes() == 0 && state.manifest.is_empty()
            };
            match projects.get(id) {
                Some(project) if unused(project) => drop(projects.remove(id)),
                Some(_) => return Ok(()),
                None => {}
            }
        }
        let is_empty = |manifest: Option<Manifest>| manifest.is_none_or(|manifest| manifest.is_empty());
        if !Manifest::read(&folder).is_ok_and(is_empty) {
            return Ok(());
        }
        Manifest::default().clean(&*self.disk, &folder)?;
        self.disk.remove(&Manifest::path(&folder))?;
        self.disk.remove_folder(&folder)?;
        self.disk.sync_folder(&self.projects_folder())
    }

    /// Lets go of the projects that were not asked for the longest, if there are too many in memory.
    pub(super) fn evict(&self) {
        let mut loaded = Vec::new();
        let (mut bytes, mut open) = (0, 0);
        for project in self.in_memory() {
            let (project_bytes, project_open) = project.state().loaded();
            bytes += project_bytes;
            open += project_open;
            loaded.push((project.used.load(Ordering::Relaxed), project_bytes, project_open, project));
        }
        if bytes <= self.limits.loaded_bytes && open <= OPEN_FILES {
            return;
        }
        loaded.sort_unstable_by_key(|(used, ..)| *used);
        for (_, project_bytes, project_open, project) in loaded {
            if bytes <= self.limits.loaded_bytes / 8 * 7 && open <= OPEN_FILES / 8 * 7 {
                return;
            }
            project.forget();
            bytes = bytes.saturating_sub(project_bytes);
            open = open.saturating_sub(project_open);
            let mut projects = self.lock_projects();
            // This list and the map: nobody else has it, and nobody can get it now.
            if Arc::strong_count(&project) == 2 && project.state().table_bytes() == 0 {
                projects.remove(&project.id);
            }
        }
    }

    /// Counts what a table grew or shrank by.
    pub(super) fn count_bytes(&self, before: usize, after: usize) {
        if after >= before {
            self.table_bytes.fetch_add(after - before, Ordering::Relaxed);
        } else {
            let less = |bytes: usize| Some(bytes.saturating_sub(before - after));
            let _ = self.table_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        }
    }

    pub(super) fn note(&self, set: &Mutex<HashSet<Arc<str>>>, id: &Arc<str>) {
        set.lock().unwrap_or_else(PoisonError::into_inner).insert(Arc::clone(id));
    }

    pub(super) fn noted(&self, set: &Mutex<HashSet<Arc<str>>>) -> HashSet<Arc<str>> {
        std::mem::take(&mut *set.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The name of a project's folder: its id, with whatever a file name should not have spelt out. None if it is too long.
pub(super) fn folder_name(id: &str) -> Option<String> {
    let mut name = String::with_capacity(id.len());
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02x}"));
        }
    }
    (!name.is_empty() && name.len() <= NAME_BYTES).then_some(name)
}

pub(super) fn project_id(name: &str) -> Option<String> {
    percent_encoding::percent_decode_str(name).decode_utf8().ok().map(Into::into)
}

/// Wakes a thread. If nobody waits, the next wait ends at once.
#[derive(Debug, Default)]
pub(super) struct Wakeup {
    woken: Mutex<bool>,
    waiting: Condvar,
}

impl Wakeup {
    pub(super) fn wake(&self) {
        *self.woken.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.waiting.notify_all();
    }

    /// Waits to be woken, or for so long.
    pub(super) fn wait(&self, at_most: Duration) {
        let woken = self.woken.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.waiting.wait_timeout_while(woken, at_most, |woken| !*woken);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }
}

/// An error of the disk, as the store's.
pub(super) fn unavailable(error: &io::Error) -> ViewsError {
    ViewsError::Unavailable(format!("the view store cannot use its disk: {error}"))
}

impl From<ManifestError> for ViewsError {
    fn from(error: ManifestError) -> Self {
        match error {
            ManifestError::Io(error) => unavailable(&error),
            ManifestError::Damaged(file) => {
                Self::Damaged(format!("{} is damaged; `copydesk views repair` makes a new one", file.display()))
            }
        }
    }
}

impl From<SegmentError> for ViewsError {
    fn from(error: SegmentError) -> Self {
        match error {
            SegmentError::Io(error) => unavailable(&error),
            error @ SegmentError::Damaged { .. } => Self::Damaged(error.to_string()),
        }
    }
}

/// Whether a folder has nothing in it, or is not there.
pub(super) fn is_free(folder: &Path) -> io::Result<bool> {
    match fs::read_dir(folder) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}
