//! Pull requests that somebody has closed are an answer: the same is not asked again by itself.

use copydesk_domain::{Job, PullRequest, PullRequestState};
use copydesk_store::Edit;

use super::Bench;
use super::refresh::standing;
use crate::runner::Failure;

impl Bench<'_> {
    /// The pull request of an earlier job that was closed without a merge and that was about the same pages for the same
    /// reason: the same change, or the same prompt. Whoever sends this job another message wants it nevertheless.
    pub(super) async fn turned_down(&self, edit: &Edit) -> Result<Option<PullRequest>, Failure> {
        let job = self.task.job;
        if job.pr_link.is_some() || edit.taken_through > 1 {
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

/// Whether every file that one diff changes is changed by the other.
fn is_about_all(diff: &[u8], other: &[u8]) -> bool {
    let heads = |diff| String::from_utf8_lossy(diff).lines().filter(is_head).map(str::to_owned).collect::<Vec<_>>();
    let others = heads(other);
    heads(diff).iter().all(|head| others.contains(head))
}

/// `diff --git a/… b/…`: no line of content begins so, for those begin with a space or a sign.
fn is_head(line: &&str) -> bool {
    line.starts_with("diff --git ")
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
    }
}
