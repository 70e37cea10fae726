//! Lines that were counted before, found again wherever a log has them: a shorter copy, an older one, logs put together
//! in one file, or one of those taken out of it.
//!
//! Of each counted line the store keeps a print, sixteen bits. Sixteen lines in a row that are nowhere else among the known
//! ones say where a copy is; from there it is followed line by line in both directions.

use xxhash_rust::xxh3::xxh3_64;

use super::line::each;
use crate::hash::FastMap;
use crate::{CountedLines, Stretch};

/// Lines that must be the same in a row before they count as known.
const WINDOW: usize = 16;
/// How many of those must differ from each other: a line that comes again and again says nothing.
const DISTINCT: usize = 8;
/// The same for how a log begins, or how it goes on from where it is known to the byte.
const DISTINCT_ANCHORED: usize = 4;
/// Places that are looked up at the most. With more lines only every so many are.
const MOST_PLACES: usize = 1 << 20;

/// The print of a line, without its end.
pub(super) fn print(line: &[u8]) -> u16 {
    xxh3_64(line) as u16
}

/// The prints of lines.
pub(super) fn prints(lines: &[u8]) -> Vec<u16> {
    each(lines).map(print).collect()
}

/// A line among the known ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    stretch: u32,
    line: u32,
}

impl Place {
    fn after(self, lines: usize) -> Self {
        Self { line: self.line + lines as u32, ..self }
    }
}

/// What is known of the lines of a project.
#[derive(Debug, Default)]
pub(super) struct Known {
    stretches: Vec<Stretch>,
    /// The stretches of each log.
    logs: FastMap<String, Vec<u32>>,
    /// Where a window is; none if it is in several places.
    windows: FastMap<u64, Option<Place>>,
    /// Only windows whose first print has none of these bits are looked up.
    mask: u16,
}

impl Known {
    pub(super) fn new(lines: CountedLines) -> Self {
        let mut known = Self { stretches: lines.stretches, ..Self::default() };
        known.index();
        known
    }

    /// Adds lines that were counted since.
    pub(super) fn add(&mut self, lines: Vec<Stretch>) {
        if lines.is_empty() {
            return;
        }
        lines.into_iter().for_each(|new| new.join(&mut self.stretches));
        self.index();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.stretches.is_empty()
    }

    fn index(&mut self) {
        let lines: usize = self.stretches.iter().map(|stretch| stretch.prints.len()).sum();
        self.mask = u16::try_from((lines / MOST_PLACES).next_power_of_two()).unwrap_or(1 << 15) - 1;
        self.logs.clear();
        self.windows.clear();
        for (number, stretch) in (0..).zip(&self.stretches) {
            self.logs.entry(stretch.log.clone()).or_default().push(number);
            for (line, window) in (0..).zip(stretch.prints.windows(WINDOW)) {
                if window[0] & self.mask == 0 {
                    let place = Place { stretch: number, line };
                    self.windows.entry(digest(window)).and_modify(|place| *place = None).or_insert(Some(place));
                }
            }
        }
    }

    fn print(&self, place: Place) -> Option<u16> {
        self.stretches.get(place.stretch as usize)?.prints.get(place.line as usize).copied()
    }

    /// Where the lines of `window` are, if they are in one place only.
    fn find(&self, window: &[u16]) -> Option<Place> {
        if window[0] & self.mask != 0 {
            return None;
        }
        let place = (*self.windows.get(&digest(window))?)?;
        let same = window.iter().enumerate().all(|(line, print)| self.print(place.after(line)) == Some(*print));
        (same && distinct(window) >= DISTINCT).then_some(place)
    }

    /// How many of `prints` follow at `place`, and where they end.
    fn follow(&self, mut place: Place, prints: &[u16]) -> (usize, Place) {
        for (line, print) in prints.iter().enumerate() {
            if self.print(place) != Some(*print) {
                // The log may have been read in several goes.
                match self.next(place).filter(|next| self.print(*next) == Some(*print)) {
                    Some(next) => place = next,
                    None => return (line, place),
                }
            }
            place = place.after(1);
        }
        (prints.len(), place)
    }

    /// Where a log goes on behind the end of a stretch.
    fn next(&self, place: Place) -> Option<Place> {
        let stretch = self.stretches.get(place.stretch as usize)?;
        if (place.line as usize) < stretch.prints.len() {
            return None;
        }
        self.behind(&stretch.log, stretch.end()).next()
    }

    /// What a log has behind so many lines. Several logs may begin alike, and go on differently.
    fn behind<'k>(&'k self, log: &str, lines: u64) -> impl Iterator<Item = Place> + use<'k> {
        let of_log = self.logs.get(log).map(Vec::as_slice).unwrap_or_default();
        of_log.iter().filter_map(move |&number| {
            let stretch = self.stretches.get(number as usize)?;
            let line = lines.checked_sub(stretch.first).filter(|_| lines < stretch.end())?;
            Some(Place { stretch: number, line: u32::try_from(line).ok()? })
        })
    }

    /// How many of `prints` are what a log has behind so many lines, and where they end.
    fn anchored(&self, log: &str, lines: u64, prints: &[u16]) -> Option<(usize, Place)> {
        let places = self.behind(log, lines).map(|place| self.follow(place, prints));
        places.max_by_key(|(lines, _)| *lines).filter(|(lines, _)| *lines > 0)
    }
}

