//! The messages of a request: who may say what, and when.

use std::collections::HashSet;

use serde_json::Value;

use crate::model::api::Rejection;
use crate::model::fields::{Fields, is_id, is_tool_name};
use crate::model::request::{Item, PastReply, hash_of};

/// How the signatures of thoughts begin.
pub const SIGNATURE: &str = "signed:";

/// The conversation that a request's messages make.
pub struct Talk {
    pub system: String,
    pub items: Vec<Item>,
    pub turns: Vec<PastReply>,
}

#[derive(Default)]
struct Listener {
    items: Vec<Item>,
    turns: Vec<PastReply>,
    /// Calls of the message before that no result has answered yet.
    open: Vec<String>,
    ids: HashSet<String>,
}

/// Holds the system prompt and the messages against the rules.
pub fn check(fields: &Fields<'_>, has_tools: bool) -> Result<Talk, Rejection> {
    let system = check_system(fields)?;
    let messages = fields.list("messages")?.ok_or_else(|| fields.bad("messages", "is required"))?;
    if messages.is_empty() {
        return Err(fields.bad("messages", "at least one message is required"));
    }
    let mut listener = Listener::default();
    for (number, message) in messages.iter().enumerate() {
        let message = Fields::of(message, format!("messages.{number}"))?;
        message.only(&["role", "content"])?;
        let role = message.word("role", &["user", "assistant"])?.ok_or_else(|| message.bad("role", "is required"))?;
        if number == 0 && role != "user" {
            return Err(fields.bad("messages", "the first message must be the user's"));
        }
        let is_last = number + 1 == messages.len();
        match role {
            "user" => listener.hear_user(&message)?,
            _ => listener.hear_assistant(&message, is_last)?,
        }
    }
    listener.all_answered("messages")?;
    if !has_tools && !listener.ids.is_empty() {
        return Err(fields.bad("tools", "are required when messages hold tool_use or tool_result blocks"));
    }
    Ok(Talk { system, items: listener.items, turns: listener.turns })
}

/// The system prompt is a text or a list of text blocks.
fn check_system(fields: &Fields<'_>) -> Result<String, Rejection> {
    match fields.get("system") {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(blocks)) => {
            let mut system = String::new();
            for (number, block) in blocks.iter().enumerate() {
                system.push_str(check_text(&Fields::of(block, format!("system.{number}"))?)?);
            }
            Ok(system)
        }
        Some(_) => Err(fields.bad("system", "must be a string or a list of blocks")),
    }
}

/// Text blocks are not empty, nor only white space.
fn check_text<'a>(block: &Fields<'a>) -> Result<&'a str, Rejection> {
    block.only(&["type", "text", "cache_control", "citations"])?;
    block.word("type", &["text"])?.ok_or_else(|| block.bad("type", "is required"))?;
    let text = block.need_text("text")?;
    if text.trim().is_empty() { Err(block.bad("text", "text content blocks must be non-empty")) } else { Ok(text) }
}

impl Listener {
    /// Results answer all calls of the message before, and stand before anything else.
    fn hear_user(&mut self, message: &Fields<'_>) -> Result<(), Rejection> {
        let blocks = match content(message)? {
            Content::Text(text) => {
                self.all_answered(&message.path)?;
                self.items.push(Item::User(text.to_owned()));
                return Ok(());
            }
            Content::Blocks(blocks) => blocks,
        };
        let mut said_more = false;
        for block in blocks {
            match block.need_text("type")? {
                "tool_result" if said_more => {
                    return Err(block.bad("type", "tool_result blocks must come before all other blocks"));
                }
                "tool_result" => self.hear_result(&block)?,
                "text" => {
                    said_more = true;
                    self.all_answered(&block.path)?;
                    let text = check_text(&block)?.to_owned();
                    self.items.push(Item::User(text));
                }
                "image" | "document" | "search_result" => {
                    said_more = true;
                    self.all_answered(&block.path)?;
                }
                other => return Err(block.bad("type", &format!("{other:?} is not a block of a user"))),
            }
        }
        self.all_answered(&message.path)
    }

    fn hear_result(&mut self, block: &Fields<'_>) -> Result<(), Rejection> {
        block.only(&["type", "tool_use_id", "content", "is_error", "cache_control"])?;
        block.flag("is_error")?;
        let id = block.need_text("tool_use_id")?;
        let Some(at) = self.open.iter().position(|open| open == id) else {
            let what = "is not the id of a tool_use block in the message before, or was answered already";
            return Err(block.bad("tool_use_id", &format!("{id:?} {what}")));
        };
        self.open.remove(at);
        let mut text = String::new();
        match block.get("content") {
            None => {}
            Some(Value::String(content)) => text.push_str(content),
            Some(Value::Array(parts)) => {
                for (number, part) in parts.iter().enumerate() {
                    let part = Fields::of(part, block.at(&format!("content.{number}")))?;
                    match part.need_text("type")? {
                        "text" => text.push_str(check_text(&part)?),
                        "image" | "document" | "search_result" => {}
                        other => return Err(part.bad("type", &format!("{other:?} is not a block of a result"))),
                    }
                }
            }
            Some(_) => return Err(block.bad("content", "must be a string or a list of blocks")),
        }
        self.items.push(Item::Result { id: id.to_owned(), text });
        Ok(())
    }

