//! What the outside world is to be told, written in the transaction that made it true, and how it becomes deliveries.

use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{EventKind, Job, JobId, ProjectId, Timestamp, new_id};

use crate::conn::{Conn, FromRow, Result, Row, values};
use crate::database::Store;
use crate::error::StoreError;
use crate::hub::Change;
use crate::jobs;
use crate::webhooks::{self, WebhookEndpoint};

/// The pause of an entry that cannot be made into deliveries, times the number of tries.
const ENTRY_PAUSE: Duration = Duration::from_secs(60);

/// Something the outside world is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxEntry {
    /// The event's id, the same at every delivery.
    pub id: String,
    /// The project it concerns.
    pub project_id: ProjectId,
    /// The job it concerns; none if it concerns the project itself.
    pub job_id: Option<JobId>,
    pub kind: EventKind,
    pub created_at: Timestamp,
}

/// What became of a part of the outbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FannedOut {
    /// Entries that are dealt with.
    pub entries: u32,
    /// Deliveries that were made of them.
    pub deliveries: u32,
    /// Entries that could not be dealt with, and will be tried again.
    pub postponed: u32,
}

/// Makes the body of a delivery.
type Render = fn(&OutboxEntry, Option<&Job>) -> String;

#[boxed]
impl Store {
    /// Turns what is in the outbox into deliveries, one for each webhook that wants it, oldest first and at most
    /// `limit` entries. An entry is gone in the transaction that makes its deliveries, so each is made once, however
    /// many processes do this at a time.
    pub async fn fan_out(&self, limit: u32, render: Render) -> Result<FannedOut> {
        let now = self.now();
        // A look outside the write lock first: where nothing happens, nothing is written.
        let due = self.read(move |c| Box::pin(due(c, limit, now))).await?;
        if due.is_empty() {
            return Ok(FannedOut::default());
        }
        match self.write(move |c| Box::pin(all_due(c, limit, render, now))).await {
            Err(error) if !matches!(error, StoreError::Unreachable(_)) => self.one_by_one(due, render).await,
            done => done,
        }
    }

    /// Something in a batch is refused. Each by itself, so that it does not keep back the others.
    async fn one_by_one(&self, ids: Vec<String>, render: Render) -> Result<FannedOut> {
        let now = self.now();
        let mut sum = FannedOut::default();
        for id in ids {
            let wanted = id.clone();
            match self.write(move |c| Box::pin(one(c, wanted, render, now))).await {
                Ok(done) => {
                    sum.entries += done.entries;
                    sum.deliveries += done.deliveries;
                }
                Err(error @ StoreError::Unreachable(_)) => return Err(error),
                Err(error) => {
                    tracing::warn!(%error, event = id, "cannot make deliveries of an event; trying again later");
                    self.write(move |c| Box::pin(postpone(c, id, now))).await?;
                    sum.postponed += 1;
                }
            }
        }
        Ok(sum)
    }
}

pub(crate) async fn put(c: &mut dyn Conn, kind: EventKind, job: &Job, now: Timestamp) -> Result<()> {
    insert(c, kind, &job.project_id, &job.id, now).await
}

/// What concerns no job.
pub(crate) async fn put_project(
    c: &mut dyn Conn,
    kind: EventKind,
    project_id: &ProjectId,
    now: Timestamp,
) -> Result<()> {
    insert(c, kind, project_id, NO_JOB, now).await
}

async fn insert(c: &mut dyn Conn, kind: EventKind, project_id: &ProjectId, job_id: &str, now: Timestamp) -> Result<()> {
    let sql = format!(
        "INSERT INTO outbox (id, project_id, job_id, kind, created_at, not_before, tries) SELECT $1, $2, $3, $4, $5, $5, 0 \
         WHERE {}",
        is_wanted("$2")
    );
    c.run(sql, values![new_id(now), project_id, job_id, kind.as_str(), now]).await?;
    // Also where no webhook wants it: somebody at a code host may have asked for it.
    c.announce(Change::Outbox);
    Ok(())
}

