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
    assert_eq!(site.store.all_marks().len(), 1, "a follower leaves one mark");
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
