//! What clients do to a job in the middle of its work: cancel it, archive it.

use copydesk_boxed::boxed;
use copydesk_domain::{Command, EventKind, Job, JobId, Outcome, ProjectId, Refusal, Status, Timestamp};
use serde_json::json;

use crate::conn::{Conn, Result, values};
use crate::database::Store;
use crate::ending::{CANCELLED, Ending, end};
use crate::error::StoreError;
use crate::hub::Change;
use crate::{deeds, events, jobs, outbox};

/// Why a job was not cancelled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CancelError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[boxed]
impl Store {
    /// Cancels an active job. One that nobody runs ends at once; one that is running ends when its worker, which is
    /// woken for it, has let go. None if there is no such job in the project.
    pub async fn cancel_job(&self, project_id: &ProjectId, job_id: &JobId) -> Result<Option<Job>, CancelError> {
        let (project_id, job_id, now) = (project_id.clone(), job_id.clone(), self.now());
        self.write(move |c| Box::pin(cancel(c, project_id, job_id, now))).await
    }

    /// Archives a job for good. A running one is taken from its worker, whose writes are refused from then on.
    /// None if there is no such job in the project.
    pub async fn archive_job(&self, project_id: &ProjectId, job_id: &JobId) -> Result<Option<Job>> {
        let (project_id, job_id, now) = (project_id.clone(), job_id.clone(), self.now());
        self.write(move |c| Box::pin(archive(c, project_id, job_id, now))).await
    }
}

async fn cancel(
    c: &mut dyn Conn,
    project_id: ProjectId,
    job_id: JobId,
    now: Timestamp,
) -> Result<Option<Job>, CancelError> {
    let Some(job) = jobs::get_held_of(c, &project_id, &job_id).await? else { return Ok(None) };
    job.status.after(Command::Cancel)?;
    if !job.cancel_requested {
        deeds::record(c, "job.cancel", Some(&project_id), &job.id, "").await?;
    }
    let is_leased = c.exists("SELECT 1 FROM jobs WHERE id = $1 AND worker IS NOT NULL", values![&job.id]).await?;
    if !is_leased {
        end(c, &job, Ending::new(Outcome::Cancelled, CANCELLED), now).await?;
    } else if !job.cancel_requested {
        c.run("UPDATE jobs SET cancel_requested_at = $1, updated_at = $1 WHERE id = $2", values![now, &job.id]).await?;
        events::append(c, &job.id, "cancelling", json!({}), now).await?;
        c.announce(Change::Called(job.id.clone()));
    }
    Ok(jobs::get_held(c, &job.id).await?)
}

async fn archive(c: &mut dyn Conn, project_id: ProjectId, job_id: JobId, now: Timestamp) -> Result<Option<Job>> {
    let Some(job) = jobs::get_held_of(c, &project_id, &job_id).await? else { return Ok(None) };
    if job.status == Status::Archived {
        return Ok(Some(job));
    }
    if job.status == Status::Active {
        end(c, &job, Ending::new(Outcome::Cancelled, CANCELLED), now).await?;
        c.announce(Change::Called(job.id.clone()));
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
    deeds::record(c, "job.archive", Some(&project_id), &job.id, "").await?;
    outbox::put(c, EventKind::JobArchived, &job, now).await?;
    jobs::get_held(c, &job.id).await
}
