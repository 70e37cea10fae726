use copydesk_domain::Timestamp;

use crate::conn::{Conn, Dialect, Result, values};
use crate::error::StoreError;

/// Every schema there has been, oldest first. What is here is never edited once released; a change is a new line.
const MIGRATIONS: &[(i64, &str, &str)] = &[
    (1, "foundation", include_str!("../migrations/0001_foundation.sql")),
    (2, "agent jobs", include_str!("../migrations/0002_agent_jobs.sql")),
    (3, "page views", include_str!("../migrations/0003_page_views.sql")),
    (4, "code hosts", include_str!("../migrations/0004_code_hosts.sql")),
    (5, "pull requests", include_str!("../migrations/0005_pull_requests.sql")),
    (6, "webhooks", include_str!("../migrations/0006_webhooks.sql")),
    (7, "secrets", include_str!("../migrations/0007_secrets.sql")),
    (8, "write_paths", include_str!("../migrations/0008_write_paths.sql")),
    (9, "waiting", include_str!("../migrations/0009_waiting.sql")),
    (10, "people", include_str!("../migrations/0010_people.sql")),
    (11, "not done", include_str!("../migrations/0011_not_done.sql")),
    (12, "pull words", include_str!("../migrations/0012_pull_words.sql")),
    (13, "browsers", include_str!("../migrations/0013_browsers.sql")),
    (14, "asks", include_str!("../migrations/0014_asks.sql")),
    (15, "job cost", include_str!("../migrations/0015_job_cost.sql")),
    (16, "sources", include_str!("../migrations/0016_sources.sql")),
    (17, "dormancy", include_str!("../migrations/0017_dormancy.sql")),
    (18, "more events", include_str!("../migrations/0018_more_events.sql")),
    (19, "of jobs", include_str!("../migrations/0019_of_jobs.sql")),
    (20, "lanes", include_str!("../migrations/0020_lanes.sql")),
    (21, "runs from", include_str!("../migrations/0021_runs_from.sql")),
    (22, "out of time", include_str!("../migrations/0022_out_of_time.sql")),
    (23, "moving", include_str!("../migrations/0023_moving.sql")),
    (24, "turns", include_str!("../migrations/0024_turns.sql")),
    (25, "without pull requests", include_str!("../migrations/0025_without_pull_requests.sql")),
    (26, "leases", include_str!("../migrations/0026_leases.sql")),
];

/// The oldest version whose programs run on [`KNOWN`]: all that came since only adds what they need not know.
const RUNS_FROM: i64 = 21;

/// The newest schema version this program knows.
pub(crate) const KNOWN: i64 = MIGRATIONS[MIGRATIONS.len() - 1].0;

/// Brings the database to [`KNOWN`] and says which versions were added.
pub(crate) async fn migrate(c: &mut dyn Conn, now: Timestamp) -> Result<Vec<i64>> {
    hold_schema(c).await?;
    let table = in_dialect(
        "CREATE TABLE IF NOT EXISTS schema_versions (version {int} PRIMARY KEY, name TEXT NOT NULL, applied_at {int} NOT NULL) {strict}",
        c.dialect(),
    );
    c.batch(table.into()).await?;
    let found = newest(c).await?;
    if found > KNOWN {
        check_newer(c, found).await?;
        return Ok(Vec::new());
    }
    let mut added = Vec::new();
    for (version, name, sql) in MIGRATIONS.iter().filter(|(version, ..)| *version > found) {
        c.batch(in_dialect(sql, c.dialect()).into()).await?;
        let row = values![*version, *name, now];
        c.run("INSERT INTO schema_versions (version, name, applied_at) VALUES ($1, $2, $3)", row).await?;
        added.push(*version);
    }
    if !added.is_empty() {
        c.run("UPDATE schema_versions SET runs_from = $1 WHERE version = $2", values![RUNS_FROM, KNOWN]).await?;
    }
    Ok(added)
}

/// Says whether this program runs on a database that a newer one has made.
async fn check_newer(c: &mut dyn Conn, found: i64) -> Result<()> {
    let sql = "SELECT runs_from FROM schema_versions WHERE version = $1";
    let runs_from: Option<Option<i64>> = c.row(sql, values![found]).await?;
    match runs_from.flatten() {
        Some(oldest) if oldest <= KNOWN => Ok(()),
        _ => Err(StoreError::Newer { found, known: KNOWN }),
    }
}

/// Those who would change the schema at once wait for each other here; the lock goes with the transaction.
pub(crate) async fn hold_schema(c: &mut dyn Conn) -> Result<()> {
    if c.dialect() == Dialect::Postgres {
        c.exists("SELECT 1 FROM (SELECT pg_advisory_xact_lock(8245113406)) AS held", vec![]).await?;
    }
    Ok(())
}

/// Says whether this program runs on the database.
pub(crate) async fn check(c: &mut dyn Conn) -> Result<()> {
    match check_exact(c).await {
        Err(StoreError::Newer { found, .. }) => check_newer(c, found).await,
        checked => checked,
    }
}

/// Says whether the database has the schema of this program and no newer one, for what must know every table.
pub(crate) async fn check_exact(c: &mut dyn Conn) -> Result<()> {
    let tables = match c.dialect() {
        Dialect::Sqlite => "SELECT count(*) FROM sqlite_master WHERE name = 'schema_versions'",
        Dialect::Postgres => {
            "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'schema_versions'"
        }
    };
    let made = c.only_row::<i64>(tables, vec![]).await? > 0;
    let found = if made { newest(c).await? } else { 0 };
    match found {
        KNOWN => Ok(()),
        found if found > KNOWN => Err(StoreError::Newer { found, known: KNOWN }),
        found => Err(StoreError::Older { found, known: KNOWN }),
    }
}

/// Whether there is no table at all.
pub(crate) async fn is_blank(c: &mut dyn Conn) -> Result<bool> {
    let tables = match c.dialect() {
        Dialect::Sqlite => "SELECT count(*) FROM sqlite_master",
        Dialect::Postgres => "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()",
    };
    Ok(c.only_row::<i64>(tables, vec![]).await? == 0)
}

/// Says whether the database takes writes. On SQLite a transaction that may write has to begin for this to be called, and
/// that fails on a file that may only be read.
pub(crate) async fn check_writable(c: &mut dyn Conn) -> Result<()> {
    let sql = match c.dialect() {
        Dialect::Sqlite => "SELECT 'off'",
        Dialect::Postgres => "SELECT current_setting('transaction_read_only')",
    };
    let only_read: String = c.only_row(sql, vec![]).await?;
    if only_read == "on" { Err(StoreError::Unreachable("the database takes no writes".to_owned())) } else { Ok(()) }
}

pub(crate) async fn newest(c: &mut dyn Conn) -> Result<i64> {
    c.only_row("SELECT COALESCE(MAX(version), 0) FROM schema_versions", vec![]).await
}

fn in_dialect(sql: &str, dialect: Dialect) -> String {
    let words = match dialect {
        Dialect::Sqlite => [("{int}", "INTEGER"), ("{id}", "TEXT"), ("{bytes}", "BLOB"), ("{strict}", "STRICT")],
        // The C collation compares bytes, as SQLite does; ids sort by age only that way.
        Dialect::Postgres => {
            [("{int}", "BIGINT"), ("{id}", "TEXT COLLATE \"C\""), ("{bytes}", "BYTEA"), ("{strict}", "")]
        }
    };
    words.iter().fold(sql.to_owned(), |sql, (from, to)| sql.replace(from, to))
}
