//! What a question knows before it asks ClickHouse: the project, who reads there, and that everything has arrived.

use std::collections::HashMap;

use copydesk_views::store::parts::COLUMNS;
use sqlx::{PgConnection, Row};
use tokio::time::Instant;

use crate::clickhouse::ClickHouse;
use crate::database::Database;
use crate::error::{Fault, Result};
use crate::project::Project;

/// A project, and on which side each of its readers counts.
pub(super) struct Look {
    pub(super) project: Project,
    pub(super) sides: HashMap<u64, i16>,
}

impl Look {
    /// None if there is no such project. What was committed before this is in ClickHouse after it.
    pub(super) async fn begin(database: &Database, house: &ClickHouse, name: &str) -> Result<Option<Self>> {
        house.be_ready(&database.questions, database.options.makes_tables).await?;
        let mut transaction = database.look().await?;
        let Some(project) = Project::find(&mut transaction, name).await? else { return Ok(None) };
        let rows = sqlx::query("SELECT id, side FROM views_readers WHERE project = $1")
            .bind(project.id)
            .fetch_all(&mut *transaction)
            .await?;
        let mut sides = HashMap::with_capacity(rows.len());
        for row in rows {
            sides.insert(row.try_get::<i64, _>(0)?.unsigned_abs(), row.try_get(1)?);
        }
        let last = last_batch(&mut transaction, project.id).await?;
        let sql = "SELECT EXISTS (SELECT FROM views_recounts WHERE project = $1)";
        let row = sqlx::query(sql).bind(project.id).fetch_one(&mut *transaction).await?;
        if row.try_get::<bool, _>(0)? {
            return Err(Fault::unavailable(
                "the page views of this project are being counted anew in ClickHouse; if nobody does that now, `copydesk views \
                 repair` begins again",
            ));
        }
        transaction.commit().await?;
        if let Some(last) = last {
            arrived(database, house, project.id, last).await?;
        }
        Ok(Some(Self { project, sides }))
    }

    /// Refuses an answer from which something may be missing: the project was removed or began to be counted anew meanwhile.
    pub(super) async fn still_stands(&self, database: &Database) -> Result<()> {
        let sql = "SELECT EXISTS (SELECT FROM views_projects WHERE id = $1 AND epoch = $2)";
        let row =
            sqlx::query(sql).bind(self.project.id).bind(self.project.epoch).fetch_one(&database.questions).await?;
        match row.try_get(0)? {
            true => Ok(()),
            false => Err(Fault::unavailable("the page views of this project were changed just now; try again")),
        }
    }

    /// The readers that count in these columns, as ClickHouse takes a set of numbers; none if nobody does.
    pub(super) fn readers(&self, counts: impl Fn(usize) -> bool) -> Option<String> {
        let is_counted = |side: i16| usize::try_from(side).is_ok_and(|side| side < COLUMNS && counts(side));
        numbers(self.sides.iter().filter(|(_, side)| is_counted(**side)).map(|(reader, _)| *reader))
    }
}

/// Numbers in a list, in order; none if there are none.
pub(super) fn numbers(all: impl Iterator<Item = u64>) -> Option<String> {
    let mut all: Vec<u64> = all.collect();
    all.sort_unstable();
    let all: Vec<String> = all.iter().map(u64::to_string).collect();
    (!all.is_empty()).then(|| all.join(","))
}

/// The last batch of a project that is on its way.
async fn last_batch(connection: &mut PgConnection, project: i32) -> Result<Option<i64>> {
    let sql = "SELECT MAX(id) FROM views_batches WHERE project = $1";
    Ok(sqlx::query(sql).bind(project).fetch_one(connection).await?.try_get(0)?)
}

/// Waits until the batches of a project have arrived up to this one.
async fn arrived(database: &Database, house: &ClickHouse, project: i32, last: i64) -> Result<()> {
    let deadline = Instant::now() + house.options.patience;
    loop {
        let told = house.arrived.notified();
        house.wanted.notify_one();
        // Another process may send them, and tells nobody here.
        let _ = tokio::time::timeout(PAUSE, told).await;
        let sql = "SELECT EXISTS (SELECT FROM views_batches WHERE project = $1 AND id <= $2)";
        let row = sqlx::query(sql).bind(project).bind(last).fetch_one(&database.questions).await?;
        if !row.try_get::<bool, _>(0)? {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(Fault::unavailable(
                "page views that were counted before are still on their way to ClickHouse; try again in a moment",
            ));
        }
    }
}

const PAUSE: std::time::Duration = std::time::Duration::from_millis(50);

/// Waits until every batch of a project that is there now has arrived.
pub(super) async fn all_of_project_arrived(database: &Database, house: &ClickHouse, project: i32) -> Result<()> {
    let mut connection = database.questions.acquire().await?;
    let last = last_batch(&mut connection, project).await?;
    drop(connection);
    match last {
        Some(last) => arrived(database, house, project, last).await,
        None => Ok(()),
    }
}

/// Waits until every batch of all projects that is there now has arrived.
pub(super) async fn all_arrived(database: &Database, house: &ClickHouse) -> Result<()> {
    let sql = "SELECT DISTINCT ON (project) project, id FROM views_batches ORDER BY project, id DESC";
    for row in sqlx::query(sql).fetch_all(&database.questions).await? {
        arrived(database, house, row.try_get(0)?, row.try_get(1)?).await?;
    }
    Ok(())
}
