//! A web server that writes a log in blocks which end in the middle of lines, and whoever rotates it, in every way.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use super::book::{Book, Fate};
use super::format::Format;
use crate::seeded::Seeded;

/// Bytes of a block at the most.
const BLOCK: usize = 24 * 1024;
/// Blocks between two rotations at the most.
const BETWEEN: usize = 120;
/// How often a rotation comes right after another.
const AT_ONCE: f64 = 0.3;
/// How long the server rests after a block at the most, in milliseconds.
const REST: usize = 12;

/// How often what was done.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Rotations {
    pub(super) moved: usize,
    pub(super) packed: usize,
    pub(super) copied: usize,
    /// Rotations right after another.
    pub(super) at_once: usize,
}

pub(super) struct Writer<'a> {
    log: PathBuf,
    format: Format,
    /// Rotation gives numbers, or dates.
    numbered: bool,
    file: File,
    book: &'a mut Book,
    seeded: Seeded,
    /// Lines that are not written to their end, with where that is in all that is written.
    lines: VecDeque<(u64, usize)>,
    /// What is to be written, and how much was.
    rest: Vec<u8>,
    written: u64,
    /// What was moved or copied away, newest first.
    away: Vec<PathBuf>,
    packing: Option<(Child, usize)>,
    pub(super) rotations: Rotations,
}

impl<'a> Writer<'a> {
    pub(super) fn new(log: PathBuf, format: Format, book: &'a mut Book, mut seeded: Seeded) -> Self {
        let (numbered, file) = (seeded.chance(0.5), open(&log));
        let (lines, rest, away) = Default::default();
        let rotations = Rotations::default();
        Self { log, format, numbered, file, book, seeded, lines, rest, written: 0, away, packing: None, rotations }
    }

    /// Writes until so many lines are written. What was moved away is given back.
    pub(super) fn run(mut self, lines: u64) -> (Rotations, Vec<PathBuf>) {
        let end = self.book.lines + lines;
        let mut blocks = self.seeded.within(1, BETWEEN);
        while self.book.lines < end {
            self.block(Fate::Written);
            self.rest();
            blocks -= 1;
            if blocks == 0 {
                self.rotate();
                let at_once = self.seeded.chance(AT_ONCE);
                self.rotations.at_once += usize::from(at_once);
                blocks = if at_once { 1 } else { self.seeded.within(1, BETWEEN) };
            }
        }
        self.finish_line();
        self.finish_packing();
        (self.rotations, self.away)
    }

    fn rest(&mut self) {
        std::thread::sleep(Duration::from_millis(self.seeded.below(REST) as u64));
    }

    /// Writes a block that ends anywhere; of what is finished with it, `fate` is what becomes.
    fn block(&mut self, fate: Fate) {
        let size = self.seeded.within(1, BLOCK);
        while self.rest.len() < size {
            let line = self.book.next();
            self.rest.extend(self.format.line(&line).into_bytes());
            self.lines.push_back((self.written + self.rest.len() as u64, line.number));
        }
        self.write(size, fate);
    }

    fn finish_line(&mut self) {
        self.write(self.rest.len(), Fate::Written);
    }

    fn write(&mut self, bytes: usize, fate: Fate) {
        self.file.write_all(&self.rest[..bytes]).unwrap();
        self.rest.drain(..bytes);
        self.written += bytes as u64;
        while let Some((_, number)) = self.lines.pop_front_if(|(end, _)| *end <= self.written) {
            self.book.note(number, fate);
        }
    }

    fn rotate(&mut self) {
        self.finish_packing();
        if self.seeded.chance(0.35) { self.copy_and_empty() } else { self.move_away() }
    }

    /// `copytruncate`. The server writes in between, or does not; and it may be in the middle of a line.
    fn copy_and_empty(&mut self) {
        self.rotations.copied += 1;
        let to = self.make_room();
        fs::copy(&self.log, &to).unwrap();
        if self.seeded.chance(0.5) {
            (0..self.seeded.within(1, 4)).for_each(|_| self.block(Fate::BeforeTruncation));
            self.rest();
        }
        self.file.set_len(0).unwrap();
        // Half of it was in what is gone.
        let begun = self.lines.front().is_some_and(|(end, _)| self.line_has_begun(*end));
        if begun && let Some((_, number)) = self.lines.pop_front() {
            self.book.note(number, Fate::CutInTwo);
        }
        self.away.insert(0, to);
        self.pack(0.4);
    }

    /// Whether something of the line that ends at `end` was written.
    fn line_has_begun(&self, end: u64) -> bool {
        let left = (end - self.written) as usize;
        let line = self.rest[..left].iter().filter(|byte| **byte == b'\n').count();
        debug_assert_eq!(line, 1, "it is the first of what is left");
        let (_, number) = self.lines[0];
        self.format.line(&self.book.line(number)).len() > left
    }

    /// Renames it and makes a new one; the server goes on with the old one until it is told.
    fn move_away(&mut self) {
        self.rotations.moved += 1;
        let to = self.make_room();
        fs::rename(&self.log, &to).unwrap();
        self.away.insert(0, to);
        let new = open(&self.log);
        for _ in 0..self.seeded.below(4) {
            self.block(Fate::Written);
            self.rest();
        }
        // A server finishes its lines before it goes on to another file.
        self.finish_line();
        self.file = new;
        self.pack(0.5);
    }

    /// The name for the next one that goes away.
    fn make_room(&mut self) -> PathBuf {
        if !self.numbered {
            return self.named(&format!("-20260101-{:06}", self.book.lines));
        }
        for number in (0..self.away.len()).rev() {
            let old = &self.away[number];
            let ending = if is_packed(old) { ".gz" } else { "" };
            let new = self.named(&format!(".{}{ending}", number + 2));
            fs::rename(old, &new).unwrap();
            self.away[number] = new;
        }
        self.named(".1")
    }

    fn named(&self, ending: &str) -> PathBuf {
        let mut name = self.log.clone().into_os_string();
        name.push(ending);
        name.into()
    }

    /// Packs what was moved away last, or the one before it, with that chance.
    fn pack(&mut self, chance: f64) {
        if !self.seeded.chance(chance) {
            return;
        }
        let which = self.seeded.below(2);
        let Some(path) = self.away.get(which).filter(|path| !is_packed(path)) else { return };
        self.rotations.packed += 1;
        self.packing = Some((Command::new("gzip").arg("-1").arg(path).spawn().unwrap(), which));
        if self.seeded.chance(0.5) {
            self.finish_packing();
        }
    }

    fn finish_packing(&mut self) {
        let Some((mut child, which)) = self.packing.take() else { return };
        assert!(child.wait().unwrap().success());
        let mut name = self.away[which].clone().into_os_string();
        name.push(".gz");
        self.away[which] = name.into();
    }
}

pub(super) fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "gz")
}

fn open(path: &Path) -> File {
    OpenOptions::new().create(true).append(true).open(path).unwrap()
}
