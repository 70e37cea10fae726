//! Rows in ClickHouse as a whole: adding them up, deleting them, counting some from others.

use std::collections::BTreeSet;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use clickhouse::Row;
use clickhouse::query::RowCursor;
use copydesk_domain::{Clock, new_id};
use serde::{Deserialize, Serialize};
use sqlx::{PgPool, Row as _};

use super::ClickHouse;
use super::shipment::{CellRow, Rows};
use super::tables::TABLES;
use crate::calendar::{first_day, month_of};
use crate::error::Result;

/// Projects that one statement names at most: Keeper takes no long ones.
const TOGETHER: usize = 5_000;
/// How long rewriting or deleting may take there.
const LONG: Duration = Duration::from_secs(3600);

#[derive(Debug, Row, Serialize, Deserialize)]
struct Count {
    n: u64,
}

#[derive(Debug, Row, Serialize, Deserialize)]
struct OldProject {
    project: u32,
}

#[derive(Debug, Row, Serialize, Deserialize)]
pub(crate) struct DayViews {
    pub(crate) project: u32,
    pub(crate) day: u32,
    pub(crate) n: u64,
}

impl ClickHouse {
    async fn count(&self, sql: &str) -> Result<u64> {
        let found: Vec<Count> = self.nodes.rows(sql).await?;
        Ok(found.first().map_or(0, |row| row.n))
    }

    /// Views of a project in a table, from a quarter hour, day or month on.
    pub(crate) async fn sum(&self, table: &str, column: &str, project: i32, from: i32) -> Result<i64> {
        let sql = format!("SELECT sum(n) AS n FROM {table} WHERE project = {project} AND {column} >= {from}");
        Ok(self.count(&sql).await?.cast_signed())
    }

    /// The cells of a project in the order of time.
    pub(crate) fn cells(&self, project: i32, from: i32) -> Result<RowCursor<CellRow>> {
        let sql = format!(
            "SELECT project, quarter, path, reader, n FROM views_cells WHERE project = {project} AND quarter >= {from} \
             ORDER BY quarter"
        );
        Ok(self.nodes.client().query_raw(&sql).fetch()?)
    }

    /// Inserts rows that cannot have been there before.
    pub(crate) async fn insert_new(&self, rows: &Rows, clock: &dyn Clock) -> Result<()> {
        let token = new_id(clock.now());
        self.nodes.with(LONG, |client| rows.insert(client, &token)).await
    }

    /// Deletes what was counted on these days, months aside.
    pub(crate) async fn clear_days(&self, project: i32, days: &[i32]) -> Result<()> {
        let Some((first, last)) = days.iter().min().zip(days.iter().max()) else { return Ok(()) };
        let list: Vec<String> = days.iter().map(i32::to_string).collect();
        let list = list.join(",");
        let (begins, ends) = (first.saturating_mul(96), last.saturating_mul(96).saturating_add(95));
        let quarters = format!("quarter BETWEEN {begins} AND {ends} AND intDiv(quarter, 96) IN ({list})");
        for (table, days) in
            [("views_cells", &*quarters), ("views_site", &quarters), ("views_days", &format!("day IN ({list})"))]
        {
            self.delete(table, &format!("project = {project} AND {days}")).await?;
        }
        Ok(())
    }

    /// Counts the months of a project anew from its days.
    pub(crate) async fn recount_months(&self, project: i32, clock: &dyn Clock) -> Result<()> {
        let condition = format!("project = {project}");
        if self.count(&format!("SELECT count() AS n FROM views_months WHERE {condition}")).await? > 0 {
            self.delete("views_months", &condition).await?;
        }
        self.derive_months(&condition, clock).await
    }

    /// Views by project and day.
    pub(crate) async fn by_day(&self) -> Result<Vec<DayViews>> {
        let sql = "SELECT project, intDiv(quarter, 96) AS day, sum(n) AS n FROM views_cells GROUP BY project, day";
        self.nodes.rows(sql).await
    }

