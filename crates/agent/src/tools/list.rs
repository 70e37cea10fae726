use copydesk_forge::Workspace;

use super::schema::tool_input;
use super::{ToolAnswer, files_below, folder_of, glob_of};

/// How many paths are shown.
const MOST: usize = 500;

tool_input! {
    /// Lists files of the repository by path. At most 500 are shown; narrow it down by folder and pattern.
    ListFiles as "list_files" {
        /// Only files below this folder, for example `docs/guides`. All files if left out.
        folder: Option<String>,
        /// Only paths that match this glob, for example `*.mdx` or `docs/**/intro.md`.
        pattern: Option<String>,
    }
}

pub(super) fn run(workspace: &Workspace, input: &ListFiles) -> ToolAnswer {
    let folder = folder_of(input.folder.as_deref())?;
    let mut paths = files_below(workspace, &folder)?;
    if let Some(pattern) = input.pattern.as_deref().filter(|pattern| !pattern.trim().is_empty()) {
        let glob = glob_of(pattern)?;
        paths.retain(|path| glob.is_match(path) || below(path, &folder).is_some_and(|rest| glob.is_match(rest)));
    }
    if paths.is_empty() {
        return Ok("No files.".to_owned());
    }
    let count = paths.len();
    paths.truncate(MOST);
    let note = if count > MOST { format!("\n({MOST} of {count} files; narrow it down)") } else { String::new() };
    Ok(format!("{}{note}", paths.join("\n")))
}

/// The path as it is seen from the folder, since that is how a pattern may be meant.
fn below<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    if folder.is_empty() { None } else { path.strip_prefix(folder)?.strip_prefix('/') }
}
