//! A user agent without what tells one reader from another.
//!
//! What is kept: the kind of browser, and the names by which machines call themselves. What is not: versions, platforms,
//! devices, languages, e-mail addresses, paths of addresses, numbers and ids. A user agent that is reduced stays as it
//! is when it is reduced again, so the verdict on what was kept is the verdict on what was sent.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::parts::{MAX_WORD, begins, clean, contact, is_composed};
use super::segments::{CONTACT, GAP, JOINT, LETTER, Segment, SegmentPlace, Segments, kind, split_version};
use super::signs;
use super::words::{self, Browser, Word};

/// The most that is kept, in bytes.
pub const MAX_REDUCED: usize = 120;

/// The most that is kept of one segment, unless a machine names itself there.
const MAX_SEGMENT: usize = 80;

/// Reduces `user_agent`: `Chrome`, `Safari mobile`, `curl`, `AppleWebKit compatible; GPTBot; +openai.com`.
pub fn reduce(user_agent: &str) -> String {
    if is_plain_browser(user_agent) {
        return user_agent.to_owned();
    }
    let mut kept = Kept::default();
    // Logs in the format of IIS write spaces as pluses, and some write everything small.
    let is_iis = memchr::memchr(b' ', user_agent.as_bytes()).is_none() && user_agent.contains("+(");
    let rewritten = if is_iis {
        Some(user_agent.replace('+', " "))
    } else {
        user_agent.starts_with("mozilla/").then(|| words::in_usual_case(user_agent))
    };
    for segment in Segments::of(rewritten.as_deref().unwrap_or(user_agent)) {
        kept.segment(&segment);
    }
    if injects_code(user_agent) {
        kept.alone(INJECTED);
    }
    kept.text()
}

/// The same for what a client sent just now. The mere name of a browser is what is kept of one, but none sends that.
pub(super) fn reduce_sent(user_agent: &str) -> String {
    let sent = user_agent.trim_ascii();
    if is_plain_browser(sent) { format!("{sent} compatible") } else { reduce(user_agent) }
}

/// Whether it is what is kept of a browser and nothing else: what most user agents are reduced to.
pub(super) fn is_plain_browser(user_agent: &str) -> bool {
    if user_agent.len() > 21 {
        return false;
    }
    let name = user_agent.strip_suffix(" mobile").unwrap_or(user_agent);
    let is_kept = |browser: Browser| browser != Browser::Mozilla && browser.as_str() == name;
    matches!(words::word(name), Some(Word::Browser(browser)) if is_kept(browser))
}

/// `user_agent` reduced, without work if it plainly is.
pub(super) fn reduced(user_agent: &str) -> Cow<'_, str> {
    if is_reduced(user_agent) { Cow::Borrowed(user_agent) } else { Cow::Owned(reduce(user_agent)) }
}

/// Whether it is plain that reducing changes nothing but repetitions; not all that is reduced is plainly so.
fn is_reduced(user_agent: &str) -> bool {
    let is_name = |word: &[u8]| {
        let ends =
            word.first().is_some_and(u8::is_ascii_alphabetic) && word.last().is_some_and(u8::is_ascii_alphabetic);
        let plain = || word.iter().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_'));
        ends && (2..=MAX_WORD).contains(&word.len()) && plain() && words::word_of(word).is_none()
    };
    let is_contact = |word: &[u8]| {
        let [b'+', host @ ..] = word else { return false };
        let plain = host.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'.');
        let is_whole = !matches!(host, [] | [b'.' | b'w', ..] | [.., b'.']);
        word == b"+mail" || (plain && is_whole && host.contains(&b'.') && host.len() < MAX_WORD)
    };
    let is_browser = |segment: &[u8]| {
        let name = segment.strip_suffix(b" compatible").unwrap_or(segment);
        name == b"Mozilla" || std::str::from_utf8(name).is_ok_and(is_plain_browser)
    };
    user_agent.len() + 4 <= MAX_REDUCED
        && user_agent.as_bytes().split(|byte| *byte == b';').enumerate().all(|(at, segment)| {
            let segment = if at == 0 { Some(segment) } else { segment.strip_prefix(b" ") };
            segment.is_some_and(|segment| {
                (at == 0 && is_browser(segment))
                    || segment.split(|byte| *byte == b' ').all(|word| is_name(word) || is_contact(word))
            })
        })
}

