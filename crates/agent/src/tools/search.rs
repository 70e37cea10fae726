use std::fmt::Write;

use copydesk_forge::{LARGEST_TEXT, Workspace};
use regex::{Regex, RegexBuilder};

use super::schema::tool_input;
use super::{LONGEST_ANSWER, ToolAnswer, Unable, files_below, folder_of, glob_of, told};
use crate::text::short;

/// How many lines that match are shown.
const MOST_MATCHES: usize = 100;
/// How many lines around a match may be shown.
const MOST_CONTEXT: usize = 10;
const LONGEST_LINE: usize = 400;
/// How much is looked through. By size and not by time, so that the same search always ends at the same place.
const MOST_FILES: usize = 50_000;
const MOST_BYTES: u64 = 256 * 1024 * 1024;

tool_input! {
    /// Searches the text files of the repository for a regular expression, line by line, and shows path, line number and
    /// line. At most 100 matching lines are shown.
    Search as "search" {
        /// The regular expression, as in Rust or RE2: no look-around, no back-references.
        pattern: String,
        /// Only files below this folder, or this file.
        folder: Option<String>,
        /// Only paths that match this glob, for example `*.mdx`.
        files: Option<String>,
        /// Whether upper and lower case are the same.
        ignore_case: Option<bool>,
        /// How many lines around each match to show, at most 10.
        context: Option<u32>,
    }
}

pub(super) fn run(workspace: &Workspace, input: &Search) -> ToolAnswer {
    let regex = compile(input)?;
    let context = input.context.map_or(0, |lines| (lines as usize).min(MOST_CONTEXT));
    let folder = folder_of(input.folder.as_deref())?;
    let mut paths = files_below(workspace, &folder)?;
    if let Some(pattern) = input.files.as_deref().filter(|pattern| !pattern.trim().is_empty()) {
        let glob = glob_of(pattern)?;
        paths.retain(|path| glob.is_match(path));
    }
    let mut found = Found::default();
    let mut bytes = 0;
    for (at, path) in paths.iter().enumerate() {
        if found.is_full() || at == MOST_FILES || bytes > MOST_BYTES {
            let why = if found.is_full() { "more may match" } else { "not everything was looked through" };
            let _ = write!(found.text, "({why}; narrow it down)");
            break;
        }
        let Some(text) = searchable(workspace, path)? else { continue };
        bytes += text.len() as u64;
        if regex.is_match(&text) {
            found.add(path, &text, &regex, context);
        }
    }
    Ok(if found.text.is_empty() { "No matches.".to_owned() } else { found.text })
}

fn compile(input: &Search) -> Result<Regex, Unable> {
    if input.pattern.is_empty() || input.pattern.len() > 1_000 {
        return told("the pattern must have 1 to 1000 bytes");
    }
    RegexBuilder::new(&input.pattern)
        .case_insensitive(input.ignore_case.unwrap_or(false))
        // `^` and `$` are those of a line, since it is lines that are shown.
        .multi_line(true)
        .size_limit(2 * 1024 * 1024)
        .dfa_size_limit(8 * 1024 * 1024)
        .build()
        .map_err(|error| {
            Unable::Told(format!("the pattern is not a regular expression: {}", short(&error.to_string(), 400)))
        })
}

/// The text of a file, unless it is too large or not text.
fn searchable(workspace: &Workspace, path: &str) -> Result<Option<String>, Unable> {
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

#[derive(Default)]
struct Found {
    text: String,
    matches: usize,
}

impl Found {
    fn is_full(&self) -> bool {
        self.matches >= MOST_MATCHES || self.text.len() > LONGEST_ANSWER - 5_000
    }

    /// Adds the lines of a file that match, with what is around them.
    fn add(&mut self, path: &str, text: &str, regex: &Regex, context: usize) {
        let lines: Vec<&str> = text.lines().collect();
        let mut next = 0;
        for (at, line) in lines.iter().enumerate() {
            if self.is_full() {
                return;
            }
            if !regex.is_match(line) {
                continue;
            }
            self.matches += 1;
            let from = at.saturating_sub(context).max(next);
            if context > 0 && next > 0 && from > next {
                self.text.push_str("--\n");
            }
            let to = (at + 1 + context).min(lines.len());
            for (number, line) in lines.iter().enumerate().take(to).skip(from) {
                let mark = if number == at { ':' } else { '-' };
                let line = if number == at { around(line, regex) } else { short(line, LONGEST_LINE) };
                let _ = writeln!(self.text, "{path}{mark}{}{mark} {line}", number + 1);
            }
            next = to.max(next);
        }
    }
}
