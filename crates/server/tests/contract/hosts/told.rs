//! What becomes of pull requests, told to webhooks.

use std::collections::BTreeSet;
use std::time::Duration;

use copydesk_desk::{Retention, forget_old_jobs, look_at_pulls};
use copydesk_domain::{HostKind, JobId, PullRequest, PullRequestState};
use copydesk_testkit::{Receiver, TestEditor, eventually};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{Place, REPOSITORY};
use crate::stage::Stage;

behaviours! {
    the_end_of_a_pull_request_is_told_once,
    a_merge_that_copydesk_makes_is_told_too,
    an_old_job_goes_though_nobody_has_noticed_its_merge,
    those_that_cannot_be_asked_about_are_in_nobodys_way,
    a_merge_is_told_with_the_pull_request_while_the_job_goes_on,
}

async fn hook(place: &Place, receiver: &Receiver, events: &[&str]) {
    let body = json!({ "url": receiver.url(), "events": events });
    place.project.client().post(&format!("/v1/webhooks/{}", place.project.id)).json(&body).send().await.expect(201);
}

/// Nobody reads the jobs, and many servers look at once.
async fn the_end_of_a_pull_request_is_told_once(stage: &Stage) {
    for (kind, place) in Place::all(stage).await {
        let receiver = Receiver::start().await;
        hook(&place, &receiver, &["pull_request.merged", "pull_request.closed", "job.archived"]).await;
        let merged = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
        let closed = place.ended("docs/b.md = # B\\n\\nTwo.\\n", "completed").await;
        place.host.merge(REPOSITORY, 1).await;
        place.host.close(REPOSITORY, 2).await;
        let look = async || {
            stage.advance(Duration::from_secs(301));
            let (store, jobs) = (place.app.store(), &place.app.app().desk().jobs);
            join_all((0..4).map(|_| async { look_at_pulls(store, jobs, Retention::default()).await.unwrap() })).await;
        };
        look().await;
        let told: BTreeSet<_> = receiver.expect(2).await.iter().map(|it| seen(&it.json())).collect();
        let wanted = [(&closed, "pull_request.closed", "closed"), (&merged, "pull_request.merged", "merged")];
        let wanted =
            wanted.map(|(job, kind, state)| (kind.to_owned(), job["id"].to_string(), json!(state).to_string()));
        assert_eq!(told, BTreeSet::from(wanted), "{kind:?}");
        look().await;
        place.project.get(merged["id"].as_str().unwrap()).await.expect(200);
        place.project.archive(merged["id"].as_str().unwrap()).await.expect(200);
        let last = receiver.expect(3).await.remove(2).json();
        assert_eq!(last["type"], "job.archived", "{kind:?}: nothing was told twice");
    }
}

/// The type, the job, and how its pull request stands.
fn seen(event: &Value) -> (String, String, String) {
    let data = &event["data"];
    (event["type"].as_str().unwrap().to_owned(), data["id"].to_string(), data["pullRequest"]["state"].to_string())
}

async fn a_merge_that_copydesk_makes_is_told_too(stage: &Stage) {
    let app = super::app(stage, TestEditor::writing()).await;
    let git = copydesk_testkit::GitRepo::new([("docs/a.md", "# A\n\nOne.\n")]);
    let repository = copydesk_domain::Repository::parse(git.path().to_str().unwrap(), "/".as_ref()).unwrap();
    let project = app.project_with("Local", |new| new.repository = repository).await;
    let receiver = Receiver::start().await;
    let body = json!({ "url": receiver.url(), "events": ["pull_request.merged", "pull_request.closed"] });
    project.client().post(&format!("/v1/webhooks/{}", project.id)).json(&body).send().await.expect(201);
    let id = project.create("docs/a.md = # A\\n\\nTwo.\\n").await["id"].as_str().unwrap().to_owned();
    let job = project.until(&id, "completed").await;
    assert_eq!(job["pullRequest"]["state"], "open");
    // Somebody merges by hand in the repository; the next look finds it.
    git.git(&["update-ref", "refs/heads/main", &format!("refs/heads/{}", job["branch"].as_str().unwrap())]);
    stage.advance(Duration::from_secs(301));
    look_at_pulls(app.store(), &app.app().desk().jobs, Retention::default()).await.unwrap();
    let event = receiver.expect(1).await.remove(0).json();
    assert_eq!((&event["type"], &event["data"]["id"]), (&json!("pull_request.merged"), &json!(id)));
}

