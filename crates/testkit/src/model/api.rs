use hyper::HeaderMap;
use serde_json::Value;

use super::request::{Mark, Request};
use super::script::Reply;
use super::{anthropic, openai, responses};

/// The wire formats. A further one is a variant here, with a module that has the same five functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Api {
    /// Chat completions, as OpenAI has them and many servers offer.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// OpenAI's Responses, for other agents that are measured.
    Responses,
}

/// Why a request is not accepted, in the words of the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rejection {
    pub status: u16,
    pub message: String,
    /// Where in the request.
    pub param: Option<String>,
    /// The provider's short word for it, where it is not the usual one of the status.
    pub code: Option<&'static str>,
}

/// What a reply needs to know to be written out.
#[derive(Clone, Copy)]
pub(super) struct Voice<'a> {
    pub request: &'a Request,
    pub reply: &'a Reply,
    /// Where in the script it stands.
    pub mark: Mark,
    /// The number of its first call.
    pub first_call: usize,
}

/// What the server expects of every request.
pub(super) struct Expected<'a> {
    pub models: &'a [String],
    /// Whether this list of tools was looked at before and found good; they are the same in almost every request.
    pub tools_known: &'a dyn Fn(u64) -> bool,
}

impl Voice<'_> {
    /// An id for the answer or, with a number, for one of its calls.
    pub fn id(&self, prefix: &str, call: usize) -> String {
        self.mark.id(prefix, &self.request.conversation, self.first_call + call)
    }
}

impl Rejection {
    /// A bad request.
    pub fn bad(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self { status: 400, message: message.into(), param: Some(param.into()), code: None }
    }

    /// Another status.
    pub fn status(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), param: None, code: None }
    }

    /// The conversation is too long for the model.
    pub fn overflow(api: Api, tokens: usize, limit: usize) -> Self {
        let (message, code) = match api {
            Api::OpenAi | Api::Responses => (
                format!("This model's maximum context length is {limit} tokens. However, you sent {tokens} tokens."),
                Some("context_length_exceeded"),
            ),
            Api::Anthropic => (format!("prompt is too long: {tokens} tokens > {limit} maximum"), None),
        };
        Self { status: 400, message, param: Some("messages".to_owned()), code }
    }
}

impl Api {
    /// The format that is spoken at a path; with or without `/v1`, since clients differ in what their base address is.
    pub(super) fn at(path: &str) -> Option<Self> {
        match path.strip_prefix("/v1").unwrap_or(path) {
            "/chat/completions" => Some(Self::OpenAi),
            "/messages" => Some(Self::Anthropic),
            "/responses" => Some(Self::Responses),
            _ => None,
        }
    }

    /// The key that a request shows; a rejection if it shows none or lacks another header that is required.
    pub(super) fn key(self, headers: &HeaderMap) -> Result<&str, Rejection> {
        match self {
            Self::OpenAi | Self::Responses => openai::key(headers),
            Self::Anthropic => anthropic::key(headers),
        }
    }

    /// Holds a body against the rules.
    pub(super) fn check(self, body: &Value, expected: &Expected<'_>) -> Result<Request, Rejection> {
        match self {
            Self::OpenAi => openai::check(body, expected),
            Self::Anthropic => anthropic::check(body, expected),
            Self::Responses => responses::check(body, expected),
        }
    }

    /// How ids of calls begin.
    pub(super) fn call_prefix(self) -> &'static str {
        match self {
            Self::OpenAi => openai::CALL_PREFIX,
            Self::Anthropic => anthropic::CALL_PREFIX,
            Self::Responses => responses::CALL_PREFIX,
        }
    }

    /// A reply as the events of a stream, each with the empty line after it.
    pub(super) fn events(self, voice: Voice<'_>) -> Vec<String> {
        match self {
            Self::OpenAi => openai::events(voice),
            Self::Anthropic => anthropic::events(voice),
            Self::Responses => responses::events(voice),
        }
    }

    /// A reply as one document.
    pub(super) fn document(self, voice: Voice<'_>) -> Value {
        match self {
            Self::OpenAi => openai::document(voice),
            Self::Anthropic => anthropic::document(voice),
            Self::Responses => responses::document(voice),
        }
    }

    /// An error as a document.
    pub(super) fn error(self, rejection: &Rejection) -> Value {
        match self {
            Self::OpenAi | Self::Responses => openai::error(rejection),
            Self::Anthropic => anthropic::error(rejection),
        }
    }

    /// An error as an event in the middle of a stream.
    pub(super) fn error_event(self, rejection: &Rejection) -> String {
        match self {
            Self::OpenAi | Self::Responses => format!("data: {}\n\n", openai::error(rejection)),
            Self::Anthropic => format!("event: error\ndata: {}\n\n", anthropic::error(rejection)),
        }
    }
}
