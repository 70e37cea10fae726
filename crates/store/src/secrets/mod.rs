//! What is sealed: secrets that projects show to others, that others show to them, and that webhooks are signed with.

mod adopt;
mod name;

use copydesk_boxed::boxed;
use copydesk_domain::{ProjectId, Timestamp};

use crate::conn::{Conn, FromRow, Result, Row, values};
use crate::database::Store;
use crate::deeds;
use crate::vault::{Held, Keys, MAX_SECRET_BYTES, Place, Sealed, Shut, Vault, VaultError};

pub use name::SecretName;

const COLUMNS: &str = "project_id, name, generation, title, key_id, created_at, updated_at, expires_at";

/// What is known of a secret without opening it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretRecord {
    pub project_id: ProjectId,
    /// What it is for.
    pub name: SecretName,
    /// Counted up when a new one takes over.
    pub generation: i64,
    /// Its kind, in words.
    pub title: String,
    /// The key that it is sealed with.
    pub key_id: String,
    /// When there first was one.
    pub created_at: Timestamp,
    /// When it was last set; sealing it anew does not count.
    pub updated_at: Timestamp,
    /// Until when it still holds; none for the newest.
    pub expires_at: Option<Timestamp>,
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

#[boxed]
impl Store {
    /// Seals a secret and keeps it in place of an earlier one. None if there is no such project.
    pub async fn set_secret(
        &self,
        vault: &Vault,
        project_id: &ProjectId,
        name: &SecretName,
        title: &str,
        content: &[u8],
    ) -> Result<Option<SecretRecord>, VaultError> {
        // Until it is stored: a key must not be dropped between its use and the row that needs it.
        let held = vault.hold().await?;
        let sealed = self.seal_new(vault, &held, project_id, name, content).await?;
        let (project_id, name, title, now) = (project_id.clone(), name.clone(), title.to_owned(), self.now());
        let set = self.write(move |c| Box::pin(set(c, project_id, name, title, sealed, now))).await?;
        drop(held);
        Ok(set)
    }

    /// Seals a secret that takes over from the present one, if there is one, which holds beside it until `until`. False
    /// if there is no such project or webhook.
    pub async fn replace_secret(
        &self,
        vault: &Vault,
        project_id: &ProjectId,
        name: &SecretName,
        content: &[u8],
        until: Timestamp,
    ) -> Result<bool, VaultError> {
        let held = vault.hold().await?;
        let sealed = self.seal_new(vault, &held, project_id, name, content).await?;
        let (project_id, name, now) = (project_id.clone(), name.clone(), self.now());
        let replaced = self.write(move |c| Box::pin(replace(c, project_id, name, sealed, until, now))).await?;
        drop(held);
        Ok(replaced)
    }

    /// The secret, which becomes `content` if there is none yet. None if there is no such project.
    pub async fn secret_or(
        &self,
        vault: &Vault,
        project_id: &ProjectId,
        name: &SecretName,
        content: &[u8],
    ) -> Result<Option<Vec<u8>>, VaultError> {
        loop {
            if let Some((_, there)) = self.secret(vault, project_id, name).await? {
                return Ok(Some(there));
            }
            let held = vault.hold().await?;
            let sealed = self.seal_new(vault, &held, project_id, name, content).await?;
            let (project_id, name, now) = (project_id.clone(), name.clone(), self.now());
            // Two who ask at once get the same: the slower one finds what the faster one has made.
            let made = self.write(move |c| Box::pin(set_first(c, project_id, name, sealed, now))).await?;
            drop(held);
            if !made {
                return Ok(None);
            }
        }
    }

    /// The newest secret of that name, opened, with what else is known of it.
    pub async fn secret(
        &self,
        vault: &Vault,
        project_id: &ProjectId,
        name: &SecretName,
    ) -> Result<Option<(SecretRecord, Vec<u8>)>, VaultError> {
        Ok(self.valid_secrets(vault, project_id, name).await?.into_iter().next())
    }

