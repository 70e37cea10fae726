//! One flipped bit, anywhere: the answer is right, or the store says that it is not.

use std::fs;
use std::path::PathBuf;

use copydesk_views::Stretch;
use copydesk_views::store::{Loss, Lost, ViewStore};

use super::faulty::FaultyDisk;
use super::*;
use crate::wal;

/// Quarter hours of the two halves of what is in segments, and of what is in the log.
const EARLY: u32 = 100;
const LATE: u32 = 5000;
const LOGGED: u32 = 9000;

/// A store as a killed process leaves it: two segments and two files of ids for `p`, one of each for `q`, lines of logs for
/// both, and views and lines that are in the log alone.
fn killed() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let disk = FaultyDisk::new(1);
    let clock = ManualClock::new();
    let store = Embedded::open_on(disk.clone(), folder.path(), Options::new(clock)).unwrap();
    let told = |project: &str, first: u32| {
        for ten in 0..30 {
            let one = |n: u32| {
                let id = format!("{project}{first}/{n}");
                view(first + n / 10, &format!("/{}", n % 40), (n % 4) as usize, Some(&id))
            };
            let lines = Stretch { log: project.to_owned(), first: u64::from(first + ten), prints: vec![ten as u16] };
            let batch = batch(project, (ten * 10..ten * 10 + 10).map(one).collect());
            store.append_now(Batch { lines: vec![lines], ..batch }).unwrap();
        }
    };
    let more = (0..100).map(|more| view(EARLY + more, &format!("/more/{more}"), 0, None));
    store.append_now(batch("p", more.collect())).unwrap();
    told("p", EARLY);
    told("q", EARLY);
    store.settle().unwrap();
    told("p", LATE);
    store.settle().unwrap();
    told("p", LOGGED);
    told("q", LOGGED);
    store.shared.notes.save();
    disk.end_in(0);
    drop(store);
    folder
}

/// The lines of a project, as they were told.
fn all_lines(project: &str) -> Vec<Stretch> {
    let stretch = |first: u32| Stretch { log: project.to_owned(), first: first.into(), prints: (0..30).collect() };
    [EARLY, LATE, LOGGED].into_iter().filter(|first| project == "p" || *first != LATE).map(stretch).collect()
}

pub(super) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &target) } else { assert!(fs::copy(&path, &target).is_ok()) }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// Rows, the series of a page and of the site, and views of machines.
type Answers = (Vec<(String, u64, u64)>, Vec<u64>, u64);

/// Everything that can be asked of a range, without what is only on the way.
fn answers(store: &Embedded, project: &str, from: u32, to: u32) -> Answers {
    let question = Question { from: Bucket(from), to: Bucket(to), sources: BOTH };
    let ranking = store.ranking_now(project, question).unwrap();
    let edges = vec![Bucket(from), Bucket(to)];
    let series = block_on(store.series(project, Some("/7"), edges.clone(), BOTH)).unwrap();
    let site = block_on(store.series(project, None, edges, BOTH)).unwrap();
    let agents = block_on(store.agents(project, question, None, 3)).unwrap();
    let figures = series.iter().chain(&site).map(|counts| counts.total()).collect();
    (rows(&ranking), figures, agents.iter().map(|agent| agent.views).sum())
}

/// The same with what is missing from it. What was noted meanwhile may have been put right meanwhile: then it is asked again.
fn answers_and_losses(store: &Embedded, project: &str, from: u32, to: u32) -> (Answers, Vec<Loss>) {
    let losses = || block_on(store.losses(Some(project))).unwrap();
    let mut before = losses().noted;
    loop {
        let answered = answers(store, project, from, to);
        let after = losses();
        if std::mem::replace(&mut before, after.noted) == after.noted {
            return (answered, after.list);
        }
    }
}

const RANGES: [(u32, u32); 5] =
    [(0, u32::MAX), (EARLY, EARLY + 15), (EARLY + 15, LATE), (LATE, LATE + 30), (LOGGED, LOGGED + 30)];

fn concerned(losses: &[Loss], project: &str, from: u32, to: u32, of: Lost) -> bool {
    losses.iter().any(|loss| loss.of == of && loss.concerns(project, Bucket(from), Bucket(to)))
}

