//! Pull requests of repositories that no code host looks after: Copydesk keeps them itself. And the right to open the
//! pull request of a job that has ended without one.

use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{Job, JobId, ProjectId, PullRequest, PullRequestState, Status, Timestamp, random_token};
use serde_json::json;

use crate::conn::{Conn, FromRow, Result, Row, plain_text, values};
use crate::database::Store;
use crate::lease::{self, Lease, LeaseError, LeaseLost};
use crate::{deeds, events, jobs, pull_state, rounds};

/// A pull request that Copydesk keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalPull {
    pub project_id: ProjectId,
    /// Counts up from 1 in each project.
    pub number: u32,
    /// The job that made it.
    pub job_id: JobId,
    /// The branch to merge from.
    pub head: String,
    /// The branch to merge into.
    pub base: String,
    pub title: String,
    /// The text, in Markdown.
    pub body: String,
    /// Whether it is a draft.
    pub draft: bool,
    /// What makes its address impossible to guess.
    pub token: String,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    pub state: PullRequestState,
    pub merged_at: Option<Timestamp>,
    /// The commit that merges it; before that, one that somebody is about to push, or was when they were killed.
    pub merged_commit: Option<String>,
    pub closed_at: Option<Timestamp>,
}

/// A pull request to keep.
#[derive(Debug, Clone)]
pub struct NewPull {
    pub project_id: ProjectId,
    pub head: String,
    pub base: String,
    pub title: String,
    pub body: String,
    pub draft: bool,
}

/// Who may open a job's pull request.
#[derive(Debug, Clone)]
pub enum Permit {
    /// The worker that runs the job.
    Lease(Lease),
    /// Somebody who was allowed to by [`Store::begin_publishing`].
    Publisher { job_id: JobId, token: String },
}

impl Permit {
    /// The job it is about.
    pub fn job_id(&self) -> &JobId {
        match self {
            Self::Lease(lease) => &lease.job_id,
            Self::Publisher { job_id, .. } => job_id,
        }
    }
}

/// What became of the wish to open the pull request of a job.
#[derive(Debug, Clone)]
pub enum Publishing {
    /// It may be done, by nobody else meanwhile.
    Begun(Permit, Box<Job>),
    /// There is nothing left to do.
    Done(Box<Job>),
    /// The job stands so; only a completed one can be opened.
    NotCompleted(Status),
    /// The job has changed nothing.
    NothingChanged,
    /// Somebody else is about to do it.
    Busy,
}

/// What became of the wish to give a pull request another address.
#[derive(Debug, Clone)]
pub enum Revoking {
    Done(Box<Job>),
    /// The job has no pull request that Copydesk keeps.
    NoLink,
    /// Somebody works on the job and is about to write down the address that it has.
    Busy,
    /// No address leads to the pull request any more.
    Archived,
}

/// Whether a pull request that Copydesk keeps may be merged, closed or opened again.
#[derive(Debug, Clone)]
pub enum Merging {
    /// It may, or it was done.
    Done(Box<Job>),
    /// It stands so.
    Is(PullRequestState),
    /// Its job is still working on it.
    Running,
    Archived,
}

#[boxed]
impl Store {
    /// The pull request from a branch.
    pub async fn local_pull(&self, project_id: &ProjectId, head: &str) -> Result<Option<LocalPull>> {
        let (project_id, head) = (project_id.clone(), head.to_owned());
        self.read(move |c| Box::pin(async move { get(c, &project_id, &head).await })).await
    }

    /// The pull request of that number.
    pub async fn local_pull_of(&self, project_id: &ProjectId, number: u32) -> Result<Option<LocalPull>> {
        let project_id = project_id.clone();
        self.read(move |c| Box::pin(async move { numbered(c, &project_id, number).await })).await
    }

    /// Notes that `commit` is about to be pushed, which merges the pull request; `again` if another was, in vain. None if there
    /// is no such pull request.
    pub async fn begin_merge(
        &self,
        project_id: &ProjectId,
        number: u32,
        commit: &str,
        again: bool,
    ) -> Result<Option<Merging>> {
        let (project_id, commit) = (project_id.clone(), commit.to_owned());
        self.write(move |c| Box::pin(begin_merge(c, project_id, number, commit, again))).await
    }

