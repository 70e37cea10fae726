use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use copydesk_boxed::boxed;
use copydesk_domain::{Actor, Clock, Timestamp, TraceContext};
use futures_util::future::BoxFuture;

use crate::announce::{Announcer, Interest, Need};
use crate::changes::Changes;
use crate::conn::{Conn, Dialect, FromRow, Result, Row, Sql, Value, values};
use crate::connections::{Transaction, no_answer, unless};
use crate::error::StoreError;
use crate::hub::{Change, Hub};
use crate::postgres::{LISTENER, PgConn, Plans, Postgres};
use crate::sqlite::{self, Sqlite, SqliteConn};
use crate::{migrate, rows, snapshot};

/// Where the database is.
#[derive(Clone)]
pub enum DatabaseAddress {
    Sqlite(PathBuf),
    /// A `postgres://` address, which may hold a password.
    Postgres {
        address: String,
        /// The same server without a pooler before it, for wake-ups; none if `address` has none.
        listen: Option<String>,
        /// How many connections the process may hold.
        connections: u32,
    },
}

/// The database, shared by everything in the process.
#[derive(Clone)]
pub struct Store {
    backend: Arc<Backend>,
    hub: Hub,
    clock: Arc<dyn Clock>,
    actor: Arc<Actor>,
    trace: Option<TraceContext>,
    /// How many times this process has looked for jobs to take.
    pub(crate) claims: Arc<AtomicU32>,
}

enum Backend {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

/// A database as it is at one moment, to be read in many steps.
pub(crate) enum Still {
    Sqlite(SqliteConn),
    Postgres(Transaction, Arc<dyn Clock>),
}

impl Still {
    pub(crate) async fn query(&mut self, sql: Sql, values: Vec<Value>) -> Result<Vec<Row>> {
        match self {
            Self::Sqlite(conn) => conn.query(sql, values).await,
            Self::Postgres(transaction, clock) => {
                let gone = transaction.gone();
                let rows = unless(gone, PgConn::new(transaction, &**clock).query(sql, values)).await;
                rows.ok_or_else(no_answer)?
            }
        }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) => Dialect::Sqlite,
            Self::Postgres(..) => Dialect::Postgres,
        }
    }
}

#[boxed]
impl Store {
    /// Connects. The schema is not looked at; see [`Store::migrate`] and [`Store::check_schema`].
    pub async fn open(address: &DatabaseAddress, clock: Arc<dyn Clock>) -> Result<Self> {
        let hub = Hub::new();
        let backend = match address {
            DatabaseAddress::Sqlite(path) => Backend::Sqlite(Sqlite::open(path, hub.clone(), clock.clone())?),
            DatabaseAddress::Postgres { address, listen, connections } => {
                let (listen, hub) = (listen.as_deref(), hub.clone());
                Backend::Postgres(Postgres::open(address, listen, *connections, hub, clock.clone()).await?)
            }
        };
        Ok(Self {
            backend: Arc::new(backend),
            hub,
            clock,
            actor: Arc::new(Actor::program()),
            trace: None,
            claims: Arc::default(),
        })
    }

    /// The same store for somebody: what is done through it goes into the audit log under their name.
    pub fn by(&self, actor: Actor) -> Self {
        Self { actor: Arc::new(actor), ..self.clone() }
    }

    /// The same store for what belongs to a trace: jobs that are created through it do, too.
    pub fn traced(&self, trace: Option<TraceContext>) -> Self {
        Self { trace, ..self.clone() }
    }

    pub(crate) fn trace(&self) -> Option<TraceContext> {
        self.trace
    }

    /// Brings the schema up to date and says which versions were added.
    pub async fn migrate(&self) -> Result<Vec<i64>> {
        let now = self.now();
        // Looked at first, so that a start beside a running server needs no write lock.
        if self.check_schema().await.is_ok() {
            return Ok(Vec::new());
        }
        self.write(move |c| Box::pin(migrate::migrate(c, now))).await
    }

    /// An error unless the schema is the one that this program needs.
    pub async fn check_schema(&self) -> Result<()> {
        self.read(|c| Box::pin(migrate::check(c))).await
    }

    /// What the clock of a database server says; none if the database is a file of this machine.
    pub async fn server_clock(&self) -> Result<Option<Timestamp>> {
        if matches!(&*self.backend, Backend::Sqlite(_)) {
            return Ok(None);
        }
        let sql = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";
        self.read(move |c| Box::pin(c.only_row::<Timestamp>(sql, Vec::new()))).await.map(Some)
    }

    /// Copies the database into a file that must not exist yet, as it is at one moment, while it is in use. The file is a
    /// database of SQLite, whatever it is copied from.
    pub async fn backup(&self, file: &Path) -> Result<()> {
        let to = file.to_owned();
        match &*self.backend {
            Backend::Sqlite(sqlite) => {
                let from = sqlite.path().to_owned();
                let copied = tokio::task::spawn_blocking(move || sqlite::copy(&from, &to)).await;
                copied.map_err(|error| StoreError::Refused(error.to_string()))?
            }
            Backend::Postgres(postgres) => snapshot::from_postgres(postgres, to, self.clock.clone()).await,
        }
    }

    /// Whether there is nothing at all in the database, not even a table.
    pub async fn is_blank(&self) -> Result<bool> {
        self.read(|c| Box::pin(migrate::is_blank(c))).await
    }

    /// Fills a blank database of PostgreSQL with all that a file from [`Store::backup`] has, of this program's schema: all of
    /// it or, whatever happens, nothing.
    pub async fn fill_from(&self, file: &Path) -> Result<()> {
        match &*self.backend {
            Backend::Sqlite(_) => Err(StoreError::Refused("a file is put in its place instead".to_owned())),
            Backend::Postgres(postgres) => snapshot::into_postgres(postgres, file.to_owned(), self.clock.clone()).await,
        }
    }

