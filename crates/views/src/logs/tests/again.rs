//! A line is counted once, however often and in whatever form its log comes.

use std::io::Write;

use super::super::testing::{AT, ListStore, classifier, line, lines, options, run, run_bytes, stream};
use super::super::{Cancel, NOT_KEPT, Progress, Source, State, import};
use crate::Bucket;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn the_same_log_counts_once() {
    let (store, log) = (ListStore::default(), lines(0..500));
    let first = run_bytes(&store, log.as_bytes()).await;
    assert_eq!((first.state, first.tally.human(), first.tally.duplicates), (State::Imported, 500, 0));
    let second = run_bytes(&store, log.as_bytes()).await;
    assert_eq!((second.state, second.tally.human(), second.tally.duplicates), (State::AlreadyImported, 0, 500));
    let packed = run_bytes(&store, &gzip(log.as_bytes())).await;
    assert_eq!((packed.state, packed.tally.duplicates), (State::AlreadyImported, 500));
    let packed = run_bytes(&store, &zstd::encode_all(log.as_bytes(), 1).unwrap()).await;
    assert_eq!((packed.state, packed.tally.duplicates), (State::AlreadyImported, 500));
    assert_eq!((store.total(), store.all_marks().len()), (500, 1));
}

#[tokio::test]
async fn a_log_that_grew_is_continued() {
    let (store, log) = (ListStore::default(), lines(0..900));
    let cut = lines(0..300).len();
    run_bytes(&store, &log.as_bytes()[..cut]).await;
    let grown = run_bytes(&store, &gzip(log.as_bytes())).await;
    assert_eq!((grown.state, grown.tally.human(), grown.tally.duplicates), (State::Continued, 600, 300));
    // The copy that was made before it grew is known too.
    let copy = run_bytes(&store, &log.as_bytes()[..cut]).await;
    assert_eq!((copy.state, copy.tally.duplicates), (State::AlreadyImported, 300));
    assert_eq!(store.total(), 900);
}

#[tokio::test]
async fn only_the_rest_counts_of_a_log_that_begins_like_another() {
    let store = ListStore::default();
    run_bytes(&store, lines(0..100).as_bytes()).await;
    let other = lines(0..50) + &lines(200..300);
    let report = run_bytes(&store, other.as_bytes()).await;
    assert_eq!((report.state, report.tally.human(), report.tally.duplicates), (State::Continued, 100, 50));
    for log in [lines(0..100), other] {
        assert_eq!(run_bytes(&store, log.as_bytes()).await.state, State::AlreadyImported);
    }
    assert_eq!(store.total(), 200);
}

#[tokio::test]
async fn a_line_that_was_cut_is_counted_when_it_is_whole() {
    let (store, log) = (ListStore::default(), lines(0..3));
    let cut = log.len() - 20;
    let first = run_bytes(&store, &log.as_bytes()[..cut]).await;
    assert_eq!((first.tally.lines, first.tally.human(), first.tally.unparsable), (2, 2, 0));
    assert!(first.notes[0].contains("not finished"), "{:?}", first.notes);
    let second = run_bytes(&store, log.as_bytes()).await;
    assert_eq!((second.tally.lines, second.tally.human(), second.tally.duplicates), (3, 1, 2));
    assert_eq!(store.total(), 3);
}

#[tokio::test]
async fn a_last_line_without_an_end_counts_once() {
    let (store, log) = (ListStore::default(), lines(0..3));
    let first = run_bytes(&store, log.trim_end().as_bytes()).await;
    assert_eq!((first.tally.lines, first.tally.human()), (3, 3));
    let grown = log + &lines(3..5);
    let second = run_bytes(&store, grown.as_bytes()).await;
    assert_eq!((second.tally.lines, second.tally.human(), second.tally.duplicates), (5, 2, 3));
    assert_eq!(store.total(), 5);
}

#[tokio::test]
async fn an_import_that_failed_goes_on_where_it_stopped() {
    let (store, log) = (ListStore::default(), lines(0..40_000));
    let options = super::super::Options { batch: 1, ..options() };
    let mut before = 0;
    loop {
        store.fail_after(Some(1));
        let report = run(&store, vec![stream(log.as_bytes())], &options).await;
        assert_eq!((report.total.duplicates, report.total.views() + before), (before, store.total()));
        before = store.total();
        if !report.has_failed() {
            break;
        }
    }
    assert_eq!(before, 40_000);
    assert!(store.appends() > 2, "it was to fail on the way");
}

