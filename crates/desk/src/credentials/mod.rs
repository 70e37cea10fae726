//! What a project shows to its code host: what is stored for it, else a token from the environment.

mod draft;
mod fit;
pub mod private_key;

use std::collections::HashMap;
use std::ffi::OsString;

use copydesk_boxed::boxed;
use copydesk_domain::{Actor, CodeSource, Project, ProjectId};
use copydesk_forge::{ForgeError, HostSecret, HostSecretError};
use copydesk_store::{SecretName, SecretRecord, Store, StoreError, Vault, VaultError};

pub use draft::{CredentialDraft, plain_word};
pub use fit::{Misfit, misfits, source_misfits};

/// Begins the names of variables that hold the tokens of projects.
pub const VARIABLE_PREFIX: &str = "COPYDESK_CREDENTIAL_";

/// The most bytes that a token or a key may have.
pub const MAX_CREDENTIAL_BYTES: usize = 64 * 1024;

/// Finds the credentials of projects. They are looked up anew each time, so a change is seen at once.
#[derive(Clone)]
pub struct Credentials {
    store: Store,
    vault: Vault,
    // Not shown by anything: there is no Debug.
    environment: HashMap<String, OsString>,
}

/// A credential, and where it was found.
#[derive(Debug)]
pub struct Credential {
    /// What is shown to the host.
    pub secret: HostSecret,
    pub source: CredentialSource,
}

/// A project's credential, without the secret.
#[derive(Debug)]
pub struct Known {
    /// Where it is; none: there is none.
    pub source: Option<CredentialSource>,
    /// Why a job could not use it.
    pub problem: Option<String>,
}

/// Where a credential was found.
#[derive(Debug)]
pub enum CredentialSource {
    Stored(SecretRecord),
    /// In this variable of the environment.
    Environment(String),
}

impl CredentialSource {
    /// Its kind, for people.
    pub fn title(&self) -> &str {
        match self {
            Self::Stored(record) => &record.title,
            Self::Environment(_) => "token",
        }
    }
}

/// Why the credential of a project cannot be used, as a sentence that holds nothing of it.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// It opens, and is not what this program writes.
    #[error("{0}; set it again with `copydesk project credential set`")]
    Unreadable(#[from] HostSecretError),
    /// The same of one for a code source.
    #[error("{problem}; remove the code source {name} and add it again with a credential")]
    SourceUnreadable { name: String, problem: HostSecretError },
    /// The variable holds no token.
    #[error("the token in the variable {name} {problem}")]
    Variable {
        name: String,
        /// What is wrong, as the end of a sentence.
        problem: &'static str,
    },
}

impl From<CredentialError> for ForgeError {
    fn from(error: CredentialError) -> Self {
        match error {
            CredentialError::Vault(VaultError::Store(error)) => Self::passing(format!("the database failed: {error}")),
            // The keys may have been changed on another machine and be on their way to this one.
            CredentialError::Vault(error @ VaultError::OtherKey { .. }) => Self::passing(error.to_string()),
            error => Self::lasting(error.to_string()),
        }
    }
}

