//! Where files have gone, as far as the history tells.

use crate::{CommitId, ForgeError, Mirror};
use copydesk_boxed::boxed;

/// How many commits are looked through, the newest first.
const MOST_COMMITS: &str = "--max-count=20000";
/// How much of a file must be the same to be the same file at another place. Git's own half makes one page of two that
/// share their frame.
const SIMILAR: &str = "--find-renames=75%";
/// With more files that came and went in one commit, git compares only those that are wholly the same.
const MOST_COMPARED: &str = "-l400";
/// As much as git's output is read, less a line that may be cut.
const MOST_BYTES: usize = 1024 * 1024;

/// The renames of a history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Renames {
    /// What a file was called, and what it was called then; the newest rename first.
    pub pairs: Vec<(String, String)>,
    /// Why there may be older ones that are not seen, if there may.
    pub cut: Option<String>,
}

#[boxed]
impl Mirror {
    /// The renames on the way to a commit. What cannot be read of a history is not an error: what was read is true.
    pub async fn renames(&self, commit: &CommitId) -> Result<Renames, ForgeError> {
        let commit = commit.to_string();
        let arguments = [
            "log",
            "--no-merges",
            "--diff-filter=R",
            "--name-status",
            SIMILAR,
            MOST_COMPARED,
            MOST_COMMITS,
            "-z",
            "--format=",
            "--no-ext-diff",
            "--no-textconv",
            commit.as_str(),
            "--",
        ];
        let output = self.git().run(&arguments, None).await?;
        let mut renames = Renames { pairs: pairs(&output.stdout), cut: None };
        if !output.success {
            renames.cut = Some("the history cannot be read to its end".to_owned());
        } else if output.stdout.len() >= MOST_BYTES {
            renames.cut = Some("the history has more renames than are looked at".to_owned());
        } else if self.is_shallow() {
            renames.cut = Some("the history is not all here".to_owned());
        }
        Ok(renames)
    }

    fn is_shallow(&self) -> bool {
        self.shared.folder.git_dir.join("shallow").exists()
    }
}

/// `R100`, the old name and the new one, each ended by a zero byte. One that is cut off at the end is dropped.
fn pairs(output: &str) -> Vec<(String, String)> {
    let mut parts: Vec<&str> = output.split('\0').collect();
    // What follows the last zero byte is empty, or the part that was cut.
    parts.pop();
    let mut pairs = Vec::new();
    let mut parts = parts.into_iter();
    while let Some(status) = parts.next() {
        if !status.trim_start().starts_with('R') {
            continue;
        }
        if let (Some(old), Some(new)) = (parts.next(), parts.next()) {
            pairs.push((old.to_owned(), new.to_owned()));
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renames_are_read_and_a_cut_one_is_dropped() {
        let pair = |old: &str, new: &str| (old.to_owned(), new.to_owned());
        assert_eq!(pairs("R100\0a.md\0b.md\0\nR080\0c d.md\0e.md\0"), [pair("a.md", "b.md"), pair("c d.md", "e.md")]);
        assert_eq!(pairs("R100\0a.md\0b.md\0R090\0c.md\0d."), [pair("a.md", "b.md")]);
        assert_eq!(pairs(""), []);
    }
}
