//! Looks at every byte of the store, to find damage before a question does, and puts right what can be put right.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use copydesk_views::store::{Loss, Lost, ViewsError};

use super::flush::{self, flush};
use super::ids::IdFile;
use super::lines;
use super::manifest::{IdsEntry, Manifest, SegmentEntry, is_set_aside};
use super::merge::{self, Pace};
use super::notes::Notes;
use super::overview;
use super::project::Project;
use super::repair;
use super::shared::{Shared, folder_name, unavailable};
use super::wal::{self, LogPlace, read_record};
use crate::segment::{Segment, SegmentError};

/// What is damaged now: in the log and the notes if no project is named, in a project's files otherwise.
pub(super) fn verify(shared: &Shared, project: Option<&str>) -> Result<Vec<Loss>, ViewsError> {
    let Some(id) = project else { return of_all(shared).map_err(|error| unavailable(&error)) };
    let mut found = Vec::new();
    if let Some(folder) = project_folder(shared, id)
        && !Manifest::is_whole(&folder).map_err(|error| unavailable(&error))?
    {
        let what = "the list of the project's files is damaged";
        found.push(shared.loss(Some(id), Lost::Views, &Manifest::path(&folder), what));
    }
    match shared.project(id) {
        Ok(Some(project)) => {
            // No file goes away while it is read.
            let _merging = project.merging();
            let manifest = Arc::clone(&project.state().manifest);
            let segment = |entry: &SegmentEntry| damaged_segment(shared, &project, entry).transpose();
            found.extend(manifest.segments.iter().filter_map(segment).collect::<Result<Vec<_>, _>>()?);
            let ids = |entry: &IdsEntry| damaged_ids(shared, &project, entry).transpose();
            let ids = manifest.ids.iter().filter_map(ids).collect::<io::Result<Vec<_>>>();
            found.extend(ids.map_err(|error| unavailable(&error))?);
            if overview::counted_lines(&project).map_err(|error| unavailable(&error))?.damaged {
                found.push(lines::loss(shared, &project));
            }
            Ok(found)
        }
        Ok(None) | Err(ViewsError::Damaged(_)) => Ok(found),
        Err(error) => Err(error),
    }
}

fn project_folder(shared: &Shared, id: &str) -> Option<PathBuf> {
    folder_name(id).map(|name| shared.projects_folder().join(name))
}

fn damaged_segment(shared: &Shared, project: &Project, entry: &SegmentEntry) -> Result<Option<Loss>, SegmentError> {
    let file = entry.file(&project.folder);
    match Segment::open(&file).and_then(|segment| segment.verify()) {
        Err(SegmentError::Damaged { what, .. }) => {
            let what = format!("a file of views is damaged: {what}");
            Ok(Some(shared.loss(Some(&project.id), Lost::Views, &file, &what)))
        }
        done => done.map(|()| None),
    }
}

fn damaged_ids(shared: &Shared, project: &Project, entry: &IdsEntry) -> io::Result<Option<Loss>> {
    let file = entry.file(&project.folder);
    let ids = IdFile::open(&file, entry.count)?;
    for id in ids.all() {
        id?;
    }
    let loss = || shared.loss(Some(&project.id), Lost::Ids, &file, "ids of events are damaged");
    Ok(ids.is_damaged().then(loss))
}

/// The log is in memory as well, so that nothing is missing as long as the store runs. Files that are known to be damaged
/// are no longer needed, or what they cost is noted; they are put aside when their time has come.
fn of_all(shared: &Shared) -> io::Result<Vec<Loss>> {
    let loss = |(number, at): (u64, usize)| {
        let what = format!("a file of the log is damaged (at byte {at})");
        shared.loss(None, Lost::Views, &wal::path(&shared.wal_folder(), number), &what)
    };
    let mut found: Vec<Loss> = damaged_logs(shared)?.into_iter().map(loss).collect();
    if !Notes::is_whole(&shared.folder)? {
        let what = "the notes of the view store are damaged";
        found.push(shared.loss(None, Lost::Views, &Notes::path(&shared.folder), what));
    }
    Ok(found)
}

