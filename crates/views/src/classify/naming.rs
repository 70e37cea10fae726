//! What a name that is on no list still says.
//!
//! Operators follow each other: an agent that reads for a person ends in `-User`, one that fills the index of an AI
//! search in `-SearchBot`, a crawler says bot, crawler or spider and where its operator can be reached. These rules know
//! agents that came up after the list.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::words::{self, Browser, Word};
use crate::Class;

/// What a name says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub class: Class,
    /// The word that says it.
    pub word: String,
    /// The rule: a stem or a shape.
    pub rule: &'static str,
}

/// What a stem is a sign of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sign {
    /// A company or a kind of model.
    Ai,
    /// Reads for a person.
    Person,
    /// Writes code.
    Code,
    /// A program that is driven by another.
    Driven,
    /// Goes through the web.
    Crawls,
    /// Only where there is no browser: too common a word.
    Weak(Class),
    /// Wherever it is said.
    Strong(Class),
    /// A library.
    Library,
}

const SIGNS: &[(Sign, &[&str])] = &[
    (
        Sign::Ai,
        &[
            "gpt",
            "llm",
            "claude",
            "anthropic",
            "openai",
            "perplexity",
            "mistral",
            "deepseek",
            "gemini",
            "copilot",
            "cohere",
            "qwen",
            "kimi",
            "moonshot",
            "chatglm",
            "zhipu",
            "grok",
            "huggingface",
            "laion",
            "llama",
            "langchain",
            "genai",
            "chatbot",
            "neural",
            "intelligent",
            "aibot",
            "ai-bot",
            "aicrawl",
            "ai-crawl",
            "aisearch",
            "aiagent",
            "ai-agent",
            "agentic",
            "4ai",
            "forai",
            "machinelearning",
            "deeplearn",
        ],
    ),
    (
        Sign::Person,
        &[
            "assist",
            "deep-research",
            "deepresearch",
            "notebook",
            "operator",
            "browser-use",
            "browseruse",
            "chat",
            "companion",
        ],
    ),
    (Sign::Code, &["-code", "code-", "coder", "coding", "codex", "-cli", "cli-", "-ide", "-mcp", "mcp-", "devagent"]),
    (
        Sign::Driven,
        &[
            "headless",
            "phantomjs",
            "selenium",
            "puppeteer",
            "playwright",
            "cypress",
            "webdriver",
            "slimer",
            "splash",
            "jsdom",
        ],
    ),
    (
        Sign::Crawls,
        &[
            "bot",
            "crawl",
            "spider",
            "spyder",
            "scrap",
            "slurp",
            "robot",
            "archiver",
            "harvest",
            "grabber",
            "fetcher",
            "collector",
            "extractor",
            "indexer",
            "dataset",
            "trainer",
            "training",
            "wanderer",
            "copier",
            "downloader",
            "ripper",
            "siphon",
            "sucker",
            "worm",
            "leech",
        ],
    ),
    (
        Sign::Strong(Class::Preview),
        &["preview", "unfurl", "linkexpan", "externalhit", "opengraph", "embedly", "snippet"],
    ),
    (
        Sign::Strong(Class::Monitor),
        &[
            "monitor",
            "uptime",
            "pingdom",
            "lighthouse",
            "pagespeed",
            "gtmetrix",
            "validator",
            "scanner",
            "synthetic",
            "nuclei",
            "sqlmap",
            "nikto",
            "zgrab",
            "masscan",
            "nmap",
            "wpscan",
            "vuln",
            "securityscan",
            "statuscake",
            "loadtest",
            "siteaudit",
            "site-audit",
            "linkcheck",
            "link-check",
            "watchdog",
            "seobility",
            "-seo",
            "seo-",
            "seobot",
            "speedcurve",
            "inspectiontool",
            "screaming",
        ],
    ),
    (
        Sign::Weak(Class::Monitor),
        &[
            "check", "scan", "probe", "audit", "verif", "inspect", "health", "watch", "status", "ping", "secur",
            "survey", "measure", "whatweb", "wapp", "analy", "test", "seo", "ssl", "sentinel", "observ", "metric",
            "research", "internet", "expanse", "stress", "bench", "w3c", "valid",
        ],
    ),
    (
        Sign::Strong(Class::FeedReader),
        &["feedfetch", "feedread", "feedpars", "rssread", "rss-read", "podcast", "rssbot"],
    ),
    (
        Sign::Weak(Class::FeedReader),
        &["feed", "rss", "atom", "podcatch", "news", "aggregat", "subscriber", "reader", "castro", "overcast"],
    ),
    (Sign::Weak(Class::Preview), &["embed", "thumb", "screenshot", "card", "linkmeta", "iframely", "expander"]),
    (Sign::Weak(Class::SearchEngine), &["search", "index", "seek", "find", "discover"]),
    (
        Sign::Library,
        &[
            "http-client",
            "httpclient",
            "http_client",
            "-http",
            "http-",
            "http_",
            "_http",
            "urllib",
            "requests",
            "request",
            "httplib",
            "libwww",
            "okhttp",
            "curl",
            "wget",
            "fetch",
            "axios",
            "sdk",
            "python",
            "perl",
            "ruby",
            "java",
            "golang",
            "go-",
            "node",
            "deno",
            "php",
            "dart",
            "rust",
            "dotnet",
            "powershell",
            "-client",
            "client-",
            "http",
            "api",
            "lib",
        ],
    ),
];

