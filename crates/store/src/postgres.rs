//! PostgreSQL: a transaction for every write of more than one statement.

use std::str::FromStr;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use copydesk_domain::{Actor, Clock, Timestamp, new_id, random_fraction};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgListener, PgPoolOptions, PgRow};
use sqlx::{Arguments, AssertSqlSafe, Column, Connection, Executor, PgConnection, PgPool, Row as _, TypeInfo};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::announce::{Announcer, CHANNEL};
use crate::conn::{Conn, Dialect, FromRow, Result, Row, Sql, Value};
use crate::connections::{ANSWER, Connections, Lent, Transaction, no_answer, unless};
use crate::error::StoreError;
use crate::hub::{Change, Hub};

/// What the connections for wake-ups are called, by which those of all processes are counted.
pub(crate) const LISTENER: &str = "copydesk wake-ups";
/// A machine that is cut off in the middle of a transaction must not hold its rows until the server notices, which takes hours.
/// Said anew in each transaction, because behind a pooler the next one may be on another connection.
const BEGIN: &str = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '5s'";
/// The same for [`Plans::Simple`].
const BEGIN_SIMPLE: &str = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '5s'; SET LOCAL enable_sort = off; \
                            SET LOCAL enable_incremental_sort = off; SET LOCAL plan_cache_mode = force_generic_plan";
/// How many claims look for jobs at the same time, in all processes.
const CLAIMS_AT_ONCE: usize = 4;
const LOCK_TIMEOUT: &str = "55P03";
/// What PostgreSQL knows their queues by: nobody else's locks have this number.
const CLAIMING: u32 = 0x636c_6169;
/// The same for [`Plans::SimpleInTurn`], one for each queue.
static BEGIN_IN_TURN: LazyLock<[String; CLAIMS_AT_ONCE]> = LazyLock::new(|| {
    std::array::from_fn(|queue| {
        format!(
            "{BEGIN_SIMPLE}; SET LOCAL lock_timeout = '1s'; SELECT pg_advisory_xact_lock({CLAIMING}, {queue}); \
             SET LOCAL lock_timeout TO DEFAULT"
        )
    })
});
/// After how long without a word the connection for wake-ups is asked whether it still works: of a server that has vanished, and of a
/// firewall that has forgotten the connection, nobody is told.
const QUIET: Duration = Duration::from_secs(30);

/// How many statements a connection keeps ready: a claim has a text of its own for each number of jobs.
const STATEMENTS: usize = 256;

/// How the server is to plan the statements of a transaction.
#[derive(Clone, Copy)]
pub(crate) enum Plans {
    /// For the values at hand, as far as it finds that worth while.
    Fitting,
    /// Once for each connection, along the indexes. What it believes to know of a table that is full at one moment and empty at
    /// another is wrong mostly, and to think about it each time takes as long as the statement.
    Simple,
    /// The same, after those who came before. All who look for jobs at the same moment pass by what the others hold, and the more
    /// there are, the longer each takes: those who wait here cost nothing.
    SimpleInTurn,
}

