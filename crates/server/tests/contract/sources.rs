//! Facts from the code: jobs that read further repositories, and jobs about a range of their commits.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use copydesk_agent::{KeySource, ModelEditor, ModelSettings, Provider, SecretString};
use copydesk_domain::{HostKind, HostSettings, Repository};
use copydesk_forge::HostSecret;
use copydesk_testkit::hosts::{FakeHost, Holder, Rights};
use copydesk_testkit::model::{Break, Fault, FaultKind, KEY, ModelServer, OPENAI_MODEL, Reply, Script};
use copydesk_testkit::{GitEntry, GitRepo, ProjectClient, TestApp};
use serde_json::{Value, json};

use crate::stage::Stage;

behaviours! {
    a_source_is_read_and_never_written,
    a_job_about_a_range_is_given_it,
    a_range_that_is_not_there_fails_the_job_before_the_model_is_asked,
    what_is_wrong_with_a_range_is_said,
    a_source_is_read_at_the_recorded_commit_although_it_has_moved_on,
    a_source_that_cannot_be_fetched_does_not_end_the_job,
    a_source_on_a_code_host_is_read_with_the_right_credential,
    a_github_app_reads_what_is_beside_its_project,
    a_follow_up_is_about_the_same_range,
    the_engine_without_a_model_says_that_it_reads_no_code,
}

fn settings(server: &ModelServer) -> ModelSettings {
    ModelSettings {
        base_url: Some(format!("{}/v1", server.url())),
        keys: KeySource::one(SecretString::from(KEY)),
        pause: Duration::from_millis(5),
        ..ModelSettings::new(Provider::OpenAi, OPENAI_MODEL)
    }
}

async fn app(stage: &Stage, server: &ModelServer) -> Arc<TestApp> {
    let editor = Arc::new(ModelEditor::new(settings(server)).unwrap());
    stage.app_with(|setup| setup.editors(2, vec![editor])).await
}

fn site() -> GitRepo {
    GitRepo::new([("docs/index.md", "# Retries\n\nWe wait 30 seconds.\n")])
}

/// Two releases with a tag each, and a commit after them.
fn sdk() -> GitRepo {
    let repo = GitRepo::new([("src/retry.rs", "pub const SECONDS: u32 = 30;\n"), (".env", "KEY=planted-one\n")]);
    repo.git(&["tag", "v1.4", "main"]);
    put(&repo, "Wait longer between tries (#7)", "src/retry.rs", "pub const SECONDS: u32 = 60;\n");
    put(&repo, "Turn the key", ".env", "KEY=planted-two\n");
    repo.git(&["tag", "v1.5", "main"]);
    put(&repo, "Begin the next one", "src/next.rs", "// To come.\n");
    repo
}

fn put(repo: &GitRepo, message: &str, path: &str, text: &str) {
    repo.commit("main", message, [(path.to_owned(), GitEntry::File(text.into()))]);
}

fn of(repo: &GitRepo) -> Repository {
    Repository::parse(&repo.address(), repo.path()).unwrap()
}

async fn project_on(app: &TestApp, repo: &GitRepo, source: &str) -> ProjectClient {
    let project = app.project_with("Docs", |new| new.repository = of(repo)).await;
    app.add_source(&project.id, "sdk", source, None).await;
    project
}

fn read(path: &str) -> Reply {
    Reply::of_call("read_file", json!({ "path": path }))
}

fn edit() -> Reply {
    Reply::of_call("edit_file", json!({ "path": "docs/index.md", "old_text": "30", "new_text": "60" }))
}

fn finish() -> Reply {
    Reply::of_call("finish", json!({ "title": "Tell the new pause", "summary": "It is 60 seconds now." }))
}

fn changes(range: Value, script: &str) -> Value {
    json!({ "prompt": format!("Document what changed. [[script:{script}]]"), "changes": range })
}

async fn created(project: &ProjectClient, body: Value) -> String {
    project.try_create(body).await.expect(201)["id"].as_str().unwrap().to_owned()
}

/// All that the model was told in the last request.
fn told(server: &ModelServer, script: &str) -> String {
    server.conversation(script).iter().map(|item| format!("{item:?}\n")).collect::<String>().replace("\\n", "\n")
}

