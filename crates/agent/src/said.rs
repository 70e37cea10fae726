//! What a model says and what comes of it: shared by the machine, the tools and the wire formats.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a model said in one answer. This is what is recorded, so fields may be added but not renamed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Said {
    /// The model, as it was configured.
    pub(crate) model: String,
    pub(crate) text: String,
    /// The tools it wants to be run.
    pub(crate) calls: Vec<Call>,
    pub(crate) stop: Stop,
    /// What it thought, as far as its provider wants to have that back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) thoughts: Vec<Thought>,
    /// What was counted, if the provider counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tokens: Option<TokenCounts>,
}

/// The tokens of one answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TokenCounts {
    /// All that was read.
    pub(crate) input: u64,
    /// What of that came from the provider's cache.
    pub(crate) cached: u64,
    /// What of that was put into it.
    pub(crate) cache_written: u64,
    /// All that was written, thoughts included.
    pub(crate) output: u64,
}

/// A tool that a model wants to be run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Call {
    /// What its result is to be named after.
    pub(crate) id: String,
    pub(crate) name: String,
    /// An object if the model did it right; the raw text if that is not JSON.
    pub(crate) arguments: Value,
    /// What else the provider said of the call, and wants to have back with it.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(crate) extra: Map<String, Value>,
    /// How that was recorded once; only read.
    #[serde(skip_serializing)]
    pub(crate) signatures: Vec<String>,
}

/// What a model says at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Finish {
    /// What the change is called.
    pub(crate) title: String,
    /// What it says to the user.
    pub(crate) summary: String,
    /// What of the request it could not do, and why.
    pub(crate) not_done: Vec<String>,
}

/// What came out of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ran {
    /// What the model is told.
    pub(crate) text: String,
    pub(crate) ok: bool,
    /// Whether there is such a tool and the arguments fit.
    pub(crate) valid: bool,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Stop {
    /// It has said what it wanted to say.
    #[default]
    Done,
    /// It was cut off.
    Length,
    /// It does not want to, or a filter does not let it.
    Refused,
    /// It wants to go on.
    Paused,
}

/// A piece of thinking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Thought {
    /// The signature of the text that follows it. Is not recorded any more.
    Signature(String),
    Text(String),
    /// A part of the answer in the provider's own form, all of them in order.
    Opaque(Value),
}

impl Thought {
    fn bytes(&self) -> usize {
        match self {
            Self::Signature(text) | Self::Text(text) => text.len(),
            Self::Opaque(value) => value.to_string().len(),
        }
    }
}

impl Said {
    /// About how much room it takes in a request.
    pub(crate) fn bytes(&self) -> usize {
        let calls: usize = self.calls.iter().map(Call::bytes).sum();
        let thoughts: usize = self.thoughts.iter().map(Thought::bytes).sum();
        self.text.len() + calls + thoughts
    }
}

impl Said {
    /// Gives calls an id of their own where the provider gave none, one that was there before, or an odd one. `answer`
    /// is the number of the answer; `ids` are those that were there before.
    pub(crate) fn name_calls(&mut self, ids: &mut HashSet<String>, answer: u32) {
        for (at, call) in self.calls.iter_mut().enumerate() {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            let fine = !call.id.is_empty() && call.id.len() <= 64 && call.id.chars().all(plain);
            if !fine || ids.contains(&call.id) {
                let free = (0..).map(|more| format!("call_{answer}_{}", at + more)).find(|id| !ids.contains(id));
                call.id = free.unwrap_or_default();
            }
            // Providers refuse to be told of a tool with an odd name, also if it was their model that called it.
            if call.name.is_empty() || call.name.len() > 64 || !call.name.chars().all(plain) {
                let name = call.name.chars().take(64).map(|c| if plain(c) { c } else { '_' });
                call.name =
                    Some(name.collect()).filter(|name: &String| !name.is_empty()).unwrap_or("unknown".to_owned());
            }
            ids.insert(call.id.clone());
        }
    }
}

impl Call {
    /// What is meant by arguments as they were written. Those that are not JSON stay text, so that the model can be told.
    pub(crate) fn read_arguments(written: String, stop: Stop) -> Value {
        if written.trim().is_empty() && stop != Stop::Length {
            return Value::Object(Map::new());
        }
        serde_json::from_str(&written).unwrap_or(Value::String(written))
    }

    /// The arguments as providers want to have them back: also those that were no object; the result says what was wrong.
    pub(crate) fn arguments_object(&self) -> Value {
        if self.arguments.is_object() { self.arguments.clone() } else { Value::Object(Map::new()) }
    }

    /// Cuts long arguments. What is no object is left out: it was wrong anyway.
    pub(crate) fn shorten(&mut self) {
        const MOST: usize = 200;
        match &mut self.arguments {
            Value::Object(members) => {
                for (_, value) in members.iter_mut() {
                    match value {
                        Value::String(text) if text.len() > MOST => *text = crate::text::short(text, MOST / 2),
                        Value::Array(_) | Value::Object(_) if value.to_string().len() > MOST => *value = Value::Null,
                        _ => {}
                    }
                }
            }
            other => *other = Value::Null,
        }
    }

    fn bytes(&self) -> usize {
        let extra = if self.extra.is_empty() { 0 } else { Value::Object(self.extra.clone()).to_string().len() };
        // The id stands there twice, and there is some punctuation.
        self.name.len() + 2 * self.id.len() + self.arguments.to_string().len() + extra + 60
    }
}
