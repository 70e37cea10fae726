//! What is done about damage costs nothing that is not damaged, and is told.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use copydesk_views::Stretch;
use copydesk_views::store::{Loss, Lost, ViewStore, ViewsError};

use super::*;
use crate::manifest::{is_set_aside, lines_file};
use crate::tests::bad_disk::Bad;
use crate::wal;

/// Reading it is an error of the disk, as on a bad spot.
const BAD_SPOT: &str = "/proc/self/mem";

fn one(bucket: u32, id: &str) -> Batch {
    batch("p", vec![view(bucket, "/a", 0, Some(id))])
}

fn count(store: &Embedded) -> u64 {
    store.ranking_now("p", always(BOTH)).unwrap().totals().human
}

fn losses(store: &Embedded) -> Vec<Loss> {
    block_on(store.losses(None)).unwrap().list
}

/// Two segments and two files of ids, and a view in the log.
fn settled(folder: &Path) {
    let store = open(folder);
    for (bucket, id) in [(100, "a"), (200, "b")] {
        store.append_now(one(bucket, id)).unwrap();
        crate::flush::flush(&store.shared, &store.shared.loaded("p").unwrap()).unwrap();
    }
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let all = fs::read_dir(folder.join("projects/p")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = all.filter(|file| file.extension().is_some_and(|it| it == extension)).collect();
    files.sort();
    files
}

#[test]
fn a_manifest_that_cannot_be_made_anew_costs_no_segment() {
    let folder = tempfile::tempdir().unwrap();
    settled(folder.path());
    let manifest = folder.path().join("projects/p/manifest");
    fs::write(&manifest, "rubbish").unwrap();
    let disk = Arc::new(Bad::default());
    let store = Embedded::open_on(disk.clone(), folder.path(), Options::new(ManualClock::new())).unwrap();
    disk.refuse_manifests(true);
    assert!(block_on(store.repair(Some("p"))).is_err());
    disk.refuse_manifests(false);
    assert!(matches!(store.append_now(one(300, "c")), Err(ViewsError::Damaged(_))));
    assert_eq!((files(folder.path(), "seg").len(), files(folder.path(), "ids").len()), (2, 2));
    block_on(store.repair(Some("p"))).unwrap();
    assert_eq!(count(&store), 2);
    assert_eq!(fs::read_to_string(crate::manifest::set_aside(&manifest)).unwrap(), "rubbish");
}

#[test]
fn a_project_whose_manifest_is_gone_is_damaged_and_no_new_one() {
    let folder = tempfile::tempdir().unwrap();
    settled(folder.path());
    fs::remove_file(folder.path().join("projects/p/manifest")).unwrap();
    let store = open(folder.path());
    assert!(matches!(store.append_now(one(300, "c")), Err(ViewsError::Damaged(_))));
    assert!(matches!(store.ranking_now("p", always(BOTH)), Err(ViewsError::Damaged(_))));
    assert_eq!(block_on(store.verify(Some("p"))).unwrap().len(), 1);
    assert_eq!(files(folder.path(), "seg").len(), 2);
    block_on(store.repair(Some("p"))).unwrap();
    assert_eq!(count(&store), 2);
    assert_eq!(store.append_now(one(300, "a")).unwrap().counted, 0, "ids are known");
}

#[test]
fn a_first_flush_that_is_cut_short_leaves_no_damage() {
    for steps in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let disk = faulty::FaultyDisk::new(steps as u64);
        let store = Embedded::open_on(disk.clone(), folder.path(), Options::new(ManualClock::new())).unwrap();
        store.append_now(one(100, "a")).unwrap();
        disk.end_in(steps);
        let _ = store.settle();
        disk.end_in(0);
        drop(store);
        let store = open(folder.path());
        assert_eq!((count(&store), losses(&store)), (1, vec![]), "after {steps} steps");
    }
}

