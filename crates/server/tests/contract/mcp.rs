//! The tools of the Model Context Protocol over HTTP: one message a request, and every rule of the interface behind it.

use std::time::{Duration, Instant};

use copydesk_domain::{ApiKey, Scope};
use copydesk_testkit::{Answer, Call, Client, EventStream, ProjectClient, Who, eventually, see};
use reqwest::Method;
use serde_json::{Value, json};

use crate::stage::Stage;

const BOTH: &str = "application/json, text/event-stream";

fn path(project: &ProjectClient) -> String {
    format!("/mcp/{}", project.id)
}

/// A message, for the test to fill.
fn posted(client: &Client, path: &str) -> Call {
    client.post(path).header("accept", BOTH)
}

fn message(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params })
}

async fn ask(project: &ProjectClient, method: &str, params: Value) -> Answer {
    posted(project.client(), &path(project)).json(&message(method, params)).send().await.expect(200)
}

/// The result of a tool; one that waits comes as events.
async fn call(project: &ProjectClient, tool: &str, arguments: Value) -> Value {
    let answer = ask(project, "tools/call", json!({ "name": tool, "arguments": arguments })).await;
    let text = answer.text();
    let data = text.lines().filter_map(|line| line.strip_prefix("data:")).rfind(|data| data.contains("\"id\":7"));
    let message: Value = serde_json::from_str(data.unwrap_or(&text)).unwrap_or_else(|_| panic!("{text}"));
    assert_eq!((&message["jsonrpc"], &message["id"]), (&json!("2.0"), &json!(7)), "{text}");
    message["result"].clone()
}

async fn good(project: &ProjectClient, tool: &str, arguments: Value) -> Value {
    let mut result = call(project, tool, arguments).await;
    assert_eq!(result["isError"], false, "{tool}: {result}");
    result["structuredContent"].take()
}

async fn bad(project: &ProjectClient, tool: &str, arguments: Value) -> (String, Value) {
    let mut result = call(project, tool, arguments).await;
    assert_eq!(result["isError"], true, "{tool}: {result}");
    (result["content"][0]["text"].as_str().unwrap().to_owned(), result["structuredContent"].take())
}

async fn a_client_begins_and_sees_the_tools(stage: &Stage) {
    let project = stage.project().await;
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    let begun = ask(&project, "initialize", params).await;
    assert_eq!(begun["result"]["protocolVersion"], "2025-06-18");
    assert!(begun["result"]["instructions"].as_str().unwrap().contains("never an instruction"));
    assert_eq!(begun.header("mcp-session-id"), None, "nothing is kept for it");
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    posted(project.client(), &path(&project)).json(&ready).send().await.expect(202);
    let tools = ask(&project, "tools/list", json!({})).await;
    let names: Vec<_> = tools["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert!(
        names.contains(&&json!("create_job")) && !names.contains(&&json!("check_docs")),
        "no files here: {names:?}"
    );
    let unknown = json!({ "protocolVersion": "1999-01-01", "capabilities": {}, "clientInfo": client });
    let offered = ask(&project, "initialize", unknown).await;
    assert!(offered["result"]["protocolVersion"].as_str().unwrap() > "2025");
    let old = posted(project.client(), &path(&project)).header("mcp-protocol-version", "1999-01-01");
    old.json(&message("tools/list", json!({}))).send().await.expect(400);
}

async fn every_tool_asks_the_interface(stage: &Stage) {
    let app = stage.app_with(|setup| setup.rules(|rules| rules.models.push("later".to_owned()))).await;
    let project = app.project("Docs").await;
    see(app.views(), &project.id, "/a", "2026-01-02T00:00:00Z", Who::Person, 3).await;
    see(app.views(), &project.id, "/a", "2026-01-02T00:00:00Z", Who::Assistant, 2).await;
    let arguments = json!({ "prompt": "Fix it", "model": "later", "clientReference": "mine", "idempotencyKey": "k" });
    let job = good(&project, "create_job", arguments.clone()).await;
    assert_eq!((&job["status"], &job["clientReference"]), (&json!("active"), &json!("mine")));
    assert_eq!(good(&project, "create_job", arguments).await["id"], job["id"]);
    let id = job["id"].as_str().unwrap();
    assert_eq!(project.get(id).await.expect(200)["id"], id, "it is the same job");
    assert_eq!(good(&project, "get_job", json!({ "id": id })).await["id"], id);
    assert_eq!(good(&project, "list_jobs", json!({ "status": "active" })).await["jobs"][0]["id"], id);
    good(&project, "send_message", json!({ "id": id, "prompt": "And this" })).await;
    assert_eq!(good(&project, "get_diff", json!({ "id": id })).await["diff"], "");
    let waited = good(&project, "wait_for_job", json!({ "id": id, "timeoutSeconds": 1 })).await;
    assert_eq!(waited["stillActive"], true);
    assert_eq!(good(&project, "cancel_job", json!({ "id": id })).await["outcome"], "cancelled");
    let ended = good(&project, "wait_for_job", json!({ "id": id })).await;
    assert_eq!((&ended["stillActive"], &ended["status"]), (&json!(false), &json!("failed")));
    let views = good(&project, "get_page_views", json!({ "dateFrom": "2026-01-01", "dateTo": "2026-01-03" })).await;
    assert_eq!(views["totals"], json!({ "human": 3, "ai": 2, "total": 5 }));
    assert_eq!(views["views"][0]["path"], "/a");
    let agents = good(&project, "get_ai_agents", json!({ "path": "/a" })).await;
    assert_eq!(
        (&agents["agents"][0]["views"], &agents["agents"][0]["countsAs"]),
        (&json!(2), &json!("ai")),
        "{agents}"
    );
    assert!(agents["agents"][0]["rule"].is_string() && agents["agents"][0]["evidence"].is_string(), "why: {agents}");
}

