//! A worker's hold on a job. Every write names the attempt it was claimed with; once the job has been taken away, by
//! the reaper, by an archiving or by another worker, nothing it writes arrives.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{Job, JobId, Timestamp};

use crate::conn::{Conn, Dialect, Result, Value, places, values};
use crate::database::Store;
use crate::error::StoreError;
use crate::hub::Change;
use crate::postgres::Plans;
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

/// What became of a lease that was looked after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beat {
    /// Whether the worker may go on.
    pub stands: Result<(), LeaseLost>,
    /// Whether the lease was made longer. If somebody else writes to the job at this moment, it is not.
    pub is_longer: bool,
}

/// The most leases that one statement looks after.
const TOGETHER: usize = 1000;

#[boxed]
impl Store {
    /// Looks, for all these leases of one worker at once, whether it may go on, and makes those that stand longer by
    /// `length`, if one is given. The answers are in the order of the leases.
    pub async fn look_after(&self, leases: &[Lease], length: Option<Duration>) -> Result<Vec<Beat>> {
        let mut beats = Vec::with_capacity(leases.len());
        for some in leases.chunks(TOGETHER) {
            let some = some.to_vec();
            beats.extend(match length {
                Some(length) => self.write(move |c| Box::pin(lengthen(c, some, length))).await?,
                None => self.read(move |c| Box::pin(look_at_all(c, some, Vec::new()))).await?,
            });
        }
        Ok(beats)
    }

    /// Looks, without writing, whether the worker may go on.
    pub async fn check_lease(&self, lease: &Lease) -> Result<(), LeaseError> {
        let beats = self.look_after(std::slice::from_ref(lease), None).await?;
        Ok(beats.first().map_or(Err(LeaseLost::Lost), |beat| beat.stands)?)
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
        let values = values![now, &lease.job_id, &lease.worker, lease.attempt, step, data.to_string()];
        if self.done_at_once(&STEP_AT_ONCE, values, |id: &JobId| vec![Change::Job(id.clone())]).await?.is_some() {
            return Ok(());
        }
        self.write_planned(Plans::Simple, move |c| Box::pin(record_step(c, lease, step, data, now))).await
    }
}

/// That the job is held under a lease, the id, worker and attempt of which are parameters from number `first` on. Said in a way that
/// leaves PostgreSQL only the way by the id: it would read all jobs that run, of which there were none when it last counted.
/// Nobody without a name holds anything.
pub(crate) fn is_held(first: usize) -> String {
    let [id, worker, attempt] = [first, first + 1, first + 2];
    format!(
        "id = ${id} AND COALESCE(worker, '') = ${worker} AND ${worker} <> '' AND attempt = ${attempt} AND status = 'active'"
    )
}

/// The job, held, if the lease still stands.
pub(crate) async fn hold(c: &mut dyn Conn, lease: &Lease) -> Result<Job, LeaseError> {
    static SQL: LazyLock<String> = LazyLock::new(|| format!("SELECT {} FROM jobs WHERE {}", jobs::COLUMNS, is_held(1)));
    let job = c.row_held(&SQL, values![&lease.job_id, &lease.worker, lease.attempt]).await?;
    Ok(job.ok_or(LeaseLost::Lost)?)
}

/// The job, held, if the lease still stands and nobody has cancelled it.
pub(crate) async fn hold_active(c: &mut dyn Conn, lease: &Lease) -> Result<Job, LeaseError> {
    let job = hold(c, lease).await?;
    if job.cancel_requested { Err(LeaseLost::Cancelled.into()) } else { Ok(job) }
}

async fn lengthen(c: &mut dyn Conn, leases: Vec<Lease>, length: Duration) -> Result<Vec<Beat>> {
    let Some(first) = leases.first() else { return Ok(Vec::new()) };
    let mut values = values![c.now().plus(length), &first.worker];
    values.extend(leases.iter().flat_map(|lease| values![&lease.job_id, lease.attempt]));
    let attempts: Vec<String> = (0..leases.len()).map(|at| format!("({})", places(3 + 2 * at, 2))).collect();
    // One whose row somebody holds must not keep the others waiting; it has its turn with the next beat.
    let skip = match c.dialect() {
        Dialect::Sqlite => "",
        Dialect::Postgres => "FOR NO KEY UPDATE SKIP LOCKED",
    };
    let sql = format!(
        "UPDATE jobs SET lease_expires_at = $1 WHERE id IN (SELECT id FROM jobs WHERE worker = $2 AND status = 'active' \
         AND (id, attempt) IN (VALUES {}) {skip}) RETURNING id, attempt",
        attempts.join(", ")
    );
    let longer: Vec<(JobId, i64)> = c.rows(sql, values).await?;
    look_at_all(c, leases, longer).await
}

async fn look_at_all(c: &mut dyn Conn, leases: Vec<Lease>, longer: Vec<(JobId, i64)>) -> Result<Vec<Beat>> {
    let sql = format!(
        "SELECT id, attempt, worker, cancel_requested_at FROM jobs WHERE status = 'active' AND worker IS NOT NULL \
         AND id IN ({})",
        places(1, leases.len())
    );
    let rows: Vec<(JobId, i64, (String, Option<Timestamp>))> =
        c.rows(sql, leases.iter().map(|lease| Value::from(&lease.job_id)).collect()).await?;
    let rows: BTreeMap<_, _> = rows.into_iter().map(|(id, attempt, held)| ((id, attempt), held)).collect();
    let longer: BTreeSet<_> = longer.into_iter().collect();
    let beat = |lease: Lease| {
        let place = (lease.job_id, lease.attempt);
        let stands = match rows.get(&place) {
            Some((worker, None)) if *worker == lease.worker => Ok(()),
            Some((worker, Some(_))) if *worker == lease.worker => Err(LeaseLost::Cancelled),
            _ => Err(LeaseLost::Lost),
        };
        Beat { stands, is_longer: longer.contains(&place) }
    };
    Ok(leases.into_iter().map(beat).collect())
}

/// What [`record_step`] does, unless the lease is lost or the job cancelled. Somebody who held the job meanwhile may have added an
/// event, of which the number is not known here: then it is refused.
static STEP_AT_ONCE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "WITH held AS (UPDATE jobs SET updated_at = $1 WHERE {} AND cancel_requested_at IS NULL RETURNING id) \
         INSERT INTO events (job_id, number, kind, data, created_at) SELECT id, COALESCE((SELECT MAX(number) FROM events \
         WHERE job_id = $2), 0) + 1, $5, $6, $1 FROM held RETURNING job_id",
        is_held(2)
    )
});

async fn record_step(
    c: &mut dyn Conn,
    lease: Lease,
    step: &'static str,
    data: serde_json::Value,
    now: Timestamp,
) -> Result<(), LeaseError> {
    static SQL: LazyLock<String> =
        LazyLock::new(|| format!("UPDATE jobs SET updated_at = $1 WHERE {} RETURNING cancel_requested_at", is_held(2)));
    let held: Option<Option<Timestamp>> =
        c.row(SQL.as_str(), values![now, &lease.job_id, &lease.worker, lease.attempt]).await?;
    match held {
        None => Err(LeaseLost::Lost.into()),
        // The error takes back what was written.
        Some(Some(_)) => Err(LeaseLost::Cancelled.into()),
        Some(None) => Ok(events::append(c, &lease.job_id, step, data, now).await?),
    }
}
