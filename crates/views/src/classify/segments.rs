//! The parts of a user agent, and where they stand in it.

use super::words;

/// Where a segment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SegmentPlace {
    /// Outside of parentheses: names of products.
    Open,
    /// In a comment on a platform or a device.
    Platform,
    /// In such a comment, where Android names the device. Phones and tablets are called XBot and Spider too.
    Device,
    /// In the comment of an engine, `(KHTML, like Gecko; …)`: no browser adds anything there.
    Engine,
    Comment,
    /// In a comment, after `compatible`: there bots name themselves.
    Named,
}

const END: u8 = 1;
pub(super) const GAP: u8 = 2;
pub(super) const LETTER: u8 = 4;
/// May stand between a name and its version.
pub(super) const JOINT: u8 = 8;
/// Is in an address.
pub(super) const CONTACT: u8 = 16;

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

pub(super) fn kind(byte: u8) -> u8 {
    KINDS[usize::from(byte)]
}

pub(super) struct Segment<'a> {
    pub(super) text: &'a str,
    pub(super) place: SegmentPlace,
}

/// The parts of a user agent: split at parentheses, brackets, semicolons and commas.
pub(super) struct Segments<'a> {
    rest: &'a str,
    depth: u32,
    comment: Option<SegmentPlace>,
}

impl<'a> Segments<'a> {
    pub(super) fn of(user_agent: &'a str) -> Self {
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
            None if first == "KHTML" => SegmentPlace::Engine,
            None if words::word(first).is_some() => SegmentPlace::Platform,
            None => SegmentPlace::Comment,
        };
        let names_device_next = place == SegmentPlace::Platform && first == "Android";
        self.comment = Some(if names_device_next { SegmentPlace::Device } else { place });
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

/// `GPTBot/1.2` in two. Two colons are part of a name, as Perl writes it.
pub(super) fn split_version(word: &str) -> (&str, &str) {
    let bytes = word.as_bytes();
    let is_colon = |at: usize| bytes.get(at) == Some(&b':');
    let is_joint = |at: usize| !is_colon(at) || (!is_colon(at + 1) && !at.checked_sub(1).is_some_and(is_colon));
    let joints = bytes.iter().enumerate().filter(|(_, byte)| kind(**byte) & JOINT != 0);
    let end = joints.map(|(at, _)| at).find(|&at| is_joint(at));
    end.map_or((word, ""), |at| (&word[..at], &word[at + 1..]))
}