#[derive(Default)]
struct Kept {
    browsers: u16,
    mobile: bool,
    compatible: bool,
    /// A browser said that it is compatible, as old ones do; said by others it is a sign of a bot.
    vouched: bool,
    /// Something came with a version, as it does when it is sent and not when it is kept.
    versioned: bool,
    /// It says `Mozilla` with a version below 5, and how it encrypts, as Netscape did: `Mozilla/4.7 [en] (Win98; I)`.
    early: bool,
    encrypts: bool,
    text: String,
    /// Where each segment begins in `text`.
    segments: Vec<usize>,
}

impl Kept {
    fn segment(&mut self, segment: &Segment<'_>) {
        // `SM-G991B Build/TP1A`: a device.
        if matches!(segment.place, SegmentPlace::Platform | SegmentPlace::Device) && is_device(segment.text) {
            return;
        }
        self.encrypts |= segment.place == SegmentPlace::Platform && matches!(segment.text, "I" | "U" | "N");
        let start = self.text.len();
        let mut begin = 0;
        while begin < segment.text.len() {
            let (mut end, mut kinds, mut joint) = (begin, 0, None);
            while let Some(kind) =
                segment.text.as_bytes().get(end).map(|byte| kind(*byte)).filter(|kind| kind & GAP == 0)
            {
                if kind & JOINT != 0 && kinds & JOINT == 0 {
                    joint = Some(end);
                }
                kinds |= kind;
                end += 1;
            }
            // Numbers and versions say nothing.
            if kinds & (LETTER | CONTACT) != 0 {
                let raw = &segment.text[begin..end];
                let parts = match joint {
                    None => (raw, ""),
                    Some(at) if segment.text.as_bytes()[at] != b':' => {
                        (&segment.text[begin..at], &segment.text[at + 1..end])
                    }
                    Some(_) => split_version(raw),
                };
                self.word(raw, parts, kinds, segment.place, start);
            }
            begin = end + 1;
        }
        if self.text.len() > start {
            self.segments.push(start);
        }
    }

