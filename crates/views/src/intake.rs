//! From a request to a view: what counts, for which page, by whom.

use std::net::IpAddr;
use std::sync::Arc;

use copydesk_domain::Timestamp;

use crate::classify::{Classifier, Probe};
use crate::hash::{FastMap, Seeded};
use crate::page::{self, PathError, Target};
use crate::{Bucket, Channel, Client, Facts, Hit, View, id_digest};

/// How far a clock may run ahead of ours before its events are from the future.
pub const AHEAD: std::time::Duration = std::time::Duration::from_secs(5 * 60);
/// 2000-01-01T00:00:00Z: nothing is older.
pub const OLDEST: i64 = 946_684_800;
/// The longest id of an event, in bytes.
pub const MAX_ID: usize = 255;
/// What is looked at of a user agent; the rest is left out.
pub const MAX_USER_AGENT: usize = 1024;

/// What became of a hit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    View(View),
    /// Nothing is wrong with it, but it is no view.
    Left(Left),
    /// It cannot be right.
    Refused(Refusal),
}

/// Why a hit is no view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Left {
    Asset,
    /// The answer was neither 200 nor 304.
    Status,
    Method,
    /// Fetched ahead, perhaps never seen.
    Prefetch,
}

impl Left {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asset => "asset",
            Self::Status => "status",
            Self::Method => "method",
            Self::Prefetch => "prefetch",
        }
    }
}

/// Why a hit cannot be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum Refusal {
    #[error("{0}")]
    Path(PathError),
    #[error("the timestamp is in the future")]
    Future,
    /// Before 2000.
    #[error("the timestamp is before the year 2000")]
    TooOld,
    /// The id is empty or too long.
    #[error("the id must have 1 to 255 bytes")]
    Id,
}

impl Refusal {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Path(PathError::NotAPath) => "invalid_path",
            Self::Path(PathError::TooLong) => "path_too_long",
            Self::Future => "future",
            Self::TooOld => "too_old",
            Self::Id => "invalid_id",
        }
    }
}

/// Bytes that one judge remembers at most, more or less.
const REMEMBERED: usize = 16 << 20;
/// What an entry takes up beside its text, more or less.
const ENTRY: usize = 100;

/// Judges hits. Each thread has its own, because it remembers what it saw: logs repeat themselves.
pub struct Judge {
    classifier: Arc<Classifier>,
    readers: FastMap<Box<str>, Reader>,
    /// Readers whose address matters. The key is a digest of user agent and address under a secret that is nowhere else,
    /// so that no address is remembered.
    addressed: FastMap<u128, Arc<Client>>,
    secret: Seeded,
    clients: FastMap<Facts, Arc<Client>>,
    pages: FastMap<Box<str>, Remembered>,
    /// Bytes of all that, more or less.
    bytes: usize,
}

/// What is remembered of a user agent.
struct Reader {
    /// Whether the address could change the verdict.
    asks_for_address: bool,
    /// Who it is if not, for each channel and with and without a wish for Markdown.
    clients: [Option<Arc<Client>>; 4],
}

#[derive(Clone)]
enum Remembered {
    Page { path: Arc<str>, markdown: bool },
    Asset,
}

impl Judge {
    pub fn new(classifier: Arc<Classifier>) -> Self {
        Self {
            classifier,
            readers: FastMap::default(),
            addressed: FastMap::default(),
            secret: Seeded::default(),
            clients: FastMap::default(),
            pages: FastMap::default(),
            bytes: 0,
        }
    }

    pub fn classifier(&self) -> &Arc<Classifier> {
        &self.classifier
    }

    /// What `hit` is, seen from `now`.
    pub fn judge(&mut self, hit: &Hit<'_>, now: Timestamp) -> Outcome {
        let signed = hit.signature.as_deref().and_then(|signature| self.classifier.signed_by(signature, hit.at));
        self.judge_signed(hit, signed.map(|signed| signed.operator), now)
    }

    /// The same for a hit of which it is known who has signed it.
    pub fn judge_signed(&mut self, hit: &Hit<'_>, signed_by: Option<String>, now: Timestamp) -> Outcome {
        match self.view(hit, signed_by, now) {
            Ok(view) => Outcome::View(view),
            Err(outcome) => outcome,
        }
    }

