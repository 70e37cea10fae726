//! A log in blocks of whole lines, and the place in it up to which it has been read.

use std::io::{self, Read};

use memchr::{memchr, memrchr};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::Mark;

/// The longest line that is read, in bytes; longer ones are unparsable.
pub(super) const MAX_LINE: usize = 64 * 1024;
/// What a block has at most, in bytes.
pub(super) const BLOCK: usize = 1024 * 1024;
/// Bytes of the first line by which a log is known.
const KNOWN_BY: usize = 64;

/// Which log begins with `head`; none if it has nothing but remarks yet.
///
/// The first line that is no remark is taken, and only the beginning of it, so that a log that was met while its first
/// line was being written is the same one later. Logs that begin alike are told apart by the digest of all they have.
pub(super) fn log_name(head: &[u8]) -> Option<String> {
    let mut lines = head.split(|&byte| byte == b'\n');
    let first = lines.find(|line| !line.trim_ascii().is_empty() && !line.starts_with(b"#"))?;
    Some(format!("{:032x}", xxh3_128(&first[..first.len().min(KNOWN_BY)])))
}

/// A place in a log, and the digest of all that is before it.
#[derive(Clone)]
pub(super) struct Position {
    pub(super) bytes: u64,
    pub(super) lines: u64,
    hasher: Xxh3,
    /// The last byte before it ends a line, or it is the start.
    pub(super) ends_line: bool,
}

impl Position {
    pub(super) fn start() -> Self {
        Self { bytes: 0, lines: 0, hasher: Xxh3::new(), ends_line: true }
    }

    /// Moves over `bytes`, which end so many lines.
    pub(super) fn pass(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        if let Some(&last) = bytes.last() {
            self.ends_line = last == b'\n';
        }
    }

    /// The same place, with so many lines before it.
    pub(super) fn with_lines(self, lines: u64) -> Self {
        Self { lines, ..self }
    }

    pub(super) fn digest(&self) -> String {
        format!("{:032x}", self.hasher.digest128())
    }

    /// The mark of this place in the log of that name.
    pub(super) fn mark(&self, log: &str) -> Mark {
        let (log, digest) = (log.to_owned(), self.digest());
        Mark { log, bytes: self.bytes, lines: self.lines, digest, replaces: None, followed: None }
    }
}

pub(super) struct Block {
    pub(super) bytes: Vec<u8>,
    /// The place behind it; its lines are those before the block.
    pub(super) end: Position,
    /// Its last line has no end: the log is broken off there, or still being written.
    pub(super) open: bool,
}

/// Cuts a log into blocks.
pub(super) struct Blocks<R> {
    input: R,
    position: Position,
    /// What was read behind the last whole line.
    rest: Vec<u8>,
    /// The line that the position is in has been read as far as it went; what is left of it is no line.
    skips: bool,
    /// Why there is no more to be read. What came before is good.
    trouble: Option<io::Error>,
}

impl<R: Read> Blocks<R> {
    /// From `position` on, which `input` stands at.
    pub(super) fn new(input: R, position: Position) -> Self {
        let skips = !position.ends_line;
        Self { input, position, rest: Vec::new(), skips, trouble: None }
    }

    /// The next lines, none at the end. `buffer` is used for them.
    pub(super) fn next(&mut self, mut buffer: Vec<u8>) -> io::Result<Option<Block>> {
        // What is in it stays until it is written over: clearing and filling it with zeros would cost more than reading.
        let start = self.rest.len();
        buffer.resize(BLOCK.max(start), 0);
        buffer[..start].copy_from_slice(&self.rest);
        self.rest.clear();
        let mut ended = self.fill(&mut buffer, start);
        if self.skips && !self.skip(&mut buffer, &mut ended)? {
            return Ok(None);
        }
        if let Some(last) = memrchr(b'\n', &buffer) {
            self.rest.extend_from_slice(&buffer[last + 1..]);
            buffer.truncate(last + 1);
            self.position.pass(&buffer);
            return Ok(Some(self.block(buffer, false)));
        }
        if let Some(trouble) = self.trouble.take() {
            return Err(trouble);
        }
        if buffer.is_empty() {
            return Ok(None);
        }
        self.position.pass(&buffer);
        let open = ended || !self.pass_long(&mut buffer)?;
        Ok(Some(self.block(buffer, open)))
    }

    fn block(&self, bytes: Vec<u8>, open: bool) -> Block {
        Block { bytes, end: self.position.clone(), open }
    }

    /// Reads from `start` on until the buffer is full, and cuts it where the log ended; says whether it did.
    fn fill(&mut self, buffer: &mut Vec<u8>, start: usize) -> bool {
        let mut length = start;
        while length < buffer.len() && self.trouble.is_none() {
            match self.input.read(&mut buffer[length..]) {
                Ok(0) => break,
                Ok(more) => length += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.trouble = Some(error),
            }
        }
        let ended = length < buffer.len();
        buffer.truncate(length);
        ended
    }

