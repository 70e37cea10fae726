//! A ledger and a database in ClickHouse that nobody else uses.

use std::sync::Arc;
use std::time::Duration;

use copydesk_domain::Clock;
use copydesk_testbase::{Backend, TestClickHouse, TestDatabase};
use copydesk_views::store::ViewsError;
use copydesk_views_database::{ClickHouseAddress, ClickHouseOptions, Database, Options};

pub struct Place {
    pub ledger: TestDatabase,
    pub there: TestClickHouse,
}

impl Place {
    pub async fn new() -> Self {
        Self { ledger: TestDatabase::new(Backend::Postgres).await, there: TestClickHouse::new() }
    }

    pub fn options(&self, clock: Arc<dyn Clock>) -> Options {
        let address = ClickHouseAddress::parse(&self.there.url(), self.there.cluster()).unwrap();
        let clickhouse = ClickHouseOptions { patience: Duration::from_secs(60), ..ClickHouseOptions::new(address) };
        Options { connections: 3, follows_database: false, clickhouse: Some(clickhouse), ..Options::new(clock) }
    }

    pub async fn open(&self, clock: Arc<dyn Clock>) -> Result<Arc<Database>, ViewsError> {
        Database::open(&self.ledger.url(), self.options(clock)).await
    }

    /// Changes every table.
    pub fn alter(&self, tables: &[&str], change: &str) {
        let local = if self.there.cluster().is_some() { "_local" } else { "" };
        let (name, everywhere) = (self.there.name(), self.there.everywhere());
        for table in tables {
            self.there.execute(&format!("ALTER TABLE {name}.{table}{local}{everywhere} {change}"));
        }
    }

    pub async fn destroy(self) {
        self.ledger.destroy().await;
    }
}