struct Signs {
    automaton: AhoCorasick,
    of: Vec<(Sign, &'static str)>,
}

static STEMS: LazyLock<Signs> = LazyLock::new(|| {
    let of: Vec<(Sign, &'static str)> =
        SIGNS.iter().flat_map(|(sign, stems)| stems.iter().map(move |stem| (*sign, *stem))).collect();
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        .kind(Some(AhoCorasickKind::DFA))
        .build(of.iter().map(|(_, stem)| *stem))
        .expect("some hundred short words make no automaton that is too large");
    Signs { automaton, of }
});

/// A reduced user agent, looked at word by word.
#[derive(Debug, Default)]
struct Seen<'a> {
    browser: bool,
    /// Words that only bots put beside the name of an engine: `compatible`, or `Mozilla` and no engine.
    posing: bool,
    contact: Option<&'a str>,
    /// The first word with each sign, and the stem.
    signs: Vec<(Sign, &'a str, &'static str)>,
    ai: Option<&'a str>,
    user: Option<&'a str>,
    search_bot: Option<&'a str>,
    agent: Option<&'a str>,
    first: Option<&'a str>,
}

/// What the AI agents' ways of naming say about a reduced user agent.
pub(super) fn as_ai(reduced: &str) -> Option<Named> {
    see(reduced).as_ai()
}

/// What kind of machine a reduced user agent names; none if it is a browser's.
pub(super) fn as_machine(reduced: &str) -> Option<Named> {
    see(reduced).as_machine()
}

fn see(reduced: &str) -> Seen<'_> {
    let mut seen = Seen::default();
    let mut only_mozilla = false;
    for word in reduced.split([';', ' ']).filter(|word| !word.is_empty()) {
        match words::word(word) {
            Some(Word::Browser(Browser::Mozilla)) => only_mozilla = true,
            Some(Word::Browser(_)) => seen.browser = true,
            Some(Word::Compatible) => seen.posing = true,
            Some(_) => {}
            None => seen.word(word),
        }
    }
    seen.posing |= only_mozilla && !seen.browser;
    seen
}

impl<'a> Seen<'a> {
    fn word(&mut self, word: &'a str) {
        if let Some(host) = word.strip_prefix('+') {
            // Embedded in old browsers, and never a bot.
            if host != "bsalsa.com" {
                self.contact.get_or_insert(word);
            }
            if host.ends_with(".ai") {
                self.ai.get_or_insert(word);
            }
            return;
        }
        self.first.get_or_insert(word);
        if words::is_cubot(word) {
            return;
        }
        for found in STEMS.automaton.find_overlapping_iter(word) {
            let Some(&(sign, stem)) = STEMS.of.get(found.pattern().as_usize()) else { continue };
            if sign == Sign::Ai {
                self.ai.get_or_insert(word);
            }
            if !self.signs.iter().any(|(known, ..)| *known == sign) {
                self.signs.push((sign, word, stem));
            }
        }
        if words::says_ai(word) || word.ends_with(".ai") {
            self.ai.get_or_insert(word);
        }
        let ends = |end: &str| {
            word.len()
                .checked_sub(end.len())
                .and_then(|at| word.get(at..))
                .is_some_and(|last| last.eq_ignore_ascii_case(end))
        };
        if ends("-user") || ends("_user") || (word.ends_with("User") && self.ai == Some(word)) {
            self.user.get_or_insert(word);
        }
        if ends("-searchbot") || ends("_searchbot") {
            self.search_bot.get_or_insert(word);
        }
        if ends("agent") {
            self.agent.get_or_insert(word);
        }
    }

