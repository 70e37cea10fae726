//! A look at the database past the store.

use copydesk_store::DatabaseAddress;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

/// The one number that a query gives.
pub async fn number(address: &DatabaseAddress, sql: &str) -> i64 {
    match address {
        DatabaseAddress::Sqlite(path) => {
            rusqlite::Connection::open(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
        }
        DatabaseAddress::Postgres { address, .. } => {
            let mut connection = PgConnection::connect(address).await.unwrap();
            sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(&mut connection).await.unwrap()
        }
    }
}

/// Every row of every table that has to do with jobs, in words, so that two looks can be compared.
pub async fn all_of_jobs(address: &DatabaseAddress) -> String {
    let mut all = String::new();
    for (table, order) in
        [("jobs", "id"), ("messages", "job_id, number"), ("events", "job_id, number"), ("outbox", "id")]
    {
        all.push_str(&rows(address, table, order).await);
    }
    all
}

async fn rows(address: &DatabaseAddress, table: &str, order: &str) -> String {
    let mut out = String::new();
    match address {
        DatabaseAddress::Sqlite(path) => {
            let connection = rusqlite::Connection::open(path).unwrap();
            let mut statement = connection.prepare(&format!("SELECT * FROM {table} ORDER BY {order}")).unwrap();
            let columns = statement.column_count();
            let mut rows = statement.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                let cells: Vec<_> = (0..columns).map(|at| format!("{:?}", row.get_ref(at).unwrap())).collect();
                out.push_str(&format!("{table}: {}\n", cells.join(", ")));
            }
        }
        DatabaseAddress::Postgres { address, .. } => {
            let mut connection = PgConnection::connect(address).await.unwrap();
            let sql = format!("SELECT t::text FROM {table} t ORDER BY {order}");
            for row in sqlx::query(AssertSqlSafe(sql)).fetch_all(&mut connection).await.unwrap() {
                out.push_str(&format!("{table}: {}\n", row.get::<String, _>(0)));
            }
        }
    }
    out
}

/// All that is stored: the bytes of the files, or every row of every table.
pub async fn everything(address: &DatabaseAddress) -> Vec<u8> {
    match address {
        DatabaseAddress::Sqlite(path) => {
            let files = std::fs::read_dir(path.parent().unwrap()).unwrap();
            files.flat_map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect()
        }
        DatabaseAddress::Postgres { address: url, .. } => {
            let mut connection = PgConnection::connect(url).await.unwrap();
            let sql = "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()";
            let tables: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut connection).await.unwrap();
            let mut all = String::new();
            for table in tables {
                all.push_str(&rows(address, &table, "1").await);
            }
            all.into_bytes()
        }
    }
}
