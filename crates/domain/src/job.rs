use serde::{Deserialize, Serialize};

use crate::{ChangeRange, CheckSummary, Dollars, JobId, ProjectId, PullRequest, Timestamp};

/// The status of a job. Poll until it is `completed`, `archived` or `failed`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = JobStatus))]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Waiting for a worker or being worked on.
    Active,
    /// Finished well.
    Completed,
    /// Put away for good.
    Archived,
    /// Ended by an error, a cancellation or the time limit.
    Failed,
}

/// What can happen to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// The worker is done.
    Complete,
    /// The worker, the reaper or a cancellation ends it.
    Fail,
    /// A client sends a follow-up.
    Message,
    /// A client cancels it.
    Cancel,
    /// A client archives it.
    Archive,
}

/// A command that does not fit the job's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a job that is {} cannot take this", .0.as_str())]
pub struct Refusal(pub Status);

impl Status {
    /// Every status.
    pub const ALL: [Self; 4] = [Self::Active, Self::Completed, Self::Archived, Self::Failed];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Completed => "completed",
            Self::Archived => "archived",
            Self::Failed => "failed",
        }
    }

    /// The status of that word.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    /// The status after `command`: the whole state machine of the contract.
    pub fn after(self, command: Command) -> Result<Self, Refusal> {
        match (self, command) {
            (Self::Active, Command::Complete) => Ok(Self::Completed),
            (Self::Active, Command::Fail | Command::Cancel) => Ok(Self::Failed),
            (Self::Active | Self::Completed | Self::Failed, Command::Message) => Ok(Self::Active),
            (_, Command::Archive) => Ok(Self::Archived),
            (status, _) => Err(Refusal(status)),
        }
    }
}

/// How a job ended
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = JobOutcome))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A pull request was opened or added to.
    PrCreated,
    /// Nothing had to be changed.
    NoChanges,
    /// Files were changed, and as the client wished no pull request was opened.
    ChangesReady,
    /// The agent could not do what was asked, and says what stood in the way.
    Blocked,
    /// A client cancelled it.
    Cancelled,
    /// It took longer than its project allows.
    TimedOut,
    /// The change broke the documentation and the project does not accept that.
    ChecksFailed,
    /// Anything else that stopped it.
    Error,
}

impl Outcome {
    const ALL: [Self; 8] = [
        Self::PrCreated,
        Self::NoChanges,
        Self::ChangesReady,
        Self::Blocked,
        Self::Cancelled,
        Self::TimedOut,
        Self::ChecksFailed,
        Self::Error,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PrCreated => "pr_created",
            Self::NoChanges => "no_changes",
            Self::ChangesReady => "changes_ready",
            Self::Blocked => "blocked",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
            Self::ChecksFailed => "checks_failed",
            Self::Error => "error",
        }
    }

    /// The outcome of that word.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == text)
    }

    /// What this outcome does to an active job.
    pub fn command(self) -> Command {
        match self {
            Self::PrCreated | Self::NoChanges | Self::ChangesReady => Command::Complete,
            Self::Blocked | Self::Cancelled | Self::TimedOut | Self::ChecksFailed | Self::Error => Command::Fail,
        }
    }
}

/// What the job used up
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = JobUsage))]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    // Each may be missing where it is kept: a job that has used nothing is written as `{}`.
    /// Tokens given to the model.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub input_tokens: u64,
    /// Those of them that came from the provider's cache, as far as it says so.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub cached_input_tokens: u64,
    /// Tokens the model wrote.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub output_tokens: u64,
    /// Calls of the model.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub model_calls: u64,
    /// Cost in US dollars, where the model's prices are known.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// Both together. The cost is known only if it is known of all that was used.
    #[must_use]
    pub fn plus(&self, more: &Self) -> Self {
        let unused = |usage: &Self| usage.model_calls == 0;
        let cost_usd = match (self.cost_usd, more.cost_usd) {
            (Some(one), Some(other)) => Some(one + other),
            (None, other) if unused(self) => other,
            (one, None) if unused(more) => one,
            _ => None,
        };
        Self {
            input_tokens: self.input_tokens.saturating_add(more.input_tokens),
            cached_input_tokens: self.cached_input_tokens.saturating_add(more.cached_input_tokens),
            output_tokens: self.output_tokens.saturating_add(more.output_tokens),
            model_calls: self.model_calls.saturating_add(more.model_calls),
            cost_usd,
        }
    }
}

