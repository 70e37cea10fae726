//! `POST …/cancel` and `POST …/archive` of jobs that nobody runs. Those that somebody runs are in `running`.

use std::sync::Arc;
use std::time::Duration;

use copydesk_desk::runner::Noop;
use copydesk_testkit::{GateEngine, ProjectClient};
use serde_json::{Value, json};

use crate::stage::Stage;

/// A job in each status, with a server that runs jobs of the no-op engine only.
pub async fn one_of_each(stage: &Stage) -> (ProjectClient, [(&'static str, String); 4]) {
    let app = stage.app_with(|setup| setup.runner(1, vec![Arc::new(Noop)])).await;
    let project = app.project("Docs").await;
    let waiting = async || {
        let answer = project.try_create(json!({ "prompt": "x", "model": "builtin" })).await.expect(201);
        answer["id"].as_str().unwrap().to_owned()
    };
    let completed = project.job().await;
    project.until(&completed, "completed").await;
    let failed = waiting().await;
    project.cancel(&failed).await.expect(200);
    let archived = waiting().await;
    project.archive(&archived).await.expect(200);
    let active = waiting().await;
    let all = [("active", active), ("completed", completed), ("failed", failed), ("archived", archived)];
    (project, all)
}

async fn cancelling_a_waiting_job_ends_it_at_once(stage: &Stage) {
    let project = stage.project().await;
    let id = project.job().await;
    stage.advance(Duration::from_secs(2));
    let cancelled = project.cancel(&id).await.expect(200);
    assert_eq!(cancelled["status"], "failed");
    assert_eq!(cancelled["outcome"], "cancelled");
    assert_eq!(cancelled["message"], "The job was cancelled.");
    assert_eq!((&cancelled["prLink"], &cancelled["archivedAt"]), (&Value::Null, &Value::Null));
    assert_eq!(cancelled["createdAt"], "2026-03-15T12:00:00.000Z");
    assert_eq!(cancelled["updatedAt"], "2026-03-15T12:00:02.000Z");
    assert_eq!(project.get(&id).await.expect(200).json(), cancelled.json());
}

async fn only_an_active_job_is_cancelled(stage: &Stage) {
    let (project, jobs) = one_of_each(stage).await;
    for (status, id) in jobs {
        let before = project.get(&id).await.expect(200);
        assert_eq!(before["status"], status);
        if status == "active" {
            project.cancel(&id).await.expect(200);
            continue;
        }
        let refused = project.cancel(&id).await.refused(409, "job_not_active");
        assert!(refused["error"].as_str().unwrap().contains(status), "says how the job stands");
        assert_eq!(project.get(&id).await.expect(200).json(), before.json(), "{status}");
    }
}

async fn a_cancelled_job_is_never_run(stage: &Stage) {
    let engine = GateEngine::new("gate");
    let app = stage.app_with(|setup| setup.runner(1, vec![engine.clone()])).await;
    let project = app.project("Docs").await;
    let (first, second, third) = (project.job().await, project.job().await, project.job().await);
    let run = engine.next().await;
    assert_eq!(run.job_id, first);
    project.cancel(&second).await.expect(200);
    run.complete();
    // The queue is served in order, so its turn is over.
    let run = engine.next().await;
    assert_eq!(run.job_id, third);
    run.complete();
    assert_eq!(project.event_types(&second).await, ["created", "failed"]);
}

async fn archiving_works_from_every_status_and_is_final(stage: &Stage) {
    let (project, jobs) = one_of_each(stage).await;
    for (status, id) in jobs {
        let before = project.get(&id).await.expect(200);
        stage.advance(Duration::from_secs(1));
        let archived = project.archive(&id).await.expect(200);
        assert_eq!(archived["status"], "archived", "{status}");
        assert!(archived["archivedAt"].is_string());
        let outcome = if status == "active" { json!("cancelled") } else { before["outcome"].clone() };
        assert_eq!(archived["outcome"], outcome, "archiving does not change how it ended");
        project.cancel(&id).await.refused(409, "job_not_active");
        project.message(&id, "x").await.refused(400, "job_archived");
        assert_eq!(project.get(&id).await.expect(200).json(), archived.json());
    }
}

async fn archiving_an_active_job_cancels_it_first(stage: &Stage) {
    let project = stage.project().await;
    let id = project.job().await;
    let archived = project.archive(&id).await.expect(200);
    assert_eq!((&archived["status"], &archived["outcome"]), (&json!("archived"), &json!("cancelled")));
    assert_eq!(project.event_types(&id).await, ["created", "failed", "archived"]);
}

async fn archiving_twice_keeps_the_first_time(stage: &Stage) {
    let project = stage.project().await;
    let id = project.job().await;
    stage.advance(Duration::from_millis(1500));
    let first = project.archive(&id).await.expect(200);
    assert_eq!(first["archivedAt"], "2026-03-15T12:00:01.500Z");
    stage.advance(Duration::from_secs(3600));
    let second = project.archive(&id).await.expect(200);
    assert_eq!(second.bytes, first.bytes);
    assert_eq!(project.event_types(&id).await, ["created", "failed", "archived"], "the second did nothing");
}

/// Neither needs a body, so none is looked at.
async fn a_body_is_of_no_consequence(stage: &Stage) {
    let project = stage.project().await;
    for body in ["", "{}", "not json", "[1]"] {
        let id = project.job().await;
        project.client().post(&project.job_path(&id, "/cancel")).body(body).send().await.expect(200);
        project.client().post(&project.job_path(&id, "/archive")).json_text(body).send().await.expect(200);
    }
}

behaviours!(
    cancelling_a_waiting_job_ends_it_at_once,
    only_an_active_job_is_cancelled,
    a_cancelled_job_is_never_run,
    archiving_works_from_every_status_and_is_final,
    archiving_an_active_job_cancels_it_first,
    archiving_twice_keeps_the_first_time,
    a_body_is_of_no_consequence,
);
