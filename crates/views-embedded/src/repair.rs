//! What is done about damage: it is noted, answers are made without what is damaged, and what is left of it is saved.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use copydesk_views::Bucket;
use copydesk_views::store::{Loss, Lost, ViewsError};

use super::ids;
use super::manifest::{self, IdsEntry, Manifest, SegmentEntry, keep_aside, set_aside};
use super::project::Project;
use super::rewrite::{Changes, rewrite_from};
use super::shared::Shared;
use super::wal::LogDamage;
use crate::segment::{Segment, SegmentError};

/// A question is asked again at the most so often because another segment was found to be damaged.
const TRIES: usize = 1000;

/// Notes a place of the log that could not be read.
pub(super) fn note_log(shared: &Shared, damage: &LogDamage) {
    let LogDamage { path, at, what } = damage;
    shared.notes.add(shared.loss(None, Lost::Views, path, &format!("{what} (at byte {at})")));
}

/// Notes that ids were forgotten, and has the merger save the others.
pub(super) fn note_ids(shared: &Shared, project: &Project, number: u64) {
    note_lost_ids(shared, &project.id, &manifest::ids_file(&project.folder, number));
    shared.note(&shared.to_merge, &project.id);
    shared.merger.wake();
}

/// Notes that ids were forgotten.
pub(super) fn note_lost_ids(shared: &Shared, project: &str, file: &Path) {
    let hours = shared.limits.id_seconds / 3600;
    let what = format!("ids of events are damaged: what was told within {hours} hours before may be counted again");
    let noted = shared.loss(Some(project), Lost::Ids, file, &what);
    let until = i64::from(shared.now()) + i64::from(shared.limits.id_seconds);
    shared.notes.add(Loss { to: Bucket::of_seconds(until), ..noted });
}

/// The files of ids that are open and known to be damaged.
pub(super) fn damaged_ids(project: &Project) -> HashSet<u64> {
    let ids = project.state().ids.clone().unwrap_or_default();
    ids.iter().filter(|ids| ids.file.is_damaged()).map(|ids| ids.number).collect()
}

/// Does something with a project's segments; whenever one is found to be damaged, again without it.
pub(super) fn despite_damage<T>(
    shared: &Shared,
    project: &Project,
    mut act: impl FnMut() -> Result<T, SegmentError>,
) -> Result<T, ViewsError> {
    for _ in 0..TRIES {
        match act() {
            Err(SegmentError::Damaged { file, what }) if take_out(shared, project, &file, &what) => {}
            done => return Ok(done?),
        }
    }
    Ok(act()?)
}

/// Makes answers without a segment from now on, and has the merger save what is left of it. False if it is none.
pub(super) fn take_out(shared: &Shared, project: &Project, file: &Path, what: &str) -> bool {
    let number = |name: &std::ffi::OsStr| name.to_str()?.parse::<u64>().ok();
    let Some(number) = file.file_stem().and_then(number) else { return false };
    let mut state = project.state_mut();
    let Some(entry) = state.manifest.segments.iter().find(|entry| entry.number == number).cloned() else {
        // It was merged into another one meanwhile.
        return true;
    };
    let is_new = !state.damaged.contains(&number);
    if is_new {
        state.damaged = Arc::new(state.damaged.iter().copied().chain([number]).collect());
        state.files = None;
    }
    drop(state);
    if is_new {
        let what = format!("a file of views is damaged: {what}");
        let noted = shared.loss(Some(&project.id), Lost::Views, file, &what);
        shared.notes.add(Loss { from: entry.first, to: after(entry.last), views: Some(entry.views), ..noted });
        shared.note(&shared.to_merge, &project.id);
        shared.merger.wake();
    }
    true
}

fn after(last: Bucket) -> Bucket {
    Bucket(last.0.saturating_add(1))
}

