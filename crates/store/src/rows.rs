//! All rows of a database of SQLite, table by table, as values that PostgreSQL takes too: migrations are one text for both,
//! so that both have the same tables and columns.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use copydesk_domain::Clock;
use rusqlite::{Connection, OpenFlags};

use crate::conn::{Result, Value, places, plain_text};
use crate::error::StoreError;
use crate::migrate;
use crate::sqlite::{SqliteConn, finish_now, own};

/// Rows that travel together, at most, and about how many bytes.
const CHUNK_ROWS: usize = 500;
const CHUNK_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
    /// Which columns tell its rows apart, by their places.
    pub(crate) key: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// PostgreSQL wants to know of what type a null is.
    pub(crate) is_text: bool,
}

impl Table {
    pub(crate) fn select(&self) -> String {
        format!("SELECT {} FROM {}", self.names(), self.name)
    }

    /// A statement that puts in so many rows at once.
    pub(crate) fn insert(&self, rows: usize) -> String {
        let width = self.columns.len();
        let row = |at: usize| format!("({})", places(at * width + 1, width));
        let rows: Vec<String> = (0..rows).map(row).collect();
        format!("INSERT INTO {} ({}) VALUES {}", self.name, self.names(), rows.join(", "))
    }

    pub(crate) fn names(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        names.join(", ")
    }
}

/// Rows of one table.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    /// Which table, by its place in the list.
    pub(crate) table: usize,
    pub(crate) rows: Vec<Vec<Value>>,
    bytes: usize,
}

impl Chunk {
    pub(crate) fn of(table: usize) -> Self {
        Self { table, ..Self::default() }
    }

    pub(crate) fn push(&mut self, row: Vec<Value>) {
        let size = |value: &Value| match value {
            Value::Int(_) => 8,
            Value::Text(text) => text.as_ref().map_or(0, String::len),
            Value::Bytes(bytes) => bytes.len(),
        };
        self.bytes += row.iter().map(size).sum::<usize>();
        self.rows.push(row);
    }

    pub(crate) fn is_full(&self) -> bool {
        self.rows.len() >= CHUNK_ROWS || self.bytes >= CHUNK_BYTES
    }
}

/// The tables that this program's schema has, those that others refer to before those.
pub(crate) fn tables_of_schema(clock: Arc<dyn Clock>) -> Result<Vec<Table>> {
    let mut conn = SqliteConn::new(Connection::open_in_memory()?, clock);
    make_schema(&mut conn)?;
    tables(&conn.connection)
}

/// Makes the tables in an empty database.
pub(crate) fn make_schema(conn: &mut SqliteConn) -> Result<()> {
    let now = crate::conn::Conn::now(conn);
    finish_now(Box::pin(migrate::migrate(conn, now))).map(drop)
}

/// The tables of a database, those that others refer to before those.
pub(crate) fn tables(connection: &Connection) -> Result<Vec<Table>> {
    let names: Vec<String> = strings(
        connection,
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
        "",
    )?;
    let mut left = Vec::new();
    for name in names {
        let parents: BTreeSet<String> =
            strings(connection, "SELECT \"table\" FROM pragma_foreign_key_list(?1)", &name)?.into_iter().collect();
        left.push((name, parents));
    }
    let mut sorted: Vec<Table> = Vec::new();
    while !left.is_empty() {
        let is_ready = |name: &str, parents: &BTreeSet<String>| {
            parents.iter().all(|parent| parent == name || sorted.iter().any(|table| table.name == *parent))
        };
        let at = left.iter().position(|(name, parents)| is_ready(name, parents));
        let circle = || StoreError::Unreadable("the tables refer to each other in a circle".to_owned());
        let (name, _) = left.remove(at.ok_or_else(circle)?);
        let (columns, key) = (columns(connection, &name)?, key(connection, &name)?);
        sorted.push(Table { name, columns, key });
    }
    Ok(sorted)
}

fn columns(connection: &Connection, table: &str) -> Result<Vec<Column>> {
    let mut statement = connection.prepare("SELECT name, type FROM pragma_table_info(?1) ORDER BY cid")?;
    let found = statement.query_map([table], |row| {
        let kind: String = row.get(1)?;
        Ok(Column { name: row.get(0)?, is_text: kind == "TEXT" })
    })?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

fn key(connection: &Connection, table: &str) -> Result<Vec<usize>> {
    let mut statement = connection.prepare("SELECT cid FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk")?;
    let found = statement.query_map([table], |row| row.get::<_, u32>(0))?;
    Ok(found.map(|at| at.map(|at| at as usize)).collect::<rusqlite::Result<_>>()?)
}

fn strings(connection: &Connection, sql: &str, parameter: &str) -> Result<Vec<String>> {
    let mut statement = connection.prepare(sql)?;
    let parameters: &[&str] = if statement.parameter_count() > 0 { &[parameter] } else { &[] };
    let found = statement.query_map(rusqlite::params_from_iter(parameters), |row| row.get(0))?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

/// Opens a file that nobody writes to. Nothing is made beside it, which SQLite would do otherwise.
pub(crate) fn open_still(file: &Path) -> Result<Connection> {
    let path = file.to_str().ok_or_else(|| StoreError::Refused("the file's name is not UTF-8".to_owned()))?;
    // What a URI gives a meaning to; after two slashes it expects the name of a machine.
    let path = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let rest = path.trim_start_matches('/');
    let path = if rest.len() < path.len() { format!("/{rest}") } else { path };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Ok(Connection::open_with_flags(format!("file:{path}?immutable=1"), flags)?)
}

/// Hands over all rows of a file, until nobody takes them any more.
pub(crate) fn read(file: &Path, list: &[Table], mut take: impl FnMut(Chunk) -> bool) -> Result<()> {
    let connection = open_still(file)?;
    for (at, table) in list.iter().enumerate() {
        let mut statement = connection.prepare(&table.select())?;
        let mut rows = statement.query([])?;
        let mut chunk = Chunk::of(at);
        while let Some(row) = rows.next()? {
            let value = |(at, column): (usize, &Column)| Ok::<_, StoreError>(typed(own(row.get_ref(at)?), column));
            chunk.push(table.columns.iter().enumerate().map(value).collect::<Result<_>>()?);
            if chunk.is_full() && !take(std::mem::replace(&mut chunk, Chunk::of(at))) {
                return Ok(());
            }
        }
        if !chunk.rows.is_empty() && !take(chunk) {
            return Ok(());
        }
    }
    Ok(())
}

/// A value as both kinds of database hold it.
pub(crate) fn typed(value: Value, column: &Column) -> Value {
    match value {
        Value::Int(None) if column.is_text => Value::Text(None),
        Value::Text(Some(text)) => Value::Text(Some(plain_text(&text))),
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use copydesk_domain::SystemClock;

    use super::*;

    #[test]
    fn whatever_is_referred_to_comes_first() {
        let tables = tables_of_schema(Arc::new(SystemClock)).unwrap();
        let at = |name: &str| tables.iter().position(|table| table.name == name).unwrap();
        for (first, then) in [("projects", "jobs"), ("jobs", "messages"), ("rounds", "edits"), ("users", "memberships")]
        {
            assert!(at(first) < at(then), "{first} before {then}");
        }
        assert!(tables.len() > 25 && tables.iter().all(|table| !table.columns.is_empty()));
    }
}
