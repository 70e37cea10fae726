//! Code sources of a project: checked, added and tried out.

use std::path::Path;
use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{CodeSource, Invalid, MAX_CODE_SOURCES, Project, code_source_name, git_ref};
use copydesk_forge::{Ability, ForgeError, HostSecret, Named};
use copydesk_store::{NewSource, SourceAdded, Store, Vault, VaultError};

use super::HostDraft;
use super::draft::repository;
use super::trial::{Trial, settings_trial};
use crate::docs_job::Workshop;

/// How long the host of a new code source may take to say what it is.
const PATIENCE: Duration = Duration::from_secs(10);

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

/// Asks a code source that was just added whether it is one, and says what is wrong, a sentence each. Somebody waits for
/// it, so that a host that is slow to answer is not waited for.
#[boxed]
pub async fn source_notes(workshop: &Workshop, project: &Project, source: &CodeSource) -> Vec<String> {
    let asked = async {
        let connection = workshop.connect_source(project, source).await.map_err(|error| error.message)?;
        let told = |error: ForgeError| error.to_string();
        let Some(branch) = &source.branch else {
            return connection.default_branch().await.map(|_| None).map_err(told);
        };
        Ok(match connection.named(branch).await.map_err(told)? {
            Named::Branch => None,
            Named::Tag => {
                Some(format!("`{branch}` is a tag, and agents read a branch; add the source again with its branch"))
            }
            Named::Nothing => Some(format!("the repository has no branch `{branch}`")),
        })
    };
    let again = format!("try it with `copydesk project source test {} {}`", project.id, source.name);
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(None)) => Vec::new(),
        Ok(Ok(Some(wrong))) => vec![format!("agents cannot read it: {wrong}")],
        Ok(Err(why)) => {
            vec![format!("agents cannot read it yet: {}; when that is mended, {again}", why.trim_end_matches('.'))]
        }
        Err(_) => vec![format!("its host did not answer within {} seconds; {again}", PATIENCE.as_secs())],
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
