//! Sending what waits in the ledger on to ClickHouse. Any process may: batches and shipments that another one has in hand are
//! passed over, and those of a process that has died are free the moment its connection is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use copydesk_boxed::boxed;
use sqlx::postgres::{PgPoolOptions, PgRow};
use sqlx::{AssertSqlSafe, PgConnection, PgPool, Postgres, Row as _, Transaction};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::ClickHouse;
use super::nodes::Nodes;
use super::shipment::{Rows, Shipment};
use crate::error::Result;
use crate::schema::DURABLE;

/// Batches that are sent together at most, and after how many bytes, packed, no more are added: they take a hundred times
/// that while they are sorted.
const BATCHES: usize = 1000;
const BYTES: i64 = 1 << 20;
/// How long sending may take. The database waits longer for the process that has a shipment in hand.
const SENDING: Duration = Duration::from_secs(60);
const BEGIN: &str = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '90s'";
/// How often it is looked for batches of processes that have died.
const LOOK: Duration = Duration::from_secs(1);
/// How long whoever ends waits for what is being sent.
const ENDING: Duration = Duration::from_secs(10);
/// How long it waits after an error.
const REST: Duration = Duration::from_secs(2);

/// Nothing is being sent while somebody holds this lock alone. No other lock of a database has its number (`grep 8_245_113`).
pub(crate) const LOCK: i64 = 8_245_113_412;

/// What sends in the background.
pub(crate) struct Shipping {
    task: JoinHandle<()>,
    ends: Arc<(AtomicBool, Notify)>,
    pool: PgPool,
}

impl Shipping {
    /// Begins to send. Whoever does not look after the views sends only what somebody asks for.
    pub(crate) fn begin(house: Arc<ClickHouse>, looks: bool) -> Self {
        let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(Duration::from_secs(5));
        let pool = pool.connect_lazy_with(house.address.clone());
        let ends = Arc::new((AtomicBool::new(false), Notify::new()));
        let task = tokio::spawn(send_on(house, pool.clone(), Arc::clone(&ends), looks));
        Self { task, ends, pool }
    }

    /// Ends when what is being sent has been.
    pub(crate) async fn end(self) {
        self.ends.0.store(true, Ordering::Relaxed);
        self.ends.1.notify_one();
        let mut task = self.task;
        // What is cut short is sent again, by whoever is there then.
        if tokio::time::timeout(ENDING, &mut task).await.is_err() {
            task.abort();
        }
        self.pool.close().await;
    }
}

async fn send_on(house: Arc<ClickHouse>, pool: PgPool, ends: Arc<(AtomicBool, Notify)>, looks: bool) {
    let mut is_well = true;
    while !ends.0.load(Ordering::Relaxed) {
        let sent = ship(&house, &pool, looks).await;
        match &sent {
            Ok(sent) => {
                if *sent && !is_well {
                    is_well = true;
                    tracing::info!("page views go to ClickHouse again");
                }
                house.arrived.notify_waiters();
            }
            Err(fault) => {
                // What is wrong with the tables says more than what became of an insert.
                house.is_ready.store(false, Ordering::Relaxed);
                let unfit = house.prepare(&pool, looks).await.err();
                let fault = unfit.as_ref().filter(|unfit| !unfit.is_away()).unwrap_or(fault);
                if is_well {
                    tracing::warn!(%fault, "page views wait in the database: they cannot be sent to ClickHouse now");
                }
                is_well = false;
            }
        }
        let pause = match sent {
            // What has come meanwhile is collected for a moment.
            Ok(true) => Some(house.options.collects),
            Ok(false) => looks.then_some(LOOK),
            Err(_) => Some(REST),
        };
        let pause = async {
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = pause => {}
            () = ends.1.notified() => {}
            // Whoever asks has heard that ClickHouse is away, and does not make it answer sooner.
            () = house.wanted.notified(), if is_well => {}
            () = collected(&house), if is_well && matches!(sent, Ok(false)) => {}
        }
    }
}

/// Waits until something was counted, and for what comes just after it.
async fn collected(house: &ClickHouse) {
    house.counted.notified().await;
    tokio::time::sleep(house.options.collects).await;
}

