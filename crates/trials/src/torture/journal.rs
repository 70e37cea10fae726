//! What the workers really did, and when, written down beside the database: one line for each beginning and end,
//! each line one write, so that a killed process leaves whole lines.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use copydesk_domain::Timestamp;
use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds on the clock that all processes of the machine share and nobody can set.
pub(crate) fn monotonic() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

pub struct Journal(File);

/// What a line tells of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Begin,
    /// It came to its end.
    End,
    /// It was dropped, or refused, on the way.
    LetGo,
}

const MARKS: [(Mark, &str); 3] = [(Mark::Begin, "begin"), (Mark::End, "end"), (Mark::LetGo, "let-go")];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JournalLine {
    pub(crate) mark: Mark,
    pub(crate) job: String,
    pub(crate) attempt: i64,
    pub(crate) pid: u32,
    pub(crate) at: u64,
    /// When the attempt was claimed, to the millisecond below.
    pub(crate) claimed: u64,
}

impl Journal {
    /// Opens it, making it if need be.
    pub fn open(path: &Path) -> io::Result<Self> {
        OpenOptions::new().append(true).create(true).open(path).map(Self)
    }

    /// Notes the beginning of an attempt. Unless it is [ended](Entry::end), it is let go when dropped.
    pub(crate) fn begin(&self, job: &str, attempt: i64, claimed_at: Timestamp, now: Timestamp) -> Entry<'_> {
        let at = monotonic();
        // The next millisecond, because the instants have none smaller and an early claim is on the safe side.
        let age = now.since(claimed_at).as_nanos() + 1_000_000;
        let claimed = at.saturating_sub(u64::try_from(age).unwrap_or(u64::MAX));
        let entry = Entry { journal: self, job: job.to_owned(), attempt, claimed, mark: Mark::LetGo };
        entry.write(Mark::Begin, at);
        entry
    }
}

/// An attempt that is being made.
pub(crate) struct Entry<'j> {
    journal: &'j Journal,
    job: String,
    attempt: i64,
    claimed: u64,
    mark: Mark,
}

impl Entry<'_> {
    pub(crate) fn end(mut self) {
        self.mark = Mark::End;
    }

    fn write(&self, mark: Mark, at: u64) {
        let word = MARKS.iter().find(|(it, _)| *it == mark).map_or("", |(_, word)| word);
        let Self { job, attempt, claimed, .. } = self;
        let line = format!("{word} {job} {attempt} {} {at} {claimed}\n", std::process::id());
        // Without its journal the run proves nothing.
        (&self.journal.0).write_all(line.as_bytes()).unwrap();
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.write(self.mark, monotonic());
    }
}

pub(crate) fn read(path: &Path) -> Result<Vec<JournalLine>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("the journal cannot be read: {error}"))?;
    text.lines().map(|line| parse(line).ok_or_else(|| format!("the journal has a broken line: {line:?}"))).collect()
}

fn parse(line: &str) -> Option<JournalLine> {
    let mut words = line.split(' ');
    let word = words.next()?;
    let (mark, _) = *MARKS.iter().find(|(_, it)| *it == word)?;
    let job = words.next()?.to_owned();
    let attempt = words.next()?.parse().ok()?;
    let pid = words.next()?.parse().ok()?;
    let at = words.next()?.parse().ok()?;
    let claimed = words.next()?.parse().ok()?;
    words.next().is_none().then_some(JournalLine { mark, job, attempt, pid, at, claimed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let journal = Journal::open(&path).unwrap();
        let (claimed, now) = (Timestamp::from_millis(1000), Timestamp::from_millis(1005));
        journal.begin("a", 1, claimed, now).end();
        drop(journal.begin("a", 2, claimed, now));
        let lines = read(&path).unwrap();
        let marks: Vec<_> = lines.iter().map(|line| (line.mark, line.attempt)).collect();
        assert_eq!(marks, [(Mark::Begin, 1), (Mark::End, 1), (Mark::Begin, 2), (Mark::LetGo, 2)]);
        assert_eq!(lines[0].at - lines[0].claimed, 6_000_000);
        assert!(lines[0].at <= lines[1].at);
        assert!(parse("begin a 1").is_none() && parse("began a 1 2 3 4").is_none());
    }
}
