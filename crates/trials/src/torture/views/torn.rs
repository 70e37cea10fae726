//! What a power cut may leave of the end of the log: less than was written, or something else. Only what nobody was
//! told to be on disk is touched.

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::event::PREFIX;
use crate::seeded::Seeded;

/// The header of a file of the log, and of a record in it, which begins with its length.
const FILE_HEADER: usize = 88;
const RECORD_HEADER: usize = 20;
/// Digits of a request's number in its path.
const DIGITS: usize = 7;

/// What was done to the end of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Torn {
    /// There was no log.
    Nothing,
    /// Something was put behind its end.
    Longer,
    /// Records were cut or spoilt that nobody was told of.
    Spoilt,
}

/// Tears the end of the last file of the log.
pub(super) fn tear(folder: &Path, seeded: &mut Seeded, is_acknowledged: impl Fn(u32) -> bool) -> Torn {
    let Some(path) = last_file(folder) else { return Torn::Nothing };
    let bytes = fs::read(&path).unwrap();
    let safe = end_of_acknowledged(&bytes, is_acknowledged);
    let mut file = OpenOptions::new().write(true).open(&path).unwrap();
    let end = bytes.len();
    let garbage: Vec<u8> = (0..seeded.within(1, 5000)).map(|_| seeded.draw() as u8).collect();
    let choice = if safe < end { seeded.below(6) } else { seeded.below(3) };
    let (place, put) = match choice {
        // Bytes of no meaning.
        0 => (end, garbage),
        // A file that has grown, but without its content.
        1 => (end, vec![0; garbage.len()]),
        // Bytes of the log that were on the disk before, perhaps a whole record.
        2 => {
            (end, bytes.get(FILE_HEADER..seeded.within(FILE_HEADER, end.max(FILE_HEADER))).unwrap_or(&garbage).to_vec())
        }
        // Cut.
        3 => (seeded.within(safe, end), Vec::new()),
        // Cut, and as long as before.
        4 => {
            let place = seeded.within(safe, end);
            (place, vec![0; end - place])
        }
        // Some of it never written.
        _ => {
            let place = seeded.within(safe, end - 1);
            let length = garbage.len().min(end - place);
            (place, garbage[..length].to_vec())
        }
    };
    if choice == 3 {
        file.set_len(place as u64).unwrap();
    }
    file.seek(SeekFrom::Start(place as u64)).unwrap();
    file.write_all(&put).unwrap();
    file.sync_all().unwrap();
    if place < end { Torn::Spoilt } else { Torn::Longer }
}

fn last_file(folder: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(folder).ok()?.map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "wal")).max()
}

/// Where the records at the end begin that hold nothing that was acknowledged.
fn end_of_acknowledged(bytes: &[u8], is_acknowledged: impl Fn(u32) -> bool) -> usize {
    // Without records there is nothing but the header, which is on disk before anything is acknowledged.
    let mut safe = FILE_HEADER.min(bytes.len());
    let mut at = FILE_HEADER;
    while let Some(length) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let end = at + RECORD_HEADER + u32::from_le_bytes(*length) as usize;
        let Some(record) = bytes.get(at..end) else { break };
        let numbers = numbers(record);
        // A record that tells of no request is left alone, whatever it is.
        if numbers.is_empty() || numbers.into_iter().any(&is_acknowledged) {
            safe = end;
        }
        at = end;
    }
    safe
}

/// The requests whose paths are in these bytes.
fn numbers(bytes: &[u8]) -> Vec<u32> {
    let prefix = PREFIX.as_bytes();
    let places = bytes.windows(prefix.len()).enumerate().filter(|(_, window)| *window == prefix);
    let digits = places.filter_map(|(at, _)| bytes.get(at + prefix.len()..at + prefix.len() + DIGITS));
    digits.filter_map(|digits| std::str::from_utf8(digits).ok()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(numbers: &[u32]) -> Vec<u8> {
        let mut bytes = vec![7; FILE_HEADER];
        for number in numbers {
            let payload = format!("x{PREFIX}{number:07}y");
            bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&[0; RECORD_HEADER - 4]);
            bytes.extend_from_slice(payload.as_bytes());
        }
        bytes
    }

    #[test]
    fn only_records_behind_all_acknowledged_ones_may_be_touched() {
        let (none, one, three) = (log(&[]).len(), log(&[1]).len(), log(&[1, 2, 3]).len());
        assert_eq!(end_of_acknowledged(&log(&[1, 2, 3]), |_| false), none);
        assert_eq!(end_of_acknowledged(&log(&[1, 2, 3]), |number| number == 1), one);
        assert_eq!(end_of_acknowledged(&log(&[1, 2, 3]), |number| number == 3), three);
        assert_eq!(end_of_acknowledged(&log(&[1, 2, 3])[..three - 1], |number| number == 1), one);
        assert_eq!(end_of_acknowledged(&[1, 2], |_| true), 2);
    }

    #[test]
    fn what_was_acknowledged_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0000000002.wal");
        fs::write(folder.path().join("0000000001.wal"), "old").unwrap();
        let (before, safe) = (log(&[1, 2, 3]), log(&[1]).len());
        let mut seen = Vec::new();
        for seed in 0..40 {
            fs::write(&path, &before).unwrap();
            seen.push(tear(folder.path(), &mut Seeded::new(seed), |number| number == 1));
            let after = fs::read(&path).unwrap();
            assert_eq!(after[..safe], before[..safe]);
            // Zeros over zeros and a cut at the very end change nothing.
            assert!(after != before || seen.pop().is_some());
        }
        assert!(seen.contains(&Torn::Longer) && seen.contains(&Torn::Spoilt));
        assert_eq!(fs::read(folder.path().join("0000000001.wal")).unwrap(), b"old");
    }
}
