//! What is sent to ClickHouse together.

use std::collections::BTreeMap;

use clickhouse::{Client, Row, RowOwned, RowWrite};
use copydesk_views::Bucket;
use serde::{Deserialize, Serialize};
use sqlx::Row as _;

use super::batches::{Cell, unpacked};
use crate::calendar::month_of;
use crate::error::Result;

#[derive(Debug, Row, Serialize, Deserialize)]
pub(crate) struct CellRow {
    pub(crate) project: u32,
    pub(crate) quarter: u32,
    pub(crate) path: u64,
    pub(crate) reader: u64,
    pub(crate) n: u64,
}

#[derive(Debug, Row, Serialize, Deserialize)]
struct DayRow {
    project: u32,
    day: u32,
    path: u64,
    reader: u64,
    n: u64,
}

#[derive(Debug, Row, Serialize, Deserialize)]
struct MonthRow {
    project: u32,
    month: u32,
    path: u64,
    reader: u64,
    n: u64,
}

#[derive(Debug, Row, Serialize, Deserialize)]
struct SiteRow {
    project: u32,
    quarter: u32,
    reader: u64,
    n: u64,
}

/// What is sent together, as each table of ClickHouse has it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Shipment {
    /// Project, quarter hour, page and reader.
    pub(crate) cells: BTreeMap<(u32, u32, u64, u64), u64>,
    pub(crate) days: BTreeMap<(u32, u32, u64, u64), u64>,
    pub(crate) months: BTreeMap<(u32, u32, u64, u64), u64>,
    /// Project, quarter hour and reader.
    pub(crate) site: BTreeMap<(u32, u32, u64), u64>,
}

impl Shipment {
    pub(crate) fn add(&mut self, project: i32, cell: Cell) {
        let (quarter, path, reader, n) = cell;
        let (project, path, reader) = (project.unsigned_abs(), path.unsigned_abs(), reader.unsigned_abs());
        let (day, n) = (quarter / Bucket::A_DAY as i32, n.unsigned_abs());
        let (quarter, month) = (quarter.unsigned_abs(), month_of(day).unsigned_abs());
        *self.cells.entry((project, quarter, path, reader)).or_default() += n;
        *self.days.entry((project, day.unsigned_abs(), path, reader)).or_default() += n;
        *self.months.entry((project, month, path, reader)).or_default() += n;
        *self.site.entry((project, quarter, reader)).or_default() += n;
    }

    /// The cells of batches, read from the ledger.
    pub(crate) fn add_batch(&mut self, row: &sqlx::postgres::PgRow) -> Result<()> {
        let (project, cells): (i32, &[u8]) = (row.try_get("project")?, row.try_get("cells")?);
        unpacked(cells)?.into_iter().for_each(|cell| self.add(project, cell));
        Ok(())
    }
}

/// A shipment as rows of the tables.
pub(crate) struct Rows {
    cells: Vec<CellRow>,
    days: Vec<DayRow>,
    months: Vec<MonthRow>,
    site: Vec<SiteRow>,
}

impl From<Shipment> for Rows {
    fn from(shipment: Shipment) -> Self {
        let cell = |((project, quarter, path, reader), n)| CellRow { project, quarter, path, reader, n };
        let day = |((project, day, path, reader), n)| DayRow { project, day, path, reader, n };
        let month = |((project, month, path, reader), n)| MonthRow { project, month, path, reader, n };
        let site = |((project, quarter, reader), n)| SiteRow { project, quarter, reader, n };
        Self {
            cells: shipment.cells.into_iter().map(cell).collect(),
            days: shipment.days.into_iter().map(day).collect(),
            months: shipment.months.into_iter().map(month).collect(),
            site: shipment.site.into_iter().map(site).collect(),
        }
    }
}

impl Rows {
    /// Leaves months out: whoever brings whole days counts these from them.
    pub(crate) fn without_months(mut self) -> Self {
        self.months.clear();
        self
    }

    /// Inserts all of it. When it is answered it is on disk there; done again with the same token it counts once.
    pub(crate) async fn insert(&self, client: Client, token: &str) -> Result<()> {
        tokio::try_join!(
            insert(&client, "views_cells", &self.cells, token),
            insert(&client, "views_days", &self.days, token),
            insert(&client, "views_months", &self.months, token),
            insert(&client, "views_site", &self.site, token),
        )?;
        Ok(())
    }
}

async fn insert<T>(client: &Client, table: &str, rows: &[T], token: &str) -> Result<()>
where
    T: RowOwned + RowWrite,
{
    if rows.is_empty() {
        return Ok(());
    }
    let mut insert = client
        .insert::<T>(table)
        .await?
        .with_setting("insert_deduplication_token", token)
        .with_setting("insert_deduplicate", "1")
        // For views that somebody has put behind these tables.
        .with_setting("deduplicate_blocks_in_dependent_materialized_views", "1")
        // Logs of many years come at once.
        .with_setting("max_partitions_per_insert_block", "0")
        // Where tables are spread over shards: answered when the shards have it.
        .with_setting("distributed_foreground_insert", "1");
    for row in rows {
        insert.write(row).await?;
    }
    Ok(insert.end().await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_gets_each_view_once() {
        let mut shipment = Shipment::default();
        let day = 20_000;
        for cell in [(day * 96, 7, 1, 2), (day * 96 + 95, 7, 1, 3), (day * 96, 7, 2, 5)] {
            shipment.add(4, cell);
        }
        let day = day.unsigned_abs();
        assert_eq!(shipment.cells.len(), 3);
        assert_eq!(shipment.days, BTreeMap::from([((4, day, 7, 1), 5), ((4, day, 7, 2), 5)]));
        assert_eq!(shipment.months.values().sum::<u64>(), 10);
        assert_eq!(shipment.site.values().sum::<u64>(), 10);
    }
}
