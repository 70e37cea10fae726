//! Going on where an earlier import stopped.

use std::io::{self, Cursor, Read};

use super::blocks::Position;
use super::open::Bytes;
use crate::Mark;

/// What is kept of a log while it is held against marks, so that it need not be read again from its start.
const KEPT: usize = 16 * 1024 * 1024;

/// The furthest of `marks` up to which the log is the one that was read then, and the log from there on. It is opened
/// again by `again` if too much of it had to be read to know; what can be read only once cannot.
pub(super) fn resume(
    mut input: Bytes,
    mut marks: Vec<Mark>,
    again: impl FnOnce() -> io::Result<Option<Bytes>>,
) -> io::Result<(Position, Bytes)> {
    marks.sort_by_key(|mark| mark.bytes);
    let mut best = Position::start();
    let mut position = Position::start();
    // What was read behind the best place; none if that is too much.
    let mut behind = Some(Vec::new());
    for mark in marks {
        if !pass(&mut input, mark.bytes, &mut position, &mut behind)? {
            break;
        }
        if position.bytes == mark.bytes && position.digest() == mark.digest {
            best = position.clone().with_lines(mark.lines);
            behind = Some(Vec::new());
        }
    }
    if let Some(behind) = behind {
        return Ok((best, Box::new(Cursor::new(behind).chain(input))));
    }
    let Some(mut input) = again()? else {
        let message = "it begins like one that was imported before; give it as a file, not as a stream";
        return Err(io::Error::other(message));
    };
    let skipped = io::copy(&mut (&mut input).take(best.bytes), &mut io::sink())?;
    if skipped < best.bytes {
        return Err(io::Error::other("it was cut while it was being read"));
    }
    Ok((best, input))
}

/// Reads on up to `to`; says whether the log goes that far.
fn pass(input: &mut Bytes, to: u64, position: &mut Position, behind: &mut Option<Vec<u8>>) -> io::Result<bool> {
    let mut buffer = vec![0; 128 * 1024];
    while position.bytes < to {
        let wanted = usize::try_from(to - position.bytes).unwrap_or(usize::MAX).min(buffer.len());
        let length = match input.read(&mut buffer[..wanted]) {
            Ok(0) => return Ok(false),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        position.pass(&buffer[..length]);
        if let Some(kept) = behind {
            if kept.len() + length > KEPT {
                *behind = None;
            } else {
                kept.extend_from_slice(&buffer[..length]);
            }
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(bytes: &[u8], lines: u64) -> Mark {
        let mut position = Position::start();
        position.pass(bytes);
        position.lines = lines;
        position.mark("log")
    }

    fn input(bytes: &[u8]) -> Bytes {
        Box::new(Cursor::new(bytes.to_vec()))
    }

    fn read(log: &[u8], marks: Vec<Mark>, again: bool) -> io::Result<(Position, Vec<u8>)> {
        let (position, mut rest) = resume(input(log), marks, || Ok(again.then(|| input(log))))?;
        let mut bytes = Vec::new();
        rest.read_to_end(&mut bytes)?;
        Ok((position, bytes))
    }

    #[test]
    fn the_furthest_mark_that_fits_holds() {
        let marks = || vec![mark(b"a\nb\nX\n", 3), mark(b"a\nb\n", 2), mark(b"a\n", 1), mark(b"a\nb\nc\nd\n", 4)];
        let (position, rest) = read(b"a\nb\nc\n", marks(), false).unwrap();
        assert_eq!((position.bytes, position.lines, rest.as_slice()), (4, 2, &b"c\n"[..]));
        let (position, rest) = read(b"a\nb\nc\nd\n", marks(), false).unwrap();
        assert_eq!((position.lines, rest.len()), (4, 0));
        let (position, rest) = read(b"q\nb\nc\n", marks(), false).unwrap();
        assert_eq!((position.bytes, rest.as_slice()), (0, &b"q\nb\nc\n"[..]));
    }

    #[test]
    fn what_is_too_long_to_keep_is_opened_again() {
        let log = vec![b'x'; KEPT + 1000];
        let far = Mark { digest: String::new(), ..mark(&log, 1) };
        let marks = || vec![mark(b"xxx", 1), far.clone()];
        let (position, rest) = read(&log, marks(), true).unwrap();
        assert_eq!((position.bytes, rest.len()), (3, log.len() - 3));
        assert!(!position.ends_line);
        assert!(read(&log, marks(), false).is_err());
    }
}
