use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use crate::diff;
use crate::path::plain_path;
use crate::{Entry, FileChange, Kind, LARGEST_TEXT, Refusal, Tree};

/// Says whether a path may be written; if not, why, as one sentence.
pub type Guard = Arc<dyn Fn(&str) -> Result<(), String> + Send + Sync>;

/// A commit with edits over it. Nothing is checked out: files are read from the tree, edits are kept apart.
#[derive(Clone)]
pub struct Workspace {
    tree: Arc<dyn Tree>,
    guard: Guard,
    /// What was written; none for a file that was deleted.
    edits: BTreeMap<String, Option<Vec<u8>>>,
}

impl Workspace {
    /// A workspace over `tree` in which `guard` says what may be written.
    pub fn new(tree: Arc<dyn Tree>, guard: Guard) -> Self {
        Self { tree, guard, edits: BTreeMap::new() }
    }

    /// The tree below, without the edits.
    pub fn base(&self) -> &Arc<dyn Tree> {
        &self.tree
    }

    /// What is at a path now; none if nothing is. A folder is there as long as anything is in it.
    pub fn entry(&self, path: &str) -> io::Result<Option<Entry>> {
        let folder = Some(Entry { kind: Kind::Folder, size: 0 });
        match self.edits.get(path) {
            Some(Some(content)) => Ok(Some(Entry { kind: self.kind_of_edit(path)?, size: content.len() as u64 })),
            _ if self.edits_below(path).any(|(_, edit)| edit.is_some()) => Ok(folder),
            Some(None) => Ok(None),
            None => {
                let below = self.tree.entry(path)?;
                Ok(if below == folder && self.is_emptied(path)? { None } else { below })
            }
        }
    }

