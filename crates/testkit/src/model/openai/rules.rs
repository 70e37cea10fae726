use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use serde_json::Value;

use crate::model::api::{Api, Expected, Rejection};
use crate::model::fields::{Fields, is_tool_name, schema_problem};
use crate::model::request::{Request, hash_of_value};

use super::talk;

/// Every field of a request that the reference names. Any other is refused.
const FIELDS: &[&str] = &[
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "modalities",
    "model",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
];

/// A request takes at most 128 tools.
const MOST_TOOLS: usize = 128;

/// A function's description has at most 1,024 characters.
const LONGEST_DESCRIPTION: usize = 1024;

/// The key is a bearer token.
pub fn key(headers: &HeaderMap) -> Result<&str, Rejection> {
    let shown = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    match shown.and_then(|value| value.strip_prefix("Bearer ")).map(str::trim) {
        Some(key) if !key.is_empty() => Ok(key),
        _ => Err(Rejection::status(401, "No API key was given. It belongs into the header Authorization, as Bearer.")),
    }
}

/// Holds a body against the rules.
pub fn check(body: &Value, expected: &Expected<'_>) -> Result<Request, Rejection> {
    let fields = Fields::of(body, "")?;
    fields.only(FIELDS)?;
    let model = check_model(&fields, expected)?;
    let stream = fields.flag("stream")?.unwrap_or(false);
    let stream_usage = check_stream_options(&fields, stream)?;
    check_numbers(&fields)?;
    if thinks(&model) {
        check_thinking(&fields)?;
    }
    let tools = check_tools(&fields, expected)?;
    let talk = talk::check(&fields)?;
    let mut request = Request {
        api: Api::OpenAi,
        model,
        stream,
        stream_usage,
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
    let message = format!("The model `{model}` does not exist or you have no access to it.");
    Err(Rejection { code: Some("model_not_found"), ..Rejection::status(404, message) })
}

/// The models that think before they answer. One of another name that ends so is one that nobody can tell from outside.
fn thinks(model: &str) -> bool {
    ["o1", "o3", "o4", "gpt-5"].iter().any(|family| model.starts_with(family)) || model.ends_with("-thinks")
}

/// They know the limit of tokens by its new name only, and no settings of chance but the usual ones.
fn check_thinking(fields: &Fields<'_>) -> Result<(), Rejection> {
    let unsupported = |name: &str, message: String| {
        let code = Some("unsupported_parameter");
        Err(Rejection { code, ..Rejection::bad(name, message) })
    };
    if fields.get("max_tokens").is_some() {
        let what = "is not supported with this model. Use 'max_completion_tokens' instead.";
        return unsupported("max_tokens", format!("Unsupported parameter: 'max_tokens' {what}"));
    }
    for name in ["temperature", "top_p", "frequency_penalty", "presence_penalty", "logprobs", "logit_bias"] {
        if fields.get(name).is_some() {
            return unsupported(name, format!("Unsupported parameter: '{name}' is not supported with this model."));
        }
    }
    Ok(())
}

/// `stream_options` may be set only when `stream` is.
fn check_stream_options(fields: &Fields<'_>, stream: bool) -> Result<bool, Rejection> {
    let Some(options) = fields.get("stream_options") else { return Ok(false) };
    if !stream {
        return Err(fields.bad("stream_options", "is only allowed when stream is true"));
    }
    let options = Fields::of(options, "stream_options")?;
    options.only(&["include_usage", "include_obfuscation"])?;
    Ok(options.flag("include_usage")?.unwrap_or(false))
}

fn check_numbers(fields: &Fields<'_>) -> Result<(), Rejection> {
    fields.number("temperature", 0.0, 2.0)?;
    fields.number("top_p", 0.0, 1.0)?;
    fields.number("frequency_penalty", -2.0, 2.0)?;
    fields.number("presence_penalty", -2.0, 2.0)?;
    fields.count("n")?;
    let whole = fields.count("max_completion_tokens")?;
    if fields.count("max_tokens")?.is_some() && whole.is_some() {
        return Err(fields.bad("max_tokens", "cannot be given together with max_completion_tokens"));
    }
    fields.word("reasoning_effort", &["none", "minimal", "low", "medium", "high", "xhigh"])?;
    fields.word("service_tier", &["auto", "default", "flex", "scale", "priority"])?;
    Ok(())
}

/// Tools are functions. `tool_choice` and `parallel_tool_calls` may be set only when there are any, and the list is
/// not empty if it is there.
fn check_tools(fields: &Fields<'_>, expected: &Expected<'_>) -> Result<Vec<String>, Rejection> {
    let Some(tools) = fields.list("tools")? else {
        for needs_tools in ["tool_choice", "parallel_tool_calls"] {
            if fields.get(needs_tools).is_some() {
                return Err(fields.bad(needs_tools, "is only allowed when tools are given"));
            }
        }
        return Ok(Vec::new());
    };
    if tools.is_empty() || tools.len() > MOST_TOOLS {
        return Err(fields.bad("tools", &format!("must hold 1 to {MOST_TOOLS} tools")));
    }
    fields.flag("parallel_tool_calls")?;
    let known = fields.get("tools").is_some_and(|tools| (expected.tools_known)(hash_of_value(tools)));
    let mut names = Vec::new();
    for (number, tool) in tools.iter().enumerate() {
        let name = check_tool(&Fields::of(tool, format!("tools[{number}]"))?, known)?;
        if names.contains(&name) {
            return Err(fields.bad("tools", &format!("there are two tools {name:?}")));
        }
        names.push(name);
    }
    check_tool_choice(fields, &names)?;
    Ok(names)
}

fn check_tool(tool: &Fields<'_>, known: bool) -> Result<String, Rejection> {
    tool.only(&["type", "function"])?;
    if tool.need_text("type")? != "function" {
        return Err(tool.bad("type", "must be \"function\""));
    }
    let function = tool.get("function").ok_or_else(|| tool.bad("function", "is required"))?;
    let function = Fields::of(function, tool.at("function"))?;
    function.only(&["name", "description", "parameters", "strict"])?;
    let name = function.need_text("name")?;
    if !is_tool_name(name) {
        return Err(function.bad("name", "must match ^[a-zA-Z0-9_-]{1,64}$"));
    }
    if function.text("description")?.is_some_and(|text| text.chars().count() > LONGEST_DESCRIPTION) {
        return Err(function.bad("description", &format!("must have at most {LONGEST_DESCRIPTION} characters")));
    }
    let strict = function.flag("strict")?.unwrap_or(false);
    if let Some(schema) = function.get("parameters").filter(|_| !known) {
        let problem = schema_problem(schema).or_else(|| strict.then(|| strict_problem(schema)).flatten());
        if let Some(problem) = problem {
            return Err(function.bad("parameters", &problem));
        }
    }
    Ok(name.to_owned())
}

/// A strict function's objects allow no other properties, and require all they have.
fn strict_problem(schema: &Value) -> Option<String> {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
            return Some("additionalProperties must be false when strict is true".to_owned());
        }
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|it| it.iter().any(|required| required == name));
        if let Some(name) = properties.keys().find(|name| !is_required(name)) {
            return Some(format!("{name:?} must be required when strict is true"));
        }
    }
    match schema {
        Value::Object(fields) => fields.values().find_map(strict_problem),
        Value::Array(items) => items.iter().find_map(strict_problem),
        _ => None,
    }
}

fn check_tool_choice(fields: &Fields<'_>, tools: &[String]) -> Result<(), Rejection> {
    let Some(choice) = fields.get("tool_choice") else { return Ok(()) };
    if choice.is_string() {
        return fields.word("tool_choice", &["none", "auto", "required"]).map(|_| ());
    }
    let choice = Fields::of(choice, "tool_choice")?;
    choice.word("type", &["function"])?;
    let function = choice.get("function").ok_or_else(|| choice.bad("function", "is required"))?;
    let function = Fields::of(function, "tool_choice.function")?;
    let name = function.need_text("name")?;
    if tools.iter().any(|tool| tool == name) { Ok(()) } else { Err(function.bad("name", "is not one of the tools")) }
}
