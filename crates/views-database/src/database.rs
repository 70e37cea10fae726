//! The store itself: how it is opened, and what it has.

use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{Clock, Doubt, SteadyTime, Timestamp};
use copydesk_views::store::ViewsError;
use copydesk_views::{Crowd, CrowdBounds};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{PgPool, Row};

use crate::error::Result;
use crate::names::Names;
use crate::questions::{PATIENCE, Room};
use crate::schema;

/// How long a connection may take.
const ANSWER: Duration = Duration::from_secs(5);

/// How a store treats the database and its own memory.
#[derive(Debug, Clone)]
pub struct Options {
    pub clock: Arc<dyn Clock>,
    /// Whether tables are made if there are none; whoever only looks does not.
    pub makes_tables: bool,
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
}

impl Options {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            makes_tables: true,
            connections: 5,
            id_hours: 72,
            question_bytes: 256 * 1024 * 1024,
            question_time: Duration::from_secs(60),
            pages_a_day: 50_000,
            readers_a_day: 10_000,
        }
    }

    pub(crate) fn id_seconds(&self) -> i64 {
        i64::from(self.id_hours) * 3600
    }
}

/// Page views in a PostgreSQL database, which any number of processes may have open.
pub struct Database {
    pub(crate) pool: PgPool,
    pub(crate) options: Options,
    pub(crate) names: Names,
    pub(crate) crowd: Crowd,
    pub(crate) room: Room,
    time: Mutex<SteadyTime>,
}

#[boxed]
impl Database {
    /// Opens the page views of a database and makes their tables if there are none.
    pub async fn open(address: &str, options: Options) -> Result<Arc<Self>, ViewsError> {
        // The parser's message could quote the address, and the address a password.
        let address = PgConnectOptions::from_str(address).map_err(|_| {
            ViewsError::Unavailable("the database address is not a well-formed postgres:// one".to_owned())
        })?;
        let pool = PgPoolOptions::new()
            .max_connections(options.connections.max(2))
            .acquire_timeout(ANSWER)
            .connect_lazy_with(address.application_name("copydesk views"));
        Ok(Arc::new(Self::opened(pool, options).await?))
    }

    async fn opened(pool: PgPool, options: Options) -> Result<Self> {
        schema::migrate(&pool, options.makes_tables).await?;
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
        let time = Mutex::new(SteadyTime::new(known, &*options.clock));
        let crowd = Crowd::new(CrowdBounds { pages: options.pages_a_day, readers: options.readers_a_day });
        let room = Room::new(options.question_bytes, PATIENCE);
        Ok(Self { pool, names: Names::default(), crowd, room, time, options })
    }

    /// Ends all connections. What is asked for from now on is refused.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

impl Database {
    /// The store's own time, in seconds since 1970.
    pub(crate) fn now(&self) -> i64 {
        let mut time = self.time.lock().unwrap_or_else(PoisonError::into_inner);
        match time.look(&*self.options.clock) {
            Some(Doubt::Began(off)) => tracing::warn!(
                hours = off / 3_600_000,
                "the machine's clock has leapt; page views do not age by it until it has stood by that for hours"
            ),
            Some(Doubt::Ended(off)) => {
                tracing::warn!(hours = off / 3_600_000, "the machine's clock stood by its leap and is followed now");
            }
            None => {}
        }
        time.now().as_millis().div_euclid(1000)
    }
}
