//! The rate limit of questions, by caller. In memory: it protects this process, and forgets when it restarts.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use copydesk_domain::{Standing, Timestamp, Window};

use super::CallerId;

/// Callers that are remembered before those that have been quiet are thrown out.
const CALLERS: usize = 10_000;

/// Counts requests of callers in a sliding window.
pub(super) struct Limiter {
    window: Window,
    seen: Mutex<HashMap<CallerId, VecDeque<Timestamp>>>,
}

impl Limiter {
    pub(super) fn new(window: Window) -> Self {
        Self { window, seen: Mutex::default() }
    }

    /// Lets a request through, or says when the next one may come. None if there is no limit.
    pub(super) fn admit(&self, caller: &CallerId, now: Timestamp) -> Option<Result<Standing, Standing>> {
        if self.window.is_off() {
            return None;
        }
        let opens = self.window.opens_at(now);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= CALLERS && !seen.contains_key(caller) {
            seen.retain(|_, times| times.back().is_some_and(|last| *last > opens));
        }
        let times = seen.entry(caller.clone()).or_default();
        while times.front().is_some_and(|first| *first <= opens) {
            times.pop_front();
        }
        let counted = u32::try_from(times.len()).unwrap_or(u32::MAX);
        if counted >= self.window.limit {
            return Some(Err(self.window.standing(counted, times.front().copied(), now)));
        }
        times.push_back(now);
        Some(Ok(self.window.standing(counted + 1, times.front().copied(), now)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn caller(name: &str) -> CallerId {
        CallerId::of_key(name)
    }

    #[test]
    fn the_window_slides() {
        let limiter = Limiter::new(Window { limit: 2, period: Duration::from_secs(60) });
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1000);
        assert_eq!(limiter.admit(&caller("k"), at(0)).unwrap().unwrap().remaining, 1);
        assert_eq!(limiter.admit(&caller("k"), at(30)).unwrap().unwrap().remaining, 0);
        let refused = limiter.admit(&caller("k"), at(45)).unwrap().unwrap_err();
        assert_eq!((refused.remaining, refused.reset_seconds), (0, 15));
        assert!(limiter.admit(&caller("other"), at(45)).unwrap().is_ok());
        assert!(limiter.admit(&caller("k"), at(60)).unwrap().is_ok());
        assert!(limiter.admit(&caller("k"), at(61)).unwrap().is_err());
    }

    #[test]
    fn nought_is_no_limit() {
        let limiter = Limiter::new(Window { limit: 0, period: Duration::from_secs(60) });
        assert!(limiter.admit(&caller("k"), Timestamp::from_millis(0)).is_none());
    }
}
