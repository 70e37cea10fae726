//! Machines and why they were taken for what they are, in words.

use copydesk_views::store::AgentViews;
use copydesk_views::{Class, Evidence};

use crate::words::{number, part};

/// A machine as it is listed.
pub(super) struct AgentRow {
    pub(super) name: String,
    /// The end of the address of its own page.
    pub(super) link: String,
    pub(super) kind: &'static str,
    /// On what the verdict rests, in one word and in a sentence.
    pub(super) evidence: &'static str,
    pub(super) because: &'static str,
    pub(super) rule: String,
    pub(super) views: String,
    pub(super) pages: String,
}

impl From<&AgentViews> for AgentRow {
    fn from(agent: &AgentViews) -> Self {
        let verdict = &agent.verdict;
        let (evidence, because) = evidence(verdict.evidence);
        Self {
            name: verdict.agent.clone().unwrap_or_else(|| "without a name".to_owned()),
            link: part(verdict.agent.as_deref().unwrap_or(&verdict.rule)),
            kind: class(verdict.class),
            evidence,
            because,
            rule: verdict.rule.clone(),
            views: number(agent.views),
            pages: number(agent.pages),
        }
    }
}

pub(super) fn class(class: Class) -> &'static str {
    match class {
        Class::Human => "people",
        Class::Assistant => "assistant",
        Class::CodingAgent => "coding agent",
        Class::MarkdownFetch => "Markdown fetch",
        Class::TrainingCrawler => "crawler for training",
        Class::AiSearch => "crawler of an AI search",
        Class::SearchEngine => "search engine",
        Class::Preview => "preview of a link",
        Class::Monitor => "monitor",
        Class::FeedReader => "feed reader",
        Class::Library => "script or library",
        Class::OtherBot => "other bot",
    }
}

/// A word, and a sentence.
pub(super) fn evidence(evidence: Evidence) -> (&'static str, &'static str) {
    match evidence {
        Evidence::Signature => ("signature", "It signed its requests, and the signature is valid."),
        Evidence::Network => ("address", "It came from an address that its operator publishes."),
        Evidence::Spoofed => (
            "false name",
            "It used the name of an agent, but came from an address that the operator of that agent does not publish.",
        ),
        Evidence::Token => ("name", "Its name is in the user agent. Anybody can write it there."),
        Evidence::Shape => ("request", "It asked for what only machines ask for, such as the Markdown form of a page."),
        Evidence::Library => ("library", "The user agent is that of an HTTP library, or there is none."),
        Evidence::BotShape => ("user agent", "The user agent is shaped like that of a bot."),
        Evidence::Browser => ("browser", "Nothing speaks against a browser."),
    }
}
