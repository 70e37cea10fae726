//! SQLite: one writer thread, readers on the caller's own thread.
//!
//! The writer takes every write that is waiting into one transaction, each behind its own savepoint, and answers
//! only after the commit has reached the disk. So writes never meet "database is locked" inside the process, many
//! share one sync, and an answer means that the write survives a power cut. A point read through a prepared
//! statement takes a few microseconds, less than handing it to another thread would.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use copydesk_domain::{Actor, Clock, Timestamp};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql};
use tokio::sync::oneshot;

use crate::conn::{Conn, Dialect, Result, Row, Sql, Value};
use crate::error::StoreError;
use crate::hub::{Change, Hub};

/// How long a process waits for another one (a command beside the server) to finish its write.
const BUSY: Duration = Duration::from_secs(10);
/// The most writes that share one commit.
const GROUP: usize = 256;
/// The most idle readers that are kept.
const READERS: usize = 16;

pub(crate) struct Sqlite {
    path: PathBuf,
    readers: Mutex<Vec<SqliteConn>>,
    clock: Arc<dyn Clock>,
    // Both are there until the end.
    writer: Option<mpsc::Sender<Work>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Sqlite {
    /// Closes the readers first and waits for the writer: the last to close folds the log into the file, and only the
    /// writer can.
    fn drop(&mut self) {
        self.lock_readers().clear();
        self.writer = None;
        if let Some(thread) = self.thread.take() {
            // It never panics: every script runs behind a net.
            let _ = thread.join();
        }
    }
}

/// One write: runs inside the transaction, or is told why there is none, and returns what to do once its fate is
/// known.
type Work = Box<dyn FnOnce(Result<&mut SqliteConn>) -> Ran + Send>;

struct Ran {
    keep: bool,
    answer: Box<dyn FnOnce(Result<()>) + Send>,
}

pub(crate) struct SqliteConn {
    pub(crate) connection: Connection,
    announced: Vec<Change>,
    clock: Arc<dyn Clock>,
    actor: Arc<Actor>,
}

impl Sqlite {
    pub(crate) fn open(path: &Path, hub: Hub, clock: Arc<dyn Clock>) -> Result<Self> {
        create_private(path)?;
        let connection = open_connection(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
        keep_a_log(&connection)?;
        // FULL: a commit is on the disk before it is acknowledged.
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        let (writer, work) = mpsc::channel();
        let conn = SqliteConn::new(connection, clock.clone());
        let thread = std::thread::Builder::new()
            .name("copydesk-writer".to_owned())
            .spawn(move || write_forever(conn, &work, &hub))
            .map_err(|error| StoreError::Unreachable(error.to_string()))?;
        let (writer, thread) = (Some(writer), Some(thread));
        Ok(Self { path: path.to_owned(), readers: Mutex::default(), clock, writer, thread })
    }

    pub(crate) async fn write<T, E, F>(&self, script: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: for<'c> FnOnce(&'c mut dyn Conn) -> BoxFuture<'c, Result<T, E>> + Send + 'static,
    {
        let (tell, told) = oneshot::channel();
        let work: Work = Box::new(move |conn| {
            // Nobody waits for it any more: the client was told that it failed, so it must not happen.
            let given_up = || StoreError::Unreachable("the write was given up".to_owned());
            let conn = if tell.is_closed() { Err(given_up()) } else { conn };
            let result = conn.map_err(E::from).and_then(|conn| finish_now(script(conn)));
            Ran {
                keep: result.is_ok(),
                answer: Box::new(move |committed| {
                    // The caller may have given up; the write stands all the same.
                    let _ = tell.send(committed.map_err(E::from).and(result));
                }),
            }
        });
        let stopped = || StoreError::Unreachable("the writer has stopped".to_owned());
        self.writer.as_ref().ok_or_else(stopped)?.send(work).map_err(|_| stopped())?;
        told.await.map_err(|_| StoreError::Refused("the write was given up".to_owned()))?
    }

    pub(crate) fn read<T, F>(&self, script: F) -> Result<T>
    where
        F: for<'c> FnOnce(&'c mut dyn Conn) -> BoxFuture<'c, Result<T>>,
    {
        let idle = self.lock_readers().pop();
        let mut conn = match idle {
            Some(conn) => conn,
            None => {
                let connection = open_connection(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
                SqliteConn::new(connection, self.clock.clone())
            }
        };
        let result = finish_now(script(&mut conn));
        let mut readers = self.lock_readers();
        if readers.len() < READERS {
            readers.push(conn);
        }
        result
    }

    /// A connection that sees the database as it is at its first look, until it is dropped.
    pub(crate) fn still(&self) -> Result<SqliteConn> {
        let connection = open_connection(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.execute_batch("BEGIN")?;
        Ok(SqliteConn::new(connection, self.clock.clone()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn lock_readers(&self) -> std::sync::MutexGuard<'_, Vec<SqliteConn>> {
        self.readers.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// SQLite would make the file readable for everybody whom the folder lets in; its other files follow this one.
pub(crate) fn create_private(path: &Path) -> Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(StoreError::Unreachable(format!("{}: {error}", path.display())))
        }
        _ => Ok(()),
    }
}

/// Copies the database at `from` into `to`, without what it has deleted.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        return Err(StoreError::Refused(format!("there is something at {} already", to.display())));
    }
    // An empty file of that name is taken, and keeps its permissions.
    create_private(to)?;
    let name = to.to_str().ok_or_else(|| StoreError::Refused("the file's name is not UTF-8".to_owned()))?;
    open_connection(from, OpenFlags::SQLITE_OPEN_READ_ONLY)?.execute("VACUUM INTO ?1", [name])?;
    let synced = std::fs::File::open(to).and_then(|file| file.sync_all());
    synced.map_err(|error| StoreError::Unreachable(format!("{}: {error}", to.display())))
}

fn open_connection(path: &Path, flags: OpenFlags) -> Result<Connection> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(64);
    // A plan must not depend on the values bound to it, or SQLite plans some statements anew at every use.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

/// Makes the file one with a write-ahead log. Where processes do this to a new file at once, SQLite tells some of them
/// "locked" without waiting (two that read and want to write would wait for each other), so the waiting is done here.
fn keep_a_log(connection: &Connection) -> Result<()> {
    let began = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && began.elapsed() < BUSY => {
                std::thread::sleep(Duration::from_millis(10));
            }
            done => return Ok(done?),
        }
    }
}

