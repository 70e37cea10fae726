//! Repositories that are read only: a branch with all tags, and commits by whatever name.

use copydesk_boxed::boxed;

use crate::mirror::{Wanted, checked};
use crate::{CommitId, ForgeError, Mirror, git_errors};

/// As few digits of a commit's id as are taken for one: with less, words such as `cafe` would be.
const LEAST_DIGITS: usize = 7;

#[boxed]
impl Mirror {
    /// Fetches a branch, or the main branch, with all tags, and gives the commit that the branch is at.
    pub async fn fetch_with_tags(&self, branch: Option<&str>) -> Result<CommitId, ForgeError> {
        let branch = branch.map(checked).transpose()?;
        match self.fetch_shared(&Wanted::with_tags(branch.as_deref())).await? {
            Some(commit) => Ok(commit),
            None => Err(self.explain_no_tip(branch.as_deref()).await),
        }
    }

    async fn explain_no_tip(&self, branch: Option<&str>) -> ForgeError {
        let error = self.explain_absence(branch.unwrap_or("main")).await;
        if branch.is_some() || error.message.contains("is empty") {
            return error;
        }
        ForgeError::lasting("the repository does not say which branch is its main one; name the branch to read")
    }

    /// Fetches one commit, which no branch may lead to any more. False if the remote does not have it, or does not give
    /// it away by its id.
    pub async fn fetch_commit(&self, commit: &CommitId) -> Result<bool, ForgeError> {
        if self.has_commit(commit) {
            return Ok(true);
        }
        self.fetch_shared(&Wanted::commit(commit)).await?;
        Ok(self.has_commit(commit))
    }

    /// The commit of that name: a tag, the id of a commit that the commit `tip` or a tag builds upon, or a branch, which
    /// is fetched.
    pub async fn find_commit(&self, name: &str, tip: &CommitId) -> Result<Option<CommitId>, ForgeError> {
        match self.known_commit(name, tip).await? {
            Some(commit) => Ok(Some(commit)),
            None => self.find_branch(name).await,
        }
    }

    /// The same without branches, from what was fetched. Nothing is given of commits that are not the repository's own,
    /// such as those of a job that have not gone out.
    pub async fn known_commit(&self, name: &str, tip: &CommitId) -> Result<Option<CommitId>, ForgeError> {
        let name = checked(name)?;
        if let Some(tagged) = self.commit_at(&format!("refs/copydesk-tags/{name}")).await? {
            return Ok(Some(tagged));
        }
        let is_id = (LEAST_DIGITS..=40).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id {
            return Ok(None);
        }
        let Some(commit) = self.commit_at(&name).await? else { return Ok(None) };
        if self.contains(tip, &commit).await? || self.is_tagged(&commit).await? {
            return Ok(Some(commit));
        }
        Ok(None)
    }

    /// Whether a tag builds upon a commit.
    async fn is_tagged(&self, commit: &CommitId) -> Result<bool, ForgeError> {
        let contains = format!("--contains={commit}");
        let output = self.git().run(&["for-each-ref", "--count=1", &contains, "refs/copydesk-tags"], None).await?;
        match output.success {
            true => Ok(!output.stdout.trim().is_empty()),
            false => Err(git_errors::explain(&self.git(), &output.stderr)),
        }
    }

    /// The commit that a name in the mirror leads to.
    async fn commit_at(&self, name: &str) -> Result<Option<CommitId>, ForgeError> {
        let what = format!("{name}^{{commit}}");
        let output = self.git().run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &what], None).await?;
        Ok(if output.success { output.stdout.trim().parse().ok() } else { None })
    }
}
