use std::collections::BTreeSet;

use copydesk_forge::Workspace;

use super::schema::tool_input;
use super::{ToolAnswer, Unable, told};
use crate::text::counted;

tool_input! {
    /// Writes a whole text file, new or not. Use `edit_file` to change a part of a file.
    WriteFile as "write_file" {
        path: String,
        text: String,
    }
}

pub(super) fn write(workspace: &mut Workspace, input: WriteFile, most: usize) -> ToolAnswer {
    let path = workspace.may_write(&input.path)?;
    room_for(workspace, &[&path], most)?;
    let before = match workspace.entry(&path)? {
        Some(entry) if entry.kind.is_file() => Some(workspace.text(&path)?),
        _ => None,
    };
    let text = match &before {
        Some(before) => with_line_ends_of(before, input.text),
        None => input.text,
    };
    let lines = counted(text.lines().count(), "line");
    let done = if before.is_some() { "Replaced" } else { "Wrote" };
    workspace.write(&path, text)?;
    Ok(format!("{done} {path}, {lines}."))
}

/// The text with the line ends of the one it replaces, so that a change is not larger than it is meant to be.
pub(super) fn with_line_ends_of(before: &str, text: String) -> String {
    if before.contains("\r\n") && !text.contains('\r') { text.replace('\n', "\r\n") } else { text }
}

/// Refuses what would change more than `most` files. What was changed before may be changed further.
pub(super) fn room_for(workspace: &Workspace, paths: &[&str], most: usize) -> Result<(), Unable> {
    let mut changed: BTreeSet<&str> = workspace.changed_paths().collect();
    let before = changed.len();
    for path in paths {
        changed.insert(path);
    }
    if changed.len() <= most.max(before) {
        return Ok(());
    }
    told(format!(
        "this would change {} files, but at most {most} may be changed. Go on with files that you have changed already, \
         undo a change that matters less, or call `finish` and say what is left to do",
        changed.len()
    ))
}
