//! A whole database as one file, whatever kind it is, and back.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use copydesk_domain::Clock;
use futures_util::TryStreamExt;
use rusqlite::{Connection, OpenFlags};
use sqlx::AssertSqlSafe;
use tokio::sync::mpsc;

use crate::conn::{Conn, Result};
use crate::connections::{Transaction, no_answer, unless};
use crate::error::StoreError;
use crate::migrate;
use crate::postgres::{PgConn, Postgres, commit, values_of};
use crate::rows::{self, Chunk, Table};
use crate::sqlite::{SqliteConn, create_private};

/// Chunks that wait for whoever writes them.
const WAITING: usize = 4;
/// What PostgreSQL takes with one statement, and a bit less.
const MOST_PARAMETERS: usize = 60_000;
/// Faults of a file that are told.
const MOST_FAULTS: usize = 20;

/// What is in a file that [`crate::Store::backup`] made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub schema: i64,
    /// How many rows every table has.
    pub rows: BTreeMap<String, u64>,
    /// What is wrong with it, as the database finds it.
    pub faults: Vec<String>,
}

impl Snapshot {
    /// The newest schema that this program knows.
    pub const KNOWN_SCHEMA: i64 = migrate::KNOWN;
}

/// Reads a file of that kind and checks all of it. It takes a while, and nothing is written.
pub fn look_at_snapshot(file: &Path) -> Result<Snapshot> {
    let connection = rows::open_still(file)?;
    let mut faults = Vec::new();
    let mut statement = connection.prepare(&format!("PRAGMA integrity_check({MOST_FAULTS})"))?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        let fault: String = row.get(0)?;
        faults.extend((fault != "ok").then_some(fault));
    }
    let mut statement = connection.prepare("SELECT \"table\", parent FROM pragma_foreign_key_check LIMIT 20")?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        let (table, parent): (String, String) = (row.get(0)?, row.get(1)?);
        faults.push(format!("a row of {table} refers to one of {parent} that is not there"));
    }
    let mut counts = BTreeMap::new();
    for table in rows::tables(&connection)? {
        let count: i64 = connection.query_row(&format!("SELECT count(*) FROM {}", table.name), [], |row| row.get(0))?;
        counts.insert(table.name, u64::try_from(count).unwrap_or(0));
    }
    let schema = connection.query_row("SELECT COALESCE(MAX(version), 0) FROM schema_versions", [], |row| row.get(0))?;
    Ok(Snapshot { schema, rows: counts, faults })
}

pub(crate) async fn count(c: &mut dyn Conn, tables: Vec<Table>) -> Result<BTreeMap<String, u64>> {
    let parts: Vec<String> =
        tables.iter().map(|table| format!("SELECT '{0}', count(*) FROM {0}", table.name)).collect();
    let counted: Vec<(String, u64)> = c.rows(parts.join(" UNION ALL "), vec![]).await?;
    Ok(counted.into_iter().collect())
}

/// Copies a database of PostgreSQL, as it is at one moment, into a new file.
pub(crate) async fn from_postgres(postgres: &Postgres, file: PathBuf, clock: Arc<dyn Clock>) -> Result<()> {
    let tables = Arc::new(rows::tables_of_schema(clock.clone())?);
    let (send, receive) = mpsc::channel(WAITING);
    let writing = {
        let (tables, clock) = (tables.clone(), clock.clone());
        tokio::task::spawn_blocking(move || write_file(&file, &tables, clock, receive))
    };
    let read = read_postgres(postgres, &tables, &*clock, send).await;
    let written = writing.await.map_err(|error| StoreError::Refused(error.to_string()))?;
    // Whoever stops first says why.
    let (read, written) = (read?, written?);
    if read == written {
        return Ok(());
    }
    Err(StoreError::Refused(format!("{read} rows were read and {written} written")))
}

/// Sends all rows and says how many there were.
async fn read_postgres(
    postgres: &Postgres,
    tables: &[Table],
    clock: &dyn Clock,
    send: mpsc::Sender<Chunk>,
) -> Result<u64> {
    let mut transaction = postgres.begin_at_leisure().await?;
    let gone = transaction.gone();
    unless(gone, send_rows(&mut transaction, tables, clock, send)).await.ok_or_else(no_answer)?
}

