//! What was done, and whether the database agrees.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use copydesk_domain::{ProjectId, Status, random_fraction};
use copydesk_store::{JobFilter, Store};

use super::Desk;
use crate::torture::check_history;

/// How many jobs may wait.
const CROWD: u32 = 300;

/// What all clients together have done and seen.
#[derive(Default)]
pub(super) struct Book {
    /// The jobs that were answered with 201.
    pub(super) created: BTreeSet<String>,
    /// The same, to choose from; a job that was given twice is there twice.
    pub(super) jobs: Vec<String>,
    /// The jobs that were answered for each idempotency key.
    pub(super) by_key: HashMap<String, Vec<String>>,
    /// Jobs whose archiving was answered.
    pub(super) archived: HashSet<String>,
    pub(super) messages: usize,
    pub(super) cancelled: usize,
    /// Whether so many jobs wait that no more should be created for now.
    pub(super) crowded: bool,
    pub(super) wrong: Vec<String>,
    keys_given: usize,
}

impl Book {
    /// An idempotency key that three clients or so use at about the same time, or one that was used a while ago.
    pub(super) fn some_key(&mut self) -> String {
        self.keys_given += 1;
        let newest = self.keys_given / 3;
        let again = random_fraction() < 0.2;
        let number = if again { (random_fraction() * newest as f64) as usize } else { newest };
        format!("load {number}")
    }

    /// A job, the newer the likelier, because the newest are being worked on.
    pub(super) fn some_job(&self) -> Option<String> {
        let back = random_fraction().powi(3) * self.jobs.len() as f64;
        self.jobs.iter().rev().nth(back as usize).cloned()
    }

    pub(super) fn expect(&mut self, status: u16, allowed: &[u16], what: impl Fn() -> String) {
        if !allowed.contains(&status) {
            self.wrong.push(format!("{} was answered with {status}", what()));
        }
    }

    /// How many keys were answered more than once.
    pub(super) fn replayed(&self) -> usize {
        self.by_key.values().filter(|answers| answers.len() > 1).count()
    }

    /// Holds the book against the database.
    pub(super) async fn balance(&mut self, store: &Store, project: &ProjectId) {
        self.check_keys();
        let jobs = store.jobs(project, JobFilter { limit: u32::MAX, ..JobFilter::default() }).await.unwrap();
        let there: BTreeSet<String> = jobs.iter().map(|job| job.id.to_string()).collect();
        let missing = self.created.difference(&there).map(|id| format!("job {id} was answered with 201 and is gone"));
        let extra = there.difference(&self.created).map(|id| format!("job {id} is there and nobody was told"));
        let wrong: Vec<_> = missing.chain(extra).collect();
        self.wrong.extend(wrong);
        for job in jobs {
            if self.archived.contains(job.id.as_str()) && job.status != Status::Archived {
                self.wrong.push(format!("job {} was archived and is {}", job.id, job.status.as_str()));
            }
            let events = store.events(&job.id, 0, u32::MAX).await.unwrap();
            self.wrong.extend(check_history(&job.id, &events, job.status));
        }
    }

    fn check_keys(&mut self) {
        let mut owners: HashMap<&str, &str> = HashMap::new();
        for (key, answers) in &self.by_key {
            let ids: BTreeSet<_> = answers.iter().map(String::as_str).collect();
            if ids.len() != 1 {
                self.wrong.push(format!("the idempotency key {key:?} was answered with several jobs: {ids:?}"));
            }
            for id in ids {
                if let Some(other) = owners.insert(id, key) {
                    self.wrong.push(format!("job {id} was answered for the keys {key:?} and {other:?}"));
                }
            }
        }
    }
}

/// Keeps the queue from growing longer than can be worked off afterwards, however long the run.
pub(super) async fn watch_crowd(store: Store, desk: Arc<Desk>) {
    while Instant::now() < desk.until {
        if let Ok(depth) = store.queue_depth().await {
            desk.book.lock().unwrap().crowded = depth.waiting > CROWD;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until no job is active.
pub(super) async fn drained(store: &Store) -> Result<(), String> {
    let give_up = Instant::now() + Duration::from_secs(120);
    loop {
        let depth = store.queue_depth().await.map_err(|error| format!("cannot look at the queue: {error}"))?;
        if depth.waiting + depth.running == 0 {
            return Ok(());
        }
        if Instant::now() >= give_up {
            return Err(format!("jobs were not worked off: {depth:?}"));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
