//! A worker that has lost its lease, in whichever way, cannot write.

use copydesk_domain::{Outcome, ProjectId, Refusal, Status};
use copydesk_store::{CancelError, Claimed, Finish, Finished, Lease, Retry};
use serde_json::json;

use crate::desk::{Desk, LEASE, LOST, SECOND, done, heartbeat, terms};
use crate::raw;

behaviours! {
    a_worker_whose_lease_was_reaped_cannot_write,
    a_worker_whose_job_was_taken_over_cannot_write,
    a_worker_that_took_over_from_itself_writes_with_the_new_lease_only,
    a_worker_that_released_its_job_cannot_write,
    a_worker_that_put_its_job_back_cannot_write,
    a_worker_that_finished_cannot_write,
    a_worker_whose_job_was_given_up_cannot_write,
    a_worker_whose_job_was_followed_up_by_another_cannot_write,
    a_lease_that_was_never_given_is_worth_nothing,
    a_late_worker_whose_lease_nobody_took_may_go_on,
    a_worker_and_the_reaper_at_the_same_instant_do_not_both_win,
    a_sign_of_life_that_was_accepted_keeps_the_lease,
    a_cancellation_and_a_finish_at_the_same_instant_agree,
}

/// Every write of a lost worker is refused as lost and changes no row.
pub async fn assert_lost(desk: &Desk, claimed: &Claimed) {
    assert_worthless(desk, &claimed.lease).await;
}

async fn assert_worthless(desk: &Desk, lease: &Lease) {
    let before = raw::all_of_jobs(desk.db.address()).await;
    desk.advance(SECOND);
    assert_eq!(desk.store.check_lease(lease).await, Err(LOST), "pulse");
    assert_eq!(heartbeat(&desk.store, lease, LEASE).await, Err(LOST), "heartbeat");
    assert_eq!(desk.store.record_step(lease, "pushing", json!({})).await, Err(LOST), "step");
    for outcome in [Outcome::PrCreated, Outcome::Error, Outcome::TimedOut] {
        let finish = Finish { title: Some("Late".to_owned()), ..Finish::new(outcome, "Late.", 99) };
        assert_eq!(desk.store.finish(lease, finish).await, Err(LOST), "finish {outcome:?}");
    }
    assert_eq!(desk.store.release(lease).await, Err(LOST), "release");
    for attempts in [0, 99] {
        let retry = desk.store.retry_later(lease, "late", attempts, 0.0).await;
        assert_eq!(retry, Err(LOST), "retry");
    }
    assert_eq!(raw::all_of_jobs(desk.db.address()).await, before);
}

/// The one who holds the job now is not disturbed by the one who did.
async fn assert_holds(desk: &Desk, claimed: &Claimed) {
    assert!(heartbeat(&desk.store, &claimed.lease, LEASE).await.is_ok());
    assert_eq!(desk.store.record_step(&claimed.lease, "working", json!({})).await, Ok(()));
    desk.finish(claimed).await;
}

async fn start(desk: &Desk) -> (ProjectId, Claimed) {
    let project = desk.project("Docs").await;
    desk.create(&project).await;
    (project, desk.claim("first").await)
}

async fn let_die(desk: &Desk) {
    desk.advance(LEASE);
    assert_eq!(desk.store.reap(&terms(), || 0.0).await.unwrap().requeued, 1);
}

async fn a_worker_whose_lease_was_reaped_cannot_write(desk: Desk) {
    let (_, lost) = start(&desk).await;
    let_die(&desk).await;
    assert_lost(&desk, &lost).await;
}

async fn a_worker_whose_job_was_taken_over_cannot_write(desk: Desk) {
    let (_, lost) = start(&desk).await;
    let_die(&desk).await;
    desk.advance(SECOND);
    let holder = desk.claim("second").await;
    assert_lost(&desk, &lost).await;
    assert_holds(&desk, &holder).await;
}

async fn a_worker_that_took_over_from_itself_writes_with_the_new_lease_only(desk: Desk) {
    let (_, lost) = start(&desk).await;
    let_die(&desk).await;
    desk.advance(SECOND);
    let holder = desk.claim("first").await;
    assert_eq!(holder.lease.worker, lost.lease.worker);
    assert_lost(&desk, &lost).await;
    assert_holds(&desk, &holder).await;
}

async fn a_worker_that_released_its_job_cannot_write(desk: Desk) {
    let (_, lost) = start(&desk).await;
    desk.store.release(&lost.lease).await.unwrap();
    assert_lost(&desk, &lost).await;
    let holder = desk.claim("first").await;
    assert_lost(&desk, &lost).await;
    assert_holds(&desk, &holder).await;
}

async fn a_worker_that_put_its_job_back_cannot_write(desk: Desk) {
    let (_, lost) = start(&desk).await;
    assert!(matches!(desk.store.retry_later(&lost.lease, "no answer", 3, 0.0).await, Ok(Retry::At(_))));
    assert_lost(&desk, &lost).await;
    let holder = desk.claim("second").await;
    assert_lost(&desk, &lost).await;
    assert_holds(&desk, &holder).await;
}

