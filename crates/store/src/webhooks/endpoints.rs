use copydesk_boxed::boxed;
use copydesk_domain::{EventKind, ProjectId, Timestamp, new_id};

use crate::conn::{Conn, FromRow, Result, Row, to_json, values};
use crate::database::Store;
use crate::deeds;
use crate::error::StoreError;
use crate::hub::Change;
use crate::secrets::{SecretName, take_over};
use crate::vault::{Sealed, Vault, VaultError};

/// Webhooks that a project can have.
const MOST: i64 = 20;

const COLUMNS: &str = "e.id, e.project_id, e.url, e.events, e.description, e.created_at, e.paused_at, e.paused_why, \
     e.failing_since, e.last_success_at, (SELECT MAX(s.expires_at) FROM secrets s \
     WHERE s.project_id = e.project_id AND s.name = 'webhook/' || e.id)";

/// An address that is told of what happens to a project's jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookEndpoint {
    pub id: String,
    pub project_id: ProjectId,
    pub url: String,
    /// What it wants to be told; all there is if empty.
    pub events: Vec<EventKind>,
    /// What it is for.
    pub description: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// Since when nothing is delivered.
    pub paused_at: Option<Timestamp>,
    pub paused_why: Option<String>,
    /// The first failure since the last success.
    pub failing_since: Option<Timestamp>,
    pub last_success_at: Option<Timestamp>,
    /// Until when the previous secret also signs.
    pub old_secret_until: Option<Timestamp>,
}

/// A webhook to make.
#[derive(Clone)]
pub struct NewEndpoint {
    pub project_id: ProjectId,
    pub url: String,
    /// What it wants to be told; all there is if empty.
    pub events: Vec<EventKind>,
    /// What it is for.
    pub description: String,
    /// What its deliveries are signed with.
    pub secret: Vec<u8>,
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

#[boxed]
impl Store {
    pub async fn add_webhook(&self, vault: &Vault, new: NewEndpoint) -> Result<Added, VaultError> {
        let now = self.now();
        let (id, held) = (new_id(now), vault.hold().await?);
        let name = SecretName::Webhook(id.clone());
        let sealed = self.seal_new(vault, &held, &new.project_id, &name, &new.secret).await?;
        let added = self.write(move |c| Box::pin(add(c, id, new, sealed, now))).await?;
        drop(held);
        Ok(added)
    }

    /// Webhooks, oldest first: all, or those of a project.
    pub async fn webhooks(&self, project_id: Option<&ProjectId>) -> Result<Vec<WebhookEndpoint>> {
        let project_id = project_id.cloned();
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
        self.write(move |c| Box::pin(remove(c, id))).await
    }

    /// Delivers nothing to it from now on. One that is paused already stays so for the reason it was. None if there is
    /// no such webhook.
    pub async fn pause_webhook(&self, id: &str, why: &str) -> Result<Option<WebhookEndpoint>> {
        let (id, why, now) = (id.to_owned(), why.to_owned(), self.now());
        self.write(move |c| {
            Box::pin(async move {
                pause(c, &id, &why, now).await?;
                let webhook = get(c, id).await?;
                told(c, "webhook.pause", webhook).await
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
                c.announce(Change::Outbox);
                let webhook = get(c, id).await?;
                told(c, "webhook.resume", webhook).await
            })
        })
        .await
    }

    /// Signs with another secret from now on, and with the present one beside it until `until`. None if there is no
    /// such webhook.
    pub async fn rotate_webhook(
        &self,
        vault: &Vault,
        id: &str,
        secret: &[u8],
        until: Timestamp,
    ) -> Result<Option<WebhookEndpoint>, VaultError> {
        let Some(endpoint) = self.webhook(id).await? else { return Ok(None) };
        let name = SecretName::Webhook(id.to_owned());
        let replaced = self.replace_secret(vault, &endpoint.project_id, &name, secret, until).await?;
        Ok(if replaced { self.webhook(id).await? } else { None })
    }
}

async fn add(c: &mut dyn Conn, id: String, new: NewEndpoint, sealed: Sealed, now: Timestamp) -> Result<Added> {
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
        values![&id, &new.project_id, new.url, to_json(&new.events), new.description, now],
    )
    .await?;
    let name = SecretName::Webhook(id.clone());
    take_over(c, &new.project_id, &name, name.title(), sealed, now).await?;
    let made = get(c, id).await?;
    let made = told(c, "webhook.create", made).await?;
    Ok(made.map_or(Added::NoProject, |made| Added::Done(Box::new(made))))
}

async fn remove(c: &mut dyn Conn, id: String) -> Result<bool> {
    let sql = "DELETE FROM secrets WHERE name = $1 AND project_id = \
         (SELECT project_id FROM webhook_endpoints WHERE id = $2)";
    c.run(sql, values![&*SecretName::Webhook(id.clone()).text(), &id]).await?;
    let gone = get(c, id.clone()).await?;
    told(c, "webhook.remove", gone).await?;
    Ok(c.run("DELETE FROM webhook_endpoints WHERE id = $1", values![id]).await? > 0)
}

/// The webhook, with what was done to it in the audit log.
async fn told(
    c: &mut dyn Conn,
    action: &'static str,
    webhook: Option<WebhookEndpoint>,
) -> Result<Option<WebhookEndpoint>> {
    if let Some(webhook) = &webhook {
        deeds::record(c, action, Some(&webhook.project_id), &webhook.id, &webhook.description).await?;
    }
    Ok(webhook)
}

pub(super) async fn pause(c: &mut dyn Conn, id: &str, why: &str, now: Timestamp) -> Result<()> {
    let sql = "UPDATE webhook_endpoints SET paused_at = $1, paused_why = $2 WHERE id = $3 AND paused_at IS NULL";
    c.run(sql, values![now, why, id]).await.map(drop)
}

/// The webhooks of a project that are to be told of an event.
pub(crate) async fn wanting(c: &mut dyn Conn, project_id: &ProjectId, kind: EventKind) -> Result<Vec<WebhookEndpoint>> {
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

async fn list(c: &mut dyn Conn, project_id: Option<ProjectId>) -> Result<Vec<WebhookEndpoint>> {
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
