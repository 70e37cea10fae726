//! A folder that is filled piece by piece. It can be ended anywhere and begun again: what is there and the same stays.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use copydesk_views::store::ViewsError;
use copydesk_views::store::moving::{About, Cell, Day, MoveNote, MoveState, Names, Piece};
use serde::{Deserialize, Serialize};

use crate::disk::{Disk, RealDisk};
use crate::embedded::{Embedded, OpenError, Options, locked};
use crate::manifest::{IdsEntry, Manifest, SegmentEntry, ids_file, lines_file, segment_file};
use crate::segment::Builder;
use crate::shared::{folder_name, unavailable};
use crate::{gate, ids, lines, overview};

/// Days whose views are in one segment.
const BLOCK: u32 = 16;
/// Ids that are in one file.
const IDS: usize = 1_000_000;
/// The one record of the log that all of it counts as.
const RECORD: u64 = 1;
const JOURNAL: &str = "arriving.json";

/// A folder that page views arrive in. Nobody else uses it meanwhile.
pub struct Arrival {
    folder: PathBuf,
    /// Held as long as it is filled.
    _lock: File,
    seen: BTreeSet<String>,
    project: Option<Building>,
}

/// The segments of a project that are written, by their block of days.
#[derive(Default, Serialize, Deserialize)]
struct Journal {
    next: u64,
    blocks: BTreeMap<u32, Written>,
}

#[derive(Serialize, Deserialize)]
struct Written {
    /// As text, because JSON has no numbers that large.
    digest: String,
    entry: SegmentEntry,
}

struct Building {
    folder: PathBuf,
    names: Arc<Names>,
    journal: Journal,
    /// The block that is being collected.
    block: u32,
    cells: Vec<Cell>,
    digest: u128,
    /// The blocks that this project has.
    blocks: BTreeSet<u32>,
    ids: Vec<(u128, u32)>,
    id_files: Vec<IdsEntry>,
}

impl Arrival {
    /// What is written down in a folder about a move.
    pub fn note(folder: &Path) -> Result<Option<MoveNote>, ViewsError> {
        gate::read(folder).map_err(|error| unavailable(&error))
    }

    /// Gets a folder ready: one that has no page views, that this move has begun to fill, or that was left by the move which
    /// the views come back from.
    pub fn begin(folder: &Path, note: &MoveNote, came_by: Option<&str>, options: Options) -> Result<Self, ViewsError> {
        let found = Self::note(folder)?;
        let is_ours = match &found {
            Some(found) if found.state == MoveState::Arriving && found.move_id == note.move_id => true,
            Some(found) if found.state == MoveState::Moved && came_by == Some(found.move_id.as_str()) => false,
            None => {
                check_empty(folder, options)?;
                false
            }
            Some(_) => return Err(not_empty(folder)),
        };
        let told = |error: io::Error| unavailable(&error);
        fs::create_dir_all(folder).map_err(told)?;
        let lock = locked(folder).map_err(|error| ViewsError::Unavailable(error.to_string()))?;
        if !is_ours {
            // What was left here is at the other place, and goes before anything else comes.
            for part in ["projects", "wal"] {
                match fs::remove_dir_all(folder.join(part)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(told(error)),
                    _ => {}
                }
            }
            gate::write(folder, Some(note)).map_err(told)?;
        }
        RealDisk.create_folder(&folder.join("projects")).map_err(told)?;
        Ok(Self { folder: folder.to_owned(), _lock: lock, seen: BTreeSet::new(), project: None })
    }

    /// Takes the next piece.
    pub fn take(&mut self, piece: Piece) -> Result<(), ViewsError> {
        let told = |error: io::Error| unavailable(&error);
        let lost = || ViewsError::Damaged("a piece of page views came without its project".to_owned());
        match piece {
            Piece::Project { name, names } => {
                let too_long = || ViewsError::Unavailable("the project's id is too long".into());
                let folder_name = folder_name(&name).ok_or_else(too_long)?;
                let folder = self.folder.join("projects").join(&folder_name);
                self.project = Some(Building::begin(folder, names).map_err(told)?);
                self.seen.insert(folder_name);
            }
            Piece::Day(day) => self.project.as_mut().ok_or_else(lost)?.day(day).map_err(told)?,
            Piece::Ids(ids) => self.project.as_mut().ok_or_else(lost)?.ids(ids).map_err(told)?,
            Piece::About(about) => self.project.take().ok_or_else(lost)?.finish(about).map_err(told)?,
            Piece::End => self.forget_others().map_err(told)?,
        }
        Ok(())
    }

