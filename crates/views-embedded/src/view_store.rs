//! The embedded store as every view store is asked.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use copydesk_views::store::{AgentViews, Answer, Counts, Question, Ranking, Sources, Status, ViewStore, ViewsError};
use copydesk_views::{Appended, Batch, Bucket, Client, Mark, Verdict};

use super::embedded::Embedded;
use super::project::Project;
use super::shared::Shared;
use super::{answers, changes, merge, overview};

impl Embedded {
    /// Does something where waiting for the disk does no harm.
    async fn waiting<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> Result<T, ViewsError> + Send + 'static,
    ) -> Result<T, ViewsError> {
        let shared = Arc::clone(&self.shared);
        let work = move || {
            let _busy = shared.busy.read().unwrap_or_else(PoisonError::into_inner);
            if shared.is_closing() {
                return Err(ViewsError::Unavailable("the view store is closing".into()));
            }
            work(&shared)
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => match runtime.spawn_blocking(work).await {
                Ok(done) => done,
                Err(error) => Err(ViewsError::Unavailable(format!("the view store failed: {error}"))),
            },
            Err(_) => work(),
        }
    }

    /// Asks a project where waiting for the disk does no harm; none if there is no such project.
    async fn asking<T: Send + 'static>(
        &self,
        project: String,
        ask: impl FnOnce(&Shared, &Arc<Project>) -> Result<T, ViewsError> + Send + 'static,
    ) -> Result<Option<T>, ViewsError> {
        self.waiting(move |shared| shared.project(&project)?.map(|project| ask(shared, &project)).transpose()).await
    }

    /// The project, if an answer about it needs nothing from the disk.
    fn ready(&self, project: &str) -> Option<Arc<Project>> {
        self.shared.loaded(project).filter(|project| answers::is_ready(project))
    }
}

impl ViewStore for Embedded {
    fn append(&self, batch: Batch) -> Answer<'_, Appended> {
        Box::pin(self.keep(batch))
    }

    fn ranking(&self, project: &str, question: Question) -> Answer<'_, Arc<Ranking>> {
        let project = project.to_owned();
        Box::pin(async move {
            if let Some(project) = self.ready(&project) {
                return Ok(Arc::new(answers::ranking(&project, question)?));
            }
            let made = self.asking(project, move |_, project| Ok(answers::ranking(project, question)?)).await?;
            Ok(Arc::new(made.unwrap_or_else(|| Ranking::from_rows(Counts::default(), Vec::new()))))
        })
    }

    fn series(
        &self,
        project: &str,
        path: Option<&str>,
        edges: Vec<Bucket>,
        sources: Sources,
    ) -> Answer<'_, Vec<Counts>> {
        let (project, path) = (project.to_owned(), path.map(str::to_owned));
        Box::pin(async move {
            let none = vec![Counts::default(); edges.len().saturating_sub(1)];
            let ask = move |_: &Shared, project: &Arc<Project>| {
                Ok(answers::series(project, path.as_deref(), &edges, sources)?)
            };
            Ok(self.asking(project, ask).await?.unwrap_or(none))
        })
    }

    fn agents(
        &self,
        project: &str,
        question: Question,
        path: Option<&str>,
        pages_each: usize,
    ) -> Answer<'_, Vec<AgentViews>> {
        let (project, path) = (project.to_owned(), path.map(str::to_owned));
        Box::pin(async move {
            let ask = move |_: &Shared, project: &Arc<Project>| {
                Ok(overview::agents(project, question, path.as_deref(), pages_each)?)
            };
            Ok(self.asking(project, ask).await?.unwrap_or_default())
        })
    }

    fn marks(&self, project: &str, log: &str) -> Answer<'_, Vec<Mark>> {
        let (project, log) = (project.to_owned(), log.to_owned());
        Box::pin(async move {
            let ask = move |_: &Shared, project: &Arc<Project>| Ok(overview::marks(project, &log));
            Ok(self.asking(project, ask).await?.unwrap_or_default())
        })
    }

    fn clients(&self, project: &str) -> Answer<'_, Vec<(Arc<Client>, u64)>> {
        let project = project.to_owned();
        Box::pin(async move {
            let ask = |_: &Shared, project: &Arc<Project>| Ok(overview::clients(project)?);
            Ok(self.asking(project, ask).await?.unwrap_or_default())
        })
    }

    fn relabel(&self, project: &str, changes: Vec<(Arc<Client>, Verdict)>) -> Answer<'_, ()> {
        let project = project.to_owned();
        Box::pin(async move {
            let ask = move |shared: &Shared, project: &Arc<Project>| merge::relabel(shared, project, changes);
            self.asking(project, ask).await.map(|_| ())
        })
    }

    fn retain(&self, project: &str, floor: Bucket) -> Answer<'_, ()> {
        let project = project.to_owned();
        Box::pin(async move {
            self.waiting(move |shared| changes::retain(shared, &shared.project_or_new(&project)?, floor)).await
        })
    }

    fn remove(&self, project: &str) -> Answer<'_, ()> {
        let project = project.to_owned();
        Box::pin(async move {
            let ask = |shared: &Shared, project: &Arc<Project>| changes::remove(shared, project);
            self.asking(project, ask).await.map(|_| ())
        })
    }

    fn status(&self, project: &str) -> Answer<'_, Status> {
        let project = project.to_owned();
        Box::pin(async move {
            let ask = |_: &Shared, project: &Arc<Project>| Ok(overview::status(project)?);
            Ok(self.asking(project, ask).await?.unwrap_or_default())
        })
    }

    fn backup(&self, folder: &Path) -> Answer<'_, ()> {
        let (shared, asks, folder) = (Arc::clone(&self.shared), self.asks.clone(), folder.to_owned());
        Box::pin(async move {
            let copy = move || Self::copy(&shared, &asks, &folder);
            match tokio::runtime::Handle::try_current() {
                Ok(runtime) => runtime
                    .spawn_blocking(copy)
                    .await
                    .unwrap_or_else(|error| Err(ViewsError::Unavailable(format!("the copy failed: {error}")))),
                Err(_) => copy(),
            }
        })
    }

    fn projects(&self) -> Answer<'_, Vec<String>> {
        Box::pin(self.waiting(overview::projects))
    }
}
