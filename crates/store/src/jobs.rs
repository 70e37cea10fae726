//! Jobs as they are kept: read one by one, listed, and held.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use copydesk_boxed::boxed;
use copydesk_domain::{Job, JobId, Message, ProjectId, PullRequest, PullRequestState, Status, Timestamp};

use crate::conn::{Conn, Dialect, FromRow, Result, Row, Value, places, plain_text, values};
use crate::database::Store;
use crate::error::StoreError;

/// What the code calls a job's run is `turn` in the tables.
pub(crate) const COLUMNS: &str = "id, project_id, status, repository, base_ref, branch, model, draft, open_pull_request, \
     client_reference, max_cost, pr_link, outcome, message, title, usage, checks, cancel_requested_at, turn, turn_message, \
     created_at, updated_at, archived_at, pr_number, pr_state, pr_draft, pr_merged_at, pr_checked_at, made_by, \
     changes";

/// How many bytes of a prompt a list shows at the most.
const BRIEF: u32 = 400;

/// Which jobs to list.
#[derive(Debug, Clone, Default)]
pub struct JobFilter {
    /// Only those that stand so.
    pub status: Option<Status>,
    /// Only those of this model.
    pub model: Option<String>,
    /// Only those with this in their title or in one of their prompts, whatever its case.
    pub text: Option<String>,
    /// Only those with a pull request.
    pub pulls: Option<PullFilter>,
    /// Only those older than the job of this id.
    pub before: Option<JobId>,
    /// How many at the most.
    pub limit: u32,
}

/// Which pull requests to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullFilter {
    Any,
    /// Those that stand so.
    In(PullRequestState),
}

/// What a list says of a job beside the job itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brief {
    pub job_id: JobId,
    /// The beginning of its first prompt.
    pub prompt: String,
    /// Whether a worker has it now.
    pub is_held: bool,
}

#[boxed]
impl Store {
    /// The addresses of the repositories that jobs are at work on or wait for.
    pub async fn repositories_of_active_jobs(&self) -> Result<Vec<String>> {
        let sql = "SELECT DISTINCT repository FROM jobs WHERE status = 'active'";
        self.read(move |c| Box::pin(c.rows(sql, vec![]))).await
    }

    /// The job of that id if it belongs to that project.
    pub async fn job(&self, project_id: &ProjectId, id: &JobId) -> Result<Option<Job>> {
        let (project_id, id) = (project_id.clone(), id.clone());
        self.read(move |c| Box::pin(get(c, project_id, id))).await
    }

    /// A project's jobs, newest first.
    pub async fn jobs(&self, project_id: &ProjectId, filter: JobFilter) -> Result<Vec<Job>> {
        let project_id = project_id.clone();
        self.read(move |c| Box::pin(list(c, project_id, filter))).await
    }

    /// What lists say of these jobs, in one look and in no order.
    pub async fn briefs(&self, job_ids: &[JobId]) -> Result<Vec<Brief>> {
        if job_ids.is_empty() {
            return Ok(Vec::new());
        }
        let values: Vec<Value> = job_ids.iter().map(Value::from).collect();
        let sql = format!(
            "SELECT j.id, CASE WHEN j.worker IS NULL THEN 0 ELSE 1 END, substr(m.prompt, 1, {BRIEF}) FROM jobs j \
             JOIN messages m ON m.job_id = j.id AND m.number = 1 WHERE j.id IN ({})",
            places(1, values.len())
        );
        self.read(move |c| Box::pin(c.rows(sql, values))).await
    }

    /// Since when a job waits that no worker has taken in this run; none if one has.
    pub async fn untaken_since(&self, id: &JobId) -> Result<Option<Timestamp>> {
        let sql =
            "SELECT queued_at FROM jobs WHERE id = $1 AND status = 'active' AND worker IS NULL AND deadline_at IS NULL";
        let values = values![id];
        self.read(move |c| Box::pin(c.row(sql, values))).await
    }

