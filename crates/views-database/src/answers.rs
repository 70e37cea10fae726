//! Answers about pages and the site: what the stretches of a question add up to.

use std::ops::Range;
use std::sync::Arc;

use copydesk_views::Bucket;
use copydesk_views::store::parts::{COLUMNS, Part};
use copydesk_views::store::{Counts, Question, Ranking, Sources};
use futures_util::TryStreamExt;
use sqlx::{AssertSqlSafe, PgConnection, Row};

use crate::cover::{Period, Stretch, cover, quarter};
use crate::database::Database;
use crate::error::Result;
use crate::project::Project;

/// What a row of an answer takes beside its path.
const A_ROW: usize = 96;

/// The columns of tables by day and month.
const COLUMN_NAMES: [&str; COLUMNS] = ["hs", "hv", "ms", "mv"];

/// The columns that count, as bits.
pub(crate) fn mask(columns: [bool; COLUMNS]) -> i32 {
    columns.iter().enumerate().map(|(column, counts)| i32::from(*counts) << column).sum()
}

/// What counts of two columns of a table by day or month.
fn figure(columns: [bool; COLUMNS], of: Range<usize>) -> String {
    let counted: Vec<&str> = of.filter(|column| columns[*column]).map(|column| COLUMN_NAMES[column]).collect();
    if counted.is_empty() { "0::bigint".to_owned() } else { counted.join(" + ") }
}

/// What counts of a cell, by the side of its reader.
fn figure_of_cell(columns: [bool; COLUMNS], of: Range<usize>) -> String {
    let sides: Vec<String> = of.filter(|column| columns[*column]).map(|column| column.to_string()).collect();
    if sides.is_empty() {
        return "0::bigint".to_owned();
    }
    format!("CASE WHEN r.side IN ({}) THEN n ELSE 0 END", sides.join(", "))
}

/// Rows (path, human, ai) of all parts of a question; none if there is nothing to ask. Only numbers are put into it.
fn page_rows(project: &Project, parts: &[Part]) -> Option<String> {
    let (id, whole) = (project.id, project.floor.gone_before());
    let mut rows = Vec::new();
    for part in parts {
        for Stretch { period, from, to, adds } in cover(part.from, part.to, whole) {
            let (table, column, sign) = (period.pages(), period.column(), if adds { "" } else { "-" });
            let range = format!("{table}.project = {id} AND {column} >= {from} AND {column} < {to}");
            rows.push(if period == Period::Quarter {
                let (human, ai) = (figure_of_cell(part.columns, 0..2), figure_of_cell(part.columns, 2..4));
                format!(
                    "SELECT path, {sign}({human}) AS human, {sign}({ai}) AS ai FROM {table} \
                     JOIN views_readers AS r ON r.id = reader WHERE {range}"
                )
            } else {
                let (human, ai) = (figure(part.columns, 0..2), figure(part.columns, 2..4));
                format!("SELECT path, {sign}({human}) AS human, {sign}({ai}) AS ai FROM {table} WHERE {range}")
            });
        }
    }
    (!rows.is_empty()).then(|| rows.join(" UNION ALL "))
}

pub(crate) async fn ranking(database: &Database, name: &str, question: Question) -> Result<Ranking> {
    let mut transaction = database.look().await?;
    let Some(project) = Project::find(&mut transaction, name).await? else { return Ok(Ranking::default()) };
    let Some(rows) = page_rows(&project, &project.switches().parts(question)) else {
        return Ok(Ranking::default());
    };
    let sql = format!(
        "SELECT p.path, t.human::bigint, t.ai::bigint FROM (\
           SELECT v.path AS id, SUM(v.human) AS human, SUM(v.ai) AS ai FROM ({rows}) AS v \
           GROUP BY v.path HAVING SUM(v.human) > 0 OR SUM(v.ai) > 0) AS t \
         JOIN views_paths AS p ON p.id = t.id"
    );
    let mut room = database.room.taken();
    let (mut paths, mut counts) = (Vec::new(), Vec::new());
    let mut found = sqlx::query(AssertSqlSafe(sql)).persistent(false).fetch(&mut *transaction);
    while let Some(row) = found.try_next().await? {
        let path: &str = row.try_get(0)?;
        room.take(path.len() + A_ROW).await?;
        let figure = |at: usize| row.try_get::<i64, _>(at).map(|views| views.unsigned_abs());
        counts.push(Counts { human: figure(1)?, ai: figure(2)? });
        paths.push(Arc::<str>::from(path));
    }
    Ok(Ranking::from_counts(Arc::default(), paths, counts))
}