async fn events(project: &ProjectClient, id: &str) -> Value {
    let answer = project.client().get(&project.job_path(id, "/events")).header("accept", "application/json").send();
    answer.await.expect(200)["events"].clone()
}

async fn a_source_is_read_and_never_written(stage: &Stage) {
    let script = Script::new()
        .reply(read("@sdk/src/retry.rs"))
        .reply(Reply::of_call("search", json!({ "pattern": "SECONDS", "folder": "@sdk" })))
        .reply(Reply::of_call("history", json!({ "path": "@sdk/src/retry.rs" })))
        .reply(Reply::of_call("source_diff", json!({ "source": "sdk", "from": "v1.4", "to": "v1.5" })))
        .reply(Reply::of_call("write_file", json!({ "path": "@sdk/src/retry.rs", "text": "x" })))
        .reply(read("@sdk/.env"))
        .reply(edit())
        .reply(finish());
    let server = ModelServer::builder().script("reads", script).start().await;
    let (repo, source) = (site(), sdk());
    let before = source.git(&["for-each-ref"]);
    let project = project_on(&*app(stage, &server).await, &repo, &source.address()).await;
    let id = created(&project, json!({ "prompt": "How long do we wait? [[script:reads]]" })).await;
    let job = project.until(&id, "completed").await;
    assert_eq!((&job["outcome"], &job["changes"]), (&json!("pr_created"), &Value::Null));
    let told = told(&server, "reads");
    for part in [
        "<code-sources>",
        "@sdk/: file://",
        "1: pub const SECONDS: u32 = 60;",
        "@sdk/src/retry.rs:1: pub const SECONDS",
        "Wait longer between tries (#7)",
        "- #7 Wait longer between tries",
        "+pub const SECONDS: u32 = 60;",
        "can be read and never changed",
        "is not shown",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains("planted") && !told.contains("<changes"), "{told}");
    assert_eq!(source.git(&["for-each-ref"]), before, "nothing is written there");
    let told = events(&project, &id).await;
    let prepared = told.as_array().unwrap().iter().find(|event| event["type"] == "prepared").unwrap();
    let head = source.git(&["rev-parse", "main"]);
    assert_eq!(prepared["data"]["sources"], json!([{ "name": "sdk", "commit": head.trim() }]), "{prepared}");
}

async fn a_job_about_a_range_is_given_it(stage: &Stage) {
    let script = Script::new()
        .reply(
            Reply::of_call("source_diff", json!({ "source": "sdk", "path": "src/retry.rs" }))
                .call("source_diff", json!({ "source": "sdk", "path": "src" }))
                .call("source_diff", json!({ "source": "sdk", "path": "scr/retry.rs" }))
                .call("read_file", json!({ "path": "@sdk/src/next.rs" })),
        )
        .reply(edit())
        .reply(finish());
    let server = ModelServer::builder().script("range", script).start().await;
    let (repo, source) = (site(), sdk());
    let project = project_on(&*app(stage, &server).await, &repo, &source.address()).await;
    let range = json!({ "source": "sdk", "from": "v1.4", "to": "v1.5" });
    let id = created(&project, changes(range.clone(), "range")).await;
    let job = project.until(&id, "completed").await;
    assert_eq!((&job["outcome"], &job["changes"]), (&json!("pr_created"), &range));
    let told = told(&server, "range");
    for part in [
        "what changed in the code source @sdk from v1.4 (commit ",
        "2 commits.",
        "- #7 Wait longer between tries",
        "- Turn the key",
        "- src/retry.rs (changed, +1 -1)",
        "-pub const SECONDS: u32 = 30;\n+pub const SECONDS: u32 = 60;",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains("planted") && !told.contains("next.rs (new"), "{told}");
    assert_eq!(told.matches("diff --git a/src/retry.rs").count(), 3, "in the prompt, and twice when it was asked for");
    assert!(told.contains("1 commit."), "the commits of a folder: {told}");
    assert!(told.contains("scr/retry.rs") && told.contains("at either commit"), "{told}");
    assert!(told.contains(", v1.5, where the range ends, commit "), "{told}");
    assert!(
        told.contains("there is no file") && told.contains("@sdk/src/next.rs"),
        "what came later is not there: {told}"
    );
}

