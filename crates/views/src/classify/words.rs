//! The words that user agents are made of.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

/// What a word of a user agent says, if it is one that browsers use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// A sign of one kind of browser.
    Browser(Browser),
    /// A sign of a small screen.
    Mobile,
    /// `compatible`: old browsers say it, and bots that say who they are.
    Compatible,
    /// A platform, a device or a part that many browsers share. Says nothing.
    Noise,
}

/// Kinds of browser, the ones that pretend to be others first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Browser {
    Edge,
    Opera,
    Samsung,
    Firefox,
    Chrome,
    InternetExplorer,
    Text,
    Phone,
    Safari,
    /// An engine without the name of a browser: an app that shows pages.
    WebKit,
    Gecko,
    /// The word that everybody begins with.
    Mozilla,
}

impl Browser {
    pub(super) const ALL: [Self; 12] = [
        Self::Edge,
        Self::Opera,
        Self::Samsung,
        Self::Firefox,
        Self::Chrome,
        Self::InternetExplorer,
        Self::Text,
        Self::Phone,
        Self::Safari,
        Self::WebKit,
        Self::Gecko,
        Self::Mozilla,
    ];

    /// The one word that is kept of it; [`word`] knows it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Edge => "Edge",
            Self::Opera => "Opera",
            Self::Samsung => "SamsungBrowser",
            Self::Firefox => "Firefox",
            Self::Chrome => "Chrome",
            Self::InternetExplorer => "MSIE",
            Self::Text => "Lynx",
            Self::Phone => "Phone",
            Self::Safari => "Safari",
            Self::WebKit => "AppleWebKit",
            Self::Gecko => "Gecko",
            Self::Mozilla => "Mozilla",
        }
    }

    pub(super) fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// The words of browsers, by what they say.
const WORDS: &[(Word, &[&str])] = &[
    (Word::Browser(Browser::Edge), &["Edg", "Edge", "EdgA", "EdgiOS"]),
    (Word::Browser(Browser::Opera), &["Opera", "OPR", "OPT", "OPX", "OPiOS", "UCWEB"]),
    (Word::Browser(Browser::Samsung), &["SamsungBrowser"]),
    (Word::Browser(Browser::Firefox), &["Firefox", "FxiOS", "Iceweasel", "SeaMonkey", "PaleMoon", "Waterfox"]),
    (Word::Browser(Browser::Chrome), &["Chrome", "CriOS", "Chromium"]),
    (Word::Browser(Browser::InternetExplorer), &["MSIE", "Trident", "IEMobile"]),
    (
        Word::Browser(Browser::Text),
        &[
            "Lynx",
            "Links",
            "ELinks",
            "w3m",
            "Dillo",
            "NetSurf",
            "Emacs-W3",
            "Emacs-w3m",
            "IBrowse",
            "AmigaVoyager",
            "Amiga-AWeb",
            "NetPositive",
            "Webpositive",
            "ABrowse",
            "OmniWeb",
            "iCab",
            "WebPositive",
            "Arachne",
            "Charon",
            "Konqueror",
        ],
    ),
    (
        Word::Browser(Browser::Phone),
        &[
            "Phone",
            "DoCoMo",
            "KDDI",
            "UP.Browser",
            "UP.Link",
            "Obigo",
            "NetFront",
            "Teleca",
            "MIDP",
            "Maui",
            "BREW",
            "J2ME",
            "BlackBerry",
            "Nokia",
            "SonyEricsson",
            "SAMSUNG",
            "Samsung",
            "LG",
            "MOT",
            "ZTE",
            "ALCATEL",
            "Alcatel",
            "Sharp",
            "Profile",
            "Configuration",
            "CLDC",
            "SymbianOS",
            "Symbian",
            "Series",
            "UCBrowser",
            "UC",
            "UCPro",
            "Browser",
            "J-PHONE",
            "SoftBank",
            "Vodafone",
            "Nintendo",
            "PlayStation",
            "PLAYSTATION",
            "PSP",
            "Novarra-Vision",
            "FBIOS",
        ],
    ),
    (Word::Browser(Browser::Safari), &["Safari"]),
    (Word::Browser(Browser::WebKit), &["AppleWebKit", "WebKit", "KHTML", "QtWebEngine"]),
    (Word::Browser(Browser::Gecko), &["Gecko"]),
    (Word::Browser(Browser::Mozilla), &["Mozilla"]),
    (Word::Mobile, &["Mobile", "mobile", "Android", "android", "iPhone", "iPad", "iPod", "Tablet"]),
    (Word::Compatible, &["compatible"]),
    (
        Word::Noise,
        &[
            "like",
            "U",
            "X",
            "K",
            "OS",
            "NT",
            "rv",
            "Version",
            "Build",
            "CPU",
            "Mac",
            "Macintosh",
            "Intel",
            "PPC",
            "Windows",
            "Win",
            "Win32",
            "Win64",
            "WOW64",
            "x64",
            "x86",
            "x86_64",
            "amd64",
            "AMD64",
            "arm",
            "ARM",
            "arm64",
            "aarch64",
            "armv7l",
            "armv8l",
            "i386",
            "i586",
            "i686",
            "Linux",
            "linux",
            "X11",
            "Wayland",
            "CrOS",
            "Ubuntu",
            "Fedora",
            "Debian",
            "FreeBSD",
            "OpenBSD",
            "NetBSD",
            "SunOS",
            "Darwin",
            "darwin",
            "iOS",
            "webOS",
            "Web0S",
            "Tizen",
            "KAIOS",
            "Touch",
            "Presto",
            "User-Agent",
            "VendorID",
            "wv",
            "Locale",
            "NetType",
            "Language",
        ],
    ),
];

