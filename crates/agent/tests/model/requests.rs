use copydesk_agent::Provider;
use serde_json::{Value, json};

use crate::desk::{KEY, Pages, edit, editor, text};
use crate::stub::{self, Reply, Stub, anthropic, finish, openai};

#[tokio::test]
async fn openai_is_asked_as_it_wants_to_be() {
    let stub = Stub::new([
        openai("I look first.", &[("c1", "read_file", json!({"path": "docs/a.md"})), ("c2", "list_files", json!({}))]),
        openai("", &[stub::edit("c3", "Old text.", "New text.")]),
        openai("", &[finish("Renew A")]),
    ])
    .await;
    let pages = Pages::with_prompt("Make A new.");
    let edited = edit(&editor(&stub, Provider::OpenAi), &pages).await.unwrap();
    assert_eq!(text(&edited, "docs/a.md"), "# A\n\nNew text.\n");
    assert_eq!((edited.title.as_str(), edited.summary.as_str(), edited.taken_through), ("Renew A", "Did it.", 1));
    let asked = stub.asked();
    assert_eq!((asked.len(), stub.left()), (3, 0));
    let last = &asked[2];
    assert_eq!(last.path, "/v1/chat/completions");
    assert!(last.headers.contains(&format!("authorization: bearer {KEY}")));
    let body = &last.body;
    assert_eq!(
        (&body["model"], &body["stream"], &body["max_tokens"]),
        (&json!("test-model"), &json!(true), &json!(8192))
    );
    assert_eq!(body["stream_options"]["include_usage"], true);
    assert_eq!(body.get("reasoning_effort"), None);
    assert_eq!(body["tools"].as_array().unwrap().len(), 15);
    assert_eq!(body["tools"][0]["function"]["parameters"]["type"], "object");
    let roles: Vec<&str> = body["messages"].as_array().unwrap().iter().map(|it| it["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool", "assistant", "tool"]);
    assert_eq!(body["messages"][2]["tool_calls"][0]["id"], "c1");
    assert_eq!(body["messages"][2]["tool_calls"][0]["function"]["arguments"], r#"{"path":"docs/a.md"}"#);
    let results: Vec<&str> =
        [3, 4, 6].iter().map(|at| body["messages"][*at]["tool_call_id"].as_str().unwrap()).collect();
    assert_eq!(results, ["c1", "c2", "c3"]);
    assert!(body["messages"][3]["content"].as_str().unwrap().contains("3: Old text."));
    let first = body["messages"][1]["content"].as_str().unwrap();
    assert!(
        first.contains("Write plainly.") && first.contains("Make A new.") && first.contains("a.md, b.md"),
        "{first}"
    );
}

#[tokio::test]
async fn what_happens_is_told_and_counted() {
    let stub = Stub::new([
        openai("", &[("c0", "plan", json!({"items": ["Look", "Edit"]}))]),
        openai("", &[stub::edit("c1", "Old text.", &"x".repeat(2_000))]),
        openai("", &[finish("T")]),
    ])
    .await;
    let pages = Pages::with_prompt("Go.");
    let mut settings = crate::desk::settings(&stub, Provider::OpenAi);
    (settings.input_price, settings.output_price) = (Some(1.0), Some(10.0));
    let editor = copydesk_agent::ModelEditor::new(settings).unwrap();
    edit(&editor, &pages).await.unwrap();
    assert_eq!(pages.kinds(), ["model_call", "plan", "tool_call", "model_call", "tool_call", "model_call"]);
    let told = pages.told.lock().unwrap().clone();
    assert_eq!(told[1].1, json!({"items": ["Look", "Edit"]}));
    assert_eq!((&told[0].1["number"], &told[0].1["inputTokens"]), (&json!(1), &json!(100)));
    assert_eq!(told[4].1["ok"], true);
    assert!(told[4].1["arguments"]["new_text"].as_str().unwrap().len() < 520);
    let answers = pages.answers.lock().unwrap().clone();
    assert_eq!((answers[0].usage.input_tokens, answers[0].usage.output_tokens), (100, 10));
    assert!((answers[0].usage.cost_usd.unwrap() - 0.0002).abs() < 1e-9);
}

#[tokio::test]
async fn anthropic_is_asked_as_it_wants_to_be() {
    let stub = Stub::new([
        anthropic("I look.", &[("t1", "read_file", json!({"path": "docs/a.md"})), ("t2", "check_docs", json!({}))]),
        anthropic("", &[stub::edit("t3", "Old text.", "New text.")]),
        anthropic("All done here.", &[]),
        anthropic("", &[finish("Renew A")]),
    ])
    .await;
    let pages = Pages::with_prompt("Make A new.");
    let edited = edit(&editor(&stub, Provider::Anthropic), &pages).await.unwrap();
    assert_eq!(text(&edited, "docs/a.md"), "# A\n\nNew text.\n");
    let asked = stub.asked();
    let last = &asked[3];
    assert_eq!(last.path, "/v1/messages");
    assert!(last.headers.contains(&format!("x-api-key: {KEY}")) && last.headers.contains("anthropic-version"));
    let body = &last.body;
    assert_eq!((&body["model"], &body["max_tokens"]), (&json!("test-model"), &json!(8192)));
    assert_eq!(body["system"][0]["cache_control"]["type"], "ephemeral");
    assert!(body["system"][0]["text"].as_str().unwrap().contains("You are Copydesk"));
    assert_eq!(body["tools"][0]["input_schema"]["type"], "object");
    assert_eq!(body.get("thinking"), None);
    let messages = body["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|it| it["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user", "assistant", "user"]);
    assert_eq!(
        messages[1]["content"][1],
        json!({"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "docs/a.md"}})
    );
    let results: Vec<&Value> = messages[2]["content"].as_array().unwrap().iter().map(|it| &it["tool_use_id"]).collect();
    assert_eq!(results, [&json!("t1"), &json!("t2")]);
    assert_eq!(messages[6]["content"][0]["cache_control"]["type"], "ephemeral");
    // What was read from the cache counts as well.
    assert_eq!(pages.answers.lock().unwrap()[0].usage.input_tokens, 100);
}

#[tokio::test]
async fn thinking_goes_back_to_anthropic() {
    let thinking = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1}}}\n\n\
        event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n\
        event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"Hm.\"}}\n\n\
        event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"sig\"}}\n\n\
        event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
        event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"check_docs\",\"input\":{}}}\n\n\
        event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n\
        event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":5}}\n\n\
        event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    let stub = Stub::new([Reply::Stream(thinking.to_owned()), anthropic("", &[finish("")])]).await;
    edit(&editor(&stub, Provider::Anthropic), &Pages::with_prompt("Go.")).await.unwrap();
    let content = stub.asked()[1].body["messages"][1]["content"].clone();
    assert_eq!(content[0], json!({"type": "thinking", "thinking": "Hm.", "signature": "sig"}));
    assert_eq!(content[1]["type"], "tool_use");
}

