use std::fmt::Write;

use copydesk_forge::{Refusal, Workspace, is_kept_back};

use super::schema::tool_input;
use super::select::{is_of_source, not_shown};
use super::{ToolAnswer, Unable, places, told};
use crate::sources::CodeSources;
use crate::text::{counted, short};

/// How many lines are shown at once.
const MOST_LINES: usize = 2_000;
/// The most bytes of a line.
const LONGEST_LINE: usize = 4_000;
/// The most bytes of an answer; more than that of other tools, since pages are long.
pub(super) const LONGEST_ANSWER: usize = 50_000;

tool_input! {
    /// Reads a text file, at most 2000 lines at once. The number, colon and space before each line are not part of it.
    ReadFile as "read_file" {
        /// In a code source it begins with `@NAME/`.
        path: String,
        from_line: Option<u32>,
        to_line: Option<u32>,
    }
}

tool_input! {
    /// Reads several text files at once, as `read_file` does. Long ones are cut, so that all fit.
    ReadFiles as "read_files" {
        /// At most 20.
        paths: Vec<String>,
    }
}

/// How many files are read at once.
const MOST_FILES: usize = 20;

pub(super) fn several(workspace: &Workspace, sources: &CodeSources, input: &ReadFiles) -> ToolAnswer {
    match input.paths.len() {
        0 => return told("`paths` is empty"),
        1..=MOST_FILES => {}
        count => return told(format!("{count} files are too many; at most {MOST_FILES} are read at once")),
    }
    let share = LONGEST_ANSWER / input.paths.len() - 200;
    let mut text = String::new();
    for path in &input.paths {
        let read = ReadFile { path: path.clone(), from_line: None, to_line: None };
        let part = places::files(workspace, sources, Some(path)).and_then(|files| run_within(files, &read, share));
        let part = match part {
            Ok(part) => part,
            Err(Unable::Told(why)) => format!("Error: {why}\n"),
            Err(unreadable) => return Err(unreadable),
        };
        let _ = writeln!(text, "=== {} ===\n{part}", short(path, 300));
    }
    Ok(text)
}

pub(super) fn run(workspace: &Workspace, input: &ReadFile) -> ToolAnswer {
    run_within(workspace, input, LONGEST_ANSWER)
}

fn run_within(workspace: &Workspace, input: &ReadFile, most: usize) -> ToolAnswer {
    if is_kept_back(&input.path) {
        return told(not_shown(&input.path));
    }
    let text = workspace.text(&input.path)?;
    if text.is_empty() {
        return Ok("(The file is empty.)".to_owned());
    }
    let count = text.lines().count();
    let from = input.from_line.map_or(1, |line| line as usize).max(1);
    let to = input.to_line.map_or(count, |line| line as usize).min(count);
    if from > count {
        return told(format!("{:?} has only {}", input.path, counted(count, "line")));
    }
    if to < from {
        return told(format!("line {to} is before line {from}"));
    }
    let (shown, last) = number_lines(&text, from, to, most);
    let mut note = String::new();
    if let Err(Refusal::Refused(why)) = workspace.may_write(&input.path)
        && !is_of_source(&input.path)
    {
        let _ = writeln!(note, "(may not be changed: {why})");
    }
    if last < to || from > 1 || to < count {
        let _ = writeln!(note, "(lines {from} to {last} of {count})");
    }
    Ok(format!("{note}{shown}"))
}

/// The lines with their numbers, as many as fit, and the last one that did.
fn number_lines(text: &str, from: usize, to: usize, most: usize) -> (String, usize) {
    let mut shown = String::new();
    let mut last = from;
    let lines = text.lines().enumerate().skip(from - 1).take(MOST_LINES.min(to + 1 - from));
    for (at, line) in lines {
        if shown.len() + line.len().min(LONGEST_LINE) + 400 > most && at + 1 > from {
            break;
        }
        // Writing to a string cannot fail.
        let _ = writeln!(shown, "{}: {}", at + 1, short(line, LONGEST_LINE));
        last = at + 1;
    }
    (shown, last)
}