/// A table that finds a word by its length and two of its letters.
static TABLE: LazyLock<Vec<Vec<(&'static str, Word)>>> = LazyLock::new(|| {
    let mut table = vec![Vec::new(); 512];
    for (word, said) in WORDS.iter().flat_map(|(said, words)| words.iter().map(move |word| (*word, *said))) {
        table[slot(word)].push((word, said));
    }
    table
});

fn slot(word: &str) -> usize {
    let bytes = word.as_bytes();
    let [first, .., last] = bytes else { return bytes.len() };
    (usize::from(*first) * 7 + usize::from(*last) * 3 + bytes.len() * 61) % 512
}

/// What `word` says, if browsers use it.
pub(super) fn word(word: &str) -> Option<Word> {
    // Facebook's apps say much about themselves under such keys.
    if word.len() == 4 && word.starts_with("FB") {
        return Some(Word::Browser(Browser::Phone));
    }
    TABLE[slot(word)].iter().find(|(known, _)| *known == word).map(|(_, said)| *said)
}

/// Word stems by which machines name themselves. Only such words are kept of a comment about a platform, so that no
/// device is.
const STEMS: &[&str] = &[
    "bot",
    "crawl",
    "spider",
    "spyder",
    "scrap",
    "slurp",
    "fetch",
    "agent",
    "archiv",
    "headless",
    "phantom",
    "selenium",
    "puppeteer",
    "playwright",
    "cypress",
    "webdriver",
    "lighthouse",
    "pagespeed",
    "gtmetrix",
    "preview",
    "unfurl",
    "embed",
    "externalhit",
    "snippet",
    "monitor",
    "uptime",
    "pingdom",
    "check",
    "scan",
    "probe",
    "valid",
    "audit",
    "seo",
    "inspect",
    "verif",
    "index",
    "search",
    "seek",
    "discover",
    "feed",
    "rss",
    "podcast",
    "subscriber",
    "reader",
    "aggregat",
    "http",
    "client",
    "library",
    "request",
    "curl",
    "wget",
    "python",
    "perl",
    "ruby",
    "java",
    "golang",
    "php",
    "node",
    "axios",
    "okhttp",
    "cfnetwork",
    "download",
    "grab",
    "harvest",
    "collect",
    "extract",
    "mirror",
    "copier",
    "capture",
    "screenshot",
    "thumb",
    "render",
    "proxy",
    "validator",
    "w3c",
    "test",
    "synthetic",
    "analy",
    "intelligen",
    "research",
    "survey",
    "study",
    "crowd",
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
    "chatglm",
    "grok",
    "huggingface",
    "laion",
    "llama",
    "langchain",
    "assist",
    "-user",
    "-code",
    "codex",
    "cursor",
    "windsurf",
    "opencode",
    "aider",
    "devin",
    "train",
    "dataset",
    "wordpress",
    "google",
    "bing",
    "yandex",
    "baidu",
    "yahoo",
    "facebook",
    "twitter",
    "slack",
    "discord",
    "telegram",
    "whatsapp",
    "skype",
    "linkedin",
    "pinterest",
    "duckduck",
    "amazon",
    "cloudflare",
    "ahrefs",
    "semrush",
    "link",
    "site",
    "web-",
    "-web",
    "sitemap",
    "security",
    "vuln",
    "nmap",
    "nikto",
    "sqlmap",
    "nuclei",
    "zgrab",
    "masscan",
    "turing",
    "semantic",
    "context",
    "content",
    "brand",
    "price",
    "shop",
    "news",
    "alert",
    "watch",
    "status",
    "health",
    "load",
    "bench",
    "stress",
];

static STEM: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostFirst)
        .kind(Some(AhoCorasickKind::DFA))
        .build(STEMS)
        .expect("some hundred short words make no automaton that is too large")
});

/// Whether a machine might call itself so. Phones by Cubot do too, and are none.
pub(super) fn names_a_machine(word: &str) -> bool {
    STEM.is_match(word) && !is_cubot(word)
}

/// A maker of phones whose name ends as bots do.
pub(super) fn is_cubot(word: &str) -> bool {
    word.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("cubot"))
}

/// `AI` as a word of its own, in capitals or where one ends: `AIBot`, `MyAIAgent`, `Some-AI`, `aiHit`.
pub(super) fn says_ai(word: &str) -> bool {
    let bytes = word.as_bytes();
    (0..bytes.len().saturating_sub(1)).any(|at| {
        let before = at.checked_sub(1).and_then(|at| bytes.get(at)).copied().unwrap_or(b'-');
        let after = bytes.get(at + 2).copied().unwrap_or(b'-');
        let next = bytes.get(at + 3).copied().unwrap_or(b'-');
        match &bytes[at..at + 2] {
            b"AI" => {
                !before.is_ascii_uppercase()
                    && (!after.is_ascii_alphabetic() || (after.is_ascii_uppercase() && !next.is_ascii_uppercase()))
            }
            b"ai" | b"Ai" => {
                !before.is_ascii_alphanumeric() && (!after.is_ascii_alphabetic() || after.is_ascii_uppercase())
            }
            _ => false,
        }
    })
}