    fn view(&mut self, hit: &Hit<'_>, signed_by: Option<String>, now: Timestamp) -> Result<View, Outcome> {
        if hit.at < OLDEST {
            return Err(Outcome::Refused(Refusal::TooOld));
        }
        if hit.at.saturating_mul(1000) > now.plus(AHEAD).as_millis() {
            return Err(Outcome::Refused(Refusal::Future));
        }
        if hit.id.as_ref().is_some_and(|id| id.is_empty() || id.len() > MAX_ID) {
            return Err(Outcome::Refused(Refusal::Id));
        }
        let page = self.page(hit).map_err(|error| Outcome::Refused(Refusal::Path(error)))?;
        if hit.method.as_ref().is_some_and(|method| !method.eq_ignore_ascii_case("GET")) {
            return Err(Outcome::Left(Left::Method));
        }
        if hit.status.is_some_and(|status| status != 200 && status != 304) {
            return Err(Outcome::Left(Left::Status));
        }
        let Remembered::Page { path, markdown } = page else { return Err(Outcome::Left(Left::Asset)) };
        if hit.prefetch || hit.channel == Channel::Server && is_app_data(&hit.target) {
            return Err(Outcome::Left(Left::Prefetch));
        }
        let client = self.client(hit, signed_by, markdown);
        Ok(View { bucket: Bucket::of_seconds(hit.at), path, client, count: 1, id: hit.id.as_deref().map(id_digest) })
    }

    fn page(&mut self, hit: &Hit<'_>) -> Result<Remembered, PathError> {
        // Queries rarely repeat, and the page is the same without them.
        let end = memchr::memchr2(b'?', b'#', hit.target.as_bytes()).unwrap_or(hit.target.len());
        let target = &hit.target[..end];
        match self.pages.get(target).cloned().map_or_else(|| self.look_at(target), Ok)? {
            // A browser shows pages only. Few have such a name, so that is not worth remembering.
            Remembered::Asset if hit.channel == Channel::Script => {
                let (path, markdown) = page::shown(target)?;
                Ok(Remembered::Page { path: path.into(), markdown })
            }
            page => Ok(page),
        }
    }

    /// What a target is that is not remembered yet.
    fn look_at(&mut self, target: &str) -> Result<Remembered, PathError> {
        let page = match page::target(target)? {
            Target::Page { path, markdown } => Remembered::Page { path: path.into(), markdown },
            Target::Asset => Remembered::Asset,
        };
        self.make_room(2 * target.len());
        self.pages.insert(target.into(), page.clone());
        Ok(page)
    }

    fn client(&mut self, hit: &Hit<'_>, signed_by: Option<String>, markdown_path: bool) -> Arc<Client> {
        let probe = Probe {
            user_agent: cut(&hit.user_agent),
            accept: hit.accept.as_deref(),
            markdown_path,
            ip: hit.ip,
            signature: None,
            channel: hit.channel,
            now: hit.at,
        };
        if signed_by.is_some() {
            return self.interned(Facts { signed_by, ..self.classifier.facts(&probe) });
        }
        let wants_markdown =
            markdown_path || hit.accept.as_ref().is_some_and(|accept| self.classifier.prefers_markdown(accept));
        let place = usize::from(wants_markdown) * 2 + usize::from(hit.channel == Channel::Script);
        let asks_for_address = match self.readers.get(probe.user_agent) {
            Some(reader) => reader.asks_for_address,
            None => self.remember(probe.user_agent),
        };
        match hit.ip.filter(|_| asks_for_address) {
            Some(ip) => self.addressed(&probe, ip, place),
            None => self.plain(&probe, place),
        }
    }

    /// Remembers a user agent; says whether its address matters.
    fn remember(&mut self, user_agent: &str) -> bool {
        let asks_for_address = self.classifier.asks_for_address(user_agent);
        self.make_room(user_agent.len());
        let reader = Reader { asks_for_address, clients: Default::default() };
        self.readers.insert(user_agent.into(), reader);
        asks_for_address
    }

    /// Who it is by the user agent alone.
    fn plain(&mut self, probe: &Probe<'_>, place: usize) -> Arc<Client> {
        let known = |reader: &Reader| reader.clients.get(place).cloned().flatten();
        if let Some(known) = self.readers.get(probe.user_agent).and_then(known) {
            return known;
        }
        let client = self.interned(self.classifier.facts(probe));
        if let Some(slot) = self.readers.get_mut(probe.user_agent).and_then(|reader| reader.clients.get_mut(place)) {
            *slot = Some(Arc::clone(&client));
        }
        client
    }

    /// Who it is by the address too.
    fn addressed(&mut self, probe: &Probe<'_>, ip: IpAddr, place: usize) -> Arc<Client> {
        let key = self.secret.digest(probe.user_agent, &(ip, place));
        if let Some(known) = self.addressed.get(&key) {
            return Arc::clone(known);
        }
        let client = self.interned(self.classifier.facts(probe));
        self.make_room(0);
        self.addressed.insert(key, Arc::clone(&client));
        client
    }