    /// A job's prompts, oldest first.
    pub async fn messages(&self, job_id: &JobId) -> Result<Vec<Message>> {
        let job_id = job_id.clone();
        self.read(move |c| Box::pin(messages(c, job_id))).await
    }
}

pub(crate) async fn get(c: &mut dyn Conn, project_id: ProjectId, id: JobId) -> Result<Option<Job>> {
    static SQL: LazyLock<String> =
        LazyLock::new(|| format!("SELECT {COLUMNS} FROM jobs WHERE id = $1 AND project_id = $2"));
    c.row(SQL.as_str(), values![id, project_id]).await
}

/// Reads a job and holds its row until the transaction ends.
pub(crate) async fn get_held(c: &mut dyn Conn, id: &JobId) -> Result<Option<Job>> {
    static SQL: LazyLock<String> = LazyLock::new(|| format!("SELECT {COLUMNS} FROM jobs WHERE id = $1"));
    c.row_held(&SQL, values![id]).await
}

/// The same if the job belongs to that project.
pub(crate) async fn get_held_of(c: &mut dyn Conn, project_id: &ProjectId, id: &JobId) -> Result<Option<Job>> {
    Ok(get_held(c, id).await?.filter(|job| job.project_id == *project_id))
}

async fn list(c: &mut dyn Conn, project_id: ProjectId, filter: JobFilter) -> Result<Vec<Job>> {
    let mut sql = format!("SELECT {COLUMNS} FROM jobs WHERE project_id = $1");
    let mut values = values![project_id];
    let equal = [
        ("status =", filter.status.map(|status| Value::from(status.as_str()))),
        ("model =", filter.model.map(Value::from)),
        ("pr_state =", filter.pulls.and_then(PullFilter::state).map(|state| Value::from(state.as_str()))),
        ("id <", filter.before.map(Value::from)),
    ];
    for (clause, value) in equal {
        let Some(value) = value else { continue };
        values.push(value);
        sql.push_str(&format!(" AND {clause} ${}", values.len()));
    }
    if filter.pulls == Some(PullFilter::Any) {
        sql.push_str(" AND pr_link IS NOT NULL");
    }
    if let Some(text) = filter.text {
        values.push(plain_text(&text).into());
        sql.push_str(&holds_text(c.dialect(), values.len()));
    }
    values.push(filter.limit.into());
    sql.push_str(&format!(" ORDER BY id DESC LIMIT ${}", values.len()));
    c.rows(sql, values).await
}

/// That a title or a prompt holds the text of that parameter. Prompts are bytes, since they may hold a NUL, which no text of
/// PostgreSQL can: there it is left out. The first parameter is the project.
fn holds_text(dialect: Dialect, place: usize) -> String {
    let (find, prompt) = match dialect {
        Dialect::Sqlite => ("instr", "CAST(m.prompt AS TEXT)"),
        Dialect::Postgres => (
            "strpos",
            "CASE WHEN position('\\x00'::bytea IN m.prompt) = 0 THEN convert_from(m.prompt, 'UTF8') \
             ELSE convert_from(decode(regexp_replace(encode(m.prompt, 'escape'), '(\\\\\\\\)|\\\\000', '\\1', 'g'), 'escape'), \
             'UTF8') END",
        ),
    };
    // The messages first: to look them up for each job takes twice as long.
    format!(
        " AND ((title IS NOT NULL AND {find}(lower(title), lower(${place})) > 0) OR id IN (SELECT job_id FROM messages m \
         WHERE m.project_id = $1 AND {find}(lower({prompt}), lower(${place})) > 0))"
    )
}

pub(crate) async fn messages(c: &mut dyn Conn, job_id: JobId) -> Result<Vec<Message>> {
    let sql = "SELECT number, prompt, created_at FROM messages WHERE job_id = $1 ORDER BY number";
    c.rows(sql, values![job_id]).await
}

