//! A copy of the store that can be opened as one, made while it runs.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use copydesk_views::store::ViewsError;

use super::disk::{RealDisk, link_or_copy};
use super::manifest::{Manifest, lines_file};
use super::notes::Notes;
use super::shared::{Shared, folder_name};
use super::wal;

/// Copies the projects, each with the records of the log that its files are made of. Nothing may be removed from the log
/// meanwhile: what is not in these files is in the log that is copied afterwards.
pub(super) fn projects(shared: &Shared, target: &Path) -> io::Result<()> {
    let folder = target.join("projects");
    fs::create_dir_all(&folder)?;
    for id in shared.on_disk()? {
        let project = match shared.project(&id) {
            Ok(Some(project)) => project,
            Ok(None) => continue,
            Err(ViewsError::Damaged(what)) => {
                tracing::error!(project = %id, what, "a damaged project is copied as it is");
                copy_damaged(shared, &id, &folder)?;
                continue;
            }
            Err(error) => return Err(io::Error::other(error)),
        };
        let into = folder.join(project.folder.file_name().unwrap_or_default());
        // No manifest is replaced while its files are taken.
        let work = project.work();
        let manifest = project.state().manifest.clone();
        let to_copy = take_files(&manifest, &project.folder, &into)?;
        drop(work);
        // Not while it is held: a flush waits for it, and all appends wait for flushes.
        copy_project(&manifest, to_copy, &into)?;
    }
    let notes = Notes::path(&shared.folder);
    if notes.exists() {
        link_or_copy(&notes, &Notes::path(target))?;
    }
    sync(&folder)
}

/// Gives files a second name in the copy; those that cannot have one are opened, so that they stay until they are copied.
fn take_files(manifest: &Manifest, from: &Path, into: &Path) -> io::Result<Vec<(File, PathBuf)>> {
    fs::create_dir_all(into)?;
    let segments = manifest.segments.iter().map(|entry| (entry.file(from), entry.file(into)));
    let ids = manifest.ids.iter().map(|entry| (entry.file(from), entry.file(into)));
    let mut to_copy = Vec::new();
    for (from, into) in segments.chain(ids) {
        if fs::hard_link(&from, &into).is_err() {
            to_copy.push((File::open(&from)?, into));
        }
    }
    // It grows, so that a second name would not do.
    match File::open(lines_file(from)) {
        Ok(file) => to_copy.push((file, lines_file(into))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    Ok(to_copy)
}

fn copy_project(manifest: &Manifest, to_copy: Vec<(File, PathBuf)>, into: &Path) -> io::Result<()> {
    for (mut from, into) in to_copy {
        let mut copy = File::create(into)?;
        io::copy(&mut from, &mut copy)?;
        copy.sync_all()?;
    }
    Ok(manifest.switch(&RealDisk, into)?)
}

/// Copies whatever there is of a project that nobody can use; somebody may yet repair it.
fn copy_damaged(shared: &Shared, id: &str, target: &Path) -> io::Result<()> {
    let Some(name) = folder_name(id) else { return Ok(()) };
    let into = target.join(&name);
    fs::create_dir_all(&into)?;
    for entry in fs::read_dir(shared.projects_folder().join(&name))? {
        let entry = entry?;
        link_or_copy(&entry.path(), &into.join(entry.file_name()))?;
    }
    sync(&into)
}

/// Copies the log up to where it ends.
pub(super) fn log(shared: &Shared, target: &Path) -> io::Result<()> {
    let folder = target.join("wal");
    fs::create_dir_all(&folder)?;
    for place in shared.log.places() {
        let source = File::open(wal::path(&shared.wal_folder(), place.file))?;
        let mut copy = File::create(wal::path(&folder, place.file))?;
        io::copy(&mut source.take(place.bytes), &mut copy)?;
        copy.sync_all()?;
    }
    sync(&folder)?;
    sync(target)
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
