//! Looking after what ClickHouse has of a project.

use clickhouse::Row;
use serde::{Deserialize, Serialize};
use sqlx::{PgPool, Row as _};

use super::look::Look;
use crate::calendar::first_day;
use crate::clickhouse::ClickHouse;
use crate::database::Database;
use crate::error::{Fault, Result};
use crate::project::Project;
use crate::whole::Whole;

#[derive(Debug, Row, Serialize, Deserialize)]
struct Page {
    path: u64,
}

/// The pages of a project that still have views.
pub(crate) async fn pages_with_views(house: &ClickHouse, project: i32) -> Result<Vec<i64>> {
    let sql = format!("SELECT DISTINCT path FROM views_months WHERE project = {project}");
    let found: Vec<Page> = house.nodes.rows(&sql).await?;
    Ok(found.into_iter().map(|row| row.path.cast_signed()).collect())
}

/// Whether something of a project is on its way.
pub(crate) async fn is_waiting(pool: &PgPool, project: i32) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT FROM views_batches WHERE project = $1)";
    Ok(sqlx::query(sql).bind(project).fetch_one(pool).await?.try_get(0)?)
}

/// Waits until all of a project that is committed has arrived.
pub(crate) async fn settle(database: &Database, house: &ClickHouse, name: &str) -> Result<()> {
    Look::begin(database, house, name).await.map(drop)
}

/// Counts the site as a whole, days and months anew from the quarter hours. Nobody counts for the project meanwhile.
pub(crate) async fn recount(database: &Database, house: &ClickHouse, project: &Project, whole: &Whole) -> Result<()> {
    if is_waiting(&database.questions, project.id).await? {
        return Err(Fault::unavailable(
            "page views of the project are on their way to ClickHouse; try again in a moment",
        ));
    }
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