/// The number of a page, if anybody has ever read it.
pub(crate) async fn path_number(connection: &mut PgConnection, project: &Project, path: &str) -> Result<Option<i64>> {
    let sql = "SELECT id FROM views_paths WHERE project = $1 AND path = $2";
    let row = sqlx::query(sql).bind(project.id).bind(path.replace('\0', "%00")).fetch_optional(connection).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

/// Views of the site, or of one page, between each two neighbouring edges; none if the project is not there.
pub(crate) async fn series(
    database: &Database,
    name: &str,
    path: Option<&str>,
    edges: &[Bucket],
    sources: Sources,
) -> Result<Option<Vec<Counts>>> {
    let mut transaction = database.look().await?;
    let Some(project) = Project::find(&mut transaction, name).await? else { return Ok(None) };
    let mut counts = vec![Counts::default(); edges.len().saturating_sub(1)];
    let source = match path {
        None => Some(Source::Site),
        Some(path) => path_number(&mut transaction, &project, path).await?.map(Source::Page),
    };
    let Some(source) = source else { return Ok(Some(counts)) };
    let pieces = Pieces::new(&mut transaction, &project, edges, sources).await?;
    for (at, side, views) in pieces.sums(&mut transaction, &project, source, None).await? {
        if let Some(counts) = counts.get_mut(at) {
            let figure = if side < 2 { &mut counts.human } else { &mut counts.ai };
            *figure += views;
        }
    }
    Ok(Some(counts))
}

/// What is added up.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source {
    Site,
    Page(i64),
}

/// The pieces of a series, one after the other, each with what counts in it.
pub(crate) struct Pieces {
    parts: Vec<(i32, Part)>,
    /// Nothing of the project is there only in part from here on.
    whole: Bucket,
}

/// Periods of one length, each stretch of them with the point of the series that it belongs to.
#[derive(Default)]
struct Stretches {
    from: Vec<i32>,
    to: Vec<i32>,
    sign: Vec<i32>,
    point: Vec<i32>,
    mask: Vec<i32>,
}

impl Stretches {
    fn push(&mut self, from: i32, to: i32, sign: i32, point: i32, mask: i32) {
        self.from.push(from);
        self.to.push(to);
        self.sign.push(sign);
        self.point.push(point);
        self.mask.push(mask);
    }
}

impl Pieces {
    /// The pieces between edges in which there are views at all.
    pub(crate) async fn new(
        connection: &mut PgConnection,
        project: &Project,
        edges: &[Bucket],
        sources: Sources,
    ) -> Result<Self> {
        let (first, last) = bounds(connection, project).await?;
        let (cut, _) = project.switches().cut(edges, sources);
        let mut parts = Vec::new();
        for (point, of_point) in (0..).zip(cut) {
            for part in of_point {
                let part = Part { from: part.from.max(first), to: part.to.min(last), ..part };
                parts.extend((part.from < part.to).then_some((point, part)));
            }
        }
        Ok(Self { parts, whole: project.floor.gone_before() })
    }

    fn stretches(&self, source: Source) -> [Stretches; 3] {
        let mut all: [Stretches; 3] = Default::default();
        for (point, part) in &self.parts {
            let mask = mask(part.columns);
            if let Source::Site = source {
                all[0].push(quarter(part.from), quarter(part.to), 1, *point, mask);
                continue;
            }
            for stretch in cover(part.from, part.to, self.whole) {
                let sign = if stretch.adds { 1 } else { -1 };
                all[stretch.period as usize].push(stretch.from, stretch.to, sign, *point, mask);
            }
        }
        all
    }

