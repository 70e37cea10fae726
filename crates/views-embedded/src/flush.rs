//! From memory to disk: tables become segments, and files of the log that are not needed any more go away.

use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, TryLockError};
use std::time::Duration;

use super::ids;
use super::lines;
use super::manifest::{self, IdsEntry, Manifest, SegmentEntry, SwitchError, set_aside};
use super::project::{Project, Work};
use super::shared::Shared;
use super::table::Table;
use super::wal;
use crate::segment;

/// How long to wait before trying again what the disk refused.
const AGAIN: Duration = Duration::from_millis(500);
/// How long a quiet store sleeps before it looks after its memory.
const QUIET: Duration = Duration::from_secs(5);

/// Writes tables to disk until the store is closed.
pub(super) fn run(shared: &Shared) {
    while !shared.is_closing() {
        let fails = shared.flush_fails.load(Ordering::Relaxed);
        if fails {
            // Not whenever it is woken: what the disk refused it will refuse again.
            std::thread::park_timeout(AGAIN);
        }
        flush_due(shared);
        shared.evict();
        shared.notes.keep_up();
        shared.flusher.wait(if shared.flush_fails.load(Ordering::Relaxed) { AGAIN } else { QUIET });
    }
}

/// Writes what is due: full tables, the largest if all together are too large, and those that hold up the log.
pub(super) fn flush_due(shared: &Shared) {
    let mut outcome = Ok(());
    for project in due(shared) {
        if shared.is_closing() {
            break;
        }
        if let Err(error) = flush(shared, &project) {
            tracing::warn!(project = %project.id, %error, "views could not be written to a segment; they stay in the log");
            outcome = Err(());
            shared.note(&shared.full, &project.id);
        }
    }
    trim(shared);
    shared.flush_fails.store(outcome.is_err(), Ordering::Relaxed);
}

fn due(shared: &Shared) -> Vec<Arc<Project>> {
    let full = shared.noted(&shared.full);
    let mut left = shared.table_bytes.load(Ordering::Relaxed);
    let too_much = left > shared.limits.table_bytes;
    let oldest = log_bound(shared);
    if full.is_empty() && !too_much && oldest.is_none() {
        return Vec::new();
    }
    let sized = |project: Arc<Project>| {
        let (bytes, first) = {
            let state = project.state();
            (state.table_bytes(), state.first_record())
        };
        (bytes, first, project)
    };
    let mut projects: Vec<_> = shared.in_memory().into_iter().map(sized).filter(|(bytes, ..)| *bytes > 0).collect();
    projects.sort_unstable_by_key(|(bytes, ..)| std::cmp::Reverse(*bytes));
    let mut due = Vec::new();
    for (bytes, first, project) in projects {
        let holds_up = first.is_some_and(|first| oldest.is_some_and(|oldest| first <= oldest));
        if full.contains(&project.id) || holds_up || too_much && left > shared.limits.table_bytes / 2 {
            left = left.saturating_sub(bytes);
            due.push(project);
        }
    }
    due
}

/// The last record of the files that must go for the log to be short again.
fn log_bound(shared: &Shared) -> Option<u64> {
    let mut bytes = shared.log.bytes();
    if bytes <= shared.limits.wal_bytes {
        return None;
    }
    let mut bound = None;
    for file in shared.log.closed().iter() {
        if bytes <= shared.limits.wal_bytes / 2 {
            break;
        }
        bytes = bytes.saturating_sub(file.place.bytes);
        bound = Some(file.last);
    }
    bound
}

/// Writes all of a project that is in memory to disk.
pub(super) fn flush(shared: &Shared, project: &Arc<Project>) -> io::Result<()> {
    let mut work = project.work();
    for table in project.freeze() {
        flush_table(shared, project, &mut work, &table)?;
    }
    drop(work);
    shared.note(&shared.to_merge, &project.id);
    shared.merger.wake();
    Ok(())
}

fn flush_table(shared: &Shared, project: &Project, work: &mut Work, table: &Arc<Table>) -> io::Result<()> {
    let Some((first, last)) = table.records else { return Ok(()) };
    let old = Arc::clone(&project.state().manifest);
    // What was written when the manifest could not be replaced is taken as it is: a manifest that names it may be there.
    if work.written.as_ref().is_none_or(|(of, ..)| *of != first) {
        make_folder(shared, project)?;
        if !Manifest::path(&project.folder).exists() {
            // From the first file on there is one: a project whose manifest is gone is damaged, and no new one.
            switch(shared, project, &old)?;
        }
        let segment = write_segment(shared, project, work, table)?;
        // No manifest names them yet: what cannot be finished must not fill the disk at each try.
        let drop_segment = || segment.iter().for_each(|it| drop(shared.disk.remove(&it.file(&project.folder))));
        let ids = write_ids(shared, project, work, table).inspect_err(|_| drop_segment())?;
        shared.disk.sync_folder(&project.folder).inspect_err(|_| {
            drop_segment();
            ids.iter().for_each(|it| drop(shared.disk.remove(&it.file(&project.folder))));
        })?;
        work.written = Some((first, segment, ids));
    }
    if lines::append(&*shared.disk, &project.folder, &table.lines, old.flushed, last)? {
        shared.notes.add(lines::loss(shared, project));
    }
    let mut manifest = Manifest { flushed: last, next: work.last_number(), ..(*old).clone() };
    if let Some((_, segment, ids)) = &work.written {
        manifest.segments.extend(segment.clone());
        manifest.ids.extend(ids.clone());
    }
    manifest.script_since = manifest.script_since.into_iter().chain(table.script_since).min();
    manifest.server_since = manifest.server_since.into_iter().chain(table.server_since).min();
    table.marks.iter().for_each(|mark| manifest::add_mark(&mut manifest.marks, mark));
    switch(shared, project, &manifest)?;
    work.written = None;
    let new = project.opened(manifest);
    let mut state = project.state_mut();
    state.frozen.retain(|frozen| !Arc::ptr_eq(frozen, table));
    let old = state.take_over(new);
    drop(state);
    drop(old);
    shared.count_bytes(table.bytes(), 0);
    shared.room.wake();
    Ok(())
}

