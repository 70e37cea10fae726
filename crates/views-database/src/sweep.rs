//! Deleting what nobody asks about any more, in steps that hold nobody up, and looking whether all adds up.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use copydesk_views::Bucket;
use copydesk_views::store::{Loss, Lost, ViewsError};
use sqlx::{AssertSqlSafe, PgConnection, Row};
use tokio::time::Instant;

use crate::calendar::month_of;
use crate::clickhouse::ClickHouse;
use crate::clickhouse_calls::care;
use crate::clickhouse_calls::copy::Quiet;
use crate::cover::quarter;
use crate::database::Database;
use crate::error::{Fault, Result};
use crate::lock::Hold;
use crate::project::Project;
use crate::receipt;
use crate::whole::Whole;

/// Rows that go with one transaction.
const STEP: usize = 10_000;
/// How long one call deletes; the next one goes on.
const A_WHILE: Duration = Duration::from_secs(20);
/// Seconds between two looks for what is old in all projects.
const PAUSE: i64 = 600;
/// Marks that are kept of a project.
const MARKS: i64 = 10_000;
/// Bytes of prints that are kept of a project, two for each line.
const LINES: i64 = 64 << 20;
/// How often a transaction that only holds a project does something.
const STIRS: Duration = Duration::from_secs(1);
/// Pages that are looked at together.
const PAGES: i64 = 50_000;

/// The tables whose rows belong to a project.
const OF_PROJECTS: [&str; 12] = [
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
    "views_recounts",
];

