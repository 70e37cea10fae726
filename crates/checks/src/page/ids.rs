//! The ids that generators give to headings, each by its own rule.

use std::collections::{HashMap, HashSet};

use unicode_normalization::UnicodeNormalization;

/// How a heading that gives itself no id gets one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum IdRule {
    /// As GitHub does, and with it Docusaurus, Astro, Nextra and Fumadocs (`github-slugger`).
    GitHub,
    VitePress,
    Mintlify,
    /// Python-Markdown, with the separator between words, and whether letters beyond ASCII are kept.
    Python {
        separator: String,
        unicode: bool,
    },
    /// The slugs of `pymdownx`, with the separator.
    Pymdown {
        separator: String,
        case: Case,
    },
    /// As GitHub makes them, but hyphens do not follow each other, dots stay, and `id-` stands before a digit. Older
    /// versions do otherwise, so ids are compared without what differs.
    GitBook,
    MdBook,
    /// Kramdown as Jekyll runs it.
    Kramdown,
    Hugo,
    /// MyST of Sphinx, for headings down to this level.
    Myst {
        deepest: u8,
    },
    /// Nobody can tell.
    Unknown,
}

/// What becomes of capital letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Case {
    Kept,
    Lower,
}

impl IdRule {
    /// A fragment as it is compared with ids.
    pub(crate) fn fragment(&self, written: &str) -> String {
        match self {
            Self::Mintlify => written.chars().filter(|c| !"?,;:!'\"()[]{}".contains(*c) && !is_picture(*c)).collect(),
            Self::GitBook => {
                let rest = written.strip_prefix("id-").filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
                gitbook(rest.unwrap_or(written))
            }
            _ => written.to_owned(),
        }
    }

    /// The id of a heading of this text, before it is made unique.
    pub fn slug(&self, text: &str) -> String {
        match self {
            Self::GitHub | Self::Unknown => github(text),
            Self::GitBook => gitbook(text),
            Self::VitePress => vitepress(text),
            Self::Mintlify => mintlify(text),
            Self::Python { separator, unicode } => python(text, separator, *unicode),
            Self::Pymdown { separator, case } => pymdown(text, separator, *case),
            Self::MdBook => mdbook(text),
            Self::Kramdown => kramdown(text),
            Self::Hugo => hugo(text),
            Self::Myst { .. } => myst(text),
        }
    }
}

/// Hands out ids, each once, as the generator counts them.
pub(super) struct Ids<'r> {
    rule: &'r IdRule,
    used: HashSet<String>,
    counts: HashMap<String, usize>,
}

impl<'r> Ids<'r> {
    pub(super) fn new(rule: &'r IdRule) -> Self {
        Self { rule, used: HashSet::new(), counts: HashMap::new() }
    }

    /// The id for a heading that does not give itself one.
    pub(super) fn give(&mut self, text: &str) -> String {
        let wanted = self.rule.slug(text);
        let (mark, first) = match self.rule {
            IdRule::Python { .. } | IdRule::Pymdown { .. } => ('_', 1),
            // The second heading is number two.
            IdRule::Mintlify => ('-', 2),
            _ => ('-', 1),
        };
        if !wanted.is_empty() && self.used.insert(wanted.clone()) {
            return wanted;
        }
        let (base, start) = match self.rule {
            IdRule::Python { .. } | IdRule::Pymdown { .. } => counted(&wanted),
            _ => (wanted.clone(), 0),
        };
        let mut number = self.counts.get(&base).copied().unwrap_or(first - 1).max(start);
        loop {
            number += 1;
            let id = format!("{base}{mark}{number}");
            if self.used.insert(id.clone()) {
                self.counts.insert(base, number);
                return id;
            }
        }
    }

    /// Notes an id that a heading gives itself.
    pub(super) fn take(&mut self, id: &str) {
        self.used.insert(id.to_owned());
    }
}

/// `name_2` counts on from two.
fn counted(id: &str) -> (String, usize) {
    match id.rsplit_once('_').and_then(|(base, number)| Some((base, number.parse().ok()?))) {
        Some((base, number)) if id.ends_with(|c: char| c.is_ascii_digit()) => (base.to_owned(), number),
        _ => (id.to_owned(), 0),
    }
}

