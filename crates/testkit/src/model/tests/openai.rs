use hyper::HeaderMap;

use super::*;

pub fn tool(name: &str) -> Value {
    json!({"type": "function", "function": {"name": name, "description": "Edits.", "parameters": {
        "type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}})
}

fn good() -> Value {
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "edit_file", "arguments": "{}"}});
    json!({
        "model": OPENAI_MODEL,
        "stream": true,
        "stream_options": {"include_usage": true},
        "temperature": 0.2,
        "max_completion_tokens": 500,
        "tools": [tool("edit_file"), tool("read-file")],
        "tool_choice": "auto",
        "parallel_tool_calls": true,
        "messages": [
            {"role": "system", "content": "You edit."},
            {"role": "user", "content": [{"type": "text", "text": "Fix it."}]},
            {"role": "assistant", "content": "Yes.", "tool_calls": [call("a"), call("b")]},
            {"role": "tool", "tool_call_id": "b", "content": "Done."},
            {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "Done."}]},
            {"role": "assistant", "content": "All done."},
            {"role": "user", "content": "And now?"},
        ],
    })
}

#[track_caller]
fn no(change: impl FnOnce(&mut Value), words: &str) {
    refused(Api::OpenAi, &good(), change, words);
}

#[test]
fn a_request_is_read() {
    let request = check(Api::OpenAi, &good()).unwrap();
    assert_eq!(request.system, "You edit.");
    assert_eq!(request.tools, ["edit_file", "read-file"]);
    assert_eq!(request.items.len(), 8);
    assert_eq!(request.user_texts().collect::<Vec<_>>(), ["Fix it.", "And now?"]);
    assert!(request.stream && request.stream_usage);
    assert!(request.has_called("edit_file") && !request.has_called("finish"));
}

#[test]
fn the_key_is_a_bearer_token() {
    let with = |value: &str| HeaderMap::from_iter([("authorization".parse().unwrap(), value.parse().unwrap())]);
    assert_eq!(Api::OpenAi.key(&with("Bearer k")).unwrap(), "k");
    for headers in [HeaderMap::new(), with("k"), with("Bearer "), with("Basic k")] {
        assert_eq!(Api::OpenAi.key(&headers).unwrap_err().status, 401);
    }
}

#[test]
fn fields_are_those_of_the_reference() {
    no(|body| body["max_output_tokens"] = 5.into(), "max_output_tokens: this field is not known");
    no(|body| body["messages"][1]["cache_control"] = json!({}), "cache_control: this field is not known");
    no(|body| body["messages"][2]["tool_calls"][0]["extra"] = 1.into(), "extra: this field is not known");
    no(|body| body["messages"][3]["name"] = "n".into(), "name: this field is not known");
    no(|body| body["tools"][0]["function"]["input_schema"] = json!({}), "input_schema: this field is not known");
    no(|body| body["model"] = Value::Null, "model: is required");
    no(|body| body["model"] = "gpt-other".into(), "gpt-other");
    no(|body| body["stream"] = "yes".into(), "stream: must be true or false");
    no(|body| body["stream"] = false.into(), "stream_options: is only allowed when stream is true");
    no(|body| body["stream_options"] = json!({"usage": true}), "usage: this field is not known");
    no(|body| body["temperature"] = 2.5.into(), "temperature: must be a number from 0 to 2");
    no(|body| body["max_tokens"] = 5.into(), "max_tokens: cannot be given together");
    no(|body| body["max_completion_tokens"] = 0.into(), "max_completion_tokens: must be a whole number");
    accepted(Api::OpenAi, &good(), |body| body["user"] = Value::Null);
}

#[test]
fn models_that_think_take_neither_the_old_limit_nor_a_temperature() {
    let mut good = good();
    good["model"] = OPENAI_REASONING_MODEL.into();
    good.as_object_mut().unwrap().remove("temperature");
    let no = |change: fn(&mut Value), words: &str| refused(Api::OpenAi, &good, change, words);
    no(|body| body["temperature"] = 1.into(), "'temperature' is not supported with this model");
    no(|body| body["top_p"] = 1.into(), "'top_p' is not supported with this model");
    let old = |body: &mut Value| {
        body.as_object_mut().unwrap().remove("max_completion_tokens");
        body["max_tokens"] = 500.into();
    };
    no(old, "Use 'max_completion_tokens' instead");
    let mut body = good.clone();
    old(&mut body);
    let rejection = check(Api::OpenAi, &body).unwrap_err();
    assert_eq!((rejection.param.as_deref(), rejection.code), (Some("max_tokens"), Some("unsupported_parameter")));
}

