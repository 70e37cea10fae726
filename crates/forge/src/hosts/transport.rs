//! The one way to speak to a host's interface: JSON in and out, bounded in size and time, patient within reason. A
//! credential never goes to another origin than the interface's own.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use copydesk_domain::{HostKind, TRACE_TARGET, random_fraction};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Method, Response};
use serde::de::DeserializeOwned;
use tracing::Instrument;
use url::Url;

use super::exchange::{Authorization, Failed, HostRequest, HostResponse};
use super::limits;
use super::refusal::{Act, refused};
use super::settings::HostsSettings;
use super::subject::Subject;
use crate::ForgeError;

/// The most of an answer that is read.
const LARGEST_ANSWER: usize = 8 * 1024 * 1024;
/// How often a request is led elsewhere before that is taken for a circle.
const MOST_REDIRECTS: usize = 3;
/// The version of GitHub's interface that is spoken.
const GITHUB_VERSION: &str = "2022-11-28";

/// The way to the interface of one host, about one repository; it knows no credential.
pub(super) struct Transport {
    pub(super) http: reqwest::Client,
    pub(super) settings: Arc<HostsSettings>,
    /// Where the interface is, without a slash at the end.
    pub(super) api: String,
    pub(super) subject: Subject,
}

impl Transport {
    /// A request to `path` below the interface's address; `path` is escaped already.
    pub(super) fn request(&self, method: Method, path: &str) -> Result<HostRequest, ForgeError> {
        self.request_at(method, &format!("{}/{path}", self.api))
    }

    /// A request to an address, which must be one of the interface's own origin.
    pub(super) fn request_at(&self, method: Method, address: &str) -> Result<HostRequest, ForgeError> {
        let url = Url::parse(address).map_err(|_| self.wrong_address())?;
        self.check_origin(&url)?;
        Ok(HostRequest::new(method, url))
    }

    fn wrong_address(&self) -> ForgeError {
        ForgeError::lasting(format!(
            "the address of the interface of {} is not well formed; check `--host-api-url`",
            self.subject.host()
        ))
    }

    /// What an answer holds, or why it is a refusal.
    pub(super) fn read<T: DeserializeOwned>(&self, act: Act, answer: &HostResponse) -> Result<T, ForgeError> {
        if !answer.is_success() {
            return Err(refused(&self.subject, act, answer));
        }
        serde_json::from_slice(&answer.body).map_err(|_| self.not_understood(answer))
    }

    fn not_understood(&self, answer: &HostResponse) -> ForgeError {
        let host = self.subject.host();
        if answer.header("content-type").is_some_and(|media| media.contains("json")) {
            return ForgeError::passing(format!("{host} gave an answer that is not understood; try again later"));
        }
        ForgeError::lasting(format!(
            "the server at the API address of {host} does not answer in JSON; check `--host-api-url`"
        ))
    }

    /// Asks, and asks again within reason if the host fails, is not reached or has enough of requests for a moment.
    /// What must not be done twice is asked again only if it was surely not done.
    pub(super) async fn send(&self, request: &HostRequest, who: &Authorization) -> Result<HostResponse, Failed> {
        let span = tracing::info_span!(
            target: TRACE_TARGET,
            "code host",
            kind = "client",
            server.address = request.url.host_str(),
            http.request.method = request.method.as_str(),
            failed = tracing::field::Empty,
        );
        let sent = self.send_patiently(request, who).instrument(span.clone()).await;
        span.record("failed", sent.is_err());
        sent
    }

    async fn send_patiently(&self, request: &HostRequest, who: &Authorization) -> Result<HostResponse, Failed> {
        let mut tries = 0;
        loop {
            tries += 1;
            let (failed, wait) = match self.follow(request, who).await {
                Ok(answer) => match self.reason_to_wait(&answer) {
                    Some(reason) => reason,
                    None => return Ok(answer),
                },
                Err(failed) => (failed, None),
            };
            let can_repeat = request.is_repeatable || !failed.is_unclear;
            let is_passing = failed.error.may_pass();
            let is_short = wait.is_none_or(|wait| wait <= self.settings.longest_wait);
            if tries >= self.settings.tries || !can_repeat || !is_passing || !is_short {
                return Err(failed);
            }
            self.pause(tries, wait).await;
        }
    }