/// Letters, digits, marks and underscores: what a word of most rules is made of.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || unicode_normalization::char::is_combining_mark(c)
}

fn github(text: &str) -> String {
    let mut slug = String::with_capacity(text.len());
    for c in text.trim().chars().flat_map(char::to_lowercase) {
        match c {
            ' ' => slug.push('-'),
            '-' => slug.push('-'),
            _ if is_word(c) || matches!(c, '\u{203f}' | '\u{2040}' | '\u{2054}') => slug.push(c),
            _ => {}
        }
    }
    slug
}

fn vitepress(text: &str) -> String {
    const SPECIAL: &str = "~`!@#$%^&*()-_+=[]{}|\\;:\"'“”‘’<>,.?/";
    let mut slug = String::with_capacity(text.len());
    for c in text.nfkd() {
        match c {
            '\u{300}'..='\u{36f}' => {}
            _ if c.is_whitespace() || SPECIAL.contains(c) => {
                if !slug.ends_with('-') {
                    slug.push('-');
                }
            }
            '\0'..='\u{1f}' => {}
            _ => slug.push(c),
        }
    }
    let slug = slug.trim_matches('-').to_lowercase();
    if slug.starts_with(|c: char| c.is_ascii_digit()) { format!("_{slug}") } else { slug }
}

/// Words joined by hyphens; what an address would have to encode stays, but for brackets, quotes and pictures.
fn mintlify(text: &str) -> String {
    let lower = text.trim().to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let mut slug = String::with_capacity(lower.len());
    for c in words.join("-").chars() {
        match c {
            '-' | '.' | '!' | '~' | '*' | '\'' | '(' | ')' => {
                if !slug.ends_with('-') {
                    slug.push('-');
                }
            }
            _ => slug.push(c),
        }
    }
    let slug = joined(&slug);
    slug.trim_matches('-').chars().filter(|c| !"?,;:\"[]{}".contains(*c) && !is_picture(*c)).collect()
}

/// `what-s-new` and `don-t` as one word: `whats-new`, `dont`.
fn joined(slug: &str) -> String {
    let mut out = String::with_capacity(slug.len());
    let mut may_join = false;
    for (number, part) in slug.split('-').enumerate() {
        let joins = may_join && matches!(part, "t" | "s");
        if number > 0 && !joins {
            out.push('-');
        }
        out.push_str(part);
        // What was joined to a word is not one that another is joined to.
        may_join = !joins && !part.is_empty() && !part.ends_with('_');
    }
    out
}

/// Signs that are drawn in colour, and the marks that join them.
fn is_picture(c: char) -> bool {
    matches!(c,
        '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2194}'..='\u{21aa}'
        | '\u{231a}'..='\u{23ff}' | '\u{25aa}'..='\u{27bf}' | '\u{2934}'..='\u{2935}' | '\u{2b05}'..='\u{2b55}'
        | '\u{1f000}'..='\u{1faff}')
}

fn python(text: &str, separator: &str, unicode: bool) -> String {
    let plain: String = if unicode { text.to_owned() } else { text.nfkd().filter(char::is_ascii).collect() };
    let kept: String = plain.chars().filter(|c| is_word(*c) || c.is_whitespace() || *c == '-').collect();
    let mut slug = String::with_capacity(kept.len());
    let first = separator.chars().next().unwrap_or('-');
    let mut in_gap = false;
    for c in kept.trim().to_lowercase().chars() {
        let is_gap = c.is_whitespace() || c == first;
        match (is_gap, in_gap) {
            (true, false) => slug.push_str(separator),
            (true, true) => {}
            (false, _) => slug.push(c),
        }
        in_gap = is_gap;
    }
    slug
}

