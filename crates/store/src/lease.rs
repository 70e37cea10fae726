//! What the holder of a lease may do. Every write names the attempt it was claimed with; once the job has been
//! taken away, by the reaper, by an archiving or by another worker, nothing it writes arrives.

use std::time::Duration;

use copydesk_domain::{CheckSummary, Job, Message, Outcome, Timestamp, Usage};
use serde_json::json;

use crate::conn::{Conn, Result, to_json, values};
use crate::jobs::control::{CANCELLED, Ending, end};
use crate::{Change, Store, events, jobs};

/// A worker's hold on a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The job.
    pub job_id: String,
    /// The worker.
    pub worker: String,
    /// The fencing token.
    pub attempt: i64,
}

/// A job that was just leased, with all that is needed to run it.
#[derive(Debug, Clone)]
pub struct Claimed {
    /// The hold on it.
    pub lease: Lease,
    /// The job.
    pub job: Job,
    /// All its prompts, oldest first.
    pub messages: Vec<Message>,
    /// How often this turn of it has been tried, this time included.
    pub tries: u32,
    /// When its time is up.
    pub deadline_at: Timestamp,
}

/// Why the worker has to let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LeaseLost {
    /// The job is no longer this worker's.
    #[error("the lease is lost")]
    Lost,
    /// A client has cancelled the job; the worker ends it.
    #[error("the job was cancelled")]
    Cancelled,
}

/// What the worker learns from a sign of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pulse {
    /// The number of the newest prompt.
    pub newest_message: u32,
}

/// How a worker ends a job.
#[derive(Debug, Clone)]
pub struct Finish {
    /// How it ended.
    pub outcome: Outcome,
    /// What to say to the user.
    pub message: Option<String>,
    /// What the change is called.
    pub title: Option<String>,
    /// The branch worked on.
    pub branch: Option<String>,
    /// The pull request.
    pub pr_link: Option<String>,
    /// What was used up; nothing at all leaves what the job says.
    pub usage: Usage,
    /// The docs checks; none leaves what the job says.
    pub checks: Vec<CheckSummary>,
    /// The number of the last prompt that was taken in.
    pub taken_through: u32,
}

impl Finish {
    /// Ends with `outcome` and a sentence, and leaves the rest of the job as it is.
    pub fn new(outcome: Outcome, message: impl Into<String>, taken_through: u32) -> Self {
        Self {
            outcome,
            message: Some(message.into()),
            title: None,
            branch: None,
            pr_link: None,
            usage: Usage::default(),
            checks: Vec::new(),
            taken_through,
        }
    }
}

/// What became of a finish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finished {
    /// The job has ended as asked.
    Ended,
    /// A prompt came in that the worker has not taken in: it still holds the job and goes on.
    NewMessages,
}

/// What became of a job whose worker could not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// It is tried again then.
    At(Timestamp),
    /// It has been tried often enough and has failed.
    GaveUp,
}

impl Store {
    /// Keeps the lease alive for another `lease`.
    pub async fn heartbeat(&self, lease: &Lease, length: Duration) -> Result<Result<Pulse, LeaseLost>> {
        let lease = lease.clone();
        self.write(move |c| Box::pin(heartbeat(c, lease, length))).await
    }

    /// Looks, without writing, whether the worker may go on.
    pub async fn pulse(&self, lease: &Lease) -> Result<Result<Pulse, LeaseLost>> {
        let lease = lease.clone();
        self.read(move |c| Box::pin(pulse(c, lease))).await
    }

    /// Records a step. Refused once the job is cancelled or lost, so a step recorded before an act outside the
    /// database is leave to do it.
    pub async fn record_step(
        &self,
        lease: &Lease,
        step: &'static str,
        data: serde_json::Value,
    ) -> Result<Result<(), LeaseLost>> {
        let (lease, now) = (lease.clone(), self.now());
        self.write(move |c| Box::pin(record_step(c, lease, step, data, now))).await
    }

    /// Ends the job. If it was cancelled meanwhile it ends so, whatever the worker says.
    pub async fn finish(&self, lease: &Lease, finish: Finish) -> Result<Result<Finished, LeaseLost>> {
        let (lease, now) = (lease.clone(), self.now());
        self.write(move |c| Box::pin(finish_job(c, lease, finish, now))).await
    }

