use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::StreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ChatRequest, ChatStreamEvent, ContentPart, ReasoningEffort, StopReason, StreamEnd};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};
use serde_json::json;
use tracing::instrument::WithSubscriber;

use super::frames::{Frames, Seen};
use super::settings::{ModelSettings, Provider, Secret};
use super::trouble::{self, Trouble};
use crate::machine::{Call, Said, Stop, Thought};

/// The longest that one answer may take. Whoever keeps the connection busy without coming to an end is not silent.
const LONGEST_CALL: Duration = Duration::from_secs(3600);

/// A connection to a provider.
pub(super) struct Line {
    provider: Provider,
    name: String,
    url: String,
    most_tokens: u32,
    client: Client,
    options: ChatOptions,
}

/// What a provider sent.
pub(super) struct Heard {
    pub(super) said: Said,
    /// Tokens in and out, if the provider says how many.
    pub(super) usage: Option<(u64, u64)>,
}

/// A task that ends with whoever waits for it.
struct OwnTask(tokio::task::JoinHandle<Result<Heard, Trouble>>);

impl Future for OwnTask {
    type Output = Result<Heard, Trouble>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|ended| ended.unwrap_or(Err(Trouble::Garbled)))
    }
}

impl Drop for OwnTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Line {
    pub(super) fn new(settings: &ModelSettings) -> Result<Self, String> {
        if settings.name.trim().is_empty() || settings.name.contains("::") {
            return Err("the model's name is empty or holds `::`".to_owned());
        }
        let url = base_url(settings.provider, settings.base_url.as_deref())?;
        let http = reqwest::Client::builder()
            .user_agent(concat!("copydesk/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(15))
            .tcp_nodelay(true)
            // Some keys are in headers that are not taken away when a redirect leads to another host.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|_| "the HTTP client cannot be made".to_owned())?;
        let client = Client::builder().with_reqwest(http).build().map_err(|_| "the model client cannot be made")?;
        Ok(Self {
            provider: settings.provider,
            name: settings.name.clone(),
            url,
            most_tokens: settings.max_output_tokens,
            client,
            options: options(settings),
        })
    }

    /// Whether this provider, at this address, takes nobody without a key.
    pub(super) fn needs_key(&self) -> bool {
        self.provider != Provider::Ollama && self.url == self.provider.usual_url()
    }

    /// Asks once. Dropping the future closes the connection.
    pub(super) async fn ask(self: &Arc<Self>, request: ChatRequest, key: Option<&Secret>) -> Result<Heard, Trouble> {
        let (line, key) = (Arc::clone(self), key.cloned());
        let asking = async move { line.ask_aloud(request, key.as_ref()).await };
        // The library logs what providers say, which could hold the key. And it may be busy for minutes without a pause
        // with an answer that has no end of line, so it has a task of its own: the job, its lease and its cancelling
        // must not wait for it.
        let task = OwnTask(tokio::spawn(asking.with_subscriber(tracing::Dispatch::none())));
        tokio::time::timeout(LONGEST_CALL, task).await.unwrap_or_else(|_| Err(trouble::unreachable_provider()))
    }

    async fn ask_aloud(&self, request: ChatRequest, key: Option<&Secret>) -> Result<Heard, Trouble> {
        let frames = Arc::new(Frames::new(self.provider, self.most_tokens));
        let options = self.options_for(key).with_raw_frame_sink_arc(frames.clone());
        let response = self.client.exec_chat_stream(self.target(key), request, Some(&options)).await;
        let mut stream = response.map_err(|error| trouble::of(&error, key))?.stream;
        let mut gathered = Gathered::default();
        while gathered.end.is_none() {
            let event = tokio::select! {
                biased;
                () = frames.overflow.notified() => return Err(Trouble::Garbled),
                event = stream.next() => event,
            };
            match event {
                Some(Ok(event)) => gathered.add(event),
                Some(Err(error)) => return self.failed(&frames.take(), trouble::of(&error, key)),
                None => break,
            }
        }
        self.heard(gathered, frames.take(), key)
    }

    /// A prompt that was blocked comes as an error from the library, but is an answer.
    fn failed(&self, seen: &Seen, trouble: Trouble) -> Result<Heard, Trouble> {
        if self.provider == Provider::Gemini && !seen.refusal.is_empty() {
            let said = Said { text: seen.refusal.clone(), stop: Stop::Refused, ..self.nothing_said() };
            return Ok(Heard { said, usage: None });
        }
        Err(trouble)
    }

    /// Makes an answer of what has come, if it has come to its end.
    fn heard(&self, gathered: Gathered, mut seen: Seen, key: Option<&Secret>) -> Result<Heard, Trouble> {
        if let Some(error) = &seen.error {
            return Err(trouble::of_stream_error(error, key));
        }
        // The library makes up an end for Gemini and Ollama when the connection breaks off, and waits for more than an
        // end from servers that speak OpenAI's language not quite right.
        let complete = match self.provider {
            Provider::Anthropic => gathered.end.is_some(),
            Provider::OpenAi => seen.ended.is_some() || gathered.end.is_some(),
            Provider::Ollama | Provider::Gemini => seen.ended.is_some(),
        };
        if !complete {
            return Err(trouble::unreachable_provider());
        }
        let end = gathered.end.unwrap_or_default();
        let reason = end.captured_stop_reason.clone().or_else(|| seen.ended.clone().map(StopReason::from));
        let usage = seen.usage.or_else(|| usage_of(&end));
        let mut said = Said { text: gathered.text, stop: stop_of(reason), ..self.nothing_said() };
        if self.provider == Provider::OpenAi {
            said.calls = seen.openai_calls(said.stop);
            said.thoughts =
                Some(gathered.reasoning).filter(|text| !text.is_empty()).map(Thought::Text).into_iter().collect();
        } else {
            take_parts(&mut said, end);
        }
        if said.text.trim().is_empty() && said.calls.is_empty() && !seen.refusal.is_empty() {
            said.text = seen.refusal;
            said.stop = Stop::Refused;
        }
        Ok(Heard { said, usage })
    }

    fn nothing_said(&self) -> Said {
        Said { model: self.name.clone(), ..Said::default() }
    }

    /// Everything is said outright: the library would guess a provider from the model's name.
    fn target(&self, key: Option<&Secret>) -> ServiceTarget {
        let kind = match self.provider {
            Provider::Anthropic => AdapterKind::Anthropic,
            Provider::OpenAi => AdapterKind::OpenAI,
            Provider::Ollama => AdapterKind::Ollama,
            Provider::Gemini => AdapterKind::Gemini,
        };
        // A server that wants no key is sent a word in its place: the library insists on one.
        let key = key.map_or("none", Secret::expose);
        ServiceTarget {
            endpoint: Endpoint::from_owned(self.url.as_str()),
            auth: AuthData::from_single(key),
            model: ModelIden::new(kind, self.name.as_str()),
        }
    }

    /// Ollama itself has no keys, but what stands before it may.
    fn options_for(&self, key: Option<&Secret>) -> ChatOptions {
        match key.filter(|_| self.provider == Provider::Ollama) {
            Some(key) => {
                let header = ("authorization".to_owned(), format!("Bearer {}", key.expose()));
                self.options.clone().with_extra_headers(header)
            }
            None => self.options.clone(),
        }
    }
}

fn options(settings: &ModelSettings) -> ChatOptions {
    let options = ChatOptions::default()
        .with_max_tokens(settings.max_output_tokens)
        .with_capture_usage(true)
        .with_stream_header_timeout(settings.silence)
        .with_stream_read_timeout(settings.silence);
    match settings.provider {
        // Thinking must go back to Anthropic with the calls it led to. The name is sent as it is: the library takes
        // endings like `-high` off.
        Provider::Anthropic => options
            .with_capture_reasoning_content(true)
            .with_capture_tool_calls(true)
            .with_extra_body(json!({"model": settings.name})),
        // A budget is the one effort that the library does not put into the request; with none it takes one from the
        // name. Calls are read from the frames.
        Provider::OpenAi => {
            let options = options
                .with_reasoning_effort(ReasoningEffort::Budget(0))
                .with_extra_body(json!({"model": settings.name}));
            // Lets the newest models cache by themselves, where the library would switch that off.
            if settings.base_url.is_none() { options.with_prompt_cache_key("copydesk") } else { options }
        }
        Provider::Ollama | Provider::Gemini => options.with_capture_tool_calls(true),
    }
}

/// The address that the library is to add the names of methods to.
fn base_url(provider: Provider, given: Option<&str>) -> Result<String, String> {
    let Some(given) = given.map(str::trim).filter(|url| !url.is_empty()) else {
        return Ok(provider.usual_url().to_owned());
    };
    let mut url = reqwest::Url::parse(given).map_err(|_| "`base_url` is not an address".to_owned())?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err("`base_url` must begin with http:// or https:// and name a host".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("`base_url` holds a user or a password; use `api_key`".to_owned());
    }
    let path = url.path().trim_end_matches('/').to_owned();
    let path = path.strip_suffix("/chat/completions").or_else(|| path.strip_suffix("/messages")).unwrap_or(&path);
    let path = match (path, provider) {
        ("", Provider::Anthropic | Provider::OpenAi) => "/v1",
        ("", Provider::Gemini) => "/v1beta",
        ("/api" | "/v1", Provider::Ollama) => "",
        (path, _) => path,
    };
    url.set_path(&format!("{path}/"));
    Ok(url.to_string())
}

/// What has come so far.
#[derive(Default)]
struct Gathered {
    text: String,
    reasoning: String,
    end: Option<StreamEnd>,
}

impl Gathered {
    fn add(&mut self, event: ChatStreamEvent) {
        match event {
            ChatStreamEvent::Chunk(chunk) => self.text.push_str(&chunk.content),
            ChatStreamEvent::ReasoningChunk(chunk) => self.reasoning.push_str(&chunk.content),
            ChatStreamEvent::End(end) => self.end = Some(end),
            _ => {}
        }
    }
}

/// Calls and thoughts, as the library has put them together.
fn take_parts(said: &mut Said, end: StreamEnd) {
    for part in end.captured_content.into_iter().flatten() {
        match part {
            ContentPart::ToolCall(call) => said.calls.push(Call {
                id: call.call_id,
                name: call.fn_name,
                arguments: call.fn_arguments,
                signatures: call.thought_signatures.unwrap_or_default(),
            }),
            ContentPart::ThoughtSignature(signature) => said.thoughts.push(Thought::Signature(signature)),
            ContentPart::ReasoningContent(text) => said.thoughts.push(Thought::Text(text)),
            ContentPart::Custom(custom) => said.thoughts.push(Thought::Opaque(custom.data)),
            _ => {}
        }
    }
}

fn stop_of(reason: Option<StopReason>) -> Stop {
    match reason {
        Some(StopReason::MaxTokens(_)) => Stop::Length,
        Some(StopReason::ContentFilter(_)) => Stop::Refused,
        _ => Stop::Done,
    }
}

fn usage_of(end: &StreamEnd) -> Option<(u64, u64)> {
    let usage = end.captured_usage.as_ref()?;
    let count = |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok());
    let input = count(usage.prompt_tokens);
    let output = count(usage.completion_tokens);
    (input.is_some() || output.is_some()).then(|| (input.unwrap_or(0), output.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_completed() {
        let of = |provider, given| base_url(provider, Some(given));
        assert_eq!(of(Provider::OpenAi, "http://localhost:8000/v1").unwrap(), "http://localhost:8000/v1/");
        assert_eq!(of(Provider::OpenAi, "http://localhost:8000").unwrap(), "http://localhost:8000/v1/");
        assert_eq!(of(Provider::OpenAi, "https://h/x/v1/chat/completions").unwrap(), "https://h/x/v1/");
        assert_eq!(of(Provider::Anthropic, "https://h").unwrap(), "https://h/v1/");
        assert_eq!(of(Provider::Ollama, "http://h:11434/api/").unwrap(), "http://h:11434/");
        assert_eq!(base_url(Provider::Gemini, None).unwrap(), "https://generativelanguage.googleapis.com/v1beta/");
    }

    #[test]
    fn addresses_that_make_no_sense_or_hold_a_password_are_refused() {
        for given in ["localhost:8000", "ftp://h/", "file:///x", "https://me:pw@h/v1", "::"] {
            let refused = base_url(Provider::OpenAi, Some(given));
            assert!(refused.as_ref().is_err_and(|sentence| !sentence.contains("pw@")), "{given} {refused:?}");
        }
    }
}
