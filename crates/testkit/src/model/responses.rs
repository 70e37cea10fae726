//! OpenAI's Responses, as far as other agents that are measured need them: streams of messages and calls. Copydesk does
//! not speak them, so nothing but what the answer depends on is held against the rules.

use serde_json::{Value, json};

use super::api::{Api, Expected, Rejection};
use super::fields::Fields;
use super::request::{Item, PastReply, Request, hash_of_value};
use super::voice::Voice;

/// How ids of calls begin.
pub(super) const CALL_PREFIX: &str = "call_";

/// 2026-03-15, so that every run says the same.
const CREATED: u64 = 1_773_576_000;

pub(super) fn check(body: &Value, expected: &Expected<'_>) -> Result<Request, Rejection> {
    let fields = Fields::of(body, "")?;
    let model = fields.need_text("model")?;
    if !expected.models.iter().any(|known| known == model) {
        return Err(Rejection::status(404, format!("The model `{model}` does not exist.")));
    }
    let input = fields.list("input")?.ok_or_else(|| fields.bad("input", "is required"))?;
    let tools = fields.list("tools")?.unwrap_or_default();
    let (mut system, mut items, mut turns) = (String::new(), Vec::new(), Vec::new());
    for (number, item) in input.iter().enumerate() {
        let item = Fields::of(item, format!("input[{number}]"))?;
        match (item.need_text("type")?, item.text("role")?) {
            ("message", Some("user")) => items.push(Item::User(content(&item)?)),
            ("message", Some("assistant")) => {
                let text = content(&item)?;
                turns.push(PastReply::new(text.clone(), std::iter::empty()));
                items.push(Item::Assistant(text));
            }
            ("message", _) => system.push_str(&content(&item)?),
            ("function_call", _) => {
                let (id, name) = (item.need_text("call_id")?.to_owned(), item.need_text("name")?.to_owned());
                turns.push(PastReply::new(String::new(), std::iter::once(id.as_str())));
                let arguments = item.need_text("arguments")?;
                let arguments = serde_json::from_str(arguments).unwrap_or_else(|_| arguments.into());
                items.push(Item::Call { id, name, arguments });
            }
            ("function_call_output", _) => {
                let text = item.get("output").map(|output| output.to_string()).unwrap_or_default();
                items.push(Item::Result { id: item.need_text("call_id")?.to_owned(), text });
            }
            // Reasoning, and what only some models know.
            _ => {}
        }
    }
    let mut request = Request {
        api: Api::Responses,
        model: model.to_owned(),
        stream: fields.flag("stream")?.unwrap_or(false),
        stream_usage: true,
        system,
        items,
        tools: tools.iter().filter_map(|tool| tool.get("name")?.as_str()).map(str::to_owned).collect(),
        position: turns.len(),
        turns,
        script: None,
        conversation: String::new(),
        hash: hash_of_value(body),
        size: 0,
    };
    request.name_conversation();
    Ok(request)
}

fn content(item: &Fields<'_>) -> Result<String, Rejection> {
    if let Some(text) = item.get("content").and_then(Value::as_str) {
        return Ok(text.to_owned());
    }
    let parts = item.list("content")?.ok_or_else(|| item.bad("content", "is required"))?;
    Ok(parts.iter().filter_map(|part| part.get("text")?.as_str()).collect())
}

/// A reply as a stream: its items, each when it is done, between the beginning and the end.
pub(super) fn events(voice: Voice<'_>) -> Vec<String> {
    let event = |kind: &str, mut data: Value| {
        data["type"] = kind.into();
        format!("event: {kind}\ndata: {data}\n\n")
    };
    let mut events = vec![event("response.created", json!({"response": response(voice, "in_progress", Vec::new())}))];
    let items = output(voice);
    for (index, item) in items.iter().enumerate() {
        events.push(event("response.output_item.added", json!({"output_index": index, "item": item})));
        events.push(event("response.output_item.done", json!({"output_index": index, "item": item})));
    }
    events.push(event("response.completed", json!({"response": response(voice, "completed", items)})));
    events
}

/// A reply as one document.
pub(super) fn document(voice: Voice<'_>) -> Value {
    response(voice, "completed", output(voice))
}

fn output(voice: Voice<'_>) -> Vec<Value> {
    let mut items = Vec::new();
    if !voice.reply.text.is_empty() {
        let content = json!([{"type": "output_text", "text": voice.reply.text, "annotations": []}]);
        items.push(json!({"type": "message", "id": voice.id("msg_", 0), "role": "assistant", "status": "completed",
            "content": content}));
    }
    for (index, call) in voice.reply.calls.iter().enumerate() {
        let arguments = call.arguments.written(voice.request.position);
        items.push(json!({"type": "function_call", "id": voice.id("fc_", index), "status": "completed",
            "call_id": voice.id(CALL_PREFIX, index), "name": call.name, "arguments": arguments}));
    }
    items
}

fn response(voice: Voice<'_>, status: &str, output: Vec<Value>) -> Value {
    let tokens = voice.reply.usage;
    let input = tokens.input + tokens.cached + tokens.cache_write;
    let usage = json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": tokens.cached},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input + tokens.output,
    });
    json!({
        "id": voice.id("resp_", 0),
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "model": voice.request.model,
        "output": output,
        "usage": if status == "completed" { usage } else { Value::Null },
    })
}
