//! What happened between two commits: the commits and pull requests, and what is different, file by file.

use copydesk_boxed::boxed;

use crate::kept_back::is_kept_back;
use crate::mirror::parse_commit;
use crate::{CommitId, FileDiff, ForgeError, Mirror, diff, git_errors};

/// How many commits are looked at, the newest first.
const MOST_COMMITS: &str = "--max-count=500";
/// Each commit is told by so many parts.
const PARTS: usize = 4;

/// What leads from one commit to another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Range {
    /// How many commits are in the second and not in the first.
    pub commits: u64,
    /// How many are in the first and not in the second: it is not simply an earlier one then.
    pub left_behind: u64,
    /// The newest of the commits.
    pub newest: Vec<RangeCommit>,
    /// The files that differ, sorted by path, without those that are not shown.
    pub files: Vec<FileDiff>,
    /// Whether there are more files than are looked at.
    pub truncated: bool,
}

/// One commit of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeCommit {
    /// The beginning of its id.
    pub id: String,
    /// The day it was made.
    pub date: String,
    pub subject: String,
    /// The pull request that it brought in, if its message tells of one.
    pub pull: Option<PullName>,
}

/// A pull request as a commit message tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullName {
    /// With its mark: `#12`, on GitLab `!12`.
    pub number: String,
    pub title: String,
}

#[boxed]
impl Mirror {
    /// What leads from one commit to another, in one file or folder if one is named. Both must be in the mirror.
    pub async fn range_commits(&self, from: &CommitId, to: &CommitId, path: Option<&str>) -> Result<Range, ForgeError> {
        let (both, place) = (format!("{from}...{to}"), path.map(|path| format!(":(literal){path}")));
        let mut count = vec!["rev-list", "--left-right", "--count", &both, "--"];
        count.extend(place.as_deref());
        let counted = self.git().run(&count, None).await?;
        let unread = |stderr: &str| git_errors::explain(&self.git(), stderr);
        let counts: Vec<u64> = counted.stdout.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let (true, [left_behind, commits]) = (counted.success, counts.as_slice()) else {
            return Err(unread(&counted.stderr));
        };
        let (without, with) = (format!("^{from}"), to.to_string());
        let format = "--format=tformat:%h%x00%as%x00%s%x00%b";
        let mut log = vec!["log", "-z", format, MOST_COMMITS, &with, &without, "--"];
        log.extend(place.as_deref());
        let log = self.git().run(&log, None).await?;
        if !log.success {
            return Err(unread(&log.stderr));
        }
        let newest = commits_of(&log.stdout);
        Ok(Range { commits: *commits, left_behind: *left_behind, newest, ..Range::default() })
    }

    /// What is different between the files of two commits, of one file or folder if one is named. It reads files.
    pub fn range_files(
        &self,
        from: &CommitId,
        to: &CommitId,
        path: Option<&str>,
    ) -> Result<(Vec<FileDiff>, bool), ForgeError> {
        let root = |commit| Ok::<_, ForgeError>(parse_commit(&self.read_commit(commit)?)?.tree());
        let is_wanted = |file: &str| {
            let below = |path: &str| file.strip_prefix(path).is_some_and(|it| it.is_empty() || it.starts_with('/'));
            path.is_none_or(below)
        };
        diff::by_file(&self.shared.objects, &root(from)?, &root(to)?, &|file| !is_kept_back(file), &is_wanted)
            .map_err(ForgeError::from_io)
    }
}

/// Reads what git prints. A commit that is cut off at the end is dropped.
fn commits_of(output: &str) -> Vec<RangeCommit> {
    let mut parts: Vec<&str> = output.split('\0').collect();
    // What follows the last zero byte is empty, or a part that was cut.
    parts.pop();
    let commits = parts.chunks_exact(PARTS).map(|commit| RangeCommit {
        id: commit[0].trim().to_owned(),
        date: commit[1].to_owned(),
        subject: commit[2].to_owned(),
        pull: pull_name(commit[2], commit[3]),
    });
    commits.collect()
}

