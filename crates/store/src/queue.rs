//! The lease queue: which job a worker may take.

use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{Job, JobId, Message, ProjectId, Timestamp};
use serde_json::json;

use crate::conn::{Conn, Result, Value, values};
use crate::database::Store;
use crate::lease::Lease;
use crate::{events, jobs};

/// How often a claim looks again when others were faster.
const RACES: usize = 32;

/// The rules of the queue, the same for every worker.
#[derive(Debug, Clone)]
pub struct QueueTerms {
    /// How long a lease lasts without a sign of life.
    pub lease: Duration,
    /// Jobs of one project running at a time, unless the project says otherwise; 0 is no limit.
    pub running_per_project: u32,
    /// How long a job may run, unless its project says otherwise.
    pub job_time: Duration,
    /// How long a job may wait for its first worker.
    pub queue_time: Duration,
    /// How often a job is tried before it is given up.
    pub attempts: u32,
    /// How long a job waits for a code host that is away.
    pub host_wait: Duration,
}

/// A job that was just leased, with all that is needed to run it.
#[derive(Debug, Clone)]
pub struct Claimed {
    pub lease: Lease,
    pub job: Job,
    /// All its prompts, oldest first.
    pub messages: Vec<Message>,
    /// How often this run of it has been tried, this time included.
    pub tries: u32,
    /// When its time is up.
    pub deadline_at: Timestamp,
}

/// How much is in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueDepth {
    /// Jobs that wait for a worker.
    pub waiting: u32,
    /// Jobs that a worker holds.
    pub running: u32,
}

/// Who works on the queue, and how well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueState {
    /// Since when the job waits that has waited longest and may run.
    pub oldest_waiting: Option<Timestamp>,
    /// Workers that hold a job, of all processes. Those that wait for one are not known here.
    pub busy_workers: u32,
}

#[boxed]
impl Store {
    /// Takes the job that has waited longest among those that `models` can run and whose project has room.
    pub async fn claim(&self, worker: &str, models: &[String], terms: &QueueTerms) -> Result<Option<Claimed>> {
        let (worker, models, terms, now) = (worker.to_owned(), models.to_vec(), terms.clone(), self.now());
        if models.is_empty() {
            return Ok(None);
        }
        // A look outside the write lock first: an idle worker writes nothing.
        let (peek_models, limit) = (models.clone(), terms.running_per_project);
        let waiting = self.read(move |c| Box::pin(async move { candidate(c, &peek_models, limit, now).await })).await?;
        if waiting.is_none() {
            return Ok(None);
        }
        // Each race is a transaction of its own: one that was lost must not keep holding a project's row while the
        // next waits for another's, or two workers could wait for each other.
        for _ in 0..RACES {
            let (worker, models, terms) = (worker.clone(), models.clone(), terms.clone());
            match self.write(move |c| Box::pin(race(c, worker, models, terms, now))).await? {
                Race::Won(claimed) => return Ok(Some(*claimed)),
                Race::Lost => {}
                Race::NothingToTake => return Ok(None),
            }
        }
        Ok(None)
    }

    /// When there will be something to do that no announcement tells of: a pause or a lease that ends.
    pub async fn next_due(&self) -> Result<Option<Timestamp>> {
        let now = self.now();
        self.read(move |c| Box::pin(next_due(c, now))).await
    }

    /// How much is in the queue.
    pub async fn queue_depth(&self) -> Result<QueueDepth> {
        self.read(|c| Box::pin(depth(c))).await
    }

    pub async fn queue_state(&self) -> Result<QueueState> {
        let now = self.now();
        self.read(move |c| Box::pin(state(c, now))).await
    }
}

/// What became of the try to take a job that others may want too.
enum Race {
    Won(Box<Claimed>),
    Lost,
    NothingToTake,
}

async fn race(
    c: &mut dyn Conn,
    worker: String,
    models: Vec<String>,
    terms: QueueTerms,
    now: Timestamp,
) -> Result<Race> {
    let Some((job_id, project_id)) = candidate(c, &models, terms.running_per_project, now).await? else {
        return Ok(Race::NothingToTake);
    };
    // Whoever claims for a project holds its row, so that its limit is exact.
    c.hold("projects", &project_id).await?;
    // The wait for the row may have been long, and the lease begins now.
    let now = c.now();
    let taken = take(c, &job_id, &worker, &terms, now).await?;
    Ok(taken.map_or(Race::Lost, |claimed| Race::Won(Box::new(claimed))))
}

