//! What changes a project at one stroke: its floor, its removal, and a segment that was made elsewhere.

use std::io;
use std::sync::Arc;

use copydesk_views::Bucket;
use copydesk_views::store::ViewsError;

use super::flush::{make_folder, switch};
use super::manifest::Manifest;
use super::project::Project;
use super::shared::{Shared, unavailable};

/// Forgets what is before `floor`, and takes nothing older from now on.
pub(super) fn retain(shared: &Shared, project: &Arc<Project>, floor: Bucket) -> Result<(), ViewsError> {
    let work = project.work();
    let old = Arc::clone(&project.state().manifest);
    if old.floor.is_some_and(|old| old >= floor) {
        return Ok(());
    }
    let manifest = Manifest { floor: Some(floor), next: work.last_number(), ..(*old).clone() };
    put(shared, project, manifest).map_err(|error| unavailable(&error))?;
    drop(work);
    shared.note(&shared.to_merge, &project.id);
    shared.merger.wake();
    Ok(())
}

fn put(shared: &Shared, project: &Project, manifest: Manifest) -> io::Result<()> {
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
    let manifest = Manifest { flushed, next: work.last_number(), ..Manifest::default() };
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
    work.written = None;
    old.segments.iter().for_each(|entry| drop(shared.disk.remove(&entry.file(&project.folder))));
    old.ids.iter().for_each(|entry| drop(shared.disk.remove(&entry.file(&project.folder))));
    Ok(())
}
