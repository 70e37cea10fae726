//! Makes the rows of one database those of another, whatever kind each is. Only what differs is written, so that it can be
//! ended anywhere and begun again: what has arrived is there already, and nothing is there twice.

use std::cmp::Ordering;
use std::collections::VecDeque;

use aws_lc_rs::digest::{Context, SHA256};
use copydesk_boxed::boxed;

use crate::conn::{Dialect, Result, Value, places};
use crate::database::{Still, Store};
use crate::error::StoreError;
use crate::moving::{NOTES, SCHEMA};
use crate::rows::{Table, typed};

/// Rows that are read at once, at most, and about how many bytes.
const MOST_ROWS: usize = 1000;
const ENOUGH_BYTES: usize = 4 << 20;
/// Rows that are read at once before it is known how large they are.
const FIRST_ROWS: usize = 16;
/// Rows that are written in one transaction, and about how many bytes.
const BATCH_ROWS: usize = 500;
const BATCH_BYTES: usize = 4 << 20;
/// What both kinds of database take with one statement.
const MOST_PARAMETERS: usize = 30_000;

type Values = Vec<Value>;

/// What was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Copied {
    /// Rows that were looked at.
    pub rows: u64,
    /// Rows that were written or deleted.
    pub changed: u64,
}

/// Makes the rows of `to` those that `from` has at one moment, and tells how many it has seen of which table.
pub async fn copy_rows(from: &Store, to: &Store, mut told: impl FnMut(&str, u64) + Send) -> Result<Copied> {
    let mut source = from.still().await?;
    let mut all = Copied::default();
    for table in moved_tables(from)? {
        let copied = match copy_table(&mut source, to, &table, &mut told).await {
            // A value that must be there once has gone from one row to another: it is copied anew, and with it all that
            // refers to it, which comes later.
            Err(StoreError::Refused(_)) => {
                let sql = format!("DELETE FROM {}", table.name);
                to.write(move |c| Box::pin(async move { c.run(sql, vec![]).await })).await?;
                copy_table(&mut source, to, &table, &mut told).await?
            }
            copied => copied?,
        };
        all.rows += copied.rows;
        all.changed += copied.changed;
    }
    Ok(all)
}

/// Reads both as they are at one moment each, and says which tables differ.
#[boxed]
pub async fn compare_rows(from: &Store, to: &Store) -> Result<Vec<String>> {
    let (mut source, mut target) = (from.still().await?, to.still().await?);
    let mut differences = Vec::new();
    for table in moved_tables(from)? {
        let (there, here) = (digest(&mut source, &table).await?, digest(&mut target, &table).await?);
        if there.rows != here.rows {
            differences.push(format!("{} has {} rows there and {} here", table.name, there.rows, here.rows));
        } else if there.digest != here.digest {
            differences.push(format!("{} has {} rows in both, which are not the same", table.name, here.rows));
        }
    }
    Ok(differences)
}

fn moved_tables(store: &Store) -> Result<Vec<Table>> {
    let mut tables = store.tables()?;
    tables.retain(|table| table.name != NOTES && table.name != SCHEMA);
    match tables.iter().find(|table| table.key.is_empty()) {
        Some(table) => Err(StoreError::Refused(format!("the rows of {} cannot be told apart", table.name))),
        None => Ok(tables),
    }
}

struct Digest {
    rows: u64,
    digest: Vec<u8>,
}

async fn digest(still: &mut Still, table: &Table) -> Result<Digest> {
    let (mut context, mut rows, mut walk) = (Context::new(&SHA256), 0, Walk::default());
    while let Some(row) = walk.next(Side::Still(still), table).await? {
        rows += 1;
        for value in &row {
            // Each with its length, so that no two rows read alike.
            let (kind, bytes): (u8, &[u8]) = match value {
                Value::Int(None) | Value::Text(None) => (0, &[]),
                Value::Int(Some(it)) => (1, &it.to_be_bytes()),
                Value::Text(Some(it)) => (2, it.as_bytes()),
                Value::Bytes(it) => (3, it),
            };
            context.update(&[kind]);
            context.update(&(bytes.len() as u64).to_be_bytes());
            context.update(bytes);
        }
    }
    Ok(Digest { rows, digest: context.finish().as_ref().to_vec() })
}