#[test]
fn what_a_new_manifest_cannot_name_is_put_aside_and_told() {
    let folder = tempfile::tempdir().unwrap();
    settled(folder.path());
    fs::write(folder.path().join("projects/p/manifest"), "rubbish").unwrap();
    let (segment, ids) = (files(folder.path(), "seg").remove(0), files(folder.path(), "ids").remove(0));
    let bytes = fs::read(&segment).unwrap();
    fs::write(&segment, &bytes[..bytes.len() / 2]).unwrap();
    fs::write(&ids, "rubbish").unwrap();
    let store = open(folder.path());
    // What cannot be read at the moment is not left out.
    let unreadable = folder.path().join("projects/p/77.seg");
    fs::create_dir(&unreadable).unwrap();
    assert!(matches!(block_on(store.repair(Some("p"))), Err(ViewsError::Unavailable(_))));
    fs::remove_dir(unreadable).unwrap();
    block_on(store.repair(Some("p"))).unwrap();
    assert_eq!(count(&store), 1);
    assert_eq!(files(folder.path(), "damaged").len(), 3);
    let told = losses(&store);
    for (file, of) in [(&segment, Lost::Views), (&ids, Lost::Ids)] {
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(told.iter().any(|loss| loss.of == of && loss.file.ends_with(name)), "{name}: {told:?}");
    }
}

#[test]
fn ids_that_a_merge_cannot_read_are_told() {
    let folder = tempfile::tempdir().unwrap();
    settled(folder.path());
    let ids = files(folder.path(), "ids").remove(0);
    let mut bytes = fs::read(&ids).unwrap();
    bytes[45] ^= 1;
    fs::write(&ids, bytes).unwrap();
    let store = open(folder.path());
    // None of these is looked for in the damaged block.
    for n in 0..4 {
        store.append_now(one(300 + n, &format!("other {n}"))).unwrap();
        store.settle().unwrap();
    }
    assert!(files(folder.path(), "ids").len() < 4);
    let told = losses(&store);
    assert!(told.iter().any(|loss| loss.of == Lost::Ids), "{told:?}");
    assert!(crate::manifest::set_aside(&ids).exists());
}

#[test]
fn a_bad_spot_under_a_manifest_costs_that_project_alone() {
    let folder = tempfile::tempdir().unwrap();
    settled(folder.path());
    let store = open(folder.path());
    store.append_now(batch("q", vec![view(1, "/a", 0, None)])).unwrap();
    drop(store);
    let manifest = folder.path().join("projects/p/manifest");
    fs::remove_file(&manifest).unwrap();
    symlink(BAD_SPOT, &manifest).unwrap();
    let store = open(folder.path());
    assert_eq!(store.ranking_now("q", always(BOTH)).unwrap().totals().human, 1);
    assert!(matches!(store.ranking_now("p", always(BOTH)), Err(ViewsError::Damaged(_))));
    assert_eq!(block_on(store.verify(Some("p"))).unwrap().len(), 1);
    block_on(store.repair(Some("p"))).unwrap();
    assert_eq!(count(&store), 2);
}

#[test]
fn notes_that_cannot_be_read_are_a_loss_that_can_be_accepted() {
    for is_bad_spot in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let notes = folder.path().join("notes");
        if is_bad_spot {
            symlink(BAD_SPOT, &notes).unwrap();
        } else {
            fs::write(&notes, "rubbish").unwrap();
        }
        let store = open(folder.path());
        assert!(losses(&store).iter().any(|loss| loss.file == "notes" && loss.of == Lost::Views));
        drop(store);
        let store = open(folder.path());
        assert_eq!(losses(&store).len(), 1, "it is told until it is accepted");
        block_on(store.accept()).unwrap();
        assert_eq!(losses(&store), []);
        assert!(!crate::manifest::set_aside(&notes).exists());
    }
}

#[test]
fn damaged_notes_are_found_beside_a_server_and_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.shared.notes.save();
    let notes = folder.path().join("notes");
    let mut bytes = fs::read(&notes).unwrap();
    bytes[30] ^= 1;
    fs::write(&notes, bytes).unwrap();
    let found = block_on(store.verify(None)).unwrap();
    assert!(found.iter().any(|loss| loss.file == "notes"), "{found:?}");
    block_on(store.repair(None)).unwrap();
    assert_eq!(block_on(store.verify(None)).unwrap(), []);
}

