use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::request::{Mark, PastReply};

/// What a model says in one conversation, reply by reply.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Script {
    places: Vec<ScriptPlace>,
    context_limit: Option<usize>,
}

/// A place in a conversation: what goes wrong there first, then what is said.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ScriptPlace {
    pub faults: Vec<Fault>,
    pub reply: Option<Reply>,
}

/// One answer of the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// What it thinks first, if the format has a place for that.
    pub thought: String,
    pub text: String,
    /// The tools it calls.
    pub calls: Vec<Call>,
    /// What the answer costs.
    pub usage: Tokens,
    /// Why it stops; without it, what follows from the calls.
    pub stop: Option<Stop>,
    /// How long it thinks before the first byte.
    pub delay: Duration,
    /// Whether it is said again and again once the script is through.
    pub repeat: bool,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub name: String,
    pub arguments: Arguments,
}

/// The arguments of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    /// A JSON value. In its texts `{{n}}` stands for the reply's number; a text that is nothing else becomes a number.
    Json(Value),
    /// Sent as it is, to be no JSON.
    Raw(String),
}

/// The tokens of one answer. They are never measured, so that sums can be written down beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tokens {
    /// Read, and not from a cache.
    pub input: u64,
    /// Read from a cache.
    pub cached: u64,
    /// Read and put into a cache; a provider that does not tell counts them as read.
    pub cache_write: u64,
    pub output: u64,
}

impl Default for Tokens {
    fn default() -> Self {
        Self { input: 1000, cached: 0, cache_write: 0, output: 50 }
    }
}

/// Why an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model has said all.
    End,
    /// The model waits for its tools.
    ToolUse,
    /// The limit of tokens was reached.
    MaxTokens,
    /// The model does not want to.
    Refusal,
}

/// Something that goes wrong instead of a reply. It uses up requests and leaves the conversation where it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    pub kind: FaultKind,
    pub times: Times,
}

/// How often a fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    Count(usize),
    Forever,
}

/// What can go wrong.
#[derive(Debug, Clone, PartialEq)]
pub enum FaultKind {
    /// An error status, in the provider's own shape, with these headers.
    Status(u16, Vec<(String, String)>),
    /// The conversation is said to be too long for the model.
    ContextOverflow,
    /// A whole and well-formed answer that says nothing.
    Empty,
    /// The model declines, with these words.
    Refusal(String),
    /// This is said instead; a client that drops it from the conversation hears it no more.
    Say(Reply),
    /// The reply begins, and after so many bytes something happens.
    Break(usize, Break),
}

/// What happens in the middle of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// The provider reports an error of its own and ends the stream.
    Error,
    /// The provider reports that it is overloaded and ends the stream.
    Overloaded,
    /// Bytes that are no event, no JSON and no UTF-8.
    Garbage,
    /// The connection is cut.
    Drop,
    /// The stream ends as if all were said, but it is not.
    End,
    /// Nothing more, until the client goes away.
    Stall,
}

impl Script {
    /// A script that says nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn reply(mut self, reply: Reply) -> Self {
        match self.places.last_mut() {
            Some(place) if place.reply.is_none() => place.reply = Some(reply),
            _ => self.places.push(ScriptPlace { faults: Vec::new(), reply: Some(reply) }),
        }
        self
    }

    /// Adds a fault that strikes before the next reply.
    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Self {
        match self.places.last_mut() {
            Some(place) if place.reply.is_none() => place.faults.push(fault),
            _ => self.places.push(ScriptPlace { faults: vec![fault], reply: None }),
        }
        self
    }

    /// Refuses requests of more than so many tokens, counted as four bytes of the request's body each.
    #[must_use]
    pub fn context_limit(mut self, tokens: usize) -> Self {
        self.context_limit = Some(tokens);
        self
    }

    /// How many replies it has.
    pub fn replies(&self) -> usize {
        self.places.iter().filter(|place| place.reply.is_some()).count()
    }

    pub(super) fn limit(&self) -> Option<usize> {
        self.context_limit
    }

    /// Where a conversation stands that holds these answers. Answers with calls say themselves which they were; one of
    /// text alone counts, unless it is what a fault said and the client has kept.
    pub(super) fn position(&self, turns: &[PastReply]) -> usize {
        turns.iter().fold(0, |position, turn| match turn.mark {
            Some(Mark::Reply(place)) => place + 1,
            Some(Mark::Fault(place)) => place,
            None if self.is_said_by_fault(position, &turn.text) => position,
            None => position + 1,
        })
    }

    fn is_said_by_fault(&self, position: usize, text: &str) -> bool {
        let faults = self.places.get(position).map(|place| place.faults.as_slice()).unwrap_or_default();
        faults.iter().any(|fault| match &fault.kind {
            FaultKind::Refusal(said) => said.trim() == text.trim(),
            FaultKind::Say(reply) => reply.calls.is_empty() && reply.text.trim() == text.trim(),
            _ => false,
        })
    }

    /// What goes wrong at `position` after `struck` requests have met with faults there.
    pub(super) fn fault_at(&self, position: usize, struck: usize) -> Option<&FaultKind> {
        let mut before = 0;
        for fault in &self.places.get(position)?.faults {
            match fault.times {
                Times::Forever => return Some(&fault.kind),
                Times::Count(count) if struck < before + count => return Some(&fault.kind),
                Times::Count(count) => before += count,
            }
        }
        None
    }

    /// What is said at `position`; the last reply again and again if it is one that repeats.
    pub(super) fn reply_at(&self, position: usize) -> Option<&Reply> {
        match self.places.get(position) {
            Some(place) => place.reply.as_ref(),
            None => self.places.last()?.reply.as_ref().filter(|reply| reply.repeat),
        }
    }
}

