use copydesk_boxed::boxed;
use copydesk_domain::{
    Dollars, HostSettings, OnFindings, Project, ProjectId, Repository, Timestamp, ViewSettings, WritePaths,
    random_suffix,
};

use crate::conn::{Conn, Dialect, FromRow, Result, Row, to_json, values};
use crate::database::Store;
use crate::error::StoreError;
use crate::hub::Change;
use crate::{deeds, health};

pub(crate) const COLUMNS: &str = "p.id, p.name, p.repository, p.base_ref, p.docs_paths, p.write_paths, p.time_zone, p.jobs_per_hour, \
     p.max_running, p.time_limit_seconds, p.job_cost, p.on_findings, p.views, p.host, p.created_at, p.updated_at";

/// A project to make; see [`Project`] for the fields.
#[derive(Debug, Clone)]
pub struct NewProject {
    /// The id to give it; none: one made from the name.
    pub id: Option<ProjectId>,
    pub name: String,
    pub repository: Repository,
    pub base_ref: String,
    pub docs_paths: Vec<String>,
    pub write_paths: WritePaths,
    pub time_zone: String,
    pub jobs_per_hour: Option<u32>,
    pub max_running: Option<u32>,
    pub time_limit_seconds: Option<u32>,
    pub job_cost: Option<Dollars>,
    pub on_findings: OnFindings,
    pub views: ViewSettings,
    pub host: HostSettings,
}

/// What to change of a project; what is none stays as it is. A limit is `Some(None)` to go back to the default.
#[derive(Debug, Clone, Default)]
pub struct ProjectChange {
    pub name: Option<String>,
    pub repository: Option<Repository>,
    pub base_ref: Option<String>,
    pub docs_paths: Option<Vec<String>>,
    pub write_paths: Option<WritePaths>,
    pub time_zone: Option<String>,
    pub jobs_per_hour: Option<Option<u32>>,
    pub max_running: Option<Option<u32>>,
    pub time_limit_seconds: Option<Option<u32>>,
    pub job_cost: Option<Option<Dollars>>,
    pub on_findings: Option<OnFindings>,
    pub views: Option<ViewSettings>,
    pub host: Option<HostSettings>,
}

impl ProjectChange {
    /// The names of what it makes different.
    fn fields(&self, old: &Project) -> Vec<&'static str> {
        fn differs<T: PartialEq>(new: &Option<T>, old: &T) -> bool {
            new.as_ref().is_some_and(|new| new != old)
        }
        let address = self.repository.as_ref().map(Repository::clone_address);
        let fields = [
            (differs(&self.name, &old.name), "name"),
            (differs(&address, &old.repository.clone_address()), "repository"),
            (differs(&self.base_ref, &old.base_ref), "base branch"),
            (differs(&self.docs_paths, &old.docs_paths), "docs folders"),
            (differs(&self.write_paths, &old.write_paths), "paths that may be written"),
            (differs(&self.time_zone, &old.time_zone), "time zone"),
            (differs(&self.jobs_per_hour, &old.jobs_per_hour), "jobs an hour"),
            (differs(&self.max_running, &old.max_running), "jobs at once"),
            (differs(&self.time_limit_seconds, &old.time_limit_seconds), "time limit"),
            (differs(&self.job_cost, &old.job_cost), "cost of a prompt"),
            (differs(&self.on_findings, &old.on_findings), "what findings lead to"),
            (differs(&self.views, &old.views), "page views"),
            (differs(&self.host, &old.host), "code host"),
        ];
        fields.into_iter().filter(|(is_changed, _)| *is_changed).map(|(_, name)| name).collect()
    }
}

#[boxed]
impl Store {
    /// Makes a project. None if the id that was asked for is taken.
    pub async fn create_project(&self, new: NewProject) -> Result<Option<Project>> {
        let now = self.now();
        self.write(move |c| Box::pin(create(c, new, now))).await
    }

    /// The project of that id.
    pub async fn project(&self, id: &ProjectId) -> Result<Option<Project>> {
        let id = id.clone();
        self.read(move |c| Box::pin(get(c, id))).await
    }

    /// The project of that documentation site.
    pub async fn project_of_domain(&self, domain: &str) -> Result<Option<Project>> {
        let domain = domain.to_owned();
        let sql = format!(
            "SELECT {COLUMNS} FROM projects p JOIN project_domains d ON d.project_id = p.id WHERE d.domain = $1"
        );
        self.read(move |c| Box::pin(c.row(sql, values![domain]))).await
    }

