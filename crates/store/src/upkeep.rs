//! What has to be done from time to time: leases that ran out, jobs whose time is up, rows nobody needs any more.

use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{Job, JobId, Outcome, Timestamp};

use crate::conn::{Conn, Result, values};
use crate::database::Store;
use crate::dormancy::is_dormant;
use crate::ending::{Ending, OUT_OF_TIME, end};
use crate::finish::{Retry, put_back};
use crate::queue::QueueTerms;
use crate::{asks, deeds, invitations, jobs, marks, sessions};

/// How long something that cannot be made into deliveries stays in the outbox before it is given up.
const OUTBOX_KEPT: Duration = Duration::from_secs(3 * 24 * 3600);

/// How long the audit log is kept.
const DEEDS_KEPT: Duration = Duration::from_secs(400 * 24 * 3600);

/// What the reaper did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reaped {
    /// Jobs whose worker was dead, put back into the queue.
    pub requeued: u32,
    /// Jobs that were ended.
    pub ended: u32,
}

#[boxed]
impl Store {
    /// Takes jobs from workers that gave no sign of life and ends jobs whose time is up. Any number of processes
    /// may do this at once.
    pub async fn reap(&self, terms: &QueueTerms, jitter: impl Fn() -> f64) -> Result<Reaped> {
        let now = self.now();
        let queue_opens = now.minus(terms.queue_time);
        let due = self.read(move |c| Box::pin(due(c, now, queue_opens))).await?;
        let mut reaped = Reaped::default();
        for job_id in due {
            let (attempts, jitter) = (terms.attempts, jitter());
            let retry = self.write(move |c| Box::pin(reap_one(c, job_id, attempts, jitter, queue_opens, now))).await?;
            match retry {
                Some((Retry::At(_), ..)) => reaped.requeued += 1,
                Some((Retry::GaveUp, job, reason)) => {
                    reaped.ended += 1;
                    let (id, project) = (job.id.as_str(), job.project_id.as_str());
                    tracing::warn!(job = id, project, model = job.model, reason, "job failed");
                }
                None => {}
            }
        }
        Ok(reaped)
    }

    /// Forgets what nobody needs any more: idempotency keys and secrets that have expired, outbox entries that cannot
    /// be dealt with, deliveries and deeds of long ago, sessions and invitations that have ended.
    pub async fn purge(&self) -> Result<u64> {
        let now = self.now();
        let few = self.write(move |c| Box::pin(purge(c, now))).await?;
        Ok(few + self.purge_deliveries().await?)
    }
}

async fn due(c: &mut dyn Conn, now: Timestamp, queue_opens: Timestamp) -> Result<Vec<JobId>> {
    // The jobs of a dormant copy wait, however long.
    if is_dormant(c).await? {
        return Ok(Vec::new());
    }
    let mut due: Vec<JobId> = c
        .rows("SELECT id FROM jobs WHERE status = 'active' AND lease_expires_at <= $1 LIMIT 100", values![now])
        .await?;
    let out_of_time = "SELECT id FROM jobs WHERE status = 'active' AND worker IS NULL AND away_since IS NULL \
                       AND deadline_at <= $1 LIMIT 100";
    due.extend(c.rows::<JobId>(out_of_time, values![now]).await?);
    // A job that nobody has taken so far may run since it was queued, or before. That time has an index, and thousands may wait.
    let not_taken = "SELECT id FROM jobs WHERE status = 'active' AND worker IS NULL AND not_before <= $1 \
                     AND ((deadline_at IS NULL AND queued_at <= $1) OR away_since IS NOT NULL) LIMIT 100";
    due.extend(c.rows::<JobId>(not_taken, values![queue_opens]).await?);
    Ok(due)
}

async fn reap_one(
    c: &mut dyn Conn,
    job_id: JobId,
    attempts: u32,
    jitter: f64,
    queue_opens: Timestamp,
    now: Timestamp,
) -> Result<Option<(Retry, Job, &'static str)>> {
    let Some(job) = jobs::get_held(c, &job_id).await? else { return Ok(None) };
    // While a code host is waited for, the time of the job stands still; it is a worker that must come.
    let sql = "SELECT lease_expires_at, CASE WHEN away_since IS NULL THEN deadline_at END, \
               CASE WHEN away_since IS NULL THEN queued_at ELSE not_before END FROM jobs WHERE id = $1 AND status = 'active'";
    let times: Option<(Option<Timestamp>, Option<Timestamp>, Timestamp)> = c.row(sql, values![&job_id]).await?;
    // Another reaper, or the worker itself, may have been faster.
    let Some((expires_at, deadline_at, queued_at)) = times else { return Ok(None) };
    // A job that a worker holds has it until then.
    if let Some(expires_at) = expires_at {
        if expires_at > now {
            return Ok(None);
        }
        let reason = "its worker stopped answering";
        let retry = put_back(c, &job, reason, attempts, jitter, now).await?;
        return Ok(Some((retry, job, reason)));
    }
    let message = match deadline_at {
        Some(deadline) if deadline <= now => OUT_OF_TIME,
        None if queued_at <= queue_opens => {
            "No worker took the job in time; check that a worker for its model is running."
        }
        _ => return Ok(None),
    };
    end(c, &job, Ending::new(Outcome::TimedOut, message), now).await?;
    Ok(Some((Retry::GaveUp, job, message)))
}

async fn purge(c: &mut dyn Conn, now: Timestamp) -> Result<u64> {
    let skip = c.skip_locked();
    let keys = format!(
        "DELETE FROM idempotency WHERE (project_id, key) IN \
         (SELECT project_id, key FROM idempotency WHERE expires_at <= $1 {skip})"
    );
    let keys = c.run(keys, values![now]).await?;
    // Only those that were tried: what nobody could look at, because no server ran, is still to be told.
    let entries =
        format!("DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE tries > 0 AND created_at <= $1 {skip})");
    let entries = c.run(entries, values![now.minus(OUTBOX_KEPT)]).await?;
    let secrets = c.run("DELETE FROM secrets WHERE expires_at <= $1", values![now]).await?;
    let entrances =
        sessions::forget(c, now).await? + invitations::forget(c, now).await? + marks::forget(c, now).await?;
    let deeds = deeds::forget(c, now.minus(DEEDS_KEPT)).await? + asks::forget(c, now).await?;
    Ok(keys + entries + secrets + entrances + deeds)
}
