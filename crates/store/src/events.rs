use copydesk_domain::Timestamp;

use crate::conn::{Conn, Result, Row, values};
use crate::{Change, Store, StoreError};

/// One thing that happened to a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Counts up from 1 in each job.
    pub number: u32,
    /// What happened.
    pub kind: String,
    /// More about it: an object.
    pub data: serde_json::Value,
    /// When.
    pub created_at: Timestamp,
}

impl Store {
    /// A job's events after number `after`, oldest first, at most `limit`.
    pub async fn events(&self, job_id: &str, after: u32, limit: u32) -> Result<Vec<Event>> {
        let job_id = job_id.to_owned();
        self.read(move |c| Box::pin(list(c, job_id, after, limit))).await
    }
}

/// Adds an event. The caller holds the job's row, so that numbers cannot clash.
pub(crate) async fn append(
    c: &mut dyn Conn,
    job_id: &str,
    kind: &str,
    data: serde_json::Value,
    now: Timestamp,
) -> Result<()> {
    c.run(
        "INSERT INTO events (job_id, number, kind, data, created_at) \
         SELECT $1, COALESCE(MAX(number), 0) + 1, $2, $3, $4 \
         FROM events WHERE job_id = $1",
        values![job_id, kind, data.to_string(), now],
    )
    .await?;
    c.announce(Change::Job(job_id.to_owned())).await
}

async fn list(c: &mut dyn Conn, job_id: String, after: u32, limit: u32) -> Result<Vec<Event>> {
    let rows = c
        .rows(
            "SELECT number, kind, data, created_at FROM events WHERE job_id = $1 AND number > $2 ORDER BY number LIMIT $3",
            values![job_id, after, limit],
        )
        .await?;
    rows.iter().map(read).collect()
}

fn read(row: &Row) -> Result<Event> {
    Ok(Event {
        number: row.u32(0)?,
        kind: row.string(1)?,
        data: serde_json::from_str(row.text(2)?)
            .map_err(|error| StoreError::Unreadable(format!("an event: {error}")))?,
        created_at: row.time(3)?,
    })
}
