//! The outbox: what the outside world is to be told, written with what made it true.

use std::collections::BTreeSet;
use std::time::Duration;

use copydesk_domain::Outcome;
use copydesk_store::OutboxEntry;
use futures_util::future::join_all;

use crate::desk::{Desk, LEASE, MILLISECOND, SECOND, terms};

behaviours! {
    every_turn_of_a_job_is_in_the_outbox,
    what_changes_nothing_is_not_in_the_outbox,
    an_entry_is_hidden_while_it_is_being_delivered_and_comes_back_the_same,
    a_delivered_entry_is_gone,
    entries_come_oldest_first_and_not_more_than_asked_for,
    two_deliverers_at_once_never_take_the_same_entry,
}

const HOLD: Duration = Duration::from_secs(60);

async fn take(desk: &Desk, limit: u32) -> Vec<OutboxEntry> {
    desk.store.take_outbox(limit, HOLD).await.unwrap()
}

async fn kinds_of(desk: &Desk, job: &str) -> Vec<String> {
    desk.advance(HOLD);
    take(desk, 1000).await.into_iter().filter(|entry| entry.job_id == job).map(|entry| entry.kind).collect()
}

async fn every_turn_of_a_job_is_in_the_outbox(desk: Desk) {
    let project = desk.project("Docs").await;
    let finished = desk.ended(&project, Outcome::PrCreated).await;
    desk.message(&project, &finished).await;
    let claimed = desk.claim("worker").await;
    desk.finish(&claimed).await;
    let failed = desk.ended(&project, Outcome::ChecksFailed).await;
    desk.store.archive_job(&project, &failed).await.unwrap();
    let held = desk.create(&project).await;
    desk.claim("worker").await;
    desk.store.archive_job(&project, &held).await.unwrap();
    let cancelled = desk.create(&project).await;
    desk.store.cancel_job(&project, &cancelled).await.unwrap().unwrap().unwrap();
    let reaped = desk.create(&project).await;
    desk.advance(terms().queue_time);
    desk.store.reap(&terms(), || 0.0).await.unwrap();

    assert_eq!(kinds_of(&desk, &finished).await, ["job.created", "job.completed", "job.completed"]);
    assert_eq!(kinds_of(&desk, &failed).await, ["job.created", "job.failed", "job.archived"]);
    assert_eq!(kinds_of(&desk, &held).await, ["job.created", "job.failed", "job.archived"]);
    assert_eq!(kinds_of(&desk, &cancelled).await, ["job.created", "job.failed"]);
    assert_eq!(kinds_of(&desk, &reaped).await, ["job.created", "job.failed"]);
}

async fn what_changes_nothing_is_not_in_the_outbox(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    let claimed = desk.claim("worker").await;
    desk.store.heartbeat(&claimed.lease, LEASE).await.unwrap().unwrap();
    desk.store.cancel_job(&project, &id).await.unwrap().unwrap().unwrap();
    desk.store.cancel_job(&project, &id).await.unwrap().unwrap().unwrap();
    assert_eq!(kinds_of(&desk, &id).await, ["job.created"]);
    desk.store.archive_job(&project, &id).await.unwrap();
    desk.store.archive_job(&project, &id).await.unwrap();
    desk.message(&project, &id).await;
    assert!(desk.store.cancel_job(&project, &id).await.unwrap().unwrap().is_err());
    assert_eq!(kinds_of(&desk, &id).await, ["job.created", "job.failed", "job.archived"]);
}

async fn an_entry_is_hidden_while_it_is_being_delivered_and_comes_back_the_same(desk: Desk) {
    let project = desk.project("Docs").await;
    let job = desk.create(&project).await;
    let created_at = desk.now();
    desk.advance(SECOND);
    let first = take(&desk, 10).await.remove(0);
    let id = first.id.clone();
    let wanted = |tries| OutboxEntry {
        id: id.clone(),
        project_id: project.clone(),
        job_id: job.clone(),
        kind: "job.created".to_owned(),
        created_at,
        tries,
    };
    assert_eq!(first, wanted(1));
    desk.advance(HOLD - MILLISECOND);
    assert_eq!(take(&desk, 10).await, []);
    desk.advance(MILLISECOND);
    assert_eq!(take(&desk, 10).await, [wanted(2)], "with its id, so that a receiver knows it again");
}

async fn a_delivered_entry_is_gone(desk: Desk) {
    let project = desk.project("Docs").await;
    desk.create(&project).await;
    let kept = desk.create(&project).await;
    let delivered = take(&desk, 1).await.remove(0);
    desk.store.finish_outbox(&delivered.id).await.unwrap();
    desk.store.finish_outbox(&delivered.id).await.unwrap();
    desk.advance(HOLD);
    let left: Vec<_> = take(&desk, 10).await.into_iter().map(|entry| entry.job_id).collect();
    assert_eq!(left, [kept]);
}

async fn entries_come_oldest_first_and_not_more_than_asked_for(desk: Desk) {
    let project = desk.project("Docs").await;
    let mut jobs = Vec::new();
    for _ in 0..7 {
        jobs.push(desk.create(&project).await);
    }
    let mut taken = Vec::new();
    for wanted in [3, 3, 1, 0] {
        let entries = take(&desk, 3).await;
        assert_eq!(entries.len(), wanted);
        taken.extend(entries.into_iter().map(|entry| entry.job_id));
    }
    assert_eq!(taken, jobs);
}

async fn two_deliverers_at_once_never_take_the_same_entry(desk: Desk) {
    let project = desk.project("Docs").await;
    for _ in 0..60 {
        desk.create(&project).await;
    }
    let deliverers = desk.several_beside(4).await.into_iter().map(|store| {
        tokio::spawn(async move {
            let mut mine = Vec::new();
            for _ in 0..20 {
                mine.extend(store.take_outbox(7, HOLD).await.unwrap().into_iter().map(|entry| entry.id));
            }
            mine
        })
    });
    let taken: Vec<_> = join_all(deliverers).await.into_iter().flat_map(|mine| mine.unwrap()).collect();
    assert_eq!((taken.len(), taken.iter().collect::<BTreeSet<_>>().len()), (60, 60), "each once, and none forgotten");
}
