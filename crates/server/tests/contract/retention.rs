//! What is left of jobs that were kept long enough.

use std::time::Duration;

use copydesk_desk::{Retention, forget_old_jobs};

use crate::stage::Stage;

behaviours! {
    a_job_that_was_forgotten_is_as_one_that_never_was,
    without_a_setting_everything_is_kept,
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
    assert_eq!(project.event_types(&job).await, ["failed", "archived"], "how it ended, and what came last");
    project.get(&job).await.expect(200);
}