#[boxed]
impl Credentials {
    /// Credentials in `store`, sealed by `vault`, and in the variables of `environment` that are meant for them.
    pub fn new(store: Store, vault: Vault, environment: &[(OsString, OsString)]) -> Self {
        let ours = environment.iter().filter_map(|(name, value)| {
            let name = name.to_str().filter(|name| name.starts_with(VARIABLE_PREFIX))?;
            // An empty variable is as good as none.
            (!value.is_empty()).then(|| (name.to_owned(), value.clone()))
        });
        Self { store, vault, environment: ours.collect() }
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// The same for somebody, under whose name it is written down what is done.
    pub fn by(&self, actor: Actor) -> Self {
        Self { store: self.store.by(actor), ..self.clone() }
    }

    /// Seals a credential and keeps it in place of an earlier one. None if there is no such project.
    pub async fn set(&self, project_id: &ProjectId, secret: &HostSecret) -> Result<Option<SecretRecord>, VaultError> {
        self.store.set_secret(&self.vault, project_id, &SecretName::Git, secret.title(), &secret.to_bytes()).await
    }

    /// Forgets the credential that is stored. Says whether there was one.
    pub async fn remove(&self, project_id: &ProjectId) -> Result<bool, StoreError> {
        self.store.remove_secret(project_id, &SecretName::Git).await
    }

    /// A project's credential, without the secret. It is opened as a job would do it, so that what keeps a job from it is
    /// seen here.
    pub async fn known(&self, project_id: &ProjectId) -> Result<Known, StoreError> {
        match self.find(project_id).await {
            Ok(found) => Ok(Known { source: found.map(|found| found.source), problem: None }),
            Err(CredentialError::Vault(VaultError::Store(error))) => Err(error),
            Err(problem) => {
                let secrets = self.store.secrets(Some(project_id)).await?;
                let stored = secrets.into_iter().find(|secret| secret.name == SecretName::Git);
                let variable = || CredentialSource::Environment(variable(project_id));
                let source = stored.map_or_else(variable, CredentialSource::Stored);
                Ok(Known { source: Some(source), problem: Some(problem.to_string()) })
            }
        }
    }

    /// Whether the environment has a token for the project, which holds where none is stored.
    pub fn is_in_environment(&self, project_id: &ProjectId) -> bool {
        self.environment.contains_key(&variable(project_id))
    }

    /// What the project shows to its code host; none: it has nothing to show.
    pub async fn of(&self, project_id: &ProjectId) -> Result<Option<HostSecret>, CredentialError> {
        Ok(self.find(project_id).await?.map(|credential| credential.secret))
    }

    /// The same, with where it was found.
    pub async fn find(&self, project_id: &ProjectId) -> Result<Option<Credential>, CredentialError> {
        if let Some((record, content)) = self.store.secret(&self.vault, project_id, &SecretName::Git).await? {
            let secret = HostSecret::from_bytes(&content)?;
            return Ok(Some(Credential { secret, source: CredentialSource::Stored(record) }));
        }
        let name = variable(project_id);
        let Some(value) = self.environment.get(&name) else { return Ok(None) };
        let checked = value.to_str().ok_or("is not Unicode").and_then(token);
        let token = checked.map_err(|problem| CredentialError::Variable { name: name.clone(), problem })?;
        let secret = HostSecret::Token { username: None, token: token.into() };
        Ok(Some(Credential { secret, source: CredentialSource::Environment(name) }))
    }
}

#[boxed]
impl Credentials {
    /// What is shown to the host of a code source: its own, or else the project's if the source is on the same host as
    /// the project's repository; none: nothing is shown.
    pub async fn of_source(
        &self,
        project: &Project,
        source: &CodeSource,
    ) -> Result<Option<HostSecret>, CredentialError> {
        let name = SecretName::Source(source.name.clone());
        if let Some((_, content)) = self.store.secret(&self.vault, &project.id, &name).await? {
            let unreadable = |problem| CredentialError::SourceUnreadable { name: source.name.clone(), problem };
            return HostSecret::from_bytes(&content).map(Some).map_err(unreadable);
        }
        if source.shares_credential(project) { self.of(&project.id).await } else { Ok(None) }
    }
}

/// The variable that may hold the token of a project. Ids have no underscores, so no two projects share one.
pub fn variable(project_id: &ProjectId) -> String {
    format!("{VARIABLE_PREFIX}{}", project_id.to_ascii_uppercase().replace('-', "_"))
}

/// A token without the end of its line. What is wrong is said as the end of a sentence, without the token.
pub fn token(text: &str) -> Result<String, &'static str> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.trim().is_empty() {
        Err("is empty")
    } else if text.len() > MAX_CREDENTIAL_BYTES {
        Err("is longer than 64 KiB")
    } else if text.chars().any(char::is_control) {
        Err("holds control characters or more than one line")
    } else {
        Ok(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_named_like_the_project() {
        assert_eq!(variable(&"acme-docs-2".into()), "COPYDESK_CREDENTIAL_ACME_DOCS_2");
    }

    #[test]
    fn a_token_is_one_line_of_bounded_length() {
        let most = "x".repeat(MAX_CREDENTIAL_BYTES);
        for (text, wanted) in [("a", "a"), ("a\n", "a"), ("a\r\n", "a"), (" a b ", " a b "), (&most, &most)] {
            assert_eq!(token(text).as_deref(), Ok(wanted));
        }
        for wrong in ["", "\n", "  ", "a\nb", "a\n\n", "a\0", "\u{1b}[2J", &format!("{most}x")] {
            assert!(token(wrong).is_err(), "{wrong:?}");
        }
    }
}
