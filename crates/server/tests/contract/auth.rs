//! Keys: who is let in, to what.

use std::time::Duration;

use copydesk_domain::{ApiKey, Clock, Scope};
use copydesk_store::{Added, NewEndpoint};
use copydesk_testkit::{Answer, Client, ProjectClient, TestApp};
use reqwest::Method;
use serde_json::json;

use crate::stage::Stage;

const UNKNOWN: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

/// Every address behind a key, asked as `client`.
async fn ask_everything(app: &TestApp, client: &Client, project: &str, job: &str) -> Vec<(Method, String, Answer)> {
    let mut answers = Vec::new();
    for old in app.store().webhooks(Some(&project.into())).await.unwrap() {
        app.store().remove_webhook(&old.id).await.unwrap();
    }
    for (template, methods) in app.client().description().routes() {
        // The administration has keys of its own: see admin.rs.
        if !template.starts_with("/v") || template.starts_with("/v1/admin/") {
            continue;
        }
        let path = template.replace("{projectId}", project).replace("{id}", job);
        for method in methods {
            let mut path = path.clone();
            if path.contains("{webhookId}") {
                // One of its own for each, because one of them removes it.
                let (webhook, delivery) = webhook(app, project).await;
                path = path.replace("{webhookId}", &webhook).replace("{deliveryId}", &delivery);
            }
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let call = client.request(method.clone(), &path).header("accept", "application/json");
            let call = if method == Method::POST { call.json(&json!({ "prompt": "x" })) } else { call };
            answers.push((method, path, call.send().await));
        }
    }
    assert!(answers.len() >= 7, "all of them");
    answers
}

/// A webhook of the project with a delivery, or the names of none if there is no such project.
async fn webhook(app: &TestApp, project: &str) -> (String, String) {
    let new = NewEndpoint {
        project_id: project.into(),
        url: "https://10.0.0.1/".to_owned(),
        events: Vec::new(),
        description: String::new(),
        secret: Vec::new(),
    };
    let Added::Done(made) = app.store().add_webhook(&app.vault(), new).await.unwrap() else {
        return (UNKNOWN.to_owned(), UNKNOWN.to_owned());
    };
    let id = made.id;
    let due = app.store().take_test(&id, |_| "{}".to_owned(), Duration::from_secs(60)).await.unwrap().unwrap();
    (id, due.delivery.id)
}

/// The client sees to it that each 401 has its `WWW-Authenticate: Bearer` and the one shape.
async fn refuses_every_key_that_is_none(stage: &Stage) {
    let app = stage.app().await;
    let project = app.project("Docs").await;
    let good = project.key.secret.clone();
    let last = if good.ends_with('0') { "1" } else { "0" };
    let wrong_checksum = format!("{}{last}", &good[..good.len() - 1]);
    let unknown = ApiKey::generate();
    let revoked = app.key(Some(&project.id), Scope::Write, None).await;
    app.store().revoke_key(&revoked.id).await.unwrap().unwrap();
    let expired = app.key(Some(&project.id), Scope::Write, Some(stage.clock.now())).await;
    let upper = good.to_uppercase();
    let keys = ["x", "copydesk_", &wrong_checksum, &upper, unknown.reveal(), &revoked.secret, &expired.secret];
    let job = project.job().await;
    let mut bodies = std::collections::HashSet::new();
    for client in keys.map(|key| app.client().with_key(key)).iter().chain([app.client()]) {
        for (_, _, answer) in ask_everything(&app, client, &project.id, &job).await {
            bodies.insert(answer.refused(401, "unauthorized").text());
        }
        // Whether a project or a job exists is not to be learned without a key.
        for (_, _, answer) in ask_everything(&app, client, "no-such-project", UNKNOWN).await {
            bodies.insert(answer.refused(401, "unauthorized").text());
        }
    }
    assert_eq!(bodies.len(), 1, "one answer for every reason");
    assert_eq!(project.get(&job).await.expect(200)["status"], "active");
}

async fn takes_one_bearer_header_and_nothing_else(stage: &Stage) {
    let project = stage.project().await;
    let (key, path) = (project.key.secret.clone(), project.path("jobs"));
    let client = project.client().without_key();
    let with = async |value: &str| client.get(&path).header("authorization", value).send().await;
    for good in [format!("Bearer {key}"), format!("bearer {key}"), format!("BEARER  {key} ")] {
        with(&good).await.expect(200);
    }
    for bad in [key.clone(), "Bearer".to_owned(), format!("Basic {key}"), format!("Bearer {key} {key}"), "ü".into()] {
        with(&bad).await.refused(401, "unauthorized");
    }
    let twice = client.get(&path).header("authorization", format!("Bearer {key}"));
    twice.header("authorization", format!("Bearer {key}")).send().await.refused(401, "unauthorized");
    client.get(&format!("{path}?key={key}")).send().await.refused(401, "unauthorized");
}

async fn a_key_made_elsewhere_is_well_formed_but_unknown(stage: &Stage) {
    let project = stage.project().await;
    let foreign = "copydesk_aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3Z2POMvO";
    assert!(ApiKey::parse(foreign).is_ok());
    project.client().with_key(foreign).get(&project.path("jobs")).send().await.refused(401, "unauthorized");
}

async fn a_key_revoked_elsewhere_is_refused_by_the_very_next_request(stage: &Stage) {
    let project = stage.project().await;
    // As another process would have it.
    let elsewhere = stage.db.open(stage.clock.clone()).await;
    project.job().await;
    elsewhere.revoke_key(&project.key.id).await.unwrap().unwrap();
    project.list("").await.refused(401, "unauthorized");
    project.try_create(json!({ "prompt": "x" })).await.refused(401, "unauthorized");
}

