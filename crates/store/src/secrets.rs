use copydesk_domain::Timestamp;

use crate::conn::{Column, Conn, FromRow, Result, Row, Value, values};
use crate::database::Store;
use crate::vault::{Keys, MAX_SECRET_BYTES, Place, Sealed, Shut, Vault, VaultError};

const COLUMNS: &str = "project_id, name, title, key_id, created_at, updated_at";

/// What a secret of a project is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretName {
    /// What is shown to the code host.
    Git,
    /// What the code host signs its messages with.
    Webhook,
}

impl SecretName {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Git => "git",
            Self::Webhook => "webhook",
        }
    }

    /// The one of that word.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Git, Self::Webhook].into_iter().find(|name| name.as_str() == text)
    }
}

/// What is known of a secret without opening it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretRecord {
    pub project_id: String,
    /// What it is for.
    pub name: SecretName,
    /// Its kind, in words.
    pub title: String,
    /// The key that it is sealed with.
    pub key_id: String,
    /// When there first was one.
    pub created_at: Timestamp,
    /// When it was last set; sealing it anew does not count.
    pub updated_at: Timestamp,
}

/// What a change of keys came to.
#[derive(Debug)]
pub struct Rotated {
    /// The key that seals now.
    pub key_id: String,
    /// Secrets that were sealed anew.
    pub resealed: usize,
    /// Keys that nothing is sealed with any more and that were forgotten.
    pub dropped: usize,
    /// Secrets that could not be opened, and why. They are as they were.
    pub left: Vec<(SecretRecord, VaultError)>,
}

impl Store {
    /// Seals a secret and keeps it in place of an earlier one. None if there is no such project.
    pub async fn set_secret(
        &self,
        vault: &Vault,
        project_id: &str,
        name: SecretName,
        title: &str,
        content: &[u8],
    ) -> Result<Option<SecretRecord>, VaultError> {
        if content.len() > MAX_SECRET_BYTES {
            return Err(VaultError::TooLong);
        }
        // Until it is stored: a key must not be dropped between its use and the row that needs it.
        let held = vault.hold().await?;
        let (project_id, title, now) = (project_id.to_owned(), title.to_owned(), self.now());
        if !vault.is_there()? && self.has_other_secrets(&project_id, name).await? {
            // A new key would hide that the right one has to be put back.
            return Err(VaultError::Missing(vault.path().to_owned()));
        }
        let sealed = seal(vault, &vault.keys_or_new(&held)?, Place::of(&project_id, name), content)?;
        let set = self.write(move |c| Box::pin(set(c, project_id, name, title, sealed, now))).await?;
        drop(held);
        Ok(set)
    }

    /// A secret, opened, with what else is known of it.
    pub async fn secret(
        &self,
        vault: &Vault,
        project_id: &str,
        name: SecretName,
    ) -> Result<Option<(SecretRecord, Vec<u8>)>, VaultError> {
        let Some((mut record, mut sealed)) = self.sealed(project_id, name).await? else { return Ok(None) };
        loop {
            match open(vault, &vault.keys()?, Place::of(project_id, name), &sealed) {
                Err(VaultError::OtherKey { key_id, path }) => {
                    // It may have been sealed anew, and its key dropped, since the row was read.
                    let Some(again) = self.sealed(project_id, name).await? else { return Ok(None) };
                    if again.1.key_id == key_id {
                        return Err(VaultError::OtherKey { key_id, path });
                    }
                    (record, sealed) = again;
                }
                opened => return opened.map(|content| Some((record, content))),
            }
        }
    }

    /// What is known of the secrets there are, or of those of a project, without their contents.
    pub async fn secrets(&self, project_id: Option<&str>) -> Result<Vec<SecretRecord>> {
        let project_id = project_id.map(str::to_owned);
        self.read(move |c| Box::pin(list(c, project_id))).await
    }

    /// Forgets a secret. Says whether there was one.
    pub async fn remove_secret(&self, project_id: &str, name: SecretName) -> Result<bool> {
        let place = values![project_id, name.as_str()];
        let sql = "DELETE FROM project_secrets WHERE project_id = $1 AND name = $2";
        self.write(move |c| Box::pin(async move { Ok(c.run(sql, place).await? > 0) })).await
    }

    /// Seals every secret with a new key and forgets the old ones. What ends it in the middle leaves every secret
    /// readable, and doing it again does the rest. `progress` hears how many of how many are done.
    pub async fn rotate_keys(&self, vault: &Vault, progress: impl FnMut(usize, usize)) -> Result<Rotated, VaultError> {
        let held = vault.hold().await?;
        if !vault.is_there()? && self.secrets(None).await?.is_empty() {
            let key_id = vault.keys_or_new(&held)?.first_id().to_owned();
            return Ok(Rotated { key_id, resealed: 0, dropped: 0, left: Vec::new() });
        }
        let key_id = vault.add_key(&held)?;
        let (resealed, left) = self.reseal_all(vault, progress).await?;
        let used: Vec<String> = self.secrets(None).await?.into_iter().map(|secret| secret.key_id).collect();
        let dropped = vault.drop_keys(&held, &used)?;
        Ok(Rotated { key_id, resealed, dropped, left })
    }

