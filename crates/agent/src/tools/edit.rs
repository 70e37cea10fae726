use std::collections::HashSet;
use std::fmt::Write;
use std::ops::Range;

use copydesk_forge::Workspace;
use serde_json::{Value, json};

use super::change::{room_for, with_line_ends_of};
use super::schema::{Described, tool_input};
use super::{ToolAnswer, Unable, told};
use crate::text::short;

/// How many lines of the file are shown around a place.
const AROUND: usize = 2;
/// How many lines of a place are shown at its beginning and at its end, and how many places.
const MOST_SHOWN: (usize, usize) = (8, 3);
const MOST_PLACES: usize = 20;
const LONGEST_LINE: usize = 300;
/// How many edits a call may hold.
const MOST_EDITS: usize = 100;
/// How alike two lines must be to be named as near, in hundredths.
const NEAR: usize = 50;

tool_input! {
    /// Changes a part of a file, by text or by lines. By text: `old_text` must be in the file exactly once, character for
    /// character, without line numbers; add lines around it if it is not unique. By lines, for long parts: lines
    /// `from_line` to `to_line` are replaced, and `first_line` and `last_line` must be what these two say now. Several
    /// edits go into `edits`: all are about the file as it is before the call, and all are made or none.
    EditFile as "edit_file" {
        path: String,
        old_text: Option<String>,
        /// Empty to remove it. With lines it needs no line break at its end.
        new_text: Option<String>,
        /// Wherever `old_text` is.
        replace_all: Option<bool>,
        from_line: Option<u32>,
        to_line: Option<u32>,
        first_line: Option<String>,
        last_line: Option<String>,
        /// Instead of the fields above.
        edits: Option<Vec<Edit>>,
    }
}

tool_input! {
    /// One of several edits of a file.
    Edit as "edit" {
        old_text: Option<String>,
        /// Empty to remove it. With lines it needs no line break at its end.
        new_text: Option<String>,
        /// Wherever `old_text` is.
        replace_all: Option<bool>,
        from_line: Option<u32>,
        to_line: Option<u32>,
        first_line: Option<String>,
        last_line: Option<String>,
    }
}

impl Described for Vec<Edit> {
    fn schema() -> Value {
        let mut one = Edit::definition().schema;
        // The same words stand beside the same names above.
        for field in one["properties"].as_object_mut().into_iter().flat_map(serde_json::Map::values_mut) {
            field.as_object_mut().map(|field| field.remove("description"));
        }
        json!({"type": "array", "items": one})
    }
}

/// A part of the text and what takes its place.
type Change = (Range<usize>, String);

pub(super) fn run(workspace: &mut Workspace, input: EditFile, most: usize) -> ToolAnswer {
    let EditFile { path, old_text, new_text, replace_all, from_line, to_line, first_line, last_line, edits } = input;
    let path = workspace.may_write(&path)?;
    room_for(workspace, &[&path], most)?;
    let text = workspace.text(&path)?;
    let single = Edit { old_text, new_text, replace_all, from_line, to_line, first_line, last_line };
    let changes = match edits.filter(|edits| !edits.is_empty()) {
        None => changes_of(&path, &text, &single)?,
        Some(_) if !single.is_empty() => {
            return told("give either `edits` or the fields of a single edit, not both");
        }
        Some(edits) if edits.len() > MOST_EDITS => return told(format!("at most {MOST_EDITS} edits go into a call")),
        Some(edits) => {
            let mut all = Vec::new();
            for (number, edit) in edits.iter().enumerate() {
                let found = changes_of(&path, &text, edit);
                all.extend(found.map_err(|unable| match unable {
                    Unable::Told(why) => Unable::Told(format!("nothing was changed; edit {}: {why}", number + 1)),
                    other => other,
                })?);
            }
            all
        }
    };
    let (edited, places) = apply(&text, changes)?;
    if edited == text {
        return told("this leaves the file as it is");
    }
    let shown = show_places(&edited, &places);
    workspace.write(&path, edited)?;
    Ok(format!("Edited {path} at {}. It reads now:\n{shown}", count(places.len())))
}

impl Edit {
    fn is_empty(&self) -> bool {
        let Self { old_text, new_text, replace_all, from_line, to_line, first_line, last_line } = self;
        [old_text, new_text, first_line, last_line].into_iter().all(Option::is_none)
            && [from_line, to_line].into_iter().all(Option::is_none)
            && replace_all.is_none()
    }

    fn is_by_lines(&self) -> bool {
        self.from_line.is_some() || self.to_line.is_some() || self.first_line.is_some() || self.last_line.is_some()
    }
}

/// What an edit changes in the text.
fn changes_of(path: &str, text: &str, edit: &Edit) -> Result<Vec<Change>, Unable> {
    let Some(new) = &edit.new_text else { return told("`new_text` is missing") };
    let new = with_line_ends_of(text, new.clone());
    match &edit.old_text {
        Some(_) if edit.is_by_lines() => told("give either `old_text` or lines, not both"),
        Some(old) => by_text(path, text, &with_line_ends_of(text, old.clone()), new, edit.replace_all.unwrap_or(false)),
        None if edit.is_by_lines() => by_lines(path, text, edit, new).map(|change| vec![change]),
        None => told("`old_text` is missing, or `from_line` and `to_line`"),
    }
}

