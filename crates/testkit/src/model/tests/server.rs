use super::*;

fn edit_then_finish() -> Script {
    Script::new()
        .reply(
            Reply::text("One edit.").call("edit_file", json!({"path": "ä.md"})).call("edit_file", json!({"path": "b"})),
        )
        .reply(Reply::of_call("finish", json!({"summary": "Done."})))
}

const PROMPT: &str = "Fix it. [[script:s#1]]";

#[tokio::test]
async fn replies_come_in_order_and_by_what_was_said() {
    for api in [Api::OpenAi, Api::Anthropic, Api::Responses] {
        let server = ModelServer::builder().script("s", edit_then_finish()).start().await;
        let caller = Caller::new(&server, api);
        let ask = async |exchanges: &[(Value, &str)]| -> Value {
            caller.send(&body(api, PROMPT, false, exchanges)).await.json().await.unwrap()
        };
        let first = ask(&[]).await;
        assert_eq!(first, ask(&[]).await, "the same question has the same answer");
        let second = ask(&[(said_in(api, &first), "Done.")]).await;
        assert!(said_in(api, &second).to_string().contains("finish"), "{second}");
        let positions: Vec<_> = server.calls_of("s#1").iter().map(|call| call.position).collect();
        assert_eq!(positions, [0, 0, 1]);
        let hashes: Vec<_> = server.calls().iter().map(|call| call.hash).collect();
        assert!(hashes[0] == hashes[1] && hashes[1] != hashes[2]);
        server.assert_clean();
    }
}

#[tokio::test]
async fn wasted_answers_are_seen() {
    let script = || edit_then_finish().reply(Reply::text("Bye."));
    let server = ModelServer::builder().script("s", script()).start().await;
    let caller = Caller::new(&server, Api::OpenAi);
    let ask = async |prompt: &str, exchanges: &[(Value, &str)]| {
        let answer: Value = caller.send(&body(Api::OpenAi, prompt, false, exchanges)).await.json().await.unwrap();
        said_in(Api::OpenAi, &answer)
    };
    let first = ask("[[script:s#good]]", &[]).await;
    ask("[[script:s#good]]", &[(first, "Done.")]).await;
    server.assert_no_answer_wasted("s#good");

    ask("[[script:s#again]]", &[]).await;
    ask("[[script:s#again]]", &[]).await;
    let again = std::panic::AssertUnwindSafe(|| server.assert_no_answer_wasted("s#again"));
    assert!(std::panic::catch_unwind(again).is_err());

    ask("[[script:s#lost]]", &[]).await;
    ask("[[script:s#lost]] And?", &[]).await;
    assert!(server.calls_of("s#lost")[1].forgot_reply);
    assert!(server.take_violations().is_empty());
}

