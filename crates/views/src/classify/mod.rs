//! Stands in until it is written.

use std::net::IpAddr;

use crate::{BotSignature, Channel, Class, Evidence, Facts, Network, Verdict};

/// What is known of a request.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "stands in")]
pub struct Probe<'a> {
    pub user_agent: &'a str,
    pub accept: Option<&'a str>,
    pub markdown_path: bool,
    pub ip: Option<IpAddr>,
    pub signature: Option<BotSignature<'a>>,
    pub channel: Channel,
    pub now: i64,
}

/// Judges.
#[derive(Debug)]
pub struct Classifier;

#[allow(missing_docs, reason = "stands in")]
impl Classifier {
    pub fn builtin() -> Self {
        Self
    }
    pub fn prefers_markdown(&self, accept: &str) -> bool {
        accept.starts_with("text/markdown")
    }
    pub fn asks_for_address(&self, _user_agent: &str) -> bool {
        false
    }
    pub fn facts(&self, probe: &Probe<'_>) -> Facts {
        Facts {
            user_agent: probe.user_agent.to_owned(),
            markdown: probe.markdown_path,
            network: Network::Unknown,
            signed_by: None,
            channel: probe.channel,
        }
    }
    pub fn verdict(&self, _facts: &Facts) -> Verdict {
        Verdict { class: Class::Human, agent: None, evidence: Evidence::Browser, rule: "browser".to_owned() }
    }
}
