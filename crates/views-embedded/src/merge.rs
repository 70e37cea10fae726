//! Few and large segments out of many and small ones, on a thread of its own; and all of them anew when readers get
//! another verdict.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use copydesk_views::store::ViewsError;
use copydesk_views::{Client, Verdict};

use super::flush::{flush, put_in_place, switch_or};
use super::ids;
use super::manifest::{self, IdsEntry, Manifest, SegmentEntry};
use super::project::Project;
use super::repair;
use super::rewrite::{Changes, rewrite};
use super::shared::{Shared, unavailable};
use crate::segment::SegmentError;

/// While views pour in, segments of about the same size are made one when there are so many.
const ALIKE: usize = 4;
/// Segments that a project has at most for long.
const MOST: usize = 8;
/// Sizes up to this are all alike.
const SMALL: u64 = 64 * 1024;
/// Nothing was written for so long: there is time to make things neat.
const CALM: Duration = Duration::from_secs(30);

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
    if let Err(error) = tidy(shared, &project, pace)
        && !shared.is_closing()
    {
        tracing::warn!(project = %id, %error, "segments could not be merged; they stay as they are");
    }
}

/// Merges until there is nothing to merge.
pub(super) fn tidy(shared: &Shared, project: &Project, pace: Pace) -> Result<(), ViewsError> {
    let _merging = project.merging();
    while !shared.is_closing() {
        repair::save_segments(shared, project)?;
        let manifest = Arc::clone(&project.state().manifest);
        let chosen = choose(&manifest, pace);
        if chosen.is_empty() {
            break;
        }
        match rewrite(shared, project, &chosen, &Changes::new()) {
            Err(SegmentError::Damaged { file, what }) if repair::take_out(shared, project, &file, &what) => {}
            done => done?,
        }
    }
    merge_ids(shared, project).map_err(|error| unavailable(&error))
}

/// The segments that should become one: one that is largely forgotten, or several that are small beside the others.
fn choose(manifest: &Manifest, pace: Pace) -> Vec<SegmentEntry> {
    let floor = manifest.gone_before();
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
    let mut damaged = repair::damaged_ids(project);
    let chosen: Vec<IdsEntry> = if fresh.iter().any(|entry| damaged.contains(&entry.number)) {
        fresh.into_iter().cloned().collect()
    } else if fresh.len() >= ALIKE {
        // The largest joins only when the others together are as large, so that it is not written again each time.
        let others: u64 = fresh.iter().rev().skip(1).map(|entry| entry.count).sum();
        let all = fresh.last().is_some_and(|largest| largest.count <= others);
        fresh.iter().take(fresh.len() - usize::from(!all)).copied().cloned().collect()
    } else {
        Vec::new()
    };
    let mut new = None;
    let mut work = project.work();
    if !chosen.is_empty() {
        let number = work.number();
        drop(work);
        let files = chosen.iter().map(|entry| ids::IdFile::open(&entry.file(&project.folder), entry.count));
        let files = files.collect::<io::Result<Vec<_>>>()?;
        let file = manifest::ids_file(&project.folder, number);
        let made = file.with_extension("ids.new");
        let written = ids::merge(&files.iter().collect::<Vec<_>>(), since, &made);
        let written = written.inspect_err(|_| drop(shared.disk.remove(&made)))?;
        put_in_place(shared, &made, &file)?;
        // What could not be read was passed over, and whoever asked before need not have looked there.
        for (entry, _) in chosen.iter().zip(&files).filter(|(_, file)| file.is_damaged()) {
            repair::note_lost_ids(shared, &project.id, &entry.file(&project.folder));
            damaged.insert(entry.number);
        }
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
    for entry in &old {
        let file = entry.file(&project.folder);
        if damaged.contains(&entry.number) {
            repair::put_aside(shared, &file);
        } else {
            drop(shared.disk.remove(&file));
        }
    }
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
    let all = || {
        repair::save_segments(shared, project)?;
        let old = project.state().manifest.segments.clone();
        if old.is_empty() { Ok(()) } else { rewrite(shared, project, &old, &changes) }
    };
    repair::despite_damage(shared, project, all).map_err(|error| match error {
        ViewsError::Unavailable(_) if shared.is_closing() => {
            ViewsError::Unavailable("the view store is closing; nothing was changed".into())
        }
        error => error,
    })
}

#[cfg(test)]
mod tests {
    use copydesk_views::Bucket;

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
