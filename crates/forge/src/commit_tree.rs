use std::io;
use std::sync::Arc;

use gix_hash::ObjectId;
use gix_object::Kind as ObjectKind;

use crate::objects::{Folder, Item, Objects};
use crate::{Entry, Kind, Tree};

/// How many files a repository may have to be listed. A tree of a few objects can unfold to billions.
const MOST_FILES: usize = 1_000_000;
/// How many folders may be looked at in one listing, for the same reason.
const MOST_FOLDERS: usize = 1_000_000;
/// How long a path may be; what is deeper is not seen.
const LONGEST_PATH: usize = 1024;

/// The files of one commit, read from git's objects when they are asked for.
pub(crate) struct CommitTree {
    objects: Arc<Objects>,
    root: ObjectId,
}

impl CommitTree {
    pub(crate) fn new(objects: Arc<Objects>, root: ObjectId) -> Self {
        Self { objects, root }
    }

    /// What is at a path that is not the root.
    pub(crate) fn item(&self, path: &str) -> io::Result<Option<Item>> {
        let mut folder = self.objects.folder(&self.root)?;
        let mut parts = path.split('/').peekable();
        while let Some(part) = parts.next() {
            let Some(item) = folder.find(part.as_bytes()).filter(|item| item.path_name().is_some()).cloned() else {
                return Ok(None);
            };
            if parts.peek().is_none() {
                return Ok(Some(item));
            }
            // A symbolic link or another repository above the path leads nowhere.
            if item.kind() != Kind::Folder {
                return Ok(None);
            }
            folder = self.objects.folder(&item.id)?;
        }
        Ok(None)
    }

    fn folder_at(&self, path: &str) -> io::Result<Option<Arc<Folder>>> {
        if path.is_empty() {
            return self.objects.folder(&self.root).map(Some);
        }
        match self.item(path)? {
            Some(item) if item.kind() == Kind::Folder => self.objects.folder(&item.id).map(Some),
            _ => Ok(None),
        }
    }
}

impl Tree for CommitTree {
    fn entry(&self, path: &str) -> io::Result<Option<Entry>> {
        if path.is_empty() {
            return Ok(Some(Entry { kind: Kind::Folder, size: 0 }));
        }
        let Some(item) = self.item(path)? else {
            return Ok(None);
        };
        let kind = item.kind();
        let size = if kind.is_file() { self.objects.header(&item.id)?.map_or(0, |(_, size)| size) } else { 0 };
        Ok(Some(Entry { kind, size }))
    }

    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        match self.item(path)? {
            Some(item) if item.kind().is_file() => self.objects.need(&item.id, ObjectKind::Blob).map(Some),
            _ => Ok(None),
        }
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let mut listing = Listing { objects: &self.objects, paths: Vec::new(), folders: 0 };
        if let Some(root) = self.folder_at(folder)? {
            let mut prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
            listing.add(&root, &mut prefix)?;
        }
        Ok(listing.paths)
    }

    fn folder(&self, folder: &str) -> io::Result<Vec<(String, Kind)>> {
        let Some(folder) = self.folder_at(folder)? else {
            return Ok(Vec::new());
        };
        let named = |item: &Item| Some((item.path_name()?.to_owned(), item.kind()));
        let mut names: Vec<_> = folder.items.iter().filter_map(named).collect();
        names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(names)
    }
}

struct Listing<'a> {
    objects: &'a Objects,
    paths: Vec<String>,
    folders: usize,
}

impl Listing<'_> {
    /// Git's order within a folder is that of the bytes of whole paths, so nothing is sorted here.
    fn add(&mut self, folder: &Folder, prefix: &mut String) -> io::Result<()> {
        self.folders += 1;
        if self.paths.len() > MOST_FILES || self.folders > MOST_FOLDERS {
            return Err(io::Error::other(format!("it has more than {MOST_FILES} files or folders")));
        }
        for item in &folder.items {
            let Some(name) = item.path_name() else { continue };
            if prefix.len() + name.len() > LONGEST_PATH {
                continue;
            }
            match item.kind() {
                Kind::File | Kind::Executable => self.paths.push(format!("{prefix}{name}")),
                Kind::Folder => {
                    let length = prefix.len();
                    prefix.push_str(name);
                    prefix.push('/');
                    self.add(&*self.objects.folder(&item.id)?, prefix)?;
                    prefix.truncate(length);
                }
                Kind::Symlink | Kind::Submodule => {}
            }
        }
        Ok(())
    }
}
