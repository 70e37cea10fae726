//! A place for page views that a test can look into and break.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use copydesk_domain::Clock;
use copydesk_views::Bucket;
use copydesk_views::store::{Loss, Losses, Source, Sources, StoreCall, StoreFuture, StoreReply, ViewStore, ViewsError};
use copydesk_views_embedded::{Embedded, Options};
use tempfile::TempDir;
use tokio::sync::{Notify, RwLock, RwLockWriteGuard};

/// The real store, in a folder of its own. It can be made to fail.
pub struct TestViews {
    store: Arc<Embedded>,
    broken: AtomicBool,
    unreadable: Mutex<Vec<String>>,
    /// Those who keep views wait at this door while it is closed.
    door: RwLock<()>,
    waiting: Notify,
    lost: Mutex<Vec<Loss>>,
    _folder: TempDir,
}

impl TestViews {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Embedded::open(folder.path(), Options::new(clock)).unwrap();
        let (broken, door, waiting) = (AtomicBool::new(false), RwLock::new(()), Notify::new());
        let (unreadable, lost) = (Mutex::default(), Mutex::default());
        Self { store, broken, unreadable, door, waiting, lost, _folder: folder }
    }

    /// From now on nothing can be kept, or again.
    pub fn break_down(&self, broken: bool) {
        self.broken.store(broken, Ordering::SeqCst);
    }

    /// From now on nobody can tell which pages of this project were read.
    pub fn make_unreadable(&self, project: &str) {
        self.unreadable.lock().unwrap().push(project.to_owned());
    }

    /// From now on this is told to be missing.
    pub fn lose(&self, loss: Loss) {
        self.lost.lock().unwrap().push(loss);
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
            if let StoreCall::Ranking { project, .. } = &call
                && self.unreadable.lock().unwrap().contains(project)
            {
                return Err(ViewsError::Unavailable("a test made it unreadable".to_owned()));
            }
            let tells_losses = matches!(call, StoreCall::Losses { .. });
            if !matches!(call, StoreCall::Append(_)) {
                let reply = self.store.call(call).await?;
                if !tells_losses {
                    return Ok(reply);
                }
                let mut losses = Losses::try_from(reply)?;
                losses.list.extend(self.lost.lock().unwrap().iter().cloned());
                return Ok(losses.into());
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
