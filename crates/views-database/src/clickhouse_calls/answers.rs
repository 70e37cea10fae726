//! Answers about pages and the site.
//!
//! A range is only added up and never taken away from: a shipment reaches one table a moment before another, and what is
//! taken away could be there before that from which it is.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use clickhouse::Row;
use copydesk_views::store::parts::Part;
use copydesk_views::store::{Counts, Question, Ranking, Sources, Status};
use copydesk_views::{Bucket, Client};
use serde::{Deserialize, Serialize};
use sqlx::Row as _;

use super::look::{Look, all_arrived};
use crate::clickhouse::ClickHouse;
use crate::cover::{Period, Stretch, cover, quarter};
use crate::database::Database;
use crate::error::Result;
use crate::names::read_client;
use crate::project::Project;

/// What a row of an answer takes beside its path.
const A_ROW: usize = 96;
/// What a reader takes beside its text.
const A_READER: usize = 400;

/// The stretches of a range, all of which are added up.
pub(super) fn stretches(from: Bucket, to: Bucket) -> Vec<Stretch> {
    cover(from, to, Bucket::MAX)
}

/// Where a stretch is counted, and which of its rows are meant.
pub(super) fn rows_of(project: i32, stretch: &Stretch) -> String {
    let Stretch { period, from, to, .. } = stretch;
    let (table, column) = (table(*period), period.column());
    format!("{table} WHERE project = {project} AND {column} >= {from} AND {column} < {to}")
}

fn table(period: Period) -> &'static str {
    match period {
        Period::Quarter => "views_cells",
        Period::Day => "views_days",
        Period::Month => "views_months",
    }
}

#[derive(Debug, Row, Serialize, Deserialize)]
struct PageRow {
    path: u64,
    human: u64,
    ai: u64,
}

pub(crate) async fn ranking(
    database: &Database,
    house: &ClickHouse,
    name: &str,
    question: Question,
) -> Result<Ranking> {
    let Some(look) = Look::begin(database, house, name).await? else { return Ok(Ranking::default()) };
    let Some(rows) = page_rows(&look, &look.project.switches().parts(question)) else { return Ok(Ranking::default()) };
    let sql =
        format!("SELECT path, sum(h) AS human, sum(a) AS ai FROM ({rows}) GROUP BY path HAVING human > 0 OR ai > 0");
    let mut room = database.room.taken();
    let found: Vec<PageRow> = house.nodes.answer(&sql, database.options.question_time, &mut room).await?;
    let pages: Vec<u64> = found.iter().map(|row| row.path).collect();
    room.take(pages.len() * A_ROW).await?;
    let paths = house.pages.of(&database.questions, look.project.id, &pages, &mut room).await?;
    look.still_stands(database).await?;
    let counts = found.iter().map(|row| Counts { human: row.human, ai: row.ai }).collect();
    Ok(Ranking::from_counts(Arc::default(), paths, counts))
}

/// Rows (path, h, a) of all parts of a question; none if nothing counts. Only numbers are put into it.
fn page_rows(look: &Look, parts: &[Part]) -> Option<String> {
    let mut rows = Vec::new();
    for part in parts {
        let people = look.readers(|column| column < 2 && part.columns[column]);
        let machines = look.readers(|column| column >= 2 && part.columns[column]);
        if people.is_none() && machines.is_none() {
            continue;
        }
        let figure = |readers: Option<String>| match readers {
            Some(readers) => format!("sumIf(n, reader IN ({readers}))"),
            None => "toUInt64(0)".to_owned(),
        };
        let (people, machines) = (figure(people), figure(machines));
        for stretch in stretches(part.from, part.to) {
            let of = rows_of(look.project.id, &stretch);
            rows.push(format!("SELECT path, {people} AS h, {machines} AS a FROM {of} GROUP BY path"));
        }
    }
    (!rows.is_empty()).then(|| rows.join(" UNION ALL "))
}

/// Views of the site, or of one page, between each two neighbouring edges; none if the project is not there.
pub(crate) async fn series(
    database: &Database,
    house: &ClickHouse,
    name: &str,
    path: Option<&str>,
    edges: &[Bucket],
    sources: Sources,
) -> Result<Option<Vec<Counts>>> {
    let Some(look) = Look::begin(database, house, name).await? else { return Ok(None) };
    let mut counts = vec![Counts::default(); edges.len().saturating_sub(1)];
    let page = match path {
        None => None,
        Some(path) => match page_number(database, &look.project, path).await? {
            None => return Ok(Some(counts)),
            found => found,
        },
    };
    let pieces = Pieces::new(&look.project, edges, sources);
    for (point, columns, reader, views) in pieces.sums(database, house, &look.project, page, None).await? {
        let side = look.sides.get(&reader).and_then(|side| usize::try_from(*side).ok());
        if let (Some(side), Some(counts)) = (side, counts.get_mut(point))
            && columns.get(side) == Some(&true)
        {
            *copydesk_views::store::parts::figure(counts, side) += views;
        }
    }
    look.still_stands(database).await?;
    Ok(Some(counts))
}

