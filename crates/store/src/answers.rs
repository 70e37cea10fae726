//! The answers of models. They were paid for, so each is kept before it is acted upon.

use copydesk_domain::{Timestamp, Usage};

use crate::conn::{Conn, Result, Row, to_json, values};
use crate::lease::{self, Lease, LeaseLost};
use crate::rounds::NewEvent;
use crate::{Store, StoreError, events};

/// An answer of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The round it belongs to.
    pub round: u32,
    /// The number of the last prompt that the model had seen.
    pub seen_through: u32,
    /// What it said, in the words of whoever asked.
    pub said: Vec<u8>,
    /// What it cost.
    pub usage: Usage,
}

impl Store {
    /// A job's answers, oldest first.
    pub async fn answers(&self, job_id: &str) -> Result<Vec<Answer>> {
        let job_id = job_id.to_owned();
        self.read(move |c| Box::pin(list(c, job_id))).await
    }

    /// Keeps an answer, adds its cost to the job's, and appends the events that came before it. Refused once the job is
    /// cancelled or lost.
    pub async fn record_answer(
        &self,
        lease: &Lease,
        answer: Answer,
        told: Vec<NewEvent>,
    ) -> Result<Result<(), LeaseLost>> {
        let (lease, now) = (lease.clone(), self.now());
        self.write(move |c| Box::pin(record(c, lease, answer, told, now))).await
    }
}

async fn list(c: &mut dyn Conn, job_id: String) -> Result<Vec<Answer>> {
    let sql = "SELECT round, seen_through, said, usage FROM answers WHERE job_id = $1 ORDER BY number";
    c.rows(sql, values![job_id]).await?.iter().map(read).collect()
}

fn read(row: &Row) -> Result<Answer> {
    Ok(Answer {
        round: row.u32(0)?,
        seen_through: row.u32(1)?,
        said: row.bytes(2)?.to_vec(),
        usage: read_usage(row, 3)?,
    })
}

fn read_usage(row: &Row, at: usize) -> Result<Usage> {
    serde_json::from_str(row.text(at)?).map_err(|error| StoreError::Unreadable(format!("a usage: {error}")))
}

async fn record(
    c: &mut dyn Conn,
    lease: Lease,
    answer: Answer,
    told: Vec<NewEvent>,
    now: Timestamp,
) -> Result<Result<(), LeaseLost>> {
    let job = match lease::hold_active(c, &lease).await? {
        Ok(job) => job,
        Err(lost) => return Ok(Err(lost)),
    };
    c.run(
        "INSERT INTO answers (job_id, number, round, seen_through, said, usage, created_at) \
         SELECT $1, COALESCE(MAX(number), 0) + 1, $2, $3, $4, $5, $6 FROM answers WHERE job_id = $1",
        values![&job.id, answer.round, answer.seen_through, answer.said, to_json(&answer.usage), now],
    )
    .await?;
    let usage = job.usage.plus(&answer.usage);
    c.run("UPDATE jobs SET usage = $1, updated_at = $2 WHERE id = $3", values![to_json(&usage), now, &job.id]).await?;
    for event in told {
        events::append(c, &job.id, event.kind, event.data, now).await?;
    }
    Ok(Ok(()))
}
