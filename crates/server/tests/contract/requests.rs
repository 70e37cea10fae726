//! Request bodies: size, type, JSON and its fields, on both addresses that take one.

use bytes::Bytes;
use copydesk_testkit::{Call, ProjectClient, Wire};
use reqwest::Method;
use serde_json::json;

use crate::stage::Stage;

const MIB: usize = 1024 * 1024;

/// A call to each of the two.
fn calls(project: &ProjectClient, id: &str) -> [Call; 2] {
    [project.creation(), project.follow_up(id)]
}

/// A good body made `length` bytes long by white space.
fn padded(length: usize) -> Vec<u8> {
    let mut body = br#"{"prompt":"x"}"#.to_vec();
    body.resize(length, b' ');
    body
}

async fn bodies_of_1_mib_are_taken_and_more_is_not(stage: &Stage) {
    let project = stage.project().await;
    let id = project.job().await;
    for call in calls(&project, &id) {
        let answer = call.json_text(padded(MIB)).send().await;
        assert!([200, 201].contains(&answer.status), "{}", answer.text());
    }
    for size in [MIB + 1, 3 * MIB] {
        for call in calls(&project, &id) {
            call.json_text(padded(size)).send().await.refused(413, "body_too_large");
        }
    }
    assert_eq!(project.event_types(&id).await, ["created", "message"]);
}

async fn bodies_of_no_announced_length_are_measured_too(stage: &Stage) {
    let project = stage.project().await;
    let id = project.job().await;
    let pieces = |size: usize| padded(size).chunks(65_536).map(Bytes::copy_from_slice).collect::<Vec<_>>();
    for call in calls(&project, &id) {
        let call = call.header("content-type", "application/json").chunked(pieces(MIB + 1));
        call.send().await.refused(413, "body_too_large");
    }
    for call in calls(&project, &id) {
        let answer = call.header("content-type", "application/json").chunked(pieces(MIB)).send().await;
        assert!([200, 201].contains(&answer.status), "{}", answer.text());
    }
}

/// A client that announces far too much is told before it has sent it.
async fn a_huge_announcement_is_refused_at_once(stage: &Stage) {
    let project = stage.project().await;
    let path = project.path("job");
    let mut wire = Wire::connect(project.client()).await;
    let key = &project.key.secret;
    let head = "host: x\r\ncontent-type: application/json\r\ncontent-length: 1000000000";
    wire.send(format!("POST {path} HTTP/1.1\r\nauthorization: Bearer {key}\r\n{head}\r\n\r\n{{")).await;
    wire.answer(Method::POST, &path).await.refused(413, "body_too_large");
}

async fn a_body_that_breaks_off_creates_nothing(stage: &Stage) {
    let project = stage.project().await;
    let mut wire = Wire::connect(project.client()).await;
    let (path, key) = (project.path("job"), &project.key.secret);
    let head = "host: x\r\ncontent-type: application/json\r\ncontent-length: 100";
    wire.send(format!("POST {path} HTTP/1.1\r\nauthorization: Bearer {key}\r\n{head}\r\n\r\n{{\"prompt\":\"x\"}}"))
        .await;
    drop(wire);
    project.job().await;
    assert_eq!(project.list("").await.expect(200)["jobs"].as_array().unwrap().len(), 1);
}

async fn only_json_is_taken(stage: &Stage) {
    let project = stage.project().await;
    let id = project.job().await;
    let good = r#"{"prompt":"x"}"#;
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", "json", "", "text/json"] {
        for call in calls(&project, &id) {
            call.header("content-type", kind).body(good).send().await.refused(415, "unsupported_media_type");
        }
    }
    for call in calls(&project, &id) {
        call.body(good).send().await.refused(415, "unsupported_media_type");
    }
    for call in calls(&project, &id) {
        call.send().await.refused(415, "unsupported_media_type");
    }
    for coding in ["gzip", "br", "deflate"] {
        for call in calls(&project, &id) {
            let call = call.json_text(good).header("content-encoding", coding);
            call.send().await.refused(415, "unsupported_media_type");
        }
    }
    for kind in ["application/json; charset=utf-8", "Application/JSON", "application/json;charset=UTF-8"] {
        project.creation().header("content-type", kind).body(good).send().await.expect(201);
    }
    project.creation().json_text(good).header("content-encoding", "identity").send().await.expect(201);
}

