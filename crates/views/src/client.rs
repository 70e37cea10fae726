use serde::{Deserialize, Serialize};

use crate::{CountsAs, Verdict};

/// Where a view was seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// In the reader's browser: the script or the pixel.
    Script,
    /// On the server side: its events, its log, its log drain.
    #[default]
    Server,
}

/// What the address of the request said, once it is gone.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// There was no address, or no list of addresses to hold it against.
    #[default]
    Unknown,
    /// It is on the operator's list of this name.
    Inside(String),
    /// The agent that it claims to be has a list of this name, and it is not on it.
    Outside(String),
}

/// All that is kept of who asked: enough to judge again when the list improves, too little to tell one reader from
/// another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Facts {
    /// The user agent without versions, devices and platforms; see [`crate::classify::reduce`].
    pub user_agent: String,
    /// Whether the Markdown form was asked for, by the path or by `Accept`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub markdown: bool,
    #[serde(default)]
    pub network: Network,
    /// Whose valid signature the request carried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
    /// Where it was seen.
    pub channel: Channel,
}

/// A kind of reader as the store keeps it: what is known, and what was made of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Client {
    pub facts: Facts,
    pub verdict: Verdict,
}

/// The user agent of readers that were too many a day to be told apart.
const OTHERS: &str = "(other)";

impl Client {
    /// What is kept of it where there are too many kinds of readers: what it is counted as, and nothing that a client
    /// chooses.
    pub fn among_others(&self) -> Self {
        let Facts { markdown, channel, .. } = self.facts;
        let Verdict { class, evidence, .. } = self.verdict;
        Self {
            facts: Facts {
                user_agent: OTHERS.to_owned(),
                markdown,
                network: Network::Unknown,
                signed_by: None,
                channel,
            },
            verdict: Verdict { class, agent: None, evidence, rule: OTHERS.to_owned() },
        }
    }

    /// Whether it stands for many. Then there is nothing left by which it could be judged again.
    pub fn is_others(&self) -> bool {
        self.facts.user_agent == OTHERS && self.verdict.rule == OTHERS
    }

    /// The channel that a view by this reader shows to be at work for its kind: the script if it is a person, the server
    /// side if it is a machine. A crawler that runs the script, or somebody who tries it with a tool, does not move
    /// people over to it.
    pub fn opens(&self) -> Option<Channel> {
        let by_person = self.verdict.counts_as() == CountsAs::Human;
        let channel = if by_person { Channel::Script } else { Channel::Server };
        (self.facts.channel == channel).then_some(channel)
    }
}
