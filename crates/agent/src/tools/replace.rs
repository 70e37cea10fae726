use std::borrow::Cow;
use std::fmt::Write;

use copydesk_forge::Workspace;
use regex::{NoExpand, Regex};

use super::change::{room_for, with_line_ends_of};
use super::schema::tool_input;
use super::search::{compile, searchable};
use super::select::{is_open, named, select};
use super::{ToolAnswer, Unable, told};
use crate::text::short;

/// How much is looked through.
const MOST_BYTES: u64 = 256 * 1024 * 1024;
const LONGEST_LINE: usize = 160;
/// How many lines of a file are shown as they read now.
const MOST_LINES: usize = 3;

tool_input! {
    /// Replaces the same text in many files, and says how often in each. Files that may not be changed are left and named.
    /// Try it with `dry_run` first if it may touch more than you mean.
    ReplaceInFiles as "replace_in_files" {
        /// The text to replace, character for character.
        old_text: String,
        /// What to put in its place; with `regex`, `$1` or `${name}` is a group and `$$` a dollar sign.
        new_text: String,
        /// Whether `old_text` is a regular expression (as in `search`; `^` and `$` are those of a line).
        regex: Option<bool>,
        /// Only this file or folder.
        folder: Option<String>,
        /// Only paths that match this glob, for example `*.mdx`.
        files: Option<String>,
        /// Leave out paths that match this glob.
        exclude: Option<String>,
        /// Only say what would be replaced.
        dry_run: Option<bool>,
    }
}

/// What is looked for.
enum Old {
    Text(String),
    Regex(Regex),
}

/// A file with the replacements made.
struct Replaced {
    path: String,
    text: String,
    places: usize,
    /// The numbers of the first lines that became others, and how they read now.
    lines: Vec<(usize, String)>,
}

pub(super) fn run(workspace: &mut Workspace, input: &ReplaceInFiles, most: usize) -> ToolAnswer {
    if input.old_text.is_empty() {
        return told("`old_text` is empty");
    }
    let old = match input.regex.unwrap_or(false) {
        true => Old::Regex(compile(&input.old_text, false)?),
        false => Old::Text(input.old_text.clone()),
    };
    let (_, paths) = select(workspace, input.folder.as_deref(), input.files.as_deref(), input.exclude.as_deref())?;
    let (mut all, mut closed, mut bytes): (Vec<Replaced>, Vec<String>, u64) = (Vec::new(), Vec::new(), 0);
    for path in paths {
        let Some(text) = searchable(workspace, &path)? else { continue };
        bytes += text.len() as u64;
        if bytes > MOST_BYTES {
            return told("there is too much to look through, and nothing was changed; name a folder");
        }
        let Some((new, places)) = replaced(&old, &text, &input.new_text) else { continue };
        if is_open(workspace, &path) {
            let lines = changed_lines(&text, &new);
            all.push(Replaced { path, text: new, places, lines });
        } else {
            closed.push(path);
        }
    }
    let is_dry = input.dry_run.unwrap_or(false);
    if !is_dry {
        let paths: Vec<&str> = all.iter().map(|file| file.path.as_str()).collect();
        room_for(workspace, &paths, most)?;
    }
    let mut said = in_words(&all, is_dry);
    if !is_dry {
        write_all(workspace, all)?;
    }
    if !closed.is_empty() {
        let closed: Vec<&str> = closed.iter().map(String::as_str).collect();
        let _ = writeln!(said, "(left, since they may not be changed: {})", named(&closed));
    }
    Ok(said)
}

/// All or none: a file that cannot be written undoes those before it.
fn write_all(workspace: &mut Workspace, all: Vec<Replaced>) -> Result<(), Unable> {
    let before = workspace.clone();
    for file in all {
        if let Err(refusal) = workspace.write(&file.path, file.text) {
            *workspace = before;
            return Err(refusal.into());
        }
    }
    Ok(())
}

/// The text with the replacements, and how many; none if there are none, or they change nothing.
fn replaced(old: &Old, text: &str, new: &str) -> Option<(String, usize)> {
    let (replaced, places) = match old {
        Old::Text(old) => {
            let (old, new) = (with_line_ends_of(text, old.clone()), with_line_ends_of(text, new.to_owned()));
            (text.replace(&old, &new), text.matches(&old).count())
        }
        Old::Regex(regex) => {
            let places = regex.find_iter(text).count();
            let replaced: Cow<'_, str> = match new.contains('$') {
                true => regex.replace_all(text, new),
                false => regex.replace_all(text, NoExpand(new)),
            };
            (replaced.into_owned(), places)
        }
    };
    (places > 0 && replaced != text).then_some((replaced, places))
}

/// The first lines that are different now, with their numbers. Where lines were added or removed, only the first is.
fn changed_lines(old: &str, new: &str) -> Vec<(usize, String)> {
    let most = if old.lines().count() == new.lines().count() { MOST_LINES } else { 1 };
    let pairs = old.lines().map(Some).chain(std::iter::repeat(None)).zip(new.lines()).enumerate();
    let changed = pairs.filter(|(_, (old, new))| *old != Some(*new)).take(most);
    changed.map(|(at, (_, new))| (at + 1, short(new, LONGEST_LINE))).collect()
}

fn in_words(all: &[Replaced], is_dry: bool) -> String {
    if all.is_empty() {
        return "Nothing to replace: no file that may be changed holds it.\n".to_owned();
    }
    let places: usize = all.iter().map(|file| file.places).sum();
    let done = if is_dry { "Would replace" } else { "Replaced" };
    let (places, files) = (counted(places, "place"), counted(all.len(), "file"));
    let mut said = format!("{done} {places} in {files}:\n");
    for file in all {
        let _ = writeln!(said, "- {}: {}", file.path, file.places);
        for (line, text) in &file.lines {
            let _ = writeln!(said, "  {line}: {text}");
        }
    }
    said
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