    /// Deletes rows for which a condition holds, and waits for that.
    pub(crate) async fn delete(&self, table: &str, condition: &str) -> Result<()> {
        // Nobody adds to rows that are deleted: only whole projects, or what is before a floor, or what is being moved.
        let sql = match &self.cluster {
            None => format!("ALTER TABLE {table} DELETE WHERE {condition} SETTINGS mutations_sync = 2"),
            Some(cluster) => format!(
                "ALTER TABLE {table}_local ON CLUSTER '{cluster}' DELETE WHERE {condition} SETTINGS mutations_sync = 2"
            ),
        };
        self.nodes.execute(&sql, LONG).await
    }

    /// Deletes all that was counted.
    pub(crate) async fn empty(&self) -> Result<()> {
        for table in TABLES {
            let sql = match &self.cluster {
                None => format!("TRUNCATE TABLE {}", table.name),
                Some(cluster) => format!("TRUNCATE TABLE {}_local ON CLUSTER '{cluster}' SYNC", table.name),
            };
            self.nodes.execute(&sql, LONG).await?;
        }
        Ok(())
    }

    /// Deletes all that was counted, and leaves the tables to whoever comes next.
    pub(crate) async fn leave(&self, pool: &PgPool) -> Result<()> {
        // Ended in the middle it is done again, and finds what it left.
        sqlx::query("UPDATE views_counted_in_clickhouse SET is_there = FALSE").execute(pool).await?;
        self.empty().await?;
        let on = self.cluster.as_ref().map(|cluster| format!(" ON CLUSTER '{cluster}' SYNC")).unwrap_or_default();
        self.nodes.execute(&format!("TRUNCATE TABLE views_ledger{on}"), LONG).await
    }

    /// Counts rows that are given by a query, once.
    pub(crate) async fn derive(&self, into: &str, query: &str, clock: &dyn Clock) -> Result<()> {
        // Not known by their content: the same may have been there and deleted since.
        let token = new_id(clock.now());
        let sql = format!(
            "INSERT INTO {into} SETTINGS insert_deduplication_token = '{token}', max_partitions_per_insert_block = 0, \
             distributed_foreground_insert = 1 {query}"
        );
        // Rows of many blocks come in another order the second time, which no token can tell.
        self.nodes.execute_once(&sql).await
    }

    /// Counts days or the site as a whole from the quarter hours for which a condition holds.
    pub(crate) async fn derive_days(&self, condition: &str, clock: &dyn Clock) -> Result<()> {
        let query = format!(
            "SELECT project, intDiv(quarter, 96) AS day, path, reader, sum(n) AS n FROM views_cells WHERE {condition} \
             GROUP BY project, day, path, reader"
        );
        self.derive("views_days (project, day, path, reader, n)", &query, clock).await
    }

    pub(crate) async fn derive_site(&self, condition: &str, clock: &dyn Clock) -> Result<()> {
        let query = format!(
            "SELECT project, quarter, reader, sum(n) AS n FROM views_cells WHERE {condition} GROUP BY project, quarter, reader"
        );
        self.derive("views_site (project, quarter, reader, n)", &query, clock).await
    }

    /// Counts months from the days for which a condition holds. The calendar is this program's, so that both count the same.
    pub(crate) async fn derive_months(&self, condition: &str, clock: &dyn Clock) -> Result<()> {
        let last = format!("SELECT toUInt64(max(day)) AS n FROM views_days WHERE {condition}");
        let last = month_of(i32::try_from(self.count(&last).await?).unwrap_or(i32::MAX));
        let first = format!("SELECT toUInt64(min(day)) AS n FROM views_days WHERE {condition}");
        let first = month_of(i32::try_from(self.count(&first).await?).unwrap_or(0));
        let list = |number: fn(i32) -> i32| {
            (first..=last).map(|month| number(month).to_string()).collect::<Vec<_>>().join(",")
        };
        let (days, months) = (list(first_day), list(|month| month));
        let query = format!(
            "SELECT project, transform(toUInt32(roundDown(day, [{days}])), CAST([{days}], 'Array(UInt32)'), \
                    CAST([{months}], 'Array(UInt32)'), toUInt32(0)) AS month, path, reader, sum(n) AS n \
             FROM views_days WHERE {condition} GROUP BY project, month, path, reader"
        );
        self.derive("views_months (project, month, path, reader, n)", &query, clock).await
    }

