//! A client of a Copydesk server.

use std::ffi::OsString;
use std::time::Duration;

use copydesk_agent::cause_of;
use copydesk_domain::ApiKey;
use reqwest::redirect::Policy;
use reqwest::{Method, StatusCode};
use serde_json::Value;
use url::Url;

use crate::args::{ServerFlags, needed};
use crate::failure::Failure;
use crate::output::printable;

/// How often a request is sent again when the server cannot be reached or says to come back.
const TRIES: u32 = 5;

/// The two halves of the interface.
const JOBS: [&str; 2] = ["v2", "agent"];
const VIEWS: [&str; 2] = ["v1", "analytics"];

pub(crate) struct Client {
    http: reqwest::Client,
    /// Ends with a slash.
    base: Url,
    key: ApiKey,
    project: String,
}

/// A request below the project.
pub(crate) struct Request<'a> {
    pub(crate) method: Method,
    pub(crate) area: [&'a str; 2],
    pub(crate) path: &'a [&'a str],
    pub(crate) query: &'a [(&'a str, &'a str)],
    pub(crate) body: Option<&'a Value>,
    pub(crate) header: Option<(&'a str, &'a str)>,
    pub(crate) accept: &'a str,
}

impl Client {
    /// The server of the flags, else that of the environment, else the one that is configured on this machine; with the key
    /// of the environment.
    pub(crate) fn new(
        flags: &ServerFlags,
        environment: &[(OsString, OsString)],
        configured: impl FnOnce() -> Result<String, Failure>,
    ) -> Result<Self, Failure> {
        let url = flags.url.clone().or_else(|| variable(environment, "COPYDESK_URL"));
        let project = needed(flags.project.clone().or_else(|| project(environment)))?;
        let key = key(environment, "`copydesk key create --project ID` makes one")?;
        Self::connect(&url.map_or_else(configured, Ok)?, key, project)
    }

    pub(crate) fn connect(url: &str, key: ApiKey, project: String) -> Result<Self, Failure> {
        let base = base(url)?;
        // A redirect could carry the key elsewhere.
        let builder = reqwest::Client::builder().timeout(Duration::from_secs(60)).redirect(Policy::none());
        Ok(Self { http: build(builder, base.scheme() == "http")?, base, key, project })
    }

    /// A command line that goes to the same server and project, whatever the environment says of them; only the key is taken
    /// from there.
    pub(crate) fn command_line(&self, words: &[&str]) -> String {
        let base = self.base.as_str().trim_end_matches('/');
        let place = ["--project", &self.project, "--url", base];
        let words = ["copydesk"].iter().chain(words).chain(&place).map(|word| shell_word(word));
        words.collect::<Vec<_>>().join(" ")
    }

