//! A moment in which the ledger and ClickHouse say the same, and what ClickHouse has as rows of text, as PostgreSQL writes and
//! reads them.

use bytes::Bytes;
use copydesk_domain::Clock;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Postgres, Row, Transaction};
use tokio::sync::mpsc::{Receiver, Sender};

use crate::clickhouse::{ClickHouse, LOCK, send_all};
use crate::database::Database;
use crate::error::{Fault, Result};

/// Nobody ends these for being idle: copying may take as long as it takes. Of a machine that is cut off the database hears within
/// a minute, and not after hours.
const LASTS: &str = "SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL statement_timeout = 0; SET LOCAL jit = off; \
     SET LOCAL tcp_keepalives_idle = 20; SET LOCAL tcp_keepalives_interval = 10; SET LOCAL tcp_keepalives_count = 4";

/// Nothing is being sent to ClickHouse as long as this is there, and what was begun has arrived.
pub(crate) struct Quiet(PgConnection);

impl Quiet {
    pub(crate) async fn begin(database: &Database, house: &ClickHouse) -> Result<Self> {
        let quiet = Self::lock(house).await?;
        send_all(house, &database.pool, &[]).await?;
        Ok(quiet)
    }

    async fn lock(house: &ClickHouse) -> Result<Self> {
        let mut keeps = PgConnection::connect_with(&house.address).await?;
        let sql = format!("BEGIN; {LASTS}; SELECT pg_advisory_xact_lock({LOCK})");
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut keeps).await?;
        Ok(Self(keeps))
    }

    /// Fails if something may have been sent meanwhile.
    pub(crate) async fn end(mut self) -> Result<()> {
        sqlx::raw_sql("COMMIT").execute(&mut self.0).await?;
        Ok(())
    }
}

/// What ClickHouse has is what the ledger had when this began, for as long as it is there: nothing is sent on meanwhile.
pub(crate) struct Moment {
    /// Sees the ledger as it was then.
    pub(crate) ledger: Transaction<'static, Postgres>,
    pub(crate) quiet: Quiet,
}

impl Moment {
    pub(crate) async fn begin(database: &Database, house: &ClickHouse) -> Result<Self> {
        let quiet = Quiet::lock(house).await?;
        let mut ledger = database.questions.begin().await?;
        let sql = format!("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; {LASTS}");
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *ledger).await?;
        let row = sqlx::query("SELECT EXISTS (SELECT FROM views_recounts)").fetch_one(&mut *ledger).await?;
        if row.try_get::<bool, _>(0)? {
            return Err(Fault::unavailable(
                "the page views of a project are only there in part: `copydesk views repair` was interrupted; run it again",
            ));
        }
        let waiting = sqlx::query("SELECT id FROM views_batches ORDER BY id").fetch_all(&mut *ledger).await?;
        let waiting: Vec<i64> = waiting.iter().map(|row| row.try_get(0)).collect::<sqlx::Result<_>>()?;
        send_all(house, &database.pool, &waiting).await?;
        Ok(Self { ledger, quiet })
    }
}

impl ClickHouse {
    /// Sends rows of projects as text, until nobody takes them.
    pub(crate) async fn copy_out(
        &self,
        table: &str,
        columns: &str,
        projects: &[i32],
        send: &Sender<Vec<u8>>,
    ) -> Result<()> {
        if projects.is_empty() {
            return Ok(());
        }
        let projects: Vec<String> = projects.iter().map(i32::to_string).collect();
        let sql = format!("SELECT {columns} FROM {table} WHERE project IN ({})", projects.join(","));
        let mut rows = self.nodes.client().query_raw(&sql).fetch_bytes("TabSeparated")?;
        while let Some(chunk) = rows.next().await? {
            if send.send(chunk.to_vec()).await.is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Fills tables that are empty with quarter hours as text.
    pub(crate) async fn copy_in(&self, columns: &str, rows: &mut Receiver<Vec<u8>>, clock: &dyn Clock) -> Result<()> {
        // The ledger has no projects: what is there is what an attempt has left that ended half way.
        self.empty().await?;
        let sql = format!("INSERT INTO views_cells ({columns}) FORMAT TabSeparated");
        let mut insert = self
            .nodes
            .client()
            .insert_formatted_with(sql)
            .with_setting("insert_deduplication_token", copydesk_domain::new_id(clock.now()))
            .with_setting("max_partitions_per_insert_block", "0")
            .with_setting("distributed_foreground_insert", "1");
        let mut is_any = false;
        while let Some(chunk) = rows.recv().await {
            is_any |= !chunk.is_empty();
            insert.send(Bytes::from(chunk)).await?;
        }
        if !is_any {
            return Ok(());
        }
        insert.end().await?;
        self.derive_site("1", clock).await?;
        self.derive_days("1", clock).await?;
        self.derive_months("1", clock).await
    }
}
