use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::failure::{self, CallFailure};
use super::offer::Offer;
use super::settings::{ModelSettings, Provider};
use super::sse::EventStream;
use super::{anthropic, openai};
use crate::machine::Talk;
use crate::said::Said;

/// The longest that one answer may take. Whoever keeps the connection busy without coming to an end is not silent.
const LONGEST_CALL: Duration = Duration::from_secs(3600);
/// The most bytes of an answer: whatever it is, and for each token that it may have. A token comes in an event of some
/// hundred bytes.
const SOME_BYTES: usize = 1024 * 1024;
const BYTES_A_TOKEN: usize = 1_000;
/// The most bytes of an error that are looked at.
const LONGEST_ERROR: usize = 64 * 1024;
/// The most bytes of a list of models; those of gateways have hundreds.
const LONGEST_LIST: usize = 4 * 1024 * 1024;
/// What the addresses for calls end with.
const METHODS: [&str; 2] = ["/messages", "/chat/completions"];
/// What servers call the limit of an answer's tokens; the second is OpenAI's new name.
const LIMITS: [&str; 2] = ["max_tokens", "max_completion_tokens"];

/// Asks a provider's model.
pub(super) struct ModelClient {
    http: reqwest::Client,
    url: Url,
    settings: ModelSettings,
    /// The tools without and with those for code sources. They are the same in all requests of a job, so that what is
    /// cached of one is of use for the next.
    tools: [Value; 2],
    /// Whether it is the provider's own address.
    is_own: bool,
    /// Whether the server knows the limit of an answer's tokens by its new name.
    new_limit: AtomicBool,
}

/// What a model is asked.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) talk: &'a Talk,
    /// Whether there are code sources to look into.
    pub(super) has_sources: bool,
}

/// Why a request was not taken, and whether that is only for the name of the limit of tokens.
struct Refused {
    failure: CallFailure,
    other_limit: bool,
}

impl From<CallFailure> for Refused {
    fn from(failure: CallFailure) -> Self {
        Self { failure, other_limit: false }
    }
}

