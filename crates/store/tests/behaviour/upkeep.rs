//! The reaper and the sweeper: dead leases, jobs whose time is up, rows nobody needs.

use std::time::Duration;

use copydesk_domain::{JobId, Outcome, ProjectId, Status};
use copydesk_store::{NewProject, QueueTerms, Reaped};
use futures_util::future::join_all;

use crate::desk::{
    Desk, LEASE, MILLISECOND, SECOND, claim, claim_with, heartbeat, key, models, new_job, new_project, render, terms,
};
use crate::raw;

behaviours! {
    a_dead_lease_is_requeued_from_the_instant_it_ends,
    a_live_lease_is_left_alone,
    a_requeued_job_waits_longer_each_time_and_is_given_up_in_the_end,
    a_dead_lease_of_a_cancelled_job_ends_cancelled,
    a_dead_lease_past_its_deadline_ends_timed_out,
    a_job_that_waits_past_its_deadline_ends_timed_out,
    a_job_that_nobody_claims_ends_timed_out,
    a_job_that_was_claimed_in_time_does_not_die_of_the_queue,
    a_follow_up_waits_its_own_time_in_the_queue,
    several_reapers_at_once_requeue_each_job_once,
    any_number_of_dead_leases_is_dealt_with,
    the_reaper_leaves_ended_jobs_alone,
    the_sweeper_forgets_expired_keys_and_what_cannot_be_told_only,
}

const NOTHING: Reaped = Reaped { requeued: 0, ended: 0 };
const ONE_REQUEUED: Reaped = Reaped { requeued: 1, ended: 0 };
const ONE_ENDED: Reaped = Reaped { requeued: 0, ended: 1 };

async fn reap(desk: &Desk) -> Reaped {
    desk.store.reap(&terms(), || 1.0).await.unwrap()
}

async fn assert_ended(desk: &Desk, project: &ProjectId, id: &JobId, outcome: Outcome) {
    let job = desk.job(project, id).await;
    assert_eq!((job.status, job.outcome, job.updated_at), (Status::Failed, Some(outcome), desk.now()));
    assert!(job.message.is_some() && !job.cancel_requested);
    assert!(claim(&desk.store, "worker").await.is_none());
    assert_eq!(reap(desk).await, NOTHING, "once is enough");
}

async fn a_dead_lease_is_requeued_from_the_instant_it_ends(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    desk.claim("worker").await;
    desk.advance(LEASE - MILLISECOND);
    assert_eq!(reap(&desk).await, NOTHING);
    desk.advance(MILLISECOND);
    assert_eq!(reap(&desk).await, ONE_REQUEUED);
    assert_eq!(reap(&desk).await, NOTHING);
    assert_eq!(desk.job(&project, &id).await.status, Status::Active);
    assert!(claim(&desk.store, "worker").await.is_none(), "after a pause");
    desk.advance(SECOND);
    assert_eq!(desk.claim("worker").await.job.id, id);
}

async fn a_live_lease_is_left_alone(desk: Desk) {
    let project = desk.project("Docs").await;
    desk.create(&project).await;
    let dead = desk.claim("dead").await;
    desk.create(&project).await;
    let live = desk.claim("live").await;
    for _ in 0..5 {
        desk.advance(LEASE / 2);
        heartbeat(&desk.store, &live.lease, LEASE).await.unwrap();
        reap(&desk).await;
    }
    assert!(desk.store.check_lease(&live.lease).await.is_ok());
    assert!(desk.store.check_lease(&dead.lease).await.is_err());
    assert_eq!(desk.kinds(&live.job.id).await, ["created", "claimed"]);
}

async fn a_requeued_job_waits_longer_each_time_and_is_given_up_in_the_end(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    let mut pauses = Vec::new();
    loop {
        assert_eq!(desk.claim("worker").await.tries as usize, pauses.len() + 1);
        desk.advance(LEASE);
        if reap(&desk).await == ONE_ENDED {
            break;
        }
        let due = desk.store.next_due().await.unwrap().unwrap();
        pauses.push(due.since(desk.now()).as_secs());
        desk.advance(due.since(desk.now()));
    }
    assert_eq!(pauses, [1, 2], "three tries, two pauses");
    assert_ended(&desk, &project, &id, Outcome::Error).await;
}

