//! The requests of the clients, held against the hosts' own published descriptions: `scripts/check-hosts` starts Prism with
//! each of them and says where it is.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop at once")]

use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use copydesk_domain::{HostKind, HostSettings, Person, Repository};
use copydesk_forge::{HostInterface, HostSecret, Hosts, HostsSettings, NewPullRequest, Place};
use copydesk_testkit::GitRepo;
use copydesk_testkit::hosts::{FakeHost, Rights};
use serde_json::{Value, json};

/// What went to Prism: the request, and what Prism has against it.
type Record = Arc<Mutex<Vec<(String, Option<String>)>>>;

struct Middle {
    prism: String,
    record: Record,
    /// What some requests are answered instead of what Prism makes up: without it nothing more would be asked.
    answers: Vec<(&'static str, Value)>,
}

/// Hands a request on to Prism and remembers what it says.
async fn hand_on(State(middle): State<Arc<Middle>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1024 * 1024).await.unwrap();
    let target = head.uri.path_and_query().unwrap().as_str();
    let mut asked = reqwest::Client::new().request(head.method.clone(), format!("{}{target}", middle.prism)).body(body);
    // Prism knows GitHub's own media type no better than the description does.
    let ours = ["host", "content-length", "accept"];
    for (name, value) in head.headers.iter().filter(|(name, _)| !ours.contains(&name.as_str())) {
        asked = asked.header(name, value);
    }
    asked = asked.header("accept", "application/json");
    let answer = asked.send().await.unwrap();
    let (status, headers) = (answer.status(), answer.headers().clone());
    let kind = headers.get("content-type").map_or("", |value| value.to_str().unwrap()).to_owned();
    let said = headers.get("sl-violations").map_or("", |value| value.to_str().unwrap()).to_owned();
    let body = answer.bytes().await.unwrap();
    let problem = match kind.contains("problem+json") {
        true => Some(String::from_utf8_lossy(&body).into_owned()),
        false => about_request(&said).then_some(said),
    };
    let request = format!("{} {}", head.method, head.uri.path());
    let answer = middle.answers.iter().find(|(to, _)| *to == request).map(|(_, answer)| answer.clone());
    middle.record.lock().unwrap().push((request, problem));
    if let Some(answer) = answer {
        return axum::Json(answer).into_response();
    }
    (status, [("content-type", kind)], body).into_response()
}

/// Whether Prism has something against the request; its own examples it finds wrong, too.
fn about_request(said: &str) -> bool {
    let said: Value = serde_json::from_str(said).unwrap_or_default();
    said.as_array().is_some_and(|all| all.iter().any(|one| one["location"][0] == "request"))
}