/// A script on SQLite never waits: each of its statements is done when its future is first looked at.
pub(crate) fn finish_now<T, E: From<StoreError>>(future: BoxFuture<'_, Result<T, E>>) -> Result<T, E> {
    let waited = || StoreError::Refused("a script waited for something else".to_owned());
    future.now_or_never().unwrap_or_else(|| Err(waited().into()))
}

fn write_forever(mut conn: SqliteConn, work: &mpsc::Receiver<Work>, hub: &Hub) {
    while let Ok(first) = work.recv() {
        let mut group = vec![first];
        group.extend(work.try_iter().take(GROUP - 1));
        write_group(&mut conn, group, hub);
    }
}

fn write_group(conn: &mut SqliteConn, group: Vec<Work>, hub: &Hub) {
    conn.announced.clear();
    if let Err(error) = conn.connection.execute_batch("BEGIN IMMEDIATE").map_err(StoreError::from) {
        tracing::error!(%error, "cannot begin a write");
        return group.into_iter().for_each(|work| refuse(work, &error));
    }
    let mut ran = Vec::with_capacity(group.len());
    for work in group {
        // A full or failing disk makes SQLite give up the whole transaction on its own; what came after would not
        // be in one.
        if conn.connection.is_autocommit() {
            refuse(work, &rolled_back());
        } else {
            ran.extend(write_one(conn, work));
        }
    }
    let committed = commit(conn);
    if let Err(error) = &committed {
        tracing::error!(%error, "cannot commit");
        conn.announced.clear();
    }
    for ran in ran {
        (ran.answer)(committed.clone());
    }
    for change in conn.announced.drain(..) {
        hub.publish(change);
    }
}

