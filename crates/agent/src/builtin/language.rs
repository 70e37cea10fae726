//! Whether a page is written in English. The dictionary of typos takes many a word of other languages for a slip.

use copydesk_checks::page::Page;

const ENGLISH: &[&str] = &[
    "the", "of", "and", "to", "is", "for", "you", "your", "with", "this", "that", "are", "it", "be", "can", "from",
    "when", "if", "or", "not", "how", "which", "will", "by", "have", "has",
];

/// Words that are frequent in other languages and rare in English.
const OTHER: &[&str] = &[
    "der", "das", "und", "ist", "nicht", "mit", "für", "ein", "eine", "sie", "auf", "den", "dem", "wird", "oder", "le",
    "les", "des", "est", "une", "dans", "pour", "vous", "avec", "sur", "que", "qui", "el", "los", "las", "una", "por",
    "con", "del", "para", "como", "il", "che", "di", "della", "sono", "per", "não", "uma", "um", "dos", "het", "een",
    "van", "voor", "niet", "och", "att", "det", "som", "är", "og", "på", "til", "av", "jest", "nie", "się", "są",
];

/// Whether the prose of a page is English, or too short to tell.
pub(crate) fn is_english(page: &Page, text: &str) -> bool {
    let (mut english, mut other) = (0_usize, 0_usize);
    for range in &page.prose {
        for word in text.get(range.clone()).unwrap_or_default().split(|c: char| !c.is_alphabetic()) {
            english += usize::from(ENGLISH.iter().any(|one| one.eq_ignore_ascii_case(word)));
            other += usize::from(OTHER.contains(&word));
        }
    }
    other < 3 || english > other
}

#[cfg(test)]
mod tests {
    use copydesk_checks::page::parse;

    use super::*;

    #[test]
    fn tells_english_from_others() {
        let english = |text: &str| is_english(&parse("a.md", text), text);
        assert!(english("Send the mail to the queue and wait for it."));
        assert!(english("Teh end"));
        assert!(!english("Das ist nicht der Weg, als Nutzer mit dem Schlüssel."));
        assert!(!english("Les clés sont dans le fichier, pour vous et pour les autres."));
    }
}
