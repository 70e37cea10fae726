use copydesk_agent::{ModelEditor, ModelFact, ModelTrial, Provider};
use copydesk_domain::ProjectId;
use serde_json::json;

use crate::desk::{KEY, editor, settings};
use crate::stub::{Reply, Stub, anthropic, openai};

async fn tried(stub: &Stub, editor: &ModelEditor) -> Vec<(&'static str, String)> {
    let facts = editor.try_out(&ProjectId::from("docs")).await;
    assert_eq!(stub.asked().len(), 1, "one call");
    let told = |fact: ModelFact| {
        assert!(!format!("{fact:?}").contains(KEY));
        (fact.name, format!("{:?}", fact.ability))
    };
    facts.into_iter().map(told).collect()
}

fn is(facts: &[(&'static str, String)], name: &str, beginning: &str) {
    let found = facts.iter().find(|(known, _)| *known == name);
    assert!(found.is_some_and(|(_, said)| said.starts_with(beginning)), "{name} {beginning}: {facts:?}");
}

#[tokio::test]
async fn a_model_that_calls_tools_is_told_from_one_that_talks() {
    let ready = ("c1", "plan", json!({"items": ["ready"]}));
    for provider in [Provider::OpenAi, Provider::Anthropic] {
        let wire =
            |calls: &[_]| if provider == Provider::Anthropic { anthropic("x", calls) } else { openai("x", calls) };
        let stub = Stub::new([wire(std::slice::from_ref(&ready))]).await;
        let mut settings = settings(&stub, provider);
        (settings.input_price, settings.output_price) = (Some(3.0), Some(15.0));
        let facts = tried(&stub, &ModelEditor::new(settings).unwrap()).await;
        for name in ["answers", "tools", "streams", "counts", "priced"] {
            is(&facts, name, "Yes");
        }
        is(&facts, "caches", if provider == Provider::Anthropic { "Yes" } else { "Unknown" });
        let stub = Stub::new([wire(&[])]).await;
        let facts = tried(&stub, &editor(&stub, provider)).await;
        is(&facts, "tools", "No");
        is(&facts, "priced", "Unknown");
    }
}

#[tokio::test]
async fn what_keeps_it_from_answering_is_said_at_once() {
    for (reply, why) in [
        (Reply::Status(401, "", json!({"error": {"message": "no such key"}}).to_string()), "no such key"),
        (Reply::Status(429, "", json!({"error": {"message": "come back later"}}).to_string()), "come back later"),
        (Reply::Stream("data: not json\n\n".to_owned()), "could not be understood"),
    ] {
        let stub = Stub::new([reply]).await;
        let facts = tried(&stub, &editor(&stub, Provider::OpenAi)).await;
        assert!(facts.len() == 1 && facts[0].1.contains(why), "{why}: {facts:?}");
        is(&facts, "answers", "No");
    }
}

#[tokio::test]
async fn an_answer_in_one_piece_is_no_stream() {
    let whole = json!({"choices": [{"message": {"content": null, "tool_calls": [{"id": "c1", "type": "function",
        "function": {"name": "plan", "arguments": "{\"items\":[\"ready\"]}"}}]}, "finish_reason": "tool_calls"}]});
    let stub = Stub::new([Reply::Stream(whole.to_string())]).await;
    let facts = tried(&stub, &editor(&stub, Provider::OpenAi)).await;
    is(&facts, "tools", "Yes");
    is(&facts, "streams", "Unknown");
    is(&facts, "counts", "Unknown");
}
