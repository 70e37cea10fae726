//! How an active job ends, whoever ends it: its worker, a client or the reaper.

use copydesk_domain::{EventKind, Job, Outcome, PullRequest, PullRequestState, Refusal, Status, Timestamp};
use serde_json::{Value as Json, json};

use crate::conn::{Conn, Result, plain_text, values};
use crate::hub::Change;
use crate::{events, outbox, rounds};

pub(crate) const CANCELLED: &str = "The job was cancelled.";
pub(crate) const OUT_OF_TIME: &str = "The job took longer than the project allows.";

pub(crate) struct Ending {
    pub(crate) outcome: Outcome,
    pub(crate) message: Option<String>,
}

impl Ending {
    pub(crate) fn new(outcome: Outcome, message: impl Into<String>) -> Self {
        Self { outcome, message: Some(message.into()) }
    }
}

/// What a job forgets that nobody works on any more.
pub(crate) const LET_GO: &str = "worker = NULL, lease_expires_at = NULL, cancel_requested_at = NULL, away_since = NULL";

/// What the event of an end says.
pub(crate) fn said(outcome: Outcome, message: Option<&str>) -> Json {
    json!({ "outcome": outcome, "message": message })
}

/// Takes an active job out of the queue and into its terminal state. The caller holds its row.
pub(crate) async fn end(c: &mut dyn Conn, job: &Job, ending: Ending, now: Timestamp) -> Result<()> {
    let status = match job.status.after(ending.outcome.command()) {
        Ok(status) => status,
        // Every caller has looked; a job that is no longer active stays as it is.
        Err(Refusal(_)) => return Ok(()),
    };
    let standing = if status == Status::Failed { still_there(job) } else { None };
    let message = ending.message.as_deref().into_iter().chain(standing).collect::<Vec<_>>().join("\n\n");
    let message = (!message.is_empty()).then(|| plain_text(&message));
    // Of a job that begins to wait at this very moment nothing is known here; the one who has ended this one looks for it.
    let sql = format!(
        "UPDATE jobs SET status = $1, outcome = $2, message = $3, updated_at = $4, {LET_GO} WHERE id = $5 \
         RETURNING (SELECT count(*) FROM lanes l WHERE l.project_id = jobs.project_id)"
    );
    let lanes: u32 =
        c.only_row(sql, values![status.as_str(), ending.outcome.as_str(), message.clone(), now, &job.id]).await?;
    if ending.outcome == Outcome::Cancelled {
        // Nothing of a cancelled run goes out later.
        rounds::drop_unpushed(c, &job.id, Some(job.run), now).await?;
    }
    events::append(c, &job.id, status.as_str(), said(ending.outcome, message.as_deref()), now).await?;
    let kind = if status == Status::Completed { EventKind::JobCompleted } else { EventKind::JobFailed };
    outbox::put(c, kind, job, now).await?;
    if lanes > 0 {
        c.announce(Change::Room);
    }
    Ok(())
}

/// What a job that fails has brought about before, which stands: a follow-up that came to nothing takes nothing away. Of a pull
/// request that is merged or closed the job's own sentence tells, or its state.
fn still_there(job: &Job) -> Option<&'static str> {
    match &job.pull_request {
        Some(PullRequest { state: PullRequestState::Open, .. }) => {
            Some("This did not close the pull request of the job.")
        }
        Some(_) => None,
        None => job.pr_link.as_ref().map(|_| "What this job has pushed before is still on its branch."),
    }
}
