//! Jobs that a model runs, where the scenarios cannot look: cancelling, secrets, other projects.

use std::sync::Arc;
use std::time::Duration;

use copydesk_agent::{KeySource, ModelEditor, ModelSettings, Provider, SecretString};
use copydesk_domain::Repository;
use copydesk_testkit::model::{
    ANTHROPIC_MODEL, Break, Fault, FaultKind, KEY, ModelServer, OPENAI_MODEL, OPENAI_REASONING_MODEL, Reply, Script,
    Tokens,
};
use copydesk_testkit::{GitRepo, ProjectClient, TestApp};
use serde_json::{Value, json};

use crate::stage::Stage;

behaviours! {
    a_job_is_cancelled_in_the_middle_of_an_answer,
    a_message_reaches_the_model_while_it_works,
    a_model_that_thinks_is_asked_as_it_wants_to_be,
    a_project_without_a_key_is_told_so,
    the_model_of_a_job_can_be_chosen,
    what_is_cached_counts_as_read_and_costs_less,
}

/// On one thread, so that everything it logs is heard.
mod quiet {
    use super::secrets_show_nowhere;

    behaviours! { 1; secrets_show_nowhere }
}

fn settings(server: &ModelServer) -> ModelSettings {
    ModelSettings {
        base_url: Some(format!("{}/v1", server.url())),
        keys: KeySource::one(SecretString::from(KEY)),
        pause: Duration::from_millis(5),
        ..ModelSettings::new(Provider::OpenAi, OPENAI_MODEL)
    }
}

async fn app(stage: &Stage, settings: ModelSettings) -> Arc<TestApp> {
    let editor = Arc::new(ModelEditor::new(settings).unwrap());
    stage.app_with(|setup| setup.editors(2, vec![editor])).await
}

fn site() -> GitRepo {
    GitRepo::new([("docs/index.md", "# Welcome\n\nThe old word.\n")])
}

fn of(repo: &GitRepo) -> Repository {
    Repository::parse(&repo.address(), repo.path()).unwrap()
}

fn edit() -> Value {
    json!({ "path": "docs/index.md", "old_text": "old", "new_text": "new" })
}

fn finish() -> Value {
    json!({ "title": "Use the new word", "summary": "I replaced it." })
}

async fn a_job_is_cancelled_in_the_middle_of_an_answer(stage: &Stage) {
    let stall = Fault::once(FaultKind::Break(40, Break::Stall));
    let script = Script::new().reply(Reply::of_call("edit_file", edit())).fault(stall).reply(Reply::text("Done."));
    let server = ModelServer::builder().script("stall", script).start().await;
    let repo = site();
    let project = app(stage, settings(&server)).await.project_with("Docs", |new| new.repository = of(&repo)).await;
    let id = project.create("Use the new word. [[script:stall]]").await["id"].as_str().unwrap().to_owned();
    server.called("stall", 2).await;
    project.cancel(&id).await.expect(200);
    let job = project.until(&id, "failed").await;
    assert_eq!((&job["outcome"], &job["prLink"]), (&json!("cancelled"), &Value::Null));
    server.left("stall").await;
    assert_eq!(repo.branches(), ["main"]);
    assert_eq!(job["usage"]["modelCalls"], 1, "what was paid for is counted");
}

async fn a_message_reaches_the_model_while_it_works(stage: &Stage) {
    let script = Script::new()
        .reply(Reply::of_call("edit_file", edit()).after(Duration::from_millis(300)))
        .reply(Reply::of_call("finish", finish()));
    let server = ModelServer::builder().script("slow", script).start().await;
    let repo = site();
    let project = app(stage, settings(&server)).await.project_with("Docs", |new| new.repository = of(&repo)).await;
    let id = project.create("Use the new word. [[script:slow]]").await["id"].as_str().unwrap().to_owned();
    server.called("slow", 1).await;
    project.message(&id, "And be quick about it.").await.expect(200);
    let job = project.until(&id, "completed").await;
    assert_eq!(job["outcome"], "pr_created");
    let told = format!("{:?}", server.conversation("slow"));
    assert!(told.contains("And be quick about it."), "{told}");
    assert_eq!(server.calls_of("slow").len(), 2, "in the same conversation, without another round");
}

