use std::borrow::Cow;
use std::fmt::Write;

use copydesk_forge::Workspace;
use regex::{NoExpand, Regex};

use super::change::{room_for, with_line_ends_of};
use super::schema::tool_input;
use super::search::{compile, searchable};
use super::select::{is_open, named, select};
use super::{ToolAnswer, Unable, told};
use crate::text::{counted, short};

/// How much is looked through.
const MOST_BYTES: u64 = 256 * 1024 * 1024;
/// How much of a changed line is shown, around the change.
const LONGEST_LINE: usize = 80;
/// How many changed lines are shown of a file, and of all: `show_diff` has the rest.
const MOST_LINES_OF_FILE: usize = 3;
const MOST_LINES: usize = 10;

tool_input! {
    /// Replaces the same text in many files, and says how often in each. Files that may not be changed are left and named.
    /// Try it with `dry_run` first if it may touch more than you mean.
    ReplaceInFiles as "replace_in_files" {
        /// Character for character.
        old_text: String,
        /// With `regex`, `$1` or `${name}` is a group and `$$` a dollar sign.
        new_text: String,
        /// `old_text` is a regular expression; `^` and `$` are those of a line.
        regex: Option<bool>,
        folder: Option<String>,
        /// A glob, such as `*.mdx`.
        files: Option<String>,
        /// A glob of what to leave out, such as `docs/old/**`.
        exclude: Option<String>,
        /// Only say what would be replaced.
        dry_run: Option<bool>,
    }
}

/// What is looked for.
enum Old {
    Text(String),
    Regex(Regex),
}

/// A file with the replacements made.
struct Replaced {
    path: String,
    text: String,
    places: usize,
    /// The numbers of the first lines that became others, and how they read now.
    lines: Vec<(usize, String)>,
    /// Whether there are more such lines.
    has_more: bool,
}

pub(super) fn run(workspace: &mut Workspace, input: &ReplaceInFiles, most: usize) -> ToolAnswer {
    if input.old_text.is_empty() {
        return told("`old_text` is empty");
    }
    let old = match input.regex.unwrap_or(false) {
        true => Old::Regex(compile(&input.old_text, false)?),
        false => Old::Text(input.old_text.clone()),
    };
    let (_, paths) = select(workspace, input.folder.as_deref(), input.files.as_deref(), input.exclude.as_deref())?;
    let (mut all, mut closed, mut bytes): (Vec<Replaced>, Vec<String>, u64) = (Vec::new(), Vec::new(), 0);
    for path in paths {
        let Some(text) = searchable(workspace, &path)? else { continue };
        bytes += text.len() as u64;
        if bytes > MOST_BYTES {
            return told("there is too much to look through, and nothing was changed; name a folder");
        }
        let Some((new, places)) = replaced(&old, &text, &input.new_text) else { continue };
        if is_open(workspace, &path) {
            let (lines, has_more) = changed_lines(&text, &new, places);
            all.push(Replaced { path, text: new, places, lines, has_more });
        } else {
            closed.push(path);
        }
    }
    let is_dry = input.dry_run.unwrap_or(false);
    if !is_dry {
        let paths: Vec<&str> = all.iter().map(|file| file.path.as_str()).collect();
        room_for(workspace, &paths, most)?;
    }
    let mut said = in_words(&all, is_dry);
    if !is_dry {
        write_all(workspace, all)?;
    }
    if !closed.is_empty() {
        let closed: Vec<&str> = closed.iter().map(String::as_str).collect();
        let _ = writeln!(said, "(left, since they may not be changed: {})", named(&closed));
    }
    Ok(said)
}

/// All or none: a file that cannot be written undoes those before it.
fn write_all(workspace: &mut Workspace, all: Vec<Replaced>) -> Result<(), Unable> {
    let before = workspace.clone();
    for file in all {
        if let Err(refusal) = workspace.write(&file.path, file.text) {
            *workspace = before;
            return Err(refusal.into());
        }
    }
    Ok(())
}

/// The text with the replacements, and how many; none if there are none, or they change nothing.
fn replaced(old: &Old, text: &str, new: &str) -> Option<(String, usize)> {
    let (replaced, places) = match old {
        Old::Text(old) => {
            let (old, new) = (with_line_ends_of(text, old.clone()), with_line_ends_of(text, new.to_owned()));
            (text.replace(&old, &new), text.matches(&old).count())
        }
        Old::Regex(regex) => {
            let places = regex.find_iter(text).count();
            let replaced: Cow<'_, str> = match new.contains('$') {
                true => regex.replace_all(text, new),
                false => regex.replace_all(text, NoExpand(new)),
            };
            (replaced.into_owned(), places)
        }
    };
    (places > 0 && replaced != text).then_some((replaced, places))
}

