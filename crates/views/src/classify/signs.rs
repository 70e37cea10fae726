//! Stems of words by which machines name themselves, and what each is a sign of.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use crate::Class;

/// What a stem is a sign of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sign {
    /// A company or a kind of model.
    Ai,
    /// Makes a collection of texts for models.
    Trains,
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
    /// Wherever it is said, but in the name of an app: `CamScanner` is a person with a phone.
    Firm(Class),
    /// Wherever it is said.
    Strong(Class),
    Library,
}

/// Stems with a space between them, by what they are a sign of.
pub(super) const SIGNS: &[(Sign, &str)] = &[
    (
        Sign::Ai,
        "gpt llm claude anthropic openai perplexity mistral deepseek gemini copilot cohere qwen kimi moonshot chatglm \
         zhipu grok huggingface laion llama langchain genai chatbot neural intelligent aibot ai-bot aicrawl ai-crawl \
         aisearch aiagent ai-agent agentic 4ai forai machinelearning coding-agent groq replicate runpod midjourney \
         elevenlabs stabilityai ai21 cerebras sambanova minimax baichuan doubao hunyuan iflytek ai_agent deeplearn \
         erniebot ernie- tongyi yuanbao wrtn genspark phind inflection stepfun bedrock vertexai notebooklm babyagi \
         autogen gemma pixtral codestral nemotron togetherai openrouter characterai metaai ai-user aiuser ai-search \
         ai-fetch aifetch ai-spider aispider ai-scrap aiscrap -agi",
    ),
    (
        Sign::Trains,
        "dataset trainingdata training-data training_data traindata trainingbot trainbot pretrain corpus \
         machine-learning ml-crawl ml-bot",
    ),
    (Sign::Person, "assist deep-research deepresearch notebook operator browser-use browseruse chat companion"),
    (Sign::Code, "-code code- coder coding codex -cli cli- -ide -mcp mcp- devagent"),
    (Sign::Driven, "headless phantomjs selenium puppeteer playwright cypress webdriver slimer splash jsdom"),
    (
        Sign::Crawls,
        "bot crawl spider spyder scrap slurp robot archiver harvest grabber fetcher indexer dataset wanderer",
    ),
    (
        Sign::Weak(Class::OtherBot),
        "collector extractor trainer training copier download ripper siphon sucker worm leech grab parser favicon metadata \
         retriev resolver webhook -hook worker cache service generator domain lookup leadgen scorer radar email mailer \
         connector gateway proxy tool camo pdf torrent purify optimiz fingerprint transcod marketing",
    ),
    (Sign::Firm(Class::Preview), "preview snippet"),
    (Sign::Strong(Class::Preview), "unfurl linkexpan externalhit opengraph embedly imageproxy thumbnails thumbor"),
    (Sign::Firm(Class::Monitor), "monitor scanner inspect checker watcher watchdog contentscan"),
    (
        Sign::Strong(Class::Monitor),
        "uptime pingdom lighthouse pagespeed gtmetrix validator synthetic nuclei sqlmap nikto zgrab masscan nmap wpscan \
         vuln securityscan statuscake loadtest siteaudit site-audit linkcheck link-check seobility -seo seo- seobot \
         speedcurve screaming securityheaders linkverif injected-code networkmeasure content-scan observatory diagnostics",
    ),
    (Sign::Strong(Class::OtherBot), "google- -google prefetch-proxy"),
    (
        Sign::Weak(Class::Monitor),
        "check scan probe audit verif inspect health watch status ping secur survey measure whatweb wapp analy test \
         seo ssl sentinel observ metric research internet expanse stress bench w3c valid munin nagios collectd monit \
         grafana zabbix prometheus xymon thousandeyes site24x panopta uptrends clamav gobuster arachni acunetix openvas \
         dast detectify phish recon fuzz",
    ),
    (Sign::Firm(Class::FeedReader), "podcast"),
    (Sign::Strong(Class::FeedReader), "feedfetch feedread feedpars feedfinder rssread rss-read rssbot"),
    (Sign::Weak(Class::FeedReader), "feed rss atom podcatch news aggregat subscriber reader castro overcast"),
    (Sign::Weak(Class::Preview), "embed thumb screenshot card linkmeta iframely expander"),
    (Sign::Weak(Class::SearchEngine), "search index seek find discover"),
    (
        Sign::Library,
        "http-client httpclient http_client -http http- http_ _http urllib requests request httplib libwww okhttp \
         curl wget fetch axios sdk python perl ruby java golang go- node deno php dart rust dotnet powershell -client \
         client- client http api lib",
    ),
];

