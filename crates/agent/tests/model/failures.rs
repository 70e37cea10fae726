use std::sync::{Arc, Mutex};
use std::time::Duration;

use copydesk_agent::{EditFailure, KeySource, ModelEditor, ModelSettings, Provider, SecretString};
use serde_json::json;

use crate::desk::{KEY, Pages, edit, editor, fatal, settings, text};
use crate::stub::{self, Reply, Stub, anthropic, finish, openai, openai_stream};

fn error(message: &str) -> String {
    json!({"error": {"message": message}}).to_string()
}

#[tokio::test]
async fn what_passes_is_tried_again() {
    let whole = openai_stream("", &[stub::edit("c1", "Old text.", "New text.")], "tool_calls");
    let stub = Stub::new([
        Reply::Status(429, "retry-after: 0\r\n", error("slow down")),
        Reply::Status(500, "", "oops".to_owned()),
        Reply::Status(529, "retry-after-ms: 5\r\n", error("overloaded")),
        Reply::Cut(whole[..whole.len() / 2].to_owned()),
        Reply::Stream("data: {\"choices\": [{\"delta\": {\"con\n\ndata: %%%%\n\n".to_owned()),
        Reply::Stream(whole),
        // A stream that ends well, but in the middle.
        Reply::Stream("data: {\"choices\":[{\"delta\":{\"content\":\"I will\"}}]}\n\n".to_owned()),
        openai("", &[finish("T")]),
    ])
    .await;
    let pages = Pages::with_prompt("Go.");
    let edited = edit(&editor(&stub, Provider::OpenAi), &pages).await.unwrap();
    assert_eq!(text(&edited, "docs/a.md"), "# A\n\nNew text.\n");
    assert_eq!((stub.asked().len(), stub.left(), pages.answers.lock().unwrap().len()), (8, 0, 2));
}

#[tokio::test]
async fn what_passes_is_waited_for() {
    let stub =
        Stub::new([Reply::Status(429, "retry-after-ms: 300\r\n", error("slow")), openai("No change.", &[])]).await;
    let before = std::time::Instant::now();
    edit(&editor(&stub, Provider::OpenAi), &Pages::with_prompt("Go.")).await.unwrap();
    assert!(before.elapsed() >= Duration::from_millis(300));
}

#[tokio::test]
async fn what_takes_too_long_is_put_back() {
    let stub = Stub::new([Reply::Status(429, "retry-after: 3600\r\n", error("come back later"))]).await;
    let result = edit(&editor(&stub, Provider::OpenAi), &Pages::with_prompt("Go.")).await;
    let Err(EditFailure::Retry(sentence)) = result else { panic!() };
    assert!(sentence.contains("too many requests") && sentence.contains("come back later"), "{sentence}");
    assert_eq!(stub.asked().len(), 1);
}

