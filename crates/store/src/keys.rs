use std::sync::LazyLock;

use copydesk_boxed::boxed;
use copydesk_domain::{ApiKey, KeyRecord, Project, ProjectId, Scope, Timestamp, new_id};

use crate::conn::{Conn, FromRow, Result, Row, values};
use crate::database::Store;
use crate::{deeds, projects};

const COLUMNS: &str =
    "k.id, k.project_id, k.name, k.scope, k.hint, k.created_at, k.expires_at, k.revoked_at, k.last_used_at";

/// A key to make.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// The project that it is for; null: all projects.
    pub project_id: Option<ProjectId>,
    /// What to call it.
    pub name: String,
    /// What it may do.
    pub scope: Scope,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
}

/// A key that was found, and the project it was shown for if there is one of that id.
#[derive(Debug, Clone)]
pub struct Access {
    /// The key, which may be revoked or expired.
    pub key: KeyRecord,
    /// The project, whether or not the key opens it.
    pub project: Option<Project>,
}

#[boxed]
impl Store {
    /// Makes a key: its record, and the key itself, which is not kept. None if there is no such project.
    pub async fn create_key(&self, new: NewKey) -> Result<Option<(KeyRecord, ApiKey)>> {
        let now = self.now();
        let key = ApiKey::generate();
        let (digest, hint) = (key.digest(), key.hint());
        let record = self.write(move |c| Box::pin(create(c, new, digest, hint, now))).await?;
        Ok(record.map(|record| (record, key)))
    }

    /// Makes a key in place of another, for the same project, with the same name and scope. The old one is refused from
    /// `old_ends` on, if not earlier. None if there is no such key, or it opens nothing any more.
    pub async fn rotate_key(
        &self,
        id: &str,
        old_ends: Timestamp,
        expires_at: Option<Timestamp>,
    ) -> Result<Option<(KeyRecord, ApiKey)>> {
        let (id, now) = (id.to_owned(), self.now());
        let key = ApiKey::generate();
        let (digest, hint) = (key.digest(), key.hint());
        let record = self.write(move |c| Box::pin(rotate(c, id, old_ends, expires_at, (digest, hint), now))).await?;
        Ok(record.map(|record| (record, key)))
    }

    /// Keys, oldest first; with a project, those that open it.
    pub async fn keys(&self, project_id: Option<&ProjectId>) -> Result<Vec<KeyRecord>> {
        let project_id = project_id.cloned();
        self.read(move |c| Box::pin(list(c, project_id))).await
    }

    /// Revokes a key at once, for every process. Again does nothing. None if there is no such key.
    pub async fn revoke_key(&self, id: &str) -> Result<Option<KeyRecord>> {
        let (id, now) = (id.to_owned(), self.now());
        self.write(move |c| Box::pin(revoke(c, id, now))).await
    }

    /// The key of that digest and the project of that id, if it is one that a project can have, in one look.
    pub async fn access(&self, digest: String, project_id: Option<ProjectId>) -> Result<Option<Access>> {
        self.read(move |c| Box::pin(access(c, digest, project_id))).await
    }

    /// Notes when keys were last used.
    pub async fn touch_keys(&self, used: Vec<(String, Timestamp)>) -> Result<()> {
        self.write(move |c| Box::pin(touch(c, used))).await
    }
}

async fn create(
    c: &mut dyn Conn,
    new: NewKey,
    digest: String,
    hint: String,
    now: Timestamp,
) -> Result<Option<KeyRecord>> {
    if let Some(project_id) = &new.project_id
        && !c.hold("projects", project_id).await?
    {
        return Ok(None);
    }
    let record = KeyRecord {
        id: new_id(now),
        project_id: new.project_id,
        name: new.name,
        scope: new.scope,
        hint,
        created_at: now,
        expires_at: new.expires_at,
        revoked_at: None,
        last_used_at: None,
    };
    c.run(
        "INSERT INTO admin_keys (id, project_id, name, scope, digest, hint, created_at, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        values![
            &record.id,
            record.project_id.as_deref(),
            &record.name,
            record.scope.as_str(),
            digest,
            &record.hint,
            record.created_at,
            record.expires_at,
        ],
    )
    .await?;
    let detail = format!("{}, {}", record.scope.as_str(), record.hint);
    deeds::record(c, "key.create", record.project_id.as_ref(), &record.name, &detail).await?;
    Ok(Some(record))
}

