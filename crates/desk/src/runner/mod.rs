//! Works on jobs: claims them under a lease, drives an engine, writes down how they ended.

mod engine;
mod hold;
mod noop;
mod work;

use std::sync::Arc;
use std::time::Duration;

use copydesk_domain::{new_id, random_fraction};
use copydesk_store::{Change, Changes, Claimed, QueueTerms, Store};
use futures_util::future::BoxFuture;
use tokio::task::{JoinError, JoinSet};
use tracing::Instrument;

use crate::metrics::Metrics;
use crate::stop::Stop;
use crate::trace;

pub(crate) use engine::as_sentence;
pub use engine::{Engine, Failure, Task};
pub use noop::Noop;

/// The longest that an idle worker sleeps: wake-ups may be lost, time is not.
const LONGEST_SLEEP: Duration = Duration::from_secs(5);
/// How long to wait after the database could not be asked.
const STORE_PAUSE: Duration = Duration::from_millis(500);

/// A group of workers in this process.
#[derive(Clone)]
pub struct Runner {
    store: Store,
    engines: Arc<[Arc<dyn Engine>]>,
    terms: QueueTerms,
    metrics: Metrics,
    stop: Stop,
    name: String,
}

impl Runner {
    /// Workers that run jobs of `store` on `engines` until the stop.
    pub fn new(store: Store, engines: Vec<Arc<dyn Engine>>, terms: QueueTerms, metrics: Metrics, stop: Stop) -> Self {
        let name = format!("{}-{}", std::process::id(), new_id(store.now()));
        Self { store, engines: engines.into(), terms, metrics, stop, name }
    }

    /// Runs `workers` jobs at a time, and looks after those of dead workers everywhere. After the stop, jobs have half
    /// of the shutdown time to end; those that have not are handed back.
    /// Boxed, so that this crate compiles it once, and not every program and test that starts it.
    pub fn run(self, workers: usize) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            // Also where nothing is run: a job that no worker ever takes must come to its end all the same.
            let reaper = tokio::spawn(self.clone().reap_forever());
            let mut running = JoinSet::new();
            if workers > 0 {
                self.claim_forever(workers, &mut running).await;
            }
            while let Some(ended) = running.join_next().await {
                report_end(ended);
            }
            report_end(reaper.await);
        })
    }

    /// One asks for jobs on behalf of all workers: hundreds that all ask would only stand in each other's way.
    async fn claim_forever(&self, workers: usize, running: &mut JoinSet<()>) {
        let models: Vec<String> = self.engines.iter().map(|engine| engine.model().to_owned()).collect();
        let mut changes = self.store.changes();
        let mut claims: u64 = 0;
        while !self.stop.is_asked() {
            while let Some(ended) = running.try_join_next() {
                report_end(ended);
            }
            if running.len() >= workers {
                tokio::select! {
                    Some(ended) = running.join_next() => report_end(ended),
                    () = self.stop.asked() => return,
                }
                continue;
            }
            let name = format!("{}/{claims}", self.name);
            match self.store.claim(&name, &models, &self.terms).await {
                Ok(Some(claimed)) => {
                    claims += 1;
                    let runner = self.clone();
                    running.spawn(async move { runner.run_job(claimed).await });
                }
                Ok(None) => self.sleep(&mut changes).await,
                Err(error) => {
                    tracing::warn!(%error, "cannot claim a job; trying again");
                    self.pause(STORE_PAUSE).await;
                }
            }
        }
    }

    async fn run_job(&self, claimed: Claimed) {
        let job = claimed.job.id.clone();
        tracing::info!(job = job.as_str(), attempt = claimed.lease.attempt, model = claimed.job.model, "job claimed");
        let engine = self.engines.iter().find(|engine| engine.model() == claimed.job.model).cloned();
        match engine {
            Some(engine) => {
                let span = trace::job_span(&self.store, &claimed).await;
                work::run(self, &*engine, claimed).instrument(span).await;
            }
            // Only models of these engines are claimed.
            None => tracing::error!(job = job.as_str(), "claimed a job for a model that this process does not run"),
        }
    }

    /// Until there may be something to claim.
    async fn sleep(&self, changes: &mut Changes) {
        let now = self.store.now();
        let due = self.store.next_due().await.ok().flatten().map_or(LONGEST_SLEEP, |due| due.since(now));
        // A due time in the past is the reaper's business; it will tell.
        let due = due.clamp(Duration::from_millis(50), LONGEST_SLEEP);
        tokio::select! {
            () = changes.wait_for(|change| *change == Change::Ready) => {}
            () = tokio::time::sleep(due) => {}
            () = self.stop.asked() => {}
        }
    }

    async fn pause(&self, length: Duration) {
        tokio::select! {
            () = tokio::time::sleep(length) => {}
            () = self.stop.asked() => {}
        }
    }

    /// Looks for dead leases as often as they can die, and a bit more.
    async fn reap_forever(self) {
        let every = (self.terms.lease / 3).clamp(Duration::from_millis(100), LONGEST_SLEEP);
        while !self.stop.is_asked() {
            match self.store.reap(&self.terms, random_fraction).await {
                Ok(reaped) if reaped != Default::default() => {
                    tracing::warn!(requeued = reaped.requeued, ended = reaped.ended, "took jobs from dead workers");
                }
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "cannot look for dead leases; trying again"),
            }
            self.pause(every).await;
        }
    }
}

fn report_end(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a worker ended unexpectedly");
    }
}
