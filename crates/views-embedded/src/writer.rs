//! The one thread that writes the log. Whatever was asked for while the last group was being synced is the next group, so
//! that one sync serves many and nobody waits for company.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use copydesk_views::store::ViewsError;
use copydesk_views::{Appended, Bucket};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use super::project::Project;
use super::record::Entry;
use super::repair;
use super::shared::{FLUSH_CELLS, Shared, unavailable};
use super::wal::{self, Log};

/// Bytes of a group at most, but for a single batch that has more.
const GROUP_BYTES: usize = 8 * 1024 * 1024;
/// How long an append waits for memory to get free before it is refused.
const ROOM_WAITS: u32 = 600;

pub(super) enum WriterTask {
    Append(Box<Append>),
    Stop,
}

pub(super) struct Append {
    pub(super) entry: Entry,
    pub(super) payload: Vec<u8>,
    pub(super) crc: u32,
    pub(super) reply: oneshot::Sender<Result<Appended, ViewsError>>,
    /// Room in the queue; given back when it is done.
    _permit: OwnedSemaphorePermit,
}

impl Append {
    /// A batch as the writer wants it; most of the work is done here, on the thread of whoever asks.
    pub(super) fn new(
        entry: Entry,
        payload: Vec<u8>,
        reply: oneshot::Sender<Result<Appended, ViewsError>>,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        let crc = crc32fast::hash(&payload);
        Self { entry, payload, crc, reply, _permit: permit }
    }
}

/// A batch of a group.
struct Judged {
    project: Arc<Project>,
    append: Box<Append>,
    appended: Appended,
    /// The number of its record; none if there is nothing to keep.
    number: Option<u64>,
}

/// Writes until it is told to stop.
pub(super) fn run(shared: &Shared, mut log: Log, mut tasks: mpsc::Receiver<WriterTask>) {
    let mut next = tasks.blocking_recv();
    while let Some(task) = next.take() {
        match task {
            WriterTask::Append(first) => {
                let mut bytes = first.payload.len();
                let mut group = vec![first];
                while bytes < GROUP_BYTES {
                    match tasks.try_recv() {
                        Ok(WriterTask::Append(append)) => {
                            bytes += append.payload.len();
                            group.push(append);
                        }
                        Ok(other) => {
                            next = Some(other);
                            break;
                        }
                        Err(_) => break,
                    }
                }
                write_group(shared, &mut log, group);
            }
            WriterTask::Stop => tasks.close(),
        }
        if next.is_none() {
            next = tasks.blocking_recv();
        }
    }
}

#[allow(clippy::vec_box, reason = "they come boxed from the queue")]
fn write_group(shared: &Shared, log: &mut Log, group: Vec<Box<Append>>) {
    let entered = wait_for_room(shared).and_then(|()| shared.enter());
    if let Err(error) = &entered {
        return group.into_iter().for_each(|append| drop(append.reply.send(Err(error.clone()))));
    }
    // Until the group is on disk and answered.
    let _entered = entered;
    let mut ids = GroupIds::default();
    let mut judged = Vec::with_capacity(group.len());
    for append in group {
        match judge(shared, log, &mut ids, append) {
            Ok(append) => judged.push(append),
            Err((append, error)) => drop(append.reply.send(Err(error))),
        }
    }
    let records = || judged.iter().filter_map(|it| Some((it.number?, it.append.payload.as_slice(), it.append.crc)));
    // A batch of duplicates writes nothing, but says that the others are on disk.
    let committed = if records().next().is_some() { log.commit(records()) } else { log.sync_found() };
    match committed {
        Ok(()) => {
            for it in &judged {
                apply(shared, it);
            }
            shared.applied.store(log.last(), Ordering::Release);
            judged.into_iter().for_each(|it| drop(it.append.reply.send(Ok(it.appended))));
            wake_flusher(shared);
        }
        Err(error) => {
            shared.applied.store(log.last(), Ordering::Release);
            refuse(judged, &error);
        }
    }
}

fn refuse(judged: Vec<Judged>, error: &io::Error) {
    tracing::warn!(%error, batches = judged.len(), "views could not be written to the log and were refused");
    judged.into_iter().for_each(|it| drop(it.append.reply.send(Err(unavailable(error)))));
}

/// Ids of views that are in the group and not yet applied.
#[derive(Default)]
struct GroupIds(HashMap<Arc<str>, HashSet<u128>>);

