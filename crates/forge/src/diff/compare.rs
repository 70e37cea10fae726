use std::cmp::Ordering;
use std::io;

use gix_hash::ObjectId;
use gix_object::Kind as ObjectKind;

use super::{Content, MOST_DIFF_FILES, Pair, Side};
use crate::objects::{Folder, Item, Objects};
use crate::{Kind, LARGEST_TEXT};

/// How many folders are looked at. Hand-made trees can unfold without end.
const MOST_FOLDERS: usize = 200_000;
const LONGEST_PATH: usize = 1024;

/// The files that differ, and whether there are more than are given. What is equal is not even read.
pub(super) fn trees(objects: &Objects, from: &ObjectId, to: &ObjectId) -> io::Result<(Vec<Pair>, bool)> {
    let mut walk = Walk { objects, pairs: Vec::new(), folders: 0, truncated: false };
    if from != to {
        walk.folders(Some(from), Some(to), "")?;
    }
    Ok((walk.pairs, walk.truncated))
}

/// A blob, unless it is larger than what is shown.
pub(super) fn load(objects: &Objects, id: &ObjectId) -> io::Result<Option<Vec<u8>>> {
    match objects.header(id)? {
        Some((_, size)) if size > LARGEST_TEXT => Ok(None),
        _ => objects.need(id, ObjectKind::Blob).map(Some),
    }
}

struct Walk<'a> {
    objects: &'a Objects,
    pairs: Vec<Pair>,
    folders: usize,
    truncated: bool,
}

impl Walk<'_> {
    fn folders(&mut self, old: Option<&ObjectId>, new: Option<&ObjectId>, prefix: &str) -> io::Result<()> {
        self.folders += 1;
        if self.folders > MOST_FOLDERS || prefix.len() > LONGEST_PATH {
            self.truncated = true;
            return Ok(());
        }
        let open = |id: Option<&ObjectId>| id.map(|id| self.objects.folder(id)).transpose();
        let (old, new) = (open(old)?, open(new)?);
        fn items(folder: &Option<std::sync::Arc<Folder>>) -> &[Item] {
            folder.as_ref().map_or(&[], |folder| &folder.items)
        }
        let (mut old, mut new) = (items(&old), items(&new));
        // Both are in the same order, so that they can be gone through side by side.
        while !self.truncated {
            let order = match (old.first(), new.first()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) => a.order(b),
            };
            let take = |from: &mut &[Item], wanted: bool| {
                let (first, rest) = from.split_first().filter(|_| wanted)?;
                let first = first.clone();
                *from = rest;
                Some(first)
            };
            let before = take(&mut old, order.is_le());
            let after = take(&mut new, order.is_ge());
            self.item(before, after, prefix)?;
        }
        Ok(())
    }

    fn item(&mut self, old: Option<Item>, new: Option<Item>, prefix: &str) -> io::Result<()> {
        if let (Some(old), Some(new)) = (&old, &new)
            && old.id == new.id
            && old.mode == new.mode
        {
            return Ok(());
        }
        let Some(name) = old.as_ref().or(new.as_ref()).and_then(Item::path_name) else {
            return Ok(());
        };
        let path = format!("{prefix}{name}");
        let is_folder = |item: &Option<Item>| item.as_ref().is_some_and(|item| item.kind() == Kind::Folder);
        if is_folder(&old) || is_folder(&new) {
            let id = |item: &Option<Item>| item.as_ref().map(|item| item.id);
            return self.folders(id(&old).as_ref(), id(&new).as_ref(), &format!("{path}/"));
        }
        match (&old, &new) {
            // Something of another type is shown as gone and new, as git does.
            (Some(a), Some(b)) if a.mode & 0o170_000 != b.mode & 0o170_000 => {
                self.pair(&path, old.as_ref(), None);
                self.pair(&path, None, new.as_ref());
            }
            _ => self.pair(&path, old.as_ref(), new.as_ref()),
        }
        Ok(())
    }

    fn pair(&mut self, path: &str, old: Option<&Item>, new: Option<&Item>) {
        if self.pairs.len() >= MOST_DIFF_FILES {
            self.truncated = true;
            return;
        }
        let side = |item: &Item| Side {
            mode: item.mode,
            content: match item.kind() {
                Kind::Submodule => Content::Bytes(format!("Subproject commit {}\n", item.id).into_bytes()),
                _ => Content::Blob(item.id),
            },
        };
        self.pairs.push(Pair { path: path.to_owned(), old_path: None, old: old.map(side), new: new.map(side) });
    }
}
