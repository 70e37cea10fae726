//! Anthropic's Messages.

use serde_json::{Value, json};

use super::failure::CallFailure;
use super::settings::ModelSettings;
use super::sse::WireAnswer;
use crate::machine::{Item, Talk, ToolResult};
use crate::said::{Call, Said, Stop, Thought, TokenCounts};
use crate::{prompt, tools};

/// The version of the interface that is spoken here.
pub(super) const VERSION: &str = "2023-06-01";
/// The most blocks of one answer.
const MOST_BLOCKS: usize = 256;

/// The tools as they stand in every request.
pub(super) fn tools(has_sources: bool) -> Value {
    let tool =
        |it: tools::Definition| json!({"name": it.name, "description": it.description, "input_schema": it.schema});
    tools::definitions(has_sources).into_iter().map(tool).collect()
}

/// The request for the next answer.
pub(super) fn request(settings: &ModelSettings, tools: &Value, talk: &Talk) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    let mut items = talk.items().iter().peekable();
    while let Some(item) = items.next() {
        let (role, content) = match item {
            Item::User(text) => ("user", vec![text_block(text)]),
            Item::Model(said) => ("assistant", blocks(settings, said)),
            Item::Results(results) => {
                let result = |it: &ToolResult| json!({"type": "tool_result", "tool_use_id": it.id, "content": it.text});
                let mut content: Vec<Value> = results.iter().map(result).collect();
                // Roles must alternate, and results are the user's.
                if let Some(Item::User(text)) = items.next_if(|item| matches!(item, Item::User(_))) {
                    content.push(text_block(text));
                }
                ("user", content)
            }
        };
        messages.push(json!({"role": role, "content": content}));
    }
    mark_for_cache(&mut messages);
    json!({
        "model": settings.name,
        "max_tokens": settings.max_output_tokens,
        // Tools come before it, so they are cached with it. They are the same for all jobs of a project.
        "system": [cached(text_block(prompt::SYSTEM))],
        "tools": tools,
        "messages": messages,
        "stream": true,
    })
}

/// Everything up to the last message is the beginning of the next request. The one of the user before it was the last of
/// the request before: it is marked again because the provider looks back 20 blocks only, and a turn may have more.
fn mark_for_cache(messages: &mut [Value]) {
    let of_user = messages.iter_mut().rev().filter(|message| message["role"] == "user");
    for message in of_user.take(2) {
        if let Some(block) = message["content"].as_array_mut().and_then(|content| content.last_mut()) {
            *block = cached(block.take());
        }
    }
}

fn cached(mut block: Value) -> Value {
    block["cache_control"] = json!({"type": "ephemeral"});
    block
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// An answer as it came: thoughts must stand where they stood, as they were signed.
fn blocks(settings: &ModelSettings, said: &Said) -> Vec<Value> {
    let mut blocks = Vec::new();
    let mut calls = said.calls.iter().map(tool_use);
    let mut has_text = said.text.trim().is_empty();
    let mut signature = None;
    // What one model thought is of no use to another, and its provider would refuse it.
    for thought in said.thoughts.iter().filter(|_| said.model == settings.name) {
        match thought {
            Thought::Opaque(block) if block["type"] == "tool_use" => blocks.extend(calls.next()),
            Thought::Opaque(block) => {
                has_text |= block["type"] == "text";
                blocks.push(block.clone());
            }
            // How it was recorded once: a signature, then the text that it is of.
            Thought::Signature(text) => signature = Some(text),
            Thought::Text(text) => {
                blocks.extend(signature.take().map(|it| json!({"type": "thinking", "thinking": text, "signature": it})))
            }
        }
    }
    if !has_text {
        blocks.push(text_block(&said.text));
    }
    blocks.extend(calls);
    blocks
}

fn tool_use(call: &Call) -> Value {
    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments_object()})
}

/// What has come of an answer so far.
#[derive(Default)]
pub(super) struct MessageAnswer {
    blocks: Vec<Block>,
    /// Why the model stopped. None if it did not come to the end.
    reason: Option<String>,
    /// Without what concerns caches, which the provider counts beside it.
    fresh_input: u64,
    tokens: Option<TokenCounts>,
}

struct Block {
    index: Option<u64>,
    block: Value,
    arguments: String,
}

