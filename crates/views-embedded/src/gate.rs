//! What is written down in the folder about a move, and keeps everybody from counting here once it is closed. Whoever holds the
//! folder is the only one who counts, and reads this when it takes it over.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use copydesk_views::store::ViewsError;
use copydesk_views::store::moving::MoveNote;

use super::shared::{Shared, unavailable};

fn path(folder: &Path) -> PathBuf {
    folder.join("moving.json")
}

/// What is written down in a folder.
pub(super) fn read(folder: &Path) -> io::Result<Option<MoveNote>> {
    match fs::read(path(folder)) {
        Ok(text) => serde_json::from_slice(&text).map(Some).map_err(io::Error::from),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes it down in a folder that this process holds; it is on disk when this returns.
pub(super) fn write(folder: &Path, note: Option<&MoveNote>) -> io::Result<()> {
    let (path, new) = (path(folder), folder.join("moving.json.new"));
    match note {
        Some(note) => {
            let mut file = fs::File::create(&new)?;
            file.write_all(&serde_json::to_vec(note)?)?;
            file.sync_all()?;
            fs::rename(&new, &path)?;
        }
        None => match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        },
    }
    fs::File::open(folder)?.sync_all()
}

/// The same while the store is in use. It waits for those who are counting, and nobody begins to meanwhile.
pub(super) fn set(shared: &Shared, note: Option<MoveNote>) -> Result<(), ViewsError> {
    let mut gate = shared.gate.write().unwrap_or_else(PoisonError::into_inner);
    write(&shared.folder, note.as_ref()).map_err(|error| unavailable(&error))?;
    *gate = note;
    Ok(())
}