async fn rotate(
    c: &mut dyn Conn,
    id: String,
    old_ends: Timestamp,
    expires_at: Option<Timestamp>,
    (digest, hint): (String, String),
    now: Timestamp,
) -> Result<Option<KeyRecord>> {
    let sql = format!("SELECT {COLUMNS} FROM admin_keys k WHERE k.id = $1");
    let Some(old): Option<KeyRecord> = c.row(sql, values![&id]).await? else { return Ok(None) };
    // The project first, as whoever deletes it does.
    if let Some(project_id) = &old.project_id
        && !c.hold("projects", project_id).await?
    {
        return Ok(None);
    }
    let ended = c
        .run(
            "UPDATE admin_keys SET expires_at = CASE WHEN expires_at < $1 THEN expires_at ELSE $1 END \
             WHERE id = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3)",
            values![old_ends, &id, now],
        )
        .await?;
    if ended == 0 {
        return Ok(None);
    }
    deeds::record(c, "key.rotate", old.project_id.as_ref(), &old.name, &old.hint).await?;
    let new = NewKey { project_id: old.project_id, name: old.name, scope: old.scope, expires_at };
    create(c, new, digest, hint, now).await
}

async fn list(c: &mut dyn Conn, project_id: Option<ProjectId>) -> Result<Vec<KeyRecord>> {
    let Some(id) = project_id else {
        return c.rows(format!("SELECT {COLUMNS} FROM admin_keys k ORDER BY k.id"), vec![]).await;
    };
    let opening = "WHERE k.project_id = $1 OR k.project_id IS NULL ORDER BY k.id";
    c.rows(format!("SELECT {COLUMNS} FROM admin_keys k {opening}"), values![id]).await
}

async fn revoke(c: &mut dyn Conn, id: String, now: Timestamp) -> Result<Option<KeyRecord>> {
    let sql = "UPDATE admin_keys SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL";
    let is_new = c.run(sql, values![now, &id]).await? > 0;
    let key: Option<KeyRecord> =
        c.row(format!("SELECT {COLUMNS} FROM admin_keys k WHERE k.id = $1"), values![id]).await?;
    if let Some(key) = key.as_ref().filter(|_| is_new) {
        deeds::record(c, "key.revoke", key.project_id.as_ref(), &key.name, &key.hint).await?;
    }
    Ok(key)
}

async fn access(c: &mut dyn Conn, digest: String, project_id: Option<ProjectId>) -> Result<Option<Access>> {
    static SQL: LazyLock<String> = LazyLock::new(|| {
        let project = projects::COLUMNS;
        format!("SELECT {COLUMNS}, {project} FROM admin_keys k LEFT JOIN projects p ON p.id = $1 WHERE k.digest = $2")
    });
    c.row(SQL.as_str(), values![project_id.as_deref(), digest]).await
}

async fn touch(c: &mut dyn Conn, mut used: Vec<(String, Timestamp)>) -> Result<()> {
    // In one order everywhere, so that two processes cannot wait for each other.
    used.sort();
    for (id, at) in used {
        c.run(
            "UPDATE admin_keys SET last_used_at = $1 WHERE id = $2 AND COALESCE(last_used_at, 0) < $1",
            values![at, id],
        )
        .await?;
    }
    Ok(())
}

impl FromRow for KeyRecord {
    fn from_row(row: &mut Row) -> Result<Self> {
        Ok(Self {
            id: row.next()?,
            project_id: row.next()?,
            name: row.next()?,
            scope: row.next()?,
            hint: row.next()?,
            created_at: row.next()?,
            expires_at: row.next()?,
            revoked_at: row.next()?,
            last_used_at: row.next()?,
        })
    }
}

impl FromRow for Access {
    fn from_row(row: &mut Row) -> Result<Self> {
        let key = KeyRecord::from_row(row)?;
        let project = if row.next_is_null() { None } else { Some(Project::from_row(row)?) };
        Ok(Self { key, project })
    }
}
