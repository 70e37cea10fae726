use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use copydesk_domain::{Clock, Timestamp};

/// A clock that stands still until a test moves it.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Starts at noon on a day in 2026.
    pub fn new() -> Self {
        Self(AtomicI64::new(1_773_576_000_000))
    }

    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}
