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

/// The invisible characters of a text that have no business where they are, in order. What a script needs is fine in text
/// of that script.
pub fn scan(text: &str) -> Vec<Invisible> {
    if text.is_ascii() {
        return Vec::new();
    }
    let mut found: Vec<Invisible> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if !line.is_ascii() && found.len() < MOST {
            scan_line(line, at, &mut found);
        }
        at += line.len();
    }
    found
}

fn scan_line(line: &str, offset: usize, found: &mut Vec<Invisible>) {
    let has_right_to_left = line.chars().any(is_right_to_left);
    let directions_fit = has_right_to_left && is_balanced(line);
    let characters: Vec<(usize, char)> = line.char_indices().collect();
    // What stands before tags, and how many of them.
    let (mut base, mut tags) = (None, 0usize);
    // The character of the run that was told last, as long as it goes on.
    let mut told = None;
    for (number, (at, c)) in characters.iter().copied().enumerate() {
        let before = number.checked_sub(1).map(|number| characters[number].1);
        if !matches!(c, '\u{e0000}'..='\u{e007f}') {
            (base, tags) = (Some(c), 0);
        } else {
            tags += 1;
        }
        let is_bad = !c.is_ascii()
            && match c {
                '\u{feff}' => offset + at > 0,
                '\u{200b}' | '\u{2060}' => !is_near(&characters, number, breaks_words),
                '\u{200c}' | '\u{200d}' => !is_near(&characters, number, is_joined),
                '\u{200e}' | '\u{200f}' | '\u{61c}' => !has_right_to_left,
                '\u{202a}' | '\u{202b}' | '\u{202c}' | '\u{2066}'..='\u{2069}' => !directions_fit,
                '\u{202d}' | '\u{202e}' | '\u{2061}'..='\u{2064}' | '\u{206a}'..='\u{206f}' => true,
                '\u{180b}'..='\u{180e}' => !is_near(&characters, number, |c| matches!(c, '\u{1800}'..='\u{18af}')),
                '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' => !is_near(&characters, number, is_hangul),
                '\u{e0000}'..='\u{e007f}' => base != Some('\u{1f3f4}') || tags > MOST_TAGS,
                '\u{fe00}'..='\u{fe0f}' => before.is_none_or(|c| !is_varied(c)),
                '\u{e0100}'..='\u{e01ef}' => before.is_none_or(|c| !is_ideograph(c)),
                _ => false,
            };
        if is_bad && told != Some(c) && found.len() < MOST {
            found.push(Invisible { character: c, at: offset + at });
        }
        told = is_bad.then_some(c);
    }
}

/// A flag of a region has so many tags at most, with the one that ends them.
const MOST_TAGS: usize = 8;

/// Whether the nearest letter on one side is of a kind; marks of Markdown and punctuation may stand between.
fn is_near(characters: &[(usize, char)], number: usize, is_kind: impl Fn(char) -> bool) -> bool {
    const FAR: usize = 8;
    let says = |c: &(usize, char)| c.1.is_alphanumeric() || is_kind(c.1);
    let before = characters[..number].iter().rev().take(FAR).find(|c| says(c));
    let after = characters[number + 1..].iter().take(FAR).find(|c| says(c));
    before.is_some_and(|c| is_kind(c.1)) || after.is_some_and(|c| is_kind(c.1))
}

fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{60f}' | '\u{61d}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// Whether every change of direction in a line is ended in it, the innermost first.
fn is_balanced(line: &str) -> bool {
    let mut open = Vec::new();
    for c in line.chars() {
        match c {
            '\u{202a}' | '\u{202b}' | '\u{202d}' | '\u{202e}' => open.push('\u{202c}'),
            '\u{2066}'..='\u{2068}' => open.push('\u{2069}'),
            '\u{202c}' | '\u{2069}' if open.pop() != Some(c) => return false,
            _ => {}
        }
    }
    open.is_empty()
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

/// Scripts without spaces between words, in which a character that nobody sees marks where a line may break: Thai, Lao,
/// Tibetan, Burmese, Khmer, Javanese, Chinese, Japanese and Korean.
fn breaks_words(c: char) -> bool {
    matches!(
        c,
        '\u{e00}'..='\u{fff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{1950}'..='\u{19ff}'
            | '\u{1a20}'..='\u{1aaf}' | '\u{a980}'..='\u{a9df}' | '\u{aa60}'..='\u{aadf}' | '\u{2e80}'..='\u{a4cf}'
            | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe4f}' | '\u{ff01}'..='\u{ff9f}'
            | '\u{20000}'..='\u{3ffff}'
    ) && !is_filler(c)
}

/// Joiners belong into emoji and into scripts whose letters join: all that is beyond Latin, Greek and Cyrillic.
fn is_joined(c: char) -> bool {
    c >= '\u{530}'
        && !matches!(c, '\u{1e00}'..='\u{203b}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..)
        && !is_filler(c)
}

fn is_hangul(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{115e}' | '\u{1161}'..='\u{11ff}' | '\u{3131}'..='\u{3163}' | '\u{3165}'..='\u{318e}' | '\u{ac00}'..='\u{d7ff}')
}

fn is_filler(c: char) -> bool {
    matches!(c, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}')
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// What has several forms: emoji and other signs, the keys of a telephone, letters of the East and of formulas.
fn is_varied(c: char) -> bool {
    let is_letter = c.is_alphabetic() && c < '\u{900}';
    let is_hidden = c.is_whitespace() || c.is_control() || is_unseen(c);
    (!c.is_ascii() || c.is_ascii_digit() || matches!(c, '#' | '*')) && !is_letter && !is_hidden
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
            "x\u{fe0f}y",
            "text \u{fe0f}",
            "a\u{2067}שלום",
            "שלום \u{2069}\u{2066}",
            "😀\u{e0141}\u{e0142}",
            "❤\u{fe0f}\u{fe01}\u{fe02}",
            "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e0041}\u{e0041}\u{e0041}\u{e0041}",
            "中文 and much later, in English, pass\u{200b}word",
            "a\u{115f}\u{1160}b",
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
            "日本\u{200b}語",
            "**太字**\u{200b}です",
            "\u{200b}**중요**",
            "ខ្មែរ\u{200b}ភាសា",
            "a\u{a0}b",
            "שלום \u{2066}abc\u{2069} שלום",
            "ᠮᠣᠩ\u{180b}",
            "©\u{fe0f} ↔\u{fe0e} #\u{fe0f}\u{20e3}",
            "ﷺ\u{200e}",
        ] {
            assert_eq!(scan(text), [], "{text:?}");
        }
    }
}
