use hyper::HeaderMap;
use serde_json::Value;

use crate::model::api::{Api, Expected, Rejection};
use crate::model::fields::{Fields, is_tool_name, schema_problem};
use crate::model::request::{Request, hash_of_value};

use super::talk;

/// Every field of a request that the reference names without a beta header. Any other is refused.
const FIELDS: &[&str] = &[
    "cache_control",
    "container",
    "inference_geo",
    "max_tokens",
    "messages",
    "metadata",
    "model",
    "output_config",
    "service_tier",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
];

/// A request has at most four places up to which it is cached.
const MOST_MARKERS: usize = 4;

/// The key has a header of its own, and the version of the interface must be said.
pub fn key(headers: &HeaderMap) -> Result<&str, Rejection> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).filter(|it| !it.is_empty());
    let key = header("x-api-key").ok_or_else(|| Rejection::status(401, "x-api-key: the header is required"))?;
    match header("anthropic-version") {
        Some("2023-06-01" | "2023-01-01") => Ok(key),
        Some(other) => Err(Rejection::status(400, format!("anthropic-version: {other:?} is not a valid version"))),
        None => Err(Rejection::status(400, "anthropic-version: the header is required")),
    }
}

/// Holds a body against the rules.
pub fn check(body: &Value, expected: &Expected<'_>) -> Result<Request, Rejection> {
    let fields = Fields::of(body, "")?;
    fields.only(FIELDS)?;
    let model = check_model(&fields, expected)?;
    fields.count("max_tokens")?.ok_or_else(|| fields.bad("max_tokens", "is required"))?;
    fields.number("temperature", 0.0, 1.0)?;
    fields.number("top_p", 0.0, 1.0)?;
    fields.count("top_k")?;
    fields.word("service_tier", &["auto", "standard_only"])?;
    let tools = check_tools(&fields, expected)?;
    let talk = talk::check(&fields, !tools.is_empty())?;
    check_markers(body)?;
    let mut request = Request {
        api: Api::Anthropic,
        model,
        stream: fields.flag("stream")?.unwrap_or(false),
        stream_usage: true,
        system: talk.system,
        items: talk.items,
        tools,
        position: talk.turns.len(),
        turns: talk.turns,
        script: None,
        conversation: String::new(),
        hash: hash_of_value(body),
        size: 0,
    };
    request.name_conversation();
    Ok(request)
}

fn check_model(fields: &Fields<'_>, expected: &Expected<'_>) -> Result<String, Rejection> {
    let model = fields.need_text("model")?;
    if expected.models.iter().any(|known| known == model) {
        return Ok(model.to_owned());
    }
    Err(Rejection::status(404, format!("model: {model}")))
}

/// `tool_choice` may be set only when there are tools.
fn check_tools(fields: &Fields<'_>, expected: &Expected<'_>) -> Result<Vec<String>, Rejection> {
    let tools = fields.list("tools")?.unwrap_or_default();
    let known = fields.get("tools").is_some_and(|tools| (expected.tools_known)(hash_of_value(tools)));
    let mut names = Vec::new();
    for (number, tool) in tools.iter().enumerate() {
        let name = check_tool(&Fields::of(tool, format!("tools.{number}"))?, known)?;
        if names.contains(&name) {
            return Err(fields.bad("tools", &format!("tool names must be unique, and {name:?} is not")));
        }
        names.push(name);
    }
    if let Some(choice) = fields.get("tool_choice") {
        check_tool_choice(&Fields::of(choice, "tool_choice")?, &names)?;
    }
    Ok(names)
}

fn check_tool(tool: &Fields<'_>, known: bool) -> Result<String, Rejection> {
    tool.only(&["type", "name", "description", "input_schema", "cache_control", "strict"])?;
    tool.word("type", &["custom"])?;
    let name = tool.need_text("name")?;
    if !is_tool_name(name) {
        return Err(tool.bad("name", "must match ^[a-zA-Z0-9_-]{1,64}$"));
    }
    tool.text("description")?;
    let schema = tool.get("input_schema").ok_or_else(|| tool.bad("input_schema", "is required"))?;
    if let Some(problem) = (!known).then(|| schema_problem(schema)).flatten() {
        return Err(tool.bad("input_schema", &problem));
    }
    Ok(name.to_owned())
}

fn check_tool_choice(choice: &Fields<'_>, tools: &[String]) -> Result<(), Rejection> {
    if tools.is_empty() {
        return Err(Rejection::bad("tool_choice", "tool_choice: may only be specified while providing tools"));
    }
    let kind = choice.word("type", &["auto", "any", "tool", "none"])?;
    let kind = kind.ok_or_else(|| choice.bad("type", "is required"))?;
    choice.flag("disable_parallel_tool_use")?;
    match kind {
        "tool" => {
            choice.only(&["type", "name", "disable_parallel_tool_use"])?;
            let name = choice.need_text("name")?;
            let known = tools.iter().any(|tool| tool == name);
            if known { Ok(()) } else { Err(choice.bad("name", "is not one of the tools")) }
        }
        "none" => choice.only(&["type"]),
        _ => choice.only(&["type", "disable_parallel_tool_use"]),
    }
}

/// Markers are `{"type": "ephemeral"}` with a `ttl` of five minutes or an hour, those of an hour before the others, and
/// there are at most four.
fn check_markers(body: &Value) -> Result<(), Rejection> {
    let mut markers = Vec::new();
    for place in ["tools", "system", "messages", "cache_control"] {
        match body.get(place) {
            Some(marker) if place == "cache_control" => markers.push(marker),
            Some(value) => collect_markers(value, &mut markers),
            None => {}
        }
    }
    markers.retain(|marker| !marker.is_null());
    let mut is_short = false;
    for marker in &markers {
        let marker = Fields::of(marker, "cache_control")?;
        marker.only(&["type", "ttl"])?;
        marker.word("type", &["ephemeral"])?.ok_or_else(|| marker.bad("type", "is required"))?;
        let is_long = marker.word("ttl", &["5m", "1h"])? == Some("1h");
        if is_long && is_short {
            return Err(marker.bad("ttl", "a block of 1h must not come after one of 5m"));
        }
        is_short |= !is_long;
    }
    if markers.len() > MOST_MARKERS {
        let message = format!("at most {MOST_MARKERS} blocks may have cache_control, and there are {}", markers.len());
        return Err(Rejection::bad("cache_control", message));
    }
    Ok(())
}

/// Markers stand on blocks and tools; what a tool is called with may use the same word for something else.
fn collect_markers<'a>(value: &'a Value, markers: &mut Vec<&'a Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_markers(item, markers)),
        Value::Object(fields) => {
            markers.extend(fields.get("cache_control"));
            if let Some(content) = fields.get("content") {
                collect_markers(content, markers);
            }
        }
        _ => {}
    }
}