    /// Projects that an earlier look has found and this one has not.
    fn forget_others(&mut self) -> io::Result<()> {
        for entry in fs::read_dir(self.folder.join("projects"))? {
            let entry = entry?;
            if !entry.file_name().to_str().is_some_and(|name| self.seen.contains(name)) {
                fs::remove_dir_all(entry.path())?;
            }
        }
        self.seen.clear();
        RealDisk.sync_folder(&self.folder.join("projects"))
    }

    /// Opens the folder for everybody.
    pub fn end(self, note: &MoveNote) -> Result<(), ViewsError> {
        let told = |error: io::Error| unavailable(&error);
        for entry in fs::read_dir(self.folder.join("projects")).map_err(told)? {
            RealDisk.remove(&entry.map_err(told)?.path().join(JOURNAL)).map_err(told)?;
        }
        gate::write(&self.folder, Some(&MoveNote { state: MoveState::Arrived, ..note.clone() })).map_err(told)
    }

    /// Gives a move up: nothing is left of what has come.
    pub fn give_up(self) -> Result<(), ViewsError> {
        let told = |error: io::Error| unavailable(&error);
        fs::remove_dir_all(self.folder.join("projects")).map_err(told)?;
        gate::write(&self.folder, None).map_err(told)
    }
}

fn not_empty(folder: &Path) -> ViewsError {
    ViewsError::Unavailable(format!(
        "there are page views in {} already; they are moved into an empty place",
        folder.display()
    ))
}

fn check_empty(folder: &Path, options: Options) -> Result<(), ViewsError> {
    if !folder.join("projects").exists() {
        return Ok(());
    }
    let store = Embedded::open(folder, options).map_err(|error| match error {
        OpenError::Moved(error) => error,
        error => ViewsError::Unavailable(error.to_string()),
    })?;
    let projects = overview::projects(&store.shared);
    store.close();
    if projects?.is_empty() { Ok(()) } else { Err(not_empty(folder)) }
}

