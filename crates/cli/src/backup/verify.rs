//! Whether a backup is whole: every file is as it was written, the database is sound, and what is in it is as much as it
//! says.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use copydesk_domain::SystemClock;
use copydesk_store::{Snapshot, look_at_snapshot};
use copydesk_views::store::{ViewStore, ViewsError};
use copydesk_views_database::{count_backup, is_backup as is_database_copy};
use copydesk_views_embedded::{Options, SharedStore};
use serde_json::json;

use super::files::mirror_folder;
use super::manifest::{self, Manifest};
use crate::failure::Failure;
use crate::output::{self, counted};

/// The database of a backup, whatever it was made from.
pub(crate) const DATABASE: &str = "copydesk.db";
pub(crate) const VIEWS: &str = "views";
/// Faults that are told one by one.
const MOST: usize = 20;

/// `copydesk backup FOLDER --only-verify`
pub(super) async fn verify(folder: &Path, as_json: bool) -> Result<ExitCode, Failure> {
    if !folder.is_dir() {
        return Err(Failure::usage(format!("there is no folder {}", folder.display())));
    }
    let (manifest, faults) = examine(folder).await?;
    let code = if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if as_json {
        output::json(&json!({ "folder": folder, "whole": faults.is_empty(), "faults": faults, "backup": manifest }))?;
        return Ok(code);
    }
    match (manifest, faults.as_slice()) {
        (Some(manifest), []) => {
            output::line(&format!("{} is whole: {}.", folder.display(), summary(&manifest)));
            note_losses(&manifest);
        }
        (_, faults) => {
            eprintln!("copydesk: the backup {} is not whole:", folder.display());
            told(faults).iter().for_each(|fault| eprintln!("  {fault}"));
        }
    }
    Ok(code)
}

/// What there is in a backup, in a few words.
pub(crate) fn summary(manifest: &Manifest) -> String {
    let rows: u64 = manifest.rows.values().sum();
    let views: u64 = manifest.views.values().sum();
    let of = |table: &str| manifest.rows.get(table).copied().unwrap_or(0);
    let bytes = output::bytes(manifest.files.values().map(|file| file.bytes).sum());
    format!(
        "{}, {}, {} and {} at {}; {}, {bytes}",
        counted(of("projects"), "project"),
        counted(of("jobs"), "job"),
        counted(rows, "database row"),
        counted(views, "page view"),
        manifest.taken_at,
        counted(manifest.files.len() as u64, "file")
    )
}

/// Says what of the page views was damaged or lost before the backup was made.
pub(crate) fn note_losses(manifest: &Manifest) {
    if manifest.lost_views.is_empty() {
        return;
    }
    eprintln!("copydesk: note: before the backup was made, page views were damaged or lost:");
    told(&manifest.lost_views).iter().for_each(|loss| eprintln!("  {loss}"));
}

/// So many that a terminal can hold them.
pub(crate) fn told(faults: &[String]) -> Vec<String> {
    let mut told: Vec<String> = faults.iter().take(MOST).map(|fault| output::printable(fault)).collect();
    if faults.len() > MOST {
        told.push(format!("and {} more", faults.len() - MOST));
    }
    told
}

/// Everything that is wrong with a backup. Nothing in it is touched.
pub(crate) async fn examine(folder: &Path) -> Result<(Option<Manifest>, Vec<String>), Failure> {
    let mut manifest = match Manifest::read(folder) {
        Ok(manifest) => manifest,
        Err(fault) => return Ok((None, vec![fault])),
    };
    let (place, expected) = (folder.to_owned(), manifest.clone());
    let looked = tokio::task::spawn_blocking(move || look_at_files(&place, &expected));
    let mut faults = looked.await.map_err(|error| Failure::error(error.to_string()))?;
    if !faults.is_empty() {
        // What is in files that are not as they were written says nothing more.
        return Ok((Some(manifest), faults));
    }
    let database = folder.join(DATABASE);
    let looked = tokio::task::spawn_blocking(move || look_at_snapshot(&database)).await;
    match looked.map_err(|error| Failure::error(error.to_string()))? {
        Ok(found) => faults.extend(compare_rows(&manifest, found)),
        Err(error) => faults.push(format!("{DATABASE}: {error}")),
    }
    let counted = count_views(&folder.join(VIEWS), folder.parent()).await?;
    faults.extend(differences("page views of the project", &manifest.views, &counted.views));
    // The files are as they were written, so the damage was there before.
    let unknown: Vec<String> = counted.lost.into_iter().filter(|loss| !manifest.lost_views.contains(loss)).collect();
    manifest.lost_views.extend(unknown);
    Ok((Some(manifest), faults))
}

