//! All page views of a database as they are at one moment, piece by piece.

use std::collections::HashMap;
use std::sync::Arc;

use copydesk_boxed::boxed;
use copydesk_views::store::ViewsError;
use copydesk_views::store::moving::{About, Cell, Day, Names, Piece};
use copydesk_views::{Bucket, Client, Stretch};
use futures_util::TryStreamExt;
use sqlx::{PgConnection, Row};
use tokio::sync::mpsc::Sender;

use crate::clickhouse::ClickHouse;
use crate::clickhouse_calls::copy::Moment;
use crate::cover::quarter;
use crate::database::Database;
use crate::error::{Fault, Result};
use crate::names::read_client;
use crate::project::Project;

/// Ids that travel together.
const IDS: usize = 20_000;

/// Sends all pieces, until nobody takes them any more.
#[boxed]
pub async fn send_all(database: &Database, send: Sender<Piece>) -> Result<(), ViewsError> {
    Ok(send_pieces(database, &send).await?)
}

async fn send_pieces(database: &Database, send: &Sender<Piece>) -> Result<()> {
    let house = database.clickhouse.as_deref();
    let (mut transaction, quiet) = match house {
        None => {
            let mut transaction = database.pool.begin().await?;
            let one_moment = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL statement_timeout = 0; \
                              SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL jit = off";
            sqlx::raw_sql(one_moment).execute(&mut *transaction).await?;
            (transaction, None)
        }
        Some(house) => {
            let Moment { ledger, quiet } = Moment::begin(database, house).await?;
            (ledger, Some(quiet))
        }
    };
    let names = sqlx::query("SELECT name FROM views_projects ORDER BY name").fetch_all(&mut *transaction).await?;
    for row in names {
        let name: String = row.try_get(0)?;
        let Some(project) = Project::find(&mut transaction, &name).await? else { continue };
        if !send_project(&mut transaction, house, name, &project, send).await? {
            return Ok(());
        }
    }
    if let Some(quiet) = quiet {
        quiet.end().await?;
    }
    // If nobody waits for it, that is said elsewhere.
    let _ = send.send(Piece::End).await;
    Ok(())
}

/// False if nobody takes them any more.
async fn send_project(
    connection: &mut PgConnection,
    house: Option<&ClickHouse>,
    name: String,
    project: &Project,
    send: &Sender<Piece>,
) -> Result<bool> {
    let (names, places) = names(connection, project.id).await?;
    let names = Arc::new(names);
    if send.send(Piece::Project { name, names: Arc::clone(&names) }).await.is_err()
        || !send_days(connection, house, project, (&names, &places), send).await?
        || !send_ids(connection, project.id, send).await?
    {
        return Ok(false);
    }
    let about = about(connection, project).await?;
    Ok(send.send(Piece::About(about)).await.is_ok())
}

/// The numbers of pages and readers, and their places among the names.
struct Places {
    paths: HashMap<i64, u32>,
    clients: HashMap<i64, u32>,
}

async fn names(connection: &mut PgConnection, project: i32) -> Result<(Names, Places)> {
    let mut places = Places { paths: HashMap::new(), clients: HashMap::new() };
    let mut paths: Vec<Arc<str>> = Vec::new();
    let sql = "SELECT id, path FROM views_paths WHERE project = $1";
    let mut rows = sqlx::query(sql).bind(project).fetch(&mut *connection);
    while let Some(row) = rows.try_next().await? {
        places.paths.insert(row.try_get(0)?, paths.len() as u32);
        paths.push(row.try_get::<&str, _>(1)?.into());
    }
    drop(rows);
    // Readers that have become the same have several numbers.
    let mut clients: Vec<Arc<Client>> = Vec::new();
    let mut known: HashMap<Arc<Client>, u32> = HashMap::new();
    let sql = "SELECT id, facts, verdict FROM views_readers WHERE project = $1";
    let mut rows = sqlx::query(sql).bind(project).fetch(connection);
    while let Some(row) = rows.try_next().await? {
        let client = Arc::new(read_client(row.try_get(1)?, row.try_get(2)?)?);
        let place = *known.entry(Arc::clone(&client)).or_insert_with(|| {
            clients.push(client);
            (clients.len() - 1) as u32
        });
        places.clients.insert(row.try_get(0)?, place);
    }
    Ok((Names::new(paths, clients)?, places))
}

/// Makes days of cells that come in the order of time.
struct Days<'a> {
    names: &'a Names,
    places: &'a Places,
    day: u32,
    cells: Vec<Cell>,
}

