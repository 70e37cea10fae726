//! What the checks say of the pages of a project's repository.

use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{FindingSummary, NotJudged, Project, ProjectId, Timestamp};

use crate::conn::{Conn, Dialect, FromRow, Result, Row, Value, places, plain_text, to_json, values};
use crate::database::Store;
use crate::dormancy::is_dormant;

const COLUMNS: &str = "file, page, title, found, findings, not_judged";
/// How many pages are written with one statement.
const AT_ONCE: usize = 100;

/// When the pages of a project were judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// When somebody last began to look.
    pub tried_at: Timestamp,
    /// The commit that the pages were judged at, and when; none until they were.
    pub checked: Option<(String, Timestamp)>,
    /// What could not be judged of all pages together.
    pub not_judged: Vec<NotJudged>,
    /// Why the last look came to nothing; what is known is older then.
    pub problem: Option<String>,
}

/// A page of a project's repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageHealth {
    pub file: String,
    /// Its address on the site, if it is known.
    pub page: Option<String>,
    pub title: String,
    /// How much was found.
    pub found: u32,
    /// The first of it.
    pub findings: Vec<FindingSummary>,
    /// What could not be judged of it.
    pub not_judged: Vec<NotJudged>,
}

#[boxed]
impl Store {
    /// Whether it is time to look at the pages of a project: nobody has for `pause`. Whoever is told so looks; nobody else
    /// is told so meanwhile.
    pub async fn begin_health(&self, project_id: &ProjectId, pause: Duration) -> Result<bool> {
        let (project_id, now) = (project_id.clone(), self.now());
        self.write(move |c| Box::pin(begin(c, project_id, pause, now))).await
    }

    /// Puts pages in the place of all that were known. False if the project is gone, or has another repository by now.
    pub async fn record_health(
        &self,
        project: &Project,
        commit: &str,
        not_judged: Vec<NotJudged>,
        pages: Vec<PageHealth>,
    ) -> Result<bool> {
        let (project, commit, now) = (Looked::at(project), commit.to_owned(), self.now());
        self.write(move |c| Box::pin(record(c, project, commit, not_judged, pages, now))).await
    }

    /// Notes why the last look came to nothing, or that it did not and nothing has changed. What is known stays.
    pub async fn note_health(&self, project: &Project, problem: Option<&str>) -> Result<()> {
        // It is shown inside of sentences.
        let problem = problem.map(|problem| plain_text(problem.trim_end_matches('.')));
        let project = Looked::at(project);
        self.write(move |c| Box::pin(note(c, project, problem))).await
    }

    /// When the pages of a project were judged; none if nobody has looked yet.
    pub async fn health(&self, project_id: &ProjectId) -> Result<Option<Health>> {
        let sql = "SELECT tried_at, commit_id, checked_at, not_judged, problem FROM health WHERE project_id = $1";
        let values = values![project_id];
        self.read(move |c| Box::pin(c.row(sql, values))).await
    }

    /// All pages of a project's repository, by file.
    pub async fn page_health(&self, project_id: &ProjectId) -> Result<Vec<PageHealth>> {
        let sql = format!("SELECT {COLUMNS} FROM page_health WHERE project_id = $1 ORDER BY file");
        let values = values![project_id];
        self.read(move |c| Box::pin(c.rows(sql, values))).await
    }

    /// Those of them that have one of these addresses on the site.
    pub async fn page_health_at(&self, project_id: &ProjectId, pages: &[&str]) -> Result<Vec<PageHealth>> {
        if pages.is_empty() {
            return Ok(Vec::new());
        }
        let mut values = values![project_id];
        values.extend(pages.iter().map(|page| Value::from(*page)));
        let places = places(2, pages.len());
        let sql =
            format!("SELECT {COLUMNS} FROM page_health WHERE project_id = $1 AND page IN ({places}) ORDER BY file");
        self.read(move |c| Box::pin(c.rows(sql, values))).await
    }

    /// Those of them whose title, file or address holds a text. Small and capital letters are the same.
    pub async fn find_pages(&self, project_id: &ProjectId, text: &str, limit: u32) -> Result<Vec<PageHealth>> {
        let (project_id, text) = (project_id.clone(), plain_text(text));
        self.read(move |c| {
            Box::pin(async move {
                let place = match c.dialect() {
                    Dialect::Sqlite => "instr",
                    Dialect::Postgres => "strpos",
                };
                let sql = format!(
                    "SELECT {COLUMNS} FROM page_health WHERE project_id = $1 \
                     AND {place}(lower(title || ' ' || file || ' ' || COALESCE(page, '')), lower($2)) > 0 \
                     ORDER BY file LIMIT $3"
                );
                c.rows(sql, values![project_id, text, limit]).await
            })
        })
        .await
    }