/// Finds out which views of a batch count, and gives its record a number.
fn judge(
    shared: &Shared,
    log: &mut Log,
    group: &mut GroupIds,
    mut append: Box<Append>,
) -> Result<Judged, (Box<Append>, ViewsError)> {
    let project = match shared.project_or_new(&append.entry.project) {
        Ok(project) => project,
        Err(error) => return Err((append, error)),
    };
    let new = match fresh(shared, &project, group, &append.entry) {
        Ok(fresh) => fresh,
        Err(error) => return Err((append, unavailable(&error))),
    };
    if let Some(left_out) = new.left_out {
        let mut place = 0..;
        append.entry.views.retain(|_| !place.next().is_some_and(|place| left_out.contains(&place)));
        append.payload = append.entry.encode();
        append.crc = crc32fast::hash(&append.payload);
    }
    let counted = append.entry.views.iter().map(|view| u64::from(view.count)).sum();
    let keeps = !append.entry.views.is_empty() || append.entry.mark.is_some();
    let flushed = project.state().manifest.flushed;
    let number = keeps.then(|| log.number_after(flushed));
    Ok(Judged { project, append, appended: Appended { counted, duplicates: new.duplicates }, number })
}

struct Fresh {
    /// Places of views that do not count, if there are any.
    left_out: Option<HashSet<u32>>,
    duplicates: Vec<u32>,
}

fn fresh(shared: &Shared, project: &Project, group: &mut GroupIds, entry: &Entry) -> io::Result<Fresh> {
    let floor = project.state().floor();
    let (mut left_out, mut duplicates) = (HashSet::new(), Vec::new());
    let has_ids = entry.views.iter().any(|view| view.id.is_some());
    let known = if has_ids { known_ids(shared, project, entry)? } else { HashSet::new() };
    let mut pending = has_ids.then(|| group.0.entry(Arc::clone(&entry.project)).or_default());
    for (place, view) in (0..).zip(&entry.views) {
        if view.bucket < floor || view.bucket == Bucket::MAX || view.count == 0 {
            left_out.insert(place);
        } else if let (Some(id), Some(pending)) = (view.id, &mut pending)
            && (known.contains(&id) || !pending.insert(id))
        {
            left_out.insert(place);
            duplicates.push(place);
        }
    }
    Ok(Fresh { left_out: (!left_out.is_empty()).then_some(left_out), duplicates })
}

/// Those of a batch's ids that were counted before, within the time that ids are kept.
fn known_ids(shared: &Shared, project: &Project, entry: &Entry) -> io::Result<HashSet<u128>> {
    let since = entry.arrived.saturating_sub(shared.limits.id_seconds);
    let mut known = HashSet::new();
    let (files, state) = loop {
        let files = project.open_ids()?;
        let state = project.state();
        // A flush moves ids from a table to a file: both must be of one moment.
        if state.ids.as_ref().is_some_and(|ids| Arc::ptr_eq(ids, &files)) {
            break (files, state);
        }
    };
    for id in entry.views.iter().filter_map(|view| view.id) {
        if state.tables().any(|table| table.ids.get(id).is_some_and(|at| at >= since)) {
            known.insert(id);
        }
    }
    drop(state);
    for id in entry.views.iter().filter_map(|view| view.id) {
        for ids in files.iter() {
            if ids.file.find(id)?.is_some_and(|at| at >= since) {
                known.insert(id);
            }
        }
    }
    for ids in files.iter().filter(|ids| ids.file.is_damaged()) {
        repair::note_ids(shared, project, ids.number);
    }
    Ok(known)
}

/// Counts a batch that is on disk.
fn apply(shared: &Shared, it: &Judged) {
    let Some(number) = it.number else { return };
    it.project.give_way();
    let mut state = it.project.state_mut();
    let before = state.table.bytes();
    state.table.apply(number, &it.append.entry, wal::bytes_of(&it.append.payload));
    let (after, cells) = (state.table.bytes(), state.table.cell_count());
    // Before anybody can flush the table and count it off again: what is counted on after that stays for ever, and holds
    // up all appends once it has added up.
    shared.count_bytes(before, after);
    drop(state);
    if cells >= FLUSH_CELLS {
        shared.note(&shared.full, &it.project.id);
        shared.flusher.wake();
    }
}

fn wake_flusher(shared: &Shared) {
    let memory = shared.table_bytes.load(Ordering::Relaxed) > shared.limits.table_bytes;
    if memory || shared.log.bytes() > shared.limits.wal_bytes {
        shared.flusher.wake();
    }
}

/// Holds appends back while tables take twice the memory they may, as long as it is getting free.
fn wait_for_room(shared: &Shared) -> Result<(), ViewsError> {
    let most = shared.limits.table_bytes.saturating_mul(2);
    for _ in 0..ROOM_WAITS {
        let bytes = shared.table_bytes.load(Ordering::Relaxed);
        let fails = shared.flush_fails.load(Ordering::Relaxed);
        if bytes <= most || fails && bytes <= most.saturating_mul(2) {
            return Ok(());
        }
        if fails || shared.is_closing() {
            break;
        }
        shared.flusher.wake();
        shared.room.wait(Duration::from_millis(100));
    }
    Err(ViewsError::Unavailable("the view store cannot write its views to disk fast enough".into()))
}
