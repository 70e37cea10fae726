use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use copydesk_domain::git_ref;

use crate::CommitId;

/// A file of packed references larger than this is left to git.
const LARGEST_REFS: u64 = 16 * 1024 * 1024;

/// Where a branch is in a repository on this machine.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Tip {
    At(CommitId),
    /// The repository has no such branch.
    Missing,
    /// The repository is not of the plain kind that is read here: ask git.
    Unknown,
}

/// Reads a branch without starting git, which takes longer than all the rest of a small job. `branch` must be a valid
/// name: that is what keeps it inside the repository.
pub(crate) fn tip(repository: &Path, branch: &str) -> Tip {
    let Some(folder) = git_folder(repository) else {
        return Tip::Unknown;
    };
    let name = format!("refs/heads/{branch}");
    match read_bounded(&folder.join(&name)) {
        Ok(text) => return text.trim_end().parse().map_or(Tip::Unknown, Tip::At),
        Err(error) if is_absence(&error) => {}
        Err(_) => return Tip::Unknown,
    }
    // Git writes the packed file before it removes the loose one, so a branch is never in neither.
    match read_bounded(&folder.join("packed-refs")) {
        Ok(text) => packed(&text, &name),
        Err(error) if is_absence(&error) => Tip::Missing,
        Err(_) => Tip::Unknown,
    }
}

/// The branch that `HEAD` stands for, if it stands for one and is kept in the plain way.
pub(crate) fn head(repository: &Path) -> Option<String> {
    let text = read_bounded(&git_folder(repository)?.join("HEAD")).ok()?;
    git_ref("branch", text.trim_end().strip_prefix("ref: refs/heads/")?).ok()
}

fn packed(text: &str, name: &str) -> Tip {
    for line in text.lines() {
        if let Some((id, found)) = line.split_once(' ')
            && found == name
        {
            return id.parse().map_or(Tip::Unknown, Tip::At);
        }
    }
    Tip::Missing
}

/// The folder with git's own files, if it is one that holds references as plain files.
fn git_folder(repository: &Path) -> Option<PathBuf> {
    let inner = repository.join(".git");
    // A file here leads elsewhere, as in a linked work tree.
    let folder = if inner.symlink_metadata().is_ok() { inner } else { repository.to_owned() };
    let has = |name: &str| folder.join(name).symlink_metadata().is_ok();
    let plain = folder.is_dir() && has("HEAD") && has("objects") && has("refs");
    (plain && !has("reftable") && !has("commondir")).then_some(folder)
}

fn read_bounded(path: &Path) -> io::Result<String> {
    // Asked before it is opened: opening a pipe would wait for somebody to write to it.
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(if metadata.is_dir() { io::ErrorKind::IsADirectory } else { io::ErrorKind::InvalidData }.into());
    }
    let mut text = String::new();
    fs::File::open(path)?.take(LARGEST_REFS + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST_REFS { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(text) }
}

fn is_absence(error: &io::Error) -> bool {
    use io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | IsADirectory)
}
