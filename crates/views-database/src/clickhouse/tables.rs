//! The tables in ClickHouse. They are written to directly, one insert a table: behind views that fill them, a server that
//! starts could take an insert before it has loaded them, and what it acknowledged would be missing there.

use clickhouse::Row;
use copydesk_views::store::ViewsError;
use serde::{Deserialize, Serialize};
use std::time::Duration;

use super::nodes::Nodes;
use crate::error::{Fault, Result};

/// The oldest version that is used: before it, what belongs together is not told apart by its token in every table.
const OLDEST: (u32, u32) = (24, 8);
/// The version of the tables.
const SCHEMA: u32 = 1;
/// How long making a table may take, on all servers of a cluster.
const MAKING: Duration = Duration::from_secs(180);

/// A table that is counted in.
pub(super) struct Table {
    pub(super) name: &'static str,
    columns: &'static str,
    order: &'static str,
    /// About a month or a year to a part, as numbers, so that no server's time zone matters.
    partition: Option<&'static str>,
}

/// Views by page and reader, a quarter hour, day and month at a time (all UTC), and of the site as a whole.
pub(super) const TABLES: [Table; 4] = [
    Table {
        name: "views_cells",
        columns: "project UInt32, quarter UInt32 CODEC(Delta, ZSTD), path UInt64 CODEC(Delta, ZSTD), \
                  reader UInt64 CODEC(Delta, ZSTD), n UInt64 CODEC(T64, ZSTD)",
        order: "project, quarter, path, reader",
        partition: Some("intDiv(quarter, 2922)"),
    },
    Table {
        name: "views_days",
        columns: "project UInt32, day UInt32 CODEC(Delta, ZSTD), reader UInt64 CODEC(Delta, ZSTD), \
                  path UInt64 CODEC(Delta, ZSTD), n UInt64 CODEC(T64, ZSTD)",
        // By reader first: which of them count is looked up once for many rows, which takes half the time and less disk.
        order: "project, day, reader, path",
        partition: Some("intDiv(day, 366)"),
    },
    Table {
        name: "views_months",
        columns: "project UInt32, month UInt32 CODEC(Delta, ZSTD), reader UInt64 CODEC(Delta, ZSTD), \
                  path UInt64 CODEC(Delta, ZSTD), n UInt64 CODEC(T64, ZSTD)",
        order: "project, month, reader, path",
        partition: None,
    },
    Table {
        name: "views_site",
        columns: "project UInt32, quarter UInt32 CODEC(Delta, ZSTD), reader UInt64 CODEC(Delta, ZSTD), \
                  n UInt64 CODEC(T64, ZSTD)",
        order: "project, quarter, reader",
        partition: Some("intDiv(quarter, 35064)"),
    },
];

/// The table that says whose the others are.
const LEDGER: &str = "views_ledger";

/// So many blocks back in each table, one is known again. Whoever sends begins with what was not acknowledged, and others may
/// send some hundred shipments meanwhile; one of very old logs is a block for each of its months.
const KNOWN_AGAIN: u32 = 100_000;

#[derive(Debug, Row, Serialize, Deserialize)]
struct Version {
    version: String,
}

#[derive(Debug, Row, Serialize, Deserialize)]
struct Ledger {
    id: String,
    schema: u32,
}

#[derive(Debug, Row, Serialize, Deserialize)]
struct Name {
    name: String,
}

/// Refuses a server that is too old.
pub(super) async fn check_version(nodes: &Nodes) -> Result<()> {
    let found: Vec<Version> = nodes.hello("SELECT version() AS version").await?;
    let said = found.first().map_or("", |row| row.version.as_str());
    let mut parts = said.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let version = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    if version < OLDEST {
        let (major, minor) = OLDEST;
        return Err(Fault::unavailable(format!(
            "the ClickHouse server has the version {said}; page views need {major}.{minor} or newer"
        )));
    }
    Ok(())
}

/// Where the tables are, and the only ledger that may count there.
pub(super) struct Place<'a> {
    pub(super) nodes: &'a Nodes,
    pub(super) cluster: Option<&'a str>,
    pub(super) ledger: &'a str,
}

