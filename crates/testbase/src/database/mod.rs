//! Temporary databases.

mod relay;
mod server;
mod sql;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use copydesk_domain::Clock;
use copydesk_store::{DatabaseAddress, Store};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tempfile::TempDir;

pub use relay::{ServerEnd, relay};
pub use server::PostgresServer;
pub use sql::Lock;

/// Names the PostgreSQL server that `scripts/test` has started: an address whose user may create databases.
const POSTGRES: &str = "COPYDESK_TEST_POSTGRES";

/// Which database a test runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// A file in a temporary folder.
    Sqlite,
    /// A database of its own on the server named by `COPYDESK_TEST_POSTGRES`.
    Postgres,
}

impl FromStr for Backend {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = [Self::Sqlite, Self::Postgres].into_iter().find(|backend| backend.to_string() == text);
        known.ok_or_else(|| "must be sqlite or postgres".to_owned())
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        })
    }
}

/// An empty database that nobody else uses.
pub struct TestDatabase {
    address: DatabaseAddress,
    // A file database goes with its folder; the PostgreSQL server is itself temporary.
    _folder: Option<TempDir>,
}

impl TestDatabase {
    pub async fn new(backend: Backend) -> Self {
        match backend {
            Backend::Sqlite => {
                let folder = tempfile::tempdir().unwrap();
                let address = DatabaseAddress::Sqlite(folder.path().join("copydesk.db"));
                Self { address, _folder: Some(folder) }
            }
            Backend::Postgres => Self { address: create_postgres().await, _folder: None },
        }
    }

    pub fn address(&self) -> &DatabaseAddress {
        &self.address
    }

    /// Where it is, as `--database-url` takes it.
    pub fn url(&self) -> String {
        match &self.address {
            DatabaseAddress::Sqlite(path) => format!("sqlite:{}", path.display()),
            DatabaseAddress::Postgres { address, .. } => address.clone(),
        }
    }

    /// A new connection to it, as another process would have, without a schema on first use.
    pub async fn open(&self, clock: Arc<dyn Clock>) -> Store {
        Store::open(&self.address, clock).await.unwrap()
    }

    /// A new connection with the schema in place.
    pub async fn store(&self, clock: Arc<dyn Clock>) -> Store {
        let store = self.open(clock).await;
        store.migrate().await.unwrap();
        store
    }
}

async fn create_postgres() -> DatabaseAddress {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let Ok(server) = std::env::var(POSTGRES) else {
        panic!("{POSTGRES} is not set: run scripts/test, or name a PostgreSQL server whose user may create databases");
    };
    let name = format!("copydesk_test_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst));
    let mut connection = PgConnection::connect(&server).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE {name}"))).execute(&mut connection).await.unwrap();
    let (before, options) = server.split_once('?').unwrap_or((&server, ""));
    let (base, _) = before.rsplit_once('/').unwrap();
    DatabaseAddress::Postgres { address: format!("{base}/{name}?{options}"), listen: None, connections: 4 }
}
