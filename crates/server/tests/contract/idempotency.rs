//! `Idempotency-Key`: the same request twice is one.

use std::collections::HashSet;
use std::time::Duration;

use copydesk_testkit::{Answer, ProjectClient};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::stage::Stage;

const HEADER: &str = "Idempotency-Key";
const DAY: Duration = Duration::from_secs(24 * 3600);

async fn create(project: &ProjectClient, key: &str, prompt: &str) -> Answer {
    project.creation().header(HEADER, key).json(&json!({ "prompt": prompt })).send().await
}

async fn message(project: &ProjectClient, id: &str, key: &str, prompt: &str) -> Answer {
    project.follow_up(id).header(HEADER, key).json(&json!({ "prompt": prompt })).send().await
}

async fn count(project: &ProjectClient) -> usize {
    project.list("limit=100").await.expect(200)["jobs"].as_array().unwrap().len()
}

fn same(one: &Answer, other: &Answer) {
    assert_eq!((one.status, &one.bytes), (other.status, &other.bytes));
    assert_eq!(one.header("location"), other.header("location"));
    assert_eq!(one.header("content-type"), other.header("content-type"));
}

async fn the_same_request_gets_the_first_answer_again(stage: &Stage) {
    let project = stage.project().await;
    let first = create(&project, "k1", "Fix it.").await.expect(201);
    assert!(first.header("location").is_some());
    stage.advance(Duration::from_secs(60));
    same(&create(&project, "k1", "Fix it.").await, &first);
    assert_eq!(count(&project).await, 1);
    let other = create(&project, "k2", "Fix it.").await.expect(201);
    assert_ne!(other["id"], first["id"], "another key is another request");
    assert_ne!(project.create("Fix it.").await["id"], first["id"], "and so is none");
}

async fn the_first_answer_comes_even_when_the_job_has_changed(stage: &Stage) {
    let project = stage.project().await;
    let first = create(&project, "k", "Fix it.").await.expect(201);
    let id = first["id"].as_str().unwrap();
    project.archive(id).await.expect(200);
    same(&create(&project, "k", "Fix it.").await, &first);
    assert_eq!(project.get(id).await.expect(200)["status"], "archived");
}

async fn another_body_is_a_conflict(stage: &Stage) {
    let project = stage.project().await;
    let first = create(&project, "k", "Fix it.").await.expect(201);
    create(&project, "k", "Fix something else.").await.refused(409, "idempotency_key_reused");
    let body = json!({ "prompt": "Fix it.", "draft": true });
    project.creation().header(HEADER, "k").json(&body).send().await.refused(409, "idempotency_key_reused");
    assert_eq!(count(&project).await, 1);
    same(&create(&project, "k", "Fix it.").await, &first);
}

async fn another_address_is_a_conflict(stage: &Stage) {
    let project = stage.project().await;
    let (one, other) = (project.job().await, project.job().await);
    create(&project, "created", "x").await.expect(201);
    message(&project, &one, "created", "x").await.refused(409, "idempotency_key_reused");
    message(&project, &one, "sent", "x").await.expect(200);
    message(&project, &other, "sent", "x").await.refused(409, "idempotency_key_reused");
    create(&project, "sent", "x").await.refused(409, "idempotency_key_reused");
    assert_eq!(project.event_types(&other).await, ["created"]);
}

async fn a_message_is_sent_once(stage: &Stage) {
    let project = stage.project().await;
    let id = project.job().await;
    let first = message(&project, &id, "k", "And the titles.").await.expect(200);
    stage.advance(Duration::from_secs(60));
    same(&message(&project, &id, "k", "And the titles.").await, &first);
    assert_eq!(project.event_types(&id).await, ["created", "message"]);
    project.archive(&id).await.expect(200);
    same(&message(&project, &id, "k", "And the titles.").await, &first);
    message(&project, &id, "k", "Other titles.").await.refused(409, "idempotency_key_reused");
    message(&project, &id, "new", "And the titles.").await.refused(400, "job_archived");
}

async fn a_key_belongs_to_one_project(stage: &Stage) {
    let app = stage.app().await;
    let (one, other) = (app.project("One").await, app.project("Other").await);
    let first = create(&one, "k", "Fix it.").await.expect(201);
    let second = create(&other, "k", "Fix something else.").await.expect(201);
    assert_ne!(first["id"], second["id"]);
    same(&create(&one, "k", "Fix it.").await, &first);
}

async fn a_key_is_kept_for_24_hours(stage: &Stage) {
    let project = stage.project().await;
    let first = create(&project, "k", "Fix it.").await.expect(201);
    stage.advance(DAY - Duration::from_millis(1));
    same(&create(&project, "k", "Fix it.").await, &first);
    create(&project, "k", "Fix something else.").await.refused(409, "idempotency_key_reused");
    stage.advance(Duration::from_millis(1));
    let second = create(&project, "k", "Fix something else.").await.expect(201);
    assert_ne!(second["id"], first["id"]);
    same(&create(&project, "k", "Fix something else.").await, &second);
    create(&project, "k", "Fix it.").await.refused(409, "idempotency_key_reused");
}