async fn a_range_that_is_not_there_fails_the_job_before_the_model_is_asked(stage: &Stage) {
    let server = ModelServer::builder().start().await;
    let (repo, source) = (site(), sdk());
    let project = project_on(&*app(stage, &server).await, &repo, &source.address()).await;
    for (from, to, missing) in [("v9", "v1.5", "v9"), ("v1.4", "v9", "v9"), ("v1.4", "0123456789abcdef", "0123456789")]
    {
        let range = json!({ "source": "sdk", "from": from, "to": to });
        let id = created(&project, changes(range, "none")).await;
        let job = project.until(&id, "failed").await;
        let message = job["message"].as_str().unwrap();
        assert_eq!(job["outcome"], "error");
        assert!(
            message.contains("code source sdk has no tag, commit or branch") && message.contains(missing),
            "{message}"
        );
    }
    for (from, to, said) in [
        ("v1.5", "v1.4", "In the code source sdk `v1.4` comes before `v1.5`: turn the range round."),
        ("v1.4", "v1.4", "Nothing changed in the code source sdk from `v1.4` to `v1.4`: they are the same commit."),
    ] {
        let id = created(&project, changes(json!({ "source": "sdk", "from": from, "to": to }), "none")).await;
        assert_eq!(project.until(&id, "failed").await["message"], said);
    }
    assert!(server.calls().is_empty());
    assert_eq!(repo.branches(), ["main"]);
}

async fn what_is_wrong_with_a_range_is_said(stage: &Stage) {
    let (repo, source) = (site(), sdk());
    let app = stage.app().await;
    let project = project_on(&app, &repo, &source.address()).await;
    let other = app.project("Other").await;
    let full = json!({ "source": "sdk", "from": "v1", "to": "v2" });
    let asked = |range: Value| json!({ "prompt": "Document what changed.", "model": "gate", "changes": range });
    other.try_create(asked(full.clone())).await.names(&["changes.source"]);
    let with = |field: &str, value: Value| {
        let mut range = full.clone();
        range[field] = value;
        asked(range)
    };
    project.try_create(with("source", json!("api"))).await.names(&["changes.source"]);
    project.try_create(with("source", json!("../sdk"))).await.names(&["changes.source"]);
    project.try_create(with("from", json!("--upload-pack=x"))).await.names(&["changes.from"]);
    project.try_create(with("to", json!("a..b"))).await.names(&["changes.to"]);
    project.try_create(with("until", json!("v3"))).await.names(&["changes.until"]);
    project.try_create(asked(json!({ "source": "sdk" }))).await.names(&["changes.from"]);
    project.try_create(asked(json!({ "from": "v1.4" }))).await.names(&["changes.source"]);
    project.try_create(asked(json!({ "source": "sdk", "from": 1 }))).await.names(&["changes.from"]);
    project.try_create(asked(json!("sdk:v1..v2"))).await.names(&["changes"]);
    project.try_create(asked(json!(["sdk", "v1.4", "v1.5"]))).await.names(&["changes"]);
    assert!(project.list("").await["jobs"].as_array().unwrap().is_empty());
    project.try_create(with("to", Value::Null)).await.expect(201);
}

/// The first machine is lost between the preparation and the first answer; by the time another takes the job over, the
/// source has another history.
async fn a_source_is_read_at_the_recorded_commit_although_it_has_moved_on(stage: &Stage) {
    let script = Script::new()
        .fault(Fault::once(FaultKind::Break(40, Break::Stall)))
        .reply(read("@sdk/src/retry.rs"))
        .reply(edit())
        .reply(finish());
    let server = ModelServer::builder().script("moves", script).start().await;
    let (repo, source) = (site(), sdk());
    let first = app(stage, &server).await;
    let project = project_on(&first, &repo, &source.address()).await;
    let id = created(&project, changes(json!({ "source": "sdk", "from": "v1.4" }), "moves")).await;
    server.called("moves", 1).await;
    let recorded = source.git(&["rev-parse", "main"]);
    first.stop().await;
    source.git(&["update-ref", "refs/heads/main", "v1.4"]);
    source.git(&["tag", "-d", "v1.4"]);
    put(&source, "Think better of it", "src/retry.rs", "pub const SECONDS: u32 = 999;\n");

    let second = app(stage, &server).await;
    let project = second.project_of(&project);
    let job = project.until(&id, "completed").await;
    assert_eq!(job["outcome"], "pr_created");
    let told = told(&server, "moves");
    assert!(told.contains("1: pub const SECONDS: u32 = 60;") && !told.contains("999"), "{told}");
    assert!(told.contains(&format!("commit {} of", &recorded[..10])), "{told}");
    assert!(told.contains("3 commits.") && told.contains("next.rs (new"), "up to where the source was: {told}");
}

