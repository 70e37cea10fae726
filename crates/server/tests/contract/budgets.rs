//! What a prompt may cost: as the server, the project and the job have it, of which the smallest holds.

use std::sync::Arc;
use std::time::Duration;

use copydesk_agent::{KeySource, ModelEditor, ModelSettings, Provider, SecretString};
use copydesk_domain::{Dollars, Repository, Scope};
use copydesk_testkit::model::{KEY, ModelServer, OPENAI_MODEL, Reply, Script, Tokens};
use copydesk_testkit::{Client, GitRepo, ProjectClient, TestApp};
use reqwest::Method;
use serde_json::{Value, json};

use crate::stage::Stage;

behaviours! {
    a_budget_needs_a_price,
    a_budget_of_a_follow_up_is_its_own,
    a_budget_without_a_price_does_not_hold_and_says_so,
    a_worker_without_prices_asks_no_model_for_a_job_with_a_budget,
    the_smallest_budget_ends_a_job_and_is_named,
    what_is_no_budget_is_refused,
}

/// Each answer costs 0.10 US dollars.
const PRICE: (Option<f64>, Option<f64>) = (Some(10.0), Some(10.0));
const UNKNOWN: (Option<f64>, Option<f64>) = (None, Some(10.0));

/// Reads again and again, and finishes with the sixth answer.
fn script() -> Script {
    let tokens = Tokens { input: 9_000, cached: 0, cache_write: 0, output: 1_000 };
    let read = |script: Script, line: u32| {
        let call = json!({ "path": "docs/index.md", "from_line": line });
        script.reply(Reply::of_call("read_file", call).usage(tokens))
    };
    let finish = json!({ "summary": "Nothing has to be changed." });
    (1..=5).fold(Script::new(), read).reply(Reply::of_call("finish", finish).usage(tokens))
}

struct Desk {
    app: Arc<TestApp>,
    model: ModelServer,
    _repo: GitRepo,
    project: ProjectClient,
}

/// `known` is what the server takes for the prices, `real` those of the worker.
async fn desk(
    stage: &Stage,
    server: Option<f64>,
    project: Option<f64>,
    known: bool,
    real: (Option<f64>, Option<f64>),
) -> Desk {
    let model = ModelServer::builder().script("reads", script()).start().await;
    let server = server.map(Dollars::rounded);
    let settings = ModelSettings {
        base_url: Some(format!("{}/v1", model.url())),
        keys: KeySource::one(SecretString::from(KEY)),
        pause: Duration::from_millis(5),
        cost: server,
        input_price: real.0,
        output_price: real.1,
        ..ModelSettings::new(Provider::OpenAi, OPENAI_MODEL)
    };
    let editor = Arc::new(ModelEditor::new(settings).unwrap());
    let app = stage.app_with(|setup| {
        setup.editors(1, vec![editor]).rules(|rules| {
            rules.job_cost = server;
            rules.priced_models.extend(known.then(|| OPENAI_MODEL.to_owned()));
        })
    });
    let app = app.await;
    let repo = GitRepo::new([("docs/index.md", "# Welcome\n\nThe old word.\n")]);
    let of = Repository::parse(&repo.address(), repo.path()).unwrap();
    let project = app.project_with("Docs", |new| {
        new.repository = of;
        new.job_cost = project.map(Dollars::rounded);
    });
    let project = project.await;
    Desk { app, model, _repo: repo, project }
}

fn prompt(max_cost: Option<f64>) -> Value {
    json!({ "prompt": "Look at it. [[script:reads]]", "maxCost": max_cost })
}

async fn administrator(app: &TestApp) -> Client {
    app.client().with_key(&app.key(None, Scope::Admin, None).await.secret)
}

async fn the_smallest_budget_ends_a_job_and_is_named(stage: &Stage) {
    for (server, project, job, answers, said) in [
        (None, None, None, 6, "Nothing has to be changed."),
        (Some(0.25), None, None, 3, "0.25 are allowed on this server (`limits.job_cost`)."),
        (Some(0.25), Some(9.0), Some(9.0), 3, "0.25 are allowed on this server (`limits.job_cost`)."),
        (Some(0.45), Some(0.15), None, 2, "0.15 are allowed by the settings of the project."),
        (Some(0.45), Some(0.15), Some(0.05), 1, "0.05 are allowed by the job's own `maxCost`."),
        (None, None, Some(0.35), 4, "0.35 are allowed by the job's own `maxCost`."),
        (Some(5.0), Some(5.0), Some(5.0), 6, "Nothing has to be changed."),
    ] {
        let desk = desk(stage, server, project, true, PRICE).await;
        let made = desk.project.try_create(prompt(job)).await.expect(201);
        assert_eq!(made["maxCost"].as_f64(), job);
        let status = if answers == 6 { "completed" } else { "failed" };
        let ended = desk.project.until(made["id"].as_str().unwrap(), status).await;
        assert!(ended["message"].as_str().unwrap().ends_with(said), "{}: {said}", ended["message"]);
        assert_eq!(desk.model.calls_of("reads").len(), answers, "{said}");
        assert_eq!(ended["outcome"], if answers == 6 { "no_changes" } else { "error" });
        assert_eq!(ended["maxCost"].as_f64(), job);
        desk.app.stop().await;
    }
}

