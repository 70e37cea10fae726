//! Sending what waits in the ledger on to ClickHouse. Any process may: batches and shipments that another one has in hand are
//! passed over, and those of a process that has died are free the moment its connection is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use copydesk_boxed::boxed;
use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, PgConnection, PgPool, Row as _};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::ClickHouse;
use super::nodes::Nodes;
use super::shipment::{Rows, Shipment};
use crate::error::Result;

/// Batches that are sent together at most, and after how many bytes, packed, no more are added: they take a hundred times
/// that while they are sorted.
const BATCHES: i64 = 1000;
const BYTES: i64 = 1 << 20;
/// Batches that are sent together where all are named.
const A_FEW: usize = 200;
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
        let sent = ship(&house, &pool).await;
        match &sent {
            Ok(sent) => {
                if *sent && !is_well {
                    is_well = true;
                    tracing::info!("page views go to ClickHouse again");
                }
                house.arrived.notify_waiters();
            }
            Err(fault) => {
                if is_well {
                    tracing::warn!(%fault, "page views wait in the database: they cannot be sent to ClickHouse now");
                }
                is_well = false;
                // The tables may have been missing, if it was away when this process began.
                if let Err(fault) = house.prepare(looks).await {
                    tracing::debug!(%fault, "ClickHouse is not ready");
                }
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
async fn ship(house: &ClickHouse, pool: &PgPool) -> Result<bool> {
    loop {
        let mut transaction = pool.begin_with(BEGIN).await?;
        // Whoever copies all of it waits until nothing is on its way.
        let sql = format!("SELECT pg_advisory_xact_lock_shared({LOCK})");
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *transaction).await?;
        // The row is held while it is sent, so that nobody else sends it meanwhile, and no longer if this process dies.
        let left = "SELECT id FROM views_shipments ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED";
        if let Some(row) = sqlx::query(left).fetch_optional(&mut *transaction).await? {
            finish(house, &mut transaction, row.try_get(0)?).await?;
            transaction.commit().await?;
            return Ok(true);
        }
        // What belongs together is written down before any of it is sent: whoever sends it again sends the same.
        let taken = sqlx::query(
            "WITH waiting AS MATERIALIZED (\
               SELECT id, octet_length(cells) AS bytes FROM views_batches WHERE shipment IS NULL \
               ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED), \
             taken AS (SELECT id FROM (SELECT id, SUM(bytes) OVER (ORDER BY id) - bytes AS before FROM waiting) AS w \
               WHERE before <= $2), \
             shipment AS (INSERT INTO views_shipments SELECT WHERE EXISTS (SELECT FROM taken) RETURNING id) \
             UPDATE views_batches SET shipment = shipment.id FROM shipment \
             WHERE views_batches.id IN (SELECT id FROM taken)",
        )
        .bind(BATCHES)
        .bind(BYTES)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        if taken.rows_affected() == 0 {
            return Ok(false);
        }
    }
}

/// Sends a shipment and takes its batches out of the ledger. Whoever calls it is the only one to have it in hand.
async fn finish(house: &ClickHouse, connection: &mut PgConnection, id: i64) -> Result<()> {
    let mut shipment = Shipment::default();
    let sql = "SELECT project, cells FROM views_batches WHERE shipment = $1";
    for row in sqlx::query(sql).bind(id).fetch_all(&mut *connection).await? {
        shipment.add_batch(&row)?;
    }
    send(&house.nodes, shipment, format!("{}/{id}", house.ledger)).await?;
    let sql = "DELETE FROM views_batches WHERE shipment = $1";
    sqlx::query(sql).bind(id).execute(&mut *connection).await?;
    sqlx::query("DELETE FROM views_shipments WHERE id = $1").bind(id).execute(connection).await?;
    Ok(())
}

/// Sends every shipment that was begun, and these batches. Whoever calls it keeps everybody else from sending.
pub(crate) async fn send_all(house: &ClickHouse, pool: &PgPool, batches: &[i64]) -> Result<()> {
    finish_begun(house, pool).await?;
    for some in batches.chunks(A_FEW) {
        let sql = "WITH shipment AS (INSERT INTO views_shipments DEFAULT VALUES RETURNING id) \
                   UPDATE views_batches SET shipment = shipment.id FROM shipment \
                   WHERE views_batches.id = ANY ($1) AND views_batches.shipment IS NULL";
        sqlx::query(sql).bind(some).execute(pool).await?;
        finish_begun(house, pool).await?;
    }
    Ok(())
}

async fn finish_begun(house: &ClickHouse, pool: &PgPool) -> Result<()> {
    loop {
        let mut transaction = pool.begin_with(BEGIN).await?;
        let sql = "SELECT id FROM views_shipments ORDER BY id LIMIT 1 FOR UPDATE";
        let Some(row) = sqlx::query(sql).fetch_optional(&mut *transaction).await? else { return Ok(()) };
        finish(house, &mut transaction, row.try_get(0)?).await?;
        transaction.commit().await?;
    }
}

/// Sends a shipment to all tables. When it is answered it is on disk there; done again with the same token it counts once.
#[boxed]
async fn send(nodes: &Nodes, shipment: Shipment, token: String) -> Result<()> {
    let rows = Rows::from(shipment);
    nodes.with(SENDING, |client| rows.insert(client, &token)).await
}
