//! The answers of models. They were paid for, so each is kept before it is acted upon.

use copydesk_boxed::boxed;
use copydesk_domain::{JobId, Timestamp, Usage};

use crate::conn::{Conn, FromRow, Result, Row, to_json, values};
use crate::database::Store;
use crate::events::{self, NewEvent};
use crate::lease::{self, Lease, LeaseError};

/// An answer of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The round it belongs to.
    pub round: u32,
    /// The number of the last prompt that the model had seen.
    pub seen_through: u32,
    /// What it said, in the words of whoever asked.
    pub said: Vec<u8>,
    pub usage: Usage,
}

#[boxed]
impl Store {
    /// A job's answers, oldest first.
    pub async fn answers(&self, job_id: &JobId) -> Result<Vec<Answer>> {
        let sql = "SELECT round, seen_through, said, usage FROM answers WHERE job_id = $1 ORDER BY number";
        let values = values![job_id];
        self.read(move |c| Box::pin(c.rows(sql, values))).await
    }

    /// Keeps an answer, adds its cost to the job's, and appends the events that came before it. Refused once the job is
    /// cancelled or lost.
    pub async fn record_answer(&self, lease: &Lease, answer: Answer, told: Vec<NewEvent>) -> Result<(), LeaseError> {
        let (lease, now) = (lease.clone(), self.now());
        self.write(move |c| Box::pin(record(c, lease, answer, told, now))).await
    }
}

impl FromRow for Answer {
    fn from_row(row: &mut Row) -> Result<Self> {
        Ok(Self { round: row.next()?, seen_through: row.next()?, said: row.next()?, usage: row.next_json()? })
    }
}

async fn record(
    c: &mut dyn Conn,
    lease: Lease,
    answer: Answer,
    told: Vec<NewEvent>,
    now: Timestamp,
) -> Result<(), LeaseError> {
    let job = lease::hold_active(c, &lease).await?;
    c.run(
        "INSERT INTO answers (job_id, number, round, seen_through, said, usage, created_at) \
         SELECT $1, COALESCE(MAX(number), 0) + 1, $2, $3, $4, $5, $6 FROM answers WHERE job_id = $1",
        values![&job.id, answer.round, answer.seen_through, answer.said, to_json(&answer.usage), now],
    )
    .await?;
    let usage = job.usage.plus(&answer.usage);
    c.run("UPDATE jobs SET usage = $1, updated_at = $2 WHERE id = $3", values![to_json(&usage), now, &job.id]).await?;
    Ok(events::append_all(c, &job.id, told, now).await?)
}
