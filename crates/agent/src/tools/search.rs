use std::collections::BTreeMap;
use std::fmt::Write;

use copydesk_forge::{LARGEST_TEXT, Workspace};
use regex::{Regex, RegexBuilder};
use serde_json::{Value, json};

use super::schema::{Described, tool_input};
use super::select::{closed_among, select};
use super::{LONGEST_ANSWER, ToolAnswer, Unable, told};
use crate::text::short;

/// How many lines that match are shown, and how many files where only files are.
const MOST_MATCHES: usize = 100;
const MOST_SHOWN_FILES: usize = 500;
/// How many lines around a match may be shown.
const MOST_CONTEXT: usize = 10;
const LONGEST_LINE: usize = 400;
/// How many folders are named with what is left in them.
const MOST_FOLDERS: usize = 15;
/// How much is looked through. By size and not by time, so that the same search always ends at the same place.
const MOST_FILES: usize = 50_000;
const MOST_BYTES: u64 = 256 * 1024 * 1024;

tool_input! {
    /// Searches text files line by line. Shows at most 100 lines, and where and how many more there are.
    Search as "search" {
        /// A regular expression as in RE2.
        pattern: String,
        /// A file or folder; `@NAME` for a code source, which is not searched otherwise.
        folder: Option<String>,
        /// A glob, such as `*.mdx`.
        files: Option<String>,
        /// A glob of what to leave out, such as `docs/old/**`.
        exclude: Option<String>,
        ignore_case: Option<bool>,
        /// Lines around each match, at most 10.
        context: Option<u32>,
        /// Lines by default, or only what matches of them, how many match in each file, or only paths.
        show: Option<Show>,
    }
}

/// What is shown of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Show {
    Lines,
    Matches,
    Counts,
    Files,
}

impl Described for Show {
    fn schema() -> Value {
        json!({"type": "string", "enum": ["lines", "matches", "counts", "files"]})
    }
}

pub(super) fn run(workspace: &Workspace, input: &Search) -> ToolAnswer {
    let regex = compile(&input.pattern, input.ignore_case.unwrap_or(false))?;
    let show = input.show.unwrap_or(Show::Lines);
    let (_, paths) = select(workspace, input.folder.as_deref(), input.files.as_deref(), input.exclude.as_deref())?;
    let context = input.context.map_or(0, |lines| (lines as usize).min(MOST_CONTEXT));
    let mut found = Found { show, context, ..Found::default() };
    let (mut looked, mut bytes) = (0, 0);
    for path in &paths {
        if looked == MOST_FILES || bytes > MOST_BYTES {
            break;
        }
        looked += 1;
        let Some(text) = searchable(workspace, path)? else { continue };
        bytes += text.len() as u64;
        if regex.is_match(&text) {
            found.add(path, &text, &regex);
        }
    }
    Ok(found.in_words(workspace, paths.len() - looked))
}

/// A regular expression of a model. `^` and `$` are those of a line, since it is lines that are shown.
pub(super) fn compile(pattern: &str, ignore_case: bool) -> Result<Regex, Unable> {
    if pattern.is_empty() || pattern.len() > 1_000 {
        return told("the pattern must have 1 to 1000 bytes");
    }
    RegexBuilder::new(pattern)
        .case_insensitive(ignore_case)
        .multi_line(true)
        .size_limit(2 * 1024 * 1024)
        .dfa_size_limit(8 * 1024 * 1024)
        .build()
        .map_err(|error| {
            Unable::Told(format!("the pattern is not a regular expression: {}", short(&error.to_string(), 400)))
        })
}

/// The text of a file, unless it is too large or not text.
pub(super) fn searchable(workspace: &Workspace, path: &str) -> Result<Option<String>, Unable> {
    let Some(content) = workspace.read(path)? else { return Ok(None) };
    if content.len() as u64 > LARGEST_TEXT || content.contains(&0) {
        return Ok(None);
    }
    Ok(String::from_utf8(content).ok())
}

/// The part of a long line in which the match is.
fn around(line: &str, regex: &Regex) -> String {
    let start = regex.find(line).map_or(0, |found| found.start().saturating_sub(LONGEST_LINE / 4));
    if line.len() <= LONGEST_LINE || start == 0 {
        return short(line, LONGEST_LINE);
    }
    format!("…{}", short(&line[line.ceil_char_boundary(start)..], LONGEST_LINE))
}

