//! What makes work: a new job, and a follow-up to one that is there.

use copydesk_boxed::boxed;
use copydesk_domain::{
    ChangeRange, Command, Dollars, EventKind, Job, JobId, ProjectId, Prompt, PullRequestState, Status, Timestamp,
    TraceContext, Usage, Window,
};
use serde_json::json;

use crate::admission::{self, Admission, Gate, Idempotency};
use crate::conn::{Conn, Result, plain_text, to_json, values};
use crate::database::Store;
use crate::hub::Change;
use crate::{deeds, events, jobs, lanes, outbox};

/// A job to create.
#[derive(Debug, Clone)]
pub struct NewJob {
    pub project_id: ProjectId,
    pub repository: String,
    pub base_ref: String,
    pub model: String,
    pub draft: bool,
    pub open_pull_request: bool,
    pub client_reference: Option<String>,
    pub max_cost: Option<Dollars>,
    pub changes: Option<ChangeRange>,
    pub prompt: Prompt,
}

/// Where the first event of a job says which trace it belongs to.
const TRACE: &str = "traceparent";

/// Turns a job into the answer that is given for it, and given again for the same idempotency key.
pub(crate) type Render = fn(&Job) -> String;

#[boxed]
impl Store {
    /// Creates a job and puts it into the queue, in one transaction with its idempotency key.
    pub async fn create_job(
        &self,
        new: NewJob,
        window: Window,
        idempotency: Option<Idempotency>,
        render: Render,
    ) -> Result<Admission> {
        let now = self.now();
        let trace = self.trace();
        self.write(move |c| Box::pin(create(c, new, trace, window, idempotency, render, now))).await
    }

    /// The trace that a job belongs to: the one in which it was created, else one of its own.
    pub async fn trace_of(&self, job_id: &JobId) -> Result<TraceContext> {
        let created = self.events_of(job_id, &["created"]).await?;
        let told = created.first().and_then(|event| TraceContext::parse(event.data[TRACE].as_str()?));
        Ok(told.unwrap_or_else(|| TraceContext::of_job(job_id)))
    }

    /// Sends a follow-up. A finished job becomes active again; an active one finds the message at its next step.
    #[allow(clippy::too_many_arguments, reason = "each is a different thing, and there is one caller")]
    pub async fn message_job(
        &self,
        project_id: &ProjectId,
        job_id: &JobId,
        prompt: Prompt,
        window: Window,
        idempotency: Option<Idempotency>,
        render: Render,
    ) -> Result<Admission> {
        let (project_id, job_id, now) = (project_id.clone(), job_id.clone(), self.now());
        self.write(move |c| Box::pin(message(c, project_id, job_id, prompt, window, idempotency, render, now))).await
    }
}

pub(crate) async fn create(
    c: &mut dyn Conn,
    new: NewJob,
    trace: Option<TraceContext>,
    window: Window,
    idempotency: Option<Idempotency>,
    render: Render,
    now: Timestamp,
) -> Result<Admission> {
    let standing = match admission::admit(c, &new.project_id, window, idempotency.as_ref(), now).await? {
        Gate::Open(standing) => standing,
        Gate::Shut(answer) => return Ok(answer),
    };
    let job = Job {
        id: JobId::new(now),
        project_id: new.project_id,
        status: Status::Active,
        repository: new.repository,
        base_ref: new.base_ref,
        branch: None,
        model: new.model,
        draft: new.draft,
        open_pull_request: new.open_pull_request,
        client_reference: new.client_reference,
        max_cost: new.max_cost,
        changes: new.changes,
        made_by: c.actor().shown(),
        pr_link: None,
        pull_request: None,
        pull_checked_at: None,
        outcome: None,
        message: None,
        title: None,
        usage: Usage::default(),
        checks: Vec::new(),
        cancel_requested: false,
        run: 1,
        run_message: 1,
        created_at: now,
        updated_at: now,
        archived_at: None,
    };
    let mut created = json!({ "model": job.model });
    if let Some(trace) = trace {
        created[TRACE] = trace.to_string().into();
    }
    insert(c, &job).await?;
    lanes::enter(c, &job.id).await?;
    add_message(c, &job, 1, &new.prompt, now).await?;
    events::append(c, &job.id, "created", created, now).await?;
    deeds::record(c, "job.create", Some(&job.project_id), &job.id, "").await?;
    outbox::put(c, EventKind::JobCreated, &job, now).await?;
    c.announce(Change::Ready(Some(job.project_id.clone())));
    admission::done(c, &job, render(&job), standing, idempotency, now).await
}

