use serde_json::{Value, json};

use crate::model::api::Rejection;
use crate::model::script::{Stop, Tokens};
use crate::model::sse::pieces;
use crate::model::voice::Voice;

/// 2026-03-15, so that every run says the same.
const CREATED: u64 = 1_773_576_000;

/// How ids of calls begin.
pub const CALL_PREFIX: &str = "call_";

/// A reply as a stream: chunks, then one with the usage if it was asked for, then `[DONE]`. Gateways send comments while
/// they wait, so there is one, too.
pub fn events(voice: Voice<'_>) -> Vec<String> {
    let mut events = vec![": waiting\n\n".to_owned()];
    let mut say = |delta: Value| events.push(chunk(voice, json!([choice(delta, None)]), Value::Null));
    say(json!({"role": "assistant", "content": "", "refusal": null}));
    for piece in pieces(&voice.reply.text) {
        say(match voice.reply.stops_for() {
            Stop::Refusal => json!({"refusal": piece}),
            _ => json!({"content": piece}),
        });
    }
    for (index, call) in voice.reply.calls.iter().enumerate() {
        let id = voice.id(CALL_PREFIX, index);
        let head = json!({"index": index, "id": id, "type": "function",
            "function": {"name": call.name, "arguments": ""}});
        say(json!({"tool_calls": [head]}));
        for piece in pieces(&call.arguments.written(voice.request.position)) {
            say(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}));
        }
    }
    let end = choice(json!({}), Some(finish_reason(voice)));
    events.push(chunk(voice, json!([end]), Value::Null));
    if voice.request.stream_usage {
        events.push(chunk(voice, json!([]), usage(voice.reply.usage)));
    }
    events.push("data: [DONE]\n\n".to_owned());
    events
}

/// A reply as one document.
pub fn document(voice: Voice<'_>) -> Value {
    let text = &voice.reply.text;
    let refused = voice.reply.stops_for() == Stop::Refusal;
    let mut message = json!({
        "role": "assistant",
        "content": (!refused && !text.is_empty()).then_some(text),
        "refusal": (refused && !text.is_empty()).then_some(text),
        "annotations": [],
    });
    let calls = voice.reply.calls.iter().enumerate().map(|(index, call)| {
        let arguments = call.arguments.written(voice.request.position);
        json!({"id": voice.id(CALL_PREFIX, index), "type": "function",
            "function": {"name": call.name, "arguments": arguments}})
    });
    if !voice.reply.calls.is_empty() {
        message["tool_calls"] = calls.collect();
    }
    json!({
        "id": voice.id("chatcmpl-", 0),
        "object": "chat.completion",
        "created": CREATED,
        "model": voice.request.model,
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason(voice)}],
        "usage": usage(voice.reply.usage),
        "service_tier": "default",
        "system_fingerprint": "fp_scripted",
    })
}

/// An error in the provider's shape.
pub fn error(rejection: &Rejection) -> Value {
    let (kind, code) = match rejection.status {
        401 => ("invalid_request_error", Some("invalid_api_key")),
        403 => ("invalid_request_error", Some("unsupported_country_region_territory")),
        404 => ("invalid_request_error", None),
        429 => ("requests", Some("rate_limit_exceeded")),
        status if status < 500 => ("invalid_request_error", None),
        _ => ("server_error", None),
    };
    let code = rejection.code.or(code);
    json!({"error": {"message": rejection.message, "type": kind, "param": rejection.param, "code": code}})
}

fn chunk(voice: Voice<'_>, choices: Value, usage: Value) -> String {
    let mut chunk = json!({
        "id": voice.id("chatcmpl-", 0),
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": voice.request.model,
        "service_tier": "default",
        "system_fingerprint": "fp_scripted",
        "choices": choices,
    });
    // With the usage asked for, every other chunk says that it has none.
    if voice.request.stream_usage {
        chunk["usage"] = usage;
    }
    format!("data: {chunk}\n\n")
}

fn choice(delta: Value, finish_reason: Option<&str>) -> Value {
    json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason})
}

fn finish_reason(voice: Voice<'_>) -> &'static str {
    match voice.reply.stops_for() {
        Stop::End | Stop::Refusal => "stop",
        Stop::ToolUse => "tool_calls",
        Stop::MaxTokens => "length",
    }
}

/// Tokens from a cache are among the prompt's.
fn usage(tokens: Tokens) -> Value {
    let prompt = tokens.input + tokens.cached + tokens.cache_write;
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": tokens.output,
        "total_tokens": prompt + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    })
}
