//! Characters that nobody sees: they can hide text from people or turn its order around.

/// A run of one invisible character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invisible {
    pub character: char,
    /// Where the run begins.
    pub at: usize,
}

impl Invisible {
    /// What the character is called.
    pub fn name(&self) -> &'static str {
        match self.character {
            '\u{200b}' => "zero width space",
            '\u{200c}' => "zero width non-joiner",
            '\u{200d}' => "zero width joiner",
            '\u{feff}' => "byte order mark",
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => "text direction control",
            '\u{e0000}'..='\u{e007f}' => "tag character",
            '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => "variation selector",
            _ => "invisible character",
        }
    }
}

/// More than these are not reported for a file.
const MOST: usize = 100;

/// The invisible characters of a text that have no business where they are, in order.
pub fn scan(text: &str) -> Vec<Invisible> {
    if text.is_ascii() {
        return Vec::new();
    }
    let is_right_to_left = text.chars().any(|c| matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fefc}'));
    let mut found: Vec<Invisible> = Vec::new();
    let mut before = None;
    let mut base = None;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let after = characters.peek().map(|(_, c)| *c);
        let is_bad = !c.is_ascii()
            && match c {
                '\u{feff}' => at > 0,
                '\u{200b}' => !breaks_words(before) && !breaks_words(after),
                '\u{200c}' | '\u{200d}' => !is_joined(before) && !is_joined(after),
                '\u{200e}' | '\u{200f}' | '\u{2066}'..='\u{2069}' => !is_right_to_left,
                '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{206a}'..='\u{206f}' => true,
                '\u{180e}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' => true,
                '\u{e0000}'..='\u{e007f}' => base != Some('\u{1f3f4}'),
                '\u{fe00}'..='\u{fe0f}' => before.is_none_or(is_selector),
                '\u{e0100}'..='\u{e01ef}' => before.is_none_or(|c| c.is_ascii() || is_selector(c)),
                _ => false,
            };
        let goes_on = before == Some(c) && is_bad;
        if is_bad && !goes_on && found.len() < MOST {
            found.push(Invisible { character: c, at });
        }
        before = Some(c);
        if !matches!(c, '\u{e0000}'..='\u{e007f}') {
            base = Some(c);
        }
    }
    found
}

/// Whether a character of a path is none that people see: a control, a format or a filler character. Some file systems
/// drop such characters, so that the path means another file.
pub(crate) fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}'
                | '\u{8e2}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{110bd}'
                | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// A text with what people do not see written out.
pub(crate) fn shown(text: &str) -> String {
    let written = |c: char| if is_unseen(c) { c.escape_unicode().to_string() } else { c.to_string() };
    text.chars().map(written).collect()
}

/// Thai, Lao, Burmese and Khmer have no spaces between words; this is what marks where a line may break.
fn breaks_words(c: Option<char>) -> bool {
    matches!(c, Some('\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'))
}

/// Joiners belong into emoji and into scripts whose letters join: all that is beyond Latin, Greek and Cyrillic.
fn is_joined(c: Option<char>) -> bool {
    c.is_some_and(|c| {
        c >= '\u{530}' && !matches!(c, '\u{1e00}'..='\u{203f}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..)
    })
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_found() {
        for text in [
            "a\u{200b}b",
            "pass\u{200d}word",
            "a\u{200c}b",
            "x\u{202e}y",
            "x\u{2066}y\u{2069}",
            "a\u{feff}",
            "a\u{2060}b",
            "hi\u{e0041}\u{e0042}",
            "a\u{fe01}\u{fe02}",
            "a\u{e0100}",
            "x\u{3164}y",
            "a\u{200f}b",
        ] {
            assert!(!scan(text).is_empty(), "{text:?}");
        }
        assert_eq!(scan("a\u{200b}\u{200b}\u{200b}b").len(), 1);
    }

    #[test]
    fn what_scripts_and_emoji_need_is_fine() {
        for text in [
            "\u{feff}start",
            "👩\u{200d}👩\u{200d}👧",
            "❤\u{fe0f}",
            "1\u{fe0f}\u{20e3}",
            "می\u{200c}خواهم",
            "क\u{94d}\u{200d}ष",
            "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
            "ภาษา\u{200b}ไทย",
            "שלום\u{200f}!",
            "soft\u{ad}hyphen",
            "葛\u{e0100}",
            "naïve – “quotes” …",
            "🏳\u{fe0f}\u{200d}🌈",
        ] {
            assert_eq!(scan(text), [], "{text:?}");
        }
    }
}
