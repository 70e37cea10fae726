//! The embedded store as every view store is called.

use std::sync::{Arc, PoisonError};

use copydesk_views::store::{Counts, StoreCall, StoreFuture, StoreReply, ViewStore, ViewsError};

use super::embedded::{Embedded, closing};
use super::project::Project;
use super::shared::Shared;
use super::{answers, changes, merge, overview};

impl ViewStore for Embedded {
    fn call(&self, call: StoreCall) -> StoreFuture<'_, StoreReply> {
        Box::pin(async move {
            match call {
                StoreCall::Append(batch) => Ok(self.keep(batch).await?.into()),
                StoreCall::Ranking { project, question } => match self.ready(&project) {
                    Some(project) => Ok(Arc::new(answers::ranking(&project, question)?).into()),
                    None => self.answer(StoreCall::Ranking { project, question }).await,
                },
                StoreCall::Backup { folder } => {
                    let (shared, tasks) = (Arc::clone(&self.shared), self.tasks.clone());
                    Ok(waiting(move || Self::copy(&shared, &tasks, &folder)).await?.into())
                }
                call => self.answer(call).await,
            }
        })
    }
}

impl Embedded {
    /// The project, if an answer about it needs nothing from the disk.
    fn ready(&self, project: &str) -> Option<Arc<Project>> {
        self.shared.loaded(project).filter(|project| answers::is_ready(project))
    }

    async fn answer(&self, call: StoreCall) -> Result<StoreReply, ViewsError> {
        let shared = Arc::clone(&self.shared);
        waiting(move || {
            let _busy = shared.busy.read().unwrap_or_else(PoisonError::into_inner);
            if shared.is_closing() { Err(closing()) } else { answer(&shared, call) }
        })
        .await
    }
}

/// Does something where waiting for the disk does no harm.
async fn waiting<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ViewsError> + Send + 'static,
) -> Result<T, ViewsError> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => match runtime.spawn_blocking(work).await {
            Ok(done) => done,
            Err(error) => Err(ViewsError::Unavailable(format!("the view store failed: {error}"))),
        },
        Err(_) => work(),
    }
}

/// What a project that is not there answers is nothing.
fn of<T: Default>(
    shared: &Shared,
    project: &str,
    ask: impl FnOnce(&Arc<Project>) -> Result<T, ViewsError>,
) -> Result<T, ViewsError> {
    shared.project(project)?.map_or_else(|| Ok(T::default()), |project| ask(&project))
}

fn answer(shared: &Shared, call: StoreCall) -> Result<StoreReply, ViewsError> {
    Ok(match call {
        StoreCall::Ranking { project, question } => {
            of(shared, &project, |project| Ok(Arc::new(answers::ranking(project, question)?)))?.into()
        }
        StoreCall::Series { project, path, edges, sources } => match shared.project(&project)? {
            Some(project) => answers::series(&project, path.as_deref(), &edges, sources)?.into(),
            None => vec![Counts::default(); edges.len().saturating_sub(1)].into(),
        },
        StoreCall::Agents { project, question, path, pages_each } => {
            let agents = |project: &Arc<Project>| Ok(overview::agents(project, question, path.as_deref(), pages_each)?);
            of(shared, &project, agents)?.into()
        }
        StoreCall::Marks { project, log } => of(shared, &project, |project| Ok(overview::marks(project, &log)))?.into(),
        StoreCall::Clients { project } => of(shared, &project, |project| Ok(overview::clients(project)?))?.into(),
        StoreCall::Relabel { project, changes } => {
            of(shared, &project, |project| merge::relabel(shared, project, changes))?.into()
        }
        StoreCall::Retain { project, floor } => {
            changes::retain(shared, &shared.project_or_new(&project)?, floor)?.into()
        }
        StoreCall::Remove { project } => of(shared, &project, |project| changes::remove(shared, project))?.into(),
        StoreCall::Status { project } => of(shared, &project, |project| Ok(overview::status(project)?))?.into(),
        StoreCall::Projects => overview::projects(shared)?.into(),
        StoreCall::Append(_) | StoreCall::Backup { .. } => {
            return Err(ViewsError::Unavailable("this is not done here".to_owned()));
        }
    })
}
