//! The administration over HTTP, with a key of its own scope.

use copydesk_domain::{Clock, HostKind, Scope};
use copydesk_store::{DeedFilter, NewUser};
use copydesk_testkit::{Client, GitRepo, TestApp};
use reqwest::Method;
use serde_json::{Value, json};

use crate::stage::Stage;

behaviours!(
    only_a_key_of_its_scope_administers,
    such_a_key_does_nothing_else,
    a_project_is_made_changed_and_deleted,
    what_is_wrong_with_a_project_is_named,
    a_project_is_tried,
    a_credential_is_set_and_never_shown,
    keys_are_made_and_revoked,
    members_and_invitations,
    deeds_are_written_under_the_key,
);

async fn administrator(app: &TestApp) -> Client {
    app.client().with_key(&app.key(None, Scope::Admin, None).await.secret)
}

fn wish() -> Value {
    json!({ "name": "Acme Docs", "repository": "https://github.com/acme/docs.git", "baseRef": "main" })
}

const PROJECTS: &str = "/v1/admin/projects";
const KEYS: &str = "/v1/admin/keys";

fn body(method: &Method, template: &str) -> Option<Value> {
    match (method.as_str(), template) {
        ("POST", PROJECTS) => Some(wish()),
        ("POST", KEYS) => Some(json!({})),
        ("PATCH", _) => Some(json!({ "name": "Other" })),
        ("PUT", it) if it.ends_with("credential") => Some(json!({ "kind": "token", "token": "planted" })),
        ("PUT", _) => Some(json!({ "role": "viewer" })),
        ("POST", it) if it.ends_with("invitations") => Some(json!({ "role": "viewer" })),
        _ => None,
    }
}

async fn only_a_key_of_its_scope_administers(stage: &Stage) {
    let app = stage.app().await;
    let project = app.project("Docs").await;
    let all = app.key(None, Scope::Write, None).await;
    let ended = app.key(None, Scope::Admin, Some(stage.clock.now())).await;
    let mut tried = 0;
    for (template, methods) in app.client().description().routes() {
        if !template.starts_with("/v1/admin/") {
            continue;
        }
        let path = template.replace("{projectId}", &project.id).replace("{keyId}", &project.key.id);
        let path = path.replace("{userId}", "0").replace("{invitationId}", "0");
        for method in methods {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let send = async |client: &Client| {
                let call = client.request(method.clone(), &path).header("accept", "application/json");
                match body(&method, &template) {
                    Some(body) => call.json(&body).send().await,
                    None => call.send().await,
                }
            };
            send(app.client()).await.refused(401, "unauthorized");
            send(&app.client().with_key(&ended.secret)).await.refused(401, "unauthorized");
            send(&app.client().with_key(&all.secret)).await.refused(403, "forbidden");
            send(project.client()).await.refused(403, "forbidden");
            tried += 1;
        }
    }
    assert!(tried >= 18, "all of them: {tried}");
    assert_eq!(app.store().projects().await.unwrap().len(), 1);
    project.list("").await.expect(200);
}

async fn such_a_key_does_nothing_else(stage: &Stage) {
    let app = stage.app().await;
    let project = app.project("Docs").await;
    let admin = administrator(&app).await;
    admin.get(&project.path("jobs")).send().await.refused(403, "forbidden");
    admin.post(&project.path("job")).json(&json!({ "prompt": "x" })).send().await.refused(403, "forbidden");
    admin.get(&format!("/v1/webhooks/{}", project.id)).send().await.refused(403, "forbidden");
    admin.get("/v2/agent/nobody/jobs").send().await.refused(404, "project_not_found");
}

