use std::collections::BTreeMap;
use std::fmt::Write as _;

use copydesk_domain::Timestamp;
use gix_hash::ObjectId;
use gix_object::Kind as ObjectKind;

use crate::objects::{Item, Objects};
use crate::path::plain_path;
use crate::{FileChange, ForgeError, Kind, Signature};

/// What is to happen below one folder: by name, either a file, or more below.
#[derive(Default)]
struct Plan<'a> {
    /// Files to write, or to delete.
    files: BTreeMap<&'a str, Option<&'a [u8]>>,
    /// Folders in which something happens.
    folders: BTreeMap<&'a str, Plan<'a>>,
}

impl<'a> Plan<'a> {
    fn of(changes: &'a [FileChange]) -> Result<Self, ForgeError> {
        let mut plan = Self::default();
        for change in changes {
            if plain_path(&change.path).ok().as_deref() != Some(&change.path) {
                return Err(ForgeError::lasting(format!("{:?} cannot be part of a commit", change.path)));
            }
            let mut folder = &mut plan;
            let mut name = change.path.as_str();
            while let Some((above, rest)) = name.split_once('/') {
                folder = folder.folders.entry(above).or_default();
                name = rest;
            }
            if folder.files.insert(name, change.content.as_deref()).is_some() {
                return Err(ForgeError::lasting(format!("{:?} is changed twice in one commit", change.path)));
            }
        }
        Ok(plan)
    }
}

/// Writes what `changes` make of a tree and gives the id of the new one, which may be the old one.
pub(crate) fn write_tree(objects: &Objects, root: &ObjectId, changes: &[FileChange]) -> Result<ObjectId, ForgeError> {
    let plan = Plan::of(changes)?;
    match write_folder(objects, Some(root), &plan)? {
        Some(id) => Ok(id),
        None => objects.write(ObjectKind::Tree, &[]).map_err(ForgeError::from_io),
    }
}

/// Writes a folder as it is after the plan; none if nothing is left in it. Folders that the plan does not touch are
/// not even read.
fn write_folder(objects: &Objects, old: Option<&ObjectId>, plan: &Plan) -> Result<Option<ObjectId>, ForgeError> {
    let mut items: BTreeMap<Vec<u8>, Item> = BTreeMap::new();
    if let Some(old) = old {
        let folder = objects.folder(old).map_err(ForgeError::from_io)?;
        items.extend(folder.items.iter().map(|item| (item.name.clone(), item.clone())));
    }
    // Deletions come first: a file may make room for a folder of its name.
    for (name, _) in plan.files.iter().filter(|(_, content)| content.is_none()) {
        match items.get(name.as_bytes()) {
            None => {}
            Some(item) if item.kind().is_file() => _ = items.remove(name.as_bytes()),
            Some(_) => return Err(ForgeError::lasting(format!("{name:?} is not a file"))),
        }
    }
    for (name, below) in &plan.folders {
        let old = match items.get(name.as_bytes()) {
            None => None,
            Some(item) if item.kind() == Kind::Folder => Some(item.id),
            Some(_) => return Err(ForgeError::lasting(format!("{name:?} is not a folder"))),
        };
        match write_folder(objects, old.as_ref(), below)? {
            Some(id) => put(&mut items, name, 0o040_000, id),
            None => _ = items.remove(name.as_bytes()),
        }
    }
    for (name, content) in &plan.files {
        let Some(content) = content else { continue };
        let mode = match items.get(name.as_bytes()) {
            None => 0o100_644,
            Some(item) if item.kind().is_file() => item.mode,
            Some(_) => return Err(ForgeError::lasting(format!("{name:?} is not a file"))),
        };
        let id = objects.write(ObjectKind::Blob, content).map_err(ForgeError::from_io)?;
        put(&mut items, name, mode, id);
    }
    if items.is_empty() {
        return Ok(None);
    }
    objects.write(ObjectKind::Tree, &encode(items.into_values().collect())).map(Some).map_err(ForgeError::from_io)
}

fn put(items: &mut BTreeMap<Vec<u8>, Item>, name: &str, mode: u16, id: ObjectId) {
    let name = name.as_bytes().to_vec();
    items.insert(name.clone(), Item { name, mode, id });
}

fn encode(mut items: Vec<Item>) -> Vec<u8> {
    items.sort_by(Item::order);
    let mut data = Vec::new();
    for item in items {
        data.extend_from_slice(format!("{:o} ", item.mode).as_bytes());
        data.extend_from_slice(&item.name);
        data.push(0);
        data.extend_from_slice(item.id.as_bytes());
    }
    data
}

/// The bytes of a commit. Nothing in it comes from the machine, so the same input gives the same id.
pub(crate) fn encode_commit(
    tree: &ObjectId,
    parents: &[ObjectId],
    (author, committer): (&Signature, &Signature),
    at: Timestamp,
    message: &str,
) -> Vec<u8> {
    let seconds = at.as_millis().div_euclid(1000).max(0);
    let mut text = format!("tree {tree}\n");
    for parent in parents {
        // Writing to a string cannot fail.
        _ = writeln!(text, "parent {parent}");
    }
    for (role, who) in [("author", author), ("committer", committer)] {
        let (name, email) = (header_text(&who.name, "Copydesk"), header_text(&who.email, "copydesk@localhost"));
        _ = writeln!(text, "{role} {name} <{email}> {seconds} +0000");
    }
    let message = message.replace('\0', "");
    _ = write!(text, "\n{}\n", message.trim_matches('\n'));
    text.into_bytes()
}

/// What can stand in a line about a person: no line break and none of the brackets that end the name.
fn header_text(text: &str, otherwise: &str) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>')).take(200).collect();
    let plain = plain.trim_matches(|c: char| c.is_whitespace() || ".,:;\"'\\".contains(c));
    if plain.is_empty() { otherwise.to_owned() } else { plain.to_owned() }
}
