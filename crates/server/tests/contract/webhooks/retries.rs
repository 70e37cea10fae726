//! What fails is tried again, with growing pauses, and not for ever.

use std::time::Duration;

use copydesk_domain::{Clock, Timestamp};
use copydesk_testkit::{Backend, Receiver, Reply};
use serde_json::{Value, json};

use super::{HOUR, MINUTE, SECOND, add, add_at};
use crate::log::Log;
use crate::stage::Stage;

const DAY: Duration = Duration::from_secs(24 * 3600);

fn time(value: &Value) -> Timestamp {
    serde_json::from_value(value.clone()).unwrap()
}

async fn pauses_grow_and_end(stage: &Stage) {
    let (project, receiver) = (stage.project().await, Receiver::start().await);
    let hook = add(&project, &receiver).await;
    for _ in 0..10 {
        receiver.reply(Reply::Status(503, "Not today.".to_owned()));
    }
    project.job().await;
    let mut pauses = Vec::new();
    for tries in 1..10 {
        let tried = hook.tried(stage, tries).await;
        assert_eq!((&tried["lastStatus"], &tried["lastAnswer"]), (&json!(503), &json!("Not today.")));
        let pause = time(&tried["nextTryAt"]).since(stage.clock.now());
        pauses.push(pause);
        stage.advance(pause);
    }
    let minutes = [5, 30, 120, 300, 600, 840, 1200, 1440].map(|minutes| MINUTE * minutes);
    assert_eq!(pauses, [vec![SECOND * 5], minutes.to_vec()].concat());
    let last = hook.tried(stage, 10).await;
    assert_eq!((&last["nextTryAt"], &last["deliveredAt"]), (&json!(null), &json!(null)));
    assert!(!last["givenUpAt"].is_null());
    let ids: Vec<_> = receiver.expect(10).await.iter().map(|it| it.header("webhook-id").to_owned()).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "an event keeps its id");
    let failing = hook.get().await;
    assert!(!failing["failingSince"].is_null() && failing["pausedAt"].is_null());
    assert_eq!(hook.deliveries("failed=true").await, [last]);
}

async fn pauses_are_stretched_a_little_by_chance(stage: &Stage) {
    let app = stage.app_with(|setup| setup.webhooks(|it| it.jitter = || 0.5)).await;
    let (project, receiver) = (app.project("Docs").await, Receiver::start().await);
    let hook = add(&project, &receiver).await;
    receiver.reply(Reply::Status(500, String::new()));
    project.job().await;
    let tried = hook.tried(stage, 1).await;
    assert_eq!(time(&tried["nextTryAt"]).since(stage.clock.now()), Duration::from_millis(5250));
}

async fn a_receiver_can_ask_for_a_longer_pause_within_bounds(stage: &Stage) {
    let (project, receiver) = (stage.project().await, Receiver::start().await);
    let hook = add(&project, &receiver).await;
    project.job().await;
    hook.newest("it is delivered", |it| !it["deliveredAt"].is_null()).await;
    for (wish, pause) in [("120", MINUTE * 2), ("1", SECOND * 5), ("99999999", DAY), ("soon", SECOND * 5)] {
        receiver.reply(Reply::Header(429, "retry-after", wish.to_owned()));
        stage.advance(SECOND);
        project.job().await;
        let tried = hook.tried(stage, 1).await;
        assert_eq!(time(&tried["nextTryAt"]).since(stage.clock.now()), pause, "{wish}");
        stage.advance(DAY);
        hook.newest("it is delivered", |it| !it["deliveredAt"].is_null()).await;
    }
}

async fn one_that_says_it_is_gone_is_paused(stage: &Stage) {
    let (project, receiver) = (stage.project().await, Receiver::start().await);
    let hook = add(&project, &receiver).await;
    receiver.reply(Reply::Status(410, String::new()));
    project.job().await;
    let tried = hook.tried(stage, 1).await;
    assert!(!tried["givenUpAt"].is_null());
    let paused = hook.get().await;
    assert!(!paused["pausedAt"].is_null());
    assert_eq!(paused["pausedWhy"], "It answered 410 Gone.");
    let resumed = hook.post("/resume").await.expect(200);
    assert_eq!((&resumed["pausedAt"], &resumed["pausedWhy"]), (&json!(null), &json!(null)));
    project.job().await;
    receiver.expect(2).await;
}

