use copydesk_views::store::{Counts, ViewStore};
use copydesk_views::{CountedLines, Stretch};

use super::*;
use crate::OpenError;
use crate::embedded::block_on;
use crate::samples::mark;

fn row(path: &str, human: u64, ai: u64) -> (String, u64, u64) {
    (path.to_owned(), human, ai)
}

#[test]
fn views_are_counted_and_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let views =
        vec![view(10, "/a", 0, None), view(11, "/b", 2, None), view(11, "/b", 0, None), view(12, "/c", 4, None)];
    let appended = store.append_now(batch("p", views)).unwrap();
    assert_eq!((appended.counted, appended.duplicates), (4, vec![]));
    let expected = [row("/b", 1, 1), row("/a", 1, 0)];
    assert_eq!(rows(&store.ranking_now("p", always(BOTH)).unwrap()), expected);
    assert_eq!(rows(&store.ranking_now("q", always(BOTH)).unwrap()), []);
    drop(store);
    let store = open(folder.path());
    assert_eq!(rows(&store.ranking_now("p", always(BOTH)).unwrap()), expected);
    store.append_now(batch("p", vec![view(9, "/c", 0, None)])).unwrap();
    store.settle().unwrap();
    let early = Question { from: Bucket(9), to: Bucket(11), sources: BOTH };
    assert_eq!(rows(&store.ranking_now("p", early).unwrap()), [row("/a", 1, 0), row("/c", 1, 0)]);
}

#[test]
fn a_store_that_is_open_cannot_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let second = Embedded::open(folder.path(), Options::new(ManualClock::new()));
    assert!(matches!(second, Err(OpenError::Locked(_))));
    store.close();
    open(folder.path());
    assert!(store.append_now(batch("p", vec![])).is_err());
}

#[test]
fn an_id_counts_once_in_a_batch_and_over_days() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let mut store = Embedded::open(folder.path(), small(&clock)).unwrap();
    let twice = vec![view(1, "/a", 0, Some("x")), view(1, "/a", 0, Some("x")), view(1, "/a", 0, Some("y"))];
    let appended = store.append_now(batch("p", twice)).unwrap();
    assert_eq!((appended.counted, appended.duplicates), (2, vec![1]));
    // Ids are of a project.
    assert_eq!(store.append_now(batch("q", vec![view(1, "/a", 0, Some("x"))])).unwrap().counted, 1);
    for hours in [0, 23, 24, 24] {
        clock.advance_hours(hours);
        let again = store.append_now(batch("p", vec![view(1, "/a", 0, Some("x"))])).unwrap();
        assert_eq!((again.counted, again.duplicates), (0, vec![0]), "after {hours} more hours");
        // Once from memory, once from a file, once from a file after a start.
        store.settle().unwrap();
        drop(store);
        store = Embedded::open(folder.path(), small(&clock)).unwrap();
    }
    clock.advance_hours(24);
    assert_eq!(store.append_now(batch("p", vec![view(1, "/a", 0, Some("x"))])).unwrap().counted, 1);
    assert_eq!(rows(&store.ranking_now("p", always(BOTH)).unwrap()), [row("/a", 3, 0)]);
}

#[test]
fn lines_of_logs_are_remembered_until_the_project_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let lines = |first: u64, prints: &[u16]| Stretch { log: "log".into(), first, prints: prints.to_vec() };
    let append = |store: &Embedded, stretch: Stretch| {
        let batch =
            Batch { project: "p".into(), lines: vec![stretch], mark: Some(mark("log", "1", None)), ..Batch::default() };
        store.append_now(batch).unwrap();
    };
    let known = |store: &Embedded| block_on(store.lines("p")).unwrap();
    append(&store, lines(0, &[1, 2]));
    assert_eq!(known(&store).stretches, [lines(0, &[1, 2])]);
    store.settle().unwrap();
    append(&store, lines(2, &[3]));
    // On disk and in memory, and both after a restart.
    assert_eq!(known(&store).stretches, [lines(0, &[1, 2, 3])]);
    drop(store);
    let store = open(folder.path());
    assert_eq!(known(&store), CountedLines { stretches: vec![lines(0, &[1, 2, 3])], damaged: false });
    store.settle().unwrap();
    let copy = folder.path().join("copy");
    store.backup_now(&copy).unwrap();
    assert_eq!(known(&open(&copy)).stretches, [lines(0, &[1, 2, 3])]);
    block_on(store.remove("p")).unwrap();
    assert_eq!(known(&store), CountedLines::default());
    append(&store, lines(0, &[9]));
    store.settle().unwrap();
    assert_eq!(known(&store).stretches, [lines(0, &[9])]);
    let file = crate::manifest::lines_file(&folder.path().join("projects/p"));
    let mut bytes = std::fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&file, bytes).unwrap();
    assert_eq!(known(&store), CountedLines { stretches: vec![], damaged: true });
}