    /// Hands the job back untouched, so that another worker can have it at once; the try does not count.
    pub async fn release(&self, lease: &Lease) -> Result<Result<(), LeaseLost>> {
        let (lease, now) = (lease.clone(), self.now());
        self.write(move |c| Box::pin(release(c, lease, now))).await
    }

    /// Puts the job back for a later try, after a pause that grows with every one, or gives it up.
    pub async fn retry_later(
        &self,
        lease: &Lease,
        reason: &str,
        attempts: u32,
        jitter: f64,
    ) -> Result<Result<Retry, LeaseLost>> {
        let (lease, reason, now) = (lease.clone(), reason.to_owned(), self.now());
        self.write(move |c| Box::pin(retry_later(c, lease, reason, attempts, jitter, now))).await
    }
}

/// The job, held, if the lease still stands.
async fn hold(c: &mut dyn Conn, lease: &Lease) -> Result<Result<Job, LeaseLost>> {
    let Some(job) = jobs::get_locked(c, &lease.job_id).await? else { return Ok(Err(LeaseLost::Lost)) };
    let row = c
        .row(
            "SELECT 1 FROM jobs WHERE id = $1 AND worker = $2 AND attempt = $3 AND status = 'active'",
            values![&lease.job_id, &lease.worker, lease.attempt],
        )
        .await?;
    Ok(if row.is_some() { Ok(job) } else { Err(LeaseLost::Lost) })
}

/// The job, held, if the lease still stands and nobody has cancelled it.
pub(crate) async fn hold_active(c: &mut dyn Conn, lease: &Lease) -> Result<Result<Job, LeaseLost>> {
    Ok(match hold(c, lease).await? {
        Ok(job) if job.cancel_requested => Err(LeaseLost::Cancelled),
        held => held,
    })
}

async fn heartbeat(c: &mut dyn Conn, lease: Lease, length: Duration) -> Result<Result<Pulse, LeaseLost>> {
    let until = c.now().plus(length);
    c.run(
        "UPDATE jobs SET lease_expires_at = $1 WHERE id = $2 AND worker = $3 AND attempt = $4 AND status = 'active'",
        values![until, &lease.job_id, &lease.worker, lease.attempt],
    )
    .await?;
    pulse(c, lease).await
}

async fn pulse(c: &mut dyn Conn, lease: Lease) -> Result<Result<Pulse, LeaseLost>> {
    let row = c
        .row(
            "SELECT cancel_requested_at, (SELECT MAX(number) FROM messages m WHERE m.job_id = jobs.id) FROM jobs \
             WHERE id = $1 AND worker = $2 AND attempt = $3 AND status = 'active'",
            values![&lease.job_id, &lease.worker, lease.attempt],
        )
        .await?;
    let Some(row) = row else { return Ok(Err(LeaseLost::Lost)) };
    if row.opt_int(0)?.is_some() {
        return Ok(Err(LeaseLost::Cancelled));
    }
    Ok(Ok(Pulse { newest_message: row.opt_u32(1)?.unwrap_or(0) }))
}

async fn record_step(
    c: &mut dyn Conn,
    lease: Lease,
    step: &'static str,
    data: serde_json::Value,
    now: Timestamp,
) -> Result<Result<(), LeaseLost>> {
    let job = match hold_active(c, &lease).await? {
        Ok(job) => job,
        Err(lost) => return Ok(Err(lost)),
    };
    c.run("UPDATE jobs SET updated_at = $1 WHERE id = $2", values![now, &job.id]).await?;
    events::append(c, &job.id, step, data, now).await?;
    Ok(Ok(()))
}

async fn finish_job(
    c: &mut dyn Conn,
    lease: Lease,
    finish: Finish,
    now: Timestamp,
) -> Result<Result<Finished, LeaseLost>> {
    let job = match hold(c, &lease).await? {
        Ok(job) => job,
        Err(lost) => return Ok(Err(lost)),
    };
    if job.cancel_requested {
        end(c, &job, Ending::new(Outcome::Cancelled, CANCELLED), now).await?;
        return Ok(Err(LeaseLost::Cancelled));
    }
    let newest = c.row("SELECT MAX(number) FROM messages WHERE job_id = $1", values![&job.id]).await?;
    let newest = newest.map_or(Ok(None), |row| row.opt_u32(0))?.unwrap_or(0);
    if newest > finish.taken_through && finish.outcome != Outcome::TimedOut {
        return Ok(Ok(Finished::NewMessages));
    }
    let title = finish.title.map(|text| text.replace('\0', "\u{fffd}"));
    let usage = (finish.usage != Usage::default()).then(|| to_json(&finish.usage));
    let checks = (!finish.checks.is_empty()).then(|| to_json(&finish.checks));
    c.run(
        "UPDATE jobs SET title = COALESCE($1, title), branch = COALESCE($2, branch), pr_link = COALESCE($3, pr_link), \
         usage = COALESCE($4, usage), checks = COALESCE($5, checks) WHERE id = $6",
        values![title, finish.branch, finish.pr_link, usage, checks, &job.id],
    )
    .await?;
    end(c, &job, Ending { outcome: finish.outcome, message: finish.message }, now).await?;
    Ok(Ok(Finished::Ended))
}