/// The first lines that are different now, with their numbers, and whether there are more. Where lines were added or removed,
/// only the first is.
fn changed_lines(old: &str, new: &str, places: usize) -> (Vec<(usize, String)>, bool) {
    let is_in_place = old.lines().count() == new.lines().count();
    let most = if is_in_place { MOST_LINES_OF_FILE } else { 1 };
    let pairs = old.lines().chain(std::iter::repeat("")).zip(new.lines()).enumerate();
    let mut changed = pairs.filter(|(_, (old, new))| old != new);
    let lines = changed.by_ref().take(most).map(|(at, (old, new))| (at + 1, around_change(old, new))).collect();
    (lines, if is_in_place { changed.next().is_some() } else { places > 1 })
}

/// The part of a line in which it is different from what it was.
fn around_change(old: &str, new: &str) -> String {
    let same: usize = old.chars().zip(new.chars()).take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
    if new.len() <= LONGEST_LINE || same <= LONGEST_LINE / 2 {
        return short(new, LONGEST_LINE);
    }
    let start = new.floor_char_boundary(same - LONGEST_LINE / 3);
    format!("…{}", short(&new[start..], LONGEST_LINE))
}

fn in_words(all: &[Replaced], is_dry: bool) -> String {
    if all.is_empty() {
        return "Nothing to replace: no file that may be changed holds it.\n".to_owned();
    }
    let places: usize = all.iter().map(|file| file.places).sum();
    let done = if is_dry { "Would replace" } else { "Replaced" };
    let (places, files) = (counted(places, "place"), counted(all.len(), "file"));
    let mut said = format!("{done} {places} in {files}:\n");
    // Every file has its turn before one shows more.
    let mut shown = vec![0; all.len()];
    let mut left = MOST_LINES;
    for turn in 1..=MOST_LINES_OF_FILE {
        for (shown, file) in shown.iter_mut().zip(all) {
            if left > 0 && file.lines.len() >= turn {
                *shown = turn;
                left -= 1;
            }
        }
    }
    let is_cut = shown.iter().zip(all).any(|(shown, file)| file.has_more || *shown < file.lines.len());
    let mut last_folder = ".";
    for (file, shown) in all.iter().zip(shown) {
        let (folder, name) = file.path.rsplit_once('/').unwrap_or((".", &file.path));
        if folder != last_folder {
            let _ = writeln!(said, "{folder}/");
            last_folder = folder;
        }
        let _ = writeln!(said, "- {name}: {}", file.places);
        for (line, text) in &file.lines[..shown] {
            let _ = writeln!(said, "  {line}: {text}");
        }
    }
    if is_cut {
        said.push_str(match is_dry {
            true => "(not every line is shown; name a folder or fewer files to see more)\n",
            false => "(not every changed line is shown; `show_diff` has them all)\n",
        });
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_line_the_change_is_shown() {
        let long = "é".repeat(300);
        let shown = around_change(&format!("{long} old {long}"), &format!("{long} new {long}"));
        assert!(shown.starts_with("…é") && shown.contains(" new é") && shown.ends_with("é…"), "{shown}");
        assert!(shown.len() <= LONGEST_LINE + 8, "{shown}");
        assert_eq!(around_change("an old word", "a new word"), "a new word");
        assert_eq!(around_change("", "all of it is new"), "all of it is new");
    }

    #[test]
    fn many_files_show_a_line_each_as_long_as_there_is_room() {
        let file = |at: usize, lines: usize| Replaced {
            path: format!("docs/{at}.md"),
            text: String::new(),
            places: lines,
            lines: (1..=lines).map(|line| (line, "now".to_owned())).collect(),
            has_more: false,
        };
        let shown = |files: &[Replaced]| in_words(files, false).matches(": now").count();
        let few = [file(1, 3), file(2, 1)];
        assert_eq!((shown(&few), in_words(&few, false).contains("show_diff")), (4, false));
        assert!(changed_lines("a\na\na\na\n", "b\nb\nb\nb\n", 4).1 && !changed_lines("a\na\n", "b\nb\n", 2).1);
        let many: Vec<Replaced> = (0..20).map(|at| file(at, 3)).collect();
        let said = in_words(&many, false);
        assert_eq!((shown(&many), said.matches("\n- ").count()), (MOST_LINES, 20), "{said}");
        assert!(said.ends_with("(not every changed line is shown; `show_diff` has them all)\n"), "{said}");
        // What was not done is in no diff.
        let dry = in_words(&many, true);
        assert!(dry.ends_with("(not every line is shown; name a folder or fewer files to see more)\n"), "{dry}");
        assert!(dry.starts_with("Would replace 60 places in 20 files:\ndocs/\n- 0.md: 3\n"), "{dry}");
        assert_eq!((said.matches("  1: now").count(), said.matches("docs/\n").count()), (MOST_LINES, 1), "{said}");
    }
}
