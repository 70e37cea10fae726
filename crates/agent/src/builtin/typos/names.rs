//! Words that the documentation uses as names: what looks like a slip of the pen may be what something is called.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use copydesk_checks::page::{Link, Page};

use super::dictionary;

/// A word that stands in the text so often is meant.
const OFTEN: usize = 4;
/// A documentation of so many different words has used each that it needs.
const RICH: usize = 3000;
/// More different words than these are not kept.
const MOST_WORDS: usize = 300_000;

/// What was seen of words that are in the dictionary of typos, in small letters.
#[derive(Default)]
pub(super) struct Names {
    names: HashSet<String>,
    in_prose: HashMap<String, usize>,
    /// All words of the prose, in small letters.
    vocabulary: HashSet<String>,
    /// Fragments of links from one page to another: a heading that these name keeps its words.
    fragments: HashSet<String>,
}

impl Names {
    /// The words of the paths of files.
    pub(super) fn add_path(&mut self, path: &str) {
        self.add(path);
    }

    /// What a page says that is not prose, and how often it says each word that is.
    pub(super) fn add_page(&mut self, page: &Page, text: &str) {
        self.add_between(page, text);
        for link in &page.links {
            if let Some((before, fragment)) = link.target.split_once('#')
                && !before.is_empty()
            {
                self.fragments.insert(fragment.to_lowercase());
            }
        }
    }

    /// What stands between the pieces of prose: code, addresses, tags, attributes, imports, expressions, front matter. The
    /// fragment of a link is made from the words of a heading, and no name of its own.
    fn add_between(&mut self, page: &Page, text: &str) {
        let fragment = |link: &Link| {
            let start = text.get(link.range.clone())?.find('#')?;
            Some(link.range.start + start..link.range.end)
        };
        let mut holes: Vec<Range<usize>> = page.prose.clone();
        holes.extend(page.links.iter().filter_map(fragment));
        holes.sort_unstable_by_key(|hole| hole.start);
        let mut at = 0;
        for hole in holes {
            self.add(text.get(at..hole.start).unwrap_or_default());
            at = hole.end.max(at);
        }
        self.add(text.get(at..).unwrap_or_default());
    }

    /// The words of the prose, for what they tell about what else may be meant.
    pub(super) fn add_vocabulary(&mut self, page: &Page, text: &str) {
        for prose in page.prose.iter().filter_map(|range| text.get(range.clone())) {
            for word in prose.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 3) {
                if word.bytes().all(|byte| byte.is_ascii_lowercase())
                    && self.vocabulary.len() < MOST_WORDS
                    && !self.vocabulary.contains(word)
                    && dictionary::corrections(word).is_none()
                {
                    self.vocabulary.insert(word.to_owned());
                }
            }
        }
    }

    /// Why a correction may not be what was meant; none if nothing speaks against it.
    pub(super) fn why_not(&self, word: &str, correction: &str) -> Option<&'static str> {
        if self.vocabulary.len() >= RICH && !self.vocabulary.contains(correction) {
            return Some("may be a word that is used nowhere else rather than a slip for");
        }
        let is_near = |other: &&String| {
            other.len().abs_diff(word.len()) <= 1
                && other.as_bytes().first() == word.as_bytes().first()
                && other.as_str() != correction
                && strsim::osa_distance(other, word) <= 1
        };
        self.vocabulary.iter().any(|other| is_near(&other)).then_some("may be another word than")
    }

    /// A word of the prose. With a capital inside a sentence it is the name of something.
    pub(super) fn add_prose(&mut self, word: &str, inside_sentence: bool) {
        *self.in_prose.entry(word.to_lowercase()).or_default() += 1;
        if inside_sentence && word.chars().next().is_some_and(char::is_uppercase) {
            self.names.insert(word.to_lowercase());
        }
    }

    fn add(&mut self, text: &str) {
        for word in text.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 1) {
            self.add_word(word);
            if word.chars().any(char::is_uppercase) {
                humps(word).for_each(|part| self.add_word(part));
            }
        }
    }

    fn add_word(&mut self, word: &str) {
        if dictionary::corrections(word).is_some() {
            self.names.insert(word.to_lowercase());
        }
    }

    /// Why a word is no slip; none if nothing speaks for it.
    pub(super) fn why(&self, word: &str) -> Option<&'static str> {
        let word = word.to_lowercase();
        if self.names.contains(&word) {
            return Some("is also a name, or in code");
        }
        (self.in_prose.get(&word).copied().unwrap_or(0) >= OFTEN).then_some("is used too often for a slip")
    }

    /// Whether a link from another page names this anchor.
    pub(super) fn is_linked(&self, anchor: &str) -> bool {
        self.fragments.contains(&anchor.to_lowercase())
    }
}

/// The parts of `recieveMail`.
fn humps(word: &str) -> impl Iterator<Item = &str> {
    let mut starts: Vec<usize> = vec![0];
    let letters: Vec<(usize, char)> = word.char_indices().collect();
    starts.extend(
        letters.windows(2).filter(|pair| pair[0].1.is_lowercase() && pair[1].1.is_uppercase()).map(|pair| pair[1].0),
    );
    starts.push(word.len());
    let ranges: Vec<Range<usize>> = starts.windows(2).map(|pair| pair[0]..pair[1]).collect();
    ranges.into_iter().filter_map(|range| word.get(range))
}
