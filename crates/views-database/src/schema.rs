//! The tables, which are this crate's own: all are called `views_…`, and `views_schema` says which of them there are.

use copydesk_views::store::ViewsError;
use sqlx::{AssertSqlSafe, PgConnection, PgPool, Row};

use crate::error::{Fault, Result};

/// What is acknowledged is on disk, whatever the server was told; a stricter setting stays.
pub(crate) const DURABLE: &str = "set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', \
                                  'local') THEN 'on' ELSE current_setting('synchronous_commit') END, true)";

/// Every schema there has been, oldest first. What is here is never edited once released; a change is a new line.
const MIGRATIONS: &[(i64, &str)] = &[
    (1, include_str!("../migrations/0001_views.sql")),
    (2, include_str!("../migrations/0002_batches.sql")),
    (3, include_str!("../migrations/0003_recounts.sql")),
    (4, include_str!("../migrations/0004_receipts.sql")),
];

/// The oldest version whose programs run on [`KNOWN`]: all that came since only adds what they need not know.
const RUNS_FROM: i64 = 1;

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
        Some(newer) if newer > KNOWN => return check_newer(&mut connection, newer).await,
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
    sqlx::raw_sql(
        "CREATE TABLE IF NOT EXISTS views_schema (version BIGINT PRIMARY KEY); \
         ALTER TABLE views_schema ADD COLUMN IF NOT EXISTS runs_from BIGINT",
    )
    .execute(&mut *transaction)
    .await?;
    let found = found(&mut transaction).await?.unwrap_or(0);
    if found > KNOWN {
        return check_newer(&mut transaction, found).await;
    }
    for (version, sql) in MIGRATIONS.iter().filter(|(version, _)| *version > found) {
        sqlx::raw_sql(*sql).execute(&mut *transaction).await?;
        sqlx::query("INSERT INTO views_schema (version, runs_from) VALUES ($1, $2)")
            .bind(version)
            .bind(RUNS_FROM)
            .execute(&mut *transaction)
            .await?;
        tracing::info!(version, "tables for page views made");
    }
    Ok(transaction.commit().await?)
}

/// Says whether this program runs on tables that a newer one has made, as it does beside it while servers are changed one by
/// one.
async fn check_newer(connection: &mut PgConnection, found: i64) -> Result<()> {
    let says = "SELECT 1 FROM information_schema.columns WHERE table_schema = current_schema() \
                AND table_name = 'views_schema' AND column_name = 'runs_from'";
    if sqlx::query(says).fetch_optional(&mut *connection).await?.is_some() {
        let sql = "SELECT runs_from FROM views_schema WHERE version = $1";
        let row = sqlx::query(sql).bind(found).fetch_one(connection).await?;
        if row.try_get::<Option<i64>, _>(0)?.is_some_and(|oldest| oldest <= KNOWN) {
            return Ok(());
        }
    }
    Err(too_new(found))
}

/// Refuses tables that a newer program has made, for what must know every one of them.
pub(crate) async fn check_exact(connection: &mut PgConnection) -> Result<()> {
    match found(connection).await? {
        Some(newer) if newer > KNOWN => Err(too_new(newer)),
        _ => Ok(()),
    }
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
