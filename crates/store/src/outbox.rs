use std::time::Duration;

use copydesk_domain::{Job, Timestamp, new_id};

use crate::Store;
use crate::conn::{Conn, Result, values};

/// Something the outside world is to be told, written in the transaction that made it true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxEntry {
    /// The event's id, the same at every delivery.
    pub id: String,
    /// The project it concerns.
    pub project_id: String,
    /// The job it concerns.
    pub job_id: String,
    /// `job.created`, `job.completed`, `job.failed` or `job.archived`.
    pub kind: String,
    /// When it happened.
    pub created_at: Timestamp,
    /// How often its delivery has been tried.
    pub tries: u32,
}

impl Store {
    /// What is due, oldest first, at most `limit`. Each entry is hidden from others for `hold`.
    pub async fn take_outbox(&self, limit: u32, hold: Duration) -> Result<Vec<OutboxEntry>> {
        let now = self.now();
        self.write(move |c| Box::pin(take(c, limit, now, now.plus(hold)))).await
    }

    /// The entry was delivered, or is given up.
    pub async fn finish_outbox(&self, id: &str) -> Result<()> {
        let id = id.to_owned();
        self.write(move |c| {
            Box::pin(async move { c.run("DELETE FROM outbox WHERE id = $1", values![id]).await.map(drop) })
        })
        .await
    }
}

pub(crate) async fn put(c: &mut dyn Conn, kind: &'static str, job: &Job, now: Timestamp) -> Result<()> {
    c.run(
        "INSERT INTO outbox (id, project_id, job_id, kind, created_at, not_before, tries) VALUES ($1, $2, $3, $4, $5, $6, 0)",
        values![new_id(now), &job.project_id, &job.id, kind, now, now],
    )
    .await
    .map(drop)
}

async fn take(c: &mut dyn Conn, limit: u32, now: Timestamp, until: Timestamp) -> Result<Vec<OutboxEntry>> {
    let sql = format!(
        "UPDATE outbox SET not_before = $1, tries = tries + 1 WHERE id IN \
         (SELECT id FROM outbox WHERE not_before <= $2 ORDER BY not_before, id LIMIT $3 {}) \
         RETURNING id, project_id, job_id, kind, created_at, tries",
        c.skip_locked()
    );
    let rows = c.rows(sql, values![until, now, limit]).await?;
    let mut entries = Vec::with_capacity(rows.len());
    for row in rows {
        entries.push(OutboxEntry {
            id: row.string(0)?,
            project_id: row.string(1)?,
            job_id: row.string(2)?,
            kind: row.string(3)?,
            created_at: row.time(4)?,
            tries: row.u32(5)?,
        });
    }
    entries.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(entries)
}
