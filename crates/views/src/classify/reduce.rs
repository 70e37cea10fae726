//! A user agent without what tells one reader from another.
//!
//! What is kept: the kind of browser, and the names by which machines call themselves. What is not: versions, platforms,
//! devices, languages, e-mail addresses, paths of addresses, numbers and ids. A user agent that is reduced stays as it
//! is when it is reduced again, so the verdict on what was kept is the verdict on what was sent.

use super::words::{self, Browser, Word};

/// The most that is kept, in bytes.
pub const MAX_REDUCED: usize = 120;
/// The most that is kept of one word.
const MAX_WORD: usize = 40;

/// Reduces `user_agent`: `Chrome`, `Safari mobile`, `curl`, `AppleWebKit compatible; GPTBot; +openai.com`.
pub fn reduce(user_agent: &str) -> String {
    let mut kept = Kept::default();
    for segment in Segments::of(user_agent) {
        kept.segment(&segment);
    }
    kept.text()
}

/// Where a segment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Outside of parentheses: names of products.
    Open,
    /// In a comment on a platform or a device.
    Platform,
    /// In another comment.
    Comment,
    /// In a comment, after `compatible`: there bots name themselves.
    Named,
}

struct Segment<'a> {
    text: &'a str,
    place: Place,
}

/// The parts of a user agent: split at parentheses, brackets, semicolons and commas.
struct Segments<'a> {
    rest: &'a str,
    depth: u32,
    comment: Option<Place>,
}

impl<'a> Segments<'a> {
    fn of(user_agent: &'a str) -> Self {
        Self { rest: user_agent, depth: 0, comment: None }
    }

