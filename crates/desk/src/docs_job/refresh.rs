//! How a job's pull request stands on its code host, asked again now and then.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use copydesk_domain::{HostKind, Job, JobId, Project, PullRequest, PullRequestState, Status};
use copydesk_forge::{CodeHost, ForgeError};
use copydesk_store::{LocalPull, Store, StoreError};

use super::{Workshop, merge};
use crate::runner::Failure;

/// How often a code host is asked about one pull request at most.
const PAUSE: Duration = Duration::from_secs(60);
/// How long somebody who reads a job waits for the code host. After that what is known is shown, and what the host says
/// is there for the next one.
const PATIENCE: Duration = Duration::from_secs(2);
/// How many jobs may be asked about at once because their hosts have told of something.
const MOST_REFRESHES: usize = 64;

/// The pull request of a job, if its code host can be asked about it. One from a time when the project had another
/// repository is not this host's.
pub(super) fn known<'j>(project: &Project, job: &'j Job) -> Option<&'j PullRequest> {
    let has_state = project.host.kind_of(&project.repository) != HostKind::Git;
    let is_here = job.repository == project.repository.public_address();
    job.pull_request.as_ref().filter(|_| has_state && is_here)
}

/// How the pull request of a job stands now; none if it has none yet.
pub(super) async fn standing(
    host: Option<&dyn CodeHost>,
    store: &Store,
    project: &Project,
    job: &Job,
) -> Result<Option<PullRequest>, Failure> {
    let Some(known) = known(project, job) else { return Ok(None) };
    let Some(host) = host else {
        let number = u32::try_from(known.number).unwrap_or(u32::MAX);
        let kept = store.local_pull_of(&project.id, number).await?;
        let now = |pull: LocalPull| PullRequest { state: pull.state, merged_at: pull.merged_at, ..known.clone() };
        return Ok(kept.map(now));
    };
    Ok(Some(host.read(known.number).await?))
}

/// Asks how the pull request of a job stands; none if it has none yet, or Copydesk keeps it. An error if nothing can be added
/// to it any more.
pub(super) async fn still_open(
    host: Option<&dyn CodeHost>,
    store: &Store,
    project: &Project,
    job: &Job,
) -> Result<Option<PullRequest>, Failure> {
    let Some(pull) = standing(host, store, project, job).await? else { return Ok(None) };
    if host.is_some() {
        store.record_pull(&job.id, &pull).await?;
    }
    let link = &pull.url;
    match pull.state {
        PullRequestState::Open => Ok(host.map(|_| pull)),
        PullRequestState::Merged => Err(Failure::Fatal(format!(
            "The pull request {link} is merged, so nothing can be added to it; create a new job."
        ))),
        PullRequestState::Closed => Err(Failure::Fatal(format!(
            "The pull request {link} is closed; reopen it and send the message again, or create a new job."
        ))),
    }
}

/// The refreshes that hosts have asked for, one for each job at a time.
#[derive(Default)]
pub struct Refreshes(Mutex<HashMap<JobId, Wanted>>);

/// What is wanted beyond the refresh that is under way.
#[derive(PartialEq)]
enum Wanted {
    Nothing,
    Another,
}

impl Refreshes {
    /// Whether the caller is to do it; if not, it is done again by whoever is at it.
    fn begin(&self, job_id: &JobId) -> bool {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match running.get_mut(job_id) {
            Some(wanted) => {
                *wanted = Wanted::Another;
                false
            }
            None => {
                let room = running.len() < MOST_REFRESHES;
                room && running.insert(job_id.clone(), Wanted::Nothing).is_none()
            }
        }
    }

    /// Whether it is to be done once more.
    fn again(&self, job_id: &JobId) -> bool {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match running.get_mut(job_id) {
            Some(wanted) if *wanted == Wanted::Another => {
                *wanted = Wanted::Nothing;
                true
            }
            _ => {
                running.remove(job_id);
                false
            }
        }
    }
}