#[tokio::test]
async fn what_could_not_be_kept_of_one_log_is_not_known_in_the_next() {
    let store = ListStore::default();
    store.fail_after(Some(0));
    let sources = vec![stream(lines(0..100).as_bytes()), stream(lines(50..100).as_bytes())];
    let mut heal = |progress: &Progress<'_>| store.fail_after((progress.file == 0).then_some(0));
    let report = import(&store, &classifier(), sources, &options(), &mut heal, &Cancel::default()).await;
    assert!(report.files[0].error.is_some());
    assert_eq!((report.files[1].tally.human(), report.files[1].known, store.total()), (50, 0, 50));
}

#[tokio::test]
async fn ids_are_counted_once() {
    let store = ListStore::default();
    let entry = |id: u32| format!("{{\"path\":\"/a\",\"ts\":{AT},\"id\":\"{id}\"}}\n");
    let report = run_bytes(&store, (entry(1) + &entry(2) + &entry(1)).as_bytes()).await;
    assert_eq!((report.tally.views(), report.tally.duplicates), (2, 1));
    let report = run_bytes(&store, (entry(2) + &entry(3)).as_bytes()).await;
    assert_eq!((report.tally.views(), report.tally.duplicates), (1, 1));
}

#[tokio::test]
async fn what_is_older_than_what_is_kept_is_refused() {
    let store = ListStore::default();
    store.keep_from(Bucket::of_seconds(AT + 900));
    let log = line("/a", 0) + &line("/a", 1) + &line("/a", 1800);
    let report = run_bytes(&store, log.as_bytes()).await;
    assert_eq!((report.tally.human(), report.tally.refused[NOT_KEPT]), (1, 2));
    assert_eq!(store.total(), 1);
}

#[tokio::test]
async fn a_dry_run_keeps_nothing() {
    let store = ListStore::default();
    let options = super::super::Options { dry_run: true, ..options() };
    for _ in 0..2 {
        let report = run(&store, vec![stream(lines(0..10).as_bytes())], &options).await;
        assert_eq!(report.total.human(), 10);
    }
    assert_eq!((store.total(), store.appends(), store.all_marks().len()), (0, 0, 0));
}

#[tokio::test]
async fn files_are_read_oldest_first_and_one_that_fails_stops_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("access.log"), lines(2000..2010)).unwrap();
    std::fs::write(path("access.log.1"), lines(1000..1010)).unwrap();
    let whole = gzip(lines(0..5000).as_bytes());
    std::fs::write(path("access.log.2.gz"), &whole[..whole.len() / 2]).unwrap();
    std::fs::write(path("notes.txt"), "nothing of the kind\n").unwrap();
    let names = ["access.log", "missing", "access.log.1", "notes.txt", "access.log.2.gz"];
    let store = ListStore::default();
    let report = run(&store, names.iter().map(|name| Source::File(path(name))).collect(), &options()).await;
    let order: Vec<String> = report.files.iter().map(|file| file.name.rsplit('/').next().unwrap().to_owned()).collect();
    assert_eq!(order, ["access.log.2.gz", "access.log.1", "access.log", "missing", "notes.txt"]);
    assert!(report.has_failed());
    let failed: Vec<bool> = report.files.iter().map(|file| file.error.is_some()).collect();
    assert_eq!(failed, [true, false, false, true, true]);
    // What could be read of the broken file is counted, and the rest when it is whole.
    let before = report.files[0].tally.human();
    assert!(before > 0 && before < 5000, "{before}");
    std::fs::write(path("access.log.2.gz"), &whole).unwrap();
    let report = run(&store, vec![Source::File(path("access.log.2.gz"))], &options()).await;
    assert_eq!((report.total.human(), report.total.duplicates), (5000 - before, before));
    assert_eq!(store.total(), 5020);
}

#[tokio::test]
async fn only_the_hosts_that_were_asked_about_count() {
    let store = ListStore::default();
    let log: String =
        ["docs.example:443", "shop.example", "DOCS.example"].map(|host| format!("{host} {}", line("/a", 0))).concat();
    let options = super::super::Options { hosts: vec!["docs.example".to_owned()], ..options() };
    let report = run(&store, vec![stream(log.as_bytes())], &options).await;
    assert_eq!((report.total.human(), report.total.other_hosts), (2, 1));
    let report = run(&store, vec![stream(line("/a", 0).as_bytes())], &options).await;
    assert!(report.has_failed());
}

