use copydesk_boxed::boxed;
use copydesk_domain::{JobId, Timestamp};
use serde_json::Value as Json;

use crate::conn::{Conn, FromRow, Result, Row, Value, places, values};
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

#[boxed]
impl Store {
    /// A job's events after number `after`, oldest first, at most `limit`.
    pub async fn events(&self, job_id: &JobId, after: u32, limit: u32) -> Result<Vec<Event>> {
        let sql = "SELECT number, kind, data, created_at FROM events WHERE job_id = $1 AND number > $2 \
                   ORDER BY number LIMIT $3";
        let values = values![job_id, after, limit];
        self.read(move |c| Box::pin(c.rows(sql, values))).await
    }

    /// A job's events of these kinds, oldest first.
    pub async fn events_of(&self, job_id: &JobId, kinds: &'static [&'static str]) -> Result<Vec<Event>> {
        let job_id = job_id.clone();
        self.read(move |c| Box::pin(of_kinds(c, job_id, kinds))).await
    }

    /// What a job's events come to.
    pub async fn course(&self, job_id: &JobId) -> Result<Course> {
        let job_id = job_id.clone();
        self.read(move |c| Box::pin(course(c, job_id))).await
    }
}

/// What a job's events come to, without reading them all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Course {
    /// The number of the last one.
    pub last: u32,
    /// How often a worker has taken the job.
    pub claims: u32,
    /// What the events say that tell of answers which were not paid for again.
    pub resumed: Vec<Json>,
}

async fn course(c: &mut dyn Conn, job_id: JobId) -> Result<Course> {
    let sql = "SELECT COALESCE(MAX(number), 0), COALESCE(SUM(CASE WHEN kind = 'claimed' THEN 1 ELSE 0 END), 0) FROM events \
               WHERE job_id = $1";
    let (last, claims) = c.only_row(sql, values![&job_id]).await?;
    let resumed: Vec<Event> = of_kinds(c, job_id, &["resumed"]).await?;
    Ok(Course { last, claims, resumed: resumed.into_iter().map(|event| event.data).collect() })
}

async fn of_kinds(c: &mut dyn Conn, job_id: JobId, kinds: &'static [&'static str]) -> Result<Vec<Event>> {
    let mut values = values![job_id];
    values.extend(kinds.iter().map(|kind| Value::from(*kind)));
    let sql = format!(
        "SELECT number, kind, data, created_at FROM events WHERE job_id = $1 AND kind IN ({}) ORDER BY number",
        places(2, kinds.len())
    );
    c.rows(sql, values).await
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
    c.announce(Change::Job(job_id.clone()));
    Ok(())
}

/// Adds to each of these jobs that it was claimed, with the attempt that its row has now. The caller holds their rows.
pub(crate) async fn append_claimed(c: &mut dyn Conn, ids: &[JobId], now: Timestamp) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let mut values = values![now];
    values.extend(ids.iter().map(Value::from));
    let sql = format!(
        "INSERT INTO events (created_at, job_id, number, kind, data) SELECT $1, j.id, COALESCE((SELECT MAX(e.number) \
         FROM events e WHERE e.job_id = j.id), 0) + 1, 'claimed', {} FROM jobs j WHERE j.id IN ({})",
        claimed_data("j.attempt"),
        places(2, ids.len())
    );
    c.run(sql, values).await.map(drop)
}

/// What the event of a claim says.
pub(crate) fn claimed_data(attempt: &str) -> String {
    format!("'{{\"attempt\":' || {attempt} || '}}'")
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
