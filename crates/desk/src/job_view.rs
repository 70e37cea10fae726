//! A job as the outside sees it: in the answers of the interface and in what webhooks deliver.

use copydesk_domain::{ChangeRange, CheckSummary, Dollars, Job, Outcome, PullRequest, Status, Timestamp, Usage};
use serde::Serialize;
use utoipa::ToSchema;

/// An agent job
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Job)]
pub struct JobView<'a> {
    /// Unique identifier of the job.
    id: &'a str,
    status: Status,
    source: SourceView<'a>,
    /// The id of the model or engine that runs the job.
    #[schema(example = "builtin")]
    model: &'a str,
    /// The pull request. Null while the job is active, and null if no files were changed.
    #[schema(required, format = "uri")]
    pr_link: Option<&'a str>,
    /// The state of the pull request on its code host, checked at most once a minute. Null while the job is active, and
    /// where the host knows no pull requests.
    #[schema(required)]
    pull_request: Option<&'a PullRequest>,
    /// When the job was created.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When the job was archived.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    archived_at: Option<Timestamp>,
    /// When anything of the job last changed.
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    /// How the job ended; null while it is active.
    #[schema(required)]
    outcome: Option<Outcome>,
    /// What the agent says to the user, or the error in one sentence.
    #[schema(required)]
    message: Option<&'a str>,
    /// What the change is called.
    #[schema(required)]
    title: Option<&'a str>,
    usage: &'a Usage,
    /// The docs checks of the job, each compared with the base: what was broken before does not count.
    checks: &'a [CheckSummary],
    /// The branch that the job starts from.
    base_ref: &'a str,
    /// The branch that the agent works on; null until it exists.
    #[schema(required)]
    branch: Option<&'a str>,
    /// What the client gave as `clientReference`.
    #[schema(required)]
    client_reference: Option<&'a str>,
    /// What the client gave as `maxCost`: US dollars that each prompt of the job may cost. Smaller limits of the project and
    /// the server hold beside it.
    #[schema(required, value_type = Option<f64>)]
    max_cost: Option<Dollars>,
    /// The range of commits of a code source that the documentation is to be brought up to, as the client gave it.
    #[schema(required)]
    changes: Option<&'a ChangeRange>,
}

/// Where the documentation is
#[derive(Serialize, ToSchema)]
#[schema(as = JobSource)]
pub struct SourceView<'a> {
    /// The repository's address, without credentials.
    #[schema(example = "https://github.com/acme/docs")]
    repository: &'a str,
    /// The branch that the agent works on; null until it exists.
    #[schema(required)]
    r#ref: Option<&'a str>,
}

impl<'a> JobView<'a> {
    /// The job with its pull request, also while a follow-up is under way.
    pub(crate) fn with_pull(job: &'a Job) -> Self {
        Self { pr_link: job.pr_link.as_deref(), pull_request: job.pull_request.as_ref(), ..Self::from(job) }
    }
}

impl<'a> From<&'a Job> for JobView<'a> {
    fn from(job: &'a Job) -> Self {
        Self {
            id: &job.id,
            status: job.status,
            source: SourceView { repository: &job.repository, r#ref: job.branch.as_deref() },
            model: &job.model,
            pr_link: job.visible_pr_link(),
            pull_request: job.visible_pull_request(),
            created_at: job.created_at,
            archived_at: job.archived_at,
            updated_at: job.updated_at,
            outcome: job.outcome,
            message: job.message.as_deref(),
            title: job.title.as_deref(),
            usage: &job.usage,
            checks: &job.checks,
            base_ref: &job.base_ref,
            branch: job.branch.as_deref(),
            client_reference: job.client_reference.as_deref(),
            max_cost: job.max_cost,
            changes: job.changes.as_ref(),
        }
    }
}

/// A job as the body of an answer.
pub fn render(job: &Job) -> String {
    // The view holds only strings and numbers, none of which can fail to serialize.
    serde_json::to_string(&JobView::from(job)).unwrap_or_default()
}
