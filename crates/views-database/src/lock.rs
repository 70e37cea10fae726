//! Transactions that hold a project's lock.

use std::time::Duration;

use sqlx::{AssertSqlSafe, PgConnection, Postgres, Row, Transaction};
use tokio::time::Instant;
use xxhash_rust::xxh3::xxh3_64;

use crate::database::Database;
use crate::error::{Fault, Result};
use crate::schema::DURABLE;

/// The first half of all locks of projects: no other program has them.
const LOCKS: i32 = 0x7669_6577;

/// The lock of who deletes.
const SWEEPING: i64 = 8_245_113_408;

/// What every transaction begins with. A machine that is cut off in the middle of one must not hold a project until the
/// server notices, which takes hours. Said anew each time, because behind a pooler the next one may be on another connection.
/// Nothing else may stand here: of a beginning that fails a connection keeps what it has begun.
const BEGIN: &str = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '5s'";

/// How long views wait for whoever changes their project as a whole: those of readers, and those of logs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
pub(crate) const LONG_PATIENCE: Duration = Duration::from_secs(600);
/// How often it is looked whether they still must.
const AGAIN: Duration = Duration::from_millis(30);
/// A lock was not to be had in the time for it.
const HELD: &str = "55P03";

/// Who else may hold a project's lock meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    /// Everybody who only adds to the project. It is waited for so long.
    Shared(Duration),
    Alone,
}

impl Database {
    /// Begins a transaction that holds the lock of a project. What is read after that is what was committed before it. Nobody
    /// waits for long with a connection: a project that is changed for long must not take them from all others.
    pub(crate) async fn begin(&self, project: &str, hold: Hold) -> Result<Transaction<'static, Postgres>> {
        let patience = match hold {
            Hold::Shared(patience) => patience,
            Hold::Alone => LONG_PATIENCE,
        };
        let deadline = Instant::now() + patience;
        loop {
            let mut transaction = self.pool.begin_with(BEGIN).await?;
            if lock(&mut transaction, project, hold).await? {
                return Ok(transaction);
            }
            transaction.rollback().await?;
            if Instant::now() > deadline {
                return Err(Fault::unavailable(
                    "the page views of this project are being changed as a whole; try again in a moment",
                ));
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Begins a transaction in which nobody else deletes what is old: a step that finds few rows then is the last.
    pub(crate) async fn begin_sweeping(&self) -> sqlx::Result<Transaction<'static, Postgres>> {
        let mut transaction = self.pool.begin_with(BEGIN).await?;
        let sql = format!("SELECT pg_advisory_xact_lock({SWEEPING})");
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *transaction).await?;
        Ok(transaction)
    }

    /// Begins a transaction that sees one moment and ends when it takes too long.
    pub(crate) async fn look(&self) -> sqlx::Result<Transaction<'static, Postgres>> {
        let time = self.options.question_time.as_millis();
        // Code that is compiled for one question takes longer than the question.
        let sql = format!(
            "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL statement_timeout = {time}; \
             SET LOCAL jit = off; SET LOCAL work_mem = '32MB'"
        );
        let mut transaction = self.questions.begin_with(BEGIN).await?;
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *transaction).await?;
        Ok(transaction)
    }
}

/// Takes the lock of a project, if it is to be had.
async fn lock(connection: &mut PgConnection, project: &str, hold: Hold) -> Result<bool> {
    // Projects that share a number only wait for each other.
    let number = xxh3_64(project.as_bytes()) as u32 as i32;
    if let Hold::Shared(_) = hold {
        let sql = format!("SELECT pg_try_advisory_xact_lock_shared({LOCKS}, {number}), {DURABLE}");
        let row = sqlx::query(AssertSqlSafe(sql)).persistent(false).fetch_one(connection).await?;
        return Ok(row.try_get(0)?);
    }
    // Waited for, because those who share it give way to who waits, and would come one after the other for ever otherwise.
    let sql = format!(
        "SET LOCAL lock_timeout = '2s'; SELECT pg_advisory_xact_lock({LOCKS}, {number}), {DURABLE}; SET LOCAL lock_timeout = 0"
    );
    match sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await {
        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some(HELD) => Ok(false),
        held => Ok(held.map(|_| true)?),
    }
}
