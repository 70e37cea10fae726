//! What machines read: each kind of them with its pages, and the course of one.

use std::collections::BTreeMap;
use std::sync::Arc;

use clickhouse::Row;
use copydesk_views::Bucket;
use copydesk_views::store::{AgentViews, Question, Sources};
use serde::{Deserialize, Serialize};
use sqlx::Row as _;

use super::answers::{Pieces, page_number, rows_of, stretches};
use super::look::{Look, numbers};
use crate::clickhouse::ClickHouse;
use crate::database::Database;
use crate::error::Result;
use crate::names::read_verdict;

/// What a row of an answer takes beside its text.
const A_ROW: usize = 96;

#[derive(Debug, Row, Serialize, Deserialize)]
struct ReadRow {
    kind: u64,
    path: u64,
    views: u64,
    all_views: u64,
    pages: u64,
}

/// A kind of machine: its verdict, and its readers with the column they count in.
struct Kind {
    verdict: String,
    readers: Vec<(u64, usize)>,
}

/// The column in which a machine counts. Who is neither human nor AI is counted where AI is.
fn column(side: i16) -> usize {
    usize::try_from(if side < 4 { side } else { side - 2 }).unwrap_or(usize::MAX)
}

async fn kinds(database: &Database, look: &Look) -> Result<Vec<Kind>> {
    let sql = "SELECT id, verdict FROM views_readers WHERE project = $1 AND side >= 2";
    let mut kinds: BTreeMap<String, Vec<(u64, usize)>> = BTreeMap::new();
    for row in sqlx::query(sql).bind(look.project.id).fetch_all(&database.questions).await? {
        let (id, verdict): (i64, String) = (row.try_get(0)?, row.try_get(1)?);
        // As it was judged when the question began.
        if let Some(side) = look.sides.get(&id.unsigned_abs()).filter(|side| **side >= 2) {
            kinds.entry(verdict).or_default().push((id.unsigned_abs(), column(*side)));
        }
    }
    Ok(kinds.into_iter().map(|(verdict, readers)| Kind { verdict, readers }).collect())
}

/// The machines that read, most views first; of one page if it is named.
pub(crate) async fn agents(
    database: &Database,
    house: &ClickHouse,
    name: &str,
    question: Question,
    path: Option<&str>,
    pages_each: usize,
) -> Result<Vec<AgentViews>> {
    let Some(look) = Look::begin(database, house, name).await? else { return Ok(Vec::new()) };
    let only = match path {
        None => String::new(),
        Some(path) => match page_number(database, &look.project, path).await? {
            None => return Ok(Vec::new()),
            Some(page) => format!(" AND path = {page}"),
        },
    };
    let kinds = kinds(database, &look).await?;
    let mut rows = Vec::new();
    for part in look.project.switches().parts(question) {
        let counts = |(_, column): &&(u64, usize)| part.columns.get(*column) == Some(&true);
        let counted = kinds.iter().flat_map(|kind| &kind.readers).filter(counts);
        let Some(readers) = numbers(counted.map(|(reader, _)| *reader)) else { continue };
        for stretch in stretches(part.from, part.to) {
            let of = rows_of(look.project.id, &stretch);
            rows.push(format!(
                "SELECT reader, path, sum(n) AS v FROM {of}{only} AND reader IN ({readers}) GROUP BY reader, path"
            ));
        }
    }
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let (mut readers, mut places) = (Vec::new(), Vec::new());
    for (place, kind) in kinds.iter().enumerate() {
        for (reader, _) in &kind.readers {
            readers.push(reader.to_string());
            places.push(place.to_string());
        }
    }
    // Pages with as many views as the last that is wanted come too: which of them is before the others, their names say.
    let sql = format!(
        "SELECT kind, path, views, all_views, pages FROM (\
           SELECT kind, path, views, sum(views) OVER (PARTITION BY kind) AS all_views, \
                  count() OVER (PARTITION BY kind) AS pages, \
                  rank() OVER (PARTITION BY kind ORDER BY views DESC) AS place FROM (\
             SELECT transform(reader, CAST([{}], 'Array(UInt64)'), CAST([{}], 'Array(UInt64)'), toUInt64(0)) AS kind, path, \
                    sum(v) AS views FROM ({}) GROUP BY kind, path HAVING views > 0)) \
         WHERE place <= greatest({pages_each}, 1)",
        readers.join(","),
        places.join(","),
        rows.join(" UNION ALL ")
    );
    let mut room = database.room.taken();
    let found: Vec<ReadRow> = house.nodes.answer(&sql, database.options.question_time, &mut room).await?;
    let pages: Vec<u64> = found.iter().map(|row| row.path).collect();
    room.take(pages.len() * A_ROW).await?;
    let paths = house.pages.of(&database.questions, look.project.id, &pages, &mut room).await?;
    let mut by_kind: BTreeMap<u64, AgentViews> = BTreeMap::new();
    for (row, path) in found.iter().zip(paths) {
        let Some(kind) = usize::try_from(row.kind).ok().and_then(|kind| kinds.get(kind)) else { continue };
        let agent = match by_kind.entry(row.kind) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => entry.insert(AgentViews {
                verdict: read_verdict(&kind.verdict)?,
                views: row.all_views,
                pages: row.pages,
                most_read: Vec::new(),
            }),
        };
        agent.most_read.push((path, row.views));
    }
    let mut agents: Vec<AgentViews> = by_kind.into_values().collect();
    for agent in &mut agents {
        let most_first =
            |one: &(Arc<str>, u64), other: &(Arc<str>, u64)| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0));
        agent.most_read.sort_unstable_by(most_first);
        agent.most_read.truncate(pages_each);
    }
    agents.sort_unstable_by(|one, other| other.views.cmp(&one.views).then_with(|| one.verdict.cmp(&other.verdict)));
    look.still_stands(database).await?;
    Ok(agents)
}

/// Views of one machine between each two neighbouring edges; none if the project is not there.
pub(crate) async fn course(
    database: &Database,
    house: &ClickHouse,
    name: &str,
    agent: &str,
    edges: &[Bucket],
    sources: Sources,
) -> Result<Option<Vec<u64>>> {
    let Some(look) = Look::begin(database, house, name).await? else { return Ok(None) };
    let mut views = vec![0; edges.len().saturating_sub(1)];
    let sql = "SELECT id FROM views_readers WHERE project = $1 AND called = $2 AND side >= 2";
    let found =
        sqlx::query(sql).bind(look.project.id).bind(agent.replace('\0', "")).fetch_all(&database.questions).await?;
    let readers = found.iter().map(|row| row.try_get::<i64, _>(0)).collect::<sqlx::Result<Vec<_>>>()?;
    let Some(readers) = numbers(readers.into_iter().map(i64::unsigned_abs)) else { return Ok(Some(views)) };
    let pieces = Pieces::new(&look.project, edges, sources);
    for (point, columns, reader, more) in pieces.sums(database, house, &look.project, None, Some(&readers)).await? {
        let side = look.sides.get(&reader).filter(|side| **side >= 2);
        if let (Some(side), Some(views)) = (side, views.get_mut(point))
            && columns.get(column(*side)) == Some(&true)
        {
            *views += more;
        }
    }
    look.still_stands(database).await?;
    Ok(Some(views))
}
