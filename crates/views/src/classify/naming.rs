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
    browser: bool,
    /// Internet Explorer: what was added to it says where it came from.
    old: bool,
    /// Words that only bots put beside the name of an engine: `compatible`, or `Mozilla` and no engine.
    posing: bool,
    contact: Option<&'a str>,
    /// The first word with each sign, and the stem; by the order of [`SIGNS`].
    signs: [Option<(&'a str, &'static str)>; SIGNS.len()],
    ai: Option<&'a str>,
    user: Option<&'a str>,
    search_bot: Option<&'a str>,
    agent: Option<&'a str>,
    first: Option<&'a str>,
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
        let mut seen = Self::default();
        let mut only_mozilla = false;
        for word in reduced.split([';', ' ']).filter(|word| !word.is_empty()) {
            match words::word(word) {
                Some(Word::Browser(Browser::Mozilla)) => only_mozilla = true,
                Some(Word::Browser(browser)) => {
                    seen.browser = true;
                    seen.old |= browser == Browser::InternetExplorer;
                }
                Some(Word::Compatible) => seen.posing = true,
                Some(_) => {}
                None => seen.word(word),
            }
        }
        seen.posing |= only_mozilla && !seen.browser;
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
            if is_research {
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
        let other = self.any(strong).is_some();
        if says_so && !other { named(Class::TrainingCrawler, word, "ai+crawler") } else { None }
    }

    /// What kind of machine it names; none if it is a browser's.
    pub(super) fn as_machine(&self) -> Option<Named<'a>> {
        let named = |class, word: &'a str, rule| Some(Named { class, word, rule });
        let is_browser = self.may_be_browser();
        let crawls = self.sign(Sign::Crawls);
        if let Some((class, word, stem)) = self.any(strong) {
            return named(class, word, stem);
        }
        if let Some(word) = self.agent {
            return named(Class::OtherBot, word, "agent");
        }
        if let Some((word, stem)) = self.sign(Sign::Driven) {
            return named(Class::OtherBot, word, stem);
        }
        if is_browser && crawls.is_none() {
            return None;
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
            return named(Class::OtherBot, self.first.unwrap_or("Mozilla"), "no-engine");
        }
        (!self.browser).then(|| Named {
            class: Class::OtherBot,
            word: self.first.unwrap_or_default(),
            rule: "no-browser",
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