    /// Waits longer from try to try, and not in step with others; at least as long as the host wants.
    pub(super) async fn pause(&self, tries: u32, wait: Option<Duration>) {
        let doubled = self.settings.first_pause.saturating_mul(1 << (tries - 1).min(10));
        let pause = doubled.mul_f64(0.5 + random_fraction()).min(self.settings.longest_wait);
        tokio::time::sleep(wait.unwrap_or_default().max(pause)).await;
    }

    /// Why to ask again, and when, if the answer is of that kind.
    fn reason_to_wait(&self, answer: &HostResponse) -> Option<(Failed, Option<Duration>)> {
        let now = self.settings.clock.now();
        if let Some(limit) = limits::limit_of(answer.status, &answer.headers, || answer.message(), now) {
            let when = match limit.wait {
                Some(wait) => format!("it takes them again at {}", now.plus(wait)),
                None => "try again in some minutes".to_owned(),
            };
            let error = ForgeError::away(format!("{} has had too many requests; {when}", self.subject.host()));
            return Some((error.into(), limit.wait.or(limit.is_long.then_some(Duration::MAX))));
        }
        if answer.status < 500 {
            return None;
        }
        let failed = Failed { error: refused(&self.subject, Act::Look, answer), is_unclear: true };
        Some((failed, limits::retry_after(&answer.headers, now)))
    }

    /// Asks once, and where the host leads for a repository with a new name, as long as that is itself.
    async fn follow(&self, request: &HostRequest, who: &Authorization) -> Result<HostResponse, Failed> {
        let mut url = request.url.clone();
        for _ in 0..=MOST_REDIRECTS {
            let answer = self.exchange(request, &url, who).await?;
            if !matches!(answer.status, 301 | 302 | 307 | 308) {
                return Ok(answer);
            }
            url = self.next_hop(&url, &answer)?;
        }
        Err(ForgeError::lasting(format!(
            "{} leads in circles for {}; set the repository's new address",
            self.subject.host(),
            self.subject.repository
        ))
        .into())
    }

    fn next_hop(&self, url: &Url, answer: &HostResponse) -> Result<Url, ForgeError> {
        let location = answer.header(LOCATION.as_str()).and_then(|text| url.join(text).ok());
        let mut next = location.ok_or_else(|| self.redirected_elsewhere())?;
        self.check_origin(&next)?;
        if next.query().is_none() {
            next.set_query(url.query());
        }
        Ok(next)
    }

    /// Holds a credential back from anybody but the interface itself.
    fn check_origin(&self, url: &Url) -> Result<(), ForgeError> {
        let own = Url::parse(&self.api).map_err(|_| self.wrong_address())?;
        let is_plain = url.username().is_empty() && url.password().is_none();
        if url.origin() == own.origin() && is_plain { Ok(()) } else { Err(self.redirected_elsewhere()) }
    }

    fn redirected_elsewhere(&self) -> ForgeError {
        ForgeError::lasting(format!(
            "{} leads to another address for {}, which is not followed; set the repository's new address, or `--host-api-url`",
            self.subject.host(),
            self.subject.repository
        ))
    }

    async fn exchange(&self, asked: &HostRequest, url: &Url, who: &Authorization) -> Result<HostResponse, Failed> {
        let mut request = self.http.request(asked.method.clone(), url.clone()).headers(self.media_headers());
        if let Some(value) = &who.header {
            request = request.header(AUTHORIZATION, value);
        }
        if let Some(body) = &asked.body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let mut response = request.send().await.map_err(|error| self.transport_error(&error))?;
        let (status, headers) = (response.status().as_u16(), std::mem::take(response.headers_mut()));
        let body = self.body_of(response).await?;
        Ok(HostResponse { status, headers, body, masks: who.masks.clone() })
    }

