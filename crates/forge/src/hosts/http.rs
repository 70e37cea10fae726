//! The one way to speak to a host's interface: JSON in and out, bounded in size and time, patient within reason. A
//! credential never goes to another origin than the interface's own.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use copydesk_domain::{HostKind, random_fraction};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Method, Response};
use serde::de::DeserializeOwned;
use url::Url;

use super::access::{Access, Pass};
use super::limits;
use super::message::{Answer, Call, Failed, Page};
use super::refusal::{Act, refused};
use super::settings::{HostsSettings, Media};
use crate::ForgeError;

/// The most of an answer that is read.
const LARGEST_ANSWER: usize = 8 * 1024 * 1024;
/// How often a request is led elsewhere before that is taken for a circle.
const MOST_REDIRECTS: usize = 3;
/// How many pages of a list are read.
const MOST_PAGES: usize = 20;
/// The version of GitHub's interface that is spoken.
const GITHUB_VERSION: &str = "2022-11-28";

/// A line to the interface of one host, about one repository.
pub(super) struct Line {
    pub(super) client: reqwest::Client,
    pub(super) settings: Arc<HostsSettings>,
    pub(super) kind: HostKind,
    /// Where the interface is, without a slash at the end.
    pub(super) api: String,
    /// What the repository is called.
    pub(super) repository: String,
    pub(super) access: Access,
}

