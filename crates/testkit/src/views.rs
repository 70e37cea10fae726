//! A place for page views that a test can look into and break.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use copydesk_views::store::{
    AgentViews, Answer, Counts, Question, Ranking, Source, Sources, Status, ViewStore, ViewsError,
};
use copydesk_views::{Appended, Batch, Bucket, Client, CountsAs, Mark, Verdict, View};

/// The store that tests run on. The one place to put another in.
pub(crate) fn store() -> Arc<dyn ViewStore> {
    Arc::new(MemoryViews::default())
}

/// A store that can be made to fail.
pub struct TestViews {
    store: Arc<dyn ViewStore>,
    broken: AtomicBool,
}

impl TestViews {
    pub(crate) fn new(store: Arc<dyn ViewStore>) -> Self {
        Self { store, broken: AtomicBool::new(false) }
    }

    /// From now on nothing can be kept, or again.
    pub fn break_down(&self, broken: bool) {
        self.broken.store(broken, Ordering::SeqCst);
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

    fn inner(&self) -> Result<&Arc<dyn ViewStore>, ViewsError> {
        if self.broken.load(Ordering::SeqCst) {
            return Err(ViewsError::Unavailable("a test broke it".to_owned()));
        }
        Ok(&self.store)
    }
}

impl ViewStore for TestViews {
    fn append(&self, batch: Batch) -> Answer<'_, Appended> {
        Box::pin(async { self.inner()?.append(batch).await })
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
}

/// Views in a list. It counts by going through all of it, and knows nothing of channels: everything counts.
#[derive(Default)]
struct MemoryViews(Mutex<BTreeMap<String, Kept>>);

#[derive(Default)]
struct Kept {
    views: Vec<View>,
    ids: HashSet<u128>,
    floor: Option<Bucket>,
}

impl MemoryViews {
    fn with<T>(&self, project: &str, look: impl FnOnce(&mut Kept) -> T) -> Result<T, ViewsError> {
        Ok(look(self.0.lock().unwrap().entry(project.to_owned()).or_default()))
    }

    fn not_here<T>() -> Result<T, ViewsError> {
        Err(ViewsError::Unavailable("not in memory".to_owned()))
    }
}

fn ready<'a, T: Send + 'a>(answer: Result<T, ViewsError>) -> Answer<'a, T> {
    Box::pin(std::future::ready(answer))
}

impl ViewStore for MemoryViews {
    fn append(&self, batch: Batch) -> Answer<'_, Appended> {
        ready(self.with(&batch.project, |kept| {
            let mut appended = Appended::default();
            for (place, view) in batch.views.into_iter().enumerate() {
                assert!(view.count > 0 && view.path.starts_with('/'), "{view:?}");
                if kept.floor.is_some_and(|floor| view.bucket < floor) {
                    continue;
                }
                if view.id.is_some_and(|id| !kept.ids.insert(id)) {
                    appended.duplicates.push(u32::try_from(place).unwrap());
                    continue;
                }
                appended.counted += u64::from(view.count);
                kept.views.push(view);
            }
            appended
        }))
    }
    fn ranking(&self, _: &str, _: Question) -> Answer<'_, Arc<Ranking>> {
        ready(Self::not_here())
    }
    fn series(&self, project: &str, path: Option<&str>, edges: Vec<Bucket>, _: Sources) -> Answer<'_, Vec<Counts>> {
        ready(self.with(project, |kept| {
            let between = |edges: &[Bucket]| {
                let mut counts = Counts::default();
                let inside = |view: &&View| view.bucket >= edges[0] && view.bucket < edges[1];
                for view in kept.views.iter().filter(inside).filter(|view| path.is_none_or(|path| *view.path == *path))
                {
                    match view.client.verdict.counts_as() {
                        CountsAs::Human => counts.human += u64::from(view.count),
                        CountsAs::Ai => counts.ai += u64::from(view.count),
                        CountsAs::Other => {}
                    }
                }
                counts
            };
            edges.windows(2).map(between).collect()
        }))
    }
    fn agents(&self, _: &str, _: Question, _: Option<&str>, _: usize) -> Answer<'_, Vec<AgentViews>> {
        ready(Self::not_here())
    }
    fn marks(&self, _: &str, _: &str) -> Answer<'_, Vec<Mark>> {
        ready(Ok(Vec::new()))
    }
    fn clients(&self, project: &str) -> Answer<'_, Vec<(Arc<Client>, u64)>> {
        ready(self.with(project, |kept| {
            let mut clients = BTreeMap::new();
            for view in &kept.views {
                *clients.entry(view.client.clone()).or_default() += u64::from(view.count);
            }
            clients.into_iter().collect()
        }))
    }
    fn relabel(&self, _: &str, _: Vec<(Arc<Client>, Verdict)>) -> Answer<'_, ()> {
        ready(Self::not_here())
    }
    fn retain(&self, project: &str, floor: Bucket) -> Answer<'_, ()> {
        ready(self.with(project, |kept| {
            kept.floor = kept.floor.max(Some(floor));
            kept.views.retain(|view| view.bucket >= floor);
        }))
    }
    fn remove(&self, project: &str) -> Answer<'_, ()> {
        self.0.lock().unwrap().remove(project);
        ready(Ok(()))
    }
    fn status(&self, project: &str) -> Answer<'_, Status> {
        ready(self.with(project, |kept| Status {
            views: kept.views.iter().map(|view| u64::from(view.count)).sum(),
            floor: kept.floor,
            ..Status::default()
        }))
    }
    fn projects(&self) -> Answer<'_, Vec<String>> {
        ready(Ok(self.0.lock().unwrap().keys().cloned().collect()))
    }
}