async fn a_dead_lease_of_a_cancelled_job_ends_cancelled(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    desk.claim("worker").await;
    desk.store.cancel_job(&project, &id).await.unwrap().unwrap();
    desk.advance(LEASE - MILLISECOND);
    assert_eq!(reap(&desk).await, NOTHING, "its worker may yet obey");
    desk.advance(MILLISECOND);
    assert_eq!(reap(&desk).await, ONE_ENDED);
    assert_ended(&desk, &project, &id, Outcome::Cancelled).await;
}

async fn a_dead_lease_past_its_deadline_ends_timed_out(desk: Desk) {
    let new = NewProject { time_limit_seconds: Some(20), ..new_project("Docs") };
    let project = desk.store.create_project(new).await.unwrap().unwrap().id;
    let id = desk.create(&project).await;
    desk.claim("worker").await;
    desk.advance(LEASE - MILLISECOND);
    assert_eq!(reap(&desk).await, NOTHING, "the worker ends it itself while it lives");
    desk.advance(MILLISECOND);
    assert_eq!(reap(&desk).await, ONE_ENDED);
    assert_ended(&desk, &project, &id, Outcome::TimedOut).await;
}

async fn a_job_that_waits_past_its_deadline_ends_timed_out(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    let claimed = desk.claim("worker").await;
    desk.store.release(&claimed.lease).await.unwrap();
    desk.advance(terms().job_time - MILLISECOND);
    assert_eq!(reap(&desk).await, NOTHING);
    desk.advance(MILLISECOND);
    assert_eq!(reap(&desk).await, ONE_ENDED);
    assert_ended(&desk, &project, &id, Outcome::TimedOut).await;
}

async fn a_job_that_nobody_claims_ends_timed_out(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    desk.advance(terms().queue_time - MILLISECOND);
    assert_eq!(reap(&desk).await, NOTHING);
    desk.advance(MILLISECOND);
    assert_eq!(reap(&desk).await, ONE_ENDED);
    assert_ended(&desk, &project, &id, Outcome::TimedOut).await;
}

async fn a_job_that_was_claimed_in_time_does_not_die_of_the_queue(desk: Desk) {
    let project = desk.project("Docs").await;
    let short = QueueTerms { queue_time: SECOND * 10, ..terms() };
    desk.create(&project).await;
    desk.advance(SECOND * 9);
    let claimed = claim_with(&desk.store, "worker", &models(), &short).await.unwrap().unwrap();
    desk.store.release(&claimed.lease).await.unwrap();
    desk.advance(SECOND * 9);
    assert_eq!(desk.store.reap(&short, || 1.0).await.unwrap(), NOTHING);
    desk.claim("worker").await;
}

async fn a_follow_up_waits_its_own_time_in_the_queue(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.ended(&project, Outcome::NoChanges).await;
    desk.advance(terms().queue_time * 2);
    desk.message(&project, &id).await;
    desk.advance(terms().queue_time - MILLISECOND);
    assert_eq!(reap(&desk).await, NOTHING, "neither the old deadline nor the old place counts");
    desk.advance(MILLISECOND);
    assert_eq!(reap(&desk).await, ONE_ENDED);
    assert_ended(&desk, &project, &id, Outcome::TimedOut).await;
}