    fn edits_below(&self, folder: &str) -> impl Iterator<Item = (&String, &Option<Vec<u8>>)> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        self.edits.range(prefix.clone()..).take_while(move |(path, _)| path.starts_with(&prefix))
    }

    /// Whether nothing of a folder of the tree is left. Stops at the first thing that is.
    fn is_emptied(&self, folder: &str) -> io::Result<bool> {
        if self.edits_below(folder).next().is_none() {
            return Ok(false);
        }
        for (name, kind) in self.tree.folder(folder)? {
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            let gone = match kind {
                Kind::File | Kind::Executable => self.edits.get(&path).is_some_and(Option::is_none),
                Kind::Folder => self.is_emptied(&path)?,
                Kind::Symlink | Kind::Submodule => false,
            };
            if !gone {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn kind_of_edit(&self, path: &str) -> io::Result<Kind> {
        let below = self.tree.entry(path)?.map(|entry| entry.kind);
        Ok(if below == Some(Kind::Executable) { Kind::Executable } else { Kind::File })
    }

    /// What is in a regular file now; none if there is none of that path.
    pub fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        match self.edits.get(path) {
            Some(edit) => Ok(edit.clone()),
            None => self.tree.read(path),
        }
    }

    /// The text of a file, for somebody who works with it: says why if it cannot be had.
    pub fn text(&self, path: &str) -> Result<String, Refusal> {
        let path = plain_path(path)?;
        let Some(entry) = self.entry(&path)? else {
            return Err(Refusal::Refused(format!("there is no file {path:?}")));
        };
        must_be_file(&path, entry.kind)?;
        if entry.size > LARGEST_TEXT {
            return Err(Refusal::Refused(format!(
                "{path:?} has {} bytes; files over {LARGEST_TEXT} bytes are not read",
                entry.size
            )));
        }
        let content = self.read(&path)?.unwrap_or_default();
        text_of(content).ok_or_else(|| Refusal::Refused(format!("{path:?} is not a text file")))
    }

    /// The paths of all regular files below a folder, sorted by bytes; all files if the folder is empty.
    pub fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let folder = folder.trim_start_matches("./").trim_matches('/');
        let folder = if folder == "." { "" } else { folder };
        let mut paths: Vec<String> = self.tree.list(folder)?;
        if self.edits.is_empty() {
            return Ok(paths);
        }
        paths.retain(|path| !self.edits.contains_key(path));
        let inside = |path: &str| folder.is_empty() || path.strip_prefix(folder).is_some_and(|it| it.starts_with('/'));
        let written = self.edits.iter().filter(|(path, edit)| edit.is_some() && inside(path));
        paths.extend(written.map(|(path, _)| path.clone()));
        paths.sort_unstable();
        Ok(paths)
    }

    /// Whether `path` may be written, deleted or moved; its plain form if so.
    pub fn may_write(&self, path: &str) -> Result<String, Refusal> {
        let path = plain_path(path)?;
        (self.guard)(&path).map_err(Refusal::Refused)?;
        for (at, _) in path.match_indices('/') {
            let above = &path[..at];
            match self.entry(above)?.map(|entry| entry.kind) {
                None | Some(Kind::Folder) => {}
                Some(kind) => {
                    return Err(Refusal::Refused(format!("{above:?} is {}, not a folder", title(kind))));
                }
            }
        }
        if let Some(entry) = self.entry(&path)? {
            must_be_file(&path, entry.kind)?;
        }
        Ok(path)
    }

    /// Writes a text file, new or not.
    pub fn write(&mut self, path: &str, text: String) -> Result<(), Refusal> {
        let path = self.may_write(path)?;
        if text.len() as u64 > LARGEST_TEXT {
            return Err(Refusal::Refused(format!("{path:?} would have more than {LARGEST_TEXT} bytes")));
        }
        if text.contains('\0') {
            return Err(Refusal::Refused(format!("{path:?} would hold a NUL character, as binary files do")));
        }
        if self.tree.entry(&path)?.is_some() && self.read(&path)?.is_some() {
            // Says so if what is there now is no text: binary files are not replaced.
            self.text(&path)?;
        }
        self.put(path, Some(text.into_bytes()))
    }

    /// Deletes a text file.
    pub fn delete(&mut self, path: &str) -> Result<(), Refusal> {
        let path = self.may_write(path)?;
        if self.entry(&path)?.is_none() {
            return Err(Refusal::Refused(format!("there is no file {path:?}")));
        }
        self.text(&path)?;
        self.put(path, None)
    }

    /// Moves a text file to a place where nothing is.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<(), Refusal> {
        let (from, to) = (self.may_write(from)?, self.may_write(to)?);
        let text = self.text(&from)?;
        if self.entry(&to)?.is_some() {
            return Err(Refusal::Refused(format!("there is something at {to:?} already")));
        }
        self.put(to, Some(text.into_bytes()))?;
        self.put(from, None)
    }

    /// Keeps an edit, or forgets it if it brings back what was there.
    fn put(&mut self, path: String, content: Option<Vec<u8>>) -> Result<(), Refusal> {
        if self.tree.read(&path)? == content {
            self.edits.remove(&path);
        } else {
            self.edits.insert(path, content);
        }
        Ok(())
    }

    /// The edits so far, sorted by path. Empty if everything is as it was.
    pub fn changes(&self) -> Vec<FileChange> {
        let change =
            |(path, content): (&String, &Option<Vec<u8>>)| FileChange { path: path.clone(), content: content.clone() };
        self.edits.iter().map(change).collect()
    }

    /// Whether everything is as it was.
    pub fn is_unchanged(&self) -> bool {
        self.edits.is_empty()
    }

    /// The paths that were edited, sorted.
    pub fn changed_paths(&self) -> impl Iterator<Item = &str> {
        self.edits.keys().map(String::as_str)
    }

    /// What was changed in the files that are wanted, as git shows it; empty if nothing was.
    pub fn diff(&self, wanted: &dyn Fn(&str) -> bool) -> io::Result<String> {
        // All are looked at, so that it is seen where one was moved from.
        let states =
            |(path, now): (&String, &Option<Vec<u8>>)| Ok((path.clone(), (self.tree.read(path)?, now.clone())));
        let files = self.edits.iter().map(states).collect::<io::Result<Vec<_>>>()?;
        diff::between_texts(files, wanted)
    }

    /// Throws the edits of one file away.
    pub fn restore(&mut self, path: &str) {
        self.edits.remove(path);
    }
}

/// Text, unless the bytes are not UTF-8 or hold a NUL, as git decides whether a file is binary.
fn text_of(content: Vec<u8>) -> Option<String> {
    if content.contains(&0) { None } else { String::from_utf8(content).ok() }
}

fn must_be_file(path: &str, kind: Kind) -> Result<(), Refusal> {
    if kind.is_file() { Ok(()) } else { Err(Refusal::Refused(format!("{path:?} is {}, not a file", title(kind)))) }
}

fn title(kind: Kind) -> &'static str {
    match kind {
        Kind::File | Kind::Executable => "a file",
        Kind::Folder => "a folder",
        Kind::Symlink => "a symbolic link",
        Kind::Submodule => "a submodule",
    }
}
