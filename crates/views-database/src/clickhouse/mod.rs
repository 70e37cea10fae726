//! Counting in ClickHouse, behind the ledger in PostgreSQL: what an append commits there ([`batches`]) is sent on with a token
//! by which ClickHouse knows what it has already ([`ship`]). Names, verdicts, floors, ids and marks stay in the ledger, so that
//! judging history again changes a row there and nothing here.

pub(crate) mod batches;
mod nodes;
mod page_names;
mod rows;
mod ship;
mod shipment;
mod tables;

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use copydesk_domain::{Clock, new_id};
use sqlx::postgres::PgConnectOptions;
use sqlx::{PgPool, Row};
use tokio::sync::Notify;

use crate::error::{Fault, Result};
use nodes::Nodes;
use page_names::PageNames;

pub use nodes::ClickHouseAddress;
pub(crate) use ship::{LOCK, Shipping, send_all};
pub(crate) use shipment::{Rows, Shipment};

/// How ClickHouse is used.
#[derive(Debug, Clone)]
pub struct ClickHouseOptions {
    pub address: ClickHouseAddress,
    /// How long what was counted is collected before it is sent, unless somebody asks.
    pub collects: Duration,
    /// How long a question waits for what was counted before it.
    pub patience: Duration,
}

impl ClickHouseOptions {
    pub fn new(address: ClickHouseAddress) -> Self {
        Self { address, collects: Duration::from_millis(250), patience: Duration::from_secs(5) }
    }
}

/// Where page views are counted, if it is not in the database itself.
pub(crate) struct ClickHouse {
    pub(crate) nodes: Nodes,
    pub(super) cluster: Option<String>,
    /// By what ClickHouse knows the ledger.
    pub(super) ledger: String,
    pub(crate) pages: PageNames,
    pub(crate) options: ClickHouseOptions,
    /// Of the ledger, for those who need a connection of their own.
    pub(crate) address: PgConnectOptions,
    /// The tables were seen to.
    is_ready: AtomicBool,
    /// Projects, and the month before which nothing is left of each.
    looked: Mutex<HashMap<i32, i32>>,
    /// Projects of which something was deleted, and the names of whose pages were not looked at since.
    unread: Mutex<BTreeSet<i32>>,
    /// This process has counted something.
    pub(crate) counted: Notify,
    /// Asks for what waits to be sent now.
    pub(crate) wanted: Notify,
    /// Something has arrived.
    pub(crate) arrived: Notify,
}

impl ClickHouse {
    /// Opens it for the ledger of a database; its tables are made if there are none and `makes_tables`.
    pub(crate) async fn open(
        pool: &PgPool,
        address: PgConnectOptions,
        options: ClickHouseOptions,
        makes_tables: bool,
        clock: &dyn Clock,
    ) -> Result<Arc<Self>> {
        let ledger = match known_ledger(pool).await? {
            Some(ledger) => ledger,
            None if makes_tables => new_ledger(pool, &new_id(clock.now())).await?,
            None => {
                return Err(Fault::unavailable(
                    "nothing was counted in ClickHouse yet; a server begins when it starts",
                ));
            }
        };
        let nodes = Nodes::new(&options.address);
        let cluster = options.address.cluster.clone();
        let house = Self {
            nodes,
            cluster,
            ledger,
            pages: PageNames::default(),
            options,
            address,
            is_ready: AtomicBool::new(false),
            looked: Mutex::default(),
            unread: Mutex::default(),
            counted: Notify::new(),
            wanted: Notify::new(),
            arrived: Notify::new(),
        };
        // Views are taken while it is away: the ledger has them.
        match house.prepare(pool, makes_tables).await {
            Err(Fault::Away(why)) if makes_tables => {
                tracing::warn!(%why, "page views are kept in the database until ClickHouse answers");
            }
            prepared => prepared?,
        }
        Ok(Arc::new(house))
    }

    /// Sees to it that the tables are there and the ledger's, unless that was seen to since ClickHouse was last away: until then it
    /// may be another one.
    pub(crate) async fn be_ready(&self, pool: &PgPool, makes_tables: bool) -> Result<()> {
        if self.is_ready.load(Ordering::Relaxed) { Ok(()) } else { self.prepare(pool, makes_tables).await }
    }

    /// Sees to it that the tables are there and the server is one that can be used.
    async fn prepare(&self, pool: &PgPool, makes_tables: bool) -> Result<()> {
        tables::check_version(&self.nodes).await?;
        let sql = "SELECT is_there FROM views_counted_in_clickhouse";
        let row = sqlx::query(sql).fetch_optional(pool).await?;
        let was_there = row.map(|row| row.try_get(0)).transpose()?.unwrap_or(false);
        let place = tables::Place { nodes: &self.nodes, cluster: self.cluster.as_deref(), ledger: &self.ledger };
        match (was_there, makes_tables) {
            (true, _) => place.check().await?,
            (false, true) => {
                place.make().await?;
                sqlx::query("UPDATE views_counted_in_clickhouse SET is_there = TRUE").execute(pool).await?;
            }
            (false, false) => place.take().await?,
        }
        self.is_ready.store(true, Ordering::Relaxed);
        if makes_tables && let Some(logs) = tables::busy_logs(&self.nodes).await.filter(|logs| !logs.is_empty()) {
            tracing::warn!(
                logs = logs.join(", "),
                "ClickHouse keeps logs of its own in tables, which soon take more room than page views; switch them off \
                 with packaging/clickhouse/copydesk.xml"
            );
        }
        Ok(())
    }
}

/// By what ClickHouse knows the ledger of a database; none if page views are counted in the database itself.
pub(crate) async fn known_ledger(pool: &PgPool) -> Result<Option<String>> {
    let row = sqlx::query("SELECT ledger FROM views_counted_in_clickhouse").fetch_optional(pool).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

/// Writes down that page views are counted in ClickHouse from now on, if none were counted yet.
async fn new_ledger(pool: &PgPool, id: &str) -> Result<String> {
    let mut transaction = pool.begin().await?;
    sqlx::raw_sql("LOCK TABLE views_projects IN EXCLUSIVE MODE").execute(&mut *transaction).await?;
    let row = sqlx::query("SELECT EXISTS (SELECT FROM views_projects)").fetch_one(&mut *transaction).await?;
    if row.try_get::<bool, _>(0)? {
        return Err(Fault::unavailable(
            "there are page views in the database that are not in ClickHouse; `copydesk move --to-views clickhouse` moves \
             them, and until then views.store stays \"database\"",
        ));
    }
    sqlx::query("INSERT INTO views_counted_in_clickhouse (ledger) VALUES ($1) ON CONFLICT DO NOTHING")
        .bind(id)
        .execute(&mut *transaction)
        .await?;
    let row = sqlx::query("SELECT ledger FROM views_counted_in_clickhouse").fetch_one(&mut *transaction).await?;
    let ledger = row.try_get(0)?;
    transaction.commit().await?;
    Ok(ledger)
}