/// Opens a store that was flipped and holds everything against the truth.
fn check(folder: &Path, truth: &dyn Fn(&str, u32, u32) -> Answers, place: &str) {
    let store = open(folder);
    for project in ["p", "q"] {
        for (from, to) in RANGES {
            let (answered, losses) = answers_and_losses(&store, project, from, to);
            let is_right = answered == truth(project, from, to);
            assert!(is_right || concerned(&losses, project, from, to, Lost::Views), "{place}: {from}..{to} is wrong");
        }
        let lines = block_on(store.lines(project)).unwrap().stretches;
        let losses = block_on(store.losses(Some(project))).unwrap().list;
        let told = |of: Lost| concerned(&losses, project, 0, u32::MAX, of);
        assert!(lines == all_lines(project) || told(Lost::Ids) || told(Lost::Views), "{place}: {lines:?}");
        // What was told before is known, or the store says that it may not be; what is new is counted.
        let again = format!("{project}{EARLY}/299");
        let views = vec![view(LOGGED + 50, "/new", 0, Some("new")), view(LOGGED + 50, "/again", 0, Some(&again))];
        let appended = store.append_now(batch(project, views)).unwrap();
        let losses = block_on(store.losses(Some(project))).unwrap().list;
        let forgot = appended.counted == 2;
        let told = concerned(&losses, project, LOGGED, LOGGED + 100, Lost::Ids)
            || concerned(&losses, project, LOGGED, LOGGED + 100, Lost::Views);
        assert!(appended.counted == 1 || forgot && told, "{place}: {appended:?}");
    }
    // What is left is written anew: what was right stays right, and nothing is damaged any more.
    for project in ["p", "q"] {
        block_on(store.repair(Some(project))).unwrap();
        assert_eq!(block_on(store.verify(Some(project))).unwrap(), [], "{place}");
    }
    block_on(store.repair(None)).unwrap();
    assert_eq!(block_on(store.verify(None)).unwrap(), [], "{place}");
    drop(store);
    let store = open(folder);
    for (from, to) in RANGES.iter().skip(1) {
        let losses = block_on(store.losses(Some("p"))).unwrap().list;
        let is_right = answers(&store, "p", *from, *to) == truth("p", *from, *to);
        assert!(is_right || concerned(&losses, "p", *from, *to, Lost::Views), "{place}, repaired");
    }
}

#[test]
fn one_flipped_bit_in_any_file_is_harmless_or_told() {
    let original = killed();
    let truth = {
        let whole = tempfile::tempdir().unwrap();
        copy(original.path(), whole.path());
        let store = open(whole.path());
        let mut known = std::collections::HashMap::new();
        for project in ["p", "q"] {
            for (from, to) in RANGES {
                known.insert((project.to_owned(), from, to), answers(&store, project, from, to));
            }
            assert_eq!(block_on(store.verify(Some(project))).unwrap(), []);
            assert_eq!(block_on(store.lines(project)).unwrap().stretches, all_lines(project));
        }
        assert_eq!(block_on(store.losses(None)).unwrap().list, []);
        known
    };
    let truth = |project: &str, from: u32, to: u32| truth[&(project.to_owned(), from, to)].clone();
    let mut kinds = std::collections::BTreeSet::new();
    for file in files(original.path()) {
        let name = file.strip_prefix(original.path()).unwrap();
        let bytes = fs::read(&file).unwrap();
        kinds.extend(file.extension().or(file.file_name()).and_then(|kind| kind.to_str()).map(str::to_owned));
        // The beginning and the end of each, where everything is in few bytes, and places all over it.
        let edges = (0..bytes.len().min(100)).chain(bytes.len().saturating_sub(300)..bytes.len()).step_by(61);
        let places: std::collections::BTreeSet<usize> =
            edges.chain((0..bytes.len()).step_by((bytes.len() / 8).max(1))).collect();
        for at in places {
            let flipped = tempfile::tempdir().unwrap();
            copy(original.path(), flipped.path());
            let mut bytes = bytes.clone();
            bytes[at] ^= 1 << (at % 8);
            fs::write(flipped.path().join(name), &bytes).unwrap();
            check(flipped.path(), &truth, &format!("{} at {at}", name.display()));
        }
    }
    assert!(["ids", "lines", "manifest", "notes", "seg", "wal"].iter().all(|kind| kinds.contains(*kind)), "{kinds:?}");
}

