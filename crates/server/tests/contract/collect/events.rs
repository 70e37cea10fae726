//! Events that servers send.

use copydesk_domain::Scope;
use copydesk_views::Bucket;
use copydesk_views::store::ViewStore;
use serde_json::{Value, json};

use super::{CHROME, NOW, events_path, gzip, send, site, summary};
use crate::stage::Stage;

behaviours! {
    one_a_list_and_lines_are_taken,
    the_good_ones_of_a_batch_are_kept,
    a_batch_without_a_good_one_is_an_error,
    what_is_no_view_is_left_out_and_said,
    an_id_counts_once,
    the_body_is_bounded,
    bodies_may_be_packed,
    only_json_is_taken,
    a_key_that_may_write_is_needed,
    a_store_that_cannot_keep_them_says_so_and_keeps_nothing,
    what_is_older_than_the_project_keeps_is_said,
    these_requests_are_not_limited,
    a_bad_one_costs_no_other_however_bad_it_is,
    addresses_of_other_hosts_are_left_out,
}

async fn one_a_list_and_lines_are_taken(stage: &Stage) {
    let (app, project) = site(stage).await;
    let event = |path: &str| json!({ "path": path, "userAgent": CHROME });
    assert_eq!(summary(&send(&project, &event("/a")).await.expect(200)), json!([1, 0, {}, []]));
    assert_eq!(summary(&send(&project, &json!([event("/a/"), event("/b")])).await.expect(200)), json!([2, 0, {}, []]));
    let lines = format!("{}\n\n{}\n", event("/a.md?x"), event("/b#c"));
    for kind in ["application/x-ndjson", "application/json; charset=utf-8", "application/ndjson"] {
        let call = project.client().post(&events_path(&project)).header("content-type", kind).body(lines.clone());
        assert_eq!(call.send().await.expect(200)["accepted"], 2);
    }
    assert_eq!(summary(&send(&project, &json!([])).await.expect(200)), json!([0, 0, {}, []]));
    let (human, ai) = app.views().of(&project.id, "/a").await;
    assert_eq!((human + ai, app.views().of(&project.id, "/b").await.0), (5, 4));
    assert_eq!(app.views().all(&project.id).await, 9);
}

async fn the_good_ones_of_a_batch_are_kept(stage: &Stage) {
    let (app, project) = site(stage).await;
    let batch = json!([
        { "path": "/good", "userAgent": CHROME },
        { "path": "/future", "timestamp": NOW + 301 },
        { "path": "/just-ahead", "timestamp": NOW + 300, "userAgent": CHROME },
        { "path": "/old", "timestamp": "1999-12-31T23:59:59Z" },
        { "path": "/as-old-as-can-be", "timestamp": "2000-01-01T00:00:00Z", "userAgent": CHROME },
        { "path": format!("/{}", "x".repeat(2048)) },
        { "path": format!("/{}", "x".repeat(2047)), "userAgent": CHROME },
        { "path": "relative" },
        { "userAgent": CHROME },
        { "path": "/x", "colour": "red" },
        "nonsense",
        { "path": "/x", "id": "" },
        { "path": "/x", "id": "x".repeat(256) },
        { "path": "/x", "id": "x".repeat(255), "userAgent": CHROME },
        { "url": "https://docs.example.com/good", "userAgent": CHROME, "timestamp": NOW * 1000 },
    ]);
    let answer = send(&project, &batch).await.expect(200);
    let rejected = json!([
        [1, "future"],
        [3, "too_old"],
        [5, "path_too_long"],
        [7, "invalid_path"],
        [8, "invalid_event"],
        [9, "invalid_event"],
        [10, "invalid_event"],
        [11, "invalid_id"],
        [12, "invalid_id"],
    ]);
    assert_eq!(summary(&answer), json!([6, 0, {}, rejected]));
    assert!(answer["rejected"][5]["error"].as_str().unwrap().contains("colour"), "{}", answer.text());
    assert_eq!(app.views().of(&project.id, "/good").await, (2, 0));
    assert_eq!(app.views().all(&project.id).await, 6);
    let lines = "{\"path\":\"/good\"}\n{half\n\u{1}\n{\"path\":\"/good\"}";
    let call = project.client().post(&events_path(&project)).header("content-type", "application/x-ndjson");
    let answer = call.body(lines).send().await.expect(200);
    assert_eq!(summary(&answer), json!([2, 0, {}, [[1, "invalid_json"], [2, "invalid_json"]]]));
}

