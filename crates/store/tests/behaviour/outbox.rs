//! The outbox: what the outside world is to be told, written with what made it true, becomes deliveries.

use std::collections::BTreeSet;

use copydesk_domain::{EventKind, Job, JobId, Outcome};
use copydesk_store::{CancelError, FannedOut, OutboxEntry, Store, ViewsSoFar};
use futures_util::future::join_all;

use crate::desk::{Desk, LEASE, SECOND, heartbeat, terms};
use crate::raw;
use crate::webhooks::{deliveries, hook, hook_for};

behaviours! {
    every_turn_of_a_job_is_in_the_outbox,
    what_changes_nothing_is_not_in_the_outbox,
    an_event_becomes_one_delivery_for_each_webhook_that_wants_it,
    the_body_is_made_when_the_deliveries_are,
    a_project_without_webhooks_puts_nothing_into_the_outbox,
    without_a_webhook_that_wants_it_the_outbox_is_emptied_all_the_same,
    events_come_oldest_first_and_not_more_than_asked_for,
    several_processes_at_once_make_each_delivery_once,
    an_event_that_cannot_be_told_does_not_keep_back_the_others,
    the_first_view_is_told_once_however_many_see_it,
}

/// A body that says what it was made of.
pub fn body(entry: &OutboxEntry, job: Option<&Job>) -> String {
    let about = job.map_or_else(|| entry.project_id.to_string(), |job| format!("{} {}", job.id, job.status.as_str()));
    format!("{} {} {about}", entry.id, entry.kind.as_str())
}

pub async fn fan_out(store: &Store) -> FannedOut {
    store.fan_out(1000, body).await.unwrap()
}

async fn the_first_view_is_told_once_however_many_see_it(desk: Desk) {
    let (project, other) = (desk.project("Docs").await, desk.project("Other").await);
    let hook = hook_for(&desk, &project, &[EventKind::ProjectFirstView]).await;
    assert_eq!(desk.store.without_first_view().await.unwrap().len(), 2);
    let told = join_all((0..16).map(|_| desk.store.tell_first_view(&project))).await;
    assert_eq!(told.into_iter().filter(|told| *told.as_ref().unwrap()).count(), 1);
    fan_out(&desk.store).await;
    let [delivery] = deliveries(&desk, &hook).await.try_into().unwrap();
    assert_eq!(delivery.kind, "project.first_view");
    assert!(delivery.payload.ends_with(&format!("project.first_view {project}")), "{}", delivery.payload);
    assert_eq!(desk.store.without_first_view().await.unwrap(), [(other, ViewsSoFar::None)]);
    assert!(!desk.store.tell_first_view(&"nobody".into()).await.unwrap());
}

/// What a webhook that wants everything is told of a job, oldest first.
async fn kinds_of(desk: &Desk, hook: &str, job: &JobId) -> Vec<String> {
    fan_out(&desk.store).await;
    let told = deliveries(desk, hook).await;
    told.into_iter().rev().filter(|it| it.payload.contains(job.as_str())).map(|it| it.kind).collect()
}

async fn every_turn_of_a_job_is_in_the_outbox(desk: Desk) {
    let project = desk.project("Docs").await;
    let hook = hook(&desk, &project).await;
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
    desk.store.cancel_job(&project, &cancelled).await.unwrap().unwrap();
    let reaped = desk.create(&project).await;
    desk.advance(terms().queue_time);
    desk.store.reap(&terms(), || 0.0).await.unwrap();

    assert_eq!(kinds_of(&desk, &hook, &finished).await, ["job.created", "job.completed", "job.completed"]);
    assert_eq!(kinds_of(&desk, &hook, &failed).await, ["job.created", "job.failed", "job.archived"]);
    assert_eq!(kinds_of(&desk, &hook, &held).await, ["job.created", "job.failed", "job.archived"]);
    assert_eq!(kinds_of(&desk, &hook, &cancelled).await, ["job.created", "job.failed"]);
    assert_eq!(kinds_of(&desk, &hook, &reaped).await, ["job.created", "job.failed"]);
}