/// Edits and finishes; what was said before is cached from the second answer on.
fn cached_script() -> Script {
    let tokens = |input, cached, cache_write| Tokens { input, cached, cache_write, output: 100 };
    Script::new()
        .reply(Reply::of_call("edit_file", edit()).usage(tokens(1_000, 0, 4_000)))
        .reply(Reply::of_call("finish", finish()).thinking("That is all.").usage(tokens(1_000, 4_000, 0)))
}

async fn what_is_cached_counts_as_read_and_costs_less(stage: &Stage) {
    for (provider, name, cost) in [
        // 2,000 tokens at the full price, 4,000 written and 4,000 read; 200 written by the model.
        (Provider::Anthropic, ANTHROPIC_MODEL, 2_000.0 * 10.0 + 4_000.0 * 12.5 + 4_000.0 * 1.0 + 200.0 * 50.0),
        // This one does not tell what it writes into its cache.
        (Provider::OpenAi, OPENAI_MODEL, 6_000.0 * 10.0 + 4_000.0 * 5.0 + 200.0 * 50.0),
    ] {
        let server = ModelServer::builder().script("cached", cached_script()).start().await;
        let settings = ModelSettings {
            input_price: Some(10.0),
            output_price: Some(50.0),
            ..ModelSettings { provider, name: name.to_owned(), ..settings(&server) }
        };
        let repo = site();
        let app = app(stage, settings).await;
        let project = app.project_with("Docs", |new| new.repository = of(&repo)).await;
        let id = project.create("Use the new word. [[script:cached]]").await["id"].as_str().unwrap().to_owned();
        let usage = project.until(&id, "completed").await["usage"].clone();
        assert_eq!((&usage["inputTokens"], &usage["outputTokens"]), (&json!(10_000), &json!(200)), "{usage}");
        assert!((usage["costUsd"].as_f64().unwrap() - cost / 1_000_000.0).abs() < 1e-9, "{usage} {cost}");
        app.stop().await;
    }
}

async fn a_model_that_thinks_is_asked_as_it_wants_to_be(stage: &Stage) {
    for (name, complaints) in [(OPENAI_REASONING_MODEL, 0), ("house-thinks", 1)] {
        let server = ModelServer::builder().model(name).script("thinks", cached_script()).start().await;
        let settings = ModelSettings { name: name.to_owned(), ..settings(&server) };
        let repo = site();
        let app = app(stage, settings).await;
        let project = app.project_with("Docs", |new| new.repository = of(&repo)).await;
        let id = project.create("Use the new word. [[script:thinks]]").await["id"].as_str().unwrap().to_owned();
        assert_eq!(project.until(&id, "completed").await["outcome"], "pr_created");
        // One that nobody can tell by its name is asked wrongly once.
        let violations = server.take_violations();
        assert_eq!(violations.len(), complaints, "{violations:?}");
        assert!(violations.iter().all(|it| it.message.contains("max_completion_tokens")), "{violations:?}");
        app.stop().await;
    }
}