    /// Every project, by id.
    pub async fn projects(&self) -> Result<Vec<Project>> {
        let sql = format!("SELECT {COLUMNS} FROM projects p ORDER BY p.id");
        self.read(move |c| Box::pin(c.rows(sql, vec![]))).await
    }

    /// Changes a project. None if there is no such project.
    pub async fn update_project(&self, id: &ProjectId, change: ProjectChange) -> Result<Option<Project>> {
        let (id, now) = (id.clone(), self.now());
        self.write(move |c| Box::pin(update(c, id, change, now))).await
    }

    /// Which of these ids were projects that somebody has deleted, and are none now.
    pub async fn deleted_projects(&self, ids: Vec<String>) -> Result<Vec<ProjectId>> {
        self.read(move |c| Box::pin(deleted_of(c, ids))).await
    }

    /// Deletes a project with its keys, jobs and everything of theirs. Says whether there was one.
    pub async fn delete_project(&self, id: &ProjectId) -> Result<bool> {
        let id = id.clone();
        self.write(move |c| Box::pin(delete(c, id))).await
    }
}

async fn get(c: &mut dyn Conn, id: ProjectId) -> Result<Option<Project>> {
    c.row(format!("SELECT {COLUMNS} FROM projects p WHERE p.id = $1"), values![id]).await
}

async fn deleted_of(c: &mut dyn Conn, ids: Vec<String>) -> Result<Vec<ProjectId>> {
    let mut deleted = Vec::new();
    for id in ids {
        let sql = "SELECT 1 FROM deeds WHERE project_id = $1 AND action = 'project.delete' \
                   AND NOT EXISTS (SELECT 1 FROM projects p WHERE p.id = $1) LIMIT 1";
        if c.exists(sql, values![&id]).await? {
            deleted.push(ProjectId::from(id.as_str()));
        }
    }
    Ok(deleted)
}

async fn create(c: &mut dyn Conn, new: NewProject, now: Timestamp) -> Result<Option<Project>> {
    let asked = new.id.is_some();
    let wanted = new.id.unwrap_or_else(|| ProjectId::from_name(&new.name));
    let mut project = Project {
        id: wanted.clone(),
        name: new.name,
        repository: new.repository,
        base_ref: new.base_ref,
        docs_paths: new.docs_paths,
        write_paths: new.write_paths,
        time_zone: new.time_zone,
        jobs_per_hour: new.jobs_per_hour,
        max_running: new.max_running,
        time_limit_seconds: new.time_limit_seconds,
        job_cost: new.job_cost,
        on_findings: new.on_findings,
        views: new.views,
        host: new.host,
        created_at: now,
        updated_at: now,
    };
    while !insert(c, &project).await? {
        if asked {
            return Ok(None);
        }
        project.id = wanted.with_suffix(&random_suffix());
    }
    deeds::record(c, "project.create", Some(&project.id), &project.name, project.repository.public_address()).await?;
    Ok(Some(project))
}

/// False if the id is taken.
async fn insert(c: &mut dyn Conn, project: &Project) -> Result<bool> {
    let inserted = c
        .run(
            "INSERT INTO projects (id, name, repository, base_ref, docs_paths, write_paths, time_zone, jobs_per_hour, \
             max_running, time_limit_seconds, job_cost, on_findings, views, host, created_at, updated_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) \
             ON CONFLICT (id) DO NOTHING",
            values![
                &project.id,
                &project.name,
                project.repository.clone_address(),
                &project.base_ref,
                to_json(&project.docs_paths),
                to_json(&project.write_paths),
                &project.time_zone,
                project.jobs_per_hour,
                project.max_running,
                project.time_limit_seconds,
                project.job_cost,
                project.on_findings.as_str(),
                to_json(&project.views),
                to_json(&project.host),
                project.created_at,
                project.updated_at,
            ],
        )
        .await?;
    if inserted > 0 {
        set_domains(c, project).await?;
    }
    Ok(inserted > 0)
}

/// Makes the project be found by its domains, and by no others.
async fn set_domains(c: &mut dyn Conn, project: &Project) -> Result<()> {
    c.run("DELETE FROM project_domains WHERE project_id = $1", values![&project.id]).await?;
    for domain in &project.views.domains {
        let sql = "INSERT INTO project_domains (domain, project_id) VALUES ($1, $2) ON CONFLICT (domain) DO NOTHING";
        if c.run(sql, values![domain, &project.id]).await? == 0 {
            return Err(StoreError::DomainTaken(domain.clone()));
        }
    }
    Ok(())
}

