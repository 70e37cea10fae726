//! A ledger and a database in ClickHouse that nobody else uses.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use clickhouse::Client;
use copydesk_domain::Clock;
use copydesk_testbase::{Backend, TestDatabase};
use copydesk_views::store::ViewsError;
use copydesk_views_database::{ClickHouseAddress, ClickHouseOptions, Database, Options};

/// Names the server: `http://host:8123`, with a user and password if it needs them.
const SERVER: &str = "COPYDESK_TEST_CLICKHOUSE_URL";

pub struct Place {
    pub ledger: TestDatabase,
    /// Of the server, without the name of a database.
    pub server: String,
    pub name: String,
}

impl Place {
    pub async fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let Ok(server) = std::env::var(SERVER) else {
            panic!("{SERVER} is not set: run scripts/test, or start scripts/clickhouse/shim.py and name its address");
        };
        let name = format!("copydesk_test_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst));
        let place = Self { ledger: TestDatabase::new(Backend::Postgres).await, server, name };
        place.execute(&format!("CREATE DATABASE {}", place.name)).await;
        place
    }

    /// The database, as `views.clickhouse_url` takes it.
    pub fn url(&self) -> String {
        format!("{}/{}", self.server.trim_end_matches('/'), self.name)
    }

    pub fn options(&self, clock: Arc<dyn Clock>) -> Options {
        let address = ClickHouseAddress::parse(&self.url(), None).unwrap();
        let clickhouse = ClickHouseOptions { patience: Duration::from_secs(60), ..ClickHouseOptions::new(address) };
        Options { connections: 3, follows_database: false, clickhouse: Some(clickhouse), ..Options::new(clock) }
    }

    pub async fn open(&self, clock: Arc<dyn Clock>) -> Result<Arc<Database>, ViewsError> {
        Database::open(&self.ledger.url(), self.options(clock)).await
    }

    /// Speaks to the server itself.
    pub fn client(&self) -> Client {
        Client::default().with_url(&self.server)
    }

    pub async fn execute(&self, sql: &str) {
        self.client().query_raw(sql).execute().await.expect("ClickHouse answers");
    }

    pub async fn destroy(self) {
        self.execute(&format!("DROP DATABASE {}", self.name)).await;
        self.ledger.destroy().await;
    }
}
