//! PostgreSQL: a pool, a transaction for every write.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use copydesk_domain::{Actor, Clock, Timestamp, new_id};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgListener, PgPoolOptions, PgRow};
use sqlx::{Arguments, AssertSqlSafe, Column, Connection, PgConnection, PgPool, Row as _, Transaction, TypeInfo};
use tokio::task::AbortHandle;

use crate::announce::{Announcer, CHANNEL};
use crate::conn::{Conn, Dialect, Result, Row, Sql, Value};
use crate::error::StoreError;
use crate::hub::{Change, Hub};

/// What the connections for wake-ups are called, by which those of all processes are counted.
pub(crate) const LISTENER: &str = "copydesk wake-ups";
/// How long a connection may take.
const ANSWER: Duration = Duration::from_secs(5);
/// A machine that is cut off in the middle of a transaction must not hold its rows until the server notices, which takes hours.
/// Said anew in each transaction, because behind a pooler the next one may be on another connection.
/// Nothing else may stand here: of a beginning that fails a connection keeps what it has begun.
const BEGIN: &str = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '5s'";
/// The same for [`Plans::Simple`].
const BEGIN_SIMPLE: &str = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '5s'; SET LOCAL enable_sort = off; \
                            SET LOCAL plan_cache_mode = force_generic_plan";
/// How long a connection that has worked is taken to work still.
const TRUSTED: Duration = Duration::from_secs(1);

/// How the server is to plan the statements of a transaction.
#[derive(Clone, Copy)]
pub(crate) enum Plans {
    /// For the values at hand, as far as it finds that worth while.
    Fitting,
    /// Once for each connection, along the indexes. What it believes to know of a table that is full at one moment and empty at
    /// another is wrong mostly, and to think about it each time takes as long as the statement.
    Simple,
}

pub(crate) struct Postgres {
    pool: PgPool,
    clock: Arc<dyn Clock>,
    announcer: Announcer,
    /// They hold the pool, and would keep its connections open for ever.
    tasks: [AbortHandle; 2],
}

impl Drop for Postgres {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Postgres {
    /// `listen` is where wake-ups are heard: the same server, without a pooler before it. `connections` is all that the process
    /// may hold; one of them is for the wake-ups.
    pub(crate) async fn open(
        address: &str,
        listen: Option<&str>,
        connections: u32,
        hub: Hub,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let options = connect_options(address)?;
        let listen = listen.map(connect_options).transpose()?;
        for options in [Some(&options), listen.as_ref()].into_iter().flatten() {
            // The pool would only say that it took too long.
            let first = tokio::time::timeout(ANSWER, PgConnection::connect_with(options)).await;
            first.map_err(|_| StoreError::Unreachable("the server did not answer".to_owned()))??.close().await?;
        }
        let most = connections.saturating_sub(1).max(1);
        let pool = PgPoolOptions::new().max_connections(most).acquire_timeout(ANSWER);
        // Every look whether a connection still works is a journey to the server, and one that has just worked mostly does.
        let pool = pool.test_before_acquire(false).before_acquire(|connection, state| {
            Box::pin(async move { Ok(state.idle_for < TRUSTED || connection.ping().await.is_ok()) })
        });
        let pool = pool.connect_with(options.clone()).await?;
        // It is kept for as long as the process lives.
        let ears = PgPoolOptions::new().max_connections(1).idle_timeout(None).max_lifetime(None);
        let ears = ears.acquire_timeout(ANSWER).connect_lazy_with(listen.unwrap_or(options).application_name(LISTENER));
        let announcer = Announcer::new(hub.clone(), new_id(clock.now()));
        let listening = tokio::spawn(listen_forever(ears, hub, announcer.clone()));
        let sending = tokio::spawn(announcer.clone().send_forever(pool.clone()));
        let tasks = [listening.abort_handle(), sending.abort_handle()];
        Ok(Self { pool, clock, announcer, tasks })
    }

    pub(crate) fn announcer(&self) -> &Announcer {
        &self.announcer
    }

    pub(crate) async fn write<T, E, F>(&self, plans: Plans, script: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: for<'c> FnOnce(&'c mut dyn Conn) -> BoxFuture<'c, Result<T, E>> + Send + 'static,
    {
        let mut transaction = self.begin(plans).await?;
        let mut conn = PgConn::new(&mut transaction, &*self.clock);
        let result = script(&mut conn).await;
        let announced = std::mem::take(&mut conn.announced);
        match result {
            Ok(result) => {
                commit(transaction).await?;
                self.announcer.tell(announced);
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
    fn begin(&self, plans: Plans) -> BoxFuture<'_, Result<Transaction<'static, sqlx::Postgres>>> {
        let begin = match plans {
            Plans::Fitting => BEGIN,
            Plans::Simple => BEGIN_SIMPLE,
        };
        Box::pin(async move { Ok(self.pool.begin_with(begin).await?) })
    }

    /// A transaction that may wait for a file now and then.
    pub(crate) fn begin_at_leisure(&self) -> BoxFuture<'_, Result<Transaction<'static, sqlx::Postgres>>> {
        Box::pin(async { Ok(self.pool.begin().await?) })
    }

    /// A transaction that sees the database as it is at its first look, and may take as long as it takes.
    pub(crate) fn still(&self) -> BoxFuture<'_, Result<Transaction<'static, sqlx::Postgres>>> {
        Box::pin(async {
            let mut transaction = self.pool.begin().await?;
            let sql = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL statement_timeout = 0; \
                       SET LOCAL idle_in_transaction_session_timeout = 0";
            sqlx::raw_sql(sql).execute(&mut *transaction).await?;
            Ok(transaction)
        })
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

fn connect_options(address: &str) -> Result<PgConnectOptions> {
    // The parser's message could quote the address, and the address a password.
    let parsed = PgConnectOptions::from_str(address);
    let unfit = |_| StoreError::BadAddress("the database address is not a well-formed postgres:// one".to_owned());
    // Without the digits of floats, of which there are none: PgBouncer refuses whoever asks for them.
    Ok(parsed.map_err(unfit)?.application_name("copydesk").extra_float_digits(None))
}

/// Passes on what other processes announce. It holds one connection of its own.
async fn listen_forever(pool: PgPool, hub: Hub, announcer: Announcer) {
    let mut pause = Duration::from_millis(200);
    while !pool.is_closed() {
        match listen(&pool, &hub, &announcer).await {
            Ok(()) => return,
            Err(error) => {
                tracing::warn!(%error, "lost the connection for wake-ups; falling back to timers until it is back");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(Duration::from_secs(10));
            }
        }
    }
}

async fn listen(pool: &PgPool, hub: &Hub, announcer: &Announcer) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.ignore_pool_close_event(false);
    listener.listen(CHANNEL).await?;
    // Whatever was announced while nobody listened.
    hub.publish(Change::Ready(None));
    announcer.greet();
    loop {
        match listener.try_recv().await? {
            Some(note) => announcer.hear(note.payload()),
            None => hub.publish(Change::Ready(None)),
        }
    }
}

pub(crate) struct PgConn<'t> {
    connection: &'t mut PgConnection,
    clock: &'t dyn Clock,
    actor: Arc<Actor>,
    announced: Vec<Change>,
}

impl<'t> PgConn<'t> {
    pub(crate) fn new(connection: &'t mut PgConnection, clock: &'t dyn Clock) -> Self {
        Self { connection, clock, actor: Arc::new(Actor::program()), announced: Vec::new() }
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

    fn announce(&mut self, change: Change) {
        self.announced.push(change);
    }
}
