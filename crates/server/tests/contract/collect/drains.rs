//! Log drains of those who host sites.

use std::time::Duration;

use aws_lc_rs::hmac;
use copydesk_desk::{OLD_SECRET_TAKEN, Sender};
use copydesk_domain::ProjectId;
use copydesk_testkit::{Answer, Call, TestApp, Wire};
use reqwest::Method;
use serde_json::{Value, json};

use super::{CHROME, NOW, gzip, site, summary};
use crate::stage::Stage;

behaviours! {
    a_signed_vercel_log_is_taken,
    a_vercel_log_with_a_wrong_signature_is_not,
    vercel_may_try_the_address,
    a_netlify_log_is_taken,
    a_cloudflare_log_is_taken,
    a_secret_is_for_one_project,
    a_new_secret_is_taken_beside_the_old_one_for_a_day,
    bodies_are_bounded,
    a_store_that_is_down_keeps_nothing,
    nothing_is_read_of_whom_it_may_not_be_from,
    strangers_cannot_ask_which_projects_there_are,
    a_body_is_unpacked_once,
    a_small_packed_body_takes_little_memory,
    a_bad_line_costs_no_other,
}

fn sign(secret: &str, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret.as_bytes());
    hmac::sign(&key, body.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn vercel_line(request: &str, path: &str) -> Value {
    json!({ "id": format!("line-{request}"), "requestId": request, "deploymentId": "d", "source": "static",
        "host": "docs-git-main.vercel.app", "timestamp": NOW * 1000, "projectId": "p", "level": "info",
        "proxy": { "timestamp": NOW * 1000, "method": "GET", "host": "docs.example.com", "path": path,
            "userAgent": [CHROME], "statusCode": 200, "clientIp": "192.0.2.1", "region": "fra1", "referer": "" } })
}

async fn vercel(app: &TestApp, project: &ProjectId, body: String) -> Answer {
    let signature = sign(&app.drain_secret(project).await, &body);
    let call = app.client().post(&format!("/drains/{project}/vercel")).json_text(body);
    call.header("x-vercel-signature", signature).send().await
}

async fn a_signed_vercel_log_is_taken(stage: &Stage) {
    let (app, project) = site(stage).await;
    let mut build = vercel_line("0", "/x");
    build.as_object_mut().unwrap().remove("proxy");
    let mut preview = vercel_line("1", "/x");
    preview["proxy"]["host"] = json!("docs-git-main.vercel.app");
    let lines = [
        vercel_line("2", "/guide?x"),
        vercel_line("2", "/guide?x"),
        vercel_line("3", "/guide"),
        vercel_line("4", "/logo.svg"),
        build,
        preview,
        json!("nonsense"),
    ];
    let answer = vercel(&app, &project.id, json!(lines).to_string()).await.expect(200);
    let ignored = json!({ "asset": 1, "not_a_request": 1, "other_host": 1 });
    assert_eq!(summary(&answer), json!([2, 1, ignored, [[6, "invalid_event"]]]), "{}", answer.text());
    let lines: Vec<_> = lines.iter().map(Value::to_string).collect();
    let again = vercel(&app, &project.id, lines.join("\n")).await.expect(200);
    assert_eq!(summary(&again)[1], 3, "delivered again, and as lines");
    assert_eq!(app.views().of(&project.id, "/guide").await, (2, 0));
    assert_eq!(app.views().all(&project.id).await, 2);
}

async fn a_vercel_log_with_a_wrong_signature_is_not(stage: &Stage) {
    let (app, project) = site(stage).await;
    let body = json!([vercel_line("1", "/x")]).to_string();
    let path = format!("/drains/{}/vercel", project.id);
    let post = || app.client().post(&path).json_text(body.clone());
    post().send().await.refused(403, "invalid_signature");
    for wrong in
        [sign("another secret", &body), sign(&app.drain_secret(&project.id).await, "[]"), "x".to_owned(), String::new()]
    {
        post().header("x-vercel-signature", wrong).send().await.refused(403, "invalid_signature");
    }
    let right = sign(&app.drain_secret(&project.id).await, &body);
    let nobody =
        app.client().post("/drains/nobody/vercel").json_text(body.clone()).header("x-vercel-signature", &right);
    nobody.send().await.refused(403, "invalid_signature");
    assert_eq!(app.views().all(&project.id).await, 0);
}

async fn vercel_may_try_the_address(stage: &Stage) {
    let (app, project) = site(stage).await;
    let path = format!("/drains/{}/vercel", project.id);
    let verified = |answer: Answer| answer.expect(200).header("x-vercel-verify").map(str::to_owned);
    let named = format!("{path}?verify=0123abcd");
    assert_eq!(verified(app.client().get(&named).send().await).as_deref(), Some("0123abcd"));
    assert_eq!(verified(app.client().get(&path).header("x-vercel-verify", "77").send().await).as_deref(), Some("77"));
    assert_eq!(verified(app.client().get(&path).send().await), None);
    assert_eq!(verified(app.client().get(&format!("{path}?verify=a%0d%0ab")).send().await), None);
    // Unsigned, so that nothing of it is looked at.
    let body = json!([vercel_line("1", "/x")]).to_string();
    assert_eq!(verified(app.client().post(&named).json_text(body.clone()).send().await).as_deref(), Some("0123abcd"));
    assert_eq!(app.views().all(&project.id).await, 0);
    // Somebody counts on that many to be counted.
    let many: Vec<Value> = (0..100).map(|number| vercel_line(&number.to_string(), "/x")).collect();
    let many = app.client().post(&named).json_text(json!(many).to_string());
    many.send().await.refused(403, "invalid_signature");
    let signature = sign(&app.drain_secret(&project.id).await, &body);
    let signed = app.client().post(&named).json_text(body.clone()).header("x-vercel-signature", signature);
    assert_eq!(verified(signed.send().await).as_deref(), Some("0123abcd"));
    assert_eq!(app.views().all(&project.id).await, 1);
    let wrong = app.client().post(&named).json_text(body.clone()).header("x-vercel-signature", "00");
    wrong.send().await.refused(403, "invalid_signature");
    for nobody in ["nobody", "No%00body"] {
        let path = format!("/drains/{nobody}/vercel?verify=0123abcd");
        // Nothing tells that there is no such project.
        for call in [app.client().get(&path), app.client().post(&path).json_text(body.clone())] {
            assert_eq!(verified(call.send().await).as_deref(), Some("0123abcd"));
        }
    }
}

fn netlify_line(request: &str, url: &str) -> Value {
    json!({ "log_type": "traffic", "request_id": request, "url": url, "method": "GET", "status_code": 200,
        "timestamp": "2026-03-15T12:00:00Z", "user_agent": CHROME, "client_ip": "192.0.2.1", "content_type": "text/html" })
}

async fn a_netlify_log_is_taken(stage: &Stage) {
    let (app, project) = site(stage).await;
    let secret = app.drain_secret(&project.id).await;
    let path = format!("/drains/{}/netlify", project.id);
    let lines = [
        netlify_line("1", "https://docs.example.com/x"),
        netlify_line("2", "https://other.example.com/x"),
        json!({ "log_type": "functions", "message": "x" }),
    ];
    let list = json!(lines).to_string();
    let ways: [fn(Call, &str) -> Call; 2] = [
        |call, secret| call.header("x-copydesk-secret", secret),
        |call, secret| call.header("authorization", format!("Bearer {secret}")),
    ];
    for way in ways {
        let call = app.client().without_key().post(&path).json_text(list.clone());
        way(call, &secret).send().await.expect(200);
    }
    let call = app.client().post(&format!("{path}?secret={secret}")).json_text(list.clone());
    let answer = call.send().await.expect(200);
    assert_eq!(summary(&answer), json!([0, 1, { "not_a_request": 1, "other_host": 1 }, []]), "for the third time");
    assert_eq!(app.views().of(&project.id, "/x").await, (1, 0));
    for wrong in ["", "x", &secret[..63], &secret.to_uppercase()] {
        let call = app.client().post(&path).json_text(list.clone()).header("x-copydesk-secret", wrong);
        call.send().await.refused(403, "invalid_signature");
    }
    app.client().post(&path).json_text(list).send().await.refused(403, "invalid_signature");
}

async fn a_cloudflare_log_is_taken(stage: &Stage) {
    let (app, project) = site(stage).await;
    let secret = app.drain_secret(&project.id).await;
    let path = format!("/drains/{}/cloudflare", project.id);
    let post = |body: Vec<u8>| app.client().post(&path).header("x-copydesk-secret", &secret).body(body);
    let trial = gzip(br#"{"content":"tests"}"#);
    post(trial.clone()).header("content-encoding", "gzip").send().await.expect(200);
    post(trial.clone()).header("content-type", "application/gzip").send().await.expect(200);
    app.client().post(&path).body(trial).send().await.refused(403, "invalid_signature");
    let line = |ray: &str, host: &str, stamp: Value| {
        json!({ "ClientIP": "192.0.2.1", "ClientRequestHost": host, "ClientRequestMethod": "GET",
            "ClientRequestURI": "/x?y", "ClientRequestUserAgent": CHROME, "EdgeResponseStatus": 200,
            "EdgeStartTimestamp": stamp, "RayID": ray })
        .to_string()
    };
    let lines = [
        line("1", "docs.example.com", json!("2026-03-15T12:00:00Z")),
        line("2", "docs.example.com", json!(NOW)),
        line("3", "docs.example.com", json!(NOW * 1_000_000_000)),
        line("4", "www.example.com", json!(NOW)),
        "{broken".to_owned(),
    ];
    let answer = post(gzip(lines.join("\n").as_bytes())).send().await.expect(200);
    assert_eq!(summary(&answer), json!([3, 0, { "other_host": 1 }, [[4, "invalid_json"]]]));
    let again = post(lines.join("\n").into_bytes()).send().await.expect(200);
    assert_eq!(again["duplicates"], 3, "Logpush sends again what was not answered in time");
    assert_eq!(app.views().of(&project.id, "/x").await, (3, 0));
}

async fn a_secret_is_for_one_project(stage: &Stage) {
    let (app, project) = site(stage).await;
    let other = app.project("Other").await;
    assert_ne!(app.drain_secret(&project.id).await, app.drain_secret(&other.id).await);
    let secret = app.drain_secret(&other.id).await;
    let path = format!("/drains/{}/netlify", project.id);
    let body = json!([netlify_line("1", "https://docs.example.com/x")]);
    app.client()
        .post(&path)
        .json(&body)
        .header("x-copydesk-secret", secret)
        .send()
        .await
        .refused(403, "invalid_signature");
    let nobody = app.client().post("/drains/nobody/netlify").json(&body);
    nobody.header("x-copydesk-secret", "nobodys-secret").send().await.refused(403, "invalid_signature");
}

async fn a_new_secret_is_taken_beside_the_old_one_for_a_day(stage: &Stage) {
    let (app, project) = site(stage).await;
    let senders = &app.app().desk().senders;
    let status = async |secret: &str| {
        let post = app.client().post(&format!("/drains/{}/netlify", project.id)).json(&json!([]));
        post.header("x-copydesk-secret", secret).send().await.status
    };
    let rotate = async |old_taken| senders.rotate(&project.id, Sender::Drain, old_taken).await.unwrap().unwrap();
    assert_eq!(status("guessed before there is one").await, 403);
    let first = app.drain_secret(&project.id).await;
    let second = rotate(OLD_SECRET_TAKEN).await;
    assert_eq!(app.drain_secret(&project.id).await, second, "the new one is shown");
    assert_eq!((status(&first).await, status(&second).await), (200, 200));
    stage.clock.advance(OLD_SECRET_TAKEN);
    assert_eq!((status(&first).await, status(&second).await), (403, 200));
    let third = rotate(Duration::ZERO).await;
    assert_eq!((status(&second).await, status(&third).await), (403, 200), "at once, if so wished");
    assert_eq!(senders.rotate(&"nobody".into(), Sender::Drain, Duration::ZERO).await.unwrap(), None);
}

async fn bodies_are_bounded(stage: &Stage) {
    let (app, project) = site(stage).await;
    let secret = app.drain_secret(&project.id).await;
    let post = |body: Vec<u8>| {
        app.client().post(&format!("/drains/{}/cloudflare", project.id)).header("x-copydesk-secret", &secret).body(body)
    };
    let limit = 16 * 1024 * 1024;
    post(vec![b' '; limit + 1]).send().await.refused(413, "body_too_large");
    post(gzip(&vec![b' '; limit + 1])).send().await.refused(413, "body_too_large");
    post(gzip(&vec![b' '; limit])).send().await.expect(200);
    post(b"{}\n".repeat(200_001)).send().await.refused(413, "body_too_large");
    post(b"[1".to_vec()).send().await.refused(400, "invalid_json");
    post(gzip(b"x")[..5].to_vec()).send().await.refused(400, "invalid_encoding");
    post(b"x".to_vec()).header("content-encoding", "br").send().await.refused(415, "unsupported_media_type");
}

async fn a_store_that_is_down_keeps_nothing(stage: &Stage) {
    let (app, project) = site(stage).await;
    let body = json!([vercel_line("1", "/x")]).to_string();
    app.views().break_down(true);
    vercel(&app, &project.id, body.clone()).await.refused(503, "unavailable");
    app.views().break_down(false);
    assert_eq!(vercel(&app, &project.id, body).await.expect(200)["accepted"], 1);
}

async fn nothing_is_read_of_whom_it_may_not_be_from(stage: &Stage) {
    let (app, project) = site(stage).await;
    let (id, nobodys) = (&project.id, "nobodys-secret");
    for (path, header, status) in [
        (format!("/drains/{id}/vercel"), String::new(), 403),
        (format!("/drains/{id}/vercel"), "x-vercel-signature: 00".to_owned(), 403),
        (format!("/drains/{id}/vercel?verify=1"), "x-vercel-signature: 00".to_owned(), 403),
        (format!("/drains/{id}/vercel?verify=1"), String::new(), 403),
        ("/drains/nobody/vercel?verify=1".to_owned(), String::new(), 403),
        (format!("/drains/{id}/netlify"), String::new(), 403),
        (format!("/drains/{id}/netlify"), format!("x-copydesk-secret: {nobodys}"), 403),
        ("/drains/nobody/netlify".to_owned(), format!("x-copydesk-secret: {nobodys}"), 403),
        (format!("/drains/{id}/cloudflare"), String::new(), 403),
        ("/drains/nobody/cloudflare".to_owned(), format!("x-copydesk-secret: {nobodys}"), 403),
    ] {
        let mut wire = Wire::connect(app.client()).await;
        // The body never comes, so whoever waits for it has no answer.
        let header = if header.is_empty() { header } else { format!("{header}\r\n") };
        let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\n{header}content-length: 1000000\r\n\r\n");
        wire.send(head).await;
        let answer = wire.answer(Method::POST, &path).await;
        assert_eq!(answer.status, status, "{path} {header}: {}", answer.text());
    }
}

async fn strangers_cannot_ask_which_projects_there_are(stage: &Stage) {
    let (app, project) = site(stage).await;
    let secret_but_unknown = app.drain_secret(&project.id).await.replace(|c: char| c.is_ascii_digit(), "0");
    let asked = async |id: &str, drain: &str, header: &str, value: &str| {
        let call = app.client().post(&format!("/drains/{id}/{drain}")).header(header, value).body("[]");
        let answer = call.send().await;
        (answer.status, answer.text().to_owned())
    };
    for (drain, header, value) in [
        ("vercel", "x-vercel-signature", "0".repeat(40)),
        ("vercel?verify=1", "x-vercel-verify", "1".to_owned()),
        ("netlify", "x-copydesk-secret", secret_but_unknown.clone()),
        ("cloudflare", "x-copydesk-secret", secret_but_unknown),
    ] {
        let known = asked(&project.id, drain, header, &value).await;
        for other in ["nobody", "No%20id", "..x"] {
            assert_eq!(asked(other, drain, header, &value).await, known, "{drain} {other}");
        }
    }
    let tried = async |id: &str| {
        let answer = app.client().get(&format!("/drains/{id}/vercel?verify=7")).send().await;
        (answer.status, answer.text().to_owned(), answer.header("x-vercel-verify").map(str::to_owned))
    };
    assert_eq!(tried("nobody").await, tried(&project.id).await);
    let event = async |id: &str| {
        let body = json!({ "n": "pageview", "u": "https://docs.example.com/x", "d": id }).to_string();
        let answer = app.client().post("/api/event").body(body).send().await;
        (answer.status, answer.text().to_owned(), answer.header("x-plausible-dropped").map(str::to_owned))
    };
    assert_eq!(event("nobody").await, event(&project.id).await);
    let long = format!("https://docs.example.com/{}", "x".repeat(3000));
    for id in ["nobody", project.id.as_str()] {
        let body = json!({ "n": "pageview", "u": long, "d": id }).to_string();
        app.client().post("/api/event").body(body).send().await.refused(400, "path_too_long");
    }
}

async fn a_small_packed_body_takes_little_memory(stage: &Stage) {
    // Of which a part is for strangers, and none of these parts is as large as a body may be.
    let app = stage.app_with(|setup| setup.http(|limits| limits.body_memory = 16 * 1024 * 1024)).await;
    let project = app.project("Docs").await;
    let secret = app.drain_secret(&project.id).await;
    let post = |bytes: Vec<u8>| {
        let call = app.client().post(&format!("/drains/{}/cloudflare", project.id));
        call.header("x-copydesk-secret", &secret).header("content-encoding", "gzip").body(bytes)
    };
    post(gzip(br#"{"content":"tests"}"#)).send().await.expect(200);
    post(gzip(&vec![b' '; 10_000_000])).send().await.refused(503, "unavailable");
}

async fn a_body_is_unpacked_once(stage: &Stage) {
    let (app, project) = site(stage).await;
    let secret = app.drain_secret(&project.id).await;
    let body = netlify_line("1", "https://docs.example.com/x").to_string();
    let cloudflare = json!({ "ClientRequestURI": "/x", "EdgeResponseStatus": 200, "EdgeStartTimestamp": NOW });
    for (drain, body) in [("netlify", body), ("cloudflare", cloudflare.to_string())] {
        let path = format!("/drains/{}/{drain}", project.id);
        let post = |body: Vec<u8>| app.client().post(&path).header("x-copydesk-secret", &secret).body(body);
        let (once, twice) = (gzip(body.as_bytes()), gzip(&gzip(body.as_bytes())));
        for wrong in [
            post(twice.clone()),
            post(twice).header("content-encoding", "gzip"),
            post(once.clone()).header("content-encoding", "identity"),
        ] {
            let answer = wrong.send().await.expect(200);
            assert_eq!((&answer["accepted"], &answer["rejected"][0]["code"]), (&json!(0), &json!("invalid_json")));
        }
        assert_eq!(post(once).send().await.expect(200)["accepted"], 1, "{drain}");
    }
}

async fn a_bad_line_costs_no_other(stage: &Stage) {
    let (app, project) = site(stage).await;
    let secret = app.drain_secret(&project.id).await;
    let path = format!("/drains/{}/netlify", project.id);
    let post = |kind: &str, body: Vec<u8>| {
        let call = app.client().post(&path).header("x-copydesk-secret", &secret);
        call.header("content-type", kind).body(body)
    };
    let line = |id: &str| netlify_line(id, "https://docs.example.com./x").to_string().into_bytes();
    let odd = |id: &str| {
        let text = netlify_line(id, "https://docs.example.com/x").to_string();
        let (before, after) = text.split_once("Mozilla").unwrap();
        [before.as_bytes(), b"\xff\x01Mozilla", after.as_bytes()].concat()
    };
    let list = [b"[".to_vec(), line("1"), b",{\"url\":\"\xff\"},7,".to_vec(), odd("2"), b"]".to_vec()].concat();
    let answer = post("application/json", list).send().await.expect(200);
    assert_eq!(summary(&answer), json!([2, 0, {}, [[1, "invalid_json"], [2, "invalid_event"]]]), "{}", answer.text());
    assert_eq!(answer["rejected"][1]["error"], "a line is a JSON object");
    let lines = [b"[1]".to_vec(), line("3"), odd("4")].join(&b'\n');
    let answer = post("application/x-ndjson", lines).send().await.expect(200);
    assert_eq!(summary(&answer), json!([2, 0, {}, [[0, "invalid_event"]]]), "{}", answer.text());
    assert_eq!(app.views().of(&project.id, "/x").await, (4, 0));
}
