//! A living log: it grows, is moved away, is copied and emptied, and whoever follows it ends and begins again.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::super::testing::{ListStore, classifier, line, lines, options};
use super::super::{Follow, FollowError, Options};
use crate::logs::{Cancel, Source, State, import};

struct Site {
    folder: tempfile::TempDir,
    store: ListStore,
    options: Options,
}

impl Site {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), store: ListStore::default(), options: options() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn follow(&self) -> Follow<'_> {
        Follow::new(&self.store, &classifier(), self.path("access.log"), &self.options)
    }

    fn write(&self, text: &str) {
        append(&self.path("access.log"), text);
    }
}

fn append(path: &Path, text: &str) {
    let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

#[tokio::test]
async fn what_is_added_is_counted() {
    let site = Site::new();
    let mut follow = site.follow();
    assert_eq!(follow.poll().await.unwrap().lines, 0);
    site.write(&lines(0..5));
    assert_eq!(follow.poll().await.unwrap().lines, 5);
    assert_eq!(follow.poll().await.unwrap().lines, 0);
    site.write(&lines(5..8));
    assert_eq!(follow.poll().await.unwrap().lines, 3);
    let report = follow.report();
    assert_eq!((report.tally.human(), report.tally.lines, report.tally.accounted()), (8, 8, 8));
    assert_eq!(site.store.total(), 8);
    assert_eq!(site.store.all_marks().len(), 2, "a follower leaves one mark, and one that it began");
}

#[tokio::test]
async fn a_line_that_is_being_written_is_waited_for() {
    let site = Site::new();
    let text = lines(0..3);
    let mut follow = site.follow();
    for (place, byte) in text.bytes().enumerate() {
        site.write(std::str::from_utf8(&[byte]).unwrap());
        let finished = follow.poll().await.unwrap().lines;
        assert_eq!(finished == 1, byte == b'\n', "after {place} bytes");
    }
    assert_eq!((site.store.total(), follow.report().tally.unparsable), (3, 0));
}

#[tokio::test]
async fn a_file_that_is_moved_away_is_read_to_its_end() {
    let site = Site::new();
    let mut follow = site.follow();
    site.write(&lines(0..10));
    follow.poll().await.unwrap();
    site.write(&lines(10..13));
    std::fs::rename(site.path("access.log"), site.path("access.log.1")).unwrap();
    assert_eq!(follow.poll().await.unwrap().lines, 3);
    site.write(&lines(100..104));
    let polled = follow.poll().await.unwrap();
    assert_eq!((polled.lines, polled.rotated), (4, true));
    // The server has not been told yet and writes on to the old one.
    append(&site.path("access.log.1"), &lines(13..15));
    site.write(&lines(104..105));
    assert_eq!(follow.poll().await.unwrap().lines, 3);
    append(&site.path("access.log.1"), line("/last", 16).trim_end());
    for _ in 0..100 {
        follow.poll().await.unwrap();
    }
    assert_eq!(site.store.pages()["/last"], 1, "a last line without an end counts when the file is quiet");
    assert_eq!(site.store.total(), 21);
    assert_eq!(follow.report().tally.human(), 21);
}

#[tokio::test]
async fn a_file_that_is_copied_and_emptied_loses_nothing() {
    let site = Site::new();
    let mut follow = site.follow();
    site.write(&lines(0..10));
    follow.poll().await.unwrap();
    // Lines that nobody has read, and then the copy.
    site.write(&lines(10..20));
    std::fs::copy(site.path("access.log"), site.path("access.log.1")).unwrap();
    File::create(site.path("access.log")).unwrap();
    let polled = follow.poll().await.unwrap();
    assert_eq!((polled.lines, polled.rotated), (10, true));
    site.write(&lines(100..103));
    assert_eq!(follow.poll().await.unwrap().lines, 3);
    // Emptied again, and longer than before by the next look.
    std::fs::rename(site.path("access.log.1"), site.path("access.log.2")).unwrap();
    site.write(&lines(103..104));
    std::fs::copy(site.path("access.log"), site.path("access.log.1")).unwrap();
    File::create(site.path("access.log")).unwrap();
    site.write(&lines(200..230));
    assert_eq!(follow.poll().await.unwrap().lines, 31);
    assert_eq!(site.store.total(), 54);
}

#[tokio::test]
async fn a_new_follower_goes_on_where_the_last_one_ended() {
    let site = Site::new();
    site.write(&lines(0..10));
    let report = site.follow().run(async || false, &mut |polled| assert!(polled.is_ok())).await;
    assert_eq!((report.tally.human(), report.error), (10, None));
    // While nobody follows it grows, and is moved away.
    site.write(&lines(10..14));
    std::fs::rename(site.path("access.log"), site.path("access.log-20241011")).unwrap();
    site.write(&lines(100..101));
    let mut follow = site.follow();
    assert_eq!(follow.poll().await.unwrap().lines, 5);
    assert_eq!(follow.report().tally.duplicates, 0);
    drop(follow);
    let mut follow = site.follow();
    assert_eq!(follow.poll().await.unwrap().lines, 0);
    assert_eq!(site.store.total(), 15);
    // Older logs that were never followed are left alone.
    append(&site.path("access.log.7"), &lines(500..510));
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    File::options().append(true).open(site.path("access.log.7")).unwrap().set_modified(long_ago).unwrap();
    assert_eq!(site.follow().poll().await.unwrap().lines, 0);
}

#[tokio::test]
async fn what_was_followed_is_not_imported_again() {
    let site = Site::new();
    let mut follow = site.follow();
    for start in 0..5 {
        site.write(&lines(start * 10..start * 10 + 10));
        follow.poll().await.unwrap();
    }
    let sources = vec![Source::File(site.path("access.log"))];
    let report = import(&site.store, &classifier(), sources, &site.options, &mut |_| {}, &Cancel::default()).await;
    assert_eq!((report.files[0].state, report.total.duplicates), (State::AlreadyImported, 50));
}

#[tokio::test]
async fn a_store_that_takes_nothing_is_waited_for() {
    let site = Site::new();
    let mut follow = site.follow();
    site.write(&lines(0..10));
    follow.poll().await.unwrap();
    site.store.fail_after(Some(0));
    site.write(&lines(10..15));
    assert!(matches!(follow.poll().await, Err(FollowError::Store(_))));
    std::fs::rename(site.path("access.log"), site.path("access.log.1")).unwrap();
    site.write(&lines(100..102));
    assert!(matches!(follow.poll().await, Err(FollowError::Store(_))));
    site.store.fail_after(None);
    let mut found = 0;
    for _ in 0..3 {
        found += follow.poll().await.unwrap().lines;
    }
    assert_eq!((found, site.store.total()), (7, 17));
    assert_eq!(follow.report().tally.human(), 17);
}

#[tokio::test]
async fn lines_that_were_known_do_no_harm_when_the_store_takes_nothing() {
    let site = Site::new();
    append(&site.path("other"), &lines(0..40));
    let sources = vec![Source::File(site.path("other"))];
    import(&site.store, &classifier(), sources, &site.options, &mut |_| {}, &Cancel::default()).await;
    site.write(&(lines(100..110) + &lines(0..40)));
    // The follower says that it began; the lines are refused.
    site.store.fail_after(Some(1));
    let mut follow = site.follow();
    assert!(matches!(follow.poll().await, Err(FollowError::Store(_))));
    assert_eq!(follow.report().tally.lines, 0);
    site.store.fail_after(None);
    assert_eq!(follow.poll().await.unwrap().lines, 10);
    assert_eq!(site.store.total(), 50);
}

#[tokio::test]
async fn a_run_ends_when_it_is_told_to_and_keeps_what_came() {
    let site = Site::new();
    let mut ticks = 0;
    let tick = async || {
        site.write(&lines(ticks..ticks + 1));
        ticks += 1;
        ticks < 5
    };
    let mut found = 0;
    let report = site.follow().run(tick, &mut |polled| found += polled.unwrap().lines).await;
    assert_eq!((report.tally.human(), found, site.store.total()), (5, 5, 5));
}

#[tokio::test]
async fn what_is_no_log_is_told_of() {
    let site = Site::new();
    site.write(&"nothing of the kind\n".repeat(5000));
    let report = site.follow().run(async || true, &mut |_| {}).await;
    assert!(report.error.is_some());
}

/// A template whose lines cannot be told from cut ones.
fn open_ended() -> Options {
    Options { format: Some("$msec $remote_addr $request_uri".parse().unwrap()), ..options() }
}

fn short_line(page: &str) -> String {
    format!("{}.000 192.0.2.1 {page}\n", super::super::testing::AT)
}

#[tokio::test]
async fn a_line_that_is_not_finished_ends_the_reading_in_every_format() {
    let json: fn(&str) -> String =
        |page| format!("{{\"path\":\"{page}\",\"ts\":{},\"status\":200}}\n", super::super::testing::AT);
    let combined: fn(&str) -> String = |page| line(page, 0);
    let write = |number: i64| [short_line, json, combined].map(|line| line(&format!("/page-{number}")));
    for (format, options) in [open_ended(), options(), options()].into_iter().enumerate() {
        let site = Site { options, ..Site::new() };
        let log: String = (0..4).map(|number| write(number)[format].clone()).collect();
        // Imported after every few bytes that are written.
        for bytes in log.as_bytes().chunks(7) {
            site.write(std::str::from_utf8(bytes).unwrap());
            let sources = vec![Source::File(site.path("access.log"))];
            let report =
                import(&site.store, &classifier(), sources, &site.options, &mut |_| {}, &Cancel::default()).await;
            assert_eq!((report.total.unparsable, report.files[0].error.clone()), (0, None), "{report:?}");
        }
        let pages = site.store.pages();
        assert_eq!(pages.len(), 4, "{pages:?}");
        assert!(pages.values().all(|views| *views == 1), "{pages:?}");
    }
}

#[tokio::test]
async fn a_last_line_without_an_end_is_taken_when_the_log_cannot_grow_or_somebody_says_so() {
    let site = Site { options: open_ended(), ..Site::new() };
    site.write((short_line("/a") + &short_line("/b")).trim_end());
    let run = async |options: &Options| {
        let sources = vec![Source::File(site.path("access.log"))];
        import(&site.store, &classifier(), sources, options, &mut |_| {}, &Cancel::default()).await
    };
    let report = run(&site.options).await;
    assert_eq!(report.total.lines, 1);
    assert!(report.files[0].notes[0].contains("--complete"), "{report:?}");
    let complete = Options { complete: true, ..site.options.clone() };
    assert_eq!((run(&complete).await.total.views(), site.store.total()), (1, 2));
    // It may have grown all the same.
    site.write(&("\n".to_owned() + &short_line("/c")));
    run(&site.options).await;
    assert_eq!(site.store.pages().into_values().collect::<Vec<_>>(), [1, 1, 1]);
}

#[tokio::test]
async fn of_several_rotations_between_two_looks_no_file_is_left_out() {
    let site = Site::new();
    let mut follow = site.follow();
    site.write(&lines(0..30));
    follow.poll().await.unwrap();
    site.write(&lines(30..35));
    let rotate = |from: &str, to: &str| std::fs::rename(site.path(from), site.path(to)).unwrap();
    rotate("access.log", "access.log.1");
    site.write(&lines(100..120));
    rotate("access.log.1", "access.log.2");
    rotate("access.log", "access.log.1");
    site.write(&lines(200..203));
    // The server writes on to the one in the middle for a while.
    let polled = follow.poll().await.unwrap();
    assert_eq!((polled.lines, polled.notes), (28, vec![]));
    append(&site.path("access.log.1"), &lines(120..122));
    assert_eq!(follow.poll().await.unwrap().lines, 2);
    drop(follow);
    // And again while nobody follows, the older ones packed under a date.
    let gzip = |from: &str, to: &str| {
        let modified = std::fs::metadata(site.path(from)).unwrap().modified().unwrap();
        let mut packed =
            flate2::write::GzEncoder::new(File::create(site.path(to)).unwrap(), flate2::Compression::fast());
        packed.write_all(&std::fs::read(site.path(from)).unwrap()).unwrap();
        packed.finish().unwrap().set_modified(modified).unwrap();
        std::fs::remove_file(site.path(from)).unwrap();
    };
    site.write(&lines(203..205));
    rotate("access.log", "access.log-20241011");
    gzip("access.log-20241011", "access.log-20241011.gz");
    site.write(&lines(300..330));
    rotate("access.log", "access.log-20241012");
    site.write(&lines(400..401));
    let mut follow = site.follow();
    assert_eq!(follow.poll().await.unwrap().lines, 33);
    assert_eq!((site.store.total(), follow.report().notes.len()), (93, 0));
}

#[tokio::test]
async fn lines_that_are_gone_are_told_of() {
    let site = Site::new();
    site.write(&lines(0..30));
    let mut follow = site.follow();
    follow.poll().await.unwrap();
    // Emptied without a copy.
    File::create(site.path("access.log")).unwrap();
    let mut notes = Vec::new();
    for _ in 0..50 {
        notes.extend(follow.poll().await.unwrap().notes);
    }
    assert_eq!(notes, follow.report().notes);
    assert!(notes.len() == 1 && notes[0].contains("30 lines"), "{notes:?}");
    site.write(&lines(50..60));
    follow.poll().await.unwrap();
    drop(follow);
    // Moved away and removed while nobody followed.
    std::fs::remove_file(site.path("access.log")).unwrap();
    site.write(&lines(70..75));
    let report = site.follow().run(async || false, &mut |_| {}).await;
    assert_eq!(report.tally.human(), 5);
    assert!(report.notes[0].contains("10 lines"), "{report:?}");
    let report = site.follow().run(async || false, &mut |_| {}).await;
    assert_eq!(report.notes, Vec::<String>::new());
}

#[tokio::test]
async fn what_was_read_after_the_copy_was_made_is_not_read_again() {
    let site = Site::new();
    let mut follow = site.follow();
    site.write(&lines(0..40));
    follow.poll().await.unwrap();
    std::fs::copy(site.path("access.log"), site.path("access.log.1")).unwrap();
    // Between copy and truncation, with a look in between.
    site.write(&lines(40..45));
    follow.poll().await.unwrap();
    File::create(site.path("access.log")).unwrap();
    assert_eq!(follow.poll().await.unwrap().lines, 0);
    site.write(&lines(100..103));
    follow.poll().await.unwrap();
    assert_eq!(site.store.total(), 48);
    drop(follow);
    assert_eq!(site.follow().poll().await.unwrap().lines, 0);
}

#[tokio::test]
async fn a_file_that_is_being_packed_is_waited_for() {
    let site = Site::new();
    let mut follow = site.follow();
    site.write(&lines(0..30));
    follow.poll().await.unwrap();
    std::fs::rename(site.path("access.log"), site.path("access.log.2")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(lines(100..5000).as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    std::fs::write(site.path("access.log.1.gz"), &packed[..packed.len() / 2]).unwrap();
    site.write(&lines(6000..6001));
    follow.poll().await.unwrap();
    let before = site.store.total();
    assert!(before > 31 && before < 4931, "{before}");
    std::fs::write(site.path("access.log.1.gz"), &packed).unwrap();
    follow.poll().await.unwrap();
    assert_eq!((site.store.total(), follow.report().notes.len()), (4931, 0));
    // One that stays broken is told of.
    std::fs::rename(site.path("access.log"), site.path("access.log.3")).unwrap();
    std::fs::write(site.path("access.log.4.gz"), &packed[..20]).unwrap();
    site.write(&lines(7000..7001));
    for _ in 0..50 {
        follow.poll().await.unwrap();
    }
    assert!(follow.report().notes[0].contains("access.log.4.gz"), "{:?}", follow.report());
    assert_eq!(site.store.total(), 4932);
}

#[tokio::test]
async fn a_format_that_cannot_be_told_yet_is_waited_for() {
    let site = Site::new();
    let mut follow = site.follow();
    let whole = line("/a", 0);
    site.write("this is no line of a log\n");
    // Half a line of combined is one of the common format.
    let half = &whole[..whole.find("512").unwrap() + 3];
    site.write(half);
    let polled = follow.poll().await.unwrap();
    assert!(polled.notes[0].contains("waiting for more"), "{polled:?}");
    assert_eq!(follow.poll().await.unwrap(), Default::default());
    site.write(&(whole[half.len()..].to_owned() + &lines(1..5)));
    follow.poll().await.unwrap();
    assert_eq!((site.store.total(), follow.report().tally.unparsable), (5, 1));
}
