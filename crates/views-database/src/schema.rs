//! The tables, which are this crate's own: all are called `views_…`, and `views_schema` says which of them there are.

use copydesk_views::store::ViewsError;
use sqlx::{AssertSqlSafe, PgConnection, PgPool, Row};

use crate::error::{Fault, Result};

/// Every schema there has been, oldest first. What is here is never edited once released; a change is a new line.
const MIGRATIONS: &[(i64, &str)] = &[(1, include_str!("../migrations/0001_views.sql"))];

/// The newest version that this program knows.
pub(crate) const KNOWN: i64 = MIGRATIONS[MIGRATIONS.len() - 1].0;

/// Those who would change the schema at once wait for each other here.
const LOCK: i64 = 8_245_113_407;

/// Makes what is missing. Done by several at once, or ended in the middle, it is done once and whole.
pub(crate) async fn migrate(pool: &PgPool, makes_tables: bool) -> Result<()> {
    // Looked at first, so that a start beside a busy server waits for nobody.
    let mut connection = pool.acquire().await?;
    match found(&mut connection).await? {
        Some(KNOWN) => return Ok(()),
        Some(newer) if newer > KNOWN => return Err(too_new(newer)),
        _ if makes_tables => {}
        None => {
            return Err(Fault::unavailable(
                "there are no tables for page views in the database yet; a server makes them when it starts",
            ));
        }
        Some(older) => {
            return Err(Fault::unavailable(format!(
                "the tables for page views in the database have the schema {older}, and this program needs {KNOWN}; a server \
                 changes them when it starts"
            )));
        }
    }
    drop(connection);
    let mut transaction = pool.begin().await?;
    let held = sqlx::raw_sql(AssertSqlSafe(format!("SELECT pg_advisory_xact_lock({LOCK})")));
    held.execute(&mut *transaction).await?;
    sqlx::raw_sql("CREATE TABLE IF NOT EXISTS views_schema (version BIGINT PRIMARY KEY)")
        .execute(&mut *transaction)
        .await?;
    let found = found(&mut transaction).await?.unwrap_or(0);
    if found > KNOWN {
        return Err(too_new(found));
    }
    for (version, sql) in MIGRATIONS.iter().filter(|(version, _)| *version > found) {
        sqlx::raw_sql(*sql).execute(&mut *transaction).await?;
        sqlx::query("INSERT INTO views_schema VALUES ($1)").bind(version).execute(&mut *transaction).await?;
        tracing::info!(version, "tables for page views made");
    }
    Ok(transaction.commit().await?)
}

fn too_new(found: i64) -> Fault {
    Fault::Views(ViewsError::Damaged(format!(
        "the page views in the database have the schema {found}, and this program knows {KNOWN}: a newer Copydesk has used them"
    )))
}

/// The version that is there; none if there is nothing.
async fn found(connection: &mut PgConnection) -> Result<Option<i64>> {
    let there = sqlx::query("SELECT to_regclass('views_schema') IS NOT NULL").fetch_one(&mut *connection).await;
    if !there.and_then(|row| row.try_get::<bool, _>(0))? {
        return Ok(None);
    }
    let row = sqlx::query("SELECT MAX(version) FROM views_schema").fetch_one(connection).await;
    row.and_then(|row| row.try_get(0)).map_err(Fault::from)
}