struct Found {
    show: Show,
    context: usize,
    text: String,
    /// Lines of the answer that stand for matches.
    shown: usize,
    /// The files that something is shown of.
    files: Vec<String>,
    /// Matching lines that are not shown, by folder, and the files that they are in.
    left: BTreeMap<String, usize>,
    left_files: usize,
}

impl Default for Found {
    fn default() -> Self {
        Self {
            show: Show::Lines,
            context: 0,
            text: String::new(),
            shown: 0,
            files: Vec::new(),
            left: BTreeMap::new(),
            left_files: 0,
        }
    }
}

impl Found {
    fn is_full(&self) -> bool {
        let most = if matches!(self.show, Show::Lines | Show::Matches) { MOST_MATCHES } else { MOST_SHOWN_FILES };
        self.shown >= most || self.text.len() > LONGEST_ANSWER - 5_000
    }

    /// Adds what a file has, as far as there is room; counts the rest.
    fn add(&mut self, path: &str, text: &str, regex: &Regex) {
        let matching = text.lines().filter(|line| regex.is_match(line)).count();
        if matching == 0 {
            // What matches across lines has no line to show.
            return;
        }
        let before = self.shown;
        let shown = match self.show {
            _ if self.is_full() => 0,
            Show::Files | Show::Counts => {
                let end = if self.show == Show::Counts { format!(": {matching}") } else { String::new() };
                let _ = writeln!(self.text, "{path}{end}");
                self.shown += 1;
                matching
            }
            Show::Lines | Show::Matches => {
                self.add_lines(path, text, regex);
                self.shown - before
            }
        };
        if shown > 0 {
            self.files.push(path.to_owned());
        }
        if shown < matching {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            *self.left.entry(folder.to_owned()).or_default() += matching - shown;
            self.left_files += 1;
        }
    }

    /// The lines of a file that match, with what is around them.
    fn add_lines(&mut self, path: &str, text: &str, regex: &Regex) {
        let lines: Vec<&str> = text.lines().collect();
        let mut next = 0;
        for (at, line) in lines.iter().enumerate() {
            if self.is_full() {
                return;
            }
            if !regex.is_match(line) {
                continue;
            }
            if self.show == Show::Matches {
                self.shown += 1;
                let parts: Vec<String> =
                    regex.find_iter(line).take(20).map(|part| short(part.as_str(), LONGEST_LINE)).collect();
                let _ = writeln!(self.text, "{path}:{}: {}", at + 1, parts.join(" | "));
                continue;
            }
            let from = at.saturating_sub(self.context).max(next);
            if self.context > 0 && next > 0 && from > next {
                self.text.push_str("--\n");
            }
            let to = (at + 1 + self.context).min(lines.len());
            for (number, line) in lines.iter().enumerate().take(to).skip(from) {
                // Lines around a match may match as well.
                let is_match = regex.is_match(line);
                self.shown += usize::from(is_match);
                let mark = if is_match { ':' } else { '-' };
                let line = if is_match { around(line, regex) } else { short(line, LONGEST_LINE) };
                let _ = writeln!(self.text, "{path}{mark}{}{mark} {line}", number + 1);
            }
            next = to.max(next);
        }
    }

    /// The answer, with what is not in it. `unseen` files were not looked through.
    fn in_words(mut self, workspace: &Workspace, unseen: usize) -> String {
        if self.text.is_empty() {
            self.text.push_str("No matches.");
        }
        let mut notes = Vec::new();
        if !self.left.is_empty() {
            let lines: usize = self.left.values().sum();
            let mut folders: Vec<(&String, &usize)> = self.left.iter().collect();
            folders.sort_by(|one, other| other.1.cmp(one.1).then(one.0.cmp(other.0)));
            let named: Vec<String> =
                folders.iter().take(MOST_FOLDERS).map(|(folder, count)| format!("{folder}/ {count}")).collect();
            let more = folders.len().saturating_sub(MOST_FOLDERS);
            let more = if more > 0 { format!(" and {more} more folders") } else { String::new() };
            let files = self.left_files;
            notes.push(format!(
                "({lines} more matching lines in {files} files are not shown: {}{more}; narrow it down)",
                named.join(", ")
            ));
        }
        if unseen > 0 {
            notes.push(format!("({unseen} files were not looked through, since there are too many; narrow it down)"));
        }
        notes.extend(closed_among(workspace, self.files.iter().map(String::as_str)));
        for note in notes {
            let line_break = if self.text.ends_with('\n') { "" } else { "\n" };
            let _ = writeln!(self.text, "{line_break}{note}");
        }
        self.text
    }
}