impl WireAnswer for MessageAnswer {
    fn take(&mut self, event: &Value) -> Result<bool, CallFailure> {
        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message_start" => self.count(event.pointer("/message/usage")),
            "content_block_start" if self.blocks.len() >= MOST_BLOCKS => {
                return Err(CallFailure::Garbled("it has too many parts"));
            }
            "content_block_start" => self.blocks.push(Block {
                index: event.get("index").and_then(Value::as_u64),
                // Pieces are added to its fields, which only an object has.
                block: event.get("content_block").filter(|block| block.is_object()).cloned().unwrap_or_default(),
                arguments: String::new(),
            }),
            "content_block_delta" => self.add(event),
            "message_delta" => {
                self.count(event.get("usage"));
                if let Some(reason) = event.pointer("/delta/stop_reason").and_then(Value::as_str) {
                    self.reason = Some(reason.to_owned());
                }
            }
            "message_stop" => return Ok(true),
            // Pings, and what is yet to be invented.
            _ => {}
        }
        Ok(false)
    }

    fn finish(self, _: bool) -> Option<Said> {
        let stop = match self.reason?.as_str() {
            "max_tokens" | "model_context_window_exceeded" => Stop::Length,
            "refusal" => Stop::Refused,
            "pause_turn" => Stop::Paused,
            _ => Stop::Done,
        };
        let mut said = Said { stop, tokens: self.tokens, ..Said::default() };
        let thinks = self.blocks.iter().any(|block| block.kind().ends_with("thinking"));
        for block in self.blocks {
            let kept = match block.kind() {
                "text" => {
                    let text = block.block["text"].as_str().unwrap_or_default();
                    said.text.push_str(text);
                    (!text.trim().is_empty()).then(|| text_block(text))
                }
                "tool_use" => {
                    said.calls.push(block.call(stop));
                    Some(json!({"type": "tool_use"}))
                }
                "thinking" | "redacted_thinking" => Some(block.block),
                _ => None,
            };
            said.thoughts.extend(kept.filter(|_| thinks).map(Thought::Opaque));
        }
        Some(said)
    }
}

impl MessageAnswer {
    fn add(&mut self, event: &Value) {
        let (index, delta) = (event.get("index").and_then(Value::as_u64), &event["delta"]);
        let Some(block) = self.blocks.iter_mut().rfind(|block| block.index == index) else { return };
        let piece = |name: &str| delta.get(name).and_then(Value::as_str).unwrap_or_default();
        match piece("type") {
            "input_json_delta" => block.arguments.push_str(piece("partial_json")),
            "text_delta" => append(&mut block.block["text"], piece("text")),
            "thinking_delta" => append(&mut block.block["thinking"], piece("thinking")),
            "signature_delta" => append(&mut block.block["signature"], piece("signature")),
            _ => {}
        }
    }

    /// Counts are told twice, the second time as they are at the end.
    fn count(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage else { return };
        let count = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or(0);
        let tokens = self.tokens.get_or_insert_default();
        tokens.cached = tokens.cached.max(count("cache_read_input_tokens"));
        tokens.cache_written = tokens.cache_written.max(count("cache_creation_input_tokens"));
        tokens.output = tokens.output.max(count("output_tokens"));
        self.fresh_input = self.fresh_input.max(count("input_tokens"));
        tokens.input = self.fresh_input.saturating_add(tokens.cached).saturating_add(tokens.cache_written);
    }
}

impl Block {
    fn kind(&self) -> &str {
        self.block.get("type").and_then(Value::as_str).unwrap_or_default()
    }

    fn call(&self, stop: Stop) -> Call {
        let text = |name: &str| self.block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let whole = self.block.get("input").filter(|input| self.arguments.is_empty() && *input != &json!({}));
        let arguments = whole.cloned().unwrap_or_else(|| Call::read_arguments(self.arguments.clone(), stop));
        Call { id: text("id"), name: text("name"), arguments, ..Call::default() }
    }
}

