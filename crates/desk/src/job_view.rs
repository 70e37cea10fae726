//! A job as the outside sees it: in the answers of the interface and in what webhooks deliver.

use copydesk_domain::{Job, Outcome, PullRequestState, Status, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

/// An agent job
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Job)]
pub struct JobView<'a> {
    /// Unique identifier of the job.
    id: &'a str,
    #[schema(value_type = JobStatus)]
    status: Status,
    source: SourceView<'a>,
    /// The id of the model or engine that runs the job.
    #[schema(example = "builtin")]
    model: &'a str,
    /// The pull request. Null while the job is active, and null if no files were changed.
    #[schema(required, format = "uri")]
    pr_link: Option<&'a str>,
    /// How the pull request stands on its code host, asked for at most once a minute. Null while the job is active, and
    /// where the host knows no pull requests.
    #[schema(required)]
    pull_request: Option<PullRequestView<'a>>,
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
    #[schema(required, value_type = Option<JobOutcome>)]
    outcome: Option<Outcome>,
    /// What the agent says to the user, or the error in one sentence.
    #[schema(required)]
    message: Option<&'a str>,
    /// What the change is called.
    #[schema(required)]
    title: Option<&'a str>,
    usage: UsageView,
    /// The docs checks of the job, each compared with the base: what was broken before does not count.
    #[schema(value_type = Vec<JobCheck>)]
    checks: &'a [serde_json::Value],
    /// The branch that the job starts from.
    base_ref: &'a str,
    /// The branch that the agent works on; null until it exists.
    #[schema(required)]
    branch: Option<&'a str>,
    /// What the client gave as `clientReference`.
    #[schema(required)]
    client_reference: Option<&'a str>,
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

/// A pull request
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = JobPullRequest)]
pub struct PullRequestView<'a> {
    /// The number that the code host gave it.
    number: u64,
    #[schema(value_type = PullRequestStatus)]
    state: PullRequestState,
    /// Whether it is a draft.
    draft: bool,
    /// When it was merged.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    merged_at: Option<Timestamp>,
    /// Where people look at it.
    #[schema(format = "uri")]
    url: &'a str,
}

/// Where a pull request stands
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[allow(dead_code, reason = "describes copydesk_domain::PullRequestState, which knows nothing of OpenAPI")]
pub enum PullRequestStatus {
    Open,
    Merged,
    Closed,
}

/// What the job used up
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = JobUsage)]
pub struct UsageView {
    /// Tokens given to the model.
    input_tokens: u64,
    /// Tokens the model wrote.
    output_tokens: u64,
    /// Calls of the model.
    model_calls: u64,
    /// Cost in US dollars, where the model's prices are known.
    #[schema(required)]
    cost_usd: Option<f64>,
}

/// What a docs check says of the job's change
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(dead_code, reason = "describes what `docs_job::review` writes")]
pub struct JobCheck {
    /// Its name.
    #[schema(example = "links")]
    check: String,
    /// Whether there was anything for it to look at.
    ran: bool,
    /// How many findings are there now that were not before.
    new_findings: u64,
    /// How many findings of before are gone.
    repaired: u64,
    /// The first of the new findings.
    #[schema(required = false)]
    findings: Vec<JobFinding>,
}

/// A place where something is wrong
#[derive(ToSchema)]
#[allow(dead_code, reason = "describes what `docs_job::review` writes")]
pub struct JobFinding {
    /// The file.
    path: String,
    /// The line, from 1.
    line: u32,
    /// The column in characters, from 1.
    column: u32,
    /// What is wrong.
    message: String,
}

/// Where a job stands. Poll until it is `completed`, `archived` or `failed`
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[allow(dead_code, reason = "describes copydesk_domain::Status, which knows nothing of OpenAPI")]
pub enum JobStatus {
    Active,
    Completed,
    Archived,
    Failed,
}

/// How a job ended
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[allow(dead_code, reason = "describes copydesk_domain::Outcome, which knows nothing of OpenAPI")]
pub enum JobOutcome {
    PrCreated,
    NoChanges,
    ChangesReady,
    Cancelled,
    TimedOut,
    ChecksFailed,
    Error,
}

impl<'a> From<&'a Job> for JobView<'a> {
    fn from(job: &'a Job) -> Self {
        Self {
            id: &job.id,
            status: job.status,
            source: SourceView { repository: &job.repository, r#ref: job.branch.as_deref() },
            model: &job.model,
            pr_link: job.visible_pr_link(),
            pull_request: job.visible_pull_request().map(|pull| PullRequestView {
                number: pull.number,
                state: pull.state,
                draft: pull.draft,
                merged_at: pull.merged_at,
                url: &pull.url,
            }),
            created_at: job.created_at,
            archived_at: job.archived_at,
            updated_at: job.updated_at,
            outcome: job.outcome,
            message: job.message.as_deref(),
            title: job.title.as_deref(),
            usage: UsageView {
                input_tokens: job.usage.input_tokens,
                output_tokens: job.usage.output_tokens,
                model_calls: job.usage.model_calls,
                cost_usd: job.usage.cost_usd,
            },
            checks: &job.checks,
            base_ref: &job.base_ref,
            branch: job.branch.as_deref(),
            client_reference: job.client_reference.as_deref(),
        }
    }
}

/// A job as the body of an answer.
pub fn render(job: &Job) -> String {
    // The view holds only strings, numbers and JSON values, none of which can fail to serialize.
    serde_json::to_string(&JobView::from(job)).unwrap_or_default()
}