#[tokio::test]
async fn openai_streams_as_it_is_documented() {
    let server = ModelServer::builder().script("s", edit_then_finish()).start().await;
    let mut request = body(Api::OpenAi, PROMPT, true, &[]);
    request["stream_options"] = json!({"include_usage": true});
    let response = Caller::new(&server, Api::OpenAi).send(&request).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
    let text = response.text().await.unwrap();
    let mut data: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert_eq!(data.pop(), Some("[DONE]"));
    let chunks: Vec<Value> = data.iter().map(|data| serde_json::from_str(data).unwrap()).collect();
    let deltas = || chunks.iter().map(|chunk| &chunk["choices"][0]["delta"]);
    let said: String = deltas().filter_map(|delta| delta["content"].as_str()).collect();
    assert_eq!(said, "One edit.");
    let calls = || deltas().filter_map(|delta| delta["tool_calls"][0].as_object());
    let ids: Vec<_> = calls().filter_map(|call| call.get("id")).collect();
    assert!(ids.len() == 2 && ids[0] != ids[1]);
    let first = calls().filter(|call| call["index"] == 0).filter_map(|call| call["function"]["arguments"].as_str());
    assert_eq!(first.collect::<String>(), r#"{"path":"ä.md"}"#);
    let [.., end, usage] = chunks.as_slice() else { panic!() };
    assert_eq!(end["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(end["usage"], Value::Null);
    assert_eq!((&usage["choices"], &usage["usage"]["total_tokens"]), (&json!([]), &1050.into()));
}

#[tokio::test]
async fn anthropic_streams_as_it_is_documented() {
    let server = ModelServer::builder().script("s", edit_then_finish()).start().await;
    let response = Caller::new(&server, Api::Anthropic).send(&body(Api::Anthropic, PROMPT, true, &[])).await;
    let text = response.text().await.unwrap();
    let event = |event: &str| {
        let (name, data) = event.strip_prefix("event: ").unwrap().split_once("\ndata: ").unwrap();
        let data: Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["type"], name);
        data
    };
    let events: Vec<Value> = text.trim_end().split("\n\n").map(event).collect();
    let mut kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    kinds.dedup();
    assert_eq!(
        kinds,
        [
            "message_start",
            "ping",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop"
        ]
    );
    let delta = |index: u64, field: &str| -> String {
        let of_block = events.iter().filter(|event| event["index"] == index);
        of_block.filter_map(|event| event["delta"][field].as_str()).collect()
    };
    assert_eq!(delta(0, "text"), "One edit.");
    assert_eq!(delta(1, "partial_json"), r#"{"path":"ä.md"}"#);
    assert_eq!(events[0]["message"]["usage"]["input_tokens"], 1000);
    let end = &events[events.len() - 2];
    assert_eq!((&end["delta"]["stop_reason"], &end["usage"]["output_tokens"]), (&"tool_use".into(), &50.into()));
}

#[tokio::test]
async fn cached_tokens_are_counted_as_each_provider_counts_them() {
    let usage = Tokens { input: 10, cached: 200, cache_write: 30, output: 4 };
    let script = Script::new().reply(Reply::text("Hello.").usage(usage));
    let server = ModelServer::builder().script("s", script).start().await;
    let ask = async |api: Api, prompt: &str| -> Value {
        Caller::new(&server, api).send(&body(api, prompt, false, &[])).await.json().await.unwrap()
    };
    let openai = ask(Api::OpenAi, "[[script:s#o]]").await;
    assert_eq!(openai["usage"]["prompt_tokens"], 240);
    assert_eq!(openai["usage"]["prompt_tokens_details"]["cached_tokens"], 200);
    let anthropic = ask(Api::Anthropic, "[[script:s#a]]").await;
    assert_eq!(anthropic["usage"]["input_tokens"], 10);
    assert_eq!(anthropic["usage"]["cache_read_input_tokens"], 200);
    assert_eq!(anthropic["usage"]["cache_creation_input_tokens"], 30);
}

#[tokio::test]
async fn what_the_real_server_refuses_is_refused_in_its_words_and_kept() {
    let server = ModelServer::builder().script("s", edit_then_finish()).start().await;
    for (api, kind) in [(Api::OpenAi, "invalid_request_error"), (Api::Anthropic, "invalid_request_error")] {
        let mut request = body(api, PROMPT, true, &[]);
        request["bogus"] = true.into();
        let response = Caller::new(&server, api).send(&request).await;
        assert_eq!(response.status(), 400);
        let error: Value = response.json().await.unwrap();
        assert_eq!(error["error"]["type"], kind);
        assert_eq!(error.get("type").is_some(), api == Api::Anthropic);
        assert!(server.take_violations()[0].message.contains("bogus"));
    }
    let good = body(Api::OpenAi, PROMPT, true, &[]);
    let http = reqwest::Client::new();
    let url = server.url();
    let plain = http.post(format!("{url}/v1/chat/completions")).bearer_auth(KEY).body(good.to_string());
    let no_key = http.post(format!("{url}/v1/chat/completions")).json(&good);
    let no_json = http.post(format!("{url}/v1/chat/completions")).bearer_auth(KEY).body("{");
    let no_path = http.post(format!("{url}/v1/completions")).bearer_auth(KEY).json(&good);
    for (request, status, words) in [
        (plain, 415, "content type"),
        (no_key, 401, "No API key"),
        (no_json.header("content-type", "application/json"), 400, "not JSON"),
        (no_path, 404, "there is no POST /v1/completions"),
    ] {
        assert_eq!(request.send().await.unwrap().status(), status);
        let violations = server.take_violations();
        assert!(violations.len() == 1 && violations[0].message.contains(words), "{violations:?}");
    }
}

#[tokio::test]
async fn a_wrong_key_is_refused_and_no_violation() {
    let server = ModelServer::builder().key("sk-second").script("s", edit_then_finish()).start().await;
    let url = format!("{}/chat/completions", server.url());
    let ask = async |key: &str| {
        let post = reqwest::Client::new().post(&url).bearer_auth(key).json(&body(Api::OpenAi, PROMPT, true, &[]));
        post.send().await.unwrap().status().as_u16()
    };
    assert_eq!((ask("sk-wrong").await, ask("sk-second").await, ask(KEY).await), (401, 200, 200));
    assert_eq!((server.wrong_keys(), server.calls().len()), (1, 2));
    server.assert_clean();
}

#[tokio::test]
async fn breaks_in_a_conversation_are_violations() {
    for (change, words) in [
        ("prompt", "does not go on from the request before"),
        ("system", "the system prompt has changed"),
        ("tools", "the tools have changed"),
    ] {
        let server = ModelServer::builder().script("s", edit_then_finish()).start().await;
        let caller = Caller::new(&server, Api::Anthropic);
        let mut request = body(Api::Anthropic, PROMPT, true, &[]);
        caller.send(&request).await;
        match change {
            "prompt" => request["messages"][0]["content"] = "[[script:s#1]] Something else.".into(),
            "system" => request["system"] = "Edit at noon.".into(),
            _ => request["tools"][0]["name"] = "edit".into(),
        }
        caller.send(&request).await;
        let violations = server.take_violations();
        assert!(violations.len() == 1 && violations[0].message.contains(words), "{violations:?}");
        assert_eq!(violations[0].conversation.as_deref(), Some("s#1"));
    }
}

#[tokio::test]
async fn asking_beyond_the_script_is_a_violation() {
    let server = ModelServer::builder().script("s", Script::new().reply(Reply::text("Hello."))).start().await;
    let caller = Caller::new(&server, Api::OpenAi);
    assert_eq!(caller.send(&body(Api::OpenAi, "[[script:other]]", true, &[])).await.status(), 400);
    assert!(server.take_violations()[0].message.contains("there is no script \"other\""));
    let mut request = body(Api::OpenAi, PROMPT, true, &[]);
    push(&mut request["messages"], json!({"role": "assistant", "content": "Hello."}));
    push(&mut request["messages"], json!({"role": "user", "content": "Again."}));
    assert_eq!(caller.send(&request).await.status(), 400);
    assert!(server.take_violations()[0].message.contains("no reply number 1"));
    server.add_script("other", Script::new().reply(Reply::text("Hello.")));
    assert_eq!(caller.send(&body(Api::OpenAi, "[[script:other]]", true, &[])).await.status(), 200);
}

#[tokio::test]
#[should_panic(expected = "the model server has complaints")]
async fn a_violation_that_nobody_looked_at_fails_the_test() {
    let server = ModelServer::builder().start().await;
    Caller::new(&server, Api::OpenAi).send(&json!({})).await;
}

#[tokio::test]
async fn a_model_that_never_stops_has_ids_of_its_own_for_every_call() {
    let script = Script::new().reply(Reply::of_call("edit_file", json!({"path": "p{{n}}"})).forever());
    let server = ModelServer::builder().fallback(script).start().await;
    for api in BOTH {
        let caller = Caller::new(&server, api);
        let mut exchanges = Vec::new();
        for round in 0..5 {
            let request = body(api, "Fix it.", false, &exchanges);
            let answer: Value = caller.send(&request).await.json().await.unwrap();
            let calls = said_in(api, &answer);
            assert!(calls.to_string().contains(&format!("p{round}")), "{calls}");
            exchanges.push((calls, "Done."));
        }
    }
    server.assert_clean();
}

#[tokio::test]
async fn the_list_of_models_is_there() {
    let server = ModelServer::builder().model("gpt-second").start().await;
    let list: Value = reqwest::get(format!("{}/v1/models", server.url())).await.unwrap().json().await.unwrap();
    let ids: Vec<_> = list["data"].as_array().unwrap().iter().map(|model| &model["id"]).collect();
    assert_eq!(ids, [OPENAI_MODEL, OPENAI_REASONING_MODEL, ANTHROPIC_MODEL, "gpt-second"]);
}

#[tokio::test]
async fn a_program_answers_at_once_and_under_the_same_rules() {
    let server = ModelServer::builder()
        .program(|request| match request.position {
            0 => Reply::of_call("edit_file", json!({"path": "a"})),
            _ => Reply::of_call("finish", json!({"summary": "Done."})),
        })
        .start()
        .await;
    let caller = Caller::new(&server, Api::OpenAi);
    let answer: Value = caller.send(&body(Api::OpenAi, "Go.", false, &[])).await.json().await.unwrap();
    let exchange = (said_in(Api::OpenAi, &answer), "Done.");
    let stream = caller.send(&body(Api::OpenAi, "Go.", true, &[exchange])).await.text().await.unwrap();
    assert!(stream.contains("finish") && stream.ends_with("data: [DONE]\n\n"));
    assert_eq!(caller.send(&json!({"model": OPENAI_MODEL})).await.status(), 400);
    assert_eq!(server.take_violations().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_clients_may_wait_at_once() {
    let stall = Script::new().fault(Fault::forever(FaultKind::Break(0, Break::Stall)));
    let server = ModelServer::builder().script("s", stall).start().await;
    let caller = Caller::new(&server, Api::OpenAi);
    let waiting: Vec<_> = (0..1_000)
        .map(|number| {
            let request = caller.request(&body(Api::OpenAi, &format!("[[script:s#{number}]]"), true, &[]));
            tokio::spawn(async move { request.send().await.is_ok() })
        })
        .collect();
    server.called("s", 1_000).await;
    waiting.iter().for_each(|call| call.abort());
    let gone = || server.calls_of("s").iter().filter(|call| call.ending == Ending::ClientGone).count();
    crate::eventually("all have gone away", async || (gone() == 1_000).then_some(())).await;
}
