//! A store that keeps a list, and logs to fill it with.

use std::io::Cursor;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use copydesk_domain::{Clock, Timestamp};
use futures_util::FutureExt;

use super::{Cancel, Options, Report, Source, import};
use crate::classify::Classifier;
use crate::store::{Status, StoreCall, StoreFuture, StoreReply, ViewStore, ViewsError};
use crate::{Appended, Batch, Bucket, CountedLines, Mark, Stretch, View};

/// 2024-10-10T13:55:36Z
pub(super) const AT: i64 = 1_728_568_536;

/// Keeps a list. What only questions need is not there.
#[derive(Default)]
pub(super) struct ListStore(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    views: Vec<View>,
    marks: Vec<Mark>,
    lines: Vec<Stretch>,
    floor: Option<Bucket>,
    appends: u64,
    /// After so many, appending fails.
    fails_after: Option<u64>,
}

impl ListStore {
    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.0.lock().unwrap()
    }

    pub(super) fn fail_after(&self, appends: Option<u64>) {
        let mut kept = self.kept();
        kept.fails_after = appends.map(|more| kept.appends + more);
    }

    pub(super) fn keep_from(&self, floor: Bucket) {
        self.kept().floor = Some(floor);
    }

    /// All views, page by page.
    pub(super) fn pages(&self) -> std::collections::BTreeMap<String, u64> {
        let mut pages = std::collections::BTreeMap::new();
        for view in &self.kept().views {
            *pages.entry(view.path.to_string()).or_default() += u64::from(view.count);
        }
        pages
    }

    pub(super) fn total(&self) -> u64 {
        self.pages().values().sum()
    }

    pub(super) fn all_marks(&self) -> Vec<Mark> {
        self.kept().marks.clone()
    }

    pub(super) fn appends(&self) -> u64 {
        self.kept().appends
    }
}

impl Kept {
    fn append(&mut self, batch: Batch) -> Result<Appended, ViewsError> {
        if self.fails_after.is_some_and(|most| self.appends >= most) {
            return Err(ViewsError::Unavailable("the disk is full".to_owned()));
        }
        self.appends += 1;
        let mut appended = Appended::default();
        for (place, view) in batch.views.into_iter().enumerate() {
            assert!(view.count > 0 && (view.id.is_none() || view.count == 1));
            if view.id.is_some() && self.views.iter().any(|known| known.id == view.id) {
                appended.duplicates.push(place as u32);
            } else if self.floor.is_none_or(|floor| view.bucket >= floor) {
                appended.counted += u64::from(view.count);
                self.views.push(view);
            }
        }
        if let Some(mark) = batch.mark {
            let replaced = |known: &Mark| known.log == mark.log && Some(&known.digest) == mark.replaces.as_ref();
            self.marks.retain(|known| !replaced(known));
            self.marks.push(mark);
        }
        self.lines.extend(batch.lines);
        Ok(appended)
    }
}

impl ViewStore for ListStore {
    fn call(&self, call: StoreCall) -> StoreFuture<'_, StoreReply> {
        let mut kept = self.kept();
        let reply = match call {
            StoreCall::Append(batch) => kept.append(batch).map(Into::into),
            StoreCall::Marks { log, .. } => {
                let followed = |mark: &Mark| mark.followed.as_ref().is_some_and(|followed| followed.place == log);
                let asked = kept.marks.iter().filter(|mark| mark.log == log || followed(mark));
                Ok(asked.cloned().collect::<Vec<Mark>>().into())
            }
            StoreCall::Lines { .. } => Ok(CountedLines { stretches: kept.lines.clone(), damaged: false }.into()),
            StoreCall::Status { .. } => Ok(Status { floor: kept.floor, ..Status::default() }.into()),
            _ => Err(ViewsError::Unavailable("not here".to_owned())),
        };
        async move { reply }.boxed()
    }
}

/// A clock that stands.
#[derive(Debug)]
pub(super) struct Standing(AtomicI64);

impl Clock for Standing {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }
}

pub(super) fn options() -> Options {
    let clock = Arc::new(Standing(AtomicI64::new((AT + 86_400) * 1000)));
    Options::new("docs", clock)
}

pub(super) fn classifier() -> Arc<Classifier> {
    Arc::new(Classifier::builtin())
}

pub(super) fn stream(bytes: &[u8]) -> Source {
    Source::Reader { name: "log".to_owned(), reader: Box::new(Cursor::new(bytes.to_vec())) }
}

pub(super) async fn run(store: &ListStore, sources: Vec<Source>, options: &Options) -> Report {
    let report = import(store, &classifier(), sources, options, &mut |_| {}, &Cancel::default()).await;
    for file in &report.files {
        assert_eq!(file.tally.lines, file.tally.accounted(), "{file:?}");
    }
    assert_eq!(report.total.lines, report.total.accounted());
    report
}

pub(super) async fn run_bytes(store: &ListStore, bytes: &[u8]) -> super::FileReport {
    run(store, vec![stream(bytes)], &options()).await.files.remove(0)
}

/// A line of the combined format for a page, so many seconds after [`AT`].
pub(super) fn line(page: &str, after: i64) -> String {
    let at = jiff::Timestamp::from_second(AT + after).unwrap();
    let at = at.strftime("%d/%b/%Y:%H:%M:%S +0000");
    format!(
        "192.0.2.1 - - [{at}] \"GET {page} HTTP/1.1\" 200 512 \"-\" \"Mozilla/5.0 (X11; Linux x86_64) Firefox/130.0\"\n"
    )
}

/// So many lines for different pages.
pub(super) fn lines(range: std::ops::Range<i64>) -> String {
    range.map(|number| line(&format!("/p{}", number % 7), number)).collect()
}
