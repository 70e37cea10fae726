use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{Response, StatusCode};
use copydesk_domain::{Clock, HostKind, HostSettings, Repository, Timestamp};
use copydesk_forge::{Connection, HostInterface, HostSecret, Hosts, HostsSettings, NewPullRequest};
use serde_json::{Value, json};

/// A moment at which all clocks stand: Sun, 15 Nov 2026 01:34:56 GMT.
pub const NOW: Timestamp = Timestamp::from_millis(1_794_706_496_000);

/// A request as it came in.
#[derive(Debug, Clone)]
pub struct Seen {
    pub method: String,
    /// Path and query, as they were sent.
    pub path: String,
    pub host: String,
    pub authorization: Option<String>,
    pub accept: String,
    pub body: Value,
}

impl Seen {
    pub fn is(&self, method: &str, path: &str) -> bool {
        self.method == method && self.path.split('?').next() == Some(path)
    }

    /// One pair of the query, decoded.
    pub fn query(&self, name: &str) -> Option<String> {
        let url = url::Url::parse(&format!("http://x{}", self.path)).unwrap();
        url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    }
}

/// What to answer.
pub enum Reply {
    /// A status, headers and a body.
    Say(u16, Vec<(&'static str, String)>, String),
    /// Nothing, ever.
    Hang,
    /// The connection breaks.
    Cut,
}

pub fn json_reply(status: u16, body: &Value) -> Reply {
    Reply::Say(status, vec![("content-type", "application/json".to_owned())], body.to_string())
}

pub fn with(mut reply: Reply, name: &'static str, value: impl Into<String>) -> Reply {
    if let Reply::Say(_, headers, _) = &mut reply {
        headers.push((name, value.into()));
    }
    reply
}

/// A server that answers as its script says.
pub struct Server {
    pub url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    /// `script` gets each request and how many came before it.
    pub async fn start(script: impl Fn(&Seen, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (log, script) = (Arc::clone(&seen), Arc::new(script));
        let app = Router::new().fallback(move |request: Request| {
            let (log, script) = (Arc::clone(&log), Arc::clone(&script));
            async move {
                let seen = read(request).await;
                let before = {
                    let mut log = log.lock().unwrap();
                    log.push(seen.clone());
                    log.len() - 1
                };
                answer(script(&seen, before)).await
            }
        });
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, seen, task }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub fn count(&self, method: &str) -> usize {
        self.seen().iter().filter(|seen| seen.method == method).count()
    }

    /// The connection of a project whose repository is here.
    pub fn connect(&self, hosts: &Hosts, kind: HostKind, secret: Option<HostSecret>) -> Connection {
        let repository = Repository::parse(&format!("{}/acme/docs.git", self.url), Path::new("/")).unwrap();
        let api_url = (kind == HostKind::Bitbucket).then(|| format!("{}/2.0", self.url));
        let settings = HostSettings { kind: Some(kind), api_url, ..HostSettings::default() };
        hosts.connect(&repository, &settings, secret).unwrap()
    }

    /// The host of that kind, with a token.
    pub fn host(&self, kind: HostKind) -> Arc<dyn HostInterface> {
        self.connect(&hosts(), kind, token()).interface().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn read(request: Request) -> Seen {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1024 * 1024).await.unwrap();
    let header = |name: &str| parts.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    Seen {
        method: parts.method.to_string(),
        path: parts.uri.to_string(),
        host: header("host").unwrap_or_default(),
        authorization: header("authorization"),
        accept: header("accept").unwrap_or_default(),
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    }
}

async fn answer(reply: Reply) -> Response<Body> {
    match reply {
        Reply::Say(status, headers, body) => {
            let mut response = Response::new(Body::from(body));
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            for (name, value) in headers {
                response.headers_mut().insert(name, value.parse().unwrap());
            }
            response
        }
        Reply::Hang => std::future::pending().await,
        Reply::Cut => {
            let broken = futures_util::stream::iter([Err::<Vec<u8>, _>(std::io::Error::other("cut"))]);
            Response::new(Body::from_stream(broken))
        }
    }
}

/// A clock that is moved by hand.
#[derive(Debug)]
pub struct HandClock(pub Mutex<Timestamp>);

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

/// Quick to try again and not patient.
pub fn settings() -> HostsSettings {
    HostsSettings {
        time_limit: Duration::from_secs(60),
        tries: 3,
        first_pause: Duration::from_millis(1),
        longest_wait: Duration::from_secs(2),
        clock: Arc::new(HandClock(Mutex::new(NOW))),
        ..HostsSettings::default()
    }
}

pub fn hosts() -> Hosts {
    Hosts::new(settings())
}

pub fn token() -> Option<HostSecret> {
    Some(HostSecret::Token { username: None, token: "planted-secret".into() })
}

pub fn new_pull(draft: bool) -> NewPullRequest {
    NewPullRequest {
        head: "copydesk/x".to_owned(),
        base: "main".to_owned(),
        title: "Explain it".to_owned(),
        body: "Because.".to_owned(),
        draft,
    }
}

/// A repository as GitHub shows it.
pub fn github_repository() -> Value {
    json!({ "default_branch": "main", "owner": { "login": "acme" } })
}

/// A pull request as GitHub shows it; `fork` is where its branch is, 1 being the repository itself.
pub fn github_pull(number: u64, state: &str, fork: Option<u64>) -> Value {
    json!({
        "number": number,
        "html_url": format!("https://host.example/acme/docs/pull/{number}"),
        "state": state,
        "draft": false,
        "merged_at": null,
        "node_id": format!("PR_{number}"),
        "head": { "ref": "copydesk/x", "repo": fork.map(|id| json!({ "id": id })) },
        "base": { "ref": "main", "repo": { "id": 1 } },
    })
}
