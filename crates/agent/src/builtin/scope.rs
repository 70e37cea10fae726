//! Which pages the paths of a prompt name. A path that names nothing ends the chore: it is not guessed.

use std::collections::BTreeSet;

use copydesk_checks::paths::is_below;
use globset::{GlobBuilder, GlobMatcher};

use super::chore::Scope;
use super::docs::{ChoreFailure, Docs};
use super::near::near;
use super::report::code;
use super::words::listed;

/// The pages of the documentation that a scope names, sorted. These are the pages that the chore looks at.
pub(crate) fn pages_of(scope: &Scope, docs: &mut Docs) -> Result<Vec<String>, ChoreFailure> {
    let all = docs.pages()?;
    let mut chosen: BTreeSet<&String> = BTreeSet::new();
    for path in &scope.paths {
        let spec = Spec::find(path, &all, docs)?;
        chosen.extend(all.iter().filter(|page| spec.names(page)));
    }
    if scope.paths.is_empty() {
        chosen.extend(&all);
    }
    for path in &scope.except {
        let spec = Spec::find(path, &all, docs)?;
        chosen.retain(|page| !spec.names(page));
    }
    docs.report.looked_at(chosen.len());
    Ok(chosen.into_iter().cloned().collect())
}

/// Whether a path of a prompt names this page itself, not only a folder that it is in.
pub(crate) fn names_itself(scope: &Scope, page: &str) -> bool {
    scope.paths.iter().any(|path| page == plain(path) || page.ends_with(&format!("/{}", plain(path))))
}

/// A path of a prompt that names at least one page.
enum Spec {
    Page(String),
    Folder(String),
    Glob(Box<GlobMatcher>),
}

impl Spec {
    fn names(&self, page: &str) -> bool {
        match self {
            Self::Page(path) => page == path,
            Self::Folder(folder) => is_below(page, folder),
            Self::Glob(glob) => glob.is_match(page),
        }
    }

    fn find(written: &str, pages: &[String], docs: &Docs) -> Result<Self, ChoreFailure> {
        let path = plain(written);
        if path.is_empty() || path == "." {
            return Ok(Self::Folder(String::new()));
        }
        if path.split('/').any(|part| part == "..") || path.len() > 1024 {
            return Err(ChoreFailure::Refused(format!("The path {} leaves the repository.", code(written))));
        }
        if let Some(found) = Self::at(path, pages) {
            return Ok(found);
        }
        let folders = docs.paths().iter().filter(|folder| !folder.is_empty());
        let mut below = folders.filter_map(|folder| Self::at(&format!("{folder}/{path}"), pages));
        if let Some(found) = below.next() {
            let several = || {
                ChoreFailure::Refused(format!(
                    "{} is in several folders of the documentation; say which.",
                    code(written)
                ))
            };
            return if below.next().is_none() { Ok(found) } else { Err(several()) };
        }
        Err(nothing_there(written, path, pages, docs)?)
    }

    fn at(path: &str, pages: &[String]) -> Option<Self> {
        let spec = if path.contains(['*', '?', '[', '{']) && !pages.iter().any(|page| page == path) {
            let glob = GlobBuilder::new(path).literal_separator(true).build().ok()?;
            Self::Glob(Box::new(glob.compile_matcher()))
        } else if pages.iter().any(|page| page == path) {
            Self::Page(path.to_owned())
        } else if let Some(page) = without_extension(path, pages) {
            Self::Page(page)
        } else {
            Self::Folder(path.to_owned())
        };
        pages.iter().any(|page| spec.names(page)).then_some(spec)
    }
}

/// A page that is named without its extension, if only one is and no folder has that name.
fn without_extension(path: &str, pages: &[String]) -> Option<String> {
    if pages.iter().any(|page| is_below(page, path)) {
        return None;
    }
    let is_it = |page: &&String| page.rsplit_once('.').is_some_and(|(stem, _)| stem == path);
    let mut found = pages.iter().filter(is_it);
    found.next().filter(|_| found.next().is_none()).cloned()
}

fn plain(path: &str) -> &str {
    let path = path.strip_prefix("./").unwrap_or(path);
    path.trim_matches('/')
}

/// The sentence about a path that names no page.
fn nothing_there(written: &str, path: &str, pages: &[String], docs: &Docs) -> Result<ChoreFailure, ChoreFailure> {
    let name = code(written);
    if docs.workspace.entry(path)?.is_some() {
        let place = if docs.holds(path) { "holds no pages" } else { "is not among the project's documentation" };
        return Ok(ChoreFailure::Refused(format!("{name} {place}, so nothing was changed.")));
    }
    let close: Vec<String> = near(path, pages).iter().map(|it| code(it)).collect();
    let hint = if close.is_empty() { String::new() } else { format!("; near it are {}", listed(&close, 3)) };
    Ok(ChoreFailure::Refused(format!(
        "There is no page or folder {name} in the documentation, so nothing was changed{hint}."
    )))
}