    /// The database as it is at one moment.
    pub(crate) async fn still(&self) -> Result<Still> {
        Ok(match &*self.backend {
            Backend::Sqlite(sqlite) => Still::Sqlite(sqlite.still()?),
            Backend::Postgres(postgres) => Still::Postgres(postgres.still().await?, self.clock.clone()),
        })
    }

    /// The file of a database of SQLite.
    pub(crate) fn file(&self) -> Option<&Path> {
        match &*self.backend {
            Backend::Sqlite(sqlite) => Some(sqlite.path()),
            Backend::Postgres(_) => None,
        }
    }

    /// A transaction of its own, for as long as it is kept; none if the database is a file.
    pub(crate) async fn aside(&self) -> Result<Option<Transaction>> {
        match &*self.backend {
            Backend::Sqlite(_) => Ok(None),
            Backend::Postgres(postgres) => Ok(Some(postgres.begin_at_leisure().await?)),
        }
    }

    pub(crate) fn tables(&self) -> Result<Vec<rows::Table>> {
        rows::tables_of_schema(self.clock.clone())
    }

    /// How many rows every table has, all at one moment.
    pub async fn row_counts(&self) -> Result<BTreeMap<String, u64>> {
        let tables = self.tables()?;
        self.write(|c| Box::pin(snapshot::count(c, tables))).await
    }

    /// What kind of database it is, as people call it.
    pub fn kind(&self) -> &'static str {
        match &*self.backend {
            Backend::Sqlite(_) => "SQLite",
            Backend::Postgres(_) => "PostgreSQL",
        }
    }

    /// Whether several machines may use it at once.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(&*self.backend, Backend::Postgres(_))
    }

    /// Listens for changes from now on. What happens to jobs in other processes is not among them, but for their being
    /// called.
    pub fn changes(&self) -> Changes {
        Changes::new(self.hub.subscribe(), None)
    }

    /// The same for somebody who wants to know all that happens to jobs.
    pub fn changes_of_jobs(&self) -> Changes {
        Changes::new(self.hub.subscribe(), self.need(Need::News))
    }

    /// The same for somebody who has nothing to do: other processes tell when a project has room for another job.
    pub fn changes_for_idle(&self) -> Changes {
        Changes::new(self.hub.subscribe(), self.need(Need::Work))
    }

    /// The same for somebody who sends what is in the outbox: other processes tell when there is something.
    pub fn changes_for_sender(&self) -> Changes {
        Changes::new(self.hub.subscribe(), self.need(Need::Outbox))
    }

    fn need(&self, need: Need) -> Option<Interest> {
        self.announcer().map(|announcer| announcer.need(need))
    }

    /// How many other processes have nothing to do and wait for a job, as far as they have told.
    pub fn others_idle(&self) -> usize {
        self.announcer().map_or(0, |announcer| announcer.others(Need::Work))
    }

    fn announcer(&self) -> Option<&Announcer> {
        match &*self.backend {
            Backend::Sqlite(_) => None,
            Backend::Postgres(postgres) => Some(postgres.announcer()),
        }
    }

    /// How many processes use this database, this one included, as far as it can be told.
    pub async fn processes(&self) -> Result<u32> {
        if matches!(&*self.backend, Backend::Sqlite(_)) {
            return Ok(1);
        }
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1";
        let count: u32 = self.read(move |c| Box::pin(c.only_row(sql, values![LISTENER]))).await?;
        Ok(count.max(1))
    }

    /// The present instant, by the store's clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// One transaction. When it is done its changes are on disk, and those who wait have been told; after an error there
    /// are none.
    pub(crate) async fn write<T, E, F>(&self, script: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: for<'c> FnOnce(&'c mut dyn Conn) -> BoxFuture<'c, Result<T, E>> + Send + 'static,
    {
        self.write_planned(Plans::Fitting, script).await
    }

    /// The same for statements that PostgreSQL is to plan in this way.
    pub(crate) async fn write_planned<T, E, F>(&self, plans: Plans, script: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: for<'c> FnOnce(&'c mut dyn Conn) -> BoxFuture<'c, Result<T, E>> + Send + 'static,
    {
        let actor = self.actor.clone();
        match &*self.backend {
            Backend::Sqlite(sqlite) => sqlite.write(|c| script(as_actor(c, actor))).await,
            Backend::Postgres(postgres) => postgres.write(plans, |c| script(as_actor(c, actor))).await,
        }
    }

    /// Tries to do all with one statement, which returns a row if it has; if not, nothing has been done, and a transaction finds out
    /// why. A file is as quick with several.
    pub(crate) async fn done_at_once<T: FromRow>(
        &self,
        sql: &'static str,
        values: Vec<Value>,
        changes: impl FnOnce(&T) -> Vec<Change>,
    ) -> Result<Option<T>> {
        let Backend::Postgres(postgres) = &*self.backend else { return Ok(None) };
        match postgres.write_at_once(sql.into(), values, changes).await {
            Err(StoreError::Refused(_)) => Ok(None),
            done => done,
        }
    }

    pub(crate) async fn read<T, F>(&self, script: F) -> Result<T>
    where
        F: for<'c> FnOnce(&'c mut dyn Conn) -> BoxFuture<'c, Result<T>> + Send,
    {
        match &*self.backend {
            Backend::Sqlite(sqlite) => sqlite.read(script),
            Backend::Postgres(postgres) => postgres.read(script).await,
        }
    }
}

fn as_actor(c: &mut dyn Conn, actor: Arc<Actor>) -> &mut dyn Conn {
    c.set_actor(actor);
    c
}
