//! PostgreSQL: a pool, a transaction for every write, NOTIFY for the wake-ups.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use copydesk_domain::{Actor, Clock, Timestamp};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgListener, PgPoolOptions, PgRow};
use sqlx::{Arguments, AssertSqlSafe, Column, Connection, PgConnection, PgPool, Row as _, Transaction, TypeInfo};
use tokio::task::AbortHandle;

use crate::conn::{Conn, Dialect, Result, Row, Sql, Value};
use crate::error::StoreError;
use crate::hub::{Change, Hub};

const CHANNEL: &str = "copydesk";
/// How long a connection may take.
const ANSWER: Duration = Duration::from_secs(5);

pub(crate) struct Postgres {
    pool: PgPool,
    clock: Arc<dyn Clock>,
    listener: AbortHandle,
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // It holds the pool, and would keep its connections open for ever.
        self.listener.abort();
    }
}

impl Postgres {
    pub(crate) async fn open(address: &str, connections: u32, hub: Hub, clock: Arc<dyn Clock>) -> Result<Self> {
        // The parser's message could quote the address, and the address a password.
        let options = PgConnectOptions::from_str(address)
            .map_err(|_| {
                StoreError::BadAddress("the database address is not a well-formed postgres:// one".to_owned())
            })?
            .application_name("copydesk");
        // The pool would only say that it took too long.
        let first = tokio::time::timeout(ANSWER, PgConnection::connect_with(&options)).await;
        first.map_err(|_| StoreError::Unreachable("the server did not answer".to_owned()))??.close().await?;
        let pool =
            PgPoolOptions::new().max_connections(connections).acquire_timeout(ANSWER).connect_with(options).await?;
        let listener = tokio::spawn(listen_forever(pool.clone(), hub)).abort_handle();
        Ok(Self { pool, clock, listener })
    }

    pub(crate) async fn write<T, E, F>(&self, script: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: for<'c> FnOnce(&'c mut dyn Conn) -> BoxFuture<'c, Result<T, E>> + Send + 'static,
    {
        let mut transaction = self.begin().await?;
        match script(&mut PgConn::new(&mut transaction, &*self.clock)).await {
            Ok(result) => {
                commit(transaction).await?;
                Ok(result)
            }
            Err(error) => {
                // Now, and not when the connection is next used: until then it would hold its locks. If that fails, the
                // first error says more.
                rollback(transaction).await;
                Err(error)
            }
        }
    }

    pub(crate) async fn read<T, F>(&self, script: F) -> Result<T>
    where
        F: for<'c> FnOnce(&'c mut dyn Conn) -> BoxFuture<'c, Result<T>>,
    {
        let mut connection = self.acquire().await?;
        script(&mut PgConn::new(&mut connection, &*self.clock)).await
    }

    // In boxes, as all that is of sqlx: whoever awaits it otherwise has all of it compiled once more.
    pub(crate) fn begin(&self) -> BoxFuture<'_, Result<Transaction<'static, sqlx::Postgres>>> {
        Box::pin(async { Ok(self.pool.begin().await?) })
    }

    fn acquire(&self) -> BoxFuture<'_, Result<PoolConnection<sqlx::Postgres>>> {
        Box::pin(async { Ok(self.pool.acquire().await?) })
    }
}