#[test]
fn tools_are_functions_with_a_schema() {
    no(|body| body["tools"] = json!([]), "tools: must hold 1 to 128");
    no(|body| body["tools"] = json!({}), "tools: must be an array");
    no(|body| body["tools"][0]["type"] = "tool".into(), "type: must be \"function\"");
    no(|body| body["tools"][0]["function"]["name"] = "edit file".into(), "name: must match");
    no(|body| body["tools"][0]["function"]["name"] = "n".repeat(65).into(), "name: must match");
    no(|body| body["tools"][0]["function"]["name"] = "".into(), "name: must match");
    no(|body| body["tools"][1] = tool("edit_file"), "there are two tools");
    no(|body| body["tools"][0]["function"]["description"] = "d".repeat(1025).into(), "at most 1024 characters");
    no(|body| body["tools"][0]["function"]["parameters"] = json!([]), "parameters: must be an object");
    no(|body| body["tools"][0]["function"]["parameters"]["type"] = "array".into(), "its type must be");
    let schema = |body: &mut Value, change: Value| body["tools"][0]["function"]["parameters"]["properties"] = change;
    no(|body| schema(body, json!({"path": {"type": "text"}})), "is not a valid JSON schema");
    no(|body| schema(body, json!({"path": {"minLength": -1}})), "is not a valid JSON schema");
    no(|body| body["tools"][0]["function"]["strict"] = true.into(), "additionalProperties must be false");
    no(
        |body| {
            body["tools"][0]["function"]["strict"] = true.into();
            body["tools"][0]["function"]["parameters"] =
                json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false});
        },
        "must be required when strict",
    );
    no(|body| body["tool_choice"] = "any".into(), "is not one of none, auto, required");
    let named = |name: &str| json!({"type": "function", "function": {"name": name}});
    no(|body| body["tool_choice"] = named("finish"), "is not one of the tools");
    accepted(Api::OpenAi, &good(), |body| body["tool_choice"] = named("edit_file"));
    no(
        |body| {
            body.as_object_mut().unwrap().remove("tools");
        },
        "is only allowed when tools are given",
    );
}

#[test]
fn messages_have_roles_and_content() {
    no(|body| body["messages"] = json!([]), "messages: must not be empty");
    no(|body| body["messages"] = "hello".into(), "messages: must be an array");
    no(|body| body["messages"][1]["role"] = "human".into(), "\"human\" is not a role");
    no(|body| body["messages"][1]["content"] = Value::Null, "content: is required");
    no(|body| body["messages"][1]["content"] = 5.into(), "content: must be a string or a list");
    no(|body| body["messages"][1]["content"] = json!([]), "content: must not be an empty list");
    no(|body| body["messages"][1]["content"][0]["type"] = "tool_result".into(), "is not one of text, image_url");
    no(|body| body["messages"][5]["content"] = Value::Null, "content: must be a string or a list");
    no(|body| body["messages"][2]["tool_calls"] = json!([]), "tool_calls: must not be empty");
    accepted(Api::OpenAi, &good(), |body| body["messages"][2]["content"] = Value::Null);
}

#[test]
fn calls_are_well_formed_and_unique() {
    let call = |body: &mut Value, field: &str, value: Value| body["messages"][2]["tool_calls"][0][field] = value;
    no(|body| call(body, "id", Value::Null), "id: is required");
    no(|body| call(body, "id", "x".repeat(41).into()), "id: must have 1 to 40 characters");
    no(|body| call(body, "id", "b".into()), "\"b\" was used before");
    no(|body| call(body, "type", Value::Null), "type: is required");
    no(|body| call(body, "type", "tool".into()), "type: must be \"function\"");
    no(|body| call(body, "function", json!({"name": "x", "arguments": {}})), "arguments: must be a string");
    no(|body| call(body, "function", json!({"name": "x y", "arguments": "{}"})), "name: must match");
    let raw = |body: &mut Value| body["messages"][2]["tool_calls"][0]["function"]["arguments"] = "{\"path".into();
    let request = accepted(Api::OpenAi, &good(), raw);
    let is_raw = |item: &Item| matches!(item, Item::Call { arguments: Value::String(raw), .. } if raw == "{\"path");
    assert!(request.items.iter().any(is_raw));
}

#[test]
fn every_call_is_answered_once_and_at_once() {
    no(|body| drop(body["messages"].as_array_mut().unwrap().remove(4)), "not answered: a");
    no(|body| body["messages"].as_array_mut().unwrap().truncate(4), "not answered: a");
    no(|body| body["messages"].as_array_mut().unwrap().truncate(3), "not answered: a, b");
    no(|body| body["messages"].as_array_mut().unwrap().swap(4, 6), "not answered: a");
    no(|body| body["messages"][4]["tool_call_id"] = "b".into(), "\"b\" answers a call");
    no(|body| body["messages"][4]["tool_call_id"] = "c".into(), "\"c\" answers a call");
    no(|body| body["messages"][4]["tool_call_id"] = Value::Null, "tool_call_id: is required");
    no(
        |body| push(&mut body["messages"], json!({"role": "tool", "tool_call_id": "a", "content": ""})),
        "\"a\" answers",
    );
}
