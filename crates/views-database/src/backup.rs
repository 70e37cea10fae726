//! A copy of all page views as files, and back: one a table, as the database writes its rows, packed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use futures_util::StreamExt;
use sqlx::{AssertSqlSafe, PgConnection, Row};
use tokio::sync::mpsc;

use crate::clickhouse_calls::copy::Moment;
use crate::database::Database;
use crate::error::{Fault, Result};
use crate::schema;

/// Says which schema the rows are of.
const HEAD: &str = "database.json";
/// The table with the views of the site as a whole, which are counted by it.
const SITE: &str = "views_site";
const PROJECTS: &str = "views_projects";
/// Bytes that are read from a file at once.
const CHUNK: usize = 1 << 18;
/// Chunks that wait for whoever writes them.
const WAITING: usize = 8;

/// The tables with their columns, in the order in which they are written.
const TABLES: [(&str, &str); 13] = [
    (PROJECTS, "id, name, epoch, script_since, server_since, floor, moves, wish"),
    ("views_time", "only_row, now"),
    ("views_paths", "id, project, path"),
    ("views_readers", "id, project, digest, facts, verdict, called, side"),
    ("views_ids", "project, id, arrived"),
    ("views_cells", "project, quarter, path, reader, n"),
    ("views_days", "project, day, path, hs, hv, ms, mv"),
    ("views_months", "project, month, path, hs, hv, ms, mv"),
    ("views_machine_days", "project, day, path, reader, n"),
    ("views_machine_months", "project, month, path, reader, n"),
    (SITE, "project, quarter, reader, n"),
    ("views_marks", "id, project, log, digest, place, mark"),
    ("views_lines", "id, project, log, first, prints"),
];
/// Tables that ClickHouse has instead, if it counts: quarter hours and the site are copied from there, the others follow from
/// these.
const COUNTED: [&str; 6] = [CELLS, "views_days", "views_months", "views_machine_days", "views_machine_months", SITE];
const CELLS: &str = "views_cells";
/// Tables that number their rows.
const NUMBERED: [&str; 5] = [PROJECTS, "views_paths", "views_readers", "views_marks", "views_lines"];

fn file_of(folder: &Path, table: &str) -> PathBuf {
    folder.join(format!("{table}.zst"))
}

