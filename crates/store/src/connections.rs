//! The connections of a process to PostgreSQL. They are kept here, because a pool of sqlx asks the server after each use whether
//! the connection still works: that is one journey to it in eight.

use std::collections::BTreeMap;
use std::future::pending;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, Error, PgConnection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, timeout, timeout_at};

/// How long a connection may take.
pub(crate) const ANSWER: Duration = Duration::from_secs(5);
/// How long a connection that has worked is taken to work still.
const TRUSTED: Duration = Duration::from_secs(1);
/// How long one is kept that nobody needs, and how long at all: the server never gives back some of what it holds for it.
const UNUSED: Duration = Duration::from_secs(600);
const OLD: Duration = Duration::from_secs(1800);
/// The pauses between attempts to reach a server that starts.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(500));
/// After how long in use, and how often from then on, the server is asked, on one connection more, whether it still knows one.
const LONG: Duration = Duration::from_secs(5);

/// All that a process may hold, but for the one that hears wake-ups.
#[derive(Clone)]
pub(crate) struct Connections(Arc<Shared>);

struct Shared {
    options: PgConnectOptions,
    /// No pooler stands between, which would have others for each transaction.
    is_direct: bool,
    places: Arc<Semaphore>,
    /// Those that nobody uses at the moment.
    free: Mutex<Vec<Open>>,
    in_use: Mutex<BTreeMap<u64, InUse>>,
    lent: AtomicU64,
    lost: watch::Sender<()>,
}

struct Open {
    connection: PgConnection,
    known_as: KnownAs,
    opened_at: Instant,
    used_at: Instant,
}

/// What the server knows a connection by: the process that serves it, and since when, which not every role may see.
type KnownAs = (i32, Option<i64>);

struct InUse {
    known_as: KnownAs,
    since: Instant,
    gone: watch::Sender<bool>,
}

impl Connections {
    /// None is opened yet.
    pub(crate) fn new(options: PgConnectOptions, most: u32, is_direct: bool) -> Self {
        let (places, free, in_use) = (Arc::new(Semaphore::new(most as usize)), Mutex::default(), Mutex::default());
        Self(Arc::new(Shared {
            options,
            is_direct,
            places,
            free,
            in_use,
            lent: AtomicU64::new(0),
            lost: watch::Sender::new(()),
        }))
    }

    /// One for the caller alone, as soon as there is one.
    pub(crate) async fn lend(&self) -> Result<Lent, Error> {
        let until = Instant::now() + ANSWER;
        timeout_at(until, self.find(until)).await.unwrap_or_else(|_| Err(no_answer()))
    }

    /// One with a transaction that `begin` begins.
    pub(crate) async fn begin(&self, begin: &'static str) -> Result<Transaction, Error> {
        let mut lent = self.lend().await?;
        lent.in_transaction = true;
        let gone = lent.gone();
        unless(gone, sqlx::raw_sql(begin).execute(&mut *lent)).await.ok_or_else(no_answer)??;
        Ok(Transaction(lent))
    }

    /// Looks, for ever, whether the server still knows those that are in use for long: of a machine that vanishes nobody is told,
    /// and whoever waits for its answer waits for ever. What cannot be asked may still be working.
    pub(crate) async fn watch_forever(self) {
        if !self.0.is_direct {
            return;
        }
        loop {
            tokio::time::sleep(LONG).await;
            let long = self.0.long_in_use();
            if long.is_empty() {
                continue;
            }
            let pids = long.iter().map(|(_, (pid, _))| *pid).collect();
            let Ok(Ok(known)) = timeout(ANSWER, known(&self.0.options, pids)).await else { continue };
            let is_gone = |(pid, since): KnownAs| {
                let now = known.iter().find(|known| known.0 == pid);
                now.is_none_or(|(_, now)| now.is_some_and(|now| Some(now) != since))
            };
            for (number, _) in long.into_iter().filter(|(_, known_as)| is_gone(*known_as)) {
                self.0.is_gone(number);
            }
        }
    }

