//! Works on jobs: claims them under a lease, drives an engine, writes down how they ended.

mod engine;
mod hold;
mod noop;
mod work;

use std::sync::Arc;
use std::time::{Duration, Instant};

use copydesk_domain::{new_id, random_fraction};
use copydesk_store::{Change, Claimed, QueueTerms, Store};
use futures_util::future::BoxFuture;
use tokio::task::{JoinError, JoinSet};
use tracing::Instrument;

use crate::metrics::Metrics;
use crate::stop::Stop;
use crate::trace;

use hold::Keeper;

pub(crate) use engine::as_sentence;
pub use engine::{Engine, Failure, Task};
pub use noop::Noop;

/// The longest that an idle worker sleeps: wake-ups may be lost, time is not.
const LONGEST_SLEEP: Duration = Duration::from_secs(5);
const FIRST_SLEEP: Duration = Duration::from_millis(100);
const SHORTEST_SLEEP: Duration = Duration::from_millis(50);
/// How long one process has for its look before the next may come, about, and all together at the most.
const TURN: Duration = Duration::from_millis(1);
const LONGEST_TURN: Duration = Duration::from_millis(150);
/// How often the processes are counted.
const COUNT_EVERY: Duration = Duration::from_secs(10);
/// How often jobs are looked for that are in no lane.
const MEND_LANES: Duration = Duration::from_secs(60);
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
}

impl Runner {
    /// Workers that run jobs of `store` on `engines` until the stop.
    pub fn new(store: Store, engines: Vec<Arc<dyn Engine>>, terms: QueueTerms, metrics: Metrics, stop: Stop) -> Self {
        let name = format!("{}-{}", std::process::id(), new_id(store.now()));
        Self { store, engines: engines.into(), terms, metrics, stop, name, keeper: Arc::default() }
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
        let mut crowd = Crowd::default();
        while !self.stop.is_asked() {
            while let Some(ended) = running.try_join_next() {
                report_end(ended);
            }
            let Some(free) = workers.checked_sub(running.len()).filter(|free| *free > 0) else {
                tokio::select! {
                    Some(ended) = running.join_next() => report_end(ended),
                    () = self.stop.asked() => return,
                }
                continue;
            };
            match self.store.claim(&self.name, &models, &self.terms, free).await {
                Ok(claimed) if claimed.is_empty() => self.wait_for_work(&models, &mut crowd, running).await,
                Ok(claimed) => {
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
    async fn wait_for_work(&self, models: &[String], crowd: &mut Crowd, running: &mut JoinSet<()>) {
        let mut changes = self.store.changes_for_idle();
        // What was announced before others know that somebody waits here is found by a look soon after.
        let mut longest = FIRST_SLEEP;
        while !self.stop.is_asked() {
            let now = self.store.now();
            let due = self.store.next_due().await.ok().flatten().map_or(LONGEST_SLEEP, |due| due.since(now));
            // A due time in the past is the reaper's business; it will tell.
            let due = due.clamp(SHORTEST_SLEEP, longest);
            tokio::select! {
                () = changes.wait_for(|change| matches!(change, Change::Ready | Change::Room)) => {}
                () = tokio::time::sleep(due) => {}
                () = self.stop.asked() => return,
                Some(ended) = running.join_next() => return report_end(ended),
            }
            longest = LONGEST_SLEEP;
            self.pause(crowd.turn(&self.store).await).await;
            // What cannot be asked is found out by the claim.
            if self.store.has_work(models, &self.terms).await.unwrap_or(true) {
                return;
            }
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
                match self.store.mend_lanes().await {
                    Ok(0) => {}
                    Ok(lanes) => tracing::warn!(lanes, "found jobs that no worker could see"),
                    Err(error) => tracing::warn!(%error, "cannot look for jobs that no worker sees; trying again"),
                }
            }
            self.pause(every).await;
        }
    }
}

/// How many processes wait for jobs, so that not all of them look at the same moment.
#[derive(Default)]
struct Crowd {
    processes: u32,
    counted_at: Option<Instant>,
}

impl Crowd {
    /// How long to wait until it is this process' turn to look.
    async fn turn(&mut self, store: &Store) -> Duration {
        if self.counted_at.is_none_or(|at| at.elapsed() >= COUNT_EVERY) {
            // Where it cannot be told, the last count is as good as any.
            self.processes = store.processes().await.unwrap_or(self.processes);
            self.counted_at = Some(Instant::now());
        }
        let others = self.processes.saturating_sub(1);
        (TURN * others).min(LONGEST_TURN).mul_f64(random_fraction())
    }
}

fn report_end(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a worker ended unexpectedly");
    }
}