fn digest(window: &[u16]) -> u64 {
    let mut bytes = [0; WINDOW * 2];
    bytes.as_chunks_mut().0.iter_mut().zip(window).for_each(|(bytes, print)| *bytes = print.to_le_bytes());
    xxh3_64(&bytes)
}

/// How many differ, as far as that is asked.
fn distinct(prints: &[u16]) -> usize {
    let mut seen: Vec<u16> = Vec::with_capacity(DISTINCT);
    for print in prints {
        if !seen.contains(print) {
            seen.push(*print);
            if seen.len() == DISTINCT {
                break;
            }
        }
    }
    seen.len()
}

/// Something with lines, and which of them were known.
#[derive(Debug)]
pub(super) struct Looked<T> {
    pub(super) thing: T,
    pub(super) prints: Vec<u16>,
    /// For each line; empty if none is known.
    pub(super) known: Vec<bool>,
}

/// Looks for known lines in a log that comes in parts. What is known may begin a little before the place where it shows,
/// so that the last part is held back.
pub(super) struct Recogniser<'k, T> {
    known: &'k Known,
    /// Which log, and how many of its lines were read before.
    log: (String, u64),
    held: Option<Looked<T>>,
    /// The known line that comes next, if the last one was known.
    next: Option<Place>,
    /// The first line of what is held whose window was not looked up.
    unseen: usize,
    /// All lines so far are how a known log goes on, and too few to say so.
    alike: bool,
    started: bool,
}

impl<'k, T> Recogniser<'k, T> {
    pub(super) fn new(known: &'k Known, log: String, lines: u64) -> Self {
        Self { known, log: (log, lines), held: None, next: None, unseen: 0, alike: false, started: false }
    }

    /// Takes the next part; gives back the one before it.
    pub(super) fn take(&mut self, thing: T, prints: Vec<u16>) -> Option<Looked<T>> {
        let new = Looked { thing, prints, known: Vec::new() };
        if self.known.is_empty() {
            return Some(new);
        }
        let before = self.held.replace(new);
        self.look(before)
    }

    /// The last part.
    pub(super) fn end(mut self) -> Option<Looked<T>> {
        let mut last = self.held.take()?;
        if self.alike {
            last.known = vec![true; last.prints.len()];
        }
        Some(last)
    }

    fn look(&mut self, mut before: Option<Looked<T>>) -> Option<Looked<T>> {
        let mut new = self.held.take()?;
        let part = |it: &Looked<T>, line: usize| it.known.get(line).copied().unwrap_or(false);
        let first = before.as_ref().map_or(0, |before| before.prints.len());
        let mut prints = before.as_ref().map(|before| before.prints.clone()).unwrap_or_default();
        prints.extend_from_slice(&new.prints);
        let mut known: Vec<bool> = before.iter().flat_map(|it| (0..first).map(move |line| part(it, line))).collect();
        known.resize(prints.len(), false);
        self.mark(first, &prints, &mut known);
        let of_new = known.split_off(first);
        let if_any = |known: Vec<bool>| if known.contains(&true) { known } else { Vec::new() };
        new.known = if_any(of_new);
        if let Some(before) = &mut before {
            before.known = if_any(known);
        }
        self.unseen = self.unseen.saturating_sub(first);
        self.held = Some(new);
        before
    }

    /// Marks what is known of lines of which those before `first` were looked at before.
    fn mark(&mut self, first: usize, prints: &[u16], known: &mut [bool]) {
        let mut line = if first == 0 { 0 } else { self.unseen };
        self.alike = false;
        if !std::mem::replace(&mut self.started, true) {
            line = self.begin(prints, known);
        } else if let Some(place) = self.next.take() {
            line = self.run(place, first, prints, known);
        }
        while line + WINDOW <= prints.len() {
            let Some(place) = self.known.find(&prints[line..line + WINDOW]) else {
                line += 1;
                continue;
            };
            let (mut from, mut before) = (line, place);
            while from > 0 && !known[from - 1] && before.line > 0 {
                before.line -= 1;
                if self.known.print(before) != Some(prints[from - 1]) {
                    break;
                }
                from -= 1;
            }
            known[from..line].fill(true);
            line = self.run(place, line, prints, known);
        }
        self.unseen = line;
    }

