use copydesk_domain::{Command, EventKind, Job, Outcome, Refusal, Status, Timestamp};
use serde_json::json;

use crate::conn::{Conn, Result, values};
use crate::{Change, Store, events, outbox, rounds};

impl Store {
    /// Cancels an active job. One that nobody runs ends at once; one that is running ends when its worker, which is
    /// woken for it, has let go. None if there is no such job in the project.
    pub async fn cancel_job(&self, project_id: &str, job_id: &str) -> Result<Option<Result<Job, Refusal>>> {
        let (project_id, job_id, now) = (project_id.to_owned(), job_id.to_owned(), self.now());
        self.write(move |c| Box::pin(cancel(c, project_id, job_id, now))).await
    }

    /// Archives a job for good. A running one is taken from its worker, whose writes are refused from then on.
    /// None if there is no such job in the project.
    pub async fn archive_job(&self, project_id: &str, job_id: &str) -> Result<Option<Job>> {
        let (project_id, job_id, now) = (project_id.to_owned(), job_id.to_owned(), self.now());
        self.write(move |c| Box::pin(archive(c, project_id, job_id, now))).await
    }
}

async fn cancel(
    c: &mut dyn Conn,
    project_id: String,
    job_id: String,
    now: Timestamp,
) -> Result<Option<Result<Job, Refusal>>> {
    let Some(job) = super::get_locked(c, &job_id).await?.filter(|job| job.project_id == project_id) else {
        return Ok(None);
    };
    if let Err(refusal) = job.status.after(Command::Cancel) {
        return Ok(Some(Err(refusal)));
    }
    let leased = c
        .row("SELECT worker FROM jobs WHERE id = $1", values![&job.id])
        .await?
        .is_some_and(|row| matches!(row.opt_text(0), Ok(Some(_))));
    if !leased {
        end(c, &job, Ending::new(Outcome::Cancelled, CANCELLED), now).await?;
    } else if !job.cancel_requested {
        c.run("UPDATE jobs SET cancel_requested_at = $1, updated_at = $1 WHERE id = $2", values![now, &job.id]).await?;
        events::append(c, &job.id, "cancelling", json!({}), now).await?;
    }
    Ok(super::get_locked(c, &job.id).await?.map(Ok))
}

async fn archive(c: &mut dyn Conn, project_id: String, job_id: String, now: Timestamp) -> Result<Option<Job>> {
    let Some(job) = super::get_locked(c, &job_id).await?.filter(|job| job.project_id == project_id) else {
        return Ok(None);
    };
    if job.status == Status::Archived {
        return Ok(Some(job));
    }
    if job.status == Status::Active {
        end(c, &job, Ending::new(Outcome::Cancelled, CANCELLED), now).await?;
    }
    c.run(
        "UPDATE jobs SET status = 'archived', archived_at = $1, updated_at = $1, publisher = NULL, publisher_until = NULL \
         WHERE id = $2",
        values![now, &job.id],
    )
    .await?;
    // Nobody goes on from here, and answers are the largest thing that a job leaves behind.
    c.run("DELETE FROM answers WHERE job_id = $1", values![&job.id]).await?;
    events::append(c, &job.id, "archived", json!({}), now).await?;
    outbox::put(c, EventKind::JobArchived, &job, now).await?;
    super::get_locked(c, &job.id).await
}

pub(crate) const CANCELLED: &str = "The job was cancelled.";

/// How an active job ends.
pub(crate) struct Ending {
    pub(crate) outcome: Outcome,
    pub(crate) message: Option<String>,
}

impl Ending {
    pub(crate) fn new(outcome: Outcome, message: impl Into<String>) -> Self {
        Self { outcome, message: Some(message.into()) }
    }
}

/// Takes an active job out of the queue and into its terminal state. The caller holds its row.
pub(crate) async fn end(c: &mut dyn Conn, job: &Job, ending: Ending, now: Timestamp) -> Result<()> {
    let status = match job.status.after(ending.outcome.command()) {
        Ok(status) => status,
        // Every caller has looked; a job that is no longer active stays as it is.
        Err(Refusal(_)) => return Ok(()),
    };
    // PostgreSQL's text cannot hold a NUL, and a model may write one.
    let message = ending.message.map(|text| text.replace('\0', "\u{fffd}"));
    c.run(
        "UPDATE jobs SET status = $1, outcome = $2, message = $3, updated_at = $4, worker = NULL, \
         lease_expires_at = NULL, cancel_requested_at = NULL WHERE id = $5",
        values![status.as_str(), ending.outcome.as_str(), message.clone(), now, &job.id],
    )
    .await?;
    if ending.outcome == Outcome::Cancelled {
        // Nothing of a cancelled turn goes out later.
        rounds::drop_unpushed(c, &job.id, Some(job.turn), now).await?;
    }
    let data = json!({ "outcome": ending.outcome, "message": message });
    events::append(c, &job.id, status.as_str(), data, now).await?;
    let kind = if status == Status::Completed { EventKind::JobCompleted } else { EventKind::JobFailed };
    outbox::put(c, kind, job, now).await?;
    // Its project may have room for another now.
    c.announce(Change::Ready).await
}