#[tokio::test]
async fn tries_end() {
    let stub = Stub::new((0..9).map(|_| Reply::Status(503, "", String::new()))).await;
    let result = edit(&editor(&stub, Provider::Anthropic), &Pages::with_prompt("Go.")).await;
    assert!(matches!(result, Err(EditFailure::Retry(_))));
    assert_eq!(stub.asked().len(), 6);
    let stub = Stub::new((0..9).map(|_| Reply::Stream("data: not json\n\n".to_owned()))).await;
    let sentence = fatal(edit(&editor(&stub, Provider::OpenAi), &Pages::with_prompt("Go.")).await);
    assert!(sentence.contains("could not be understood"), "{sentence}");
    assert_eq!(stub.asked().len(), 6);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_tried_again_and_then_given_up() {
    let mut settings = ModelSettings::new(Provider::OpenAi, "m");
    settings.base_url = Some("http://127.0.0.1:1/v1".to_owned());
    settings.pause = Duration::from_millis(1);
    let editor = ModelEditor::new(settings).unwrap();
    let sentence = fatal(edit(&editor, &Pages::with_prompt("Go.")).await);
    assert_eq!(sentence, "The model provider at 127.0.0.1 could not be reached: it refuses the connection.");
}

#[tokio::test]
async fn errors_inside_a_stream_are_seen() {
    let overloaded =
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n";
    let stub = Stub::new([Reply::Stream(overloaded.to_owned()), anthropic("No change is needed.", &[])]).await;
    edit(&editor(&stub, Provider::Anthropic), &Pages::with_prompt("Go.")).await.unwrap();
    assert_eq!(stub.left(), 0);
    let line = "{\"error\":\"model runner has unexpectedly stopped\"}\n".to_owned();
    let half = "data: {\"choices\":[{\"delta\":{\"content\":\"Half\"}}]}\n\n".to_owned();
    let stub = Stub::new([Reply::Stream(line), Reply::Stream(half)]).await;
    // A stream that breaks off is no answer either.
    let result = edit(&editor(&stub, Provider::Ollama), &Pages::with_prompt("Go.")).await;
    assert!(fatal(result).contains("the script is at its end"));
    assert_eq!(stub.asked().len(), 3);
}

#[tokio::test]
async fn what_does_not_pass_is_said_at_once_and_without_the_key() {
    for (status, word) in [(400, "refused the request"), (401, "refused the API key"), (403, "allow"), (404, "model")] {
        for provider in [Provider::OpenAi, Provider::Anthropic, Provider::Gemini, Provider::Ollama] {
            let body = error(&format!("bad\u{1b}[31m key {KEY}\nor {} {}", &KEY[..12], "x".repeat(2_000)));
            let stub = Stub::new([Reply::Status(status, "", body)]).await;
            let pages = Pages::with_prompt("Go.");
            let sentence = fatal(edit(&editor(&stub, provider), &pages).await);
            assert!(sentence.contains(word), "{sentence}");
            assert!(!sentence.contains("sk-planted") && sentence.len() < 420, "{sentence}");
            assert!(!sentence.contains(char::is_control) && !sentence.contains("You are Copydesk"));
            assert_eq!(stub.asked().len(), 1);
            assert!(!pages.everything().contains("planted"));
        }
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = Stub::new([openai("No change.", &[])]).await;
    let location = format!("location: {}/v1/chat/completions\r\n", other.url).leak();
    let stub = Stub::new([Reply::Status(307, location, String::new())]).await;
    let sentence = fatal(edit(&editor(&stub, Provider::OpenAi), &Pages::with_prompt("Go.")).await);
    assert!(sentence.contains("redirect"), "{sentence}");
    assert!(other.asked().is_empty());
}

#[tokio::test]
async fn silence_is_ended() {
    let stub = Stub::new([
        Reply::Silence,
        Reply::Stall("data: {\"choices\":[{\"delta\":{\"content\":\"I\"}}]}\n\n".to_owned()),
        openai("No change.", &[]),
        openai("No change.", &[]),
        openai("No change.", &[]),
    ])
    .await;
    let mut settings = settings(&stub, Provider::OpenAi);
    settings.silence = Duration::from_secs(1);
    edit(&ModelEditor::new(settings).unwrap(), &Pages::with_prompt("Go.")).await.unwrap();
    // A busy machine may take an answer for silence too, and ask again.
    assert!(stub.left() <= 2, "both silences were ended");
}

#[tokio::test]
async fn dropping_the_work_hangs_up() {
    for reply in [Reply::Silence, Reply::Stall("data: {\"choices\":[]}\n\n".to_owned())] {
        let stub = Stub::new([reply]).await;
        let editor = editor(&stub, Provider::OpenAi);
        let pages = Pages::with_prompt("Go.");
        let asked = async {
            while stub.asked().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            _ = edit(&editor, &pages) => panic!("nobody answered"),
            () = asked => {}
        }
        tokio::time::timeout(Duration::from_secs(30), stub.hung_up.notified()).await.unwrap();
    }
}

#[tokio::test]
async fn a_talk_that_is_too_long_is_shortened_once() {
    let long = || Reply::Status(400, "", error("This model's maximum context length is 10 tokens"));
    let stub = Stub::new([long(), openai("No change.", &[])]).await;
    edit(&editor(&stub, Provider::OpenAi), &Pages::with_prompt("Go.")).await.unwrap();
    let stub = Stub::new([long(), long()]).await;
    let sentence = fatal(edit(&editor(&stub, Provider::OpenAi), &Pages::with_prompt("Go.")).await);
    assert!(sentence.contains("too long"), "{sentence}");
}

#[tokio::test]
async fn an_answer_without_an_end_is_stopped() {
    let frame = format!("data: {}\n\n", json!({"choices": [{"delta": {"content": "x".repeat(1 << 16)}}]}));
    let huge = frame.repeat(30);
    let stub = Stub::new((0..6).map(|_| Reply::Stream(huge.clone()))).await;
    let mut settings = settings(&stub, Provider::OpenAi);
    settings.max_output_tokens = 100;
    let sentence = fatal(edit(&ModelEditor::new(settings).unwrap(), &Pages::with_prompt("Go.")).await);
    assert!(sentence.contains("could not be understood"), "{sentence}");
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let mut settings = ModelSettings::new(Provider::OpenAi, "m");
    settings.base_url = Some("localhost".to_owned());
    assert!(ModelEditor::new(settings).is_err());
    let mut settings = ModelSettings::new(Provider::OpenAi, "m");
    settings.context_tokens = 8_000;
    assert!(ModelEditor::new(settings).is_err_and(|why| why.contains("context_tokens")));
    assert!(ModelEditor::new(ModelSettings::new(Provider::OpenAi, " ")).is_err());
}

#[tokio::test]
async fn a_key_that_no_header_can_hold_is_a_sentence() {
    let stub = Stub::new([]).await;
    let mut settings = settings(&stub, Provider::OpenAi);
    settings.keys = KeySource::one(SecretString::from("planted\nkey"));
    let sentence = fatal(edit(&ModelEditor::new(settings).unwrap(), &Pages::with_prompt("Go.")).await);
    assert!(sentence.contains("not usable") && !sentence.contains("planted"), "{sentence}");
}

#[tokio::test]
async fn a_key_is_read_once_a_round_where_it_may_block() {
    let stub = Stub::new([openai("", &[("c", "plan", json!({"items": ["a"]}))]), openai("No change.", &[])]).await;
    let mut settings = settings(&stub, Provider::OpenAi);
    let reads = Arc::new(Mutex::new(Vec::new()));
    let noted = reads.clone();
    settings.keys = KeySource::by_project(move |project| {
        noted.lock().unwrap().push((project.to_owned(), std::thread::current().id()));
        Some(SecretString::from(KEY))
    });
    edit(&ModelEditor::new(settings).unwrap(), &Pages::with_prompt("Go.")).await.unwrap();
    let reads = reads.lock().unwrap().clone();
    let [(project, thread)] = reads.as_slice() else { panic!("{reads:?}") };
    // This test has one thread for everything that does not block.
    assert!(project.as_str() == "p" && *thread != std::thread::current().id());
    assert!(stub.asked().iter().all(|asked| asked.headers.contains(KEY)));
}

#[tokio::test]
async fn an_endless_line_is_cut_off() {
    let stub = Stub::new((0..6).map(|_| Reply::Flood(4000))).await;
    let sentence = fatal(edit(&editor(&stub, Provider::OpenAi), &Pages::with_prompt("Go.")).await);
    assert_eq!(sentence, "The model provider's answers could not be understood: a line of it is too long.");
    assert_eq!(stub.asked().len(), 6);
}

#[tokio::test]
async fn an_endless_error_is_cut_off() {
    let body = format!("{{\"error\": {{\"message\": \"bad\", \"more\": \"{}\"}}}}", "x".repeat(20 << 20));
    let stub = Stub::new([Reply::Status(400, "", body)]).await;
    let sentence = fatal(edit(&editor(&stub, Provider::OpenAi), &Pages::with_prompt("Go.")).await);
    assert_eq!(sentence, "The model provider refused the request with status 400.");
}

#[tokio::test]
async fn an_answer_that_is_whole_is_taken_though_the_connection_breaks() {
    let whole = openai_stream("No change.", &[], "stop");
    let stub = Stub::new([Reply::Cut(whole.replace("data: [DONE]\n\n", ""))]).await;
    edit(&editor(&stub, Provider::OpenAi), &Pages::with_prompt("Go.")).await.unwrap();
    assert_eq!(stub.asked().len(), 1);
}

#[tokio::test]
async fn what_came_to_nothing_is_asked_again() {
    let stub = Stub::new([openai("", &[finish("T")]), openai("", &[finish("T")])]).await;
    let pages = Pages::with_prompt("Use the new word.");
    let editor = editor(&stub, Provider::OpenAi);
    edit(&editor, &pages).await.unwrap();
    // Another round that begins with the same prompt: what was made of it could not be used.
    crate::desk::round(&editor, &pages, 2, 1).await.unwrap();
    let asked = stub.asked().pop().unwrap().body.to_string();
    let (over, again) = (asked.find("is over").unwrap(), asked.rfind("Use the new word.").unwrap());
    assert!(over < again, "{asked}");
}