    /// Views by point and side of all readers, or of those that are called so.
    pub(crate) async fn sums(
        &self,
        connection: &mut PgConnection,
        project: &Project,
        source: Source,
        called: Option<&str>,
    ) -> Result<Vec<(usize, i32, u64)>> {
        if self.parts.is_empty() {
            return Ok(Vec::new());
        }
        let mut rows = Vec::new();
        let periods: &[Period] = match source {
            Source::Site => &[Period::Quarter],
            Source::Page(_) => &[Period::Quarter, Period::Day, Period::Month],
        };
        for (period, at) in periods.iter().copied().zip([3, 8, 13]) {
            let pieces = format!(
                "UNNEST(${}::int[], ${}::int[], ${}::int[], ${}::int[], ${}::int[]) AS g (begins, ends, sign, point, mask)",
                at,
                at + 1,
                at + 2,
                at + 3,
                at + 4
            );
            rows.push(rows_of_pieces(source, period, &pieces));
        }
        // Who is neither is counted where machines are.
        let sql = format!(
            "SELECT v.point, v.side, SUM(v.n)::bigint FROM ({}) AS v \
             WHERE (v.mask >> (CASE WHEN v.side < 4 THEN v.side ELSE v.side - 2 END)) & 1 = 1 GROUP BY 1, 2",
            rows.join(" UNION ALL ")
        );
        let mut query = sqlx::query(AssertSqlSafe(sql)).persistent(false).bind(project.id).bind(called);
        for Stretches { from, to, sign, point, mask } in self.stretches(source).into_iter().take(periods.len()) {
            query = query.bind(from).bind(to).bind(sign).bind(point).bind(mask);
        }
        let mut sums = Vec::new();
        for row in query.fetch_all(connection).await? {
            let (point, views): (i32, i64) = (row.try_get(0)?, row.try_get(2)?);
            sums.push((usize::try_from(point).unwrap_or(usize::MAX), row.try_get(1)?, views.unsigned_abs()));
        }
        Ok(sums)
    }
}

/// Rows (point, mask, side, n) of pieces whose periods are of one length.
fn rows_of_pieces(source: Source, period: Period, pieces: &str) -> String {
    // Of all readers, or of the machine that is called so.
    let readers = "JOIN views_readers AS r ON r.id = s.reader AND ($2::text IS NULL AND r.side < 4 OR r.called = $2 AND r.side >= 2)";
    let (table, column) = (period.pages(), period.column());
    match (source, period) {
        // One pass over all of them, because pieces follow each other.
        (Source::Site, _) => format!(
            "SELECT ($6::int[])[s.piece] AS point, ($7::int[])[s.piece] AS mask, r.side::int AS side, \
                    ($5::int[])[s.piece] * s.n AS n FROM (\
               SELECT width_bucket(quarter, $3::int[]) AS piece, reader, SUM(n)::bigint AS n FROM views_site \
               WHERE project = $1 AND quarter >= ($3::int[])[1] AND quarter < ($4::int[])[cardinality($4::int[])] \
               GROUP BY 1, 2) AS s {readers}"
        ),
        // Looks into each period for the page, and not at all pages of all of them.
        (Source::Page(path), Period::Quarter) => format!(
            "SELECT g.point, g.mask, r.side::int AS side, g.sign * s.n AS n FROM {pieces} \
             CROSS JOIN LATERAL generate_series(g.begins, g.ends - 1) AS at \
             JOIN {table} AS s ON s.project = $1 AND s.{column} = at AND s.path = {path} {readers}"
        ),
        (Source::Page(path), _) => format!(
            "SELECT g.point, g.mask, c.side, g.sign * c.n AS n FROM {pieces} \
             CROSS JOIN LATERAL generate_series(g.begins, g.ends - 1) AS at \
             JOIN {table} AS s ON s.project = $1 AND s.{column} = at AND s.path = {path} \
             CROSS JOIN LATERAL (VALUES (0, s.hs), (1, s.hv), (2, s.ms), (3, s.mv)) AS c (side, n)"
        ),
    }
}

/// The first quarter hour with a view that is not forgotten, and the one behind the last.
pub(crate) async fn bounds(connection: &mut PgConnection, project: &Project) -> Result<(Bucket, Bucket)> {
    let sql = "SELECT MIN(quarter), MAX(quarter) FROM views_site WHERE project = $1 AND quarter >= $2";
    let row = sqlx::query(sql).bind(project.id).bind(quarter(project.begins())).fetch_one(connection).await?;
    let bucket = |number: Option<i32>| number.and_then(|number| u32::try_from(number).ok()).map(Bucket);
    match (bucket(row.try_get(0)?), bucket(row.try_get(1)?)) {
        (Some(first), Some(last)) => Ok((first, Bucket(last.0.saturating_add(1)))),
        _ => Ok((Bucket::MIN, Bucket::MIN)),
    }
}

/// The first and the last day of all that is there, forgotten or not; no days at all if nothing is.
pub(crate) async fn bounds_of_all(connection: &mut PgConnection, project: &Project) -> Result<(i32, i32)> {
    let sql = "SELECT MIN(quarter) / 96, MAX(quarter) / 96 FROM views_site WHERE project = $1";
    let row = sqlx::query(sql).bind(project.id).fetch_one(connection).await?;
    let (first, last): (Option<i32>, Option<i32>) = (row.try_get(0)?, row.try_get(1)?);
    Ok((first.unwrap_or(0), last.unwrap_or(-1)))
}
