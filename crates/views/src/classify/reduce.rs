//! A user agent without what tells one reader from another.
//!
//! What is kept: the kind of browser, and the names by which machines call themselves. What is not: versions, platforms,
//! devices, languages, e-mail addresses, paths of addresses, numbers and ids. A user agent that is reduced stays as it
//! is when it is reduced again, so the verdict on what was kept is the verdict on what was sent.

use std::borrow::Cow;

use super::parts::{MAX_WORD, begins, clean, contact, is_composed};
use super::signs;
use super::words::{self, Browser, Word};

/// The most that is kept, in bytes.
pub const MAX_REDUCED: usize = 120;

/// Reduces `user_agent`: `Chrome`, `Safari mobile`, `curl`, `AppleWebKit compatible; GPTBot; +openai.com`.
pub fn reduce(user_agent: &str) -> String {
    if is_plain_browser(user_agent) {
        return user_agent.to_owned();
    }
    let mut kept = Kept::default();
    // Logs in the format of IIS write spaces as pluses.
    let is_iis = memchr::memchr(b' ', user_agent.as_bytes()).is_none() && user_agent.contains("+(");
    let spaced = is_iis.then(|| user_agent.replace('+', " "));
    for segment in Segments::of(spaced.as_deref().unwrap_or(user_agent)) {
        kept.segment(&segment);
    }
    kept.text()
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

/// Where a segment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SegmentPlace {
    /// Outside of parentheses: names of products.
    Open,
    /// In a comment on a platform or a device.
    Platform,
    Comment,
    /// In a comment, after `compatible`: there bots name themselves.
    Named,
}

const END: u8 = 1;
const GAP: u8 = 2;
const LETTER: u8 = 4;
/// May stand between a name and its version.
const JOINT: u8 = 8;
/// Is in an address.
const CONTACT: u8 = 16;

/// What each byte can be.
static KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut at = 0;
    while at < 256 {
        kinds[at] = match at as u8 {
            b'(' | b')' | b'[' | b']' | b'{' | b'}' | b';' | b',' | b'"' => END,
            b' ' | b'\t' | b'%' => GAP,
            b'/' | b'=' => JOINT,
            b'@' | b':' => JOINT | CONTACT,
            b'+' => CONTACT,
            byte if byte.is_ascii_alphabetic() => LETTER,
            _ => 0,
        };
        at += 1;
    }
    kinds
};

fn kind(byte: u8) -> u8 {
    KINDS[usize::from(byte)]
}

struct Segment<'a> {
    text: &'a str,
    place: SegmentPlace,
}

/// The parts of a user agent: split at parentheses, brackets, semicolons and commas.
struct Segments<'a> {
    rest: &'a str,
    depth: u32,
    comment: Option<SegmentPlace>,
}

impl<'a> Segments<'a> {
    fn of(user_agent: &'a str) -> Self {
        Self { rest: user_agent, depth: 0, comment: None }
    }

    fn place(&mut self, text: &str) -> SegmentPlace {
        if self.depth == 0 {
            return SegmentPlace::Open;
        }
        let end = text.bytes().position(|byte| byte.is_ascii_whitespace()).unwrap_or(text.len());
        let first = split_version(&text[..end]).0;
        let place = match self.comment {
            _ if first == "compatible" => SegmentPlace::Named,
            Some(place) => place,
            None if words::word(first).is_some() => SegmentPlace::Platform,
            None => SegmentPlace::Comment,
        };
        self.comment = Some(place);
        place
    }
}

impl<'a> Iterator for Segments<'a> {
    type Item = Segment<'a>;

    fn next(&mut self) -> Option<Segment<'a>> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            let end = self.rest.bytes().position(|byte| kind(byte) & END != 0).unwrap_or(self.rest.len());
            let (text, rest) = self.rest.split_at(end);
            let text = text.trim_ascii();
            let found = (!text.is_empty()).then(|| Segment { text, place: self.place(text) });
            match rest.as_bytes().first() {
                Some(b'(' | b'[' | b'{') => {
                    self.depth += 1;
                    self.comment = None;
                }
                Some(b')' | b']' | b'}') => {
                    self.depth = self.depth.saturating_sub(1);
                    self.comment = None;
                }
                _ => {}
            }
            self.rest = rest.get(1..).unwrap_or_default();
            if found.is_some() {
                return found;
            }
        }
    }
}

#[derive(Default)]
struct Kept {
    browsers: u16,
    mobile: bool,
    compatible: bool,
    /// A browser said that it is compatible, as old ones do; said by others it is a sign of a bot.
    vouched: bool,
    text: String,
    /// Where each segment begins in `text`.
    segments: Vec<usize>,
}

impl Kept {
    fn segment(&mut self, segment: &Segment<'_>) {
        // `SM-G991B Build/TP1A`: a device.
        if segment.place == SegmentPlace::Platform && is_device(segment.text) {
            return;
        }
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
        if self.says(name, place) {
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
        let place =
            if place == SegmentPlace::Comment && begins_with_digit(detail) { SegmentPlace::Named } else { place };
        self.name(name, place, start);
        // `Coding-Agent/claude-code`: what stands for a version can be a name.
        if detail.bytes().next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'-') {
            let detail = detail.split('/').next().unwrap_or_default();
            let named = detail.len() >= 3 && detail.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
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
        if !name.bytes().any(|byte| byte.is_ascii_alphabetic()) || (place == SegmentPlace::Platform && name.len() < 3) {
            return;
        }
        let sent = name.len();
        let Some(name) = clean(name) else { return };
        if name.len() != sent && self.says(&name, place) {
            return;
        }
        let keep = match place {
            SegmentPlace::Open | SegmentPlace::Named => true,
            SegmentPlace::Platform => tells(&name),
            SegmentPlace::Comment => tells(&name) || is_composed(&name),
        };
        if keep {
            self.push(&name, start);
        }
    }

    fn push(&mut self, word: &str, start: usize) {
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
        let mut text = String::with_capacity((24 + self.text.len() + 2 * self.segments.len()).min(MAX_REDUCED));
        text.push_str(browser.as_str());
        if self.mobile {
            text.push_str(" mobile");
        }
        if self.compatible && !self.vouched {
            text.push_str(" compatible");
        }
        text
    }
}

/// `GPTBot/1.2` in two. Two colons are part of a name, as Perl writes it.
fn split_version(word: &str) -> (&str, &str) {
    let bytes = word.as_bytes();
    let is_colon = |at: usize| bytes.get(at) == Some(&b':');
    let is_joint = |at: usize| !is_colon(at) || (!is_colon(at + 1) && !at.checked_sub(1).is_some_and(is_colon));
    let joints = bytes.iter().enumerate().filter(|(_, byte)| kind(**byte) & JOINT != 0);
    let end = joints.map(|(at, _)| at).find(|&at| is_joint(at));
    end.map_or((word, ""), |at| (&word[..at], &word[at + 1..]))
}

/// Whether a machine might call itself so.
fn tells(name: &str) -> bool {
    signs::names_a_machine(name) || words::says_ai(name)
}

fn tells_any(segment: &str) -> bool {
    segment.split(' ').any(|word| word.starts_with('+') || tells(word))
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
