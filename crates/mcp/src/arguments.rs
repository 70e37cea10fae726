//! What each tool takes. The structs are the schemas, and their comments are what the model reads.

use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

/// Have Copydesk's agent change this project's documentation. Use it when somebody wants pages written, corrected,
/// reorganised or brought up to a release, and the change should arrive as a pull request. The job runs in the background
/// for minutes: it is answered at once with `status` `active`; follow it with wait_for_job. To change what an earlier job
/// has done, use send_message on that job and not this.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CreateJob {
    /// What the agent is to do, in full sentences: it sees nothing of your conversation. 1 to 65,536 bytes.
    #[schemars(length(min = 1, max = 65536))]
    pub(crate) prompt: String,
    /// The branch to start from; by default the project's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    base_ref: Option<String>,
    /// The model or engine to use; by default the server's. Leave it out unless somebody named one.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Open the pull request as a draft; false by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    draft: Option<bool>,
    /// Whether to open a pull request at all; true by default. With false the change is left to look at with get_diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    open_pull_request: Option<bool>,
    /// Anything of yours, echoed in the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    client_reference: Option<String>,
    /// US dollars that each prompt of the job may cost; it can only lower what the project and the server allow.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1_000_000.0))]
    max_cost: Option<f64>,
    /// Bring the documentation up to a range of commits of one of the project's code sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Changes>,
    /// Makes calling again safe: for 24 hours the same key and arguments give the job of the first call. Choose a new one
    /// for each job, and repeat it if you do not know whether a call arrived. Printable ASCII.
    #[serde(skip_serializing)]
    #[schemars(length(min = 1, max = 255))]
    pub(crate) idempotency_key: Option<String>,
}

/// A range of commits of a code source.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Changes {
    /// The name of the code source.
    source: String,
    /// A tag, branch or commit: what the documentation is up to.
    from: String,
    /// A tag, branch or commit; by default where the source is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
}

/// Look at a job once: its status, outcome, message, pull request, checks and cost. Use it to see how a job stands; to
/// wait for its end use wait_for_job.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GetJob {
    /// The job's id.
    pub(crate) id: String,
}

/// Wait until a job is no longer active, at most for `timeoutSeconds`, with progress notifications. Use it after
/// create_job or send_message. If the time is up the job goes on, `stillActive` is true, and you can call this again.
/// Cancelling this call does not cancel the job.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct WaitForJob {
    /// The job's id.
    pub(crate) id: String,
    /// Seconds to wait at the most; 45 by default, because many clients give a call up after 60.
    #[schemars(range(min = 1, max = 300))]
    pub(crate) timeout_seconds: Option<u32>,
}

/// List this project's jobs, newest first, each with the most important fields. Use it to find a job whose id you do not
/// have, or to see what is going on; get_job has the rest of one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListJobs {
    /// Only jobs that stand so.
    pub(crate) status: Option<Status>,
    /// How many at the most; 20 by default.
    #[schemars(range(min = 1, max = 100))]
    pub(crate) limit: Option<u32>,
    /// The `nextCursor` of the answer before, to read on.
    pub(crate) cursor: Option<String>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Status {
    Active,
    Completed,
    Archived,
    Failed,
}

/// Send a follow-up to a job. Use it to correct or extend what a job has done, or to tell one that still runs something: a
/// finished job becomes active again and adds commits to the same pull request. An archived job takes none.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SendMessage {
    /// The job's id.
    pub(crate) id: String,
    /// What the agent is to do next. 1 to 65,536 bytes.
    #[schemars(length(min = 1, max = 65536))]
    pub(crate) prompt: String,
    /// Makes calling again safe: for 24 hours the same key and arguments send it once. Choose a new one for each message.
    /// Printable ASCII.
    #[schemars(length(min = 1, max = 255))]
    pub(crate) idempotency_key: Option<String>,
}

/// Cancel an active job: it ends as failed with the outcome `cancelled`, and what it has not published is lost. Use it only
/// when somebody wants the job stopped.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CancelJob {
    /// The job's id.
    pub(crate) id: String,
}

/// Read what a job changed, as a unified diff against the commit that it started from. Use it to review a change before or
/// after it is a pull request. It is empty if nothing has changed yet. A long one comes in pieces: read on with `offset`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GetDiff {
    /// The job's id.
    pub(crate) id: String,
    /// Where to read on: the `nextOffset` of the answer before; 0 by default.
    pub(crate) offset: Option<u64>,
}

/// How often this project's pages were read, by people and by AI agents that read for a person: totals of the whole range,
/// and each page, most read first. Use it to find out which pages matter, or whether anybody reads one. Search engines,
/// training crawlers and other bots are in none of these figures; get_ai_agents lists them.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct GetPageViews {
    /// From this day or instant on, inclusive: 2026-11-01, or ISO 8601. Without it there is no lower limit.
    pub(crate) date_from: Option<String>,
    /// Up to this day or instant, exclusive. Without it there is no upper limit.
    pub(crate) date_to: Option<String>,
    /// Pages in the answer; 50 by default.
    #[schemars(range(min = 1, max = 250))]
    pub(crate) limit: Option<u32>,
    /// Pages to skip; 0 by default.
    pub(crate) offset: Option<u64>,
}

/// Which AI agents, crawlers and other machines read this project's site or one page, how often, and why each was taken for
/// what it is (`evidence` and `rule`). Use it for questions about AI traffic. `countsAs` says whether a machine is part
/// of the AI figures of get_page_views.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct GetAiAgents {
    /// Only views of this page, such as /guides/start.
    pub(crate) path: Option<String>,
    /// From this day or instant on, inclusive: 2026-11-01, or ISO 8601.
    pub(crate) date_from: Option<String>,
    /// Up to this day or instant, exclusive.
    pub(crate) date_to: Option<String>,
    /// Machines in the answer; 50 by default.
    #[schemars(range(min = 1, max = 250))]
    pub(crate) limit: Option<u32>,
    /// Machines to skip; 0 by default.
    pub(crate) offset: Option<u64>,
    /// Pages to list of each machine; 10 by default.
    #[schemars(range(min = 0, max = 100))]
    pub(crate) pages: Option<u32>,
}

/// Check the documentation in a folder on this machine: broken links, anchors, images, navigation, front matter and the
/// like, by the rules of the site's own generator. Use it before or after editing documentation files. Nothing is changed,
/// and no server is asked. `judged` says what was looked at and what could not be told, with the reason.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckDocs {
    /// The folder, seen from the one that this server was started for; by default that one. It must be inside of it.
    pub path: Option<String>,
    /// Folders in it that hold documentation; all of it by default.
    pub docs_paths: Option<Vec<String>>,
    /// Only what is new since HEAD left this branch or commit.
    pub base: Option<String>,
}
