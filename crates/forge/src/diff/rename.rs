use std::collections::HashMap;
use std::io;

use gix_hash::ObjectId;

use super::{Content, Load, Pair, Side};

/// More new or deleted files than this are not compared with each other: the work grows with the square.
const MOST_CANDIDATES: usize = 60;
/// Larger files are not compared.
const LARGEST: usize = 512 * 1024;
/// How many percent of two files must be the same for one to be the other, moved.
const ENOUGH: usize = 50;

/// Makes one pair of a deleted and a new file that are alike. Those that are the same come first, however many there are,
/// then the most alike.
pub(super) fn pair_up(pairs: &mut Vec<Pair>, load: Load) -> io::Result<()> {
    let regular = |mode: u16| mode & 0o170_000 == 0o100_000;
    let gone = |pair: &Pair| pair.new.is_none() && pair.old.as_ref().is_some_and(|side| regular(side.mode));
    let come = |pair: &Pair| pair.old.is_none() && pair.new.as_ref().is_some_and(|side| regular(side.mode));
    pair_same(pairs, gone, come);
    let gone = lines_of(pairs, gone, load)?;
    let come = lines_of(pairs, come, load)?;
    if gone.len() > MOST_CANDIDATES || come.len() > MOST_CANDIDATES {
        pairs.retain(|pair| pair.old.is_some() || pair.new.is_some());
        return Ok(());
    }
    let mut matches = Vec::new();
    for (from, old) in &gone {
        for (to, new) in &come {
            let alike = likeness(old, new);
            if alike >= ENOUGH {
                matches.push((alike, *from, *to));
            }
        }
    }
    matches.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    let mut taken = Vec::new();
    for (_, from, to) in matches {
        if taken.contains(&from) || pairs[to].old.is_some() {
            continue;
        }
        taken.push(from);
        join(pairs, from, to);
    }
    pairs.retain(|pair| pair.old.is_some() || pair.new.is_some());
    Ok(())
}

fn join(pairs: &mut [Pair], from: usize, to: usize) {
    pairs[to].old = pairs[from].old.take();
    pairs[to].old_path = Some(pairs[from].path.clone());
}

/// Pairs up files with the same content, those of the same name first. Empty files are all the same, which means nothing.
fn pair_same(pairs: &mut [Pair], gone: impl Fn(&Pair) -> bool, come: impl Fn(&Pair) -> bool) {
    let blob = |side: &Option<Side>| match side.as_ref().map(|side| &side.content) {
        Some(Content::Blob(id)) if !id.is_empty_blob() => Some(*id),
        _ => None,
    };
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let mut there: HashMap<ObjectId, Vec<usize>> = HashMap::new();
    for (at, pair) in pairs.iter().enumerate().filter(|(_, pair)| gone(pair)) {
        if let Some(id) = blob(&pair.old) {
            there.entry(id).or_default().push(at);
        }
    }
    let new: Vec<usize> = (0..pairs.len()).filter(|at| come(&pairs[*at])).collect();
    for is_by_name in [true, false] {
        for to in &new {
            let Some(places) =
                blob(&pairs[*to].new).filter(|_| pairs[*to].old.is_none()).and_then(|id| there.get_mut(&id))
            else {
                continue;
            };
            let fits = |from: &usize| !is_by_name || name(&pairs[*from].path) == name(&pairs[*to].path);
            if let Some(at) = places.iter().position(fits) {
                let from = places.remove(at);
                join(pairs, from, *to);
            }
        }
    }
}

/// How many bytes of each line a file has.
struct Lines {
    bytes: usize,
    by_line: HashMap<Vec<u8>, usize>,
}

impl Lines {
    fn of(bytes: &[u8]) -> Self {
        let mut by_line = HashMap::new();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            *by_line.entry(line.to_vec()).or_default() += line.len();
        }
        Self { bytes: bytes.len(), by_line }
    }
}

fn lines_of(pairs: &[Pair], wanted: impl Fn(&Pair) -> bool, load: Load) -> io::Result<Vec<(usize, Lines)>> {
    let mut found = Vec::new();
    for (index, pair) in pairs.iter().enumerate().filter(|(_, pair)| wanted(pair)) {
        if found.len() > MOST_CANDIDATES {
            break;
        }
        let Some(side) = pair.old.as_ref().or(pair.new.as_ref()) else { continue };
        // Empty files are all alike, which means nothing.
        let Some(bytes) = side.content.bytes(load)?.filter(|bytes| (1..=LARGEST).contains(&bytes.len())) else {
            continue;
        };
        found.push((index, Lines::of(&bytes)));
    }
    Ok(found)
}

fn likeness(old: &Lines, new: &Lines) -> usize {
    let shared = |(line, bytes): (&Vec<u8>, &usize)| new.by_line.get(line).map_or(0, |other| *bytes.min(other));
    100 * old.by_line.iter().map(shared).sum::<usize>() / old.bytes.max(new.bytes).max(1)
}

/// How many percent of two contents are the same, for the line that says so.
pub(super) fn percent(old: &[u8], new: &[u8]) -> usize {
    if old == new {
        return 100;
    }
    likeness(&Lines::of(old), &Lines::of(new)).min(99)
}