fn commit(conn: &mut SqliteConn) -> Result<()> {
    if conn.connection.is_autocommit() {
        return Err(rolled_back());
    }
    conn.connection.execute_batch("COMMIT").map_err(|error| {
        let _ = conn.connection.execute_batch("ROLLBACK");
        error.into()
    })
}

fn rolled_back() -> StoreError {
    StoreError::Unreachable("the disk failed or is full, and the transaction was given up".to_owned())
}

/// Answers a write that there is no transaction for.
fn refuse(work: Work, error: &StoreError) {
    (work(Err(error.clone())).answer)(Ok(()));
}

/// Runs one write behind a savepoint; none if it panicked, which its caller sees as an answer that never comes.
fn write_one(conn: &mut SqliteConn, work: Work) -> Option<Ran> {
    let announced = conn.announced.len();
    let saved = conn.connection.execute_batch("SAVEPOINT one").map_err(StoreError::from);
    let ran = catch_unwind(AssertUnwindSafe(|| work(saved.map(|()| &mut *conn)))).ok();
    if !ran.as_ref().is_some_and(|ran| ran.keep) {
        let _ = conn.connection.execute_batch("ROLLBACK TO one");
        conn.announced.truncate(announced);
    }
    let _ = conn.connection.execute_batch("RELEASE one");
    ran
}

impl SqliteConn {
    pub(crate) fn new(connection: Connection, clock: Arc<dyn Clock>) -> Self {
        Self { connection, announced: Vec::new(), clock, actor: Arc::new(Actor::program()) }
    }

    fn query_now(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>> {
        let mut statement = self.connection.prepare_cached(sql)?;
        debug_assert!(
            (1..=statement.parameter_count()).all(|at| statement.parameter_name(at) == Some(&format!("${at}"))),
            "parameters must first appear in order: {sql}"
        );
        let columns = statement.column_count();
        let mut rows = statement.query(rusqlite::params_from_iter(values))?;
        let mut out = Vec::new();
        while let Some(row) = rows.next()? {
            let read = |at| Ok::<_, StoreError>(own(row.get_ref(at)?));
            out.push(Row::new((0..columns).map(read).collect::<Result<_>>()?));
        }
        Ok(out)
    }
}

pub(crate) fn own(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Int(None),
        ValueRef::Integer(it) => Value::Int(Some(it)),
        // No statement of the store selects a real.
        ValueRef::Real(_) => Value::Int(None),
        ValueRef::Text(it) => Value::Text(Some(String::from_utf8_lossy(it).into_owned())),
        ValueRef::Blob(it) => Value::Bytes(it.to_vec()),
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Int(Some(it)) => ValueRef::Integer(*it),
            Self::Text(Some(it)) => ValueRef::Text(it.as_bytes()),
            Self::Bytes(it) => ValueRef::Blob(it),
            Self::Int(None) | Self::Text(None) => ValueRef::Null,
        }))
    }
}

