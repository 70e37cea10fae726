//! The embedded store as every view store is called.

use std::sync::{Arc, PoisonError};

use copydesk_views::store::{Counts, Question, Ranking, StoreCall, StoreFuture, StoreReply, ViewStore, ViewsError};
use tokio::sync::OwnedSemaphorePermit;

use super::embedded::{Embedded, closing};
use super::project::Project;
use super::questions::{Asked, MANY_PAGES};
use super::shared::{Shared, unavailable};
use super::{answers, changes, expiry, gate, lines, machines, merge, overview, repair, verify};
use crate::segment::SegmentError;

impl ViewStore for Embedded {
    fn call(&self, call: StoreCall) -> StoreFuture<'_, StoreReply> {
        Box::pin(async move {
            match call {
                StoreCall::Append(batch) => Ok(self.keep(batch).await?.into()),
                StoreCall::Ranking { project, question } => Ok(self.ranked(project, question).await?.into()),
                StoreCall::Losses { project } => Ok(self.shared.notes.losses(project.as_deref()).into()),
                StoreCall::Backup { folder } => {
                    let shared = Arc::clone(&self.shared);
                    Ok(waiting(move || Self::copy(&shared, &folder)).await?.into())
                }
                StoreCall::Agents { ref project, .. }
                | StoreCall::AgentSeries { ref project, .. }
                | StoreCall::Series { ref project, path: Some(_), .. }
                | StoreCall::Status { ref project } => {
                    let pages = self.opened(project).await?.map_or(0, |(_, pages)| pages);
                    self.answer_with_room(call, pages).await
                }
                call => self.answer(call, None).await,
            }
        })
    }
}

impl Embedded {
    async fn ranked(&self, id: String, question: Question) -> Result<Arc<Ranking>, ViewsError> {
        let Some((project, pages)) = self.opened(&id).await? else { return Ok(Arc::default()) };
        // What turns out to be damaged is answered about where waiting does no harm.
        if pages < MANY_PAGES
            && answers::is_ready(&project)
            && let Ok(ranking) = answers::ranking(&project, question)
        {
            return Ok(Arc::new(ranking));
        }
        self.questions
            .shared(Asked::new(&project, question), || async {
                self.answer_with_room(StoreCall::Ranking { project: id, question }, pages).await?.try_into()
            })
            .await
    }

    /// A project, and about how many pages a question about it has to do with. Its files are opened for that.
    async fn opened(&self, id: &str) -> Result<Option<(Arc<Project>, usize)>, ViewsError> {
        if let Some(project) = self.shared.loaded(id)
            && let Some(pages) = answers::pages(&project)
        {
            return Ok(Some((project, pages)));
        }
        let (shared, id) = (Arc::clone(&self.shared), id.to_owned());
        waiting(move || {
            let _busy = shared.busy.read().unwrap_or_else(PoisonError::into_inner);
            if shared.is_closing() {
                return Err(closing());
            }
            of(&shared, &id, |project| {
                repair::despite_damage(&shared, project, || project.open_files())?;
                Ok(Some((Arc::clone(project), answers::pages(project).unwrap_or(0))))
            })
        })
        .await
    }

    /// After an answer for which much was read: what was not asked for the longest goes, if it is too much.
    fn let_go(&self, pages: usize) {
        if pages >= MANY_PAGES {
            self.shared.evict();
        }
    }

    /// Answers a question about so many pages when there is memory for it.
    async fn answer_with_room(&self, call: StoreCall, pages: usize) -> Result<StoreReply, ViewsError> {
        let room = self.questions.room(pages).await?;
        let answered = self.answer(call, Some(room)).await;
        self.let_go(pages);
        answered
    }

    /// The room goes with the work: that goes on when whoever asked has given up.
    async fn answer(&self, call: StoreCall, room: Option<OwnedSemaphorePermit>) -> Result<StoreReply, ViewsError> {
        let shared = Arc::clone(&self.shared);
        waiting(move || {
            let _room = room;
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

/// Whether a call may change what is kept.
fn is_change(call: &StoreCall) -> bool {
    matches!(
        call,
        StoreCall::Relabel { .. }
            | StoreCall::Retain { .. }
            | StoreCall::Expire { .. }
            | StoreCall::Restore { .. }
            | StoreCall::Repair { .. }
            | StoreCall::Remove { .. }
    )
}

fn answer(shared: &Shared, call: StoreCall) -> Result<StoreReply, ViewsError> {
    let _entered = is_change(&call).then(|| shared.enter()).transpose()?;
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
            let agents = |project: &Project| machines::agents(project, question, path.as_deref(), pages_each);
            read_of(shared, &project, agents)?.into()
        }
        StoreCall::AgentSeries { project, agent, edges, sources } => match shared.project(&project)? {
            Some(project) => {
                let ask = || machines::course(&project, &agent, &edges, sources);
                repair::despite_damage(shared, &project, ask)?.into()
            }
            None => vec![0_u64; edges.len().saturating_sub(1)].into(),
        },
        StoreCall::Marks { project, log } => of(shared, &project, |project| Ok(overview::marks(project, &log)))?.into(),
        StoreCall::Lines { project } => of(shared, &project, |project| {
            let lines = overview::counted_lines(project).map_err(|error| unavailable(&error))?;
            if lines.damaged {
                shared.notes.add(lines::loss(shared, project));
            }
            Ok(lines)
        })?
        .into(),
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
        StoreCall::MoveNote => shared.gate.read().unwrap_or_else(PoisonError::into_inner).clone().into(),
        StoreCall::SetMove { note } => gate::set(shared, note)?.into(),
        StoreCall::Append(_) | StoreCall::Backup { .. } | StoreCall::Losses { .. } => {
            return Err(ViewsError::Unavailable("this is not done here".to_owned()));
        }
    })
}
