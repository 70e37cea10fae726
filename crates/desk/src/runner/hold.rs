use std::time::Duration;

use copydesk_store::{Change, Changes, Lease, LeaseError, LeaseLost, Store};
use tokio::time::Instant;

/// How often a worker looks whether it may go on, should nobody tell it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Keeps a lease alive, and ends when it is lost or the job is cancelled. While the database cannot be asked it
/// goes on until the lease must be presumed dead.
pub(super) async fn hold(store: &Store, lease: &Lease, length: Duration, mut changes: Changes) -> LeaseLost {
    let mut alive_until = Instant::now() + length;
    let mut next_beat = Instant::now() + length / 3;
    loop {
        let told = changes.wait_for(|change| matches!(change, Change::Job(id) if *id == lease.job_id));
        tokio::select! {
            () = told => {}
            () = tokio::time::sleep(LOOK_EVERY.min(length / 4)) => {}
        }
        let now = Instant::now();
        let beat = now >= next_beat;
        let look = async { if beat { store.heartbeat(lease, length).await } else { store.pulse(lease).await } };
        // A database that hangs is no better than one that fails.
        let Ok(seen) = tokio::time::timeout_at(alive_until, look).await else {
            tracing::warn!(job = lease.job_id.as_str(), "the lease has run out while the database did not answer");
            return LeaseLost::Lost;
        };
        match seen {
            Ok(_) if beat => (alive_until, next_beat) = (now + length, now + length / 3),
            Ok(_) => {}
            Err(LeaseError::Lost(lost)) => return lost,
            Err(error) if Instant::now() >= alive_until => {
                tracing::warn!(%error, job = lease.job_id.as_str(), "the lease has run out while the database was away");
                return LeaseLost::Lost;
            }
            Err(error) => {
                tracing::warn!(%error, job = lease.job_id.as_str(), "cannot keep the lease alive; trying again")
            }
        }
    }
}