/// A door before the Prism that the script has started.
async fn door(variable: &str, answers: Vec<(&'static str, Value)>) -> (String, Record) {
    let prism = std::env::var(variable).unwrap_or_else(|_| panic!("{variable} must say where Prism is"));
    let record = Record::default();
    let middle = Arc::new(Middle { prism, record: record.clone(), answers });
    let app = axum::Router::new().fallback(hand_on).with_state(middle);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    (address, record)
}

fn client(git: &FakeHost, api_url: &str, secret: HostSecret) -> Arc<dyn HostInterface> {
    let settings = HostsSettings { tries: 1, ..HostsSettings::default() };
    let repository = Repository::parse(&git.address("acme/docs"), Path::new("/")).unwrap();
    let about = HostSettings { kind: Some(git.kind()), api_url: Some(api_url.to_owned()), ..HostSettings::default() };
    Hosts::new(settings).connect(&repository, &about, Some(secret)).unwrap().interface().unwrap()
}

/// Makes every request that a client makes. What comes of it is up to the examples in the description.
async fn ask_everything(client: &dyn HostInterface) {
    let new = NewPullRequest {
        head: "docs/more".to_owned(),
        base: "main".to_owned(),
        title: "Say more".to_owned(),
        body: "About *this*.".to_owned(),
        draft: false,
    };
    let _ = client.default_branch().await;
    let _ = client.find("docs/more").await;
    let _ = client.open(&new).await;
    let _ = client.open(&NewPullRequest { draft: true, ..new.clone() }).await;
    let _ = client.update(7, &new).await;
    let _ = client.read(7).await;
    let _ = client.abilities(true).await;
    let ada = Person { id: "ada".to_owned(), name: "ada".to_owned() };
    let _ = client.comment(7, 8).await;
    let _ = client.review(7, 8).await;
    let _ = client.reviews(7).await;
    let _ = client.issue(3).await;
    let _ = client.may_write(&ada).await;
    let _ = client.reply(Place::Pull(7), "[//]: # \"a mark\"", "Done.").await;
    let _ = client.furnish(7, &["docs".to_owned()], &["ada".to_owned(), "acme/writers".to_owned()]).await;
}

/// What is asked about comments, reviews, issues and rights. Gitea's interface is made like GitHub's.
const TALK: [&str; 8] = [
    "GET /repos/acme/docs/issues/comments/8",
    "GET /repos/acme/docs/pulls/7/reviews/8",
    "GET /repos/acme/docs/pulls/7/reviews/8/comments",
    "GET /repos/acme/docs/pulls/7/reviews",
    "GET /repos/acme/docs/issues/3",
    "GET /repos/acme/docs/collaborators/ada/permission",
    "GET /repos/acme/docs/issues/7/comments",
    "POST /repos/acme/docs/issues/7/comments",
];

/// Fails if Prism had anything against a request, or one of these was not made; or has nothing against nonsense.
async fn judge(api: &str, record: &Record, expected: &[&str], talk: &[&str]) {
    let open = expected.iter().find_map(|request| request.strip_prefix("POST ")).unwrap();
    let nonsense = json!({ "title": { "colour": "red" }, "body": 1, "description": 1, "content": 1 });
    let made = std::mem::take(&mut *record.lock().unwrap());
    let asked = reqwest::Client::new().post(format!("{api}{open}")).bearer_auth("x").json(&nonsense);
    asked.send().await.unwrap();
    assert!(record.lock().unwrap()[0].1.is_some(), "Prism takes nonsense");
    let record = made;
    for (request, problem) in record.iter() {
        assert_eq!(problem.as_deref(), None, "{request} is not as described");
    }
    for request in expected.iter().chain(talk) {
        assert!(record.iter().any(|(made, _)| made == request), "{request} was not made: {record:?}");
    }
}

/// A host that serves the repository to git, which no description is about.
async fn git(kind: HostKind) -> FakeHost {
    let host = FakeHost::start(kind).await;
    host.add("acme/docs", GitRepo::new([("index.md", "# Docs\n")]));
    host
}

fn token() -> HostSecret {
    HostSecret::Token { username: None, token: "0123456789abcdef0123456789abcdef01234567".into() }
}

#[tokio::test]
#[ignore = "needs Prism; scripts/check-hosts runs it"]
async fn github() {
    let (api, record) = door("COPYDESK_PRISM_GITHUB", Vec::new()).await;
    let host = git(HostKind::Github).await;
    ask_everything(&*client(&host, &api, token())).await;
    let app = host.app(&["acme/docs"], Rights::ALL);
    let (app_id, private_key) = (app.id.to_string(), app.private_key);
    let secret = HostSecret::GithubApp { app_id, installation_id: None, private_key: private_key.into() };
    let _ = client(&host, &api, secret).default_branch().await;
    let installation = {
        // The id of the installation is the one of the description's example.
        let record = record.lock().unwrap();
        let of_tokens = |(request, _): &(String, _)| request.ends_with("/access_tokens").then(|| request.clone());
        record.iter().find_map(of_tokens).expect("a token was asked for")
    };
    judge(
        &api,
        &record,
        &[
            "GET /repos/acme/docs",
            "GET /repos/acme/docs/pulls",
            "POST /repos/acme/docs/pulls",
            "PATCH /repos/acme/docs/pulls/7",
            "GET /repos/acme/docs/pulls/7",
            "POST /repos/acme/docs/issues/7/labels",
            "POST /repos/acme/docs/pulls/7/requested_reviewers",
            "GET /repos/acme/docs/installation",
            &installation,
        ],
        &TALK,
    )
    .await;
}

#[tokio::test]
#[ignore = "needs Prism; scripts/check-hosts runs it"]
async fn gitea() {
    let user = json!({ "login": "ada" });
    let review = json!({ "id": 8, "user": user, "state": "COMMENT", "comments_count": 1, "html_url": "http://x" });
    let answers = vec![
        ("GET /repos/acme/docs/pulls/7/reviews/8", review),
        ("GET /repos/acme/docs/issues/7/comments", json!([])),
        ("GET /repos/acme/docs/labels", json!([{ "id": 1, "name": "docs" }])),
    ];
    let (api, record) = door("COPYDESK_PRISM_GITEA", answers).await;
    let host = git(HostKind::Forgejo).await;
    ask_everything(&*client(&host, &api, token())).await;
    judge(
        &api,
        &record,
        &[
            "GET /repos/acme/docs",
            "GET /repos/acme/docs/pulls",
            "POST /repos/acme/docs/pulls",
            "PATCH /repos/acme/docs/pulls/7",
            "GET /repos/acme/docs/pulls/7",
            "GET /repos/acme/docs/labels",
            "POST /repos/acme/docs/issues/7/labels",
            "POST /repos/acme/docs/pulls/7/requested_reviewers",
        ],
        &TALK,
    )
    .await;
}

#[tokio::test]
#[ignore = "needs Prism; scripts/check-hosts runs it"]
async fn bitbucket() {
    let answers = vec![
        ("GET /repositories/acme/docs/pullrequests/7", json!({ "id": 7, "title": "Say more", "reviewers": [] })),
        ("GET /repositories/acme/docs/pullrequests/7/comments", json!({ "values": [] })),
    ];
    let (api, record) = door("COPYDESK_PRISM_BITBUCKET", answers).await;
    let host = git(HostKind::Bitbucket).await;
    ask_everything(&*client(&host, &api, token())).await;
    judge(
        &api,
        &record,
        &[
            "GET /repositories/acme/docs",
            "GET /repositories/acme/docs/pullrequests",
            "POST /repositories/acme/docs/pullrequests",
            "PUT /repositories/acme/docs/pullrequests/7",
            "GET /repositories/acme/docs/pullrequests/7",
            "GET /repositories/acme/docs/pullrequests/7/comments/8",
            "GET /repositories/acme/docs/permissions-config/users/ada",
            "GET /repositories/acme/docs/pullrequests/7/comments",
            "POST /repositories/acme/docs/pullrequests/7/comments",
        ],
        &[],
    )
    .await;
}
