//! What `.gitignore` files leave out of a repository: a page that is named there is made by a program, so that nobody
//! can tell from the repository whether it will be there.

use std::collections::HashMap;
use std::io;
use std::sync::{PoisonError, RwLock};

use super::glob::matches_parts;
use crate::{Files, paths};

/// Of a file with more rules only the first count: no project needs so many.
const MOST_RULES: usize = 1000;

/// The rules of all `.gitignore` files, by their folders.
#[derive(Debug, Default)]
pub(crate) struct Ignored {
    files: HashMap<String, Vec<Rule>>,
    /// What was found out about folders.
    known: RwLock<HashMap<String, bool>>,
}

#[derive(Debug)]
struct Rule {
    parts: Vec<String>,
    /// Whether it takes back what an earlier rule said.
    keeps: bool,
    only_folders: bool,
}

impl Ignored {
    /// Reads the `.gitignore` files among these paths.
    pub(crate) fn read(files: &dyn Files, all: &[String]) -> io::Result<Self> {
        let mut found = HashMap::new();
        for path in all.iter().filter(|path| paths::file_name(path) == ".gitignore") {
            let text = files.read(path)?.and_then(|content| String::from_utf8(content).ok()).unwrap_or_default();
            found.insert(paths::folder(path).to_owned(), text.lines().filter_map(rule).take(MOST_RULES).collect());
        }
        Ok(Self { files: found, known: RwLock::default() })
    }

    /// Whether a file, or a folder that it would be in, is left out.
    pub(crate) fn holds(&self, path: &str) -> bool {
        self.holds_folder(paths::folder(path)) || self.says(path, false)
    }

    fn holds_folder(&self, folder: &str) -> bool {
        if folder.is_empty() {
            return false;
        }
        if let Some(known) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(folder) {
            return *known;
        }
        let mut end = 0;
        let mut holds = false;
        while end < folder.len() && !holds {
            end = folder[end + 1..].find('/').map_or(folder.len(), |at| end + 1 + at);
            holds = self.says(&folder[..end], true);
        }
        self.known.write().unwrap_or_else(PoisonError::into_inner).insert(folder.to_owned(), holds);
        holds
    }

    /// What the rules of the folders above say, of which those further down count more.
    fn says(&self, path: &str, is_folder: bool) -> bool {
        let mut ignored = false;
        let ends = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at));
        for end in ends {
            let Some(rules) = self.files.get(&path[..end]) else { continue };
            let parts: Vec<&str> = path[end..].trim_start_matches('/').split('/').collect();
            for rule in rules.iter().filter(|rule| is_folder || !rule.only_folders) {
                if matches_parts(&rule.parts, &parts) {
                    ignored = !rule.keeps;
                }
            }
        }
        ignored
    }
}

fn rule(line: &str) -> Option<Rule> {
    let line = line.trim_end();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let (keeps, pattern) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
    let only_folders = pattern.ends_with('/');
    let pattern = pattern.trim_end_matches('/');
    let is_anchored = pattern.contains('/');
    let mut parts: Vec<String> = pattern.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    if !is_anchored {
        parts.insert(0, "**".to_owned());
    }
    (!parts.is_empty()).then_some(Rule { parts, keeps, only_folders })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ignored(files: &[(&str, &str)]) -> Ignored {
        let read = |(folder, text): &(&str, &str)| ((*folder).to_owned(), text.lines().filter_map(rule).collect());
        Ignored { files: files.iter().map(read).collect(), known: RwLock::default() }
    }

    #[test]
    fn paths_are_left_out_as_git_does() {
        let rules = ignored(&[("", "# made\n/api/\n*.gen.md\n!keep.gen.md\nbuild\n"), ("docs", "generated/**\n")]);
        for (path, expected) in [
            ("api/x.md", true),
            ("docs/api/x.md", false),
            ("docs/a.gen.md", true),
            ("docs/keep.gen.md", false),
            ("docs/build/x.md", true),
            ("docs/generated/x.md", true),
            ("generated/x.md", false),
            ("docs/builds.md", false),
        ] {
            assert_eq!(rules.holds(path), expected, "{path}");
        }
    }
}