    /// Marks known lines from `line` on, which is the known one at `place`. Gives the line behind them.
    fn run(&mut self, place: Place, line: usize, prints: &[u16], known: &mut [bool]) -> usize {
        let (lines, next) = self.known.follow(place, &prints[line..]);
        known[line..line + lines].fill(true);
        self.next = (line + lines == prints.len()).then_some(next);
        line + lines
    }

    /// Marks what a log begins with, or goes on with, if it is how a known one does.
    fn begin(&mut self, prints: &[u16], known: &mut [bool]) -> usize {
        let (log, lines) = &self.log;
        let Some((lines, next)) = self.known.anchored(log, *lines, prints) else { return 0 };
        if distinct(&prints[..lines]) < DISTINCT_ANCHORED {
            self.alike = lines == prints.len();
            return 0;
        }
        known[..lines].fill(true);
        self.next = (lines == prints.len()).then_some(next);
        lines
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stretch(log: &str, first: u64, prints: &[u16]) -> Stretch {
        Stretch { log: log.to_owned(), first, prints: prints.to_vec() }
    }

    fn known(stretches: Vec<Stretch>) -> Known {
        Known::new(CountedLines { stretches, damaged: false })
    }

    /// The lines that are new, in parts of that many lines; blocks have at least as many as a window.
    fn new_lines(known: &Known, log: &str, read: u64, prints: &[u16], part: usize) -> Vec<u16> {
        let mut recogniser = Recogniser::new(known, log.to_owned(), read);
        let mut parts: Vec<Looked<()>> =
            prints.chunks(part).filter_map(|it| recogniser.take((), it.to_vec())).collect();
        parts.extend(recogniser.end());
        assert_eq!(parts.iter().flat_map(|part| part.prints.clone()).collect::<Vec<_>>(), prints);
        let new = |part: &Looked<()>| {
            let known = |line: usize| part.known.get(line).copied().unwrap_or(false);
            part.prints
                .iter()
                .enumerate()
                .filter(|(line, _)| !known(*line))
                .map(|(_, print)| *print)
                .collect::<Vec<_>>()
        };
        parts.iter().flat_map(new).collect()
    }

    /// Prints of lines that all differ.
    fn run(from: u16, lines: u16) -> Vec<u16> {
        (from..from + lines).map(|line| line.wrapping_mul(40_503)).collect()
    }

    #[test]
    fn what_a_line_that_repeats_says_is_not_enough() {
        let known = known(vec![stretch("a", 0, &[7; 100])]);
        assert_eq!(new_lines(&known, "b", 0, &[7; 50], 10).len(), 50);
        // A whole log that is how a known one begins is a shorter copy all the same.
        assert_eq!(new_lines(&known, "a", 0, &[7; 50], 50).len(), 0);
        let periodic: Vec<u16> = run(0, 20).repeat(5);
        let known = self::known(vec![stretch("a", 0, &periodic)]);
        assert_eq!(new_lines(&known, "b", 0, &periodic[..40], 10).len(), 40, "it may be from anywhere");
    }

    #[test]
    fn a_log_that_was_read_in_several_goes_is_known_as_a_whole() {
        let known = known(vec![stretch("a", 0, &run(0, 3)), stretch("b", 0, &run(50, 3)), stretch("a", 3, &run(3, 5))]);
        assert_eq!(new_lines(&known, "a", 0, &run(0, 8), 20).len(), 0);
        assert_eq!(new_lines(&known, "a", 3, &run(3, 2), 20).len(), 0);
        assert_eq!(new_lines(&known, "a", 0, &run(0, 10), 20), run(8, 2));
        assert_eq!(new_lines(&known, "a", 2, &run(2, 2), 20).len(), 0);
        assert_eq!(new_lines(&known, "a", 8, &run(2, 2), 20).len(), 2);
    }

    #[test]
    fn lines_that_are_added_are_known() {
        let mut known = Known::default();
        known.add(vec![stretch("a", 0, &run(0, 30))]);
        known.add(vec![stretch("a", 30, &run(30, 30)), stretch("b", 0, &run(900, 30))]);
        let mixed = [run(905, 25), run(500, 5), run(10, 45)].concat();
        assert_eq!(new_lines(&known, "c", 0, &mixed, WINDOW), run(500, 5));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        /// Pieces of what is known and of what is not, in any order, cut anywhere.
        #[test]
        fn known_pieces_are_found_and_nothing_else(
            pieces in prop::collection::vec((any::<bool>(), 0u16..400, 16u16..100), 1..12),
            part in 1usize..300,
        ) {
            let known = known(vec![stretch("a", 0, &run(0, 500))]);
            let (mut log, mut new) = (Vec::new(), Vec::new());
            for (number, (is_known, from, lines)) in (0..).zip(pieces) {
                let piece = if is_known { run(from, lines) } else { run(1000 + number * 100, lines) };
                if !is_known {
                    new.extend_from_slice(&piece);
                }
                log.extend(piece);
            }
            prop_assert_eq!(new_lines(&known, "b", 0, &log, part.max(WINDOW)), new);
        }
    }
}