async fn several_reapers_at_once_requeue_each_job_once(desk: Desk) {
    let project = desk.project("Docs").await;
    let mut ids = Vec::new();
    for at in 0..20 {
        ids.push(desk.create(&project).await);
        desk.claim("worker").await;
        if at % 4 == 0 {
            desk.store.cancel_job(&project, &ids[at]).await.unwrap().unwrap();
        }
    }
    desk.advance(LEASE);
    let reapers = desk
        .several_beside(4)
        .await
        .into_iter()
        .map(|store| tokio::spawn(async move { store.reap(&terms(), || 0.5).await.unwrap() }));
    let reaped: Vec<_> = join_all(reapers).await.into_iter().map(|reaped| reaped.unwrap()).collect();
    assert_eq!(reaped.iter().map(|reaped| reaped.requeued).sum::<u32>(), 15);
    assert_eq!(reaped.iter().map(|reaped| reaped.ended).sum::<u32>(), 5);
    for (at, id) in ids.iter().enumerate() {
        let wanted: &[_] = if at % 4 == 0 {
            &["created", "claimed", "cancelling", "failed"]
        } else {
            &["created", "claimed", "retrying"]
        };
        assert_eq!(desk.kinds(id).await, wanted);
    }
}

async fn any_number_of_dead_leases_is_dealt_with(desk: Desk) {
    let project = desk.project("Docs").await;
    for _ in 0..130 {
        desk.create(&project).await;
        desk.claim("worker").await;
    }
    for _ in 0..130 {
        let mut other = new_job(&project);
        other.model = "nobody".to_owned();
        desk.store.create_job(other, crate::desk::OFF, None, render).await.unwrap();
    }
    desk.advance(terms().queue_time);
    let mut sum = 0;
    loop {
        let reaped = reap(&desk).await;
        if reaped == NOTHING {
            break;
        }
        sum += reaped.ended + reaped.requeued;
    }
    assert_eq!(sum, 260);
    assert!(desk.jobs(&project).await.iter().all(|job| job.outcome == Some(Outcome::TimedOut)));
}

async fn the_reaper_leaves_ended_jobs_alone(desk: Desk) {
    let project = desk.project("Docs").await;
    for outcome in [Outcome::PrCreated, Outcome::Error, Outcome::Cancelled] {
        desk.ended(&project, outcome).await;
    }
    let held = desk.create(&project).await;
    desk.claim("worker").await;
    desk.store.archive_job(&project, &held).await.unwrap();
    let before = raw::all_of_jobs(desk.db.address()).await;
    desk.advance(terms().queue_time * 3);
    assert_eq!(reap(&desk).await, NOTHING);
    assert_eq!(raw::all_of_jobs(desk.db.address()).await, before);
}

async fn the_sweeper_forgets_expired_keys_and_what_cannot_be_told_only(desk: Desk) {
    let project = desk.project("Docs").await;
    crate::webhooks::hook(&desk, &project).await;
    let day = Duration::from_secs(24 * 3600);
    let create =
        |name: &'static str| desk.store.create_job(new_job(&project), crate::desk::OFF, key(name, "a"), render);
    let left = || async {
        let address = desk.db.address();
        let keys = raw::number(address, "SELECT count(*) FROM idempotency").await;
        (keys, raw::number(address, "SELECT count(*) FROM outbox").await)
    };
    create("old").await.unwrap();
    // Somebody has tried to tell of these, in vain.
    desk.db.execute("UPDATE outbox SET tries = 1").await;
    desk.advance(SECOND);
    create("new").await.unwrap();
    desk.advance(day - SECOND - MILLISECOND);
    assert_eq!(desk.store.purge().await.unwrap(), 0);
    desk.advance(MILLISECOND);
    assert_eq!(desk.store.purge().await.unwrap(), 1);
    assert_eq!(left().await, (1, 2));
    desk.advance(day * 2 - MILLISECOND);
    assert_eq!((desk.store.purge().await.unwrap(), left().await), (1, (0, 2)));
    desk.advance(MILLISECOND);
    assert_eq!((desk.store.purge().await.unwrap(), left().await), (1, (0, 1)));
    desk.advance(day * 30);
    assert_eq!((desk.store.purge().await.unwrap(), left().await), (0, (0, 1)), "nobody has looked at this one yet");
    assert_eq!(desk.jobs(&project).await.len(), 2);
}
