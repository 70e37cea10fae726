//! The messages of a request: who may say what, and when.

use std::collections::HashSet;

use serde_json::Value;

use crate::model::api::Rejection;
use crate::model::fields::Fields;
use crate::model::request::{Item, PastReply};

/// An id of a call has at most 40 characters.
const LONGEST_ID: usize = 40;

/// The conversation that a request's messages make.
pub struct Talk {
    pub system: String,
    pub items: Vec<Item>,
    pub turns: Vec<PastReply>,
}

#[derive(Default)]
struct Listener {
    system: String,
    items: Vec<Item>,
    turns: Vec<PastReply>,
    /// Calls that no tool has answered yet.
    open: Vec<String>,
    ids: HashSet<String>,
}

/// Holds the messages against the rules.
pub fn check(fields: &Fields<'_>) -> Result<Talk, Rejection> {
    let messages = fields.list("messages")?.ok_or_else(|| fields.bad("messages", "is required"))?;
    if messages.is_empty() {
        return Err(fields.bad("messages", "must not be empty"));
    }
    let mut listener = Listener::default();
    for (number, message) in messages.iter().enumerate() {
        listener.hear(&Fields::of(message, format!("messages.[{number}]"))?)?;
    }
    listener.all_answered("messages")?;
    Ok(Talk { system: listener.system, items: listener.items, turns: listener.turns })
}

impl Listener {
    fn hear(&mut self, message: &Fields<'_>) -> Result<(), Rejection> {
        let role = message.need_text("role")?;
        // A call is answered by one `tool` message for each id before anybody else speaks.
        if role != "tool" {
            self.all_answered(&message.at("role"))?;
        }
        match role {
            "system" | "developer" => self.hear_system(message),
            "user" => self.hear_user(message),
            "assistant" => self.hear_assistant(message),
            "tool" => self.hear_tool(message),
            _ => Err(message.bad("role", &format!("{role:?} is not a role"))),
        }
    }

    fn all_answered(&self, param: &str) -> Result<(), Rejection> {
        if self.open.is_empty() {
            return Ok(());
        }
        let message = "An assistant message with tool_calls must be followed by a tool message for each of them. \
                       These ids were not answered";
        Err(Rejection::bad(param, format!("{message}: {}", self.open.join(", "))))
    }

    fn hear_system(&mut self, message: &Fields<'_>) -> Result<(), Rejection> {
        message.only(&["role", "content", "name"])?;
        let text = need_content(message, &["text"])?;
        if self.items.is_empty() {
            self.system.push_str(&text);
        } else {
            self.items.push(Item::User(text));
        }
        Ok(())
    }

    fn hear_user(&mut self, message: &Fields<'_>) -> Result<(), Rejection> {
        message.only(&["role", "content", "name"])?;
        let text = need_content(message, &["text", "image_url", "input_audio", "file"])?;
        self.items.push(Item::User(text));
        Ok(())
    }

    /// An assistant's content may be missing only if it called tools or refused.
    fn hear_assistant(&mut self, message: &Fields<'_>) -> Result<(), Rejection> {
        message.only(&["role", "content", "name", "tool_calls", "refusal", "audio", "function_call", "annotations"])?;
        let calls = message.list("tool_calls")?;
        let text = content(message, &["text", "refusal"])?;
        let refusal = message.text("refusal")?;
        match (&text, calls) {
            (_, Some([])) => return Err(message.bad("tool_calls", "must not be empty")),
            (None, None) if refusal.is_none() => {
                return Err(message.bad("content", "must be a string or a list of parts, when nothing is called"));
            }
            _ => {}
        }
        let text = text.or(refusal.map(str::to_owned)).unwrap_or_default();
        if !text.is_empty() {
            self.items.push(Item::Assistant(text.clone()));
        }
        for (number, call) in calls.unwrap_or_default().iter().enumerate() {
            self.hear_call(&Fields::of(call, message.at(&format!("tool_calls[{number}]")))?)?;
        }
        self.turns.push(PastReply::new(text, self.open.iter().map(String::as_str)));
        Ok(())
    }

    fn hear_call(&mut self, call: &Fields<'_>) -> Result<(), Rejection> {
        call.only(&["id", "type", "function"])?;
        let id = call.need_text("id")?;
        if id.is_empty() || id.len() > LONGEST_ID {
            return Err(call.bad("id", &format!("must have 1 to {LONGEST_ID} characters")));
        }
        if call.need_text("type")? != "function" {
            return Err(call.bad("type", "must be \"function\""));
        }
        let function = call.get("function").ok_or_else(|| call.bad("function", "is required"))?;
        let function = Fields::of(function, call.at("function"))?;
        function.only(&["name", "arguments"])?;
        let name = function.need_text("name")?;
        if !crate::model::fields::is_tool_name(name) {
            return Err(function.bad("name", "must match ^[a-zA-Z0-9_-]{1,64}$"));
        }
        // Arguments are a text that holds JSON, not JSON; the model may have written something else into it.
        let arguments = function.need_text("arguments")?;
        if !self.ids.insert(id.to_owned()) {
            return Err(call.bad("id", &format!("{id:?} was used before")));
        }
        self.open.push(id.to_owned());
        let arguments = serde_json::from_str(arguments).unwrap_or_else(|_| Value::from(arguments));
        self.items.push(Item::Call { id: id.to_owned(), name: name.to_owned(), arguments });
        Ok(())
    }

    fn hear_tool(&mut self, message: &Fields<'_>) -> Result<(), Rejection> {
        message.only(&["role", "content", "tool_call_id"])?;
        let id = message.need_text("tool_call_id")?;
        let Some(at) = self.open.iter().position(|open| open == id) else {
            let what = "answers a call that the message before did not make, or that was answered already";
            return Err(message.bad("role", &format!("{id:?} {what}")));
        };
        self.open.remove(at);
        let text = need_content(message, &["text"])?;
        self.items.push(Item::Result { id: id.to_owned(), text });
        Ok(())
    }
}

fn need_content(message: &Fields<'_>, kinds: &[&str]) -> Result<String, Rejection> {
    content(message, kinds)?.ok_or_else(|| message.bad("content", "is required"))
}

/// Content is a text or a list of parts, each of a kind that the role may use.
fn content(message: &Fields<'_>, kinds: &[&str]) -> Result<Option<String>, Rejection> {
    let parts = match message.get("content") {
        None => return Ok(None),
        Some(Value::String(text)) => return Ok(Some(text.clone())),
        Some(Value::Array(parts)) => parts,
        Some(_) => return Err(message.bad("content", "must be a string or a list of parts")),
    };
    if parts.is_empty() {
        return Err(message.bad("content", "must not be an empty list"));
    }
    let mut text = String::new();
    for (number, part) in parts.iter().enumerate() {
        let part = Fields::of(part, message.at(&format!("content[{number}]")))?;
        let kind = part.word("type", kinds)?.ok_or_else(|| part.bad("type", "is required"))?;
        part.only(&["type", kind])?;
        if matches!(kind, "text" | "refusal") {
            text.push_str(part.need_text(kind)?);
        }
    }
    Ok(Some(text))
}