impl Line {
    /// What people call the host.
    pub(super) fn host(&self) -> &'static str {
        self.kind.title()
    }

    pub(super) fn name(&self) -> &str {
        &self.repository
    }

    pub(super) fn has_credential(&self) -> bool {
        !matches!(self.access, Access::None)
    }

    pub(super) fn credential_title(&self) -> &'static str {
        self.access.title()
    }

    /// A request to `path` below the interface's address; `path` is escaped already.
    pub(super) fn call(&self, method: Method, path: &str) -> Result<Call, ForgeError> {
        self.call_at(method, &format!("{}/{path}", self.api))
    }

    /// A request to an address, which must be one of the interface's own origin.
    pub(super) fn call_at(&self, method: Method, address: &str) -> Result<Call, ForgeError> {
        let url = Url::parse(address).map_err(|_| self.wrong_address())?;
        self.stays_home(&url)?;
        Ok(Call::new(method, url))
    }

    fn wrong_address(&self) -> ForgeError {
        ForgeError::lasting(format!(
            "the address of the interface of {} is not well formed; check `api_url`",
            self.host()
        ))
    }

    /// Reads something.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str, act: Act) -> Result<T, ForgeError> {
        let answer = self.send(&self.call(Method::GET, path)?).await?;
        self.read(act, &answer)
    }

    /// What an answer holds, or why it is a refusal.
    pub(super) fn read<T: DeserializeOwned>(&self, act: Act, answer: &Answer) -> Result<T, ForgeError> {
        if !answer.is_success() {
            return Err(refused(self, act, answer));
        }
        serde_json::from_slice(&answer.body).map_err(|_| self.not_understood(answer))
    }

    fn not_understood(&self, answer: &Answer) -> ForgeError {
        let host = self.host();
        if answer.header("content-type").is_some_and(|media| media.contains("json")) {
            return ForgeError::passing(format!("{host} gave an answer that is not understood; try again later"));
        }
        ForgeError::lasting(format!(
            "what answers for {host} does not speak its interface (no JSON came); check `api_url` of the project's host"
        ))
    }

    /// Goes through the pages of a list until `page` has found something.
    pub(super) async fn search<T>(
        &self,
        first: Call,
        page: impl Fn(&Answer) -> Result<Page<T>, ForgeError>,
    ) -> Result<Option<T>, ForgeError> {
        let mut call = first;
        for _ in 0..MOST_PAGES {
            match page(&self.send(&call).await?)? {
                Page::Found(found) => return Ok(Some(found)),
                Page::Next(next) => match next.and_then(|address| call.for_page(&address)) {
                    Some(next) => call = next,
                    None => return Ok(None),
                },
            }
        }
        Ok(None)
    }

    /// Asks, and asks again within reason if the host fails, is not reached or has enough of requests for a moment.
    /// What must not be done twice is asked again only if it was surely not done.
    pub(super) async fn send(&self, call: &Call) -> Result<Answer, Failed> {
        let mut is_renewed = false;
        let mut tries = 0;
        loop {
            tries += 1;
            let own = call.bearer.as_ref().map(|token| Access::Bearer(token.clone()));
            let pass = own.as_ref().unwrap_or(&self.access).pass().await?;
            let (failed, wait) = match self.follow(call, &pass).await {
                Ok(answer) => match self.trouble_of(&answer) {
                    Some(trouble) => trouble,
                    None if answer.status == 401 && !is_renewed && self.access.renew().await => {
                        is_renewed = true;
                        continue;
                    }
                    None => return Ok(answer),
                },
                Err(failed) => (failed, None),
            };
            let can_repeat = call.is_repeatable || !failed.is_unclear;
            let is_passing = failed.error.trouble == crate::Trouble::Passing;
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
    fn trouble_of(&self, answer: &Answer) -> Option<(Failed, Option<Duration>)> {
        let now = self.settings.clock.now();
        if let Some(limit) = limits::limit_of(answer.status, &answer.headers, || answer.words(), now) {
            let when = match limit.wait {
                Some(wait) => format!("it takes them again at {}", now.plus(wait)),
                None => "try again in some minutes".to_owned(),
            };
            let error = ForgeError::passing(format!("{} has had too many requests; {when}", self.host()));
            return Some((Failed::clearly(error), limit.wait.or(limit.is_long.then_some(Duration::MAX))));
        }
        if answer.status < 500 {
            return None;
        }
        let failed = Failed { error: refused(self, Act::Look, answer), is_unclear: true };
        Some((failed, limits::retry_after(&answer.headers, now)))
    }

    /// Asks once, and where the host leads for a repository with a new name, as long as that is itself.
    async fn follow(&self, call: &Call, pass: &Pass) -> Result<Answer, Failed> {
        let mut url = call.url.clone();
        for _ in 0..=MOST_REDIRECTS {
            let answer = self.exchange(call, &url, pass).await?;
            if !matches!(answer.status, 301 | 302 | 307 | 308) {
                return Ok(answer);
            }
            url = self.next_hop(&url, &answer)?;
        }
        Err(Failed::clearly(ForgeError::lasting(format!(
            "{} leads in circles for {}; set the repository's new address",
            self.host(),
            self.name()
        ))))
    }

    fn next_hop(&self, url: &Url, answer: &Answer) -> Result<Url, ForgeError> {
        let location = answer.header(LOCATION.as_str()).and_then(|text| url.join(text).ok());
        let mut next = location.ok_or_else(|| self.leads_away())?;
        self.stays_home(&next)?;
        if next.query().is_none() {
            next.set_query(url.query());
        }
        Ok(next)
    }

    /// Holds a credential back from anybody but the interface itself.
    fn stays_home(&self, url: &Url) -> Result<(), ForgeError> {
        let home = Url::parse(&self.api).map_err(|_| self.wrong_address())?;
        let is_plain = url.username().is_empty() && url.password().is_none();
        if url.origin() == home.origin() && is_plain { Ok(()) } else { Err(self.leads_away()) }
    }

    fn leads_away(&self) -> ForgeError {
        ForgeError::lasting(format!(
            "{} leads to another address for {}, which is not followed; set the repository's new address, or `api_url`",
            self.host(),
            self.name()
        ))
    }

    async fn exchange(&self, call: &Call, url: &Url, pass: &Pass) -> Result<Answer, Failed> {
        let mut request = self.client.request(call.method.clone(), url.clone()).headers(self.form());
        if let Some(value) = &pass.header {
            request = request.header(AUTHORIZATION, value);
        }
        if let Some(body) = &call.body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let mut response = request.send().await.map_err(|error| self.lapse(&error))?;
        let (status, headers) = (response.status().as_u16(), std::mem::take(response.headers_mut()));
        let body = self.body_of(response).await?;
        Ok(Answer { status, headers, body, masks: pass.masks.clone() })
    }

    async fn body_of(&self, mut response: Response) -> Result<Vec<u8>, Failed> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.lapse(&error))? {
            body.extend_from_slice(&chunk);
            if body.len() > LARGEST_ANSWER {
                let error = ForgeError::lasting(format!("{} gave an answer that is too large", self.host()));
                return Err(Failed { error, is_unclear: true });
            }
        }
        Ok(body)
    }

    /// Whether anything answers at the interface's address, to whatever.
    pub(super) async fn is_there(&self) -> bool {
        self.client.get(&self.api).headers(self.form()).send().await.is_ok()
    }

    /// The media type that is asked for.
    fn form(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if self.kind == HostKind::Github && self.settings.media == Media::Versioned {
            headers.insert(ACCEPT, HeaderValue::from_static("application/vnd.github+json"));
            headers.insert("x-github-api-version", HeaderValue::from_static(GITHUB_VERSION));
        } else {
            headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        }
        headers
    }

    /// Why there was no answer. What the library prints is not shown: it could hold the address or more.
    pub(super) fn lapse(&self, error: &reqwest::Error) -> Failed {
        let host = self.host();
        let chain = chain_of(error);
        let says = |needle: &str| chain.contains(needle);
        let is_unclear = !error.is_connect() && !error.is_builder();
        let error = if error.is_timeout() {
            let seconds = self.settings.time_limit.as_secs_f32();
            ForgeError::passing(format!("{host} does not answer within {seconds} seconds"))
        } else if error.is_builder() {
            ForgeError::lasting(format!("the request to {host} cannot be made; check `api_url` and the credential"))
        } else if says("certificate") {
            ForgeError::lasting(format!(
                "the TLS certificate of {host} is not trusted; set `ca_file` of the project's host to the certificate of \
                 its authority, or `accept_any_certificate` for a try"
            ))
        } else if says("invalidcontenttype") || says("corrupt message") {
            ForgeError::lasting(format!("what answers for {host} does not speak TLS; check `api_url` and its port"))
        } else if says("dns error") || says("lookup address") {
            ForgeError::passing(format!("the host name of {host} cannot be resolved"))
        } else if error.is_connect() {
            ForgeError::passing(format!("{host} cannot be reached"))
        } else {
            ForgeError::passing(format!("the connection to {host} broke"))
        };
        Failed { error, is_unclear }
    }

    #[cfg(test)]
    pub(super) fn for_test(kind: HostKind, secret: &str) -> Self {
        Self {
            client: reqwest::Client::new(),
            settings: Arc::default(),
            kind,
            api: "https://host.example/api".to_owned(),
            repository: "acme/docs".to_owned(),
            access: Access::Bearer(secret.to_owned()),
        }
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
        let line = Line::for_test(HostKind::Gitlab, "x");
        let call =
            line.call(Method::GET, "projects/g%2Fs%2Fdocs.v2").unwrap().with_query(&[("source_branch", "a/b c")]);
        assert_eq!(call.url.as_str(), "https://host.example/api/projects/g%2Fs%2Fdocs.v2?source_branch=a%2Fb+c");
        for away in [
            "http://host.example/x",
            "https://other.example/x",
            "https://me@host.example/x",
            "https://host.example:8443/",
            "no",
        ] {
            assert!(line.call_at(Method::GET, away).is_err(), "{away}");
        }
        assert!(line.call_at(Method::GET, "https://host.example/elsewhere?page=2").is_ok());
    }
}