/// Asks the code host in the background, because it has told of something. If too much is going on already, the next
/// reader of the job asks.
pub(crate) fn refresh_soon(workshop: Arc<Workshop>, store: Store, project: Project, job: Job) {
    if known(&project, &job).is_none() || !workshop.refreshes.begin(&job.id) {
        return;
    }
    tokio::spawn(async move {
        loop {
            refresh(&workshop, &store, &project, &job).await;
            if !workshop.refreshes.again(&job.id) {
                break;
            }
        }
    });
}

/// The job with its pull request as it stands now, if it is time to ask for that.
pub(crate) async fn refreshed(workshop: &Arc<Workshop>, store: &Store, project: &Project, job: Job) -> Job {
    if !may_change(project, &job) || !is_due(store, &job).await {
        return job;
    }
    let (workshop, store, project, old) = (workshop.clone(), store.clone(), project.clone(), job.clone());
    // On its own, so that it comes to its end also for a client who does not wait.
    let work = tokio::spawn(async move { refresh(&workshop, &store, &project, &old).await });
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(Ok(Some(job))) => job,
        _ => job,
    }
}

/// Looks whether a pull request that Copydesk keeps was merged by hand. Others are asked about when the job runs: their host may
/// take long to answer.
pub(crate) async fn notice_merge(workshop: &Arc<Workshop>, store: &Store, project: &Project, job: Job) {
    let is_kept_here = project.host.kind_of(&project.repository) == HostKind::Local;
    if !is_kept_here || !may_change(project, &job) {
        return;
    }
    let (workshop, store, project) = (workshop.clone(), store.clone(), project.clone());
    let work = tokio::spawn(async move { refresh(&workshop, &store, &project, &job).await });
    // What is not known in time, the run finds out.
    let _ = tokio::time::timeout(PATIENCE, work).await;
}

/// A merge is final.
fn may_change(project: &Project, job: &Job) -> bool {
    job.status != Status::Active && known(project, job).is_some_and(|pull| pull.state != PullRequestState::Merged)
}

/// Looked at before anything is written: a job that is polled is read far more often than its host is asked.
async fn is_due(store: &Store, job: &Job) -> bool {
    let due = job.pull_checked_at.is_none_or(|at| at.plus(PAUSE) <= store.now());
    // If the database cannot be written to, what is known is as good.
    due && store.begin_pull_check(&job.id, PAUSE).await.unwrap_or(false)
}

/// Asks the code host now, and records what it says. None if it could not be asked, of which the log tells.
async fn refresh(workshop: &Workshop, store: &Store, project: &Project, job: &Job) -> Option<Job> {
    let number = known(project, job)?.number;
    let read = async {
        let connection = workshop.connect(project).await?;
        let Some(host) = connection.code_host() else { return Ok(None) };
        Ok::<_, ForgeError>(Some(host.read(number).await?))
    };
    match read.await {
        Ok(Some(pull)) => recorded(store.record_pull(&job.id, &pull).await),
        Ok(None) => match merge::look(workshop, store, project, u32::try_from(number).unwrap_or(u32::MAX)).await {
            Ok(job) => job,
            Err(error) => {
                tracing::info!(
                    job = job.id.as_str(),
                    ?error,
                    "the repository does not give the state of a pull request"
                );
                None
            }
        },
        Err(error) => {
            tracing::info!(job = job.id.as_str(), %error, "the code host does not give the state of a pull request");
            None
        }
    }
}

fn recorded(job: Result<Option<Job>, StoreError>) -> Option<Job> {
    job.unwrap_or_else(|error| {
        tracing::warn!(%error, "the state of a pull request could not be recorded");
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refreshes_of_one_job_are_one_and_at_most_one_more() {
        let refreshes = Refreshes::default();
        assert!(refreshes.begin(&"a".into()) && refreshes.begin(&"b".into()));
        assert!(!refreshes.begin(&"a".into()) && !refreshes.begin(&"a".into()));
        assert!(refreshes.again(&"a".into()), "somebody came meanwhile");
        assert!(!refreshes.again(&"a".into()));
        assert!(refreshes.begin(&"a".into()), "it is over");
        for number in 0..MOST_REFRESHES {
            refreshes.begin(&number.to_string().as_str().into());
        }
        assert!(!refreshes.begin(&"one more".into()));
    }
}