/// The number of a page, if anybody has ever read it.
pub(super) async fn page_number(database: &Database, project: &Project, path: &str) -> Result<Option<u64>> {
    let mut connection = database.questions.acquire().await?;
    let number = crate::answers::path_number(&mut connection, project, path).await?;
    Ok(number.map(i64::unsigned_abs))
}

#[derive(Debug, Row, Serialize, Deserialize)]
struct PieceRow {
    at: u32,
    reader: u64,
    views: u64,
}

/// The pieces of a series, one after the other, each with the point that it belongs to and what counts in it.
pub(super) struct Pieces(Vec<(usize, Part)>);

/// A point, the columns that count, a reader and its views.
type Sum = (usize, [bool; 4], u64, u64);

impl Pieces {
    pub(super) fn new(project: &Project, edges: &[Bucket], sources: Sources) -> Self {
        let (cut, _) = project.switches().cut(edges, sources);
        let of_point = |(point, parts): (usize, Vec<Part>)| parts.into_iter().map(move |part| (point, part));
        Self(cut.into_iter().enumerate().flat_map(of_point).filter(|(_, part)| part.from < part.to).collect())
    }

    /// Views of the site, or of a page, by reader; only of these readers if some are named.
    pub(super) async fn sums(
        &self,
        database: &Database,
        house: &ClickHouse,
        project: &Project,
        page: Option<u64>,
        readers: Option<&str>,
    ) -> Result<Vec<Sum>> {
        // Where each stretch begins and ends, and its piece.
        let mut by_period: [Vec<(i32, i32, usize)>; 3] = Default::default();
        for (piece, (_, part)) in self.0.iter().enumerate() {
            if page.is_none() {
                by_period[0].push((quarter(part.from), quarter(part.to), piece));
                continue;
            }
            for stretch in stretches(part.from, part.to) {
                by_period[stretch.period as usize].push((stretch.from, stretch.to, piece));
            }
        }
        let mut room = database.room.taken();
        let mut sums = Vec::new();
        for (period, mut stretches) in [Period::Quarter, Period::Day, Period::Month].into_iter().zip(by_period) {
            stretches.sort_unstable();
            let Some(sql) = piece_rows(project.id, period, &stretches, page, readers) else { continue };
            let pieces: HashMap<u32, usize> = stretches.iter().map(|it| (it.0.unsigned_abs(), it.2)).collect();
            let found: Vec<PieceRow> = house.nodes.answer(&sql, database.options.question_time, &mut room).await?;
            // What is between stretches belongs to none.
            for row in found {
                if let Some((point, part)) = pieces.get(&row.at).and_then(|piece| self.0.get(*piece)) {
                    sums.push((*point, part.columns, row.reader, row.views));
                }
            }
        }
        Ok(sums)
    }
}

/// Rows (at, reader, views) of stretches that follow each other, `at` being where one of them, or what is between two,
/// begins. None if there are none.
fn piece_rows(
    project: i32,
    period: Period,
    stretches: &[(i32, i32, usize)],
    page: Option<u64>,
    readers: Option<&str>,
) -> Option<String> {
    let (first, last) = (stretches.first()?.0, stretches.last()?.1);
    let mut edges: Vec<i32> = stretches.iter().flat_map(|(from, to, _)| [*from, *to]).collect();
    edges.dedup();
    let edges: Vec<String> = edges.iter().map(i32::to_string).collect();
    let of = match page {
        None => {
            format!("views_site WHERE project = {project} AND quarter >= {first} AND quarter < {last}")
        }
        Some(page) => {
            let stretch = Stretch { period, from: first, to: last, adds: true };
            format!("{} AND path = {page}", rows_of(project, &stretch))
        }
    };
    let only = readers.map(|readers| format!(" AND reader IN ({readers})")).unwrap_or_default();
    Some(format!(
        "SELECT toUInt32(roundDown({}, [{}])) AS at, reader, sum(n) AS views FROM {of}{only} GROUP BY at, reader",
        period.column(),
        edges.join(",")
    ))
}

#[derive(Debug, Row, Serialize, Deserialize)]
struct Bounds {
    first: u32,
    last: u32,
    rows: u64,
}

/// The first quarter hour with a view that is not forgotten, and the one behind the last.
pub(crate) async fn bounds(database: &Database, house: &ClickHouse, name: &str) -> Result<(Bucket, Bucket)> {
    let Some(look) = Look::begin(database, house, name).await? else { return Ok((Bucket::MIN, Bucket::MIN)) };
    let bounds = bounds_of(house, &look.project).await?;
    look.still_stands(database).await?;
    Ok(bounds)
}

async fn bounds_of(house: &ClickHouse, project: &Project) -> Result<(Bucket, Bucket)> {
    let sql = format!(
        "SELECT min(quarter) AS first, max(quarter) AS last, count() AS rows FROM views_site \
         WHERE project = {} AND quarter >= {}",
        project.id,
        project.begins().0
    );
    let found: Vec<Bounds> = house.nodes.rows(&sql).await?;
    Ok(match found.first().filter(|it| it.rows > 0) {
        Some(it) => (Bucket(it.first), Bucket(it.last.saturating_add(1))),
        None => (Bucket::MIN, Bucket::MIN),
    })
}

