use serde::{Deserialize, Serialize};

/// What kind of reader asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    Human,
    /// An AI assistant that reads for a person who asked it something.
    Assistant,
    /// A coding agent that reads for the developer who runs it.
    CodingAgent,
    /// A fetch of the Markdown form of a page by a client that is not a known crawler.
    MarkdownFetch,
    /// A crawler that collects texts to train models.
    TrainingCrawler,
    /// A crawler that fills the index of an AI search.
    AiSearch,
    SearchEngine,
    /// A preview of a link in a chat or a social network.
    Preview,
    /// A monitor, an uptime or a security check.
    Monitor,
    FeedReader,
    /// An HTTP library or a command-line tool.
    Library,
    OtherBot,
}

/// Which figure a view is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountsAs {
    /// `human`
    Human,
    /// `ai`
    Ai,
    /// Neither, so not in `total`.
    Other,
}

impl Class {
    /// All of them, people first.
    pub const ALL: [Self; 12] = [
        Self::Human,
        Self::Assistant,
        Self::CodingAgent,
        Self::MarkdownFetch,
        Self::TrainingCrawler,
        Self::AiSearch,
        Self::SearchEngine,
        Self::Preview,
        Self::Monitor,
        Self::FeedReader,
        Self::Library,
        Self::OtherBot,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Assistant => "assistant",
            Self::CodingAgent => "coding_agent",
            Self::MarkdownFetch => "markdown_fetch",
            Self::TrainingCrawler => "training_crawler",
            Self::AiSearch => "ai_search",
            Self::SearchEngine => "search_engine",
            Self::Preview => "preview",
            Self::Monitor => "monitor",
            Self::FeedReader => "feed_reader",
            Self::Library => "library",
            Self::OtherBot => "other_bot",
        }
    }

    /// The one of that word.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == text)
    }

    pub fn counts_as(self) -> CountsAs {
        match self {
            Self::Human => CountsAs::Human,
            Self::Assistant | Self::CodingAgent | Self::MarkdownFetch => CountsAs::Ai,
            _ => CountsAs::Other,
        }
    }
}

/// On what a verdict rests, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// A valid Web Bot Auth signature.
    Signature,
    /// The address is one that the operator publishes.
    Network,
    /// It calls itself an agent, but comes from outside the addresses that the operator publishes.
    Spoofed,
    /// A token of the list is in the user agent.
    Token,
    /// What was asked for: the Markdown form of a page, `llms.txt`, `Accept: text/markdown`.
    Shape,
    /// The name of an HTTP library or tool is in the user agent, or there is no user agent.
    Library,
    /// The user agent is shaped like that of a bot.
    BotShape,
    /// Nothing speaks against a browser.
    Browser,
}

impl Evidence {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Signature => "signature",
            Self::Network => "network",
            Self::Spoofed => "spoofed",
            Self::Token => "token",
            Self::Shape => "shape",
            Self::Library => "library",
            Self::BotShape => "bot_shape",
            Self::Browser => "browser",
        }
    }
}

/// Who asked, and why we think so.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Verdict {
    pub class: Class,
    /// The agent's name, if it has one: `ChatGPT-User`.
    pub agent: Option<String>,
    /// On what this rests.
    pub evidence: Evidence,
    /// The rule that decided, by name: `token:ChatGPT-User`, `shape:markdown-path`, `browser`.
    pub rule: String,
}

impl Verdict {
    /// Which figure such a view is part of. What only claims to be an AI agent is not one.
    pub fn counts_as(&self) -> CountsAs {
        if self.evidence == Evidence::Spoofed { CountsAs::Other } else { self.class.counts_as() }
    }

    /// Whether it is the machine of this name, or, if it has none, the one of this rule.
    pub fn is_called(&self, agent: &str) -> bool {
        self.agent.as_deref().unwrap_or(&self.rule) == agent
    }
}
