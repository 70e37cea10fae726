//! What is delivered, to whom, and what that costs others.

use std::collections::BTreeSet;
use std::sync::Arc;

use copydesk_desk::runner::Noop;
use copydesk_desk::webhooks::AllowPrivate;
use copydesk_testkit::{Receiver, Reply, eventually};
use serde_json::json;

use super::{HOUR, MINUTE, SECOND, add, add_for, try_add};
use crate::stage::Stage;

async fn every_turn_of_a_job_is_told_with_the_job(stage: &Stage) {
    let (project, receiver) = (stage.project().await, Receiver::start().await);
    let hook = add(&project, &receiver).await;
    let id = project.job().await;
    let created = receiver.expect(1).await.remove(0);
    assert_eq!(created.header("content-type"), "application/json");
    assert!(created.header("user-agent").starts_with("Copydesk/"));
    let body = created.json();
    let job = project.get(&id).await;
    assert_eq!(body, json!({ "type": "job.created", "timestamp": job["createdAt"], "data": job.json() }));
    stage.advance(SECOND);
    project.cancel(&id).await.expect(200);
    let failed = receiver.expect(2).await.remove(1).json();
    assert_eq!((&failed["type"], &failed["data"]["outcome"]), (&json!("job.failed"), &json!("cancelled")));
    assert_ne!(failed["timestamp"], body["timestamp"]);
    project.archive(&id).await.expect(200);
    let archived = receiver.expect(3).await.remove(2);
    assert_eq!(archived.json()["data"], *project.get(&id).await.json());
    let ids: BTreeSet<_> = receiver.received().iter().map(|it| it.header("webhook-id").to_owned()).collect();
    assert_eq!(ids.len(), 3, "each event has an id of its own");
    let done = hook.newest("it is written down", |it| !it["deliveredAt"].is_null()).await;
    assert_eq!(done["eventId"], archived.header("webhook-id"));
    assert_eq!((&done["lastStatus"], &done["tries"], &done["type"]), (&json!(204), &json!(1), &json!("job.archived")));
    assert_eq!((&done["nextTryAt"], &done["lastError"]), (&json!(null), &json!(null)));
    assert_eq!(hook.get().await["lastSuccessAt"], done["deliveredAt"]);
}

async fn a_webhook_is_told_what_it_asked_for_and_of_its_project(stage: &Stage) {
    let app = stage.app().await;
    let (project, other) = (app.project("Docs").await, app.project("Other").await);
    let (some, paused, all) = (Receiver::start().await, Receiver::start().await, Receiver::start().await);
    add_for(&project, &some, &["job.archived"]).await;
    add(&project, &paused).await.post("/pause").await.expect(200);
    add(&project, &all).await;
    other.job().await;
    let id = project.job().await;
    project.archive(&id).await.expect(200);
    let told: BTreeSet<_> = all.expect(3).await.iter().map(|it| it.json()["type"].to_string()).collect();
    assert_eq!(told.len(), 3);
    assert_eq!(some.expect(1).await[0].json()["type"], "job.archived");
    assert_eq!(paused.received().len(), 0);
}

/// Nothing that a receiver does is felt by a job.
async fn a_job_does_not_wait_for_its_deliveries(stage: &Stage) {
    let app = stage.app_with(|setup| setup.runner(1, vec![Arc::new(Noop)])).await;
    let (project, receiver) = (app.project("Docs").await, Receiver::start().await);
    let hook = add(&project, &receiver).await;
    for _ in 0..4 {
        receiver.reply(Reply::Held);
    }
    let id = project.job().await;
    project.until(&id, "completed").await;
    receiver.expect(2).await;
    let waiting = hook.deliveries("").await;
    assert!(
        waiting.iter().all(|it| it["deliveredAt"].is_null()),
        "the job ended, its deliveries have not: {waiting:?}"
    );
    receiver.open();
    hook.newest("they end too", |it| !it["deliveredAt"].is_null()).await;
}

async fn a_slow_receiver_holds_up_nobody_else(stage: &Stage) {
    let (project, slow, quick) = (stage.project().await, Receiver::start().await, Receiver::start().await);
    let held = add(&project, &slow).await;
    add(&project, &quick).await;
    for _ in 0..20 {
        slow.reply(Reply::Held);
    }
    for _ in 0..20 {
        project.job().await;
    }
    quick.expect(20).await;
    assert_eq!(slow.expect(4).await.len(), 4, "so many at a time and no more");
    assert_eq!(held.deliveries("limit=100").await.len(), 20);
    held.delete().await.expect(204);
    slow.open();
}

async fn several_servers_deliver_each_event_once(stage: &Stage) {
    let one = stage.app().await;
    stage.app().await;
    stage.app().await;
    let (project, receiver) = (one.project("Docs").await, Receiver::start().await);
    add(&project, &receiver).await;
    for _ in 0..30 {
        project.job().await;
    }
    let all = receiver.expect(30).await;
    let ids: BTreeSet<_> = all.iter().map(|it| it.header("webhook-id").to_owned()).collect();
    assert_eq!(ids.len(), 30);
}

/// As after SIGKILL: whoever took it never comes back.
async fn what_a_dead_process_had_in_hand_is_delivered_by_another(stage: &Stage) {
    let (app, receiver) = (stage.app().await, Receiver::start().await);
    let project = app.project("Docs").await;
    let hook = add(&project, &receiver).await;
    hook.post("/pause").await.expect(200);
    app.stop().await;
    let store = stage.db.store(stage.clock.clone()).await;
    store.resume_webhook(&hook.id).await.unwrap().unwrap();
    let lost = store.take_test(&hook.id, |_| "{}".to_owned(), MINUTE).await.unwrap().unwrap();
    stage.app().await;
    stage.advance(MINUTE);
    let received = receiver.expect(1).await.remove(0);
    assert_eq!(received.header("webhook-id"), lost.delivery.event_id);
    eventually("it is written down", async || store.delivery(&lost.delivery.id).await.unwrap().unwrap().delivered_at)
        .await;
}