impl Days<'_> {
    /// Takes a cell; gives back the day before it, if that is complete now.
    fn push(&mut self, quarter: u32, path: i64, reader: i64, count: u64) -> Result<Option<Day>> {
        let unknown =
            || Fault::Views(ViewsError::Damaged("a row of page views names a page or reader that is gone".into()));
        let bucket = Bucket(quarter);
        let path = *self.places.paths.get(&path).ok_or_else(unknown)?;
        let client = *self.places.clients.get(&reader).ok_or_else(unknown)?;
        let day = bucket.0 / Bucket::A_DAY;
        let before = if day == self.day { None } else { self.end() };
        self.day = day;
        // A reader that got another verdict may leave rows that count nothing.
        if count > 0 {
            self.cells.push(Cell { bucket, path, client, count });
        }
        Ok(before)
    }

    fn end(&mut self) -> Option<Day> {
        let cells = std::mem::take(&mut self.cells);
        (!cells.is_empty()).then(|| Day::new(self.day, cells, self.names))
    }
}

/// False if nobody takes them any more.
async fn sent(day: Option<Day>, send: &Sender<Piece>) -> bool {
    match day {
        Some(day) => send.send(Piece::Day(day)).await.is_ok(),
        None => true,
    }
}

async fn send_days(
    connection: &mut PgConnection,
    house: Option<&ClickHouse>,
    project: &Project,
    (names, places): (&Names, &Places),
    send: &Sender<Piece>,
) -> Result<bool> {
    let (id, from) = (project.id, quarter(project.floor.gone_before()));
    let mut days = Days { names, places, day: 0, cells: Vec::new() };
    match house {
        None => {
            let sql = "SELECT quarter, path, reader, n FROM views_cells WHERE project = $1 AND quarter >= $2 ORDER BY quarter";
            let mut rows = sqlx::query(sql).bind(id).bind(from).fetch(connection);
            while let Some(row) = rows.try_next().await? {
                let (at, n): (i32, i64) = (row.try_get(0)?, row.try_get(3)?);
                let day = days.push(at.unsigned_abs(), row.try_get(1)?, row.try_get(2)?, n.unsigned_abs())?;
                if !sent(day, send).await {
                    return Ok(false);
                }
            }
        }
        Some(house) => {
            let mut rows = house.cells(id, from)?;
            while let Some(row) = rows.next().await.map_err(Fault::from)? {
                let day = days.push(row.quarter, row.path.cast_signed(), row.reader.cast_signed(), row.n)?;
                if !sent(day, send).await {
                    return Ok(false);
                }
            }
        }
    }
    Ok(sent(days.end(), send).await)
}

async fn send_ids(connection: &mut PgConnection, project: i32, send: &Sender<Piece>) -> Result<bool> {
    let sql = "SELECT id, arrived FROM views_ids WHERE project = $1";
    let mut rows = sqlx::query(sql).bind(project).fetch(connection);
    let mut some = Vec::with_capacity(IDS);
    while let Some(row) = rows.try_next().await? {
        let (id, arrived): (&[u8], i64) = (row.try_get(0)?, row.try_get(1)?);
        let id: [u8; 16] = id.try_into().map_err(|error| Fault::unreadable("the id of an event", error))?;
        some.push((u128::from_be_bytes(id), u32::try_from(arrived).unwrap_or(0)));
        if some.len() == IDS && send.send(Piece::Ids(std::mem::take(&mut some))).await.is_err() {
            return Ok(false);
        }
    }
    Ok(some.is_empty() || send.send(Piece::Ids(some)).await.is_ok())
}

async fn about(connection: &mut PgConnection, project: &Project) -> Result<About> {
    let sql = "SELECT mark FROM views_marks WHERE project = $1 ORDER BY id";
    let mut marks = Vec::new();
    for row in sqlx::query(sql).bind(project.id).fetch_all(&mut *connection).await? {
        let text: &str = row.try_get(0)?;
        marks.push(serde_json::from_str(text).map_err(|error| Fault::unreadable("the mark of a log", error))?);
    }
    let sql = "SELECT log, first, prints FROM views_lines WHERE project = $1 ORDER BY id";
    let mut lines = Vec::new();
    for row in sqlx::query(sql).bind(project.id).fetch_all(connection).await? {
        let (log, first, prints): (String, i64, &[u8]) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        let prints = prints.as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes)).collect();
        lines.push(Stretch { log, first: first.unsigned_abs(), prints });
    }
    Ok(About {
        script_since: project.script_since,
        server_since: project.server_since,
        floor: project.floor.clone(),
        marks,
        lines,
    })
}