/// Nobody reads the job and no webhook wants to know; if nobody asked, it would be kept for ever.
async fn an_old_job_goes_though_nobody_has_noticed_its_merge(stage: &Stage) {
    const MONTH: Duration = Duration::from_secs(31 * 24 * 3600);
    let retention = Retention { jobs: 30, events: 0 };
    for (kind, place) in Place::all(stage).await {
        let (store, jobs) = (place.app.store(), &place.app.app().desk().jobs);
        let id = JobId::from(place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await["id"].as_str().unwrap());
        let state = async || {
            let job = store.job(&place.project.id, &id).await.unwrap().unwrap();
            job.pull_request.unwrap().state
        };
        let forgotten = async || {
            store.fan_out(100, |_, _| String::new()).await.unwrap();
            forget_old_jobs(store, retention).await.unwrap().0
        };
        place.host.merge(REPOSITORY, 1).await;
        stage.advance(MONTH);
        look_at_pulls(store, jobs, Retention::default()).await.unwrap();
        assert_eq!((state().await, forgotten().await), (PullRequestState::Open, 0), "{kind:?}");
        look_at_pulls(store, jobs, retention).await.unwrap();
        eventually("the merge is known", async || (state().await == PullRequestState::Merged).then_some(())).await;
        stage.advance(MONTH);
        // Unless somebody has the row in hand just then; it is looked for again.
        eventually("the job is forgotten", async || (forgotten().await == 1).then_some(())).await;
    }
}

/// More than are looked at in one go: their project has another repository by now, or their host is not known.
async fn those_that_cannot_be_asked_about_are_in_nobodys_way(stage: &Stage) {
    let place = Place::new(stage, HostKind::Github, TestEditor::writing()).await;
    let receiver = Receiver::start().await;
    for number in 0..25 {
        // Nobody runs these.
        let job = place.project.try_create(json!({ "prompt": "x", "model": "noop" })).await.expect(201);
        let id = job["id"].as_str().unwrap();
        place.project.cancel(id).await.expect(200);
        let url = format!("https://elsewhere.example/acme/old/pull/{number}");
        let pull =
            PullRequest { number: 1000 + number, url, state: PullRequestState::Open, draft: false, merged_at: None };
        place.app.store().record_pull(&id.into(), &pull).await.unwrap().unwrap();
    }
    stage.advance(Duration::from_secs(1));
    let job = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
    hook(&place, &receiver, &["pull_request.merged"]).await;
    place.host.merge(REPOSITORY, 1).await;
    stage.advance(Duration::from_secs(301));
    for _ in 0..2 {
        look_at_pulls(place.app.store(), &place.app.app().desk().jobs, Retention::default()).await.unwrap();
    }
    assert_eq!(receiver.expect(1).await.remove(0).json()["data"]["id"], job["id"]);
}

async fn a_merge_is_told_with_the_pull_request_while_the_job_goes_on(stage: &Stage) {
    let place = Place::new(stage, HostKind::Github, TestEditor::writing()).await;
    let job = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
    place.app.stop().await;
    // Here nobody works on the follow-up.
    let app = stage.app().await;
    let place = Place { project: app.project_of(&place.project), app, ..place };
    let (id, receiver) = (job["id"].as_str().unwrap(), Receiver::start().await);
    hook(&place, &receiver, &["pull_request.merged"]).await;
    let address = format!("{}/hooks/{}", place.app.client().base(), place.project.id);
    place.host.hook(REPOSITORY, &address, &place.app.hook_secret(&place.project.id).await);
    let active = place.project.message(id, "docs/a.md = # A\\n\\nThree.\\n").await.expect(200);
    assert_eq!((&active["prLink"], &active["pullRequest"]), (&json!(null), &json!(null)), "the interface hides it");
    assert_eq!(place.host.merge(REPOSITORY, 1).await, [Some(202)]);
    let told = receiver.expect(1).await.remove(0).json();
    let data = &told["data"];
    assert_eq!((&told["type"], &data["status"]), (&json!("pull_request.merged"), &json!("active")));
    assert_eq!((&data["prLink"], &data["pullRequest"]["state"]), (&job["prLink"], &json!("merged")), "{told}");
}