fn by_text(path: &str, text: &str, old: &str, new: String, all: bool) -> Result<Vec<Change>, Unable> {
    if old.is_empty() {
        return told("`old_text` is empty; use `write_file` to write a whole file");
    }
    if old == new {
        return told("`old_text` and `new_text` are the same");
    }
    let places: Vec<usize> = text.match_indices(old).map(|(at, _)| at).collect();
    match places.as_slice() {
        [] => told(not_found(path, text, old)),
        [_, rest @ ..] if rest.is_empty() || all => {
            Ok(places.into_iter().map(|at| (at..at + old.len(), new.clone())).collect())
        }
        _ => {
            let lines: Vec<String> = places.iter().take(10).map(|at| line_of(text, *at).to_string()).collect();
            told(format!(
                "`old_text` is in {path} {} times, at lines {}; give more of the lines around the one you mean, or set \
                 `replace_all`",
                places.len(),
                lines.join(", ")
            ))
        }
    }
}

fn by_lines(path: &str, text: &str, edit: &Edit, mut new: String) -> Result<Change, Unable> {
    let (Some(from), Some(to)) = (edit.from_line, edit.to_line.or(edit.from_line)) else {
        return told("`from_line` is missing");
    };
    let (from, to) = (from as usize, to as usize);
    let lines: Vec<Range<usize>> = line_ranges(text);
    if from == 0 || to < from || to > lines.len() {
        return told(format!("{path} has the lines 1 to {}, and {from} to {to} are not among them", lines.len()));
    }
    let guards = [("first_line", from, &edit.first_line), ("last_line", to, &edit.last_line)];
    for (name, number, said) in guards {
        let now = text[lines[number - 1].clone()].trim_end_matches(['\r', '\n']);
        // One line is its first and its last.
        let said = said.as_ref().or(if from == to { edit.first_line.as_ref() } else { None });
        let Some(said) = said else { return told(format!("`{name}` is missing: say what line {number} says now")) };
        if said.trim() != now.trim() {
            return told(format!(
                "line {number} of {path} is not what `{name}` says. It is:\n{}",
                short(now, LONGEST_LINE)
            ));
        }
    }
    let range = lines[from - 1].start..lines[to - 1].end;
    // Whoever replaces a part with the empty line behind it and ends with one line break means to keep that line: to lose
    // it makes one paragraph of two.
    let ended_empty = text[lines[to - 1].clone()].trim().is_empty();
    if ended_empty && new.ends_with('\n') && !new.trim_end_matches(['\r', '\n']).is_empty() {
        let line_end = if new.ends_with("\r\n") { "\r\n" } else { "\n" };
        if !new.ends_with(&line_end.repeat(2)) {
            new.push_str(line_end);
        }
    }
    // What stood on lines of its own does so again.
    if !new.is_empty() && text[range.clone()].ends_with('\n') && !new.ends_with('\n') {
        new.push_str(if text[range.clone()].ends_with("\r\n") { "\r\n" } else { "\n" });
    }
    Ok((range, new))
}

/// Each line with its end.
fn line_ranges(text: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    let range = |line: &str| {
        start += line.len();
        start - line.len()..start
    };
    text.split_inclusive('\n').map(range).collect()
}

/// The text with the changes, and the lines that are new in it: the first, and how many.
fn apply(text: &str, mut changes: Vec<Change>) -> Result<(String, Vec<(usize, usize)>), Unable> {
    changes.sort_by_key(|(range, _)| (range.start, range.end));
    let (mut edited, mut places, mut at) = (String::with_capacity(text.len()), Vec::new(), 0);
    for (range, new) in &changes {
        if range.start < at {
            return told(format!("two edits are about the same text, at line {}", line_of(text, range.start)));
        }
        edited.push_str(&text[at..range.start]);
        places.push((line_of(&edited, edited.len()), new.lines().count().max(1)));
        edited.push_str(new);
        at = range.end;
    }
    edited.push_str(&text[at..]);
    Ok((edited, places))
}

fn count(places: usize) -> String {
    if places == 1 { "1 place".to_owned() } else { format!("{places} places") }
}

/// The line, from 1, in which a byte is.
fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

/// The places with what is around them, as many as can be taken in.
fn show_places(text: &str, places: &[(usize, usize)]) -> String {
    let mut shown = String::new();
    let mut until = 0;
    for (line, lines) in places.iter().take(MOST_PLACES) {
        if line + lines <= until + 1 {
            // It was shown with the one before.
            continue;
        }
        if until > 0 && *line > until + AROUND + 1 {
            shown.push_str("--\n");
        }
        shown.push_str(&show(text, *line, *lines, until));
        until = line + lines - 1 + AROUND;
    }
    if until >= text.lines().count() {
        shown.push_str("(the end of the file)\n");
    }
    if places.len() > MOST_PLACES {
        let _ = writeln!(shown, "(and {} more places)", places.len() - MOST_PLACES);
    }
    shown
}

/// Some lines from `line` on, and what is around them, with numbers; of many, the beginning and the end. Those up to
/// `until` were shown before.
fn show(text: &str, line: usize, lines: usize, until: usize) -> String {
    let from = line.saturating_sub(AROUND + 1).max(until);
    let to = line - 1 + lines + AROUND;
    let (head, tail) = MOST_SHOWN;
    let left_out =
        if to - from > head + tail + 2 * AROUND + 1 { from + head + AROUND..to - tail - AROUND } else { 0..0 };
    let mut shown = String::new();
    for (at, line) in text.lines().enumerate().take(to).skip(from) {
        if at == left_out.start && !left_out.is_empty() {
            let _ = writeln!(shown, "… ({} lines)", left_out.len());
        }
        if !left_out.contains(&at) {
            let _ = writeln!(shown, "{}: {}", at + 1, short(line, LONGEST_LINE));
        }
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
            show(text, line.saturating_sub(offset).max(1), old.lines().count().max(1), 0)
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
