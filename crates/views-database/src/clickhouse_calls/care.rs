//! Looking after what ClickHouse has of a project.

use clickhouse::Row;
use serde::{Deserialize, Serialize};
use sqlx::{AssertSqlSafe, PgConnection, Row as _};

use super::look::{self, Look};
use crate::calendar::first_day;
use crate::clickhouse::{ClickHouse, LOCK};
use crate::database::Database;
use crate::error::{Fault, Result};
use crate::project::Project;
use crate::whole::Whole;

#[derive(Debug, Row, Serialize, Deserialize)]
struct Page {
    path: u64,
}

/// The pages of a project that still have views, in whichever table. Nobody counts for the project meanwhile.
pub(crate) async fn pages_with_views(database: &Database, house: &ClickHouse, project: i32) -> Result<Vec<i64>> {
    look::all_of_project_arrived(database, house, project).await?;
    let pages = |table: &str| format!("SELECT path FROM {table} WHERE project = {project}");
    let all = ["views_cells", "views_days", "views_months"].map(pages).join(" UNION ALL ");
    let found: Vec<Page> = house.nodes.rows(&format!("SELECT DISTINCT path FROM ({all})")).await?;
    Ok(found.into_iter().map(|row| row.path.cast_signed()).collect())
}

/// Waits until all of a project that is committed has arrived.
pub(crate) async fn settle(database: &Database, house: &ClickHouse, name: &str) -> Result<()> {
    Look::begin(database, house, name).await.map(drop)
}

/// Whether a project is being counted anew, or was when that was interrupted.
pub(crate) async fn is_recounted(database: &Database, name: &str) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT FROM views_recounts JOIN views_projects ON id = project WHERE name = $1)";
    Ok(sqlx::query(sql).bind(name).fetch_one(&database.questions).await?.try_get(0)?)
}

/// From now on questions about the project are refused, those that have begun already included. Nobody copies everything as long
/// as `holds` lasts.
pub(crate) async fn begin_recount(database: &Database, holds: &mut PgConnection, project: &Project) -> Result<()> {
    let sql = format!("SELECT pg_try_advisory_xact_lock_shared({LOCK})");
    if !sqlx::query(AssertSqlSafe(sql)).fetch_one(holds).await?.try_get::<bool, _>(0)? {
        return Err(Fault::unavailable("a copy of all page views is being made; repair them when it is done"));
    }
    let sql = "WITH begun AS (INSERT INTO views_recounts VALUES ($1) ON CONFLICT DO NOTHING) \
               UPDATE views_projects SET epoch = epoch + 1 WHERE id = $1";
    sqlx::query(sql).bind(project.id).execute(&database.pool).await?;
    Ok(())
}

pub(crate) async fn end_recount(connection: &mut PgConnection, project: &Project) -> Result<()> {
    sqlx::query("DELETE FROM views_recounts WHERE project = $1").bind(project.id).execute(connection).await?;
    Ok(())
}

/// Counts the site as a whole, days and months anew from the quarter hours. Nobody counts for the project meanwhile.
pub(crate) async fn recount(database: &Database, house: &ClickHouse, project: &Project, whole: &Whole) -> Result<()> {
    look::all_of_project_arrived(database, house, project.id).await?;
    let (id, clock) = (project.id, &*database.options.clock);
    for (table, column, from) in [
        ("views_site", "quarter", whole.quarter),
        ("views_days", "day", whole.day),
        ("views_months", "month", whole.month),
    ] {
        house.delete(table, &format!("project = {id} AND {column} >= {from}")).await?;
    }
    house.derive_site(&format!("project = {id} AND quarter >= {}", whole.quarter), clock).await?;
    house.derive_days(&format!("project = {id} AND quarter >= {}", whole.day_begins), clock).await?;
    house.derive_months(&format!("project = {id} AND day >= {}", first_day(whole.month)), clock).await
}
