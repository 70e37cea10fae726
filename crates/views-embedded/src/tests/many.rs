use copydesk_views::store::ViewStore;

use super::*;
use crate::embedded::block_on;

fn total(store: &Embedded, project: usize) -> u64 {
    store.ranking_now(&format!("p{project}"), always(BOTH)).unwrap().totals().human
}

fn loaded(store: &Embedded) -> (usize, usize, usize) {
    let projects = store.shared.in_memory();
    let (bytes, open) =
        projects.iter().map(|project| project.state().loaded()).fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    (projects.len(), bytes, open)
}

#[test]
fn thousands_of_projects_fit_in_little_memory() {
    const PROJECTS: usize = 1000;
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let options = Options { loaded_bytes: 256 * 1024, ..small(&clock) };
    let store = Embedded::open(folder.path(), options.clone()).unwrap();
    for project in 0..PROJECTS {
        let views = vec![view(1, "/a", 0, Some(&project.to_string())), view(1, "/b", 2, None)];
        store.append_now(batch(&format!("p{project}"), views)).unwrap();
    }
    drop(store);
    let store = Embedded::open(folder.path(), options).unwrap();
    for project in 0..PROJECTS {
        assert_eq!(total(&store, project), 1);
        let again = batch(&format!("p{project}"), vec![view(0, "/a", 0, Some(&project.to_string()))]);
        assert_eq!(store.append_now(again).unwrap().duplicates, [0]);
        if project % 100 == 99 {
            let (projects, bytes, open) = loaded(&store);
            assert!(
                projects < 300 && bytes <= 2 * 256 * 1024 && open <= 500,
                "{projects} projects, {bytes} bytes, {open} files"
            );
        }
    }
    assert_eq!(block_on(store.projects()).unwrap().len(), PROJECTS);
}

#[test]
fn many_flushes_make_few_segments_and_a_short_log() {
    let folder = tempfile::tempdir().unwrap();
    let store = Embedded::open(folder.path(), small(&ManualClock::new())).unwrap();
    for n in 0..60 {
        let views = (0..200).map(|place| view(n * 7 + place, &format!("/{}", place % 50), 0, None)).collect();
        store.append_now(batch("p0", views)).unwrap();
        if n % 3 == 0 {
            store.settle().unwrap();
        }
    }
    store.settle().unwrap();
    assert_eq!(total(&store, 0), 60 * 200);
    // What another thread removes from the log is not removed a second time: it may be a moment late.
    let is_short = || store.settle().is_ok() && store.shared.log.bytes() <= 2 * 64 * 1024;
    assert!((0..100).any(|_| is_short()), "{} bytes of log", store.shared.log.bytes());
    let project = store.shared.project("p0").unwrap().unwrap();
    // A merge in the background has files of both before and after it.
    let _no_merge = project.merging();
    let segments = project.state().manifest.segments.len();
    assert!(segments <= 8, "{segments} segments");
    let files = std::fs::read_dir(folder.path().join("projects/p0")).unwrap().count();
    assert_eq!(files, segments + 1);
}

#[test]
fn a_backup_is_a_store_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("store"));
    for project in 0..3 {
        store.append_now(batch(&format!("p{project}"), vec![view(1, "/a", 0, None)])).unwrap();
    }
    store.settle().unwrap();
    store.append_now(batch("p1", vec![view(1, "/a", 0, Some("x"))])).unwrap();
    let target = folder.path().join("copy");
    store.backup_now(&target).unwrap();
    store.append_now(batch("p1", vec![view(1, "/a", 0, None)])).unwrap();
    assert!(store.backup_now(&target).is_err(), "a folder that is not empty");
    let copy = open(&target);
    assert_eq!([0, 1, 2].map(|project| total(&copy, project)), [1, 2, 1]);
    assert_eq!(copy.append_now(batch("p1", vec![view(1, "/a", 0, Some("x"))])).unwrap().duplicates, [0]);
    copy.append_now(batch("p0", vec![view(1, "/a", 0, None)])).unwrap();
    block_on(copy.remove("p2")).unwrap();
    drop(copy);
    assert_eq!([0, 1, 2].map(|project| total(&open(&target), project)), [2, 2, 0]);
    assert_eq!([0, 1, 2].map(|project| total(&store, project)), [1, 3, 1]);
}

/// Appends, questions, flushes and merges at once, from several threads and a runtime.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_acknowledged_is_seen_at_once_whatever_else_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let store = Embedded::open(folder.path(), small(&ManualClock::new())).unwrap();
    let work = |worker: u32| {
        let store = Arc::clone(&store);
        async move {
            let own = format!("/{worker}");
            for n in 0..150 {
                let views = vec![view(n, &own, 0, None), view(n, "/all", 0, Some(&format!("{worker}-{n}")))];
                assert_eq!(store.append(batch("p0", views)).await.unwrap().counted, 2);
                let ranking = store.ranking("p0", always(BOTH)).await.unwrap();
                let rows = rows(&ranking);
                assert!(rows.contains(&(own.clone(), u64::from(n) + 1, 0)), "{own} after {n}: {rows:?}");
                assert_eq!(rows.iter().map(|row| row.1).sum::<u64>(), ranking.totals().human);
                if n % 50 == 20 {
                    store.settle().unwrap();
                }
            }
        }
    };
    let workers: Vec<_> = (0..8).map(|worker| tokio::spawn(work(worker))).collect();
    for worker in workers {
        worker.await.unwrap();
    }
    store.close();
    assert!(store.append(batch("p0", vec![])).await.is_err());
    assert_eq!(total(&open(folder.path()), 0), 8 * 150 * 2);
}
