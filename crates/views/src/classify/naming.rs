//! What a name that is on no list still says.
//!
//! Operators follow each other: an agent that reads for a person ends in `-User`, one that fills the index of an AI
//! search in `-SearchBot`, a crawler says bot, crawler or spider and where its operator can be reached. These rules know
//! agents that came up after the list.

use super::signs::{self, SIGNS, Sign};
use super::words::{self, Browser, Word};
use crate::Class;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named<'a> {
    pub class: Class,
    /// The word that says it.
    pub word: &'a str,
    /// The rule: a stem or a shape.
    pub rule: &'static str,
}

/// A reduced user agent, looked at word by word.
#[derive(Debug, Default)]
pub(super) struct Seen<'a> {
    reduced: &'a str,
    browser: bool,
    /// On a phone, a tablet or a television, where apps show pages.
    mobile: bool,
    /// Internet Explorer: what was added to it says where it came from.
    old: bool,
    /// Words that only bots put beside the name of an engine: `compatible`, or `Mozilla` and no engine.
    posing: bool,
    compatible: bool,
    contact: Option<&'a str>,
    /// The first word with each sign, and the stem; by the order of [`SIGNS`].
    signs: [Option<(&'a str, &'static str)>; SIGNS.len()],
    ai: Option<&'a str>,
    user: Option<&'a str>,
    search_bot: Option<&'a str>,
    agent: Option<&'a str>,
    first: Option<&'a str>,
}

/// A name that no browser and no app of a desktop has, beside that of a browser.
const ADDED: &str = "added-name";
/// A browser's words without those of an engine.
const NO_ENGINE: &str = "no-engine";
/// No browser's words at all.
const NO_BROWSER: &str = "no-browser";

impl Named<'_> {
    /// Whether it says what it is or does, and not only that it is no browser as people have them.
    pub(super) fn says_what_it_is(&self) -> bool {
        ![ADDED, NO_ENGINE, NO_BROWSER].contains(&self.rule)
    }
}

impl<'a> Seen<'a> {
    /// Looks at a reduced user agent.
    pub(super) fn of(reduced: &'a str) -> Self {
        let mut seen = Self::words(reduced);
        seen.stems(reduced);
        if seen.user.is_none() {
            seen.user = seen.ai.filter(|word| word.ends_with("User"));
        }
        seen
    }

    /// The same without what stems say.
    fn words(reduced: &'a str) -> Self {
        let mut seen = Self { reduced, ..Self::default() };
        let mut only_mozilla = false;
        for word in reduced.split([';', ' ']).filter(|word| !word.is_empty()) {
            match words::word(word) {
                Some(Word::Browser(Browser::Mozilla)) => only_mozilla = true,
                Some(Word::Browser(browser)) => {
                    seen.browser = true;
                    seen.old |= browser == Browser::InternetExplorer;
                }
                Some(Word::Mobile) => seen.mobile = true,
                Some(Word::Compatible) => seen.compatible = true,
                Some(_) => {}
                None => seen.word(word),
            }
        }
        seen.posing = seen.compatible || (only_mozilla && !seen.browser);
        seen
    }

    fn word(&mut self, word: &'a str) {
        if let Some(host) = word.strip_prefix('+') {
            if !(self.old && host == "bsalsa.com") {
                self.contact.get_or_insert(word);
            }
            if host.ends_with(".ai") {
                self.ai.get_or_insert(word);
            }
            return;
        }
        self.first.get_or_insert(word);
        if is_domain(word) && !self.old {
            self.contact.get_or_insert(word);
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
        if ends("-user") {
            self.user.get_or_insert(word);
        }
        if ends("-searchbot") {
            self.search_bot.get_or_insert(word);
        }
        if ends("agent") && !self.old {
            self.agent.get_or_insert(word);
        }
    }

    /// Looks for all stems in one pass.
    fn stems(&mut self, reduced: &'a str) {
        let bytes = reduced.as_bytes();
        for signs::Found { sign, stem, start, end } in signs::stems(reduced) {
            if self.signs[sign].is_some() {
                continue;
            }
            // Who does research does not index.
            let before = bytes[..start].last_chunk();
            let is_research = stem == "search" && before.is_some_and(|re: &[u8; 2]| re.eq_ignore_ascii_case(b"re"));
            if is_research || (stem == "bot" && !is_bot(bytes, start)) {
                continue;
            }
            let begin = bytes[..start].iter().rposition(|byte| *byte == b' ').map_or(0, |at| at + 1);
            let rest = bytes[end..].iter().position(|byte| matches!(byte, b' ' | b';'));
            let word = &reduced[begin..rest.map_or(reduced.len(), |rest| end + rest)];
            if word.starts_with('+') || signs::is_cubot(word) || words::word(word).is_some() {
                continue;
            }
            self.signs[sign] = Some((word, stem));
            if SIGNS[sign].0 == Sign::Ai && self.ai.is_none_or(|ai| ai.starts_with('+')) {
                self.ai = Some(word);
            }
        }
    }

    fn sign(&self, wanted: Sign) -> Option<(&'a str, &'static str)> {
        SIGNS.iter().zip(&self.signs).find(|((sign, _), _)| *sign == wanted).and_then(|(_, found)| *found)
    }

    /// The first of the signs for which `class` has one.
    fn any(&self, class: impl Fn(Sign) -> Option<Class>) -> Option<(Class, &'a str, &'static str)> {
        SIGNS.iter().zip(&self.signs).find_map(|((sign, _), found)| {
            let (word, stem) = (*found)?;
            class(*sign).map(|class| (class, word, stem))
        })
    }

    /// Whether it could be a browser with some names added: an app that shows pages.
    fn may_be_browser(&self) -> bool {
        self.browser && !self.posing && self.contact.is_none()
    }

    /// What the AI agents' ways of naming say.
    pub(super) fn as_ai(&self) -> Option<Named<'a>> {
        let named = |class, word: &'a str, rule| Some(Named { class, word, rule });
        if let Some(word) = self.user {
            return named(Class::Assistant, word, "*-User");
        }
        if let Some(word) = self.search_bot {
            return named(Class::AiSearch, word, "*-SearchBot");
        }
        if let Some((word, _)) = self.sign(Sign::Trains).filter(|_| self.ai.is_none() && !self.may_be_browser()) {
            return named(Class::TrainingCrawler, word, "train");
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
        let other = self.any(|sign| strong(sign).or(firm(sign))).is_some();
        if says_so && !other { named(Class::TrainingCrawler, word, "ai+crawler") } else { None }
    }

    /// A name that was added to a browser of today on a desk, unless an app or another browser adds its name so.
    fn added(&self, is_app: impl Fn(&str) -> bool) -> Option<&'a str> {
        let browser = self.reduced.split([';', ' ']).next().and_then(words::word);
        let is_of_today = matches!(
            browser,
            Some(Word::Browser(
                Browser::Edge | Browser::Firefox | Browser::Chrome | Browser::Safari | Browser::WebKit | Browser::Gecko
            ))
        );
        let is_name = |word: &&str| !word.is_empty() && words::word(word).is_none() && !is_language(word);
        let mut names = self.reduced.split([';', ' ']).filter(is_name);
        let first = names.clone().next().filter(|_| is_of_today && !self.mobile)?;
        (!names.any(is_app)).then_some(first)
    }

