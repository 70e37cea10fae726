//! What the repository of a new project is asked: the branch that jobs start from, where none was named, and whether the
//! documentation is there.

use std::time::Duration;

use copydesk_domain::{HostKind, HostSettings, Repository};
use copydesk_forge::{Connection, ForgeError, HostSecret, Hosts, HostsSettings};

use crate::docs_folder;

/// Somebody waits for it, and there is an answer to fall back on.
const PATIENCE: Duration = Duration::from_secs(10);

/// The branch that jobs start from, where nobody is asked: a repository elsewhere is not asked about a branch that was named,
/// which `project test` does, and by a dormant copy about nothing at all.
pub(super) fn unasked(
    (repository, host): (&Repository, &HostSettings),
    named: Option<&str>,
    is_dormant: bool,
    notes: &mut Vec<String>,
) -> Option<String> {
    if host.kind_of(repository) == HostKind::Local {
        return None;
    }
    if named.is_none() && is_dormant {
        notes.push(
            "jobs start from `main`, since this copy is dormant and nothing of it goes out, so that the main branch of the \
             repository was not asked for; name the base branch if it is another"
                .to_owned(),
        );
        return Some("main".to_owned());
    }
    named.map(str::to_owned)
}

/// The branch that jobs start from, after the repository's host, or git, was asked where that is needed; and notes about what
/// came of it.
pub(super) async fn ask(
    (repository, host): (&Repository, &HostSettings),
    secret: Option<HostSecret>,
    named: Option<String>,
    docs_paths: &[String],
    notes: &mut Vec<String>,
) -> String {
    let hosts = Hosts::new(HostsSettings { time_limit: PATIENCE, tries: 1, ..HostsSettings::default() });
    let connection = hosts.connect(repository, host, secret);
    let branch = match named {
        Some(branch) => branch,
        None => match main_branch(&connection).await {
            Ok(branch) => {
                notes.push(format!("jobs start from `{branch}`, the main branch of the repository"));
                branch
            }
            Err(error) => {
                notes.push(format!(
                    "jobs start from `main`, since the main branch of the repository could not be asked for: {error}; \
                     name the base branch if it is another"
                ));
                return "main".to_owned();
            }
        },
    };
    let files = match connection {
        Ok(connection) => connection.files(&branch).await,
        Err(error) => Err(error),
    };
    match files {
        Ok(files) => notes.extend(docs_folder::in_files(&files, docs_paths, &branch).map(|missing| missing.why)),
        Err(error) => notes.push(format!(
            "it could not be checked whether the documentation is there: {error}; `copydesk project test` looks again"
        )),
    }
    branch
}

async fn main_branch(connection: &Result<Connection, ForgeError>) -> Result<String, ForgeError> {
    match connection {
        Ok(connection) => connection.default_branch().await,
        Err(error) => Err(error.clone()),
    }
}