    /// Records that the base branch has all of the pull request, through that commit. Gives the job.
    pub async fn record_merge(&self, project_id: &ProjectId, number: u32, commit: &str) -> Result<Option<Job>> {
        let (project_id, commit, now) = (project_id.clone(), commit.to_owned(), self.now());
        self.write(move |c| Box::pin(record_merge(c, project_id, number, commit, now))).await
    }

    /// The commit that was about to be pushed is not going to be.
    pub async fn forget_merge(&self, project_id: &ProjectId, number: u32, commit: &str) -> Result<()> {
        let sql = "UPDATE pull_requests SET merged_commit = NULL \
                   WHERE project_id = $1 AND number = $2 AND state = 'open' AND merged_commit = $3";
        let values = values![project_id, number, commit];
        self.write(move |c| Box::pin(async move { c.run(sql, values).await.map(drop) })).await
    }

    /// Closes a pull request without a merge, or opens one again that was closed so.
    pub async fn close_pull(&self, project_id: &ProjectId, number: u32, close: bool) -> Result<Option<Merging>> {
        let (project_id, now) = (project_id.clone(), self.now());
        self.write(move |c| Box::pin(set_closed(c, project_id, number, close, now))).await
    }

    /// The pull request of that address, unless its job is archived.
    pub async fn local_pull_at(&self, token: &str) -> Result<Option<LocalPull>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM pull_requests p WHERE token = $1 \
             AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = p.job_id AND j.status = 'archived')"
        );
        let values = values![token];
        self.read(move |c| Box::pin(c.row(sql, values))).await
    }

    /// Gives the pull request of a job another address; the one it had leads nowhere from then on. None if there is no such
    /// job in the project.
    pub async fn revoke_pull_link(&self, project_id: &ProjectId, job_id: &JobId) -> Result<Option<Revoking>> {
        let (project_id, job_id, now) = (project_id.clone(), job_id.clone(), self.now());
        self.write(move |c| Box::pin(revoke(c, project_id, job_id, now))).await
    }

    /// Opens a pull request, or brings the one from that branch up to date. Refused once the job is cancelled or lost.
    pub async fn put_local_pull(&self, permit: &Permit, new: NewPull) -> Result<LocalPull, LeaseError> {
        let (permit, now) = (permit.clone(), self.now());
        self.write(move |c| Box::pin(put(c, permit, new, now))).await
    }

    /// Asks to open the pull request of a job that has ended without one. Whoever may has `time` for it. None if there
    /// is no such job in the project.
    pub async fn begin_publishing(
        &self,
        project_id: &ProjectId,
        job_id: &JobId,
        time: Duration,
    ) -> Result<Option<Publishing>> {
        let (project_id, job_id, now) = (project_id.clone(), job_id.clone(), self.now());
        self.write(move |c| Box::pin(begin(c, project_id, job_id, time, now))).await
    }

    /// An error if the permit no longer stands.
    pub async fn check_permit(&self, permit: &Permit) -> Result<(), LeaseError> {
        let permit = permit.clone();
        self.write(move |c| Box::pin(async move { hold(c, &permit).await.map(drop) })).await
    }

    /// Records that the commit of a round has another id than it had: it was made again, with other settings.
    pub async fn record_remade(&self, permit: &Permit, round: u32, commit: &str) -> Result<(), LeaseError> {
        let (permit, commit) = (permit.clone(), commit.to_owned());
        self.write(move |c| Box::pin(remade(c, permit, round, commit))).await
    }

    /// Records that the branch of a round is on the code host.
    pub async fn record_published(&self, permit: &Permit, round: u32) -> Result<(), LeaseError> {
        let (permit, now) = (permit.clone(), self.now());
        self.write(move |c| Box::pin(published(c, permit, round, now))).await
    }

    /// Records that the branch is off the code host again, because no pull request can be opened from it.
    pub async fn record_taken_back(&self, permit: &Permit) -> Result<(), LeaseError> {
        let (permit, now) = (permit.clone(), self.now());
        self.write(move |c| Box::pin(unpublished(c, permit, now))).await
    }

    /// Gives the permit back: with the pull request if it is open.
    pub async fn end_publishing(&self, permit: &Permit, pull: Option<PullRequest>) -> Result<Job, LeaseError> {
        let (permit, now) = (permit.clone(), self.now());
        self.write(move |c| Box::pin(finish(c, permit, pull, now))).await
    }
}

