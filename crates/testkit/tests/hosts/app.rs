use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use copydesk_domain::{Clock, HostKind, SystemClock};
use copydesk_testkit::hosts::{FakeApp, FakeHost, Rights};
use reqwest::Method;
use serde_json::{Value, json};

use super::{host, json, request};

/// What an App shows of itself, signed with its key.
fn word(app: &FakeApp, issuer: &Value, issued: i64, lasts: i64) -> String {
    let now = SystemClock.now().as_millis() / 1000;
    let encode = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let head = encode(json!({ "typ": "JWT", "alg": "RS256" }));
    let claims = encode(json!({ "iss": issuer, "iat": now + issued, "exp": now + issued + lasts }));
    let signed = format!("{head}.{claims}");
    let lines: String = app.private_key.lines().filter(|line| !line.starts_with('-')).collect();
    let pair = RsaKeyPair::from_der(&STANDARD.decode(lines).unwrap()).unwrap();
    let mut signature = vec![0; pair.public_modulus_len()];
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature).unwrap();
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

async fn installation(host: &FakeHost, word: &str) -> (u16, Value) {
    json(request(host, word, Method::GET, "/repos/acme/docs/installation").send().await.unwrap()).await
}

async fn access(host: &FakeHost, app: &FakeApp, word: &str, body: &Value) -> (u16, Value) {
    let path = format!("/app/installations/{}/access_tokens", app.installation);
    json(request(host, word, Method::POST, &path).json(body).send().await.unwrap()).await
}

#[tokio::test]
async fn an_app_gets_a_token_for_one_repository() {
    let (host, _) = host(HostKind::Github).await;
    host.make_private("acme/docs");
    let app = host.app(&["acme/docs"], Rights::ALL);
    let word = word(&app, &json!(app.client_id), -60, 600);
    let (status, found) = installation(&host, &word).await;
    assert_eq!((status, &found["id"]), (200, &json!(app.installation)), "{found}");
    let narrow = json!({ "repositories": ["docs"], "permissions": { "contents": "write", "pull_requests": "read" } });
    let (status, given) = access(&host, &app, &word, &narrow).await;
    assert_eq!((status, &given["permissions"]["metadata"]), (201, &json!("read")), "{given}");
    let token = given["token"].as_str().unwrap();
    let (path, body) = super::opening(HostKind::Github, "feature", "main");
    assert_eq!(request(&host, token, Method::GET, path).send().await.unwrap().status(), 200);
    let (status, said) = json(request(&host, token, Method::POST, path).json(&body).send().await.unwrap()).await;
    assert_eq!((status, &said["message"]), (403, &json!("Resource not accessible by integration")));
    // It is no person.
    assert_eq!(request(&host, token, Method::GET, "/user").send().await.unwrap().status(), 403);
    let (status, said) = access(&host, &app, &word, &json!({ "repositories": ["other"] })).await;
    assert_eq!(status, 422, "{said}");
    host.assert_clean();
    access(&host, &app, &word, &json!({})).await;
    assert!(host.take_violations()[0].contains("not narrowed down"));
}

#[tokio::test]
async fn signed_words_hold_for_ten_minutes_and_only_with_the_right_key() {
    let (host, _) = host(HostKind::Github).await;
    let (app, other) = (host.app(&["acme/docs"], Rights::ALL), host.app(&["acme/docs"], Rights::ALL));
    let id = json!(app.id);
    for (word, status, words) in [
        (word(&app, &id, -60, 600), 200, ""),
        (word(&other, &id, -60, 600), 401, "could not be decoded"),
        (word(&app, &id, -60, 700), 401, "is too far in the future"),
        (word(&app, &id, -700, 600), 401, "the future time at which the assertion expires"),
        (word(&app, &id, 120, 300), 401, "the time that the assertion was issued"),
        (word(&app, &json!(17), -60, 600), 404, "Integration not found"),
        ("a.b.c".to_owned(), 401, "could not be decoded"),
    ] {
        let (is, said) = installation(&host, &word).await;
        assert_eq!(is, status, "{said}");
        assert!(said.to_string().contains(words), "{said}");
    }
    host.skew(-3600);
    let answer = request(&host, &word(&app, &id, -60, 600), Method::GET, "/app").send().await.unwrap();
    let date = answer.headers()["date"].to_str().unwrap().to_owned();
    assert_eq!(answer.status(), 401, "by its clock the word ends too late");
    let theirs = jiff::fmt::rfc2822::parse(&date).unwrap().timestamp().as_second();
    let behind = SystemClock.now().as_millis() / 1000 - theirs;
    assert!((3590..3700).contains(&behind), "{date}");
    host.skew(0);
    host.suspend(&app);
    let (status, said) = access(&host, &app, &word(&app, &id, -60, 600), &json!({ "repositories": ["docs"] })).await;
    assert_eq!((status, said["message"].as_str()), (403, Some("This installation has been suspended")));
}

#[tokio::test]
async fn an_app_needs_a_permission_for_issues_and_a_token_that_asks_for_it() {
    let (host, _) = host(HostKind::Github).await;
    host.make_private("acme/docs");
    let issue = host.issue("acme/docs", "mona", "It is wrong", "");
    let path = format!("/repos/acme/docs/issues/{issue}");
    let without = json!({ "repositories": ["docs"], "permissions": { "contents": "write", "pull_requests": "write" } });
    let mut with = without.clone();
    with["permissions"]["issues"] = json!("write");

    let older = host.app(&["acme/docs"], Rights { issues: false, ..Rights::ALL });
    let signed = word(&older, &json!(older.id), -60, 600);
    // What was not granted cannot be asked for: there is no token at all.
    assert_eq!(access(&host, &older, &signed, &with).await.0, 422);
    let (_, given) = access(&host, &older, &signed, &without).await;
    assert_eq!(super::get(&host, given["token"].as_str().unwrap(), &path).await.0, 403);

    let app = host.app(&["acme/docs"], Rights::ALL);
    let signed = word(&app, &json!(app.id), -60, 600);
    let (_, given) = access(&host, &app, &signed, &with).await;
    let token = given["token"].as_str().unwrap();
    assert_eq!(super::get(&host, token, &path).await.0, 200);
    let (status, said) = super::post(&host, token, &format!("{path}/comments"), &json!({ "body": "Seen." })).await;
    assert_eq!((status, &said["user"]["type"]), (201, &json!("Bot")), "{said}");
    // It may ask what people may do.
    let (status, mona) = super::get(&host, token, "/repos/acme/docs/collaborators/mona/permission").await;
    assert_eq!((status, &mona["permission"]), (200, &json!("none")));
    host.assert_clean();
}