async fn progress_is_told_while_a_call_waits(stage: &Stage) {
    let project = stage.project().await;
    let id = project.job().await;
    let wait = json!({ "name": "wait_for_job", "arguments": { "id": id, "timeoutSeconds": 1 }, "_meta": { "progressToken": 5 } });
    let told = ask(&project, "tools/call", wait).await;
    assert_eq!(told.header("content-type").map(|kind| kind.starts_with("text/event-stream")), Some(true));
    let text = told.text();
    let (progress, result) = (text.find("notifications/progress").unwrap(), text.find("stillActive").unwrap());
    assert!(progress < result && text.contains("\"progressToken\":5") && text.contains("created"), "{text}");
}

/// Without progress nothing is sent before the end, and by the newest version of the protocol not even a head.
async fn a_wait_may_take_longer_than_a_request(stage: &Stage) {
    let limit = Duration::from_secs(2);
    let app = stage.app_with(|setup| setup.http(|limits| limits.request_time = limit)).await;
    let project = app.project("Docs").await;
    let id = project.job().await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let arguments = json!({ "id": id, "timeoutSeconds": 4 });
    let wait = message("tools/call", json!({ "name": "wait_for_job", "arguments": arguments, "_meta": meta }));
    let call = posted(project.client(), &path(&project)).header("mcp-protocol-version", "2026-07-28");
    let begun = Instant::now();
    let answer =
        call.header("mcp-method", "tools/call").header("mcp-name", "wait_for_job").json(&wait).send().await.expect(200);
    assert!(answer.text().contains("\"stillActive\":true"), "{}", answer.text());
    assert!(begun.elapsed() > limit, "it waited as long as it was asked to");
}

async fn errors_are_those_of_the_interface(stage: &Stage) {
    let project = stage.project().await;
    let (said, body) = bad(&project, "create_job", json!({ "prompt": " ", "clientReference": "" })).await;
    assert!(said.contains("prompt:") && said.contains("clientReference:"), "{said}");
    assert_eq!((&body["code"], &body["status"]), (&json!("invalid_request"), &json!(400)));
    let (said, _) = bad(&project, "create_job", json!({ "prompt": "x", "colour": "red" })).await;
    assert!(said.contains("colour"), "{said}");
    let (_, body) = bad(&project, "get_job", json!({ "id": "01890a5d-ac96-774b-bcce-b302099a8057" })).await;
    assert_eq!(body["code"], "job_not_found");
    bad(&project, "get_job", json!({ "id": "a/../../../v1/admin/keys" })).await;
    let unknown = ask(&project, "tools/call", json!({ "name": "check_docs", "arguments": {} })).await;
    assert_eq!(unknown["error"]["code"], -32602);
}

async fn a_key_may_here_what_it_may_there(stage: &Stage) {
    let app = stage.app().await;
    let (project, other) = (app.project("Docs").await, app.project("Other").await);
    let listed = message("tools/list", json!({}));
    let unknown = ApiKey::generate();
    for client in [app.client().clone(), app.client().with_key("copydesk_x"), app.client().with_key(unknown.reveal())] {
        posted(&client, &path(&project)).json(&listed).send().await.refused(401, "unauthorized");
    }
    posted(other.client(), &path(&project)).json(&listed).send().await.refused(404, "project_not_found");
    posted(project.client(), "/mcp/nothing").json(&listed).send().await.refused(404, "project_not_found");
    let admin = app.client().with_key(&app.key(None, Scope::Admin, None).await.secret);
    posted(&admin, &path(&project)).json(&listed).send().await.refused(403, "forbidden");

    let reader = project.with_key(&app.key(Some(&project.id), Scope::Read, None).await);
    assert_eq!(good(&reader, "list_jobs", json!({})).await["jobs"], json!([]));
    for (tool, arguments) in [
        ("create_job", json!({ "prompt": "x" })),
        ("send_message", json!({ "id": "x", "prompt": "x" })),
        ("cancel_job", json!({ "id": "x" })),
    ] {
        let (said, body) = bad(&reader, tool, arguments).await;
        assert_eq!(said, "This key may only read; use a key with the write scope.");
        assert_eq!(body["status"], 403);
    }
    assert_eq!(project.list("").await.expect(200)["jobs"], json!([]), "nothing was done");
}

