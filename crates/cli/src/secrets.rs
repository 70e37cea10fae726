//! What seals the secrets of this installation, those of senders, and those that earlier versions left.

use std::io;
use std::path::Path;
use std::time::Duration;

use copydesk_desk::{OLD_SECRET_TAKEN, Sender, SenderSecrets};
use copydesk_domain::{ProjectId, unhex};
use copydesk_store::{Store, Vault};

use crate::args::RotateFlags;
use crate::config::{Config, DatabaseUrl};
use crate::failure::Failure;
use crate::output::counted;

pub(crate) fn vault(config: &Config) -> Vault {
    Vault::new(config.credentials_key_path())
}

/// The secret of a sender, a new one if that is wished.
pub(crate) async fn of_sender(
    config: &Config,
    store: Store,
    project_id: &ProjectId,
    sender: Sender,
    flags: &RotateFlags,
) -> Result<String, Failure> {
    let secrets = SenderSecrets::new(store, vault(config));
    let secret = match flags {
        RotateFlags { rotate: false, .. } => secrets.show(project_id, sender).await?,
        RotateFlags { at_once: true, .. } => secrets.rotate(project_id, sender, Duration::ZERO).await?,
        _ => secrets.rotate(project_id, sender, OLD_SECRET_TAKEN).await?,
    };
    secret.ok_or_else(|| Failure::unknown_project(project_id))
}

/// Until this version the secrets of log drains and hooks were made from a secret file, and those of webhooks sealed with
/// it. What is left of that in the database is sealed with the key file. Gives what there is to say about it.
pub(crate) async fn adopt(config: &Config, store: &Store) -> Result<Option<String>, Failure> {
    let (path, vault) = (config.secret_path(), vault(config));
    let Some(secret) = read(&path)? else {
        let waiting = store.unadopted_secrets().await?;
        return Ok((waiting > 0).then(|| {
            format!(
                "{} of webhooks, log drains or hooks from an earlier version cannot be used without its secret file {}: put the \
                 file back, or create the secrets again",
                counted(waiting as u64, "secret"),
                path.display()
            )
        }));
    };
    let adopted = store.adopt_secrets(&vault, &secret).await.map_err(|error| {
        Failure::error(format!("cannot import the secrets of an earlier version from {}: {error}", path.display()))
    })?;
    Ok((adopted > 0).then(|| {
        format!(
            "encrypted {} of an earlier version with {}; {} is no longer needed once this version has run on every machine",
            counted(adopted as u64, "secret"),
            vault.path().display(),
            path.display()
        )
    }))
}

/// Machines that share a database must have the same keys, or each could not open what the others seal, and a job would fail
/// or not by where it runs. With a file as the database there is one machine, which says so where a secret is needed.
pub(crate) async fn check_shared(config: &Config, store: &Store) -> Result<(), Failure> {
    let vault = vault(config);
    if !matches!(config.database(), DatabaseUrl::Postgres(_)) {
        return Ok(());
    }
    let foreign = store.foreign_keys(&vault).await.map_err(|error| Failure::error(error.to_string()))?;
    if foreign.is_empty() {
        return Ok(());
    }
    let (file, keys) = (vault.path().display(), foreign.join(", "));
    Err(Failure::error(format!(
        "the database holds secrets that another machine encrypted with the key {keys}, which is not in the key file {file} of \
         this one"
    ))
    .hint(format!(
        "copy credentials.key from the data folder of that machine to {file}; if it is lost, set or remove those secrets with \
         `copydesk project credential`"
    )))
}

fn read(path: &Path) -> Result<Option<[u8; 32]>, Failure> {
    let told = |problem: String| Failure::error(format!("the secret file {}: {problem}", path.display()));
    match std::fs::read_to_string(path) {
        Ok(text) => {
            let secret = unhex(text.trim().as_bytes()).and_then(|bytes| bytes.try_into().ok());
            let wrong = || told("must hold 64 hexadecimal digits".to_owned()).hint("put it back from a backup");
            secret.map(Some).ok_or_else(wrong)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(told(error.to_string())),
    }
}
