//! `copydesk project credential` and `copydesk credentials`.

mod input;

pub(crate) use input::hidden;

use std::ffi::OsString;
use std::process::ExitCode;

use copydesk_desk::credentials::{CredentialSource, Credentials, Misfit, misfits, variable};
use copydesk_domain::{Project, ProjectId};
use copydesk_store::{SecretName, SecretRecord, Store, Vault, VaultError};
use serde_json::{Value, json};

use crate::args::{CredentialCommand, CredentialFlags, CredentialsCommand};
use crate::config::Config;
use crate::failure::Failure;
use crate::secrets::vault;
use crate::{output, store};

type Environment = [(OsString, OsString)];

pub(crate) async fn run(
    command: CredentialCommand,
    config: &Config,
    environment: &Environment,
) -> Result<ExitCode, Failure> {
    let store = store::open_ready(config).await?;
    let vault = vault(config);
    match command {
        CredentialCommand::Set { id, flags, json } => {
            let project = store::project(&store, &id).await?;
            set(&store, &vault, &project, flags, environment, json).await
        }
        CredentialCommand::Show { id, json } => {
            let project = store::project(&store, &id).await?;
            show(store, vault, &project, environment, json).await
        }
        CredentialCommand::Remove { id, json } => {
            let project = store::project(&store, &id).await?;
            remove(&store, &project, environment, json).await
        }
    }
}

async fn set(
    store: &Store,
    vault: &Vault,
    project: &Project,
    flags: CredentialFlags,
    environment: &Environment,
    json: bool,
) -> Result<ExitCode, Failure> {
    let secret = input::read(flags, environment)?;
    for misfit in misfits(&secret, project) {
        eprintln!("copydesk: note: {misfit}{}", flags_against(&misfit));
    }
    let stored = store.set_secret(vault, &project.id, &SecretName::Git, secret.title(), &secret.to_bytes()).await?;
    let record = stored.ok_or_else(|| Failure::unknown_project(&project.id))?;
    if json {
        return output::json(&view(&project.id, &State::Stored(record), None));
    }
    output::line(&format!(
        "Stored for {}: {}, sealed with the key {} of {}.",
        project.id,
        record.title,
        record.key_id,
        vault.path().display()
    ));
    Ok(ExitCode::SUCCESS)
}

fn flags_against(misfit: &Misfit) -> &'static str {
    match misfit {
        Misfit::AppElsewhere(_) => "; see --host",
        Misfit::NeedsSshKey => " (--ssh-key-file)",
        Misfit::NeedsToken(_) => " (--token-file, --token-env)",
        Misfit::LocalRepository | Misfit::NeedsNoSshKey(_) | Misfit::Unencrypted => "",
    }
}

/// Where a project's credential comes from.
enum State {
    Stored(SecretRecord),
    Variable(String),
    Nowhere,
}

async fn show(
    store: Store,
    vault: Vault,
    project: &Project,
    environment: &Environment,
    json: bool,
) -> Result<ExitCode, Failure> {
    let stored = stored(&store, project).await?;
    // Opened as a job would do it, so that what keeps a job from it is seen here.
    let found = Credentials::new(store, vault, environment).find(&project.id).await;
    let (state, problem) = match (stored, found) {
        (stored, Err(problem)) => {
            let state = stored.map_or_else(|| State::Variable(variable(&project.id)), State::Stored);
            (state, Some(problem.to_string()))
        }
        (_, Ok(None)) => (State::Nowhere, None),
        (_, Ok(Some(found))) => match found.source {
            CredentialSource::Stored(record) => (State::Stored(record), None),
            CredentialSource::Environment(name) => (State::Variable(name), None),
        },
    };
    if json {
        return output::json(&view(&project.id, &state, problem));
    }
    for (label, value) in rows(&project.id, &state, problem) {
        output::line(&format!("{label:<15} {value}"));
    }
    Ok(ExitCode::SUCCESS)
}

