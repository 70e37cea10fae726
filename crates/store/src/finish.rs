//! How a worker lets go of a job: at its end, untouched, or for a later try.

use std::sync::LazyLock;
use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{CheckSummary, Command, EventKind, Job, Outcome, Status, Timestamp, Usage, new_id};
use serde_json::json;

use crate::conn::{Conn, Result, Value, plain_text, to_json, values};
use crate::database::Store;
use crate::ending::{self, CANCELLED, Ending, LET_GO, OUT_OF_TIME, end};
use crate::hub::Change;
use crate::lease::{self, Lease, LeaseError};
use crate::postgres::Plans;
use crate::{events, jobs, lanes, outbox};

/// How a worker ends a job.
#[derive(Debug, Clone)]
pub struct Finish {
    pub outcome: Outcome,
    /// What to say to the user.
    pub message: Option<String>,
    /// What the change is called.
    pub title: Option<String>,
    pub branch: Option<String>,
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

    /// What the worker has found out, of [`FOUND`]; nothing leaves what the job says.
    fn found(&self) -> [Option<String>; 5] {
        let usage = (self.usage != Usage::default()).then(|| to_json(&self.usage));
        let checks = (!self.checks.is_empty()).then(|| to_json(&self.checks));
        [self.title.as_deref().map(plain_text), self.branch.clone(), self.pr_link.clone(), usage, checks]
    }
}

const FOUND: [&str; 5] = ["title", "branch", "pr_link", "usage", "checks"];

/// Sets the columns of [`FOUND`] to parameters from number `first` on.
fn set_found(first: usize) -> String {
    let set = |(column, place)| format!("{column} = COALESCE(${place}, {column})");
    FOUND.into_iter().zip(first..).map(set).collect::<Vec<_>>().join(", ")
}

/// What became of a finish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finished {
    /// The job has ended as asked.
    Ended,
    /// The job was cancelled meanwhile and has ended so.
    Cancelled,
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

#[boxed]
impl Store {
    /// Ends the job. If it was cancelled meanwhile it ends so, whatever the worker says.
    pub async fn finish(&self, lease: &Lease, finish: Finish) -> Result<Finished, LeaseError> {
        let (lease, now) = (lease.clone(), self.now());
        if finish.outcome.command() == Command::Complete && self.complete_at_once(&lease, &finish, now).await? {
            return Ok(Finished::Ended);
        }
        self.write_planned(Plans::Simple, move |c| Box::pin(finish_job(c, lease, finish, now))).await
    }

    /// Hands the job back untouched, so that another worker can have it at once; the try does not count.
    pub async fn release(&self, lease: &Lease) -> Result<(), LeaseError> {
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
    ) -> Result<Retry, LeaseError> {
        let (lease, reason, now) = (lease.clone(), reason.to_owned(), self.now());
        self.write(move |c| {
            Box::pin(async move {
                let job = lease::hold(c, &lease).await?;
                Ok(put_back(c, &job, &reason, attempts, jitter, now).await?)
            })
        })
        .await
    }
}

impl Store {
    /// Completes the job unless its lease is lost, it was cancelled, or a prompt came in that was not taken in.
    async fn complete_at_once(&self, lease: &Lease, finish: &Finish, now: Timestamp) -> Result<bool> {
        let message = finish.message.as_deref().map(plain_text).filter(|message| !message.is_empty());
        let said = ending::said(finish.outcome, message.as_deref()).to_string();
        let mut values = values![now, &lease.job_id, &lease.worker, lease.attempt, finish.taken_through];
        values.extend(values![finish.outcome.as_str(), message, said, new_id(now)]);
        values.extend(finish.found().map(Value::from));
        let changes = |has_lanes: &bool| {
            let mut changes = vec![Change::Job(lease.job_id.clone()), Change::Outbox];
            changes.extend(has_lanes.then_some(Change::Room));
            changes
        };
        Ok(self.done_at_once(&COMPLETE_AT_ONCE, values, changes).await?.is_some())
    }
}