    /// Seals with the first key what is sealed with others, each in a transaction of its own. Gives how many were, and
    /// those that did not open.
    pub async fn reseal_all(
        &self,
        vault: &Vault,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<(usize, Vec<(SecretRecord, VaultError)>), VaultError> {
        let keys = vault.keys()?;
        let old: Vec<_> =
            self.secrets(None).await?.into_iter().filter(|secret| secret.key_id != keys.first_id()).collect();
        let (mut resealed, mut left) = (0, Vec::new());
        for (at, secret) in old.iter().enumerate() {
            let (keys, vault) = (keys.clone(), vault.clone());
            let (project_id, name) = (secret.project_id.clone(), secret.name);
            match self.write(move |c| Box::pin(reseal(c, vault, keys, project_id, name))).await? {
                Ok(done) => resealed += usize::from(done),
                Err(error) => left.push((secret.clone(), error)),
            }
            progress(at + 1, old.len());
        }
        Ok((resealed, left))
    }

    async fn sealed(&self, project_id: &str, name: SecretName) -> Result<Option<(SecretRecord, Sealed)>> {
        let place = values![project_id, name.as_str()];
        let sql = format!("SELECT {COLUMNS}, sealed FROM project_secrets WHERE project_id = $1 AND name = $2");
        let found: Option<(SecretRecord, Vec<u8>)> = self.read(move |c| Box::pin(c.row(sql, place))).await?;
        Ok(found.map(|(record, bytes)| {
            let key_id = record.key_id.clone();
            (record, Sealed { key_id, bytes })
        }))
    }

    async fn has_other_secrets(&self, project_id: &str, name: SecretName) -> Result<bool> {
        let all = self.secrets(None).await?;
        Ok(all.iter().any(|secret| secret.project_id != project_id || secret.name != name))
    }
}

impl<'a> Place<'a> {
    fn of(project_id: &'a str, name: SecretName) -> Self {
        Self { project_id, name: name.as_str() }
    }
}

fn seal(vault: &Vault, keys: &Keys, place: Place<'_>, content: &[u8]) -> Result<Sealed, VaultError> {
    let failed = || VaultError::Unusable {
        path: vault.path().to_owned(),
        problem: "sealing with its first key failed".to_owned(),
    };
    keys.seal(place, content).ok_or_else(failed)
}

fn open(vault: &Vault, keys: &Keys, place: Place<'_>, sealed: &Sealed) -> Result<Vec<u8>, VaultError> {
    keys.open(place, sealed).map_err(|shut| match shut {
        Shut::OtherKey => VaultError::OtherKey { key_id: sealed.key_id.clone(), path: vault.path().to_owned() },
        Shut::Altered => VaultError::Altered,
    })
}

async fn set(
    c: &mut dyn Conn,
    project_id: String,
    name: SecretName,
    title: String,
    sealed: Sealed,
    now: Timestamp,
) -> Result<Option<SecretRecord>> {
    if !c.hold("projects", &project_id).await? {
        return Ok(None);
    }
    c.run(
        "INSERT INTO project_secrets (project_id, name, title, key_id, sealed, created_at, updated_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (project_id, name) DO UPDATE SET title = excluded.title, \
         key_id = excluded.key_id, sealed = excluded.sealed, updated_at = excluded.updated_at",
        values![&project_id, name.as_str(), title, sealed.key_id, sealed.bytes, now, now],
    )
    .await?;
    let secrets = list(c, Some(project_id)).await?;
    Ok(secrets.into_iter().find(|secret| secret.name == name))
}

async fn list(c: &mut dyn Conn, project_id: Option<String>) -> Result<Vec<SecretRecord>> {
    let Some(id) = project_id else {
        return c.rows(format!("SELECT {COLUMNS} FROM project_secrets ORDER BY project_id, name"), vec![]).await;
    };
    c.rows(format!("SELECT {COLUMNS} FROM project_secrets WHERE project_id = $1 ORDER BY name"), values![id]).await
}

/// False if it is sealed with the first key already, or gone.
async fn reseal(
    c: &mut dyn Conn,
    vault: Vault,
    keys: Keys,
    project_id: String,
    name: SecretName,
) -> Result<Result<bool, VaultError>> {
    let sql = "SELECT key_id, sealed FROM project_secrets WHERE project_id = $1 AND name = $2";
    let Some((key_id, bytes)) = c.row_held(sql, values![&project_id, name.as_str()]).await? else {
        return Ok(Ok(false));
    };
    let sealed = Sealed { key_id, bytes };
    if sealed.key_id == keys.first_id() {
        return Ok(Ok(false));
    }
    let place = Place::of(&project_id, name);
    let anew = match open(&vault, &keys, place, &sealed).and_then(|content| seal(&vault, &keys, place, &content)) {
        Ok(anew) => anew,
        Err(error) => return Ok(Err(error)),
    };
    c.run(
        "UPDATE project_secrets SET key_id = $1, sealed = $2 WHERE project_id = $3 AND name = $4",
        values![anew.key_id, anew.bytes, &project_id, name.as_str()],
    )
    .await?;
    Ok(Ok(true))
}

impl Column for SecretName {
    fn from_value(value: Value) -> Option<Self> {
        Self::parse(&String::from_value(value)?)
    }
}

impl FromRow for SecretRecord {
    fn from_row(row: &mut Row) -> Result<Self> {
        Ok(Self {
            project_id: row.next()?,
            name: row.next()?,
            title: row.next()?,
            key_id: row.next()?,
            created_at: row.next()?,
            updated_at: row.next()?,
        })
    }
}
