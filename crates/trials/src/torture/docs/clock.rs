use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use copydesk_domain::{Clock, SystemClock, Timestamp};
use rustix::process::{Signal, getpid, kill_process};

/// The machine's clock, which kills its own process at a certain reading. The store reads its clock before each of its
/// writes, so between two readings there is at most one step: by dying at every one of them a process dies at every
/// boundary between steps, and the product needs to know nothing of it.
#[derive(Debug)]
pub(super) struct DeadlyClock {
    readings: AtomicU64,
    fatal: Option<u64>,
    ahead: Duration,
}

impl DeadlyClock {
    /// Kills at reading number `fatal`, from 1, and is `ahead` of the machine's.
    pub(super) fn new(fatal: Option<u64>, ahead: Duration) -> Self {
        Self { readings: AtomicU64::new(0), fatal, ahead }
    }
}

impl Clock for DeadlyClock {
    fn now(&self) -> Timestamp {
        let reading = self.readings.fetch_add(1, Ordering::SeqCst) + 1;
        if self.fatal.is_some_and(|fatal| reading >= fatal) {
            // Nothing is left to be done about an error, and nothing may be done after this.
            let _ = kill_process(getpid(), Signal::KILL);
            std::process::abort();
        }
        SystemClock.now().plus(self.ahead)
    }
}