impl Building {
    fn begin(folder: PathBuf, names: Arc<Names>) -> io::Result<Self> {
        RealDisk.create_folder(&folder)?;
        let journal = match fs::read(folder.join(JOURNAL)) {
            Ok(text) => serde_json::from_slice(&text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Journal { next: 1, ..Journal::default() },
            Err(error) => return Err(error),
        };
        Ok(Self {
            folder,
            names,
            journal,
            block: 0,
            cells: Vec::new(),
            digest: 0,
            blocks: BTreeSet::new(),
            ids: Vec::new(),
            id_files: Vec::new(),
        })
    }

    fn day(&mut self, mut day: Day) -> io::Result<()> {
        let block = day.day / BLOCK;
        if block != self.block {
            self.end_block()?;
            self.block = block;
        }
        self.digest = self.digest.wrapping_add(day.digest);
        self.cells.append(&mut day.cells);
        Ok(())
    }

    fn end_block(&mut self) -> io::Result<()> {
        let (cells, digest) = (std::mem::take(&mut self.cells), std::mem::take(&mut self.digest));
        if cells.is_empty() {
            return Ok(());
        }
        self.blocks.insert(self.block);
        let digest = format!("{digest:032x}");
        if self.journal.blocks.get(&self.block).is_some_and(|written| written.digest == digest) {
            return Ok(());
        }
        let number = self.number()?;
        let info = write_segment(&segment_file(&self.folder, number), &self.names, &cells)?;
        let entry = SegmentEntry::new(number, &info);
        self.journal.blocks.insert(self.block, Written { digest, entry });
        self.save()
    }

    /// The number of the next file, which no other has had: what was written under it may be half.
    fn number(&mut self) -> io::Result<u64> {
        let number = self.journal.next;
        self.journal.next += 1;
        self.save()?;
        Ok(number)
    }

    fn save(&self) -> io::Result<()> {
        let (path, new) = (self.folder.join(JOURNAL), self.folder.join("arriving.json.new"));
        let mut file = File::create(&new)?;
        file.write_all(&serde_json::to_vec(&self.journal)?)?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
        RealDisk.sync_folder(&self.folder)
    }

    fn ids(&mut self, mut ids: Vec<(u128, u32)>) -> io::Result<()> {
        self.ids.append(&mut ids);
        if self.ids.len() >= IDS { self.end_ids() } else { Ok(()) }
    }

    fn end_ids(&mut self) -> io::Result<()> {
        let mut some = std::mem::take(&mut self.ids);
        if some.is_empty() {
            return Ok(());
        }
        some.sort_unstable();
        // Of an id that comes twice the later one stays.
        some.reverse();
        some.dedup_by_key(|(id, _)| *id);
        some.reverse();
        let number = self.number()?;
        let written = ids::write(&ids_file(&self.folder, number), some.len(), some.into_iter().map(Ok))?;
        self.id_files.push(IdsEntry { number, count: written.count, newest: written.newest, bytes: written.bytes });
        Ok(())
    }

    fn finish(mut self, about: About) -> io::Result<()> {
        self.end_block()?;
        self.end_ids()?;
        let gone: Vec<u32> = self.journal.blocks.keys().filter(|block| !self.blocks.contains(block)).copied().collect();
        for block in gone {
            self.journal.blocks.remove(&block);
        }
        self.save()?;
        RealDisk.remove(&lines_file(&self.folder))?;
        lines::append(&RealDisk, &self.folder, &about.lines, 0, RECORD)?;
        let manifest = Manifest {
            flushed: RECORD,
            next: self.journal.next,
            floor: about.floor.floor,
            moves: about.floor.moves,
            wish: about.floor.wish,
            script_since: about.script_since,
            server_since: about.server_since,
            segments: self.journal.blocks.values().map(|written| written.entry.clone()).collect(),
            ids: self.id_files,
            marks: about.marks,
            lines_after: 0,
        };
        Ok(manifest.switch(&RealDisk, &self.folder)?)
    }
}

/// Writes cells, which come in order of their buckets, as one segment.
fn write_segment(file: &Path, names: &Names, cells: &[Cell]) -> io::Result<crate::segment::Info> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "a cell names a page or a reader that there is not");
    // A segment has the words that it needs and no others.
    let (mut used_paths, mut used_clients) = (vec![false; names.paths.len()], vec![false; names.clients.len()]);
    for cell in cells {
        *used_paths.get_mut(cell.path as usize).ok_or_else(wrong)? = true;
        *used_clients.get_mut(cell.client as usize).ok_or_else(wrong)? = true;
    }
    let (paths, path_places) = in_order(&names.paths, &used_paths);
    let (clients, client_places) = in_order(&names.clients, &used_clients);
    let place = |places: &[u32], at: u32| places.get(at as usize).copied().unwrap_or(0);
    let pair_of = |cell: &Cell| (place(&path_places, cell.path), place(&client_places, cell.client));
    let mut pairs: Vec<(u32, u32)> = cells.iter().map(pair_of).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let mut sorted = Vec::with_capacity(cells.len());
    for cell in cells {
        let pair = pairs.binary_search(&pair_of(cell)).map_err(|_| wrong())? as u32;
        sorted.push((cell.bucket, pair, cell.count));
    }
    sorted.sort_unstable();
    let mut builder = Builder::create(file, paths, clients, pairs)?;
    for (bucket, pair, count) in sorted {
        builder.push(bucket, pair, count)?;
    }
    builder.finish()
}

/// Those that are used, sorted, and the place of each among them by its old one.
fn in_order<T: ?Sized + Ord>(all: &[Arc<T>], used: &[bool]) -> (Vec<Arc<T>>, Vec<u32>) {
    let mut sorted: Vec<(&Arc<T>, usize)> = all
        .iter()
        .enumerate()
        .filter(|(at, _)| used.get(*at).copied().unwrap_or(false))
        .map(|(at, it)| (it, at))
        .collect();
    sorted.sort_unstable();
    let mut places = vec![0; all.len()];
    for (place, (_, old)) in (0..).zip(&sorted) {
        if let Some(it) = places.get_mut(*old) {
            *it = place;
        }
    }
    (sorted.into_iter().map(|(it, _)| Arc::clone(it)).collect(), places)
}