async fn update(c: &mut dyn Conn, id: ProjectId, change: ProjectChange, now: Timestamp) -> Result<Option<Project>> {
    if !c.hold("projects", &id).await? {
        return Ok(None);
    }
    let Some(old) = get(c, id).await? else { return Ok(None) };
    let changed = change.fields(&old).join(", ");
    let limit_changed = change.max_running.is_some_and(|limit| limit != old.max_running);
    let new_address = change.repository.as_ref().map(Repository::clone_address);
    let repository_changed = new_address.is_some_and(|new| new != old.repository.clone_address());
    let domains_changed = change.views.as_ref().is_some_and(|views| views.domains != old.views.domains);
    let project = Project {
        name: change.name.unwrap_or(old.name),
        repository: change.repository.unwrap_or(old.repository),
        base_ref: change.base_ref.unwrap_or(old.base_ref),
        docs_paths: change.docs_paths.unwrap_or(old.docs_paths),
        write_paths: change.write_paths.unwrap_or(old.write_paths),
        time_zone: change.time_zone.unwrap_or(old.time_zone),
        jobs_per_hour: change.jobs_per_hour.unwrap_or(old.jobs_per_hour),
        max_running: change.max_running.unwrap_or(old.max_running),
        time_limit_seconds: change.time_limit_seconds.unwrap_or(old.time_limit_seconds),
        job_cost: change.job_cost.unwrap_or(old.job_cost),
        on_findings: change.on_findings.unwrap_or(old.on_findings),
        views: change.views.unwrap_or(old.views),
        host: change.host.unwrap_or(old.host),
        updated_at: now,
        ..old
    };
    c.run(
        "UPDATE projects SET name = $1, repository = $2, base_ref = $3, docs_paths = $4, write_paths = $5, \
         time_zone = $6, jobs_per_hour = $7, max_running = $8, time_limit_seconds = $9, job_cost = $10, \
         on_findings = $11, views = $12, host = $13, updated_at = $14 WHERE id = $15",
        values![
            &project.name,
            project.repository.clone_address(),
            &project.base_ref,
            to_json(&project.docs_paths),
            to_json(&project.write_paths),
            &project.time_zone,
            project.jobs_per_hour,
            project.max_running,
            project.time_limit_seconds,
            project.job_cost,
            project.on_findings.as_str(),
            to_json(&project.views),
            to_json(&project.host),
            project.updated_at,
            &project.id,
        ],
    )
    .await?;
    if domains_changed {
        set_domains(c, &project).await?;
    }
    if !changed.is_empty() {
        deeds::record(c, "project.change", Some(&project.id), &project.name, &changed).await?;
    }
    if repository_changed {
        health::forget(c, &project.id).await?;
        c.announce(Change::Removed);
    }
    if limit_changed {
        // There may be room for more now.
        c.announce(Change::Ready(Some(project.id.clone())));
    }
    Ok(Some(project))
}

async fn delete(c: &mut dyn Conn, id: ProjectId) -> Result<bool> {
    if !c.hold("projects", &id).await? {
        return Ok(false);
    }
    if c.dialect() == Dialect::Postgres {
        // Whoever ends a job holds its row and then needs the project for the outbox. So all rows are waited for while
        // the project can still be referred to; the deletion itself would shut the door first and wait for ever.
        // Likewise whoever fans out holds an entry of the outbox and then needs the webhooks.
        for table in ["jobs", "admin_keys", "outbox", "webhook_endpoints"] {
            let sql = format!(
                "SELECT count(*) FROM (SELECT 1 FROM {table} WHERE project_id = $1 ORDER BY id FOR UPDATE) AS held"
            );
            c.exists(sql, values![&id]).await?;
        }
        let lanes =
            "SELECT count(*) FROM (SELECT 1 FROM lanes WHERE project_id = $1 ORDER BY model FOR UPDATE) AS held";
        c.exists(lanes, values![&id]).await?;
    }
    deeds::record(c, "project.delete", Some(&id), &id, "").await?;
    c.announce(Change::Removed);
    Ok(c.run("DELETE FROM projects WHERE id = $1", values![&id]).await? > 0)
}

impl FromRow for Project {
    fn from_row(row: &mut Row) -> Result<Self> {
        Ok(Self {
            id: row.next()?,
            name: row.next()?,
            repository: Repository::from_stored(row.next()?),
            base_ref: row.next()?,
            docs_paths: row.next_json()?,
            write_paths: row.next_json()?,
            time_zone: row.next()?,
            jobs_per_hour: row.next()?,
            max_running: row.next()?,
            time_limit_seconds: row.next()?,
            job_cost: row.next()?,
            on_findings: row.next()?,
            views: row.next_json()?,
            host: row.next_json()?,
            created_at: row.next()?,
            updated_at: row.next()?,
        })
    }
}
