use copydesk_domain::{EventKind, Timestamp, new_id};

use crate::conn::{Conn, FromRow, Result, Row, to_json, values};
use crate::database::Store;
use crate::error::StoreError;
use crate::hub::Change;

/// Webhooks that a project can have.
const MOST: i64 = 20;

const COLUMNS: &str = "e.id, e.project_id, e.url, e.events, e.description, e.created_at, e.paused_at, e.paused_why, \
     e.failing_since, e.last_success_at, (SELECT MAX(s.expires_at) FROM webhook_secrets s WHERE s.endpoint_id = e.id)";

/// An address that is told of what happens to a project's jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookEndpoint {
    pub id: String,
    pub project_id: String,
    pub url: String,
    /// What it wants to be told; all there is if empty.
    pub events: Vec<EventKind>,
    /// What people say of it.
    pub description: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// Since when nothing is delivered.
    pub paused_at: Option<Timestamp>,
    pub paused_why: Option<String>,
    /// The first failure since the last success.
    pub failing_since: Option<Timestamp>,
    pub last_success_at: Option<Timestamp>,
    /// How long the secret before the present one still signs beside it.
    pub old_secret_until: Option<Timestamp>,
}

/// A webhook to make.
#[derive(Clone)]
pub struct NewEndpoint {
    /// Its id, which whoever seals the secret has to know beforehand.
    pub id: String,
    pub project_id: String,
    pub url: String,
    /// What it wants to be told; all there is if empty.
    pub events: Vec<EventKind>,
    /// What people say of it.
    pub description: String,
    pub sealed: Vec<u8>,
}

/// What became of the wish for a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Added {
    Done(Box<WebhookEndpoint>),
    /// There is no such project.
    NoProject,
    /// The project has as many as it can have, which is so many.
    TooMany(i64),
}

impl Store {
    pub async fn add_webhook(&self, new: NewEndpoint) -> Result<Added> {
        let now = self.now();
        self.write(move |c| Box::pin(add(c, new, now))).await
    }

    /// Webhooks, oldest first: all, or those of a project.
    pub async fn webhooks(&self, project_id: Option<&str>) -> Result<Vec<WebhookEndpoint>> {
        let project_id = project_id.map(str::to_owned);
        self.read(move |c| Box::pin(list(c, project_id))).await
    }

    /// The webhook of that id.
    pub async fn webhook(&self, id: &str) -> Result<Option<WebhookEndpoint>> {
        let id = id.to_owned();
        self.read(move |c| Box::pin(get(c, id))).await
    }

    /// Removes a webhook with its deliveries. Says whether there was one.
    pub async fn remove_webhook(&self, id: &str) -> Result<bool> {
        let id = id.to_owned();
        let sql = "DELETE FROM webhook_endpoints WHERE id = $1";
        self.write(move |c| Box::pin(async move { Ok(c.run(sql, values![id]).await? > 0) })).await
    }

    /// Delivers nothing to it from now on. One that is paused already stays so for the reason it was. None if there is
    /// no such webhook.
    pub async fn pause_webhook(&self, id: &str, why: &str) -> Result<Option<WebhookEndpoint>> {
        let (id, why, now) = (id.to_owned(), why.to_owned(), self.now());
        self.write(move |c| {
            Box::pin(async move {
                pause(c, &id, &why, now).await?;
                get(c, id).await
            })
        })
        .await
    }

    /// Delivers to it again, what has waited first. None if there is no such webhook.
    pub async fn resume_webhook(&self, id: &str) -> Result<Option<WebhookEndpoint>> {
        let id = id.to_owned();
        let sql =
            "UPDATE webhook_endpoints SET paused_at = NULL, paused_why = NULL, failing_since = NULL WHERE id = $1";
        self.write(move |c| {
            Box::pin(async move {
                c.run(sql, values![&id]).await?;
                c.announce(Change::Outbox).await?;
                get(c, id).await
            })
        })
        .await
    }

    /// Signs with another secret from now on, and with the present one beside it until `until`. None if there is no
    /// such webhook.
    pub async fn rotate_webhook(&self, id: &str, sealed: Vec<u8>, until: Timestamp) -> Result<Option<WebhookEndpoint>> {
        let (id, now) = (id.to_owned(), self.now());
        self.write(move |c| Box::pin(rotate(c, id, sealed, until, now))).await
    }
}