    /// The secrets that hold, opened, the newest first. There are two while one takes over from the other.
    pub async fn valid_secrets(
        &self,
        vault: &Vault,
        project_id: &ProjectId,
        name: &SecretName,
    ) -> Result<Vec<(SecretRecord, Vec<u8>)>, VaultError> {
        let mut all = self.sealed(project_id, name).await?;
        loop {
            let opened = open_all(vault, &all)?;
            let key_gone = opened.iter().find_map(|result| match result {
                Err(VaultError::OtherKey { key_id, .. }) => Some(key_id.clone()),
                _ => None,
            });
            if let Some(key_gone) = key_gone {
                // It may have been sealed anew, and its key dropped, since the row was read.
                all = self.sealed(project_id, name).await?;
                if !all.iter().any(|(_, sealed)| sealed.key_id == key_gone) {
                    continue;
                }
            }
            // An old one that does not open is no reason to refuse the newest; the other way round it would look as if
            // the old one were still the one to use.
            let mut opened = opened.into_iter();
            let Some(newest) = opened.next().transpose()? else { return Ok(Vec::new()) };
            return Ok(std::iter::once(newest).chain(opened.flatten()).collect());
        }
    }

    /// What is known of the secrets there are, or of those of a project, without their contents.
    pub async fn secrets(&self, project_id: Option<&ProjectId>) -> Result<Vec<SecretRecord>> {
        let project_id = project_id.cloned();
        self.read(move |c| Box::pin(list(c, project_id))).await
    }

    /// The ids of keys that secrets are sealed with and that this vault does not have: it is another than the one that
    /// sealed them.
    pub async fn foreign_keys(&self, vault: &Vault) -> Result<Vec<String>, VaultError> {
        let mut used: Vec<String> = self.secrets(None).await?.into_iter().map(|secret| secret.key_id).collect();
        used.retain(|key_id| key_id != adopt::UNADOPTED);
        used.sort();
        used.dedup();
        if !used.is_empty() && vault.is_there()? {
            let keys = vault.keys()?;
            used.retain(|key_id| !keys.has(key_id));
        }
        Ok(used)
    }

    /// Forgets a secret. Says whether there was one.
    pub async fn remove_secret(&self, project_id: &ProjectId, name: &SecretName) -> Result<bool> {
        let (project_id, name) = (project_id.clone(), name.clone());
        self.write(move |c| Box::pin(remove(c, project_id, name))).await
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
            let (keys, vault, it) = (keys.clone(), vault.clone(), secret.clone());
            match self.write(move |c| Box::pin(reseal(c, vault, keys, it))).await {
                Ok(done) => resealed += usize::from(done),
                Err(VaultError::Store(error)) => return Err(error.into()),
                Err(error) => left.push((secret.clone(), error)),
            }
            progress(at + 1, old.len());
        }
        Ok((resealed, left))
    }

    async fn sealed(&self, project_id: &ProjectId, name: &SecretName) -> Result<Vec<(SecretRecord, Sealed)>> {
        let place = values![project_id, &*name.text(), self.now()];
        let sql = format!(
            "SELECT {COLUMNS}, sealed FROM secrets WHERE project_id = $1 AND name = $2 \
             AND (expires_at IS NULL OR expires_at > $3) ORDER BY generation DESC"
        );
        let found: Vec<(SecretRecord, Vec<u8>)> = self.read(move |c| Box::pin(c.rows(sql, place))).await?;
        let sealed = found.into_iter().map(|(record, bytes)| {
            let key_id = record.key_id.clone();
            (record, Sealed { key_id, bytes })
        });
        Ok(sealed.collect())
    }

    /// Seals with the first key of the key file, which is made if nothing was ever sealed.
    pub(crate) async fn seal_new(
        &self,
        vault: &Vault,
        held: &Held,
        project_id: &ProjectId,
        name: &SecretName,
        content: &[u8],
    ) -> Result<Sealed, VaultError> {
        if content.len() > MAX_SECRET_BYTES {
            return Err(VaultError::TooLong);
        }
        if !vault.is_there()? {
            let this = |secret: &SecretRecord| secret.project_id == *project_id && secret.name == *name;
            let others = self.secrets(None).await?;
            // A new key would hide that the right one has to be put back.
            if others.iter().any(|secret| !this(secret) && secret.key_id != adopt::UNADOPTED) {
                return Err(VaultError::Missing(vault.path().to_owned()));
            }
        }
        seal(vault, &vault.keys_or_new(held)?, Place { project_id, name: &name.text() }, content)
    }
}

