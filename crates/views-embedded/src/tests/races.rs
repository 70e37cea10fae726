//! What happens between two steps of somebody else.

use std::sync::PoisonError;
use std::task::Poll;
use std::time::Duration;

use copydesk_views::store::ViewStore;

use super::*;
use crate::changes;
use crate::manifest::Manifest;
use crate::samples::mark;

/// A wish is written down beside whatever the manifest says by then.
#[test]
fn what_is_flushed_while_a_floor_is_wished_for_stays() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let now = Bucket::of_seconds(i64::from(store.shared.now()));
    for bucket in [1000, now.0 - 1] {
        store.append_now(batch("p", vec![view(bucket, "/a", 0, None)])).unwrap();
    }
    store.settle().unwrap();
    let project = store.shared.loaded("p").unwrap();
    std::thread::scope(|scope| {
        let work = project.work();
        let expired = scope.spawn(|| block_on(store.expire("p", 30)).unwrap());
        std::thread::sleep(Duration::from_millis(300));
        let manifest = Manifest { marks: vec![mark("a", "b", None)], ..(*project.state().manifest).clone() };
        changes::put(&store.shared, &project, manifest).unwrap();
        drop(work);
        assert!(expired.join().unwrap().wanted.is_some());
    });
    assert_eq!(block_on(store.marks("p", "a")).unwrap().len(), 1);
}

/// A project may be let go at any moment; whoever asks about it holds it or loads it again.
#[tokio::test]
async fn a_project_that_is_let_go_while_it_is_asked_about_is_not_empty() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { loaded_bytes: 0, ..Options::new(ManualClock::new()) };
    let store = Embedded::open(folder.path(), options).unwrap();
    store.append(batch("p", vec![view(1, "/a", 0, None)])).await.unwrap();
    store.settle().unwrap();
    // The thread that wrote it may hold it for a moment longer.
    while store.shared.loaded("p").is_some() {
        store.shared.evict();
        std::thread::yield_now();
    }
    let mut asked = store.ranking("p", always(BOTH));
    let answer = match futures_util::poll!(&mut asked) {
        Poll::Ready(answer) => answer,
        // Its files are opened elsewhere meanwhile.
        Poll::Pending => {
            std::thread::sleep(Duration::from_millis(300));
            store.shared.evict();
            asked.await
        }
    };
    assert_eq!(answer.unwrap().totals().human, 1);
}

/// Whoever gives up does not end the work, which still takes its memory.
#[test]
fn memory_is_given_back_when_the_work_is_done_and_not_before() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { question_bytes: 1, ..Options::new(ManualClock::new()) };
    let store = Embedded::open(folder.path(), options).unwrap();
    store.append_now(batch("p", vec![view(1, "/a", 0, None)])).unwrap();
    block_on(store.status("p")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let within = Duration::from_millis(50);
    let held = store.shared.busy.write().unwrap_or_else(PoisonError::into_inner);
    assert!(runtime.block_on(async { tokio::time::timeout(within, store.status("p")).await }).is_err());
    assert!(runtime.block_on(async { tokio::time::timeout(within, store.questions.room(1)).await }).is_err());
    drop(held);
    assert!(runtime.block_on(store.questions.room(1)).is_ok());
}
