use copydesk_domain::{JobId, Timestamp};
use serde_json::Value as Json;

use crate::conn::{Conn, FromRow, Result, Row, values};
use crate::database::Store;
use crate::hub::Change;

/// One thing that happened to a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Counts up from 1 in each job.
    pub number: u32,
    pub kind: String,
    /// More about it: an object.
    pub data: Json,
    pub created_at: Timestamp,
}

/// An event to append.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    pub kind: &'static str,
    /// More about it: an object.
    pub data: Json,
}

impl NewEvent {
    pub fn new(kind: &'static str, data: Json) -> Self {
        Self { kind, data }
    }
}

impl Store {
    /// A job's events after number `after`, oldest first, at most `limit`.
    pub async fn events(&self, job_id: &JobId, after: u32, limit: u32) -> Result<Vec<Event>> {
        let sql = "SELECT number, kind, data, created_at FROM events WHERE job_id = $1 AND number > $2 \
                   ORDER BY number LIMIT $3";
        let values = values![job_id, after, limit];
        self.read(move |c| Box::pin(c.rows(sql, values))).await
    }
}

/// Adds an event. The caller holds the job's row, so that numbers cannot clash.
pub(crate) async fn append(c: &mut dyn Conn, job_id: &JobId, kind: &str, data: Json, now: Timestamp) -> Result<()> {
    c.run(
        "INSERT INTO events (job_id, number, kind, data, created_at) \
         SELECT $1, COALESCE(MAX(number), 0) + 1, $2, $3, $4 \
         FROM events WHERE job_id = $1",
        values![job_id, kind, data.to_string(), now],
    )
    .await?;
    c.announce(Change::Job(job_id.clone())).await
}

pub(crate) async fn append_all(
    c: &mut dyn Conn,
    job_id: &JobId,
    told: impl IntoIterator<Item = NewEvent>,
    now: Timestamp,
) -> Result<()> {
    for event in told {
        append(c, job_id, event.kind, event.data, now).await?;
    }
    Ok(())
}

impl FromRow for Event {
    fn from_row(row: &mut Row) -> Result<Self> {
        Ok(Self { number: row.next()?, kind: row.next()?, data: row.next_json()?, created_at: row.next()? })
    }
}
