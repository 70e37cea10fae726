//! The store itself: how it is opened, and what it has.

use std::str::FromStr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{Clock, Doubt, SteadyTime, Timestamp};
use copydesk_views::store::ViewsError;
use copydesk_views::store::moving::MoveNote;
use copydesk_views::{Crowd, CrowdBounds};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{PgPool, Row};

use crate::clickhouse::{self, ClickHouse, ClickHouseOptions, Shipping};
use crate::error::{Fault, Result};
use crate::names::Names;
use crate::questions::{PATIENCE, Room};
use crate::{gate, schema};

/// How long a connection may take.
const ANSWER: Duration = Duration::from_secs(5);

/// How a store treats the database and its own memory.
#[derive(Debug, Clone)]
pub struct Options {
    pub clock: Arc<dyn Clock>,
    /// Whether the store's clock is set by the database's instead, so that a machine whose own is wrong forgets nothing for all others.
    pub follows_database: bool,
    /// Whether tables are made if there are none; whoever only looks does not.
    pub makes_tables: bool,
    /// Whether it is opened also if the views were moved away, or have not all come yet: by the move itself.
    pub for_move: bool,
    /// How many connections the process may hold for page views.
    pub connections: u32,
    /// For how many hours an id is remembered.
    pub id_hours: u32,
    /// Memory for one large answer. There is one at a time.
    pub question_bytes: usize,
    /// How long a question may take the database.
    pub question_time: Duration,
    /// Pages that a project can have a day, by the day of the views; the rest is counted as one. 0 for no bound. Every
    /// process bounds what it is told itself.
    pub pages_a_day: usize,
    /// Likewise kinds of readers.
    pub readers_a_day: usize,
    /// Where it is counted, if not in the database itself.
    pub clickhouse: Option<ClickHouseOptions>,
}

impl Options {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            follows_database: true,
            makes_tables: true,
            for_move: false,
            connections: 5,
            id_hours: 72,
            question_bytes: 256 * 1024 * 1024,
            question_time: Duration::from_secs(60),
            pages_a_day: 50_000,
            readers_a_day: 10_000,
            clickhouse: None,
        }
    }

    pub(crate) fn id_seconds(&self) -> i64 {
        i64::from(self.id_hours) * 3600
    }
}

/// Page views in a PostgreSQL database, which any number of processes may have open.
pub struct Database {
    pub(crate) pool: PgPool,
    /// Connections of those who ask: they take none away from those who count, nor the other way round.
    pub(crate) questions: PgPool,
    pub(crate) options: Options,
    pub(crate) names: Names,
    pub(crate) crowd: Crowd,
    pub(crate) room: Room,
    time: Mutex<SteadyTime>,
    /// The database's time when the machine's uptime was nought, in milliseconds.
    began: AtomicI64,
    /// The store's time when old rows were last looked for.
    pub(crate) swept: AtomicI64,
    /// Where it is counted, if not in the database itself, and what sends it there.
    pub(crate) clickhouse: Option<Arc<ClickHouse>>,
    shipping: Mutex<Option<Shipping>>,
}

/// A clock that was set by the database's, and runs on evenly whatever happens to the machine's.
#[derive(Debug)]
struct SetClock<'a> {
    machine: &'a dyn Clock,
    began: Option<i64>,
}

impl Clock for SetClock<'_> {
    fn now(&self) -> Timestamp {
        match self.began {
            Some(began) => Timestamp::from_millis(began.saturating_add(uptime(self.machine))),
            None => self.machine.now(),
        }
    }

    fn uptime(&self) -> Duration {
        self.machine.uptime()
    }
}

#[boxed]
impl Database {
    /// Opens the page views of a database and makes their tables if there are none.
    pub async fn open(address: &str, options: Options) -> Result<Arc<Self>, ViewsError> {
        let address = options_of(address)?;
        let for_questions = (options.connections * 2 / 5).max(1);
        let pool = |most: u32| {
            let pool = PgPoolOptions::new().max_connections(most.max(1)).acquire_timeout(ANSWER);
            pool.connect_lazy_with(address.clone())
        };
        let (counting, asking) = (pool(options.connections.saturating_sub(for_questions)), pool(for_questions));
        Ok(Arc::new(Self::opened(address, counting, asking, options).await?))
    }