    /// Keeps what is to be kept of a word, of which the name and the version are told apart.
    fn word(&mut self, raw: &str, (name, detail): (&str, &str), kinds: u8, place: SegmentPlace, start: usize) {
        self.versioned |= !detail.is_empty();
        if self.says(name, place) {
            self.early |= name == "Mozilla" && matches!(detail.as_bytes(), [b'1'..=b'4', b'.', ..]);
            // `Firefox/3.6.8/Nutch-1.7`: who hides behind a browser's version.
            // Tools that disguise a browser put letters and digits there.
            let behind = detail.split_once('/').map(|(_, more)| more.split(['/', '-']).next().unwrap_or_default());
            let is_name = |hidden: &&str| hidden.len() >= 4 && hidden.bytes().all(|byte| byte.is_ascii_alphabetic());
            if let Some(hidden) = behind.filter(is_name).filter(|hidden| !self.says(hidden, place)) {
                self.name(hidden, place, start);
            }
            return;
        }
        if (kinds & CONTACT != 0 || begins(raw, "www."))
            && let Some(contact) = contact(raw)
        {
            self.push(&contact, start);
            return;
        }
        let begins_with_digit = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
        // What is neither an address nor a version may be a person.
        if kinds & CONTACT != 0 && raw.split_once('@').is_some_and(|(_, after)| !begins_with_digit(after)) {
            return;
        }
        let place = match place {
            SegmentPlace::Comment if begins_with_digit(detail) => SegmentPlace::Named,
            SegmentPlace::Device if begins_with_digit(detail) => SegmentPlace::Platform,
            place => place,
        };
        if name == "Code" && self.browsers & Browser::WebKit.bit() != 0 && is_editor(detail) {
            return;
        }
        self.name(name, place, start);
        // `Coding-Agent/claude-code`: what stands for a version can be a name.
        if detail.bytes().next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'-') {
            let detail = detail.split('/').next().unwrap_or_default();
            let detail = detail.trim_end_matches(|end: char| end.is_ascii_digit() || matches!(end, '.' | '-'));
            let is_name = detail.len() >= 3 || detail == "JS";
            let named = is_name && detail.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
            if named && !self.says(detail, place) {
                self.name(detail, place, start);
            }
        }
    }

    /// Takes note of a word of browsers.
    fn says(&mut self, name: &str, place: SegmentPlace) -> bool {
        match words::word(name) {
            Some(Word::Browser(browser)) => {
                self.browsers |= browser.bit();
                let is_engine = matches!(browser, Browser::WebKit | Browser::Gecko | Browser::Mozilla);
                self.vouched |= place == SegmentPlace::Named && !is_engine;
            }
            Some(Word::Mobile) => self.mobile = true,
            Some(Word::Compatible) => self.compatible = true,
            Some(Word::Noise) => {}
            None => return false,
        }
        true
    }

    /// Keeps a name that is no word of browsers.
    fn name(&mut self, name: &str, place: SegmentPlace, start: usize) {
        // Versions, and most of what is said about devices.
        let is_platform = matches!(place, SegmentPlace::Platform | SegmentPlace::Device);
        if !name.bytes().any(|byte| byte.is_ascii_alphabetic()) || (is_platform && name.len() < 3) {
            return;
        }
        let sent = name.len();
        let Some(name) = clean(name) else { return };
        if name.len() != sent && self.says(&name, place) {
            return;
        }
        let keep = match place {
            SegmentPlace::Open | SegmentPlace::Named | SegmentPlace::Engine => true,
            SegmentPlace::Platform => tells(&name),
            SegmentPlace::Device => signs::is_no_device(&name),
            SegmentPlace::Comment => tells(&name) || is_composed(&name),
        };
        if keep {
            self.push(&name, start);
        }
    }

    /// Keeps a word as a segment of its own.
    fn alone(&mut self, word: &str) {
        let start = self.text.len();
        self.push(word, start);
        self.segments.push(start);
    }

    fn push(&mut self, word: &str, start: usize) {
        // What is said again and again, or at length, must not crowd out the rest.
        let said = self.text.get(start..).unwrap_or_default();
        let is_long = said.len() + word.len() > MAX_SEGMENT && !(word.starts_with('+') || tells(word));
        if is_long || (said.len() > MAX_WORD && said.split(' ').any(|before| before == word)) {
            return;
        }
        if self.text.capacity() == 0 {
            self.text.reserve(MAX_REDUCED);
            self.segments.reserve(8);
        }
        if self.text.len() > start {
            self.text.push(' ');
        }
        self.text.push_str(word);
    }

    /// The kind of browser, and the segments: all of them, or, if that is too much, the telling ones first.
    fn text(self) -> String {
        let mut text = self.browser();
        let count = self.segments.len();
        if count == 0 {
            return text;
        }
        let segment = |at: usize| {
            let end = self.segments.get(at + 1).copied().unwrap_or(self.text.len());
            self.text.get(self.segments[at]..end).unwrap_or_default()
        };
        let is_new = |at: usize| !(0..at).any(|before| segment(before) == segment(at));
        let mut chosen = [false; MAX_REDUCED];
        let count = count.min(MAX_REDUCED);
        if self.text.len() + 2 * self.segments.len() + text.len() <= MAX_REDUCED {
            (0..count).for_each(|at| chosen[at] = is_new(at));
        } else {
            let mut room = MAX_REDUCED.saturating_sub(text.len());
            for wanted in [true, false] {
                for (at, chosen) in chosen.iter_mut().enumerate().take(count) {
                    let length = segment(at).len() + 2;
                    if !*chosen && length <= room && tells_any(segment(at)) == wanted && is_new(at) {
                        room -= length;
                        *chosen = true;
                    }
                }
            }
        }
        text.reserve(self.text.len() + 2 * count);
        for at in (0..count).filter(|&at| chosen[at]) {
            if !text.is_empty() {
                text.push_str("; ");
            }
            text.push_str(segment(at));
        }
        text
    }

    fn browser(&self) -> String {
        let Some(browser) = Browser::ALL.into_iter().find(|browser| self.browsers & browser.bit() != 0) else {
            return if self.compatible { "compatible".to_owned() } else { String::new() };
        };
        if browser == Browser::Mozilla && self.early && self.encrypts && !self.compatible {
            return Browser::Gecko.as_str().to_owned();
        }
        let mut text = String::with_capacity((24 + self.text.len() + 2 * self.segments.len()).min(MAX_REDUCED));
        text.push_str(browser.as_str());
        if self.mobile {
            text.push_str(" mobile");
        }
        if (self.compatible && !self.vouched) || self.stands_alone(browser) {
            text.push_str(" compatible");
        }
        text
    }
}