/// What [`finish_job`] does with a job that went well. Who sends a prompt while this waits for the job's row adds an event, of which the
/// number is not known here: then it is refused. A webhook or lane that is made while this waits comes too late for it.
static COMPLETE_AT_ONCE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "WITH ended AS (UPDATE jobs SET status = '{status}', outcome = $6, message = $7, updated_at = $1, {found}, {LET_GO} \
         WHERE {held} AND cancel_requested_at IS NULL \
         AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.job_id = $2 AND m.number > $5) RETURNING id, project_id), \
         said AS (INSERT INTO events (job_id, number, kind, data, created_at) SELECT id, COALESCE((SELECT MAX(number) \
         FROM events WHERE job_id = $2), 0) + 1, '{status}', $8, $1 FROM ended), \
         told AS (INSERT INTO outbox (id, project_id, job_id, kind, created_at, not_before, tries) \
         SELECT $9, project_id, id, '{kind}', $1, $1, 0 FROM ended WHERE {wanted}) \
         SELECT (SELECT count(*) FROM lanes l WHERE l.project_id = ended.project_id) FROM ended",
        status = Status::Completed.as_str(),
        found = set_found(10),
        held = lease::is_held(2),
        kind = EventKind::JobCompleted.as_str(),
        wanted = outbox::is_wanted("ended.project_id"),
    )
});

async fn finish_job(c: &mut dyn Conn, lease: Lease, finish: Finish, now: Timestamp) -> Result<Finished, LeaseError> {
    let job = lease::hold(c, &lease).await?;
    if job.cancel_requested {
        end(c, &job, Ending::new(Outcome::Cancelled, CANCELLED), now).await?;
        return Ok(Finished::Cancelled);
    }
    let newest: Option<u32> =
        c.only_row("SELECT MAX(number) FROM messages WHERE job_id = $1", values![&job.id]).await?;
    if newest.unwrap_or(0) > finish.taken_through && finish.outcome != Outcome::TimedOut {
        return Ok(Finished::NewMessages);
    }
    let found = finish.found();
    if found.iter().any(Option::is_some) {
        let mut values: Vec<Value> = found.into_iter().map(Value::from).collect();
        values.extend(values![&job.id]);
        c.run(format!("UPDATE jobs SET {} WHERE id = $6", set_found(1)), values).await?;
    }
    end(c, &job, Ending { outcome: finish.outcome, message: finish.message }, now).await?;
    Ok(Finished::Ended)
}

async fn release(c: &mut dyn Conn, lease: Lease, now: Timestamp) -> Result<(), LeaseError> {
    let job = lease::hold(c, &lease).await?;
    if job.cancel_requested {
        return Ok(end(c, &job, Ending::new(Outcome::Cancelled, CANCELLED), now).await?);
    }
    c.run(
        "UPDATE jobs SET worker = NULL, lease_expires_at = NULL, tries = tries - 1, not_before = $1, updated_at = $1 \
         WHERE id = $2",
        values![now, &job.id],
    )
    .await?;
    lanes::enter(c, &job.id).await?;
    events::append(c, &job.id, "released", json!({}), now).await?;
    c.announce(Change::Ready(Some(job.project_id.clone())));
    Ok(())
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
    let sql = "SELECT tries, deadline_at FROM jobs WHERE id = $1";
    let (tries, deadline): (u32, Option<Timestamp>) = c.only_row(sql, values![&job.id]).await?;
    let ending = if job.cancel_requested {
        Some(Ending::new(Outcome::Cancelled, CANCELLED))
    } else if deadline.is_some_and(|deadline| deadline <= now) {
        Some(Ending::new(Outcome::TimedOut, OUT_OF_TIME))
    } else if tries >= attempts {
        let reason = reason.trim_end_matches('.');
        Some(Ending::new(
            Outcome::Error,
            format!("The job was stopped after {tries} attempts; the last one failed: {reason}."),
        ))
    } else {
        None
    };
    if let Some(ending) = ending {
        end(c, job, ending, now).await?;
        return Ok(Retry::GaveUp);
    }
    jobs::end_wait(c, &job.id).await?;
    let at = now.plus(pause(tries, jitter));
    c.run(
        "UPDATE jobs SET worker = NULL, lease_expires_at = NULL, not_before = $1, updated_at = $2 WHERE id = $3",
        values![at, now, &job.id],
    )
    .await?;
    lanes::enter(c, &job.id).await?;
    events::append(c, &job.id, "retrying", json!({ "reason": reason, "notBefore": at }), now).await?;
    c.announce(Change::Ready(Some(job.project_id.clone())));
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
