//! Merging pull requests that Copydesk keeps itself. The base branch of the repository says what is merged; the store only
//! repeats it. So whoever is killed between a push and its record leaves something that the next look finds.

use copydesk_boxed::boxed;
use copydesk_domain::{Job, Project, PullRequestState};
use copydesk_forge::{CommitId, ForgeError, ForgeErrorKind, Mirror};
use copydesk_store::{LocalPull, Merging, Store, StoreError};

use super::Workshop;
use super::failure::commit_id;
use crate::runner::{Failure, as_sentence};

/// How often the base branch may move under a merge before it is given up.
const TRIES: usize = 5;

/// Why a pull request was not merged, closed or opened again.
#[derive(Debug)]
pub enum NotMerged {
    NotFound,
    /// It stands so.
    Is(PullRequestState),
    /// Its job is still working on it.
    Running,
    Archived,
    /// Both branches have changed these files at the same place.
    Conflicts(Vec<String>),
    /// The branch to merge from is not there any more.
    BranchGone(String),
    /// It may work later; why, as one sentence.
    NotNow(String),
    /// It will not work until somebody changes something; why, as one sentence.
    Failed(String),
    /// This process does not see repositories.
    NotHere,
    Store(StoreError),
    /// The work on it ended unexpectedly.
    Broken(String),
}

impl From<StoreError> for NotMerged {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Failure> for NotMerged {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Retry(why) | Failure::Away(why) => Self::NotNow(as_sentence(&why)),
            Failure::Fatal(why) | Failure::Refused(why) => Self::Failed(as_sentence(&why)),
            Failure::Lost(_) => Self::Running,
        }
    }
}

impl From<ForgeError> for NotMerged {
    fn from(error: ForgeError) -> Self {
        Failure::from(error).into()
    }
}

/// What the store says to a deed.
pub(crate) fn settled(said: Option<Merging>) -> Result<Job, NotMerged> {
    match said.ok_or(NotMerged::NotFound)? {
        Merging::Done(job) => Ok(*job),
        Merging::Is(state) => Err(NotMerged::Is(state)),
        Merging::Running => Err(NotMerged::Running),
        Merging::Archived => Err(NotMerged::Archived),
    }
}

/// Merges a pull request into its base branch, with a merge commit. Again, and by several at once, comes to one merge.
#[boxed]
pub async fn merge(workshop: &Workshop, store: &Store, project: &Project, number: u32) -> Result<Job, NotMerged> {
    let mirror = workshop.mirror(&workshop.connect(project).await?).await?;
    for tried in 0..TRIES {
        let pull = store.local_pull_of(&project.id, number).await?.ok_or(NotMerged::NotFound)?;
        match pull.state {
            PullRequestState::Open => {}
            PullRequestState::Merged => return merged_before(store, project, &pull).await,
            PullRequestState::Closed => return Err(NotMerged::Is(pull.state)),
        }
        let job = store.job(&project.id, &pull.job_id).await?.ok_or(NotMerged::NotFound)?;
        if job.repository != project.repository.public_address() {
            return Err(NotMerged::Failed("The project has another repository than when it was opened.".to_owned()));
        }
        if let Some(commit) = found_merged(store, &mirror, &pull).await? {
            return recorded(store, project, number, &commit).await;
        }
        let gone = || NotMerged::BranchGone(pull.head.clone());
        let head = mirror.find_branch(&pull.head).await?.ok_or_else(gone)?;
        let base = mirror.fetch(&pull.base).await?;
        let message = format!("Merge pull request #{number} from {}\n\n{}\n", pull.head, pull.title);
        let merge = mirror.merge(&base, &head, &message, store.now()).await?;
        if !merge.conflicts.is_empty() {
            return Err(NotMerged::Conflicts(merge.conflicts));
        }
        let commit = merge.commit;
        settled(store.begin_merge(&project.id, number, &commit.to_string(), tried > 0).await?)?;
        match mirror.push(&commit, &pull.base, Some(&base)).await {
            Ok(()) => return recorded(store, project, number, &commit).await,
            // Somebody else was faster: what they have left is merged into, unless it is this.
            Err(error) if error.kind == ForgeErrorKind::Moved => {}
            Err(error) => {
                store.forget_merge(&project.id, number, &commit.to_string()).await?;
                return Err(error.into());
            }
        }
    }
    Err(NotMerged::NotNow("The base branch moves too fast; try again in a moment.".to_owned()))
}

async fn recorded(store: &Store, project: &Project, number: u32, commit: &CommitId) -> Result<Job, NotMerged> {
    store.record_merge(&project.id, number, &commit.to_string()).await?.ok_or(NotMerged::NotFound)
}

async fn merged_before(store: &Store, project: &Project, pull: &LocalPull) -> Result<Job, NotMerged> {
    store.job(&project.id, &pull.job_id).await?.ok_or(NotMerged::NotFound)
}

/// The commit through which the base branch has all of the pull request already: pushed by somebody who was killed before it
/// could be recorded, or merged by hand in the repository.
async fn found_merged(store: &Store, mirror: &Mirror, pull: &LocalPull) -> Result<Option<CommitId>, NotMerged> {
    let Some(base) = mirror.find_branch(&pull.base).await? else { return Ok(None) };
    let planned = pull.merged_commit.as_deref().and_then(|commit| commit_id(commit).ok());
    if let Some(planned) = planned.filter(|planned| mirror.has_commit(planned))
        && mirror.contains(&base, &planned).await?
    {
        return Ok(Some(planned));
    }
    // Whoever has merged it may have deleted its branch.
    let head = match mirror.find_branch(&pull.head).await? {
        Some(head) => Some(head),
        None => pushed(store, mirror, pull).await?,
    };
    let Some(head) = head else { return Ok(None) };
    let is_merged = mirror.contains(&base, &head).await?
        // After a squash the changes are there, and the commits are not.
        || mirror.has_changes_of(&base, &head).await? == Some(true) && mirror.changes_something(&base, &head).await?;
    Ok(is_merged.then_some(base))
}

/// The commit that the job has pushed last, if it is in the mirror.
async fn pushed(store: &Store, mirror: &Mirror, pull: &LocalPull) -> Result<Option<CommitId>, NotMerged> {
    let rounds = store.rounds(&pull.job_id).await?;
    let last = rounds.iter().rev().find(|round| round.pushed).and_then(|round| round.commit.as_deref());
    let commit = last.and_then(|commit| commit_id(commit).ok());
    Ok(commit.filter(|commit| mirror.has_commit(commit)))
}

/// Looks in the repository whether an open pull request is merged, and records it. Gives the job if it is.
pub(super) async fn look(
    workshop: &Workshop,
    store: &Store,
    project: &Project,
    number: u32,
) -> Result<Option<Job>, NotMerged> {
    let Some(pull) = store.local_pull_of(&project.id, number).await? else { return Ok(None) };
    // One that was closed while somebody merged it may be merged nevertheless.
    let is_due = match pull.state {
        PullRequestState::Open => true,
        PullRequestState::Closed => pull.merged_commit.is_some(),
        PullRequestState::Merged => false,
    };
    if !is_due {
        return Ok(None);
    }
    let mirror = workshop.mirror(&workshop.connect(project).await?).await?;
    match found_merged(store, &mirror, &pull).await? {
        Some(commit) => Ok(Some(recorded(store, project, number, &commit).await?)),
        None => Ok(None),
    }
}
