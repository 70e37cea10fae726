//! Readers, marks and a clock for tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use copydesk_domain::{Clock, Timestamp};

use copydesk_views::{Channel, Class, Client, Evidence, Facts, Mark, Network, Verdict};

/// A clock that a test moves.
#[derive(Debug)]
pub(crate) struct ManualClock(AtomicI64);

impl ManualClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(1_790_000_000_000)))
    }

    pub(crate) fn advance_hours(&self, hours: i64) {
        self.0.fetch_add(hours * 3_600_000, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// Different kinds of readers: each class from each channel, in turn.
pub(crate) fn client(which: usize) -> Arc<Client> {
    let class = [Class::Human, Class::Assistant, Class::TrainingCrawler, Class::CodingAgent][which / 2 % 4];
    let channel = if which.is_multiple_of(2) { Channel::Script } else { Channel::Server };
    let facts = Facts {
        user_agent: format!("agent {}", which / 2),
        markdown: false,
        network: Network::Unknown,
        signed_by: None,
        channel,
    };
    Arc::new(Client { facts, verdict: verdict(class) })
}

pub(crate) fn verdict(class: Class) -> Verdict {
    let agent = (class != Class::Human).then(|| class.as_str().to_owned());
    Verdict { class, agent, evidence: Evidence::Token, rule: format!("token:{}", class.as_str()) }
}

pub(crate) fn mark(log: &str, digest: &str, replaces: Option<&str>) -> Mark {
    Mark {
        log: log.into(),
        bytes: 10,
        lines: 2,
        digest: digest.into(),
        replaces: replaces.map(str::to_owned),
        followed: None,
    }
}
