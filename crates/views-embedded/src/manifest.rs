//! What is durable of a project outside the log: one small file that is replaced as a whole.
//!
//! It is the one place where things become true: files that it does not name do not exist, and records of the log up to
//! `flushed` are in its files. So a flush, a merge, a new verdict, a floor and a removal all happen at one rename.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use copydesk_views::store::floor::{FloorMove, FloorState, FloorWish};
use copydesk_views::{Bucket, Mark};
use serde::{Deserialize, Serialize};

use super::disk::{Disk, is_lasting, link_or_copy};
use super::twice;
use crate::segment::Info;

/// Marks of a project; older ones are forgotten.
pub(super) const MARKS: usize = 10_000;
const NAME: &str = "manifest";
const FORMAT: &str = "copydesk views 2";
/// How it was before: the text once, behind a line with its checksum.
const ONCE: &str = "copydesk views 1";

/// What is durable of a project outside the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// Records of the log up to this one are in the files, or are gone with what was removed.
    pub(super) flushed: u64,
    /// The number of the next file.
    pub(super) next: u64,
    /// Nothing before this is counted or taken.
    pub(super) floor: Option<Bucket>,
    /// How the floor was moved of late, the oldest first. What these moves have hidden is still there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) moves: Vec<FloorMove>,
    /// Where the floor should be, at the first look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) wish: Option<FloorWish>,
    pub(super) script_since: Option<Bucket>,
    pub(super) server_since: Option<Bucket>,
    pub(super) segments: Vec<SegmentEntry>,
    pub(super) ids: Vec<IdsEntry>,
    pub(super) marks: Vec<Mark>,
    /// Lines of logs in records up to this one are gone with what was removed.
    #[serde(default)]
    pub(super) lines_after: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SegmentEntry {
    pub(super) number: u64,
    pub(super) first: Bucket,
    pub(super) last: Bucket,
    pub(super) cells: u64,
    pub(super) views: u64,
    pub(super) bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct IdsEntry {
    pub(super) number: u64,
    pub(super) count: u64,
    /// When the newest arrived.
    pub(super) newest: u32,
    pub(super) bytes: u64,
}

/// Why a manifest could not be read.
#[derive(Debug)]
pub(super) enum ManifestError {
    Io(io::Error),
    Damaged(PathBuf),
}

/// Why a manifest could not be replaced.
#[derive(Debug)]
pub(super) enum SwitchError {
    /// The old one is in place.
    Not(io::Error),
    /// Either may be found after a crash: the files of both must stay as they are.
    Unsure(io::Error),
}

impl From<io::Error> for ManifestError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<SwitchError> for io::Error {
    fn from(error: SwitchError) -> Self {
        match error {
            SwitchError::Not(error) | SwitchError::Unsure(error) => error,
        }
    }
}

impl SegmentEntry {
    pub(super) fn new(number: u64, info: &Info) -> Self {
        let Info { first, last, cells, views, bytes, .. } = *info;
        Self { number, first, last, cells, views, bytes }
    }

    pub(super) fn file(&self, folder: &Path) -> PathBuf {
        segment_file(folder, self.number)
    }
}

impl IdsEntry {
    pub(super) fn file(&self, folder: &Path) -> PathBuf {
        ids_file(folder, self.number)
    }
}

pub(super) fn segment_file(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number}.seg"))
}

pub(super) fn ids_file(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number}.ids"))
}

/// Where the lines of logs are that were counted; no manifest names it.
pub(super) fn lines_file(folder: &Path) -> PathBuf {
    folder.join("lines")
}

impl Manifest {
    /// Where it is in a project's folder.
    pub(super) fn path(folder: &Path) -> PathBuf {
        folder.join(NAME)
    }

