use copydesk_domain::{Command, EventKind, Job, Prompt, Status, Timestamp, Usage, Window, new_id};
use serde_json::json;

use crate::admission::{self, Admission, Idempotency};
use crate::conn::{Conn, Result, values};
use crate::{Change, Store, events, outbox};

/// A job to create.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "the fields are those of a job")]
pub struct NewJob {
    pub project_id: String,
    pub repository: String,
    pub base_ref: String,
    pub model: String,
    pub draft: bool,
    pub open_pull_request: bool,
    pub client_reference: Option<String>,
    pub prompt: Prompt,
}

/// Turns a job into the answer that is given for it, and given again for the same idempotency key.
type Render = fn(&Job) -> String;

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
        self.write(move |c| Box::pin(create(c, new, window, idempotency, render, now))).await
    }

    /// Sends a follow-up. A finished job becomes active again; an active one finds the message at its next step.
    #[allow(clippy::too_many_arguments, reason = "each is a different thing, and there is one caller")]
    pub async fn message_job(
        &self,
        project_id: &str,
        job_id: &str,
        prompt: Prompt,
        window: Window,
        idempotency: Option<Idempotency>,
        render: Render,
    ) -> Result<Admission> {
        let (project_id, job_id, now) = (project_id.to_owned(), job_id.to_owned(), self.now());
        self.write(move |c| Box::pin(message(c, project_id, job_id, prompt, window, idempotency, render, now))).await
    }
}

async fn create(
    c: &mut dyn Conn,
    new: NewJob,
    window: Window,
    idempotency: Option<Idempotency>,
    render: Render,
    now: Timestamp,
) -> Result<Admission> {
    let admitted = match admission::admit(c, &new.project_id, window, idempotency.as_ref(), now).await? {
        Ok(admitted) => admitted,
        Err(answer) => return Ok(answer),
    };
    let job = Job {
        id: new_id(now),
        project_id: new.project_id,
        status: Status::Active,
        repository: new.repository,
        base_ref: new.base_ref,
        branch: None,
        model: new.model,
        draft: new.draft,
        open_pull_request: new.open_pull_request,
        client_reference: new.client_reference,
        pr_link: None,
        pull_request: None,
        pull_checked_at: None,
        outcome: None,
        message: None,
        title: None,
        usage: Usage::default(),
        checks: Vec::new(),
        cancel_requested: false,
        turn: 1,
        turn_message: 1,
        created_at: now,
        updated_at: now,
        archived_at: None,
    };
    insert(c, &job).await?;
    add_message(c, &job, 1, &new.prompt, now).await?;
    events::append(c, &job.id, "created", json!({ "model": job.model }), now).await?;
    outbox::put(c, EventKind::JobCreated, &job, now).await?;
    c.announce(Change::Ready).await?;
    let answer = render(&job);
    if let Some(idempotency) = idempotency {
        admission::remember(c, &job.project_id, idempotency, &job.id, &answer, now).await?;
    }
    Ok(Admission::Done { job_id: job.id, answer, standing: admitted.standing, replayed: false })
}

async fn insert(c: &mut dyn Conn, job: &Job) -> Result<()> {
    c.run(
        "INSERT INTO jobs (id, project_id, status, repository, base_ref, model, draft, open_pull_request, \
         client_reference, usage, checks, turn, created_at, updated_at, queued_at, not_before, tries, attempt) \
         VALUES ($1, $2, 'active', $3, $4, $5, $6, $7, $8, '{}', '[]', 1, $9, $9, $9, $9, 0, 0)",
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
async fn message(
    c: &mut dyn Conn,
    project_id: String,
    job_id: String,
    prompt: Prompt,
    window: Window,
    idempotency: Option<Idempotency>,
    render: Render,
    now: Timestamp,
) -> Result<Admission> {
    let admitted = match admission::admit(c, &project_id, window, idempotency.as_ref(), now).await? {
        Ok(admitted) => Ok(admitted),
        // Whether the job takes a message at all is said first: waiting would not help.
        Err(Admission::Limited(standing)) => Err(Admission::Limited(standing)),
        Err(answer) => return Ok(answer),
    };
    let Some(old) = super::get_locked(c, &job_id).await?.filter(|job| job.project_id == project_id) else {
        return Ok(Admission::NotFound);
    };
    if let Err(refusal) = old.status.after(Command::Message) {
        return Ok(Admission::Refused(refusal));
    }
    let admitted = match admitted {
        Ok(admitted) => admitted,
        Err(limited) => return Ok(limited),
    };
    let number = next_number(c, &old.id).await?;
    add_message(c, &old, number, &prompt, now).await?;
    if old.status != Status::Active {
        reopen(c, &old, number, now).await?;
    }
    c.run("UPDATE jobs SET updated_at = $1 WHERE id = $2", values![now, &old.id]).await?;
    events::append(c, &old.id, "message", json!({ "message": number }), now).await?;
    let Some(job) = super::get_locked(c, &old.id).await? else { return Ok(Admission::NotFound) };
    let answer = render(&job);
    if let Some(idempotency) = idempotency {
        admission::remember(c, &job.project_id, idempotency, &job.id, &answer, now).await?;
    }
    Ok(Admission::Done { job_id: job.id, answer, standing: admitted.standing, replayed: false })
}

async fn next_number(c: &mut dyn Conn, job_id: &str) -> Result<u32> {
    let row = c.row("SELECT COALESCE(MAX(number), 0) + 1 FROM messages WHERE job_id = $1", values![job_id]).await?;
    row.map_or(Ok(1), |row| row.u32(0))
}

/// A finished job starts a new turn: same branch, same pull request, a fresh place in the queue.
async fn reopen(c: &mut dyn Conn, job: &Job, message: u32, now: Timestamp) -> Result<()> {
    c.run(
        "UPDATE jobs SET status = 'active', outcome = NULL, message = NULL, turn = turn + 1, queued_at = $1, \
         not_before = $1, tries = 0, deadline_at = NULL, cancel_requested_at = NULL, publisher = NULL, \
         publisher_until = NULL, turn_message = $2 WHERE id = $3",
        values![now, message, &job.id],
    )
    .await?;
    c.announce(Change::Ready).await
}