    /// What kind of machine it names; none if it is a browser's. `is_app` knows the names that apps add to a browser's.
    pub(super) fn as_machine(&self, is_app: impl Fn(&str) -> bool) -> Option<Named<'a>> {
        let named = |class, word: &'a str, rule| Some(Named { class, word, rule });
        let is_browser = self.may_be_browser();
        let crawls = self.sign(Sign::Crawls);
        let is_in_app = is_browser && self.mobile;
        if let Some((class, word, stem)) = self.any(|sign| strong(sign).or(firm(sign).filter(|_| !is_in_app))) {
            return named(class, word, stem);
        }
        if let Some(word) = self.agent {
            return named(Class::OtherBot, word, "agent");
        }
        if let Some((word, stem)) = self.sign(Sign::Driven) {
            return named(Class::OtherBot, word, stem);
        }
        if is_browser && crawls.is_none() {
            let word = self.added(is_app)?;
            return self
                .any(weak)
                .map_or_else(|| named(Class::OtherBot, word, ADDED), |(class, word, stem)| named(class, word, stem));
        }
        if let Some((class, word, stem)) = self.any(weak) {
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
            // `compatible; Name`: so bots name themselves, and nobody else any more.
            let rule = if self.compatible && self.first.is_some() { "compatible" } else { NO_ENGINE };
            return named(Class::OtherBot, self.first.unwrap_or("Mozilla"), rule);
        }
        (!self.browser).then(|| Named {
            class: Class::OtherBot,
            word: self.first.unwrap_or_default(),
            rule: NO_BROWSER,
        })
    }
}

/// Whether a reduced user agent could be a browser with some names added: an app that shows pages.
pub(super) fn may_be_browser(reduced: &str) -> bool {
    Seen::words(reduced).may_be_browser()
}

fn strong(sign: Sign) -> Option<Class> {
    if let Sign::Strong(class) = sign { Some(class) } else { None }
}

fn firm(sign: Sign) -> Option<Class> {
    if let Sign::Firm(class) = sign { Some(class) } else { None }
}

fn weak(sign: Sign) -> Option<Class> {
    if let Sign::Weak(class) = sign { Some(class) } else { None }
}

/// A name that is an address: `PrintFriendly.com`. Browsers have none.
fn is_domain(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(name, end)| {
        name.len() >= 2
            && matches!(end, "com" | "org" | "io" | "ai" | "co" | "de" | "fr" | "nl" | "uk" | "eu" | "info" | "dev")
    })
}

/// Whether `bot` at this place is a word or ends one: `FooBot`, `botFoo`, `BOT`; not `fuboTV`, `Caboto` or `BOTECH`.
fn is_bot(bytes: &[u8], start: usize) -> bool {
    let [_, o, t] = [0, 1, 2].map(|at| bytes.get(start + at).copied().unwrap_or_default());
    let after = bytes.get(start + 3).copied().unwrap_or(b' ');
    let after = if after == b's' { bytes.get(start + 4).copied().unwrap_or(b' ') } else { after };
    let ends = !after.is_ascii_alphabetic() || (after.is_ascii_uppercase() && t.is_ascii_lowercase());
    ends && o.is_ascii_lowercase() == t.is_ascii_lowercase()
}

/// `en-US`
fn is_language(word: &str) -> bool {
    matches!(word.as_bytes(), [a, b, b'-' | b'_', c, d] if [a, b, c, d].iter().all(|byte| byte.is_ascii_alphabetic()))
}
