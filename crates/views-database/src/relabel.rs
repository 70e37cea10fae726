//! Days and months after readers have got another verdict: what moves from one column to another, and what machines read.

use sqlx::{AssertSqlSafe, PgConnection};

use crate::answers::bounds_of_all;
use crate::calendar::month_of;
use crate::error::Result;
use crate::project::Project;

/// A reader that counts as something else now.
pub(crate) struct Moved {
    pub(crate) reader: i64,
    pub(crate) was: i16,
    pub(crate) is: i16,
}

/// Moves the views of these readers, as their quarter hours have them. Whoever calls it holds the project alone.
pub(crate) async fn recount(connection: &mut PgConnection, project: &Project, moved: &[Moved]) -> Result<()> {
    if moved.is_empty() {
        return Ok(());
    }
    let (first, last) = bounds_of_all(connection, project).await?;
    // The calendar is this program's, so that both count the same.
    let days: Vec<i32> = (first..=last).collect();
    let months: Vec<i32> = days.iter().map(|day| month_of(*day)).collect();
    sqlx::raw_sql(
        "CREATE TEMPORARY TABLE moved_views (day INTEGER, month INTEGER, path BIGINT, reader BIGINT, \
         was INT2, side INT2, n BIGINT) ON COMMIT DROP",
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query(
        "INSERT INTO moved_views SELECT c.quarter / 96, d.month, c.path, c.reader, m.was, m.side, SUM(c.n)::bigint \
         FROM views_cells AS c \
         JOIN UNNEST($2::bigint[], $3::int2[], $4::int2[]) AS m (reader, was, side) ON m.reader = c.reader \
         JOIN UNNEST($5::int[], $6::int[]) AS d (day, month) ON d.day = c.quarter / 96 \
         WHERE c.project = $1 GROUP BY 1, 2, 3, 4, 5, 6",
    )
    .bind(project.id)
    .bind(moved.iter().map(|it| it.reader).collect::<Vec<_>>())
    .bind(moved.iter().map(|it| it.was).collect::<Vec<_>>())
    .bind(moved.iter().map(|it| it.is).collect::<Vec<_>>())
    .bind(days)
    .bind(months)
    .execute(&mut *connection)
    .await?;
    for (period, pages, machines) in
        [("day", "views_days", "views_machine_days"), ("month", "views_months", "views_machine_months")]
    {
        move_columns(connection, project.id, period, pages).await?;
        move_machines(connection, project.id, period, machines).await?;
    }
    Ok(())
}

async fn move_columns(connection: &mut PgConnection, project: i32, period: &str, table: &str) -> Result<()> {
    let column = |side: usize| {
        format!("COALESCE(SUM(n) FILTER (WHERE side = {side}), 0) - COALESCE(SUM(n) FILTER (WHERE was = {side}), 0)")
    };
    let sql = format!(
        "INSERT INTO {table} AS t (project, {period}, path, hs, hv, ms, mv) \
         SELECT {project}, {period}, path, {}, {}, {}, {} FROM moved_views WHERE was < 4 OR side < 4 \
         GROUP BY {period}, path ORDER BY {period}, path \
         ON CONFLICT (project, {period}, path) DO UPDATE SET hs = t.hs + excluded.hs, hv = t.hv + excluded.hv, \
         ms = t.ms + excluded.ms, mv = t.mv + excluded.mv",
        column(0),
        column(1),
        column(2),
        column(3)
    );
    sqlx::query(AssertSqlSafe(sql)).persistent(false).execute(connection).await?;
    Ok(())
}

async fn move_machines(connection: &mut PgConnection, project: i32, period: &str, table: &str) -> Result<()> {
    let gone = format!(
        "DELETE FROM {table} AS t USING (SELECT DISTINCT {period}, path, reader FROM moved_views WHERE was >= 2 AND side < 2) \
         AS v WHERE t.project = {project} AND t.{period} = v.{period} AND t.path = v.path AND t.reader = v.reader"
    );
    sqlx::query(AssertSqlSafe(gone)).persistent(false).execute(&mut *connection).await?;
    let new = format!(
        "INSERT INTO {table} (project, {period}, path, reader, n) SELECT {project}, {period}, path, reader, SUM(n) \
         FROM moved_views WHERE was < 2 AND side >= 2 GROUP BY {period}, path, reader \
         ON CONFLICT (project, {period}, path, reader) DO UPDATE SET n = excluded.n"
    );
    sqlx::query(AssertSqlSafe(new)).persistent(false).execute(connection).await?;
    Ok(())
}