pub(crate) struct Postgres {
    connections: Connections,
    clock: Arc<dyn Clock>,
    announcer: Announcer,
    /// They hold the connections, and would keep them open for ever.
    tasks: [AbortHandle; 3],
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
            let first = timeout(ANSWER, PgConnection::connect_with(options)).await;
            first.map_err(|_| StoreError::Unreachable("the server did not answer".to_owned()))??.close().await?;
        }
        let most = connections.saturating_sub(1).max(1);
        let connections = Connections::new(options.clone(), most, listen.is_none());
        let ears = listen.unwrap_or(options).application_name(LISTENER);
        let announcer = Announcer::new(hub.clone(), new_id(clock.now()));
        let listening = tokio::spawn(listen_forever(ears, hub, announcer.clone(), connections.clone()));
        let sending = tokio::spawn(announcer.clone().send_forever(connections.clone()));
        let watching = tokio::spawn(connections.clone().watch_forever());
        let tasks = [listening, sending, watching].map(|task| task.abort_handle());
        Ok(Self { connections, clock, announcer, tasks })
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
        let gone = transaction.gone();
        let mut conn = PgConn::new(&mut transaction, &*self.clock);
        let result = unless(gone, script(&mut conn)).await.unwrap_or_else(|| Err(StoreError::from(no_answer()).into()));
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

    /// One statement that is a transaction by itself: one journey to the server instead of at least four. Gives the row that it returns,
    /// if it does, and announces what that comes to.
    pub(crate) async fn write_at_once<T: FromRow>(
        &self,
        sql: Sql,
        values: Vec<Value>,
        changes: impl FnOnce(&T) -> Vec<Change>,
    ) -> Result<Option<T>> {
        let mut connection = self.lend().await?;
        let gone = connection.gone();
        let mut conn = PgConn::new(&mut connection, &*self.clock);
        // To the end of the answer: a row comes before the commit.
        let mut rows = unless(gone, conn.query(sql, values)).await.ok_or_else(no_answer)??;
        connection.keep();
        let written = rows.first_mut().map(T::from_row).transpose()?;
        if let Some(written) = &written {
            self.announcer.tell(changes(written));
        }
        Ok(written)
    }

    pub(crate) async fn read<T, F>(&self, script: F) -> Result<T>
    where
        F: for<'c> FnOnce(&'c mut dyn Conn) -> BoxFuture<'c, Result<T>>,
    {
        let mut connection = self.lend().await?;
        let gone = connection.gone();
        let answer =
            unless(gone, script(&mut PgConn::new(&mut connection, &*self.clock))).await.ok_or_else(no_answer)??;
        connection.keep();
        Ok(answer)
    }

    // In boxes, as all that is of sqlx: whoever awaits it otherwise has all of it compiled once more.
    fn begin(&self, plans: Plans) -> BoxFuture<'_, Result<Transaction>> {
        Box::pin(async move {
            let begin = match plans {
                Plans::Fitting => BEGIN,
                Plans::Simple => BEGIN_SIMPLE,
                Plans::SimpleInTurn => {
                    // By lot: whoever was cut off in the middle of a claim stands in one of the queues only.
                    let queue = (random_fraction() * CLAIMS_AT_ONCE as f64) as usize;
                    match self.connections.begin(&BEGIN_IN_TURN[queue % CLAIMS_AT_ONCE]).await {
                        // Out of turn then.
                        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some(LOCK_TIMEOUT) => {
                            BEGIN_SIMPLE
                        }
                        begun => return Ok(begun?),
                    }
                }
            };
            Ok(self.connections.begin(begin).await?)
        })
    }

    /// A transaction that may wait for a file now and then.
    pub(crate) fn begin_at_leisure(&self) -> BoxFuture<'_, Result<Transaction>> {
        Box::pin(async { Ok(self.connections.begin("BEGIN").await?) })
    }

    /// A transaction that sees the database as it is at its first look, and may take as long as it takes.
    pub(crate) fn still(&self) -> BoxFuture<'_, Result<Transaction>> {
        Box::pin(async {
            let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL statement_timeout = 0; \
                         SET LOCAL idle_in_transaction_session_timeout = 0";
            Ok(self.connections.begin(begin).await?)
        })
    }

    fn lend(&self) -> BoxFuture<'_, Result<Lent>> {
        Box::pin(async { Ok(self.connections.lend().await?) })
    }
}

pub(crate) fn commit(transaction: Transaction) -> BoxFuture<'static, Result<()>> {
    Box::pin(async { Ok(transaction.commit().await?) })
}

fn rollback(transaction: Transaction) -> BoxFuture<'static, ()> {
    Box::pin(transaction.rollback())
}

fn connect_options(address: &str) -> Result<PgConnectOptions> {
    // The parser's message could quote the address, and the address a password.
    let parsed = PgConnectOptions::from_str(address);
    let unfit = |_| StoreError::BadAddress("the database address is not a well-formed postgres:// one".to_owned());
    // Without the digits of floats, of which there are none: PgBouncer refuses whoever asks for them.
    let options = parsed.map_err(unfit)?.application_name("copydesk").extra_float_digits(None);
    Ok(options.statement_cache_capacity(STATEMENTS))
}

/// Passes on what other processes announce. It holds one connection of its own.
async fn listen_forever(options: PgConnectOptions, hub: Hub, announcer: Announcer, connections: Connections) {
    let (shortest, longest) = (Duration::from_millis(200), Duration::from_secs(10));
    let mut pause = shortest;
    loop {
        let began = Instant::now();
        // It is kept for as long as it works. A pool might never have back one that does not.
        let ears = PgPoolOptions::new().max_connections(1).idle_timeout(None).max_lifetime(None);
        let ears = ears.acquire_timeout(ANSWER).connect_lazy_with(options.clone());
        if let Err(error) = listen(&ears, &hub, &announcer, connections.lost()).await {
            tracing::warn!(%error, "lost the connection for wake-ups; falling back to timers until it is back");
        }
        if began.elapsed() > longest {
            pause = shortest;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
}

async fn listen(
    pool: &PgPool,
    hub: &Hub,
    announcer: &Announcer,
    mut lost: watch::Receiver<()>,
) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    timeout(ANSWER, listener.listen(CHANNEL)).await.map_err(|_| no_answer())??;
    // Whatever was announced while nobody listened.
    hub.publish(Change::Ready(None));
    announcer.greet();
    loop {
        let heard = tokio::select! {
            heard = listener.try_recv() => Some(heard?),
            Ok(()) = lost.changed() => None,
            () = tokio::time::sleep(QUIET) => None,
        };
        match heard {
            Some(Some(note)) => announcer.hear(note.payload()),
            Some(None) => hub.publish(Change::Ready(None)),
            None => is_there(&mut listener).await?,
        }
    }
}

async fn is_there(listener: &mut PgListener) -> Result<(), sqlx::Error> {
    timeout(ANSWER, listener.execute("SELECT 1")).await.map_err(|_| no_answer())?.map(drop)
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