fn told(path: &Path, error: &io::Error) -> Fault {
    Fault::unavailable(format!("{}: {error}", path.display()))
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Head {
    schema: i64,
    #[serde(default)]
    clickhouse: bool,
}

/// Whether page views in a folder are a copy from a database.
pub fn is_backup(folder: &Path) -> bool {
    folder.join(HEAD).is_file()
}

/// Copies everything as it is at one moment into a folder that must not exist yet.
pub(crate) async fn backup(database: &Database, folder: &Path) -> Result<()> {
    let (mut transaction, quiet) = match &database.clickhouse {
        None => (database.look().await?, None),
        Some(house) => {
            let Moment { ledger, quiet } = Moment::begin(database, house).await?;
            (ledger, Some((house, quiet)))
        }
    };
    schema::check_exact(&mut transaction).await?;
    std::fs::create_dir(folder).map_err(|error| told(folder, &error))?;
    // Copying all of it may take as long as it takes.
    sqlx::raw_sql("SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0")
        .execute(&mut *transaction)
        .await?;
    let projects = sqlx::query("SELECT id FROM views_projects ORDER BY id").fetch_all(&mut *transaction).await?;
    let projects: Vec<i32> = projects.iter().map(|row| row.try_get(0)).collect::<sqlx::Result<_>>()?;
    for (table, columns) in TABLES {
        // Rows of projects that were removed may still be there; they are nobody's.
        let condition = match table {
            PROJECTS => "",
            "views_time" => "",
            _ => " WHERE project IN (SELECT id FROM views_projects)",
        };
        if quiet.is_some() && COUNTED.contains(&table) && table != CELLS && table != SITE {
            continue;
        }
        let path = file_of(folder, table);
        let (send, receive) = mpsc::channel(WAITING);
        let writing = tokio::task::spawn_blocking({
            let path = path.clone();
            move || write_file(&path, receive)
        });
        let copied = match &quiet {
            Some((house, _)) if COUNTED.contains(&table) => house.copy_out(table, columns, &projects, &send).await,
            _ => {
                let sql = format!("COPY (SELECT {columns} FROM {table}{condition}) TO STDOUT");
                copy_table(&mut transaction, &sql, &send).await
            }
        };
        drop(send);
        let written = writing.await.map_err(|error| Fault::unavailable(error.to_string()))?;
        copied?;
        written.map_err(|error| told(&path, &error))?;
    }
    let head = Head { schema: schema::KNOWN, clickhouse: quiet.is_some() };
    if let Some((_, quiet)) = quiet {
        quiet.end().await?;
    }
    let head = serde_json::to_vec(&head).map_err(|error| Fault::unavailable(error.to_string()))?;
    let path = folder.join(HEAD);
    let written = File::create_new(&path).and_then(|mut file| file.write_all(&head).and_then(|()| file.sync_all()));
    written.map_err(|error| told(&path, &error))
}

async fn copy_table(connection: &mut PgConnection, sql: &str, send: &mpsc::Sender<Vec<u8>>) -> Result<()> {
    let mut rows = connection.copy_out_raw(sql).await?;
    while let Some(chunk) = rows.next().await {
        // Whoever writes has stopped, and says why.
        if send.send(chunk?.to_vec()).await.is_err() {
            break;
        }
    }
    Ok(())
}

fn write_file(path: &Path, mut receive: mpsc::Receiver<Vec<u8>>) -> io::Result<()> {
    let mut out = zstd::Encoder::new(BufWriter::new(File::create_new(path)?), 3)?;
    out.include_checksum(true)?;
    while let Some(chunk) = receive.blocking_recv() {
        out.write_all(&chunk)?;
    }
    out.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

/// Fills tables that are empty with the rows of a copy, all or none.
pub(crate) async fn fill(database: &Database, folder: &Path) -> Result<()> {
    let path = folder.join(HEAD);
    let text = std::fs::read(&path).map_err(|error| told(&path, &error))?;
    let head: Head = serde_json::from_slice(&text).map_err(|error| told(&path, &error.into()))?;
    if head.schema != schema::KNOWN {
        let (found, known) = (head.schema, schema::KNOWN);
        return Err(Fault::unavailable(format!(
            "the page views of the backup have the schema {found}, and this program knows {known}: restore it with the \
             version that made it"
        )));
    }
    if head.clickhouse && database.clickhouse.is_none() {
        return Err(Fault::unavailable(
            "the page views of the backup were counted in ClickHouse: set views.store to \"clickhouse\" to restore them",
        ));
    }
    let mut transaction = database.pool.begin().await?;
    schema::check_exact(&mut transaction).await?;
    sqlx::raw_sql("LOCK TABLE views_projects IN EXCLUSIVE MODE").execute(&mut *transaction).await?;
    let row = sqlx::query("SELECT EXISTS (SELECT FROM views_projects)").fetch_one(&mut *transaction).await?;
    if row.try_get::<bool, _>(0)? {
        return Err(Fault::unavailable("there are page views in the database already"));
    }
    sqlx::raw_sql("DELETE FROM views_time").execute(&mut *transaction).await?;
    for (table, columns) in TABLES {
        let is_there = database.clickhouse.is_some() && COUNTED.contains(&table);
        if is_there && table != CELLS {
            continue;
        }
        let path = file_of(folder, table);
        let (send, mut receive) = mpsc::channel(WAITING);
        let reading = tokio::task::spawn_blocking({
            let path = path.clone();
            move || read_file(&path, &send)
        });
        if let Some(house) = database.clickhouse.as_ref().filter(|_| is_there) {
            let filled = house.copy_in(columns, &mut receive, &*database.options.clock).await;
            drop(receive);
            let read = reading.await.map_err(|error| Fault::unavailable(error.to_string()))?;
            read.map_err(|error| told(&path, &error))?;
            filled?;
            continue;
        }
        let mut rows = transaction.copy_in_raw(&format!("COPY {table} ({columns}) FROM STDIN")).await?;
        while let Some(chunk) = receive.recv().await {
            rows.send(chunk).await?;
        }
        let read = reading.await.map_err(|error| Fault::unavailable(error.to_string()))?;
        if let Err(error) = read {
            rows.abort("the copy cannot be read").await?;
            return Err(told(&path, &error));
        }
        rows.finish().await?;
    }
    for table in NUMBERED {
        let sql = format!(
            "SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT COALESCE(MAX(id), 0) + 1 FROM {table}), false)"
        );
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *transaction).await?;
    }
    Ok(transaction.commit().await?)
}

fn read_file(path: &Path, send: &mpsc::Sender<Vec<u8>>) -> io::Result<()> {
    let mut from = zstd::Decoder::new(File::open(path)?)?;
    loop {
        let mut chunk = vec![0; CHUNK];
        match from.read(&mut chunk)? {
            0 => return Ok(()),
            read => chunk.truncate(read),
        }
        if send.blocking_send(chunk).is_err() {
            return Ok(());
        }
    }
}

/// The views of every project in a copy, as its rows have them.
pub fn count(folder: &Path) -> io::Result<BTreeMap<String, u64>> {
    let lines = |table: &str| -> io::Result<_> {
        Ok(BufReader::with_capacity(CHUNK, zstd::Decoder::new(File::open(file_of(folder, table))?)?).lines())
    };
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "a row of the page views cannot be understood");
    // Name and floor by number.
    let mut projects: BTreeMap<String, (String, i64)> = BTreeMap::new();
    for line in lines(PROJECTS)? {
        let line = line?;
        let fields: Vec<&str> = line.split('\t').collect();
        let [id, name, _, _, _, floor, ..] = fields[..] else { return Err(wrong()) };
        let floor = if floor == "\\N" { 0 } else { floor.parse().map_err(|_| wrong())? };
        projects.insert(id.to_owned(), (name.to_owned(), floor));
    }
    let mut views = BTreeMap::new();
    for line in lines(SITE)? {
        let line = line?;
        let fields: Vec<&str> = line.split('\t').collect();
        let [project, quarter, _, n] = fields[..] else { return Err(wrong()) };
        let (name, floor) = projects.get(project).ok_or_else(wrong)?;
        let (quarter, n): (i64, u64) = (quarter.parse().map_err(|_| wrong())?, n.parse().map_err(|_| wrong())?);
        let counted = views.entry(name.clone()).or_insert(0);
        if quarter >= *floor {
            *counted += n;
        }
    }
    Ok(views)
}
