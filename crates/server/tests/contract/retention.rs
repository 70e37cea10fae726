//! What is left of jobs that were kept long enough.

use std::time::Duration;

use copydesk_desk::{Retention, forget_old_jobs, throw_away};
use copydesk_domain::Clock;
use copydesk_testkit::{Receiver, Who, see};
use serde_json::json;

use crate::stage::Stage;

behaviours! {
    a_job_that_was_forgotten_is_as_one_that_never_was,
    without_a_setting_everything_is_kept,
    a_dormant_copy_throws_nothing_away,
    a_server_that_stops_does_not_wait_for_what_is_thrown_away,
}

const DAY: Duration = Duration::from_secs(24 * 3600);

async fn a_job_that_was_forgotten_is_as_one_that_never_was(stage: &Stage) {
    let app = stage.app().await;
    let project = app.project("Docs").await;
    let (old, active) = (project.job().await, project.job().await);
    project.archive(&old).await.expect(200);
    app.store().fan_out(100, |_, _| String::new()).await.unwrap();
    stage.advance(91 * DAY);
    let young = project.job().await;
    project.archive(&young).await.expect(200);
    let retention = Retention { jobs: 90, events: 0 };
    assert_eq!(forget_old_jobs(app.store(), retention).await.unwrap(), (1, 0));
    let never = project.get("0190a6ae-0000-7000-8000-000000000000").await.expect(404);
    assert_eq!(project.get(&old).await.expect(404).json(), never.json());
    project.message(&old, "Go on").await.expect(404);
    let listed = project.list("").await.expect(200).json()["jobs"].clone();
    let ids: Vec<&str> = listed.as_array().unwrap().iter().map(|job| job["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [young.as_str(), active.as_str()]);
}

async fn without_a_setting_everything_is_kept(stage: &Stage) {
    let app = stage.app().await;
    let project = app.project("Docs").await;
    let job = project.job().await;
    project.archive(&job).await.expect(200);
    app.store().fan_out(100, |_, _| String::new()).await.unwrap();
    stage.advance(4000 * DAY);
    assert_eq!(forget_old_jobs(app.store(), Retention::default()).await.unwrap(), (0, 0));
    let told = project.event_types(&job).await;
    assert!(told.len() > 2);
    assert_eq!(forget_old_jobs(app.store(), Retention { jobs: 0, events: 30 }).await.unwrap().0, 0);
    let kept = ["created", "failed", "archived"];
    assert_eq!(project.event_types(&job).await, kept, "how it began and ended, and what came last");
    project.get(&job).await.expect(200);
}

async fn a_dormant_copy_throws_nothing_away(stage: &Stage) {
    let app = stage.app().await;
    let (project, receiver) = (app.project("Docs").await, Receiver::start().await);
    let hook = json!({ "url": receiver.url(), "events": ["job.created"] });
    project.client().post(&format!("/v1/webhooks/{}", project.id)).json(&hook).send().await.expect(201);
    let created = project.creation().header("idempotency-key", "k").json(&json!({ "prompt": "x" })).send().await;
    project.archive(created.expect(201)["id"].as_str().unwrap()).await.expect(200);
    receiver.expect(1).await;
    let gone = app.project("Gone").await.id;
    see(app.views(), &gone, "/a", "2026-01-02T00:00:00Z", Who::Person, 3).await;
    assert!(app.store().delete_project(&gone).await.unwrap());
    let tables = ["jobs", "events", "idempotency", "webhook_deliveries"];
    let rows = async || {
        let all = app.store().row_counts().await.unwrap();
        (tables.map(|table| all[table]), app.views().all(&gone).await)
    };
    let throw = async || {
        let desk = app.app().desk();
        throw_away(app.store(), desk.views.as_deref(), Retention { jobs: 1, events: 1 }, 0, &desk.stop).await;
    };
    app.store().make_dormant(stage.clock.now()).await.unwrap();
    stage.advance(100 * DAY);
    let before = rows().await;
    throw().await;
    assert_eq!(rows().await, before);
    assert!(before.0.iter().all(|count| *count > 0) && before.1 == 3, "there was something to throw away: {before:?}");
    app.store().wake().await.unwrap();
    throw().await;
    assert_eq!(rows().await, ([0; 4], 0));
}

/// Somebody holds the jobs, so that forgetting them takes as long as that.
async fn a_server_that_stops_does_not_wait_for_what_is_thrown_away(stage: &Stage) {
    let app = stage.app().await;
    let project = app.project("Docs").await;
    project.archive(&project.job().await).await.expect(200);
    app.store().fan_out(100, |_, _| String::new()).await.unwrap();
    stage.advance(91 * DAY);
    let lock = stage.db.lock().await;
    let desk = app.app().desk();
    let mut thrown = throw_away(app.store(), None, Retention { jobs: 90, events: 0 }, 0, &desk.stop);
    assert!(futures_util::poll!(&mut thrown).is_pending());
    desk.stop.ask();
    // SQLite itself waits for ten seconds.
    tokio::time::timeout(Duration::from_secs(5), thrown).await.expect("it stops at once");
    drop(lock);
    app.stop().await;
    assert_eq!(app.store().row_counts().await.unwrap()["jobs"], 1, "it has its turn another time");
}