async fn a_source_that_cannot_be_fetched_does_not_end_the_job(stage: &Stage) {
    let script = Script::new()
        .reply(read("@sdk/src/retry.rs"))
        .reply(Reply::of_call("source_diff", json!({ "source": "sdk", "from": "v1.4" })))
        .reply(Reply::of_call("history", json!({ "path": "@sdk" })))
        .reply(edit())
        .reply(finish());
    let server = ModelServer::builder().script("away", script).start().await;
    let repo = site();
    let nowhere = tempfile::tempdir().unwrap();
    let address = format!("file://{}/nothing", nowhere.path().display());
    let project = project_on(&*app(stage, &server).await, &repo, &address).await;
    let id = created(&project, json!({ "prompt": "How long do we wait? [[script:away]]" })).await;
    let job = project.until(&id, "completed").await;
    assert_eq!(job["outcome"], "pr_created");
    let told = told(&server, "away");
    assert!(told.contains("It cannot be read now: there is no git repository at the address"), "{told}");
    assert_eq!(told.matches("code source @sdk cannot be read: there is no git repository").count(), 3, "{told}");
    let events = events(&project, &id).await;
    let unread = events.as_array().unwrap().iter().find(|event| event["type"] == "source_unread").unwrap();
    assert_eq!(unread["data"]["source"], "sdk");
    assert!(unread["data"]["reason"].as_str().unwrap().contains("no git repository"), "{unread}");

    let id = created(&project, changes(json!({ "source": "sdk", "from": "v1.4" }), "away")).await;
    let job = project.until(&id, "failed").await;
    let message = job["message"].as_str().unwrap();
    assert!(message.contains("code source sdk could not be read: there is no git repository"), "{message}");
}

async fn a_source_on_a_code_host_is_read_with_the_right_credential(stage: &Stage) {
    let script = || {
        Script::new().reply(read("@sdk/src/retry.rs")).reply(read("@other/src/retry.rs")).reply(edit()).reply(finish())
    };
    let server = ModelServer::builder().script("hosted", script()).script("closed", script()).start().await;
    let (host, other) = (FakeHost::start(HostKind::Forgejo).await, FakeHost::start(HostKind::Gitlab).await);
    host.add("acme/docs", site());
    host.add("acme/sdk", sdk());
    other.add("acme/sdk", sdk());
    host.make_private("acme/sdk");
    other.make_private("acme/sdk");
    let token = |host: &FakeHost| {
        let holder = Holder::User { login: "writer".to_owned(), email: "writer@acme.example".to_owned() };
        HostSecret::Token { username: None, token: host.token_of(holder, Rights::ALL).into() }
    };
    let app = app(stage, &server).await;
    let settings =
        HostSettings { kind: Some(HostKind::Forgejo), api_url: Some(host.api_url()), ..HostSettings::default() };
    let repository = Repository::parse(&host.address("acme/docs"), Path::new("/")).unwrap();
    let project = app.project_with("Docs", |new| (new.repository, new.host) = (repository, settings)).await;
    app.set_secret(&project.id, &token(&host)).await;
    // On the same host the project's credential is shown; elsewhere its own, and none is shown to a stranger.
    app.add_source(&project.id, "sdk", &host.address("acme/sdk"), None).await;
    app.add_source(&project.id, "other", &other.address("acme/sdk"), Some(&token(&other))).await;
    let id = created(&project, changes(json!({ "source": "other", "from": "v1.4", "to": "v1.5" }), "hosted")).await;
    assert_eq!(project.until(&id, "completed").await["outcome"], "pr_created");
    let seen = told(&server, "hosted");
    assert_eq!(seen.matches("1: pub const SECONDS: u32 = 60;").count(), 2, "{seen}");
    assert!(seen.contains("2 commits.") && !seen.contains(KEY), "{seen}");

    app.store().remove_source(&project.id, "other").await.unwrap();
    app.add_source(&project.id, "other", &other.address("acme/sdk"), None).await;
    let id = created(&project, json!({ "prompt": "And now? [[script:closed]]" })).await;
    project.until(&id, "completed").await;
    let seen = told(&server, "closed");
    assert!(seen.contains("code source @other cannot be read") && seen.contains("SECONDS: u32 = 60;"), "{seen}");
}