impl Reply {
    /// A reply of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A reply that calls one tool and says nothing.
    pub fn of_call(name: &str, arguments: Value) -> Self {
        Self::default().call(name, arguments)
    }

    /// Calls a tool as well.
    #[must_use]
    pub fn call(mut self, name: &str, arguments: Value) -> Self {
        self.calls.push(Call { name: name.to_owned(), arguments: Arguments::Json(arguments) });
        self
    }

    /// Calls a tool with arguments that are sent as they are.
    #[must_use]
    pub fn raw_call(mut self, name: &str, arguments: &str) -> Self {
        self.calls.push(Call { name: name.to_owned(), arguments: Arguments::Raw(arguments.to_owned()) });
        self
    }

    /// Thinks this first.
    #[must_use]
    pub fn thinking(mut self, thought: &str) -> Self {
        self.thought = thought.to_owned();
        self
    }

    #[must_use]
    pub fn usage(mut self, usage: Tokens) -> Self {
        self.usage = usage;
        self
    }

    /// Stops for this reason.
    #[must_use]
    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Thinks so long before the first byte.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Is said again and again once the script is through.
    #[must_use]
    pub fn forever(mut self) -> Self {
        self.repeat = true;
        self
    }

    pub(super) fn stops_for(&self) -> Stop {
        self.stop.unwrap_or(if self.calls.is_empty() { Stop::End } else { Stop::ToolUse })
    }

    /// Whether a client is to keep it in the conversation: it ends well and its arguments are JSON.
    pub(super) fn is_sound(&self) -> bool {
        let readable = |call: &Call| matches!(&call.arguments, Arguments::Json(value) if value.is_object());
        matches!(self.stops_for(), Stop::End | Stop::ToolUse)
            && self.calls.iter().all(readable)
            && (!self.text.trim().is_empty() || !self.calls.is_empty())
    }
}

impl Fault {
    pub fn once(kind: FaultKind) -> Self {
        Self { kind, times: Times::Count(1) }
    }

    /// Strikes so many requests.
    pub fn times(count: usize, kind: FaultKind) -> Self {
        Self { kind, times: Times::Count(count) }
    }

    pub fn forever(kind: FaultKind) -> Self {
        Self { kind, times: Times::Forever }
    }
}

impl Arguments {
    /// As the model writes them in its reply number `position`.
    pub(super) fn written(&self, position: usize) -> String {
        match self {
            Self::Json(value) => filled_in(value, position).to_string(),
            Self::Raw(text) => text.clone(),
        }
    }
}

/// The value with `{{n}}` replaced.
fn filled_in(value: &Value, position: usize) -> Value {
    match value {
        Value::String(text) if text == "{{n}}" => position.into(),
        Value::String(text) if text.contains("{{n}}") => text.replace("{{n}}", &position.to_string()).into(),
        Value::Array(items) => items.iter().map(|item| filled_in(item, position)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), filled_in(value, position))).collect()
        }
        other => other.clone(),
    }
}
