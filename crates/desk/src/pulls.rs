//! How pull requests end, for webhooks that want to know: their code hosts are asked even if nobody looks at the jobs.

use std::time::Duration;

use copydesk_store::{Store, StoreError};
use futures_util::future::BoxFuture;

use crate::jobs::Jobs;
use crate::stop::Stop;

/// How often is looked.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// How often a host is asked about one pull request.
const PAUSE: Duration = Duration::from_secs(5 * 60);
/// A pull request of an older job is asked about only by who looks at it: many stay open for ever.
const FOLLOWED: Duration = Duration::from_secs(30 * 24 * 3600);
/// How many are asked about in one look, one after the other, so that hosts are not flooded.
const AT_ONCE: u32 = 20;

/// Follows open pull requests until the server stops.
pub fn follow_pulls(store: Store, jobs: Jobs, stop: Stop) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        while tokio::time::timeout(LOOK_EVERY, stop.asked()).await.is_err() {
            tokio::select! {
                looked = look_at_pulls(&store, &jobs) => {
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
pub async fn look_at_pulls(store: &Store, jobs: &Jobs) -> Result<(), StoreError> {
    for (project_id, job_id) in store.pulls_to_follow(PAUSE, FOLLOWED, AT_ONCE).await? {
        let Some(project) = store.project(&project_id).await? else { continue };
        // Whoever reads a job asks the host. What that says is recorded with the event.
        if let Err(error) = jobs.get(&project, &job_id).await {
            tracing::info!(?error, job = job_id.as_str(), "the state of a pull request cannot be read");
        }
        // One that cannot be asked about, because the project has another repository now, makes room for others too.
        store.begin_pull_check(&job_id, PAUSE).await?;
    }
    Ok(())
}
