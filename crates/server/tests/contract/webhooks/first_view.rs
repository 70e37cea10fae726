//! The first page view of a project.

use copydesk_domain::{Source, Sources, ViewSettings};
use copydesk_store::ViewsSoFar;
use copydesk_testkit::{Backend, ProjectClient, Receiver, Who, see};
use serde_json::{Value, json};

use super::add_for;
use crate::stage::Stage;

const CHROME: &str =
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";

fn view(path: &str) -> Value {
    json!({ "url": format!("https://docs.example.com{path}"), "userAgent": CHROME, "timestamp": 1_773_576_000 })
}

async fn the_first_view_is_told_at_once_and_once(stage: &Stage) {
    let app = stage.app().await;
    let (project, other) = (app.project("Docs").await, app.project("Other").await);
    let receiver = Receiver::start().await;
    add_for(&project, &receiver, &["project.first_view", "job.created"]).await;
    add_for(&other, &receiver, &["project.first_view"]).await;
    let path = format!("/v1/analytics/{}/events", project.id);
    let send = async |path: &str, event: Value| project.client().post(path).json(&event).send().await;
    let asset = json!({ "url": "https://docs.example.com/logo.svg", "userAgent": CHROME });
    assert_eq!(send(&path, asset).await["accepted"], 0, "that is no view");
    assert_eq!(send(&path, view("/a")).await["accepted"], 1);
    let told = receiver.expect(1).await.remove(0);
    let event = told.json();
    assert_eq!((&event["type"], &event["data"]), (&json!("project.first_view"), &json!({ "projectId": &*project.id })));
    assert!(!told.header("webhook-id").is_empty());
    assert_eq!(send(&path, view("/b")).await["accepted"], 1);
    project.job().await;
    assert_eq!(receiver.expect(2).await.remove(1).json()["type"], "job.created", "the second is nothing special");
}

/// Crawlers come first, and nobody counts them.
async fn a_crawler_is_not_the_first_view(stage: &Stage) {
    let app = stage.app().await;
    let (project, receiver) = (app.project("Docs").await, Receiver::start().await);
    add_for(&project, &receiver, &["project.first_view", "job.created"]).await;
    let send = async |event: Value| {
        let path = format!("/v1/analytics/{}/events", project.id);
        assert_eq!(project.client().post(&path).json(&event).send().await["accepted"], 1);
    };
    let mut crawler = view("/a");
    crawler["userAgent"] = json!("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)");
    send(crawler).await;
    project.job().await;
    assert_eq!(receiver.expect(1).await.remove(0).json()["type"], "job.created");
    send(view("/a")).await;
    assert_eq!(receiver.expect(2).await.remove(1).json()["type"], "project.first_view");
}

/// Views are kept, and then the process is killed before it tells; or somebody else has kept them.
async fn a_first_view_that_nobody_told_of_is_found(stage: &Stage) {
    let app = stage.app().await;
    let (project, receiver) = (app.project("Docs").await, Receiver::start().await);
    add_for(&project, &receiver, &["project.first_view"]).await;
    see(app.views(), &project.id, "/a", "2026-01-02T00:00:00Z", Who::Person, 1).await;
    // The round comes by itself, every ten seconds.
    assert_eq!(receiver.expect(1).await.remove(0).json()["type"], "project.first_view");
}

async fn a_project_that_cannot_be_read_holds_up_no_other(stage: &Stage) {
    let app = stage.app().await;
    let (first, second, receiver) = (app.project("A").await, app.project("B").await, Receiver::start().await);
    add_for(&second, &receiver, &["project.first_view"]).await;
    app.views().make_unreadable(&first.id);
    for project in [&first, &second] {
        see(app.views(), &project.id, "/a", "2026-01-02T00:00:00Z", Who::Person, 1).await;
    }
    assert_eq!(receiver.expect(1).await.remove(0).json()["data"]["projectId"], *second.id);
}

/// What the figures of the project do not show is no first view either.
async fn a_channel_that_a_project_leaves_out_has_no_first_view(stage: &Stage) {
    let app = stage.app().await;
    let sources = Sources { people: Source::Server, machines: Source::Server };
    let views = ViewSettings { sources, ..ViewSettings::default() };
    let first = app.project_with("A", |new| new.views = views).await;
    let (second, receiver) = (app.project("B").await, Receiver::start().await);
    for project in [&first, &second] {
        add_for(project, &receiver, &["project.first_view"]).await;
        see(app.views(), &project.id, "/a", "2026-01-02T00:00:00Z", Who::Person, 1).await;
    }
    // The first is looked at before the second.
    assert_eq!(receiver.expect(1).await.remove(0).json()["data"]["projectId"], *second.id);
    assert_eq!(app.store().without_first_view().await.unwrap(), [(first.id.clone(), ViewsSoFar::None)]);
    see(app.views(), &first.id, "/a", "2026-01-02T00:00:00Z", Who::PersonInLog, 1).await;
    assert_eq!(receiver.expect(2).await.remove(1).json()["data"]["projectId"], *first.id);
}

/// Of a project from before the events, one machine has views and another has none.
async fn views_on_another_machine_are_not_the_first(stage: &Stage) {
    if stage.backend == Backend::Sqlite {
        // A file is the database of one machine.
        return;
    }
    let (here, there) = (stage.app().await, stage.app().await);
    let (docs, receiver) = (here.project("Docs").await, Receiver::start().await);
    let (second, third) = (here.project("Second").await, here.project("Third").await);
    stage.db.execute("UPDATE projects SET first_view_at = 0 WHERE id = 'docs'").await;
    for project in [&docs, &second, &third] {
        add_for(project, &receiver, &["project.first_view"]).await;
    }
    let send = async |project: &ProjectClient| {
        let path = format!("/v1/analytics/{}/events", project.id);
        assert_eq!(project.client().post(&path).json(&view("/a")).send().await["accepted"], 1);
    };
    // Projects are looked at in the order of their ids, so what is told of a later one was decided of the first.
    send(&second).await;
    assert_eq!(receiver.expect(1).await.remove(0).json()["data"]["projectId"], "second");
    send(&there.project_of(&docs)).await;
    send(&there.project_of(&third)).await;
    assert_eq!(receiver.expect(2).await.remove(1).json()["data"]["projectId"], "third");
}

behaviours! {
    the_first_view_is_told_at_once_and_once,
    a_crawler_is_not_the_first_view,
    a_first_view_that_nobody_told_of_is_found,
    a_project_that_cannot_be_read_holds_up_no_other,
    a_channel_that_a_project_leaves_out_has_no_first_view,
    views_on_another_machine_are_not_the_first,
}
