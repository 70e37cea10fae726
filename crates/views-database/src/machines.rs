//! What machines read: each kind of them with its pages, and the course of one.

use std::sync::Arc;

use copydesk_views::Bucket;
use copydesk_views::store::parts::Part;
use copydesk_views::store::{AgentViews, Question, Sources};
use futures_util::TryStreamExt;
use sqlx::{AssertSqlSafe, Row};

use crate::answers::{Pieces, Source, bounds, mask, path_number};
use crate::cover::{Stretch, cover};
use crate::database::Database;
use crate::error::Result;
use crate::names::read_verdict;
use crate::project::Project;

/// What a row of an answer takes beside its text.
const A_ROW: usize = 96;

/// Rows (path, reader, n, mask) of all parts of a question; none if there is nothing to ask. Only numbers are put into it.
fn machine_rows(project: &Project, parts: &[Part], only: Option<i64>) -> Option<String> {
    let (id, whole) = (project.id, project.floor.gone_before());
    let mut rows = Vec::new();
    for part in parts {
        for Stretch { period, from, to, adds } in cover(part.from, part.to, whole) {
            let (table, column, sign) = (period.machines(), period.column(), if adds { "" } else { "-" });
            let place = match only {
                None => format!("{table} WHERE project = {id} AND {column} >= {from} AND {column} < {to}"),
                // Looks into each period for the page, and not at all pages of all of them.
                Some(path) => format!(
                    "generate_series({from}, {to} - 1) AS at JOIN {table} ON project = {id} AND {column} = at AND path = {path}"
                ),
            };
            rows.push(format!("SELECT path, reader, {sign}n AS n, {} AS mask FROM {place}", mask(part.columns)));
        }
    }
    (!rows.is_empty()).then(|| rows.join(" UNION ALL "))
}

/// The machines that read, most views first; of one page if it is named.
pub(crate) async fn agents(
    database: &Database,
    name: &str,
    question: Question,
    path: Option<&str>,
    pages_each: usize,
) -> Result<Vec<AgentViews>> {
    let mut transaction = database.look().await?;
    let Some(project) = Project::find(&mut transaction, name).await? else { return Ok(Vec::new()) };
    let only = match path {
        None => None,
        Some(path) => match path_number(&mut transaction, &project, path).await? {
            None => return Ok(Vec::new()),
            found => found,
        },
    };
    // Where there are views at all: each period may be looked into by itself.
    let (first, end) = bounds(&mut transaction, &project).await?;
    let question = Question { from: question.from.max(first), to: question.to.min(end), ..question };
    let (parts, id) = (project.switches().parts(question), project.id);
    let Some(rows) = machine_rows(&project, &parts, only) else { return Ok(Vec::new()) };
    // Who is neither human nor AI is counted where AI is.
    let sql = format!(
        "WITH machines AS (\
           SELECT id, verdict, DENSE_RANK() OVER (ORDER BY verdict) AS kind, \
                  CASE WHEN side < 4 THEN side ELSE side - 2 END AS side \
           FROM views_readers WHERE project = {id} AND side >= 2), \
         read AS (\
           SELECT m.kind, v.path, SUM(v.n)::bigint AS views FROM ({rows}) AS v JOIN machines AS m ON m.id = v.reader \
           WHERE (v.mask >> m.side) & 1 = 1 GROUP BY m.kind, v.path HAVING SUM(v.n) > 0), \
         ranked AS (\
           SELECT read.kind, p.path, read.views, (SUM(read.views) OVER kinds)::bigint AS all_views, \
                  COUNT(*) OVER kinds AS pages, \
                  ROW_NUMBER() OVER (PARTITION BY read.kind ORDER BY read.views DESC, p.path) AS place \
           FROM read JOIN views_paths AS p ON p.id = read.path WINDOW kinds AS (PARTITION BY read.kind)) \
         SELECT ranked.kind, (SELECT verdict FROM machines WHERE machines.kind = ranked.kind LIMIT 1), all_views, pages, \
                path, views FROM ranked WHERE place <= GREATEST($1, 1) ORDER BY kind, place"
    );
    let most = i64::try_from(pages_each).unwrap_or(i64::MAX);
    let mut room = database.room.taken();
    let mut agents: Vec<AgentViews> = Vec::new();
    let mut last = None;
    let mut found = sqlx::query(AssertSqlSafe(sql)).persistent(false).bind(most).fetch(&mut *transaction);
    while let Some(row) = found.try_next().await? {
        let (kind, path): (i64, &str) = (row.try_get(0)?, row.try_get(4)?);
        let figure = |at: usize| row.try_get::<i64, _>(at).map(|views| views.unsigned_abs());
        room.take(path.len() + A_ROW).await?;
        if last != Some(kind) {
            let verdict: &str = row.try_get(1)?;
            room.take(verdict.len() + A_ROW).await?;
            let (verdict, views, pages) = (read_verdict(verdict)?, figure(2)?, figure(3)?);
            agents.push(AgentViews { verdict, views, pages, most_read: Vec::new() });
            last = Some(kind);
        }
        if let Some(agent) = agents.last_mut().filter(|_| pages_each > 0) {
            agent.most_read.push((Arc::from(path), figure(5)?));
        }
    }
    agents.sort_unstable_by(|one, other| other.views.cmp(&one.views).then_with(|| one.verdict.cmp(&other.verdict)));
    Ok(agents)
}

/// Views of one machine between each two neighbouring edges; none if the project is not there.
pub(crate) async fn course(
    database: &Database,
    name: &str,
    agent: &str,
    edges: &[Bucket],
    sources: Sources,
) -> Result<Option<Vec<u64>>> {
    let mut transaction = database.look().await?;
    let Some(project) = Project::find(&mut transaction, name).await? else { return Ok(None) };
    let mut views = vec![0; edges.len().saturating_sub(1)];
    let pieces = Pieces::new(&mut transaction, &project, edges, sources).await?;
    let agent = agent.replace('\0', "");
    for (at, _, more) in pieces.sums(&mut transaction, &project, Source::Site, Some(&agent)).await? {
        if let Some(views) = views.get_mut(at) {
            *views += more;
        }
    }
    Ok(Some(views))
}
