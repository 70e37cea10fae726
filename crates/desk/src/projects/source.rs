//! Code sources of a project: checked, added and tried out.

use std::path::Path;

use copydesk_boxed::boxed;
use copydesk_domain::{CodeSource, Invalid, MAX_CODE_SOURCES, Project, code_source_name, git_ref};
use copydesk_forge::{Ability, HostSecret};
use copydesk_store::{NewSource, SourceAdded, Store, Vault, VaultError};

use super::HostDraft;
use super::draft::repository;
use super::trial::{Trial, settings_trial};
use crate::docs_job::Workshop;

/// A code source as somebody asks for it.
#[derive(Debug, Default)]
pub struct SourceDraft {
    pub name: String,
    /// An address that git can clone from, or a path.
    pub repository: String,
    /// The branch to read; none: the main branch.
    pub branch: Option<String>,
    pub host: HostDraft,
}

/// Why a code source was not added.
#[derive(Debug, thiserror::Error)]
pub enum NotAdded {
    #[error("the project has a code source {0} already; remove it first, or choose another name")]
    Taken(String),
    #[error("the project has {MAX_CODE_SOURCES} code sources, and cannot have more; remove one first")]
    TooMany,
    #[error("there is no such project")]
    NoProject,
    #[error(transparent)]
    Vault(#[from] VaultError),
}

impl SourceDraft {
    /// The source to add, and what is allowed and may still be a mistake, a sentence each.
    pub fn check(
        self,
        project: &Project,
        working_dir: &Path,
        secret: Option<&HostSecret>,
    ) -> Result<(NewSource, Vec<String>), Invalid> {
        let mut notes = Vec::new();
        let host = self.host.check(Default::default(), working_dir, &mut notes)?;
        let new = NewSource {
            project_id: project.id.clone(),
            name: code_source_name("name", &self.name)?,
            repository: repository(&self.repository, working_dir, &mut notes)?,
            branch: self.branch.map(|text| git_ref("ref", &text)).transpose()?,
            host,
            secret: secret.map(|secret| (secret.title().to_owned(), secret.to_bytes().to_vec())),
        };
        Ok((new, notes))
    }
}

/// Adds a code source that was checked.
#[boxed]
pub async fn add_source(store: &Store, vault: &Vault, new: NewSource) -> Result<CodeSource, NotAdded> {
    let name = new.name.clone();
    match store.add_source(vault, new).await? {
        SourceAdded::Done(source) => Ok(*source),
        SourceAdded::Taken => Err(NotAdded::Taken(name)),
        SourceAdded::TooMany => Err(NotAdded::TooMany),
        SourceAdded::NoProject => Err(NotAdded::NoProject),
    }
}

/// Tries whether a job could read a code source.
#[boxed]
pub async fn source_trials(workshop: &Workshop, project: &Project, source: &CodeSource) -> Vec<Trial> {
    let connection = match workshop.connect_source(project, source).await {
        Ok(connection) => connection,
        Err(error) => {
            let what = "the settings and the credential can be used";
            return vec![Trial::new("settings", what, Ability::No(error.message))];
        }
    };
    let branch = source.branch.as_deref().map_or_else(|| "main branch".to_owned(), |name| format!("branch {name}"));
    let fetch = format!("git reaches {} and its {branch}", source.repository.public_address());
    let fetched = workshop.fetch_source(&connection, source.branch.as_deref()).await;
    let fetched = fetched.map_or_else(|error| Ability::No(error.message), |_| Ability::Yes);
    vec![settings_trial(&connection), Trial::new("fetch", fetch, fetched)]
}