async fn what_changes_nothing_is_not_in_the_outbox(desk: Desk) {
    let project = desk.project("Docs").await;
    let hook = hook(&desk, &project).await;
    let id = desk.create(&project).await;
    let claimed = desk.claim("worker").await;
    heartbeat(&desk.store, &claimed.lease, LEASE).await.unwrap();
    desk.store.cancel_job(&project, &id).await.unwrap().unwrap();
    desk.store.cancel_job(&project, &id).await.unwrap().unwrap();
    assert_eq!(kinds_of(&desk, &hook, &id).await, ["job.created"]);
    desk.store.archive_job(&project, &id).await.unwrap();
    desk.store.archive_job(&project, &id).await.unwrap();
    desk.message(&project, &id).await;
    assert!(matches!(desk.store.cancel_job(&project, &id).await, Err(CancelError::Refused(_))));
    assert_eq!(kinds_of(&desk, &hook, &id).await, ["job.created", "job.failed", "job.archived"]);
}

async fn an_event_becomes_one_delivery_for_each_webhook_that_wants_it(desk: Desk) {
    let (project, other) = (desk.project("Docs").await, desk.project("Other").await);
    let all = hook(&desk, &project).await;
    let ends = hook_for(&desk, &project, &[EventKind::JobCompleted, EventKind::JobFailed]).await;
    let archived = hook_for(&desk, &project, &[EventKind::JobArchived]).await;
    let paused = hook(&desk, &project).await;
    desk.store.pause_webhook(&paused, "Not now.").await.unwrap().unwrap();
    let elsewhere = hook(&desk, &other).await;
    let job = desk.ended(&project, Outcome::NoChanges).await;
    desk.advance(SECOND);
    assert_eq!(fan_out(&desk.store).await, FannedOut { entries: 2, deliveries: 3, postponed: 0 });
    assert_eq!(fan_out(&desk.store).await, FannedOut::default(), "once is enough");

    let told = deliveries(&desk, &all).await;
    let kinds: Vec<_> = told.iter().map(|it| it.kind.as_str()).collect();
    assert_eq!(kinds, ["job.completed", "job.created"], "newest first");
    let of_ends = deliveries(&desk, &ends).await;
    assert_eq!(of_ends.len(), 1);
    assert_eq!(of_ends[0].event_id, told[0].event_id, "one event has one id, whoever is told");
    assert_ne!(of_ends[0].id, told[0].id);
    for nothing in [&archived, &paused, &elsewhere] {
        assert_eq!(deliveries(&desk, nothing).await, []);
    }
    let first = &told[1];
    assert_eq!((first.tries, first.created_at, first.next_try_at), (0, desk.now(), Some(desk.now())));
    assert!(first.payload.contains(job.as_str()) && first.payload.starts_with(&first.event_id), "{}", first.payload);
}

async fn the_body_is_made_when_the_deliveries_are(desk: Desk) {
    let project = desk.project("Docs").await;
    let hook = hook(&desk, &project).await;
    let job = desk.create(&project).await;
    desk.store.cancel_job(&project, &job).await.unwrap().unwrap();
    fan_out(&desk.store).await;
    let told = deliveries(&desk, &hook).await;
    assert!(told[1].payload.ends_with(&format!("job.created {job} failed")), "{}", told[1].payload);
    desk.store.archive_job(&project, &job).await.unwrap();
    fan_out(&desk.store).await;
    let told = deliveries(&desk, &hook).await;
    assert!(told[2].payload.ends_with("failed"), "what is made stays as it was: {}", told[2].payload);
}

