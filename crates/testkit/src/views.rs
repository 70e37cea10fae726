//! A place for page views that a test can look into and break.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use copydesk_domain::Clock;
use copydesk_views::Bucket;
use copydesk_views::store::{Source, Sources, StoreCall, StoreFuture, StoreReply, ViewStore, ViewsError};
use copydesk_views_embedded::{Embedded, Options};
use tempfile::TempDir;
use tokio::sync::{Notify, RwLock, RwLockWriteGuard};

/// The real store, in a folder of its own. It can be made to fail.
pub struct TestViews {
    store: Arc<Embedded>,
    broken: AtomicBool,
    /// Those who keep views wait at this door while it is closed.
    door: RwLock<()>,
    waiting: Notify,
    _folder: TempDir,
}

impl TestViews {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Embedded::open(folder.path(), Options::new(clock)).unwrap();
        Self { store, broken: AtomicBool::new(false), door: RwLock::new(()), waiting: Notify::new(), _folder: folder }
    }

    /// From now on nothing can be kept, or again.
    pub fn break_down(&self, broken: bool) {
        self.broken.store(broken, Ordering::SeqCst);
    }

    /// As long as the guard lives, the disk takes its time.
    pub async fn slow_down(&self) -> RwLockWriteGuard<'_, ()> {
        self.door.write().await
    }

    /// Waits until somebody waits for the disk.
    pub async fn somebody_waits(&self) {
        self.waiting.notified().await;
    }

    /// Views of a project, of whatever kind.
    pub async fn all(&self, project: &str) -> u64 {
        self.store.status(project).await.unwrap().views
    }

    /// Human and AI views of a page, from every channel.
    pub async fn of(&self, project: &str, path: &str) -> (u64, u64) {
        let both = Sources { people: Source::Both, machines: Source::Both };
        let counts = self.store.series(project, Some(path), vec![Bucket::MIN, Bucket::MAX], both).await.unwrap();
        (counts[0].human, counts[0].ai)
    }
}

impl ViewStore for TestViews {
    fn call(&self, call: StoreCall) -> StoreFuture<'_, StoreReply> {
        Box::pin(async move {
            if !matches!(call, StoreCall::Append(_)) {
                return self.store.call(call).await;
            }
            if self.broken.load(Ordering::SeqCst) {
                return Err(ViewsError::Unavailable("a test broke it".to_owned()));
            }
            self.waiting.notify_one();
            let _open = self.door.read().await;
            self.store.call(call).await
        })
    }
}