impl Kept {
    /// Whether a browser is named that always says `Mozilla` first, and that was not said: some program's idea of one.
    fn stands_alone(&self, browser: Browser) -> bool {
        let says_mozilla = matches!(
            browser,
            Browser::Edge | Browser::Firefox | Browser::Chrome | Browser::Safari | Browser::InternetExplorer
        );
        let is_alone = self.browsers & (Browser::Mozilla.bit() | Browser::Opera.bit() | Browser::Phone.bit()) == 0;
        // What the system fetches for Safari is told by the name of its library.
        says_mozilla && is_alone && self.versioned && !self.mobile && !self.text.contains("CFNetwork")
    }
}

/// What is kept of a user agent that is meant to be run by whoever reads it.
const INJECTED: &str = "injected-code";

static UPWARDS: LazyLock<memchr::memmem::Finder<'static>> = LazyLock::new(|| memchr::memmem::Finder::new("../"));

/// Whether there is code in it, as scanners send it to find out who runs it.
fn injects_code(user_agent: &str) -> bool {
    let bytes = user_agent.as_bytes();
    let unusual = memchr::memchr3(b'\'', b'<', b'$', bytes).or_else(|| memchr::memchr3(b'{', b'`', b'\\', bytes));
    (unusual.is_some() || UPWARDS.find(bytes).is_some()) && signs::is_code(user_agent)
}

/// Whether a machine might call itself so.
fn tells(name: &str) -> bool {
    signs::names_a_machine(name) || words::says_ai(name)
}

fn tells_any(segment: &str) -> bool {
    segment.split(' ').any(|word| word.starts_with('+') || tells(word))
}

/// Whether it is the version of a VS Code that has no agent yet, which came with 1.99: a person looks at a page in it.
fn is_editor(version: &str) -> bool {
    let minor = version.strip_prefix("1.").and_then(|rest| rest.split('.').next());
    minor.and_then(|minor| minor.parse::<u32>().ok()).is_some_and(|minor| minor < 99)
}

/// `SM-G991B Build/TP1A`: a device.
fn is_device(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'/', bytes).any(|at| bytes[..at].ends_with(b" Build"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn what_is_plainly_reduced_is_not_changed(
            parts in prop::collection::vec(
                prop_oneof![
                    "[A-Za-z][A-Za-z_.-]{0,8}",
                    "\\+[a-z.]{1,8}",
                    prop::sample::select(vec!["Chrome", "Mozilla compatible", "mobile", "compatible", "Foo", "Bot-v", "v", "+mail", "www.a.b", "like"])
                        .prop_map(str::to_owned),
                ],
                0..14,
            ),
            separators in prop::collection::vec(prop::sample::select(vec![" ", "; "]), 14),
        ) {
            let text: String = parts.iter().zip(&separators).map(|(part, end)| format!("{part}{end}")).collect();
            let text = text.trim_end_matches([' ', ';']);
            let mut seen: Vec<&str> = Vec::new();
            let once = text.split("; ").all(|segment| { let new = !seen.contains(&segment); seen.push(segment); new });
            if is_reduced(text) && once {
                prop_assert_eq!(reduce(text), text);
            }
        }
    }

    #[test]
    fn most_of_what_is_reduced_plainly_is() {
        for text in [
            "Chrome mobile",
            "AppleWebKit compatible; GPTBot; +openai.com",
            "Claude-User; claude-code; +support.anthropic.com",
        ] {
            assert!(is_reduced(text) && reduce(text) == text, "{text}");
        }
        for text in ["Mozilla/5.0", "like Gecko", "a", "Foo 1.0", "+www.a.com", "Foo; Chrome", "Foo;Bar"] {
            assert!(!is_reduced(text), "{text}");
        }
    }
}
