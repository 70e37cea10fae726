//! The views of a batch, added up as the tables count them.

use copydesk_views::Bucket;
use copydesk_views::store::parts::{COLUMNS, Sums};
use sqlx::PgConnection;

use crate::calendar::month_of;
use crate::error::Result;

/// Period, page, reader and views, in the order of the tables.
type Read = Vec<(i32, i64, i64, i64)>;
/// Period, page and views by column.
type Pages = Vec<(i32, i64, Sums)>;

#[derive(Default)]
pub(crate) struct Tally {
    cells: Read,
    days: Pages,
    machines: Read,
    site: Read,
}

impl Tally {
    /// Adds views of a reader that counts on this side.
    pub(crate) fn add(&mut self, quarter: i32, path: i64, reader: i64, side: i16, views: u32) {
        let (day, n) = (quarter / Bucket::A_DAY as i32, i64::from(views));
        self.cells.push((quarter, path, reader, n));
        self.site.push((quarter, 0, reader, n));
        if side >= 2 {
            self.machines.push((day, path, reader, n));
        }
        if let Some(column) = usize::try_from(side).ok().filter(|column| *column < COLUMNS) {
            let mut sums = Sums::default();
            sums[column] = u64::from(views);
            self.days.push((day, path, sums));
        }
    }

    /// What was read by quarter hour, page and reader, in order.
    pub(crate) fn into_cells(mut self) -> Vec<(i32, i64, i64, i64)> {
        joined(&mut self.cells);
        self.cells
    }

    /// Counts all of it in a project. Everybody writes tables and rows in the same order.
    pub(crate) async fn write(mut self, connection: &mut PgConnection, project: i32) -> Result<()> {
        [&mut self.cells, &mut self.machines, &mut self.site].into_iter().for_each(joined);
        joined_pages(&mut self.days);
        let month = |(day, path, reader, n): &(i32, i64, i64, i64)| (month_of(*day), *path, *reader, *n);
        let mut machine_months: Read = self.machines.iter().map(month).collect();
        joined(&mut machine_months);
        let mut months: Pages = self.days.iter().map(|(day, path, sums)| (month_of(*day), *path, *sums)).collect();
        joined_pages(&mut months);
        put(connection, CELLS, project, &self.cells).await?;
        put_pages(connection, DAYS, project, &self.days).await?;
        put_pages(connection, MONTHS, project, &months).await?;
        put(connection, MACHINE_DAYS, project, &self.machines).await?;
        put(connection, MACHINE_MONTHS, project, &machine_months).await?;
        // Last, because all who count for this project at the moment want the same rows.
        put(connection, SITE, project, &self.site).await
    }
}

const CELLS: &str = "INSERT INTO views_cells (project, quarter, path, reader, n) \
    SELECT $1, new.* FROM UNNEST($2::int[], $3::bigint[], $4::bigint[], $5::bigint[]) AS new \
    ON CONFLICT (project, quarter, path, reader) DO UPDATE SET n = views_cells.n + excluded.n";
const DAYS: &str = "INSERT INTO views_days (project, day, path, hs, hv, ms, mv) SELECT $1, new.* \
    FROM UNNEST($2::int[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[]) AS new \
    ON CONFLICT (project, day, path) DO UPDATE SET hs = views_days.hs + excluded.hs, hv = views_days.hv + excluded.hv, \
    ms = views_days.ms + excluded.ms, mv = views_days.mv + excluded.mv";
const MONTHS: &str = "INSERT INTO views_months (project, month, path, hs, hv, ms, mv) SELECT $1, new.* \
    FROM UNNEST($2::int[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[]) AS new \
    ON CONFLICT (project, month, path) DO UPDATE SET hs = views_months.hs + excluded.hs, \
    hv = views_months.hv + excluded.hv, ms = views_months.ms + excluded.ms, mv = views_months.mv + excluded.mv";
const MACHINE_DAYS: &str = "INSERT INTO views_machine_days (project, day, path, reader, n) \
    SELECT $1, new.* FROM UNNEST($2::int[], $3::bigint[], $4::bigint[], $5::bigint[]) AS new \
    ON CONFLICT (project, day, path, reader) DO UPDATE SET n = views_machine_days.n + excluded.n";
const MACHINE_MONTHS: &str = "INSERT INTO views_machine_months (project, month, path, reader, n) \
    SELECT $1, new.* FROM UNNEST($2::int[], $3::bigint[], $4::bigint[], $5::bigint[]) AS new \
    ON CONFLICT (project, month, path, reader) DO UPDATE SET n = views_machine_months.n + excluded.n";
const SITE: &str = "INSERT INTO views_site (project, quarter, reader, n) SELECT $1, new.quarter, new.reader, new.n \
    FROM UNNEST($2::int[], $3::bigint[], $4::bigint[], $5::bigint[]) AS new (quarter, nothing, reader, n) \
    ON CONFLICT (project, quarter, reader) DO UPDATE SET n = views_site.n + excluded.n";

/// In order, and what has the same key as one row.
fn joined(rows: &mut Read) {
    rows.sort_unstable();
    rows.dedup_by(|next, row| {
        let is_same = (next.0, next.1, next.2) == (row.0, row.1, row.2);
        if is_same {
            row.3 += next.3;
        }
        is_same
    });
}

fn joined_pages(rows: &mut Pages) {
    rows.sort_unstable();
    rows.dedup_by(|next, row| {
        let is_same = (next.0, next.1) == (row.0, row.1);
        if is_same {
            row.2.iter_mut().zip(next.2).for_each(|(sum, more)| *sum += more);
        }
        is_same
    });
}

async fn put(connection: &mut PgConnection, sql: &'static str, project: i32, rows: &Read) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    sqlx::query(sql)
        .bind(project)
        .bind(rows.iter().map(|row| row.0).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.1).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.2).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.3).collect::<Vec<_>>())
        .execute(connection)
        .await?;
    Ok(())
}

async fn put_pages(connection: &mut PgConnection, sql: &'static str, project: i32, rows: &Pages) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let column = |column: usize| -> Vec<i64> { rows.iter().map(|row| row.2[column].cast_signed()).collect() };
    sqlx::query(sql)
        .bind(project)
        .bind(rows.iter().map(|row| row.0).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.1).collect::<Vec<_>>())
        .bind(column(0))
        .bind(column(1))
        .bind(column(2))
        .bind(column(3))
        .execute(connection)
        .await?;
    Ok(())
}
