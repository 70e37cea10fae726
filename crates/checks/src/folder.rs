use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::Files;

/// Deeper folders are not looked into.
const DEEPEST: usize = 64;
/// More files than these are not looked at.
const MOST_FILES: usize = 1_000_000;
/// Larger files are read up to here: nothing that is checked is larger.
const LARGEST: u64 = 16 * 1024 * 1024;

/// A folder on disk. Links are not followed; `.git`, `node_modules` and caches are left out.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    files: OnceLock<(Vec<String>, HashSet<String>)>,
}

impl Folder {
    /// The files below a folder, as they are when they are first asked for.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), files: OnceLock::new() }
    }

    fn files(&self) -> io::Result<&(Vec<String>, HashSet<String>)> {
        if let Some(files) = self.files.get() {
            return Ok(files);
        }
        let mut files = Vec::new();
        walk(&self.root, "", 0, &mut files)?;
        files.sort();
        let known = files.iter().cloned().collect();
        Ok(self.files.get_or_init(|| (files, known)))
    }
}

fn walk(root: &Path, folder: &str, depth: usize, files: &mut Vec<String>) -> io::Result<()> {
    if depth > DEEPEST {
        return Ok(());
    }
    for entry in fs::read_dir(root.join(folder)).map_err(|error| at(folder, &error))? {
        let entry = entry.map_err(|error| at(folder, &error))?;
        // A name that is not text cannot be in a link.
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type().map_err(|error| at(&path, &error))?;
        if kind.is_dir() {
            let is_left_out =
                matches!(name.as_str(), ".git" | "node_modules") || entry.path().join("CACHEDIR.TAG").exists();
            if !is_left_out {
                walk(root, &path, depth + 1, files)?;
            }
        } else if kind.is_file() {
            if files.len() >= MOST_FILES {
                return Err(io::Error::other(format!("there are more than {MOST_FILES} files")));
            }
            files.push(path);
        }
    }
    Ok(())
}

/// Which of all the files it was.
fn at(path: &str, error: &io::Error) -> io::Error {
    let path = if path.is_empty() { "." } else { path };
    io::Error::new(error.kind(), format!("{path}: {error}"))
}

fn read(file: &Path) -> io::Result<Vec<u8>> {
    let file = fs::File::open(file)?;
    let size = file.metadata()?.len().min(LARGEST);
    let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    io::Read::read_to_end(&mut io::Read::take(file, LARGEST), &mut content)?;
    Ok(content)
}

impl Files for Folder {
    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        if !self.exists(path)? {
            return Ok(None);
        }
        read(&self.root.join(path)).map(Some).map_err(|error| at(path, &error))
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        Ok(self.files()?.1.contains(path))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let (files, _) = self.files()?;
        if folder.is_empty() {
            return Ok(files.clone());
        }
        let prefix = format!("{folder}/");
        let start = files.partition_point(|path| path.as_str() < prefix.as_str());
        Ok(files[start..].iter().take_while(|path| path.starts_with(&prefix)).cloned().collect())
    }
}
