//! Whether a word that the dictionary calls a typo is one beyond doubt. The dictionary also holds spellings that some
//! people prefer, words that are names or words of other languages, and guesses at what a short word was meant to be.

/// Slips of short words that are nothing else; other short words can be anything.
const SHORT: [&str; 17] = [
    "teh", "hte", "adn", "taht", "thta", "htat", "tihs", "thsi", "wiht", "tehy", "thier", "emtpy", "shoud", "coudl",
    "woudl", "waht", "whcih",
];

const SHORTEST: usize = 6;

/// Why a word is left although the dictionary has one correction for it; none if it is certainly a slip.
pub(super) fn doubt(word: &str, correction: &str) -> Option<&'static str> {
    if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Some("may be a name rather than a slip for");
    }
    let plain = correction.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_known = SHORT.contains(&word);
    if !plain || (word.len() < SHORTEST && !is_known) {
        return Some("may be something else than");
    }
    if is_known {
        return None;
    }
    let distance = strsim::osa_distance(word, correction);
    let allowed = if word.len() < 8 { 1 } else { 2 };
    if word.as_bytes().first() != correction.as_bytes().first() || distance > allowed {
        return Some("may be something else than");
    }
    is_variant(word, correction).then_some("may be another spelling of")
}

/// Whether two words differ in what people write in more than one way, or are two forms of one word.
fn is_variant(word: &str, correction: &str) -> bool {
    const PAIRS: [(&str, &str); 17] = [
        ("eable", "able"),
        ("able", "eable"),
        ("able", "ible"),
        ("ible", "able"),
        ("ably", "ibly"),
        ("er", "or"),
        ("or", "er"),
        ("ers", "ors"),
        ("ors", "ers"),
        ("eing", "ing"),
        ("yness", "iness"),
        ("ly", "ally"),
        ("ally", "ly"),
        ("ayed", "aid"),
        ("ance", "ence"),
        ("ant", "ent"),
        ("ents", "ants"),
    ];
    let swapped = PAIRS
        .iter()
        .any(|(end, other)| word.strip_suffix(end).is_some_and(|stem| correction.strip_suffix(other) == Some(stem)));
    let able = |word: &str| word.ends_with("able") || word.ends_with("ible");
    let plural = |a: &str, b: &str| a.strip_suffix('s') == Some(b) || a.strip_suffix("es") == Some(b);
    let longer = |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.len() >= 2);
    swapped
        || able(word) && able(correction)
        || plural(word, correction)
        || plural(correction, word)
        || longer(word, correction)
        || longer(correction, word)
        || is_doubled(word, correction)
}

/// `targetted` and `focusses`: a consonant that some double before an ending.
fn is_doubled(word: &str, correction: &str) -> bool {
    ["ed", "ing", "er", "ers", "es"].iter().any(|end| {
        let (Some(word), Some(correction)) = (word.strip_suffix(end), correction.strip_suffix(end)) else {
            return false;
        };
        let last = correction.chars().next_back();
        last.is_some() && word.strip_suffix(|c| Some(c) == last) == Some(correction)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_certain() {
        for (word, correction) in [
            ("recieve", "receive"),
            ("teh", "the"),
            ("occuring", "occurring"),
            ("capabilites", "capabilities"),
            ("seperate", "separate"),
            ("existant", "existent"),
            ("udpate", "update"),
        ] {
            let is_ending = word == "existant";
            assert_eq!(doubt(word, correction).is_none(), !is_ending, "{word}");
        }
    }

    #[test]
    fn names_variants_and_short_words_are_not() {
        for (word, correction) in [
            ("Kapacitor", "capacitor"),
            ("writeable", "writable"),
            ("invokable", "invocable"),
            ("encrypter", "encryptor"),
            ("requeueing", "requeuing"),
            ("targetted", "targeted"),
            ("focusses", "focuses"),
            ("dirtyness", "dirtiness"),
            ("accidently", "accidentally"),
            ("publically", "publicly"),
            ("softwares", "software"),
            ("boths", "both"),
            ("spreaded", "spread"),
            ("childs", "children"),
            ("uncompressible", "incompressible"),
            ("xdescribe", "describe"),
            ("lokal", "local"),
            ("ans", "and"),
            ("lyche", "lychee"),
        ] {
            assert!(doubt(word, correction).is_some(), "{word}");
        }
    }
}
