//! Works on jobs: claims them under a lease, drives an engine, writes down how they ended.

mod engine;
mod hold;
mod near;
mod noop;
mod work;

use std::sync::Arc;
use std::time::{Duration, Instant};

use copydesk_domain::{ProjectId, new_id, random_fraction};
use copydesk_store::{Change, Claimed, QueueTerms, Store, StoreError};
use futures_util::future::BoxFuture;
use tokio::task::{JoinError, JoinSet};
use tracing::Instrument;

use crate::metrics::Metrics;
use crate::stop::Stop;
use crate::trace;

use hold::Keeper;

pub(crate) use engine::as_sentence;
pub use engine::{Engine, Failure, Task};
pub use near::Near;
pub use noop::Noop;

/// The longest that an idle worker sleeps: wake-ups may be lost, time is not.
const LONGEST_SLEEP: Duration = Duration::from_secs(5);
/// The first sleep is shorter: something may have happened before others knew that somebody waits here.
const FIRST_SLEEP: Duration = Duration::from_millis(100);
/// The shortest: what is due may be somebody else's business, who is about to do it.
const SHORTEST_SLEEP: Duration = Duration::from_millis(50);
/// How long one idle process has for its look before the next comes, about, and all of them together at the most. In that time
/// it has claimed what there was, mostly.
const TURN: Duration = Duration::from_millis(20);
const LONGEST_TURN: Duration = Duration::from_secs(2);
/// How much later those look for a job who have no copy of its repository.
const HEAD_START: Duration = Duration::from_millis(20);
/// How often jobs are looked for that are in no lane.
const MEND_LANES: Duration = Duration::from_secs(60);
/// The longest that a free worker waits for others, however slow the database is.
const LONGEST_WAIT_FOR_MORE: Duration = Duration::from_millis(100);
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
    /// What the workers of this process are called, in the rows of their jobs.
    name: String,
    keeper: Arc<Keeper>,
    near: Near,
}

impl Runner {
    /// Workers that run jobs of `store` on `engines` until the stop.
    pub fn new(store: Store, engines: Vec<Arc<dyn Engine>>, terms: QueueTerms, metrics: Metrics, stop: Stop) -> Self {
        let name = format!("{}-{}", std::process::id(), new_id(store.now()));
        let near = engines.iter().find_map(|engine| engine.near()).cloned().unwrap_or_default();
        Self { store, engines: engines.into(), terms, metrics, stop, name, keeper: Arc::default(), near }
    }