    /// Passes over the rest of a line that was read before. Says whether something is left.
    fn skip(&mut self, buffer: &mut Vec<u8>, ended: &mut bool) -> io::Result<bool> {
        loop {
            if let Some(end) = memchr(b'\n', buffer) {
                self.position.pass(&buffer[..=end]);
                buffer.drain(..=end);
                self.skips = false;
                return Ok(true);
            }
            self.position.pass(buffer);
            if *ended {
                return self.trouble.take().map_or(Ok(false), Err);
            }
            buffer.resize(BLOCK, 0);
            *ended = self.fill(buffer, 0);
        }
    }

    /// Passes over the rest of a line that is longer than a block, leaving as much of it as shows that it is too long.
    /// Says whether it has an end.
    fn pass_long(&mut self, line: &mut Vec<u8>) -> io::Result<bool> {
        line.truncate(MAX_LINE + 1);
        let mut more = vec![0; BLOCK];
        loop {
            more.resize(BLOCK, 0);
            let ended = self.fill(&mut more, 0);
            if let Some(end) = memchr(b'\n', &more) {
                self.position.pass(&more[..=end]);
                self.rest.extend_from_slice(&more[end + 1..]);
                line.push(b'\n');
                return Ok(true);
            }
            self.position.pass(&more);
            if ended {
                return self.trouble.take().map_or(Ok(false), Err);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(bytes: &[u8]) -> (Vec<Vec<u8>>, u64, bool) {
        let mut blocks = Blocks::new(bytes, Position::start());
        let (mut lines, mut end, mut open) = (Vec::new(), 0, false);
        while let Some(block) = blocks.next(Vec::new()).unwrap() {
            assert!(block.bytes.len() <= BLOCK + 1 && !open);
            let position = block.end;
            assert!(position.bytes > end);
            assert_eq!(position.digest(), format!("{:032x}", xxh3_128(&bytes[..position.bytes as usize])));
            (end, open) = (position.bytes, block.open);
            assert_eq!(position.ends_line, !open);
            lines.extend(block.bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec));
        }
        (lines, end, open)
    }

    #[test]
    fn lines_longer_than_a_block_are_cut() {
        let mut log = b"a\n".to_vec();
        log.extend(vec![b'x'; 3 * BLOCK + 17]);
        log.extend(b"\nb\n");
        let (lines, end, open) = lines(&log);
        assert_eq!((lines.len(), end, open), (3, log.len() as u64, false));
        assert_eq!(lines[1].len(), MAX_LINE + 2);
        log.truncate(2 * BLOCK);
        let (lines, end, open) = self::lines(&log);
        assert_eq!((lines.len(), end, open), (2, log.len() as u64, true));
    }

    #[test]
    fn the_rest_of_a_line_that_was_read_is_no_line() {
        let mut position = Position::start();
        position.pass(b"a\nb");
        let rest = [&b"c".repeat(BLOCK * 2)[..], b"\nd\n"].concat();
        let mut blocks = Blocks::new(&rest[..], position.clone());
        let block = blocks.next(Vec::new()).unwrap().unwrap();
        assert_eq!(block.bytes, b"d\n");
        assert_eq!(block.end.bytes, 3 + rest.len() as u64);
        assert!(blocks.next(Vec::new()).unwrap().is_none());
        assert!(Blocks::new(&b"cc"[..], position).next(Vec::new()).unwrap().is_none());
    }

    #[test]
    fn what_came_before_trouble_is_good() {
        struct Trouble;
        impl Read for Trouble {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("trouble"))
            }
        }
        let mut blocks = Blocks::new((&b"a\nb"[..]).chain(Trouble), Position::start());
        assert_eq!(blocks.next(Vec::new()).unwrap().unwrap().bytes, b"a\n");
        assert!(blocks.next(Vec::new()).is_err());
        let long = vec![b'x'; BLOCK];
        assert!(Blocks::new((&long[..]).chain(Trouble), Position::start()).next(Vec::new()).is_err());
    }

    #[test]
    fn a_log_is_known_by_its_first_line() {
        let line = "x".repeat(80);
        let name = log_name(line.as_bytes());
        assert_eq!(name, log_name(format!("#Version\n\n{line}yz\nmore\n").as_bytes()));
        assert_ne!(name, log_name(b"y\n"));
        assert_eq!(log_name(b"#Version: 1.0\n\n"), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn blocks_together_are_the_log(lengths in proptest::collection::vec(prop_oneof![0usize..200, 0usize..300_000], 0..20), open: bool) {
            let mut log = Vec::new();
            for length in lengths {
                log.extend(std::iter::repeat_n(b'x', length));
                log.push(b'\n');
            }
            if open {
                log.push(b'y');
            }
            let (lines, end, was_open) = lines(&log);
            prop_assert_eq!(lines.concat(), log.clone());
            prop_assert_eq!((end, was_open), (log.len() as u64, open));
        }
    }
}
