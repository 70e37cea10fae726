//! A worker's hold on a job. Every write names the attempt it was claimed with; once the job has been taken away, by
//! the reaper, by an archiving or by another worker, nothing it writes arrives.

use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{Job, JobId, Timestamp};

use crate::conn::{Conn, Result, values};
use crate::database::Store;
use crate::error::StoreError;
use crate::{events, jobs};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub job_id: JobId,
    pub worker: String,
    /// The fencing token.
    pub attempt: i64,
}

/// Why the worker has to let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LeaseLost {
    /// The job is no longer this worker's.
    #[error("the lease is lost")]
    Lost,
    /// A client has cancelled the job; the worker ends it.
    #[error("the job was cancelled")]
    Cancelled,
}

/// Why what the holder of a lease wanted was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeaseError {
    #[error(transparent)]
    Lost(#[from] LeaseLost),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What the worker learns from a sign of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pulse {
    /// The number of the newest prompt.
    pub newest_message: u32,
}

#[boxed]
impl Store {
    /// Keeps the lease alive for another `length`.
    pub async fn heartbeat(&self, lease: &Lease, length: Duration) -> Result<Pulse, LeaseError> {
        let lease = lease.clone();
        let seen = self.write(move |c| Box::pin(heartbeat(c, lease, length))).await?;
        read_pulse(seen)
    }

    /// Looks, without writing, whether the worker may go on.
    pub async fn pulse(&self, lease: &Lease) -> Result<Pulse, LeaseError> {
        let lease = lease.clone();
        let seen = self.read(move |c| Box::pin(look(c, lease))).await?;
        read_pulse(seen)
    }

    /// Records a step. Refused once the job is cancelled or lost, so a step recorded before an act outside the
    /// database is leave to do it.
    pub async fn record_step(
        &self,
        lease: &Lease,
        step: &'static str,
        data: serde_json::Value,
    ) -> Result<(), LeaseError> {
        let (lease, now) = (lease.clone(), self.now());
        self.write(move |c| Box::pin(record_step(c, lease, step, data, now))).await
    }
}

/// The job, held, if the lease still stands.
pub(crate) async fn hold(c: &mut dyn Conn, lease: &Lease) -> Result<Job, LeaseError> {
    let job = jobs::get_held(c, &lease.job_id).await?.ok_or(LeaseLost::Lost)?;
    let sql = "SELECT 1 FROM jobs WHERE id = $1 AND worker = $2 AND attempt = $3 AND status = 'active'";
    let stands = c.exists(sql, values![&lease.job_id, &lease.worker, lease.attempt]).await?;
    if stands { Ok(job) } else { Err(LeaseLost::Lost.into()) }
}

/// The job, held, if the lease still stands and nobody has cancelled it.
pub(crate) async fn hold_active(c: &mut dyn Conn, lease: &Lease) -> Result<Job, LeaseError> {
    let job = hold(c, lease).await?;
    if job.cancel_requested { Err(LeaseLost::Cancelled.into()) } else { Ok(job) }
}

/// When the job was cancelled, and its newest prompt.
type Seen = Option<(Option<Timestamp>, Option<u32>)>;

async fn heartbeat(c: &mut dyn Conn, lease: Lease, length: Duration) -> Result<Seen> {
    let until = c.now().plus(length);
    c.run(
        "UPDATE jobs SET lease_expires_at = $1 WHERE id = $2 AND worker = $3 AND attempt = $4 AND status = 'active'",
        values![until, &lease.job_id, &lease.worker, lease.attempt],
    )
    .await?;
    look(c, lease).await
}

async fn look(c: &mut dyn Conn, lease: Lease) -> Result<Seen> {
    c.row(
        "SELECT cancel_requested_at, (SELECT MAX(number) FROM messages m WHERE m.job_id = jobs.id) FROM jobs \
         WHERE id = $1 AND worker = $2 AND attempt = $3 AND status = 'active'",
        values![lease.job_id, lease.worker, lease.attempt],
    )
    .await
}

fn read_pulse(seen: Seen) -> Result<Pulse, LeaseError> {
    match seen {
        None => Err(LeaseLost::Lost.into()),
        Some((Some(_), _)) => Err(LeaseLost::Cancelled.into()),
        Some((None, newest)) => Ok(Pulse { newest_message: newest.unwrap_or(0) }),
    }
}

async fn record_step(
    c: &mut dyn Conn,
    lease: Lease,
    step: &'static str,
    data: serde_json::Value,
    now: Timestamp,
) -> Result<(), LeaseError> {
    let job = hold_active(c, &lease).await?;
    c.run("UPDATE jobs SET updated_at = $1 WHERE id = $2", values![now, &job.id]).await?;
    Ok(events::append(c, &job.id, step, data, now).await?)
}