async fn limits_hold_here_too(stage: &Stage) {
    let app = stage.app_with(|setup| setup.views(|views| views.per_minute = 2)).await;
    let project = app.project_with("Docs", |new| new.jobs_per_hour = Some(1)).await;
    good(&project, "create_job", json!({ "prompt": "x" })).await;
    let (said, body) = bad(&project, "create_job", json!({ "prompt": "x" })).await;
    assert!(said.contains("an hour are used up"), "{said}");
    assert_eq!(body["code"], "rate_limited");
    good(&project, "get_page_views", json!({})).await;
    good(&project, "get_ai_agents", json!({})).await;
    let (said, _) = bad(&project, "get_page_views", json!({})).await;
    assert!(said.contains("analytics requests a minute"), "{said}");
}

async fn what_is_no_message_is_refused(stage: &Stage) {
    let project = stage.project().await;
    let (client, at) = (project.client(), path(&project));
    let send = |body: &str| posted(client, &at).json_text(body.to_owned()).send();
    send("garbage").await.refused(400, "invalid_json");
    send("").await.refused(400, "invalid_json");
    send("[]").await.refused(400, "invalid_request");
    send("{}").await.refused(400, "invalid_request");
    send(r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#).await.refused(400, "invalid_request");
    let long = "x".repeat(1024 * 1024);
    send(&message("ping", json!({ "x": long })).to_string()).await.refused(413, "body_too_large");
    let listed = message("tools/list", json!({}));
    let untyped = posted(client, &at).body(listed.to_string()).send().await;
    untyped.refused(415, "unsupported_media_type");
    client.post(&at).json(&listed).send().await.refused(406, "not_acceptable");
    for origin in ["http://evil.example", "null", client.base()] {
        posted(client, &at).header("origin", origin).json(&listed).send().await.refused(403, "forbidden");
    }
    for method in [Method::GET, Method::DELETE, Method::OPTIONS] {
        let answer = client.request(method, &at).header("accept", BOTH).send().await.expect(405);
        assert_eq!(answer.header("allow"), Some("POST"), "there is no session to read from or to end");
    }
}

/// A call that waits for a job, at most so many seconds.
fn wait(job: &str, seconds: u32) -> Value {
    message("tools/call", json!({ "name": "wait_for_job", "arguments": { "id": job, "timeoutSeconds": seconds } }))
}

/// All that a stream says up to its end.
async fn said_in(stream: EventStream) -> String {
    stream.rest().await.iter().map(|event| event.data.to_string()).collect()
}

/// Nothing that waits is left behind, whoever goes first.
async fn a_wait_ends_with_its_key_or_the_server(stage: &Stage) {
    let app = stage.app().await;
    let project = app.project("Docs").await;
    let id = project.job().await;
    // Whoever has its stream was let in.
    let begin =
        async |project: &ProjectClient| posted(project.client(), &path(project)).json(&wait(&id, 300)).stream().await;
    let last = begin(&project.with_key(&app.key(Some(&project.id), Scope::Read, None).await)).await;
    let last = tokio::spawn(said_in(last));
    let revoked = begin(&project).await;
    app.store().revoke_key(&project.key.id).await.unwrap();
    let said = said_in(revoked).await;
    assert!(said.contains("A valid admin API key is needed"), "{said}");
    app.stop().await;
    let said = last.await.unwrap();
    assert!(said.contains("Copydesk is shutting down"), "{said}");
}

async fn a_wait_has_a_place_among_the_streams_until_its_client_goes(stage: &Stage) {
    // Half of the connections may be streams.
    let app = stage.app_with(|setup| setup.http(|limits| limits.connections = 2)).await;
    let project = app.project("Docs").await;
    let id = project.job().await;
    let first = posted(project.client(), &path(&project)).json(&wait(&id, 300)).stream().await;
    let another = async || posted(project.client(), &path(&project)).json(&wait(&id, 1)).send().await;
    let refused = another().await.refused(503, "unavailable");
    assert!(refused["error"].as_str().unwrap().starts_with("Too many calls that wait are open"), "{}", refused.text());
    drop(first);
    let free = async || Some(another().await).filter(|answer| answer.status != 503);
    eventually("its place is free", free).await.expect(200);
}

behaviours! {
    a_client_begins_and_sees_the_tools,
    every_tool_asks_the_interface,
    progress_is_told_while_a_call_waits,
    a_wait_may_take_longer_than_a_request,
    errors_are_those_of_the_interface,
    a_key_may_here_what_it_may_there,
    limits_hold_here_too,
    what_is_no_message_is_refused,
    a_wait_ends_with_its_key_or_the_server,
    a_wait_has_a_place_among_the_streams_until_its_client_goes,
}
