use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use super::Api;

/// A request that has passed the rules, without the ways of its wire format.
#[derive(Debug, Clone)]
pub struct Request {
    /// The wire format it came in.
    pub api: Api,
    /// The model it asks for.
    pub model: String,
    /// Whether the answer is to be streamed.
    pub stream: bool,
    /// Whether a stream is to end with the usage, where the format leaves the choice.
    pub stream_usage: bool,
    /// The instructions above the conversation.
    pub system: String,
    /// The conversation, oldest first.
    pub items: Vec<Item>,
    /// The names of the tools that are offered.
    pub tools: Vec<String>,
    /// The answers of the model that it holds.
    pub(super) turns: Vec<PastReply>,
    /// The number of the reply that comes next, from 0, by what the conversation holds.
    pub position: usize,
    /// The script that it names, if any.
    pub script: Option<String>,
    /// The conversation that it belongs to.
    pub conversation: String,
    /// The same for requests that are the same.
    pub hash: u64,
    /// The size of the body in bytes.
    pub size: usize,
}

/// A part of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// Said by the user.
    User(String),
    /// Said by the model.
    Assistant(String),
    /// Called by the model.
    Call {
        id: String,
        name: String,
        /// The arguments; a text if they are no JSON.
        arguments: Value,
    },
    /// Answered by a tool.
    Result {
        /// The id of the call.
        id: String,
        text: String,
    },
}

impl Request {
    /// Whether the conversation holds a call of this tool.
    pub fn has_called(&self, tool: &str) -> bool {
        self.items.iter().any(|item| matches!(item, Item::Call { name, .. } if name == tool))
    }

    /// All that the user has said.
    pub fn user_texts(&self) -> impl Iterator<Item = &str> {
        self.items.iter().filter_map(|item| match item {
            Item::User(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// All that tools have answered.
    pub fn results(&self) -> impl Iterator<Item = (&str, &str)> {
        self.items.iter().filter_map(|item| match item {
            Item::Result { id, text } => Some((id.as_str(), text.as_str())),
            _ => None,
        })
    }

    /// Finds out which script and which conversation the user's texts name.
    pub(super) fn name_conversation(&mut self) {
        let Some(marker) = self.user_texts().find_map(marker).map(str::to_owned) else {
            self.conversation = "#".to_owned();
            return;
        };
        let script = marker.split_once('#').map_or(marker.as_str(), |(script, _)| script);
        self.script = Some(script.to_owned());
        self.conversation = marker;
    }
}

/// What stands between `[[script:` and `]]`.
fn marker(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("[[script:")?;
    rest.split_once("]]").map(|(marker, _)| marker)
}

/// An answer of the model that a conversation holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PastReply {
    pub text: String,
    /// What the ids of its calls say about it.
    pub mark: Option<Mark>,
}

/// What an id that this server gave says: to which place of the script the call belongs. It stays true when a client has
/// dropped older parts of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// It is from the reply of this number.
    Reply(usize),
    /// It is from a fault before the reply of this number.
    Fault(usize),
}

impl PastReply {
    pub fn new<'a>(text: String, mut ids: impl Iterator<Item = &'a str>) -> Self {
        Self { text, mark: ids.find_map(Mark::read) }
    }
}

impl Mark {
    /// The id of call number `call`; unlike in other conversations, and short enough for all.
    pub fn id(self, prefix: &str, conversation: &str, call: usize) -> String {
        let (letter, place) = match self {
            Self::Reply(place) => ('r', place),
            Self::Fault(place) => ('f', place),
        };
        let hash = hash_of(conversation) & 0xffff_ffff;
        format!("{prefix}{hash:08X}{letter}{place:05}n{call:02}")
    }

    fn read(id: &str) -> Option<Self> {
        let (rest, call) = id.rsplit_once('n')?;
        call.parse::<usize>().ok()?;
        let at = rest.rfind(['r', 'f'])?;
        let place = rest[at + 1..].parse().ok()?;
        Some(if rest[at..].starts_with('r') { Self::Reply(place) } else { Self::Fault(place) })
    }
}

/// The hash of a text; the same in every run.
pub(super) fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// The hash of a value, whatever the order of its fields.
pub(super) fn hash_of_value(value: &Value) -> u64 {
    fn feed(value: &Value, hasher: &mut DefaultHasher) {
        match value {
            Value::Array(items) => {
                (1u8, items.len()).hash(hasher);
                items.iter().for_each(|item| feed(item, hasher));
            }
            Value::Object(fields) => {
                (2u8, fields.len()).hash(hasher);
                let mut names: Vec<_> = fields.iter().collect();
                names.sort_unstable_by_key(|(name, _)| *name);
                for (name, value) in names {
                    name.hash(hasher);
                    feed(value, hasher);
                }
            }
            Value::String(text) => (3u8, text).hash(hasher),
            other => (4u8, other.to_string()).hash(hasher),
        }
    }
    let mut hasher = DefaultHasher::new();
    feed(value, &mut hasher);
    hasher.finish()
}
