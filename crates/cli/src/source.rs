//! `copydesk project source`: further repositories that a project's agents may read.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use copydesk_desk::credentials::source_misfits;
use copydesk_desk::projects::{self, NotAdded, SourceDraft, TrialView, works};
use copydesk_domain::{CodeSource, Invalid, Project};
use copydesk_forge::HostSecret;
use copydesk_store::{SecretName, SecretRecord, Store};
use serde_json::{Value, json};

use crate::args::{CredentialFlags, SourceCommand};
use crate::config::Config;
use crate::failure::Failure;
use crate::host_flags::{host_draft, trial_line};
use crate::output::note;
use crate::secrets::vault;
use crate::{credential, engines, output, store};

pub(crate) async fn run(
    command: SourceCommand,
    config: &Config,
    working_dir: &Path,
    environment: &[(OsString, OsString)],
) -> Result<ExitCode, Failure> {
    let store = store::open_ready(config).await?;
    match command {
        SourceCommand::Add { project, name, address, branch, host, token_stdin, credential, json } => {
            let project = store::project(&store, &project).await?;
            let secret = given(*credential, token_stdin, environment)?;
            let draft = SourceDraft { name, repository: address, branch, host: host_draft(host) };
            let source = add(&store, config, &project, (draft, secret), working_dir).await?;
            let workshop = engines::workshop(config, &store, environment, config.public_url())?;
            note(&projects::source_notes(&workshop, &project, &source).await);
            added(&store, &project, &source, json).await
        }
        SourceCommand::List { project, json } => list(&store, &store::project(&store, &project).await?, json).await,
        SourceCommand::Remove { project, name, json } => {
            let project = store::project(&store, &project).await?;
            if !store.remove_source(&project.id, &name).await? {
                return Err(unknown(&project, &name));
            }
            if json {
                return output::json(&json!({ "project": project.id, "name": name, "removed": true }));
            }
            output::line(&format!("Removed the code source {name} of {}.", project.id));
            Ok(ExitCode::SUCCESS)
        }
        SourceCommand::Test { project, name, json } => {
            let project = store::project(&store, &project).await?;
            let source = store.source(&project.id, &name).await?.ok_or_else(|| unknown(&project, &name))?;
            let workshop = engines::workshop(config, &store, environment, config.public_url())?;
            let trials = projects::source_trials(&workshop, &project, &source).await;
            test(&trials.iter().map(TrialView::from).collect::<Vec<_>>(), works(&trials), json)
        }
    }
}

/// The credential that the flags tell of; none if they tell of none.
fn given(
    flags: CredentialFlags,
    token_stdin: bool,
    environment: &[(OsString, OsString)],
) -> Result<Option<HostSecret>, Failure> {
    let is_named = flags.token.token_file.is_some()
        || flags.token.token_env.is_some()
        || flags.github_app.is_some()
        || flags.ssh_key_file.is_some();
    if flags.username.is_some() && !is_named && !token_stdin {
        return Err(
            Failure::usage("--username needs a token").hint("give one with --token-file, --token-env or --token-stdin")
        );
    }
    if is_named || token_stdin { credential::read(flags, environment).map(Some) } else { Ok(None) }
}

async fn add(
    store: &Store,
    config: &Config,
    project: &Project,
    (draft, secret): (SourceDraft, Option<HostSecret>),
    working_dir: &Path,
) -> Result<CodeSource, Failure> {
    let (new, notes) = draft.check(project, working_dir, secret.as_ref()).map_err(wrong)?;
    note(&notes);
    if let Some(secret) = &secret {
        let misfits = source_misfits(secret, &new.repository, &new.host);
        note(&misfits.iter().map(ToString::to_string).collect::<Vec<_>>());
    }
    Ok(projects::add_source(store, &vault(config), new).await?)
}

async fn added(store: &Store, project: &Project, source: &CodeSource, json: bool) -> Result<ExitCode, Failure> {
    let secrets = store.secrets(Some(&project.id)).await?;
    if json {
        return output::json(&view(source, project, &secrets));
    }
    for (label, value) in [
        ("name", source.name.clone()),
        ("repository", source.repository.public_address().to_owned()),
        ("branch", branch(source)),
        ("credential", shown(source, project, &secrets)),
        ("read as", format!("@{}/…", source.name)),
    ] {
        output::field(label, &value, 15);
    }
    Ok(ExitCode::SUCCESS)
}

/// What stands on the command line without a flag is named as the help names it.
fn wrong(invalid: Invalid) -> Failure {
    match invalid.field {
        "name" => Failure::usage(format!("NAME {}", invalid.message)),
        "repository" => Failure::usage(format!("ADDRESS {}", invalid.message)),
        _ => Failure::flag(&invalid),
    }
}

impl From<NotAdded> for Failure {
    fn from(error: NotAdded) -> Self {
        Self::error(error.to_string())
    }
}

fn unknown(project: &Project, name: &str) -> Failure {
    Failure::error(format!("{} has no code source {name:?}", project.id))
        .hint(format!("`copydesk project source list {}` shows them", project.id))
}

async fn list(store: &Store, project: &Project, json: bool) -> Result<ExitCode, Failure> {
    let sources = store.sources(&project.id).await?;
    let secrets = store.secrets(Some(&project.id)).await?;
    if json {
        return output::json(&sources.iter().map(|source| view(source, project, &secrets)).collect());
    }
    let row = |source: &CodeSource| {
        let address = source.repository.public_address().to_owned();
        vec![source.name.clone(), address, branch(source), shown(source, project, &secrets)]
    };
    output::table(&["name", "repository", "branch", "credential"], &sources.iter().map(row).collect::<Vec<_>>());
    Ok(ExitCode::SUCCESS)
}

fn test(trials: &[TrialView], works: bool, as_json: bool) -> Result<ExitCode, Failure> {
    if as_json {
        output::json(&json!({ "works": works, "trials": trials }))?;
    } else {
        trials.iter().for_each(|trial| output::line(&trial_line(trial)));
        output::line(if works { "Jobs can read it." } else { "Jobs cannot read it; see above." });
    }
    Ok(if works { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn branch(source: &CodeSource) -> String {
    source.branch.clone().unwrap_or_else(|| "(main branch)".to_owned())
}

fn own<'a>(source: &CodeSource, secrets: &'a [SecretRecord]) -> Option<&'a SecretRecord> {
    let name = SecretName::Source(source.name.clone());
    secrets.iter().find(|secret| secret.name == name)
}

/// What is shown to the host of a source, in words.
fn shown(source: &CodeSource, project: &Project, secrets: &[SecretRecord]) -> String {
    match own(source, secrets) {
        Some(record) => record.title.clone(),
        None if source.shares_credential(project) => "the project's".to_owned(),
        None => "none".to_owned(),
    }
}

fn view(source: &CodeSource, project: &Project, secrets: &[SecretRecord]) -> Value {
    let credential = match own(source, secrets) {
        Some(_) => "own",
        None if source.shares_credential(project) => "project",
        None => "none",
    };
    json!({
        "project": source.project_id,
        "name": source.name,
        "repository": source.repository.public_address(),
        "ref": source.branch,
        "host": source.host,
        "credential": credential,
        "createdAt": source.created_at,
    })
}