fn pymdown(text: &str, separator: &str, case: Case) -> String {
    let text: String = text.nfc().collect();
    let text = match case {
        Case::Lower => text.trim().to_lowercase(),
        Case::Kept => text.trim().to_owned(),
    };
    let mut slug = String::with_capacity(text.len());
    for c in without_tags(&text).chars().filter(|c| is_word(*c) || matches!(c, '-' | ' ')) {
        if c == ' ' { slug.push_str(separator) } else { slug.push(c) }
    }
    slug
}

/// What looks like a tag left out, even if it was code.
fn without_tags(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let Some(length) = rest[start..].find('>') else { break };
        kept.push_str(&rest[..start]);
        rest = &rest[start + length + 1..];
    }
    kept.push_str(rest);
    kept
}

fn mdbook(text: &str) -> String {
    let mut slug = String::with_capacity(text.len());
    for c in text.trim().to_lowercase().chars() {
        match c {
            _ if c.is_alphanumeric() || matches!(c, '_' | '-') => slug.push(c),
            _ if c.is_whitespace() => slug.push('-'),
            _ => {}
        }
    }
    if slug.is_empty() { "section".to_owned() } else { slug }
}

fn kramdown(text: &str) -> String {
    let mut slug = String::with_capacity(text.len());
    // Two or three hyphens are a dash.
    for c in text.to_lowercase().replace("---", "").replace("--", "").chars() {
        match c {
            ' ' | '\t' => slug.push('-'),
            '-' => slug.push('-'),
            _ if is_word(c) => slug.push(c),
            _ => {}
        }
    }
    slug
}

fn gitbook(text: &str) -> String {
    let slug = github(text);
    let parts: Vec<&str> = slug.split('-').filter(|part| !part.is_empty()).collect();
    parts.join("-")
}

fn hugo(text: &str) -> String {
    let mut slug = String::with_capacity(text.len());
    for c in text.trim().chars() {
        match c {
            '-' | ' ' => slug.push('-'),
            _ if c.is_alphanumeric() || c == '_' => slug.extend(c.to_lowercase()),
            _ => {}
        }
    }
    slug
}

fn myst(text: &str) -> String {
    let lower = text.to_lowercase().replace(' ', "-");
    lower.chars().filter(|c| is_word(*c) || *c == '-').collect()
}

/// The ids that the generators in common use give to a heading, each once, that of GitHub first; `raw` is the heading as it
/// is written.
pub(super) fn common(text: &str, raw: &str) -> Vec<String> {
    let python = |unicode| python(text, "-", unicode);
    let all = [
        github(text),
        goldmark(raw),
        goldmark(text),
        pandoc(text),
        kramdown(text),
        plain_kramdown(text),
        python(false),
        python(true),
        pymdown(text, "-", Case::Lower),
        mdbook(text),
        vitepress(text),
        docutils(text),
        markdown_it(text),
    ];
    let mut found: Vec<String> = Vec::new();
    for id in all {
        if !id.is_empty() && !found.contains(&id) {
            found.push(id);
        }
    }
    found
}

/// Goldmark by itself, without the rule that Hugo gives it: it reads the bytes of the line, markup included.
fn goldmark(raw: &str) -> String {
    let mut slug = String::with_capacity(raw.len());
    for c in raw.trim().chars() {
        match c {
            _ if c.is_ascii_alphanumeric() => slug.push(c.to_ascii_lowercase()),
            _ if c.is_ascii_whitespace() || matches!(c, '-' | '_') => slug.push('-'),
            _ => {}
        }
    }
    if slug.is_empty() { "heading".to_owned() } else { slug }
}

/// Pandoc: everything up to the first letter is left out.
fn pandoc(text: &str) -> String {
    let kept: String = text.chars().filter(|c| is_word(*c) || c.is_whitespace() || matches!(c, '-' | '.')).collect();
    let words: Vec<&str> = kept.split_whitespace().collect();
    let slug = words.join("-").to_lowercase();
    let slug = slug.trim_start_matches(|c: char| !c.is_alphabetic());
    if slug.is_empty() { "section".to_owned() } else { slug.to_owned() }
}

