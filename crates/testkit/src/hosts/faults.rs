//! What a test lets go wrong.

use std::time::Duration;

/// Something that goes wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The host answers with this status and its own words for it, and does nothing.
    Status(u16),
    /// The host says that too much was asked for; with the seconds to wait, or without.
    RateLimit(Option<u64>),
    /// The host says that too much was written in a short time; on GitHub a 403. With the seconds to wait, or without.
    SecondaryLimit(Option<u64>),
    /// The host no longer takes the credential.
    Revoked,
    /// The host answers with this status, and its words repeat what was shown to it.
    Echo(u16),
    /// The hook that looks at a push fails, and says this.
    Hook(&'static str),
    /// No answer, and nothing done.
    Hang,
    /// The connection breaks, and nothing is done.
    Break,
    /// It is done, and the connection breaks before the answer.
    LoseAnswer,
    /// It is done, and no answer comes.
    HangAfterwards,
    /// It is done after this long.
    Slow(Duration),
}

/// A fault that waits for requests.
#[derive(Debug, Clone)]
pub(super) struct Queued {
    pub(super) left: usize,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) fault: Fault,
}

impl Queued {
    fn strikes(&self, method: &str, path: &str) -> bool {
        self.left > 0 && (self.method == "*" || self.method == method) && path.contains(&self.path)
    }
}

/// The fault for a request, if one waits for it; the oldest first.
pub(super) fn strike(queue: &mut Vec<Queued>, method: &str, path: &str) -> Option<Fault> {
    let at = queue.iter().position(|queued| queued.strikes(method, path))?;
    queue[at].left -= 1;
    let fault = queue[at].fault.clone();
    queue.retain(|queued| queued.left > 0);
    Some(fault)
}
