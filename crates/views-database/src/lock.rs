//! Transactions that hold a project's lock.

use sqlx::{AssertSqlSafe, Postgres, Transaction};
use xxhash_rust::xxh3::xxh3_64;

use crate::database::Database;

/// The first half of all locks of projects: no other program has them.
const LOCKS: i32 = 0x7669_6577;

/// The lock of who deletes.
const SWEEPING: i64 = 8_245_113_408;

/// Who else may hold a project's lock meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    /// Everybody who only adds to the project.
    Shared,
    Alone,
}

impl Database {
    /// Begins a transaction that holds the lock of a project. What is read after that is what was committed before it.
    pub(crate) async fn begin(&self, project: &str, hold: Hold) -> sqlx::Result<Transaction<'static, Postgres>> {
        let mut transaction = self.pool.begin().await?;
        let function = match hold {
            Hold::Shared => "pg_advisory_xact_lock_shared",
            Hold::Alone => "pg_advisory_xact_lock",
        };
        // Projects that share a number only wait for each other.
        let number = xxh3_64(project.as_bytes()) as u32 as i32;
        // What is acknowledged is on disk, whatever the server was told; a stricter setting stays.
        let sql = format!(
            "SELECT set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') \
             THEN 'on' ELSE current_setting('synchronous_commit') END, true); SELECT {function}({LOCKS}, {number})"
        );
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *transaction).await?;
        Ok(transaction)
    }

    /// Begins a transaction in which nobody else deletes what is old: a step that finds few rows then is the last.
    pub(crate) async fn begin_sweeping(&self) -> sqlx::Result<Transaction<'static, Postgres>> {
        let mut transaction = self.pool.begin().await?;
        let sql = format!("SELECT pg_advisory_xact_lock({SWEEPING})");
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *transaction).await?;
        Ok(transaction)
    }

    /// Begins a transaction that sees one moment and ends when it takes too long.
    pub(crate) async fn look(&self) -> sqlx::Result<Transaction<'static, Postgres>> {
        let mut transaction = self.pool.begin().await?;
        let time = self.options.question_time.as_millis();
        // Code that is compiled for one question takes longer than the question.
        let sql = format!(
            "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL statement_timeout = {time}; \
             SET LOCAL jit = off; SET LOCAL work_mem = '32MB'"
        );
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *transaction).await?;
        Ok(transaction)
    }
}