    /// Deletes the rows of projects that are gone. False if some of them may still be on their way.
    pub(crate) async fn forget_projects(&self, pool: &PgPool, projects: &[i32]) -> Result<bool> {
        let sql = "SELECT EXISTS (SELECT FROM views_batches WHERE project = ANY ($1))";
        if sqlx::query(sql).bind(projects).fetch_one(pool).await?.try_get::<bool, _>(0)? {
            return Ok(false);
        }
        let list: Vec<String> = projects.iter().map(i32::to_string).collect();
        let condition = format!("project IN ({})", list.join(","));
        for table in TABLES {
            let sql = format!("SELECT count() AS n FROM {} WHERE {condition}", table.name);
            if self.count(&sql).await? > 0 {
                self.delete(table.name, &condition).await?;
            }
        }
        Ok(true)
    }

    /// Deletes what is before a month of these projects, and never comes again. Answers which of them had something.
    pub(crate) async fn forget_before(&self, months: &[(i32, i32)]) -> Result<Vec<i32>> {
        let mut had_some = Vec::new();
        for some in months.chunks(TOGETHER) {
            let before = |of_month: fn(i32) -> i32| {
                let list = |numbers: Vec<i32>| numbers.iter().map(i32::to_string).collect::<Vec<_>>().join(",");
                let projects = list(some.iter().map(|(project, _)| *project).collect());
                let places = list(some.iter().map(|(_, month)| of_month(*month)).collect());
                format!(
                    "transform(project, CAST([{projects}], 'Array(UInt32)'), CAST([{places}], 'Array(UInt32)'), toUInt32(0))"
                )
            };
            let quarters = before(|month| first_day(month).saturating_mul(96));
            let sql = format!("SELECT DISTINCT project FROM views_site WHERE quarter < {quarters}");
            let found: Vec<OldProject> = self.nodes.rows(&sql).await?;
            if found.is_empty() {
                continue;
            }
            let (days, months) = (before(first_day), before(|month| month));
            // The site last: by it is found what is left to do.
            for (table, condition) in [
                ("views_cells", format!("quarter < {quarters}")),
                ("views_days", format!("day < {days}")),
                ("views_months", format!("month < {months}")),
                ("views_site", format!("quarter < {quarters}")),
            ] {
                self.delete(table, &condition).await?;
            }
            had_some.extend(found.iter().map(|row| row.project.cast_signed()));
        }
        Ok(had_some)
    }

    /// The month before which this process has seen that nothing is left of a project.
    pub(crate) fn looked_before(&self, project: i32) -> i32 {
        let looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        looked.get(&project).copied().unwrap_or(0)
    }

    pub(crate) fn has_looked_before(&self, months: &[(i32, i32)]) {
        self.looked.lock().unwrap_or_else(PoisonError::into_inner).extend(months.iter().copied());
    }

    /// Projects of whose pages some may have no views any more.
    pub(crate) fn unread(&self) -> MutexGuard<'_, BTreeSet<i32>> {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many servers have the same views, at most.
    pub(crate) async fn replicas(&self) -> Result<u64> {
        let Some(cluster) = &self.cluster else { return Ok(1) };
        // It was looked at when it was read from the settings.
        self.count(&format!("SELECT toUInt64(max(replica_num)) AS n FROM system.clusters WHERE cluster = '{cluster}'"))
            .await
    }
}
