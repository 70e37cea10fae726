//! Further repositories that the agents of a project may read, and where they were when a round began.

use copydesk_boxed::boxed;
use copydesk_domain::{CodeSource, HostSettings, MAX_CODE_SOURCES, ProjectId, Repository, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::conn::{Conn, FromRow, Result, Row, to_json, values};
use crate::database::Store;
use crate::deeds;
use crate::events::NewEvent;
use crate::hub::Change;
use crate::secrets::{SecretName, take_over};
use crate::vault::{Sealed, Vault, VaultError};

const COLUMNS: &str = "project_id, name, repository, ref, host, created_at";

/// A code source to add; see [`CodeSource`] for the fields.
#[derive(Clone)]
pub struct NewSource {
    pub project_id: ProjectId,
    pub name: String,
    pub repository: Repository,
    pub branch: Option<String>,
    pub host: HostSettings,
    /// What is shown to its host: its kind, in words, and the content to seal.
    pub secret: Option<(String, Vec<u8>)>,
}

/// What became of the wish for a code source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceAdded {
    Done(Box<CodeSource>),
    /// There is no such project.
    NoProject,
    /// The project has one of that name.
    Taken,
    /// The project has as many as it can have.
    TooMany,
}

/// Where the code sources of a project were when a round began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RoundSources {
    pub all: Vec<SourceAt>,
    /// The range of commits that the job is about.
    pub range: Option<RangeAt>,
}

/// One code source at one commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceAt {
    pub name: String,
    /// What git clones from, without a credential.
    pub address: String,
    /// The branch; none: the main branch.
    pub branch: Option<String>,
    pub state: SourceState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceState {
    /// Its commit.
    At(String),
    /// It could not be fetched; why, as one sentence.
    Unread(String),
}

/// A range of commits that was looked up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeAt {
    pub source: String,
    pub from: NamedCommit,
    pub to: NamedCommit,
}

/// A commit and what it was called by whoever asked for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedCommit {
    pub name: String,
    pub commit: String,
}

impl RoundSources {
    pub fn is_empty(&self) -> bool {
        self.all.is_empty() && self.range.is_none()
    }

    /// The same as an event tells it.
    pub(crate) fn told(&self) -> Json {
        let one = |source: &SourceAt| match &source.state {
            SourceState::At(commit) => json!({ "name": source.name, "commit": commit }),
            SourceState::Unread(_) => json!({ "name": source.name, "commit": null }),
        };
        self.all.iter().map(one).collect()
    }

    /// Events that tell which of them cannot be read.
    pub(crate) fn unread(&self) -> impl Iterator<Item = NewEvent> {
        self.all.iter().filter_map(|source| match &source.state {
            SourceState::At(_) => None,
            SourceState::Unread(why) => {
                Some(NewEvent::new("source_unread", json!({ "source": source.name, "reason": why })))
            }
        })
    }
}

#[boxed]
impl Store {
    /// Adds a code source, with its sealed credential if it has one.
    pub async fn add_source(&self, vault: &Vault, new: NewSource) -> Result<SourceAdded, VaultError> {
        let now = self.now();
        let Some((title, content)) = new.secret.clone() else {
            return Ok(self.write(move |c| Box::pin(add(c, new, None, now))).await?);
        };
        // Until it is stored: a key must not be dropped between its use and the row that needs it.
        let held = vault.hold().await?;
        let name = SecretName::Source(new.name.clone());
        let sealed = self.seal_new(vault, &held, &new.project_id, &name, &content).await?;
        let added = self.write(move |c| Box::pin(add(c, new, Some((title, sealed)), now))).await?;
        drop(held);
        Ok(added)
    }

    /// The code sources of a project, by name.
    pub async fn sources(&self, project_id: &ProjectId) -> Result<Vec<CodeSource>> {
        let values = values![project_id];
        let sql = format!("SELECT {COLUMNS} FROM sources WHERE project_id = $1 ORDER BY name");
        self.read(move |c| Box::pin(c.rows(sql, values))).await
    }

    /// The code source of that name.
    pub async fn source(&self, project_id: &ProjectId, name: &str) -> Result<Option<CodeSource>> {
        let values = values![project_id, name];
        let sql = format!("SELECT {COLUMNS} FROM sources WHERE project_id = $1 AND name = $2");
        self.read(move |c| Box::pin(c.row(sql, values))).await
    }

    /// Forgets a code source and its credential. Says whether there was one.
    pub async fn remove_source(&self, project_id: &ProjectId, name: &str) -> Result<bool> {
        let (project_id, name) = (project_id.clone(), name.to_owned());
        self.write(move |c| Box::pin(remove(c, project_id, name))).await
    }
}

async fn add(
    c: &mut dyn Conn,
    new: NewSource,
    secret: Option<(String, Sealed)>,
    now: Timestamp,
) -> Result<SourceAdded> {
    // Whoever adds holds the project, so that the limit is exact.
    if !c.hold("projects", &new.project_id).await? {
        return Ok(SourceAdded::NoProject);
    }
    let sql = "SELECT 1 FROM sources WHERE project_id = $1 AND name = $2";
    if c.exists(sql, values![&new.project_id, &new.name]).await? {
        return Ok(SourceAdded::Taken);
    }
    let sql = "SELECT count(*) FROM sources WHERE project_id = $1";
    if c.only_row::<i64>(sql, values![&new.project_id]).await? >= MAX_CODE_SOURCES as i64 {
        return Ok(SourceAdded::TooMany);
    }
    let source = CodeSource {
        project_id: new.project_id,
        name: new.name,
        repository: new.repository,
        branch: new.branch,
        host: new.host,
        created_at: now,
    };
    insert(c, &source).await?;
    if let Some((title, sealed)) = secret {
        take_over(c, &source.project_id, &SecretName::Source(source.name.clone()), &title, sealed, now).await?;
    }
    let address = source.repository.public_address();
    deeds::record(c, "source.add", Some(&source.project_id), &source.name, address).await?;
    Ok(SourceAdded::Done(Box::new(source)))
}

async fn insert(c: &mut dyn Conn, source: &CodeSource) -> Result<()> {
    c.run(
        "INSERT INTO sources (project_id, name, repository, ref, host, created_at) VALUES ($1, $2, $3, $4, $5, $6)",
        values![
            &source.project_id,
            &source.name,
            source.repository.clone_address(),
            source.branch.as_deref().unwrap_or_default(),
            to_json(&source.host),
            source.created_at,
        ],
    )
    .await
    .map(drop)
}

async fn remove(c: &mut dyn Conn, project_id: ProjectId, name: String) -> Result<bool> {
    if !c.hold("projects", &project_id).await? {
        return Ok(false);
    }
    let sql = "DELETE FROM sources WHERE project_id = $1 AND name = $2";
    let removed = c.run(sql, values![&project_id, &name]).await? > 0;
    if removed {
        let sql = "DELETE FROM secrets WHERE project_id = $1 AND name = $2";
        c.run(sql, values![&project_id, &*SecretName::Source(name.clone()).text()]).await?;
        deeds::record(c, "source.remove", Some(&project_id), &name, "").await?;
        c.announce(Change::Removed);
    }
    Ok(removed)
}

impl FromRow for CodeSource {
    fn from_row(row: &mut Row) -> Result<Self> {
        Ok(Self {
            project_id: row.next()?,
            name: row.next()?,
            repository: Repository::from_stored(row.next()?),
            branch: Some(row.next::<String>()?).filter(|branch| !branch.is_empty()),
            host: row.next_json()?,
            created_at: row.next()?,
        })
    }
}
