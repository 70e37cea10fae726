//! Answers that are asked for now and then: which readers there are, what a project has.

use std::collections::BTreeMap;
use std::sync::Arc;

use copydesk_views::store::Status;
use copydesk_views::{Bucket, Client, CountedLines, Mark};
use futures_util::TryStreamExt;
use sqlx::{AssertSqlSafe, PgConnection, Row};

use crate::answers::bounds;
use crate::cover::{Period, Stretch, cover, quarter};
use crate::database::Database;
use crate::error::{Fault, Result};
use crate::names::read_client;
use crate::project::Project;

/// What a reader takes beside its text.
const A_READER: usize = 400;

/// Every kind of reader with its views, most first.
pub(crate) async fn clients(database: &Database, name: &str) -> Result<Vec<(Arc<Client>, u64)>> {
    let mut transaction = database.look().await?;
    let Some(project) = Project::find(&mut transaction, name).await? else { return Ok(Vec::new()) };
    let mut room = database.room.taken();
    let mut totals: BTreeMap<Client, u64> = BTreeMap::new();
    let mut found = sqlx::query(
        "SELECT r.facts, r.verdict, t.views FROM (\
           SELECT reader, SUM(n)::bigint AS views FROM views_site WHERE project = $1 AND quarter >= $2 GROUP BY reader) AS t \
         JOIN views_readers AS r ON r.id = t.reader",
    )
    .bind(project.id)
    .bind(quarter(project.begins()))
    .fetch(&mut *transaction);
    while let Some(row) = found.try_next().await? {
        let (facts, verdict, views): (&str, &str, i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        room.take(facts.len() + verdict.len() + A_READER).await?;
        *totals.entry(read_client(facts, verdict)?).or_default() += views.unsigned_abs();
    }
    let mut totals: Vec<_> = totals.into_iter().map(|(client, views)| (Arc::new(client), views)).collect();
    totals.sort_by_key(|(_, views)| std::cmp::Reverse(*views));
    Ok(totals)
}

pub(crate) async fn status(database: &Database, name: &str) -> Result<Status> {
    let mut transaction = database.look().await?;
    let Some(project) = Project::find(&mut transaction, name).await? else { return Ok(Status::default()) };
    let (first, end) = bounds(&mut transaction, &project).await?;
    let mut status = Status {
        script_since: project.script_since,
        server_since: project.server_since,
        floor: project.floor.floor,
        restorable: project.floor.moves.first().map(|oldest| oldest.from),
        ..Status::default()
    };
    if first == end {
        return Ok(status);
    }
    (status.first, status.last) = (Some(first), Some(Bucket(end.0 - 1)));
    let (id, mut rows) = (project.id, Vec::new());
    for Stretch { period, from, to, adds } in cover(first, end, project.floor.gone_before()) {
        let (column, sign) = (period.column(), if adds { "" } else { "-" });
        let range = format!("project = {id} AND {column} >= {from} AND {column} < {to}");
        if period == Period::Quarter {
            rows.push(format!("SELECT path, {sign}n AS n FROM views_cells WHERE {range}"));
        } else {
            rows.push(format!("SELECT path, {sign}(hs + hv) AS n FROM {} WHERE {range}", period.pages()));
            rows.push(format!("SELECT path, {sign}n AS n FROM {} WHERE {range}", period.machines()));
        }
    }
    let sql = format!(
        "SELECT COUNT(*), SUM(views)::bigint FROM (SELECT SUM(n) AS views FROM ({}) AS v GROUP BY path) AS t \
         WHERE views > 0",
        rows.join(" UNION ALL ")
    );
    let row = sqlx::query(AssertSqlSafe(sql)).persistent(false).fetch_one(&mut *transaction).await?;
    let figure = |at: usize| row.try_get::<Option<i64>, _>(at).map(|it| it.unwrap_or(0).unsigned_abs());
    (status.pages, status.views) = (figure(0)?, figure(1)?);
    status.bytes = bytes(&mut transaction, &project).await?;
    Ok(status)
}

/// About what a project takes on disk: its part of all that page views take, by the rows of its course.
async fn bytes(connection: &mut PgConnection, project: &Project) -> Result<u64> {
    let sql = "SELECT (pages.bytes * own.rows / GREATEST(pages.rows, own.rows, 1))::bigint FROM \
        (SELECT COUNT(*)::numeric AS rows FROM views_site WHERE project = $1) AS own, \
        (SELECT SUM(pg_total_relation_size(oid)) AS bytes, \
                SUM(reltuples) FILTER (WHERE oid = 'views_site'::regclass)::numeric AS rows FROM pg_class \
         WHERE oid IN ('views_cells'::regclass, 'views_days'::regclass, 'views_months'::regclass, 'views_site'::regclass, \
                       'views_machine_days'::regclass, 'views_machine_months'::regclass, 'views_ids'::regclass)) AS pages";
    let row = sqlx::query(sql).bind(project.id).fetch_one(connection).await?;
    Ok(row.try_get::<Option<i64>, _>(0)?.unwrap_or(0).unsigned_abs())
}

/// The marks of logs that begin like this one, or were followed at this place.
pub(crate) async fn marks(database: &Database, name: &str, log: &str) -> Result<Vec<Mark>> {
    let found = sqlx::query(
        "SELECT m.mark FROM views_marks AS m JOIN views_projects AS p ON p.id = m.project \
         WHERE p.name = $1 AND (m.log = $2 OR m.place = $2) ORDER BY m.id",
    )
    .bind(name)
    .bind(log)
    .fetch_all(&database.questions)
    .await?;
    let mark = |row: &sqlx::postgres::PgRow| {
        let text: &str = row.try_get(0)?;
        serde_json::from_str(text).map_err(|error| Fault::unreadable("the mark of a log", error))
    };
    found.iter().map(mark).collect()
}

/// The lines of logs that were counted.
pub(crate) async fn lines(database: &Database, name: &str) -> Result<CountedLines> {
    let mut lines = CountedLines::default();
    let mut found = sqlx::query(
        "SELECT l.log, l.first, l.prints FROM views_lines AS l JOIN views_projects AS p ON p.id = l.project \
         WHERE p.name = $1 ORDER BY l.id",
    )
    .bind(name)
    .fetch(&database.questions);
    while let Some(row) = found.try_next().await? {
        let (log, first, prints): (String, i64, &[u8]) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        let prints = prints.as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes)).collect();
        copydesk_views::Stretch { log, first: first.unsigned_abs(), prints }.join(&mut lines.stretches);
    }
    Ok(lines)
}

/// The projects that have views.
pub(crate) async fn projects(database: &Database) -> Result<Vec<String>> {
    let sql = "SELECT name FROM views_projects AS p \
               WHERE EXISTS (SELECT FROM views_site AS s WHERE s.project = p.id) \
               OR EXISTS (SELECT FROM views_cells AS c WHERE c.project = p.id) ORDER BY name";
    let found = sqlx::query(sql).fetch_all(&database.questions).await?;
    Ok(found.iter().map(|row| row.try_get(0)).collect::<sqlx::Result<_>>()?)
}