fn append(value: &mut Value, piece: &str) {
    match value {
        Value::String(text) => text.push_str(piece),
        other => *other = piece.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::Provider;
    use super::*;

    fn read(events: &[Value]) -> Option<Said> {
        let mut answer = MessageAnswer::default();
        for event in events {
            if answer.take(event).unwrap() {
                break;
            }
        }
        answer.finish(false)
    }

    fn block(index: u64, block: Value, deltas: &[Value]) -> Vec<Value> {
        let mut events = vec![json!({"type": "content_block_start", "index": index, "content_block": block})];
        let delta = |delta: &Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
        events.extend(deltas.iter().map(delta));
        events.push(json!({"type": "content_block_stop", "index": index}));
        events
    }

    #[test]
    fn a_part_that_is_no_object_is_none() {
        for odd in [json!("x"), json!(7), json!([1]), json!(true), Value::Null] {
            let pieces =
                [json!({"type": "text_delta", "text": "a"}), json!({"type": "signature_delta", "signature": "b"})];
            let said = read(&[block(0, odd, &pieces), ended("end_turn").to_vec()].concat()).unwrap();
            assert!(said.text.is_empty() && said.calls.is_empty());
        }
    }

    fn ended(reason: &str) -> [Value; 2] {
        [json!({"type": "message_delta", "delta": {"stop_reason": reason}}), json!({"type": "message_stop"})]
    }

    #[test]
    fn thoughts_go_back_where_they_stood() {
        let thinking =
            |text: &str, signature: &str| json!({"type": "thinking", "thinking": text, "signature": signature});
        let think = |index, text: &str, signature: &str| {
            let deltas = [
                json!({"type": "thinking_delta", "thinking": text}),
                json!({"type": "signature_delta", "signature": signature}),
            ];
            block(index, thinking("", ""), &deltas)
        };
        let redacted = json!({"type": "redacted_thinking", "data": "x"});
        let call = json!({"type": "tool_use", "id": "t", "name": "f", "input": {}});
        let events = [
            think(0, "Hm.", "s1"),
            block(1, json!({"type": "text", "text": ""}), &[json!({"type": "text_delta", "text": "I look."})]),
            block(2, redacted.clone(), &[]),
            think(3, "So.", "s2"),
            block(4, call, &[json!({"type": "input_json_delta", "partial_json": "{\"x\":1}"})]),
            ended("tool_use").to_vec(),
        ]
        .concat();
        let said = Said { model: "m".to_owned(), ..read(&events).unwrap() };
        let call = json!({"type": "tool_use", "id": "t", "name": "f", "input": {"x": 1}});
        let whole = [thinking("Hm.", "s1"), text_block("I look."), redacted, thinking("So.", "s2"), call.clone()];
        assert_eq!(blocks(&ModelSettings::new(Provider::Anthropic, "m"), &said), whole);
        let recorded = serde_json::from_value(serde_json::to_value(&said).unwrap()).unwrap();
        assert_eq!(blocks(&ModelSettings::new(Provider::Anthropic, "m"), &recorded), whole);
        let other = blocks(&ModelSettings::new(Provider::Anthropic, "other"), &said);
        assert_eq!(other, [text_block("I look."), call]);
    }

    #[test]
    fn thoughts_that_were_recorded_otherwise_go_back_too() {
        let thoughts = vec![Thought::Signature("s".to_owned()), Thought::Text("Hm.".to_owned())];
        let said = Said { model: "m".to_owned(), text: "Text.".to_owned(), thoughts, ..Said::default() };
        let whole = [json!({"type": "thinking", "thinking": "Hm.", "signature": "s"}), text_block("Text.")];
        assert_eq!(blocks(&ModelSettings::new(Provider::Anthropic, "m"), &said), whole);
    }

    #[test]
    fn why_it_stopped_is_understood_and_what_is_new_is_passed_over() {
        let stop = |reason: &str| {
            let mut events = vec![json!({"type": "ping"}), json!({"type": "brand_new", "x": 1})];
            events.extend(block(0, json!({"type": "brand_new_block"}), &[json!({"type": "brand_new_delta"})]));
            events.extend(ended(reason));
            read(&events).unwrap().stop
        };
        assert_eq!(["end_turn", "refusal", "pause_turn"].map(stop), [Stop::Done, Stop::Refused, Stop::Paused]);
        assert_eq!(["max_tokens", "brand_new"].map(stop), [Stop::Length, Stop::Done]);
        assert_eq!(read(&[json!({"type": "message_start"})]), None);
    }

    #[test]
    fn what_is_cached_is_part_of_what_was_read() {
        let start = json!({"input_tokens": 10, "cache_read_input_tokens": 80, "cache_creation_input_tokens": 5,
            "output_tokens": 1});
        let mut events = vec![json!({"type": "message_start", "message": {"usage": start}})];
        events.push(
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}}),
        );
        let counts = TokenCounts { input: 95, output: 7, cached: 80, cache_written: 5 };
        assert_eq!(read(&events).unwrap().tokens, Some(counts));
    }
}
