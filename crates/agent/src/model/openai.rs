//! OpenAI's Chat Completions, and what others make of them.

use serde_json::{Map, Value, json};

use super::failure::CallFailure;
use super::settings::{ModelSettings, Provider};
use super::sse::WireAnswer;
use crate::machine::{Item, Talk};
use crate::said::{Call, Said, Stop, Thought, TokenCounts};
use crate::{prompt, tools};

/// The most calls of one answer.
const MOST_CALLS: usize = 128;
/// What Gemini takes in place of the signature of a call that it did not make.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The tools as they stand in every request.
pub(super) fn tools(has_sources: bool) -> Value {
    let tool = |it: tools::Definition| json!({"type": "function", "function": {"name": it.name, "description": it.description, "parameters": it.schema}});
    tools::definitions(has_sources).into_iter().map(tool).collect()
}

/// The request for the next answer. `limit` is what the server calls the limit of an answer's tokens.
pub(super) fn request(settings: &ModelSettings, tools: &Value, talk: &Talk, limit: &str) -> Value {
    let mut messages = vec![json!({"role": "system", "content": prompt::SYSTEM})];
    for item in talk.items() {
        match item {
            Item::User(text) => messages.push(json!({"role": "user", "content": text})),
            Item::Model(said) => messages.push(assistant(settings, said)),
            Item::Results(results) => messages
                .extend(results.iter().map(|it| json!({"role": "tool", "tool_call_id": it.id, "content": it.text}))),
        }
    }
    json!({
        "model": settings.name,
        "messages": messages,
        "tools": tools,
        (limit): settings.max_output_tokens,
        "stream": true,
        "stream_options": {"include_usage": true},
    })
}

fn assistant(settings: &ModelSettings, said: &Said) -> Value {
    // What one model thought is of no use to another, and its provider would refuse it.
    let same = said.model == settings.name;
    let text = Some(&said.text).filter(|text| !text.trim().is_empty());
    let mut message = json!({"role": "assistant", "content": text});
    for thought in said.thoughts.iter().filter(|_| same) {
        match thought {
            Thought::Text(text) => message["reasoning_content"] = json!(text),
            Thought::Opaque(Value::Object(fields)) if fields.contains_key("reasoning") => {
                message["reasoning"] = fields["reasoning"].clone();
            }
            Thought::Opaque(_) | Thought::Signature(_) => {}
        }
    }
    if !said.calls.is_empty() {
        let call = |(at, call)| tool_call(settings.provider, call, same, at == 0);
        message["tool_calls"] = said.calls.iter().enumerate().map(call).collect();
    }
    message
}

fn tool_call(provider: Provider, call: &Call, same: bool, first: bool) -> Value {
    let arguments = call.arguments_object().to_string();
    let mut value = json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}});
    for (name, extra) in call.extra.iter().filter(|_| same) {
        value[name] = extra.clone();
    }
    if provider == Provider::Gemini && value.get("extra_content").is_none() {
        let signature = call.signatures.first().map(String::as_str).filter(|_| same);
        if let Some(signature) = signature.or((first && !same).then_some(NO_SIGNATURE)) {
            value["extra_content"] = json!({"google": {"thought_signature": signature}});
        }
    }
    value
}

/// What has come of an answer so far.
#[derive(Default)]
pub(super) struct ChatAnswer {
    text: String,
    /// What it thought, by the name under which the server says it.
    reasoning_content: String,
    reasoning: String,
    /// What was said instead of an answer.
    refusal: String,
    calls: Vec<CallPieces>,
    /// Why the model stopped. None if it did not come to the end.
    reason: Option<String>,
    tokens: Option<TokenCounts>,
}

#[derive(Default)]
struct CallPieces {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    extra: Map<String, Value>,
}