#[tokio::test]
async fn a_report_is_json() {
    let store = ListStore::default();
    let report = run(&store, vec![stream((lines(0..2) + "oops\u{1b}\n").as_bytes())], &options()).await;
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["total"]["lines"], 3);
    assert_eq!(json["files"][0]["state"], "imported");
    assert_eq!(json["files"][0]["format"], "combined");
    assert_eq!(json["files"][0]["unparsable"][0], serde_json::json!({ "line": 3, "text": "oops\\u{1b}" }));
}

#[tokio::test]
async fn a_shorter_or_older_copy_counts_nothing() {
    let (store, log) = (ListStore::default(), lines(0..2000));
    run_bytes(&store, log.as_bytes()).await;
    for cut in [1, 2, 3, 17, 18, 500, 1999] {
        let copy = lines(0..cut);
        let report = run_bytes(&store, copy.as_bytes()).await;
        assert_eq!((report.state, report.tally.duplicates), (State::AlreadyImported, cut as u64), "{cut}");
        // In the middle of a line too.
        run_bytes(&store, &log.as_bytes()[..copy.len() + 30]).await;
    }
    let older = lines(0..700) + &lines(5000..5010);
    let report = run_bytes(&store, older.as_bytes()).await;
    assert_eq!((report.tally.human(), report.tally.duplicates), (10, 700));
    assert_eq!(store.total(), 2010);
}

#[tokio::test]
async fn logs_put_together_and_taken_apart_count_once() {
    let [a, b, c] = [lines(0..400), lines(1000..1300), lines(2000..2020)];
    let together = |logs: &[&str]| logs.iter().flat_map(|log| gzip(log.as_bytes())).collect::<Vec<u8>>();
    for steps in [
        vec![together(&[&a, &b]), a.clone().into_bytes(), b.clone().into_bytes(), together(&[&b, &c])],
        vec![a.clone().into_bytes(), together(&[&a, &b]), together(&[&c, &a])],
        vec![b.clone().into_bytes(), together(&[&a, &b, &c]), together(&[&c, &b, &a])],
    ] {
        let store = ListStore::default();
        for step in steps {
            let report = run_bytes(&store, &step).await;
            assert_eq!(report.error, None);
        }
        assert_eq!(store.total(), 720);
    }
}

#[tokio::test]
async fn what_comes_twice_in_one_command_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("a"), lines(0..300)).unwrap();
    std::fs::write(path("b"), lines(100..500)).unwrap();
    std::fs::write(path("c"), lines(0..500)).unwrap();
    let sources = || ["c", "b", "a"].map(|name| Source::File(path(name))).into();
    let dry = super::super::Options { dry_run: true, ..options() };
    for options in [dry, options()] {
        let store = ListStore::default();
        let report = run(&store, sources(), &options).await;
        assert_eq!((report.total.human(), report.total.duplicates), (500, 700));
    }
}

#[tokio::test]
async fn a_first_line_that_is_too_long_is_one_unreadable_line() {
    for length in [70_000, 200_000, 3_000_000] {
        let store = ListStore::default();
        let log = "x".repeat(length) + "\n" + &lines(0..100);
        let report = run_bytes(&store, log.as_bytes()).await;
        assert_eq!((report.tally.human(), report.tally.unparsable, report.error), (100, 1, None));
        assert_eq!(run_bytes(&store, log.as_bytes()).await.state, State::AlreadyImported);
    }
}

#[tokio::test]
async fn half_a_line_does_not_tell_the_format() {
    let store = ListStore::default();
    let (whole, other) = (line("/a", 0), line("/b", 1));
    // The second line as far as its size is one of the common format.
    let half = &other[..other.find("512").unwrap() + 3];
    let report = run_bytes(&store, (whole + half).as_bytes()).await;
    assert_eq!(report.format.map(|format| format.to_string()).as_deref(), Some("combined"));
    assert_eq!((report.tally.lines, store.total()), (1, 1));
    let report = run_bytes(&store, half.as_bytes()).await;
    assert_eq!((report.tally.lines, store.total()), (0, 1));
}
