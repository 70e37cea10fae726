//! What happens between two steps of somebody else.

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