/// The prompts of these jobs, oldest first.
pub(crate) async fn messages_of_all(c: &mut dyn Conn, ids: &[JobId]) -> Result<BTreeMap<JobId, Vec<Message>>> {
    let sql = format!(
        "SELECT job_id, number, prompt, created_at FROM messages WHERE job_id IN ({}) ORDER BY job_id, number",
        places(1, ids.len())
    );
    let rows: Vec<(JobId, Message)> = c.rows(sql, ids.iter().map(Value::from).collect()).await?;
    let mut messages = BTreeMap::<JobId, Vec<Message>>::new();
    for (id, message) in rows {
        messages.entry(id).or_default().push(message);
    }
    Ok(messages)
}

impl PullFilter {
    fn state(self) -> Option<PullRequestState> {
        match self {
            Self::Any => None,
            Self::In(state) => Some(state),
        }
    }
}

impl FromRow for Brief {
    fn from_row(row: &mut Row) -> Result<Self> {
        let (job_id, is_held, prompt): (_, _, Vec<u8>) = (row.next()?, row.next()?, row.next()?);
        // The cut may be in the middle of a character.
        let prompt = String::from_utf8_lossy(&prompt).trim_end_matches('\u{fffd}').to_owned();
        Ok(Self { job_id, prompt, is_held })
    }
}

impl FromRow for Message {
    fn from_row(row: &mut Row) -> Result<Self> {
        let number = row.next()?;
        let prompt =
            String::from_utf8(row.next()?).map_err(|error| StoreError::Unreadable(format!("a prompt: {error}")))?;
        Ok(Self { number, prompt, created_at: row.next()? })
    }
}

impl FromRow for Job {
    fn from_row(row: &mut Row) -> Result<Self> {
        let mut job = Self {
            id: row.next()?,
            project_id: row.next()?,
            status: row.next()?,
            repository: row.next()?,
            base_ref: row.next()?,
            branch: row.next()?,
            model: row.next()?,
            draft: row.next()?,
            open_pull_request: row.next()?,
            client_reference: row.next()?,
            max_cost: row.next()?,
            pr_link: row.next()?,
            outcome: row.next()?,
            message: row.next()?,
            title: row.next()?,
            usage: row.next_json()?,
            checks: row.next_json()?,
            cancel_requested: row.next::<Option<Timestamp>>()?.is_some(),
            run: row.next()?,
            run_message: row.next()?,
            created_at: row.next()?,
            updated_at: row.next()?,
            archived_at: row.next()?,
            pull_request: None,
            pull_checked_at: None,
            made_by: None,
            changes: None,
        };
        job.pull_request = pull_request(row, job.pr_link.as_deref())?;
        job.pull_checked_at = row.next()?;
        job.made_by = row.next()?;
        job.changes = row.next_json_or_null()?;
        Ok(job)
    }
}

/// A link without a number is all that is known of some pull requests.
fn pull_request(row: &mut Row, link: Option<&str>) -> Result<Option<PullRequest>> {
    let (number, state): (Option<u64>, Option<PullRequestState>) = (row.next()?, row.next()?);
    let (draft, merged_at) = (row.next::<Option<bool>>()?.unwrap_or_default(), row.next()?);
    let (Some(number), Some(url)) = (number, link) else { return Ok(None) };
    let state = state.ok_or_else(|| StoreError::Unreadable("the state of a pull request".to_owned()))?;
    Ok(Some(PullRequest { number, url: url.to_owned(), state, draft, merged_at }))
}

/// The code host is there again: nobody is waited for, and the job says nothing of it any more.
pub(crate) async fn end_wait(c: &mut dyn Conn, job_id: &JobId) -> Result<()> {
    let sql = "UPDATE jobs SET away_since = NULL, message = NULL WHERE id = $1 AND away_since IS NOT NULL";
    c.run(sql, values![job_id]).await.map(drop)
}
