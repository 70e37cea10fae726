//! Where the pull requests of jobs stand on their code hosts.

use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{EventKind, Job, JobId, ProjectId, PullRequest, PullRequestState, Timestamp};
use serde_json::json;

use crate::conn::{Conn, Result, values};
use crate::database::Store;
use crate::{events, jobs, outbox};

#[boxed]
impl Store {
    /// Whether it is time to ask the code host about a job's pull request: nobody has for `pause`. Whoever is told so
    /// asks; nobody else is told so meanwhile.
    pub async fn begin_pull_check(&self, job_id: &JobId, pause: Duration) -> Result<bool> {
        let (job_id, now) = (job_id.clone(), self.now());
        self.write(move |c| Box::pin(begin_check(c, job_id, pause, now))).await
    }

    /// Records how a job's pull request stands. Gives the job; none if there is no such job.
    pub async fn record_pull(&self, job_id: &JobId, pull: &PullRequest) -> Result<Option<Job>> {
        let (job_id, pull, now) = (job_id.clone(), pull.clone(), self.now());
        self.write(move |c| Box::pin(record(c, job_id, pull, now))).await
    }

    /// Jobs that were made within `followed` and whose pull requests are open, nobody having asked for `pause`, in projects
    /// where a webhook wants to know what becomes of them; those first that were not asked about for longest.
    pub async fn pulls_to_follow(
        &self,
        pause: Duration,
        followed: Duration,
        limit: u32,
    ) -> Result<Vec<(ProjectId, JobId)>> {
        let now = self.now();
        let sql = "SELECT j.project_id, j.id FROM jobs j WHERE j.pr_state = 'open' AND j.status <> 'active' \
                   AND j.created_at > $1 AND (j.pr_checked_at IS NULL OR j.pr_checked_at <= $2) \
                   AND EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.project_id = j.project_id \
                   AND e.paused_at IS NULL AND (e.events = '[]' OR e.events LIKE '%\"pull_request.%')) \
                   ORDER BY j.pr_checked_at, j.id LIMIT $3";
        let values = values![now.minus(followed), now.minus(pause), limit];
        self.read(move |c| Box::pin(c.rows(sql, values))).await
    }

    /// Jobs that ended before that and are kept whole because their pull requests count as open, nobody having asked for
    /// `pause`; those first that were not asked about for longest.
    pub async fn pulls_of_old_jobs(
        &self,
        before: Timestamp,
        pause: Duration,
        limit: u32,
    ) -> Result<Vec<(ProjectId, JobId)>> {
        let sql = "SELECT j.project_id, j.id FROM jobs j WHERE j.pr_state = 'open' AND j.status <> 'active' \
                   AND j.updated_at < $1 AND (j.pr_checked_at IS NULL OR j.pr_checked_at <= $2) \
                   AND NOT EXISTS (SELECT 1 FROM dormancy UNION ALL SELECT 1 FROM moving WHERE at_rest = 1) ORDER BY j.pr_checked_at, j.id LIMIT $3";
        let values = values![before, self.now().minus(pause), limit];
        self.read(move |c| Box::pin(c.rows(sql, values))).await
    }

    /// The job that a project's pull request came from.
    pub async fn job_of_pull(&self, project_id: &ProjectId, number: u64) -> Result<Option<Job>> {
        let values = values![project_id, number_value(number)];
        let sql = format!(
            "SELECT {} FROM jobs WHERE project_id = $1 AND pr_number = $2 ORDER BY id DESC LIMIT 1",
            jobs::COLUMNS
        );
        self.read(move |c| Box::pin(c.row(sql, values))).await
    }
}

async fn begin_check(c: &mut dyn Conn, job_id: JobId, pause: Duration, now: Timestamp) -> Result<bool> {
    let sql = "UPDATE jobs SET pr_checked_at = $1 WHERE id = $2 AND pr_number IS NOT NULL \
               AND (pr_checked_at IS NULL OR pr_checked_at <= $3) AND NOT EXISTS (SELECT 1 FROM dormancy UNION ALL SELECT 1 FROM moving WHERE at_rest = 1)";
    Ok(c.run(sql, values![now, job_id, now.minus(pause)]).await? > 0)
}

pub(crate) async fn record(c: &mut dyn Conn, job_id: JobId, pull: PullRequest, now: Timestamp) -> Result<Option<Job>> {
    let Some(job) = jobs::get_held(c, &job_id).await? else { return Ok(None) };
    // A merge is final: whoever says otherwise has asked before it and been slow.
    let is_late = |was: &PullRequest| {
        was.state == PullRequestState::Merged && pull.state != was.state && pull.number == was.number
    };
    if job.pull_request.as_ref().is_some_and(|was| *was == pull || is_late(was)) {
        return Ok(Some(job));
    }
    let was = job.pull_request.as_ref().map(|pull| pull.state);
    write(c, &job_id, &pull, now).await?;
    c.run("UPDATE jobs SET updated_at = $1 WHERE id = $2", values![now, &job_id]).await?;
    if was != Some(pull.state) {
        let data = json!({ "number": pull.number, "state": pull.state, "mergedAt": pull.merged_at });
        events::append(c, &job_id, "pull_request", data, now).await?;
        let kind = match pull.state {
            PullRequestState::Open => None,
            PullRequestState::Merged => Some(EventKind::PullRequestMerged),
            PullRequestState::Closed => Some(EventKind::PullRequestClosed),
        };
        if let Some(kind) = kind {
            outbox::put(c, kind, &job, now).await?;
        }
    }
    jobs::get_held(c, &job_id).await
}

/// Writes down where the pull request of a job is and how it stands. One without a number is only a link. A merge is final:
/// whoever says otherwise has asked before it, and it would be told of a second time.
pub(crate) async fn write(c: &mut dyn Conn, job_id: &JobId, pull: &PullRequest, now: Timestamp) -> Result<()> {
    let has_number = pull.number > 0;
    let number = has_number.then(|| number_value(pull.number));
    let state = has_number.then(|| pull.state.as_str().to_owned());
    let draft = has_number.then_some(i64::from(pull.draft));
    c.run(
        "UPDATE jobs SET pr_link = $1, pr_number = $2, pr_state = $3, pr_draft = $4, pr_merged_at = $5, \
         pr_checked_at = $6 WHERE id = $7 \
         AND (pr_state IS NULL OR pr_state <> 'merged' OR pr_number <> COALESCE($2, 0) OR $3 = 'merged')",
        values![&pull.url, number, state, draft, pull.merged_at, now, job_id],
    )
    .await
    .map(drop)
}

/// No host counts that far.
fn number_value(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
