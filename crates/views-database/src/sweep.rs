//! Deleting what nobody asks about any more, in steps that hold nobody up, and looking whether all adds up.

use std::time::Duration;

use copydesk_views::Bucket;
use copydesk_views::store::{Loss, Lost};
use sqlx::{AssertSqlSafe, Row};
use tokio::time::Instant;

use crate::calendar::{first_day, month_of};
use crate::cover::quarter;
use crate::database::Database;
use crate::error::Result;
use crate::lock::Hold;
use crate::project::Project;

/// Rows that go with one transaction.
const STEP: usize = 10_000;
/// How long one call deletes; the next one goes on.
const A_WHILE: Duration = Duration::from_secs(20);
/// Marks that are kept of a project.
const MARKS: i64 = 10_000;
/// Bytes of prints that are kept of a project, two for each line.
const LINES: i64 = 64 << 20;
/// Pages that are looked at together.
const PAGES: i64 = 50_000;

/// The tables whose rows belong to a project.
const OF_PROJECTS: [&str; 11] = [
    "views_cells",
    "views_days",
    "views_months",
    "views_machine_days",
    "views_machine_months",
    "views_site",
    "views_ids",
    "views_marks",
    "views_lines",
    "views_paths",
    "views_readers",
];

/// Deletes rows for which a condition holds, some at a time; says whether none is left.
async fn delete(database: &Database, table: &str, condition: &str, until: Instant) -> Result<bool> {
    let sql = format!(
        "DELETE FROM {table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM {table} WHERE {condition} LIMIT {STEP}))"
    );
    loop {
        let mut transaction = database.begin_sweeping().await?;
        let gone = sqlx::query(AssertSqlSafe(sql.clone())).persistent(false).execute(&mut *transaction).await?;
        transaction.commit().await?;
        if gone.rows_affected() < STEP as u64 {
            return Ok(true);
        }
        if Instant::now() > until {
            return Ok(false);
        }
    }
}

/// Old ids, the rows of removed projects, and the store's time.
pub(crate) async fn everything(database: &Database) -> Result<()> {
    let (now, until) = (database.now(), Instant::now() + A_WHILE);
    sqlx::query("INSERT INTO views_time (now) VALUES ($1) ON CONFLICT (only_row) DO UPDATE SET now = excluded.now")
        .bind(now)
        .execute(&database.pool)
        .await?;
    delete(database, "views_ids", &format!("arrived < {}", now - database.options.id_seconds()), until).await?;
    let gone = sqlx::query("SELECT project FROM views_gone ORDER BY project").fetch_all(&database.pool).await?;
    for row in gone {
        let project: i32 = row.try_get(0)?;
        let mut is_done = true;
        for table in OF_PROJECTS {
            is_done &= delete(database, table, &format!("project = {project}"), until).await?;
        }
        if is_done {
            sqlx::query("DELETE FROM views_gone WHERE project = $1").bind(project).execute(&database.pool).await?;
        }
    }
    Ok(())
}

/// What a project's floor has hidden for long enough, and more marks and lines than are kept.
pub(crate) async fn project(database: &Database, name: &str) -> Result<()> {
    let mut connection = database.pool.acquire().await?;
    let Some(project) = Project::find(&mut connection, name).await? else { return Ok(()) };
    drop(connection);
    let (id, until) = (project.id, Instant::now() + A_WHILE);
    // Views before this are refused, and it never moves back: nobody else writes what is deleted here.
    let gone = quarter(project.floor.gone_before());
    if gone > 0 {
        let day = gone / Bucket::A_DAY as i32;
        // A month or day that is cut by the floor stays: questions do not use it, but its pages are known by it.
        let mut is_done = true;
        for (table, column, before) in [
            ("views_cells", "quarter", gone),
            ("views_days", "day", day),
            ("views_machine_days", "day", day),
            ("views_months", "month", month_of(day)),
            ("views_machine_months", "month", month_of(day)),
            ("views_site", "quarter", gone),
        ] {
            let old = format!("project = {id} AND {column} < {before}");
            is_done &= delete(database, table, &old, until).await?;
        }
        if is_done {
            forget_pages(database, name, &project).await?;
        }
    }
    let marks = format!(
        "project = {id} AND id <= (SELECT id FROM views_marks WHERE project = {id} ORDER BY id DESC OFFSET {MARKS} LIMIT 1)"
    );
    delete(database, "views_marks", &marks, until).await?;
    let lines = format!(
        "project = {id} AND id <= (SELECT MAX(id) FROM (SELECT id, SUM(octet_length(prints)) OVER (ORDER BY id DESC) AS bytes \
         FROM views_lines WHERE project = {id}) AS sums WHERE bytes > {LINES})"
    );
    delete(database, "views_lines", &lines, until).await?;
    Ok(())
}