fn seal(vault: &Vault, keys: &Keys, place: Place<'_>, content: &[u8]) -> Result<Sealed, VaultError> {
    let failed = || VaultError::Unusable {
        path: vault.path().to_owned(),
        problem: "encrypting with its first key failed".to_owned(),
    };
    keys.seal(place, content).ok_or_else(failed)
}

fn open(vault: &Vault, keys: &Keys, place: Place<'_>, sealed: &Sealed) -> Result<Vec<u8>, VaultError> {
    keys.open(place, sealed).map_err(|shut| match shut {
        Shut::OtherKey if sealed.key_id == adopt::UNADOPTED => VaultError::Unadopted,
        Shut::OtherKey => VaultError::OtherKey { key_id: sealed.key_id.clone(), path: vault.path().to_owned() },
        Shut::Altered => VaultError::Altered,
    })
}

type Opened = Result<(SecretRecord, Vec<u8>), VaultError>;

fn open_all(vault: &Vault, all: &[(SecretRecord, Sealed)]) -> Result<Vec<Opened>, VaultError> {
    // Where nothing is sealed with a key, none need be there.
    let sealed = all.iter().any(|(_, sealed)| sealed.key_id != adopt::UNADOPTED);
    let keys = if sealed { vault.keys()? } else { Keys::default() };
    let open_one = |(record, sealed): &(SecretRecord, Sealed)| {
        let place = Place { project_id: &record.project_id, name: &record.name.text() };
        Ok((record.clone(), open(vault, &keys, place, sealed)?))
    };
    Ok(all.iter().map(open_one).collect())
}

async fn remove(c: &mut dyn Conn, project_id: ProjectId, name: SecretName) -> Result<bool> {
    let sql = "DELETE FROM secrets WHERE project_id = $1 AND name = $2";
    let removed = c.run(sql, values![&project_id, &*name.text()]).await? > 0;
    if removed {
        deeds::record(c, "secret.remove", Some(&project_id), name.title(), "").await?;
    }
    Ok(removed)
}

async fn set(
    c: &mut dyn Conn,
    project_id: ProjectId,
    name: SecretName,
    title: String,
    sealed: Sealed,
    now: Timestamp,
) -> Result<Option<SecretRecord>> {
    if !c.hold("projects", &project_id).await? {
        return Ok(None);
    }
    c.run(
        "INSERT INTO secrets (project_id, name, generation, title, key_id, sealed, created_at, updated_at) \
         VALUES ($1, $2, 1, $3, $4, $5, $6, $7) ON CONFLICT (project_id, name, generation) DO UPDATE SET \
         title = excluded.title, key_id = excluded.key_id, sealed = excluded.sealed, updated_at = excluded.updated_at",
        values![&project_id, &*name.text(), &title, sealed.key_id, sealed.bytes, now, now],
    )
    .await?;
    deeds::record(c, "secret.set", Some(&project_id), &title, "").await?;
    let secrets = list(c, Some(project_id)).await?;
    Ok(secrets.into_iter().find(|secret| secret.name == name))
}

/// False if there is no such project.
async fn set_first(
    c: &mut dyn Conn,
    project_id: ProjectId,
    name: SecretName,
    sealed: Sealed,
    now: Timestamp,
) -> Result<bool> {
    if !c.hold("projects", &project_id).await? {
        return Ok(false);
    }
    let sql = "SELECT 1 FROM secrets WHERE project_id = $1 AND name = $2 AND expires_at IS NULL";
    if !c.exists(sql, values![&project_id, &*name.text()]).await? {
        take_over(c, &project_id, &name, name.title(), sealed, now).await?;
    }
    Ok(true)
}

