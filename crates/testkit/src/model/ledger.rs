use std::collections::{HashMap, HashSet};

use copydesk_domain::{Clock, SystemClock, Timestamp};

use super::api::{Api, Rejection};
use super::continuity::{self, Continuation};
use super::request::{Item, Mark, Request};
use super::script::{Arguments, FaultKind, Reply, Script};

/// One request that passed the rules, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRecord {
    /// The conversation: the script's name, `#` and a key.
    pub conversation: String,
    pub api: Api,
    /// The number of the reply that was asked for.
    pub position: usize,
    /// The same for requests that are the same.
    pub hash: u64,
    /// The size of the request's body.
    pub size: usize,
    /// Whether a fault was met instead of a reply.
    pub fault: bool,
    /// How it goes on from the request before.
    pub continuation: Continuation,
    /// Whether the reply before had arrived whole and is not in this request. So it is after a crash; otherwise a paid
    /// answer was thrown away.
    pub forgot_reply: bool,
    /// When it came in.
    pub received_at: Timestamp,
    pub ending: Ending,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Waiting,
    Sent,
    /// The client went away before.
    ClientGone,
    /// The server cut it off, as the script wants it.
    CutOff,
}

/// Something that the real server would not have accepted, or that a client should not do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The conversation, if it was known.
    pub conversation: Option<String>,
    pub message: String,
}

/// What the server does with a request.
pub(super) enum Plan {
    Say(Reply),
    /// A fault, the reply that it stands before, and how many faults struck there already.
    Fail(FaultKind, Option<Reply>, usize),
    Reject(Rejection),
}

/// All that the server knows about those who talk to it.
#[derive(Default)]
pub(super) struct Ledger {
    pub scripts: HashMap<String, Script>,
    pub fallback: Option<Script>,
    pub violations: Vec<Violation>,
    pub calls: Vec<CallRecord>,
    pub good_tools: HashSet<u64>,
    pub wrong_keys: usize,
    conversations: HashMap<String, Conversation>,
}

#[derive(Default)]
struct Conversation {
    system: String,
    tools: Vec<String>,
    items: Vec<Item>,
    /// The reply that was given last, if a client is to keep it, and the call it answered.
    said: Option<(usize, Vec<Item>)>,
    /// How many requests have met with faults at a position.
    struck: HashMap<usize, usize>,
}

impl Ledger {
    pub fn violate(&mut self, conversation: Option<&str>, message: impl Into<String>) {
        self.violations.push(Violation { conversation: conversation.map(str::to_owned), message: message.into() });
    }

    /// Takes a request in and says what to do with it, with the number of its record.
    pub fn begin(&mut self, request: &mut Request) -> (usize, Plan) {
        if let Some(script) = self.script_of(request) {
            request.position = script.position(&request.turns);
        }
        let index = self.record(request);
        let plan = self.plan(request);
        self.calls[index].fault = !matches!(plan, Plan::Say(_));
        if let (Plan::Say(reply), Some(conversation)) = (&plan, self.conversations.get_mut(&request.conversation)) {
            conversation.said = reply.is_sound().then(|| (index, items_of(reply, request)));
        }
        (index, plan)
    }

    /// What a conversation held when the model was last asked.
    pub fn items_of(&self, conversation: &str) -> Vec<Item> {
        self.conversations.get(conversation).map(|it| it.items.clone()).unwrap_or_default()
    }

    fn script_of(&self, request: &Request) -> Option<&Script> {
        request.script.as_ref().and_then(|name| self.scripts.get(name)).or(self.fallback.as_ref())
    }

    /// Writes down a request for which there is no script.
    pub fn note(&mut self, request: &Request) -> usize {
        self.calls.push(record_of(request));
        self.calls.len() - 1
    }

    fn record(&mut self, request: &Request) -> usize {
        let index = self.note(request);
        let is_new = !self.conversations.contains_key(&request.conversation);
        let conversation = self.conversations.entry(request.conversation.clone()).or_default();
        if is_new {
            conversation.system.clone_from(&request.system);
            conversation.tools.clone_from(&request.tools);
        }
        let mut problems = Vec::new();
        if conversation.system != request.system {
            problems.push("the system prompt has changed".to_owned());
        }
        if conversation.tools != request.tools {
            problems.push("the tools have changed".to_owned());
        }
        match continuity::compare(&conversation.items, &request.items) {
            Ok((continuation, added)) => {
                let forgot = |(call, reply): &(usize, Vec<Item>)| {
                    self.calls[*call].ending == Ending::Sent && !continuity::begins_with(added, reply)
                };
                let forgot_reply = conversation.said.as_ref().is_some_and(forgot);
                self.calls[index].forgot_reply = forgot_reply;
                self.calls[index].continuation = continuation;
            }
            Err(problem) => {
                problems.push(format!("the conversation does not go on from the request before: {problem}"))
            }
        }
        conversation.items.clone_from(&request.items);
        conversation.said = None;
        for problem in problems {
            self.violate(Some(&request.conversation), problem);
        }
        index
    }

    fn plan(&mut self, request: &Request) -> Plan {
        let Some(script) = self.script_of(request).cloned() else {
            let message = format!("there is no script {:?}", request.script.as_deref().unwrap_or_default());
            self.violate(Some(&request.conversation), message.clone());
            return Plan::Reject(Rejection::status(400, message));
        };
        let tokens = request.size.div_ceil(4);
        if let Some(limit) = script.limit().filter(|limit| tokens > *limit) {
            return Plan::Reject(Rejection::overflow(request.api, tokens, limit));
        }
        let reply = script.reply_at(request.position).cloned();
        let conversation = self.conversations.entry(request.conversation.clone()).or_default();
        let struck = conversation.struck.entry(request.position).or_default();
        if let Some(fault) = script.fault_at(request.position, *struck) {
            *struck += 1;
            return Plan::Fail(fault.clone(), reply, *struck);
        }
        match reply {
            Some(reply) => Plan::Say(reply),
            None => {
                let message = format!("the script has no reply number {}", request.position);
                self.violate(Some(&request.conversation), message.clone());
                Plan::Reject(Rejection::status(400, message))
            }
        }
    }
}

fn record_of(request: &Request) -> CallRecord {
    CallRecord {
        conversation: request.conversation.clone(),
        api: request.api,
        position: request.position,
        hash: request.hash,
        size: request.size,
        fault: false,
        continuation: Continuation::default(),
        forgot_reply: false,
        received_at: SystemClock.now(),
        ending: Ending::Waiting,
    }
}

/// A reply as the parts that the next request should hold.
fn items_of(reply: &Reply, request: &Request) -> Vec<Item> {
    let mut items = Vec::new();
    if !reply.text.trim().is_empty() {
        items.push(Item::Assistant(reply.text.clone()));
    }
    for (number, call) in reply.calls.iter().enumerate() {
        let Arguments::Json(_) = &call.arguments else { continue };
        let arguments = serde_json::from_str(&call.arguments.written(request.position)).unwrap_or_default();
        let id = Mark::Reply(request.position).id(request.api.call_prefix(), &request.conversation, number);
        items.push(Item::Call { id, name: call.name.clone(), arguments });
    }
    items
}
