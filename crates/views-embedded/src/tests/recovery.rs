use std::fs;
use std::path::PathBuf;

use copydesk_views::store::{ViewStore, ViewsError};

use super::faulty::FaultyDisk;
use super::*;
use crate::OpenError;
use crate::embedded::block_on;
use crate::wal;

fn logs(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder.join("wal")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|it| it == "wal")).collect();
    files.sort();
    files
}

/// Leaves a store as a killed process does: nothing but the log has its views.
fn killed(folder: &Path, appends: u32) {
    let disk = FaultyDisk::new(1);
    let store = Embedded::open_on(disk.clone(), folder, Options::new(ManualClock::new())).unwrap();
    for n in 0..appends {
        store.append_now(batch("p", vec![view(n, "/a", 0, None)])).unwrap();
    }
    disk.end_in(0);
}

fn count(store: &Embedded) -> u64 {
    store.ranking_now("p", always(BOTH)).unwrap().totals().human
}

#[test]
fn a_log_that_is_cut_anywhere_has_the_whole_records_before() {
    let folder = tempfile::tempdir().unwrap();
    killed(folder.path(), 3);
    let [log] = <[_; 1]>::try_from(logs(folder.path())).unwrap();
    let bytes = fs::read(&log).unwrap();
    let mut ends = vec![wal::HEADER];
    while let Some(record) = wal::read_record(&bytes, 1, ends[ends.len() - 1]) {
        ends.push(record.end);
    }
    assert_eq!(ends.len(), 4);
    let near = |length: &usize| ends.iter().any(|end| end.abs_diff(*length) <= 1) || length.is_multiple_of(13);
    for length in (0..=bytes.len()).filter(near) {
        let copy = tempfile::tempdir().unwrap();
        fs::create_dir_all(copy.path().join("wal")).unwrap();
        fs::write(copy.path().join("wal").join(log.file_name().unwrap()), &bytes[..length]).unwrap();
        let store = open(copy.path());
        let whole = ends.iter().filter(|end| **end <= length).count().saturating_sub(1) as u64;
        assert_eq!(count(&store), whole, "cut at {length}");
        store.append_now(batch("p", vec![view(9, "/a", 0, None)])).unwrap();
        drop(store);
        assert_eq!(count(&open(copy.path())), whole + 1, "cut at {length}");
    }
}

#[test]
fn damage_in_the_middle_costs_only_what_is_damaged_and_is_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    killed(folder.path(), 3);
    let [log] = <[_; 1]>::try_from(logs(folder.path())).unwrap();
    let mut bytes = fs::read(&log).unwrap();
    let first = wal::read_record(&bytes, 1, wal::HEADER).unwrap().end;
    bytes[first + 30] ^= 1;
    fs::write(&log, &bytes).unwrap();
    let store = open(folder.path());
    assert_eq!(count(&store), 2);
    // Two files are closed by and by, so that the first may go.
    for _ in 0..2 {
        store.append_now(batch("p", vec![view(9, "/a", 0, None)])).unwrap();
        store.settle().unwrap();
    }
    drop(store);
    let store = open(folder.path());
    store.append_now(batch("p", vec![view(9, "/a", 0, None)])).unwrap();
    store.settle().unwrap();
    assert_eq!(count(&store), 5);
    assert!(log.with_extension("wal.damaged").exists());
}

#[test]
fn a_project_whose_manifest_is_damaged_says_so_and_the_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.append_now(batch("p", vec![view(1, "/a", 0, None)])).unwrap();
    store.append_now(batch("q", vec![view(1, "/a", 0, None)])).unwrap();
    drop(store);
    fs::write(folder.path().join("projects/p/manifest"), "rubbish").unwrap();
    let store = open(folder.path());
    assert!(matches!(store.ranking_now("p", always(BOTH)), Err(ViewsError::Damaged(_))));
    assert!(matches!(store.append_now(batch("p", vec![view(1, "/a", 0, None)])), Err(ViewsError::Damaged(_))));
    assert_eq!(store.ranking_now("q", always(BOTH)).unwrap().totals().human, 1);
    let target = folder.path().join("copy");
    store.backup_now(&target).unwrap();
    assert_eq!(fs::read_to_string(target.join("projects/p/manifest")).unwrap(), "rubbish");
    assert_eq!(open(&target).ranking_now("q", always(BOTH)).unwrap().totals().human, 1);
    store.append_now(batch("q", vec![view(1, "/a", 0, None)])).unwrap();
}

/// A batch of nothing but duplicates writes nothing; what it says rests on a record that may not be on disk.
#[test]
fn what_a_duplicate_was_told_to_be_there_stays_there() {
    for (seed, after) in (0..40).flat_map(|seed| (0..8).map(move |after| (seed, after))) {
        let folder = tempfile::tempdir().unwrap();
        let once = || batch("p", vec![view(1, "/a", 0, Some("x"))]);
        let disk = FaultyDisk::new(seed);
        let options = || Options::new(ManualClock::new());
        let store = Embedded::open_on(disk.clone(), folder.path(), options()).unwrap();
        disk.end_in(after);
        let _ = store.append_now(once());
        drop(store);
        let disk = disk.after(seed);
        let store = Embedded::open_on(disk.clone(), folder.path(), options()).unwrap();
        store.append_now(once()).unwrap();
        disk.end_in(0);
        drop(store);
        disk.lose_power();
        assert_eq!(count(&open(folder.path())), 1, "seed {seed}, after {after} steps");
    }
}

#[test]
fn a_full_disk_refuses_and_heals() {
    let folder = tempfile::tempdir().unwrap();
    let disk = FaultyDisk::new(5);
    let store = Embedded::open_on(disk.clone(), folder.path(), small(&ManualClock::new())).unwrap();
    let one = || batch("p", vec![view(1, "/a", 0, None)]);
    store.append_now(one()).unwrap();
    disk.fail(100);
    for _ in 0..5 {
        assert!(matches!(store.append_now(one()), Err(ViewsError::Unavailable(_))));
        assert!(store.settle().is_err());
        assert_eq!(count(&store), 1);
    }
    disk.fail(0);
    store.append_now(one()).unwrap();
    store.settle().unwrap();
    assert_eq!(count(&store), 2);
    drop(store);
    assert_eq!(count(&open(folder.path())), 2);
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(Embedded::open(&file, Options::new(ManualClock::new())), Err(OpenError::Io(..))));
}

/// Ids of projects come from outside; none of them may lead elsewhere.
#[test]
fn a_project_stays_in_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("store"));
    for project in ["..", "../../x", "a/b", ".", "ü", "A%2e"] {
        store.append_now(batch(project, vec![view(1, "/a", 0, None)])).unwrap();
    }
    assert!(store.append_now(batch("", vec![view(1, "/a", 0, None)])).is_err());
    assert!(store.append_now(batch(&"x".repeat(300), vec![view(1, "/a", 0, None)])).is_err());
    drop(store);
    let outside: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(outside, ["store"]);
    let store = open(&folder.path().join("store"));
    assert_eq!(block_on(store.projects()).unwrap(), [".", "..", "../../x", "A%2e", "a/b", "ü"]);
    assert_eq!(store.ranking_now("..", always(BOTH)).unwrap().totals().human, 1);
}
