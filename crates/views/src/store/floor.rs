//! Where the views that are kept begin, and how that moves: on evidence, so that a look at a clock alone never costs a view.
//!
//! The floor follows the store's own time, which a wrong clock does not move far, and never gets ahead of the newest view
//! less the days that are kept. If more than two days would go at once it waits until the same is wanted hours later. What
//! a move has hidden stays for some days, and can be brought back.

use std::ops::Range;

use copydesk_domain::AT_ONCE;
use serde::{Deserialize, Serialize};

use super::Status;
use crate::Bucket;

/// What may go at once.
const STEP: u32 = AT_ONCE.as_secs() as u32 / DAY * Bucket::A_DAY;
/// How long after the first look the second comes, in seconds: at the earliest, and at the latest.
pub const SECOND_LOOK: Range<u32> = copydesk_domain::SECOND_LOOK.as_secs() as u32..2 * DAY;
const DAY: u32 = 24 * 3600;
/// For how many seconds what was forgotten can be brought back.
const RESTORABLE: u32 = 7 * DAY;

/// A floor that was moved up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FloorMove {
    /// Where it was before.
    pub from: Bucket,
    /// When, in seconds since 1970.
    pub at: u32,
}

/// A floor that is to be looked at a second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FloorWish {
    pub floor: Bucket,
    /// When it was first wanted, in seconds since 1970.
    pub at: u32,
}

/// Where the views of a project begin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FloorState {
    /// Everything before this is forgotten.
    pub floor: Option<Bucket>,
    /// How the floor was moved of late, the oldest first. What these moves have hidden is still there.
    pub moves: Vec<FloorMove>,
    /// Where the floor should be, at the first look.
    pub wish: Option<FloorWish>,
}

/// What is to become of a floor.
#[derive(Debug, PartialEq, Eq)]
pub enum Decision {
    Stay,
    Move(Bucket),
    /// To be looked at again later.
    Wish(FloorWish),
}

impl FloorState {
    /// What is before this is gone for good, or may go.
    pub fn gone_before(&self) -> Bucket {
        self.moves.first().map_or(self.floor.unwrap_or(Bucket::MIN), |oldest| oldest.from)
    }

    /// The same with its floor at least there. What was forgotten too long ago to be brought back goes for good.
    #[must_use]
    pub fn moved(mut self, floor: Bucket, now: u32) -> Self {
        self.moves.retain(|before| before.at.saturating_add(RESTORABLE) > now);
        let from = self.floor.unwrap_or(Bucket::MIN);
        if from < floor {
            (self.floor, self.wish) = (Some(floor), None);
            self.moves.push(FloorMove { from, at: now });
        }
        self
    }

    /// The same with everything brought back that can be.
    #[must_use]
    pub fn restored(self) -> Self {
        if self.moves.is_empty() {
            return self;
        }
        let floor = Some(self.gone_before()).filter(|floor| *floor > Bucket::MIN);
        Self { floor, moves: Vec::new(), wish: None }
    }

    /// What is to be forgotten where views are kept for so many days; `now` in seconds since 1970.
    pub fn decide(&self, status: &Status, days: u32, now: u32) -> Decision {
        let (Some(first), Some(last)) = (status.first, status.last) else { return Decision::Stay };
        // The end of the newest view's quarter hour, or now, whichever is earlier.
        let newest = Bucket::of_seconds(i64::from(now)).0.min(last.0.saturating_add(1));
        let oldest = newest.saturating_sub(days.saturating_mul(Bucket::A_DAY));
        let target = Bucket(oldest - oldest % Bucket::A_DAY);
        let floor = self.floor.unwrap_or(Bucket::MIN);
        if days == 0 || target <= floor {
            return Decision::Stay;
        }
        let goes = target.0.saturating_sub(first.max(floor).0);
        if goes == 0 {
            return Decision::Move(target);
        }
        let rested = self.moves.last().is_none_or(|last| now.saturating_sub(last.at) >= SECOND_LOOK.start);
        if goes <= STEP {
            return if rested { Decision::Move(target) } else { Decision::Stay };
        }
        match self.wish.and_then(|wish| Some((wish.floor, now.checked_sub(wish.at)?))) {
            Some((_, ago)) if ago < SECOND_LOOK.start => Decision::Stay,
            // What both looks agree on, and what may go without a second one.
            Some((wish, ago)) if wish > floor && ago <= SECOND_LOOK.end => {
                Decision::Move(target.min(Bucket(wish.0.saturating_add(STEP))))
            }
            // None yet, or one that is too old to say anything of what was wanted since.
            _ => Decision::Wish(FloorWish { floor: target, at: now }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u32 = Bucket::A_DAY;
    const SECONDS: u32 = super::DAY;

    fn decide(state: &FloorState, status: &Status, days: u32, now: u32) -> Decision {
        state.decide(status, days, now)
    }

    fn status(first: u32, last: u32) -> Status {
        Status { first: Some(Bucket(first)), last: Some(Bucket(last)), ..Status::default() }
    }

    fn at(floor: u32) -> FloorState {
        FloorState { floor: Some(Bucket(floor)), ..FloorState::default() }
    }

    #[test]
    fn a_day_at_a_time_goes_without_more_ado_and_not_twice_within_hours() {
        let (views, now) = (status(10 * DAY, 100 * DAY), 100 * SECONDS);
        let manifest = at(69 * DAY);
        assert_eq!(decide(&manifest, &views, 30, now), Decision::Move(Bucket(70 * DAY)));
        let moved = FloorMove { from: Bucket(68 * DAY), at: now - 3600 };
        assert_eq!(decide(&FloorState { moves: vec![moved], ..manifest }, &views, 30, now), Decision::Stay);
    }

    #[test]
    fn many_days_go_only_after_a_second_look() {
        let (views, now) = (status(10 * DAY, 100 * DAY), 100 * SECONDS);
        let wish = FloorWish { floor: Bucket(70 * DAY), at: now };
        assert_eq!(decide(&FloorState::default(), &views, 30, now), Decision::Wish(wish));
        let waiting = FloorState { wish: Some(wish), ..FloorState::default() };
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
            decide(&FloorState { wish: Some(wish), ..FloorState::default() }, &views, 30, now)
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
        assert_eq!(decide(&FloorState::default(), &Status::default(), 30, 220 * SECONDS), Decision::Stay);
        assert_eq!(decide(&at(0), &status(10 * DAY, 100 * DAY), 0, 220 * SECONDS), Decision::Stay);
    }
}