pub(super) fn make_folder(shared: &Shared, project: &Project) -> io::Result<()> {
    if project.folder.exists() {
        return Ok(());
    }
    shared.disk.create_folder(&project.folder)?;
    // Made, and perhaps not on disk: no file of the log may go before it is.
    shared.disk.sync_folder(&shared.projects_folder()).inspect_err(|_| shared.note(&shared.to_sync, &project.id))
}

fn write_segment(
    shared: &Shared,
    project: &Project,
    work: &mut Work,
    table: &Table,
) -> io::Result<Option<SegmentEntry>> {
    let floor = project.state().manifest.gone_before();
    let number = work.number();
    let file = manifest::segment_file(&project.folder, number);
    let new = file.with_extension("seg.new");
    let cells = table.cells_from(floor).filter_map(|cell| {
        let (path, client) = (table.paths.get(cell.path as usize)?, table.clients.get(cell.client as usize)?);
        Some((cell.bucket, Arc::clone(path), Arc::clone(client), cell.count))
    });
    let Some(info) = segment::write(&new, cells)? else { return Ok(None) };
    put_in_place(shared, &new, &file)?;
    Ok(Some(SegmentEntry::new(number, &info)))
}

fn write_ids(shared: &Shared, project: &Project, work: &mut Work, table: &Table) -> io::Result<Option<IdsEntry>> {
    let since = shared.now().saturating_sub(shared.limits.id_seconds);
    let mut seen: Vec<_> = table.ids.iter().filter(|(_, at)| *at >= since).collect();
    if seen.is_empty() {
        return Ok(None);
    }
    seen.sort_unstable();
    let number = work.number();
    let file = manifest::ids_file(&project.folder, number);
    let new = file.with_extension("ids.new");
    let ids::Written { count, newest, bytes } =
        ids::write(&new, seen.len(), seen.into_iter().map(Ok)).inspect_err(|_| drop(shared.disk.remove(&new)))?;
    put_in_place(shared, &new, &file)?;
    Ok(Some(IdsEntry { number, count, newest, bytes }))
}

/// Gives a finished file its name.
pub(super) fn put_in_place(shared: &Shared, new: &Path, file: &Path) -> io::Result<()> {
    shared.disk.rename(new, file).inspect_err(|_| drop(shared.disk.remove(new)))
}

/// Makes a manifest true.
pub(super) fn switch(shared: &Shared, project: &Project, manifest: &Manifest) -> io::Result<()> {
    switch_or(shared, project, manifest, || ())
}

/// Makes a manifest true; `undo` is called if it is certain that it is not.
pub(super) fn switch_or(
    shared: &Shared,
    project: &Project,
    manifest: &Manifest,
    undo: impl FnOnce(),
) -> io::Result<()> {
    manifest.switch(&*shared.disk, &project.folder).map_err(|error| match error {
        SwitchError::Not(error) => {
            undo();
            error
        }
        SwitchError::Unsure(error) => error,
    })
}

/// Removes the files of the log whose records are all in segments, oldest first. The last one stays: it says which
/// number comes next.
pub(super) fn trim(shared: &Shared) {
    // A backup wants none removed for as long as it copies; flushes must go on meanwhile.
    let _trimming = match shared.log.trimming.try_lock() {
        Ok(guard) => guard,
        Err(TryLockError::Poisoned(guard)) => guard.into_inner(),
        Err(TryLockError::WouldBlock) => return,
    };
    if let Err(error) = shared.sync_found() {
        return tracing::warn!(%error, "no file of the log is removed while the disk refuses to sync");
    }
    // In this order: a record that is applied later is of a file that is closed later.
    let applied = shared.applied.load(Ordering::Acquire);
    let needed = shared.in_memory().iter().filter_map(|project| project.state().first_record()).min();
    loop {
        let oldest = {
            let closed = shared.log.closed();
            let done = |file: &&wal::Closed| file.last <= applied && needed.is_none_or(|needed| file.last < needed);
            match closed.first().filter(done) {
                Some(file) if closed.len() > 1 => file.clone(),
                _ => return,
            }
        };
        let path = wal::path(&shared.wal_folder(), oldest.place.file);
        let gone = if oldest.keep { shared.disk.rename(&path, &set_aside(&path)) } else { shared.disk.remove(&path) };
        // Each for itself: an older file that comes back without a younger one would bring back what was removed.
        if let Err(error) = gone.and_then(|()| shared.disk.sync_folder(&shared.wal_folder())) {
            tracing::warn!(file = %path.display(), %error, "a file of the log could not be removed");
            return;
        }
        shared.log.remove_first();
        shared.remove_leftovers(oldest.last);
    }
}