pub(crate) fn commit(transaction: Transaction<'static, sqlx::Postgres>) -> BoxFuture<'static, Result<()>> {
    Box::pin(async { Ok(transaction.commit().await?) })
}

fn rollback(transaction: Transaction<'static, sqlx::Postgres>) -> BoxFuture<'static, ()> {
    Box::pin(async { drop(transaction.rollback().await) })
}

/// Passes on what other processes (and this one) announce. It holds one connection of its own.
async fn listen_forever(pool: PgPool, hub: Hub) {
    let mut pause = Duration::from_millis(200);
    while !pool.is_closed() {
        match listen(&pool, &hub).await {
            Ok(()) => return,
            Err(error) => {
                tracing::warn!(%error, "lost the connection for wake-ups; falling back to timers until it is back");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(Duration::from_secs(10));
            }
        }
    }
}

async fn listen(pool: &PgPool, hub: &Hub) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.ignore_pool_close_event(false);
    listener.listen(CHANNEL).await?;
    // Whatever was announced while nobody listened.
    hub.publish(Change::Ready);
    loop {
        match listener.try_recv().await? {
            Some(note) => hub.publish(read_payload(note.payload())),
            None => hub.publish(Change::Ready),
        }
    }
}

fn payload(change: &Change) -> String {
    match change {
        Change::Ready => "ready".to_owned(),
        Change::Job(id) => format!("job {id}"),
        Change::Outbox => "outbox".to_owned(),
        Change::Asked => "asked".to_owned(),
        Change::Removed => "removed".to_owned(),
    }
}

fn read_payload(text: &str) -> Change {
    match text.strip_prefix("job ") {
        Some(id) => Change::Job(id.into()),
        None if text == "outbox" => Change::Outbox,
        None if text == "asked" => Change::Asked,
        None if text == "removed" => Change::Removed,
        None => Change::Ready,
    }
}

pub(crate) struct PgConn<'t> {
    connection: &'t mut PgConnection,
    clock: &'t dyn Clock,
    actor: Arc<Actor>,
}

impl<'t> PgConn<'t> {
    pub(crate) fn new(connection: &'t mut PgConnection, clock: &'t dyn Clock) -> Self {
        Self { connection, clock, actor: Arc::new(Actor::program()) }
    }
}

fn arguments(values: Vec<Value>) -> Result<PgArguments> {
    let mut arguments = PgArguments::default();
    for value in values {
        let added = match value {
            Value::Int(it) => arguments.add(it),
            Value::Text(it) => arguments.add(it),
            Value::Bytes(it) => arguments.add(it),
        };
        added.map_err(|error| StoreError::Refused(error.to_string()))?;
    }
    Ok(arguments)
}

fn own(row: &PgRow) -> Result<Row> {
    values_of(row).map(Row::new)
}

pub(crate) fn values_of(row: &PgRow) -> Result<Vec<Value>> {
    let mut values = Vec::with_capacity(row.columns().len());
    for (at, column) in row.columns().iter().enumerate() {
        values.push(match column.type_info().name() {
            "INT8" => Value::Int(row.try_get(at)?),
            "INT4" => Value::Int(row.try_get::<Option<i32>, _>(at)?.map(i64::from)),
            "TEXT" => Value::Text(row.try_get(at)?),
            "BYTEA" => Value::Bytes(row.try_get(at)?),
            other => return Err(StoreError::Unreadable(format!("column {at} has the type {other}"))),
        });
    }
    Ok(values)
}

impl Conn for PgConn<'_> {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn query(&mut self, sql: Sql, values: Vec<Value>) -> BoxFuture<'_, Result<Vec<Row>>> {
        async move {
            let query = sqlx::query_with(AssertSqlSafe(sql), arguments(values)?);
            query.fetch_all(&mut *self.connection).await?.iter().map(own).collect()
        }
        .boxed()
    }

    fn execute(&mut self, sql: Sql, values: Vec<Value>) -> BoxFuture<'_, Result<u64>> {
        async move {
            let query = sqlx::query_with(AssertSqlSafe(sql), arguments(values)?);
            Ok(query.execute(&mut *self.connection).await?.rows_affected())
        }
        .boxed()
    }

    fn batch(&mut self, sql: Sql) -> BoxFuture<'_, Result<()>> {
        async move {
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *self.connection).await?;
            Ok(())
        }
        .boxed()
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn actor(&self) -> &Arc<Actor> {
        &self.actor
    }

    fn set_actor(&mut self, actor: Arc<Actor>) {
        self.actor = actor;
    }

    fn announce(&mut self, change: Change) -> BoxFuture<'_, Result<()>> {
        async move {
            let values = vec![Value::from(CHANNEL), Value::from(payload(&change))];
            self.execute("SELECT pg_notify($1, $2)".into(), values).await?;
            Ok(())
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announcements_read_back() {
        for change in [Change::Ready, Change::Job("x".into()), Change::Outbox, Change::Asked, Change::Removed] {
            assert_eq!(read_payload(&payload(&change)), change);
        }
    }
}