    /// Tells when one was lost.
    pub(crate) fn lost(&self) -> watch::Receiver<()> {
        self.0.lost.subscribe()
    }

    async fn find(&self, until: Instant) -> Result<Lent, Error> {
        let place = self.0.places.clone().acquire_owned().await.map_err(|_| Error::PoolClosed)?;
        if let Some(mut open) = self.0.take() {
            if open.used_at.elapsed() < TRUSTED || matches!(timeout(TRUSTED, open.connection.ping()).await, Ok(Ok(())))
            {
                return Ok(self.0.clone().lend(open, place));
            }
            // The others have been unused for longer.
            locked(&self.0.free).clear();
        }
        let mut connection = connect(&self.0.options, until).await?;
        let known_as = if self.0.is_direct { known_as(&mut connection).await? } else { (0, None) };
        let now = Instant::now();
        Ok(self.0.clone().lend(Open { connection, known_as, opened_at: now, used_at: now }, place))
    }
}

const STARTED: &str = "(extract(epoch FROM backend_start) * 1000000)::bigint FROM pg_stat_activity";

async fn known_as(connection: &mut PgConnection) -> Result<KnownAs, Error> {
    let sql = format!("SELECT pid, {STARTED} WHERE pid = pg_backend_pid()");
    sqlx::query_as(AssertSqlSafe(sql)).fetch_one(connection).await
}

async fn known(options: &PgConnectOptions, pids: Vec<i32>) -> Result<Vec<KnownAs>, Error> {
    let mut connection = PgConnection::connect_with(options).await?;
    let sql = format!("SELECT pid, {STARTED} WHERE pid = ANY($1)");
    let known = sqlx::query_as(AssertSqlSafe(sql)).bind(pids).fetch_all(&mut connection).await?;
    connection.close().await?;
    Ok(known)
}

/// A server that has no room, or is not there yet, is asked again.
async fn connect(options: &PgConnectOptions, until: Instant) -> Result<PgConnection, Error> {
    let (mut pause, longest) = PAUSES;
    loop {
        match PgConnection::connect_with(options).await {
            Err(error) if may_pass(&error) && Instant::now() + pause < until => {
                tokio::time::sleep(pause).await;
                pause = (2 * pause).min(longest);
            }
            connected => return connected,
        }
    }
}

fn may_pass(error: &Error) -> bool {
    match error {
        Error::Io(error) => error.kind() == std::io::ErrorKind::ConnectionRefused,
        // Too many connections, and a server that starts.
        Error::Database(error) => matches!(error.code().as_deref(), Some("53300" | "57P03")),
        _ => false,
    }
}

pub(crate) fn no_answer() -> Error {
    Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, "the server did not answer"))
}

impl Shared {
    /// The one that was used last: others may be too many.
    fn take(&self) -> Option<Open> {
        locked(&self.free).pop()
    }

    fn put(&self, mut open: Open) {
        let now = Instant::now();
        open.used_at = now;
        let is_over = |open: &mut Open| now - open.used_at > UNUSED || now - open.opened_at > OLD;
        let over: Vec<Open> = {
            let mut free = locked(&self.free);
            free.push(open);
            free.extract_if(.., is_over).collect()
        };
        for open in over {
            spawn(async move { drop(timeout(ANSWER, open.connection.close()).await) });
        }
    }

    fn lend(self: Arc<Self>, open: Open, place: OwnedSemaphorePermit) -> Lent {
        let number = self.lent.fetch_add(1, Ordering::Relaxed);
        let (tell, gone) = watch::channel(false);
        locked(&self.in_use).insert(number, InUse { known_as: open.known_as, since: Instant::now(), gone: tell });
        let place = Place { shared: self, number, gone, _place: place };
        Lent { open: Some(open), in_transaction: false, place: Some(place) }
    }