/// Writes what can be read of damaged segments as new ones, and puts the damaged ones aside. Whoever calls it is the only
/// one who rewrites the project's segments.
pub(super) fn save_segments(shared: &Shared, project: &Project) -> Result<(), SegmentError> {
    let damaged = Arc::clone(&project.state().damaged);
    for number in damaged.iter().copied() {
        let entry = project.state().manifest.segments.iter().find(|entry| entry.number == number).cloned();
        if let Some(entry) = entry {
            save_segment(shared, project, &entry)?;
        }
        let mut state = project.state_mut();
        state.damaged = Arc::new(state.damaged.iter().copied().filter(|other| *other != number).collect());
    }
    Ok(())
}

fn save_segment(shared: &Shared, project: &Project, entry: &SegmentEntry) -> Result<(), SegmentError> {
    let file = entry.file(&project.folder);
    let old = std::slice::from_ref(entry);
    let saved = Segment::open_damaged(&file).map(Arc::new).and_then(|segment| {
        let new = rewrite_from(shared, project, old, std::slice::from_ref(&segment), &Changes::new())?;
        Ok((new, segment.lost()))
    });
    let (new, lost) = match saved {
        Ok(saved) => saved,
        Err(SegmentError::Damaged { .. }) => {
            // Nothing of it can be told from the rest.
            rewrite_from(shared, project, old, &[], &Changes::new())?;
            (None, vec![entry.first..after(entry.last)])
        }
        Err(error) => return Err(error),
    };
    put_aside(shared, &file);
    let name = shared.name_of(&file);
    let (Some(first), Some(last)) = (lost.first(), lost.last()) else {
        tracing::info!(project = %project.id, file = name, "a damaged file of views was written anew; nothing is missing");
        shared.notes.replace(&name, None);
        return Ok(());
    };
    let is_whole_range = entry.first >= project.state().manifest.gone_before();
    let left = new.map_or(0, |new| new.views);
    let noted = shared.loss(Some(&project.id), Lost::Views, &file, "a file of views was damaged");
    let views = is_whole_range.then(|| entry.views.saturating_sub(left));
    let noted = Loss { from: first.start, to: last.end, views, ..noted };
    tracing::error!(project = %project.id, "{}", noted.sentence());
    shared.notes.replace(&name, Some(noted));
    Ok(())
}

/// Keeps a damaged file under another name, for whoever wants to look at it.
pub(super) fn put_aside(shared: &Shared, file: &Path) {
    if let Err(error) = shared.disk.rename(file, &set_aside(file)) {
        tracing::warn!(file = %file.display(), %error, "a damaged file could not be put aside");
    }
}

/// Makes a new manifest for a project whose own cannot be read: every segment and every file of ids in its folder counts.
pub(super) fn rebuild_manifest(shared: &Shared, project: &str, folder: &Path, last_record: u64) -> io::Result<()> {
    let mut rebuilt = Manifest { flushed: last_record, ..Manifest::default() };
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(number) = path.file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok()) else { continue };
        rebuilt.next = rebuilt.next.max(number);
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("seg") => match Segment::open_damaged(&path) {
                Ok(segment) => rebuilt.segments.push(SegmentEntry::new(number, segment.info())),
                Err(SegmentError::Damaged { what, .. }) => {
                    let what = format!("a file of views is damaged: {what}");
                    shared.notes.add(shared.loss(Some(project), Lost::Views, &path, &what));
                    put_aside(shared, &path);
                }
                Err(SegmentError::Io(error)) => return Err(error),
            },
            Some("ids") => match ids::written(&path)? {
                Some(ids::Written { count, newest, bytes }) => {
                    rebuilt.ids.push(IdsEntry { number, count, newest, bytes });
                }
                None => {
                    note_lost_ids(shared, project, &path);
                    put_aside(shared, &path);
                }
            },
            _ => {}
        }
    }
    let damaged = Manifest::path(folder);
    // It stays until the new one is there: a project without one would begin anew.
    if damaged.exists() {
        keep_aside(&damaged);
    }
    rebuilt.switch(&*shared.disk, folder)?;
    let what = "the list of the project's files was damaged and was made anew: views that were in the log may be missing, \
                and what had just been merged may be counted twice; imported logs are not known any more";
    let name = shared.name_of(&damaged);
    shared.notes.replace(&name, Some(shared.loss(Some(project), Lost::Views, &damaged, what)));
    Ok(())
}
