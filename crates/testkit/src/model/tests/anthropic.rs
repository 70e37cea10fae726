use hyper::HeaderMap;

use super::*;

pub fn tool(name: &str) -> Value {
    json!({"name": name, "description": "Edits.", "input_schema": {
        "type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}})
}

fn good() -> Value {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "edit_file", "input": {"path": "a"}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "Done."});
    let marker = json!({"type": "ephemeral"});
    json!({
        "model": ANTHROPIC_MODEL,
        "max_tokens": 500,
        "stream": true,
        "temperature": 0.2,
        "system": [{"type": "text", "text": "You edit.", "cache_control": marker}],
        "tools": [tool("edit_file"), tool("read-file")],
        "tool_choice": {"type": "auto"},
        "messages": [
            {"role": "user", "content": "Fix it."},
            {"role": "assistant", "content": [{"type": "text", "text": "Yes."}, call("a"), call("b")]},
            {"role": "user", "content": [result("b"), result("a"), {"type": "text", "text": "Go on."}]},
            {"role": "assistant", "content": "All done."},
            {"role": "user", "content": [{"type": "text", "text": "And now?", "cache_control": marker}]},
        ],
    })
}

#[track_caller]
fn no(change: impl FnOnce(&mut Value), words: &str) {
    refused(Api::Anthropic, &good(), change, words);
}

#[test]
fn a_request_is_read() {
    let request = check(Api::Anthropic, &good()).unwrap();
    assert_eq!(request.system, "You edit.");
    assert_eq!(request.tools, ["edit_file", "read-file"]);
    assert_eq!(request.items.len(), 9);
    assert_eq!(request.user_texts().collect::<Vec<_>>(), ["Fix it.", "Go on.", "And now?"]);
    assert_eq!(request.results().collect::<Vec<_>>(), [("b", "Done."), ("a", "Done.")]);
}

#[test]
fn key_and_version_are_headers() {
    let of = |fields: &[(&str, &str)]| -> HeaderMap {
        fields.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    };
    let status = |fields: &[(&str, &str)]| Api::Anthropic.key(&of(fields)).map(str::to_owned).map_err(|it| it.status);
    let version = ("anthropic-version", "2023-06-01");
    assert_eq!(status(&[("x-api-key", "k"), version]), Ok("k".to_owned()));
    assert_eq!(status(&[version]), Err(401));
    assert_eq!(status(&[("authorization", "Bearer k"), version]), Err(401));
    assert_eq!(status(&[("x-api-key", "k")]), Err(400));
    assert_eq!(status(&[("x-api-key", "k"), ("anthropic-version", "2024-01-01")]), Err(400));
}

#[test]
fn fields_are_those_of_the_reference() {
    no(|body| body["max_completion_tokens"] = 5.into(), "max_completion_tokens: this field is not known");
    no(|body| body["messages"][0]["name"] = "n".into(), "name: this field is not known");
    no(|body| body["messages"][1]["content"][1]["extra"] = 1.into(), "extra: this field is not known");
    no(|body| body["messages"][2]["content"][0]["extra"] = 1.into(), "extra: this field is not known");
    no(|body| body["system"][0]["extra"] = 1.into(), "extra: this field is not known");
    no(|body| body["tools"][0]["parameters"] = json!({}), "parameters: this field is not known");
    no(|body| body["model"] = "claude-other".into(), "claude-other");
    no(|body| body["max_tokens"] = Value::Null, "max_tokens: is required");
    no(|body| body["max_tokens"] = 0.into(), "max_tokens: must be a whole number of at least 1");
    no(|body| body["temperature"] = 1.5.into(), "temperature: must be a number from 0 to 1");
    no(|body| body["stream"] = 1.into(), "stream: must be true or false");
    no(|body| body["system"] = 1.into(), "system: must be a string or a list");
    no(|body| body["system"][0]["text"] = " ".into(), "must be non-empty");
    accepted(Api::Anthropic, &good(), |body| body["system"] = "You edit.".into());
}

#[test]
fn tools_have_a_schema() {
    no(|body| body["tools"][0]["name"] = "edit file".into(), "name: must match");
    no(|body| body["tools"][0]["name"] = "n".repeat(65).into(), "name: must match");
    no(|body| body["tools"][0]["type"] = "function".into(), "is not one of custom");
    no(|body| body["tools"][1] = tool("edit_file"), "tool names must be unique");
    no(|body| body["tools"][0]["input_schema"] = Value::Null, "input_schema: is required");
    no(|body| body["tools"][0]["input_schema"]["type"] = "string".into(), "its type must be");
    no(|body| body["tools"][0]["input_schema"]["required"] = "path".into(), "is not a valid JSON schema");
    no(|body| body["tool_choice"] = json!({"type": "required"}), "is not one of auto, any, tool, none");
    no(|body| body["tool_choice"] = json!({"type": "tool", "name": "finish"}), "is not one of the tools");
    no(|body| body["tool_choice"] = "auto".into(), "tool_choice: must be an object");
    no(|body| body["tools"] = json!([]), "only be specified while providing tools");
    no(
        |body| {
            body["tools"] = json!([]);
            body["tool_choice"] = Value::Null;
        },
        "are required when messages hold tool_use",
    );
}

#[test]
fn messages_have_roles_and_content() {
    no(|body| body["messages"] = json!([]), "at least one message");
    no(|body| body["messages"][0]["role"] = "system".into(), "is not one of user, assistant");
    no(|body| drop(body["messages"].as_array_mut().unwrap().remove(0)), "the first message must be the user's");
    no(|body| body["messages"][0]["content"] = "".into(), "content: must be non-empty");
    no(|body| body["messages"][0]["content"] = json!([]), "content: must be non-empty");
    no(|body| body["messages"][0]["content"] = Value::Null, "content: is required");
    no(|body| body["messages"][4]["content"][0]["text"] = "\n".into(), "text content blocks must be non-empty");
    no(|body| body["messages"][1]["content"][0]["text"] = "".into(), "text content blocks must be non-empty");
    no(|body| body["messages"][1]["content"][0]["type"] = "output_text".into(), "is not a block of an assistant");
    no(|body| body["messages"][4]["content"][0]["type"] = "tool_use".into(), "is not a block of a user");
    accepted(Api::Anthropic, &good(), |body| {
        push(&mut body["messages"], json!({"role": "user", "content": "Twice in a row is joined."}));
    });
}

#[test]
fn a_beginning_of_the_answer_does_not_end_with_space() {
    let with = |content: Value| {
        move |body: &mut Value| push(&mut body["messages"], json!({"role": "assistant", "content": content}))
    };
    no(with("Well, ".into()), "cannot end with trailing whitespace");
    no(with(json!([{"type": "text", "text": "Well,\n"}])), "cannot end with trailing whitespace");
    accepted(Api::Anthropic, &good(), with("Well,".into()));
    accepted(Api::Anthropic, &good(), |body| body["messages"][3]["content"] = "All done. ".into());
}

#[test]
fn calls_are_well_formed_and_unique() {
    let call = |body: &mut Value, field: &str, value: Value| body["messages"][1]["content"][1][field] = value;
    no(|body| call(body, "id", Value::Null), "id: is required");
    no(|body| call(body, "id", "a b".into()), "id: must match");
    no(|body| call(body, "id", "b".into()), "tool_use ids must be unique");
    no(|body| call(body, "name", "edit file".into()), "name: must match");
    no(|body| call(body, "input", Value::Null), "input: is required");
    no(|body| call(body, "input", "{}".into()), "input: must be an object");
}

#[test]
fn every_call_is_answered_once_and_at_once() {
    no(|body| drop(body["messages"][2]["content"].as_array_mut().unwrap().remove(1)), "immediately after: a");
    no(|body| drop(body["messages"].as_array_mut().unwrap().remove(2)), "immediately after: a, b");
    no(|body| body["messages"].as_array_mut().unwrap().truncate(2), "immediately after: a, b");
    no(|body| body["messages"][2]["content"] = "Go on.".into(), "immediately after: a, b");
    no(|body| body["messages"][2]["content"].as_array_mut().unwrap().swap(0, 2), "immediately after");
    no(|body| body["messages"][2]["content"].as_array_mut().unwrap().swap(1, 2), "immediately after");
    no(|body| body["messages"][2]["content"][0]["tool_use_id"] = "c".into(), "\"c\" is not the id of a tool_use");
    no(|body| body["messages"][2]["content"][0]["tool_use_id"] = "a".into(), "\"a\" is not the id of a tool_use");
    let late = json!({"type": "tool_result", "tool_use_id": "a", "content": ""});
    no(|body| push(&mut body["messages"][2]["content"], late.clone()), "must come before all other blocks");
    no(|body| body["messages"][4]["content"] = json!([late]), "\"a\" is not the id of a tool_use");
    no(|body| body["messages"][2]["content"][0]["content"] = 5.into(), "content: must be a string or a list");
    no(
        |body| body["messages"][2]["content"][0]["content"] = json!([{"type": "tool_use"}]),
        "is not a block of a result",
    );
    accepted(Api::Anthropic, &good(), |body| body["messages"][2]["content"][0]["is_error"] = true.into());
}

#[test]
fn thoughts_come_back_as_they_were() {
    let signed = format!("signed:{:x}", request::hash_of("Hm."));
    let thought = json!({"type": "thinking", "thinking": "Hm.", "signature": signed});
    let with = |change: fn(&mut Value)| {
        let mut thought = thought.clone();
        change(&mut thought);
        move |body: &mut Value| body["messages"][1]["content"].as_array_mut().unwrap().insert(0, thought)
    };
    accepted(Api::Anthropic, &good(), with(|_| {}));
    accepted(Api::Anthropic, &good(), with(|it| *it = json!({"type": "redacted_thinking", "data": "x"})));
    no(with(|it| it["thinking"] = "Hmm.".into()), "Invalid `signature`");
    no(with(|it| it["signature"] = Value::Null), "signature: is required");
    no(with(|it| it["cache_control"] = json!({"type": "ephemeral"})), "cache_control: this field is not known");
}

#[test]
fn there_are_at_most_four_markers() {
    let marker = json!({"type": "ephemeral"});
    let four = accepted(Api::Anthropic, &good(), |body| {
        body["tools"][1]["cache_control"] = marker.clone();
        body["messages"][2]["content"][1]["cache_control"] = marker.clone();
    });
    assert_eq!(four.tools.len(), 2);
    no(
        |body| {
            body["tools"][0]["cache_control"] = marker.clone();
            body["tools"][1]["cache_control"] = marker.clone();
            body["messages"][2]["content"][1]["cache_control"] = marker.clone();
        },
        "and there are 5",
    );
    no(|body| body["system"][0]["cache_control"] = json!({"type": "forever"}), "is not one of ephemeral");
    no(|body| body["system"][0]["cache_control"]["ttl"] = "2h".into(), "is not one of 5m, 1h");
    let hour = json!({"type": "ephemeral", "ttl": "1h"});
    accepted(Api::Anthropic, &good(), |body| body["tools"][1]["cache_control"] = hour.clone());
    no(|body| body["messages"][4]["content"][0]["cache_control"] = hour.clone(), "must not come after one of 5m");
    accepted(Api::Anthropic, &good(), |body| {
        body["messages"][1]["content"][1]["input"] = json!({"cache_control": 1, "content": {"cache_control": 2}});
    });
}
