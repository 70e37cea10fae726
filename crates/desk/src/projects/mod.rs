//! Making, changing, trying out and deleting projects, whoever asks for it.

mod draft;
mod main_branch;
mod reach;
mod source;
mod talk;
mod trial;
mod view;

use std::sync::Arc;

use copydesk_boxed::boxed;
use copydesk_domain::{Invalid, Project, ProjectId};
use copydesk_forge::HostSecret;
use copydesk_store::{NewProject, Store, StoreError};
use copydesk_views::store::{ViewStore, ViewsError};

pub use copydesk_forge::Ability;
pub use draft::{Checked, HostDraft, ProjectDraft, ViewsDraft, WritePathsDraft};
pub use reach::Reach;
pub use source::{NotAdded, SourceDraft, add_source, source_notes, source_trials};
pub use talk::TalkDraft;
pub use trial::{Trial, Tried, quick_trials, trials, trials_as_they_come, works};
pub use view::{ProjectView, TestView, TrialResult, TrialView};

/// Why a project was not made or changed.
#[derive(Debug, thiserror::Error)]
pub enum NotSaved {
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error("the id {0} is taken")]
    Taken(ProjectId),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Makes a project of what was checked, with defaults for what was not given, and says what may be a mistake. Without an
/// id it gets one made from its name; without a base branch, the main branch of its repository, for which `secret` is
/// shown to its host.
#[boxed]
pub async fn create(
    store: &Store,
    id: Option<ProjectId>,
    Checked { change, mut notes }: Checked,
    secret: Option<HostSecret>,
) -> Result<(Project, Vec<String>), NotSaved> {
    let repository = change.repository.ok_or_else(|| Invalid::new("repository", "is missing"))?;
    let host = change.host.unwrap_or_default();
    let docs_paths = change.docs_paths.unwrap_or_else(|| vec!["docs".to_owned()]);
    let place = (&repository, &host);
    let is_dormant = store.dormancy().await?.is_some();
    let base_ref = match main_branch::unasked(place, change.base_ref.as_deref(), is_dormant, &mut notes) {
        Some(base_ref) => base_ref,
        None => main_branch::ask(place, secret, change.base_ref, &docs_paths, &mut notes).await,
    };
    let new = NewProject {
        id: id.clone(),
        name: change.name.ok_or_else(|| Invalid::new("name", "is missing"))?,
        repository,
        base_ref,
        docs_paths,
        write_paths: change.write_paths.unwrap_or_default(),
        time_zone: change.time_zone.unwrap_or_else(|| "UTC".to_owned()),
        jobs_per_hour: change.jobs_per_hour.flatten(),
        max_running: change.max_running.flatten(),
        time_limit_seconds: change.time_limit_seconds.flatten(),
        job_cost: change.job_cost.flatten(),
        on_findings: change.on_findings.unwrap_or_default(),
        views: change.views.unwrap_or_default(),
        host,
    };
    // Without an id that was asked for there is always a free one.
    let taken = || NotSaved::Taken(id.unwrap_or_else(|| ProjectId::from_name("")));
    let project = store.create_project(new).await?.ok_or_else(taken)?;
    Ok((project, notes))
}

/// Why a project is not, or not wholly, deleted.
#[derive(Debug, thiserror::Error)]
pub enum NotDeleted {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The project is gone; some of its page views may still be on disk.
    #[error("the project is deleted, but not all of its page views: {0}")]
    Views(#[from] ViewsError),
}

/// Deletes a project with its keys, jobs and page views. False: there is no such project.
#[boxed]
pub async fn delete(store: &Store, views: &dyn ViewStore, id: &ProjectId) -> Result<bool, NotDeleted> {
    let deleted = store.delete_project(id).await?;
    if deleted {
        views.remove(id).await?;
    }
    Ok(deleted)
}

/// The same on its own, so that whoever goes away does not leave it half done.
#[boxed]
pub async fn delete_surely(store: Store, views: Arc<dyn ViewStore>, id: ProjectId) -> Result<bool, NotDeleted> {
    let deleting = tokio::spawn(async move { delete(&store, views.as_ref(), &id).await });
    let broken = |error| NotDeleted::Views(ViewsError::Unsure(format!("the deletion broke down: {error}")));
    deleting.await.unwrap_or_else(|error| Err(broken(error)))
}
