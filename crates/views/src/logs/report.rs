use std::io;

use serde::Serialize;

use super::format::Format;
use super::tally::Tally;
use crate::store::ViewsError;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Each log, in the order in which they were read.
    pub files: Vec<FileReport>,
    /// All of them together.
    pub total: Tally,
}

impl Report {
    /// Whether a log could not be read to its end.
    pub fn has_failed(&self) -> bool {
        self.files.iter().any(|file| file.error.is_some())
    }
}

/// What was done with a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileReport {
    /// Its name as it was given.
    pub name: String,
    /// Its format, if it was told.
    pub format: Option<Format>,
    pub state: State,
    /// Why it could not be read to its end. What is in the tally has been counted all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Lines that an earlier import had read; they are among the duplicates.
    pub known: u64,
    pub tally: Tally,
    /// The first lines that could not be read.
    pub unparsable: Vec<Sample>,
    /// What the figures do not say: a last line that is left for later, lines that are gone.
    pub notes: Vec<String>,
}

/// How far an import of a log got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Read to its end.
    Imported,
    /// Its beginning had been read before; now the rest was.
    Continued,
    /// All of it had been read before.
    AlreadyImported,
    /// Stopped on the way; another import goes on from there.
    Stopped,
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Imported => "imported",
            Self::Continued => "continued",
            Self::AlreadyImported => "already imported",
            Self::Stopped => "stopped",
        }
    }
}

impl FileReport {
    pub(super) fn new(name: String) -> Self {
        let (tally, unparsable, notes) = (Tally::default(), Vec::new(), Vec::new());
        Self { name, format: None, state: State::Stopped, error: None, known: 0, tally, unparsable, notes }
    }

    pub(super) fn failed(name: String, error: String) -> Self {
        Self { error: Some(error), ..Self::new(name) }
    }
}

/// A line that could not be read, as it can be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sample {
    /// Its number, from 1.
    pub line: u64,
    /// How it begins.
    pub text: String,
}

/// What is shown of an unparsable line, in characters.
const SHOWN: usize = 120;

impl Sample {
    /// How `line` begins, nothing in it able to play tricks on a terminal.
    pub(super) fn new(number: u64, line: &[u8]) -> Self {
        let head = &line[..line.len().min(SHOWN * 4)];
        let decoded = String::from_utf8_lossy(head);
        let mut text = String::new();
        for c in decoded.chars().take(SHOWN) {
            if c.is_control() {
                text.extend(c.escape_default());
            } else {
                text.push(c);
            }
        }
        if head.len() < line.len() || decoded.chars().nth(SHOWN).is_some() {
            text.push('…');
        }
        let text = copydesk_domain::visible(&text).into_owned();
        Self { line: number, text }
    }
}

/// Why a look at a log that is followed failed.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// The file cannot be read at the moment.
    #[error("{0}")]
    File(#[from] io::Error),
    /// The store takes nothing at the moment. The lines are read again at the next look.
    #[error("{0}")]
    Store(#[from] ViewsError),
    /// It is no log that can be read.
    #[error("{0}")]
    Unreadable(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    pub name: &'a str,
    /// Its place among all that are to be read, from 0.
    pub file: usize,
    pub files: usize,
    /// Bytes read of all of them, as they are on disk.
    pub bytes: u64,
    /// Bytes of all of them, if they are files.
    pub of_bytes: Option<u64>,
    /// Lines read of all of them.
    pub lines: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unparsable_lines_are_shown_short_and_harmless() {
        let sample = Sample::new(7, b"a\x1b[31m\tb\xff");
        assert_eq!((sample.line, sample.text.as_str()), (7, "a\\u{1b}[31m\\tb\u{fffd}"));
        let sample = Sample::new(1, "é".repeat(500).as_bytes());
        assert_eq!(sample.text.chars().count(), SHOWN + 1);
        assert!(sample.text.ends_with('…'));
    }
}