async fn a_worker_that_finished_cannot_write(desk: Desk) {
    let (_, lost) = start(&desk).await;
    desk.finish(&lost).await;
    assert_lost(&desk, &lost).await;
}

async fn a_worker_whose_job_was_given_up_cannot_write(desk: Desk) {
    let (_, lost) = start(&desk).await;
    assert_eq!(desk.store.retry_later(&lost.lease, "no answer", 1, 0.0).await, Ok(Retry::GaveUp));
    assert_lost(&desk, &lost).await;
}

async fn a_worker_whose_job_was_followed_up_by_another_cannot_write(desk: Desk) {
    let (project, lost) = start(&desk).await;
    desk.finish(&lost).await;
    desk.message(&project, &lost.job.id).await;
    assert_lost(&desk, &lost).await;
    let holder = desk.claim("second").await;
    assert_lost(&desk, &lost).await;
    assert_holds(&desk, &holder).await;
}

async fn a_lease_that_was_never_given_is_worth_nothing(desk: Desk) {
    let (project, holder) = start(&desk).await;
    let waiting = desk.create(&project).await;
    let forged = [
        Lease { worker: "second".to_owned(), ..holder.lease.clone() },
        Lease { attempt: holder.lease.attempt + 1, ..holder.lease.clone() },
        Lease { attempt: 0, ..holder.lease.clone() },
        Lease { job_id: "nobody".into(), ..holder.lease.clone() },
        Lease { job_id: waiting.clone(), ..holder.lease.clone() },
        Lease { job_id: waiting, worker: String::new(), attempt: 0 },
    ];
    for lease in forged {
        assert_worthless(&desk, &lease).await;
    }
    assert_holds(&desk, &holder).await;
}

async fn a_late_worker_whose_lease_nobody_took_may_go_on(desk: Desk) {
    let (_, late) = start(&desk).await;
    desk.advance(LEASE * 3);
    assert!(heartbeat(&desk.store, &late.lease, LEASE).await.is_ok());
    assert_eq!(desk.store.reap(&terms(), || 0.0).await.unwrap().requeued, 0, "it is alive again");
    assert_holds(&desk, &late).await;
}

async fn a_worker_and_the_reaper_at_the_same_instant_do_not_both_win(desk: Desk) {
    let (project, other) = (desk.project("Docs").await, desk.beside().await);
    for _ in 0..30 {
        desk.create(&project).await;
        let claimed = desk.claim("worker").await;
        desk.advance(LEASE);
        let terms = terms();
        let (reaped, finished) =
            tokio::join!(other.reap(&terms, || 0.0), desk.store.finish(&claimed.lease, done(&claimed)));
        let (reaped, job) = (reaped.unwrap(), desk.job(&project, &claimed.job.id).await);
        match finished {
            Ok(ended) => assert_eq!((ended, reaped.requeued, job.status), (Finished::Ended, 0, Status::Completed)),
            Err(lost) => assert_eq!((lost, reaped.requeued, job.status), (LOST, 1, Status::Active)),
        }
        desk.store.archive_job(&project, &job.id).await.unwrap();
    }
}

/// The reaper looks first and takes later; whoever gave a sign of life between the two is left alone.
async fn a_sign_of_life_that_was_accepted_keeps_the_lease(desk: Desk) {
    let (project, other) = (desk.project("Docs").await, desk.beside().await);
    for _ in 0..5 {
        let mut leases = Vec::new();
        for _ in 0..30 {
            desk.create(&project).await;
            leases.push(desk.claim("worker").await.lease);
        }
        desk.advance(LEASE);
        let alive = async {
            let mut accepted = Vec::new();
            for lease in leases.iter().rev() {
                accepted.push((lease, heartbeat(&other, lease, LEASE).await.is_ok()));
            }
            accepted
        };
        let terms = terms();
        let (accepted, reaped) = tokio::join!(alive, desk.store.reap(&terms, || 0.0));
        let lost = accepted.iter().filter(|(_, accepted)| !accepted).count();
        assert_eq!(reaped.unwrap().requeued as usize, lost);
        for (lease, accepted) in accepted {
            assert_eq!(desk.store.check_lease(lease).await.is_ok(), accepted);
            desk.store.archive_job(&project, &lease.job_id).await.unwrap();
        }
    }
}

async fn a_cancellation_and_a_finish_at_the_same_instant_agree(desk: Desk) {
    let (project, other) = (desk.project("Docs").await, desk.beside().await);
    for _ in 0..30 {
        let id = desk.create(&project).await;
        let claimed = desk.claim("worker").await;
        let (cancelled, finished) =
            tokio::join!(other.cancel_job(&project, &id), desk.store.finish(&claimed.lease, done(&claimed)));
        let job = desk.job(&project, &id).await;
        match cancelled {
            Ok(_) => {
                assert_eq!(finished, Ok(Finished::Cancelled));
                assert_eq!(job.outcome, Some(Outcome::Cancelled));
            }
            Err(refused) => {
                assert_eq!(refused, CancelError::Refused(Refusal(Status::Completed)));
                assert_eq!((finished, job.outcome), (Ok(Finished::Ended), Some(Outcome::NoChanges)));
            }
        }
    }
}
