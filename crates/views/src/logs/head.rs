//! How a log begins: what tells which log it is and in which format.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

use memchr::{memchr_iter, memrchr};

use super::blocks::MAX_LINE;

/// Bytes of whole lines that are enough.
const ENOUGH: usize = 32 * 1024;
/// What is read at once.
const STEP: u64 = 64 * 1024;
/// What is read at the most. Only lines that are too long to be read make it more than a step.
const MOST: usize = 32 * 1024 * 1024;

/// How much of the beginning tells whether a file was emptied and filled again.
const BEGINNING: usize = 256;

/// The beginning of a file, by which it is known to be the same still.
#[derive(Debug)]
pub(super) struct Beginning(Vec<u8>);

impl Beginning {
    /// Whether `file` still begins so and has `bytes`: that it was not emptied, or emptied and filled again.
    pub(super) fn is_of(&self, file: &File, bytes: u64) -> io::Result<bool> {
        if file.metadata()?.len() < bytes {
            return Ok(false);
        }
        let (mut there, mut length) = (vec![0; self.0.len()], 0);
        while length < there.len() {
            match file.read_at(&mut there[length..], length as u64) {
                Ok(0) => break,
                Ok(more) => length += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(there[..length] == self.0)
    }
}

/// The beginning of a log.
#[derive(Debug, Default)]
pub(super) struct Head {
    /// What was read of it.
    pub(super) read: Vec<u8>,
    /// Why there is no more to be read.
    pub(super) trouble: Option<io::Error>,
    /// There is no more.
    ended: bool,
}

impl Head {
    pub(super) fn of(mut input: impl Read) -> Self {
        let mut head = Self::default();
        while head.trouble.is_none() && !head.ended && head.read.len() < MOST && head.lines(false).len() < ENOUGH {
            let before = head.read.len();
            head.trouble = (&mut input).take(STEP).read_to_end(&mut head.read).err();
            head.ended = head.trouble.is_none() && head.read.len() - before < STEP as usize;
        }
        head
    }

    /// All whole lines; if there is none, the only one if it is `taken` without an end.
    pub(super) fn whole(&self, taken: bool) -> &[u8] {
        match memrchr(b'\n', &self.read) {
            Some(last) => &self.read[..=last],
            None if taken && self.ended => &self.read,
            None => &[],
        }
    }

    /// The whole lines that are not too long to be read.
    pub(super) fn lines(&self, taken: bool) -> Vec<u8> {
        let whole = self.whole(taken);
        let (mut lines, mut start) = (Vec::new(), 0);
        for end in memchr_iter(b'\n', whole).map(|end| end + 1).chain([whole.len()]) {
            if end - start <= MAX_LINE + 1 {
                lines.extend_from_slice(&whole[start..end]);
            }
            start = end;
        }
        lines
    }

    /// What is whole and does not change any more.
    pub(super) fn beginning(&self) -> Beginning {
        let whole = self.whole(false);
        Beginning(whole[..whole.len().min(BEGINNING)].to_vec())
    }

    /// There is nothing behind it.
    pub(super) fn is_all(&self) -> bool {
        self.ended
    }

    /// It has too much without an end to be a log.
    pub(super) fn is_one_line(&self) -> bool {
        self.read.len() >= MOST && self.whole(false).is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_emptied_and_filled_again_is_not_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, "one\nhalf").unwrap();
        let file = File::open(&path).unwrap();
        let beginning = Head::of(&file).beginning();
        std::fs::write(&path, "one\nother and more\n").unwrap();
        assert!(beginning.is_of(&file, 19).unwrap() && !beginning.is_of(&file, 21).unwrap());
        std::fs::write(&path, "two\nhalf and more\n").unwrap();
        assert!(!beginning.is_of(&file, 4).unwrap());
        std::fs::write(&path, "").unwrap();
        assert!(!beginning.is_of(&file, 0).unwrap());
    }

    #[test]
    fn only_whole_lines_that_are_short_enough_tell() {
        let long = [&vec![b'x'; 3 * MAX_LINE][..], b"\nshort\nhal"].concat();
        let head = Head::of(&long[..]);
        assert_eq!(head.lines(false), b"short\n");
        assert_eq!(head.lines(true), b"short\n");
        assert_eq!(head.whole(false).len(), long.len() - 3);
        assert_eq!(head.read, long);
        assert!(!head.is_one_line());
        let half = Head::of(&b"half"[..]);
        assert_eq!((half.whole(false), half.whole(true)), (&b""[..], &b"half"[..]));
        assert!(Head::of(io::repeat(b'x')).is_one_line());
    }
}