    fn long_in_use(&self) -> Vec<(u64, KnownAs)> {
        let in_use = locked(&self.in_use);
        let long = in_use.iter().filter(|(_, in_use)| in_use.since.elapsed() > LONG && !*in_use.gone.borrow());
        let long = long.filter(|(_, in_use)| in_use.known_as.1.is_some());
        long.map(|(number, in_use)| (*number, in_use.known_as)).collect()
    }

    fn is_gone(&self, number: u64) {
        // Those that wait to be used have gone with it.
        locked(&self.free).clear();
        if let Some(in_use) = locked(&self.in_use).get(&number) {
            tracing::warn!("the database has lost a connection without telling; whoever waited for it tries again");
            in_use.gone.send_replace(true);
            self.lost.send_replace(());
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What comes of the work; none if its connection is gone before.
pub(crate) async fn unless<T>(gone: impl Future<Output = ()>, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        done = work => Some(done),
        () = gone => None,
    }
}

/// One of the places for connections in use.
struct Place {
    shared: Arc<Shared>,
    number: u64,
    gone: watch::Receiver<bool>,
    _place: OwnedSemaphorePermit,
}

impl Drop for Place {
    fn drop(&mut self) {
        locked(&self.shared.in_use).remove(&self.number);
    }
}

/// A connection in use. One that is not [kept](Self::keep) is brought in order first, or closed.
pub(crate) struct Lent {
    open: Option<Open>,
    in_transaction: bool,
    place: Option<Place>,
}

impl Lent {
    /// Gives it back after all that was asked has been answered.
    pub(crate) fn keep(mut self) {
        if let (Some(open), Some(place)) = (self.open.take(), &self.place) {
            place.shared.put(open);
        }
    }

    /// Ends when the server is found not to know it any more.
    pub(crate) fn gone(&self) -> impl Future<Output = ()> + Send + 'static + use<> {
        let gone = self.place.as_ref().map(|place| place.gone.clone());
        async move {
            if let Some(mut gone) = gone
                && gone.wait_for(|gone| *gone).await.is_ok()
            {
                return;
            }
            pending().await
        }
    }

    /// Gives it back as soon as nothing goes on in it any more. Its place is not free before: the server may still be at work.
    fn mend(&mut self) -> impl Future<Output = ()> + Send + 'static + use<> {
        let (gone, in_transaction) = (self.gone(), self.in_transaction);
        let (open, place) = (self.open.take(), self.place.take());
        async move {
            let (Some(mut open), Some(place)) = (open, place) else { return };
            let end = async {
                if in_transaction {
                    sqlx::raw_sql("ROLLBACK").execute(&mut open.connection).await.map(drop)
                } else {
                    open.connection.ping().await
                }
            };
            match unless(gone, end).await {
                Some(Ok(())) => place.shared.put(open),
                _ => drop(open),
            }
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if self.open.is_some() {
            spawn(self.mend());
        }
    }
}

/// Nothing is left to be done when the program ends.
fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(task);
    }
}

impl Deref for Lent {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.open.as_ref().expect("it is given back by value only").connection
    }
}

impl DerefMut for Lent {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.open.as_mut().expect("it is given back by value only").connection
    }
}

/// A connection with a transaction, which is rolled back unless it is committed.
pub(crate) struct Transaction(Lent);

impl Transaction {
    pub(crate) async fn commit(mut self) -> Result<(), Error> {
        let gone = self.0.gone();
        unless(gone, sqlx::raw_sql("COMMIT").execute(&mut *self.0)).await.ok_or_else(no_answer)??;
        self.0.keep();
        Ok(())
    }

    /// See [`Lent::gone`].
    pub(crate) fn gone(&self) -> impl Future<Output = ()> + Send + 'static + use<> {
        self.0.gone()
    }

    /// Now, and not some time after it was dropped.
    pub(crate) async fn rollback(mut self) {
        // By a task: whoever asks for it may walk away.
        drop(tokio::spawn(self.0.mend()).await);
    }
}

impl Deref for Transaction {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.0
    }
}

impl DerefMut for Transaction {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.0
    }
}