/// The source says nothing of its host: what the project knows of it holds.
async fn a_github_app_reads_what_is_beside_its_project(stage: &Stage) {
    let script = Script::new().reply(read("@sdk/src/retry.rs")).reply(edit()).reply(finish());
    let server = ModelServer::builder().script("app", script).start().await;
    let host = FakeHost::start(HostKind::Github).await;
    host.add("acme/docs", site());
    host.add("acme/sdk", sdk());
    host.make_private("acme/docs");
    host.make_private("acme/sdk");
    let fake = host.app(&["acme/docs", "acme/sdk"], Rights::ALL);
    let secret = HostSecret::GithubApp {
        app_id: fake.client_id.clone(),
        installation_id: None,
        private_key: fake.private_key.clone().into(),
    };
    let app = app(stage, &server).await;
    let settings =
        HostSettings { kind: Some(HostKind::Github), api_url: Some(host.api_url()), ..HostSettings::default() };
    let repository = Repository::parse(&host.address("acme/docs"), Path::new("/")).unwrap();
    let project = app.project_with("Docs", |new| (new.repository, new.host) = (repository, settings)).await;
    app.set_secret(&project.id, &secret).await;
    app.add_source(&project.id, "sdk", &host.address("acme/sdk"), None).await;
    let id = created(&project, json!({ "prompt": "How long do we wait? [[script:app]]" })).await;
    assert_eq!(project.until(&id, "completed").await["outcome"], "pr_created");
    let seen = told(&server, "app");
    assert!(seen.contains("1: pub const SECONDS: u32 = 60;"), "{seen}");
}

async fn the_engine_without_a_model_says_that_it_reads_no_code(stage: &Stage) {
    let (repo, source) = (site(), sdk());
    let editor = Arc::new(copydesk_agent::BuiltinEditor::new());
    let app = stage.app_with(|setup| setup.editors(1, vec![editor])).await;
    let project = project_on(&app, &repo, &source.address()).await;
    let body = json!({ "prompt": "Fix the typos", "changes": { "source": "sdk", "from": "v1.4" } });
    let refused = project.try_create(body).await.names(&["changes"]);
    let why = refused.json()["details"][0]["message"].as_str().unwrap();
    assert!(why.contains("cannot be read by `builtin`") && why.contains("choose a model: gate"), "{why}");
    let id = created(&project, json!({ "prompt": "Replace \"30\" with \"60\" in docs/" })).await;
    assert_eq!(project.until(&id, "completed").await["outcome"], "pr_created", "a project with sources has its chores");
}

async fn a_follow_up_is_about_the_same_range(stage: &Stage) {
    let script = Script::new()
        .reply(edit())
        .reply(finish())
        .reply(Reply::of_call("finish", json!({ "summary": "There is nothing more to do." })));
    let server = ModelServer::builder().script("again", script).start().await;
    let (repo, source) = (site(), sdk());
    let app = app(stage, &server).await;
    let project = project_on(&app, &repo, &source.address()).await;
    let id = created(&project, changes(json!({ "source": "sdk", "from": "v1.4" }), "again")).await;
    project.until(&id, "completed").await;
    put(&source, "A later commit", "src/later.rs", "// Later.\n");
    project.message(&id, "Is that all?").await.expect(200);
    assert_eq!(project.until(&id, "completed").await["status"], "completed");
    assert!(server.take_violations().is_empty(), "the same is said again, word for word");
    let seen = told(&server, "again");
    assert!(seen.contains("3 commits.") && !seen.contains("- A later commit"), "{seen}");
    assert!(seen.contains("Is that all?"), "{seen}");
}
