//! Bringing one branch into another, in the mirror only.

use copydesk_boxed::boxed;
use copydesk_domain::Timestamp;

use crate::mirror::parse_commit;
use crate::{CommitId, FileChange, ForgeError, Mirror, build, git_errors};

/// The most files with conflicts that are worth resolving.
const MOST_CONFLICTS: usize = 200;

/// Two branches as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merge {
    /// The commit that has both as parents. If there are conflicts it must not go out: see [`Mirror::resolve`].
    pub commit: CommitId,
    /// The files that both have changed at the same place, with git's marks around what each has made of it.
    pub conflicts: Vec<String>,
}

#[boxed]
impl Mirror {
    /// Whether `work` has all of `base` already. Both must be in the mirror.
    pub async fn contains(&self, work: &CommitId, base: &CommitId) -> Result<bool, ForgeError> {
        let (base, work) = (base.to_string(), work.to_string());
        let output = self.git().run(&["merge-base", "--is-ancestor", &base, &work], None).await?;
        match output.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(git_errors::explain(&self.git(), &output.stderr)),
        }
    }

    /// Whether `base` has all that `work` has changed, be it by other commits, as after a squash. None if both have changed
    /// the same place, so that it cannot be told.
    pub async fn has_changes_of(&self, base: &CommitId, work: &CommitId) -> Result<Option<bool>, ForgeError> {
        let arguments = ["merge-tree", "--write-tree", "--no-messages", &base.to_string(), &work.to_string()];
        let output = self.git().run(&arguments, None).await?;
        match output.code {
            Some(0) => Ok(Some(output.stdout.trim() == self.commit_info(base)?.tree)),
            Some(1) => Ok(None),
            _ => Err(git_errors::explain(&self.git(), &output.stderr)),
        }
    }

    /// Whether `work` differs from what it has in common with `base`: commits may take each other back.
    pub async fn changes_something(&self, base: &CommitId, work: &CommitId) -> Result<bool, ForgeError> {
        let output = self.git().run(&["merge-base", &base.to_string(), &work.to_string()], None).await?;
        match output.stdout.trim().parse::<CommitId>() {
            Ok(common) => Ok(self.commit_info(&common)?.tree != self.commit_info(work)?.tree),
            // 1: there is nothing in common.
            Err(_) if output.code == Some(1) => Ok(true),
            Err(_) => Err(git_errors::explain(&self.git(), &output.stderr)),
        }
    }

    /// Brings `base` into `work` with a commit that says `message`. The same input gives the same id. Nothing is pushed.
    pub async fn merge(
        &self,
        work: &CommitId,
        base: &CommitId,
        message: &str,
        at: Timestamp,
    ) -> Result<Merge, ForgeError> {
        let (ours, theirs) = (work.to_string(), base.to_string());
        let arguments = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", &ours, &theirs];
        let output = self.git().run(&arguments, None).await?;
        // 1: there are conflicts.
        if !matches!(output.code, Some(0 | 1)) {
            return Err(git_errors::explain(&self.git(), &output.stderr));
        }
        let mut parts = output.stdout.split('\0').filter(|part| !part.is_empty());
        let odd = || ForgeError::passing("git has merged two branches and does not say to what");
        let tree = parts.next().and_then(|id| id.trim().parse::<CommitId>().ok()).ok_or_else(odd)?;
        let conflicts: Vec<String> = parts.map(str::to_owned).collect();
        if conflicts.len() > MOST_CONFLICTS {
            return Err(ForgeError::lasting(format!(
                "the base branch and the work branch have both changed {} files; merge them by hand",
                conflicts.len()
            )));
        }
        let commit = self.write_commit(&tree.0, &[work.0, base.0], at, message)?;
        Ok(Merge { commit, conflicts })
    }

    /// The commit of a merge with conflicts, resolved by `changes` to its files: it has the same parents, and the marks
    /// never were in the history.
    pub fn resolve(
        &self,
        merge: &CommitId,
        changes: &[FileChange],
        message: &str,
        at: Timestamp,
    ) -> Result<CommitId, ForgeError> {
        let data = self.read_commit(merge)?;
        let parsed = parse_commit(&data)?;
        let tree = build::write_tree(&self.shared.objects, &parsed.tree(), changes)?;
        let parents: Vec<_> = parsed.parents().collect();
        self.write_commit(&tree, &parents, at, message)
    }
}