fn look_at_files(folder: &Path, manifest: &Manifest) -> Vec<String> {
    let found = match manifest::list(folder) {
        Ok(found) => found,
        Err(error) => return vec![format!("the folder cannot be read: {error}")],
    };
    let mut faults = Vec::new();
    for (name, expected) in &manifest.files {
        let Some(path) = found.get(name) else {
            faults.push(format!("{name} is missing"));
            continue;
        };
        match manifest::digest(path) {
            Ok(is) if is == *expected => {}
            Ok(is) if is.bytes != expected.bytes => {
                faults.push(format!("{name} has {} bytes instead of {}", is.bytes, expected.bytes));
            }
            Ok(_) => faults.push(format!("{name} is damaged: its content is not what was written")),
            Err(error) => faults.push(format!("{name} cannot be read: {error}")),
        }
    }
    let strange = found.keys().filter(|name| !manifest.files.contains_key(*name));
    faults.extend(strange.map(|name| format!("{name} does not belong to the backup")));
    faults
}

fn compare_rows(manifest: &Manifest, found: Snapshot) -> Vec<String> {
    let mut faults: Vec<String> = found.faults.into_iter().map(|fault| format!("{DATABASE}: {fault}")).collect();
    if found.schema != manifest.schema {
        faults.push(format!("{DATABASE} has the schema {} instead of {}", found.schema, manifest.schema));
    }
    faults.extend(differences("rows of the table", &manifest.rows, &found.rows));
    faults
}

/// Where two counts differ.
pub(crate) fn differences(what: &str, expected: &BTreeMap<String, u64>, found: &BTreeMap<String, u64>) -> Vec<String> {
    let names: std::collections::BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
    let of = |counts: &BTreeMap<String, u64>, name: &str| counts.get(name).copied();
    let shown = |count: Option<u64>| count.map_or_else(|| "none".to_owned(), |count| count.to_string());
    let differing = names.into_iter().filter(|name| of(expected, name) != of(found, name));
    differing
        .map(|name| format!("{what} {name}: {} instead of {}", shown(of(found, name)), shown(of(expected, name))))
        .collect()
}

/// What there is of page views in a folder.
#[derive(Default)]
pub(crate) struct CountedViews {
    pub(crate) views: BTreeMap<String, u64>,
    /// What is known to be lost, and what turns out to be when all is read.
    pub(crate) lost: Vec<String>,
}

/// Counts the page views of a copy that nobody uses, without touching it: whoever opens a store writes into it. What is made
/// for that goes into the folder `beside`, where most of it need not be copied, or elsewhere if nothing can be written there.
pub(crate) async fn count_views(folder: &Path, beside: Option<&Path>) -> Result<CountedViews, Failure> {
    if !folder.is_dir() {
        return Ok(CountedViews::default());
    }
    let told = |error: io::Error| Failure::error(format!("the page views cannot be looked at: {error}"));
    let from = folder.to_owned();
    if is_database_copy(folder) {
        let counted = tokio::task::spawn_blocking(move || count_backup(&from)).await;
        let views = counted.map_err(|error| Failure::error(error.to_string()))?.map_err(told)?;
        return Ok(CountedViews { views, lost: Vec::new() });
    }
    // The parent of a bare name is nothing.
    let beside = beside.filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned();
    let made = tokio::task::spawn_blocking(move || {
        let place = tempfile::Builder::new().prefix(".copydesk-verify-").tempdir_in(beside);
        let place = place.or_else(|_| tempfile::tempdir())?;
        mirror_folder(&from, &place.path().join(VIEWS))?;
        Ok(place)
    });
    let place = made.await.map_err(|error| Failure::error(error.to_string()))?.map_err(told)?;
    let store = SharedStore::open(&place.path().join(VIEWS), Options::new(Arc::new(SystemClock))).await?;
    let counted = count(&store).await;
    store.close().await;
    counted
}

/// How many views of a project can be read.
async fn left(store: &dyn ViewStore, project: &str, is_damaged: bool) -> Result<u64, ViewsError> {
    if is_damaged {
        // The store saves what it can of damaged files while it runs; every count is made when that is done.
        store.repair(Some(project)).await?;
    }
    Ok(store.status(project).await?.views)
}

/// Counts what a store has that nobody else uses, and reads every byte of it.
pub(crate) async fn count(store: &dyn ViewStore) -> Result<CountedViews, Failure> {
    let mut views = BTreeMap::new();
    let mut losses = store.losses(None).await?.list;
    losses.extend(store.verify(None).await?);
    for project in store.projects().await? {
        let damaged = store.verify(Some(&project)).await?;
        let counted = match left(store, &project, !damaged.is_empty()).await {
            Err(ViewsError::Damaged(_)) => 0,
            counted => counted?,
        };
        losses.extend(damaged);
        views.insert(project, counted);
    }
    let mut lost = Vec::new();
    for loss in losses {
        let whose = loss.project.as_deref().unwrap_or("any project");
        let told = format!("page views of {whose}: {}", loss.sentence());
        if !lost.contains(&told) {
            lost.push(told);
        }
    }
    Ok(CountedViews { views, lost })
}