impl WireAnswer for ChatAnswer {
    fn take(&mut self, event: &Value) -> Result<bool, CallFailure> {
        if let Some(usage) = event.get("usage") {
            self.tokens = tokens_of(usage).or(self.tokens);
        }
        let Some(choice) = event.pointer("/choices/0") else { return Ok(false) };
        // A server that does not stream sends all of it as a message.
        let delta = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&Value::Null);
        let piece = |name: &str| delta.get(name).and_then(Value::as_str).unwrap_or_default();
        match delta.get("content") {
            Some(Value::Array(parts)) => self.text.extend(parts.iter().filter_map(|part| part.get("text")?.as_str())),
            _ => self.text.push_str(piece("content")),
        }
        self.reasoning_content.push_str(piece("reasoning_content"));
        self.reasoning.push_str(piece("reasoning"));
        self.refusal.push_str(piece("refusal"));
        for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.take_call(call)?;
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            self.reason = Some(reason.to_owned());
        }
        Ok(false)
    }

    fn finish(self, done: bool) -> Option<Said> {
        let reason = self.reason.or(done.then(String::new))?.to_ascii_lowercase();
        let mut stop = match reason.as_str() {
            "length" | "max_tokens" | "model_length" => Stop::Length,
            filtered if filtered.starts_with("content_filter") => Stop::Refused,
            _ => Stop::Done,
        };
        let calls: Vec<Call> = self.calls.into_iter().map(|call| call.whole(stop)).collect();
        let mut text = self.text;
        if text.trim().is_empty() && calls.is_empty() && !self.refusal.is_empty() {
            (text, stop) = (self.refusal, Stop::Refused);
        }
        let mut thoughts = Vec::new();
        if !self.reasoning_content.is_empty() {
            thoughts.push(Thought::Text(self.reasoning_content));
        }
        if !self.reasoning.is_empty() {
            thoughts.push(Thought::Opaque(json!({"reasoning": self.reasoning})));
        }
        Some(Said { text, calls, stop, thoughts, tokens: self.tokens, ..Said::default() })
    }
}

impl ChatAnswer {
    /// Adds a piece of a call to the call it belongs to, or begins a new one.
    fn take_call(&mut self, piece: &Value) -> Result<(), CallFailure> {
        let text = |path: &str| piece.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let (id, name) = (text("/id"), text("/function/name"));
        let index = piece.get("index").and_then(Value::as_u64);
        let arguments = match piece.pointer("/function/arguments") {
            Some(Value::String(more)) => more.clone(),
            Some(whole @ Value::Object(_)) => whole.to_string(),
            _ => String::new(),
        };
        let at = match self.place_of(index, id, name, &arguments) {
            Some(at) => at,
            // Nothing but something extra, and nothing that it could belong to.
            None if name.is_empty() && id.is_empty() && arguments.is_empty() => return Ok(()),
            None if self.calls.len() >= MOST_CALLS => return Err(CallFailure::Garbled("it calls too many tools")),
            None => {
                self.calls.push(CallPieces { index, ..CallPieces::default() });
                self.calls.len() - 1
            }
        };
        let Some(call) = self.calls.get_mut(at) else { return Ok(()) };
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        call.arguments.push_str(&arguments);
        let known = |field: &str| matches!(field, "index" | "id" | "type" | "function");
        let extra = piece.as_object().into_iter().flatten().filter(|(field, value)| !known(field) && !value.is_null());
        call.extra.extend(extra.map(|(field, value)| (field.clone(), value.clone())));
        Ok(())
    }

    /// The call that a piece belongs to. Some servers give no index or the same one to all calls, some give no id.
    fn place_of(&self, index: Option<u64>, id: &str, name: &str, arguments: &str) -> Option<usize> {
        if index.is_none() && !id.is_empty() {
            return self.calls.iter().rposition(|call| call.id == id);
        }
        let at = self.calls.iter().rposition(|call| index.is_none() || call.index == index)?;
        let call = self.calls.get(at)?;
        let other_id = !id.is_empty() && !call.id.is_empty() && call.id != id && !name.is_empty();
        let next = id.is_empty() && !name.is_empty() && !arguments.is_empty() && call.is_whole();
        (!other_id && !next).then_some(at)
    }
}

impl CallPieces {
    fn is_whole(&self) -> bool {
        // Most pieces end in the middle, and need not be read from the beginning each time.
        self.arguments.trim_end().ends_with('}') && serde_json::from_str::<Map<String, Value>>(&self.arguments).is_ok()
    }

    fn whole(self, stop: Stop) -> Call {
        let arguments = Call::read_arguments(self.arguments, stop);
        Call { id: self.id, name: self.name, arguments, extra: self.extra, ..Call::default() }
    }
}

/// What was counted. Gemini leaves what it thought out of what it wrote, but not out of the sum.
fn tokens_of(usage: &Value) -> Option<TokenCounts> {
    let count = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    let input = count("/prompt_tokens")?;
    let output = count("/completion_tokens").unwrap_or(0);
    let output = output.max(count("/total_tokens").unwrap_or(0).saturating_sub(input));
    let cached = count("/prompt_tokens_details/cached_tokens").unwrap_or(0).min(input);
    Some(TokenCounts { input, output, cached, cache_written: 0 })
}

