//! Which module speaks which wire format.

use hyper::HeaderMap;
use serde_json::Value;

use super::api::{Api, Expected, Rejection};
use super::request::Request;
use super::voice::Voice;
use super::{anthropic, openai, responses};

impl Api {
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