#[test]
fn a_damaged_segment_costs_its_own_range_and_what_can_be_read_of_it_is_saved() {
    let folder = killed();
    let segment = |folder: &Path| {
        let mut all: Vec<_> =
            files(folder).into_iter().filter(|it| it.extension().is_some_and(|it| it == "seg")).collect();
        all.sort_by_key(|file| std::cmp::Reverse(fs::metadata(file).unwrap().len()));
        all.remove(0)
    };
    let file = segment(&folder.path().join("projects/p"));
    let mut bytes = fs::read(&file).unwrap();
    // Cells come first in a file: these are of its first quarter hours.
    bytes[40] ^= 4;
    fs::write(&file, &bytes).unwrap();
    let store = open(folder.path());
    let totals = |from: u32, to: u32| {
        let question = Question { from: Bucket(from), to: Bucket(to), sources: BOTH };
        store.ranking_now("p", question).unwrap().totals().total()
    };
    let late = totals(LATE, LATE + 100);
    assert!(late > 0, "what is elsewhere is there");
    totals(0, LATE);
    block_on(store.repair(Some("p"))).unwrap();
    let losses = block_on(store.losses(Some("p"))).unwrap().list;
    let [loss] = losses.as_slice() else { panic!("{losses:?}") };
    assert!(loss.views.is_some_and(|views| views > 0), "{loss:?}");
    assert!(loss.from >= Bucket(EARLY) && loss.to <= Bucket(EARLY + 101), "{loss:?}");
    assert_eq!(totals(LATE, LATE + 100), late);
    assert!(files(folder.path()).iter().any(|file| file.extension().is_some_and(|it| it == "damaged")));
    drop(store);
    let store = open(folder.path());
    assert_eq!(block_on(store.losses(Some("p"))).unwrap().list, losses, "a restart forgets no loss");
    block_on(store.accept()).unwrap();
    assert_eq!(block_on(store.losses(None)).unwrap().list, []);
    assert!(!files(folder.path()).iter().any(|file| file.extension().is_some_and(|it| it == "damaged")));
}

#[test]
fn a_damaged_last_record_is_kept_aside_and_told() {
    let folder = killed();
    let log = files(&folder.path().join("wal")).pop().unwrap();
    let mut bytes = fs::read(&log).unwrap();
    let last = bytes.len() - 3;
    bytes[last] ^= 1;
    fs::write(&log, &bytes).unwrap();
    let store = open(folder.path());
    let losses = block_on(store.losses(Some("p"))).unwrap().list;
    assert!(losses.iter().any(|loss| loss.project.is_none() && loss.of == Lost::Views), "{losses:?}");
    let aside = files(&folder.path().join("wal")).into_iter().find(|file| crate::manifest::is_set_aside(file)).unwrap();
    assert!(fs::read(aside).unwrap().ends_with(&bytes[last..]));
}

#[test]
fn a_record_that_was_never_finished_is_no_loss() {
    let folder = killed();
    let log = files(&folder.path().join("wal")).pop().unwrap();
    let bytes = fs::read(&log).unwrap();
    let mut at = wal::HEADER;
    let number = log.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    while let Some(record) = wal::read_record(&bytes, number, at).filter(|record| record.end < bytes.len()) {
        at = record.end;
    }
    for length in (at + 1..bytes.len()).step_by(9) {
        fs::write(&log, &bytes[..length]).unwrap();
        let copied = tempfile::tempdir().unwrap();
        copy(folder.path(), copied.path());
        assert_eq!(block_on(open(copied.path()).losses(None)).unwrap().list, [], "cut at {length}");
    }
}

#[test]
fn a_project_without_a_readable_manifest_is_made_anew_from_its_files() {
    let folder = killed();
    fs::write(folder.path().join("projects/p/manifest"), "rubbish").unwrap();
    let store = open(folder.path());
    assert!(store.ranking_now("p", always(BOTH)).is_err());
    let told = |store: &Embedded| block_on(store.losses(Some("p"))).unwrap().list.len();
    assert!(told(&store) > 0);
    block_on(store.repair(Some("p"))).unwrap();
    assert!(told(&store) > 0, "that something may be missing is not forgotten with the repair");
    let (rows, ..) = answers(&store, "p", LATE, LATE + 100);
    assert!(!rows.is_empty());
    store.append_now(batch("p", vec![view(1, "/a", 0, None)])).unwrap();
}
