//! Pages that go elsewhere, or away: what led to them is told, and rewritten where that is asked for.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write;
use std::io;

use copydesk_checks::page::parse;
use copydesk_checks::repair::{Meant, Proof, Repairs};
use copydesk_checks::{Finding, Scope, SiteSettings, Sites, paths};
use copydesk_forge::Workspace;

use super::change::room_for;
use super::schema::tool_input;
use super::session::list_findings;
use super::{ToolAnswer, Unable};
use crate::WorkspaceFiles;
use crate::edits::Edits;
use crate::review::{Review, sentence};

/// The most bytes of a list of what is left to do.
const LONGEST_LIST: usize = 10_000;

tool_input! {
    /// Moves or renames a text file, with its own relative links. Says which pages link to it, and with `rewrite_links`
    /// rewrites those links, in the navigation too. The order of the navigation and redirects are left to you.
    MoveFile as "move_file" {
        from: String,
        /// Nothing may be there.
        to: String,
        rewrite_links: Option<bool>,
    }
}

tool_input! {
    /// Deletes a text file, and says what leads to it.
    DeleteFile as "delete_file" {
        path: String,
    }
}

pub(super) fn rename(workspace: &mut Workspace, input: &MoveFile, scope: &Scope, review: &dyn Review) -> ToolAnswer {
    let (from, to) = (workspace.may_write(&input.from)?, workspace.may_write(&input.to)?);
    // A file that is new is gone without a trace after that.
    let is_new = workspace.base().entry(&from)?.is_none();
    let most = scope.max_files.saturating_add(usize::from(is_new));
    room_for(workspace, &[&from, &to], most)?;
    let before = known(workspace, review)?;
    workspace.rename(&from, &to)?;
    let mut said = format!("Moved {from} to {to}.");
    let own = relink(workspace, &from, &to)?;
    if own > 0 {
        let _ = write!(said, " Relative links in it that were rewritten: {own}.");
    }
    let mut left = since(workspace, review, &before)?;
    if input.rewrite_links.unwrap_or(false) && !left.is_empty() {
        for (path, (links, is_navigation)) in rewrite(workspace, &left, &from, &to, scope)? {
            let place = if is_navigation { " It is the navigation: the entry stands where it stood." } else { "" };
            let _ = write!(said, "\nLinks rewritten in {path}: {links}.{place}");
        }
        left = since(workspace, review, &before)?;
    }
    said.push_str(&still_to_do(&left));
    Ok(said)
}

pub(super) fn delete(workspace: &mut Workspace, input: &DeleteFile, most: usize, review: &dyn Review) -> ToolAnswer {
    let path = workspace.may_write(&input.path)?;
    room_for(workspace, &[&path], most)?;
    let before = known(workspace, review)?;
    workspace.delete(&path)?;
    Ok(format!("Deleted {path}.{}", still_to_do(&since(workspace, review, &before)?)))
}

/// What was wrong before, so that only what comes of the deed is told.
fn known(workspace: &Workspace, review: &dyn Review) -> io::Result<HashSet<String>> {
    Ok(review.new_problems(workspace)?.iter().map(sentence).collect())
}

fn since(workspace: &Workspace, review: &dyn Review, before: &HashSet<String>) -> io::Result<Vec<Finding>> {
    Ok(review.new_problems(workspace)?.into_iter().filter(|it| !before.contains(&sentence(it))).collect())
}

fn still_to_do(left: &[Finding]) -> String {
    if left.is_empty() {
        return "\nThe checks find nothing that is broken by that.".to_owned();
    }
    let left: Vec<String> = left.iter().map(sentence).collect();
    format!("\nBroken by that, and left to you:\n{}", list_findings(&left, LONGEST_LIST))
}

/// Rewrites the relative links of a page that has moved; gives how many.
fn relink(workspace: &mut Workspace, from: &str, to: &str) -> Result<usize, Unable> {
    if paths::folder(from) == paths::folder(to) {
        return Ok(0);
    }
    let text = workspace.text(to)?;
    let mut edits = Edits::default();
    let mut seen = BTreeSet::new();
    for link in &parse(to, &text).links {
        // Links by reference share the place of their definition, and what is written otherwise than it reads is left.
        if !seen.insert(link.range.start) || text.get(link.range.clone()) != Some(link.target.as_str()) {
            continue;
        }
        if let Some(new) = moved_target(workspace, &link.target, from, to)? {
            edits.replace(link.range.clone(), new);
        }
    }
    let count = edits.len();
    if count > 0 {
        workspace.write(to, edits.apply(&text))?;
    }
    Ok(count)
}

