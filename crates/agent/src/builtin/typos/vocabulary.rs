//! Words that the project itself has settled: in `.copydesk.toml`, Vale's vocabularies and the configuration of `typos`.

use std::collections::HashSet;

use copydesk_checks::Rules;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use regex::{Regex, RegexBuilder};

use super::super::docs::{ChoreFailure, Docs};

const MOST_REGEXES: usize = 500;
const LARGEST_REGEX: usize = 64 * 1024;

#[derive(Default)]
pub(super) struct Vocabulary {
    /// In small letters.
    words: HashSet<String>,
    patterns: Vec<Regex>,
    left_out: GlobSet,
    rules: Rules,
}

impl Vocabulary {
    pub(super) fn read(docs: &Docs) -> Result<Self, ChoreFailure> {
        let mut vocabulary = Self::default();
        let mut globs = GlobSetBuilder::new();
        for path in docs.workspace.list("")? {
            if is_accept_file(&path) {
                if let Some(text) = docs.glance(&path)? {
                    text.lines().for_each(|line| vocabulary.accept(line.trim()));
                }
            } else if matches!(path.rsplit('/').next(), Some("typos.toml" | "_typos.toml" | ".typos.toml"))
                && let Some(text) = docs.glance(&path)?
            {
                let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                vocabulary.typos_file(&text, folder, &mut globs);
            }
        }
        if let Some(rules) = docs.glance(Rules::FILE)?.and_then(|text| Rules::parse(&text).ok()) {
            vocabulary.words.extend(rules.words().iter().map(|word| word.to_lowercase()));
            vocabulary.rules = rules;
        }
        vocabulary.left_out = globs.build().unwrap_or_default();
        Ok(vocabulary)
    }

    /// A line of `accept.txt`: a word, or a regular expression that a whole word must match.
    fn accept(&mut self, line: &str) {
        if line.is_empty() || line.starts_with('#') {
            return;
        }
        if line.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ' | '\'')) {
            self.words.extend(line.split_whitespace().map(str::to_lowercase));
        } else if self.patterns.len() < MOST_REGEXES {
            let built =
                RegexBuilder::new(&format!("^(?:{line})$")).case_insensitive(true).size_limit(LARGEST_REGEX).build();
            self.patterns.extend(built.ok());
        }
    }

    /// A word that the file maps to itself is right; one that it maps to another is that project's business as well.
    fn typos_file(&mut self, text: &str, folder: &str, globs: &mut GlobSetBuilder) {
        let Ok(config) = copydesk_values::toml(text) else { return };
        let mut tables = vec![config.at(&["default"])];
        tables.extend(config.get("type").into_iter().flat_map(|types| types.entries()).map(|(_, table)| Some(table)));
        for table in tables.into_iter().flatten() {
            for name in ["extend-words", "extend-identifiers"] {
                let entries = table.get(name).map(copydesk_values::Value::entries).unwrap_or_default();
                self.words.extend(entries.iter().map(|(key, _)| key.name.to_lowercase()));
            }
            for name in ["extend-ignore-words-re", "extend-ignore-identifiers-re"] {
                let items = table.get(name).map(copydesk_values::Value::items).unwrap_or_default();
                for pattern in items.iter().filter_map(|item| item.text()).take(MOST_REGEXES) {
                    let built = RegexBuilder::new(pattern).size_limit(LARGEST_REGEX).build();
                    self.patterns.extend(built.ok());
                }
            }
        }
        let excluded = config.at(&["files", "extend-exclude"]).map(copydesk_values::Value::items).unwrap_or_default();
        for glob in excluded.iter().filter_map(|item| item.text()) {
            add_glob(glob, folder, globs);
        }
    }

    pub(super) fn holds(&self, word: &str) -> bool {
        self.words.contains(&word.to_lowercase()) || self.patterns.iter().any(|pattern| pattern.is_match(word))
    }

    /// Whether the project has a page left out.
    pub(super) fn leaves_out(&self, path: &str) -> bool {
        self.left_out.is_match(path) || self.rules.leaves_out(path)
    }
}

/// As `.gitignore` reads them: a name anywhere, or a path from the folder of the file.
fn add_glob(glob: &str, folder: &str, globs: &mut GlobSetBuilder) {
    let plain = glob.trim_start_matches('/').trim_end_matches('/');
    let above = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let anchored = glob.trim_end_matches('/').contains('/');
    let starts = if anchored { vec![above] } else { vec![above.clone(), format!("{above}**/")] };
    for start in starts {
        for end in ["", "/**"] {
            let built = GlobBuilder::new(&format!("{start}{plain}{end}")).literal_separator(true).build();
            if let Ok(built) = built {
                globs.add(built);
            }
        }
    }
}

/// `styles/config/vocabularies/NAME/accept.txt` or, as it was before, `styles/Vocab/NAME/accept.txt`.
fn is_accept_file(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    parts.next() == Some("accept.txt")
        && parts.next().is_some()
        && parts
            .next()
            .is_some_and(|folder| folder.eq_ignore_ascii_case("vocabularies") || folder.eq_ignore_ascii_case("vocab"))
}
