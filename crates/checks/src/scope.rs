//! Which files a change may touch, and how many.

use crate::site::SiteSettings;
use crate::{invisible, names, nav, paths};

/// What a change may touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The folders that hold documentation, or single files; `.` for all of the repository.
    pub docs_paths: Vec<String>,
    /// The most files that may change.
    pub max_files: usize,
    /// The most lines that may be added and removed, together.
    pub max_lines: usize,
    /// The most bytes that the changed files may have, together.
    pub max_bytes: usize,
}

impl Scope {
    /// A scope over these folders, with the usual limits: 100 files, 10,000 lines and 16 MiB.
    pub fn new(docs_paths: &[String]) -> Self {
        Self { docs_paths: docs_paths.to_vec(), max_files: 100, max_lines: 10_000, max_bytes: 16 * 1024 * 1024 }
    }

    /// Whether a file may be written; if not, why, as one sentence for a user or a model.
    pub fn may_write(&self, path: &str) -> Result<(), String> {
        let path = path.trim_start_matches("./");
        if let Some(unseen) = path.chars().find(|c| invisible::is_unseen(*c)) {
            let (path, code) = (invisible::shown(path), u32::from(unseen));
            return Err(format!("`{path}` holds a character that nobody sees (U+{code:04X}), which no path may."));
        }
        if path.is_empty() || paths::normalise("", path).as_deref() != Some(path) || !path.split('/').all(is_plain) {
            return Err(format!("{path:?} is not a plain path inside the repository."));
        }
        if nav::is_script(path) {
            return Err(format!(
                "{path} is a script that runs when the documentation is built, and may not be changed."
            ));
        }
        if path.split('/').any(|part| part.starts_with('.')) {
            return Err(format!("{path} is or lies in a hidden file or folder, which is not documentation."));
        }
        if names::is_agent_file(path) {
            return Err(format!("{path} holds instructions for agents and may not be changed."));
        }
        if names::is_build_file(path) {
            return Err(format!("{path} is not documentation but part of how the project is built or owned."));
        }
        let docs_path = self.docs_path_of(path);
        let below = docs_path.as_deref().map_or(path, |folder| path.strip_prefix(folder).unwrap_or(path));
        if names::is_generated(below) {
            return Err(format!("{path} lies in a folder of generated files."));
        }
        if SiteSettings::new(&self.docs_paths).may_hold_navigation(path) {
            return Ok(());
        }
        let Some(docs_path) = docs_path else {
            let folders = self.docs_paths.join(", ");
            return Err(format!("{path} is outside of the documentation, which is in {folders}."));
        };
        if names::is_prose(path) || names::is_readme(path) {
            return Ok(());
        }
        if !names::is_data(path) {
            return Err(format!(
                "{path} is not a documentation file: only text formats such as .md and .mdx may be changed."
            ));
        }
        // Where all of a repository may hold pages, its data is still mostly that of programs.
        if docs_path.is_empty() && !names::is_among_docs(path) {
            return Err(format!("{path} is data outside of any folder of documentation, and may not be changed."));
        }
        Ok(())
    }

    /// Whether a file with this content may be written over; a generated one would lose the change.
    pub fn may_replace(&self, path: &str, content: &[u8]) -> Result<(), String> {
        let start = content.get(..2048).unwrap_or(content);
        let head = String::from_utf8_lossy(start);
        let head: Vec<&str> = head.lines().take(10).collect();
        let is_generated = head.iter().any(|line| {
            let upper = line.to_uppercase();
            let says = upper.contains("DO NOT EDIT") || upper.contains("DO NOT MODIFY");
            line.contains("@generated") || says && is_comment(line)
        });
        if is_generated {
            return Err(format!("{path} says that it is generated; change what it is generated from instead."));
        }
        if start.contains(&0) {
            return Err(format!("{path} is a binary file."));
        }
        Ok(())
    }

    /// The innermost docs path that a file is below, in its plain form.
    fn docs_path_of(&self, path: &str) -> Option<String> {
        let folders = self.docs_paths.iter().map(|folder| paths::plain_folder(folder));
        folders.filter(|folder| paths::is_below(path, folder)).max_by_key(String::len)
    }
}

/// Whether a change brings something into a YAML file that runs when the documentation is built: MkDocs loads its
/// settings with tags that call Python, runs the programs named under `hooks`, and takes in other files by `INHERIT`.
pub(crate) fn brings_code(path: &str, before: &[u8], now: &[u8]) -> bool {
    if !["yml", "yaml"].contains(&paths::extension(path).as_str()) {
        return false;
    }
    let (before, now) = (String::from_utf8_lossy(before), String::from_utf8_lossy(now));
    let runs = |line: &&str| {
        let line = line.trim();
        line.contains("!!python")
            || line.contains("tag:yaml.org,2002:python")
            || line.starts_with("%TAG")
            || ["hooks", "INHERIT"].iter().any(|key| line.trim_start_matches(['"', '\'']).starts_with(key))
    };
    now.lines().filter(runs).any(|line| !before.lines().any(|there| there == line))
}

/// Whether a part of a path means the same on every file system: some drop dots and spaces at the end, and take some
/// characters for separators.
fn is_plain(part: &str) -> bool {
    !part.ends_with(['.', ' ']) && !part.contains(['\\', ':'])
}

/// A page may well tell people not to edit something; only a remark about the file itself counts.
fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    let is_marked = ["<!--", "//", "#", "{/*", "/*", "..", "[//]", "--", "%"].iter().any(|mark| line.starts_with(mark));
    let is_heading = line.starts_with("# ") && !line.to_lowercase().contains("generated");
    is_marked && !is_heading
}

/// How many lines differ between two texts: those that only one of them has. Lines that only moved do not count.
pub(crate) fn changed_lines(before: &[u8], now: &[u8]) -> usize {
    let mut counts: std::collections::HashMap<&[u8], i64> = std::collections::HashMap::new();
    for line in before.split_inclusive(|b| *b == b'\n') {
        *counts.entry(line).or_default() -= 1;
    }
    for line in now.split_inclusive(|b| *b == b'\n') {
        *counts.entry(line).or_default() += 1;
    }
    counts.values().map(|count| usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX)).sum()
}

#[cfg(test)]
mod tests;
