//! Copies that were restored from a backup.

use std::time::Duration;

use copydesk_domain::Status;
use copydesk_store::After;

use crate::desk::{Desk, HOUR, LEASE, claim, terms};
use crate::webhooks::{HOLD, deliveries, hook, one_delivery, record, take_one};

behaviours! {
    jobs_wait_until_it_is_woken_and_no_time_passes_for_them,
    nothing_is_due_before,
    no_delivery_is_taken_before,
    deliveries_that_wait_are_as_young_as_they_were,
}

const WEEKS: Duration = Duration::from_secs(21 * 24 * 3600);

async fn jobs_wait_until_it_is_woken_and_no_time_passes_for_them(desk: Desk) {
    let project = desk.project("Docs").await;
    let running = desk.create(&project).await;
    let lease = desk.claim("elsewhere").await.lease;
    let waiting = desk.create(&project).await;
    desk.store.make_dormant(desk.now()).await.unwrap();
    assert!(desk.store.advance(&lease, None, Vec::new()).await.is_err(), "its worker has another copy");
    desk.advance(WEEKS);
    let late = desk.create(&project).await;
    desk.advance(WEEKS);
    assert!(claim(&desk.store, "w").await.is_none());
    assert_eq!(desk.store.reap(&terms(), || 0.0).await.unwrap(), Default::default());
    let dormancy = desk.store.dormancy().await.unwrap().unwrap();
    assert!(dormancy.sentence().contains(&dormancy.backup_at.to_string()));
    assert_eq!(desk.store.wake().await.unwrap(), Some(dormancy));
    assert_eq!((desk.store.wake().await.unwrap(), desk.store.dormancy().await.unwrap()), (None, None));
    desk.advance(LEASE);
    assert_eq!(desk.store.reap(&terms(), || 0.0).await.unwrap(), Default::default(), "none is out of time");
    let mut claimed = Vec::new();
    while let Some(job) = claim(&desk.store, "w").await {
        assert!(job.deadline_at > desk.now().plus(Duration::from_secs(60)), "{}", job.deadline_at);
        claimed.push((job.job.id, job.tries));
    }
    claimed.sort();
    let mut wanted = [(running, 1), (waiting, 1), (late, 1)];
    wanted.sort();
    assert_eq!(claimed, wanted, "it is no failed try that a copy was made");
}

async fn nothing_is_due_before(desk: Desk) {
    let project = desk.project("Docs").await;
    hook(&desk, &project).await;
    let job = desk.create(&project).await;
    desk.store.make_dormant(desk.now()).await.unwrap();
    assert_eq!(desk.store.fan_out(100, |_, _| String::new()).await.unwrap().entries, 0);
    assert!(!desk.store.begin_health(&project, HOUR).await.unwrap());
    assert_eq!(desk.job(&project, &job).await.status, Status::Active);
    desk.store.wake().await.unwrap();
    assert_eq!(desk.store.fan_out(100, |_, _| String::new()).await.unwrap().entries, 1);
    assert!(desk.store.begin_health(&project, HOUR).await.unwrap());
}

/// Whoever knows of a webhook from before does not get its deliveries either.
async fn no_delivery_is_taken_before(desk: Desk) {
    let (_, hook) = one_delivery(&desk).await;
    desk.store.make_dormant(desk.now()).await.unwrap();
    assert!(desk.store.take_deliveries(&hook, 10, HOLD).await.unwrap().is_empty());
    desk.store.wake().await.unwrap();
    assert_eq!(desk.store.take_deliveries(&hook, 10, HOLD).await.unwrap().len(), 1);
}

/// Deliveries are forgotten after a month, and given up days after they were made.
async fn deliveries_that_wait_are_as_young_as_they_were(desk: Desk) {
    let (project, hook) = one_delivery(&desk).await;
    let done = take_one(&desk, &hook).await;
    record(&desk, &done, 200, After::Delivered).await;
    desk.create(&project).await;
    desk.store.fan_out(100, |_, _| String::new()).await.unwrap();
    let waits = take_one(&desk, &hook).await;
    record(&desk, &waits, 500, After::Again(desk.now().plus(HOUR))).await;
    let (made, backup_at) = (desk.now(), desk.now());
    desk.advance(HOUR);
    desk.store.make_dormant(backup_at).await.unwrap();
    desk.advance(2 * WEEKS);
    desk.store.wake().await.unwrap();
    desk.store.purge().await.unwrap();
    let [left] = deliveries(&desk, &hook).await.try_into().unwrap();
    let slept = 2 * WEEKS + HOUR;
    assert_eq!((&left.id, left.created_at), (&waits.id, made.plus(slept)));
    assert_eq!(left.next_try_at, Some(desk.now().plus(HOUR)), "an hour was left when the backup was made");
    desk.advance(HOUR);
    assert_eq!(take_one(&desk, &hook).await.id, waits.id);
}