async fn release(c: &mut dyn Conn, lease: Lease, now: Timestamp) -> Result<Result<(), LeaseLost>> {
    let job = match hold(c, &lease).await? {
        Ok(job) => job,
        Err(lost) => return Ok(Err(lost)),
    };
    if job.cancel_requested {
        end(c, &job, Ending::new(Outcome::Cancelled, CANCELLED), now).await?;
        return Ok(Ok(()));
    }
    c.run(
        "UPDATE jobs SET worker = NULL, lease_expires_at = NULL, tries = tries - 1, not_before = $1, updated_at = $1 \
         WHERE id = $2",
        values![now, &job.id],
    )
    .await?;
    events::append(c, &job.id, "released", json!({}), now).await?;
    c.announce(Change::Ready).await?;
    Ok(Ok(()))
}

async fn retry_later(
    c: &mut dyn Conn,
    lease: Lease,
    reason: String,
    attempts: u32,
    jitter: f64,
    now: Timestamp,
) -> Result<Result<Retry, LeaseLost>> {
    match hold(c, &lease).await? {
        Ok(job) => put_back(c, &job, &reason, attempts, jitter, now).await.map(Ok),
        Err(lost) => Ok(Err(lost)),
    }
}

/// Puts a leased job back after a failed try, or ends it if it has been cancelled, is out of time or out of tries.
/// The caller holds its row.
pub(crate) async fn put_back(
    c: &mut dyn Conn,
    job: &Job,
    reason: &str,
    attempts: u32,
    jitter: f64,
    now: Timestamp,
) -> Result<Retry> {
    let row = c.row("SELECT tries, deadline_at FROM jobs WHERE id = $1", values![&job.id]).await?;
    let Some(row) = row else { return Ok(Retry::GaveUp) };
    let (tries, deadline) = (row.u32(0)?, row.opt_time(1)?);
    let ending = if job.cancel_requested {
        Some(Ending::new(Outcome::Cancelled, CANCELLED))
    } else if deadline.is_some_and(|deadline| deadline <= now) {
        Some(Ending::new(Outcome::TimedOut, crate::upkeep::OUT_OF_TIME))
    } else if tries >= attempts {
        let reason = reason.trim_end_matches('.');
        Some(Ending::new(Outcome::Error, format!("The job was given up after {tries} tries; the last one: {reason}.")))
    } else {
        None
    };
    if let Some(ending) = ending {
        end(c, job, ending, now).await?;
        return Ok(Retry::GaveUp);
    }
    let at = now.plus(pause(tries, jitter));
    c.run(
        "UPDATE jobs SET worker = NULL, lease_expires_at = NULL, not_before = $1, updated_at = $2 WHERE id = $3",
        values![at, now, &job.id],
    )
    .await?;
    events::append(c, &job.id, "retrying", json!({ "reason": reason, "notBefore": at }), now).await?;
    c.announce(Change::Ready).await?;
    Ok(Retry::At(at))
}

/// How long to wait after try number `tries`: doubling from one second to five minutes, the upper half of it by
/// chance (`jitter` is 0 to 1), so that jobs which failed together do not come back together.
fn pause(tries: u32, jitter: f64) -> Duration {
    let full = Duration::from_secs(1 << tries.saturating_sub(1).min(9)).min(Duration::from_secs(300));
    full.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound_and_jitter_stays_inside() {
        assert_eq!(pause(1, 1.0), Duration::from_secs(1));
        assert_eq!(pause(1, 0.0), Duration::from_millis(500));
        assert_eq!(pause(4, 1.0), Duration::from_secs(8));
        assert_eq!(pause(u32::MAX, 1.0), Duration::from_secs(300));
        assert_eq!(pause(0, 1.0), Duration::from_secs(1));
    }
}