async fn copy_table(
    source: &mut Still,
    to: &Store,
    table: &Table,
    told: &mut (impl FnMut(&str, u64) + Send),
) -> Result<Copied> {
    let (mut there, mut here) = (Walk::default(), Walk::default());
    let (mut batch, mut copied) = (Batch::default(), Copied::default());
    let (mut theirs, mut ours) =
        (there.next(Side::Still(source), table).await?, here.next(Side::Store(to), table).await?);
    while theirs.is_some() || ours.is_some() {
        let order = match (&theirs, &ours) {
            (Some(theirs), Some(ours)) => by_key(table, theirs, ours),
            (Some(_), None) => Ordering::Less,
            _ => Ordering::Greater,
        };
        if order.is_le()
            && let Some(row) = theirs.take()
        {
            copied.rows += 1;
            if order.is_lt() || ours.as_ref() != Some(&row) {
                batch.put(row);
            }
            theirs = there.next(Side::Still(source), table).await?;
        }
        if order.is_ge()
            && let Some(row) = ours.take()
        {
            if order.is_gt() {
                batch.gone.push(key_of(table, &row));
            }
            ours = here.next(Side::Store(to), table).await?;
        }
        if batch.is_full() {
            copied.changed += batch.len();
            write(to, table, std::mem::take(&mut batch)).await?;
            told(&table.name, copied.rows);
        }
    }
    copied.changed += batch.len();
    write(to, table, batch).await?;
    told(&table.name, copied.rows);
    Ok(copied)
}

/// What is to be done to a table in one transaction.
#[derive(Default)]
struct Batch {
    rows: Vec<Values>,
    bytes: usize,
    /// The keys of rows that go.
    gone: Vec<Values>,
}

impl Batch {
    fn put(&mut self, row: Values) {
        self.bytes += size(&row);
        self.rows.push(row);
    }

    fn len(&self) -> u64 {
        (self.rows.len() + self.gone.len()) as u64
    }

    fn is_full(&self) -> bool {
        self.rows.len() + self.gone.len() >= BATCH_ROWS || self.bytes >= BATCH_BYTES
    }
}

async fn write(to: &Store, table: &Table, batch: Batch) -> Result<()> {
    if batch.len() == 0 {
        return Ok(());
    }
    let keys: Vec<&str> = key_names(table).collect();
    let one_of = keys.iter().enumerate().map(|(at, key)| format!("{key} = ${}", at + 1));
    let delete = format!("DELETE FROM {} WHERE {}", table.name, one_of.collect::<Vec<_>>().join(" AND "));
    let table = table.clone();
    let change = on_conflict(&table, &keys);
    to.write(move |c| {
        Box::pin(async move {
            for key in batch.gone {
                c.run(delete.clone(), key).await?;
            }
            let most = (MOST_PARAMETERS / table.columns.len().max(1)).max(1);
            let mut rows = batch.rows.into_iter().peekable();
            while rows.peek().is_some() {
                let some: Vec<Values> = rows.by_ref().take(most).collect();
                let sql = format!("{} {change}", table.insert(some.len()));
                c.run(sql, some.into_iter().flatten().collect()).await?;
            }
            Ok(())
        })
    })
    .await
}

fn on_conflict(table: &Table, keys: &[&str]) -> String {
    let others = table.columns.iter().map(|column| column.name.as_str()).filter(|name| !keys.contains(name));
    let sets: Vec<String> = others.map(|name| format!("{name} = excluded.{name}")).collect();
    let keys = keys.join(", ");
    match sets.is_empty() {
        true => format!("ON CONFLICT ({keys}) DO NOTHING"),
        false => format!("ON CONFLICT ({keys}) DO UPDATE SET {}", sets.join(", ")),
    }
}

