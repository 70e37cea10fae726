//! What stands before every job creation and every message: idempotency and the rate limit of the project.

use std::time::Duration;

use copydesk_domain::{Job, JobId, ProjectId, Refusal, Standing, Timestamp, Window};

use crate::conn::{Conn, Result, values};

/// How long an idempotency key is remembered.
const KEPT: Duration = Duration::from_secs(24 * 3600);

/// The client's promise that a request with this key is one and the same.
#[derive(Debug, Clone)]
pub struct Idempotency {
    pub key: String,
    /// A digest of everything that makes the request what it is.
    pub fingerprint: String,
}

/// What became of a creation or a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Admission {
    /// It was done now, or a request with the same key had done it before: the answer to give.
    Done {
        /// The job it is about.
        job_id: JobId,
        /// The answer, as it was rendered the first time.
        answer: String,
        /// Where the project stands, if it has a limit.
        standing: Option<Standing>,
        /// Whether it had been done before.
        replayed: bool,
    },
    /// The idempotency key belongs to a request with another body.
    KeyReused,
    /// The project has used up its hour.
    Limited(Standing),
    /// There is no such project, or no such job in it.
    NotFound,
    /// The job's status does not allow it.
    Refused(Refusal),
    /// The job's pull request is merged: nothing can be added to it.
    Merged,
}

/// Whether a request may go on.
pub(crate) enum Gate {
    /// It may; where the project will stand after it, if it has a limit.
    Open(Option<Standing>),
    /// It may not: the answer to give.
    Shut(Admission),
}

/// Checks in this order: the project, an earlier request with the same key, the limit. It holds the project's row,
/// so that two requests at the same instant come one after the other.
pub(crate) async fn admit(
    c: &mut dyn Conn,
    project_id: &ProjectId,
    window: Window,
    idempotency: Option<&Idempotency>,
    now: Timestamp,
) -> Result<Gate> {
    if !c.hold("projects", project_id).await? {
        return Ok(Gate::Shut(Admission::NotFound));
    }
    let (counted, oldest) = count(c, project_id, window, now).await?;
    let standing = |counted, oldest| (!window.is_off()).then(|| window.standing(counted, oldest, now));
    if let Some(idempotency) = idempotency
        && let Some(earlier) = find(c, project_id, idempotency, standing(counted, oldest), now).await?
    {
        return Ok(Gate::Shut(earlier));
    }
    if !window.is_off() && counted >= window.limit {
        return Ok(Gate::Shut(Admission::Limited(window.standing(counted, oldest, now))));
    }
    Ok(Gate::Open(standing(counted + 1, oldest.or(Some(now)))))
}

/// How many creations and messages count now, and when the oldest of them was. Every one of them is a row of
/// `messages`, so the limit needs no state of its own and is exact in every process.
async fn count(c: &mut dyn Conn, id: &ProjectId, window: Window, now: Timestamp) -> Result<(u32, Option<Timestamp>)> {
    if window.is_off() {
        return Ok((0, None));
    }
    c.only_row(
        "SELECT count(*), MIN(created_at) FROM (SELECT created_at FROM messages WHERE project_id = $1 \
         AND created_at > $2 ORDER BY created_at DESC LIMIT $3) AS recent",
        values![id, window.opens_at(now), window.limit],
    )
    .await
}

async fn find(
    c: &mut dyn Conn,
    project_id: &ProjectId,
    it: &Idempotency,
    standing: Option<Standing>,
    now: Timestamp,
) -> Result<Option<Admission>> {
    let sql =
        "SELECT fingerprint, job_id, answer FROM idempotency WHERE project_id = $1 AND key = $2 AND expires_at > $3";
    let earlier: Option<(String, JobId, String)> = c.row(sql, values![project_id, &it.key, now]).await?;
    Ok(earlier.map(|(fingerprint, job_id, answer)| {
        if fingerprint == it.fingerprint {
            Admission::Done { job_id, answer, standing, replayed: true }
        } else {
            Admission::KeyReused
        }
    }))
}

/// The answer to a request that was done, kept for those that may follow with the same key.
pub(crate) async fn done(
    c: &mut dyn Conn,
    job: &Job,
    answer: String,
    standing: Option<Standing>,
    idempotency: Option<Idempotency>,
    now: Timestamp,
) -> Result<Admission> {
    if let Some(it) = idempotency {
        c.run(
            "INSERT INTO idempotency (project_id, key, fingerprint, job_id, answer, expires_at) \
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (project_id, key) DO UPDATE SET \
             fingerprint = excluded.fingerprint, job_id = excluded.job_id, answer = excluded.answer, \
             expires_at = excluded.expires_at",
            values![&job.project_id, it.key, it.fingerprint, &job.id, &answer, now.plus(KEPT)],
        )
        .await?;
    }
    Ok(Admission::Done { job_id: job.id.clone(), answer, standing, replayed: false })
}
