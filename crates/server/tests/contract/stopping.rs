//! A server that stops: what runs is finished, what is new is refused, jobs are handed back.

use std::time::Duration;

use copydesk_desk::runner::Failure;
use copydesk_testkit::{GateEngine, ProjectClient, Wire, eventually};
use reqwest::Method;
use serde_json::json;

use crate::stage::Stage;

/// The head of a request that creates a job, and its body.
fn creation(project: &ProjectClient) -> (String, &'static str) {
    let body = r#"{"prompt":"Fix it."}"#;
    let (path, key, length) = (project.path("job"), &project.key.secret, body.len());
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n"
    );
    (head, body)
}

async fn a_request_that_has_begun_is_finished(stage: &Stage) {
    let app = stage.app().await;
    let project = app.project("Docs").await;
    let (head, body) = creation(&project);
    let mut wire = Wire::connect(app.client()).await;
    // The server answers `100 Continue` once it reads the body, so from then on the request has begun.
    wire.send(head.replace("\r\n\r\n", "\r\nexpect: 100-continue\r\n\r\n")).await;
    wire.read_continue().await;
    app.app().desk().stop.ask();
    wire.send(body).await;
    let answer = wire.answer(Method::POST, &project.path("job")).await.expect(201);
    assert_eq!(answer.header("connection"), Some("close"));
    wire.closed().await;
    app.stop().await;
    let there = stage.app().await.client().with_key(&project.key.secret);
    there.get(answer.header("location").unwrap()).send().await.expect(200);
}

