//! Webhooks and their deliveries: who is told, who tries, and what comes of it.

use std::collections::BTreeSet;
use std::time::Duration;

use copydesk_domain::{EventKind, ProjectId};
use copydesk_store::{
    Added, After, Attempt, Blame, DeliveryFilter, DueDelivery, DueEndpoint, NewEndpoint, SecretName, WebhookDelivery,
    WebhookEndpoint,
};
use futures_util::future::join_all;

use crate::desk::{Desk, HOUR, MILLISECOND, SECOND};
use crate::outbox::fan_out;
use crate::raw;

behaviours! {
    a_webhook_reads_back_as_it_was_made,
    a_project_has_so_many_webhooks_and_no_more,
    removing_a_webhook_takes_its_deliveries_and_secrets,
    pausing_again_keeps_the_first_reason_and_resuming_forgets_it,
    a_new_secret_goes_first_and_the_old_one_goes_after_its_time,
    a_delivery_in_hand_is_hidden_and_comes_back_if_its_holder_dies,
    two_processes_at_once_never_take_the_same_delivery,
    webhooks_are_due_by_how_long_they_have_waited,
    a_success_ends_a_delivery,
    a_failure_is_tried_again_when_it_was_said,
    what_is_given_up_is_not_tried_again,
    a_failure_told_too_late_changes_nothing_and_a_success_counts,
    a_webhook_that_fails_for_days_is_paused,
    one_that_is_gone_is_paused_at_once,
    a_test_is_in_hand_and_counts_against_nobody,
}

pub const HOLD: Duration = Duration::from_secs(60);
pub const DAY: Duration = Duration::from_secs(24 * 3600);

fn new(project: &ProjectId, events: &[EventKind]) -> NewEndpoint {
    NewEndpoint {
        project_id: project.clone(),
        url: "https://example.com/hook".to_owned(),
        events: events.to_vec(),
        description: "A test's".to_owned(),
        secret: b"first".to_vec(),
    }
}

/// A webhook for some events.
pub async fn hook_for(desk: &Desk, project: &ProjectId, events: &[EventKind]) -> String {
    match desk.store.add_webhook(&desk.vault, new(project, events)).await.unwrap() {
        Added::Done(made) => made.id,
        other => panic!("not made: {other:?}"),
    }
}

/// A webhook for all of them.
pub async fn hook(desk: &Desk, project: &ProjectId) -> String {
    hook_for(desk, project, &[]).await
}

/// All deliveries of a webhook, newest first.
pub async fn deliveries(desk: &Desk, hook: &str) -> Vec<WebhookDelivery> {
    desk.store.deliveries(hook, DeliveryFilter { limit: 1000, ..DeliveryFilter::default() }).await.unwrap()
}

async fn endpoint(desk: &Desk, hook: &str) -> WebhookEndpoint {
    desk.store.webhook(hook).await.unwrap().expect("there is such a webhook")
}

/// A project with a webhook and one delivery for it.
pub async fn one_delivery(desk: &Desk) -> (ProjectId, String) {
    let project = desk.project("Docs").await;
    let hook = hook(desk, &project).await;
    desk.create(&project).await;
    fan_out(&desk.store).await;
    (project, hook)
}

pub async fn take(desk: &Desk, hook: &str) -> Vec<DueDelivery> {
    desk.store.take_deliveries(hook, 10, HOLD).await.unwrap()
}

pub async fn take_one(desk: &Desk, hook: &str) -> WebhookDelivery {
    take(desk, hook).await.remove(0).delivery
}

fn answer(status: u16) -> Attempt {
    let answer = Some("An answer\0 of some kind".to_owned());
    Attempt { status: Some(status), answer, error: None, took: MILLISECOND * 17 }
}

fn failing() -> Blame {
    Blame::Failing { patience: DAY * 5, why: "No delivery succeeded for 5 days.".to_owned() }
}

pub async fn record(desk: &Desk, tried: &WebhookDelivery, status: u16, after: After) -> WebhookDelivery {
    desk.store.record_attempt(tried, answer(status), after, failing()).await.unwrap().unwrap()
}