/// Deletes pages that no view is left of. Looked for first, so that the project is held for a moment only.
async fn forget_pages(database: &Database, name: &str, project: &Project) -> Result<()> {
    let id = project.id;
    let unread = format!(
        "project = {id} AND NOT EXISTS (SELECT FROM views_months AS m WHERE m.project = {id} AND m.path = views_paths.id) \
         AND NOT EXISTS (SELECT FROM views_machine_months AS m WHERE m.project = {id} AND m.path = views_paths.id)"
    );
    let sql = format!("SELECT id FROM views_paths WHERE {unread} LIMIT {PAGES}");
    let found = sqlx::query(AssertSqlSafe(sql)).persistent(false).fetch_all(&database.pool).await?;
    if found.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = found.iter().map(|row| row.try_get(0)).collect::<sqlx::Result<_>>()?;
    let mut transaction = database.begin(name, Hold::Alone).await?;
    let sql = format!("DELETE FROM views_paths WHERE id = ANY($1) AND {unread}");
    sqlx::query(AssertSqlSafe(sql)).persistent(false).bind(ids).execute(&mut *transaction).await?;
    project.next_epoch(&mut transaction).await?;
    Ok(transaction.commit().await?)
}

/// Whether what is counted by quarter hour, day and month is the same. The database itself looks after its files.
pub(crate) async fn verify(database: &Database, name: Option<&str>) -> Result<Vec<Loss>> {
    let mut transaction = database.look().await?;
    let Some(name) = name else { return Ok(Vec::new()) };
    let Some(project) = Project::find(&mut transaction, name).await? else { return Ok(Vec::new()) };
    let a_day = Bucket::A_DAY as i32;
    let whole = quarter(project.floor.gone_before());
    let day = whole / a_day + i32::from(whole % a_day != 0);
    let month = month_of(day) + i32::from(first_day(month_of(day)) != day);
    let (days, months) = (day.saturating_mul(a_day), first_day(month).saturating_mul(a_day));
    let pages = "hs + hv + ms + mv";
    let mut found = Vec::new();
    for (table, column, from, n, begins, sides) in [
        ("views_cells", "quarter", whole, "n", whole, 0..6),
        ("views_days", "day", day, pages, days, 0..4),
        ("views_months", "month", month, pages, months, 0..4),
        ("views_machine_days", "day", day, "n", days, 2..6),
        ("views_machine_months", "month", month, "n", months, 2..6),
    ] {
        let sql = format!(
            "SELECT (SELECT COALESCE(SUM({n}), 0)::bigint FROM {table} WHERE project = $1 AND {column} >= $2), \
                    (SELECT COALESCE(SUM(s.n), 0)::bigint FROM views_site AS s JOIN views_readers AS r ON r.id = s.reader \
                     WHERE s.project = $1 AND s.quarter >= $3 AND r.side >= $4 AND r.side < $5)"
        );
        let row = sqlx::query(AssertSqlSafe(sql))
            .persistent(false)
            .bind(project.id)
            .bind(from)
            .bind(begins)
            .bind(sides.start)
            .bind(sides.end)
            .fetch_one(&mut *transaction)
            .await?;
        let (counted, expected): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        if counted != expected {
            found.push(Loss {
                project: Some(name.to_owned()),
                of: Lost::Views,
                file: table.to_owned(),
                what: format!("{table} has {counted} page views, and the site as a whole {expected}"),
                found: database.options.clock.now(),
                from: Bucket(begins.unsigned_abs()),
                to: Bucket::MAX,
                views: None,
            });
        }
    }
    Ok(found)
}