/// Whether the models of OpenAI think before they answer, by their name: they know a limit of tokens by its new name only.
pub(super) fn is_reasoning(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    match name.strip_prefix("gpt-") {
        Some(version) => version.starts_with(['5', '6', '7', '8', '9']),
        None => name.strip_prefix('o').is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit())),
    }
}

/// Whether a server refuses a request because it does not know this parameter.
pub(super) fn does_not_know(body: &str, parameter: &str) -> bool {
    const WORDS: [&str; 8] = [
        "unsupported",
        "not supported",
        "does not support",
        "unknown",
        "unrecognized",
        "unexpected",
        "extra",
        "not permitted",
    ];
    let body = body.to_ascii_lowercase();
    body.contains(parameter) && WORDS.iter().any(|word| body.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(pieces: &[Value]) -> Vec<(String, String, Value)> {
        let read = read(pieces).calls;
        read.into_iter().map(|call| (call.id, call.name, call.arguments)).collect()
    }

    fn read(pieces: &[Value]) -> Said {
        let mut answer = ChatAnswer::default();
        for piece in pieces {
            answer.take(&json!({"choices": [{"delta": {"tool_calls": [piece]}}]})).unwrap();
        }
        answer.finish(true).unwrap()
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
    fn does_without_ids() {
        for index in [Value::Null, json!(0)] {
            let piece = |x: u32| json!({"index": index, "function": {"name": "f", "arguments": {"x": x}}});
            let read = calls(&[piece(1), piece(2)]);
            assert_eq!(read.iter().map(|call| &call.2).collect::<Vec<_>>(), [&json!({"x": 1}), &json!({"x": 2})]);
        }
    }

    #[test]
    fn keeps_what_a_server_adds_to_a_call() {
        let signature = |of: &str| json!({"google": {"thought_signature": of}});
        let said = read(&[
            json!({"extra_content": signature("nobody's")}),
            json!({"id": "a", "function": {"name": "f", "arguments": "{}"}, "extra_content": signature("a")}),
            json!({"id": "b", "function": {"name": "f", "arguments": "{}"}}),
            json!({"extra_content": signature("b")}),
        ]);
        let extras: Vec<&Value> = said.calls.iter().map(|call| &call.extra["extra_content"]).collect();
        assert_eq!(extras, [&signature("a"), &signature("b")]);
    }

    #[test]
    fn keeps_arguments_that_are_not_json_as_text() {
        let broken = [json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"x\":"}})];
        assert_eq!(calls(&broken), [("a".to_owned(), "f".to_owned(), json!("{\"x\":"))]);
        let none = [json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": null}})];
        assert_eq!(calls(&none)[0].2, json!({}));
    }

    #[test]
    fn too_many_calls_are_no_answer() {
        let mut answer = ChatAnswer::default();
        let pieces: Vec<Value> = (0..=MOST_CALLS).map(|at| json!({"index": at, "id": at.to_string()})).collect();
        let failure = answer.take(&json!({"choices": [{"delta": {"tool_calls": pieces}}]}));
        assert_eq!(failure, Err(CallFailure::Garbled("it calls too many tools")));
    }

    #[test]
    fn knows_models_that_think() {
        for name in ["o1", "o3-mini", "o4-mini-2025", "gpt-5", "gpt-5.1-codex", "openai/gpt-6", "O3"] {
            assert!(is_reasoning(name), "{name}");
        }
        for name in ["gpt-4o", "gpt-4.1", "gpt-oss:20b", "olmo-2", "qwen-max", "", "openai/gpt-4o"] {
            assert!(!is_reasoning(name), "{name}");
        }
    }

    #[test]
    fn counts_what_is_cached_and_what_is_thought() {
        let usage = json!({"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 125,
            "prompt_tokens_details": {"cached_tokens": 80}});
        let counts = TokenCounts { input: 100, output: 25, cached: 80, cache_written: 0 };
        assert_eq!(tokens_of(&usage), Some(counts));
        assert_eq!(tokens_of(&json!({"prompt_tokens": 1})).map(|it| (it.input, it.output)), Some((1, 0)));
        assert_eq!(tokens_of(&Value::Null), None);
    }
}
