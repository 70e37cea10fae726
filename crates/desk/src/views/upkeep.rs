//! The chores of page views: forgetting what is too old, and taking up lists that have changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use copydesk_store::Store;
use copydesk_views::classify::Classifier;

use super::Views;

/// A file or folder deeper down is not looked at.
const DEPTH: usize = 3;

/// What is remembered from one round to the next.
#[derive(Default)]
pub(crate) struct Chores {
    /// How the lists were when they were last looked at.
    lists: Option<Vec<(PathBuf, Option<SystemTime>, u64)>>,
}

impl Chores {
    /// Takes up lists that have changed since the last round. Lists that cannot be read leave everything as it is.
    pub(crate) async fn lists(&mut self, views: &Views) {
        let Some(folder) = views.settings().lists.clone() else { return };
        let looked = tokio::task::spawn_blocking({
            let folder = folder.clone();
            move || look(&folder)
        });
        let Ok(found) = looked.await else { return };
        let known = self.lists.replace(found.clone());
        // The first look only learns how they are: they were read when the server started.
        if known.is_none_or(|known| known == found) {
            return;
        }
        match tokio::task::spawn_blocking(move || Classifier::load(Some(&folder))).await {
            Ok(Ok(lists)) => {
                tracing::info!("the lists of agents have changed");
                views.set_lists(Arc::new(lists));
            }
            Ok(Err(error)) => tracing::warn!(%error, "the lists of agents cannot be read; going on with the old ones"),
            Err(error) => tracing::error!(%error, "reading the lists of agents failed"),
        }
    }
}

fn look(folder: &Path) -> Vec<(PathBuf, Option<SystemTime>, u64)> {
    let mut found = Vec::new();
    gather(folder, DEPTH, &mut found);
    found.sort();
    found
}

fn gather(folder: &Path, depth: usize, found: &mut Vec<(PathBuf, Option<SystemTime>, u64)>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        match entry.metadata() {
            Ok(is) if is.is_dir() && depth > 1 => gather(&entry.path(), depth - 1, found),
            Ok(is) => found.push((entry.path(), is.modified().ok(), is.len())),
            Err(_) => {}
        }
    }
}

/// Forgets the views of each project that are older than it keeps them.
pub(crate) async fn forget_old(views: &Views, store: &Store) {
    let projects = match store.projects().await {
        Ok(projects) => projects,
        Err(error) => return tracing::warn!(%error, "cannot tell which page views are too old"),
    };
    for project in projects {
        let days = project.views.keep_days.unwrap_or(views.settings().keep_days);
        // Also where they are kept for ever: what was forgotten before that must go some day.
        if let Err(error) = views.store().expire(&project.id, days).await {
            tracing::warn!(%error, project = project.id.as_str(), "cannot forget page views that are too old");
        }
    }
}

/// Removes the views of projects that were deleted on another machine. Only of those that the audit log tells of: whoever
/// runs this with a database by mistake loses nothing.
pub(crate) async fn forget_gone(views: &Views, store: &Store) {
    // Before it is asked which projects there are: views of one that is made after that are not in the list.
    let Ok(kept) = views.store().projects().await else { return };
    let deleted = match store.deleted_projects(kept).await {
        Ok(deleted) => deleted,
        Err(error) => return tracing::warn!(%error, "cannot tell whose page views may go"),
    };
    for project in deleted {
        match views.store().remove(&project).await {
            Ok(()) => {
                tracing::info!(project = project.as_str(), "removed the page views of a project that was deleted")
            }
            Err(error) => {
                tracing::warn!(%error, project = project.as_str(), "page views of a project cannot be removed")
            }
        }
    }
}