    fn all_answered(&self, param: &str) -> Result<(), Rejection> {
        if self.open.is_empty() {
            return Ok(());
        }
        let message = "tool_use ids without tool_result blocks immediately after";
        Err(Rejection::bad(param, format!("{param}: {message}: {}", self.open.join(", "))))
    }

    fn hear_assistant(&mut self, message: &Fields<'_>, is_last: bool) -> Result<(), Rejection> {
        let content = content(message)?;
        let end = match &content {
            Content::Text(text) => Some(*text),
            Content::Blocks(blocks) => blocks.last().and_then(|block| block.get("text")?.as_str()),
        };
        if is_last && end.is_some_and(|text| text.ends_with(char::is_whitespace)) {
            return Err(message.bad("content", "final assistant content cannot end with trailing whitespace"));
        }
        let first = self.items.len();
        match content {
            Content::Text(text) => self.items.push(Item::Assistant(text.to_owned())),
            Content::Blocks(blocks) => blocks.iter().try_for_each(|block| self.hear_block(block))?,
        }
        let texts = self.items[first..].iter().filter_map(|item| match item {
            Item::Assistant(text) => Some(text.as_str()),
            _ => None,
        });
        self.turns.push(PastReply::new(texts.collect(), self.open.iter().map(String::as_str)));
        Ok(())
    }

    fn hear_block(&mut self, block: &Fields<'_>) -> Result<(), Rejection> {
        match block.need_text("type")? {
            "text" => self.items.push(Item::Assistant(check_text(block)?.to_owned())),
            "tool_use" => self.hear_call(block)?,
            // Thoughts come back as they were, with the signature, and are no place for a marker.
            "thinking" => {
                block.only(&["type", "thinking", "signature"])?;
                let thought = block.need_text("thinking")?;
                if block.need_text("signature")? != format!("{SIGNATURE}{:x}", hash_of(thought)) {
                    return Err(block.bad("signature", "Invalid `signature` in `thinking` block"));
                }
            }
            "redacted_thinking" => {
                block.only(&["type", "data"])?;
                block.need_text("data")?;
            }
            other => return Err(block.bad("type", &format!("{other:?} is not a block of an assistant"))),
        }
        Ok(())
    }

    fn hear_call(&mut self, block: &Fields<'_>) -> Result<(), Rejection> {
        block.only(&["type", "id", "name", "input", "cache_control", "caller"])?;
        let (id, name) = (block.need_text("id")?, block.need_text("name")?);
        if !is_id(id) {
            return Err(block.bad("id", "must match ^[a-zA-Z0-9_-]+$"));
        }
        if !is_tool_name(name) {
            return Err(block.bad("name", "must match ^[a-zA-Z0-9_-]{1,64}$"));
        }
        let input = block.get("input").ok_or_else(|| block.bad("input", "is required"))?;
        if !input.is_object() {
            return Err(block.bad("input", "must be an object"));
        }
        if !self.ids.insert(id.to_owned()) {
            return Err(block.bad("id", &format!("tool_use ids must be unique, and {id:?} is not")));
        }
        self.open.push(id.to_owned());
        self.items.push(Item::Call { id: id.to_owned(), name: name.to_owned(), arguments: input.clone() });
        Ok(())
    }
}

/// What a message holds.
enum Content<'a> {
    Text(&'a str),
    Blocks(Vec<Fields<'a>>),
}

/// Content is a text or a list of blocks, and not empty.
fn content<'a>(message: &Fields<'a>) -> Result<Content<'a>, Rejection> {
    match message.get("content") {
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(Content::Text(text)),
        Some(Value::Array(blocks)) if !blocks.is_empty() => {
            let block = |(number, block)| Fields::of(block, message.at(&format!("content.{number}")));
            blocks.iter().enumerate().map(block).collect::<Result<_, _>>().map(Content::Blocks)
        }
        Some(Value::String(_) | Value::Array(_)) => Err(message.bad("content", "must be non-empty")),
        Some(_) => Err(message.bad("content", "must be a string or a list of blocks")),
        None => Err(message.bad("content", "is required")),
    }
}