/// The files of the log that are damaged and not known to be, and where.
fn damaged_logs(shared: &Shared) -> io::Result<Vec<(u64, usize)>> {
    let _stays = shared.log.hold();
    let mut found = Vec::new();
    for LogPlace { file, bytes: length } in shared.log.places() {
        if shared.log.is_known(file) {
            continue;
        }
        let mut bytes = fs::read(wal::path(&shared.wal_folder(), file))?;
        // What is behind was never acknowledged, or is being written.
        bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        let header = wal::read_header(&bytes).filter(|header| header.is_whole);
        let mut at = header.map_or(0, |header| header.bytes);
        while let Some(record) = read_record(&bytes, file, at) {
            at = record.end;
        }
        if header.is_none() || at as u64 != length {
            found.push((file, at));
        }
    }
    Ok(found)
}

/// Puts right what can be put right: writes what is left of damaged files anew, and makes the log dispensable.
pub(super) fn repair(shared: &Shared, project: Option<&str>) -> Result<(), ViewsError> {
    let Some(id) = project else {
        return repair_all(shared).map_err(|error| unavailable(&error));
    };
    if matches!(shared.project(id), Err(ViewsError::Damaged(_)))
        && let Some(folder) = project_folder(shared, id)
    {
        let last_record = shared.applied.load(Ordering::Acquire);
        repair::rebuild_manifest(shared, id, &folder, last_record).map_err(|error| unavailable(&error))?;
    }
    let Some(project) = shared.project(id)? else { return Ok(()) };
    let damaged = {
        let manifest = Arc::clone(&project.state().manifest);
        let _merging = project.merging();
        let mut damaged = Vec::new();
        for entry in &manifest.segments {
            damaged
                .extend(damaged_segment(shared, &project, entry)?.map(|loss| (entry.file(&project.folder), loss.what)));
        }
        damaged
    };
    for (file, what) in damaged {
        repair::take_out(shared, &project, &file, &what);
    }
    // Looks into every block, which is how it is known to be damaged.
    let ids = project.open_ids().map_err(|error| unavailable(&error))?;
    for ids in ids.iter() {
        for id in ids.file.all() {
            id.map_err(|error| unavailable(&error))?;
        }
        if ids.file.is_damaged() {
            repair::note_ids(shared, &project, ids.number);
        }
    }
    merge::tidy(shared, &project, Pace::Busy)?;
    if overview::counted_lines(&project).map_err(|error| unavailable(&error))?.damaged {
        shared.notes.add(lines::loss(shared, &project));
        repair_lines(shared, &project).map_err(|error| unavailable(&error))?;
    }
    // A text of the manifest that is damaged while the other is not is made whole.
    let is_whole = Manifest::is_whole(&project.folder).map_err(|error| unavailable(&error))?;
    if is_whole { Ok(()) } else { rewrite_manifest(shared, &project).map_err(|error| unavailable(&error)) }
}

fn repair_lines(shared: &Shared, project: &Project) -> io::Result<()> {
    // No flush adds lines meanwhile.
    let _work = project.work();
    let flushed = project.state().manifest.flushed;
    lines::repair(&*shared.disk, &project.folder, flushed)
}

/// Writes what is in memory to files, after which no damaged file of the log is needed; and the notes anew.
fn repair_all(shared: &Shared) -> io::Result<()> {
    let damaged = damaged_logs(shared)?;
    for project in shared.in_memory() {
        flush(shared, &project)?;
    }
    damaged.into_iter().for_each(|(file, _)| shared.log.keep(file));
    flush::trim(shared);
    if !Notes::is_whole(&shared.folder)? {
        shared.notes.save();
    }
    Ok(())
}

fn rewrite_manifest(shared: &Shared, project: &Project) -> io::Result<()> {
    let _work = project.work();
    let manifest = Arc::clone(&project.state().manifest);
    Ok(manifest.switch(&*shared.disk, &project.folder)?)
}

/// The operator knows what was lost: it is not told any more, and what was put aside goes.
pub(super) fn accept(shared: &Shared) -> io::Result<()> {
    let mut folders = vec![shared.folder.clone(), shared.wal_folder()];
    for id in shared.on_disk()? {
        folders.extend(project_folder(shared, &id));
    }
    for folder in folders {
        remove_set_aside(shared, &folder)?;
    }
    // A project that cannot be read has not lost what it has; it can only be repaired.
    let unreadable: HashSet<String> = shared.on_disk()?.into_iter().filter(|id| shared.project(id).is_err()).collect();
    shared.notes.forget(|loss| loss.project.as_ref().is_none_or(|project| !unreadable.contains(project)));
    Ok(())
}

fn remove_set_aside(shared: &Shared, folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if is_set_aside(&path) {
            shared.disk.remove(&path)?;
        }
    }
    Ok(())
}
