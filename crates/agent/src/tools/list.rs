use std::collections::{BTreeMap, BTreeSet};

use copydesk_forge::Workspace;

use super::ToolAnswer;
use super::schema::tool_input;
use super::select::{below, is_of_source, is_open, select};

/// How many lines are shown.
const MOST: usize = 500;

tool_input! {
    /// Lists files. Where there are more than 500, or deeper ones than `depth`, folders stand with the number of files in
    /// them. What may not be changed is marked.
    ListFiles as "list_files" {
        /// Only what is below it; `@NAME` for a code source.
        folder: Option<String>,
        /// A glob, such as `docs/**/intro.md`.
        pattern: Option<String>,
        /// A glob of what to leave out.
        exclude: Option<String>,
        depth: Option<u32>,
    }
}

pub(super) fn run(workspace: &Workspace, input: &ListFiles) -> ToolAnswer {
    let (folder, paths) =
        select(workspace, input.folder.as_deref(), input.pattern.as_deref(), input.exclude.as_deref())?;
    if paths.is_empty() {
        return Ok("No files.".to_owned());
    }
    let levels = |depth: usize| Levels::of(&paths, &folder, depth);
    let shown = match input.depth {
        Some(depth) => levels((depth as usize).max(1)),
        None => {
            let deepest = paths.iter().map(|path| path.matches('/').count() + 1).max().unwrap_or(1);
            // The deepest that fits; the first level if none does.
            (1..=deepest).rev().map(levels).find(|levels| levels.count() <= MOST).unwrap_or_else(|| levels(1))
        }
    };
    Ok(shown.in_words(workspace, paths.len()))
}

/// Files down to a level, and folders with what is below it.
struct Levels<'a> {
    folders: BTreeMap<&'a str, usize>,
    files: BTreeSet<&'a str>,
}

impl<'a> Levels<'a> {
    fn of(paths: &'a [String], folder: &str, depth: usize) -> Self {
        let mut levels = Self { folders: BTreeMap::new(), files: BTreeSet::new() };
        for path in paths {
            let rest = below(path, folder).unwrap_or(path);
            match rest.match_indices('/').nth(depth - 1) {
                Some((at, _)) => *levels.folders.entry(&path[..path.len() - rest.len() + at]).or_default() += 1,
                None => _ = levels.files.insert(path),
            }
        }
        levels
    }

    fn count(&self) -> usize {
        self.folders.len() + self.files.len()
    }

    fn in_words(&self, workspace: &Workspace, all: usize) -> String {
        let folders = self.folders.iter().map(|(folder, count)| match count {
            1 => format!("{folder}/ (1 file)"),
            count => format!("{folder}/ ({count} files)"),
        });
        let files = self.files.iter().map(|path| match is_open(workspace, path) || is_of_source(path) {
            true => (*path).to_owned(),
            false => format!("{path} (may not be changed)"),
        });
        let mut lines: Vec<String> = folders.chain(files).take(MOST).collect();
        if self.count() > MOST {
            lines.push(format!("({MOST} of {} lines, {all} files in all; narrow it down)", self.count()));
        } else if !self.folders.is_empty() {
            lines.push(format!("({all} files in all)"));
        }
        lines.join("\n")
    }
}
