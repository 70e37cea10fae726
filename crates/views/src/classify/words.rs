//! The words that user agents are made of.

use std::sync::LazyLock;

/// What a word of a user agent says, if it is one that browsers use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// A sign of one kind of browser.
    Browser(Browser),
    /// A sign of a phone, a tablet or a television: apps show pages there, under names without number.
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

/// The words of browsers with a space between them, by what they say.
const WORDS: &[(Word, &str)] = &[
    (Word::Browser(Browser::Edge), "Edg Edge EdgA EdgiOS"),
    (Word::Browser(Browser::Opera), "Opera OPR OPT OPX OPiOS UCWEB"),
    (Word::Browser(Browser::Samsung), "SamsungBrowser"),
    (Word::Browser(Browser::Firefox), "Firefox FxiOS Iceweasel SeaMonkey PaleMoon Waterfox"),
    (Word::Browser(Browser::Chrome), "Chrome CriOS Chromium"),
    (Word::Browser(Browser::InternetExplorer), "MSIE Trident IEMobile"),
    (
        Word::Browser(Browser::Text),
        "Lynx Links ELinks w3m Dillo NetSurf Emacs-W3 Emacs-w3m IBrowse AmigaVoyager Amiga-AWeb NetPositive \
         Webpositive ABrowse OmniWeb iCab WebPositive Arachne Charon Konqueror",
    ),
    (
        Word::Browser(Browser::Phone),
        "Phone DoCoMo KDDI UP.Browser UP.Link Obigo NetFront Teleca MIDP Maui BREW J2ME BlackBerry Nokia SonyEricsson \
         SAMSUNG Samsung LG MOT ZTE ALCATEL Alcatel Sharp Profile Configuration CLDC SymbianOS Symbian Series \
         UCBrowser UC UCPro Browser J-PHONE SoftBank Vodafone Nintendo PlayStation PLAYSTATION PSP Novarra-Vision \
         FBIOS",
    ),
    (Word::Browser(Browser::Safari), "Safari"),
    (Word::Browser(Browser::WebKit), "AppleWebKit WebKit KHTML QtWebEngine"),
    (Word::Browser(Browser::Gecko), "Gecko"),
    (Word::Browser(Browser::Mozilla), "Mozilla"),
    (
        Word::Mobile,
        "Mobile mobile Android android iPhone iPad iPod Tablet HbbTV SmartTV SMART-TV SmartTvA Web0S webOS Tizen KAIOS \
         CE-HTML NETTV CrKey GoogleTV TV Tesla",
    ),
    (Word::Compatible, "compatible"),
    (
        Word::Noise,
        "like U X K OS NT rv Version Build CPU Mac Macintosh Intel PPC Windows Win Win32 Win64 WOW64 x64 x86 x86_64 \
         amd64 AMD64 arm ARM arm64 aarch64 armv7l armv8l i386 i586 i686 Linux linux X11 Wayland CrOS Ubuntu Fedora \
         Debian FreeBSD OpenBSD NetBSD SunOS Darwin darwin iOS Touch Presto User-Agent \
         VendorID wv Locale NetType Language null likeGecko WindowsNT WindowsCE WinNT IntelMacOSX VR MacBook gzip gfe snap AIX IRIX IRIX64 HP-UX OSF1 Win16 Win95 Win98",
    ),
];

/// The words in a table with open places, each found by [`key`].
static TABLE: LazyLock<Vec<Option<(Key, Word)>>> = LazyLock::new(|| {
    let mut table = vec![None; PLACES];
    for (word, said) in WORDS.iter().flat_map(|(said, words)| words.split(' ').map(move |word| (word, *said))) {
        let Some(key) = key(word.as_bytes()) else { continue };
        let mut place = place(key);
        while table[place].is_some() {
            place = (place + 1) % PLACES;
        }
        table[place] = Some((key, said));
    }
    table
});

/// Several times as many as there are words, so that most other words meet an empty one.
const PLACES: usize = 512;

/// The first and the last bytes of a word and its length: all of it, if it is no longer than 16 bytes.
type Key = (u64, u64, usize);

fn key(word: &[u8]) -> Option<Key> {
    let length = word.len();
    let (first, last) = match length {
        8..=16 => (u64::from_le_bytes(*word.first_chunk()?), u64::from_le_bytes(*word.last_chunk()?)),
        4..=7 => {
            (u64::from(u32::from_le_bytes(*word.first_chunk()?)), u64::from(u32::from_le_bytes(*word.last_chunk()?)))
        }
        1..=3 => (u64::from(word[0]), u64::from(word[length / 2]) << 8 | u64::from(word[length - 1])),
        _ => return None,
    };
    Some((first, last, length))
}

fn place((first, last, length): Key) -> usize {
    let mixed = (first ^ last.rotate_left(29) ^ length as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 55) as usize % PLACES
}

/// A user agent that somebody wrote all in small letters, with the words of browsers as they write them.
pub(super) fn in_usual_case(user_agent: &str) -> String {
    static USUAL: LazyLock<std::collections::HashMap<String, &str>> = LazyLock::new(|| {
        let words = WORDS.iter().flat_map(|(_, words)| words.split(' '));
        words.rev().map(|word| (word.to_ascii_lowercase(), word)).collect()
    });
    let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let mut text = String::with_capacity(user_agent.len());
    let mut rest = user_agent;
    while let Some(first) = rest.chars().next() {
        let end =
            if is_part(first) { rest.find(|char| !is_part(char)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (word, after) = rest.split_at(end);
        text.push_str(USUAL.get(word).copied().unwrap_or(word));
        rest = after;
    }
    text
}

/// What `word` says, if browsers use it.
pub(super) fn word(word: &str) -> Option<Word> {
    word_of(word.as_bytes())
}

/// The same for its bytes.
pub(super) fn word_of(word: &[u8]) -> Option<Word> {
    let key = key(word)?;
    // Facebook's apps say much about themselves under such keys.
    if key.2 == 4 && word.starts_with(b"FB") {
        return Some(Word::Browser(Browser::Phone));
    }
    let table: &[Option<(Key, Word)>] = &TABLE;
    let mut place = place(key);
    while let Some((known, said)) = table[place] {
        if known == key {
            return Some(said);
        }
        place = (place + 1) % PLACES;
    }
    None
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