/// Deletes rows for which a condition holds, some at a time; says whether none is left.
async fn delete(database: &Database, table: &str, condition: &str, until: Instant) -> Result<bool> {
    // Twice, because a row may have been written anew meanwhile.
    let sql = format!(
        "DELETE FROM {table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM {table} WHERE {condition} LIMIT {STEP})) AND {condition}"
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

/// Old ids and receipts, the rows of removed projects, and the store's time.
pub(crate) async fn everything(database: &Database) -> Result<()> {
    database.set_clock().await?;
    let (now, until) = (database.now(), Instant::now() + A_WHILE);
    sqlx::query("INSERT INTO views_time (now) VALUES ($1) ON CONFLICT (only_row) DO UPDATE SET now = excluded.now")
        .bind(now)
        .execute(&database.pool)
        .await?;
    let old = format!("arrived < {}", now - database.options.id_seconds());
    let mut is_all = delete(database, "views_ids", &old, until).await?;
    is_all &= delete(database, "views_receipts", receipt::OLD, until).await?;
    let gone = sqlx::query("SELECT project FROM views_gone ORDER BY project").fetch_all(&database.pool).await?;
    let gone: Vec<i32> = gone.iter().map(|row| row.try_get(0)).collect::<sqlx::Result<_>>()?;
    let is_gone_there = match &database.clickhouse {
        Some(house) if !gone.is_empty() => house.forget_projects(&database.pool, &gone).await?,
        _ => true,
    };
    for project in gone {
        let mut is_done = is_gone_there;
        for table in OF_PROJECTS {
            is_done &= delete(database, table, &format!("project = {project}"), until).await?;
        }
        if is_done {
            sqlx::query("DELETE FROM views_gone WHERE project = $1").bind(project).execute(&database.pool).await?;
        }
        is_all &= is_done;
    }
    if let Some(house) = &database.clickhouse
        && let Err(fault) = forget_old_there(database, house).await
    {
        tracing::warn!(%fault, "old page views could not be deleted from ClickHouse yet");
    }
    if is_all {
        database.swept.store(now, Ordering::Relaxed);
    }
    Ok(())
}

/// The same, unless it has just been done: whoever looks after many projects calls this for each.
pub(crate) async fn everything_at_times(database: &Database) -> Result<()> {
    let swept = database.swept.load(Ordering::Relaxed);
    if (swept..swept.saturating_add(PAUSE)).contains(&database.now()) { Ok(()) } else { everything(database).await }
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
        if is_done && database.clickhouse.is_none() {
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

/// What the floors of all projects have hidden for long enough in ClickHouse: whole months, and of all projects at once, because
/// deleting there writes anew what is beside it.
async fn forget_old_there(database: &Database, house: &ClickHouse) -> Result<()> {
    let sql = "SELECT name FROM views_projects WHERE floor IS NOT NULL ORDER BY name";
    let mut connection = database.pool.acquire().await?;
    let (mut names, mut months) = (BTreeMap::new(), Vec::new());
    for row in sqlx::query(sql).fetch_all(&mut *connection).await? {
        let name: String = row.try_get(0)?;
        let Some(project) = Project::find(&mut connection, &name).await? else { continue };
        let month = month_of(quarter(project.floor.gone_before()) / Bucket::A_DAY as i32);
        if month > 0 && house.looked_before(project.id) < month {
            months.push((project.id, month));
        }
        names.insert(project.id, name);
    }
    drop(connection);
    if !months.is_empty() {
        let had_some = house.forget_before(&months).await?;
        house.unread().extend(had_some);
        house.has_looked_before(&months);
    }
    let unread = house.unread().clone();
    for id in unread {
        let is_done = match names.get(&id) {
            Some(name) => forget_pages_there(database, house, name).await?,
            None => true,
        };
        // Else it is tried again.
        if is_done {
            house.unread().remove(&id);
        }
    }
    Ok(())
}

/// Deletes pages of which ClickHouse has no view. False if that cannot be told now.
async fn forget_pages_there(database: &Database, house: &ClickHouse, name: &str) -> Result<bool> {
    // Of many replicas one may not have yet what has just come, and of a cluster that is not shown nobody knows how many there are.
    if !(1..=2).contains(&house.replicas().await?) {
        return Ok(true);
    }
    let mut transaction = database.begin(name, Hold::Alone).await?;
    let Some(project) = Project::find(&mut transaction, name).await? else { return Ok(true) };
    if care::is_recounted(database, name).await? {
        return Ok(false);
    }
    // What is on its way may be of any page.
    let look = care::pages_with_views(database, house, project.id);
    let read = while_held(&mut transaction, look).await?;
    sqlx::query("DELETE FROM views_paths WHERE project = $1 AND id <> ALL ($2)")
        .bind(project.id)
        .bind(read)
        .execute(&mut *transaction)
        .await?;
    project.next_epoch(&mut transaction).await?;
    transaction.commit().await?;
    Ok(true)
}

/// Waits for what is done elsewhere while a transaction holds a project that has nothing else to do, and that the database would
/// end.
async fn while_held<T>(holds: &mut PgConnection, work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep(STIRS) => {}
        }
        sqlx::raw_sql("SELECT 1").execute(&mut *holds).await?;
    }
}

/// What differs in ClickHouse.
async fn differences_there(database: &Database, house: &ClickHouse, name: &str) -> Result<Vec<Loss>> {
    let mut connection = database.questions.acquire().await?;
    let Some(project) = Project::find(&mut connection, name).await? else { return Ok(Vec::new()) };
    drop(connection);
    let whole = Whole::of(&project);
    let mut found = Vec::new();
    for (table, column, from, begins) in [
        ("views_cells", "quarter", whole.quarter, whole.quarter),
        ("views_days", "day", whole.day, whole.day_begins),
        ("views_months", "month", whole.month, whole.month_begins),
    ] {
        let counted = house.sum(table, column, project.id, from).await?;
        let expected = house.sum("views_site", "quarter", project.id, begins).await?;
        if counted != expected {
            found.push(loss(database, name, table, begins, (counted, expected)));
        }
    }
    Ok(found)
}

/// Says that a table does not have what the site as a whole has.
fn loss(database: &Database, name: &str, table: &str, begins: i32, (counted, expected): (i64, i64)) -> Loss {
    Loss {
        project: Some(name.to_owned()),
        of: Lost::Views,
        file: table.to_owned(),
        what: format!("{table} has {counted} page views, and the site as a whole {expected}"),
        found: database.options.clock.now(),
        from: Bucket(begins.unsigned_abs()),
        to: Bucket::MAX,
        views: None,
    }
}

/// Whether what is counted by quarter hour, day and month is the same. The database itself looks after its files.
pub(crate) async fn verify(database: &Database, name: Option<&str>) -> Result<Vec<Loss>> {
    let Some(name) = name else { return Ok(Vec::new()) };
    if let Some(house) = &database.clickhouse {
        care::settle(database, house, name).await?;
        let found = differences_there(database, house, name).await?;
        if found.is_empty() {
            return Ok(found);
        }
        // What came between two sums is in one of them only. So once more while nothing comes.
        let quiet = Quiet::begin(database, house).await?;
        let found = differences_there(database, house, name).await?;
        quiet.end().await?;
        return Ok(found);
    }
    let mut transaction = database.look().await?;
    let Some(project) = Project::find(&mut transaction, name).await? else { return Ok(Vec::new()) };
    let Whole { quarter: whole, day, month, day_begins: days, month_begins: months } = Whole::of(&project);
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
            found.push(loss(database, name, table, begins, (counted, expected)));
        }
    }
    Ok(found)
}

