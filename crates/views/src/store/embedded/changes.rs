//! What changes a project at one stroke: its floor, its removal, and a segment that was made elsewhere.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::flush::{make_folder, switch};
use super::manifest::{self, Manifest, SegmentEntry};
use super::project::Project;
use super::shared::{Shared, unavailable};
use crate::store::ViewsError;
use crate::store::segment::{Segment, SegmentError};
use crate::{Bucket, Channel};

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
    shared.merger.ring();
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
    state.changed();
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
    state.changed();
    drop(state);
    drop(gone);
    shared.count_bytes(bytes, 0);
    shared.note_removed(&project.id, flushed);
    work.written = None;
    old.segments.iter().for_each(|entry| drop(shared.disk.remove(&entry.file(&project.folder))));
    old.ids.iter().for_each(|entry| drop(shared.disk.remove(&entry.file(&project.folder))));
    Ok(())
}

/// Takes a segment that was made elsewhere, by moving its file. Its views are counted beside those that are there.
pub(super) fn adopt(shared: &Shared, project: &Arc<Project>, file: &Path) -> Result<(), ViewsError> {
    let segment = Segment::open(file)?;
    let (script, server) = since(&segment)?;
    let mut work = project.work();
    let entry = SegmentEntry::new(work.number(), segment.info());
    let old = Arc::clone(&project.state().manifest);
    let mut manifest = Manifest { next: work.last_number(), ..(*old).clone() };
    manifest.script_since = manifest.script_since.into_iter().chain(script).min();
    manifest.server_since = manifest.server_since.into_iter().chain(server).min();
    let place = manifest::segment_file(&project.folder, entry.number);
    manifest.segments.push(entry);
    let moved = || {
        make_folder(shared, project)?;
        shared.disk.rename(file, &place)?;
        shared.disk.sync_folder(&project.folder)?;
        switch(shared, project, &manifest)
    };
    moved().map_err(|error| unavailable(&error))?;
    take(project, manifest);
    Ok(())
}

/// The first quarter hour in which each channel was at work for its kind.
fn since(segment: &Segment) -> Result<(Option<Bucket>, Option<Bucket>), SegmentError> {
    let (clients, pairs) = (segment.clients()?, segment.pairs()?);
    let channel = |pair: u32| {
        let client = pairs.all().get(pair as usize).and_then(|(_, client)| clients.get(*client as usize));
        client.and_then(|client| client.opens())
    };
    let has = |wanted| clients.iter().any(|client| client.opens() == Some(wanted));
    let (mut script, mut server) = (None, None);
    for cell in segment.cells()? {
        let (bucket, pair, _) = cell?;
        match channel(pair) {
            Some(Channel::Script) => script = script.or(Some(bucket)),
            Some(Channel::Server) => server = server.or(Some(bucket)),
            None => {}
        }
        if (script.is_some() || !has(Channel::Script)) && (server.is_some() || !has(Channel::Server)) {
            break;
        }
    }
    Ok((script, server))
}
