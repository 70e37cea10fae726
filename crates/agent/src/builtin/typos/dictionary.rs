//! The dictionary of English typos: a table that `scripts/update-typos` makes, packed into the program and unpacked when
//! the first word is looked up.

use std::collections::HashMap;
use std::io::Read;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use unicase::UniCase;

/// `wrong<TAB>right[,right…]`, a line for each typo.
const PACKED: &[u8] = include_bytes!("../../../data/typos.tsv.gz");

static TEXT: LazyLock<String> = LazyLock::new(|| {
    let mut text = String::new();
    GzDecoder::new(PACKED).read_to_string(&mut text).expect("the table is part of the program and unpacked by a test");
    text
});

static CORRECTIONS: LazyLock<HashMap<&str, &str>> =
    LazyLock::new(|| TEXT.lines().filter_map(|line| line.split_once('\t')).collect());

/// What may have been meant by a typo, in small letters; nothing if the word is no known typo.
pub(super) fn corrections(word: &str) -> Option<Vec<&'static str>> {
    // Ordinary words of an ordinary text are looked up by the thousand, and most need no folding.
    let found = if word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        CORRECTIONS.get(word)
    } else {
        CORRECTIONS.get(UniCase::new(word).to_folded_case().as_str())
    };
    found.map(|several| several.split(',').collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole_and_sorted() {
        let words: Vec<&str> = TEXT.lines().map(|line| line.split_once('\t').unwrap().0).collect();
        assert_eq!(words.len(), 95_972);
        assert_eq!(CORRECTIONS.len(), words.len());
        assert!(words.is_sorted_by(|a, b| a.as_bytes() < b.as_bytes()));
        for (word, several) in CORRECTIONS.iter() {
            assert_eq!(UniCase::new(word).to_folded_case(), *word);
            assert!(several.split(',').all(|correction| !correction.is_empty()), "{word}");
        }
    }

    #[test]
    fn words_are_found_whatever_their_case() {
        for word in ["recieve", "Recieve", "RECIEVE", "recıeve"] {
            let wanted = (word != "recıeve").then(|| vec!["receive"]);
            assert_eq!(corrections(word), wanted, "{word}");
        }
        assert_eq!(corrections("Évaluate"), Some(vec!["evaluate"]));
        assert_eq!(corrections("adreß"), Some(vec!["address"]));
        assert_eq!(corrections("sawtees"), Some(vec!["sautés"]));
        assert!(corrections("thw").is_some_and(|several| several.len() > 1));
        for word in ["", "a", "receive", "Straße", &"x".repeat(100)] {
            assert_eq!(corrections(word), None, "{word}");
        }
    }

    #[test]
    fn no_correction_is_a_typo_itself() {
        for correction in CORRECTIONS.values().filter(|several| !several.contains(',')) {
            assert_eq!(corrections(correction), None, "{correction}");
        }
    }
}