async fn replace(
    c: &mut dyn Conn,
    project_id: ProjectId,
    name: SecretName,
    sealed: Sealed,
    until: Timestamp,
    now: Timestamp,
) -> Result<bool> {
    let owner = match &name {
        SecretName::Webhook(id) => c.hold("webhook_endpoints", id).await?,
        _ => c.hold("projects", &project_id).await?,
    };
    if !owner {
        return Ok(false);
    }
    let place = values![&project_id, &*name.text()];
    // Two at a time: of an earlier change nothing is left.
    let sql = "DELETE FROM secrets WHERE project_id = $1 AND name = $2 AND expires_at IS NOT NULL";
    c.run(sql, place.clone()).await?;
    let sql = "UPDATE secrets SET expires_at = $1 WHERE project_id = $2 AND name = $3";
    c.run(sql, [values![until], place].concat()).await?;
    take_over(c, &project_id, &name, name.title(), sealed, now).await?;
    deeds::record(c, "secret.replace", Some(&project_id), name.title(), "").await?;
    Ok(true)
}

/// Keeps a secret as the newest of its name.
pub(crate) async fn take_over(
    c: &mut dyn Conn,
    project_id: &ProjectId,
    name: &SecretName,
    title: &str,
    sealed: Sealed,
    now: Timestamp,
) -> Result<()> {
    c.run(
        "INSERT INTO secrets (project_id, name, generation, title, key_id, sealed, created_at, updated_at) \
         SELECT $1, $2, COALESCE(MAX(generation), 0) + 1, $3, $4, $5, $6, $7 FROM secrets \
         WHERE project_id = $1 AND name = $2",
        values![project_id, &*name.text(), title, sealed.key_id, sealed.bytes, now, now],
    )
    .await
    .map(drop)
}

async fn list(c: &mut dyn Conn, project_id: Option<ProjectId>) -> Result<Vec<SecretRecord>> {
    let Some(id) = project_id else {
        return c.rows(format!("SELECT {COLUMNS} FROM secrets ORDER BY project_id, name, generation"), vec![]).await;
    };
    c.rows(format!("SELECT {COLUMNS} FROM secrets WHERE project_id = $1 ORDER BY name, generation"), values![id]).await
}

/// False if it is sealed with the first key already, or gone.
async fn reseal(c: &mut dyn Conn, vault: Vault, keys: Keys, secret: SecretRecord) -> Result<bool, VaultError> {
    let name = secret.name.text();
    let sql = "SELECT key_id, sealed FROM secrets WHERE project_id = $1 AND name = $2 AND generation = $3";
    let place = values![&secret.project_id, &*name, secret.generation];
    let Some((key_id, bytes)) = c.row_held(sql, place).await? else { return Ok(false) };
    let sealed = Sealed { key_id, bytes };
    if sealed.key_id == keys.first_id() {
        return Ok(false);
    }
    let place = Place { project_id: &secret.project_id, name: &name };
    let content = open(&vault, &keys, place, &sealed)?;
    update(c, &secret, seal(&vault, &keys, place, &content)?).await?;
    Ok(true)
}

/// Keeps what was sealed anew.
async fn update(c: &mut dyn Conn, secret: &SecretRecord, sealed: Sealed) -> Result<()> {
    let sql = "UPDATE secrets SET key_id = $1, sealed = $2 WHERE project_id = $3 AND name = $4 AND generation = $5";
    let place = values![sealed.key_id, sealed.bytes, &secret.project_id, &*secret.name.text(), secret.generation];
    c.run(sql, place).await.map(drop)
}

impl FromRow for SecretRecord {
    fn from_row(row: &mut Row) -> Result<Self> {
        Ok(Self {
            project_id: row.next()?,
            name: row.next()?,
            generation: row.next()?,
            title: row.next()?,
            key_id: row.next()?,
            created_at: row.next()?,
            updated_at: row.next()?,
            expires_at: row.next()?,
        })
    }
}