fn damaged(project: &str) -> Fault {
    Fault::Views(ViewsError::Damaged(format!(
        "the quarter hours of {project} are damaged, and days or months are not: what is left of them must not replace the \
         others; restore a backup"
    )))
}

/// Counts the site as a whole, days and months anew from the quarter hours if they do not agree.
pub(crate) async fn repair(database: &Database, name: Option<&str>) -> Result<()> {
    let Some(name) = name else { return Ok(()) };
    if let Some(house) = &database.clickhouse
        && care::is_recounted(database, name).await?
    {
        // Somebody has begun it and was interrupted, so that nothing adds up.
        return repair_there(database, house, name).await;
    }
    let found = verify(database, Some(name)).await?;
    let Some(first) = found.first() else { return Ok(()) };
    tracing::warn!(
        project = name,
        found = first.what,
        "the site, days and months are counted anew from the quarter hours"
    );
    let differs = |table: &str| found.iter().any(|loss| loss.file == table);
    if differs("views_cells") && !(differs("views_days") && differs("views_months")) {
        return Err(damaged(name));
    }
    if let Some(house) = &database.clickhouse {
        return repair_there(database, house, name).await;
    }
    let mut transaction = database.begin(name, Hold::Alone).await?;
    let Some(project) = Project::find(&mut transaction, name).await? else { return Ok(()) };
    let (id, whole) = (project.id, Whole::of(&project));
    let last = "SELECT MAX(quarter) / 96 FROM views_cells WHERE project = $1";
    let last: Option<i32> = sqlx::query(last).bind(id).fetch_one(&mut *transaction).await?.try_get(0)?;
    let Some(last) = last else { return Err(damaged(name)) };
    // The calendar is this program's, so that both count the same.
    let days: Vec<i32> = (whole.day..=last).collect();
    let months: Vec<i32> = days.iter().map(|day| month_of(*day)).collect();
    let side = |side: u8| format!("COALESCE(SUM(c.n) FILTER (WHERE r.side = {side}), 0)::bigint");
    let columns = [0, 1, 2, 3].map(side).join(", ");
    let (day, month) = (("day", whole.day, whole.day_begins), ("month", whole.month, whole.month_begins));
    for (table, (period, from, begins), by_reader) in [
        ("views_days", day, false),
        ("views_months", month, false),
        ("views_machine_days", day, true),
        ("views_machine_months", month, true),
    ] {
        let old = format!("DELETE FROM {table} WHERE project = {id} AND {period} >= {from}");
        sqlx::query(AssertSqlSafe(old)).persistent(false).execute(&mut *transaction).await?;
        let (key, counts, sides) = match by_reader {
            false => ("c.path", columns.as_str(), "r.side < 4"),
            true => ("c.path, c.reader", "SUM(c.n)::bigint", "r.side >= 2"),
        };
        let new = format!(
            "INSERT INTO {table} SELECT {id}, d.{period}, {key}, {counts} \
             FROM views_cells AS c JOIN views_readers AS r ON r.id = c.reader \
             JOIN UNNEST($1::int[], $2::int[]) AS d (day, month) ON d.day = c.quarter / 96 \
             WHERE c.project = {id} AND c.quarter >= {begins} AND {sides} GROUP BY d.{period}, {key}"
        );
        let new = sqlx::query(AssertSqlSafe(new)).persistent(false).bind(&days).bind(&months);
        new.execute(&mut *transaction).await?;
    }
    for sql in [
        format!("DELETE FROM views_site WHERE project = {id} AND quarter >= {}", whole.quarter),
        format!(
            "INSERT INTO views_site SELECT {id}, quarter, reader, SUM(n)::bigint FROM views_cells WHERE project = {id} \
             AND quarter >= {} GROUP BY quarter, reader",
            whole.quarter
        ),
    ] {
        sqlx::query(AssertSqlSafe(sql)).persistent(false).execute(&mut *transaction).await?;
    }
    Ok(transaction.commit().await?)
}

/// The same in ClickHouse, where it is not one transaction: until it is done, questions are refused.
async fn repair_there(database: &Database, house: &ClickHouse, name: &str) -> Result<()> {
    let mut transaction = database.begin(name, Hold::Alone).await?;
    let Some(project) = Project::find(&mut transaction, name).await? else { return Ok(()) };
    let whole = Whole::of(&project);
    care::begin_recount(database, &mut transaction, &project).await?;
    let recount = care::recount(database, house, &project, &whole);
    while_held(&mut transaction, recount).await?;
    care::end_recount(&mut transaction, &project).await?;
    Ok(transaction.commit().await?)
}
