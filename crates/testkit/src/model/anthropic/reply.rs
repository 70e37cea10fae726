use serde_json::{Value, json};

use crate::model::api::Rejection;
use crate::model::request::hash_of;
use crate::model::script::{Arguments, Call, Stop, Tokens};
use crate::model::sse::pieces;
use crate::model::voice::Voice;

use super::talk::SIGNATURE;

/// How ids of calls begin.
pub const CALL_PREFIX: &str = "toolu_";

/// A reply as a stream: the message without content, its blocks one after the other, then why it stopped.
pub fn events(voice: Voice<'_>) -> Vec<String> {
    let mut events = Vec::new();
    let mut say = |kind: &str, mut data: Value| {
        data["type"] = kind.into();
        events.push(format!("event: {kind}\ndata: {data}\n\n"));
    };
    let mut start = usage(voice.reply.usage);
    start["output_tokens"] = 1.into();
    say("message_start", json!({"message": message(voice, json!([]), Value::Null, start)}));
    say("ping", json!({}));
    let mut index = 0;
    if !voice.reply.thought.is_empty() {
        let block = json!({"type": "thinking", "thinking": "", "signature": ""});
        say("content_block_start", json!({"index": index, "content_block": block}));
        for piece in pieces(&voice.reply.thought) {
            say("content_block_delta", json!({"index": index, "delta": {"type": "thinking_delta", "thinking": piece}}));
        }
        let signature = json!({"type": "signature_delta", "signature": signature(voice)});
        say("content_block_delta", json!({"index": index, "delta": signature}));
        say("content_block_stop", json!({"index": index}));
        index += 1;
    }
    if !voice.reply.text.is_empty() {
        say("content_block_start", json!({"index": index, "content_block": {"type": "text", "text": ""}}));
        for piece in pieces(&voice.reply.text) {
            say("content_block_delta", json!({"index": index, "delta": {"type": "text_delta", "text": piece}}));
        }
        say("content_block_stop", json!({"index": index}));
        index += 1;
    }
    for (number, call) in voice.reply.calls.iter().enumerate() {
        let block = json!({"type": "tool_use", "id": voice.id(CALL_PREFIX, number), "name": call.name, "input": {}});
        say("content_block_start", json!({"index": index, "content_block": block}));
        let mut delta = |text: &str| {
            let delta = json!({"type": "input_json_delta", "partial_json": text});
            say("content_block_delta", json!({"index": index, "delta": delta}));
        };
        delta("");
        pieces(&call.arguments.written(voice.request.position)).iter().for_each(|piece| delta(piece));
        say("content_block_stop", json!({"index": index}));
        index += 1;
    }
    let delta = json!({"stop_reason": stop_reason(voice), "stop_sequence": null});
    say("message_delta", json!({"delta": delta, "usage": {"output_tokens": voice.reply.usage.output}}));
    say("message_stop", json!({}));
    events
}

/// A reply as one document.
pub fn document(voice: Voice<'_>) -> Value {
    let mut content = Vec::new();
    if !voice.reply.thought.is_empty() {
        content.push(json!({"type": "thinking", "thinking": voice.reply.thought, "signature": signature(voice)}));
    }
    if !voice.reply.text.is_empty() {
        content.push(json!({"type": "text", "text": voice.reply.text}));
    }
    for (number, call) in voice.reply.calls.iter().enumerate() {
        let input = input(call, voice.request.position);
        content
            .push(json!({"type": "tool_use", "id": voice.id(CALL_PREFIX, number), "name": call.name, "input": input}));
    }
    message(voice, content.into(), stop_reason(voice).into(), usage(voice.reply.usage))
}

/// An error in the provider's shape.
pub fn error(rejection: &Rejection) -> Value {
    let kind = match rejection.status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        status if status < 500 => "invalid_request_error",
        _ => "api_error",
    };
    let error = json!({"type": kind, "message": rejection.message});
    json!({"type": "error", "error": error, "request_id": "req_scripted"})
}

/// Outside a stream the provider has parsed the arguments itself, so they cannot be malformed: what was not JSON
/// arrives as an object without the required fields.
fn input(call: &Call, position: usize) -> Value {
    match &call.arguments {
        Arguments::Json(_) => serde_json::from_str(&call.arguments.written(position)).unwrap_or(Value::Null),
        Arguments::Raw(text) => serde_json::from_str(text).unwrap_or_else(|_| json!({})),
    }
}

fn message(voice: Voice<'_>, content: Value, stop_reason: Value, usage: Value) -> Value {
    json!({
        "id": voice.id("msg_", 0),
        "type": "message",
        "role": "assistant",
        "model": voice.request.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": usage,
    })
}

fn signature(voice: Voice<'_>) -> String {
    format!("{SIGNATURE}{:x}", hash_of(&voice.reply.thought))
}

fn stop_reason(voice: Voice<'_>) -> &'static str {
    match voice.reply.stops_for() {
        Stop::End => "end_turn",
        Stop::ToolUse => "tool_use",
        Stop::MaxTokens => "max_tokens",
        Stop::Refusal => "refusal",
    }
}

/// Tokens from and into a cache are counted beside the input, not in it.
fn usage(tokens: Tokens) -> Value {
    json!({
        "input_tokens": tokens.input,
        "cache_creation_input_tokens": tokens.cache_write,
        "cache_read_input_tokens": tokens.cached,
        "output_tokens": tokens.output,
        "service_tier": "standard",
    })
}
