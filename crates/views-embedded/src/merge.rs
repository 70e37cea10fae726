//! Few and large segments out of many and small ones, on a thread of its own; and all of them anew when readers get
//! another verdict.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use copydesk_views::store::ViewsError;
use copydesk_views::{Bucket, Client, Verdict};

use super::flush::{flush, put_in_place, switch_or};
use super::ids;
use super::manifest::{self, IdsEntry, Manifest, SegmentEntry};
use super::project::Project;
use super::shared::{Shared, unavailable};
use crate::segment::{self, Segment, SegmentError};

/// While views pour in, segments of about the same size are made one when there are so many.
const ALIKE: usize = 4;
/// Segments that a project has at most for long.
const MOST: usize = 8;
/// Sizes up to this are all alike.
const SMALL: u64 = 64 * 1024;
/// Nothing was written for so long: there is time to make things neat.
const CALM: Duration = Duration::from_secs(30);

/// Readers that become others.
type Changes = HashMap<Arc<Client>, Arc<Client>>;

/// How much work a merge may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// As little as keeps the number of segments small.
    Busy,
    /// As much as makes it smallest.
    Calm,
}

/// Merges segments until the store is closed.
pub(super) fn run(shared: &Shared) {
    let mut untidy: HashSet<Arc<str>> = HashSet::new();
    while !shared.is_closing() {
        let noted = shared.noted(&shared.to_merge);
        if noted.is_empty() {
            untidy.drain().for_each(|id| try_tidy(shared, &id, Pace::Calm));
        }
        noted.iter().for_each(|id| try_tidy(shared, id, Pace::Busy));
        untidy.extend(noted);
        shared.merger.wait(CALM);
    }
}

fn try_tidy(shared: &Shared, id: &str, pace: Pace) {
    let Ok(Some(project)) = shared.project(id) else { return };
    if let Err(error) = tidy(shared, &project, pace) {
        if matches!(error, ViewsError::Damaged(_)) {
            project.unmergeable.store(true, Ordering::Relaxed);
        }
        if !shared.is_closing() {
            tracing::warn!(project = %id, %error, "segments could not be merged; they stay as they are");
        }
    }
}

/// Merges until there is nothing to merge.
pub(super) fn tidy(shared: &Shared, project: &Project, pace: Pace) -> Result<(), ViewsError> {
    let _merging = project.merging();
    while !shared.is_closing() && !project.unmergeable.load(Ordering::Relaxed) {
        let manifest = Arc::clone(&project.state().manifest);
        let chosen = choose(&manifest, pace);
        if chosen.is_empty() {
            break;
        }
        rewrite(shared, project, &chosen, &Changes::new())?;
    }
    merge_ids(shared, project).map_err(|error| unavailable(&error))
}

/// The segments that should become one: one that is largely forgotten, or several that are small beside the others.
fn choose(manifest: &Manifest, pace: Pace) -> Vec<SegmentEntry> {
    let floor = manifest.floor.unwrap_or(Bucket::MIN);
    let mut by_size: Vec<SegmentEntry> = manifest.segments.clone();
    by_size.sort_by_key(|entry| entry.bytes);
    let forgotten = |entry: &&SegmentEntry| {
        let (span, gone) = (entry.last.0 - entry.first.0, floor.0.saturating_sub(entry.first.0));
        entry.last < floor || u64::from(gone) * 4 > u64::from(span) + 4
    };
    if let Some(entry) = by_size.iter().find(forgotten) {
        return vec![entry.clone()];
    }
    let chosen = match pace {
        Pace::Busy => alike(&by_size),
        Pace::Calm => outweighed(&by_size),
    };
    by_size.truncate(chosen);
    by_size
}

/// How many of the smallest to merge when there are many of a size.
fn alike(by_size: &[SegmentEntry]) -> usize {
    let size = |entry: &SegmentEntry| (entry.bytes.max(SMALL) / SMALL).ilog2() / 2;
    let mut end = 0;
    for alike in by_size.chunk_by(|one, other| size(one) == size(other)) {
        end += alike.len();
        if alike.len() >= ALIKE {
            // The smaller ones come along: they are few beside these.
            return end;
        }
    }
    if by_size.len() > MOST { by_size.len() - MOST + 2 } else { 0 }
}

/// How many of the smallest to merge so that each segment is larger than all smaller ones together.
fn outweighed(by_size: &[SegmentEntry]) -> usize {
    let (mut chosen, mut smaller) = (0, 0);
    for (place, entry) in by_size.iter().enumerate() {
        if place > 0 && smaller * 2 >= entry.bytes.max(SMALL) {
            chosen = place + 1;
        }
        smaller += entry.bytes;
    }
    chosen
}