/// A job as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    pub id: JobId,
    /// The project it belongs to.
    pub project_id: ProjectId,
    /// Where it stands.
    pub status: Status,
    /// The repository's address as clients see it.
    pub repository: String,
    /// The branch it starts from.
    pub base_ref: String,
    /// The branch it works on, once that exists.
    pub branch: Option<String>,
    /// The model or engine that runs it.
    pub model: String,
    /// Whether its pull request is opened as a draft.
    pub draft: bool,
    /// Whether it opens a pull request by itself.
    pub open_pull_request: bool,
    /// The client's own name for it.
    pub client_reference: Option<String>,
    /// US dollars that each of its prompts may cost, if less than what is allowed anyway.
    pub max_cost: Option<Dollars>,
    /// The range of commits of a code source that the documentation is to be brought up to.
    pub changes: Option<ChangeRange>,
    /// Who made it, as people call them; none if that is not known.
    pub made_by: Option<String>,
    /// The pull request, also while a follow-up runs; see [`Job::visible_pr_link`].
    pub pr_link: Option<String>,
    /// The same as its code host last told of it; none where that gives pull requests no number.
    pub pull_request: Option<PullRequest>,
    /// When the code host was last asked about it.
    pub pull_checked_at: Option<Timestamp>,
    /// How it ended; none while active.
    pub outcome: Option<Outcome>,
    /// What it says to the user.
    pub message: Option<String>,
    /// What the change is called.
    pub title: Option<String>,
    /// What it used up.
    pub usage: Usage,
    pub checks: Vec<CheckSummary>,
    /// Whether a client has asked to cancel it and the worker has not yet obeyed.
    pub cancel_requested: bool,
    /// 1 for the first prompt, one more for each follow-up to a finished job.
    pub run: u32,
    /// The number of the prompt that began this run.
    pub run_message: u32,
    /// When it was created.
    pub created_at: Timestamp,
    /// When anything of it last changed.
    pub updated_at: Timestamp,
    /// When it was archived.
    pub archived_at: Option<Timestamp>,
}

impl Job {
    /// The pull request as clients may see it: none while the job is active.
    pub fn visible_pr_link(&self) -> Option<&str> {
        if self.status == Status::Active { None } else { self.pr_link.as_deref() }
    }

    /// How the pull request stands, as clients may see it: none while the job is active.
    pub fn visible_pull_request(&self) -> Option<&PullRequest> {
        if self.status == Status::Active { None } else { self.pull_request.as_ref() }
    }
}

/// One prompt of a job: the first, or a follow-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// 1 for the first prompt of the job, then counting up.
    pub number: u32,
    /// The text.
    pub prompt: String,
    /// When it came.
    pub created_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The contract's row, written out: from, to.
    const ALLOWED: [(Status, Status); 9] = [
        (Status::Active, Status::Active),
        (Status::Active, Status::Completed),
        (Status::Active, Status::Failed),
        (Status::Completed, Status::Active),
        (Status::Failed, Status::Active),
        (Status::Active, Status::Archived),
        (Status::Completed, Status::Archived),
        (Status::Failed, Status::Archived),
        (Status::Archived, Status::Archived),
    ];

    fn command() -> impl Strategy<Value = Command> {
        prop::sample::select(vec![
            Command::Complete,
            Command::Fail,
            Command::Message,
            Command::Cancel,
            Command::Archive,
        ])
    }

    proptest! {
        #[test]
        fn every_story_keeps_to_the_allowed_transitions(story in prop::collection::vec(command(), 0..40)) {
            let mut status = Status::Active;
            for command in story {
                match status.after(command) {
                    Ok(next) => {
                        prop_assert!(ALLOWED.contains(&(status, next)));
                        status = next;
                    }
                    Err(Refusal(refused)) => prop_assert_eq!(refused, status),
                }
            }
        }

        #[test]
        fn archived_is_final(story in prop::collection::vec(command(), 0..20)) {
            let mut status = Status::Archived;
            for command in story {
                status = status.after(command).unwrap_or(status);
            }
            prop_assert_eq!(status, Status::Archived);
        }
    }

    #[test]
    fn only_an_active_job_is_cancelled() {
        for status in Status::ALL {
            assert_eq!(status.after(Command::Cancel).is_ok(), status == Status::Active);
        }
    }

    #[test]
    fn every_word_reads_back() {
        for status in Status::ALL {
            assert_eq!(Status::parse(status.as_str()), Some(status));
        }
        for outcome in Outcome::ALL {
            assert_eq!(Outcome::parse(outcome.as_str()), Some(outcome));
        }
    }
}
