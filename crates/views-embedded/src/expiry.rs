//! Forgetting by age, on evidence: a look at a clock alone never costs a view.
//!
//! The floor follows the store's own time, which a wrong clock does not move far, and never gets ahead of the newest view
//! less the days that are kept. If more than two days would go at once it waits until the same is wanted hours later.

use std::sync::Arc;

use copydesk_views::Bucket;
use copydesk_views::store::{Expired, Status, ViewsError};

use super::changes::{put, retain};
use super::manifest::{FloorWish, Manifest};
use super::project::Project;
use super::shared::{Shared, unavailable};
use super::{overview, repair};

/// What may go at once.
const STEP: u32 = 2 * Bucket::A_DAY;
/// How long after the first look the second comes, at the earliest, in seconds.
const SECOND_LOOK: u32 = 6 * 3600;

/// Forgets views that are older than so many days.
pub(super) fn expire(shared: &Shared, project: &Arc<Project>, days: u32) -> Result<Expired, ViewsError> {
    let status = repair::despite_damage(shared, project, || overview::status(project))?;
    let (now, manifest) = (shared.now(), Arc::clone(&project.state().manifest));
    let floor = manifest.floor.unwrap_or(Bucket::MIN);
    match decide(&manifest, &status, days, now) {
        Decision::Stay => retain(shared, project, floor)?,
        Decision::Move(to) => {
            tracing::info!(project = %project.id, before = %to.begins(), "page views that are older than {days} days are forgotten");
            retain(shared, project, to)?;
        }
        Decision::Wish(wish) => {
            tracing::warn!(
                project = %project.id, before = %wish.floor.begins(),
                "many page views are older than {days} days; they are forgotten if that is still so in {} hours",
                SECOND_LOOK / 3600
            );
            let work = project.work();
            let manifest = Manifest { wish: Some(wish), next: work.last_number(), ..(*manifest).clone() };
            put(shared, project, manifest).map_err(|error| unavailable(&error))?;
        }
    }
    let state = project.state();
    Ok(Expired { floor: state.manifest.floor, wanted: state.manifest.wish.map(|wish| wish.floor) })
}

#[derive(Debug, PartialEq, Eq)]
enum Decision {
    Stay,
    Move(Bucket),
    /// To be looked at again later.
    Wish(FloorWish),
}

fn decide(manifest: &Manifest, status: &Status, days: u32, now: u32) -> Decision {
    let (Some(first), Some(last)) = (status.first, status.last) else { return Decision::Stay };
    // The end of the newest view's quarter hour, or now, whichever is earlier.
    let newest = Bucket::of_seconds(i64::from(now)).0.min(last.0.saturating_add(1));
    let oldest = newest.saturating_sub(days.saturating_mul(Bucket::A_DAY));
    let target = Bucket(oldest - oldest % Bucket::A_DAY);
    let floor = manifest.floor.unwrap_or(Bucket::MIN);
    if days == 0 || target <= floor {
        return Decision::Stay;
    }
    let goes = target.0.saturating_sub(first.max(floor).0);
    if goes == 0 {
        return Decision::Move(target);
    }
    let rested = manifest.moves.last().is_none_or(|last| now.saturating_sub(last.at) >= SECOND_LOOK);
    if goes <= STEP {
        return if rested { Decision::Move(target) } else { Decision::Stay };
    }
    match manifest.wish {
        Some(wish) if now.saturating_sub(wish.at) < SECOND_LOOK => Decision::Stay,
        // What both looks agree on, and what may go without a second one.
        Some(wish) if wish.floor > floor => Decision::Move(target.min(Bucket(wish.floor.0.saturating_add(STEP)))),
        _ => Decision::Wish(FloorWish { floor: target, at: now }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::FloorMove;

    const DAY: u32 = Bucket::A_DAY;
    const SECONDS: u32 = 24 * 3600;

    fn status(first: u32, last: u32) -> Status {
        Status { first: Some(Bucket(first)), last: Some(Bucket(last)), ..Status::default() }
    }

    fn at(floor: u32) -> Manifest {
        Manifest { floor: Some(Bucket(floor)), ..Manifest::default() }
    }

    #[test]
    fn a_day_at_a_time_goes_without_more_ado_and_not_twice_within_hours() {
        let (views, now) = (status(10 * DAY, 100 * DAY), 100 * SECONDS);
        let manifest = at(69 * DAY);
        assert_eq!(decide(&manifest, &views, 30, now), Decision::Move(Bucket(70 * DAY)));
        let moved = FloorMove { from: Bucket(68 * DAY), at: now - 3600 };
        assert_eq!(decide(&Manifest { moves: vec![moved], ..manifest }, &views, 30, now), Decision::Stay);
    }

    #[test]
    fn many_days_go_only_after_a_second_look() {
        let (views, now) = (status(10 * DAY, 100 * DAY), 100 * SECONDS);
        let wish = FloorWish { floor: Bucket(70 * DAY), at: now };
        assert_eq!(decide(&Manifest::default(), &views, 30, now), Decision::Wish(wish));
        let waiting = Manifest { wish: Some(wish), ..Manifest::default() };
        assert_eq!(decide(&waiting, &views, 30, now + SECOND_LOOK - 1), Decision::Stay);
        assert_eq!(decide(&waiting, &views, 30, now + SECOND_LOOK), Decision::Move(Bucket(70 * DAY)));
        // What was wanted first is all that was looked at twice.
        assert_eq!(decide(&waiting, &views, 1, now + SECOND_LOOK), Decision::Move(Bucket(72 * DAY)));
        assert_eq!(decide(&waiting, &views, 90, now), Decision::Move(Bucket(10 * DAY)), "nothing goes with it");
    }

    #[test]
    fn it_never_gets_ahead_of_the_newest_view() {
        let decided = decide(&at(69 * DAY), &status(10 * DAY, 100 * DAY), 30, 220 * SECONDS);
        assert_eq!(decided, Decision::Move(Bucket(70 * DAY)));
        assert_eq!(decide(&Manifest::default(), &Status::default(), 30, 220 * SECONDS), Decision::Stay);
        assert_eq!(decide(&at(0), &status(10 * DAY, 100 * DAY), 0, 220 * SECONDS), Decision::Stay);
    }
}
