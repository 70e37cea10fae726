//! The database past the store, for what only the outside world does to it.

use copydesk_store::DatabaseAddress;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::TestDatabase;

/// Keeps everybody else from writing until it is dropped.
pub struct Lock {
    _held: Held,
}

#[allow(dead_code, reason = "held, not used")]
enum Held {
    Sqlite(rusqlite::Connection),
    Postgres(PgConnection),
}

impl TestDatabase {
    /// Runs statements.
    pub async fn execute(&self, sql: &str) {
        match self.address() {
            DatabaseAddress::Sqlite(path) => rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap(),
            DatabaseAddress::Postgres { address, .. } => run(&mut connect(address).await, sql).await,
        }
    }

    /// Begins a write of its own and does not end it.
    pub async fn lock(&self) -> Lock {
        let held = match self.address() {
            DatabaseAddress::Sqlite(path) => {
                let connection = rusqlite::Connection::open(path).unwrap();
                connection.execute_batch("BEGIN IMMEDIATE").unwrap();
                Held::Sqlite(connection)
            }
            DatabaseAddress::Postgres { address, .. } => {
                let mut connection = connect(address).await;
                run(&mut connection, "BEGIN; LOCK TABLE jobs IN EXCLUSIVE MODE").await;
                Held::Postgres(connection)
            }
        };
        Lock { _held: held }
    }

    /// Takes a PostgreSQL database away from whoever uses it. A file goes with its folder.
    pub async fn destroy(&self) {
        let DatabaseAddress::Postgres { address, .. } = self.address() else { return };
        let (before, options) = address.split_once('?').unwrap_or((address, ""));
        let (server, name) = before.rsplit_once('/').unwrap();
        let mut connection = connect(&format!("{server}/postgres?{options}")).await;
        run(&mut connection, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
    }
}

async fn connect(address: &str) -> PgConnection {
    PgConnection::connect(address).await.unwrap()
}

async fn run(connection: &mut PgConnection, sql: &str) {
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(connection).await.unwrap();
}