    fn place(&mut self, text: &str) -> Place {
        if self.depth == 0 {
            return Place::Open;
        }
        let first = text.split_ascii_whitespace().next().unwrap_or_default();
        let name = first.split(['/', ':']).next().unwrap_or_default();
        let place = match (self.comment, words::word(name)) {
            (_, Some(Word::Compatible)) => Place::Named,
            (Some(place), _) => place,
            (None, Some(_)) => Place::Platform,
            (None, None) => Place::Comment,
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
            let end = self.rest.find(['(', ')', '[', ']', '{', '}', ';', ',', '"']).unwrap_or(self.rest.len());
            let (text, rest) = self.rest.split_at(end);
            let text = text.trim();
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
    text: String,
    /// Where a segment begins in `text`, and whether a machine might call itself so.
    segments: Vec<(usize, bool)>,
}

impl Kept {
    fn segment(&mut self, segment: &Segment<'_>) {
        let start = self.text.len();
        let mut telling = false;
        for raw in segment.text.split(|char: char| char.is_whitespace() || char == '%') {
            telling |= self.word(raw, segment.place, start);
        }
        if self.text.len() > start {
            self.segments.push((start, telling));
        }
    }

    /// Keeps what is to be kept of a word, and says whether a machine might call itself so.
    fn word(&mut self, raw: &str, place: Place, start: usize) -> bool {
        if raw.is_empty() {
            return false;
        }
        if let Some(contact) = contact(raw) {
            self.push(&contact, start);
            return true;
        }
        let (name, detail) = match raw.find(['/', ':', '=']) {
            Some(at) => (&raw[..at], &raw[at + 1..]),
            None => (raw, ""),
        };
        match words::word(name) {
            Some(Word::Browser(browser)) => {
                self.browsers |= browser.bit();
                return false;
            }
            Some(Word::Mobile) => {
                self.mobile = true;
                return false;
            }
            Some(Word::Compatible) => {
                self.compatible = true;
                return false;
            }
            Some(Word::Noise) => return false,
            None => {}
        }
        let telling = self.name(name, place, start);
        // `Coding-Agent/claude-code`: what stands for a version can be a name.
        let detail = detail.split('/').next().unwrap_or_default();
        let named = detail.len() >= 3 && detail.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
        telling | (named && words::word(detail).is_none() && self.name(detail, place, start))
    }

    fn name(&mut self, name: &str, place: Place, start: usize) -> bool {
        let Some(name) = clean(name) else { return false };
        if words::word(&name).is_some() {
            return false;
        }
        let telling = words::names_a_machine(&name) || words::says_ai(&name);
        let keep = match place {
            Place::Open | Place::Named => true,
            Place::Platform => telling,
            Place::Comment => telling || is_composed(&name),
        };
        if keep {
            self.push(&name, start);
        }
        keep && telling
    }

    fn push(&mut self, word: &str, start: usize) {
        if self.text.len() > start {
            self.text.push(' ');
        }
        self.text.push_str(word);
    }

    /// The kind of browser, and the segments: all of them, or, if that is too much, the telling ones first.
    fn text(self) -> String {
        let mut text = self.browser();
        let ends = self.segments.iter().skip(1).map(|(start, _)| *start).chain([self.text.len()]);
        let segments: Vec<(&str, bool)> = self
            .segments
            .iter()
            .zip(ends)
            .map(|(&(start, telling), end)| (self.text.get(start..end).unwrap_or_default(), telling))
            .collect();
        let mut room = MAX_REDUCED.saturating_sub(text.len());
        let mut chosen = vec![false; segments.len()];
        for wanted in [true, false] {
            for (at, (segment, telling)) in segments.iter().enumerate() {
                let repeated = segments[..at].iter().any(|(earlier, _)| earlier == segment);
                if *telling == wanted && !repeated && segment.len() + 2 <= room {
                    room -= segment.len() + 2;
                    chosen[at] = true;
                }
            }
        }
        for ((segment, _), _) in segments.iter().zip(&chosen).filter(|(_, chosen)| **chosen) {
            if !text.is_empty() {
                text.push_str("; ");
            }
            text.push_str(segment);
        }
        text
    }

    fn browser(&self) -> String {
        let Some(browser) = Browser::ALL.into_iter().find(|browser| self.browsers & browser.bit() != 0) else {
            return if self.compatible { "compatible".to_owned() } else { String::new() };
        };
        let mut text = browser.as_str().to_owned();
        if self.mobile {
            text.push_str(" mobile");
        }
        // Old browsers call themselves compatible; said by others it is a sign of a bot.
        if self.compatible && browser != Browser::InternetExplorer {
            text.push_str(" compatible");
        }
        text
    }
}

/// The address at which the operator of a bot can be reached: only its host, and of an e-mail address nothing.
fn contact(raw: &str) -> Option<String> {
    let bare = raw.trim_matches(|char: char| "+-<>'`*|\\".contains(char));
    if bare.contains('@') || bare.to_ascii_lowercase().starts_with("mailto:") || raw == "+mail" {
        return (bare.len() > 1).then(|| "+mail".to_owned());
    }
    let lower = bare.to_ascii_lowercase();
    let host = match lower.split_once("://") {
        Some((_, rest)) => rest,
        None if lower.starts_with("www.") || lower.starts_with("http:") => lower.trim_start_matches("http:"),
        None if raw.starts_with('+') && lower.contains('.') => &lower,
        None if raw == "+link" => return Some("+link".to_owned()),
        None => return None,
    };
    let host = host.split(['/', ':', '?', '#']).next().unwrap_or_default();
    let host: String = host.trim_start_matches("www.").chars().filter(|char| is_host(*char)).take(MAX_WORD).collect();
    let digits = host.bytes().filter(u8::is_ascii_digit).count();
    let named = host.contains('.') && digits < 5 && host.bytes().any(|byte| byte.is_ascii_alphabetic());
    Some(if named { format!("+{}", host.trim_matches(['.', '-'])) } else { "+link".to_owned() })
}

fn is_host(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '.' || char == '-'
}

/// A name without the version at its end; none if nothing is left, or if it is an id.
fn clean(name: &str) -> Option<String> {
    let mut name: String =
        name.chars().filter(|char| char.is_ascii_alphanumeric() || "-_.!*&".contains(*char)).collect();
    loop {
        let end = name.trim_end_matches(|char: char| char.is_ascii_digit() || "-_.*&".contains(char)).len();
        let without = name.get(..end).unwrap_or_default();
        // `Bot-v2`: the letter belongs to the version.
        let without = match without.as_bytes() {
            [.., b'-' | b'_' | b'.', b'v' | b'V'] if end < name.len() => &without[..without.len() - 2],
            _ => without,
        };
        if without.len() == name.len() {
            break;
        }
        name.truncate(without.len());
    }
    let name = name.trim_start_matches(['-', '_', '.', '*', '&', '!']);
    let letters = name.bytes().filter(u8::is_ascii_alphabetic).count();
    let digits = name.bytes().filter(u8::is_ascii_digit).count();
    let is_version = letters == 0 || matches!(name, "v" | "V" | "rv");
    let is_id = digits >= 5
        || (name.len() >= 12 && digits > 0 && name.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-'));
    if is_version || is_id || (name.len() >= 20 && digits >= 3) {
        return None;
    }
    let cut = name.get(..MAX_WORD).unwrap_or(name);
    // What is cut off can leave an end that is itself cut the next time.
    if cut.len() < name.len() { clean(cut) } else { Some(cut.to_owned()) }
}

/// Names of products are composed (`claude-code`, `HTTPClient`); names of people and words of a sentence are not.
fn is_composed(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.iter().any(|byte| matches!(byte, b'-' | b'_' | b'.'))
        || bytes.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
}
