//! Who asked: from what is known of a request to what is kept of it ([`Facts`]), and from that to the [`Verdict`].
//!
//! Two steps, because the first sees what must not be kept (the address, the whole user agent) and the second can be
//! done again when the list improves. The strongest evidence decides: a valid signature, the operator's addresses, a
//! token of the list, the shape of the request, the name of a library, the shape of a bot, and else a browser.

mod accept;
mod agents;
mod keys;
mod load;
mod naming;
mod parts;
mod ranges;
mod reduce;
mod segments;
mod signature;
mod signs;
#[cfg(test)]
mod tests;
mod tokens;
mod words;

use std::net::IpAddr;

use crate::{BotSignature, Channel, Class, Evidence, Facts, Network, Verdict};

pub use agents::{Agent, ListError, Published};
pub use keys::Signed;
pub use load::{ListSummary, Summary, check_agents, check_keys, check_ranges};
pub use reduce::{MAX_REDUCED, reduce};

/// What is known of a request.
#[derive(Debug, Clone)]
pub struct Probe<'a> {
    /// The user agent, empty if there was none.
    pub user_agent: &'a str,
    pub accept: Option<&'a str>,
    /// Whether the path names the Markdown form of a page, or a text for machines such as `llms.txt`.
    pub markdown_path: bool,
    pub ip: Option<IpAddr>,
    /// The headers of a Web Bot Auth signature.
    pub signature: Option<&'a BotSignature<'a>>,
    /// Where it was seen.
    pub channel: Channel,
    /// When the request was made, in seconds since 1970; signatures are held against it.
    pub now: i64,
}

impl<'a> Probe<'a> {
    /// A request seen on the server side of which only the user agent is known.
    pub fn of(user_agent: &'a str) -> Self {
        Self {
            user_agent,
            accept: None,
            markdown_path: false,
            ip: None,
            signature: None,
            channel: Channel::Server,
            now: 0,
        }
    }
}

/// Judges who asked, by a list of agents, the addresses and the keys that their operators publish.
#[derive(Debug)]
pub struct Classifier {
    list: agents::List,
    tokens: tokens::Tokens,
    ranges: Vec<load::RangeList>,
    keys: keys::Keys,
    /// The files they came from, with their sizes.
    key_files: Vec<(String, usize)>,
    /// Agents that everything from their addresses is, whatever it calls itself.
    by_address: Vec<usize>,
}

impl Classifier {
    /// Whether an `Accept` header asks for Markdown rather than for HTML.
    pub fn prefers_markdown(&self, accept: &str) -> bool {
        accept::prefers_markdown(accept)
    }

    /// Whether the address could change the verdict on this user agent: it names an agent for which a list of addresses
    /// is loaded, or a list is loaded that identifies by the address alone.
    pub fn asks_for_address(&self, user_agent: &str) -> bool {
        if !self.by_address.is_empty() {
            return true;
        }
        // Most installations without lists never look.
        !self.ranges.is_empty()
            && self
                .named(&reduce::reduce_sent(user_agent))
                .and_then(|agent| agent.ranges.as_deref())
                .is_some_and(|name| self.ranges.iter().any(|list| list.name == name))
    }

    /// Whose valid signature a request made at `now` carries, if it carries one. Whether it was seen before is the
    /// caller's to know.
    pub fn signed_by(&self, signature: &BotSignature<'_>, now: i64) -> Option<Signed> {
        self.keys.signed(signature, now)
    }

    /// What is kept of a request for ever.
    pub fn facts(&self, probe: &Probe<'_>) -> Facts {
        let user_agent = reduce::reduce_sent(probe.user_agent);
        let network = probe.ip.map_or(Network::Unknown, |ip| self.network(&user_agent, ip));
        let signed_by =
            probe.signature.and_then(|signature| self.signed_by(signature, probe.now)).map(|signed| signed.operator);
        let markdown = probe.markdown_path || probe.accept.is_some_and(accept::prefers_markdown);
        Facts { user_agent, markdown, network, signed_by, channel: probe.channel }
    }

    /// What is kept of a request, and who made it.
    pub fn judge(&self, probe: &Probe<'_>) -> (Facts, Verdict) {
        let facts = self.facts(probe);
        let verdict = self.verdict_on_reduced(&facts);
        (facts, verdict)
    }

    /// Who asked, by what was kept. Depends on nothing but the facts and the lists, so that history can be judged again.
    /// What was reduced stays as it is; what was not (an older or a foreign store) is judged the same way.
    pub fn verdict(&self, facts: &Facts) -> Verdict {
        self.verdict_by(facts, &reduce::reduced(&facts.user_agent))
    }

    /// The same for facts that [`Self::facts`] has just given.
    pub(crate) fn verdict_on_reduced(&self, facts: &Facts) -> Verdict {
        self.verdict_by(facts, &facts.user_agent)
    }

