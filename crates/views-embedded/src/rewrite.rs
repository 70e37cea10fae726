//! Segments of a project written anew, and put in the place of the old ones.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use copydesk_views::Client;

use super::flush::{put_in_place, switch_or};
use super::manifest::{self, Manifest, SegmentEntry};
use super::project::Project;
use super::shared::Shared;
use crate::segment::{self, Segment, SegmentError};

/// Readers that become others.
pub(super) type Changes = HashMap<Arc<Client>, Arc<Client>>;

/// Writes segments as one, with what was forgotten left out and readers changed, and puts it in their place.
pub(super) fn rewrite(
    shared: &Shared,
    project: &Project,
    old: &[SegmentEntry],
    changes: &Changes,
) -> Result<(), SegmentError> {
    let floor = project.state().manifest.gone_before();
    // Opened for this alone: what a merge reads is not what questions read.
    let open = |entry: &SegmentEntry| Segment::open(&entry.file(&project.folder)).map(Arc::new);
    let inputs = old.iter().filter(|entry| entry.last >= floor).map(open).collect::<Result<Vec<_>, _>>()?;
    rewrite_from(shared, project, old, &inputs, changes)?;
    old.iter().for_each(|entry| drop(shared.disk.remove(&entry.file(&project.folder))));
    Ok(())
}

/// Writes what can be read of `inputs` as one segment and puts it in the place of `old`, whose files stay.
pub(super) fn rewrite_from(
    shared: &Shared,
    project: &Project,
    old: &[SegmentEntry],
    inputs: &[Arc<Segment>],
    changes: &Changes,
) -> Result<Option<SegmentEntry>, SegmentError> {
    let (removals, floor) = {
        let state = project.state();
        (state.removals, state.manifest.gone_before())
    };
    let number = project.work().number();
    let file = manifest::segment_file(&project.folder, number);
    let new = file.with_extension("seg.new");
    let stop = || shared.is_closing() || project.state().removals != removals;
    let info = segment::merge(inputs, floor, changes, &new, &stop).inspect_err(|_| drop(shared.disk.remove(&new)))?;
    if info.is_some() {
        put_in_place(shared, &new, &file)?;
    }
    let entry = info.map(|info| SegmentEntry::new(number, &info));
    replace(shared, project, old, entry.clone(), removals)?;
    Ok(entry)
}

fn replace(
    shared: &Shared,
    project: &Project,
    old: &[SegmentEntry],
    new: Option<SegmentEntry>,
    removals: u64,
) -> io::Result<()> {
    let work = project.work();
    let current = Arc::clone(&project.state().manifest);
    let made = new.as_ref().map(|entry| entry.file(&project.folder));
    if project.state().removals != removals {
        return made.map_or(Ok(()), |file| shared.disk.remove(&file));
    }
    let undo = || made.iter().for_each(|file| drop(shared.disk.remove(file)));
    shared.disk.sync_folder(&project.folder).inspect_err(|_| undo())?;
    let mut manifest = Manifest { next: work.last_number(), ..(*current).clone() };
    manifest.segments.retain(|entry| !old.contains(entry));
    manifest.segments.extend(new);
    switch_or(shared, project, &manifest, undo)?;
    let new = project.opened(manifest);
    let mut state = project.state_mut();
    let replaced = state.take_over(new);
    drop(state);
    drop(work);
    drop(replaced);
    Ok(())
}
