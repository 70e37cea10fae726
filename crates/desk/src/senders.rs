//! Who sends to a project without one of its keys: its log drains and its code host. Each of the two has a secret, by
//! which it proves itself.

use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{Actor, ProjectId, Timestamp, hex, random_secret};
use copydesk_store::{SecretName, Store, StoreError, Vault, VaultError};

/// How long the secret before the present one is taken beside it, unless somebody says otherwise.
pub const OLD_SECRET_TAKEN: Duration = Duration::from_secs(24 * 3600);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// Whoever hosts the project's site, and sends its log.
    Drain,
    /// The code host, which tells of pull requests.
    Hook,
}

/// The secrets of those who send to projects. They are looked up anew each time, so a change is seen at once.
#[derive(Clone)]
pub struct SenderSecrets {
    store: Store,
    vault: Vault,
}

#[boxed]
impl SenderSecrets {
    pub fn new(store: Store, vault: Vault) -> Self {
        Self { store, vault }
    }

    /// The same for somebody, under whose name it is written down what is done.
    pub fn by(&self, actor: Actor) -> Self {
        Self { store: self.store.by(actor), vault: self.vault.clone() }
    }

    /// Since when a sender has the secret that it has; none if nobody was ever given one.
    pub async fn since(&self, project_id: &ProjectId, sender: Sender) -> Result<Option<Timestamp>, StoreError> {
        let secrets = self.store.secrets(Some(project_id)).await?;
        let newest = secrets.into_iter().find(|it| it.name == sender.name() && it.expires_at.is_none());
        Ok(newest.map(|secret| secret.updated_at))
    }

    /// The secret to give to a sender, made when it is first asked for. None if there is no such project.
    pub async fn show(&self, project_id: &ProjectId, sender: Sender) -> Result<Option<String>, VaultError> {
        let shown = self.store.secret_or(&self.vault, project_id, &sender.name(), new_secret().as_bytes()).await?;
        shown.map(text).transpose()
    }

    /// Makes a new secret; the present one is taken beside it for so long. None if there is no such project.
    pub async fn rotate(
        &self,
        project_id: &ProjectId,
        sender: Sender,
        old_taken: Duration,
    ) -> Result<Option<String>, VaultError> {
        let (secret, until) = (new_secret(), self.store.now().plus(old_taken));
        let name = sender.name();
        let made = self.store.replace_secret(&self.vault, project_id, &name, secret.as_bytes(), until).await?;
        Ok(made.then_some(secret))
    }

    /// The secrets by which a sender proves itself now; none if nobody was ever given one.
    pub async fn taken(&self, project_id: &ProjectId, sender: Sender) -> Result<Vec<String>, VaultError> {
        let valid = self.store.valid_secrets(&self.vault, project_id, &sender.name()).await?;
        valid.into_iter().map(|(_, content)| text(content)).collect()
    }
}

impl Sender {
    fn name(self) -> SecretName {
        match self {
            Self::Drain => SecretName::Drain,
            Self::Hook => SecretName::Hook,
        }
    }
}

/// Hexadecimal, because every host's form takes that.
fn new_secret() -> String {
    hex(&random_secret())
}

fn text(content: Vec<u8>) -> Result<String, VaultError> {
    String::from_utf8(content).map_err(|_| VaultError::Altered)
}
