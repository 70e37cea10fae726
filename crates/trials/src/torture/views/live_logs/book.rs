//! What was written, kept outside the program that counts it.

use std::collections::HashMap;

use super::super::event::{Counts, reader};
use crate::seeded::Seeded;

/// 2026-01-01.
pub(super) const FIRST_SECOND: u64 = 1_767_225_600;
/// Lines of a second.
const BUSY: usize = 300;
const PAGES: usize = 2000;

/// A request, as it is written to a log.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) number: usize,
    /// When it was, since the first.
    pub(super) second: u64,
    pub(super) address: String,
    pub(super) agent: &'static str,
    pub(super) page: String,
}

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is in a file, whole.
    Written,
    /// It was written between the copy and the truncation: whoever followed may have seen it, nobody else can.
    BeforeTruncation,
    /// One half of it is in the copy, or nowhere, and the other in the file that was emptied. Either may look like a line.
    CutInTwo,
}

#[derive(Debug, Default, Clone, Copy)]
struct Sum {
    certain: Counts,
    maybe: Counts,
}

/// The lines of a run.
#[derive(Debug)]
pub(super) struct Book {
    seed: u64,
    /// How many were made.
    pub(super) lines: u64,
    pages: HashMap<String, Sum>,
    pub(super) maybe: u64,
    pub(super) cut: u64,
}

impl Book {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, lines: 0, pages: HashMap::new(), maybe: 0, cut: 0 }
    }

    pub(super) fn next(&mut self) -> Line {
        let line = self.line(self.lines as usize);
        self.lines += 1;
        line
    }

    /// The line of that number, the same every time.
    pub(super) fn line(&self, number: usize) -> Line {
        let mut seeded = Seeded::part(self.seed, number as u64);
        let address = format!("198.51.{}.{}", seeded.below(256), seeded.below(256));
        let page = format!("/p/{:04}", seeded.below(PAGES));
        Line { number, second: (number / BUSY) as u64, address, agent: reader(number).0, page }
    }

    pub(super) fn note(&mut self, number: usize, fate: Fate) {
        let (page, by_ai) = (self.line(number).page, reader(number).1);
        let sum = self.pages.entry(page).or_default();
        let one = Counts { human: u64::from(!by_ai), ai: u64::from(by_ai) };
        match fate {
            Fate::Written => sum.certain += one,
            Fate::BeforeTruncation | Fate::CutInTwo => sum.maybe += one,
        }
        self.maybe += u64::from(fate == Fate::BeforeTruncation);
        self.cut += u64::from(fate == Fate::CutInTwo);
    }

    /// What is wrong with the counts.
    pub(super) fn check(&self, counted: &HashMap<String, Counts>) -> Vec<String> {
        let mut wrong = Vec::new();
        for (page, Sum { certain, maybe }) in &self.pages {
            let counted = counted.get(page).copied().unwrap_or_default();
            let fits = |counted: u64, certain: u64, maybe: u64| (certain..=certain + maybe).contains(&counted);
            if !fits(counted.human, certain.human, maybe.human) || !fits(counted.ai, certain.ai, maybe.ai) {
                wrong.push(format!("{page}: counted {counted:?}, written {certain:?}, perhaps {maybe:?} more"));
            }
        }
        wrong.extend(
            counted
                .keys()
                .filter(|page| !self.pages.contains_key(*page))
                .map(|page| format!("{page} was never written")),
        );
        wrong
    }

    /// Lines that must be counted.
    pub(super) fn certain(&self) -> u64 {
        self.pages.values().map(|sum| sum.certain.human + sum.certain.ai).sum()
    }
}