/// How a relative link of a page is written after the page has moved; none if it is no relative link to a file.
fn moved_target(workspace: &Workspace, target: &str, from: &str, to: &str) -> io::Result<Option<String>> {
    let end = target.find(['#', '?']).unwrap_or(target.len());
    let (path, rest) = target.split_at(end);
    if path.is_empty() || path.starts_with('/') || path.contains(':') || path.contains('\\') {
        return Ok(None);
    }
    let Some(file) = paths::normalise(paths::folder(from), path) else { return Ok(None) };
    let mut is_there = false;
    for end in ["", ".md", ".mdx", "/index.md", "/index.mdx", "/README.md"] {
        is_there |= workspace.entry(&format!("{file}{end}"))?.is_some_and(|entry| entry.kind.is_file());
    }
    if !is_there {
        return Ok(None);
    }
    let new = relative(paths::folder(to), &file);
    // As it was written: with a dot in front, or a slash at the end.
    let dot = if path.starts_with("./") && !new.starts_with("..") { "./" } else { "" };
    let slash = if path.ends_with('/') { "/" } else { "" };
    let new = format!("{dot}{new}{slash}{rest}");
    Ok((new != target).then_some(new))
}

/// The path of a file as it is seen from a folder.
fn relative(folder: &str, file: &str) -> String {
    let above: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let parts: Vec<&str> = file.split('/').collect();
    let common = above.iter().zip(&parts[..parts.len() - 1]).take_while(|(one, other)| one == other).count();
    let up = std::iter::repeat_n("..", above.len() - common);
    up.chain(parts[common..].iter().copied()).collect::<Vec<_>>().join("/")
}

/// Rewrites the links of the pages that these findings are about, where a link certainly meant the page that has moved. Says
/// of each how many, and whether it is the navigation of a site.
fn rewrite(
    workspace: &mut Workspace,
    findings: &[Finding],
    from: &str,
    to: &str,
    scope: &Scope,
) -> Result<BTreeMap<String, (usize, bool)>, Unable> {
    let before = workspace.clone();
    let files = WorkspaceFiles::Edited(&before);
    let sites = Sites::find(&files, &SiteSettings::new(&scope.docs_paths))?;
    let repairs = Repairs::new(&files, &sites, &[(from.to_owned(), to.to_owned())])?;
    let pages: BTreeSet<&str> = findings.iter().map(|finding| finding.path.as_str()).collect();
    let mut rewritten = BTreeMap::new();
    for path in pages {
        let Ok(text) = before.text(path) else { continue };
        let mut edits = Edits::default();
        for broken in repairs.broken(path, &repairs.parse(path, &text))? {
            let by_path = || by_path(path, &broken.link.target, from, to);
            let target = match &broken.meant {
                Meant::Proven { target, proof: Proof::Rename } => Some(target.clone()),
                // Where a page is one only once the navigation lists it, nothing is proven yet.
                _ => by_path().filter(|_| text.get(broken.link.range.clone()) == Some(broken.link.target.as_str())),
            };
            if let Some(target) = target {
                edits.replace(broken.link.range, target);
            }
        }
        let count = edits.len();
        if count > 0 && workspace.may_write(path).is_ok() && room_for(workspace, &[path], scope.max_files).is_ok() {
            workspace.write(path, edits.apply(&text))?;
            let is_navigation = sites.navigations().any(|(file, _)| file == path);
            rewritten.insert(path.to_owned(), (count, is_navigation));
        }
    }
    Ok(rewritten)
}

/// How a link of `page` that names the file `from` by its path names it at `to`.
fn by_path(page: &str, target: &str, from: &str, to: &str) -> Option<String> {
    let (path, rest) = target.split_at(target.find(['#', '?']).unwrap_or(target.len()));
    let is_relative = !path.starts_with('/') && !path.contains(':');
    let names_it = is_relative && paths::normalise(paths::folder(page), path).as_deref() == Some(from);
    names_it.then(|| format!("{}{rest}", relative(paths::folder(page), to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_seen_from_a_folder() {
        assert_eq!(relative("docs/a/b", "docs/c.md"), "../../c.md");
        assert_eq!(relative("docs", "docs/c/d.md"), "c/d.md");
        assert_eq!(relative("", "c.md"), "c.md");
        assert_eq!(relative("a", "c.md"), "../c.md");
        let to_it = |target: &str| by_path("src/a/b.md", target, "src/c.md", "src/x/y.md");
        assert_eq!(to_it("../c.md#d").as_deref(), Some("../x/y.md#d"));
        assert_eq!((to_it("c.md"), to_it("/c.md"), to_it("https://src/c.md")), (None, None, None));
    }
}