async fn a_project_is_made_changed_and_deleted(stage: &Stage) {
    let app = stage.app().await;
    let admin = administrator(&app).await;
    assert_eq!(admin.get(PROJECTS).send().await.expect(200)["projects"], json!([]));
    let mut wish = wish();
    wish["views"] = json!({ "domains": ["docs.example.com"], "people": "both" });
    wish["host"] = json!({ "kind": "gitlab", "acceptAnyCertificate": true });
    wish["timeLimitSeconds"] = json!(600);
    let made = admin.post(PROJECTS).json(&wish).send().await.expect(201);
    let path = format!("{PROJECTS}/acme-docs");
    assert_eq!(made.header("location"), Some(path.as_str()));
    assert_eq!((&made["id"], &made["repository"]), (&json!("acme-docs"), &json!("https://github.com/acme/docs")));
    assert!(made["notes"][0].as_str().unwrap().contains("certificates"), "{}", made.text());
    let mut shown = made.json().clone();
    shown.as_object_mut().unwrap().remove("notes");
    assert_eq!(*admin.get(&path).send().await.expect(200).json(), shown);
    assert_eq!(admin.get(PROJECTS).send().await.expect(200)["projects"], json!([shown]));
    let change = json!({ "name": "Handbook", "timeLimitSeconds": null, "writePaths": { "deny": ["docs/legal"] },
        "views": { "domains": [] }, "host": { "kind": null, "acceptAnyCertificate": false }, "jobsPerHour": 5 });
    let changed = admin.request(Method::PATCH, &path).json(&change).send().await.expect(200);
    assert_eq!((&changed["name"], &changed["timeLimitSeconds"]), (&json!("Handbook"), &json!(null)));
    assert_eq!((&changed["views"]["domains"], &changed["views"]["people"]), (&json!([]), &json!("both")));
    assert_eq!((&changed["hostKind"], &changed["jobsPerHour"]), (&json!("github"), &json!(5)));
    let stored = app.store().project(&"acme-docs".into()).await.unwrap().unwrap();
    assert_eq!((stored.host.kind, stored.write_paths.deny.len()), (None::<HostKind>, 1));
    // Deleted, and again.
    for _ in 0..2 {
        assert_eq!(admin.request(Method::DELETE, &path).send().await.expect(204).bytes.len(), 0);
    }
    admin.get(&path).send().await.refused(404, "project_not_found");
    admin.request(Method::PATCH, &path).json(&json!({})).send().await.refused(404, "project_not_found");
    for path in ["%00", "%ff", "NOT-ONE"] {
        admin.get(&format!("{PROJECTS}/{path}")).send().await.refused(404, "project_not_found");
        admin.request(Method::DELETE, &format!("{PROJECTS}/{path}")).send().await.refused(404, "project_not_found");
    }
}

async fn what_is_wrong_with_a_project_is_named(stage: &Stage) {
    let app = stage.app().await;
    let admin = administrator(&app).await;
    let with = |field: &str, value: Value| {
        let mut wish = wish();
        wish[field] = value;
        wish
    };
    for (body, field) in [
        (with("name", json!("")), "name"),
        (with("repository", json!("acme/docs")), "repository"),
        (with("repository", json!("ext::sh -c id")), "repository"),
        (with("baseRef", json!("a..b")), "baseRef"),
        (with("docsPaths", json!(["../x"])), "docsPaths"),
        (with("writePaths", json!({ "allow": ["/etc"] })), "writePaths.allow"),
        (with("timeZone", json!("Mars")), "timeZone"),
        (with("timeLimitSeconds", json!(0)), "timeLimitSeconds"),
        (with("jobsPerHour", json!(1_000_001)), "jobsPerHour"),
        (with("views", json!({ "domains": ["https://x"] })), "views.domains"),
        (with("host", json!({ "apiUrl": "nowhere" })), "host.apiUrl"),
        (with("host", json!({ "caFile": "ca.pem" })), "host.caFile"),
        (with("id", json!("Not An Id")), "id"),
        (with("colour", json!("blue")), "colour"),
        (json!({ "name": "x" }), "repository"),
    ] {
        admin.post(PROJECTS).json(&body).send().await.names(&[field]);
    }
    // A list of the values of all fields is no object.
    let lists = [
        ("writePaths", json!([["data"], []])),
        ("views", json!([["docs.example.com"], "both", "both", 30])),
        ("host", json!(["gitlab", null, null, false, null, null, null, [], []])),
    ];
    for (field, list) in &lists {
        admin.post(PROJECTS).json(&with(field, list.clone())).send().await.names(&[field]);
    }
    assert_eq!(app.store().projects().await.unwrap(), []);
    admin.post(PROJECTS).json(&with("id", json!("docs"))).send().await.expect(201);
    admin.post(PROJECTS).json(&with("id", json!("docs"))).send().await.refused(409, "id_taken");
    for (field, list) in lists {
        let change = json!({ field: list });
        admin.request(Method::PATCH, &format!("{PROJECTS}/docs")).json(&change).send().await.names(&[field]);
    }
    let domain = json!({ "domains": ["docs.example.com"] });
    admin.post(PROJECTS).json(&with("views", domain.clone())).send().await.expect(201);
    admin.post(PROJECTS).json(&with("views", domain)).send().await.refused(409, "domain_taken");
}

