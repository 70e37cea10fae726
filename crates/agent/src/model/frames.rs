//! What the library does not pass on from a stream, read from its raw frames: whether the end was really reached,
//! calls of tools in OpenAI's form (the library drops those without an index, and a huge index makes it take as much
//! memory), what was refused, errors inside Ollama's stream, and how much has come.

use std::sync::{Mutex, PoisonError};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use serde_json::Value;
use tokio::sync::Notify;

use super::settings::Provider;
use crate::machine::{Call, Stop};

/// The most that one answer may have: bytes whatever it is, bytes for each token it may have, frames and calls. A token
/// comes in a frame of some hundred bytes.
const SOME_BYTES: usize = 1024 * 1024;
const BYTES_A_TOKEN: usize = 1_000;
const MOST_FRAMES: u32 = 500_000;
const MOST_CALLS: usize = 128;

/// Watches the frames of one answer.
pub(super) struct Frames {
    provider: Provider,
    most_bytes: usize,
    seen: Mutex<Seen>,
    /// Is told when more has come than may come.
    pub(super) overflow: Notify,
}

/// What was seen.
#[derive(Default)]
pub(super) struct Seen {
    bytes: usize,
    calls: Vec<Fragments>,
    /// Why the model stopped, in the provider's words. None if it did not come to the end.
    pub(super) ended: Option<String>,
    /// What was said instead of an answer.
    pub(super) refusal: String,
    pub(super) error: Option<Value>,
    /// Tokens in and out.
    pub(super) usage: Option<(u64, u64)>,
}

#[derive(Default)]
struct Fragments {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Frames {
    /// Watches an answer of at most so many tokens.
    pub(super) fn new(provider: Provider, most_tokens: u32) -> Self {
        let most_bytes = (most_tokens as usize).saturating_mul(BYTES_A_TOKEN).saturating_add(SOME_BYTES);
        Self { provider, most_bytes, seen: Mutex::default(), overflow: Notify::new() }
    }

    /// What was seen so far.
    pub(super) fn take(&self) -> Seen {
        std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ChatFrameSink for Frames {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.bytes = seen.bytes.saturating_add(frame.data.len());
        if seen.bytes > self.most_bytes || frame.index > MOST_FRAMES || seen.calls.len() > MOST_CALLS {
            self.overflow.notify_one();
            return;
        }
        // Anthropic's frames are read well by the library.
        if self.provider == Provider::Anthropic || frame.data.is_empty() {
            return;
        }
        let Ok(value) = serde_json::from_str::<Value>(frame.data) else { return };
        match self.provider {
            Provider::OpenAi => seen.openai(&value),
            Provider::Ollama => seen.ollama(&value),
            Provider::Gemini => seen.gemini(&value),
            Provider::Anthropic => {}
        }
    }
}

impl Seen {
    fn openai(&mut self, frame: &Value) {
        let number = |path: &str| frame.pointer(path).and_then(Value::as_u64);
        if let Some(input) = number("/usage/prompt_tokens") {
            self.usage = Some((input, number("/usage/completion_tokens").unwrap_or(0)));
        }
        let Some(choice) = frame.pointer("/choices/0") else { return };
        for call in choice.pointer("/delta/tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.fragment(call);
        }
        if let Some(refusal) = choice.pointer("/delta/refusal").and_then(Value::as_str) {
            self.refusal.push_str(refusal);
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            self.ended = Some(reason.to_owned());
        }
    }

    /// Adds a piece of a call to the call it belongs to. Some servers give no index, or the same one to all calls.
    fn fragment(&mut self, piece: &Value) {
        let text = |path: &str| piece.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let (id, name) = (text("/id"), text("/function/name"));
        let index = piece.get("index").and_then(Value::as_u64);
        let same = |call: &Fragments| {
            let other_id = !id.is_empty() && !call.id.is_empty() && call.id != id && !name.is_empty();
            !other_id && (index.is_none() || call.index == index)
        };
        let starts = index.is_none() && !id.is_empty();
        let at =
            if starts { self.calls.iter().rposition(|call| call.id == id) } else { self.calls.iter().rposition(same) };
        if at.is_none() {
            self.calls.push(Fragments { index, ..Fragments::default() });
        }
        let Some(call) = at.map_or(self.calls.len().checked_sub(1), Some).and_then(|at| self.calls.get_mut(at)) else {
            return;
        };
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        match piece.pointer("/function/arguments") {
            Some(Value::String(more)) => call.arguments.push_str(more),
            Some(whole @ Value::Object(_)) => call.arguments = whole.to_string(),
            _ => {}
        }
    }