/// Looks through everything that a client, an operator or another user of the machine can see.
async fn secrets_show_nowhere(stage: &Stage) {
    let log = crate::log::Log::listen();
    let script = Script::new()
        .reply(Reply::of_call("read_file", json!({ "path": "docs/index.md" })))
        .reply(Reply::of_call("edit_file", edit()))
        .reply(Reply::of_call("finish", finish()));
    let server = ModelServer::builder().script("good", script).start().await;
    let (repo, other) = (site(), GitRepo::new([("docs/index.md", "# Planted: the other project's secret\n")]));
    // In the middle of a push: what every user of the machine can see, and what git's children are given.
    let processes = repo.path().join("processes");
    let look = format!("#!/bin/sh\ncat /proc/[0-9]*/cmdline > '{0}' 2>/dev/null\nenv >> '{0}'\n", processes.display());
    repo.hook("pre-receive", &look);
    let app = app(stage, settings(&server)).await;
    let project = app.project_with("Docs", |new| new.repository = of(&repo)).await;
    app.project_with("Other", |new| new.repository = of(&other)).await;
    let id = project.create("Use the new word. [[script:good]]").await["id"].as_str().unwrap().to_owned();
    let job = project.until(&id, "completed").await;
    let mut seen = vec![job.text()];
    seen.extend(read_all(&project, &id).await);
    let path = job["prLink"].as_str().unwrap().strip_prefix(project.client().base()).unwrap().to_owned();
    seen.push(project.client().without_key().get(&path).send().await.expect(200).text());
    // Otherwise it could take the next job as well.
    app.stop().await;

    // The scripted server repeats a wrong key in its error, as some do.
    let wrong = ModelSettings { keys: KeySource::one(SecretString::from("sk-planted-wrong-key")), ..settings(&server) };
    let second = self::app(stage, wrong).await;
    let other_project = second.project_with("Wrong", |new| new.repository = of(&repo)).await;
    let failed_id = other_project.create("Use the new word. [[script:good]]").await["id"].as_str().unwrap().to_owned();
    let failed = other_project.until(&failed_id, "failed").await;
    assert!(failed["message"].as_str().unwrap().contains("key"), "{}", failed["message"]);
    seen.push(failed.text());
    seen.extend(read_all(&other_project, &failed_id).await);
    seen.push(repo.message(job["branch"].as_str().unwrap()));
    seen.push(log.text());
    let processes = String::from_utf8_lossy(&std::fs::read(&processes).unwrap()).into_owned();
    assert!(processes.contains("--force-with-lease"), "the push was looked at: {processes}");
    seen.push(processes);
    seen.push(repo.git(&["config", "--list"]));
    for planted in [KEY, "sk-planted-wrong-key", "the other project's secret", project.key.secret.as_str()] {
        let found = seen.iter().find(|text| text.contains(planted));
        assert!(found.is_none(), "{planted} shows in {}", found.unwrap());
    }
    assert!(seen.iter().any(|text| text.contains("job ended")), "the log was heard");
}

async fn read_all(project: &ProjectClient, id: &str) -> Vec<String> {
    let mut seen = Vec::new();
    for rest in ["/events", "/diff"] {
        let answer = project.client().get(&project.job_path(id, rest)).header("accept", "application/json");
        seen.push(answer.send().await.expect(200).text());
    }
    seen
}

async fn a_project_without_a_key_is_told_so(stage: &Stage) {
    let server = ModelServer::builder().start().await;
    let only = KeySource::by_project(|project| (project.as_str() == "rich").then(|| SecretString::from(KEY)));
    let settings = ModelSettings { keys: only, base_url: None, ..settings(&server) };
    let repo = site();
    let project = app(stage, settings).await.project_with("Poor", |new| new.repository = of(&repo)).await;
    let id = project.create("Use the new word.").await["id"].as_str().unwrap().to_owned();
    let job = project.until(&id, "failed").await;
    assert!(job["message"].as_str().unwrap().contains("API key"), "{}", job["message"]);
    assert_eq!(server.calls().len(), 0);
}

async fn the_model_of_a_job_can_be_chosen(stage: &Stage) {
    let script = Script::new().reply(Reply::of_call("edit_file", edit())).reply(Reply::of_call("finish", finish()));
    let server = ModelServer::builder().script("good", script).start().await;
    let repo = site();
    let editors: Vec<Arc<dyn copydesk_agent::Editor>> =
        vec![Arc::new(ModelEditor::new(settings(&server)).unwrap()), Arc::new(copydesk_agent::BuiltinEditor::new())];
    let app = stage.app_with(|setup| setup.editors(2, editors)).await;
    let project = app.project_with("Docs", |new| new.repository = of(&repo)).await;
    let id = project.create("Use the new word. [[script:good]]").await["id"].as_str().unwrap().to_owned();
    assert_eq!(project.until(&id, "completed").await["model"], OPENAI_MODEL);
    let body = json!({ "prompt": "Replace \"old\" with \"new\"", "model": "builtin" });
    let id = project.try_create(body).await.expect(201)["id"].as_str().unwrap().to_owned();
    let job = project.until(&id, "completed").await;
    assert_eq!((&job["model"], &job["outcome"]), (&json!("builtin"), &json!("pr_created")));
    assert_eq!(job["usage"]["modelCalls"], 0);
    let body = json!({ "prompt": "Write a poem about the sea", "model": "builtin" });
    let id = project.try_create(body).await.expect(201)["id"].as_str().unwrap().to_owned();
    let job = project.until(&id, "failed").await;
    assert!(job["message"].as_str().unwrap().contains("copydesk.toml"), "{}", job["message"]);
    project.try_create(json!({ "prompt": "x", "model": "gpt-elsewhere" })).await.names(&["model"]);
}