async fn a_webhook_reads_back_as_it_was_made(desk: Desk) {
    let project = desk.project("Docs").await;
    let events = [EventKind::JobFailed, EventKind::JobArchived];
    let new = new(&project, &events);
    let Added::Done(made) = desk.store.add_webhook(&desk.vault, new).await.unwrap() else { panic!("not made") };
    let wanted = WebhookEndpoint {
        id: made.id.clone(),
        project_id: project.clone(),
        url: "https://example.com/hook".to_owned(),
        events: events.to_vec(),
        description: "A test's".to_owned(),
        created_at: desk.now(),
        paused_at: None,
        paused_why: None,
        failing_since: None,
        last_success_at: None,
        old_secret_until: None,
    };
    assert_eq!(*made, wanted);
    assert_eq!(endpoint(&desk, &wanted.id).await, wanted);
    let other = desk.project("Other").await;
    let second = hook(&desk, &other).await;
    assert_eq!(desk.store.webhooks(Some(&project)).await.unwrap(), std::slice::from_ref(&wanted));
    let all: Vec<_> = desk.store.webhooks(None).await.unwrap().into_iter().map(|it| it.id).collect();
    assert_eq!(all, [wanted.id, second], "oldest first");
    assert_eq!(desk.store.webhook("nobody").await.unwrap(), None);
    let nowhere = self::new(&"nowhere".into(), &[]);
    assert_eq!(desk.store.add_webhook(&desk.vault, nowhere).await.unwrap(), Added::NoProject);
}

async fn a_project_has_so_many_webhooks_and_no_more(desk: Desk) {
    let (project, other) = (desk.project("Docs").await, desk.project("Other").await);
    let stores = desk.several_beside(4).await;
    let added = (0..28).map(|at| {
        let (store, vault, new) = (stores[at % 4].clone(), desk.vault.clone(), new(&project, &[]));
        tokio::spawn(async move { store.add_webhook(&vault, new).await.unwrap() })
    });
    let added: Vec<_> = join_all(added).await.into_iter().map(|added| added.unwrap()).collect();
    assert_eq!(added.iter().filter(|it| matches!(it, Added::Done(_))).count(), 20);
    assert_eq!(added.iter().filter(|it| **it == Added::TooMany(20)).count(), 8);
    hook(&desk, &other).await;
}

async fn removing_a_webhook_takes_its_deliveries_and_secrets(desk: Desk) {
    let (_, hook) = one_delivery(&desk).await;
    let taken = take_one(&desk, &hook).await;
    assert!(desk.store.remove_webhook(&hook).await.unwrap());
    assert!(!desk.store.remove_webhook(&hook).await.unwrap());
    for table in ["webhook_endpoints", "secrets", "webhook_deliveries"] {
        assert_eq!(raw::number(desk.db.address(), &format!("SELECT count(*) FROM {table}")).await, 0, "{table}");
    }
    let late = desk.store.record_attempt(&taken, answer(200), After::Delivered, Blame::None).await.unwrap();
    assert_eq!(late, None, "whoever had one in hand learns it");
    assert_eq!(desk.store.pause_webhook(&hook, "x").await.unwrap(), None);
    assert_eq!(desk.store.resume_webhook(&hook).await.unwrap(), None);
    assert_eq!(desk.store.rotate_webhook(&desk.vault, &hook, &[1], desk.now()).await.unwrap(), None);
    assert!(desk.store.take_test(&hook, |_| String::new(), HOLD).await.unwrap().is_none());
}

async fn pausing_again_keeps_the_first_reason_and_resuming_forgets_it(desk: Desk) {
    let (project, hook) = one_delivery(&desk).await;
    let paused = desk.store.pause_webhook(&hook, "First.").await.unwrap().unwrap();
    assert_eq!((paused.paused_at, paused.paused_why.as_deref()), (Some(desk.now()), Some("First.")));
    desk.advance(SECOND);
    assert_eq!(desk.store.pause_webhook(&hook, "Second.").await.unwrap().unwrap(), paused);
    assert_eq!(desk.store.due_webhooks().await.unwrap(), []);
    assert!(take(&desk, &hook).await.is_empty(), "nothing is delivered");
    desk.create(&project).await;
    fan_out(&desk.store).await;
    let resumed = desk.store.resume_webhook(&hook).await.unwrap().unwrap();
    assert_eq!((resumed.paused_at, resumed.paused_why), (None, None));
    assert_eq!(take(&desk, &hook).await.len(), 1, "what waited before the pause, and nothing of between");
}