/// The oldest job that may run now, without holding it.
async fn candidate(
    c: &mut dyn Conn,
    models: &[String],
    running_per_project: u32,
    now: Timestamp,
) -> Result<Option<(JobId, ProjectId)>> {
    let mut values = values![now, running_per_project];
    let mut places = Vec::new();
    for model in models {
        values.push(Value::from(model));
        places.push(format!("${}", values.len()));
    }
    // The full projects are found once and from what runs, so that a long queue behind a full project costs little.
    let sql = format!(
        "SELECT j.id, j.project_id FROM jobs j WHERE j.status = 'active' AND j.worker IS NULL AND j.not_before <= $1 \
         AND NOT EXISTS (SELECT 1 FROM dormancy) \
         AND j.project_id NOT IN (SELECT r.project_id FROM jobs r JOIN projects p ON p.id = r.project_id \
         WHERE r.status = 'active' AND r.worker IS NOT NULL AND COALESCE(p.max_running, $2) > 0 \
         GROUP BY r.project_id, p.max_running HAVING count(*) >= COALESCE(p.max_running, $2)) \
         AND j.model IN ({}) ORDER BY j.not_before, j.id LIMIT 1",
        places.join(", ")
    );
    c.row(sql, values).await
}

/// Leases the job if it is still free and due and its project still has room. The attempt number grows with every lease:
/// it is the fencing token of all the worker's writes. The time of a job that has waited for its code host goes on now.
async fn take(
    c: &mut dyn Conn,
    job_id: &JobId,
    worker: &str,
    terms: &QueueTerms,
    now: Timestamp,
) -> Result<Option<Claimed>> {
    let expires_at = now.plus(terms.lease);
    let job_time = i64::try_from(terms.job_time.as_millis()).unwrap_or(i64::MAX / 2);
    let taken = c
        .row(
            "UPDATE jobs SET worker = $1, lease_expires_at = $2, attempt = attempt + 1, tries = tries + 1, \
             updated_at = $3, deadline_at = CASE WHEN away_since IS NULL THEN COALESCE(deadline_at, $3 + \
             COALESCE((SELECT p.time_limit_seconds * 1000 FROM projects p WHERE p.id = jobs.project_id), $4)) \
             ELSE deadline_at + ($3 - not_before) END, not_before = CASE WHEN away_since IS NULL THEN not_before ELSE $3 END \
             WHERE id = $5 AND status = 'active' AND worker IS NULL AND not_before <= $3 AND EXISTS (SELECT 1 FROM projects p \
             WHERE p.id = jobs.project_id AND (COALESCE(p.max_running, $6) = 0 OR COALESCE(p.max_running, $6) > \
             (SELECT count(*) FROM jobs r WHERE r.project_id = p.id AND r.status = 'active' AND r.worker IS NOT NULL))) \
             RETURNING attempt, tries, deadline_at",
            values![worker, expires_at, now, job_time, job_id, terms.running_per_project],
        )
        .await?;
    let Some((attempt, tries, deadline_at)) = taken else { return Ok(None) };
    events::append(c, job_id, "claimed", json!({ "attempt": attempt }), now).await?;
    let Some(job) = jobs::get_held(c, job_id).await? else { return Ok(None) };
    let messages = jobs::messages(c, job_id.clone()).await?;
    let lease = Lease { job_id: job_id.clone(), worker: worker.to_owned(), attempt };
    Ok(Some(Claimed { lease, job, messages, tries, deadline_at }))
}

async fn next_due(c: &mut dyn Conn, now: Timestamp) -> Result<Option<Timestamp>> {
    c.only_row(
        "SELECT MIN(due) FROM (\
         SELECT MIN(not_before) AS due FROM jobs WHERE status = 'active' AND worker IS NULL AND not_before > $1 \
         UNION ALL \
         SELECT MIN(lease_expires_at) AS due FROM jobs WHERE status = 'active' AND worker IS NOT NULL) AS dues",
        values![now],
    )
    .await
}

async fn depth(c: &mut dyn Conn) -> Result<QueueDepth> {
    let sql = "SELECT (SELECT count(*) FROM jobs WHERE status = 'active' AND worker IS NULL), \
               (SELECT count(*) FROM jobs WHERE status = 'active' AND worker IS NOT NULL)";
    let (waiting, running) = c.only_row(sql, vec![]).await?;
    Ok(QueueDepth { waiting, running })
}

async fn state(c: &mut dyn Conn, now: Timestamp) -> Result<QueueState> {
    let sql = "SELECT (SELECT MIN(not_before) FROM jobs WHERE status = 'active' AND worker IS NULL AND not_before <= $1), \
               (SELECT count(DISTINCT worker) FROM jobs WHERE status = 'active' AND worker IS NOT NULL)";
    let (oldest_waiting, busy_workers) = c.only_row(sql, values![now]).await?;
    Ok(QueueState { oldest_waiting, busy_workers })
}
