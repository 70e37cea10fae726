use copydesk_domain::{Job, Outcome, PullRequest, PullRequestState, Status};

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
        (Status::Failed, _) => ("bad", "failed"),
    }
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
