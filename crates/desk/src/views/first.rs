//! The first page view of a project, told of once: whoever kept it, and whatever was killed in between.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use copydesk_domain::ProjectId;
use copydesk_store::{Store, StoreError, ViewsSoFar};
use copydesk_views::Bucket;
use copydesk_views::store::{Question, ViewsError};
use tokio::sync::Notify;

use super::Views;

/// The projects that this process has kept views of. The first view of a process wakes whoever looks; what it finds is
/// decided by what is kept, so that nothing is lost with the process.
#[derive(Default)]
pub(super) struct Arrivals {
    seen: Mutex<HashSet<ProjectId>>,
    news: Notify,
}

impl Arrivals {
    pub(super) fn note(&self, project: &ProjectId) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if !seen.contains(project) {
            seen.insert(project.clone());
            self.news.notify_one();
        }
    }

    pub(super) async fn news(&self) {
        self.news.notified().await;
    }
}

/// Tells of the first view of each project that has views now and had none before.
pub(crate) async fn tell_first_views(views: &Views, store: &Store) {
    if let Err(why) = look(views, store).await {
        tracing::warn!(why, "cannot announce first page views; trying again");
    }
}

async fn look(views: &Views, store: &Store) -> Result<(), String> {
    let waiting = store.without_first_view().await.map_err(in_store)?;
    if waiting.is_empty() {
        return Ok(());
    }
    let with_views = views.store().projects().await.map_err(in_views)?;
    for (project, so_far) in waiting {
        let is_kept = with_views.binary_search_by(|it| it.as_str().cmp(project.as_str())).is_ok();
        // A project whose views cannot be read does not keep the others waiting.
        if let Err(why) = look_at(views, store, &project, so_far, is_kept).await {
            tracing::warn!(project = project.as_str(), why, "cannot tell of a first page view; trying again");
        }
    }
    Ok(())
}

async fn look_at(
    views: &Views,
    store: &Store,
    id: &ProjectId,
    so_far: ViewsSoFar,
    is_kept: bool,
) -> Result<(), String> {
    let has_views = is_kept && is_counted(views, store, id).await?;
    match so_far {
        ViewsSoFar::None if has_views => drop(store.tell_first_view(id).await.map_err(in_store)?),
        ViewsSoFar::None => {}
        ViewsSoFar::Unknown => store.note_views(id, has_views).await.map_err(in_store)?,
    }
    Ok(())
}

/// Whether the figures of a project show any of its views. Crawlers come to a new site before anybody else, and are not
/// counted; nor is a channel that the project leaves out.
async fn is_counted(views: &Views, store: &Store, id: &ProjectId) -> Result<bool, String> {
    let Some(project) = store.project(id).await.map_err(in_store)? else { return Ok(false) };
    let question = Question { from: Bucket::MIN, to: Bucket::MAX, sources: project.views.sources };
    let ranking = views.store().ranking(id.as_str(), question).await.map_err(in_views)?;
    Ok(ranking.totals().total() > 0)
}

fn in_store(error: StoreError) -> String {
    error.to_string()
}

fn in_views(error: ViewsError) -> String {
    error.to_string()
}
