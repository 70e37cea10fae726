//! Agents that sign their requests (Web Bot Auth), by every way in. The signatures are made by software that nobody here
//! wrote; see sign.mjs.

use std::sync::Arc;
use std::time::Duration;

use copydesk_testkit::{Answer, ProjectClient, TestApp};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{CHROME, NOW, events_path, send, summary};
use crate::stage::Stage;

behaviours! {
    a_signature_in_an_event_counts_once,
    a_signature_may_come_as_headers_of_one_event,
    a_signature_in_a_drain_counts_once,
    a_browser_may_sign_what_it_sends,
    a_signature_for_another_host_proves_nothing,
    a_project_without_domains_believes_no_signature,
    a_signature_that_is_told_of_late_proves_nothing,
    what_could_not_be_kept_can_be_told_of_again,
    only_a_proxy_on_this_machine_is_believed,
}

/// What [`sign.mjs`](sign.mjs) made.
fn made(name: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("signatures.json")).unwrap();
    all[name].clone()
}

/// A server that knows the key, and a project with these domains.
async fn site(stage: &Stage, domains: &[&str]) -> (Arc<TestApp>, ProjectClient, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("keys")).unwrap();
    let keys = json!({ "keys": [made("key")] }).to_string();
    std::fs::write(folder.path().join("keys/chatgpt.json"), keys).unwrap();
    let lists = Some(folder.path().to_owned());
    let app = stage.app_with(|setup| setup.views(|views| views.lists = lists)).await;
    let domains = domains.iter().map(|&domain| domain.to_owned()).collect();
    let project = app.project_with("Docs", |new| new.views.domains = domains).await;
    (app, project, folder)
}

/// An event as the Worker sends it: of somebody who looks like a browser, with the signature of that name.
fn event(name: &str) -> Value {
    let mut event = made(name);
    event["url"] = json!("https://docs.example.com/guide?a=b");
    event["userAgent"] = json!(CHROME);
    event
}

/// How many people and how many AI agents saw the page.
async fn seen(app: &TestApp, project: &ProjectClient) -> (u64, u64) {
    app.views().of(&project.id, "/guide").await
}

async fn a_signature_in_an_event_counts_once(stage: &Stage) {
    let (app, project, _keys) = site(stage, &["docs.example.com"]).await;
    send(&project, &event("event")).await.expect(200);
    assert_eq!(seen(&app, &project).await, (0, 1));
    send(&project, &event("event")).await.expect(200);
    assert_eq!(seen(&app, &project).await, (1, 1), "shown again by somebody who looks like a browser");
    send(&project, &json!([event("batch"), event("whole"), event("batch"), event("expired")])).await.expect(200);
    assert_eq!(seen(&app, &project).await, (3, 3), "of a batch each by itself");
    let mut changed = event("nowhere");
    changed["signatureAgent"] = json!("\"https://evil.example\"");
    let mut by_path = event("header");
    by_path.as_object_mut().unwrap().remove("url");
    by_path["path"] = json!("/guide?a=b");
    by_path["authority"] = json!("docs.example.com");
    send(&project, &json!([changed, by_path])).await.expect(200);
    assert_eq!(seen(&app, &project).await, (4, 4));
}

/// One event of nginx, which cannot write quotes into JSON.
async fn with_headers(project: &ProjectClient, name: &str, host: &str, body: &Value) -> Answer {
    let signed = made(name);
    let mut call = project.client().post(&events_path(project)).json(body).header("x-copydesk-authority", host);
    for (header, field) in [("", "signature"), ("-input", "signatureInput"), ("-agent", "signatureAgent")] {
        call = call.header(&format!("x-copydesk-signature{header}"), signed[field].as_str().unwrap());
    }
    call.send().await
}

async fn a_signature_may_come_as_headers_of_one_event(stage: &Stage) {
    let (app, project, _keys) = site(stage, &["docs.example.com"]).await;
    let body = json!({ "path": "/guide?a=b", "userAgent": CHROME });
    with_headers(&project, "header", "docs.example.com", &body).await.expect(200);
    with_headers(&project, "whole", "docs.example.com:443", &body).await.expect(200);
    assert_eq!(seen(&app, &project).await, (0, 2));
    with_headers(&project, "header", "docs.example.com", &body).await.expect(200);
    with_headers(&project, "elsewhere", "other.example", &body).await.expect(200);
    assert_eq!(seen(&app, &project).await, (2, 2));
    let two = json!([body, body]);
    with_headers(&project, "event", "docs.example.com", &two).await.refused(400, "invalid_events");
    assert_eq!(seen(&app, &project).await, (2, 2));
}

