//! Jobs by what people call them, and how they stand.

use std::collections::HashMap;

use copydesk_domain::{Job, JobId, Outcome, PullRequest, PullRequestState, Status};
use copydesk_store::{Brief, Store, StoreError};

use crate::words;

/// A job in a list.
pub(super) struct Named {
    pub(super) job: Job,
    /// Its title, or the beginning of its first prompt.
    pub(super) name: String,
    /// The look and the word of its badge.
    pub(super) look: &'static str,
    pub(super) standing: &'static str,
}

pub(super) async fn named(store: &Store, jobs: Vec<Job>) -> Result<Vec<Named>, StoreError> {
    let ids: Vec<JobId> = jobs.iter().map(|job| job.id.clone()).collect();
    let briefs = store.briefs(&ids).await?;
    let briefs: HashMap<&JobId, &Brief> = briefs.iter().map(|brief| (&brief.job_id, brief)).collect();
    let name = |job: Job| {
        let brief = briefs.get(&job.id).copied();
        let (look, standing) = badge(&job, brief.is_some_and(|brief| brief.is_held));
        Named { name: title(&job, brief), look, standing, job }
    };
    Ok(jobs.into_iter().map(name).collect())
}

/// What a job is called: its title, or the first line of its prompt.
pub(crate) fn title(job: &Job, brief: Option<&Brief>) -> String {
    if let Some(title) = job.title.as_deref().filter(|title| !title.trim().is_empty()) {
        return title.to_owned();
    }
    let first = brief.and_then(|brief| brief.prompt.lines().find(|line| !line.trim().is_empty()));
    first.map_or_else(|| "A job".to_owned(), |line| words::short(line.trim(), 120))
}

/// How a job stands: the look of its badge, and the words.
pub(crate) fn badge(job: &Job, is_held: bool) -> (&'static str, &'static str) {
    match (job.status, job.outcome) {
        (Status::Active, _) if job.cancel_requested => ("live", "cancelling"),
        (Status::Active, _) if is_held => ("live", "running"),
        (Status::Active, _) => ("live", "waiting"),
        (Status::Archived, _) => ("", "archived"),
        (Status::Completed, Some(Outcome::NoChanges)) => ("", "no change"),
        (Status::Completed, Some(Outcome::ChangesReady)) => ("warn", "changes ready"),
        (Status::Completed, _) => job.pull_request.as_ref().map_or(("good", "pull request"), pull_badge),
        (Status::Failed, Some(Outcome::Cancelled)) => ("", "cancelled"),
        (Status::Failed, Some(Outcome::TimedOut)) => ("bad", "out of time"),
        (Status::Failed, Some(Outcome::ChecksFailed)) => ("bad", "checks failed"),
        (Status::Failed, Some(Outcome::Blocked)) => ("warn", "blocked"),
        (Status::Failed, _) if stands(job) => ("warn", "follow-up failed"),
        (Status::Failed, _) => ("bad", "failed"),
    }
}

/// Whether what the job has proposed before waits to be looked at, whatever became of the last message.
pub(crate) fn stands(job: &Job) -> bool {
    job.pull_request.as_ref().is_some_and(|pull| pull.state == PullRequestState::Open)
}

/// How a pull request stands.
pub(crate) fn pull_badge(pull: &PullRequest) -> (&'static str, &'static str) {
    match pull.state {
        PullRequestState::Open if pull.draft => ("warn", "draft"),
        PullRequestState::Open => ("good", "pull request"),
        PullRequestState::Merged => ("good", "merged"),
        PullRequestState::Closed => ("", "closed"),
    }
}