#[test]
fn damage_in_the_file_that_the_log_is_written_to_is_found_and_put_right() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.append_now(one(100, "a")).unwrap();
    store.append_now(one(100, "b")).unwrap();
    assert_eq!(block_on(store.verify(None)).unwrap(), []);
    let log = wal::path(&folder.path().join("wal"), 1);
    let mut bytes = fs::read(&log).unwrap();
    bytes[wal::HEADER + 30] ^= 1;
    fs::write(&log, bytes).unwrap();
    assert_eq!(block_on(store.verify(None)).unwrap().len(), 1);
    block_on(store.repair(None)).unwrap();
    assert_eq!(block_on(store.verify(None)).unwrap(), [], "it is known");
    store.append_now(one(100, "c")).unwrap();
    assert!(wal::path(&folder.path().join("wal"), 2).exists(), "nothing more goes into a damaged file");
    assert_eq!(block_on(store.verify(None)).unwrap(), []);
    drop(store);
    assert_eq!(count(&open(folder.path())), 3);
}

#[test]
fn damaged_lines_are_found_written_anew_and_can_be_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let lines = |first: u64| vec![Stretch { log: "log".to_owned(), first, prints: vec![first as u16; 30] }];
    for first in [0, 100, 200] {
        store.append_now(Batch { lines: lines(first), ..one(100, &first.to_string()) }).unwrap();
        store.settle().unwrap();
    }
    let file = lines_file(&folder.path().join("projects/p"));
    let mut bytes = fs::read(&file).unwrap();
    let place = bytes.len() / 2;
    bytes[place] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let found = block_on(store.verify(Some("p"))).unwrap();
    assert!(found.iter().any(|loss| loss.of == Lost::Ids && loss.file.ends_with("lines")), "{found:?}");
    assert_eq!(losses(&store), [], "a look changes nothing");
    block_on(store.repair(Some("p"))).unwrap();
    assert_eq!(block_on(store.verify(Some("p"))).unwrap(), []);
    assert_eq!(losses(&store).len(), 1);
    assert_eq!(block_on(store.lines("p")).unwrap().stretches, [lines(0), lines(200)].concat());
    assert_eq!(fs::read(crate::manifest::set_aside(&file)).unwrap(), bytes);
    block_on(store.accept()).unwrap();
    assert_eq!((losses(&store), files(folder.path(), "damaged").len()), (vec![], 0));
}

#[test]
fn damaged_lines_that_a_flush_finds_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let lines = |first: u64| vec![Stretch { log: "log".to_owned(), first, prints: vec![7; 30] }];
    store.append_now(Batch { lines: lines(0), ..one(100, "a") }).unwrap();
    store.settle().unwrap();
    let file = lines_file(&folder.path().join("projects/p"));
    let mut bytes = fs::read(&file).unwrap();
    bytes[3] ^= 1;
    fs::write(&file, bytes).unwrap();
    store.append_now(Batch { lines: lines(100), ..one(100, "b") }).unwrap();
    store.settle().unwrap();
    let told = losses(&store);
    assert!(told.iter().any(|loss| loss.of == Lost::Ids && loss.file.ends_with("lines")), "{told:?}");
    assert_eq!(block_on(store.verify(Some("p"))).unwrap(), []);
    assert!(files(folder.path(), "damaged").iter().all(|file| is_set_aside(file)));
}

#[test]
fn lines_are_among_the_bytes_of_a_project() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let bytes = || block_on(store.status("p")).unwrap().bytes;
    store.append_now(one(100, "a")).unwrap();
    store.settle().unwrap();
    let before = bytes();
    let lines = vec![Stretch { log: "log".to_owned(), first: 0, prints: vec![7; 100_000] }];
    store.append_now(Batch { lines, ..one(100, "b") }).unwrap();
    store.settle().unwrap();
    assert!(bytes() > before + 200_000);
}

#[test]
fn what_is_only_in_the_log_is_among_the_bytes_of_a_project() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = |store: &Embedded, project: &str| block_on(store.status(project)).unwrap().bytes;
    let store = open(folder.path());
    store.append_now(one(100, "a")).unwrap();
    let first = bytes(&store, "p");
    store.append_now(one(100, "b")).unwrap();
    let both = bytes(&store, "p");
    assert!(0 < first && first < both, "{first} and {both}");
    assert_eq!(bytes(&store, "another"), 0, "the log is for all projects, and each is told its own part");
    // As if the process had been killed: the log is read again.
    let copy = tempfile::tempdir().unwrap();
    flips::copy(folder.path(), copy.path());
    assert_eq!(bytes(&open(copy.path()), "p"), both);
    store.settle().unwrap();
    assert!(bytes(&store, "p") > 0);
}
