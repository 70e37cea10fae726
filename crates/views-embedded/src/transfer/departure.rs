//! All page views of a folder, piece by piece, from a copy that nobody else has.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use copydesk_views::store::ViewsError;
use copydesk_views::store::floor::FloorState;
use copydesk_views::store::moving::{About, Cell, Day, Names, Piece};
use copydesk_views::{Bucket, Client};

use crate::embedded::{Embedded, OpenError, Options};
use crate::ids::IdFile;
use crate::lines;
use crate::manifest::Manifest;
use crate::segment::Segment;
use crate::shared::{project_id, unavailable};

/// Ids that travel together.
const IDS: usize = 20_000;

/// A copy of a store that `ViewStore::backup` has made.
pub struct FolderCopy {
    folder: PathBuf,
}

impl FolderCopy {
    /// Brings everything in the copy into its files. What cannot be written there would be missing, and nobody would see it.
    pub fn open(folder: &Path, options: Options) -> Result<Self, OpenError> {
        let store = Embedded::open(folder, options)?;
        match store.close_whole() {
            true => Ok(Self { folder: folder.to_owned() }),
            false => Err(OpenError::Io(folder.to_owned(), io::Error::other("not all of it could be written"))),
        }
    }

    /// A folder that page views have arrived in, and that nobody uses yet.
    pub fn arrived(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    fn projects(&self) -> io::Result<Vec<(String, PathBuf)>> {
        let mut projects = Vec::new();
        for entry in fs::read_dir(self.folder.join("projects"))? {
            let entry = entry?;
            if let Some(id) = entry.file_name().to_str().and_then(project_id) {
                projects.push((id, entry.path()));
            }
        }
        projects.sort_unstable();
        Ok(projects)
    }
}

/// Sends all pieces, until nobody takes them any more.
pub fn send_all(copy: &FolderCopy, mut take: impl FnMut(Piece) -> bool) -> Result<(), ViewsError> {
    for (name, folder) in copy.projects().map_err(|error| unavailable(&error))? {
        let Some(manifest) = Manifest::read(&folder)? else { continue };
        if manifest.is_empty() {
            continue;
        }
        if !send_project(name, &folder, &manifest, &mut take)? {
            return Ok(());
        }
    }
    take(Piece::End);
    Ok(())
}

/// False if nobody takes them any more.
fn send_project(
    name: String,
    folder: &Path,
    manifest: &Manifest,
    take: &mut impl FnMut(Piece) -> bool,
) -> Result<bool, ViewsError> {
    let mut segments = Vec::with_capacity(manifest.segments.len());
    for entry in &manifest.segments {
        segments.push(Segment::open(&entry.file(folder))?);
    }
    let (names, places) = names(&segments)?;
    let names = Arc::new(names);
    if !take(Piece::Project { name, names: Arc::clone(&names) }) {
        return Ok(false);
    }
    let floor = FloorState { floor: manifest.floor, moves: manifest.moves.clone(), wish: manifest.wish };
    if !send_days(&segments, &places, &names, floor.gone_before(), take)? || !send_ids(folder, manifest, take)? {
        return Ok(false);
    }
    let lines = lines::all(folder, manifest, Vec::new()).map_err(|error| unavailable(&error))?;
    let about = About {
        script_since: manifest.script_since,
        server_since: manifest.server_since,
        floor,
        marks: manifest.marks.clone(),
        lines: lines.stretches,
    };
    Ok(take(Piece::About(about)))
}

/// What a segment calls its paths and clients, as places among the names of the project.
struct Places {
    paths: Vec<u32>,
    clients: Vec<u32>,
}

fn names(segments: &[Segment]) -> Result<(Names, Vec<Places>), ViewsError> {
    let (mut paths, mut clients): (Numbering<str>, Numbering<Client>) = Default::default();
    let mut places = Vec::with_capacity(segments.len());
    for segment in segments {
        let of_paths = segment.paths()?.iter().map(|path| paths.place(path)).collect();
        let of_clients = segment.clients()?.iter().map(|client| clients.place(client)).collect();
        places.push(Places { paths: of_paths, clients: of_clients });
    }
    Ok((Names::new(paths.list, clients.list)?, places))
}

struct Numbering<T: ?Sized> {
    list: Vec<Arc<T>>,
    places: HashMap<Arc<T>, u32>,
}

impl<T: ?Sized> Default for Numbering<T> {
    fn default() -> Self {
        Self { list: Vec::new(), places: HashMap::new() }
    }
}

impl<T: ?Sized + std::hash::Hash + Eq> Numbering<T> {
    fn place(&mut self, it: &Arc<T>) -> u32 {
        *self.places.entry(Arc::clone(it)).or_insert_with(|| {
            self.list.push(Arc::clone(it));
            (self.list.len() - 1) as u32
        })
    }
}

fn send_days(
    segments: &[Segment],
    places: &[Places],
    names: &Names,
    from: Bucket,
    take: &mut impl FnMut(Piece) -> bool,
) -> Result<bool, ViewsError> {
    let mut streams = Vec::with_capacity(segments.len());
    for (segment, places) in segments.iter().zip(places) {
        let pairs = segment.pairs()?;
        streams.push((segment.cells()?.peekable(), pairs, places));
    }
    loop {
        let mut day = None;
        for (cells, ..) in &mut streams {
            // What is hidden for good is not taken along.
            while cells.next_if(|cell| matches!(cell, Ok((bucket, ..)) if *bucket < from)).is_some() {}
            match cells.peek() {
                Some(Ok((bucket, ..))) => {
                    let next = bucket.0 / Bucket::A_DAY;
                    day = Some(day.map_or(next, |day: u32| day.min(next)));
                }
                Some(Err(_)) => return Err(cells.next().and_then(Result::err).map_or_else(cut, ViewsError::from)),
                None => {}
            }
        }
        let Some(day) = day else { return Ok(true) };
        let mut all = Vec::new();
        for (cells, pairs, places) in &mut streams {
            let is_of_day = |bucket: Bucket| bucket.0 / Bucket::A_DAY == day;
            while let Some(cell) = cells.next_if(|cell| !matches!(cell, Ok((bucket, ..)) if !is_of_day(*bucket))) {
                let (bucket, pair, count) = cell?;
                let (path, client) = pairs.all().get(pair as usize).copied().ok_or_else(cut)?;
                let path = places.paths.get(path as usize).copied().ok_or_else(cut)?;
                let client = places.clients.get(client as usize).copied().ok_or_else(cut)?;
                all.push(Cell { bucket, path, client, count });
            }
        }
        if !take(Piece::Day(Day::new(day, all, names))) {
            return Ok(false);
        }
    }
}

fn cut() -> ViewsError {
    ViewsError::Damaged("a segment of the page views is damaged; `copydesk views repair` makes a new one".to_owned())
}

/// Ids by their files; an id that is in several is told of several times.
fn send_ids(folder: &Path, manifest: &Manifest, take: &mut impl FnMut(Piece) -> bool) -> Result<bool, ViewsError> {
    let told = |error: io::Error| unavailable(&error);
    for entry in &manifest.ids {
        let file = IdFile::open(&entry.file(folder), entry.count).map_err(told)?;
        let mut some = Vec::with_capacity(IDS);
        for seen in file.all() {
            some.push(seen.map_err(told)?);
            if some.len() == IDS && !take(Piece::Ids(std::mem::take(&mut some))) {
                return Ok(false);
            }
        }
        if !some.is_empty() && !take(Piece::Ids(some)) {
            return Ok(false);
        }
        if file.is_damaged() {
            return Err(ViewsError::Damaged(
                "ids of events are damaged; `copydesk views repair` forgets those that cannot be read".to_owned(),
            ));
        }
    }
    Ok(true)
}