async fn one_that_fails_for_days_is_paused_and_can_be_resumed(stage: &Stage) {
    let app = stage.app_with(|setup| setup.webhooks(|it| it.pauses = vec![DAY; 10])).await;
    let (project, receiver) = (app.project("Docs").await, Receiver::start().await);
    let hook = add(&project, &receiver).await;
    for _ in 0..6 {
        receiver.reply(Reply::Status(500, String::new()));
    }
    project.job().await;
    for tries in 1..=5 {
        hook.tried(stage, tries).await;
        assert_eq!(hook.get().await["pausedAt"], json!(null), "after {tries} tries");
        stage.advance(DAY);
    }
    let last = hook.tried(stage, 6).await;
    let paused = hook.get().await;
    assert_eq!(paused["pausedAt"], last["lastTriedAt"]);
    assert_eq!(paused["pausedWhy"], "No delivery succeeded for 5 days.");
    stage.advance(DAY);
    hook.post("/resume").await.expect(200);
    hook.newest("what waited is delivered", |it| !it["deliveredAt"].is_null()).await;
    receiver.expect(7).await;
    assert_eq!(hook.get().await["failingSince"], json!(null));
}

async fn one_that_does_not_answer_is_given_up_in_time(stage: &Stage) {
    let app = stage.app_with(|setup| setup.webhooks(|it| it.time_limit = 3 * SECOND)).await;
    let (project, receiver) = (app.project("Docs").await, Receiver::start().await);
    let hook = add(&project, &receiver).await;
    receiver.reply(Reply::Held);
    project.job().await;
    let tried = hook.tried(stage, 1).await;
    assert_eq!((&tried["lastError"], &tried["lastStatus"]), (&json!("no answer within 3 seconds"), &json!(null)));
    assert!(tried["lastMs"].as_u64().unwrap() >= 3000);
    receiver.open();
    stage.advance(HOUR);
    hook.newest("it is delivered", |it| !it["deliveredAt"].is_null()).await;
}

async fn one_that_is_not_there_is_tried_again(stage: &Stage) {
    let project = stage.project().await;
    let gone = Receiver::start().await;
    let hook = add(&project, &gone).await;
    drop(gone);
    project.job().await;
    let tried = hook.tried(stage, 1).await;
    assert!(tried["lastError"].as_str().unwrap().starts_with("cannot connect"), "{tried}");
    assert!(!tried["nextTryAt"].is_null());
}

async fn redelivery_sends_the_same_event_again(stage: &Stage) {
    let (project, receiver) = (stage.project().await, Receiver::start().await);
    let hook = add(&project, &receiver).await;
    project.job().await;
    let done = hook.newest("it is delivered", |it| !it["deliveredAt"].is_null()).await;
    stage.advance(HOUR);
    let path = format!("/deliveries/{}/redeliver", done["id"].as_str().unwrap());
    let again = hook.post(&path).await.expect(200);
    assert_ne!(again["id"], done["id"]);
    assert_eq!((&again["eventId"], &again["type"]), (&done["eventId"], &done["type"]));
    let both = receiver.expect(2).await;
    assert_eq!(both[0].header("webhook-id"), both[1].header("webhook-id"));
    assert_eq!(both[0].body, both[1].body);
    assert_ne!(both[0].header("webhook-timestamp"), both[1].header("webhook-timestamp"), "signed anew");
    assert_ne!(both[0].header("webhook-signature"), both[1].header("webhook-signature"));
    // What has arrived is not written down yet, and what is waited for below must not be this one.
    let recorded = |it: &Value| it["id"] == again["id"] && !it["deliveredAt"].is_null();
    hook.newest("it is delivered again", recorded).await;

    stage.advance(SECOND);
    receiver.reply(Reply::Status(500, String::new()));
    project.job().await;
    let failed = hook.tried(stage, 1).await;
    let path = format!("/deliveries/{}/redeliver", failed["id"].as_str().unwrap());
    assert_eq!(hook.post(&path).await.expect(200)["id"], failed["id"], "what waits goes at once");
    receiver.expect(4).await;
}

/// Not a behaviour of the database, and the log is heard on one thread only.
#[test]
fn the_address_is_not_told_to_the_log_and_says_nothing_of_the_failure() {
    crate::stage::run(Backend::Sqlite, 1, an_address_that_is_not_to_be_told);
}

async fn an_address_that_is_not_to_be_told(stage: &Stage) {
    let (log, project) = (Log::listen(), stage.project().await);
    // Nobody listens there any more.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let hook = add_at(&project, &format!("http://{gone}/planted-secret/certificate")).await;
    project.job().await;
    let tried = hook.tried(stage, 1).await;
    assert_eq!(tried["lastError"], "cannot connect: the connection is refused");
    let log = log.text();
    let told: Vec<&str> = log.lines().filter(|line| line.contains("a delivery failed")).collect();
    assert!(!told.is_empty() && !told.iter().any(|line| line.contains("planted-secret")), "{told:?}");
}

behaviours!(
    pauses_grow_and_end,
    pauses_are_stretched_a_little_by_chance,
    a_receiver_can_ask_for_a_longer_pause_within_bounds,
    one_that_says_it_is_gone_is_paused,
    one_that_fails_for_days_is_paused_and_can_be_resumed,
    one_that_does_not_answer_is_given_up_in_time,
    one_that_is_not_there_is_tried_again,
    redelivery_sends_the_same_event_again,
);
