use std::collections::BTreeMap;
use std::io;

use crate::{Entry, Kind, Tree};

/// A tree that is held in memory.
#[derive(Debug, Clone, Default)]
pub struct MemoryTree {
    entries: BTreeMap<String, (Kind, Vec<u8>)>,
}

impl MemoryTree {
    /// A tree of regular files.
    pub fn of<P: Into<String>, C: Into<Vec<u8>>>(files: impl IntoIterator<Item = (P, C)>) -> Self {
        let entries = files.into_iter().map(|(path, content)| (path.into(), (Kind::File, content.into())));
        Self { entries: entries.collect() }
    }

    /// Adds an entry that is no folder.
    #[must_use]
    pub fn with(mut self, path: &str, kind: Kind, content: impl Into<Vec<u8>>) -> Self {
        self.entries.insert(path.to_owned(), (kind, content.into()));
        self
    }

    /// What is below a folder: path, kind and the path from there.
    fn below<'a>(&'a self, folder: &str) -> impl Iterator<Item = (&'a str, Kind, &'a str)> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let from = self.entries.range(prefix.clone()..);
        from.map_while(move |(path, (kind, _))| Some((path.as_str(), *kind, path.strip_prefix(&prefix)?)))
    }
}

impl Tree for MemoryTree {
    fn entry(&self, path: &str) -> io::Result<Option<Entry>> {
        if let Some((kind, content)) = self.entries.get(path) {
            let size = if kind.is_file() { content.len() as u64 } else { 0 };
            return Ok(Some(Entry { kind: *kind, size }));
        }
        let is_folder = self.below(path).next().is_some();
        Ok(is_folder.then_some(Entry { kind: Kind::Folder, size: 0 }))
    }

    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(self.entries.get(path).filter(|(kind, _)| kind.is_file()).map(|(_, content)| content.clone()))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        Ok(self.below(folder).filter(|(_, kind, _)| kind.is_file()).map(|(path, ..)| path.to_owned()).collect())
    }

    fn folder(&self, folder: &str) -> io::Result<Vec<(String, Kind)>> {
        let mut names = BTreeMap::new();
        for (_, kind, rest) in self.below(folder) {
            match rest.split_once('/') {
                Some((name, _)) => names.insert(name.to_owned(), Kind::Folder),
                None => names.insert(rest.to_owned(), kind),
            };
        }
        Ok(names.into_iter().collect())
    }
}