async fn insert(c: &mut dyn Conn, job: &Job) -> Result<()> {
    c.run(
        "INSERT INTO jobs (id, project_id, status, repository, base_ref, model, draft, open_pull_request, \
         client_reference, usage, checks, turn, created_at, updated_at, queued_at, not_before, tries, attempt, made_by, \
         max_cost, changes) \
         VALUES ($1, $2, 'active', $3, $4, $5, $6, $7, $8, '{}', '[]', 1, $9, $9, $9, $9, 0, 0, $10, $11, $12)",
        values![
            &job.id,
            &job.project_id,
            &job.repository,
            &job.base_ref,
            &job.model,
            job.draft,
            job.open_pull_request,
            job.client_reference.clone(),
            job.created_at,
            job.made_by.as_deref().map(plain_text),
            job.max_cost,
            job.changes.as_ref().map(to_json),
        ],
    )
    .await
    .map(drop)
}

async fn add_message(c: &mut dyn Conn, job: &Job, number: u32, prompt: &Prompt, now: Timestamp) -> Result<()> {
    c.run(
        "INSERT INTO messages (job_id, number, project_id, prompt, created_at) VALUES ($1, $2, $3, $4, $5)",
        values![&job.id, number, &job.project_id, prompt.as_str().as_bytes().to_vec(), now],
    )
    .await
    .map(drop)
}

#[allow(clippy::too_many_arguments, reason = "see message_job")]
pub(crate) async fn message(
    c: &mut dyn Conn,
    project_id: ProjectId,
    job_id: JobId,
    prompt: Prompt,
    window: Window,
    idempotency: Option<Idempotency>,
    render: Render,
    now: Timestamp,
) -> Result<Admission> {
    let gate = admission::admit(c, &project_id, window, idempotency.as_ref(), now).await?;
    // Whether the job takes a message at all is said before the limit: waiting would not help.
    if let Gate::Shut(answer) = &gate
        && !matches!(answer, Admission::Limited(_))
    {
        return Ok(answer.clone());
    }
    let Some(old) = jobs::get_held_of(c, &project_id, &job_id).await? else { return Ok(Admission::NotFound) };
    if let Err(refusal) = old.status.after(Command::Message) {
        return Ok(Admission::Refused(refusal));
    }
    // A job that went well does not fail over it. What is only known to the host yet, the run finds out.
    let is_merged = old.pull_request.as_ref().is_some_and(|pull| pull.state == PullRequestState::Merged);
    if old.status != Status::Active && is_merged {
        return Ok(Admission::Merged);
    }
    let standing = match gate {
        Gate::Open(standing) => standing,
        Gate::Shut(limited) => return Ok(limited),
    };
    let next = "SELECT COALESCE(MAX(number), 0) + 1 FROM messages WHERE job_id = $1";
    let number = c.only_row(next, values![&old.id]).await?;
    add_message(c, &old, number, &prompt, now).await?;
    if old.status != Status::Active {
        reopen(c, &old, number, now).await?;
    }
    c.run("UPDATE jobs SET updated_at = $1 WHERE id = $2", values![now, &old.id]).await?;
    events::append(c, &old.id, "message", json!({ "message": number }), now).await?;
    deeds::record(c, "job.message", Some(&project_id), &old.id, "").await?;
    let Some(job) = jobs::get_held(c, &old.id).await? else { return Ok(Admission::NotFound) };
    admission::done(c, &job, render(&job), standing, idempotency, now).await
}

/// A finished job starts a new run: same branch, same pull request, a fresh place in the queue.
async fn reopen(c: &mut dyn Conn, job: &Job, message: u32, now: Timestamp) -> Result<()> {
    c.run(
        "UPDATE jobs SET status = 'active', outcome = NULL, message = NULL, turn = turn + 1, queued_at = $1, \
         not_before = $1, tries = 0, deadline_at = NULL, cancel_requested_at = NULL, publisher = NULL, \
         publisher_until = NULL, turn_message = $2 WHERE id = $3",
        values![now, message, &job.id],
    )
    .await?;
    lanes::enter(c, &job.id).await?;
    c.announce(Change::Ready(Some(job.project_id.clone())));
    Ok(())
}
