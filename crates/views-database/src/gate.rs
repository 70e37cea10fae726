//! What is written down in the database about a move of page views. Once it is closed, the database itself refuses to count,
//! whichever process tries.

use copydesk_views::store::moving::{MoveNote, MoveState};
use sqlx::{AssertSqlSafe, PgConnection, PgPool, Row};

use crate::error::{Fault, GUARDED, Result};

/// The tables that hold what is counted, and what must be known to count nothing twice.
pub(crate) const TABLES: [&str; 15] = [
    "views_projects",
    "views_gone",
    "views_time",
    "views_paths",
    "views_readers",
    "views_ids",
    "views_cells",
    "views_days",
    "views_months",
    "views_machine_days",
    "views_machine_months",
    "views_site",
    "views_marks",
    "views_lines",
    BATCHES,
];

/// What is in it already still goes to ClickHouse.
const BATCHES: &str = "views_batches";

/// How often it is tried to stop all writers, each time for some seconds.
const TRIES: u32 = 20;

/// What is written down, if something is.
pub(crate) async fn read(pool: &PgPool) -> Result<Option<MoveNote>> {
    let mut connection = pool.acquire().await?;
    read_with(&mut connection).await
}

pub(crate) async fn read_with(connection: &mut PgConnection) -> Result<Option<MoveNote>> {
    // The table is made by the first move, so that programs from before it find the tables that they know.
    let is_there = "SELECT to_regclass('views_moving') IS NOT NULL";
    if !sqlx::query(is_there).fetch_one(&mut *connection).await?.try_get::<bool, _>(0)? {
        return Ok(None);
    }
    let row = sqlx::query("SELECT note FROM views_moving").fetch_optional(&mut *connection).await?;
    let Some(row) = row else { return Ok(None) };
    let text: &str = row.try_get(0)?;
    serde_json::from_str(text).map(Some).map_err(|error| Fault::unreadable("what is said about a move", error))
}

/// Writes it down. Whoever is counting is waited for, and nobody begins to meanwhile.
pub(crate) async fn set(pool: &PgPool, note: Option<&MoveNote>) -> Result<()> {
    let mut tries = 1;
    loop {
        match set_once(pool, note).await {
            Err(Fault::Sql(sqlx::Error::Database(error))) if is_busy(&*error) && tries < TRIES => tries += 1,
            done => return done,
        }
    }
}

/// Somebody else was in the way, or gave way to somebody.
fn is_busy(error: &dyn sqlx::error::DatabaseError) -> bool {
    matches!(error.code().as_deref(), Some("55P03" | "40P01"))
}

async fn set_once(pool: &PgPool, note: Option<&MoveNote>) -> Result<()> {
    let mut transaction = pool.begin().await?;
    sqlx::raw_sql("SET LOCAL lock_timeout = '5s'").execute(&mut *transaction).await?;
    write(&mut transaction, note).await?;
    if note.is_some_and(MoveNote::is_closed) {
        close(&mut transaction).await?;
    } else {
        sqlx::raw_sql("DROP FUNCTION IF EXISTS views_moving_refuse() CASCADE").execute(&mut *transaction).await?;
    }
    if note.is_some_and(|note| note.state == MoveState::Moved) {
        // They are at the other place, and must not be in the way if they come back. The guard is put before them again.
        sqlx::raw_sql("DROP FUNCTION views_moving_refuse() CASCADE").execute(&mut *transaction).await?;
        let sql = format!("TRUNCATE {}, views_counted_in_clickhouse", TABLES.join(", "));
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *transaction).await?;
        close(&mut transaction).await?;
    }
    Ok(transaction.commit().await?)
}

pub(crate) async fn write(connection: &mut PgConnection, note: Option<&MoveNote>) -> Result<()> {
    let sql = "CREATE TABLE IF NOT EXISTS views_moving (only_row BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (only_row), \
               note TEXT NOT NULL); \
               CREATE TABLE IF NOT EXISTS views_moved_days (project INTEGER, day INTEGER, digest BYTEA NOT NULL, \
               PRIMARY KEY (project, day)); \
               DELETE FROM views_moving";
    sqlx::raw_sql(sql).execute(&mut *connection).await?;
    if let Some(note) = note {
        let text = serde_json::to_string(note).map_err(|error| Fault::unavailable(error.to_string()))?;
        sqlx::query("INSERT INTO views_moving (note) VALUES ($1)").bind(text).execute(connection).await?;
    }
    Ok(())
}

async fn close(connection: &mut PgConnection) -> Result<()> {
    let mut sql = format!(
        "LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE; \
         CREATE OR REPLACE FUNCTION views_moving_refuse() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN RAISE EXCEPTION 'page views are moving, or have moved' USING ERRCODE = '{GUARDED}'; END $$;",
        TABLES.join(", ")
    );
    for table in TABLES {
        let changes = if table == BATCHES { "INSERT" } else { "INSERT OR UPDATE OR DELETE OR TRUNCATE" };
        sql.push_str(&format!(
            "DROP TRIGGER IF EXISTS views_moving_refuse ON {table}; \
             CREATE TRIGGER views_moving_refuse BEFORE {changes} ON {table} \
             FOR EACH STATEMENT EXECUTE FUNCTION views_moving_refuse();"
        ));
    }
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await?;
    Ok(())
}