async fn a_new_secret_goes_first_and_the_old_one_goes_after_its_time(desk: Desk) {
    let (project, hook) = one_delivery(&desk).await;
    let name = SecretName::Webhook(hook.clone());
    let signs = async || {
        let valid = desk.store.valid_secrets(&desk.vault, &project, &name).await.unwrap();
        valid.into_iter().map(|(_, secret)| String::from_utf8(secret).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(signs().await, ["first"]);
    let until = desk.now().plus(HOUR);
    let rotate = async |secret: &str| desk.store.rotate_webhook(&desk.vault, &hook, secret.as_bytes(), until).await;
    let rotated = rotate("second").await.unwrap().unwrap();
    assert_eq!(rotated.old_secret_until, Some(until));
    assert_eq!(signs().await, ["second", "first"]);
    rotate("third").await.unwrap().unwrap();
    assert_eq!(signs().await, ["third", "second"], "two at a time");
    desk.advance(HOUR);
    assert_eq!(signs().await, ["third"]);
}

async fn a_delivery_in_hand_is_hidden_and_comes_back_if_its_holder_dies(desk: Desk) {
    let (_, hook) = one_delivery(&desk).await;
    let first = take_one(&desk, &hook).await;
    assert_eq!((first.tries, first.next_try_at), (1, Some(desk.now().plus(HOLD))));
    desk.advance(HOLD - MILLISECOND);
    assert!(take(&desk, &hook).await.is_empty());
    assert_eq!(desk.store.due_webhooks().await.unwrap(), []);
    desk.advance(MILLISECOND);
    let second = take_one(&desk, &hook).await;
    assert_eq!((&second.id, &second.event_id, second.tries), (&first.id, &first.event_id, 2));
}

async fn two_processes_at_once_never_take_the_same_delivery(desk: Desk) {
    let project = desk.project("Docs").await;
    let hook = hook(&desk, &project).await;
    for _ in 0..60 {
        desk.create(&project).await;
    }
    fan_out(&desk.store).await;
    let takers = desk.several_beside(4).await.into_iter().map(|store| {
        let hook = hook.clone();
        tokio::spawn(async move {
            let mut mine = Vec::new();
            for _ in 0..20 {
                mine.extend(store.take_deliveries(&hook, 7, HOLD).await.unwrap());
            }
            mine.into_iter().map(|due| due.delivery.id).collect::<Vec<_>>()
        })
    });
    let taken: Vec<_> = join_all(takers).await.into_iter().flat_map(|mine| mine.unwrap()).collect();
    assert_eq!((taken.len(), taken.iter().collect::<BTreeSet<_>>().len()), (60, 60), "each once, and none forgotten");
}

async fn webhooks_are_due_by_how_long_they_have_waited(desk: Desk) {
    let project = desk.project("Docs").await;
    let (one, other) = (hook(&desk, &project).await, hook(&desk, &project).await);
    desk.create(&project).await;
    fan_out(&desk.store).await;
    let due = async || desk.store.due_webhooks().await.unwrap();
    let entry = |id: &String, failing| DueEndpoint { id: id.clone(), failing };
    assert_eq!(due().await, [entry(&one, false), entry(&other, false)]);
    let tried = take_one(&desk, &one).await;
    assert_eq!(due().await, [entry(&other, false)]);
    record(&desk, &tried, 500, After::Again(desk.now().plus(SECOND))).await;
    desk.advance(SECOND);
    assert_eq!(due().await, [entry(&other, false), entry(&one, true)]);
}

async fn a_success_ends_a_delivery(desk: Desk) {
    let (_, hook) = one_delivery(&desk).await;
    let tried = take_one(&desk, &hook).await;
    desk.advance(SECOND);
    let done = record(&desk, &tried, 204, After::Delivered).await;
    assert_eq!((done.delivered_at, done.next_try_at, done.given_up_at), (Some(desk.now()), None, None));
    assert_eq!((done.last_status, done.last_ms, done.last_tried_at), (Some(204), Some(17), Some(desk.now())));
    assert_eq!(done.last_answer.as_deref(), Some("An answer\u{fffd} of some kind"));
    assert_eq!(endpoint(&desk, &hook).await.last_success_at, Some(desk.now()));
    desk.advance(DAY);
    assert!(take(&desk, &hook).await.is_empty());
    assert_eq!(desk.store.delivery(&done.id).await.unwrap(), Some(done));
}

async fn a_failure_is_tried_again_when_it_was_said(desk: Desk) {
    let (_, hook) = one_delivery(&desk).await;
    let tried = take_one(&desk, &hook).await;
    let attempt = Attempt { status: None, answer: None, error: Some("no answer".to_owned()), took: SECOND };
    let at = desk.now().plus(SECOND * 5);
    let waits = desk.store.record_attempt(&tried, attempt, After::Again(at), failing()).await.unwrap().unwrap();
    assert_eq!(
        (waits.next_try_at, waits.last_status, waits.last_error.as_deref()),
        (Some(at), None, Some("no answer"))
    );
    assert_eq!(endpoint(&desk, &hook).await.failing_since, Some(desk.now()));
    desk.advance(SECOND * 5 - MILLISECOND);
    assert!(take(&desk, &hook).await.is_empty());
    desk.advance(MILLISECOND);
    let second = take_one(&desk, &hook).await;
    assert_eq!(second.tries, 2);
    record(&desk, &second, 200, After::Delivered).await;
    assert_eq!(endpoint(&desk, &hook).await.failing_since, None, "one success and all is well");
}

async fn what_is_given_up_is_not_tried_again(desk: Desk) {
    let (_, hook) = one_delivery(&desk).await;
    let tried = take_one(&desk, &hook).await;
    let done = record(&desk, &tried, 500, After::GiveUp).await;
    assert_eq!((done.given_up_at, done.next_try_at, done.delivered_at), (Some(desk.now()), None, None));
    desk.advance(DAY);
    assert!(take(&desk, &hook).await.is_empty());
    assert_eq!(endpoint(&desk, &hook).await.paused_at, None);
}

async fn a_failure_told_too_late_changes_nothing_and_a_success_counts(desk: Desk) {
    let (_, hook) = one_delivery(&desk).await;
    let slow = take_one(&desk, &hook).await;
    desk.advance(HOLD);
    let second = take_one(&desk, &hook).await;
    let late = record(&desk, &slow, 500, After::GiveUp).await;
    assert_eq!((late.given_up_at, late.next_try_at), (None, second.next_try_at));
    assert_eq!(endpoint(&desk, &hook).await.failing_since, None);
    record(&desk, &second, 500, After::GiveUp).await;
    let delivered = record(&desk, &slow, 200, After::Delivered).await;
    assert_eq!((delivered.delivered_at, delivered.given_up_at), (Some(desk.now()), None));
    let again = record(&desk, &second, 500, After::Again(desk.now())).await;
    assert_eq!(again, delivered, "what was delivered stays so");
}

async fn a_webhook_that_fails_for_days_is_paused(desk: Desk) {
    let (_, hook) = one_delivery(&desk).await;
    let tried = take_one(&desk, &hook).await;
    let began = desk.now();
    record(&desk, &tried, 500, After::Again(began.plus(DAY * 5 - MILLISECOND))).await;
    desk.advance(DAY * 5 - MILLISECOND);
    let tried = take_one(&desk, &hook).await;
    record(&desk, &tried, 500, After::Again(desk.now().plus(MILLISECOND))).await;
    assert_eq!(endpoint(&desk, &hook).await.paused_at, None, "not a moment earlier");
    desk.advance(MILLISECOND);
    let tried = take_one(&desk, &hook).await;
    let last = record(&desk, &tried, 500, After::Again(desk.now())).await;
    let paused = endpoint(&desk, &hook).await;
    assert_eq!((paused.paused_at, paused.failing_since), (Some(desk.now()), Some(began)));
    assert_eq!(paused.paused_why.as_deref(), Some("No delivery succeeded for 5 days."));
    assert!(last.next_try_at.is_some() && take(&desk, &hook).await.is_empty());
    let resumed = desk.store.resume_webhook(&hook).await.unwrap().unwrap();
    assert_eq!((resumed.paused_at, resumed.failing_since), (None, None));
    let tried = take_one(&desk, &hook).await;
    record(&desk, &tried, 500, After::Again(desk.now())).await;
    assert_eq!(endpoint(&desk, &hook).await.paused_at, None, "the days begin anew");
}

async fn one_that_is_gone_is_paused_at_once(desk: Desk) {
    let (_, hook) = one_delivery(&desk).await;
    let tried = take_one(&desk, &hook).await;
    let gone = Blame::Gone("It answered 410 Gone.".to_owned());
    desk.store.record_attempt(&tried, answer(410), After::GiveUp, gone).await.unwrap().unwrap();
    let paused = endpoint(&desk, &hook).await;
    assert_eq!((paused.paused_at, paused.paused_why.as_deref()), (Some(desk.now()), Some("It answered 410 Gone.")));
}

async fn a_test_is_in_hand_and_counts_against_nobody(desk: Desk) {
    let project = desk.project("Docs").await;
    let hook = hook(&desk, &project).await;
    desk.store.pause_webhook(&hook, "Not now.").await.unwrap();
    let due = desk.store.take_test(&hook, |now| format!("at {now}"), HOLD).await.unwrap().unwrap();
    assert_eq!((due.url.as_str(), &due.project_id, due.delivery.tries), ("https://example.com/hook", &project, 1));
    assert_eq!((due.delivery.kind.as_str(), due.delivery.payload), ("webhook.test", format!("at {}", desk.now())));
    let tried = deliveries(&desk, &hook).await.remove(0);
    desk.store.resume_webhook(&hook).await.unwrap();
    assert!(take(&desk, &hook).await.is_empty(), "nobody else takes it");
    desk.store.record_attempt(&tried, answer(500), After::GiveUp, Blame::None).await.unwrap().unwrap();
    assert_eq!(endpoint(&desk, &hook).await.failing_since, None);
}
