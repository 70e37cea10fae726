//! What changes a project at one stroke: its floor, its removal, and a segment that was made elsewhere.

use std::io;
use std::sync::Arc;

use copydesk_views::Bucket;
use copydesk_views::store::ViewsError;

use super::flush::{make_folder, switch};
use super::manifest::{Manifest, lines_file};
use super::project::{Project, Work};
use super::shared::{Shared, unavailable};

/// Forgets what is before `floor`, and takes nothing older from now on. What was there can be brought back for some days;
/// what was forgotten before that goes for good now.
pub(super) fn retain(shared: &Shared, project: &Arc<Project>, floor: Bucket) -> Result<(), ViewsError> {
    retain_with(shared, project, &project.work(), floor)
}

/// The same for who has looked at the manifest and lets nobody else replace it meanwhile.
pub(super) fn retain_with(shared: &Shared, project: &Project, work: &Work, floor: Bucket) -> Result<(), ViewsError> {
    let now = shared.now();
    let old = Arc::clone(&project.state().manifest);
    let manifest = Manifest { next: work.last_number(), ..(*old).clone() };
    let manifest = manifest.with_floor(old.floor_state().moved(floor, now));
    if manifest == *old {
        return Ok(());
    }
    put(shared, project, manifest).map_err(|error| unavailable(&error))?;
    shared.note(&shared.to_merge, &project.id);
    shared.merger.wake();
    Ok(())
}

/// Brings back what was forgotten of late; answers where the floor is then.
pub(super) fn restore(shared: &Shared, project: &Arc<Project>) -> Result<Option<Bucket>, ViewsError> {
    let work = project.work();
    let old = Arc::clone(&project.state().manifest);
    if old.moves.is_empty() {
        return Ok(old.floor);
    }
    let manifest = Manifest { next: work.last_number(), ..(*old).clone() }.with_floor(old.floor_state().restored());
    let floor = manifest.floor;
    put(shared, project, manifest).map_err(|error| unavailable(&error))?;
    Ok(floor)
}

/// Makes a manifest true that leaves the files as they are.
pub(super) fn put(shared: &Shared, project: &Project, manifest: Manifest) -> io::Result<()> {
    make_folder(shared, project)?;
    switch(shared, project, &manifest)?;
    take(project, manifest);
    Ok(())
}

/// Takes a manifest for true that changes answers.
fn take(project: &Project, manifest: Manifest) {
    let new = project.opened(manifest);
    let mut state = project.state_mut();
    let old = state.take_over(new);
    drop(state);
    drop(old);
}

/// Forgets a project. What stays is a manifest that says so, until no record of the log is older.
pub(super) fn remove(shared: &Shared, project: &Arc<Project>) -> Result<(), ViewsError> {
    let mut work = project.work();
    let tables = project.freeze();
    let (old, last) = {
        let state = project.state();
        (Arc::clone(&state.manifest), state.frozen.iter().filter_map(|table| Some(table.records?.1)).max())
    };
    let flushed = last.unwrap_or(0).max(old.flushed);
    let manifest = Manifest { flushed, next: work.last_number(), lines_after: flushed, ..Manifest::default() };
    make_folder(shared, project)
        .and_then(|()| switch(shared, project, &manifest))
        .map_err(|error| unavailable(&error))?;
    let bytes = tables.iter().map(|table| table.bytes()).sum();
    let new = project.opened(manifest);
    let mut state = project.state_mut();
    state.frozen.clear();
    state.removals += 1;
    let gone = state.take_over(new);
    drop(state);
    drop(gone);
    shared.count_bytes(bytes, 0);
    shared.note_removed(&project.id, flushed);
    shared.notes.forget(|loss| loss.project.as_deref() == Some(&*project.id));
    work.written = None;
    old.segments.iter().for_each(|entry| drop(shared.disk.remove(&entry.file(&project.folder))));
    drop(shared.disk.remove(&lines_file(&project.folder)));
    old.ids.iter().for_each(|entry| drop(shared.disk.remove(&entry.file(&project.folder))));
    Ok(())
}