async fn a_batch_without_a_good_one_is_an_error(stage: &Stage) {
    let (app, project) = site(stage).await;
    let one = send(&project, &json!({ "path": "x" })).await.refused(400, "invalid_events").names(&["[0]"]);
    assert!(one["details"][0]["message"].as_str().unwrap().starts_with("invalid_path: "), "{}", one.text());
    send(&project, &json!([{}, { "path": "/", "timestamp": 0 }])).await.names(&["[0]", "[1]"]);
    let many = send(&project, &json!(vec![json!({}); 5000])).await.refused(400, "invalid_events");
    assert_eq!(many["details"].as_array().unwrap().len(), 100, "and not five thousand");
    for (body, code) in [("", "invalid_json"), (" ", "invalid_json"), ("[{}", "invalid_json"), ("{", "invalid_events")]
    {
        project.client().post(&events_path(&project)).json_text(body).send().await.refused(400, code);
    }
    assert_eq!(app.views().all(&project.id).await, 0);
}

async fn what_is_no_view_is_left_out_and_said(stage: &Stage) {
    let (app, project) = site(stage).await;
    let batch = json!([
        { "path": "/logo.svg" },
        { "path": "/app.js?v=1" },
        { "path": "/x", "method": "POST" },
        { "path": "/x", "method": "HEAD" },
        { "path": "/x", "status": 404 },
        { "path": "/x", "status": 301 },
        { "path": "/x?_rsc=abc" },
        { "path": "/x", "status": 304, "method": "get", "userAgent": CHROME },
    ]);
    let answer = send(&project, &batch).await.expect(200);
    assert_eq!(summary(&answer), json!([1, 0, { "asset": 2, "method": 2, "status": 2, "prefetch": 1 }, []]));
    let none = send(&project, &json!({ "path": "/logo.svg" })).await.expect(200);
    assert_eq!(summary(&none), json!([0, 0, { "asset": 1 }, []]), "nothing is wrong with it");
    assert_eq!(app.views().all(&project.id).await, 1);
}

async fn an_id_counts_once(stage: &Stage) {
    let (app, project) = site(stage).await;
    let batch: Vec<Value> =
        (0..10).map(|n| json!({ "path": "/x", "userAgent": CHROME, "id": format!("id-{}", n % 8) })).collect();
    assert_eq!(summary(&send(&project, &json!(batch)).await.expect(200)), json!([8, 2, {}, []]));
    assert_eq!(summary(&send(&project, &json!(batch)).await.expect(200)), json!([0, 10, {}, []]));
    let other = app.project("Other").await;
    assert_eq!(send(&other, &json!(batch)).await.expect(200)["accepted"], 8, "ids are a project's own");
    assert_eq!(app.views().of(&project.id, "/x").await, (8, 0));
}

async fn the_body_is_bounded(stage: &Stage) {
    let (app, project) = site(stage).await;
    let event = json!({ "path": "/x", "userAgent": "x" });
    assert_eq!(send(&project, &json!(vec![&event; 10_000])).await.expect(200)["accepted"], 10_000);
    send(&project, &json!(vec![&event; 10_001])).await.refused(400, "too_many_events");
    let lines = format!("{event}\n").repeat(10_001);
    let call = project.client().post(&events_path(&project)).header("content-type", "application/x-ndjson");
    call.body(lines).send().await.refused(400, "too_many_events");
    let padded = |length: usize| {
        let mut body = event.to_string().into_bytes();
        body.resize(length, b' ');
        body
    };
    let limit = 8 * 1024 * 1024;
    let post = |body: Vec<u8>| project.client().post(&events_path(&project)).json_text(body);
    post(padded(limit)).send().await.expect(200);
    post(padded(limit + 1)).send().await.refused(413, "body_too_large");
    // What a body unpacks to counts, not what it has.
    post(gzip(&padded(limit))).header("content-encoding", "gzip").send().await.expect(200);
    post(gzip(&padded(limit + 1))).header("content-encoding", "gzip").send().await.refused(413, "body_too_large");
    assert_eq!(app.views().all(&project.id).await, 10_002);
}

async fn bodies_may_be_packed(stage: &Stage) {
    let (app, project) = site(stage).await;
    let event = json!({ "path": "/x", "userAgent": CHROME }).to_string();
    let post = |body: Vec<u8>, packing: &str| {
        project.client().post(&events_path(&project)).json_text(body).header("content-encoding", packing)
    };
    post(gzip(event.as_bytes()), "gzip").send().await.expect(200);
    post(zstd::encode_all(event.as_bytes(), 1).unwrap(), "zstd").send().await.expect(200);
    post(event.clone().into_bytes(), "identity").send().await.expect(200);
    post(event.clone().into_bytes(), "gzip").send().await.refused(400, "invalid_encoding");
    post(event.clone().into_bytes(), "br").send().await.refused(415, "unsupported_media_type");
    assert_eq!(app.views().of(&project.id, "/x").await, (3, 0));
}