/// Sends one shipment: one that another process has left, or a new one. False if nothing waits.
async fn ship(house: &ClickHouse, pool: &PgPool, makes_tables: bool) -> Result<bool> {
    house.be_ready(pool, makes_tables).await?;
    loop {
        let mut transaction = pool.begin_with(BEGIN).await?;
        // Whoever copies all of it waits until nothing is on its way.
        let sql = format!("SELECT pg_advisory_xact_lock_shared({LOCK}), {DURABLE}");
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *transaction).await?;
        // The row is held while it is sent, so that nobody else sends it meanwhile, and no longer if this process dies.
        let left = "SELECT id, COALESCE(token::text, id::text) FROM views_shipments ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED";
        if let Some(row) = sqlx::query(left).fetch_optional(&mut *transaction).await? {
            finish(house, &mut transaction, &row).await?;
            transaction.commit().await?;
            return Ok(true);
        }
        let is_any = put_together(&mut transaction, None).await?;
        transaction.commit().await?;
        if !is_any {
            return Ok(false);
        }
    }
}

/// Makes a shipment of batches that nobody has in hand, of these only if some are named. False if there are none. What belongs
/// together is committed before any of it is sent: whoever sends it again sends the same.
async fn put_together(connection: &mut PgConnection, among: Option<&[i64]>) -> Result<bool> {
    let taken = sqlx::query(
        "WITH waiting AS MATERIALIZED (\
           SELECT id, octet_length(cells) AS bytes FROM views_batches WHERE shipment IS NULL \
           AND ($3::bigint[] IS NULL OR id = ANY ($3)) ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED), \
         taken AS (SELECT id FROM (SELECT id, SUM(bytes) OVER (ORDER BY id) - bytes AS before FROM waiting) AS w \
           WHERE before <= $2), \
         shipment AS (INSERT INTO views_shipments (token) SELECT gen_random_uuid() WHERE EXISTS (SELECT FROM taken) RETURNING id) \
         UPDATE views_batches SET shipment = shipment.id FROM shipment \
         WHERE views_batches.id IN (SELECT id FROM taken)",
    )
    .bind(BATCHES as i64)
    .bind(BYTES)
    .bind(among)
    .execute(connection)
    .await?;
    Ok(taken.rows_affected() > 0)
}

/// Sends a shipment and takes its batches out of the ledger. Whoever calls it is the only one to have it in hand.
async fn finish(house: &ClickHouse, connection: &mut PgConnection, row: &PgRow) -> Result<()> {
    let (id, token): (i64, String) = (row.try_get(0)?, row.try_get(1)?);
    let mut shipment = Shipment::default();
    let sql = "SELECT project, cells FROM views_batches WHERE shipment = $1";
    for row in sqlx::query(sql).bind(id).fetch_all(&mut *connection).await? {
        shipment.add_batch(&row)?;
    }
    send(&house.nodes, shipment, format!("{}/{token}", house.ledger)).await?;
    let sql = "DELETE FROM views_batches WHERE shipment = $1";
    sqlx::query(sql).bind(id).execute(&mut *connection).await?;
    sqlx::query("DELETE FROM views_shipments WHERE id = $1").bind(id).execute(connection).await?;
    Ok(())
}

/// Sends every shipment that was begun, and these batches. Whoever calls it keeps everybody else from sending.
pub(crate) async fn send_all(house: &ClickHouse, pool: &PgPool, batches: &[i64]) -> Result<()> {
    finish_begun(house, pool).await?;
    for some in batches.chunks(BATCHES) {
        loop {
            let mut transaction = begin(pool).await?;
            let is_any = put_together(&mut transaction, Some(some)).await?;
            transaction.commit().await?;
            if !is_any {
                break;
            }
            finish_begun(house, pool).await?;
        }
    }
    Ok(())
}

async fn begin(pool: &PgPool) -> Result<Transaction<'static, Postgres>> {
    let mut transaction = pool.begin_with(BEGIN).await?;
    sqlx::raw_sql(AssertSqlSafe(format!("SELECT {DURABLE}"))).execute(&mut *transaction).await?;
    Ok(transaction)
}

async fn finish_begun(house: &ClickHouse, pool: &PgPool) -> Result<()> {
    loop {
        let mut transaction = begin(pool).await?;
        let sql = "SELECT id, COALESCE(token::text, id::text) FROM views_shipments ORDER BY id LIMIT 1 FOR UPDATE";
        let Some(row) = sqlx::query(sql).fetch_optional(&mut *transaction).await? else { return Ok(()) };
        finish(house, &mut transaction, &row).await?;
        transaction.commit().await?;
    }
}

/// Sends a shipment to all tables. When it is answered it is on disk there; done again with the same token it counts once.
#[boxed]
async fn send(nodes: &Nodes, shipment: Shipment, token: String) -> Result<()> {
    let rows = Rows::from(shipment);
    nodes.with(SENDING, |client| rows.insert(client, &token)).await
}
