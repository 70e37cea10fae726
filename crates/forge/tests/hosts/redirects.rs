use copydesk_domain::HostKind;
use copydesk_forge::ForgeErrorKind;
use serde_json::json;

use crate::server::{Reply, Server, github_pull, github_repository, json_reply, new_pull, with};

fn lead(status: u16, to: impl Into<String>) -> Reply {
    with(json_reply(status, &json!({ "message": "Moved Permanently" })), "location", to)
}

#[tokio::test]
async fn a_repository_with_a_new_name_is_followed_with_method_body_and_query() {
    let server = Server::start(|seen, _| {
        if let Some(rest) = seen.path.strip_prefix("/api/v3/repos/acme/docs/pulls") {
            let status = if seen.method == "POST" { 307 } else { 301 };
            // Without the query: it is ours to keep.
            return lead(status, format!("/api/v3/repositories/1/pulls{}", rest.split('?').next().unwrap()));
        }
        match seen.method.as_str() {
            "POST" => json_reply(201, &github_pull(4, "open", Some(1))),
            "GET" if seen.path.contains("/pulls") => json_reply(200, &json!([github_pull(4, "open", Some(1))])),
            _ => json_reply(200, &github_repository()),
        }
    })
    .await;
    let host = server.host(HostKind::Github);
    assert_eq!(host.open(&new_pull(true)).await.unwrap().number, 4);
    assert_eq!(host.find("copydesk/x").await.unwrap().unwrap().number, 4);
    let seen = server.seen();
    let posted = seen.iter().find(|seen| seen.is("POST", "/api/v3/repositories/1/pulls")).unwrap();
    assert_eq!(posted.body["head"], "copydesk/x");
    assert_eq!(posted.authorization.as_deref(), Some("Bearer planted-secret"));
    let found = seen.iter().find(|seen| seen.is("GET", "/api/v3/repositories/1/pulls")).unwrap();
    assert_eq!(found.query("head").as_deref(), Some("acme:copydesk/x"));
}

#[tokio::test]
async fn nobody_is_led_to_another_origin() {
    let thief = Server::start(|_, _| json_reply(200, &github_repository())).await;
    let to = format!("{}/api/v3/repos/acme/docs", thief.url);
    for status in [301, 302, 307, 308] {
        let to = to.clone();
        let server = Server::start(move |_, _| lead(status, to.clone())).await;
        let error = server.host(HostKind::Github).default_branch().await.unwrap_err();
        assert_eq!(error.kind, ForgeErrorKind::Lasting);
        assert!(error.message.contains("set the repository's new address"), "{error}");
        assert_eq!(server.count("GET"), 1);
    }
    assert!(thief.seen().is_empty());
}

#[tokio::test]
async fn nor_to_another_origin_for_the_next_page() {
    let thief = Server::start(|_, _| json_reply(200, &json!([]))).await;
    let next = format!("<{}/elsewhere?page=2>; rel=\"next\"", thief.url);
    let server = Server::start(move |seen, _| match seen.query("page") {
        None => with(json_reply(200, &json!([])), "link", next.clone()),
        Some(_) => json_reply(200, &json!([github_pull(4, "open", Some(1))])),
    })
    .await;
    // A host behind another does not know its own name; the page is asked for where the list is.
    assert!(server.host(HostKind::Gitlab).find("copydesk/x").await.is_err());
    assert_eq!(server.seen()[1].path, "/api/v4/projects/acme%2Fdocs/merge_requests?page=2");
    assert!(thief.seen().is_empty());
}

#[tokio::test]
async fn circles_end() {
    let server = Server::start(|seen, _| lead(302, seen.path.clone())).await;
    let error = server.host(HostKind::Github).default_branch().await.unwrap_err();
    assert!(error.message.contains("leads in circles"), "{error}");
    assert_eq!(server.count("GET"), 4);
    let nowhere = Server::start(|_, _| json_reply(301, &json!({}))).await;
    assert!(nowhere.host(HostKind::Github).default_branch().await.is_err());
}
