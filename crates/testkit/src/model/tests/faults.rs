use std::time::Duration;

use super::*;

async fn serving(script: Script) -> ModelServer {
    ModelServer::builder().script("s", script).start().await
}

const PROMPT: &str = "Fix it. [[script:s#1]]";

fn breaking(after: usize, what: Break) -> Script {
    Script::new().fault(Fault::once(FaultKind::Break(after, what))).reply(Reply::text("It is fixed now, I would say."))
}

/// What arrives of a stream, and whether it ended properly.
async fn read(response: reqwest::Response) -> (Vec<u8>, bool) {
    let mut response = response;
    let mut bytes = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => return (bytes, true),
            Err(_) => return (bytes, false),
        }
    }
}

#[tokio::test]
async fn a_status_has_the_providers_shape_and_leaves_the_script_where_it_is() {
    for api in BOTH {
        let headers = vec![("retry-after".to_owned(), "7".to_owned())];
        let fault = Fault::times(2, FaultKind::Status(429, headers));
        let server = serving(Script::new().fault(fault).reply(Reply::text("Hello."))).await;
        let caller = Caller::new(&server, api);
        let request = body(api, PROMPT, false, &[]);
        for _ in 0..2 {
            let response = caller.send(&request).await;
            assert_eq!((response.status().as_u16(), &response.headers()["retry-after"]), (429, &"7".parse().unwrap()));
            let error: Value = response.json().await.unwrap();
            let kind = if api == Api::OpenAi { "requests" } else { "rate_limit_error" };
            assert_eq!(error["error"]["type"], kind);
        }
        assert_eq!(caller.send(&request).await.status(), 200);
        let calls = server.calls_of("s");
        assert_eq!(
            calls.iter().map(|call| (call.position, call.fault)).collect::<Vec<_>>(),
            [(0, true), (0, true), (0, false)]
        );
    }
}

#[tokio::test]
async fn an_error_comes_in_the_middle_of_a_stream() {
    for (api, what, word) in [
        (Api::OpenAi, Break::Error, "server_error"),
        (Api::Anthropic, Break::Error, "api_error"),
        (Api::Anthropic, Break::Overloaded, "overloaded_error"),
    ] {
        let server = serving(breaking(300, what)).await;
        let response = Caller::new(&server, api).send(&body(api, PROMPT, true, &[])).await;
        assert_eq!(response.status(), 200);
        let (bytes, ended) = read(response).await;
        let text = String::from_utf8(bytes).unwrap();
        assert!(ended && text.len() > 300, "{text}");
        let last = text.trim_end().rsplit("\n\n").next().unwrap();
        assert!(last.contains(word), "{last}");
        assert!(!text.contains("[DONE]") && !text.contains("message_stop"));
    }
}

#[tokio::test]
async fn a_broken_answer_is_never_whole() {
    for api in BOTH {
        for stream in [true, false] {
            for (what, proper) in [(Break::Drop, false), (Break::Garbage, true), (Break::End, true)] {
                let server = serving(breaking(100_000, what)).await;
                let caller = Caller::new(&server, api);
                let (bytes, ended) = read(caller.send(&body(api, PROMPT, stream, &[])).await).await;
                assert_eq!(ended, proper, "{what:?}");
                assert_eq!(String::from_utf8(bytes.clone()).is_err(), what == Break::Garbage);
                assert!(!bytes.is_empty() && serde_json::from_slice::<Value>(&bytes).is_err());
                let text = String::from_utf8_lossy(&bytes).into_owned();
                assert!(!stream || !text.contains("finish_reason\":\"stop") && !text.contains("end_turn"), "{text}");
                let again = caller.send(&body(api, PROMPT, stream, &[])).await.text().await.unwrap();
                assert!(again.contains("I would say"), "{again}");
            }
        }
    }
}

#[tokio::test]
async fn a_connection_is_dropped_before_the_first_byte() {
    let server = serving(breaking(0, Break::Drop)).await;
    let caller = Caller::new(&server, Api::OpenAi);
    assert!(caller.request(&body(Api::OpenAi, PROMPT, true, &[])).send().await.is_err());
    assert_eq!(server.calls()[0].ending, Ending::CutOff);
}

#[tokio::test]
async fn a_stall_ends_when_the_client_goes_away() {
    for after in [0, 200] {
        let server = serving(breaking(after, Break::Stall)).await;
        let caller = Caller::new(&server, Api::Anthropic);
        let request = caller.request(&body(Api::Anthropic, PROMPT, true, &[]));
        let call = tokio::spawn(async move { read(request.send().await.unwrap()).await });
        let calls = server.called("s#1", 1).await;
        assert_eq!(calls[0].ending, Ending::Waiting);
        call.abort();
        server.left("s").await;
    }
}

#[tokio::test]
async fn a_delay_delays() {
    let server = serving(Script::new().reply(Reply::text("Slowly.").after(Duration::from_millis(60)))).await;
    let start = tokio::time::Instant::now();
    Caller::new(&server, Api::OpenAi).send(&body(Api::OpenAi, PROMPT, true, &[])).await;
    assert!(start.elapsed() >= Duration::from_millis(60));
}

#[tokio::test]
async fn a_refusal_and_an_empty_answer_are_well_formed() {
    let refusal = || Fault::once(FaultKind::Refusal("I cannot do that.".to_owned()));
    let script = || Script::new().fault(refusal()).fault(Fault::once(FaultKind::Empty)).reply(Reply::text("Well."));
    let server = serving(script()).await;
    let caller = Caller::new(&server, Api::OpenAi);
    let ask = async || caller.send(&body(Api::OpenAi, PROMPT, false, &[])).await.json::<Value>().await.unwrap();
    let message = ask().await["choices"][0]["message"].clone();
    assert_eq!((&message["refusal"], &message["content"]), (&"I cannot do that.".into(), &Value::Null));
    assert_eq!(ask().await["choices"][0]["message"]["content"], Value::Null);

    let server = serving(script()).await;
    let caller = Caller::new(&server, Api::Anthropic);
    let ask = async || caller.send(&body(Api::Anthropic, PROMPT, false, &[])).await.json::<Value>().await.unwrap();
    let refusal = ask().await;
    assert_eq!(
        (&refusal["stop_reason"], &refusal["content"][0]["text"]),
        (&"refusal".into(), &"I cannot do that.".into())
    );
    let empty = ask().await;
    assert_eq!((&empty["stop_reason"], &empty["content"]), (&"end_turn".into(), &json!([])));
}

#[tokio::test]
async fn a_context_that_is_too_long_is_refused_until_it_is_shorter() {
    for (api, words) in [(Api::OpenAi, "maximum context length"), (Api::Anthropic, "prompt is too long")] {
        let server = serving(Script::new().context_limit(2_000).reply(Reply::text("Hello."))).await;
        let caller = Caller::new(&server, api);
        let long = format!("{PROMPT}\n{}", "word ".repeat(2_000));
        let response = caller.send(&body(api, &long, true, &[])).await;
        assert_eq!(response.status(), 400);
        assert!(response.text().await.unwrap().contains(words));
        server.assert_clean();
        let server =
            serving(Script::new().fault(Fault::once(FaultKind::ContextOverflow)).reply(Reply::text("Hi."))).await;
        let caller = Caller::new(&server, api);
        assert_eq!(caller.send(&body(api, PROMPT, true, &[])).await.status(), 400);
        assert_eq!(caller.send(&body(api, PROMPT, true, &[])).await.status(), 200);
    }
}