    async fn opened(address: PgConnectOptions, pool: PgPool, questions: PgPool, options: Options) -> Result<Self> {
        schema::migrate(&pool, options.makes_tables).await?;
        let note = if options.for_move { None } else { gate::read(&pool).await? };
        if let Some(obstacle) = note.and_then(|note| note.obstacle()) {
            return Err(obstacle.into());
        }
        let house = match options.clickhouse.clone() {
            Some(clickhouse) => {
                Some(ClickHouse::open(&pool, address, clickhouse, options.makes_tables, &*options.clock).await?)
            }
            None => {
                check_counted_here(&pool).await?;
                None
            }
        };
        let row = sqlx::query(
            "SELECT (SELECT now FROM views_time), current_setting('fsync'), current_setting('full_page_writes')",
        )
        .fetch_one(&pool)
        .await?;
        let (time, fsync, pages): (Option<i64>, String, String) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        if fsync != "on" || pages != "on" {
            tracing::warn!(
                fsync,
                full_page_writes = pages,
                "the database server is set up to lose what it has committed when its machine breaks down, page views too"
            );
        }
        let known = time.map(|seconds| Timestamp::from_millis(seconds.saturating_mul(1000)));
        let began = if options.follows_database { Some(measured(&pool, &*options.clock).await?) } else { None };
        let time = Mutex::new(SteadyTime::new(known, &SetClock { machine: &*options.clock, began }));
        let crowd = Crowd::new(CrowdBounds { pages: options.pages_a_day, readers: options.readers_a_day });
        let room = Room::new(options.question_bytes, PATIENCE);
        let (names, swept) = (Names::default(), AtomicI64::new(i64::MIN));
        let began = AtomicI64::new(began.unwrap_or(0));
        let shipping = house.clone().map(|house| Shipping::begin(house, options.makes_tables));
        let shipping = Mutex::new(shipping);
        Ok(Self { pool, questions, names, crowd, room, time, began, swept, options, clickhouse: house, shipping })
    }

    /// What is written down in a database about a move of page views, without opening these.
    pub async fn move_note_at(address: &str) -> Result<Option<MoveNote>, ViewsError> {
        let pool =
            PgPoolOptions::new().max_connections(1).acquire_timeout(ANSWER).connect_lazy_with(options_of(address)?);
        let note = gate::read(&pool).await;
        pool.close().await;
        Ok(note?)
    }

    /// Ends all connections. What is asked for from now on is refused.
    pub async fn close(&self) {
        let shipping = self.shipping.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(shipping) = shipping {
            shipping.end().await;
        }
        self.pool.close().await;
        self.questions.close().await;
    }
}

impl Database {
    /// Sets the store's clock by the database's.
    pub(crate) async fn set_clock(&self) -> Result<()> {
        if self.options.follows_database {
            self.began.store(measured(&self.pool, &*self.options.clock).await?, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The store's own time, in seconds since 1970.
    pub(crate) fn now(&self) -> i64 {
        let mut time = self.time.lock().unwrap_or_else(PoisonError::into_inner);
        let began = self.options.follows_database.then(|| self.began.load(Ordering::Relaxed));
        let clock = SetClock { machine: &*self.options.clock, began };
        match time.look(&clock) {
            Some(Doubt::Began(off)) => tracing::warn!(
                hours = off / 3_600_000,
                "the clock has leapt; page views do not age by it until it has stood by that for hours"
            ),
            Some(Doubt::Ended(off)) => {
                tracing::warn!(hours = off / 3_600_000, "the clock stood by its leap and is followed now");
            }
            None => {}
        }
        time.now().as_millis().div_euclid(1000)
    }
}

fn options_of(address: &str) -> Result<PgConnectOptions, ViewsError> {
    // The parser's message could quote the address, and the address a password.
    let address = PgConnectOptions::from_str(address)
        .map_err(|_| ViewsError::Unavailable("the database address is not a well-formed postgres:// one".to_owned()))?;
    // Without the digits of floats, of which there are none: PgBouncer refuses whoever asks for them.
    Ok(address.application_name("copydesk views").extra_float_digits(None))
}

/// Refuses a database whose page views are counted in ClickHouse.
async fn check_counted_here(pool: &PgPool) -> Result<()> {
    match clickhouse::known_ledger(pool).await? {
        None => Ok(()),
        Some(_) => Err(Fault::unavailable(
            "the page views of this database are counted in ClickHouse: set views.store to \"clickhouse\", and \
             views.clickhouse_url",
        )),
    }
}

/// The database's time when the machine's uptime was nought, in milliseconds.
async fn measured(pool: &PgPool, clock: &dyn Clock) -> Result<i64> {
    let before = uptime(clock);
    let row = sqlx::query("SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint").fetch_one(pool).await?;
    let there: i64 = row.try_get(0)?;
    Ok(there.saturating_sub(before.midpoint(uptime(clock))))
}

fn uptime(clock: &dyn Clock) -> i64 {
    i64::try_from(clock.uptime().as_millis()).unwrap_or(i64::MAX)
}