/// An answer of one call that comes in one piece, as servers send it that are like OpenAI's.
fn in_one_piece(call: Value) -> Reply {
    let usage = json!({"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10});
    let frame = json!({"choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [call]}}]});
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage});
    Reply::Stream(format!("data: {frame}\n\ndata: {end}\n\ndata: [DONE]\n\n"))
}

#[tokio::test]
async fn ollama_is_asked_like_openai() {
    let call = |name: &str, arguments: Value| json!({"id": "", "index": 0, "type": "function", "function": {"name": name, "arguments": arguments.to_string()}});
    for path in ["", "/", "/v1", "/api/"] {
        let stub = Stub::new([
            in_one_piece(call("read_file", json!({"path": "docs/a.md"}))),
            in_one_piece(call("finish", json!({"summary": "Nothing to do."}))),
        ])
        .await;
        let mut settings = crate::desk::settings(&stub, Provider::Ollama);
        settings.base_url = Some(format!("{}{path}", stub.url));
        let pages = Pages::with_prompt("Look.");
        let editor = copydesk_agent::ModelEditor::new(settings).unwrap();
        let edited = edit(&editor, &pages).await.unwrap();
        assert_eq!((edited.title.as_str(), edited.summary.as_str()), ("", "Nothing to do."));
        let asked = &stub.asked()[1];
        assert_eq!(asked.path, "/v1/chat/completions");
        assert_eq!(asked.body["max_tokens"], 8192);
        let messages = asked.body["messages"].as_array().unwrap();
        let roles: Vec<&str> = messages.iter().map(|it| it["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "tool"]);
        assert_eq!(messages[2]["tool_calls"][0]["id"], messages[3]["tool_call_id"]);
        assert!(messages[3]["content"].as_str().unwrap().contains("Old text."));
        assert_eq!(pages.answers.lock().unwrap()[0].usage.input_tokens, 7);
    }
}

#[tokio::test]
async fn gemini_is_asked_like_openai_and_gets_its_signatures_back() {
    let extra = json!({"google": {"thought_signature": "sig"}});
    // Without an index, and with a reason as if nothing were called.
    let call = |name: &str, arguments: Value| {
        json!({"id": "c1", "type": "function", "extra_content": extra,
            "function": {"name": name, "arguments": arguments.to_string()}})
    };
    let stub = Stub::new([
        in_one_piece(call("read_file", json!({"path": "docs/a.md"}))),
        in_one_piece(call("read_file", json!({"path": "docs/b.md"}))),
        in_one_piece(call("finish", json!({"summary": "Nothing to do."}))),
    ])
    .await;
    let edited = edit(&editor(&stub, Provider::Gemini), &Pages::with_prompt("Look.")).await.unwrap();
    assert_eq!(edited.summary, "Nothing to do.");
    let asked = &stub.asked()[2];
    assert_eq!(asked.path, "/v1beta/openai/chat/completions");
    assert!(asked.headers.contains(&format!("authorization: bearer {KEY}")));
    let messages = asked.body["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|it| it["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant", "tool"]);
    for at in [2, 4] {
        assert_eq!(messages[at]["tool_calls"][0]["extra_content"], extra);
    }
    assert!(messages[5]["content"].as_str().unwrap().contains("See [A]"), "{}", messages[5]);
}

#[tokio::test]
async fn the_limit_of_tokens_has_the_name_that_the_server_knows() {
    let refused = |known: &str, given: &str| {
        let message =
            format!("Unsupported parameter: '{given}' is not supported with this model. Use '{known}' instead.");
        let error = json!({"message": message, "param": given, "code": "unsupported_parameter"});
        Reply::Status(400, "", json!({"error": error}).to_string())
    };
    for (model, first, then) in [
        ("house-model", "max_tokens", "max_completion_tokens"),
        ("openai/gpt-5", "max_completion_tokens", "max_tokens"),
        ("o3-mini", "max_completion_tokens", "max_tokens"),
    ] {
        let look = ("c", "read_file", json!({"path": "docs/a.md"}));
        let stub = Stub::new([refused(then, first), openai("", &[look]), openai("", &[finish("")])]).await;
        let mut settings = crate::desk::settings(&stub, Provider::OpenAi);
        settings.name = model.to_owned();
        let editor = copydesk_agent::ModelEditor::new(settings).unwrap();
        edit(&editor, &Pages::with_prompt("Go.")).await.unwrap();
        let names = |at: usize| {
            let body = &stub.asked()[at].body;
            ["max_tokens", "max_completion_tokens"].into_iter().filter(|it| body.get(it).is_some()).collect::<Vec<_>>()
        };
        assert_eq!([names(0), names(1), names(2)], [[first], [then], [then]], "it is learnt once");
        assert!(stub.asked().iter().all(|asked| asked.body.get("temperature").is_none()));
    }
    // Another complaint about the same parameter is no reason to give it another name.
    let large = json!({"error": {"message": "max_tokens is too large: 8192. At most 4096 are possible."}});
    let stub = Stub::new([Reply::Status(400, "", large.to_string())]).await;
    let sentence = crate::desk::fatal(edit(&editor(&stub, Provider::OpenAi), &Pages::with_prompt("Go.")).await);
    assert!(sentence.contains("too large") && stub.asked().len() == 1, "{sentence}");
}

#[tokio::test]
async fn servers_that_speak_not_quite_like_openai_are_understood() {
    // No index, arguments as an object, neither usage nor an end mark.
    let call = json!({"id": "", "function": {"name": "read_file", "arguments": {"path": "docs/a.md"}}});
    let frames = [
        json!({"choices": [{"delta": {"reasoning_content": "Hm."}}]}),
        json!({"choices": [{"delta": {"tool_calls": [call]}}]}),
        json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
    ];
    let stream: String = frames.iter().map(|frame| format!("data: {frame}\r\n\r\n")).collect();
    let stub = Stub::new([Reply::Stream(stream), openai("", &[finish("")])]).await;
    let pages = Pages::with_prompt("Go.");
    edit(&editor(&stub, Provider::OpenAi), &pages).await.unwrap();
    let messages = stub.asked()[1].body["messages"].clone();
    assert_eq!(messages[2]["reasoning_content"], "Hm.");
    assert_eq!(messages[2]["tool_calls"][0]["id"], messages[3]["tool_call_id"]);
    assert!(messages[3]["content"].as_str().unwrap().contains("Old text."));
    let usage = pages.answers.lock().unwrap()[0].usage.clone();
    assert!(usage.input_tokens > 1_000 && usage.output_tokens > 0, "{usage:?}");
}

#[tokio::test]
async fn a_provider_that_wants_a_key_is_not_asked_without_one() {
    for provider in [Provider::Anthropic, Provider::OpenAi, Provider::Gemini] {
        let editor = copydesk_agent::ModelEditor::new(copydesk_agent::ModelSettings::new(provider, "m")).unwrap();
        let sentence = crate::desk::fatal(edit(&editor, &Pages::with_prompt("Go.")).await);
        assert_eq!(sentence, "There is no API key for the model provider.");
    }
}

#[tokio::test]
async fn a_name_that_looks_like_an_effort_is_sent_as_it_is() {
    let stub = Stub::new([openai("Nothing to change.", &[])]).await;
    let mut settings = crate::desk::settings(&stub, Provider::OpenAi);
    settings.name = "qwen-max".to_owned();
    let editor = copydesk_agent::ModelEditor::new(settings).unwrap();
    let edited = edit(&editor, &Pages::with_prompt("Go.")).await.unwrap();
    assert_eq!((edited.title.as_str(), edited.summary.as_str()), ("", "Nothing to change."));
    let body = &stub.asked()[0].body;
    assert_eq!((&body["model"], body.get("reasoning_effort")), (&json!("qwen-max"), None));
}
