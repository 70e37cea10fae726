use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use copydesk_views::store::ViewStore;
use serde_json::json;

use super::open_views;
use crate::config::Config;
use crate::failure::Failure;
use crate::{output, secrets, store};

/// `copydesk backup FOLDER`: a copy that can be used as a data folder.
pub(crate) async fn backup(folder: PathBuf, as_json: bool, config: &Config) -> Result<ExitCode, Failure> {
    let told = |error: io::Error| Failure::error(format!("cannot write to {}: {error}", folder.display()));
    if folder.exists() {
        let there = Failure::usage(format!("there is something at {} already", folder.display()));
        return Err(there.hint("name a folder that does not exist yet"));
    }
    // Whole or not there: it gets its name when everything is in it.
    let partial = with_suffix(&folder, ".partial");
    make_private(&partial).map_err(told)?;
    match fill(&partial, config).await {
        Ok(database) => {
            sync_folder(&partial).and_then(|()| std::fs::rename(&partial, &folder)).map_err(told)?;
            report(&folder, database, config, as_json)
        }
        Err(failure) => {
            let _ = std::fs::remove_dir_all(&partial);
            Err(failure)
        }
    }
}

/// Says whether the database could be copied too.
async fn fill(folder: &Path, config: &Config) -> Result<bool, Failure> {
    // Views first, because a project without its latest views is better than views without their project.
    let views = open_views(config).await?;
    let copied = views.backup(&folder.join("views")).await;
    views.close().await;
    copied?;
    // The keys of the moment at which the sealed secrets are copied, and not those before or after a rotation.
    let (store, vault) = (store::open_ready(config).await?, secrets::vault(config));
    let held = vault.hold().await?;
    let database = store.backup(&folder.join("copydesk.db")).await?;
    // Whoever keeps the keys elsewhere does not want them here.
    if config.credentials.key_file.is_none() && vault.is_there()? {
        vault.copy_to(&held, &folder.join("credentials.key"))?;
    }
    drop(held);
    let told = |error: io::Error| Failure::error(format!("cannot copy to {}: {error}", folder.display()));
    // Only where an earlier version left one.
    if config.secret_file.is_none() && config.secret_path().is_file() {
        copy_file(&config.secret_path(), &folder.join("secret.key")).map_err(told)?;
    }
    let lists = config.lists_folder();
    if lists.is_dir() {
        copy_folder(&lists, &folder.join("lists")).map_err(told)?;
    }
    Ok(database)
}

fn report(folder: &Path, database: bool, config: &Config, as_json: bool) -> Result<ExitCode, Failure> {
    if as_json {
        return output::json(&json!({ "folder": folder, "database": database }));
    }
    if database {
        output::line(&format!("Everything is in {}. It can be used as --data-dir.", folder.display()));
    } else {
        output::line(&format!("Page views, lists and keys are in {}.", folder.display()));
        output::line("Projects, keys and jobs are in PostgreSQL: back that up with its own tools (pg_dump).");
    }
    if let Some(file) = &config.credentials.key_file {
        output::line(&format!("The keys of the secrets are not in it: keep {} with it.", file.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Permissions are copied too.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::copy(from, to)?;
    std::fs::File::open(to)?.sync_all()
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    make_private(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        // A link could lead anywhere, and is no list.
        match entry.file_type()? {
            kind if kind.is_dir() => copy_folder(&entry.path(), &target)?,
            kind if kind.is_file() => copy_file(&entry.path(), &target)?,
            _ => {}
        }
    }
    sync_folder(to)
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    std::fs::File::open(folder)?.sync_all()
}