#[derive(Debug, Row, Serialize, Deserialize)]
struct Totals {
    pages: u64,
    views: u64,
}

#[derive(Debug, Row, Serialize, Deserialize)]
struct Bytes {
    bytes: u64,
}

pub(crate) async fn status(database: &Database, house: &ClickHouse, name: &str) -> Result<Status> {
    let Some(look) = Look::begin(database, house, name).await? else { return Ok(Status::default()) };
    let project = &look.project;
    let (first, end) = bounds_of(house, project).await?;
    let mut status = Status {
        script_since: project.script_since,
        server_since: project.server_since,
        floor: project.floor.floor,
        restorable: project.floor.moves.first().map(|oldest| oldest.from),
        ..Status::default()
    };
    if first == end {
        look.still_stands(database).await?;
        return Ok(status);
    }
    (status.first, status.last) = (Some(first), Some(Bucket(end.0 - 1)));
    let rows: Vec<String> = stretches(first, end)
        .iter()
        .map(|stretch| format!("SELECT path, sum(n) AS v FROM {} GROUP BY path", rows_of(project.id, stretch)))
        .collect();
    let sql = format!(
        "SELECT count() AS pages, sum(views) AS views FROM (SELECT path, sum(v) AS views FROM ({}) GROUP BY path \
         HAVING views > 0)",
        rows.join(" UNION ALL ")
    );
    let mut room = database.room.taken();
    let found: Vec<Totals> = house.nodes.answer(&sql, database.options.question_time, &mut room).await?;
    if let Some(totals) = found.first() {
        (status.pages, status.views) = (totals.pages, totals.views);
    }
    // Its part of all that page views take there, by the rows of its course.
    let sql = format!(
        "SELECT toUInt64(greatest(1, ifNull((SELECT sum(bytes_on_disk) FROM system.parts WHERE active \
           AND database = currentDatabase() AND table LIKE 'views\\_%'), 0) \
         * ifNull((SELECT count() FROM views_site WHERE project = {}), 0) \
         / greatest(1, ifNull((SELECT count() FROM views_site), 0)))) AS bytes",
        project.id
    );
    let found: Vec<Bytes> = house.nodes.rows(&sql).await?;
    status.bytes = found.first().map_or(0, |row| row.bytes);
    look.still_stands(database).await?;
    Ok(status)
}

#[derive(Debug, Row, Serialize, Deserialize)]
struct ReaderViews {
    reader: u64,
    views: u64,
}

/// Every kind of reader with its views, most first.
pub(crate) async fn clients(database: &Database, house: &ClickHouse, name: &str) -> Result<Vec<(Arc<Client>, u64)>> {
    let Some(look) = Look::begin(database, house, name).await? else { return Ok(Vec::new()) };
    let project = &look.project;
    let sql = format!(
        "SELECT reader, sum(n) AS views FROM views_site WHERE project = {} AND quarter >= {} GROUP BY reader",
        project.id,
        project.begins().0
    );
    let mut room = database.room.taken();
    let found: Vec<ReaderViews> = house.nodes.answer(&sql, database.options.question_time, &mut room).await?;
    let views: HashMap<u64, u64> = found.into_iter().map(|row| (row.reader, row.views)).collect();
    let mut totals: BTreeMap<Client, u64> = BTreeMap::new();
    let rows = sqlx::query("SELECT id, facts, verdict FROM views_readers WHERE project = $1")
        .bind(project.id)
        .fetch_all(&database.questions)
        .await?;
    for row in rows {
        let (id, facts, verdict): (i64, &str, &str) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        let Some(views) = views.get(&id.unsigned_abs()) else { continue };
        room.take(facts.len() + verdict.len() + A_READER).await?;
        *totals.entry(read_client(facts, verdict)?).or_default() += views;
    }
    look.still_stands(database).await?;
    let mut totals: Vec<_> = totals.into_iter().map(|(client, views)| (Arc::new(client), views)).collect();
    totals.sort_by_key(|(_, views)| std::cmp::Reverse(*views));
    Ok(totals)
}

#[derive(Debug, Row, Serialize, Deserialize)]
struct ProjectRow {
    project: u32,
}

/// The projects that have views.
pub(crate) async fn projects(database: &Database, house: &ClickHouse) -> Result<Vec<String>> {
    all_arrived(database, house).await?;
    let found: Vec<ProjectRow> = house.nodes.rows("SELECT DISTINCT project FROM views_site").await?;
    let numbers: Vec<i32> = found.iter().map(|row| row.project.cast_signed()).collect();
    let sql = "SELECT name FROM views_projects WHERE id = ANY ($1) ORDER BY name";
    let found = sqlx::query(sql).bind(numbers).fetch_all(&database.questions).await?;
    Ok(found.iter().map(|row| row.try_get(0)).collect::<sqlx::Result<_>>()?)
}
