//! The segments of a project, open to be asked, and the one list of their paths.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::manifest::{Manifest, SegmentEntry};
use crate::segment::{Segment, SegmentError};

/// Tells one list of paths from another.
static GENERATION: AtomicU64 = AtomicU64::new(1);

/// The open segments of a project. Replaced as a whole when they change.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) parts: Vec<Part>,
    paths: OnceLock<Paths>,
}

#[derive(Debug)]
pub(super) struct Part {
    pub(super) number: u64,
    pub(super) segment: Arc<Segment>,
}

#[derive(Debug)]
pub(super) struct Paths {
    pub(super) generation: u64,
    /// Ascending.
    pub(super) list: Arc<Vec<Arc<str>>>,
    /// For each segment where its paths are in the list; none if it is the list.
    pub(super) places: Vec<Option<Vec<u32>>>,
}

impl Files {
    /// Opens the segments of a manifest but those that are damaged; those that were open already are taken over.
    pub(super) fn open(
        folder: &Path,
        manifest: &Manifest,
        damaged: &HashSet<u64>,
        before: Option<&Self>,
    ) -> Result<Self, SegmentError> {
        let part = |entry: &SegmentEntry| {
            let known = before.and_then(|files| files.parts.iter().find(|part| part.number == entry.number));
            let segment = match known {
                Some(part) => Arc::clone(&part.segment),
                None => Arc::new(Segment::open(&entry.file(folder))?),
            };
            Ok(Part { number: entry.number, segment })
        };
        let sound = manifest.segments.iter().filter(|entry| !damaged.contains(&entry.number));
        let parts = sound.map(part).collect::<Result<_, SegmentError>>()?;
        Ok(Self { parts, paths: OnceLock::new() })
    }

    /// The paths, if they were asked for before.
    pub(super) fn known_paths(&self) -> Option<&Paths> {
        self.paths.get()
    }

    /// The paths; made at the first call.
    pub(super) fn paths(&self) -> Result<&Paths, SegmentError> {
        if let Some(paths) = self.paths.get() {
            return Ok(paths);
        }
        let lists = self.parts.iter().map(|part| part.segment.paths()).collect::<Result<Vec<_>, _>>()?;
        Ok(self.paths.get_or_init(|| Paths::new(&lists)))
    }

    pub(super) fn memory(&self) -> usize {
        let paths = self.paths.get().map_or(0, |paths| {
            let places: usize = paths.places.iter().flatten().map(|places| places.len() * 4).sum();
            places + paths.list.len() * 16
        });
        paths + self.parts.iter().map(|part| part.segment.memory()).sum::<usize>()
    }
}

impl Paths {
    fn new(lists: &[Arc<Vec<Arc<str>>>]) -> Self {
        let largest = lists.iter().max_by_key(|list| list.len()).cloned().unwrap_or_default();
        let list = lists.iter().fold(largest, |all, list| if Arc::ptr_eq(&all, list) { all } else { union(all, list) });
        let places = lists.iter().map(|each| (!Arc::ptr_eq(each, &list)).then(|| places(each, &list))).collect();
        Self { generation: GENERATION.fetch_add(1, Ordering::Relaxed), list, places }
    }

    /// Where a path is in the list.
    pub(super) fn find(&self, path: &str) -> Option<u32> {
        let place = self.list.binary_search_by(|other| other.as_bytes().cmp(path.as_bytes())).ok()?;
        u32::try_from(place).ok()
    }
}

/// All paths of both; `all` itself if it has them.
fn union(all: Arc<Vec<Arc<str>>>, more: &[Arc<str>]) -> Arc<Vec<Arc<str>>> {
    let mut missing = Vec::new();
    let mut known = all.iter().peekable();
    for path in more {
        while known.next_if(|known| *known < path).is_some() {}
        if known.peek() != Some(&path) {
            missing.push(Arc::clone(path));
        }
    }
    if missing.is_empty() {
        return all;
    }
    let mut merged: Vec<Arc<str>> = Vec::with_capacity(all.len() + missing.len());
    let mut missing = missing.into_iter().peekable();
    for path in all.iter() {
        while let Some(path) = missing.next_if(|missing| missing < path) {
            merged.push(path);
        }
        merged.push(Arc::clone(path));
    }
    merged.extend(missing);
    Arc::new(merged)
}

/// Where each path of a list is in one that has all of them.
fn places(list: &[Arc<str>], all: &[Arc<str>]) -> Vec<u32> {
    let mut all = all.iter().enumerate();
    let place = |path: &Arc<str>| all.find(|(_, known)| *known == path).map_or(0, |(place, _)| place as u32);
    list.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_path_is_once_in_the_list_and_found(lists in prop::collection::vec(prop::collection::btree_set(0..60u8, 0..30), 0..5)) {
            let list = |set: &std::collections::BTreeSet<u8>| {
                let mut list: Vec<Arc<str>> = set.iter().map(|n| format!("/{n}").into()).collect();
                list.sort();
                Arc::new(list)
            };
            let lists: Vec<_> = lists.iter().map(list).collect();
            let paths = Paths::new(&lists);
            let mut expected: Vec<Arc<str>> = lists.iter().flat_map(|list| list.iter().cloned()).collect();
            expected.sort();
            expected.dedup();
            prop_assert_eq!(&*paths.list, &expected);
            for (list, places) in lists.iter().zip(&paths.places) {
                for (at, path) in list.iter().enumerate() {
                    let place = places.as_ref().map_or(at, |places| places[at] as usize);
                    prop_assert_eq!(&paths.list[place], path);
                    prop_assert_eq!(paths.find(path), Some(place as u32));
                }
            }
        }
    }
}
