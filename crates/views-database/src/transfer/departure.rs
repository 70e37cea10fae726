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
    let mut transaction = database.pool.begin().await?;
    let one_moment = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL statement_timeout = 0; \
                      SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL jit = off";
    sqlx::raw_sql(one_moment).execute(&mut *transaction).await?;
    let names = sqlx::query("SELECT name FROM views_projects ORDER BY name").fetch_all(&mut *transaction).await?;
    for row in names {
        let name: String = row.try_get(0)?;
        let Some(project) = Project::find(&mut transaction, &name).await? else { continue };
        if !send_project(&mut transaction, name, &project, send).await? {
            return Ok(());
        }
    }
    // If nobody waits for it, that is said elsewhere.
    let _ = send.send(Piece::End).await;
    Ok(())
}

/// False if nobody takes them any more.
async fn send_project(
    connection: &mut PgConnection,
    name: String,
    project: &Project,
    send: &Sender<Piece>,
) -> Result<bool> {
    let (names, places) = names(connection, project.id).await?;
    let names = Arc::new(names);
    if send.send(Piece::Project { name, names: Arc::clone(&names) }).await.is_err()
        || !send_days(connection, project, &names, &places, send).await?
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

async fn send_days(
    connection: &mut PgConnection,
    project: &Project,
    names: &Names,
    places: &Places,
    send: &Sender<Piece>,
) -> Result<bool> {
    let unknown =
        || Fault::Views(ViewsError::Damaged("a row of page views names a page or reader that is gone".into()));
    let sql = "SELECT quarter, path, reader, n FROM views_cells WHERE project = $1 AND quarter >= $2 ORDER BY quarter";
    let mut rows = sqlx::query(sql).bind(project.id).bind(quarter(project.floor.gone_before())).fetch(connection);
    let (mut day, mut cells) = (0, Vec::new());
    loop {
        let row = rows.try_next().await?;
        let cell = match &row {
            Some(row) => {
                let (at, path, reader, n): (i32, i64, i64, i64) =
                    (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
                Some(Cell {
                    bucket: Bucket(at.unsigned_abs()),
                    path: *places.paths.get(&path).ok_or_else(unknown)?,
                    client: *places.clients.get(&reader).ok_or_else(unknown)?,
                    count: n.unsigned_abs(),
                })
            }
            None => None,
        };
        let next = cell.map(|cell| cell.bucket.0 / Bucket::A_DAY);
        if next != Some(day) && !cells.is_empty() {
            let whole = Day::new(day, std::mem::take(&mut cells), names);
            if send.send(Piece::Day(whole)).await.is_err() {
                return Ok(false);
            }
        }
        match (cell, next) {
            (Some(cell), Some(next)) => {
                day = next;
                // A reader that got another verdict may leave rows that count nothing.
                if cell.count > 0 {
                    cells.push(cell);
                }
            }
            _ => return Ok(true),
        }
    }
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
