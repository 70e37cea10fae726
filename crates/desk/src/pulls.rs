//! How pull requests end, for webhooks that want to know and so that old jobs can be forgotten: their code hosts are asked
//! even if nobody looks at the jobs.

use std::time::Duration;

use copydesk_domain::{JobId, ProjectId};
use copydesk_store::{Store, StoreError};
use futures_util::future::BoxFuture;

use crate::jobs::Jobs;
use crate::retention::Retention;
use crate::stop::Stop;

/// How often is looked.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// How often a host is asked about one pull request.
const PAUSE: Duration = Duration::from_secs(5 * 60);
/// A pull request of an older job is asked about only by who looks at it: many stay open for ever.
const FOLLOWED: Duration = Duration::from_secs(30 * 24 * 3600);
/// How often a host is asked about a pull request only because its job would be forgotten if it were not open.
const OLD_PAUSE: Duration = Duration::from_secs(24 * 3600);
/// How many are asked about in one look, one after the other, so that hosts are not flooded.
const AT_ONCE: u32 = 20;

/// Follows open pull requests until the server stops.
pub fn follow_pulls(store: Store, jobs: Jobs, retention: Retention, stop: Stop) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        while tokio::time::timeout(LOOK_EVERY, stop.asked()).await.is_err() {
            tokio::select! {
                looked = look_at_pulls(&store, &jobs, retention) => {
                    if let Err(error) = looked {
                        tracing::warn!(%error, "cannot check the state of pull requests; trying again");
                    }
                }
                () = stop.asked() => {}
            }
        }
    })
}

/// Asks how the pull requests stand that are due.
pub async fn look_at_pulls(store: &Store, jobs: &Jobs, retention: Retention) -> Result<(), StoreError> {
    ask(store, jobs, store.pulls_to_follow(PAUSE, FOLLOWED, AT_ONCE).await?, PAUSE).await?;
    if let Some(before) = retention.before(store.now()) {
        ask(store, jobs, store.pulls_of_old_jobs(before, OLD_PAUSE, AT_ONCE).await?, OLD_PAUSE).await?;
    }
    Ok(())
}

async fn ask(store: &Store, jobs: &Jobs, due: Vec<(ProjectId, JobId)>, pause: Duration) -> Result<(), StoreError> {
    for (project_id, job_id) in due {
        let Some(project) = store.project(&project_id).await? else { continue };
        // Whoever reads a job asks the host. What that says is recorded with the event.
        if let Err(error) = jobs.get(&project, &job_id).await {
            tracing::info!(?error, job = job_id.as_str(), "the state of a pull request cannot be read");
        }
        // One that cannot be asked about, because the project has another repository now, makes room for others too.
        store.begin_pull_check(&job_id, pause).await?;
    }
    Ok(())
}