impl Place<'_> {
    /// The tables that there should be and are not.
    async fn missing(&self) -> Result<Vec<&'static str>> {
        let sql = "SELECT name FROM system.tables WHERE database = currentDatabase()";
        let there: Vec<Name> = self.nodes.rows(sql).await?;
        let all = TABLES.iter().map(|table| table.name).chain([LEDGER]);
        Ok(all.filter(|table| !there.iter().any(|row| row.name == *table)).collect())
    }

    /// Makes the tables that are missing, of a ledger that has counted nothing there yet. Done by several at once or ended in the
    /// middle, the next one goes on.
    pub(super) async fn make(&self) -> Result<()> {
        // Looked at first: on a cluster of which a server is away, making tables takes minutes, and fails.
        if !self.missing().await?.is_empty() {
            self.make_ledger().await?;
            // Nothing is made in the database of another one.
            if ledgers(self.nodes).await?.iter().any(|row| row.id != self.ledger) {
                return Err(another());
            }
            self.make_counts().await?;
        }
        owned(self.nodes, self.ledger, true).await
    }

    /// Takes tables that are there and were left.
    pub(super) async fn take(&self) -> Result<()> {
        if !self.missing().await?.is_empty() {
            return Err(Fault::Away("the tables in ClickHouse are not made yet; a server does that".to_owned()));
        }
        owned(self.nodes, self.ledger, true).await
    }

    /// Looks whether the tables of a ledger that has counted there are still what it has left. They are never made anew: empty
    /// ones would answer as if there had been no views.
    pub(super) async fn check(&self) -> Result<()> {
        let missing = self.missing().await?;
        // A server of a cluster that comes anew gets what the others have. The ledger comes last, so that this goes on if it was
        // ended in the middle.
        if self.cluster.is_some() && missing.contains(&LEDGER) {
            self.make_counts().await?;
            // Without this it could answer before it has fetched everything.
            for Table { name, .. } in TABLES {
                self.nodes.execute(&format!("SYSTEM SYNC REPLICA {name}_local"), MAKING).await?;
            }
            self.make_ledger().await?;
            self.nodes.execute(&format!("SYSTEM SYNC REPLICA {LEDGER}"), MAKING).await?;
        } else if let Some(table) = missing.first() {
            return Err(gone(&format!("there is no table {table}")));
        }
        owned(self.nodes, self.ledger, false).await
    }

    fn everywhere(&self) -> String {
        self.cluster.map(|cluster| format!(" ON CLUSTER '{cluster}'")).unwrap_or_default()
    }

    async fn make_ledger(&self) -> Result<()> {
        let (database, on) = (self.nodes.database(), self.everywhere());
        let engine = match self.cluster {
            None => "MergeTree".to_owned(),
            // One for all servers, whatever part of the views they have.
            Some(_) => {
                format!("ReplicatedMergeTree('/clickhouse/copydesk/{database}/views_ledger', '{{replica}}-{{shard}}')")
            }
        };
        let sql =
            format!("CREATE TABLE IF NOT EXISTS {LEDGER}{on} (id String, schema UInt32) ENGINE = {engine} ORDER BY id");
        self.nodes.execute(&sql, MAKING).await
    }

    async fn make_counts(&self) -> Result<()> {
        let (database, on) = (self.nodes.database(), self.everywhere());
        for table in TABLES {
            let Table { name, columns, order, partition } = table;
            let partition = partition.map(|by| format!(" PARTITION BY {by}")).unwrap_or_default();
            let synced = "fsync_after_insert = 1, fsync_part_directory = 1";
            let sql = match self.cluster {
                None => format!(
                    "CREATE TABLE IF NOT EXISTS {name} ({columns}) ENGINE = SummingMergeTree(n){partition} ORDER BY ({order}) \
                     SETTINGS non_replicated_deduplication_window = {KNOWN_AGAIN}, {synced}"
                ),
                Some(_) => format!(
                    "CREATE TABLE IF NOT EXISTS {name}_local{on} ({columns}) ENGINE = \
                     ReplicatedSummingMergeTree('/clickhouse/copydesk/{database}/{{shard}}/{name}', '{{replica}}', n){partition} \
                     ORDER BY ({order}) SETTINGS replicated_deduplication_window = {KNOWN_AGAIN}, \
                     replicated_deduplication_window_seconds = 2592000, {synced}"
                ),
            };
            self.nodes.execute(&sql, MAKING).await?;
            if let Some(cluster) = self.cluster {
                // All views of a project are on one shard.
                let sql = format!(
                    "CREATE TABLE IF NOT EXISTS {name}{on} AS {name}_local \
                     ENGINE = Distributed('{cluster}', currentDatabase(), '{name}_local', project)"
                );
                self.nodes.execute(&sql, MAKING).await?;
            }
        }
        Ok(())
    }
}

fn gone(what: &str) -> Fault {
    Fault::unavailable(format!(
        "ClickHouse does not have the page views that were counted there ({what}): name the right database in \
         views.clickhouse_url, or restore ClickHouse or a backup of Copydesk"
    ))
}

async fn ledgers(nodes: &Nodes) -> Result<Vec<Ledger>> {
    nodes.rows("SELECT id, schema FROM views_ledger ORDER BY id").await
}

fn another() -> Fault {
    Fault::unavailable(
        "the ClickHouse database has page views of another installation: name another database in views.clickhouse_url",
    )
}

/// Looks whether the tables are those of a ledger. If they are nobody's it may take them, unless it had some before.
async fn owned(nodes: &Nodes, ledger: &str, takes: bool) -> Result<()> {
    let mut found = ledgers(nodes).await?;
    if found.is_empty() && takes {
        let sql = format!("INSERT INTO views_ledger (id, schema) VALUES ('{ledger}', {SCHEMA})");
        nodes.execute(&sql, MAKING).await?;
        found = ledgers(nodes).await?;
    } else if found.is_empty() {
        return Err(gone("its tables belong to nobody"));
    }
    if found.iter().any(|row| row.id != ledger) {
        return Err(another());
    }
    match found.iter().map(|row| row.schema).max() {
        Some(newer) if newer > SCHEMA => Err(Fault::Views(ViewsError::Damaged(format!(
            "the tables in ClickHouse have the schema {newer}, and this program knows {SCHEMA}: a newer Copydesk has used them"
        )))),
        Some(_) => Ok(()),
        None => Err(Fault::unavailable("ClickHouse does not show what was just written there; try again")),
    }
}

/// Logs of the server itself that are written to, which soon take more room than page views. None if it may not be asked.
pub(super) async fn busy_logs(nodes: &Nodes) -> Option<Vec<String>> {
    let found: Result<Vec<Name>> = nodes
        .rows(
            "SELECT DISTINCT table AS name FROM system.parts WHERE database = 'system' AND table LIKE '%\\_log' AND level = 0 \
             AND modification_time > now() - toIntervalSecond(least(60, uptime())) ORDER BY name",
        )
        .await;
    Some(found.ok()?.into_iter().map(|row| row.name).collect())
}
