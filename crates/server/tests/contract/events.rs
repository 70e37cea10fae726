//! `GET …/events`: a job's steps as they happen, and as a list.

use std::sync::Arc;
use std::time::Duration;

use copydesk_testkit::{Call, GateEngine, ProjectClient, StreamedEvent};
use serde_json::{Value, json};

use crate::stage::Stage;

fn events(project: &ProjectClient, id: &str) -> Call {
    project.client().get(&project.job_path(id, "/events"))
}

async fn list(project: &ProjectClient, id: &str) -> Vec<Value> {
    let answer = events(project, id).header("accept", "application/json").send().await.expect(200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    answer["events"].as_array().unwrap().clone()
}

/// The `id` and `event` lines.
fn lines(events: &[StreamedEvent]) -> Vec<(&str, &str)> {
    events.iter().map(|event| (event.id.as_str(), event.event.as_str())).collect()
}

/// A job that has been created, cancelled and archived: three events, and no more to come.
async fn archived(stage: &Stage) -> (ProjectClient, String) {
    let project = stage.project().await;
    let id = project.job().await;
    stage.advance(Duration::from_millis(1250));
    project.archive(&id).await.expect(200);
    (project, id)
}

async fn the_list_says_what_happened_and_when(stage: &Stage) {
    let (project, id) = archived(stage).await;
    let later = "2026-03-15T12:00:01.250Z";
    let failed = json!({ "outcome": "cancelled", "message": "The job was cancelled." });
    let expected = json!([
        { "id": 1, "type": "created", "at": "2026-03-15T12:00:00.000Z", "data": { "model": "builtin" } },
        { "id": 2, "type": "failed", "at": later, "data": failed },
        { "id": 3, "type": "archived", "at": later, "data": {} },
    ]);
    assert_eq!(json!(list(&project, &id).await), expected);
}

async fn the_stream_says_the_same_and_ends(stage: &Stage) {
    let (project, id) = archived(stage).await;
    let stream = events(&project, &id).stream().await;
    assert_eq!(stream.headers.get("cache-control").map(|it| it.as_bytes()), Some(&b"no-cache"[..]));
    let streamed = stream.rest().await;
    assert_eq!(lines(&streamed), [("1", "created"), ("2", "failed"), ("3", "archived")]);
    let data: Vec<_> = streamed.into_iter().map(|event| event.data).collect();
    assert_eq!(data, list(&project, &id).await);
}

async fn accept_chooses_between_stream_and_list(stage: &Stage) {
    let (project, id) = archived(stage).await;
    for accept in ["text/event-stream", "*/*", "text/html, */*;q=0.1", "text/event-stream, application/json"] {
        let streamed = events(&project, &id).header("accept", accept).stream().await.rest().await;
        assert_eq!(streamed.len(), 3, "{accept}");
    }
    for accept in ["application/json", "application/json, text/plain", "text/plain, application/json;q=0.9"] {
        let answer = events(&project, &id).header("accept", accept).send().await.expect(200);
        assert_eq!(answer["events"].as_array().unwrap().len(), 3, "{accept}");
    }
}

async fn reading_goes_on_after_the_last_event_seen(stage: &Stage) {
    let (project, id) = archived(stage).await;
    for (last, left) in [("0", 3), ("1", 2), ("2", 1), ("3", 0), ("99999999999", 0)] {
        let streamed = events(&project, &id).header("last-event-id", last).stream().await.rest().await;
        assert_eq!(streamed.len(), left, "after {last}");
        let call = events(&project, &id).header("last-event-id", last).header("accept", "application/json");
        let listed = call.send().await.expect(200)["events"].clone();
        assert_eq!(listed, json!(streamed.into_iter().map(|it| it.data).collect::<Vec<_>>()));
    }
}

async fn a_bad_last_event_id_is_refused(stage: &Stage) {
    let (project, id) = archived(stage).await;
    for bad in [&b"x"[..], b"", b"-1", b"+1", b"1.5", b"99999999999999999999", b"1 2", b"\xff"] {
        for accept in ["application/json", "text/event-stream"] {
            let call = events(&project, &id).header("last-event-id", bad).header("accept", accept);
            call.send().await.refused(400, "invalid_request").names(&["Last-Event-ID"]);
        }
    }
}

async fn the_stream_follows_a_job_to_its_end(stage: &Stage) {
    let engine = GateEngine::new("gate");
    let app = stage.app_with(|setup| setup.runner(1, vec![engine.clone()])).await;
    let project = app.project("Docs").await;
    let id = project.job().await;
    let mut stream = events(&project, &id).stream().await;
    assert_eq!(stream.next().await.unwrap().event, "created");
    assert_eq!(stream.next().await.unwrap().event, "claimed");
    let run = engine.next().await;
    assert!(run.step("reading", json!({ "file": "docs/index.md" })).await);
    let step = stream.next().await.unwrap();
    assert_eq!((step.id.as_str(), step.event.as_str()), ("3", "reading"));
    assert_eq!(step.data["data"], json!({ "file": "docs/index.md" }));
    project.message(&id, "And the titles.").await.expect(200);
    assert_eq!(stream.next().await.unwrap().event, "message");
    run.complete();
    // The message came after the run had begun, so the engine is asked once more.
    engine.next().await.complete();
    let rest = stream.rest().await;
    assert_eq!(lines(&rest), [("5", "completed")]);
    assert_eq!(rest[0].data["data"]["outcome"], "no_changes");
}

/// One server is told by the database what another one did.
async fn the_stream_sees_what_happens_elsewhere(stage: &Stage) {
    let (here, there) = (stage.app().await, stage.app().await);
    let project = here.project("Docs").await;
    let id = project.job().await;
    let stream = events(&project, &id).stream().await;
    let elsewhere = there.client().with_key(&project.key.secret);
    elsewhere.post(&project.job_path(&id, "/cancel")).send().await.expect(200);
    assert_eq!(lines(&stream.rest().await), [("1", "created"), ("2", "failed")]);
}

async fn a_follow_up_is_streamed_from_where_the_reader_was(stage: &Stage) {
    let project = stage.project().await;
    let id = project.job().await;
    project.cancel(&id).await.expect(200);
    project.message(&id, "Do it after all.").await.expect(200);
    let mut stream = events(&project, &id).header("last-event-id", "2").stream().await;
    assert_eq!(stream.next().await.unwrap().event, "message");
    project.cancel(&id).await.expect(200);
    assert_eq!(lines(&stream.rest().await), [("4", "failed")]);
}

async fn many_readers_see_the_same(stage: &Stage) {
    let project = Arc::new(stage.project().await);
    let id = project.job().await;
    let mut readers = Vec::new();
    for _ in 0..8 {
        readers.push(events(&project, &id).stream().await);
    }
    project.message(&id, "x").await.expect(200);
    project.cancel(&id).await.expect(200);
    let all = futures_util::future::join_all(readers.into_iter().map(|reader| reader.rest())).await;
    for read in &all {
        assert_eq!(lines(read), [("1", "created"), ("2", "message"), ("3", "failed")]);
    }
}

async fn a_stream_ends_when_its_key_is_revoked(stage: &Stage) {
    let app = stage.app().await;
    let project = app.project("Docs").await;
    let id = project.job().await;
    let mut stream = events(&project, &id).stream().await;
    assert_eq!(stream.next().await.unwrap().event, "created");
    app.store().revoke_key(&project.key.id).await.unwrap();
    let other = project.with_key(&app.key(Some(&project.id), copydesk_domain::Scope::Write, None).await);
    other.message(&id, "Not for those without a key.").await.expect(200);
    assert_eq!(lines(&stream.rest().await), [] as [(&str, &str); 0]);
}

async fn streams_leave_connections_for_others(stage: &Stage) {
    let app = stage.app_with(|setup| setup.http(|limits| limits.connections = 4)).await;
    let project = app.project("Docs").await;
    let id = project.job().await;
    let streams = [events(&project, &id).stream().await, events(&project, &id).stream().await];
    let refused = events(&project, &id).send().await;
    refused.expect(503);
    project.get(&id).await.expect(200);
    drop(streams);
}

behaviours!(
    the_list_says_what_happened_and_when,
    the_stream_says_the_same_and_ends,
    accept_chooses_between_stream_and_list,
    reading_goes_on_after_the_last_event_seen,
    a_bad_last_event_id_is_refused,
    the_stream_follows_a_job_to_its_end,
    the_stream_sees_what_happens_elsewhere,
    a_follow_up_is_streamed_from_where_the_reader_was,
    many_readers_see_the_same,
    a_stream_ends_when_its_key_is_revoked,
    streams_leave_connections_for_others,
);