    /// Runs `workers` jobs at a time, and looks after those of dead workers everywhere. After the stop, jobs have half
    /// of the shutdown time to end; those that have not are handed back.
    /// Boxed, so that this crate compiles it once, and not every program and test that starts it.
    pub fn run(self, workers: usize) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            // Also where nothing is run: a job that no worker ever takes must come to its end all the same.
            let reaper = tokio::spawn(self.clone().reap_forever());
            let work = async {
                let mut running = JoinSet::new();
                if workers > 0 {
                    self.claim_forever(workers, &mut running).await;
                }
                while let Some(ended) = running.join_next().await {
                    report_end(ended);
                }
            };
            tokio::select! {
                () = work => {}
                () = self.keeper.keep_forever(&self.store, self.terms.lease) => {}
            }
            report_end(reaper.await);
        })
    }

    /// One asks for jobs on behalf of all workers: hundreds that all ask would only stand in each other's way.
    async fn claim_forever(&self, workers: usize, running: &mut JoinSet<()>) {
        let models: Vec<String> = self.engines.iter().map(|engine| engine.model().to_owned()).collect();
        // How long the last claim took that got all it asked for: the next one may get as much.
        let mut last_claim = Duration::ZERO;
        while !self.stop.is_asked() {
            while let Some(ended) = running.try_join_next() {
                report_end(ended);
            }
            let Some(free) = workers.checked_sub(running.len()).filter(|free| *free > 0) else {
                tokio::select! {
                    Some(ended) = running.join_next() => report_end(ended),
                    () = self.stop.asked() => return,
                }
                wait_for_more(last_claim, running, &self.stop).await;
                continue;
            };
            let started = Instant::now();
            match self.store.claim(&self.name, &models, &self.terms, free, &self.near.list()).await {
                Ok(claimed) if claimed.is_empty() => self.wait_for_work(&models, running).await,
                Ok(claimed) => {
                    last_claim = if claimed.len() == free { started.elapsed() } else { Duration::ZERO };
                    for claimed in claimed {
                        let runner = self.clone();
                        running.spawn(async move { runner.run_job(claimed).await });
                    }
                }
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

    /// Until there may be something to claim, or a worker has become free that may have another look.
    async fn wait_for_work(&self, models: &[String], running: &mut JoinSet<()>) {
        let mut changes = self.store.changes_for_idle();
        let mut longest = FIRST_SLEEP;
        while !self.stop.is_asked() {
            let now = self.store.now();
            let due = self.store.next_due().await.ok().flatten().map_or(LONGEST_SLEEP, |due| due.since(now));
            // A due time in the past is the reaper's business; it will tell.
            let due = due.clamp(SHORTEST_SLEEP, longest);
            let mut turn = self.turn();
            let told = changes.wait_for(|change| match change {
                Change::Ready(Some(project_id)) => {
                    turn = self.turn_at(project_id);
                    true
                }
                Change::Ready(None) | Change::Room => true,
                _ => false,
            });
            tokio::select! {
                () = told => {}
                () = tokio::time::sleep(due) => {}
                () = self.stop.asked() => return,
                Some(ended) = running.join_next() => return report_end(ended),
            }
            longest = LONGEST_SLEEP;
            self.pause(turn).await;
            // The look is for all that was told before it.
            changes.skip();
            // What cannot be asked is found out by the claim.
            if self.store.has_work(models, &self.terms).await.unwrap_or(true) {
                return;
            }
        }
    }

    /// How long to wait until it is this process' turn to look, so that not all idle ones do at the same moment.
    fn turn(&self) -> Duration {
        let others = u32::try_from(self.store.others_idle()).unwrap_or(u32::MAX);
        TURN.saturating_mul(others).min(LONGEST_TURN).mul_f64(random_fraction())
    }

    /// The same for a job of this project.
    fn turn_at(&self, project_id: &ProjectId) -> Duration {
        match self.store.others_idle() {
            0 => Duration::ZERO,
            _ if self.near.has(project_id) => Duration::ZERO,
            _ => self.turn() + HEAD_START,
        }
    }

    async fn pause(&self, length: Duration) {
        pause(length, &self.stop).await;
    }

    /// Looks for jobs in no lane, if it is this process' turn by lot: one of all does so each time, about.
    async fn mend_lanes(&self) -> Result<u64, StoreError> {
        let processes = self.store.processes().await?;
        if random_fraction() * f64::from(processes) < 1.0 { self.store.mend_lanes().await } else { Ok(0) }
    }

    /// Looks for dead leases as often as they can die, and a bit more.
    async fn reap_forever(self) {
        let every = (self.terms.lease / 3).clamp(Duration::from_millis(100), LONGEST_SLEEP);
        let mut lanes_at = Instant::now() + MEND_LANES.mul_f64(random_fraction());
        while !self.stop.is_asked() {
            match self.store.reap(&self.terms, random_fraction).await {
                Ok(reaped) if reaped != Default::default() => {
                    tracing::warn!(requeued = reaped.requeued, ended = reaped.ended, "took jobs from dead workers");
                }
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "cannot look for dead leases; trying again"),
            }
            if Instant::now() >= lanes_at {
                lanes_at = Instant::now() + MEND_LANES;
                match self.mend_lanes().await {
                    Ok(0) => {}
                    Ok(lanes) => tracing::warn!(lanes, "found jobs that no worker could see"),
                    Err(error) => tracing::warn!(%error, "cannot look for jobs that no worker sees; trying again"),
                }
            }
            self.pause(every).await;
        }
    }
}

/// Lets a worker that is free wait for others, but no longer than the claim of its next job takes: one claim for several takes
/// hardly longer, and the fewer there are, the less they stand in each other's way.
async fn wait_for_more(longest: Duration, running: &mut JoinSet<()>, stop: &Stop) {
    let all = async {
        while let Some(ended) = running.join_next().await {
            report_end(ended);
        }
    };
    tokio::select! {
        () = all => {}
        () = pause(longest.min(LONGEST_WAIT_FOR_MORE), stop) => {}
    }
}

async fn pause(length: Duration, stop: &Stop) {
    tokio::select! {
        () = tokio::time::sleep(length) => {}
        () = stop.asked() => {}
    }
}

fn report_end(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a worker ended unexpectedly");
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    async fn left_of(running: &mut JoinSet<()>, longest: Duration) -> usize {
        wait_for_more(longest, running, &Stop::new(HOUR)).await;
        running.len()
    }

    #[tokio::test]
    async fn a_free_worker_waits_for_those_that_end_and_not_for_one_that_works_on() {
        let mut running = JoinSet::new();
        for _ in 0..3 {
            running.spawn(tokio::task::yield_now());
        }
        assert_eq!(left_of(&mut running, HOUR).await, 0);
        running.spawn(pending());
        running.spawn(ready(()));
        assert_eq!(left_of(&mut running, HOUR).await, 1, "however slow the database is");
        assert_eq!(left_of(&mut running, Duration::ZERO).await, 1);
    }
}