async fn stored(store: &Store, project: &Project) -> Result<Option<SecretRecord>, Failure> {
    let secrets = store.secrets(Some(&project.id)).await?;
    Ok(secrets.into_iter().find(|secret| secret.name == SecretName::Git))
}

fn rows(project_id: &ProjectId, state: &State, problem: Option<String>) -> Vec<(&'static str, String)> {
    let mut rows = vec![("project", project_id.to_string())];
    match state {
        State::Stored(record) => rows.extend([
            ("credential", record.title.clone()),
            ("from", "the store".to_owned()),
            ("since", record.created_at.to_string()),
            ("last set", record.updated_at.to_string()),
            ("sealed with", format!("the key {}", record.key_id)),
        ]),
        State::Variable(name) => {
            rows.extend([("credential", "token".to_owned()), ("from", format!("the variable {name}"))]);
        }
        State::Nowhere => {
            rows.push(("credential", "none".to_owned()));
            rows.push(("to set one", format!("copydesk project credential set {project_id}")));
        }
    }
    rows.extend(problem.map(|problem| ("problem", problem)));
    rows
}

fn view(project_id: &ProjectId, state: &State, problem: Option<String>) -> Value {
    let (source, kind) = match state {
        State::Stored(record) => (Some("stored"), Some(record.title.as_str())),
        State::Variable(_) => (Some("environment"), Some("token")),
        State::Nowhere => (None, None),
    };
    let mut view = json!({ "project": project_id, "source": source, "kind": kind, "problem": problem });
    match state {
        State::Stored(record) => {
            view["keyId"] = json!(record.key_id);
            view["createdAt"] = json!(record.created_at);
            view["updatedAt"] = json!(record.updated_at);
        }
        State::Variable(name) => view["variable"] = json!(name),
        State::Nowhere => {}
    }
    view
}

async fn remove(store: &Store, project: &Project, environment: &Environment, json: bool) -> Result<ExitCode, Failure> {
    if !store.remove_secret(&project.id, &SecretName::Git).await? {
        return Err(Failure::error(format!("no credential is stored for {}", project.id)));
    }
    let variable = variable(&project.id);
    if environment.iter().any(|(name, value)| *name == *variable && !value.is_empty()) {
        eprintln!("copydesk: note: the variable {variable} is set, and holds from now on");
    }
    if json {
        return output::json(&json!({ "project": project.id, "removed": true }));
    }
    output::line(&format!("Removed the credential of {}. Revoke it at the code host too.", project.id));
    Ok(ExitCode::SUCCESS)
}

/// `copydesk credentials …`
pub(crate) async fn manage(command: CredentialsCommand, config: &Config) -> Result<ExitCode, Failure> {
    let CredentialsCommand::Rotate { json } = command;
    let (store, vault) = (store::open_ready(config).await?, vault(config));
    let rotated = store
        .rotate_keys(&vault, |done, of| {
            // The first, the last and each hundredth: a line a secret would be too many.
            if !json && (done == 1 || done == of || done % 100 == 0) {
                eprintln!("copydesk: sealed {done} of {of}");
            }
        })
        .await?;
    if json {
        let left = rotated.left.iter().map(
            |(secret, error)| json!({ "project": secret.project_id, "name": secret.name.text(), "problem": error.to_string() }),
        );
        output::json(&json!({
            "keyId": rotated.key_id,
            "resealed": rotated.resealed,
            "droppedKeys": rotated.dropped,
            "left": left.collect::<Vec<_>>(),
        }))?;
    } else {
        output::line(&format!(
            "The key {} seals now. Secrets sealed anew: {}. Old keys forgotten: {}.",
            rotated.key_id, rotated.resealed, rotated.dropped
        ));
        for (secret, error) in &rotated.left {
            output::line(&format!("Left as it was, {} of {}: {error}.", secret.name.text(), secret.project_id));
        }
    }
    Ok(if rotated.left.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl From<VaultError> for Failure {
    fn from(error: VaultError) -> Self {
        Self::error(error.to_string())
    }
}