async fn a_project_is_tried(stage: &Stage) {
    let app = stage.app().await;
    let admin = administrator(&app).await;
    let repo = GitRepo::new([("docs/index.md", "# Docs\n")]);
    let wish = json!({ "name": "Local", "repository": repo.path().to_str().unwrap() });
    let made = admin.post(PROJECTS).json(&wish).send().await.expect(201);
    assert_eq!(made["baseRef"], "main", "asked from the repository");
    let tried = admin.post(&format!("{PROJECTS}/local/test")).send().await.expect(200);
    assert_eq!((&tried["project"], &tried["works"]), (&json!("local"), &json!(true)));
    assert!(tried["trials"].as_array().unwrap().len() >= 3);
    let gone = json!({ "repository": "/no/such/folder" });
    let changed = admin.request(Method::PATCH, &format!("{PROJECTS}/local")).json(&gone).send().await.expect(200);
    assert!(changed["notes"][0].as_str().unwrap().contains("there is nothing"));
    let tried = admin.post(&format!("{PROJECTS}/local/test")).send().await.expect(200);
    assert_eq!(tried["works"], false);
}

async fn a_credential_is_set_and_never_shown(stage: &Stage) {
    let app = stage.app().await;
    let admin = administrator(&app).await;
    let project = app.project("Docs").await;
    let path = format!("{PROJECTS}/{}/credential", project.id);
    assert_eq!(admin.get(&path).send().await.expect(200)["source"], json!(null));
    let set = async |body: Value| admin.request(Method::PUT, &path).json(&body).send().await;
    let token = json!({ "kind": "token", "token": "planted-token", "username": "deploy" });
    let answer = set(token).await.expect(200);
    assert_eq!((&answer["source"], &answer["kind"]), (&json!("stored"), &json!("user name and password")));
    assert!(!answer.text().contains("planted") && !admin.get(&path).send().await.text().contains("planted"));
    for (body, field) in [
        (json!({ "kind": "token" }), "token"),
        (json!({ "kind": "token", "token": "pla\nnted" }), "token"),
        (json!({ "kind": "ssh_key", "privateKey": "planted" }), "privateKey"),
        (json!({ "kind": "github_app", "privateKey": "planted" }), "appId"),
        (json!({ "kind": "password", "token": "planted" }), "kind"),
    ] {
        let refused = set(body).await.names(&[field]);
        assert!(!refused.text().contains("planted"));
    }
    for _ in 0..2 {
        admin.request(Method::DELETE, &path).send().await.expect(204);
    }
    assert_eq!(admin.get(&path).send().await.expect(200)["source"], json!(null));
}

