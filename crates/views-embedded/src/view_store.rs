//! The embedded store as every view store is called.

use std::sync::{Arc, PoisonError};

use copydesk_views::store::{Counts, StoreCall, StoreFuture, StoreReply, ViewStore, ViewsError};

use super::embedded::{Embedded, closing};
use super::project::Project;
use super::shared::{Shared, unavailable};
use super::{answers, changes, expiry, merge, overview, repair, verify};
use crate::segment::SegmentError;

impl ViewStore for Embedded {
    fn call(&self, call: StoreCall) -> StoreFuture<'_, StoreReply> {
        Box::pin(async move {
            match call {
                StoreCall::Append(batch) => Ok(self.keep(batch).await?.into()),
                StoreCall::Ranking { project, question } => {
                    // What cannot be answered here and now is answered where waiting does no harm.
                    let ready = self.ready(&project).and_then(|project| answers::ranking(&project, question).ok());
                    match ready {
                        Some(ranking) => Ok(Arc::new(ranking).into()),
                        None => self.answer(StoreCall::Ranking { project, question }).await,
                    }
                }
                StoreCall::Losses { project } => Ok(self.shared.notes.losses(project.as_deref()).into()),
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

/// The same for what is read from segments, some of which may turn out to be damaged.
fn read_of<T: Default>(
    shared: &Shared,
    project: &str,
    ask: impl Fn(&Project) -> Result<T, SegmentError>,
) -> Result<T, ViewsError> {
    of(shared, project, |project| repair::despite_damage(shared, project, || ask(project)))
}

fn answer(shared: &Shared, call: StoreCall) -> Result<StoreReply, ViewsError> {
    Ok(match call {
        StoreCall::Ranking { project, question } => {
            read_of(shared, &project, |project| answers::ranking(project, question).map(Arc::new))?.into()
        }
        StoreCall::Series { project, path, edges, sources } => match shared.project(&project)? {
            Some(project) => {
                let ask = || answers::series(&project, path.as_deref(), &edges, sources);
                repair::despite_damage(shared, &project, ask)?.into()
            }
            None => vec![Counts::default(); edges.len().saturating_sub(1)].into(),
        },
        StoreCall::Agents { project, question, path, pages_each } => {
            let agents = |project: &Project| overview::agents(project, question, path.as_deref(), pages_each);
            read_of(shared, &project, agents)?.into()
        }
        StoreCall::Marks { project, log } => of(shared, &project, |project| Ok(overview::marks(project, &log)))?.into(),
        StoreCall::Clients { project } => read_of(shared, &project, overview::clients)?.into(),
        StoreCall::Relabel { project, changes } => {
            of(shared, &project, |project| merge::relabel(shared, project, changes))?.into()
        }
        StoreCall::Retain { project, floor } => {
            changes::retain(shared, &shared.project_or_new(&project)?, floor)?.into()
        }
        StoreCall::Expire { project, days } => {
            of(shared, &project, |project| expiry::expire(shared, project, days))?.into()
        }
        StoreCall::Restore { project } => of(shared, &project, |project| changes::restore(shared, project))?.into(),
        StoreCall::Verify { project } => verify::verify(shared, project.as_deref())?.into(),
        StoreCall::Repair { project } => verify::repair(shared, project.as_deref())?.into(),
        StoreCall::Accept => verify::accept(shared).map_err(|error| unavailable(&error))?.into(),
        StoreCall::Remove { project } => of(shared, &project, |project| changes::remove(shared, project))?.into(),
        StoreCall::Status { project } => read_of(shared, &project, overview::status)?.into(),
        StoreCall::Projects => overview::projects(shared)?.into(),
        StoreCall::Append(_) | StoreCall::Backup { .. } | StoreCall::Losses { .. } => {
            return Err(ViewsError::Unavailable("this is not done here".to_owned()));
        }
    })
}
