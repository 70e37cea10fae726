//! `copydesk project credential` and `copydesk credentials`.

mod input;

pub(crate) use input::{hidden, read};

use std::ffi::OsString;
use std::process::ExitCode;

use copydesk_desk::credentials::{CredentialSource, Credentials, Known, Misfit, misfits, variable};
use copydesk_domain::{Project, ProjectId};
use copydesk_store::{Vault, VaultError};
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
    let credentials = Credentials::new(store.clone(), vault.clone(), environment);
    match command {
        CredentialCommand::Set { id, flags, json } => {
            let project = store::project(&store, &id).await?;
            set(&credentials, &vault, &project, flags, environment, json).await
        }
        CredentialCommand::Show { id, json } => show(&credentials, &store::project(&store, &id).await?, json).await,
        CredentialCommand::Remove { id, json } => remove(&credentials, &store::project(&store, &id).await?, json).await,
    }
}

async fn set(
    credentials: &Credentials,
    vault: &Vault,
    project: &Project,
    flags: CredentialFlags,
    environment: &Environment,
    json: bool,
) -> Result<ExitCode, Failure> {
    let secret = read(flags, environment)?;
    for misfit in misfits(&secret, project) {
        eprintln!("copydesk: note: {misfit}{}", flags_against(&misfit));
    }
    let record = credentials.set(&project.id, &secret).await?.ok_or_else(|| Failure::unknown_project(&project.id))?;
    if json {
        return output::json(&view(&project.id, Some(&CredentialSource::Stored(record)), None));
    }
    output::line(&format!(
        "Stored for {}: {}, encrypted with the key {} of {}.",
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

async fn show(credentials: &Credentials, project: &Project, json: bool) -> Result<ExitCode, Failure> {
    let Known { source, problem } = credentials.known(&project.id).await?;
    if json {
        return output::json(&view(&project.id, source.as_ref(), problem));
    }
    for (label, value) in rows(&project.id, source.as_ref(), problem) {
        output::field(label, &value, 15);
    }
    Ok(ExitCode::SUCCESS)
}

fn rows(
    project_id: &ProjectId,
    source: Option<&CredentialSource>,
    problem: Option<String>,
) -> Vec<(&'static str, String)> {
    let mut rows = vec![("project", project_id.to_string())];
    match source {
        Some(CredentialSource::Stored(record)) => rows.extend([
            ("credential", record.title.clone()),
            ("from", "the store".to_owned()),
            ("since", record.created_at.to_string()),
            ("last set", record.updated_at.to_string()),
            ("encrypted with", format!("the key {}", record.key_id)),
        ]),
        Some(CredentialSource::Environment(name)) => {
            rows.extend([("credential", "token".to_owned()), ("from", format!("the variable {name}"))]);
        }
        None => {
            rows.push(("credential", "none".to_owned()));
            rows.push(("to set one", format!("copydesk project credential set {project_id}")));
        }
    }
    rows.extend(problem.map(|problem| ("problem", problem)));
    rows
}

fn view(project_id: &ProjectId, found: Option<&CredentialSource>, problem: Option<String>) -> Value {
    let source = found.map(|source| match source {
        CredentialSource::Stored(_) => "stored",
        CredentialSource::Environment(_) => "environment",
    });
    let kind = found.map(CredentialSource::title);
    let mut view = json!({ "project": project_id, "source": source, "kind": kind, "problem": problem });
    match found {
        Some(CredentialSource::Stored(record)) => {
            view["keyId"] = json!(record.key_id);
            view["createdAt"] = json!(record.created_at);
            view["updatedAt"] = json!(record.updated_at);
        }
        Some(CredentialSource::Environment(name)) => view["variable"] = json!(name),
        None => {}
    }
    view
}

async fn remove(credentials: &Credentials, project: &Project, json: bool) -> Result<ExitCode, Failure> {
    if !credentials.remove(&project.id).await? {
        return Err(Failure::error(format!("no credential is stored for {}", project.id)));
    }
    if credentials.is_in_environment(&project.id) {
        eprintln!("copydesk: note: the variable {} is set and is used from now on", variable(&project.id));
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
                eprintln!("copydesk: encrypted {done} of {of}");
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
            "Secrets are now encrypted with the key {}. Encrypted again: {}. Old keys removed: {}.",
            rotated.key_id, rotated.resealed, rotated.dropped
        ));
        for (secret, error) in &rotated.left {
            output::line(&format!("Not encrypted again, {} of {}: {error}.", secret.name.text(), secret.project_id));
        }
    }
    Ok(if rotated.left.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl From<VaultError> for Failure {
    fn from(error: VaultError) -> Self {
        Self::error(error.to_string())
    }
}