const COLUMNS: &str = "project_id, number, job_id, head, base, title, body, draft, token, created_at, updated_at, state, \
     merged_at, merged_commit, closed_at";

impl FromRow for LocalPull {
    fn from_row(row: &mut Row) -> Result<Self> {
        Ok(Self {
            project_id: row.next()?,
            number: row.next()?,
            job_id: row.next()?,
            head: row.next()?,
            base: row.next()?,
            title: row.next()?,
            body: row.next()?,
            draft: row.next()?,
            token: row.next()?,
            created_at: row.next()?,
            updated_at: row.next()?,
            state: row.next()?,
            merged_at: row.next()?,
            merged_commit: row.next()?,
            closed_at: row.next()?,
        })
    }
}

async fn numbered(c: &mut dyn Conn, project_id: &ProjectId, number: u32) -> Result<Option<LocalPull>> {
    let sql = format!("SELECT {COLUMNS} FROM pull_requests WHERE project_id = $1 AND number = $2");
    c.row(sql, values![project_id, number]).await
}

/// The pull request and its job, whose row is held until the transaction ends.
async fn numbered_held(c: &mut dyn Conn, project_id: &ProjectId, number: u32) -> Result<Option<(LocalPull, Job)>> {
    let Some(pull) = numbered(c, project_id, number).await? else { return Ok(None) };
    let Some(job) = jobs::get_held_of(c, project_id, &pull.job_id).await? else { return Ok(None) };
    // As it is now that nobody else can change it.
    Ok(numbered(c, project_id, number).await?.map(|pull| (pull, job)))
}

/// What stands in the way of merging, closing or opening again, as far as the job is concerned.
fn obstacle(job: &Job) -> Option<Merging> {
    match job.status {
        Status::Active => Some(Merging::Running),
        Status::Archived => Some(Merging::Archived),
        Status::Completed | Status::Failed => None,
    }
}

async fn begin_merge(
    c: &mut dyn Conn,
    project_id: ProjectId,
    number: u32,
    commit: String,
    again: bool,
) -> Result<Option<Merging>> {
    let Some((pull, job)) = numbered_held(c, &project_id, number).await? else { return Ok(None) };
    if let Some(obstacle) = obstacle(&job) {
        return Ok(Some(obstacle));
    }
    if pull.state != PullRequestState::Open {
        return Ok(Some(Merging::Is(pull.state)));
    }
    let sql = "UPDATE pull_requests SET merged_commit = $1 WHERE project_id = $2 AND number = $3";
    c.run(sql, values![&commit, &project_id, number]).await?;
    if !again {
        let detail = format!("#{number} into {}", pull.base);
        deeds::record(c, "pull_request.merge", Some(&project_id), &job.id, &detail).await?;
    }
    Ok(Some(Merging::Done(Box::new(job))))
}

async fn record_merge(
    c: &mut dyn Conn,
    project_id: ProjectId,
    number: u32,
    commit: String,
    now: Timestamp,
) -> Result<Option<Job>> {
    let Some((pull, job)) = numbered_held(c, &project_id, number).await? else { return Ok(None) };
    if pull.state == PullRequestState::Merged {
        return Ok(Some(job));
    }
    c.run(
        "UPDATE pull_requests SET state = 'merged', merged_at = $1, merged_commit = $2, closed_at = NULL, updated_at = $1 \
         WHERE project_id = $3 AND number = $4",
        values![now, commit, &project_id, number],
    )
    .await?;
    tell(c, &job, &pull, PullRequestState::Merged, Some(now), now).await
}

async fn set_closed(
    c: &mut dyn Conn,
    project_id: ProjectId,
    number: u32,
    close: bool,
    now: Timestamp,
) -> Result<Option<Merging>> {
    let Some((pull, job)) = numbered_held(c, &project_id, number).await? else { return Ok(None) };
    if let Some(obstacle) = obstacle(&job) {
        return Ok(Some(obstacle));
    }
    let (from, to, action) = match close {
        true => (PullRequestState::Open, PullRequestState::Closed, "pull_request.close"),
        false => (PullRequestState::Closed, PullRequestState::Open, "pull_request.reopen"),
    };
    if pull.state == to {
        return Ok(Some(Merging::Done(Box::new(job))));
    }
    if pull.state != from {
        return Ok(Some(Merging::Is(pull.state)));
    }
    c.run(
        "UPDATE pull_requests SET state = $1, closed_at = $2, updated_at = $3 \
         WHERE project_id = $4 AND number = $5",
        values![to.as_str(), close.then_some(now), now, &project_id, number],
    )
    .await?;
    deeds::record(c, action, Some(&project_id), &job.id, &format!("#{number}")).await?;
    Ok(tell(c, &job, &pull, to, None, now).await?.map(|job| Merging::Done(Box::new(job))))
}