async fn a_new_request_is_told_to_try_elsewhere(stage: &Stage) {
    let app = stage.app().await;
    let project = app.project("Docs").await;
    let asked = [
        (Method::GET, project.path("jobs")),
        (Method::POST, project.path("job")),
        (Method::GET, "/healthz".to_owned()),
        (Method::GET, "/readyz".to_owned()),
        (Method::GET, "/metrics".to_owned()),
        (Method::GET, "/openapi.json".to_owned()),
        (Method::GET, "/nowhere".to_owned()),
        (Method::DELETE, "/healthz".to_owned()),
    ];
    let mut wires = Vec::new();
    for (method, path) in asked {
        let mut wire = Wire::connect(app.client()).await;
        wire.send(format!("{method} {path} HTTP/1.1\r\nauthorization: Bearer {}\r\n", project.key.secret)).await;
        wires.push((wire, method, path));
    }
    // On the one thread of this test, whoever connects later is answered later: the halves above have been read.
    for _ in 0..3 {
        let mut later = Wire::connect(app.client()).await;
        later.send("GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
        later.answer(Method::GET, "/healthz").await.expect(200);
    }
    app.app().desk().stop.ask();
    for (mut wire, method, path) in wires {
        wire.send("host: x\r\n\r\n").await;
        let answer = wire.answer(method, &path).await.refused(503, "unavailable");
        assert!(answer.number("retry-after") >= 1);
        assert_eq!(answer.header("connection"), Some("close"));
        wire.closed().await;
    }
    app.stop().await;
    assert_eq!(app.client().get("/healthz").try_send().await, None, "nobody listens any more");
}

async fn streams_of_events_come_to_their_end(stage: &Stage) {
    let app = stage.app().await;
    let project = app.project("Docs").await;
    let id = project.job().await;
    let mut stream = project.client().get(&project.job_path(&id, "/events")).stream().await;
    assert_eq!(stream.next().await.unwrap().event, "created");
    app.stop().await;
    assert_eq!(stream.rest().await, [], "ended, not broken off");
}

/// Clients that only hold a connection open do not hold the server up, not even when they hold all there are.
async fn idle_connections_are_closed(stage: &Stage) {
    let app = stage.app_with(|setup| setup.http(|limits| limits.connections = 2)).await;
    let mut wires = Vec::new();
    for _ in 0..2 {
        let mut wire = Wire::connect(app.client()).await;
        wire.send("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await;
        wire.answer(Method::GET, "/healthz").await.expect(200);
        wires.push(wire);
    }
    app.stop().await;
    for wire in wires {
        wire.closed().await;
    }
}

async fn more_connections_than_allowed_wait_for_their_turn(stage: &Stage) {
    let app = stage.app_with(|setup| setup.http(|limits| limits.connections = 1)).await;
    let project = app.project("Docs").await;
    let id = project.job().await;
    let mut first = project.client().get(&project.job_path(&id, "/events")).stream().await;
    assert_eq!(first.next().await.unwrap().event, "created");
    let mut second = Wire::connect(app.client()).await;
    second.send("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await;
    let waited = tokio::time::timeout(Duration::from_millis(200), second.answer(Method::GET, "/healthz")).await;
    assert!(waited.is_err(), "it was answered beside the first");
    drop(first);
    second.answer(Method::GET, "/healthz").await.expect(200);
}

async fn a_job_that_ends_soon_enough_is_finished(stage: &Stage) {
    let engine = GateEngine::new("gate");
    let app = stage.app_with(|setup| setup.runner(1, vec![engine.clone()])).await;
    let project = app.project("Docs").await;
    let id = project.job().await;
    let run = engine.next().await;
    app.app().desk().stop.ask();
    run.open_pull_request("copydesk/fix", "https://example.com/acme/docs/pull/7");
    app.stop().await;
    let there = stage.app().await;
    let job = there.client().with_key(&project.key.secret).get(&project.job_path(&id, "")).send().await.expect(200);
    assert_eq!((&job["status"], &job["outcome"]), (&json!("completed"), &json!("pr_created")));
}

/// With two tries in all, a try that counted would leave no room for the one that fails afterwards.
async fn a_job_that_does_not_is_handed_back_and_the_try_does_not_count(stage: &Stage) {
    let engine = GateEngine::new("gate");
    let start = async || {
        let quick = Duration::from_millis(400);
        let runner = vec![engine.clone() as _];
        stage.app_with(|setup| setup.shutdown_time(quick).terms(|terms| terms.attempts = 2).runner(1, runner)).await
    };
    let first = start().await;
    let project = first.project("Docs").await;
    let id = project.job().await;
    let run = engine.next().await;
    first.stop().await;
    run.dropped().await;
    let second = start().await;
    let there = second.client().with_key(&project.key.secret);
    let events = async || {
        let call = there.get(&project.job_path(&id, "/events")).header("accept", "application/json");
        let answer = call.send().await.expect(200);
        let events = answer["events"].as_array().unwrap().clone();
        events.iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let run = engine.next().await;
    assert_eq!((&run.job_id, run.attempt), (&id, 2), "taken up at once");
    run.fail(Failure::Retry("the model was busy".to_owned()));
    eventually("the job is put back", async || events().await.contains(&"retrying".to_owned()).then_some(())).await;
    stage.advance(Duration::from_secs(5));
    engine.next().await.complete();
    eventually("the job is done", async || events().await.contains(&"completed".to_owned()).then_some(())).await;
    let told = ["created", "claimed", "released", "claimed", "retrying", "claimed", "completed"];
    assert_eq!(events().await, told);
}

async fn nothing_new_is_begun_while_stopping(stage: &Stage) {
    let engine = GateEngine::new("gate");
    let app = stage.app_with(|setup| setup.runner(1, vec![engine.clone()])).await;
    let project = app.project("Docs").await;
    let (first, second) = (project.job().await, project.job().await);
    let run = engine.next().await;
    assert_eq!(run.job_id, first);
    app.app().desk().stop.ask();
    run.complete();
    app.stop().await;
    assert!(engine.is_idle().await, "the second was left for others");
    let there = stage.app().await.client().with_key(&project.key.secret);
    let job = there.get(&project.job_path(&second, "")).send().await.expect(200);
    assert_eq!(job["status"], "active");
}

behaviours!(
    a_request_that_has_begun_is_finished,
    streams_of_events_come_to_their_end,
    idle_connections_are_closed,
    more_connections_than_allowed_wait_for_their_turn,
    a_job_that_ends_soon_enough_is_finished,
    a_job_that_does_not_is_handed_back_and_the_try_does_not_count,
    nothing_new_is_begun_while_stopping,
);

mod one_thread {
    use super::a_new_request_is_told_to_try_elsewhere;

    behaviours!(1; a_new_request_is_told_to_try_elsewhere);
}
