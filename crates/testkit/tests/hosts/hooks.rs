use std::sync::{Arc, Mutex};

use aws_lc_rs::hmac;
use axum::http::HeaderMap;
use copydesk_domain::HostKind;
use copydesk_testkit::hosts::Rights;
use reqwest::Method;
use serde_json::Value;

use super::{KINDS, host, opening, request, token};

type Received = Arc<Mutex<Vec<(HeaderMap, String)>>>;

/// A receiver that keeps what it gets.
async fn receiver() -> (String, Received) {
    let received = Received::default();
    let keep = received.clone();
    let take = async move |headers: HeaderMap, body: String| keep.lock().unwrap().push((headers, body));
    let app = axum::Router::new().route("/hook", axum::routing::post(take));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    (address, received)
}

#[tokio::test]
async fn merges_are_told_and_signed() {
    for kind in KINDS {
        let (address, received) = receiver().await;
        let (host, _) = host(kind).await;
        host.hook("acme/docs", &address, "planted");
        let token = token(&host, Rights::ALL);
        let (path, body) = opening(kind, "feature", "main");
        request(&host, &token, Method::POST, path).json(&body).send().await.unwrap();
        assert_eq!(host.merge("acme/docs", 1).await, [Some(200)]);
        let (headers, body) = received.lock().unwrap().remove(0);
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"planted");
        let digits: String =
            hmac::sign(&key, body.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let shown = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        let event: Value = serde_json::from_str(&body).unwrap();
        let (proof, merged) = match kind {
            HostKind::Github => (
                shown("x-hub-signature-256") == Some(format!("sha256={digits}")),
                event["action"] == "closed" && event["pull_request"]["merged"] == true,
            ),
            HostKind::Gitlab => (
                shown("x-gitlab-token").as_deref() == Some("planted"),
                event["object_attributes"]["action"] == "merge" && event["object_attributes"]["iid"] == 1,
            ),
            HostKind::Forgejo => (
                shown("x-gitea-signature") == Some(digits.clone()) && shown("x-forgejo-signature") == Some(digits),
                event["action"] == "closed" && event["pull_request"]["merged"] == true,
            ),
            _ => (
                shown("x-hub-signature") == Some(format!("sha256={digits}")),
                shown("x-event-key").as_deref() == Some("pullrequest:fulfilled")
                    && event["pullrequest"]["state"] == "MERGED",
            ),
        };
        assert!(proof, "{kind:?} {headers:?}");
        assert!(merged, "{kind:?} {event}");
    }
}