    fn verdict_by(&self, facts: &Facts, user_agent: &str) -> Verdict {
        // Most requests: nothing speaks against a browser.
        let is_plain = facts.network == Network::Unknown && !facts.markdown && facts.signed_by.is_none();
        if is_plain && reduce::is_plain_browser(user_agent) {
            return plain(Class::Human, Evidence::Browser, "browser");
        }
        let agent = self.named(user_agent);
        if let Some(signer) = &facts.signed_by {
            return self.signed(signer, agent);
        }
        if let Some(verdict) = self.by_network(&facts.network, agent) {
            return verdict;
        }
        if let Some(agent) = agent.filter(|agent| agent.class != Class::Library) {
            let evidence = if agent.class == Class::Human { Evidence::Browser } else { Evidence::Token };
            return known(agent, evidence, rule("token", &agent.name));
        }
        let seen = naming::Seen::of(user_agent);
        // A library may have the name of a model: it asks one, and reads for nobody.
        let names_library =
            |word: &str| agent.is_some_and(|agent| agent.tokens.iter().any(|token| token.contains(word)));
        if let Some(named) = seen.as_ai().filter(|named| !names_library(named.word)) {
            return self.by_name(named, Evidence::Token, "name");
        }
        if let Some(agent) = agent {
            return known(agent, Evidence::Library, rule("library", &agent.name));
        }
        let machine = seen.as_machine(|name| self.list.is_app(name));
        // Who says what it is has said whether it reads for a person. A page that runs a script is not Markdown, whatever
        // its path says.
        let says_what_it_is = machine.as_ref().is_some_and(naming::Named::says_what_it_is);
        if facts.markdown && facts.channel == Channel::Server && !says_what_it_is {
            return plain(Class::MarkdownFetch, Evidence::Shape, "shape:markdown");
        }
        if user_agent.is_empty() {
            return plain(Class::Library, Evidence::Library, "library:no-user-agent");
        }
        match machine {
            Some(named) if named.class == Class::Library => self.by_name(named, Evidence::Library, "library"),
            Some(named) => self.by_name(named, Evidence::BotShape, "bot"),
            None => plain(Class::Human, Evidence::Browser, "browser"),
        }
    }

    /// The agent of the list that has this name.
    pub fn agent(&self, name: &str) -> Option<&Agent> {
        self.list.agents.iter().find(|agent| agent.name == name)
    }

    pub fn agents(&self) -> &[Agent] {
        &self.list.agents
    }

    fn named(&self, reduced: &str) -> Option<&Agent> {
        let agent = self.tokens.find(reduced).and_then(|at| self.list.agents.get(at))?;
        // The name of a library beside that of a browser is an app that is made with it.
        let may_be_app = agent.app || agent.class == Class::Library;
        (!may_be_app || !naming::may_be_browser(reduced)).then_some(agent)
    }

    /// What the address says about who `reduced` claims to be.
    fn network(&self, reduced: &str, ip: IpAddr) -> Network {
        let ip = ranges::unmapped(ip);
        let list = |agent: &Agent| {
            let name = agent.ranges.as_deref()?;
            self.ranges.iter().find(|list| list.name == name)
        };
        let claimed = self.named(reduced);
        if let Some((agent, list)) = claimed.and_then(|agent| list(agent).map(|list| (agent, list))) {
            if list.ranges.contains(ip) {
                return Network::Inside(list.name.clone());
            }
            // Behind a proxy that does not say for whom it asks, the address is not the reader's.
            if !agent.also_elsewhere && ranges::is_public(ip) {
                return Network::Outside(list.name.clone());
            }
        }
        let identified = self.by_address.iter().filter_map(|&at| self.list.agents.get(at)).filter_map(list);
        identified
            .filter(|list| list.ranges.contains(ip))
            .map(|list| Network::Inside(list.name.clone()))
            .next()
            .unwrap_or_default()
    }

    fn by_network(&self, network: &Network, agent: Option<&Agent>) -> Option<Verdict> {
        let its = |agent: &&Agent, name: &String| agent.ranges.as_ref() == Some(name);
        match network {
            Network::Unknown => None,
            Network::Inside(name) => {
                let identified = || self.list.agents.iter().find(|agent| agent.by_address && its(agent, name));
                let agent = agent.filter(|agent| its(agent, name)).or_else(identified)?;
                Some(known(agent, Evidence::Network, rule("network", name)))
            }
            Network::Outside(name) => {
                let agent = agent.filter(|agent| its(agent, name))?;
                Some(known(agent, Evidence::Spoofed, rule("spoofed", name)))
            }
        }
    }

    /// A signature proves the operator; which of the operator's agents it is, the user agent says.
    fn signed(&self, signer: &str, agent: Option<&Agent>) -> Verdict {
        let rule = rule("signature", signer);
        let its = |agent: &&Agent| agent.keys.as_deref() == Some(signer);
        match agent.filter(its).or_else(|| self.list.agents.iter().find(its)) {
            Some(agent) => known(agent, Evidence::Signature, rule),
            None => Verdict {
                class: agent.map_or(Class::OtherBot, |agent| agent.class),
                agent: Some(signer.to_owned()),
                evidence: Evidence::Signature,
                rule,
            },
        }
    }

    fn by_name(&self, named: naming::Named<'_>, evidence: Evidence, kind: &str) -> Verdict {
        let agent = (!named.word.is_empty() && !named.word.starts_with('+')).then(|| named.word.to_owned());
        Verdict { class: named.class, agent, evidence, rule: rule(kind, named.rule) }
    }
}

fn known(agent: &Agent, evidence: Evidence, rule: String) -> Verdict {
    Verdict { class: agent.class, agent: Some(agent.name.clone()), evidence, rule }
}

/// `kind:name`, in one piece.
fn rule(kind: &str, name: &str) -> String {
    [kind, ":", name].concat()
}

fn plain(class: Class, evidence: Evidence, rule: &str) -> Verdict {
    Verdict { class, agent: None, evidence, rule: rule.to_owned() }
}