    pub(crate) async fn get(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Value, Failure> {
        self.send(Method::GET, JOBS, path, query, None, None).await
    }

    /// The project's page views.
    pub(crate) async fn views(&self) -> Result<Value, Failure> {
        self.send(Method::GET, VIEWS, &["views"], &[], None, None).await
    }

    /// Sends events with ids, so that sending them again does no harm.
    pub(crate) async fn send_events(&self, events: &Value) -> Result<Value, Failure> {
        self.send(Method::POST, VIEWS, &["events"], &[], Some(events), None).await
    }

    /// A job's events after number `last`.
    pub(crate) async fn events(&self, id: &str, last: u64) -> Result<Value, Failure> {
        let after = Some(("last-event-id", &*last.to_string()));
        self.send(Method::GET, JOBS, &["job", id, "events"], &[], None, after).await
    }

    /// What a job changed.
    pub(crate) async fn diff(&self, id: &str) -> Result<String, Failure> {
        let path = ["job", id, "diff"];
        let (method, accept) = (Method::GET, "text/x-diff");
        let request = Request { method, area: JOBS, path: &path, query: &[], body: None, header: None, accept };
        let answer = self.answer(request).await?;
        if !answer.status().is_success() {
            return read(answer).await.map(|_| String::new());
        }
        answer.text().await.map_err(|error| self.unreachable(&error))
    }

    /// Whether there is something at an address that the server gave.
    pub(crate) async fn is_there(&self, link: &str) -> bool {
        // Without the key: a link is for people, and may lead anywhere.
        self.http.get(link).send().await.is_ok_and(|answer| answer.status().is_success())
    }

    /// Posts. Without an idempotency key it is sent once only.
    pub(crate) async fn post(
        &self,
        path: &[&str],
        body: Option<&Value>,
        idempotency_key: Option<&str>,
    ) -> Result<Value, Failure> {
        self.send(Method::POST, JOBS, path, &[], body, idempotency_key.map(|key| ("idempotency-key", key))).await
    }

    async fn send(
        &self,
        method: Method,
        area: [&str; 2],
        path: &[&str],
        query: &[(&str, &str)],
        body: Option<&Value>,
        header: Option<(&str, &str)>,
    ) -> Result<Value, Failure> {
        read(self.answer(Request { method, area, path, query, body, header, accept: "application/json" }).await?).await
    }

    /// What the server answers, good or bad. What may be sent again is, while the server is away.
    pub(crate) async fn answer(&self, request: Request<'_>) -> Result<reqwest::Response, Failure> {
        let Request { method, area, path, query, body, header, accept } = request;
        let url = self.address(area, path, query)?;
        let again = method == Method::GET || header.is_some_and(|(name, _)| name == "idempotency-key");
        let mut pause = Duration::from_millis(250);
        for left in (0..TRIES).rev() {
            let mut request = self.http.request(method.clone(), url.clone()).bearer_auth(self.key.reveal());
            request = request.header("accept", accept);
            if let Some(body) = body {
                request = request.json(body);
            }
            if let Some((name, value)) = header {
                request = request.header(name, value);
            }
            let last = left == 0 || !again;
            match request.send().await {
                Ok(answer) if answer.status() == StatusCode::SERVICE_UNAVAILABLE && !last => {}
                Ok(answer) => return Ok(answer),
                Err(error) if last => return Err(self.unreachable(&error)),
                Err(_) => {}
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        Err(Failure::error("the server did not answer"))
    }

    fn address(&self, area: [&str; 2], path: &[&str], query: &[(&str, &str)]) -> Result<Url, Failure> {
        let mut url = self.base.clone();
        let mut segments = url.path_segments_mut().map_err(|()| Failure::usage("the server's address has no path"))?;
        segments.pop_if_empty().extend(area).push(&self.project).extend(path);
        drop(segments);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(url)
    }

    pub(crate) fn unreachable(&self, error: &reqwest::Error) -> Failure {
        unreachable(&self.base, error)
    }
}

/// Why a server was not reached.
pub(crate) fn unreachable(base: &Url, error: &reqwest::Error) -> Failure {
    Failure::error(format!("cannot reach {base}: {}", cause_of(error)))
        .hint("check that `copydesk serve` is running there, and see --url")
}

/// A word as a shell takes it.
pub(crate) fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+=,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", printable(word).replace('\'', r"'\''")),
    }
}

/// The address of a server, with a slash at its end.
pub(crate) fn base(url: &str) -> Result<Url, Failure> {
    // Not repeated: somebody may have put a password into it.
    let wrong = || Failure::usage("--url must be the http:// or https:// address of a server, without a user");
    let base = Url::parse(&format!("{}/", url.trim_end_matches('/'))).map_err(|_| wrong())?;
    let has_user = !base.username().is_empty() || base.password().is_some();
    if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() || has_user {
        return Err(wrong());
    }
    Ok(base)
}

/// The project that the environment names.
pub(crate) fn project(environment: &[(OsString, OsString)]) -> Option<String> {
    variable(environment, "COPYDESK_PROJECT")
}

fn variable(environment: &[(OsString, OsString)], name: &str) -> Option<String> {
    let found = environment.iter().find(|(variable, _)| variable == name);
    found.and_then(|(_, value)| value.clone().into_string().ok()).filter(|value| !value.is_empty())
}

/// The key in the variable for it.
pub(crate) fn key(environment: &[(OsString, OsString)], hint: &str) -> Result<ApiKey, Failure> {
    let found = environment.iter().find(|(variable, value)| variable == "COPYDESK_API_KEY" && !value.is_empty());
    let text = found.and_then(|(_, value)| value.to_str());
    let text = text.ok_or_else(|| Failure::usage("no key: set COPYDESK_API_KEY").hint(hint))?;
    ApiKey::parse(text.trim())
        .map_err(|_| Failure::usage("COPYDESK_API_KEY is not a Copydesk key; check that all of it was copied"))
}

/// Makes a client, for servers without https if `plain`.
pub(crate) fn build(builder: reqwest::ClientBuilder, plain: bool) -> Result<reqwest::Client, Failure> {
    let builder = builder.user_agent(concat!("copydesk/", env!("CARGO_PKG_VERSION")));
    // Otherwise a machine without certificate authorities could not even talk to itself.
    let builder = if plain { builder.tls_certs_only([]) } else { builder };
    builder.build().map_err(|_| {
        Failure::error("cannot prepare for https").hint("are the certificate authorities (ca-certificates) installed?")
    })
}

/// The body of a good answer, or the server's own words about a bad one.
pub(crate) async fn read(answer: reqwest::Response) -> Result<Value, Failure> {
    let status = answer.status();
    let body: Value = answer.json().await.unwrap_or_default();
    if status.is_success() && body.is_object() {
        return Ok(body);
    }
    // Whatever is no answer of ours comes from somebody else: another program at that address, or a proxy before ours.
    let Some(error) = body["error"].as_str().map(printable) else {
        return Err(Failure::error(format!("the server there is not Copydesk: it answered {status}"))
            .hint("--url must be the address of `copydesk serve`, without a path unless a proxy adds one"));
    };
    let mut message = format!("{error} ({status})");
    for detail in body["details"].as_array().into_iter().flatten() {
        let (field, text) =
            (detail["field"].as_str().unwrap_or_default(), detail["message"].as_str().unwrap_or_default());
        message.push_str(&format!("\n  {}: {}", printable(field), printable(text)));
    }
    let failure = Failure::error(message);
    Err(match status {
        StatusCode::UNAUTHORIZED => failure.hint(
            "the key in COPYDESK_API_KEY may be revoked, expired or of another server; `copydesk key create` makes one",
        ),
        StatusCode::NOT_FOUND if body["code"] == "project_not_found" => failure
            .hint("`copydesk project list` on the server shows the projects, `copydesk key list` what keys are for"),
        _ => failure,
    })
}
