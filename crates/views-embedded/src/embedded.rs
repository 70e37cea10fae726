//! The store itself: its threads, its start and its end.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use copydesk_domain::Clock;
use copydesk_views::store::ViewsError;
use copydesk_views::store::moving::MoveNote;
use copydesk_views::{Appended, Batch, Crowd, CrowdBounds};
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::crowd::bounded;
use crate::disk::{Disk, RealDisk};
use crate::notes::Notes;
use crate::project::Project;
use crate::questions::Questions;
use crate::record::{Entry, MAX_BYTES};
use crate::recovery::Taken;
use crate::shared::{Limits, Shared, unavailable};
use crate::wal::Log;
use crate::writer::{Append, WriterTask};
use crate::{backup, flush, gate, merge, questions, recovery, repair, shared, wal, writer};

/// Batches that may wait to be written.
const QUEUE: usize = 4096;
/// Bytes that may wait to be written, in units of 1,024.
const QUEUE_KIB: usize = 64 * 1024;

/// How a store treats its memory and its disk.
#[derive(Debug, Clone)]
pub struct Options {
    pub clock: Arc<dyn Clock>,
    /// Memory for views that are in the log and not yet in a segment.
    pub memory_table_bytes: usize,
    /// Memory for what was read from disk.
    pub loaded_bytes: usize,
    /// Bytes that the log should not exceed for long.
    pub wal_bytes: u64,
    /// For how many hours an id is remembered.
    pub id_hours: u32,
    /// Memory for questions that are being answered.
    pub question_bytes: usize,
    /// Pages that a project can have a day, by the day of the views; the rest is counted as one. 0 for no bound.
    pub pages_a_day: usize,
    /// Likewise kinds of readers.
    pub readers_a_day: usize,
}

impl Options {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            memory_table_bytes: 64 * 1024 * 1024,
            loaded_bytes: 256 * 1024 * 1024,
            wal_bytes: 32 * 1024 * 1024,
            id_hours: 72,
            question_bytes: 256 * 1024 * 1024,
            pages_a_day: 50_000,
            readers_a_day: 10_000,
        }
    }
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{} is in use by another process", .0.display())]
    Locked(PathBuf),
    /// They were moved elsewhere, or have not come here yet.
    #[error("{0}")]
    Moved(ViewsError),
    #[error("the view store in {} cannot be opened: {}", .0.display(), .1)]
    Io(PathBuf, io::Error),
}

/// The view store that needs no server.
pub struct Embedded {
    pub(crate) shared: Arc<Shared>,
    pub(crate) tasks: mpsc::Sender<WriterTask>,
    room: Arc<Semaphore>,
    crowd: Crowd,
    pub(crate) questions: Questions,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Locked as long as the store is open.
    lock: Mutex<Option<File>>,
}

impl Embedded {
    /// Opens the store in a folder; makes it if there is none.
    pub fn open(folder: &Path, options: Options) -> Result<Arc<Self>, OpenError> {
        Self::open_on(Arc::new(RealDisk), folder, options)
    }