/// The job follows its pull request.
async fn tell(
    c: &mut dyn Conn,
    job: &Job,
    pull: &LocalPull,
    state: PullRequestState,
    merged_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<Option<Job>> {
    let url = job.pr_link.clone().unwrap_or_default();
    let (number, draft) = (u64::from(pull.number), pull.draft);
    pull_state::record(c, job.id.clone(), PullRequest { number, url, state, draft, merged_at }, now).await
}

async fn get(c: &mut dyn Conn, project_id: &ProjectId, head: &str) -> Result<Option<LocalPull>> {
    let sql = format!("SELECT {COLUMNS} FROM pull_requests WHERE project_id = $1 AND head = $2");
    c.row(sql, values![project_id, head]).await
}

async fn put(c: &mut dyn Conn, permit: Permit, new: NewPull, now: Timestamp) -> Result<LocalPull, LeaseError> {
    // Whoever opens holds the project's row, so that numbers cannot clash.
    c.hold("projects", &new.project_id).await?;
    let job = hold(c, &permit).await?;
    let (title, body) = (plain_text(&new.title), plain_text(&new.body));
    match get(c, &new.project_id, &new.head).await? {
        Some(there) => {
            c.run(
                "UPDATE pull_requests SET title = $1, body = $2, draft = $3, updated_at = $4 \
                 WHERE project_id = $5 AND number = $6",
                values![title, body, new.draft, now, &new.project_id, there.number],
            )
            .await?;
        }
        None => {
            c.run(
                "INSERT INTO pull_requests (project_id, number, job_id, head, base, title, body, draft, token, \
                 created_at, updated_at) SELECT $1, COALESCE(MAX(number), 0) + 1, $2, $3, $4, $5, $6, $7, $8, $9, $9 \
                 FROM pull_requests WHERE project_id = $1",
                values![&new.project_id, &job.id, &new.head, &new.base, title, body, new.draft, random_token(), now,],
            )
            .await?;
        }
    }
    // It was written a line ago, in the same transaction.
    Ok(get(c, &new.project_id, &new.head).await?.ok_or(LeaseLost::Lost)?)
}

/// The job, held, if the permit still stands.
pub(crate) async fn hold(c: &mut dyn Conn, permit: &Permit) -> Result<Job, LeaseError> {
    let (job_id, token) = match permit {
        Permit::Lease(lease) => return lease::hold_active(c, lease).await,
        Permit::Publisher { job_id, token } => (job_id, token),
    };
    let job = jobs::get_held(c, job_id).await?.ok_or(LeaseLost::Lost)?;
    let sql = "SELECT 1 FROM jobs WHERE id = $1 AND publisher = $2 AND status = 'completed'";
    if c.exists(sql, values![job_id, token]).await? { Ok(job) } else { Err(LeaseLost::Lost.into()) }
}

async fn begin(
    c: &mut dyn Conn,
    project_id: ProjectId,
    job_id: JobId,
    time: Duration,
    now: Timestamp,
) -> Result<Option<Publishing>> {
    let Some(job) = jobs::get_held_of(c, &project_id, &job_id).await? else { return Ok(None) };
    if job.status != Status::Completed {
        return Ok(Some(Publishing::NotCompleted(job.status)));
    }
    let sql = "SELECT pushed_at FROM rounds WHERE job_id = $1 AND commit_id IS NOT NULL \
               AND dropped_at IS NULL ORDER BY number DESC LIMIT 1";
    let pushed_at: Option<Option<Timestamp>> = c.row(sql, values![&job.id]).await?;
    let Some(pushed_at) = pushed_at else { return Ok(Some(Publishing::NothingChanged)) };
    if pushed_at.is_some() && job.pr_link.is_some() {
        return Ok(Some(Publishing::Done(Box::new(job))));
    }
    if publisher_until(c, &job.id).await?.is_some_and(|until| until > now) {
        return Ok(Some(Publishing::Busy));
    }
    deeds::record(c, "pull_request.open", Some(&project_id), &job.id, "").await?;
    let token = random_token();
    c.run(
        "UPDATE jobs SET publisher = $1, publisher_until = $2 WHERE id = $3",
        values![&token, now.plus(time), &job.id],
    )
    .await?;
    let permit = Permit::Publisher { job_id: job.id.clone(), token };
    Ok(Some(Publishing::Begun(permit, Box::new(job))))
}

async fn remade(c: &mut dyn Conn, permit: Permit, round: u32, commit: String) -> Result<(), LeaseError> {
    let job = hold(c, &permit).await?;
    let sql = "UPDATE rounds SET commit_id = $1 WHERE job_id = $2 AND number = $3";
    c.run(sql, values![commit, &job.id, round]).await?;
    Ok(())
}

async fn published(c: &mut dyn Conn, permit: Permit, round: u32, now: Timestamp) -> Result<(), LeaseError> {
    let job = hold(c, &permit).await?;
    c.run("UPDATE jobs SET updated_at = $1 WHERE id = $2", values![now, &job.id]).await?;
    let told = rounds::pushed(c, &job.id, round, now).await?;
    Ok(events::append_all(c, &job.id, told, now).await?)
}

async fn revoke(c: &mut dyn Conn, project_id: ProjectId, job_id: JobId, now: Timestamp) -> Result<Option<Revoking>> {
    let Some(job) = jobs::get_held_of(c, &project_id, &job_id).await? else { return Ok(None) };
    let old: Option<String> = c.row("SELECT token FROM pull_requests WHERE job_id = $1", values![&job_id]).await?;
    let Some(old) = old else { return Ok(Some(Revoking::NoLink)) };
    let is_publishing = publisher_until(c, &job_id).await?.is_some_and(|until| until > now);
    match job.status {
        Status::Archived => return Ok(Some(Revoking::Archived)),
        Status::Active => return Ok(Some(Revoking::Busy)),
        _ if is_publishing => return Ok(Some(Revoking::Busy)),
        _ => {}
    }
    let new = random_token();
    c.run("UPDATE pull_requests SET token = $1, updated_at = $2 WHERE job_id = $3", values![&new, now, &job_id])
        .await?;
    let sql = "UPDATE jobs SET pr_link = replace(pr_link, $1, $2), updated_at = $3 WHERE id = $4";
    c.run(sql, values![&old, &new, now, &job_id]).await?;
    events::append(c, &job_id, "link_revoked", json!({}), now).await?;
    deeds::record(c, "pull_request.revoke_link", Some(&project_id), &job_id, "").await?;
    Ok(jobs::get_held(c, &job_id).await?.map(|job| Revoking::Done(Box::new(job))))
}

/// Until when somebody has the right to open the job's pull request.
async fn publisher_until(c: &mut dyn Conn, job_id: &JobId) -> Result<Option<Timestamp>> {
    c.only_row("SELECT publisher_until FROM jobs WHERE id = $1", values![job_id]).await
}

async fn unpublished(c: &mut dyn Conn, permit: Permit, now: Timestamp) -> Result<(), LeaseError> {
    let job = hold(c, &permit).await?;
    c.run("UPDATE jobs SET updated_at = $1 WHERE id = $2", values![now, &job.id]).await?;
    let told = rounds::taken_back(c, &job.id, 1).await?;
    Ok(events::append_all(c, &job.id, told, now).await?)
}

async fn finish(
    c: &mut dyn Conn,
    permit: Permit,
    pull: Option<PullRequest>,
    now: Timestamp,
) -> Result<Job, LeaseError> {
    let job = hold(c, &permit).await?;
    c.run("UPDATE jobs SET publisher = NULL, publisher_until = NULL WHERE id = $1", values![&job.id]).await?;
    if let Some(pull) = pull {
        pull_state::write(c, &job.id, &pull, now).await?;
        // Follow-ups go to the same pull request from now on.
        let sql = "UPDATE jobs SET open_pull_request = 1, updated_at = $1, outcome = 'pr_created' WHERE id = $2";
        c.run(sql, values![now, &job.id]).await?;
        events::append(c, &job.id, "opened", json!({ "prLink": pull.url }), now).await?;
    }
    Ok(jobs::get_held(c, &job.id).await?.ok_or(LeaseLost::Lost)?)
}
