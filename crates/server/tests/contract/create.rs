//! `POST /v2/agent/{projectId}/job`: what is answered, and what is taken.

use std::path::Path;
use std::time::Duration;

use copydesk_domain::Repository;
use copydesk_testkit::ProjectClient;
use serde_json::{Value, json};

use crate::stage::Stage;

async fn answers_201_with_the_address_of_the_job(stage: &Stage) {
    let project = stage.project().await;
    let created = project.create("Fix the broken links.").await;
    let id = created["id"].as_str().unwrap();
    assert_eq!(created.header("location"), Some(project.job_path(id, "").as_str()));
    let fetched = project.client().get(created.header("location").unwrap()).send().await.expect(200);
    assert_eq!(fetched.json(), created.json());
}

/// Every field there is, so that none is lost, re-typed or added without a word here.
async fn sends_every_field_with_the_right_nulls(stage: &Stage) {
    let project = stage.project().await;
    let created = project.create("Fix the broken links.").await;
    let expected = json!({
        "id": created["id"],
        "status": "active",
        "source": { "repository": "https://example.com/acme/docs", "ref": null },
        "model": "builtin",
        "prLink": null,
        "pullRequest": null,
        "createdAt": "2026-03-15T12:00:00.000Z",
        "archivedAt": null,
        "outcome": null,
        "message": null,
        "updatedAt": "2026-03-15T12:00:00.000Z",
        "title": null,
        "usage": { "inputTokens": 0, "cachedInputTokens": 0, "outputTokens": 0, "modelCalls": 0, "costUsd": null },
        "checks": [],
        "baseRef": "main",
        "branch": null,
        "clientReference": null,
        "maxCost": null,
        "changes": null,
    });
    assert_eq!(created.json(), &expected);
}

async fn ids_are_uuids_of_version_7_and_differ(stage: &Stage) {
    let project = stage.project().await;
    let (one, other) = (project.job().await, project.job().await);
    assert_ne!(one, other);
    for id in [one, other] {
        let parts: Vec<_> = id.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12], "{id}");
        assert!(id.chars().all(|c| c == '-' || c.is_ascii_digit() || ('a'..='f').contains(&c)), "{id}");
        assert_eq!(id.as_bytes()[14], b'7', "{id}");
    }
}

async fn times_have_milliseconds_even_when_they_are_zero(stage: &Stage) {
    let project = stage.project().await;
    assert_eq!(project.create("x").await["createdAt"], "2026-03-15T12:00:00.000Z");
    stage.advance(Duration::from_millis(1));
    assert_eq!(project.create("x").await["createdAt"], "2026-03-15T12:00:00.001Z");
    stage.advance(Duration::from_millis(999));
    assert_eq!(project.create("x").await["createdAt"], "2026-03-15T12:00:01.000Z");
}

async fn repository_is_shown_without_credentials_and_suffix(stage: &Stage) {
    let app = stage.app().await;
    for (given, shown) in [
        ("https://github.com/acme/docs.git", "https://github.com/acme/docs"),
        ("https://me:secret@github.com/acme/docs.git", "https://github.com/acme/docs"),
        ("https://token@github.com/acme/docs", "https://github.com/acme/docs"),
        ("git@github.com:acme/docs.git", "ssh://git@github.com/acme/docs"),
        ("/srv/git/docs.git", "file:///srv/git/docs"),
        ("file:///srv/git/docs", "file:///srv/git/docs"),
    ] {
        let repository = Repository::parse(given, Path::new("/")).unwrap();
        let project = app.project_with("Docs", |new| new.repository = repository).await;
        assert_eq!(project.create("x").await["source"]["repository"], shown, "{given}");
    }
}

async fn optional_fields_are_taken_and_shown(stage: &Stage) {
    let project = stage.project().await;
    let body = json!({
        "prompt": "Fix the broken links.",
        "baseRef": "release/2.0",
        "model": "noop",
        "clientReference": "ticket 7 – „Verweise“",
    });
    let created = project.try_create(body).await.expect(201);
    assert_eq!(created["baseRef"], "release/2.0");
    assert_eq!(created["model"], "noop");
    assert_eq!(created["clientReference"], "ticket 7 – „Verweise“");
    let fetched = project.get(created["id"].as_str().unwrap()).await.expect(200);
    assert_eq!(fetched.json(), created.json());
}

/// Not shown in a job, so seen where the worker will find them.
async fn draft_and_open_pull_request_reach_the_worker(stage: &Stage) {
    let app = stage.app().await;
    let project = app.project("Docs").await;
    let of = async |fields: Value| {
        let mut body = json!({ "prompt": "x" });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let created = project.try_create(body).await.expect(201);
        let id = created["id"].as_str().unwrap().into();
        let job = app.store().job(&project.id, &id).await.unwrap().unwrap();
        (job.draft, job.open_pull_request)
    };
    assert_eq!(of(json!({})).await, (false, true), "the defaults");
    assert_eq!(of(json!({ "draft": true })).await, (true, true));
    assert_eq!(of(json!({ "openPullRequest": false })).await, (false, false));
    assert_eq!(of(json!({ "draft": false, "openPullRequest": true })).await, (false, true));
}

