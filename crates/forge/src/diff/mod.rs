//! What is different between two trees, in git's own format.

mod compare;
mod rename;
mod unified;

use std::io;

use gix_hash::ObjectId;
use serde::{Deserialize, Serialize};

use crate::objects::Objects;

/// The most bytes of text in a difference; files that would exceed it are counted but not shown.
pub const LONGEST_DIFF: usize = 4 * 1024 * 1024;
/// The most files in a difference.
pub const MOST_DIFF_FILES: usize = 5000;

/// A difference as git shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diff {
    /// The text, ready for `git apply`.
    pub text: Vec<u8>,
    /// The files, sorted by path.
    pub files: Vec<FileSummary>,
    /// Whether text or files were left out because there were too many.
    pub truncated: bool,
}

/// One file of a difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileSummary {
    /// The path; of a file that is gone, where it was.
    pub path: String,
    /// Where it was, if it was renamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    pub added: u32,
    pub removed: u32,
    pub kind: DiffKind,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiffKind {
    Added,
    /// Its content or mode is different.
    Changed,
    Deleted,
    /// It has another path, and perhaps other content.
    Renamed,
}

/// One file on both sides.
struct Pair {
    path: String,
    old_path: Option<String>,
    old: Option<Side>,
    new: Option<Side>,
}

/// A file on one side.
struct Side {
    mode: u16,
    content: Content,
}

enum Content {
    Blob(ObjectId),
    Bytes(Vec<u8>),
}

/// Two states of a file; none where it was not, or is not any more.
pub(crate) type States = (Option<Vec<u8>>, Option<Vec<u8>>);

/// What is different in files, without their modes and ids. What was moved is shown under its new path, and only those are
/// shown that are `wanted`.
pub(crate) fn between_texts(files: Vec<(String, States)>, wanted: &dyn Fn(&str) -> bool) -> io::Result<String> {
    const MODE: u16 = 0o100_644;
    let side = |content: Option<Vec<u8>>| content.map(|bytes| Side { mode: MODE, content: Content::Bytes(bytes) });
    let pair = |(path, (old, new))| Pair { path, old_path: None, old: side(old), new: side(new) };
    let mut pairs: Vec<Pair> = files.into_iter().map(pair).collect();
    rename::pair_up(&mut pairs, &|_| Ok(None))?;
    pairs.retain(|pair| wanted(&pair.path) || pair.old_path.as_deref().is_some_and(wanted));
    Ok(pairs.iter().map(unified::texts).collect())
}

/// The difference between two trees of a mirror.
pub(crate) fn between(objects: &Objects, from: &ObjectId, to: &ObjectId) -> io::Result<Diff> {
    let (pairs, truncated) = compare::trees(objects, from, to)?;
    render(pairs, truncated, &|id| compare::load(objects, id))
}

/// How many files of a difference are told of without their text.
const MOST_LEFT_OUT: usize = 200;

/// One file of a difference with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    pub summary: FileSummary,
    /// Its part of the difference; none where there was no room for it any more.
    pub text: Option<String>,
}

/// The difference between two trees file by file, sorted by path, and whether there are more files than are given. Files
/// that are not `shown` are left out, also as what another was renamed from.
pub(crate) fn by_file(
    objects: &Objects,
    from: &ObjectId,
    to: &ObjectId,
    shown: &dyn Fn(&str) -> bool,
    wanted: &dyn Fn(&str) -> bool,
) -> io::Result<(Vec<FileDiff>, bool)> {
    let (mut pairs, truncated) = compare::trees(objects, from, to)?;
    let load: Load = &|id| compare::load(objects, id);
    pairs.retain(|pair| shown(&pair.path));
    rename::pair_up(&mut pairs, load)?;
    pairs.retain(|pair| wanted(&pair.path) || pair.old_path.as_deref().is_some_and(wanted));
    pairs.sort_by(|a, b| a.path.cmp(&b.path));
    let (mut files, mut bytes, mut left_out) = (Vec::with_capacity(pairs.len()), 0, 0);
    for pair in &pairs {
        // What comes after is not even compared: there would be no end to it.
        if left_out >= MOST_LEFT_OUT {
            return Ok((files, true));
        }
        let (text, summary) = unified::file(pair, load)?;
        let fits = bytes + text.len() <= LONGEST_DIFF;
        bytes += if fits { text.len() } else { 0 };
        left_out += usize::from(!fits);
        files.push(FileDiff { summary, text: fits.then(|| String::from_utf8_lossy(&text).into_owned()) });
    }
    Ok((files, truncated))
}

/// Gets a blob; none if it is too large to be shown.
type Load<'a> = &'a dyn Fn(&ObjectId) -> io::Result<Option<Vec<u8>>>;

fn render(mut pairs: Vec<Pair>, truncated: bool, load: Load) -> io::Result<Diff> {
    rename::pair_up(&mut pairs, load)?;
    pairs.sort_by(|a, b| a.path.cmp(&b.path));
    let mut diff = Diff { truncated, ..Diff::default() };
    for pair in &pairs {
        let (text, summary) = unified::file(pair, load)?;
        if diff.text.len() + text.len() > LONGEST_DIFF {
            diff.truncated = true;
        } else {
            diff.text.extend_from_slice(&text);
        }
        diff.files.push(summary);
    }
    Ok(diff)
}

impl Content {
    /// The bytes; none if there are too many to be shown.
    fn bytes(&self, load: Load) -> io::Result<Option<Vec<u8>>> {
        match self {
            Self::Blob(id) => load(id),
            Self::Bytes(bytes) => Ok(Some(bytes.clone())),
        }
    }
}
