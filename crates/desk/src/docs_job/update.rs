//! A work branch is brought up to date with its base branch before a follow-up goes on from it.

use copydesk_checks::Scope;
use copydesk_domain::Job;
use copydesk_forge::{CommitId, Merge, Mirror, Tree, Workspace};

use crate::runner::Failure;

/// Brings `base` into `work`. Done again it comes to the same commit, on any machine.
pub(super) async fn merge(mirror: &Mirror, job: &Job, work: &CommitId, base: &CommitId) -> Result<Merge, Failure> {
    let at = mirror.commit_info(work)?.author_time.max(mirror.commit_info(base)?.author_time);
    let message = format!("Merge {} into the work of the job\n\nCopydesk-Job: {}\n", job.base_ref, job.id);
    Ok(mirror.merge(work, base, &message, at).await?)
}

/// Makes a merge again; none if what it was made from is gone.
pub(super) async fn merge_again(
    mirror: &Mirror,
    job: &Job,
    work: &CommitId,
    base: &CommitId,
) -> Result<Option<CommitId>, Failure> {
    // It may be newer than all that was there before.
    if !mirror.has_commit(base) {
        mirror.fetch(&job.base_ref).await?;
    }
    if !mirror.has_commit(work) || !mirror.has_commit(base) {
        return Ok(None);
    }
    Ok(Some(merge(mirror, job, work, base).await?.commit))
}

/// How the lines begin with which git marks a conflict between two commits: they name them, so that a page about such marks
/// is not taken for a conflict.
pub(super) fn marks(work: &CommitId, base: &CommitId) -> [String; 2] {
    [format!("<<<<<<< {work}"), format!(">>>>>>> {base}")]
}

fn is_marked(content: &[u8], marks: &[String; 2]) -> bool {
    let begins = |line: &[u8]| marks.iter().any(|mark| line.starts_with(mark.as_bytes()));
    content.split(|byte| *byte == b'\n').any(begins)
}

/// Conflicts in files that the job may not edit are not for it to resolve.
pub(super) fn check_scope(scope: &Scope, job: &Job, conflicts: &[String]) -> Result<(), Failure> {
    match conflicts.iter().find(|path| scope.may_write(path).is_err()) {
        Some(path) => Err(by_hand(job, path, "which the job may not edit")),
        None => Ok(()),
    }
}

/// Nor are those that cannot be shown in the file: one side has deleted, renamed or replaced what the other has changed.
pub(super) fn check_marked(
    tree: &dyn Tree,
    marks: &[String; 2],
    job: &Job,
    conflicts: &[String],
) -> Result<(), Failure> {
    for path in conflicts {
        if !tree.read(path)?.is_some_and(|content| is_marked(&content, marks)) {
            return Err(by_hand(job, path, "one of them by deleting, moving or replacing it"));
        }
    }
    Ok(())
}

fn by_hand(job: &Job, path: &str, how: &str) -> Failure {
    let base = &job.base_ref;
    Failure::Fatal(format!(
        "The branch of the job and {base} have both changed {path:?}, {how}; merge {base} into the branch by hand, and \
         send the message again."
    ))
}

/// Says so if the editor has left marks of conflicts, wherever it may have put them.
pub(super) fn check_resolved(workspace: &Workspace, marks: &[String; 2], conflicts: &[String]) -> Result<(), Failure> {
    for path in conflicts.iter().map(String::as_str).chain(workspace.changed_paths()) {
        if workspace.read(path)?.is_some_and(|content| is_marked(&content, marks)) {
            return Err(Failure::Fatal(format!(
                "The base branch has changed the same places of {path:?} as the job, and the agent could not resolve that; \
                 merge the base branch into the branch of the job by hand, and send the message again."
            )));
        }
    }
    Ok(())
}