async fn keys_have_1_to_255_printable_characters(stage: &Stage) {
    let project = stage.project().await;
    let id = project.job().await;
    for good in ["k", "~", "a b", "{\"a\":1}", &"x".repeat(255)] {
        create(&project, good, "x").await.expect(201);
    }
    for bad in [&b""[..], &[b'x'; 256], "schlüssel".as_bytes(), b"\xff", b"a\tb"] {
        let call = project.creation().header(HEADER, bad).json(&json!({ "prompt": "x" }));
        call.send().await.names(&[HEADER]);
        let call = project.follow_up(&id).header(HEADER, bad).json(&json!({ "prompt": "x" }));
        call.send().await.names(&[HEADER]);
    }
    let twice = project.creation().header(HEADER, "a").header(HEADER, "b").json(&json!({ "prompt": "x" }));
    twice.send().await.names(&[HEADER]);
    assert_eq!(count(&project).await, 6);
}

/// A request that was refused did nothing, so its key is as good as new.
async fn a_refused_request_does_not_use_its_key_up(stage: &Stage) {
    let app = stage.app().await;
    let project = app.project_with("Docs", |new| new.jobs_per_hour = Some(1)).await;
    create(&project, "k", " ").await.names(&["prompt"]);
    let first = create(&project, "k", "Fix it.").await.expect(201);
    create(&project, "k2", "Fix it.").await.refused(429, "rate_limited");
    same(&create(&project, "k", "Fix it.").await, &first);
    stage.advance(Duration::from_secs(3600));
    create(&project, "k2", "Fix something else.").await.expect(201);
}

async fn sixteen_at_the_same_instant_are_one_job(stage: &Stage) {
    // Two servers, as two processes would be.
    let (one, other) = (stage.app().await, stage.app().await);
    let project = one.project("Docs").await;
    let there = other.client().with_key(&project.key.secret);
    let calls = (0..16).map(|at| {
        let client = if at % 2 == 0 { project.client() } else { &there };
        let call = client.post(&project.path("job")).header(HEADER, "k").json(&json!({ "prompt": "Fix it." }));
        async move { call.send().await.expect(201) }
    });
    let answers = join_all(calls).await;
    for answer in &answers[1..] {
        same(answer, &answers[0]);
    }
    assert_eq!(count(&project).await, 1);
}

async fn of_different_bodies_at_the_same_instant_one_wins(stage: &Stage) {
    let project = stage.project().await;
    let prompts: Vec<_> = (0..8).map(|at| format!("Fix number {at}.")).collect();
    let answers = join_all(prompts.iter().map(|prompt| create(&project, "k", prompt))).await;
    let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 409).count(), 7, "{statuses:?}");
    assert_eq!(count(&project).await, 1);
}

async fn messages_at_the_same_instant_are_one_message(stage: &Stage) {
    let project = stage.project().await;
    let id = project.job().await;
    let answers = join_all((0..8).map(|_| message(&project, &id, "k", "And the titles."))).await;
    let different: HashSet<_> = answers.iter().map(|answer| (answer.status, answer.bytes.clone())).collect();
    assert_eq!(different.len(), 1);
    assert_eq!(answers[0].status, 200);
    assert_eq!(project.event_types(&id).await, ["created", "message"]);
}

async fn replays_do_not_count_against_the_rate_limit(stage: &Stage) {
    let app = stage.app().await;
    let project = app.project_with("Docs", |new| new.jobs_per_hour = Some(2)).await;
    let first = create(&project, "k", "Fix it.").await.expect(201);
    assert_eq!(first.number("ratelimit-remaining"), 1);
    for _ in 0..3 {
        let again = create(&project, "k", "Fix it.").await.expect(201);
        assert_eq!(again.number("ratelimit-remaining"), 1);
    }
    let second = project.create("Fix something else.").await;
    assert_eq!(second.number("ratelimit-remaining"), 0);
    same(&create(&project, "k", "Fix it.").await, &first);
    assert_eq!(second["status"], Value::from("active"));
}

behaviours!(
    the_same_request_gets_the_first_answer_again,
    the_first_answer_comes_even_when_the_job_has_changed,
    another_body_is_a_conflict,
    another_address_is_a_conflict,
    a_message_is_sent_once,
    a_key_belongs_to_one_project,
    a_key_is_kept_for_24_hours,
    keys_have_1_to_255_printable_characters,
    a_refused_request_does_not_use_its_key_up,
    sixteen_at_the_same_instant_are_one_job,
    of_different_bodies_at_the_same_instant_one_wins,
    messages_at_the_same_instant_are_one_message,
    replays_do_not_count_against_the_rate_limit,
);