    /// The manifest of a project; none if it has none.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>, ManifestError> {
        let Some(text) = Self::text(folder)? else { return Ok(None) };
        let damaged = || ManifestError::Damaged(Self::path(folder));
        let (body, is_whole) = body(&text).ok_or_else(damaged)?;
        if !is_whole {
            tracing::warn!(folder = %folder.display(), "one of the two texts of a manifest is damaged; the other is taken");
        }
        serde_json::from_slice(body).map(Some).map_err(|_| damaged())
    }

    /// Whether a project's manifest, if it has one, is as it was written.
    pub(super) fn is_whole(folder: &Path) -> io::Result<bool> {
        match Self::text(folder) {
            Ok(text) => Ok(text.is_none_or(|text| body(&text).is_some_and(|(_, is_whole)| is_whole))),
            Err(ManifestError::Damaged(_)) => Ok(false),
            Err(ManifestError::Io(error)) => Err(error),
        }
    }

    /// What is in the file; none if there is none. One that is gone from beside its files is damaged.
    fn text(folder: &Path) -> Result<Option<Vec<u8>>, ManifestError> {
        match fs::read(Self::path(folder)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !has_files(folder)? => Ok(None),
            Err(error) if is_lasting(&error) => Err(ManifestError::Damaged(Self::path(folder))),
            Err(error) => Err(ManifestError::Io(error)),
        }
    }

    /// Puts it in the place of the one before. It is on disk when this returns.
    pub(super) fn switch(&self, disk: &dyn Disk, folder: &Path) -> Result<(), SwitchError> {
        let path = Self::path(folder);
        let new = path.with_extension("new");
        self.write(disk, &new).inspect_err(|_| drop(disk.remove(&new))).map_err(SwitchError::Not)?;
        disk.rename(&new, &path).map_err(SwitchError::Unsure)?;
        disk.sync_folder(folder).map_err(SwitchError::Unsure)
    }

    fn write(&self, disk: &dyn Disk, path: &Path) -> io::Result<()> {
        let file = disk.create(path)?;
        disk.append(&file, &twice::encode(FORMAT, &serde_json::to_vec(self)?))?;
        disk.sync(&file)
    }

    /// Whether the project has nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty() && self.marks.is_empty() && self.ids.is_empty() && self.floor.is_none()
    }

    /// What is before this is not on disk any more, or may go.
    pub(super) fn gone_before(&self) -> Bucket {
        self.floor_state().gone_before()
    }

    pub(super) fn floor_state(&self) -> FloorState {
        FloorState { floor: self.floor, moves: self.moves.clone(), wish: self.wish }
    }

    /// The same with another floor.
    pub(super) fn with_floor(self, state: FloorState) -> Self {
        Self { floor: state.floor, moves: state.moves, wish: state.wish, ..self }
    }

    /// Bytes of all files that it names.
    pub(super) fn bytes(&self) -> u64 {
        let segments: u64 = self.segments.iter().map(|it| it.bytes).sum();
        segments + self.ids.iter().map(|it| it.bytes).sum::<u64>()
    }

    /// Removes what a crash left behind: files that no manifest names.
    pub(super) fn clean(&self, disk: &dyn Disk, folder: &Path) -> io::Result<()> {
        let mut named: HashSet<PathBuf> = self.segments.iter().map(|it| it.file(folder)).collect();
        named.extend(self.ids.iter().map(|it| it.file(folder)));
        named.insert(Self::path(folder));
        named.insert(lines_file(folder));
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        let paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        let is_rubbish = |path: &PathBuf| !named.contains(path) && !is_set_aside(path);
        let unnamed: Vec<PathBuf> = paths.into_iter().filter(is_rubbish).collect();
        if !unnamed.is_empty() {
            // This manifest may be nowhere but in memory, and the one before it, which names them, on the disk.
            disk.sync_folder(folder)?;
        }
        for path in unnamed {
            tracing::debug!(file = %path.display(), "a file that was never finished or is done with is removed");
            disk.remove(&path)?;
        }
        Ok(())
    }
}

/// Whether a folder has files that only a manifest tells from rubbish.
fn has_files(folder: &Path) -> io::Result<bool> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        entries => entries?,
    };
    for entry in entries {
        if entry?.path().extension().is_some_and(|extension| extension == "seg" || extension == "ids") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The text of a manifest, and whether all of the file is as it was written.
fn body(file: &[u8]) -> Option<(&[u8], bool)> {
    if let Some(twice::Text { body, is_whole }) = twice::decode(FORMAT, file) {
        return Some((body, is_whole));
    }
    let line = file.iter().position(|byte| *byte == b'\n')?;
    let (head, body) = (&file[..line], &file[line + 1..]);
    (head == format!("{ONCE} {:08x}", crc32fast::hash(body)).as_bytes()).then_some((body, true))
}

/// The name of a file that could not be read in whole; it is kept for whoever wants to look at it.
pub(super) fn set_aside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".damaged");
    name.into()
}