    pub(crate) fn open_on(disk: Arc<dyn Disk>, folder: &Path, options: Options) -> Result<Arc<Self>, OpenError> {
        let io = |error| OpenError::Io(folder.to_owned(), error);
        disk.create_folder(&folder.join("wal")).map_err(io)?;
        disk.create_folder(&folder.join("projects")).map_err(io)?;
        // What is acknowledged must not be lost with the name of a folder.
        disk.sync_folder(folder).map_err(io)?;
        if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            disk.sync_folder(parent).map_err(io)?;
        }
        let lock = locked(folder)?;
        let limits = Limits {
            table_bytes: options.memory_table_bytes,
            loaded_bytes: options.loaded_bytes,
            wal_bytes: options.wal_bytes,
            id_seconds: options.id_hours.saturating_mul(3600),
        };
        let (shared, log) = recovered(disk, folder, options.clock, limits).map_err(io)?;
        let note = gate::read(folder).map_err(io)?;
        if let Some(obstacle) = note.as_ref().and_then(MoveNote::obstacle) {
            return Err(OpenError::Moved(obstacle));
        }
        *shared.gate.write().unwrap_or_else(PoisonError::into_inner) = note;
        let (tasks, queue) = mpsc::channel(QUEUE);
        let room = Arc::new(Semaphore::new(QUEUE_KIB));
        let store = Self {
            shared: Arc::clone(&shared),
            tasks,
            room,
            crowd: Crowd::new(CrowdBounds { pages: options.pages_a_day, readers: options.readers_a_day }),
            questions: Questions::new(options.question_bytes, questions::PATIENCE),
            threads: Mutex::default(),
            lock: Mutex::new(Some(lock)),
        };
        let for_writer = Arc::clone(&shared);
        store.start("views-log", move || writer::run(&for_writer, log, queue)).map_err(io)?;
        let for_flusher = Arc::clone(&shared);
        store.start("views-flush", move || flush::run(&for_flusher)).map_err(io)?;
        store.start("views-merge", move || merge::run(&shared)).map_err(io)?;
        Ok(Arc::new(store))
    }

    fn start(&self, name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let thread = thread::Builder::new().name(name.into()).spawn(run)?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }

    /// Writes all views to segments and lets go of the folder. What is asked for from now on is refused.
    pub fn close(&self) {
        self.close_whole();
    }

    /// The same; false if views stay in the log because they could not be written to segments.
    pub(crate) fn close_whole(&self) -> bool {
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        if threads.is_empty() {
            return true;
        }
        let mut is_whole = true;
        self.room.close();
        self.shared.closing.store(true, Ordering::Release);
        block_on(async { drop(self.tasks.send(WriterTask::Stop).await) });
        self.shared.flusher.wake();
        self.shared.merger.wake();
        self.shared.room.wake();
        for thread in threads {
            thread.thread().unpark();
            if thread.join().is_err() {
                tracing::error!("a thread of the view store died");
            }
        }
        let _all = self.shared.busy.write().unwrap_or_else(PoisonError::into_inner);
        for project in self.shared.in_memory() {
            if let Err(error) = flush::flush(&self.shared, &project) {
                tracing::warn!(project = %project.id, %error, "views stay in the log until the next start");
                is_whole = false;
            }
        }
        flush::trim(&self.shared);
        self.shared.notes.save();
        self.shared.shut();
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
        is_whole
    }

    /// Keeps a batch. When it answers, the batch is on disk.
    pub(crate) async fn keep(&self, batch: Batch) -> Result<Appended, ViewsError> {
        let entry = bounded(&self.crowd, Entry::new(batch, self.shared.now()));
        let payload = entry.encode();
        if payload.len() > MAX_BYTES {
            return Err(ViewsError::Unavailable("the batch is too large".into()));
        }
        let units = u32::try_from((payload.len() / 1024 + 1).min(QUEUE_KIB)).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.room).acquire_many_owned(units).await.map_err(|_| closing())?;
        let (reply, answer) = oneshot::channel();
        self.tasks
            .send(WriterTask::Append(Box::new(Append::new(entry, payload, reply, permit))))
            .await
            .map_err(|_| closing())?;
        answer.await.map_err(|_| closing())?
    }

    /// Copies the store, as it is now, to a folder that is empty or not there; it can be opened as a store. Appends and
    /// questions go on meanwhile.
    pub(crate) fn copy(shared: &Shared, target: &Path) -> Result<(), ViewsError> {
        let refused = |error: io::Error| ViewsError::Unavailable(format!("the views cannot be copied: {error}"));
        if !shared::is_free(target).map_err(refused)? {
            return Err(ViewsError::Unavailable(format!("{} is not empty", target.display())));
        }
        let _busy = shared.busy.read().unwrap_or_else(PoisonError::into_inner);
        if shared.is_closing() {
            return Err(closing());
        }
        let _log_stays = shared.log.hold();
        backup::projects(shared, target).map_err(refused)?;
        backup::log(shared, target).map_err(refused)
    }

    /// Writes all views that are in memory to segments and merges what should be merged, now.
    pub fn settle(&self) -> Result<(), ViewsError> {
        let _busy = self.shared.busy.read().unwrap_or_else(PoisonError::into_inner);
        if self.shared.is_closing() {
            return Err(closing());
        }
        for project in self.shared.in_memory() {
            flush::flush(&self.shared, &project).map_err(|error| unavailable(&error))?;
            merge::tidy(&self.shared, &project, merge::Pace::Calm)?;
        }
        flush::trim(&self.shared);
        Ok(())
    }
}

pub(crate) fn closing() -> ViewsError {
    ViewsError::Unavailable("the view store is closing".into())
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.close();
    }
}

/// Holds a folder for this process alone, until the file is closed.
pub(crate) fn locked(folder: &Path) -> Result<File, OpenError> {
    let io = |error| OpenError::Io(folder.to_owned(), error);
    let file = File::options().create(true).append(true).open(folder.join("lock")).map_err(io)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked(folder.to_owned())),
        Err(TryLockError::Error(error)) => Err(io(error)),
    }
}

/// Reads the log into tables.
fn recovered(
    disk: Arc<dyn Disk>,
    folder: &Path,
    clock: Arc<dyn Clock>,
    limits: Limits,
) -> io::Result<(Arc<Shared>, Log)> {
    let wal = folder.join("wal");
    let empty = Arc::new(wal::Files::new(Vec::new()));
    let notes = Notes::open(Arc::clone(&disk), folder, clock)?;
    let mut shared = Shared::new(Arc::clone(&disk), folder.to_owned(), notes, limits, empty);
    let found = recovery::read(&*disk, &wal, &mut |number, payload| replayed(&shared, number, payload))?;
    found.damage.iter().for_each(|damage| repair::note_log(&shared, damage));
    shared.applied.store(found.next_record.saturating_sub(1), Ordering::Release);
    let log = Log::new(disk, wal, found, (limits.wal_bytes / 4).max(4096));
    shared.log = Arc::clone(log.files());
    Ok((Arc::new(shared), log))
}

/// Counts a record that is not in a segment yet.
fn replayed(shared: &Shared, number: u64, payload: &[u8]) -> io::Result<Taken> {
    let Some(entry) = Entry::decode(payload) else {
        tracing::error!(number, "a record of the log cannot be understood");
        return Ok(Taken::Not);
    };
    match shared.project_or_new(&entry.project) {
        Ok(project) => {
            replay_into(shared, &project, number, &entry, wal::bytes_of(payload));
            shared.note(&shared.to_sync, &project.id);
        }
        // It may work later; counting later records of the project without this one would lose it for good.
        Err(ViewsError::Unavailable(error)) => return Err(io::Error::other(error)),
        Err(error) => {
            tracing::error!(project = %entry.project, number, %error, "views in the log cannot be counted");
            return Ok(Taken::Not);
        }
    }
    Ok(Taken::Done)
}

fn replay_into(shared: &Shared, project: &Project, number: u64, entry: &Entry, logged: u64) {
    let mut state = project.state_mut();
    if number > state.last_record() {
        let before = state.table.bytes();
        state.table.apply(number, entry, logged);
        let after = state.table.bytes();
        drop(state);
        shared.count_bytes(before, after);
    }
}

/// Waits for a future on a thread that may wait.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut context = std::task::Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(value) => return value,
            std::task::Poll::Pending => thread::park(),
        }
    }
}