async fn an_unknown_field_is_named(stage: &Stage) {
    let project = stage.project().await;
    let id = project.job().await;
    for field in ["colour", "Prompt", "base_ref", "open_pull_request", "status", "id", "a`b", "ä x"] {
        for call in calls(&project, &id) {
            let answer = call.json(&json!({ "prompt": "x", (field): 1 })).send().await.refused(400, "invalid_request");
            assert!(answer.names(&[field])["error"].as_str().unwrap().contains(field));
        }
    }
    // Nothing a client makes up is repeated to it at length.
    for field in ["", "a\nb", &"x".repeat(100_000)] {
        for call in calls(&project, &id) {
            let answer = call.json(&json!({ "prompt": "x", (field): 1 })).send().await.refused(400, "invalid_request");
            assert!(answer.bytes.len() < 1000);
        }
    }
}

async fn a_missing_or_repeated_or_mistyped_field_is_named(stage: &Stage) {
    let project = stage.project().await;
    let id = project.job().await;
    for body in [
        "{}",
        r#"{"prompt":null}"#,
        r#"{"prompt":1}"#,
        r#"{"prompt":["x"]}"#,
        r#"{"prompt":{"text":"x"}}"#,
        r#"{"prompt":true}"#,
        r#"{"prompt":"x","prompt":"y"}"#,
        r#"{"prompt":"x","prompt":"x"}"#,
    ] {
        for call in calls(&project, &id) {
            call.json_text(body).send().await.refused(400, "invalid_request").names(&["prompt"]);
        }
    }
    for (field, wrong) in [
        ("baseRef", json!(1)),
        ("model", json!(["builtin"])),
        ("draft", json!("yes")),
        ("draft", json!(1)),
        ("openPullRequest", json!("false")),
        ("clientReference", json!({})),
    ] {
        project.try_create(json!({ "prompt": "x", (field): wrong })).await.names(&[field]);
    }
    let long = project.try_create(json!({ "prompt": "x", "draft": "y".repeat(100_000) })).await.names(&["draft"]);
    assert!(long.bytes.len() < 1000);
    let twice = r#"{"prompt":"x","draft":true,"draft":true}"#;
    project.creation().json_text(twice).send().await.names(&["draft"]);
}

/// A list would do for serde, and not for the contract.
async fn a_body_must_be_an_object(stage: &Stage) {
    let project = stage.project().await;
    let id = project.job().await;
    for body in [
        "[]",
        r#"["x"]"#,
        r#"["x",null,null,null,null,null]"#,
        r#"[{"prompt":"x"}]"#,
        "null",
        "true",
        "1",
        r#""x""#,
        r#" "{\"prompt\":\"x\"}" "#,
    ] {
        for call in calls(&project, &id) {
            let answer = call.json_text(body).send().await.refused(400, "invalid_request");
            assert_eq!(answer["error"], "The request body must be a JSON object.", "{body}");
        }
    }
    assert_eq!(project.event_types(&id).await, ["created"]);
    assert_eq!(project.list("").await.expect(200)["jobs"].as_array().unwrap().len(), 1);
}

async fn a_body_must_be_json(stage: &Stage) {
    let project = stage.project().await;
    let id = project.job().await;
    for body in [
        "",
        " ",
        "{",
        r#"{"prompt":"x""#,
        r#"{"prompt":"x"} {}"#,
        r#"{"prompt":"x"}x"#,
        r#"{"prompt":"x",}"#,
        "{'prompt':'x'}",
        "prompt=x",
        "[",
        "\u{feff}{\"prompt\":\"x\"}",
        "{\"prompt\":\"a\nb\"}",
        r#"{"prompt":"\ud800"}"#,
        r#"{"prompt":"\q"}"#,
        r#"{"prompt":NaN}"#,
    ] {
        for call in calls(&project, &id) {
            call.json_text(body).send().await.refused(400, "invalid_json");
        }
    }
}

async fn a_body_must_be_utf_8(stage: &Stage) {
    let project = stage.project().await;
    let id = project.job().await;
    for bad in [&b"\xff"[..], b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\xc0\x80"] {
        let body = [br#"{"prompt":"x"#, bad, br#""}"#].concat();
        for call in calls(&project, &id) {
            call.json_text(body.clone()).send().await.refused(400, "invalid_utf8");
        }
    }
    assert_eq!(project.event_types(&id).await, ["created"]);
}

behaviours!(
    bodies_of_1_mib_are_taken_and_more_is_not,
    bodies_of_no_announced_length_are_measured_too,
    a_huge_announcement_is_refused_at_once,
    a_body_that_breaks_off_creates_nothing,
    only_json_is_taken,
    an_unknown_field_is_named,
    a_missing_or_repeated_or_mistyped_field_is_named,
    a_body_must_be_an_object,
    a_body_must_be_json,
    a_body_must_be_utf_8,
);
