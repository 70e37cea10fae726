//! A place for page views that a test can look into and break.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use copydesk_domain::Clock;
use copydesk_views::store::{
    AgentViews, Answer, Counts, Question, Ranking, Source, Sources, Status, ViewStore, ViewsError,
};
use copydesk_views::{Appended, Batch, Bucket, Client, Mark, Verdict};
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

    fn inner(&self) -> Result<&Embedded, ViewsError> {
        if self.broken.load(Ordering::SeqCst) {
            return Err(ViewsError::Unavailable("a test broke it".to_owned()));
        }
        Ok(&self.store)
    }
}

impl ViewStore for TestViews {
    fn append(&self, batch: Batch) -> Answer<'_, Appended> {
        Box::pin(async {
            let store = self.inner()?;
            self.waiting.notify_one();
            let _open = self.door.read().await;
            store.append(batch).await
        })
    }
    fn ranking(&self, project: &str, question: Question) -> Answer<'_, Arc<Ranking>> {
        self.store.ranking(project, question)
    }
    fn series(
        &self,
        project: &str,
        path: Option<&str>,
        edges: Vec<Bucket>,
        sources: Sources,
    ) -> Answer<'_, Vec<Counts>> {
        self.store.series(project, path, edges, sources)
    }
    fn agents(
        &self,
        project: &str,
        question: Question,
        path: Option<&str>,
        pages_each: usize,
    ) -> Answer<'_, Vec<AgentViews>> {
        self.store.agents(project, question, path, pages_each)
    }
    fn marks(&self, project: &str, log: &str) -> Answer<'_, Vec<Mark>> {
        self.store.marks(project, log)
    }
    fn clients(&self, project: &str) -> Answer<'_, Vec<(Arc<Client>, u64)>> {
        self.store.clients(project)
    }
    fn relabel(&self, project: &str, changes: Vec<(Arc<Client>, Verdict)>) -> Answer<'_, ()> {
        self.store.relabel(project, changes)
    }
    fn retain(&self, project: &str, floor: Bucket) -> Answer<'_, ()> {
        self.store.retain(project, floor)
    }
    fn remove(&self, project: &str) -> Answer<'_, ()> {
        self.store.remove(project)
    }
    fn status(&self, project: &str) -> Answer<'_, Status> {
        self.store.status(project)
    }
    fn projects(&self) -> Answer<'_, Vec<String>> {
        self.store.projects()
    }
    fn backup(&self, folder: &Path) -> Answer<'_, ()> {
        self.store.backup(folder)
    }
}