async fn a_project_without_webhooks_puts_nothing_into_the_outbox(desk: Desk) {
    let (project, other) = (desk.project("Docs").await, desk.project("Other").await);
    hook(&desk, &other).await;
    desk.ended(&project, Outcome::NoChanges).await;
    let failed = desk.ended(&project, Outcome::Error).await;
    desk.store.archive_job(&project, &failed).await.unwrap();
    desk.store.tell_first_view(&project).await.unwrap();
    assert_eq!(raw::number(desk.db.address(), "SELECT count(*) FROM outbox").await, 0);
    let hook = hook(&desk, &project).await;
    let told = desk.ended(&project, Outcome::NoChanges).await;
    assert_eq!(kinds_of(&desk, &hook, &told).await, ["job.created", "job.completed"], "from then on");
}

async fn without_a_webhook_that_wants_it_the_outbox_is_emptied_all_the_same(desk: Desk) {
    let project = desk.project("Docs").await;
    hook_for(&desk, &project, &[EventKind::ProjectFirstView]).await;
    desk.ended(&project, Outcome::NoChanges).await;
    assert_eq!(fan_out(&desk.store).await, FannedOut { entries: 2, deliveries: 0, postponed: 0 });
    assert_eq!(raw::number(desk.db.address(), "SELECT count(*) FROM outbox").await, 0);
}

async fn events_come_oldest_first_and_not_more_than_asked_for(desk: Desk) {
    let project = desk.project("Docs").await;
    let hook = hook(&desk, &project).await;
    let mut jobs = Vec::new();
    for _ in 0..7 {
        jobs.push(desk.create(&project).await);
    }
    for wanted in [3, 3, 1, 0] {
        assert_eq!(desk.store.fan_out(3, body).await.unwrap().entries, wanted);
    }
    let told = deliveries(&desk, &hook).await;
    let told: Vec<JobId> = told.iter().rev().map(|it| it.payload.split(' ').nth(2).unwrap().into()).collect();
    assert_eq!(told, jobs);
}

async fn several_processes_at_once_make_each_delivery_once(desk: Desk) {
    let project = desk.project("Docs").await;
    let hook = hook(&desk, &project).await;
    for _ in 0..60 {
        desk.create(&project).await;
    }
    let processes = desk.several_beside(4).await.into_iter().map(|store| {
        tokio::spawn(async move {
            for _ in 0..20 {
                store.fan_out(7, body).await.unwrap();
            }
        })
    });
    join_all(processes).await.into_iter().for_each(|done| done.unwrap());
    let told: Vec<_> = deliveries(&desk, &hook).await.into_iter().map(|it| it.event_id).collect();
    assert_eq!((told.len(), told.iter().collect::<BTreeSet<_>>().len()), (60, 60), "each once, and none forgotten");
}

async fn an_event_that_cannot_be_told_does_not_keep_back_the_others(desk: Desk) {
    let project = desk.project("Docs").await;
    let hook = hook(&desk, &project).await;
    let broken = desk.create(&project).await;
    let whole = desk.create(&project).await;
    desk.db.execute(&format!("UPDATE jobs SET usage = 'nonsense' WHERE id = '{broken}'")).await;
    assert_eq!(fan_out(&desk.store).await, FannedOut { entries: 1, deliveries: 1, postponed: 1 });
    assert!(deliveries(&desk, &hook).await[0].payload.contains(whole.as_str()));
    assert_eq!(fan_out(&desk.store).await, FannedOut::default(), "after a pause");
    desk.advance(SECOND * 60);
    assert_eq!(fan_out(&desk.store).await, FannedOut { entries: 0, deliveries: 0, postponed: 1 });
    desk.db.execute(&format!("UPDATE jobs SET usage = '{{}}' WHERE id = '{broken}'")).await;
    desk.advance(SECOND * 119);
    assert_eq!(fan_out(&desk.store).await, FannedOut::default(), "after a longer one");
    desk.advance(SECOND);
    assert_eq!(fan_out(&desk.store).await.deliveries, 1);
}
