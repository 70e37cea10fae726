//! Anchors that are nearly what a fragment says.

use crate::page::anchor_key;

/// More anchors than these are not compared.
const MOST_ANCHORS: usize = 5000;
/// Longer names are not compared letter by letter.
const LONGEST: usize = 200;

/// The one anchor that a fragment must mean: the only one that differs in case and punctuation alone, or else the only
/// one within a slip of the pen. None if there is none, or more than one, or if another word may be meant.
pub(super) fn only_near<'a>(wanted: &str, anchors: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let key = plain(wanted);
    if key.chars().count() < 3 {
        return None;
    }
    let same: Vec<&str> = anchors.clone().filter(|anchor| plain(anchor) == key).take(2).collect();
    match same.as_slice() {
        [only] => return Some(only),
        [] => {}
        _ => return None,
    }
    let length = wanted.chars().count();
    let allowed = if length < 10 { 1 } else { 2 };
    if length < 5 {
        return None;
    }
    // One that is only a little further away makes it a choice, which is not ours.
    let mut found = None;
    for anchor in anchors.take(MOST_ANCHORS) {
        if distance(wanted, anchor, allowed + 1).is_none() {
            continue;
        }
        if found.replace(anchor).is_some() {
            return None;
        }
    }
    found.filter(|anchor| distance(wanted, anchor, allowed).is_some() && is_slip(wanted, anchor))
}

/// A name without case and the punctuation of ASCII. Marks of other scripts make another word, and sites differ in which of
/// them they keep.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !c.is_ascii() || c.is_ascii_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether two names differ by slips within words rather than by another word or number: the words are as many, and of
/// each pair that differs both are long and begin alike.
fn is_slip(wanted: &str, anchor: &str) -> bool {
    let words = |name: &str| -> Vec<String> {
        name.to_lowercase()
            .split(|c: char| !c.is_alphanumeric())
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (wanted, anchor) = (words(wanted), words(anchor));
    let is_near = |(a, b): (&String, &String)| {
        let digits = |word: &str| word.chars().any(|c| c.is_ascii_digit());
        a == b
            || a.chars().count().min(b.chars().count()) >= 4
                && a.chars().next() == b.chars().next()
                && !digits(a)
                && !digits(b)
                && !is_other_form(a, b)
                && strsim::osa_distance(a, b) <= if a.chars().count() < 8 { 1 } else { 2 }
    };
    wanted.len() == anchor.len() && wanted.iter().zip(&anchor).all(is_near)
}

/// Whether one word is the other with an ending that makes it another word: `serve` and `server`, `compute` and `computed`.
/// A plural is the same word, and a letter that is typed twice a slip.
fn is_other_form(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let is_doubled = |ending: &str| ending.chars().eq(short.chars().next_back());
    long.strip_prefix(short).is_some_and(|ending| !matches!(ending, "" | "s" | "es") && !is_doubled(ending))
}

/// Anchors that come into question: those that begin with the fragment or the other way round, and near ones.
pub(super) fn candidates<'a>(fragment: &str, anchors: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = anchor_key(fragment);
    if wanted.len() < 3 {
        return Vec::new();
    }
    let may_be = |anchor: &&str| {
        let key = anchor_key(anchor);
        let extends = key.len() >= 4 && wanted.len() >= 4 && (key.starts_with(&wanted) || wanted.starts_with(&key));
        key == wanted || extends || distance(fragment, anchor, 2).is_some()
    };
    anchors.take(MOST_ANCHORS).filter(may_be).take(3).collect()
}

/// How many characters must be added, dropped, replaced or swapped with the next to get from one text to the other; none
/// if more than `most`.
fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    // A character has at most four bytes: what differs more in length differs in more characters.
    if a.len().abs_diff(b.len()) > most * 4 || a.len() > LONGEST || b.len() > LONGEST {
        return None;
    }
    Some(strsim::osa_distance(a, b)).filter(|distance| *distance <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_seen_through_and_another_word_is_not() {
        let near = |wanted: &str, anchors: &[&'static str]| only_near(wanted, anchors.iter().copied());
        for (wanted, anchor) in [
            ("Index_Pages", "index-pages"),
            ("instalation", "installation"),
            ("the-lmiits", "the-limits"),
            ("option", "options"),
            ("configuring-teh-serverr", "configuring-teh-server"),
        ] {
            assert_eq!(near(wanted, &[anchor, "something-else"]), Some(anchor), "{wanted}");
        }
        for (wanted, anchors) in [
            ("get-user", &["set-user"][..]),
            ("option-1", &["option-2"]),
            ("version-10", &["version-11"]),
            ("serve", &["server"]),
            ("refetching", &["prefetching"]),
            ("import-data", &["export-data"]),
            ("encode", &["decode"]),
            ("the-limits", &["the-limit", "the-limitss"]),
            ("a", &["b"]),
            ("with-cats", &["with-a-cat"]),
            (
                "\u{938}\u{94d}\u{925}\u{93e}\u{928}\u{940}\u{92f}-run",
                &["\u{938}\u{925}\u{93e}\u{928}\u{940}\u{92f}-run"],
            ),
        ] {
            assert_eq!(near(wanted, anchors), None, "{wanted}");
        }
    }
}
