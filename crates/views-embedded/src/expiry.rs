//! Forgetting by age, on evidence: a look at a clock alone never costs a view.
//!
//! The floor follows the store's own time, which a wrong clock does not move far, and never gets ahead of the newest view
//! less the days that are kept. If more than two days would go at once it waits until the same is wanted hours later.

use std::sync::Arc;

use copydesk_views::Bucket;
use copydesk_views::store::floor::{Decision, SECOND_LOOK};
use copydesk_views::store::{Expired, Status, ViewsError};

use super::changes::{put, retain_with};
use super::manifest::Manifest;
use super::project::Project;
use super::shared::{Shared, unavailable};
use super::{overview, repair};

/// Forgets views that are older than so many days; with none, only what can no longer be brought back.
pub(super) fn expire(shared: &Shared, project: &Arc<Project>, days: u32) -> Result<Expired, ViewsError> {
    let status = match days {
        0 => Status::default(),
        _ => repair::despite_damage(shared, project, || overview::status(project))?,
    };
    let now = shared.now();
    // Nobody replaces the manifest between the look at it and what comes of that.
    let work = project.work();
    let manifest = Arc::clone(&project.state().manifest);
    match manifest.floor_state().decide(&status, days, now) {
        Decision::Stay => retain_with(shared, project, &work, manifest.floor.unwrap_or(Bucket::MIN))?,
        Decision::Move(to) => {
            tracing::info!(project = %project.id, before = %to.begins(), "page views that are older than {days} days are forgotten");
            retain_with(shared, project, &work, to)?;
        }
        Decision::Wish(wish) => {
            tracing::warn!(
                project = %project.id, before = %wish.floor.begins(),
                "many page views are older than {days} days; they are forgotten if that is still so in {} hours",
                SECOND_LOOK.start / 3600
            );
            let manifest = Manifest { wish: Some(wish), next: work.last_number(), ..(*manifest).clone() };
            put(shared, project, manifest).map_err(|error| unavailable(&error))?;
        }
    }
    let state = project.state();
    Ok(Expired { floor: state.manifest.floor, wanted: state.manifest.wish.map(|wish| wish.floor) })
}