/// As that of the server: what an earlier prompt has cost does not count.
async fn a_budget_of_a_follow_up_is_its_own(stage: &Stage) {
    let desk = desk(stage, None, None, true, PRICE).await;
    let made = desk.project.try_create(prompt(Some(0.15))).await.expect(201);
    let id = made["id"].as_str().unwrap();
    desk.project.until(id, "failed").await;
    desk.project.message(id, "Once more. [[script:reads]]").await.expect(200);
    let ended = desk.project.until(id, "failed").await;
    assert_eq!(desk.model.calls_of("reads").len(), 4, "two answers each: {}", ended.text());
    assert_eq!(ended["maxCost"], 0.15);
}

async fn a_budget_needs_a_price(stage: &Stage) {
    let desk = desk(stage, None, None, false, UNKNOWN).await;
    let refused = desk.project.try_create(prompt(Some(0.5))).await.names(&["maxCost"]);
    let why = refused["details"][0]["message"].as_str().unwrap();
    assert!(why.contains(&format!("the price of {OPENAI_MODEL}")) && why.contains("`model.input_price`"), "{why}");
    // An engine that costs nothing keeps within any budget.
    let free = desk.project.try_create(json!({ "prompt": "x", "model": "builtin", "maxCost": 0.5 })).await.expect(201);
    assert_eq!(free["maxCost"], 0.5);
}

async fn what_is_no_budget_is_refused(stage: &Stage) {
    let project = stage.project().await;
    for wrong in [json!(0), json!(-0.01), json!(1_000_001), json!("1"), json!(true), json!([1])] {
        project.try_create(json!({ "prompt": "x", "maxCost": wrong })).await.names(&["maxCost"]);
    }
    for (given, kept) in [(json!(1), 1.0), (json!(0.000_000_1), 0.000_001), (json!(1_000_000), 1_000_000.0)] {
        let made = project.try_create(json!({ "prompt": "x", "maxCost": given })).await.expect(201);
        assert_eq!(made["maxCost"].as_f64(), Some(kept));
        let id = made["id"].as_str().unwrap();
        assert_eq!(project.get(id).await.expect(200)["maxCost"].as_f64(), Some(kept));
    }
    assert_eq!(project.try_create(json!({ "prompt": "x", "maxCost": null })).await.expect(201)["maxCost"], json!(null));
}

/// The server may know prices that a worker elsewhere does not: what was promised is then not begun.
async fn a_worker_without_prices_asks_no_model_for_a_job_with_a_budget(stage: &Stage) {
    let desk = desk(stage, None, None, true, UNKNOWN).await;
    let made = desk.project.try_create(prompt(Some(0.5))).await.expect(201);
    let ended = desk.project.until(made["id"].as_str().unwrap(), "failed").await;
    assert!(ended["message"].as_str().unwrap().contains("does not know the price"), "{}", ended["message"]);
    assert_eq!(desk.model.calls_of("reads").len(), 0);
}

async fn a_budget_without_a_price_does_not_hold_and_says_so(stage: &Stage) {
    for (known, real) in [(false, UNKNOWN), (true, PRICE)] {
        let desk = desk(stage, None, None, known, real).await;
        let admin = administrator(&desk.app).await;
        let path = format!("/v1/admin/projects/{}", desk.project.id);
        let patch = async |body: Value| admin.request(Method::PATCH, &path).json(&body).send().await;
        for wrong in [json!(0), json!(-1), json!(1_000_001), json!("much")] {
            patch(json!({ "jobCost": wrong })).await.names(&["jobCost"]);
        }
        assert!(patch(json!({})).await.expect(200)["notInForce"].is_null());
        let changed = patch(json!({ "jobCost": 0.05 })).await.expect(200);
        let shown = admin.get(&path).send().await.expect(200);
        let tried = admin.post(&format!("{path}/test")).send().await.expect(200);
        let trial = tried["trials"].as_array().unwrap().iter().find(|trial| trial["trial"] == "job_cost").unwrap();
        assert_eq!(
            (&changed["jobCost"], &shown["jobCost"], &tried["works"]),
            (&json!(0.05), &json!(0.05), &json!(true))
        );
        if known {
            assert!(changed["notInForce"].is_null() && shown["notInForce"].is_null() && trial["result"] == "yes");
        } else {
            let why = shown["notInForce"][0].as_str().unwrap();
            assert!(why.contains("0.05 US dollars") && why.contains(OPENAI_MODEL), "{why}");
            assert_eq!((&changed["notInForce"], &trial["why"]), (&json!([why]), &json!(why)));
            assert_eq!(trial["result"], "unknown");
        }
        let made = desk.project.try_create(prompt(None)).await.expect(201);
        let id = made["id"].as_str().unwrap();
        desk.project.until(id, if known { "failed" } else { "completed" }).await;
        // Back to what the server allows.
        assert_eq!(patch(json!({ "jobCost": null })).await.expect(200)["jobCost"], json!(null));
        desk.app.stop().await;
    }
}