impl ModelClient {
    pub(super) fn new(settings: &ModelSettings) -> Result<Self, String> {
        if settings.name.trim().is_empty() {
            return Err("the model's name is empty".to_owned());
        }
        let http = reqwest::Client::builder()
            .user_agent(concat!("copydesk/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(15))
            .tcp_nodelay(true)
            // Some keys are in headers that are not taken away when a redirect leads to another host.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|_| "the HTTP client cannot be made".to_owned())?;
        let tools = [false, true].map(|has_sources| match settings.provider {
            Provider::Anthropic => anthropic::tools(has_sources),
            _ => openai::tools(has_sources),
        });
        let url = address(settings.provider, settings.base_url.as_deref())?;
        let is_own = url == address(settings.provider, None)?;
        // OpenAI itself takes the new name for all models. Many servers that are like it know the old one only.
        let new_limit = settings.provider == Provider::OpenAi && (is_own || openai::is_reasoning(&settings.name));
        let new_limit = AtomicBool::new(new_limit);
        Ok(Self { http, url, settings: settings.clone(), tools, is_own, new_limit })
    }

    pub(super) fn address(&self) -> &str {
        self.url.as_str()
    }

    /// Whom it asks.
    pub(super) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Whether this provider, at this address, takes nobody without a key.
    pub(super) fn needs_key(&self) -> bool {
        self.settings.provider != Provider::Ollama && self.is_own
    }

    /// The models that the provider has; none if it does not tell.
    pub(super) async fn offer(&self, key: Option<&SecretString>) -> Result<Option<Offer>, CallFailure> {
        let mut url = self.url.clone();
        let path = url.path().to_owned();
        let path = METHODS.iter().find_map(|method| path.strip_suffix(method)).unwrap_or(&path);
        url.set_path(&format!("{path}/models"));
        let sent = self.http.get(url).headers(self.headers(key)?).send().await;
        let response = sent.map_err(|error| CallFailure::no_connection(self.host(), failure::cause_of(&error)))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = self.beginning(response, LONGEST_LIST).await;
        match status.as_u16() {
            200 => Ok(Offer::read(&body)),
            // Servers of one's own may know nothing but the method for calls.
            404 | 405 | 501 => Ok(None),
            status => Err(failure::of_status(status, &String::from_utf8_lossy(&body), Some(&headers), key)),
        }
    }

    /// Asks once. Dropping the future closes the connection.
    pub(super) async fn ask(&self, question: Question<'_>, key: Option<&SecretString>) -> Result<Said, CallFailure> {
        self.ask_counting(question, key).await.map(|(said, _)| said)
    }

    /// The same; says also in how many pieces the answer came.
    pub(super) async fn ask_counting(
        &self,
        question: Question<'_>,
        key: Option<&SecretString>,
    ) -> Result<(Said, usize), CallFailure> {
        let asking = self.ask_and_learn(question, key);
        let said = tokio::time::timeout(LONGEST_CALL, asking).await.unwrap_or_else(|_| Err(CallFailure::unreachable()));
        said.map(|(said, pieces)| (Said { model: self.settings.name.clone(), ..said }, pieces))
    }

    /// Asks, and once more if the server only wants the limit of tokens under its other name.
    async fn ask_and_learn(
        &self,
        question: Question<'_>,
        key: Option<&SecretString>,
    ) -> Result<(Said, usize), CallFailure> {
        let new_limit = self.new_limit.load(Ordering::Relaxed);
        let sent = match self.send(question, key, new_limit).await {
            Err(refused) if refused.other_limit => {
                self.new_limit.store(!new_limit, Ordering::Relaxed);
                self.send(question, key, !new_limit).await
            }
            sent => sent,
        };
        let response = sent.map_err(|refused| refused.failure)?;
        let most = (self.settings.max_output_tokens as usize).saturating_mul(BYTES_A_TOKEN).saturating_add(SOME_BYTES);
        let events = EventStream::new(response, self.settings.silence, most);
        match self.settings.provider {
            Provider::Anthropic => events.read::<anthropic::MessageAnswer>(key).await,
            _ => events.read::<openai::ChatAnswer>(key).await,
        }
    }

    async fn send(
        &self,
        question: Question<'_>,
        key: Option<&SecretString>,
        new_limit: bool,
    ) -> Result<Response, Refused> {
        let limit = LIMITS[usize::from(new_limit)];
        let is_anthropic = self.settings.provider == Provider::Anthropic;
        let (talk, tools) = (question.talk, &self.tools[usize::from(question.has_sources)]);
        let body = match is_anthropic {
            true => anthropic::request(&self.settings, tools, talk),
            false => openai::request(&self.settings, tools, talk, limit),
        };
        let request = self.http.post(self.url.clone()).headers(self.headers(key)?).json(&body);
        let sent = tokio::time::timeout(self.settings.silence, request.send()).await;
        let response = sent
            .map_err(|_| CallFailure::no_connection(self.host(), "it does not answer in time"))?
            .map_err(|error| match error.is_builder() {
                true => CallFailure::unusable(),
                false => CallFailure::no_connection(self.host(), failure::cause_of(&error)),
            })?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let headers = response.headers().clone();
        let body = self.error_body(response).await;
        let other_limit = !is_anthropic && matches!(status.as_u16(), 400 | 422) && openai::does_not_know(&body, limit);
        Err(Refused { failure: failure::of_status(status.as_u16(), &body, Some(&headers), key), other_limit })
    }

    fn headers(&self, key: Option<&SecretString>) -> Result<HeaderMap, CallFailure> {
        let is_anthropic = self.settings.provider == Provider::Anthropic;
        let mut headers = HeaderMap::new();
        if let Some(key) = key.map(ExposeSecret::expose_secret) {
            let (name, value) = match is_anthropic {
                true => (HeaderName::from_static("x-api-key"), key.to_owned()),
                false => (AUTHORIZATION, format!("Bearer {key}")),
            };
            let mut value = HeaderValue::try_from(value).map_err(|_| CallFailure::unusable())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        if is_anthropic {
            headers.insert("anthropic-version", HeaderValue::from_static(anthropic::VERSION));
        }
        Ok(headers)
    }

    async fn error_body(&self, response: Response) -> String {
        String::from_utf8_lossy(&self.beginning(response, LONGEST_ERROR).await).into_owned()
    }

    /// The beginning of an answer, as far as it comes.
    async fn beginning(&self, mut response: Response, most: usize) -> Vec<u8> {
        let mut body = Vec::new();
        while body.len() < most {
            match tokio::time::timeout(self.settings.silence, response.chunk()).await {
                Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
                _ => break,
            }
        }
        body.truncate(most);
        body
    }
}

/// Where a provider is asked. What is given may be the address of the server, of its interface or of the method itself.
fn address(provider: Provider, given: Option<&str>) -> Result<Url, String> {
    let given = given.map(str::trim).filter(|url| !url.is_empty()).unwrap_or(provider.usual_url());
    let mut url = Url::parse(given).map_err(|_| "`base_url` is not an address".to_owned())?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err("`base_url` must begin with http:// or https:// and name a host".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("`base_url` holds a user or a password; use `api_key`".to_owned());
    }
    let method = if provider == Provider::Anthropic { "/messages" } else { "/chat/completions" };
    let path = url.path().trim_end_matches('/').to_owned();
    let path = path.strip_suffix(method).unwrap_or(&path);
    let path = match provider {
        Provider::Anthropic | Provider::OpenAi if path.is_empty() => "/v1".to_owned(),
        Provider::Anthropic | Provider::OpenAi => path.to_owned(),
        // Both have an interface of their own beside OpenAI's, whose address may be what is given.
        Provider::Ollama => {
            let path = path.strip_suffix("/chat").unwrap_or(path);
            let path = path.strip_suffix("/api").or_else(|| path.strip_suffix("/v1")).unwrap_or(path);
            format!("{path}/v1")
        }
        Provider::Gemini if path.is_empty() => "/v1beta/openai".to_owned(),
        Provider::Gemini => format!("{}/openai", path.strip_suffix("/openai").unwrap_or(path)),
    };
    url.set_path(&format!("{path}{method}"));
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_completed() {
        let of = |provider, given: &str| address(provider, Some(given)).unwrap().to_string();
        for given in ["http://h:8000/v1", "http://h:8000", "http://h:8000/v1/", "http://h:8000/v1/chat/completions"] {
            assert_eq!(of(Provider::OpenAi, given), "http://h:8000/v1/chat/completions");
        }
        let azure = of(Provider::OpenAi, "https://h/openai/deployments/d?api-version=1");
        assert_eq!(azure, "https://h/openai/deployments/d/chat/completions?api-version=1");
        for given in ["https://h", "https://h/v1", "https://h/v1/messages"] {
            assert_eq!(of(Provider::Anthropic, given), "https://h/v1/messages");
        }
        for given in ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/api/", "http://h:1/api/chat"] {
            assert_eq!(of(Provider::Ollama, given), "http://h:1/v1/chat/completions");
        }
        assert_eq!(of(Provider::Ollama, "https://h/ollama"), "https://h/ollama/v1/chat/completions");
        let gemini = "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions";
        assert_eq!(address(Provider::Gemini, None).unwrap().as_str(), gemini);
        for given in ["", "/v1beta", "/v1beta/", "/v1beta/openai/"] {
            assert_eq!(of(Provider::Gemini, &format!("https://generativelanguage.googleapis.com{given}")), gemini);
        }
    }

    #[test]
    fn addresses_that_make_no_sense_or_hold_a_password_are_refused() {
        for given in ["localhost:8000", "ftp://h/", "file:///x", "https://me:pw@h/v1", "::"] {
            let refused = address(Provider::OpenAi, Some(given));
            assert!(refused.as_ref().is_err_and(|sentence| !sentence.contains("pw@")), "{given} {refused:?}");
        }
    }
}
