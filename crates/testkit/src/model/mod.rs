//! Scripted model servers: they say what a test wrote down, over the real wire formats, and accept only what the real
//! servers would accept.
//!
//! One [`ModelServer`] speaks every wire format that [`Api`] names. A request belongs to a conversation, which a test
//! names in the prompt as `[[script:NAME]]` or `[[script:NAME#KEY]]`: the script is `NAME`, and each key is a
//! conversation of its own. Those that name none are one conversation. Which reply is given depends on what the
//! conversation holds, not on how often was asked, so a call that is made again after a crash is answered as it was
//! before; faults are counted and used up.

mod answer;
mod anthropic;
mod api;
mod body;
mod continuity;
mod fields;
mod formats;
mod ledger;
mod openai;
mod request;
mod responses;
pub mod scenario;
mod script;
mod script_text;
mod server;
mod sse;
#[cfg(test)]
mod tests;
mod voice;

pub use api::Api;
pub use continuity::Continuation;
pub use ledger::{CallRecord, Ending, Violation};
pub use request::{Item, Request};
pub use script::{Arguments, Break, Call, Fault, FaultKind, Reply, Script, Stop, Times, Tokens};
pub use server::{ANTHROPIC_MODEL, Builder, KEY, ModelServer, OPENAI_MODEL, OPENAI_REASONING_MODEL};