async fn a_key_works_until_it_expires(stage: &Stage) {
    let app = stage.app().await;
    let project = app.project("Docs").await;
    let expires_at = stage.clock.now().plus(Duration::from_secs(60));
    let project = project.with_key(&app.key(Some(&project.id), Scope::Write, Some(expires_at)).await);
    stage.advance(Duration::from_millis(59_999));
    project.list("").await.expect(200);
    stage.advance(Duration::from_millis(1));
    project.list("").await.refused(401, "unauthorized");
}

async fn a_read_key_reads_and_does_not_write(stage: &Stage) {
    let app = stage.app().await;
    let writer = app.project("Docs").await;
    let job = writer.job().await;
    let reader = writer.with_key(&app.key(Some(&writer.id), Scope::Read, None).await);
    for (method, path, answer) in ask_everything(&app, reader.client(), &reader.id, &job).await {
        if method == Method::GET {
            answer.expect(200);
            reader.client().request(Method::HEAD, &path).send().await.expect(200);
        } else {
            answer.refused(403, "forbidden");
        }
    }
    // The scope is looked at before the job and before the body.
    reader.cancel(UNKNOWN).await.refused(403, "forbidden");
    reader.creation().body("x").send().await.refused(403, "forbidden");
    assert_eq!(writer.get(&job).await.expect(200)["status"], "active");
    assert_eq!(writer.event_types(&job).await, ["created"]);
}

async fn a_write_key_reads_too(stage: &Stage) {
    let app = stage.app().await;
    let writer = app.project("Docs").await;
    let job = writer.job().await;
    for (_, path, answer) in ask_everything(&app, writer.client(), &writer.id, &job).await {
        assert!(![401, 403, 404].contains(&answer.status), "{path}: {}", answer.text());
    }
}

async fn another_projects_key_opens_nothing(stage: &Stage) {
    let app = stage.app().await;
    let (mine, theirs) = (app.project("Mine").await, app.project("Theirs").await);
    let job = theirs.job().await;
    let mut bodies = std::collections::HashSet::new();
    for scope in [Scope::Read, Scope::Write] {
        let key = app.key(Some(&mine.id), scope, None).await;
        let client = app.client().with_key(&key.secret);
        for project in [&theirs.id, "no-such-project", "%00", "%ff", "MINE"] {
            for (_, _, answer) in ask_everything(&app, &client, project, &job).await {
                let answer = answer.refused(404, "project_not_found");
                let headers: Vec<_> = answer.headers.keys().map(ToString::to_string).collect();
                bodies.insert((answer.text(), headers));
            }
        }
    }
    assert_eq!(bodies.len(), 1, "the same as a project that does not exist: {bodies:?}");
    assert_eq!(theirs.get(&job).await.expect(200)["status"], "active");
}

async fn a_key_for_all_projects_opens_all_that_exist(stage: &Stage) {
    let app = stage.app().await;
    let (one, other) = (app.project("One").await, app.project("Other").await);
    let key = app.key(None, Scope::Write, None).await;
    for project in [&one, &other] {
        let project: ProjectClient = project.with_key(&key);
        let id = project.job().await;
        project.cancel(&id).await.expect(200);
    }
    let client = app.client().with_key(&key.secret);
    client.get("/v2/agent/no-such-project/jobs").send().await.refused(404, "project_not_found");
    let later = app.project("Later").await;
    later.with_key(&key).list("").await.expect(200);
    let reader = app.key(None, Scope::Read, None).await;
    one.with_key(&reader).list("").await.expect(200);
    one.with_key(&reader).try_create(json!({ "prompt": "x" })).await.refused(403, "forbidden");
}

async fn a_deleted_project_takes_its_keys_along(stage: &Stage) {
    let app = stage.app().await;
    let project = app.project("Docs").await;
    let all = app.key(None, Scope::Write, None).await;
    let id = project.job().await;
    assert!(app.store().delete_project(&project.id).await.unwrap());
    project.get(&id).await.refused(401, "unauthorized");
    project.with_key(&all).get(&id).await.refused(404, "project_not_found");
}

async fn when_a_key_was_last_used_is_noted(stage: &Stage) {
    let app = stage.app().await;
    let (used, unused) = (app.project("Used").await, app.project("Unused").await);
    stage.advance(Duration::from_secs(7));
    used.list("").await.expect(200);
    // Noted now and then, and when the server stops.
    app.stop().await;
    let keys = stage.db.open(stage.clock.clone()).await.keys(None).await.unwrap();
    let of = |project: &ProjectClient| keys.iter().find(|key| key.id == project.key.id).unwrap().last_used_at;
    assert_eq!(of(&used), Some(stage.clock.now()));
    assert_eq!(of(&unused), None);
}

behaviours!(
    refuses_every_key_that_is_none,
    takes_one_bearer_header_and_nothing_else,
    a_key_made_elsewhere_is_well_formed_but_unknown,
    a_key_revoked_elsewhere_is_refused_by_the_very_next_request,
    a_key_works_until_it_expires,
    a_read_key_reads_and_does_not_write,
    a_write_key_reads_too,
    another_projects_key_opens_nothing,
    a_key_for_all_projects_opens_all_that_exist,
    a_deleted_project_takes_its_keys_along,
    when_a_key_was_last_used_is_noted,
);