/// Kramdown by itself, without the rule that Jekyll gives it.
fn plain_kramdown(text: &str) -> String {
    let kept = text.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    let kept = kept.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-'));
    let slug: String = kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect();
    if slug.is_empty() { "section".to_owned() } else { slug }
}

/// Docutils and many tools for slugs: runs of anything but letters and digits become one hyphen.
fn docutils(text: &str) -> String {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.join("-")
}

/// The plugin of markdown-it, which keeps punctuation.
fn markdown_it(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join("-").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_rules_are_those_of_the_generators() {
        for (text, raw, expected) in [
            ("client_ip", "`client_ip`", &["client_ip", "client-ip"][..]),
            ("GET /a/<id>", "GET /a/&lt;id&gt;", &["get-aid", "get-altidgt", "get-a-id"]),
            ("1. Set up", "1. Set up", &["1-set-up", "set-up"]),
            ("Set  up", "Set  up", &["set--up", "set-up"]),
            ("Plain words", "Plain words", &["plain-words"]),
        ] {
            let found = common(text, raw);
            for id in expected {
                assert!(found.iter().any(|known| known == id), "{text}: {id} in {found:?}");
            }
            assert_eq!(found.len() == 1, expected.len() == 1, "{text}: {found:?}");
        }
    }

    /// What the generators themselves made of these headings.
    #[test]
    fn slugs_are_as_each_generator_makes_them() {
        let python = IdRule::Python { separator: "-".to_owned(), unicode: false };
        for (rule, text, expected) in [
            (IdRule::GitHub, "Getting started", "getting-started"),
            (IdRule::GitHub, "What's new?", "whats-new"),
            (IdRule::GitHub, "C++ & Rust", "c--rust"),
            (IdRule::GitHub, "Array<T> and more", "arrayt-and-more"),
            (IdRule::GitHub, "🚀 Launch", "-launch"),
            (IdRule::GitHub, "snake_case-and-more", "snake_case-and-more"),
            (IdRule::VitePress, "1. Über `x` & y!", "_1-uber-x-y"),
            (IdRule::VitePress, "日本語", "日本語"),
            (IdRule::Mintlify, "What's new?", "whats-new"),
            (IdRule::Mintlify, "Plan S t", "plans-t"),
            (IdRule::Mintlify, "Q & A", "q-&-a"),
            (IdRule::Mintlify, "Split with `$ref` (new)", "split-with-$ref-new"),
            (python.clone(), "Über uns — x_y", "uber-uns-x_y"),
            (python, "What's  new?", "whats-new"),
            (IdRule::Pymdown { separator: "-".to_owned(), case: Case::Lower }, "Über: x  y", "über-x--y"),
            (IdRule::MdBook, "The `match` Keyword!", "the-match-keyword"),
            (IdRule::Pymdown { separator: "_".to_owned(), case: Case::Lower }, "A code<T> x", "a_code_x"),
            (IdRule::MdBook, "::", "section"),
            (IdRule::GitBook, "1.2 - Start", "12-start"),
            (IdRule::Kramdown, "A/B: test", "ab-test"),
            (IdRule::Kramdown, "Snake_case -- dash", "snake_case--dash"),
            (IdRule::Hugo, "A/B: test_x", "ab-test_x"),
        ] {
            let text = text.replace('`', "");
            assert_eq!(rule.slug(&text), expected, "{rule:?} {text}");
        }
    }

    #[test]
    fn ids_are_handed_out_once() {
        let given = |rule: &IdRule, texts: &[&str]| {
            let mut ids = Ids::new(rule);
            texts.iter().map(|text| ids.give(text)).collect::<Vec<_>>()
        };
        assert_eq!(given(&IdRule::GitHub, &["a", "a", "a-1", "a"]), ["a", "a-1", "a-1-1", "a-2"]);
        let python = IdRule::Python { separator: "-".to_owned(), unicode: false };
        assert_eq!(given(&python, &["a", "a", "a", "!", "?"]), ["a", "a_1", "a_2", "_1", "_2"]);
        assert_eq!(given(&IdRule::Mintlify, &["a", "a", "a"]), ["a", "a-2", "a-3"]);
    }
}
