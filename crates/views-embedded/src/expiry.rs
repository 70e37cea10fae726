//! Forgetting by age, on evidence: a look at a clock alone never costs a view.
//!
//! The floor follows the store's own time, which a wrong clock does not move far, and never gets ahead of the newest view
//! less the days that are kept. If more than two days would go at once it waits until the same is wanted hours later.

use std::ops::Range;
use std::sync::Arc;

use copydesk_domain::AT_ONCE;
use copydesk_views::Bucket;
use copydesk_views::store::{Expired, Status, ViewsError};

use super::changes::{put, retain_with};
use super::manifest::{FloorWish, Manifest};
use super::project::Project;
use super::shared::{Shared, unavailable};
use super::{overview, repair};

/// What may go at once.
const STEP: u32 = AT_ONCE.as_secs() as u32 / DAY * Bucket::A_DAY;
/// How long after the first look the second comes, in seconds: at the earliest, and at the latest.
const SECOND_LOOK: Range<u32> = copydesk_domain::SECOND_LOOK.as_secs() as u32..2 * DAY;
const DAY: u32 = 24 * 3600;

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
    match decide(&manifest, &status, days, now) {
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
    let rested = manifest.moves.last().is_none_or(|last| now.saturating_sub(last.at) >= SECOND_LOOK.start);
    if goes <= STEP {
        return if rested { Decision::Move(target) } else { Decision::Stay };
    }
    match manifest.wish.and_then(|wish| Some((wish.floor, now.checked_sub(wish.at)?))) {
        Some((_, ago)) if ago < SECOND_LOOK.start => Decision::Stay,
        // What both looks agree on, and what may go without a second one.
        Some((wish, ago)) if wish > floor && ago <= SECOND_LOOK.end => {
            Decision::Move(target.min(Bucket(wish.0.saturating_add(STEP))))
        }
        // None yet, or one that is too old to say anything of what was wanted since.
        _ => Decision::Wish(FloorWish { floor: target, at: now }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::FloorMove;

    const DAY: u32 = Bucket::A_DAY;
    const SECONDS: u32 = super::DAY;

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
        assert_eq!(decide(&waiting, &views, 30, now + SECOND_LOOK.start - 1), Decision::Stay);
        assert_eq!(decide(&waiting, &views, 30, now + SECOND_LOOK.start), Decision::Move(Bucket(70 * DAY)));
        // What was wanted first is all that was looked at twice.
        assert_eq!(decide(&waiting, &views, 1, now + SECOND_LOOK.start), Decision::Move(Bucket(72 * DAY)));
        assert_eq!(decide(&waiting, &views, 90, now), Decision::Move(Bucket(10 * DAY)), "nothing goes with it");
    }

    #[test]
    fn a_wish_that_nobody_came_back_to_is_made_anew() {
        let (views, now) = (status(10 * DAY, 100 * DAY), 100 * SECONDS);
        let decided = |ago: i64| {
            let at = u32::try_from(i64::from(now) - ago).unwrap();
            let wish = FloorWish { floor: Bucket(70 * DAY), at };
            decide(&Manifest { wish: Some(wish), ..Manifest::default() }, &views, 30, now)
        };
        let anew = Decision::Wish(FloorWish { floor: Bucket(70 * DAY), at: now });
        assert_eq!(decided(48 * 3600), Decision::Move(Bucket(70 * DAY)));
        assert_eq!(decided(48 * 3600 + 1), anew, "what was wanted long ago");
        assert_eq!(decided(-1), anew, "what was wanted in a time that was wrong");
    }

    #[test]
    fn it_never_gets_ahead_of_the_newest_view() {
        let decided = decide(&at(69 * DAY), &status(10 * DAY, 100 * DAY), 30, 220 * SECONDS);
        assert_eq!(decided, Decision::Move(Bucket(70 * DAY)));
        assert_eq!(decide(&Manifest::default(), &Status::default(), 30, 220 * SECONDS), Decision::Stay);
        assert_eq!(decide(&at(0), &status(10 * DAY, 100 * DAY), 0, 220 * SECONDS), Decision::Stay);
    }
}