async fn redirects_are_not_followed(stage: &Stage) {
    let (project, receiver, elsewhere) = (stage.project().await, Receiver::start().await, Receiver::start().await);
    let hook = add(&project, &receiver).await;
    for status in [301, 302, 307, 308] {
        receiver.reply(Reply::Header(status, "location", elsewhere.url()));
        let tried = hook.post("/test").await.expect(200);
        assert_eq!((&tried["lastStatus"], &tried["deliveredAt"]), (&json!(status), &json!(null)));
        assert!(tried["lastError"].as_str().unwrap().contains("redirects"), "{tried:?}");
    }
    assert_eq!(elsewhere.received().len(), 0);
}

async fn of_an_answer_only_the_beginning_is_kept(stage: &Stage) {
    let (project, receiver) = (stage.project().await, Receiver::start().await);
    let hook = add(&project, &receiver).await;
    receiver.reply(Reply::Status(200, "ü\0".repeat(100_000)));
    let tried = hook.post("/test").await.expect(200);
    let answer = tried["lastAnswer"].as_str().unwrap();
    assert!(answer.starts_with('ü') && (2000..=2048).contains(&answer.len()), "{}", answer.len());
    assert!(!tried["deliveredAt"].is_null());
}

async fn where_it_may_not_go_nothing_is_sent(stage: &Stage) {
    let (app, receiver) = (stage.app().await, Receiver::start().await);
    let project = app.project("Docs").await;
    let literal = add(&project, &receiver).await;
    // By its name it is looked up, and found at an address that is allowed.
    let url = receiver.url().replace("127.0.0.1", "localhost");
    let made = try_add(&project, json!({ "url": url })).await.expect(201);
    let named = super::Hook { project: &project, id: made["id"].as_str().unwrap().to_owned(), secret: String::new() };
    for hook in [&literal, &named] {
        assert!(!hook.post("/test").await.expect(200)["deliveredAt"].is_null());
    }
    assert_eq!(receiver.received().len(), 2);
    let encrypted = try_add(&project, json!({ "url": url.replace("http:", "https:") })).await.expect(201);
    let encrypted = encrypted["id"].as_str().unwrap();
    app.stop().await;

    let allow = |text: &'static str| {
        move |it: &mut copydesk_desk::webhooks::WebhookSettings| {
            it.allow_private = AllowPrivate::parse(text).unwrap();
        }
    };
    let (refused, by_name) = ("not one that webhooks may go to", "none that webhooks may go to");
    let http = "must be an https address; only those in the ranges of webhooks.allow_private may begin with http";
    for (strict, plain, named_plain) in [("false", http, http), ("10.0.0.0/8", refused, by_name)] {
        let app = stage.app_with(|setup| setup.webhooks(allow(strict))).await;
        for (id, says) in [(&*literal.id, plain), (&*named.id, named_plain), (encrypted, by_name)] {
            let path = format!("/v1/webhooks/{}/{id}/test", project.id);
            let tried = app.client().with_key(&project.key.secret).post(&path).send().await.expect(200);
            assert_eq!((&tried["deliveredAt"], &tried["lastStatus"]), (&json!(null), &json!(null)));
            let error = tried["lastError"].as_str().unwrap();
            assert!(error.contains(says), "{strict}: {error}");
            assert!(!error.contains("127.0.0.1") && !error.contains("::1"), "where a name leads is not told: {error}");
        }
        app.stop().await;
    }
    assert_eq!(receiver.received().len(), 2, "not one more");
}

async fn figures_tell_of_deliveries(stage: &Stage) {
    let app = stage.app().await;
    let (project, receiver) = (app.project("Docs").await, Receiver::start().await);
    let hook = add(&project, &receiver).await;
    receiver.reply(Reply::Status(500, String::new()));
    project.job().await;
    hook.tried(stage, 1).await;
    stage.advance(SECOND * 3);
    let figures = async || app.client().get("/metrics").send().await.expect(200).text();
    let text = figures().await;
    for line in [
        "copydesk_webhook_deliveries_total{outcome=\"failed\"} 1",
        "copydesk_webhooks_waiting 1",
        "copydesk_webhooks_oldest_seconds 3",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    stage.advance(HOUR);
    hook.newest("it is delivered", |it| !it["deliveredAt"].is_null()).await;
    eventually("it is counted", async || {
        let text = figures().await;
        let counted = text.contains("copydesk_webhook_deliveries_total{outcome=\"delivered\"} 1");
        (counted && text.contains("copydesk_webhooks_waiting 0")).then_some(())
    })
    .await;
}

behaviours!(
    every_turn_of_a_job_is_told_with_the_job,
    a_webhook_is_told_what_it_asked_for_and_of_its_project,
    a_job_does_not_wait_for_its_deliveries,
    a_slow_receiver_holds_up_nobody_else,
    several_servers_deliver_each_event_once,
    what_a_dead_process_had_in_hand_is_delivered_by_another,
    redirects_are_not_followed,
    of_an_answer_only_the_beginning_is_kept,
    where_it_may_not_go_nothing_is_sent,
    figures_tell_of_deliveries,
);