/// Lets a damaged file stay, for whoever wants to look at it, when another takes its place.
pub(super) fn keep_aside(path: &Path) {
    let aside = set_aside(path);
    let kept = match fs::remove_file(&aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => link_or_copy(path, &aside),
    };
    if let Err(error) = kept {
        tracing::warn!(file = %path.display(), %error, "a damaged file could not be kept aside");
    }
}

/// Whether a file was set aside.
pub(super) fn is_set_aside(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "damaged")
}

/// Adds a mark in the place of the one that it moves on.
pub(super) fn add_mark(marks: &mut Vec<Mark>, mark: &Mark) {
    let replaced = |old: &Mark| old.digest == mark.digest || Some(&old.digest) == mark.replaces.as_ref();
    marks.retain(|old| old.log != mark.log || !replaced(old));
    marks.push(mark.clone());
    // A tenth at once, so that not every mark moves all of them.
    if marks.len() > MARKS + MARKS / 10 {
        marks.drain(..marks.len() - MARKS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;
    use crate::samples::mark;

    #[test]
    fn comes_back_from_its_file_and_tells_of_damage() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Manifest::read(folder.path()), Ok(None)));
        let manifest = Manifest { flushed: 7, marks: vec![mark("a", "b", None)], ..Manifest::default() };
        manifest.switch(&RealDisk, folder.path()).unwrap();
        assert_eq!(Manifest::read(folder.path()).unwrap(), Some(manifest));
        let mut text = fs::read(Manifest::path(folder.path())).unwrap();
        text[40] ^= 1;
        fs::write(Manifest::path(folder.path()), &text).unwrap();
        assert!(Manifest::read(folder.path()).unwrap().is_some_and(|manifest| manifest.flushed == 7));
        assert!(!Manifest::is_whole(folder.path()).unwrap());
        let second = text.len() / 2 + 40;
        text[second] ^= 1;
        fs::write(Manifest::path(folder.path()), text).unwrap();
        assert!(matches!(Manifest::read(folder.path()), Err(ManifestError::Damaged(_))));
    }

    #[test]
    fn a_manifest_of_an_earlier_version_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let body = r#"{"flushed":7,"next":1,"floor":90,"script_since":null,"server_since":null,"segments":[],"ids":[],"marks":[]}"#;
        fs::write(Manifest::path(folder.path()), format!("{ONCE} {:08x}\n{body}", crc32fast::hash(body.as_bytes())))
            .unwrap();
        let manifest = Manifest::read(folder.path()).unwrap().unwrap();
        assert_eq!((manifest.flushed, manifest.floor, manifest.gone_before()), (7, Some(Bucket(90)), Bucket(90)));
        assert!(Manifest::is_whole(folder.path()).unwrap());
    }

    #[test]
    fn a_mark_takes_the_place_of_the_one_it_moves_on() {
        let mut marks = Vec::new();
        add_mark(&mut marks, &mark("log", "1", None));
        add_mark(&mut marks, &mark("other", "1", None));
        add_mark(&mut marks, &mark("log", "2", Some("1")));
        let left: Vec<_> = marks.iter().map(|mark| (mark.log.as_str(), mark.digest.as_str())).collect();
        assert_eq!(left, [("other", "1"), ("log", "2")]);
    }

    #[test]
    fn the_newest_marks_stay() {
        let mut marks = Vec::new();
        for n in 0..MARKS + MARKS / 10 {
            marks.push(mark("log", &n.to_string(), None));
        }
        add_mark(&mut marks, &mark("log", "last", None));
        assert_eq!(marks.len(), MARKS);
        assert_eq!(marks.first().map(|mark| mark.digest.clone()), Some((MARKS / 10 + 1).to_string()));
        assert_eq!(marks.last().map(|mark| mark.digest.clone()), Some("last".to_owned()));
    }
}