    /// Those of them in which something was found, by file.
    pub async fn pages_with_findings(&self, project_id: &ProjectId) -> Result<Vec<PageHealth>> {
        let sql = format!("SELECT {COLUMNS} FROM page_health WHERE project_id = $1 AND found > 0 ORDER BY file");
        let values = values![project_id];
        self.read(move |c| Box::pin(c.rows(sql, values))).await
    }
}

/// Forgets all that is known, because it was of another repository.
pub(crate) async fn forget(c: &mut dyn Conn, project_id: &ProjectId) -> Result<()> {
    for table in ["page_health", "health"] {
        c.run(format!("DELETE FROM {table} WHERE project_id = $1"), values![project_id]).await?;
    }
    Ok(())
}

async fn begin(c: &mut dyn Conn, project_id: ProjectId, pause: Duration, now: Timestamp) -> Result<bool> {
    if is_dormant(c).await? || !c.hold("projects", &project_id).await? {
        return Ok(false);
    }
    let sql = "SELECT tried_at FROM health WHERE project_id = $1";
    match c.row::<Timestamp>(sql, values![&project_id]).await? {
        Some(tried_at) if tried_at.plus(pause) > now => Ok(false),
        Some(_) => {
            c.run("UPDATE health SET tried_at = $1 WHERE project_id = $2", values![now, project_id]).await?;
            Ok(true)
        }
        None => {
            c.run("INSERT INTO health (project_id, tried_at) VALUES ($1, $2)", values![project_id, now]).await?;
            Ok(true)
        }
    }
}

/// A project as it was when its pages were looked at.
struct Looked {
    project_id: ProjectId,
    repository: String,
}

impl Looked {
    fn at(project: &Project) -> Self {
        Self { project_id: project.id.clone(), repository: project.repository.clone_address().to_owned() }
    }

    /// Holds the project, and tells whether it still has that repository: of another one nothing is known.
    async fn is_same(&self, c: &mut dyn Conn) -> Result<bool> {
        if !c.hold("projects", &self.project_id).await? {
            return Ok(false);
        }
        let sql = "SELECT repository FROM projects WHERE id = $1";
        Ok(c.row::<String>(sql, values![&self.project_id]).await?.as_ref() == Some(&self.repository))
    }
}

async fn note(c: &mut dyn Conn, project: Looked, problem: Option<String>) -> Result<()> {
    if project.is_same(c).await? {
        c.run("UPDATE health SET problem = $1 WHERE project_id = $2", values![problem, project.project_id]).await?;
    }
    Ok(())
}

async fn record(
    c: &mut dyn Conn,
    project: Looked,
    commit: String,
    not_judged: Vec<NotJudged>,
    pages: Vec<PageHealth>,
    now: Timestamp,
) -> Result<bool> {
    if !project.is_same(c).await? {
        return Ok(false);
    }
    let project_id = project.project_id;
    c.run("DELETE FROM health WHERE project_id = $1", values![&project_id]).await?;
    c.run(
        "INSERT INTO health (project_id, tried_at, commit_id, checked_at, not_judged) VALUES ($1, $2, $3, $4, $5)",
        values![&project_id, now, commit, now, json(&not_judged)],
    )
    .await?;
    c.run("DELETE FROM page_health WHERE project_id = $1", values![&project_id]).await?;
    for pages in pages.chunks(AT_ONCE) {
        let mut values = Vec::with_capacity(pages.len() * 7);
        for page in pages {
            values.extend(values![
                &project_id,
                plain_text(&page.file),
                page.page.as_deref().map(plain_text),
                plain_text(&page.title),
                page.found,
                json(&page.findings),
                json(&page.not_judged),
            ]);
        }
        let rows: Vec<String> = (0..pages.len()).map(|at| format!("({})", places(at * 7 + 1, 7))).collect();
        let sql = format!("INSERT INTO page_health (project_id, {COLUMNS}) VALUES {}", rows.join(", "));
        c.run(sql, values).await?;
    }
    Ok(true)
}

/// JSON without what PostgreSQL cannot hold.
fn json(it: &impl serde::Serialize) -> String {
    plain_text(&to_json(it))
}

impl FromRow for Health {
    fn from_row(row: &mut Row) -> Result<Self> {
        let tried_at = row.next()?;
        let (commit, at): (Option<String>, Option<Timestamp>) = (row.next()?, row.next()?);
        Ok(Self { tried_at, checked: commit.zip(at), not_judged: row.next_json()?, problem: row.next()? })
    }
}

impl FromRow for PageHealth {
    fn from_row(row: &mut Row) -> Result<Self> {
        Ok(Self {
            file: row.next()?,
            page: row.next()?,
            title: row.next()?,
            found: row.next()?,
            findings: row.next_json()?,
            not_judged: row.next_json()?,
        })
    }
}