/// Writes segments as one, with what was forgotten left out and readers changed, and puts it in their place.
fn rewrite(shared: &Shared, project: &Project, old: &[SegmentEntry], changes: &Changes) -> Result<(), ViewsError> {
    let removals = project.state().removals;
    let floor = project.state().floor();
    // Opened for this alone: what a merge reads is not what questions read.
    let open = |entry: &SegmentEntry| Segment::open(&entry.file(&project.folder)).map(Arc::new);
    let inputs = old.iter().filter(|entry| entry.last >= floor).map(open).collect::<Result<Vec<_>, _>>()?;
    let number = project.work().number();
    let file = manifest::segment_file(&project.folder, number);
    let new = file.with_extension("seg.new");
    let stop = || shared.is_closing() || project.state().removals != removals;
    let info = segment::merge(&inputs, floor, changes, &new, &stop).inspect_err(|_| drop(shared.disk.remove(&new)))?;
    drop(inputs);
    if info.is_some() {
        put_in_place(shared, &new, &file).map_err(|error| unavailable(&error))?;
    }
    let entry = info.map(|info| SegmentEntry::new(number, &info));
    replace(shared, project, old, entry, removals).map_err(|error| unavailable(&error))
}

fn replace(
    shared: &Shared,
    project: &Project,
    old: &[SegmentEntry],
    new: Option<SegmentEntry>,
    removals: u64,
) -> io::Result<()> {
    let work = project.work();
    let current = Arc::clone(&project.state().manifest);
    let made = new.as_ref().map(|entry| entry.file(&project.folder));
    if project.state().removals != removals {
        return made.map_or(Ok(()), |file| shared.disk.remove(&file));
    }
    let undo = || made.iter().for_each(|file| drop(shared.disk.remove(file)));
    shared.disk.sync_folder(&project.folder).inspect_err(|_| undo())?;
    let mut manifest = Manifest { next: work.last_number(), ..(*current).clone() };
    manifest.segments.retain(|entry| !old.contains(entry));
    manifest.segments.extend(new);
    switch_or(shared, project, &manifest, undo)?;
    let new = project.opened(manifest);
    let mut state = project.state_mut();
    let replaced = state.take_over(new);
    drop(state);
    drop(work);
    drop(replaced);
    old.iter().for_each(|entry| drop(shared.disk.remove(&entry.file(&project.folder))));
    Ok(())
}

/// Drops files of ids that are too old, and makes one of those that are many.
fn merge_ids(shared: &Shared, project: &Project) -> io::Result<()> {
    let since = shared.now().saturating_sub(shared.limits.id_seconds);
    let (manifest, removals) = {
        let state = project.state();
        (Arc::clone(&state.manifest), state.removals)
    };
    let mut old: Vec<IdsEntry> = manifest.ids.iter().filter(|entry| entry.newest < since).cloned().collect();
    let mut fresh: Vec<&IdsEntry> = manifest.ids.iter().filter(|entry| entry.newest >= since).collect();
    fresh.sort_by_key(|entry| entry.count);
    let mut new = None;
    let mut work = project.work();
    if fresh.len() >= ALIKE {
        // The largest joins only when the others together are as large, so that it is not written again each time.
        let others: u64 = fresh.iter().rev().skip(1).map(|entry| entry.count).sum();
        let all = fresh.last().is_some_and(|largest| largest.count <= others);
        let chosen: Vec<IdsEntry> = fresh.iter().take(fresh.len() - usize::from(!all)).copied().cloned().collect();
        let number = work.number();
        drop(work);
        let files = chosen.iter().map(|entry| ids::IdFile::open(&entry.file(&project.folder)));
        let files = files.collect::<io::Result<Vec<_>>>()?;
        let file = manifest::ids_file(&project.folder, number);
        let made = file.with_extension("ids.new");
        let written = ids::merge(&files.iter().collect::<Vec<_>>(), since, &made);
        let written = written.inspect_err(|_| drop(shared.disk.remove(&made)))?;
        put_in_place(shared, &made, &file)?;
        new = Some(IdsEntry { number, count: written.count, newest: written.newest, bytes: written.bytes });
        old.extend(chosen);
        work = project.work();
    }
    let made = new.as_ref().map(|entry: &IdsEntry| entry.file(&project.folder));
    let undo = || made.iter().for_each(|file| drop(shared.disk.remove(file)));
    if old.is_empty() || project.state().removals != removals {
        undo();
        return Ok(());
    }
    shared.disk.sync_folder(&project.folder).inspect_err(|_| undo())?;
    let current = Arc::clone(&project.state().manifest);
    let mut manifest = Manifest { next: work.last_number(), ..(*current).clone() };
    manifest.ids.retain(|entry| !old.contains(entry));
    manifest.ids.extend(new);
    switch_or(shared, project, &manifest, undo)?;
    let new = project.opened(manifest);
    let replaced = project.state_mut().take_over(new);
    drop(replaced);
    old.iter().for_each(|entry| drop(shared.disk.remove(&entry.file(&project.folder))));
    Ok(())
}