async fn add(c: &mut dyn Conn, new: NewEndpoint, now: Timestamp) -> Result<Added> {
    // Whoever adds holds the project, so that the limit is exact.
    if !c.hold("projects", &new.project_id).await? {
        return Ok(Added::NoProject);
    }
    let sql = "SELECT count(*) FROM webhook_endpoints WHERE project_id = $1";
    if c.only_row::<i64>(sql, values![&new.project_id]).await? >= MOST {
        return Ok(Added::TooMany(MOST));
    }
    c.run(
        "INSERT INTO webhook_endpoints (id, project_id, url, events, description, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6)",
        values![&new.id, new.project_id, new.url, to_json(&new.events), new.description, now],
    )
    .await?;
    insert_secret(c, &new.id, new.sealed, now).await?;
    let made = get(c, new.id).await?;
    Ok(made.map_or(Added::NoProject, |made| Added::Done(Box::new(made))))
}

async fn insert_secret(c: &mut dyn Conn, endpoint_id: &str, sealed: Vec<u8>, now: Timestamp) -> Result<()> {
    let sql = "INSERT INTO webhook_secrets (id, endpoint_id, sealed) VALUES ($1, $2, $3)";
    c.run(sql, values![new_id(now), endpoint_id, sealed]).await.map(drop)
}

async fn rotate(
    c: &mut dyn Conn,
    id: String,
    sealed: Vec<u8>,
    until: Timestamp,
    now: Timestamp,
) -> Result<Option<WebhookEndpoint>> {
    if !c.hold("webhook_endpoints", &id).await? {
        return Ok(None);
    }
    // Two at a time: of an earlier change nothing is left.
    c.run("DELETE FROM webhook_secrets WHERE endpoint_id = $1 AND expires_at IS NOT NULL", values![&id]).await?;
    c.run("UPDATE webhook_secrets SET expires_at = $1 WHERE endpoint_id = $2", values![until, &id]).await?;
    insert_secret(c, &id, sealed, now).await?;
    get(c, id).await
}

pub(super) async fn pause(c: &mut dyn Conn, id: &str, why: &str, now: Timestamp) -> Result<()> {
    let sql = "UPDATE webhook_endpoints SET paused_at = $1, paused_why = $2 WHERE id = $3 AND paused_at IS NULL";
    c.run(sql, values![now, why, id]).await.map(drop)
}

/// The webhooks of a project that are to be told of an event.
pub(crate) async fn wanting(c: &mut dyn Conn, project_id: &str, kind: EventKind) -> Result<Vec<WebhookEndpoint>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM webhook_endpoints e WHERE e.project_id = $1 AND e.paused_at IS NULL ORDER BY e.id"
    );
    let mut all: Vec<WebhookEndpoint> = c.rows(sql, values![project_id]).await?;
    all.retain(|endpoint| endpoint.events.is_empty() || endpoint.events.contains(&kind));
    Ok(all)
}

async fn get(c: &mut dyn Conn, id: String) -> Result<Option<WebhookEndpoint>> {
    let sql = format!("SELECT {COLUMNS} FROM webhook_endpoints e WHERE e.id = $1");
    c.row(sql, values![id]).await
}

async fn list(c: &mut dyn Conn, project_id: Option<String>) -> Result<Vec<WebhookEndpoint>> {
    let Some(id) = project_id else {
        return c.rows(format!("SELECT {COLUMNS} FROM webhook_endpoints e ORDER BY e.id"), vec![]).await;
    };
    let sql = format!("SELECT {COLUMNS} FROM webhook_endpoints e WHERE e.project_id = $1 ORDER BY e.id");
    c.rows(sql, values![id]).await
}

impl FromRow for WebhookEndpoint {
    fn from_row(row: &mut Row) -> Result<Self> {
        Ok(Self {
            id: row.next()?,
            project_id: row.next()?,
            url: row.next()?,
            events: read_events(row)?,
            description: row.next()?,
            created_at: row.next()?,
            paused_at: row.next()?,
            paused_why: row.next()?,
            failing_since: row.next()?,
            last_success_at: row.next()?,
            old_secret_until: row.next()?,
        })
    }
}

fn read_events(row: &mut Row) -> Result<Vec<EventKind>> {
    let unreadable = || StoreError::Unreadable("the events of a webhook".to_owned());
    let words: Vec<String> = row.next_json()?;
    words.iter().map(|word| EventKind::parse(word).ok_or_else(unreadable)).collect()
}
