//! How long jobs and their events are kept.

use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::Timestamp;
use copydesk_store::{Store, StoreError};

const DAY: Duration = Duration::from_secs(24 * 3600);
/// Jobs that are dealt with in one transaction; others get their turn between two.
const AT_ONCE: u32 = 100;
/// Transactions of one round; what is left has to wait for the next.
const MOST_ROUNDS: usize = 1000;

/// For how many days what has ended is kept; 0 is for ever.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    pub jobs: u32,
    /// Events of jobs that stay themselves.
    pub events: u32,
}

impl Retention {
    /// Of jobs that ended before this something is to be forgotten; none: everything is kept for ever.
    pub(crate) fn before(self, now: Timestamp) -> Option<Timestamp> {
        [self.jobs, self.events].into_iter().filter_map(|days| before(days, now)).max()
    }
}

fn before(days: u32, now: Timestamp) -> Option<Timestamp> {
    (days > 0).then(|| now.minus(DAY * days))
}

/// Forgets jobs, and events of jobs, that ended so long ago. Gives how many of each.
#[boxed]
pub async fn forget_old_jobs(store: &Store, retention: Retention) -> Result<(u64, u64), StoreError> {
    let (mut jobs, mut events) = (0, 0);
    for _ in 0..MOST_ROUNDS {
        let now = store.now();
        let gone = match before(retention.jobs, now) {
            Some(before) => store.forget_jobs(before, AT_ONCE).await?,
            None => 0,
        };
        let trimmed = match before(retention.events, now) {
            Some(before) => store.forget_events(before, AT_ONCE).await?,
            None => 0,
        };
        (jobs, events) = (jobs + gone, events + trimmed);
        if gone == 0 && trimmed == 0 {
            break;
        }
    }
    Ok((jobs, events))
}
