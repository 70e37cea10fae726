//! Which files a tool is about, and which of them may be changed.

use copydesk_forge::{Workspace, is_kept_back};

use super::{Unable, folder_of, glob_of, told};
use crate::text::short;

/// How many paths are named where they are only named.
const MOST_NAMED: usize = 10;

/// The files below a folder, or the one file, that match `files` and not `exclude`.
pub(super) fn select(
    workspace: &Workspace,
    folder: Option<&str>,
    files: Option<&str>,
    exclude: Option<&str>,
) -> Result<(String, Vec<String>), Unable> {
    let folder = folder_of(folder)?;
    if is_kept_back(&folder) {
        return told(not_shown(&folder));
    }
    let mut paths = match workspace.entry(&folder)? {
        _ if folder.is_empty() => workspace.list("")?,
        Some(entry) if entry.kind.is_file() => vec![folder.clone()],
        Some(_) => workspace.list(&folder)?,
        None => return told(format!("there is no folder or file {:?}", short(&folder, 200))),
    };
    paths.retain(|path| !is_kept_back(path));
    let given = |pattern: Option<&str>| pattern.map(str::trim).filter(|it| !it.is_empty()).map(glob_of).transpose();
    // A pattern may be meant as it is seen from the folder.
    let matches = |glob: &globset::GlobMatcher, path: &str| {
        glob.is_match(path) || below(path, &folder).is_some_and(|rest| glob.is_match(rest))
    };
    if let Some(glob) = given(files)? {
        paths.retain(|path| matches(&glob, path));
    }
    if let Some(glob) = given(exclude)? {
        paths.retain(|path| !matches(&glob, path));
    }
    Ok((folder, paths))
}

/// What is said of a file that is kept back.
pub(super) fn not_shown(path: &str) -> String {
    format!("{:?} is not shown: it may hold secrets, or has nothing to do with documentation", short(path, 200))
}

/// The path as it is seen from the folder; none if it is the folder itself.
pub(super) fn below<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    if folder.is_empty() { Some(path) } else { path.strip_prefix(folder)?.strip_prefix('/') }
}

/// Whether a file may be changed.
pub(super) fn is_open(workspace: &Workspace, path: &str) -> bool {
    workspace.may_write(path).is_ok()
}

/// Whether a path leads into a code source: nothing there may be changed, and every model knows.
pub(super) fn is_of_source(path: &str) -> bool {
    path.starts_with('@')
}

/// Says which of these files may not be changed, if any.
pub(super) fn closed_among<'a>(workspace: &Workspace, paths: impl Iterator<Item = &'a str>) -> Option<String> {
    let closed: Vec<&str> = paths.filter(|path| !is_open(workspace, path) && !is_of_source(path)).collect();
    (!closed.is_empty()).then(|| format!("(may not be changed: {})", named(&closed)))
}

/// Names, as many as can be taken in.
pub(super) fn named(names: &[&str]) -> String {
    let shown = names.iter().take(MOST_NAMED).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MOST_NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
