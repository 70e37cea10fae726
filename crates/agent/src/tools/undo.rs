use copydesk_forge::Workspace;

use super::schema::tool_input;
use super::select::named;
use super::{ToolAnswer, told};

tool_input! {
    /// Brings a file back to what it was before you changed it. For a file that you moved, do it for both paths.
    RestoreFile as "restore_file" {
        path: String,
    }
}

tool_input! {
    /// Shows what you have changed so far, as a difference: of one file, or of all.
    ShowDiff as "show_diff" {
        /// A file or folder.
        path: Option<String>,
    }
}

pub(super) fn restore(workspace: &mut Workspace, input: &RestoreFile) -> ToolAnswer {
    let path = workspace.may_write(&input.path)?;
    if !workspace.changed_paths().any(|changed| changed == path) {
        return told(format!("{path} has not been changed. {}", changed(workspace)));
    }
    let was_there = workspace.base().entry(&path)?.is_some();
    workspace.restore(&path);
    Ok(if was_there { format!("{path} is as it was.") } else { format!("{path} is gone: it was new.") })
}

pub(super) fn diff(workspace: &Workspace, input: &ShowDiff) -> ToolAnswer {
    let wanted = super::folder_of(input.path.as_deref())?;
    let is_wanted = |path: &str| {
        wanted.is_empty() || path.strip_prefix(&wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if !workspace.changed_paths().any(is_wanted) {
        return Ok(if wanted.is_empty() { "Nothing is changed.".to_owned() } else { changed(workspace) });
    }
    Ok(workspace.diff(&is_wanted)?)
}

fn changed(workspace: &Workspace) -> String {
    let paths: Vec<&str> = workspace.changed_paths().collect();
    if paths.is_empty() { "Nothing is changed.".to_owned() } else { format!("Changed: {}.", named(&paths)) }
}
