//! When the machine itself stood still: a worker that could not run, or whose database did not answer, cannot keep a
//! lease, and that says nothing about the worker.

use std::time::Duration;

use copydesk_store::{Lease, Store};

use super::journal::monotonic;

/// Stands beside the workers and does what they do to keep a lease, for a job that there is not.
pub(super) struct StallWatch {
    store: Store,
    lease: Duration,
    /// From and until, in nanoseconds of the shared clock.
    pub(super) stalls: Vec<(u64, u64)>,
}

impl StallWatch {
    pub(super) fn new(store: &Store, lease: Duration) -> Self {
        Self { store: store.clone(), lease, stalls: Vec::new() }
    }

    /// Looks until it is dropped.
    pub(super) async fn run(&mut self) {
        let nobody = Lease { job_id: "nothing".into(), worker: "stall-watch".to_owned(), attempt: 0 };
        // Signs of life come three times in a lease: one that is this late can cost two of them.
        let (pause, bearable) = (self.lease / 8, self.lease / 4);
        loop {
            let from = monotonic();
            tokio::time::sleep(pause).await;
            let _ = self.store.look_after(std::slice::from_ref(&nobody), Some(self.lease)).await;
            let until = monotonic();
            if Duration::from_nanos(until - from) > pause + bearable {
                self.stalls.push((from, until));
            }
        }
    }
}
