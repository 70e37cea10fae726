//! Keeps the leases of this process alive, one statement for all of them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use copydesk_store::{Beat, Change, Lease, LeaseLost, Store};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// How often is looked whether the workers may go on, should nobody tell.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The leases that this process holds.
#[derive(Default)]
pub(super) struct Keeper(Mutex<Leases>);

#[derive(Default)]
struct Leases {
    next: u64,
    held: BTreeMap<u64, Held>,
}

struct Held {
    lease: Lease,
    /// Until when the lease stands, if the database cannot be asked.
    alive_until: Instant,
    next_beat: Instant,
    /// Where the worker is told that it has to let go.
    lost: Option<oneshot::Sender<LeaseLost>>,
}

impl Keeper {
    /// Ends when the lease is lost or the job is cancelled; until then, and until it is dropped, the lease is kept alive. It is
    /// renewed at once if it did not begin just now.
    pub(super) async fn hold(&self, lease: &Lease, length: Duration, is_new: bool) -> LeaseLost {
        let (tell, told) = oneshot::channel();
        let now = Instant::now();
        let lease = lease.clone();
        let next_beat = if is_new { now + length / 3 } else { now };
        let held = Held { lease, alive_until: now + length, next_beat, lost: Some(tell) };
        let number = {
            let mut leases = self.leases();
            leases.next += 1;
            let number = leases.next;
            leases.held.insert(number, held);
            number
        };
        let _holding = Holding { keeper: self, number };
        // The sender goes only with the lease.
        told.await.unwrap_or(LeaseLost::Lost)
    }

    /// Looks after all leases, for ever. While the database cannot be asked they go on until they must be presumed dead.
    pub(super) async fn keep_forever(&self, store: &Store, length: Duration) {
        let mut changes = store.changes();
        loop {
            let told = changes.wait_for(|change| matches!(change, Change::Called(id) if self.has(id)));
            tokio::select! {
                () = told => {}
                () = tokio::time::sleep(LOOK_EVERY.min(length / 4)) => {}
            }
            self.look(store, length).await;
        }
    }

    async fn look(&self, store: &Store, length: Duration) {
        let now = Instant::now();
        let (numbers, leases, beat, until) = {
            let held = &self.leases().held;
            let Some(until) = held.values().map(|held| held.alive_until).min() else { return };
            let beat = held.values().any(|held| held.next_beat <= now);
            let leases: Vec<Lease> = held.values().map(|held| held.lease.clone()).collect();
            (held.keys().copied().collect::<Vec<_>>(), leases, beat, until)
        };
        // A database that hangs is no better than one that fails.
        let look = store.look_after(&leases, beat.then_some(length));
        match tokio::time::timeout_at(until.max(now + LOOK_EVERY), look).await {
            Ok(Ok(beats)) => {
                for (number, beat) in numbers.into_iter().zip(beats) {
                    self.take_in(number, beat, now, length);
                }
            }
            Ok(Err(error)) => tracing::warn!(%error, jobs = leases.len(), "cannot keep leases alive; trying again"),
            Err(_) => tracing::warn!(jobs = leases.len(), "the database does not answer; cannot keep leases alive"),
        }
        let now = Instant::now();
        for held in self.leases().held.values_mut().filter(|held| held.alive_until <= now) {
            tracing::warn!(job = held.lease.job_id.as_str(), "the lease has run out while the database was away");
            held.let_go(LeaseLost::Lost);
        }
    }

    fn take_in(&self, number: u64, beat: Beat, now: Instant, length: Duration) {
        let mut leases = self.leases();
        let Some(held) = leases.held.get_mut(&number) else { return };
        if beat.is_longer {
            (held.alive_until, held.next_beat) = (now + length, now + length / 3);
        }
        if let Err(lost) = beat.stands {
            held.let_go(lost);
        }
    }

    fn has(&self, job_id: &str) -> bool {
        self.leases().held.values().any(|held| held.lease.job_id.as_str() == job_id)
    }

    fn leases(&self) -> MutexGuard<'_, Leases> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn let_go(&mut self, lost: LeaseLost) {
        if let Some(tell) = self.lost.take() {
            // The worker may have ended at the same moment.
            let _ = tell.send(lost);
        }
    }
}

/// A lease that is looked after until this is dropped.
struct Holding<'a> {
    keeper: &'a Keeper,
    number: u64,
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        self.keeper.leases().held.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::poll;

    use super::*;

    #[tokio::test]
    async fn a_lease_that_is_held_again_is_renewed_at_once() {
        for is_new in [true, false] {
            let keeper = Keeper::default();
            let lease = Lease { job_id: "job".into(), worker: "worker".to_owned(), attempt: 1 };
            let mut held = pin!(keeper.hold(&lease, Duration::from_secs(3600), is_new));
            assert!(poll!(held.as_mut()).is_pending());
            let is_due = keeper.leases().held.values().all(|held| held.next_beat <= Instant::now());
            assert_eq!(is_due, !is_new);
        }
    }
}