fn key_names(table: &Table) -> impl Iterator<Item = &str> {
    table.key.iter().filter_map(|at| table.columns.get(*at)).map(|column| column.name.as_str())
}

fn key_of(table: &Table, row: &[Value]) -> Values {
    table.key.iter().filter_map(|at| row.get(*at)).cloned().collect()
}

fn by_key(table: &Table, one: &[Value], other: &[Value]) -> Ordering {
    let orders = table.key.iter().map(|at| match (one.get(*at), other.get(*at)) {
        (Some(Value::Int(one)), Some(Value::Int(other))) => one.cmp(other),
        // By bytes, as both databases are asked to sort.
        (Some(Value::Text(one)), Some(Value::Text(other))) => one.cmp(other),
        (Some(Value::Bytes(one)), Some(Value::Bytes(other))) => one.cmp(other),
        _ => Ordering::Equal,
    });
    orders.fold(Ordering::Equal, Ordering::then)
}

fn size(row: &[Value]) -> usize {
    let size = |value: &Value| match value {
        Value::Int(_) => 8,
        Value::Text(text) => text.as_ref().map_or(0, String::len),
        Value::Bytes(bytes) => bytes.len(),
    };
    row.iter().map(size).sum()
}

/// Where rows are read from.
enum Side<'a> {
    Still(&'a mut Still),
    /// As it is at each look; whoever reads it is the one who changes it.
    Store(&'a Store),
}

/// The rows of a table in the order of its key, some at a time.
#[derive(Default)]
struct Walk {
    waiting: VecDeque<Values>,
    last: Option<Values>,
    page: usize,
    is_over: bool,
}

impl Walk {
    async fn next(&mut self, side: Side<'_>, table: &Table) -> Result<Option<Values>> {
        if self.waiting.is_empty() && !self.is_over {
            self.look(side, table).await?;
        }
        let row = self.waiting.pop_front();
        if self.waiting.is_empty()
            && let Some(row) = &row
        {
            self.last = Some(key_of(table, row));
        }
        Ok(row)
    }

    async fn look(&mut self, side: Side<'_>, table: &Table) -> Result<()> {
        let most = if self.page == 0 { FIRST_ROWS } else { self.page };
        let values = self.last.clone().unwrap_or_default();
        let is_first = self.last.is_none();
        let rows = match side {
            Side::Still(still) => {
                let sql = page(table, still.dialect(), is_first, most);
                still.query(sql.into(), values).await?
            }
            Side::Store(store) => {
                store
                    .read(move |c| {
                        let sql = page(table, c.dialect(), is_first, most);
                        c.query(sql.into(), values)
                    })
                    .await?
            }
        };
        self.is_over = rows.len() < most;
        let mut bytes = 0;
        for row in rows {
            let row = row.into_values().into_iter().zip(&table.columns).map(|(value, column)| typed(value, column));
            let row: Values = row.collect();
            bytes += size(&row);
            self.waiting.push_back(row);
        }
        // Rows are about as large as those before them.
        let fits = ENOUGH_BYTES / (bytes / most.max(1)).max(1);
        self.page = (most * 4).min(fits).clamp(1, MOST_ROWS);
        Ok(())
    }
}

/// The next rows of a table.
fn page(table: &Table, dialect: Dialect, is_first: bool, most: usize) -> String {
    let keys = table.key.iter().filter_map(|at| table.columns.get(*at)).map(|column| match dialect {
        Dialect::Postgres if column.is_text => format!("{} COLLATE \"C\"", column.name),
        _ => column.name.clone(),
    });
    let keys = keys.collect::<Vec<_>>().join(", ");
    let after = match is_first {
        true => String::new(),
        false => format!("WHERE ({keys}) > ({})", places(1, table.key.len())),
    };
    format!("SELECT {} FROM {} {after} ORDER BY {keys} LIMIT {most}", table.names(), table.name)
}
