use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use copydesk_domain::{HostKind, PullRequestState};
use copydesk_forge::ForgeErrorKind;
use serde_json::{Value, json};

use crate::server::{Reply, Seen, Server, github_pull, github_repository, json_reply, new_pull, with};

const PULLS: &str = "/api/v3/repos/acme/docs/pulls";

/// GitHub with these pull requests, which answers a wish for a new one as `post` says.
async fn github(
    list: impl Fn() -> Value + Send + Sync + 'static,
    post: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
) -> Server {
    Server::start(move |seen, _| match seen.method.as_str() {
        "POST" => post(seen),
        _ if seen.is("GET", PULLS) => json_reply(200, &list()),
        _ => json_reply(200, &github_repository()),
    })
    .await
}

#[tokio::test]
async fn a_wish_whose_end_is_unclear_is_not_made_twice() {
    static IS_OPEN: AtomicBool = AtomicBool::new(false);
    let list = || if IS_OPEN.load(SeqCst) { json!([github_pull(3, "open", Some(1))]) } else { json!([]) };
    let server = github(list, |_| {
        IS_OPEN.store(true, SeqCst);
        Reply::Cut
    })
    .await;
    let pull = server.host(HostKind::Github).open(&new_pull(false)).await.unwrap();
    assert_eq!(pull.number, 3);
    assert_eq!(server.count("POST"), 1);
}

#[tokio::test]
async fn a_wish_that_was_surely_not_granted_is_made_again() {
    static ONCE: AtomicBool = AtomicBool::new(false);
    let server = github(
        || json!([]),
        |_| match ONCE.swap(true, SeqCst) {
            false => json_reply(502, &json!({})),
            true => json_reply(201, &github_pull(3, "open", Some(1))),
        },
    )
    .await;
    assert_eq!(server.host(HostKind::Github).open(&new_pull(false)).await.unwrap().number, 3);
    let methods: Vec<String> = server.seen().into_iter().map(|seen| seen.method).collect();
    assert_eq!(methods, ["POST", "GET", "GET", "POST"]);
}

#[tokio::test]
async fn one_that_is_there_already_is_given() {
    let exists = json!({
        "message": "Validation Failed",
        "errors": [{ "resource": "PullRequest", "code": "custom", "message": "A pull request already exists for acme:copydesk/x." }],
    });
    let server = github(|| json!([github_pull(9, "open", Some(1))]), move |_| json_reply(422, &exists)).await;
    assert_eq!(server.host(HostKind::Github).open(&new_pull(false)).await.unwrap().number, 9);
}

#[tokio::test]
async fn a_plan_without_drafts_gets_a_pull_request_that_is_none() {
    let server = github(
        || json!([]),
        |seen| match seen.body["draft"] == true {
            true => json_reply(422, &json!({ "message": "Draft pull requests are not supported in this repository." })),
            false => json_reply(201, &github_pull(3, "open", Some(1))),
        },
    )
    .await;
    let pull = server.host(HostKind::Github).open(&new_pull(true)).await.unwrap();
    assert!(!pull.draft);
    assert_eq!(server.count("POST"), 2);
}

#[tokio::test]
async fn refusals_become_sentences() {
    let field = |name: &str| json!({ "message": "Validation Failed", "errors": [{ "resource": "PullRequest", "field": name, "code": "invalid" }] });
    let said = |words: &str| json!({ "message": "Validation Failed", "errors": [{ "message": words }] });
    for (status, body, trouble, words) in [
        (422, said("No commits between main and copydesk/x"), ForgeErrorKind::Lasting, "there is nothing to merge"),
        (422, field("base"), ForgeErrorKind::Lasting, "no branch `main` to merge into"),
        (422, field("head"), ForgeErrorKind::Passing, "does not find the branch `copydesk/x`"),
        (422, said("title planted-secret"), ForgeErrorKind::Lasting, "it says: Validation Failed; title …"),
        (
            403,
            json!({ "message": "Resource not accessible by personal access token" }),
            ForgeErrorKind::Lasting,
            "`Pull requests: read and write`",
        ),
        (401, json!({ "message": "Bad credentials" }), ForgeErrorKind::Lasting, "wrong, expired or revoked"),
    ] {
        let server = github(|| json!([]), move |_| json_reply(status, &body)).await;
        let error = server.host(HostKind::Github).open(&new_pull(false)).await.unwrap_err();
        assert_eq!(error.kind, trouble, "{error}");
        assert!(error.message.contains(words), "{error}");
        assert_eq!(server.count("POST"), 1, "{error}");
    }
}

#[tokio::test]
async fn only_the_repository_itself_is_looked_in_page_by_page() {
    let server = Server::start(|seen, _| {
        if !seen.is("GET", PULLS) {
            return json_reply(200, &github_repository());
        }
        if seen.query("page").as_deref() == Some("2") {
            let mut merged = github_pull(5, "closed", Some(1));
            merged["merged_at"] = json!("2026-11-14T10:00:00Z");
            return json_reply(200, &json!([github_pull(6, "open", None), merged, github_pull(4, "open", Some(1))]));
        }
        let next = format!("<http://{}{}&page=2>; rel=\"next\"", seen.host, seen.path);
        with(json_reply(200, &json!([github_pull(8, "open", Some(77))])), "link", next)
    })
    .await;
    let pull = server.host(HostKind::Github).find("copydesk/x").await.unwrap().unwrap();
    assert_eq!((pull.number, pull.state), (5, PullRequestState::Merged));
    assert_eq!(pull.merged_at.unwrap().to_string(), "2026-11-14T10:00:00.000Z");
    let asked = server.seen().into_iter().find(|seen| seen.is("GET", PULLS)).unwrap();
    assert_eq!(asked.query("head").as_deref(), Some("acme:copydesk/x"));
    assert_eq!(asked.query("state").as_deref(), Some("all"));
}

#[tokio::test]
async fn pages_end_some_time() {
    let server = Server::start(|seen, _| {
        let next = format!("<http://{}{}>; rel=\"next\"", seen.host, seen.path);
        with(json_reply(200, &json!([])), "link", next)
    })
    .await;
    assert_eq!(server.host(HostKind::Gitlab).find("copydesk/x").await.unwrap(), None);
    assert_eq!(server.count("GET"), 20);
}

#[tokio::test]
async fn a_draft_is_made_one_and_back_through_the_other_interface() {
    let server = Server::start(|seen, _| match seen.method.as_str() {
        "PATCH" => json_reply(200, &github_pull(3, "open", Some(1))),
        _ => json_reply(200, &json!({ "data": {} })),
    })
    .await;
    let host = server.host(HostKind::Github);
    assert!(host.update(3, &new_pull(true)).await.unwrap().draft);
    assert!(!host.update(3, &new_pull(false)).await.unwrap().draft);
    let seen = server.seen();
    assert_eq!(seen.len(), 3);
    assert!(seen[0].is("PATCH", "/api/v3/repos/acme/docs/pulls/3"));
    assert_eq!(seen[0].body, json!({ "title": "Explain it", "body": "Because." }));
    assert!(seen[1].is("POST", "/api/graphql"));
    assert_eq!(seen[1].body["variables"]["id"], "PR_3");
    assert!(seen[1].body["query"].as_str().unwrap().contains("convertPullRequestToDraft"));
}