/// The pull request that a commit message tells of, by how the code hosts write them for merges and squashes.
fn pull_name(subject: &str, body: &str) -> Option<PullName> {
    let in_body =
        || body.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("See merge request"));
    let named = |number: &str, title: &str| {
        let fits = (1..=12).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
        fits.then(|| (number.to_owned(), title.trim().to_owned()))
    };
    let hashed =
        |found: Option<(String, String)>| found.map(|(number, title)| PullName { number: format!("#{number}"), title });
    let or_subject = |title: Option<&str>| title.unwrap_or(subject).to_owned();
    // GitHub: `Merge pull request #12 from acme/branch`, and the title below.
    if let Some(rest) = subject.strip_prefix("Merge pull request #") {
        return hashed(named(rest.split(' ').next()?, &or_subject(in_body())));
    }
    // Forgejo and Gitea: `Merge pull request 'The title' (#12) from branch into main`.
    if let Some(rest) = subject.strip_prefix("Merge pull request '") {
        let (title, rest) = rest.rsplit_once("' (#")?;
        return hashed(named(rest.split(')').next()?, title));
    }
    // Azure: `Merged PR 12: The title`.
    if let Some((number, title)) = subject.strip_prefix("Merged PR ").and_then(|rest| rest.split_once(": ")) {
        return hashed(named(number, title));
    }
    // Bitbucket: `Merged in branch (pull request #12)`, and the title below.
    if let Some((_, rest)) = subject.rsplit_once(" (pull request #") {
        return hashed(named(rest.strip_suffix(')')?, &or_subject(in_body())));
    }
    // GitLab: `See merge request acme/sdk!12` below the title.
    let request = body.lines().find_map(|line| line.trim().strip_prefix("See merge request "));
    if let Some((_, number)) = request.and_then(|request| request.rsplit_once('!')) {
        let is_merge = subject.starts_with("Merge branch ");
        let title = if is_merge { or_subject(in_body()) } else { subject.to_owned() };
        return named(number, &title).map(|(number, title)| PullName { number: format!("!{number}"), title });
    }
    // A squash, on most of them: `The title (#12)`.
    let (title, rest) = subject.rsplit_once(" (#")?;
    hashed(named(rest.strip_suffix(')')?, title))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pull_requests_are_told_by_messages() {
        for (subject, body, told) in [
            ("Merge pull request #12 from acme/x", "\nAdd retries\n", Some(("#12", "Add retries"))),
            ("Merge pull request #12 from acme/x", "", Some(("#12", "Merge pull request #12 from acme/x"))),
            ("Merge pull request 'Fix (#3) it' (#12) from x into main", "", Some(("#12", "Fix (#3) it"))),
            ("Merged PR 12: Add retries", "", Some(("#12", "Add retries"))),
            ("Merged in acme/x (pull request #12)", "Add retries\n\nApproved-by: me", Some(("#12", "Add retries"))),
            (
                "Merge branch 'x' into 'main'",
                "Add retries\n\nSee merge request acme/sdk!12",
                Some(("!12", "Add retries")),
            ),
            ("Add retries", "See merge request acme/sdk!12", Some(("!12", "Add retries"))),
            ("Add retries (#12)", "", Some(("#12", "Add retries"))),
            ("Merge branch 'x'", "", None),
            ("Fix #12", "", None),
            ("Add (#twelve)", "", None),
            ("Merge pull request '", "", None),
            ("(#12)", "", None),
            ("", "", None),
        ] {
            let found = pull_name(subject, body);
            let found = found.as_ref().map(|pull| (pull.number.as_str(), pull.title.as_str()));
            assert_eq!(found, told, "{subject:?}");
        }
    }

    #[test]
    fn a_commit_that_is_cut_off_is_dropped() {
        let output = "1a\x002026-01-02\0One (#1)\0body\n\x002b\x002026-01-01\0Two\0\x003c\x002025-12-31\0Thr";
        let commits = commits_of(output);
        assert_eq!(commits.iter().map(|it| it.subject.as_str()).collect::<Vec<_>>(), ["One (#1)", "Two"]);
        assert_eq!(commits_of(""), []);
    }
}
