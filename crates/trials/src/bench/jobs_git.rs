//! The bare git commands that make the same commit and push it.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use copydesk_testkit::GitRepo;
use tempfile::TempDir;

use super::jobs_sample::Change;

/// A bare clone, from which commits are pushed back to the repository.
pub(super) struct BareGit {
    folder: TempDir,
    remote: String,
}

impl BareGit {
    pub(super) fn new(repository: &GitRepo) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let remote = repository.address();
        git(folder.path(), &["clone", "-q", "--bare", &remote, "."], None);
        Self { folder, remote }
    }

    /// Makes one change into a commit and pushes it to a branch of its own. No work tree, no index, no fetch, and only
    /// the three folders above the page are read and written: nothing less would do.
    pub(super) fn change(&self, change: &Change) {
        let (folder, name) = change.path.rsplit_once('/').unwrap();
        let (above, section) = folder.split_once('/').unwrap();
        let page = self.git(&["cat-file", "blob", &format!("main:{}", change.path)], None);
        let blob = self.git(&["hash-object", "-w", "--stdin"], Some(&page.replacen(&change.old, &change.new, 1)));
        let tree = self.replace(&format!("main:{folder}"), name, blob.trim());
        let tree = self.replace(&format!("main:{above}"), section, &tree);
        let tree = self.replace("main:", above, &tree);
        let message = format!("Revise the release in {}", change.path);
        let commit = self.git(&["commit-tree", &tree, "-p", "main", "-m", &message], None);
        let to = format!("{}:refs/heads/bare/{}", commit.trim(), change.number);
        self.git(&["push", "-q", &self.remote, &to], None);
    }

    /// Writes a folder in which an entry has another id, and gives the folder's own.
    fn replace(&self, folder: &str, name: &str, id: &str) -> String {
        let listing = self.git(&["ls-tree", folder], None);
        let ending = format!("\t{name}");
        let mut changed = String::new();
        for line in listing.lines() {
            if line.ends_with(&ending) {
                let (about, _) = line.split_once('\t').unwrap();
                let (kind, _) = about.rsplit_once(' ').unwrap();
                changed.push_str(&format!("{kind} {id}{ending}\n"));
            } else {
                changed.push_str(line);
                changed.push('\n');
            }
        }
        self.git(&["mktree"], Some(&changed)).trim().to_owned()
    }

    fn git(&self, arguments: &[&str], input: Option<&str>) -> String {
        git(self.folder.path(), arguments, input)
    }
}

/// Runs git in a folder and gives what it prints; fails if git does.
pub(super) fn git(folder: &Path, arguments: &[&str], input: Option<&str>) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(arguments).stdout(Stdio::piped());
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "Acme").env(format!("GIT_{role}_EMAIL"), "docs@acme.example");
    }
    let mut child = command.spawn().unwrap();
    if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
        pipe.write_all(input.as_bytes()).unwrap();
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "git {arguments:?} failed");
    String::from_utf8(output.stdout).unwrap()
}
