use std::collections::HashSet;
use std::fmt::Write;

use copydesk_forge::Workspace;

use super::change::{room_for, with_line_ends_of};
use super::schema::tool_input;
use super::{ToolAnswer, told};
use crate::text::short;

/// How many lines of the file are shown around a place.
const AROUND: usize = 2;
const LONGEST_LINE: usize = 300;
/// How alike two lines must be to be named as near, in hundredths.
const NEAR: usize = 50;

tool_input! {
    /// Replaces text in a file. `old_text` must be in the file exactly once, character for character, with its
    /// indentation and line breaks and without line numbers; give some lines around it if it is not unique.
    EditFile as "edit_file" {
        /// The path of the file, relative to the repository.
        path: String,
        /// The text to replace.
        old_text: String,
        /// What to put in its place. Empty to remove it.
        new_text: String,
        /// Whether to replace all places where `old_text` is, instead of exactly one.
        replace_all: Option<bool>,
    }
}

pub(super) fn run(workspace: &mut Workspace, input: &EditFile, most: usize) -> ToolAnswer {
    let path = workspace.may_write(&input.path)?;
    room_for(workspace, &[&path], most)?;
    let text = workspace.text(&path)?;
    if input.old_text.is_empty() {
        return told("`old_text` is empty; use `write_file` to write a whole file");
    }
    let old = with_line_ends_of(&text, input.old_text.clone());
    let new = with_line_ends_of(&text, input.new_text.clone());
    if old == new {
        return told("`old_text` and `new_text` are the same");
    }
    let places: Vec<usize> = text.match_indices(&old).map(|(at, _)| at).collect();
    let all = input.replace_all.unwrap_or(false);
    match places.as_slice() {
        [] => told(not_found(&path, &text, &old)),
        [first, rest @ ..] if rest.is_empty() || all => {
            let line = line_of(&text, *first);
            let replaced = if all { text.replace(&old, &new) } else { text.replacen(&old, &new, 1) };
            let shown = show(&replaced, line, new.lines().count().max(1));
            workspace.write(&path, replaced)?;
            Ok(format!("Edited {path} at {}. It reads now:\n{shown}", count(places.len())))
        }
        _ => {
            let lines: Vec<String> = places.iter().take(10).map(|at| line_of(&text, *at).to_string()).collect();
            told(format!(
                "`old_text` is in {path} {} times, at lines {}; give more of the lines around the one you mean, or set \
                 `replace_all`",
                places.len(),
                lines.join(", ")
            ))
        }
    }
}

fn count(places: usize) -> String {
    if places == 1 { "1 place".to_owned() } else { format!("{places} places") }
}

/// The line, from 1, in which a byte is.
fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

/// Some lines from `line` on, and what is around them, with numbers.
fn show(text: &str, line: usize, lines: usize) -> String {
    let from = line.saturating_sub(AROUND + 1);
    let most = lines.min(12) + 2 * AROUND;
    let mut shown = String::new();
    for (at, line) in text.lines().enumerate().skip(from).take(most) {
        let _ = writeln!(shown, "{}: {}", at + 1, short(line, LONGEST_LINE));
    }
    shown
}

/// Says that the text is not there, and what is there that comes near.
fn not_found(path: &str, text: &str, old: &str) -> String {
    let wanted: Vec<&str> = old.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let Some(wanted) = wanted.iter().max_by_key(|line| line.len().min(200)) else {
        return format!("`old_text` is nothing but white space, and not in {path} as it is");
    };
    let offset = old.lines().position(|line| line.trim() == *wanted).unwrap_or(0);
    match nearest(text, wanted) {
        Some(line) => format!(
            "`old_text` is not in {path}. It must fit character for character, without line numbers. What comes near:\n{}",
            show(text, line.saturating_sub(offset).max(1), old.lines().count().max(1))
        ),
        None => format!("`old_text` is not in {path}, and nothing in it comes near. Read the file first."),
    }
}

/// The line, from 1, that is most like the one that is wanted.
fn nearest(text: &str, wanted: &str) -> Option<usize> {
    let pairs = pairs_of(wanted);
    let mut best = None;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        let alike = if line == wanted { 100 } else { likeness(&pairs, &pairs_of(line)) };
        if alike >= NEAR && best.is_none_or(|(most, _)| alike > most) {
            best = Some((alike, at + 1));
        }
    }
    best.map(|(_, line)| line)
}

/// The pairs of adjacent characters of the beginning of a line, regardless of case.
fn pairs_of(line: &str) -> HashSet<(char, char)> {
    let chars: Vec<char> = line.chars().take(200).flat_map(char::to_lowercase).filter(|c| !c.is_whitespace()).collect();
    chars.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.get(1)?))).collect()
}

/// How many of the pairs two lines share, in hundredths of what they have on average.
fn likeness(one: &HashSet<(char, char)>, other: &HashSet<(char, char)>) -> usize {
    let shared = one.intersection(other).count();
    (200 * shared).checked_div(one.len() + other.len()).unwrap_or(0)
}
