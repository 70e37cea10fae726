//! `copydesk backup`: a copy of an installation while it runs, which says of itself what must be in it.

pub(crate) mod files;
pub(crate) mod manifest;
pub(crate) mod verify;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use copydesk_domain::{Clock, SystemClock, Timestamp};
use copydesk_store::look_at_snapshot;
use copydesk_views::store::ViewStore;
use serde_json::json;

use crate::args::BackupFlags;
use crate::config::Config;
use crate::failure::Failure;
use crate::views::open_views;
use crate::{data_folder, output, secrets, store};
use files::{copy_file, copy_folder, make_private, sync_folder, with_suffix};
use manifest::Manifest;
use verify::{DATABASE, VIEWS};

/// The keys that secrets are sealed with.
pub(crate) const KEYS: &str = "credentials.key";
/// The secret of an earlier version.
pub(crate) const OLD_SECRET: &str = "secret.key";
pub(crate) const LISTS: &str = "lists";

/// `copydesk backup FOLDER`
pub(crate) async fn run(
    flags: BackupFlags,
    config: impl FnOnce() -> Result<Config, Failure>,
) -> Result<ExitCode, Failure> {
    if flags.only_verify {
        return verify::verify(&flags.folder, flags.json).await;
    }
    make(flags, &config()?).await
}

async fn make(flags: BackupFlags, config: &Config) -> Result<ExitCode, Failure> {
    data_folder::check(config)?;
    // `out/` is `out`: what is beside it gets a name that begins with it.
    let folder: PathBuf = flags.folder.components().collect();
    let told = |error: io::Error| Failure::error(format!("cannot write to {}: {error}", folder.display()));
    if folder.exists() {
        let there = Failure::usage(format!("there is something at {} already", folder.display()));
        return Err(there.hint("name a folder that does not exist yet; --only-verify looks at a backup that is there"));
    }
    // Whole or not there: it gets its name when everything is in it.
    let partial = with_suffix(&folder, ".partial");
    make_private(&partial).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            let left = format!("there is {}, left by a backup that did not end, or one runs", partial.display());
            Failure::error(left).hint("remove it if no backup runs")
        }
        _ => told(error),
    })?;
    let made = async {
        let manifest = fill(&partial, config).await?;
        if flags.verify {
            check(&partial).await?;
        }
        sync_folder(&partial).and_then(|()| std::fs::rename(&partial, &folder)).map_err(told)?;
        folder.parent().filter(|parent| parent.is_dir()).map_or(Ok(()), sync_folder).map_err(told)?;
        Ok::<_, Failure>(manifest)
    };
    match made.await {
        Ok(manifest) => report(&folder, &manifest, flags.verify, config, flags.json),
        Err(failure) => {
            let _ = std::fs::remove_dir_all(&partial);
            Err(failure)
        }
    }
}

/// Copies everything and says what must be there.
async fn fill(folder: &Path, config: &Config) -> Result<Manifest, Failure> {
    // Views first, because a project without its latest views is better than views without their project.
    let views = open_views(config).await?;
    let copied = views.backup(&folder.join(VIEWS)).await;
    views.close().await;
    copied?;
    // The keys of the moment at which the sealed secrets are copied, and not those before or after a rotation.
    let (store, vault) = (store::open_ready(config).await?, secrets::vault(config));
    let held = vault.hold().await?;
    let taken_at = SystemClock.now();
    store.backup(&folder.join(DATABASE)).await?;
    // Whoever keeps the keys elsewhere does not want them here.
    let has_keys = config.credentials.key_file.is_none() && vault.is_there()?;
    if has_keys {
        vault.copy_to(&held, &folder.join(KEYS))?;
    }
    drop(held);
    let told = |error: io::Error| Failure::error(format!("cannot copy to {}: {error}", folder.display()));
    // Only where an earlier version left one.
    if config.secret_file.is_none() && config.secret_path().is_file() {
        copy_file(&config.secret_path(), &folder.join(OLD_SECRET)).map_err(told)?;
    }
    let lists = config.lists_folder();
    if lists.is_dir() {
        copy_folder(&lists, &folder.join(LISTS)).map_err(told)?;
    }
    let manifest = describe(folder, store.kind(), taken_at, has_keys).await?;
    manifest.write(folder).map_err(told)?;
    Ok(manifest)
}

/// What there is in a copy now that it is made.
async fn describe(folder: &Path, kind: &str, taken_at: Timestamp, has_keys: bool) -> Result<Manifest, Failure> {
    let counted = verify::count_views(&folder.join(VIEWS), folder.parent()).await?;
    let place: PathBuf = folder.to_owned();
    let looked = tokio::task::spawn_blocking(move || {
        let snapshot = look_at_snapshot(&place.join(DATABASE)).map_err(Failure::from)?;
        let told = |error| Failure::error(format!("what was copied cannot be read: {error}"));
        Ok::<_, Failure>((snapshot, manifest::digests(&place).map_err(told)?))
    });
    let (snapshot, files) = looked.await.map_err(|error| Failure::error(error.to_string()))??;
    if let Some(fault) = snapshot.faults.first() {
        return Err(Failure::error(format!("the database is damaged, and so is every copy of it: {fault}")));
    }
    Ok(Manifest {
        format: Manifest::FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        database: kind.to_owned(),
        schema: snapshot.schema,
        taken_at,
        rows: snapshot.rows,
        views: counted.views,
        lost_views: counted.lost,
        has_keys,
        files,
    })
}

/// Reads all that was written again.
async fn check(folder: &Path) -> Result<(), Failure> {
    let (_, faults) = verify::examine(folder).await?;
    if faults.is_empty() {
        return Ok(());
    }
    Err(Failure::error(format!("the backup that was written is not whole:\n{}", verify::told(&faults).join("\n"))))
}

fn report(
    folder: &Path,
    manifest: &Manifest,
    is_verified: bool,
    config: &Config,
    as_json: bool,
) -> Result<ExitCode, Failure> {
    if as_json {
        return output::json(&json!({ "folder": folder, "verified": is_verified, "backup": manifest }));
    }
    let how = if is_verified { ", verified" } else { "" };
    output::line(&format!("{} holds {}{how}.", folder.display(), verify::summary(manifest)));
    output::line("`copydesk restore` brings it back.");
    if let Some(file) = &config.credentials.key_file {
        output::line(&format!("The keys of the secrets are not in it: keep {} with it.", file.display()));
    }
    verify::note_losses(manifest);
    Ok(ExitCode::SUCCESS)
}