async fn keys_are_made_and_revoked(stage: &Stage) {
    let app = stage.app().await;
    let admin = administrator(&app).await;
    let project = app.project("Docs").await;
    let make = async |body: Value| admin.post(KEYS).json(&body).send().await;
    let wish = json!({ "projectId": project.id, "name": "CI", "scope": "read", "expires": "90d" });
    let made = make(wish).await.expect(201);
    let client = app.client().with_key(made["key"].as_str().unwrap());
    client.get(&project.path("jobs")).send().await.expect(200);
    let id = made["id"].as_str().unwrap();
    let list = admin.get(&format!("{KEYS}?projectId={}", project.id)).send().await.expect(200);
    assert_eq!(list["keys"].as_array().unwrap().len(), 3, "those for all are among them");
    assert!(!list.text().contains(made["key"].as_str().unwrap()));
    admin.get(&format!("{KEYS}?projectId=nobody")).send().await.refused(404, "project_not_found");
    for _ in 0..2 {
        let revoked = admin.request(Method::DELETE, &format!("{KEYS}/{id}")).send().await.expect(200);
        assert!(revoked["revokedAt"].is_string());
    }
    client.get(&project.path("jobs")).send().await.refused(401, "unauthorized");
    admin.request(Method::DELETE, &format!("{KEYS}/nobody")).send().await.refused(404, "key_not_found");
    admin.request(Method::DELETE, &format!("{KEYS}/%00")).send().await.refused(404, "key_not_found");
    // None that could administer in its place.
    make(json!({ "scope": "admin" })).await.names(&["scope"]);
    make(json!({ "scope": "king" })).await.names(&["scope"]);
    make(json!({ "expires": "soon" })).await.names(&["expires"]);
    make(json!({ "name": "a\nb" })).await.names(&["name"]);
    make(json!({ "projectId": "nobody" })).await.refused(404, "project_not_found");
    assert_eq!(make(json!({})).await.expect(201)["scope"], "write");
}

async fn members_and_invitations(stage: &Stage) {
    let app = stage.app().await;
    let admin = administrator(&app).await;
    let project = app.project("Docs").await;
    let new =
        |email: &str| NewUser { email: email.to_owned(), name: "Ada".to_owned(), password: None, is_admin: false };
    let ada = app.store().create_user(new("ada@example.com")).await.unwrap().unwrap();
    assert_eq!(admin.get("/v1/admin/users").send().await.expect(200)["users"][0]["email"], "ada@example.com");
    let at = |rest: &str| format!("{PROJECTS}/{}/{rest}", project.id);
    let set = async |user: &str, role: &str| {
        let path = at(&format!("members/{user}"));
        admin.request(Method::PUT, &path).json(&json!({ "role": role })).send().await
    };
    set("nobody", "owner").await.refused(404, "user_not_found");
    set(&ada.id, "king").await.names(&["role"]);
    assert_eq!(set(&ada.id, "owner").await.expect(200)["role"], "owner");
    assert_eq!(admin.get(&at("members")).send().await.expect(200)["members"][0]["userId"], ada.id);
    set(&ada.id, "viewer").await.refused(409, "last_owner");
    let path = at(&format!("members/{}", ada.id));
    admin.request(Method::DELETE, &path).send().await.refused(409, "last_owner");
    let bob = app.store().create_user(new("bob@example.com")).await.unwrap().unwrap();
    set(&bob.id, "owner").await.expect(200);
    for _ in 0..2 {
        admin.request(Method::DELETE, &path).send().await.expect(204);
    }
    let invite = async |body: Value| admin.post(&at("invitations")).json(&body).send().await;
    invite(json!({ "role": "viewer", "note": "a\nb" })).await.names(&["note"]);
    let made = invite(json!({ "role": "viewer", "note": "Eve" })).await.expect(201);
    let link = made["link"].as_str().unwrap().to_owned();
    assert!(link.starts_with(&format!("{}/join/", app.client().base())));
    let list = admin.get(&at("invitations")).send().await.expect(200);
    assert_eq!((&list["invitations"][0]["note"], list.text().contains("/join/")), (&json!("Eve"), false));
    let one = at(&format!("invitations/{}", made["id"].as_str().unwrap()));
    for _ in 0..2 {
        admin.request(Method::DELETE, &one).send().await.expect(204);
    }
    assert_eq!(admin.get(&at("invitations")).send().await.expect(200)["invitations"], json!([]));
}

async fn deeds_are_written_under_the_key(stage: &Stage) {
    let app = stage.app().await;
    let admin = administrator(&app).await;
    admin.post(PROJECTS).json(&wish()).send().await.expect(201);
    admin.request(Method::DELETE, &format!("{PROJECTS}/acme-docs")).send().await.expect(204);
    let deeds = app.store().deeds(DeedFilter { limit: 2, ..DeedFilter::default() }).await.unwrap();
    let told: Vec<_> = deeds.iter().map(|deed| (&*deed.action, deed.actor_kind.as_str(), &*deed.actor_name)).collect();
    assert_eq!(told, [("project.delete", "key", "a test"), ("project.create", "key", "a test")]);
}
