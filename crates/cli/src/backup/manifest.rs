//! What a backup says of itself, so that it can be told whether it is still whole.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use copydesk_domain::{Timestamp, hex};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::files;
use crate::data_folder::MANIFEST as NAME;

/// The digest of the manifest, as `sha256sum` writes and checks it.
pub(crate) const SUM: &str = "backup.json.sha256";
/// How manifests are written now; a program that does not know the number does not guess.
const FORMAT: u32 = 1;
/// A manifest of a million files is smaller.
const LARGEST: u64 = 512 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest {
    pub(crate) format: u32,
    /// The program that made the backup.
    pub(crate) version: String,
    /// What kind of database it was made from.
    pub(crate) database: String,
    /// The schema of the database.
    pub(crate) schema: i64,
    /// The moment that the database shows.
    pub(crate) taken_at: Timestamp,
    /// Rows of every table.
    pub(crate) rows: BTreeMap<String, u64>,
    /// Page views of every project.
    pub(crate) views: BTreeMap<String, u64>,
    /// What was damaged or lost of page views before the backup was made.
    pub(crate) lost_views: Vec<String>,
    /// Whether the file with the keys of the secrets is in the backup.
    pub(crate) has_keys: bool,
    /// Every file but the two of the manifest, by its path.
    pub(crate) files: BTreeMap<String, FileDigest>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileDigest {
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

impl Manifest {
    pub(crate) const FORMAT: u32 = FORMAT;

    /// Writes it into the folder, with its own digest beside it.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(self)?;
        files::write(&folder.join(NAME), &text)?;
        let sum = format!("{}  {NAME}\n", hex(&Sha256::digest(&text)));
        files::write(&folder.join(SUM), sum.as_bytes())
    }

    /// Reads it, or says in a sentence why there is none to go by.
    pub(crate) fn read(folder: &Path) -> Result<Self, String> {
        let text = |name: &str| {
            let mut bytes = Vec::new();
            if std::fs::symlink_metadata(folder.join(name)).is_ok_and(|it| !it.is_file()) {
                return Err(format!("{name} is not an ordinary file"));
            }
            match File::open(folder.join(name)).and_then(|file| file.take(LARGEST).read_to_end(&mut bytes)) {
                Ok(_) => Ok(bytes),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Err(format!("{name} is missing")),
                Err(error) => Err(format!("{name} cannot be read: {error}")),
            }
        };
        let (manifest, sum) = (text(NAME)?, text(SUM)?);
        let digest = hex(&Sha256::digest(&manifest));
        if String::from_utf8_lossy(&sum).split_whitespace().next() != Some(digest.as_str()) {
            return Err(format!("{NAME} is not as it was written: its digest is not the one in {SUM}"));
        }
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let wrong = |error: serde_json::Error| format!("{NAME} cannot be understood: {error}");
        let head: Head = serde_json::from_slice(&manifest).map_err(wrong)?;
        if head.format != FORMAT {
            let newer = "it was written by another version of Copydesk";
            return Err(format!("{NAME} has the format {}, and this program knows {FORMAT}: {newer}", head.format));
        }
        serde_json::from_slice(&manifest).map_err(wrong)
    }
}

/// The digests of all files below a folder, those of the manifest aside.
pub(crate) fn digests(folder: &Path) -> io::Result<BTreeMap<String, FileDigest>> {
    let mut digests = BTreeMap::new();
    for (name, path) in list(folder)? {
        digests.insert(name, digest(&path)?);
    }
    Ok(digests)
}

/// The files below a folder by their paths in it, those of the manifest aside.
pub(crate) fn list(folder: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    gather(folder, "", &mut found)?;
    found.retain(|name, _| name != NAME && name != SUM);
    Ok(found)
}

fn gather(folder: &Path, prefix: &str, found: &mut BTreeMap<String, PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let odd = || io::Error::other(format!("the name {name:?} is not text"));
        let name = format!("{prefix}{}", name.to_str().ok_or_else(odd)?);
        let kind = entry.file_type()?;
        if kind.is_dir() {
            gather(&entry.path(), &format!("{name}/"), found)?;
        } else if kind.is_file() {
            found.insert(name, entry.path());
        } else {
            // A link could lead anywhere, and a pipe never ends.
            return Err(io::Error::other(format!("{name} is not an ordinary file")));
        }
    }
    Ok(())
}

pub(crate) fn digest(path: &Path) -> io::Result<FileDigest> {
    let mut file = File::open(path)?;
    let (mut hash, mut bytes, mut part) = (Sha256::new(), 0, vec![0; 1 << 20]);
    loop {
        match file.read(&mut part)? {
            0 => return Ok(FileDigest { bytes, sha256: hex(&hash.finalize()) }),
            count => {
                hash.update(&part[..count]);
                bytes += count as u64;
            }
        }
    }
}
