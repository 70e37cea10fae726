//! Chat completions, as OpenAI documents them.

mod reply;
mod rules;
mod talk;

pub(super) use reply::{CALL_PREFIX, document, error, events};
pub(super) use rules::{check, key};
