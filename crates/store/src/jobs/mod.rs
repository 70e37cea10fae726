//! Jobs as clients see them: created, read, listed, messaged, cancelled, archived.

pub(crate) mod control;
mod create;
mod row;

use copydesk_domain::{Job, Message, Status};

pub use create::NewJob;
pub(crate) use row::{COLUMNS, read};

use crate::conn::{Conn, Result, Row, Value, values};
use crate::{Store, StoreError};

/// Which jobs to list.
#[derive(Debug, Clone, Default)]
pub struct JobFilter {
    /// Only those that stand so.
    pub status: Option<Status>,
    /// Only those older than the job of this id.
    pub before: Option<String>,
    /// How many at the most.
    pub limit: u32,
}

impl Store {
    /// The job of that id if it belongs to that project.
    pub async fn job(&self, project_id: String, id: String) -> Result<Option<Job>> {
        self.read(move |c| Box::pin(get(c, project_id, id))).await
    }

    /// A project's jobs, newest first.
    pub async fn jobs(&self, project_id: &str, filter: JobFilter) -> Result<Vec<Job>> {
        let project_id = project_id.to_owned();
        self.read(move |c| Box::pin(list(c, project_id, filter))).await
    }

    /// A job's prompts, oldest first.
    pub async fn messages(&self, job_id: &str) -> Result<Vec<Message>> {
        let job_id = job_id.to_owned();
        self.read(move |c| Box::pin(messages(c, job_id))).await
    }
}

pub(crate) async fn get(c: &mut dyn Conn, project_id: String, id: String) -> Result<Option<Job>> {
    static SQL: std::sync::LazyLock<String> =
        std::sync::LazyLock::new(|| format!("SELECT {COLUMNS} FROM jobs WHERE id = $1 AND project_id = $2"));
    c.row(SQL.as_str(), values![id, project_id]).await?.map(|row| read(&row)).transpose()
}

async fn list(c: &mut dyn Conn, project_id: String, filter: JobFilter) -> Result<Vec<Job>> {
    let mut sql = format!("SELECT {COLUMNS} FROM jobs WHERE project_id = $1");
    let mut values = values![project_id];
    let mut and = |clause: &str, value: Value| {
        values.push(value);
        sql.push_str(&format!(" AND {clause} ${}", values.len()));
    };
    if let Some(status) = filter.status {
        and("status =", status.as_str().into());
    }
    if let Some(before) = filter.before {
        and("id <", before.into());
    }
    values.push(filter.limit.into());
    sql.push_str(&format!(" ORDER BY id DESC LIMIT ${}", values.len()));
    c.rows(sql, values).await?.iter().map(read).collect()
}

pub(crate) async fn messages(c: &mut dyn Conn, job_id: String) -> Result<Vec<Message>> {
    let sql = "SELECT number, prompt, created_at FROM messages WHERE job_id = $1 ORDER BY number";
    c.rows(sql, values![job_id]).await?.iter().map(read_message).collect()
}

fn read_message(row: &Row) -> Result<Message> {
    let prompt = String::from_utf8(row.bytes(1)?.to_vec())
        .map_err(|error| StoreError::Unreadable(format!("a prompt: {error}")))?;
    Ok(Message { number: row.u32(0)?, prompt, created_at: row.time(2)? })
}

/// Reads a job and holds its row until the transaction ends.
pub(crate) async fn get_locked(c: &mut dyn Conn, id: &str) -> Result<Option<Job>> {
    if c.row_locked("SELECT id FROM jobs WHERE id = $1", values![id]).await?.is_none() {
        return Ok(None);
    }
    let row = c.row(format!("SELECT {COLUMNS} FROM jobs WHERE id = $1"), values![id]).await?;
    row.map(|row| read(&row)).transpose()
}