#[test]
fn marks_come_with_their_batches() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let marked = |digest: &str, replaces: Option<&str>| {
        let mark = Some(mark("log", digest, replaces));
        store.append_now(Batch { project: "p".into(), views: vec![], mark, ..Batch::default() }).unwrap();
    };
    let digests = |store: &Embedded| {
        let marks = block_on(store.marks("p", "log")).unwrap();
        marks.into_iter().map(|mark| mark.digest).collect::<Vec<_>>()
    };
    marked("1", None);
    marked("2", Some("1"));
    assert_eq!(digests(&store), ["2"]);
    store.settle().unwrap();
    marked("3", None);
    marked("4", Some("2"));
    assert_eq!(digests(&store), ["3", "4"]);
    assert_eq!(block_on(store.marks("p", "other")).unwrap(), []);
    drop(store);
    assert_eq!(digests(&open(folder.path())), ["3", "4"]);
}

#[test]
fn people_are_counted_from_the_script_and_machines_from_the_server_once_there_is_both() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    // Readers: 0 a person by script, 1 a person by server, 2 an assistant by script, 3 an assistant by server.
    for bucket in [5, 15, 25] {
        store.append_now(batch("p", vec![view(bucket, "/a", 1, None), view(bucket, "/a", 3, None)])).unwrap();
    }
    let auto = Sources::default();
    assert_eq!(rows(&store.ranking_now("p", always(auto)).unwrap()), [row("/a", 3, 3)]);
    let by_script =
        vec![view(10, "/a", 0, None), view(20, "/b", 0, None), view(10, "/a", 2, None), view(4, "/a", 2, None)];
    store.append_now(batch("p", by_script)).unwrap();
    let check = |store: &Embedded| {
        // A person was first seen by script in 10: from then on people count from it alone. Machines count by script
        // before 5 alone.
        assert_eq!(rows(&store.ranking_now("p", always(auto)).unwrap()), [row("/a", 2, 4), row("/b", 1, 0)]);
        let crossed = Sources { people: Source::Server, machines: Source::Script };
        assert_eq!(rows(&store.ranking_now("p", always(crossed)).unwrap()), [row("/a", 3, 2)]);
        let edges = [0, 5, 10, 15, 100].map(Bucket).to_vec();
        let expected = [(0, 1), (1, 1), (1, 0), (1, 2)].map(|(human, ai)| Counts { human, ai });
        assert_eq!(block_on(store.series("p", None, edges.clone(), auto)).unwrap(), expected);
        let expected = [(0, 1), (1, 1), (1, 0), (0, 2)].map(|(human, ai)| Counts { human, ai });
        assert_eq!(block_on(store.series("p", Some("/a"), edges, auto)).unwrap(), expected);
        let agents = block_on(store.agents("p", always(auto), None, 5)).unwrap();
        assert_eq!((agents.len(), agents[0].views, agents[0].pages), (1, 4, 1));
        let status = block_on(store.status("p")).unwrap();
        assert_eq!((status.script_since, status.server_since), (Some(Bucket(10)), Some(Bucket(5))));
    };
    check(&store);
    store.settle().unwrap();
    check(&store);
    drop(store);
    check(&open(folder.path()));
}

#[test]
fn retention_forgets_what_is_older_and_takes_nothing_older() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let views = || (0..40).map(|bucket| view(bucket, &format!("/{bucket}"), bucket as usize % 8, None)).collect();
    store.append_now(batch("p", views())).unwrap();
    store.settle().unwrap();
    store.append_now(batch("p", views())).unwrap();
    block_on(store.retain("p", Bucket(35))).unwrap();
    block_on(store.retain("p", Bucket(3))).unwrap();
    let check = |store: &Embedded, views: u64| {
        let status = block_on(store.status("p")).unwrap();
        assert_eq!((status.views, status.pages), (views, 5));
        assert_eq!((status.first, status.last, status.floor), (Some(Bucket(35)), Some(Bucket(39)), Some(Bucket(35))));
        let clients = block_on(store.clients("p")).unwrap();
        assert_eq!(clients.iter().map(|(_, views)| views).sum::<u64>(), views);
        assert_eq!(rows(&store.ranking_now("p", always(BOTH)).unwrap()).len(), 3);
    };
    check(&store, 10);
    let appended = store.append_now(batch("p", views())).unwrap();
    assert_eq!((appended.counted, appended.duplicates), (5, vec![]));
    check(&store, 15);
    drop(store);
    let store = open(folder.path());
    check(&store, 15);
    store.settle().unwrap();
    check(&store, 15);
}

#[test]
fn a_removed_project_is_gone_and_can_begin_anew() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.append_now(batch("p", vec![view(1, "/a", 0, Some("x"))])).unwrap();
    store.settle().unwrap();
    store.append_now(batch("p", vec![view(1, "/b", 0, None)])).unwrap();
    store.append_now(batch("q", vec![view(1, "/a", 0, None)])).unwrap();
    block_on(store.remove("p")).unwrap();
    assert_eq!(block_on(store.projects()).unwrap(), ["q"]);
    assert_eq!(rows(&store.ranking_now("p", always(BOTH)).unwrap()), []);
    drop(store);
    let store = open(folder.path());
    assert_eq!(block_on(store.status("p")).unwrap(), copydesk_views::store::Status::default());
    assert_eq!(store.append_now(batch("p", vec![view(1, "/c", 0, Some("x"))])).unwrap().counted, 1);
    assert_eq!(rows(&store.ranking_now("p", always(BOTH)).unwrap()), [row("/c", 1, 0)]);
    assert_eq!(block_on(store.projects()).unwrap(), ["p", "q"]);
}