    fn sign(&self, wanted: Sign) -> Option<(&'a str, &'static str)> {
        self.signs.iter().find(|(sign, ..)| *sign == wanted).map(|&(_, word, stem)| (word, stem))
    }

    /// Whether it could be a browser with some names added: an app that shows pages.
    fn may_be_browser(&self) -> bool {
        self.browser && !self.posing && self.contact.is_none()
    }

    fn as_ai(&self) -> Option<Named> {
        let named = |class, word: &str, rule| Some(Named { class, word: word.to_owned(), rule });
        if let Some(word) = self.user {
            return named(Class::Assistant, word, "*-User");
        }
        if let Some(word) = self.search_bot {
            return named(Class::AiSearch, word, "*-SearchBot");
        }
        let ai = self.ai?;
        let word = if ai.starts_with('+') { self.first.unwrap_or(ai) } else { ai };
        let crawls = self.sign(Sign::Crawls);
        // The name of a model beside that of a browser is an app that shows pages, unless it says what it does.
        if self.may_be_browser() && crawls.is_none() && self.agent.is_none() {
            return None;
        }
        if self.sign(Sign::Code).is_some() && crawls.is_none() {
            return named(Class::CodingAgent, word, "ai+code");
        }
        if self.sign(Sign::Person).is_some() || self.agent.is_some() {
            return named(Class::Assistant, word, "ai+person");
        }
        if self.sign(Sign::Weak(Class::SearchEngine)).is_some() {
            return named(Class::AiSearch, word, "ai+search");
        }
        // An address that ends in .ai alone is a weak sign: what it does must say crawler.
        let says_so = !ai.starts_with('+') || crawls.is_some();
        let other = self.signs.iter().any(|(sign, ..)| matches!(sign, Sign::Strong(_)));
        if says_so && !other { named(Class::TrainingCrawler, word, "ai+crawler") } else { None }
    }

    fn as_machine(&self) -> Option<Named> {
        let named = |class, word: &str, rule| Some(Named { class, word: word.to_owned(), rule });
        let is_browser = self.may_be_browser();
        let strong = self.signs.iter().find_map(|&(sign, word, stem)| match sign {
            Sign::Strong(class) => Some((class, word, stem)),
            _ => None,
        });
        let crawls = self.sign(Sign::Crawls);
        if let Some((class, word, stem)) = strong {
            return named(class, word, stem);
        }
        if let Some((word, stem)) = self.sign(Sign::Driven) {
            return named(Class::OtherBot, word, stem);
        }
        if is_browser && crawls.is_none() {
            return None;
        }
        let weak = self.signs.iter().find_map(|&(sign, word, stem)| match sign {
            Sign::Weak(class) => Some((class, word, stem)),
            _ => None,
        });
        if let Some((class, word, stem)) = weak {
            return named(class, word, stem);
        }
        if let Some((word, stem)) = crawls {
            return named(Class::OtherBot, word, stem);
        }
        if let Some((word, stem)) = self.sign(Sign::Library).filter(|_| self.contact.is_none() && !self.posing) {
            return named(Class::Library, word, stem);
        }
        if let Some(word) = self.contact {
            return named(Class::OtherBot, self.first.unwrap_or(word), "contact");
        }
        if self.posing {
            return named(Class::OtherBot, self.first.unwrap_or("Mozilla"), "no-engine");
        }
        (!self.browser).then(|| Named {
            class: Class::OtherBot,
            word: self.first.unwrap_or_default().to_owned(),
            rule: "no-browser",
        })
    }
}