async fn send_rows(
    transaction: &mut Transaction,
    tables: &[Table],
    clock: &dyn Clock,
    send: mpsc::Sender<Chunk>,
) -> Result<u64> {
    // All tables as they are at the moment of the first look.
    let one_moment = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";
    sqlx::raw_sql(one_moment).execute(&mut **transaction).await?;
    migrate::check_exact(&mut PgConn::new(transaction, clock)).await?;
    let mut count = 0;
    for (at, table) in tables.iter().enumerate() {
        let mut rows = sqlx::query(AssertSqlSafe(table.select())).fetch(&mut **transaction);
        let mut chunk = Chunk::of(at);
        while let Some(row) = rows.try_next().await? {
            chunk.push(values_of(&row)?);
            count += 1;
            if chunk.is_full() && send.send(std::mem::replace(&mut chunk, Chunk::of(at))).await.is_err() {
                return Ok(count);
            }
        }
        if !chunk.rows.is_empty() && send.send(chunk).await.is_err() {
            return Ok(count);
        }
    }
    Ok(count)
}

fn write_file(file: &Path, tables: &[Table], clock: Arc<dyn Clock>, mut receive: mpsc::Receiver<Chunk>) -> Result<u64> {
    create_private(file)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    // A file that was not finished is thrown away, so that there is nothing to roll back, and it is synced at the end.
    connection.pragma_update(None, "journal_mode", "OFF")?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.pragma_update(None, "foreign_keys", false)?;
    let mut conn = SqliteConn::new(connection, clock);
    conn.connection.execute_batch("BEGIN")?;
    rows::make_schema(&mut conn)?;
    conn.connection.execute_batch("DELETE FROM schema_versions")?;
    let mut count = 0;
    while let Some(chunk) = receive.blocking_recv() {
        let mut statement = conn.connection.prepare_cached(&tables[chunk.table].insert(1))?;
        for row in &chunk.rows {
            statement.execute(rusqlite::params_from_iter(row))?;
            count += 1;
        }
    }
    conn.connection.execute_batch("COMMIT")?;
    drop(conn);
    let synced = std::fs::File::open(file).and_then(|file| file.sync_all());
    synced.map_err(|error| StoreError::Unreachable(format!("{}: {error}", file.display())))?;
    Ok(count)
}

/// Fills a blank database of PostgreSQL with the rows of a file, in one transaction.
pub(crate) async fn into_postgres(postgres: &Postgres, file: PathBuf, clock: Arc<dyn Clock>) -> Result<()> {
    let tables = Arc::new(rows::tables_of_schema(clock.clone())?);
    let (send, receive) = mpsc::channel(WAITING);
    let reading = {
        let tables = tables.clone();
        tokio::task::spawn_blocking(move || {
            check_schema(&file)?;
            rows::read(&file, &tables, |chunk| send.blocking_send(chunk).is_ok())
        })
    };
    let mut transaction = postgres.begin_at_leisure().await?;
    // A transaction that is dropped is rolled back.
    let gone = transaction.gone();
    let filled = unless(gone, fill(&mut PgConn::new(&mut transaction, &*clock), &tables, receive)).await;
    let filled = filled.unwrap_or_else(|| Err(no_answer().into()));
    let read = reading.await.map_err(|error| StoreError::Refused(error.to_string()))?;
    read.and(filled)?;
    commit(transaction).await
}

/// Rows fit only into the tables that they come from.
fn check_schema(file: &Path) -> Result<()> {
    let connection = rows::open_still(file)?;
    let found = connection.query_row("SELECT MAX(version) FROM schema_versions", [], |row| row.get(0))?;
    let known = migrate::KNOWN;
    if found == known { Ok(()) } else { Err(StoreError::Older { found, known }) }
}

async fn fill(c: &mut PgConn<'_>, tables: &[Table], mut receive: mpsc::Receiver<Chunk>) -> Result<()> {
    let conn: &mut dyn Conn = c;
    // Before the look, so that nobody makes tables meanwhile.
    migrate::hold_schema(conn).await?;
    if !migrate::is_blank(conn).await? {
        return Err(StoreError::Refused("there is something in the database already".to_owned()));
    }
    let now = conn.now();
    migrate::migrate(conn, now).await?;
    conn.run("DELETE FROM schema_versions", vec![]).await?;
    while let Some(chunk) = receive.recv().await {
        let table = &tables[chunk.table];
        let most = (MOST_PARAMETERS / table.columns.len()).max(1);
        let mut rows = chunk.rows.into_iter().peekable();
        while rows.peek().is_some() {
            let some: Vec<_> = rows.by_ref().take(most).collect();
            let sql = table.insert(some.len());
            conn.run(sql, some.into_iter().flatten().collect()).await?;
        }
    }
    Ok(())
}
