//! A talk in the form in which each provider wants it.

use genai::chat::{CacheControl, ChatMessage, ChatRequest, ContentPart, CustomPart, MessageContent, Tool, ToolCall};
use genai::chat::{ChatRole, ToolResponse};
use serde_json::{Value, json};

use super::settings::Provider;
use crate::machine::{Item, Said, Talk, Thought, ToolResult};
use crate::{prompt, tools};

/// The request for the next answer.
pub(super) fn request(provider: Provider, model: &str, talk: &Talk) -> ChatRequest {
    let mut messages = vec![ChatMessage::system(prompt::SYSTEM)];
    let mut items = talk.items().iter().peekable();
    while let Some(item) = items.next() {
        match item {
            Item::User(text) => messages.push(ChatMessage::user(text.as_str())),
            Item::Model(said) => messages.push(answer(model, said)),
            // Anthropic wants roles to alternate, and results are the user's.
            Item::Results(results) if provider == Provider::Anthropic => {
                let mut parts: Vec<ContentPart> = results.iter().map(|result| response(result).into()).collect();
                if let Some(Item::User(text)) = items.next_if(|item| matches!(item, Item::User(_))) {
                    parts.push(ContentPart::from_text(text.as_str()));
                }
                messages.push(ChatMessage::new(ChatRole::User, MessageContent::from_parts(parts)));
            }
            // Of several in one message the library keeps only the last for Ollama.
            Item::Results(results) if provider == Provider::Ollama => {
                messages.extend(results.iter().map(|result| ChatMessage::tool(response(result))));
            }
            Item::Results(results) => {
                let parts: Vec<ContentPart> = results.iter().map(|result| response(result).into()).collect();
                messages.push(ChatMessage::tool(MessageContent::from_parts(parts)));
            }
        }
    }
    if provider == Provider::Anthropic {
        mark_for_cache(&mut messages);
    }
    ChatRequest::new(messages).with_tools(tool_list())
}

/// Rules and tools are the same for all jobs; everything up to the last message is the beginning of the next request.
fn mark_for_cache(messages: &mut [ChatMessage]) {
    let last = messages.len() - 1;
    for at in [0, last] {
        if let Some(message) = messages.get_mut(at) {
            message.options = Some(CacheControl::Ephemeral.into());
        }
    }
}

fn tool_list() -> Vec<Tool> {
    let tool = |definition: tools::Definition| {
        Tool::new(definition.name).with_description(definition.description).with_schema(definition.schema)
    };
    tools::definitions().into_iter().map(tool).collect()
}

fn answer(model: &str, said: &Said) -> ChatMessage {
    let mut parts: Vec<ContentPart> = Vec::new();
    // What one model thought is of no use to another, and its provider would refuse it.
    let same = said.model == model;
    if same {
        parts.extend(said.thoughts.iter().map(thought));
    }
    if !said.text.trim().is_empty() {
        parts.push(ContentPart::from_text(said.text.as_str()));
    }
    for call in &said.calls {
        parts.push(ContentPart::ToolCall(ToolCall {
            call_id: call.id.clone(),
            fn_name: call.name.clone(),
            fn_arguments: object(&call.arguments),
            thought_signatures: Some(call.signatures.clone()).filter(|it| same && !it.is_empty()),
        }));
    }
    ChatMessage::assistant(MessageContent::from_parts(parts))
}

/// Arguments must be an object, also those that were none; the result says what was wrong.
fn object(arguments: &Value) -> Value {
    if arguments.is_object() { arguments.clone() } else { json!({}) }
}

fn thought(thought: &Thought) -> ContentPart {
    match thought {
        Thought::Signature(signature) => ContentPart::ThoughtSignature(signature.clone()),
        Thought::Text(text) => ContentPart::ReasoningContent(text.clone()),
        Thought::Opaque(data) => ContentPart::Custom(CustomPart { model_iden: None, data: data.clone() }),
    }
}

fn response(result: &ToolResult) -> ToolResponse {
    ToolResponse::new(result.id.as_str(), result.text.as_str()).with_fn_name(result.name.as_str())
}