async fn only_json_is_taken(stage: &Stage) {
    let (_, project) = site(stage).await;
    for kind in ["text/plain", "", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let call = project.client().post(&events_path(&project)).header("content-type", kind).body("{\"path\":\"/\"}");
        call.send().await.refused(415, "unsupported_media_type");
    }
    project.client().post(&events_path(&project)).body("{}").send().await.refused(415, "unsupported_media_type");
}

async fn a_key_that_may_write_is_needed(stage: &Stage) {
    let (app, project) = site(stage).await;
    let event = json!({ "path": "/x" });
    let read = app.key(Some(&project.id), Scope::Read, None).await;
    send(&project.with_key(&read), &event).await.refused(403, "forbidden");
    let other = app.project("Other").await;
    send(&project.with_key(&other.key), &event).await.refused(404, "project_not_found");
    let without = project.client().without_key().post(&events_path(&project)).json(&event);
    without.send().await.refused(401, "unauthorized");
    assert_eq!(app.views().all(&project.id).await, 0);
}

async fn a_store_that_cannot_keep_them_says_so_and_keeps_nothing(stage: &Stage) {
    let (app, project) = site(stage).await;
    let batch = json!([{ "path": "/x", "userAgent": CHROME, "id": "1" }, { "path": "bad" }]);
    app.views().break_down(true);
    let answer = send(&project, &batch).await.refused(503, "unavailable");
    assert!(answer.number("retry-after") >= 1);
    app.views().break_down(false);
    assert_eq!(app.views().all(&project.id).await, 0);
    assert_eq!(send(&project, &batch).await.expect(200)["accepted"], 1, "sent again, it is taken");
}

async fn what_is_older_than_the_project_keeps_is_said(stage: &Stage) {
    let (app, project) = site(stage).await;
    app.views().retain(&project.id, Bucket::of_seconds(NOW)).await.unwrap();
    let batch = json!([{ "path": "/x", "timestamp": NOW - 86_400, "userAgent": CHROME }, { "path": "/x" }]);
    let answer = send(&project, &batch).await.expect(200);
    assert_eq!(summary(&answer), json!([1, 0, { "expired": 1 }, []]));
}

async fn these_requests_are_not_limited(stage: &Stage) {
    let app = stage.app_with(|setup| setup.views(|it| it.per_minute = 1)).await;
    let project = app.project("Docs").await;
    for _ in 0..3 {
        send(&project, &json!({ "path": "/x" })).await.expect(200);
    }
}

async fn a_bad_one_costs_no_other_however_bad_it_is(stage: &Stage) {
    let (app, project) = site(stage).await;
    let post = |kind: &str, body: &[u8]| {
        project.client().post(&events_path(&project)).header("content-type", kind).body(body.to_vec())
    };
    let list = b"[{\"path\":\"/x\"},{\"path\":\"/\x01\"},{\"path\":\"/\xff\"},{\"path\":\"/x\",\"id\":},nonsense,\
        {\"path\":\"/x\",\"userAgent\":\"caf\xe9 \x02\"},,{\"path\":\"/x\"}]";
    let answer = post("application/json", list).send().await.expect(200);
    let rejected = [1, 2, 3, 4, 6].map(|place| json!([place, "invalid_json"]));
    assert_eq!(summary(&answer), json!([3, 0, {}, rejected]), "{}", answer.text());
    let lines = b"[1]\n{\"path\":\"/x\"}\n[\n\xff\n{\"path\":\"/x\",\"userAgent\":\"\xff\"}";
    for kind in ["application/x-ndjson", "application/ndjson; charset=utf-8", "application/jsonl"] {
        let answer = post(kind, lines).send().await.expect(200);
        let rejected = json!([[0, "invalid_event"], [2, "invalid_json"], [3, "invalid_json"]]);
        assert_eq!(summary(&answer), json!([2, 0, {}, rejected]), "{}", answer.text());
    }
    post("application/json", b"[{\"path\":\"/x\"},{\"path\":\"/x\"").send().await.refused(400, "invalid_json");
    assert_eq!(app.views().all(&project.id).await, 9);
}

async fn addresses_of_other_hosts_are_left_out(stage: &Stage) {
    let (app, project) = site(stage).await;
    let batch = json!([
        { "url": "https://docs.example.com/x" },
        { "url": "https://Docs.Example.com.:8443/x" },
        { "url": "https://other.example.com/x" },
        { "url": "https://other.example.com/x", "path": "/x" },
        { "path": "https://other.example.com/x" },
        { "path": "/x" },
    ]);
    let answer = send(&project, &batch).await.expect(200);
    assert_eq!(summary(&answer), json!([3, 0, { "other_host": 3 }, []]));
    let open = app.project("Open").await;
    assert_eq!(send(&open, &batch).await.expect(200)["accepted"], 6, "it names no domains, so it takes all");
}