impl Conn for SqliteConn {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn query(&mut self, sql: Sql, values: Vec<Value>) -> BoxFuture<'_, Result<Vec<Row>>> {
        ready(self.query_now(&sql, &values)).boxed()
    }

    fn execute(&mut self, sql: Sql, values: Vec<Value>) -> BoxFuture<'_, Result<u64>> {
        let run = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let changed = statement.execute(rusqlite::params_from_iter(&values))?;
            Ok(u64::try_from(changed).unwrap_or(u64::MAX))
        };
        ready(run()).boxed()
    }

    fn batch(&mut self, sql: Sql) -> BoxFuture<'_, Result<()>> {
        ready(self.connection.execute_batch(&sql).map_err(StoreError::from)).boxed()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_commit_is_synced_before_it_is_acknowledged() {
        let folder = std::env::temp_dir().join(format!("copydesk-sync-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let sqlite = Sqlite::open(&folder.join("x.db"), Hub::new(), Arc::new(copydesk_domain::SystemClock)).unwrap();
        let pragmas = sqlite.write(|c| {
            Box::pin(async {
                let synchronous: i64 = c.only_row("PRAGMA synchronous", vec![]).await?;
                Ok::<_, StoreError>((synchronous, c.only_row("PRAGMA journal_mode", vec![]).await?))
            })
        });
        assert_eq!(pragmas.await.unwrap(), (2, "wal".to_owned()), "2 is FULL");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn those_who_open_a_new_file_at_once_all_get_it() {
        let folder = std::env::temp_dir().join(format!("copydesk-at-once-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for round in 0..40 {
            let path = folder.join(format!("{round}.db"));
            let at_once = std::sync::Barrier::new(8);
            std::thread::scope(|threads| {
                for _ in 0..8 {
                    threads.spawn(|| {
                        at_once.wait();
                        Sqlite::open(&path, Hub::new(), Arc::new(copydesk_domain::SystemClock)).unwrap();
                    });
                }
            });
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn a_write_that_nobody_waits_for_any_more_does_not_happen() {
        let folder = std::env::temp_dir().join(format!("copydesk-abandoned-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let sqlite = Sqlite::open(&folder.join("x.db"), Hub::new(), Arc::new(copydesk_domain::SystemClock)).unwrap();
        sqlite.write(|c| c.batch("CREATE TABLE t (x INTEGER)".into())).await.unwrap();
        // Holds the writer up until the one behind it has been abandoned.
        let (go, gone) = mpsc::channel::<()>();
        let first = sqlite.write(move |c| {
            let _ = gone.recv();
            c.batch("INSERT INTO t VALUES (1)".into())
        });
        let mut first = Box::pin(first);
        assert!(futures_util::poll!(&mut first).is_pending());
        let mut second = Box::pin(sqlite.write(|c| c.batch("INSERT INTO t VALUES (2)".into())));
        assert!(futures_util::poll!(&mut second).is_pending());
        drop(second);
        go.send(()).unwrap();
        first.await.unwrap();
        sqlite.write(|c| c.batch("INSERT INTO t VALUES (3)".into())).await.unwrap();
        let kept = sqlite.read(|c| Box::pin(async { c.rows::<i64>("SELECT x FROM t ORDER BY x", vec![]).await }));
        assert_eq!(kept.unwrap(), [1, 3]);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn a_write_that_fails_or_panics_leaves_the_others_of_its_group_alone() {
        let folder = std::env::temp_dir().join(format!("copydesk-group-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let sqlite = Sqlite::open(&folder.join("x.db"), Hub::new(), Arc::new(copydesk_domain::SystemClock)).unwrap();
        sqlite.write(|c| c.batch("CREATE TABLE t (x INTEGER)".into())).await.unwrap();
        let insert = |x: i64, then: fn() -> Result<()>| {
            sqlite.write(move |c| {
                Box::pin(async move {
                    c.run("INSERT INTO t VALUES ($1)", vec![Value::from(x)]).await?;
                    then()
                })
            })
        };
        let (good, bad, worse, also_good) = tokio::join!(
            insert(1, || Ok(())),
            insert(2, || Err(StoreError::Refused("no".to_owned()))),
            insert(3, || panic!("a bug")),
            insert(4, || Ok(())),
        );
        assert!(good.is_ok() && bad.is_err() && worse.is_err() && also_good.is_ok());
        let kept = sqlite.read(|c| Box::pin(async { c.rows::<i64>("SELECT x FROM t ORDER BY x", vec![]).await }));
        assert_eq!(kept.unwrap(), [1, 4]);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