/// Stems that are a sign of nothing by themselves, but that devices have not in their names either.
const OTHERS: &str = "fetch agent archiv phantom embed check scan probe valid audit seo verif index search seek discover feed rss \
    subscriber reader aggregat http client library request curl wget python perl ruby java golang php node axios \
    okhttp cfnetwork download grab collect extract mirror copier capture screenshot thumb render proxy w3c test analy \
    intelligen research survey study crowd assist -user -code codex cursor windsurf opencode aider devin train \
    wordpress google bing yandex baidu yahoo facebook twitter slack discord telegram whatsapp skype linkedin \
    pinterest duckduck amazon cloudflare ahrefs semrush link site web- -web sitemap security turing semantic context \
    content brand price shop news alert watch status health load bench stress transcod openvas ptst catchpoint rigor datanyze iplabel neustar \
    foregenix";

/// Names that monitors put where Android names the device.
const NO_DEVICES: [&str; 7] = ["PTST", "Catchpoint", "Rigor", "Datanyze", "iplabel", "Neustar", "Foregenix"];

/// What code has in it that scanners put into user agents, in small letters.
const CODE: &[&str] = &[
    "${",
    "{{",
    "<?",
    "<%",
    "<script",
    "<!doctype",
    "<!entity",
    "<a href",
    "<img",
    "<svg",
    "<acx",
    "<esi:",
    "jndi:",
    "ldap:",
    "../",
    "..\\",
    "/etc/passwd",
    "() {",
    "'+(",
    "'||",
    "' or",
    "' and",
    "'\"(",
    "'\")",
    "')",
    "';",
    "\"><",
    "(select",
    "sleep(",
    "waitfor delay",
    "union select",
    "concat(",
    "xor(",
    "load_file(",
    "utl_",
    "eval(",
    "system(",
    "echo(",
    "print(",
    "$(",
    "`id",
    "`wget",
    "`curl",
    "onerror=",
    "onload=",
    "javascript:",
];

/// An automaton that finds `stems` in texts of any case.
fn automaton(stems: impl Iterator<Item = &'static str>, kind: MatchKind) -> AhoCorasick {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(kind)
        .kind(Some(AhoCorasickKind::DFA))
        .build(stems)
        .expect("some hundred short words make no automaton that is too large")
}

/// All stems with a sign, each with its place in [`SIGNS`].
static STEMS: LazyLock<(AhoCorasick, Vec<(usize, &'static str)>)> = LazyLock::new(|| {
    let of: Vec<(usize, &'static str)> = SIGNS
        .iter()
        .enumerate()
        .flat_map(|(sign, (_, stems))| stems.split(' ').map(move |stem| (sign, stem)))
        .collect();
    (automaton(of.iter().map(|(_, stem)| *stem), MatchKind::Standard), of)
});

/// Stems by which a machine is known wherever they stand.
static TELLING: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let tells = |sign: &Sign| {
        matches!(sign, Sign::Ai | Sign::Trains | Sign::Driven | Sign::Crawls | Sign::Firm(_) | Sign::Strong(_))
    };
    let signs = SIGNS.iter().filter(|(sign, _)| tells(sign)).flat_map(|(_, stems)| stems.split(' '));
    automaton(signs.chain(OTHERS.split(' ')), MatchKind::LeftmostFirst)
});

static PARTS_OF_CODE: LazyLock<AhoCorasick> = LazyLock::new(|| automaton(CODE.iter().copied(), MatchKind::Standard));

/// Whether there is code in a user agent.
pub(super) fn is_code(user_agent: &str) -> bool {
    PARTS_OF_CODE.is_match(user_agent)
}

/// Whether a name that stands in the place of a device is none.
pub(super) fn is_no_device(name: &str) -> bool {
    NO_DEVICES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// A stem that was found: its place in [`SIGNS`], itself, and where it stands.
pub(super) struct Found {
    pub sign: usize,
    pub stem: &'static str,
    pub start: usize,
    pub end: usize,
}

/// All stems in `text`, those within others too.
pub(super) fn stems(text: &str) -> impl Iterator<Item = Found> {
    let (automaton, of) = &*STEMS;
    automaton.find_overlapping_iter(text).filter_map(|found| {
        let &(sign, stem) = of.get(found.pattern().as_usize())?;
        Some(Found { sign, stem, start: found.start(), end: found.end() })
    })
}

/// Whether a machine might call itself so. Only such words are kept of a comment about a platform, so that no device is.
/// Phones by Cubot are called so too, and are none.
pub(super) fn names_a_machine(word: &str) -> bool {
    TELLING.is_match(word) && !is_cubot(word)
}

/// A maker of phones whose name ends as bots do.
pub(super) fn is_cubot(word: &str) -> bool {
    word.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("cubot"))
}