    fn ollama(&mut self, frame: &Value) {
        if let Some(error) = frame.get("error") {
            self.error = Some(serde_json::json!({"message": error}));
        }
        if frame.get("done").and_then(Value::as_bool) == Some(true) {
            self.ended = Some(frame.get("done_reason").and_then(Value::as_str).unwrap_or("stop").to_owned());
        }
    }

    fn gemini(&mut self, frame: &Value) {
        if let Some(reason) = frame.pointer("/candidates/0/finishReason").and_then(Value::as_str) {
            self.ended = Some(reason.to_owned());
        }
        if let Some(reason) = frame.pointer("/promptFeedback/blockReason").and_then(Value::as_str) {
            self.refusal = format!("the prompt was blocked: {reason}");
        }
    }

    /// The calls in OpenAI's form. Arguments that are not JSON stay text, so that the model can be told.
    pub(super) fn openai_calls(&mut self, stop: Stop) -> Vec<Call> {
        let call = |call: Fragments| {
            let nothing = call.arguments.trim().is_empty() && stop != Stop::Length;
            let raw = if nothing { "{}".to_owned() } else { call.arguments };
            let arguments = serde_json::from_str(&raw).unwrap_or(Value::String(raw));
            Call { id: call.id, name: call.name, arguments, signatures: Vec::new() }
        };
        std::mem::take(&mut self.calls).into_iter().map(call).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn calls(pieces: &[Value]) -> Vec<(String, String, Value)> {
        let mut seen = Seen::default();
        for piece in pieces {
            seen.openai(&json!({"choices": [{"delta": {"tool_calls": [piece]}}]}));
        }
        seen.openai_calls(Stop::Done).into_iter().map(|call| (call.id, call.name, call.arguments)).collect()
    }

    fn a_and_b() -> Vec<(String, String, Value)> {
        let call = |id: &str, x: u32| (id.to_owned(), "f".to_owned(), json!({"x": x}));
        vec![call("a", 1), call("b", 2)]
    }

    #[test]
    fn puts_pieces_of_calls_together() {
        let pieces = [
            json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}),
            json!({"index": 0, "function": {"arguments": "{\"x\""}}),
            json!({"index": 1, "id": "b", "function": {"name": "f", "arguments": "{\"x\":2"}}),
            json!({"index": 0, "function": {"arguments": ":1}"}}),
            json!({"index": 1, "function": {"arguments": "}"}}),
        ];
        assert_eq!(calls(&pieces), a_and_b());
    }

    #[test]
    fn does_without_an_index_and_with_the_same_for_all() {
        let without = [
            json!({"id": "a", "function": {"name": "f", "arguments": "{\"x\":"}}),
            json!({"function": {"arguments": "1}"}}),
            json!({"id": "b", "function": {"name": "f", "arguments": {"x": 2}}}),
        ];
        assert_eq!(calls(&without), a_and_b());
        let same = [
            json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"x\":1}"}}),
            json!({"index": 0, "id": "b", "function": {"name": "f", "arguments": "{\"x\":2}"}}),
        ];
        assert_eq!(calls(&same), a_and_b());
        let huge = [json!({"index": u64::MAX, "id": "a", "function": {"name": "f"}})];
        assert_eq!(calls(&huge).len(), 1);
    }

    #[test]
    fn keeps_arguments_that_are_not_json_as_text() {
        let broken = [json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"x\":"}})];
        assert_eq!(calls(&broken), [("a".to_owned(), "f".to_owned(), json!("{\"x\":"))]);
    }
}
