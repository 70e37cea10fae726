//! The database past the store, for what only the outside world does to it.

use copydesk_store::DatabaseAddress;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

use super::TestDatabase;

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
    pub async fn execute(&self, sql: &str) {
        match self.address() {
            DatabaseAddress::Sqlite(path) => rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap(),
            DatabaseAddress::Postgres { address, .. } => run(&mut connect(address).await, sql).await,
        }
    }

    /// What a query finds. All that it selects must be text and there.
    pub async fn query(&self, sql: &str) -> Vec<Vec<String>> {
        match self.address() {
            DatabaseAddress::Sqlite(path) => {
                let connection = rusqlite::Connection::open(path).unwrap();
                let mut statement = connection.prepare(sql).unwrap();
                let columns = statement.column_count();
                let read = |row: &rusqlite::Row<'_>| (0..columns).map(|at| row.get(at)).collect();
                let rows = statement.query_map([], read).unwrap();
                rows.map(|row: rusqlite::Result<Vec<String>>| row.unwrap()).collect()
            }
            DatabaseAddress::Postgres { address, .. } => {
                let mut connection = connect(address).await;
                let rows = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).fetch_all(&mut connection).await.unwrap();
                let rows = rows.iter().map(|row| (0..row.len()).map(|at| row.get(at)).collect()).collect();
                // Said goodbye to, or many of them use up the server's connections.
                connection.close().await.unwrap();
                rows
            }
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
