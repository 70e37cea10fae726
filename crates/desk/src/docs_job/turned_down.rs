//! Pull requests that somebody has closed are an answer: the same is not asked again by itself.

use std::collections::HashSet;

use copydesk_domain::{Job, PullRequest, PullRequestState};
use copydesk_store::Edit;

use super::Bench;
use super::refresh::standing;
use crate::runner::Failure;

impl Bench<'_> {
    /// The pull request of an earlier job that was closed without a merge and that was about the same pages for the same
    /// reason: the same change, or the same prompt and the same lines. Whoever sends this job another message wants it
    /// nevertheless, and so does whoever gives an issue its label again.
    pub(super) async fn turned_down(&self, edit: &Edit) -> Result<Option<PullRequest>, Failure> {
        let job = self.task.job;
        if job.pr_link.is_some() || edit.taken_through > 1 || self.task.store().ask_of_job(&job.id).await?.is_some() {
            return Ok(None);
        }
        for (earlier, diff) in self.task.store().jobs_like(job, &edit.diff).await? {
            if !is_about_all(&edit.diff, &diff) {
                continue;
            }
            if let Some(pull) = self.closed(&earlier).await? {
                return Ok(Some(pull));
            }
        }
        Ok(None)
    }

    async fn closed(&self, earlier: &Job) -> Result<Option<PullRequest>, Failure> {
        let known = earlier.pull_request.as_ref().filter(|pull| pull.state == PullRequestState::Closed);
        // Somebody may have closed or opened it since the host was last asked.
        let now = match standing(self.host, self.task.store(), self.project, earlier).await {
            Ok(now) => now,
            Err(Failure::Fatal(_)) => known.cloned(),
            Err(failure) => return Err(failure),
        };
        Ok(now.filter(|pull| pull.state == PullRequestState::Closed))
    }
}

/// Whether every file that one diff changes is changed by the other, and every line that it takes away is, too: the same
/// prompt may find something else on the same pages next week.
fn is_about_all(diff: &[u8], other: &[u8]) -> bool {
    let others = touched(other);
    touched(diff).is_subset(&others)
}

/// The files that a diff is about, and what it takes away from each.
fn touched(diff: &[u8]) -> HashSet<(String, String)> {
    let text = String::from_utf8_lossy(diff);
    let mut file = String::new();
    let mut all = HashSet::new();
    for line in text.lines() {
        // No line of content begins so, for those begin with a space or a sign.
        if let Some(head) = line.strip_prefix("diff --git ") {
            file = head.to_owned();
            all.insert((file.clone(), String::new()));
        } else if let Some(gone) = line.strip_prefix('-').filter(|_| !line.starts_with("--- ")) {
            all.insert((file.clone(), format!("-{gone}")));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_told_by_the_heads_of_a_diff() {
        let one =
            b"diff --git a/x.md b/x.md\n--- a/x.md\n+++ b/x.md\n@@ -1 +1 @@\n-diff --git a/z b/z\n+b\n".as_slice();
        let both = [one, b"diff --git a/y.md b/y.md\nnew file mode 100644\n"].concat();
        assert!(is_about_all(one, one) && is_about_all(one, &both));
        assert!(!is_about_all(&both, one));
        let other_line = b"diff --git a/x.md b/x.md\n--- a/x.md\n+++ b/x.md\n@@ -9 +9 @@\n-another\n+b\n";
        assert!(!is_about_all(other_line, one), "another line of the same page");
    }
}