async fn a_signature_in_a_drain_counts_once(stage: &Stage) {
    let (app, project, _keys) = site(stage, &["docs.example.com"]).await;
    let secret = app.drain_secret(&project.id).await;
    let line = |ray: &str, headers: Value| {
        json!({ "ClientIP": "192.0.2.1", "ClientRequestHost": "docs.example.com", "ClientRequestMethod": "GET",
            "ClientRequestURI": "/guide?a=b", "ClientRequestUserAgent": CHROME, "EdgeResponseStatus": 200,
            "EdgeStartTimestamp": NOW, "RayID": ray, "RequestHeaders": headers })
        .to_string()
    };
    let signed = |name: &str| {
        let made = made(name);
        json!({ "signature": made["signature"], "signature-input": made["signatureInput"],
            "signature-agent": made["signatureAgent"], "x-other": "y" })
    };
    let lines = [
        line("1", signed("drain")),
        line("2", signed("whole")),
        line("3", signed("drain")),
        line("4", signed("elsewhere")),
        line("5", json!({ "x-other": "y" })),
        line("6", Value::Null),
    ];
    let call = app.client().post(&format!("/drains/{}/cloudflare", project.id)).header("x-copydesk-secret", &secret);
    let answer = call.body(lines.join("\n").into_bytes()).send().await.expect(200);
    assert_eq!(summary(&answer), json!([6, 0, {}, []]));
    assert_eq!(seen(&app, &project).await, (4, 2));
}

async fn a_browser_may_sign_what_it_sends(stage: &Stage) {
    let (app, project, _keys) = site(stage, &["docs.example.com"]).await;
    let tell = async |name: &str, host: &str, ip: &str| {
        let signed = made(name);
        let mut call = app.client().post("/api/event").header("user-agent", CHROME).header("x-forwarded-for", ip);
        for (header, field) in
            [("signature", "signature"), ("signature-input", "signatureInput"), ("signature-agent", "signatureAgent")]
        {
            call = call.header(header, signed[field].as_str().unwrap());
        }
        let body = json!({ "n": "pageview", "u": "https://docs.example.com/guide", "d": "docs.example.com" });
        call.header("host", host).body(body.to_string()).send().await.expect(202);
    };
    tell("beacon", "docs.example.com", "192.0.2.1").await;
    // What the script tells of an agent is not counted beside the server's; it is no person either.
    assert_eq!(seen(&app, &project).await.0, 0);
    tell("beacon", "docs.example.com", "192.0.2.2").await;
    assert_eq!(seen(&app, &project).await.0, 1, "shown again");
    tell("elsewhere", "other.example", "192.0.2.3").await;
    assert_eq!(seen(&app, &project).await.0, 2, "made for another host, and sent with its name");
}

async fn a_signature_for_another_host_proves_nothing(stage: &Stage) {
    let (app, project, _keys) = site(stage, &["docs.example.com"]).await;
    let mut forged = event("elsewhere");
    forged["authority"] = json!("other.example");
    send(&project, &forged).await.expect(200);
    send(&project, &event("elsewhere")).await.expect(200);
    assert_eq!(seen(&app, &project).await, (2, 0));
}

async fn a_project_without_domains_believes_no_signature(stage: &Stage) {
    let (app, project, _keys) = site(stage, &[]).await;
    send(&project, &event("nowhere")).await.expect(200);
    assert_eq!(seen(&app, &project).await, (1, 0));
}

async fn a_signature_that_is_told_of_late_proves_nothing(stage: &Stage) {
    let (app, project, _keys) = site(stage, &["docs.example.com"]).await;
    let mut late = event("late");
    late["timestamp"] = json!(NOW);
    stage.advance(Duration::from_secs(3601));
    send(&project, &late).await.expect(200);
    assert_eq!(seen(&app, &project).await, (1, 0));
}

async fn what_could_not_be_kept_can_be_told_of_again(stage: &Stage) {
    let (app, project, _keys) = site(stage, &["docs.example.com"]).await;
    app.views().break_down(true);
    send(&project, &event("kept")).await.refused(503, "unavailable");
    app.views().break_down(false);
    send(&project, &event("kept")).await.expect(200);
    assert_eq!(seen(&app, &project).await, (0, 1));
}

/// Two readers behind one address are one, and what it says of them is not taken, unless it is a proxy's.
async fn only_a_proxy_on_this_machine_is_believed(stage: &Stage) {
    for (proxies, people) in
        [(copydesk_desk::views::Proxies::default(), 2), (copydesk_desk::views::Proxies::new(Vec::new()), 1)]
    {
        let app = stage.app_with(|setup| setup.views(|views| views.proxies = proxies)).await;
        let project = app.project_with("Docs", |new| new.views.domains = vec![]).await;
        for ip in ["198.51.100.7", "[2001:db8::1]:443"] {
            let body = json!({ "n": "pageview", "u": "https://docs.example.com/guide", "d": project.id.as_str() });
            let call = app.client().post("/api/event").header("user-agent", CHROME).header("x-forwarded-for", ip);
            call.body(body.to_string()).send().await.expect(202);
        }
        assert_eq!(seen(&app, &project).await.0, people);
    }
}