/// Whether somebody may want to be told of a project's events: most projects have no webhook at all.
pub(crate) fn is_wanted(project_id: &str) -> String {
    format!("EXISTS (SELECT 1 FROM webhook_endpoints w WHERE w.project_id = {project_id})")
}

/// The column takes no null.
const NO_JOB: &str = "";

const COLUMNS: &str = "id, project_id, job_id, kind, created_at";

async fn due(c: &mut dyn Conn, limit: u32, now: Timestamp) -> Result<Vec<String>> {
    let sql = "SELECT id FROM outbox WHERE not_before <= $1 AND NOT EXISTS (SELECT 1 FROM dormancy UNION ALL SELECT 1 FROM moving WHERE at_rest = 1) \
               ORDER BY not_before, id LIMIT $2";
    c.rows(sql, values![now, limit]).await
}

async fn all_due(c: &mut dyn Conn, limit: u32, render: Render, now: Timestamp) -> Result<FannedOut> {
    let skip = c.skip_locked();
    let sql = format!("SELECT {COLUMNS} FROM outbox WHERE not_before <= $1 ORDER BY not_before, id LIMIT $2 {skip}");
    let entries = c.rows(sql, values![now, limit]).await?;
    deal_with(c, entries, render, now).await
}

async fn one(c: &mut dyn Conn, id: String, render: Render, now: Timestamp) -> Result<FannedOut> {
    let skip = c.skip_locked();
    let entry = c.rows(format!("SELECT {COLUMNS} FROM outbox WHERE id = $1 {skip}"), values![id]).await?;
    deal_with(c, entry, render, now).await
}

async fn postpone(c: &mut dyn Conn, id: String, now: Timestamp) -> Result<()> {
    let pause = i64::try_from(ENTRY_PAUSE.as_millis()).unwrap_or(i64::MAX / 2);
    let sql = "UPDATE outbox SET not_before = $1 + $2 * (tries + 1), tries = tries + 1 WHERE id = $3";
    c.run(sql, values![now, pause, id]).await.map(drop)
}

/// Makes the deliveries of entries that the transaction holds.
async fn deal_with(c: &mut dyn Conn, entries: Vec<OutboxEntry>, render: Render, now: Timestamp) -> Result<FannedOut> {
    let mut done = FannedOut::default();
    for entry in entries {
        let endpoints = webhooks::wanting(c, &entry.project_id, entry.kind).await?;
        done.deliveries += deliver(c, &entry, &endpoints, render, now).await?;
        c.run("DELETE FROM outbox WHERE id = $1", values![&entry.id]).await?;
        done.entries += 1;
    }
    Ok(done)
}

async fn deliver(
    c: &mut dyn Conn,
    entry: &OutboxEntry,
    endpoints: &[WebhookEndpoint],
    render: Render,
    now: Timestamp,
) -> Result<u32> {
    if endpoints.is_empty() {
        return Ok(0);
    }
    let payload = match &entry.job_id {
        None => render(entry, None),
        Some(job_id) => {
            // A job that is still to be told of is not forgotten; otherwise it went with its project, and so does the
            // entry.
            let Some(job) = jobs::get(c, entry.project_id.clone(), job_id.clone()).await? else { return Ok(0) };
            render(entry, Some(&job))
        }
    };
    for endpoint in endpoints {
        webhooks::insert(c, &endpoint.id, &entry.id, entry.kind.as_str(), &payload, now).await?;
    }
    Ok(u32::try_from(endpoints.len()).unwrap_or(u32::MAX))
}

impl FromRow for OutboxEntry {
    fn from_row(row: &mut Row) -> Result<Self> {
        Ok(Self {
            id: row.next()?,
            project_id: row.next()?,
            job_id: Some(row.next::<JobId>()?).filter(|id| id.as_str() != NO_JOB),
            kind: row.next()?,
            created_at: row.next()?,
        })
    }
}
