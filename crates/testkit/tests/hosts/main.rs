//! The fakes of code hosts themselves: they must be as strict as the real ones, or they prove nothing.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop at once")]

mod app;
mod git;
mod hooks;
mod life;
mod people;
mod servers;
mod strict;
mod talk;
mod told;

use std::sync::Arc;

use copydesk_domain::HostKind;
use copydesk_testkit::hosts::{FakeHost, Holder, Rights};
use copydesk_testkit::{GitEntry, GitRepo};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;

/// Every kind that there is a fake of.
const KINDS: [HostKind; 4] = [HostKind::Github, HostKind::Gitlab, HostKind::Forgejo, HostKind::Bitbucket];

/// A host with the repository `acme/docs`, in which `feature` is one commit ahead of `main` and `same` none.
async fn host(kind: HostKind) -> (FakeHost, Arc<GitRepo>) {
    let host = FakeHost::start(kind).await;
    let git = GitRepo::new([("index.md", "# Docs\n")]);
    git.git(&["branch", "same", "main"]);
    git.git(&["branch", "feature", "main"]);
    git.commit("feature", "Write more", [("more.md".to_owned(), GitEntry::File(b"# More\n".to_vec()))]);
    let git = host.add("acme/docs", git);
    (host, git)
}

/// A token as the host wants it for its interface.
fn token(host: &FakeHost, rights: Rights) -> String {
    match host.kind() {
        HostKind::Bitbucket => host.token_of(Holder::Repository, rights),
        _ => host.token(rights),
    }
}

/// A request that a proper client would make.
fn request(host: &FakeHost, token: &str, method: Method, path: &str) -> RequestBuilder {
    let request = reqwest::Client::new().request(method, format!("{}{path}", host.api_url()));
    let request = request.header("user-agent", "copydesk-test").header("accept", "application/vnd.github+json");
    match host.kind() {
        HostKind::Gitlab => request.header("private-token", token),
        _ => request.bearer_auth(token),
    }
}

async fn json(answer: Response) -> (u16, Value) {
    let status = answer.status().as_u16();
    let text = answer.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

/// The path of the repository's pull requests, and the body that opens one from `head` to `base`.
fn opening(kind: HostKind, head: &str, base: &str) -> (&'static str, Value) {
    match kind {
        HostKind::Gitlab => (
            "/projects/acme%2Fdocs/merge_requests",
            serde_json::json!({ "source_branch": head, "target_branch": base, "title": "Say more" }),
        ),
        HostKind::Bitbucket => (
            "/repositories/acme/docs/pullrequests",
            serde_json::json!({
                "title": "Say more", "source": { "branch": { "name": head } },
                "destination": { "branch": { "name": base } },
            }),
        ),
        _ => ("/repos/acme/docs/pulls", serde_json::json!({ "head": head, "base": base, "title": "Say more" })),
    }
}

/// A host on which the pull request 1 is open, by whom the token belongs to.
async fn host_with_pull(kind: HostKind) -> (FakeHost, String) {
    let (host, _) = host(kind).await;
    let token = token(&host, Rights::ALL);
    let (path, body) = opening(kind, "feature", "main");
    let answer = request(&host, &token, Method::POST, path).json(&body).send().await.unwrap();
    assert_eq!(answer.status(), 201, "{kind:?}");
    (host, token)
}

/// What a host answers to a request without a body.
async fn get(host: &FakeHost, token: &str, path: &str) -> (u16, Value) {
    json(request(host, token, Method::GET, path).send().await.unwrap()).await
}

/// What a host answers to a request with this body.
async fn post(host: &FakeHost, token: &str, path: &str, body: &Value) -> (u16, Value) {
    json(request(host, token, Method::POST, path).json(body).send().await.unwrap()).await
}