    async fn body_of(&self, mut response: Response) -> Result<Vec<u8>, Failed> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.transport_error(&error))? {
            body.extend_from_slice(&chunk);
            if body.len() > LARGEST_ANSWER {
                let error = ForgeError::lasting(format!("{} gave an answer that is too large", self.subject.host()));
                return Err(Failed { error, is_unclear: true });
            }
        }
        Ok(body)
    }

    /// Whether anything answers at the interface's address, to whatever.
    pub(super) async fn answers(&self) -> bool {
        self.http.get(&self.api).headers(self.media_headers()).send().await.is_ok()
    }

    /// The media type that is asked for.
    fn media_headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if self.subject.kind == HostKind::Github {
            headers.insert(ACCEPT, HeaderValue::from_static("application/vnd.github+json"));
            headers.insert("x-github-api-version", HeaderValue::from_static(GITHUB_VERSION));
        } else {
            headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        }
        headers
    }

    /// Why there was no answer. What the library prints is not shown: it could hold the address or more.
    pub(super) fn transport_error(&self, error: &reqwest::Error) -> Failed {
        let host = self.subject.host();
        let chain = chain_of(error);
        let says = |needle: &str| chain.contains(needle);
        let is_unclear = !error.is_connect() && !error.is_builder();
        let error = if error.is_timeout() {
            let seconds = self.settings.time_limit.as_secs_f32();
            ForgeError::away(format!("{host} does not answer within {seconds} seconds"))
        } else if error.is_builder() {
            ForgeError::lasting(format!(
                "the request to {host} cannot be made; check `--host-api-url` and the credential"
            ))
        } else if says("certificate") {
            ForgeError::lasting(format!(
                "the TLS certificate of {host} is not trusted; name the certificate of its authority with `--host-ca-file`, \
                 or try it with `--host-accept-any-certificate`"
            ))
        } else if says("invalidcontenttype") || says("corrupt message") {
            ForgeError::lasting(format!(
                "what answers for {host} does not speak TLS; check `--host-api-url` and its port"
            ))
        } else if says("dns error") || says("lookup address") {
            ForgeError::away(format!("the host name of {host} cannot be resolved"))
        } else if says("connection refused") {
            ForgeError::away(format!("{host} refuses the connection, or nothing listens there"))
        } else if error.is_connect() {
            ForgeError::away(format!("{host} cannot be reached"))
        } else {
            ForgeError::away(format!("the connection to {host} broke"))
        };
        Failed { error, is_unclear }
    }
}

/// All that an error and its causes say, in lower case.
fn chain_of(error: &reqwest::Error) -> String {
    let mut text = String::new();
    let mut cause: Option<&dyn Error> = Some(error);
    while let Some(error) = cause {
        text.push_str(&format!("{error} {error:?} ").to_lowercase());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_the_interface() {
        let transport = Transport {
            http: reqwest::Client::new(),
            settings: Arc::default(),
            api: "https://host.example/api".to_owned(),
            subject: Subject::for_test(HostKind::Gitlab),
        };
        let request = transport.request(Method::GET, "projects/g%2Fs%2Fdocs.v2").unwrap();
        let request = request.with_query(&[("source_branch", "a/b c")]);
        assert_eq!(request.url.as_str(), "https://host.example/api/projects/g%2Fs%2Fdocs.v2?source_branch=a%2Fb+c");
        for away in [
            "http://host.example/x",
            "https://other.example/x",
            "https://me@host.example/x",
            "https://host.example:8443/",
            "no",
        ] {
            assert!(transport.request_at(Method::GET, away).is_err(), "{away}");
        }
        assert!(transport.request_at(Method::GET, "https://host.example/elsewhere?page=2").is_ok());
    }
}