    fn interned(&mut self, facts: Facts) -> Arc<Client> {
        if let Some(known) = self.clients.get(&facts) {
            return Arc::clone(known);
        }
        self.make_room(4 * facts.user_agent.len());
        let verdict = self.classifier.verdict_on_reduced(&facts);
        let client = Arc::new(Client { facts: facts.clone(), verdict });
        self.clients.insert(facts, Arc::clone(&client));
        client
    }

    /// Starts over when too much is remembered: simple, and what repeats is soon back. Counted in bytes, because anybody
    /// may send texts of any length.
    fn make_room(&mut self, text: usize) {
        self.bytes += ENTRY + text;
        if self.bytes > REMEMBERED {
            self.pages.clear();
            self.readers.clear();
            self.addressed.clear();
            self.clients.clear();
            self.bytes = ENTRY + text;
        }
    }
}

/// Whether it is the data with which a Next.js application shows a page, and not the page: mostly it is fetched ahead, for
/// every link in sight, and what it was fetched for cannot be told from the address.
fn is_app_data(target: &str) -> bool {
    let query = memchr::memchr(b'?', target.as_bytes()).map_or("", |at| &target[at + 1..]);
    query.split('&').any(|pair| pair.starts_with("_rsc="))
}

fn cut(user_agent: &str) -> &str {
    let mut end = user_agent.len().min(MAX_USER_AGENT);
    while !user_agent.is_char_boundary(end) {
        end -= 1;
    }
    &user_agent[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: i64 = 1_728_568_536;

    fn judged(judge: &mut Judge, hit: &Hit<'_>) -> View {
        match judge.judge(hit, Timestamp::from_millis(AT * 1000)) {
            Outcome::View(view) => view,
            other => panic!("{hit:?} is {other:?}"),
        }
    }

    #[test]
    fn what_is_remembered_is_what_would_be_found_anew() {
        let classifier = Arc::new(Classifier::builtin());
        let mut judge = Judge::new(Arc::clone(&classifier));
        let agents = ["", "Mozilla/5.0 (X11) Firefox/1.0", "GPTBot/1.2", "curl/8", "ChatGPT-User/1.0"];
        let ips = [None, "192.0.2.1".parse().ok(), "2001:db8::1".parse().ok()];
        let accepts = [None, Some("text/html")];
        let kinds = [("/a", Channel::Server), ("/a.md", Channel::Server), ("/a", Channel::Script)];
        let mut hits = Vec::new();
        for agent in agents {
            for ip in ips {
                for accept in accepts {
                    let hit = |(path, channel)| Hit {
                        ip,
                        accept: accept.map(Into::into),
                        ..Hit::new(channel, path, agent, AT)
                    };
                    hits.extend(kinds.map(hit));
                }
            }
        }
        for hit in hits.iter().chain(&hits) {
            let anew = judged(&mut Judge::new(Arc::clone(&classifier)), hit);
            assert_eq!(judged(&mut judge, hit), anew, "{hit:?}");
        }
    }

    #[test]
    fn what_a_browser_shows_is_a_page_whatever_its_name() {
        let mut judge = Judge::new(Arc::new(Classifier::builtin()));
        let now = Timestamp::from_millis(AT * 1000);
        for _ in 0..2 {
            for target in ["/docs/next.js?x", "/docs/next.js", "/logo.png"] {
                let hit = |channel| Hit::new(channel, target, "curl/8", AT);
                assert_eq!(judge.judge(&hit(Channel::Server), now), Outcome::Left(Left::Asset), "{target}");
                let path = target.trim_end_matches("?x");
                assert_eq!(&*judged(&mut judge, &hit(Channel::Script)).path, path);
            }
        }
    }

    #[test]
    fn data_of_an_application_is_no_page() {
        assert!(is_app_data("/x?_rsc=1"));
        assert!(is_app_data("/x?a=1&_rsc=abc"));
        assert!(!is_app_data("/x?a_rsc=1"));
        assert!(!is_app_data("/_rsc="));
        assert!(!is_app_data("/x?"));
    }

    #[test]
    fn what_is_remembered_has_a_bound() {
        let mut judge = Judge::new(Arc::new(Classifier::builtin()));
        let mut most = 0;
        for number in 0..12_000 {
            let target = format!("/{number}/{}", "x".repeat(1500));
            judged(&mut judge, &Hit::new(Channel::Server, &target, "curl/8", AT));
            most = most.max(judge.pages.len());
        }
        assert!(most * 1500 < REMEMBERED && judge.pages.len() < most, "it started over: {most}");
    }
}
