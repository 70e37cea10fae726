use std::time::Duration;

use crate::clock::{Clock, Timestamp};

/// How far the machine's clock is followed at once, and within the time of a second look at the most.
pub const AT_ONCE: Duration = Duration::from_secs(2 * 24 * 3600);
const STEP: i64 = AT_ONCE.as_millis() as i64;
/// For how long a clock must have insisted on a leap before it is believed.
pub const SECOND_LOOK: Duration = Duration::from_secs(6 * 3600);
/// What a clock may drift while it insists.
const DRIFT: i64 = 15 * 60_000;

/// A time that a wrong clock cannot move far. It goes on as time passes, follows the machine's clock in small steps, and
/// takes a leap only after the clock has insisted on the same one for hours. What is thrown away by age is thrown away by
/// this time: a clock that is wrong for a while then costs nothing.
#[derive(Debug)]
pub struct SteadyTime {
    now: Timestamp,
    /// When that was, by the time that nobody can set.
    uptime: Duration,
    /// Since when steps are added up, and to how much.
    stepping: (Duration, i64),
    /// Since when the clock insists on a leap, and where its zero would be.
    insists: Option<(Duration, i64)>,
}

/// The machine's clock is far from where it should be, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// It was not so at the last look. The steady time does not follow for now.
    Began(i64),
    /// It has insisted for so long that the steady time now follows.
    Ended(i64),
}

impl SteadyTime {
    /// Goes on from the time that it was when it was last written down; from the machine's clock if it never was.
    pub fn new(known: Option<Timestamp>, clock: &dyn Clock) -> Self {
        let uptime = clock.uptime();
        Self { now: known.unwrap_or_else(|| clock.now()), uptime, stepping: (uptime, 0), insists: None }
    }

    /// The time at the last look.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Looks at the clock; says if there is something to be said of it.
    pub fn look(&mut self, clock: &dyn Clock) -> Option<Doubt> {
        let (shown, uptime) = (clock.now(), clock.uptime());
        let expected = self.now.plus(uptime.saturating_sub(self.uptime));
        (self.now, self.uptime) = (expected, uptime);
        let off = shown.as_millis().saturating_sub(expected.as_millis());
        if uptime.saturating_sub(self.stepping.0) >= SECOND_LOOK {
            self.stepping = (uptime, 0);
        }
        let stepped = self.stepping.1.saturating_add(off.saturating_abs());
        if stepped <= STEP {
            (self.now, self.stepping.1, self.insists) = (shown, stepped, None);
            return None;
        }
        let zero = shown.minus(uptime).as_millis();
        match self.insists {
            Some((since, at)) if at.abs_diff(zero) <= DRIFT.unsigned_abs() => {
                if uptime.saturating_sub(since) < SECOND_LOOK {
                    return None;
                }
                (self.now, self.stepping, self.insists) = (shown, (uptime, 0), None);
                Some(Doubt::Ended(off))
            }
            _ => {
                self.insists = Some((uptime, zero));
                Some(Doubt::Began(off))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use proptest::prelude::*;

    use super::*;

    const HOUR: i64 = 3_600_000;
    const DAY: i64 = 24 * HOUR;

    /// What the clock shows and what has passed, in milliseconds.
    #[derive(Debug)]
    struct Jumping(Mutex<(i64, i64)>);

    impl Jumping {
        fn new() -> Self {
            Self(Mutex::new((1_790_000_000_000, 0)))
        }

        fn pass(&self, millis: i64) {
            let mut clock = self.0.lock().unwrap();
            clock.0 += millis;
            clock.1 += millis;
        }

        fn set(&self, by: i64) {
            self.0.lock().unwrap().0 += by;
        }
    }

    impl Clock for Jumping {
        fn now(&self) -> Timestamp {
            Timestamp::from_millis(self.0.lock().unwrap().0)
        }

        fn uptime(&self) -> Duration {
            Duration::from_millis(self.0.lock().unwrap().1.unsigned_abs())
        }
    }

    #[test]
    fn a_clock_that_is_ahead_for_a_while_is_not_followed() {
        let clock = Jumping::new();
        let mut time = SteadyTime::new(None, &clock);
        clock.set(120 * DAY);
        assert_eq!(time.look(&clock), Some(Doubt::Began(120 * DAY)));
        clock.pass(5 * HOUR);
        assert_eq!(time.look(&clock), None);
        assert_eq!(time.now().as_millis(), 1_790_000_000_000 + 5 * HOUR);
        clock.set(-120 * DAY);
        assert_eq!(time.look(&clock), None);
        assert_eq!(time.now(), clock.now());
    }

    #[test]
    fn a_clock_that_insists_is_followed_in_either_direction() {
        for leap in [90 * DAY, -90 * DAY] {
            let clock = Jumping::new();
            let mut time = SteadyTime::new(None, &clock);
            clock.set(leap);
            assert_eq!(time.look(&clock), Some(Doubt::Began(leap)));
            clock.pass(3 * HOUR);
            assert_eq!(time.look(&clock), None);
            clock.pass(3 * HOUR);
            assert_eq!(time.look(&clock), Some(Doubt::Ended(leap)));
            assert_eq!(time.now(), clock.now());
        }
    }

    #[test]
    fn a_machine_that_was_off_for_weeks_waits_for_the_second_look() {
        let clock = Jumping::new();
        let mut time = SteadyTime::new(Some(clock.now().minus(Duration::from_secs(21 * 24 * 3600))), &clock);
        assert_eq!(time.look(&clock), Some(Doubt::Began(21 * DAY)));
        clock.pass(6 * HOUR);
        assert_eq!(time.look(&clock), Some(Doubt::Ended(21 * DAY)));
    }

    proptest! {
        /// However the clock jumps, and however often it is looked at: in any six hours the time gets no further than
        /// what has passed and two days, unless the clock has stood by one leap for six hours.
        #[test]
        fn many_small_leaps_are_no_way_round(leaps in prop::collection::vec((-40 * DAY..40 * DAY, 1..30i64), 1..60)) {
            let clock = Jumping::new();
            let mut time = SteadyTime::new(None, &clock);
            let begun = time.now().as_millis();
            let mut passed = 0;
            for (leap, minutes) in leaps {
                if passed + minutes * 60_000 >= 6 * HOUR {
                    break;
                }
                clock.set(leap);
                clock.pass(minutes * 60_000);
                passed += minutes * 60_000;
                prop_assert!(!matches!(time.look(&clock), Some(Doubt::Ended(_))));
                let off = time.now().as_millis() - begun - passed;
                prop_assert!(off.abs() <= STEP, "{} hours off", off / HOUR);
            }
        }
    }
}
