//! Which files a change may touch, and how many. What may be written is what is known to be harmless: content, the
//! navigation of the site, and what the site itself names. Everything else is refused by name of the reason.

mod ground;
mod parts;
pub(crate) mod scripts;
pub(crate) mod settings;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use crate::site::{Glob, SiteSettings};
use crate::{Files, invisible, names, nav, paths};

pub use ground::Ground;

/// What a change may touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The folders that hold documentation, or single files; `.` for all of the repository.
    pub docs_paths: Vec<String>,
    /// Patterns of paths that the project opens: instructions for agents, and data.
    pub allow: Vec<String>,
    /// Patterns of paths that the project closes, whatever else is said of them.
    pub deny: Vec<String>,
    /// What the repository says about its own files.
    pub ground: Arc<Ground>,
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
        Self {
            docs_paths: docs_paths.to_vec(),
            allow: Vec::new(),
            deny: Vec::new(),
            ground: Arc::default(),
            max_files: 100,
            max_lines: 10_000,
            max_bytes: 16 * 1024 * 1024,
        }
    }

    /// The same, with what the files of the base say about themselves.
    pub fn on(self, base: &dyn Files) -> io::Result<Self> {
        let ground = Arc::new(Ground::of(base)?);
        Ok(Self { ground, ..self })
    }

    /// Whether a file may be written; if not, why, as one sentence for a user or a model.
    pub fn may_write(&self, path: &str) -> Result<(), String> {
        let path = path.trim_start_matches("./");
        if let Some(unseen) = path.chars().find(|c| invisible::is_unseen(*c)) {
            let (path, code) = (invisible::shown(path), u32::from(unseen));
            return Err(format!("`{path}` contains an invisible character (U+{code:04X}), which no path may."));
        }
        if path.is_empty() || paths::normalise("", path).as_deref() != Some(path) || !path.split('/').all(is_plain) {
            return Err(format!("{path:?} is not a plain path inside the repository."));
        }
        if is_among(&self.deny, path) {
            return Err(format!("{path} is denied to jobs by the project's settings."));
        }
        if self.is_navigation(path) {
            return Ok(());
        }
        if nav::is_script(path) {
            return Err(format!(
                "{path} is a script that runs when the documentation is built, and may not be changed."
            ));
        }
        if is_hidden(path) {
            return Err(format!("{path} is hidden or in a hidden folder, so it is not documentation."));
        }
        let docs_path = self.docs_path_of(path);
        let below = docs_path.as_deref().map_or(path, |folder| path.strip_prefix(folder).unwrap_or(path));
        if names::is_generated(below) {
            return Err(format!("{path} is in a folder of generated files."));
        }
        if is_among(&self.allow, path) {
            return opened(path);
        }
        if names::is_agent_file(path) && !self.ground.listed.contains(path) {
            return Err(format!("{path} holds instructions for agents and may not be changed."));
        }
        if self.is_guide(path) {
            return Err(format!(
                "{path} guides the authors of the documentation, later jobs too, and may not be changed."
            ));
        }
        if self.is_settings(path, docs_path.is_some()) {
            return Ok(());
        }
        if self.ground.references.contains(path) || self.ground.descriptions.contains(path) {
            return Ok(());
        }
        if docs_path.is_none() {
            let folders = self.docs_paths.join(", ");
            return Err(format!("{path} is outside the documentation, which is in {folders}."));
        }
        content(path)
    }

    /// Whether a script is one that the navigation of these docs is written in.
    fn is_navigation(&self, path: &str) -> bool {
        let site = SiteSettings::new(&self.docs_paths);
        let is_near = |config: &str| {
            let folder = paths::folder(config);
            let folder = folder.find(".vitepress").map_or(folder, |at| folder[..at].trim_end_matches('/'));
            self.docs_path_of(config).is_some() || site.is_navigation_folder(folder)
        };
        let is_known = self.ground.scripts.get(path).is_some_and(|configs| configs.iter().any(|it| is_near(it)));
        let is_meta = self.ground.metas.contains(paths::file_name(path)) && self.docs_path_of(path).is_some();
        (is_known || is_meta) && !names::is_generated(path)
    }

    /// Whether a file is one of settings of which something may be changed, and stands where a site has it.
    fn is_settings(&self, path: &str, is_docs: bool) -> bool {
        let site = SiteSettings::new(&self.docs_paths);
        let folder = paths::folder(path);
        if paths::file_name(path) == "SUMMARY.md" {
            let above = folder.strip_suffix("src").map(|above| above.trim_end_matches('/'));
            return site.is_navigation_folder(folder) || above.is_some_and(|above| site.is_navigation_folder(above));
        }
        match settings::kind_of(path, &self.ground) {
            Some(kind) if kind.is_of_site() => site.is_navigation_folder(folder),
            Some(_) => is_docs || site.is_navigation_folder(folder),
            None => false,
        }
    }

    /// Whether a file says how the documentation is to be written, where jobs look for that.
    fn is_guide(&self, path: &str) -> bool {
        let folder = paths::folder(path);
        let is_looked_for = names::is_docs_folder(folder)
            || self.docs_paths.iter().any(|docs_path| paths::plain_folder(docs_path) == folder);
        is_looked_for && names::is_guide(paths::file_name(path))
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

/// Whether a file is content, by what it is written in; if not, why.
fn content(path: &str) -> Result<(), String> {
    if names::is_ownership(path) {
        return Err(format!("{path} states who owns the project or its license, and may not be changed."));
    }
    if names::is_prose(path) || names::is_readme(path) {
        return Ok(());
    }
    Err(match paths::extension(path).as_str() {
        "csv" | "tsv" => return Ok(()),
        "ipynb" | "qmd" | "rmd" => format!("{path} holds code that runs when the documentation is built."),
        "txt" => {
            format!("{path} may be read by a program: only known .txt files such as llms.txt may be changed.")
        }
        "json" | "yaml" | "yml" | "toml" => {
            format!("{path} is data, and nothing here shows that the site reads it as content; programs may act on it.")
        }
        _ => format!("{path} is not a documentation file: only text formats such as .md and .mdx may be changed."),
    })
}

/// Whether a file that the project opens may be written after all: texts and data, but nothing that a build runs.
fn opened(path: &str) -> Result<(), String> {
    let is_text = names::is_prose(path)
        || names::is_readme(path)
        || matches!(paths::extension(path).as_str(), "txt" | "json" | "yaml" | "yml" | "toml" | "csv" | "tsv");
    if is_text && !names::is_build_file(path) {
        return Ok(());
    }
    Err(format!("{path} is or may be part of a build, and no project can allow changes to it."))
}

fn is_among(patterns: &[String], path: &str) -> bool {
    patterns.iter().any(|pattern| {
        let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
        Glob::new(pattern).matches(path) || Glob::new(&format!("{pattern}/**")).matches(path)
    })
}

/// Whether a part of a path is hidden. Two plugins keep the order of pages in files of such a name.
fn is_hidden(path: &str) -> bool {
    let (folder, name) = (paths::folder(path), paths::file_name(path));
    let is_order = matches!(name, ".pages" | ".nav.yml" | ".nav.yaml");
    folder.split('/').any(|part| part.starts_with('.')) || name.starts_with('.') && !is_order
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

/// How many lines were removed and added, together; a line that moved was both. Kept are the lines that both texts have
/// only once and in the same order, and those next to them that are the same. That takes no longer than sorting does,
/// and never counts less than there is.
pub(crate) fn changed_lines(before: &[u8], now: &[u8]) -> usize {
    let lines = |text| -> Vec<&[u8]> { <[u8]>::split_inclusive(text, |byte| *byte == b'\n').collect() };
    let (before, now) = (lines(before), lines(now));
    let mut kept = 0;
    let (mut from, mut onto) = (0, 0);
    for (end, now_end) in in_order(&before, &now).into_iter().chain([(before.len(), now.len())]) {
        let (gap, now_gap) = (&before[from..end], &now[onto..now_end]);
        let ahead = gap.iter().zip(now_gap).take_while(|(a, b)| a == b).count();
        let behind = gap[ahead..].iter().rev().zip(now_gap[ahead..].iter().rev()).take_while(|(a, b)| a == b).count();
        kept += ahead + behind + usize::from(end < before.len());
        (from, onto) = (end + 1, now_end + 1);
    }
    before.len() + now.len() - 2 * kept
}

/// Where the lines are that both texts have once: the most that are in the same order in both.
fn in_order(before: &[&[u8]], now: &[&[u8]]) -> Vec<(usize, usize)> {
    let (once_before, once_now) = (once(before), once(now));
    // The last of the shortest-ending rows of each length, each with the one that it follows.
    let mut ends: Vec<usize> = Vec::new();
    let mut pairs: Vec<(usize, usize, Option<usize>)> = Vec::new();
    for (number, line) in before.iter().enumerate() {
        let (Some(Some(_)), Some(Some(there))) = (once_before.get(line), once_now.get(line)) else { continue };
        let length = ends.partition_point(|end| pairs[*end].1 < *there);
        pairs.push((number, *there, length.checked_sub(1).map(|before| ends[before])));
        match ends.get_mut(length) {
            Some(end) => *end = pairs.len() - 1,
            None => ends.push(pairs.len() - 1),
        }
    }
    let mut row = Vec::new();
    let mut next = ends.last().copied();
    while let Some((number, there, follows)) = next.map(|at| pairs[at]) {
        row.push((number, there));
        next = follows;
    }
    row.reverse();
    row
}

/// Where each line is; none for those that are there more than once.
fn once<'a>(lines: &[&'a [u8]]) -> HashMap<&'a [u8], Option<usize>> {
    let mut places = HashMap::new();
    for (number, line) in lines.iter().enumerate() {
        places.entry(*line).and_modify(|place| *place = None).or_insert(Some(number));
    }
    places
}

#[cfg(test)]
mod tests;