async fn null_is_the_same_as_leaving_a_field_out(stage: &Stage) {
    let project = stage.project().await;
    let mut body = json!({ "prompt": "x", "baseRef": null, "model": null, "clientReference": null });
    body["draft"] = Value::Null;
    body["openPullRequest"] = Value::Null;
    let created = project.try_create(body).await.expect(201);
    assert_eq!((&created["baseRef"], &created["model"]), (&json!("main"), &json!("builtin")));
    assert_eq!(created["clientReference"], Value::Null);
}

async fn a_model_that_is_not_run_here_is_refused(stage: &Stage) {
    let project = stage.project().await;
    for model in ["claude-unheard-of", "", "Builtin", "builtin\0"] {
        let refused = project.try_create(json!({ "prompt": "x", "model": model })).await.names(&["model"]);
        assert!(refused["error"].as_str().unwrap().contains("builtin, noop, gate"), "says which there are");
    }
}

async fn a_base_ref_that_git_would_not_take_is_refused(stage: &Stage) {
    let project = stage.project().await;
    for bad in ["", "-x", "a..b", "a b", "a~1", "x.lock", "/a", "a/", "a//b", "@", "a\u{0}b", "a\nb", "x@{1}", "a\\b"] {
        project.try_create(json!({ "prompt": "x", "baseRef": bad })).await.names(&["baseRef"]);
    }
    project.try_create(json!({ "prompt": "x", "baseRef": "a".repeat(256) })).await.names(&["baseRef"]);
    project.try_create(json!({ "prompt": "x", "baseRef": "a".repeat(255) })).await.expect(201);
}

async fn a_client_reference_has_1_to_255_characters(stage: &Stage) {
    let project = stage.project().await;
    let of = async |text: &str| project.try_create(json!({ "prompt": "x", "clientReference": text })).await;
    of("a").await.expect(201);
    assert_eq!(of(&"ä".repeat(255)).await.expect(201)["clientReference"], "ä".repeat(255));
    for bad in ["", &"a".repeat(256), "a\nb", "a\u{0}", "\u{85}"] {
        of(bad).await.names(&["clientReference"]);
    }
}

async fn every_mistake_is_named_at_once(stage: &Stage) {
    let project = stage.project().await;
    let body = json!({ "prompt": " ", "baseRef": "a b", "model": "none", "clientReference": "" });
    project.try_create(body).await.names(&["prompt", "baseRef", "model", "clientReference"]);
    assert_eq!(project.list("").await.expect(200)["jobs"], json!([]), "nothing was created");
}

/// The prompt that the worker is given.
async fn stored_prompt(stage: &Stage, id: &Value) -> String {
    let store = stage.db.open(stage.clock.clone()).await;
    store.messages(&id.as_str().unwrap().into()).await.unwrap()[0].prompt.clone()
}

async fn try_prompt(project: &ProjectClient, prompt: &str) -> copydesk_testkit::Answer {
    project.try_create(json!({ "prompt": prompt })).await
}

async fn prompts_have_at_most_65536_bytes_after_trimming(stage: &Stage) {
    let project = stage.project().await;
    let full = "a".repeat(65_536);
    try_prompt(&project, &full).await.expect(201);
    try_prompt(&project, &format!("{full}a")).await.names(&["prompt"]);
    let padded = try_prompt(&project, &format!(" \n\t{full}\u{3000}\r\n")).await.expect(201);
    assert_eq!(stored_prompt(stage, &padded["id"]).await, full);
    let multibyte = "ä".repeat(32_768);
    try_prompt(&project, &multibyte).await.expect(201);
    try_prompt(&project, &format!("{multibyte}a")).await.names(&["prompt"]);
    try_prompt(&project, &"ä".repeat(32_769)).await.names(&["prompt"]);
}

async fn prompts_that_are_empty_or_blank_are_refused(stage: &Stage) {
    let project = stage.project().await;
    for blank in ["", " ", "\n\t\r ", "\u{3000}\u{2003}\u{a0}"] {
        try_prompt(&project, blank).await.names(&["prompt"]);
    }
    try_prompt(&project, "x").await.expect(201);
}

async fn prompts_keep_every_character_inside(stage: &Stage) {
    let project = stage.project().await;
    let prompt = "Null \u{0} and \u{1f600}\n\n  \"quotes\" \\ 'and' $1 -- ; DROP TABLE jobs";
    let created = try_prompt(&project, &format!("  {prompt}  ")).await.expect(201);
    assert_eq!(stored_prompt(stage, &created["id"]).await, prompt);
}

behaviours!(
    answers_201_with_the_address_of_the_job,
    sends_every_field_with_the_right_nulls,
    ids_are_uuids_of_version_7_and_differ,
    times_have_milliseconds_even_when_they_are_zero,
    repository_is_shown_without_credentials_and_suffix,
    optional_fields_are_taken_and_shown,
    draft_and_open_pull_request_reach_the_worker,
    null_is_the_same_as_leaving_a_field_out,
    a_model_that_is_not_run_here_is_refused,
    a_base_ref_that_git_would_not_take_is_refused,
    a_client_reference_has_1_to_255_characters,
    every_mistake_is_named_at_once,
    prompts_have_at_most_65536_bytes_after_trimming,
    prompts_that_are_empty_or_blank_are_refused,
    prompts_keep_every_character_inside,
);