/// Gives readers another verdict in all that there is now. It happens at the switch of one manifest: after an error, or a
/// crash, either all of it or nothing has.
pub(super) fn relabel(
    shared: &Shared,
    project: &Arc<Project>,
    changes: Vec<(Arc<Client>, Verdict)>,
) -> Result<(), ViewsError> {
    let changed = |(client, verdict): (Arc<Client>, Verdict)| {
        let other = Arc::new(Client { facts: client.facts.clone(), verdict });
        (client, other)
    };
    let changes: Changes = changes.into_iter().map(changed).filter(|(old, new)| old != new).collect();
    if changes.is_empty() {
        return Ok(());
    }
    let _merging = project.merging();
    // What was acknowledged until now is in segments then; what comes later has been judged by who sends it.
    flush(shared, project).map_err(|error| unavailable(&error))?;
    let old = project.state().manifest.segments.clone();
    if old.is_empty() {
        return Ok(());
    }
    rewrite(shared, project, &old, &changes).map_err(|error| match error {
        ViewsError::Unavailable(_) if shared.is_closing() => {
            ViewsError::Unavailable("the view store is closing; nothing was changed".into())
        }
        error => error,
    })
}

impl From<SegmentError> for io::Error {
    fn from(error: SegmentError) -> Self {
        match error {
            SegmentError::Io(error) => error,
            SegmentError::Damaged(what) => Self::new(io::ErrorKind::InvalidData, what),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(kib: &[u64]) -> Vec<SegmentEntry> {
        let entry = |(number, kib): (u64, &u64)| SegmentEntry {
            number,
            first: Bucket(10),
            last: Bucket(20),
            cells: 1,
            views: 1,
            bytes: kib * 1024,
        };
        (0..).zip(kib).map(entry).collect()
    }

    fn chosen(kib: &[u64], pace: Pace) -> Vec<u64> {
        let manifest = Manifest { segments: sizes(kib), ..Manifest::default() };
        choose(&manifest, pace).iter().map(|entry| entry.bytes / 1024).collect()
    }

    #[test]
    fn segments_of_a_size_become_one() {
        assert_eq!(chosen(&[900, 1, 2, 3], Pace::Busy), [0; 0]);
        assert_eq!(chosen(&[900, 4, 1, 2, 3], Pace::Busy), [1, 2, 3, 4]);
        assert_eq!(chosen(&[1, 500, 510, 520, 530, 90_000], Pace::Busy), [1, 500, 510, 520, 530]);
        let all_sizes = [1, 300, 1200, 5000, 20_000, 90_000, 400_000, 2_000_000, 9_000_000];
        assert_eq!(chosen(&all_sizes, Pace::Busy), [1, 300, 1200]);
    }

    #[test]
    fn in_quiet_times_each_is_larger_than_all_smaller_ones() {
        assert_eq!(chosen(&[900, 100, 30], Pace::Calm), [0; 0]);
        assert_eq!(chosen(&[900, 400, 100], Pace::Calm), [100, 400, 900]);
        assert_eq!(chosen(&[9000, 100, 90], Pace::Calm), [90, 100]);
        assert_eq!(chosen(&[5], Pace::Calm), [0; 0]);
    }

    #[test]
    fn what_is_largely_forgotten_is_written_anew_by_itself() {
        let segments = sizes(&[1, 2, 3, 4]);
        let with_floor =
            |floor| Manifest { floor: Some(Bucket(floor)), segments: segments.clone(), ..Manifest::default() };
        assert_eq!(choose(&with_floor(12), Pace::Busy).len(), 4);
        assert_eq!(choose(&with_floor(14), Pace::Busy).len(), 1);
        assert_eq!(choose(&with_floor(30), Pace::Busy).len(), 1);
    }
}
