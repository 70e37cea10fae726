use std::time::Duration;

use crate::Timestamp;

/// A rate limit: at most `limit` in any stretch of `period`. A limit of 0 is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub limit: u32,
    pub period: Duration,
}

/// Where a caller stands against a limit; what the `RateLimit-…` headers say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    pub limit: u32,
    /// How many more are let through now.
    pub remaining: u32,
    /// Seconds until the oldest counted one no longer counts; 0 if none counts.
    pub reset_seconds: u64,
}

impl Window {
    /// The window `limit` an hour.
    pub fn hourly(limit: u32) -> Self {
        Self { limit, period: Duration::from_secs(3600) }
    }

    /// Whether the limit is switched off.
    pub fn is_off(self) -> bool {
        self.limit == 0
    }

    /// From which instant on what happened still counts at `now`.
    pub fn opens_at(self, now: Timestamp) -> Timestamp {
        now.minus(self.period)
    }

    /// The standing with `counted` in the window, the oldest of them at `oldest`.
    pub fn standing(self, counted: u32, oldest: Option<Timestamp>, now: Timestamp) -> Standing {
        let reset = oldest.map(|oldest| oldest.plus(self.period).since(now)).unwrap_or_default();
        Standing {
            limit: self.limit,
            remaining: self.limit.saturating_sub(counted),
            reset_seconds: reset.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reset_is_rounded_up_so_that_waiting_it_out_is_enough() {
        let window = Window::hourly(2);
        let standing = window.standing(2, Some(Timestamp::from_millis(1)), Timestamp::from_millis(1000));
        assert_eq!(standing, Standing { limit: 2, remaining: 0, reset_seconds: 3600 });
    }

    #[test]
    fn nothing_counted_means_all_remains() {
        let standing = Window::hourly(5).standing(0, None, Timestamp::from_millis(0));
        assert_eq!(standing, Standing { limit: 5, remaining: 5, reset_seconds: 0 });
    }
}
