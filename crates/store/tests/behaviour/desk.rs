//! What every behaviour starts from: an empty database, a clock that stands still, and short words for long calls.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use copydesk_domain::{
    Clock, HostSettings, Job, JobId, OnFindings, Outcome, ProjectId, Prompt, PullRequest, PullRequestState, Repository,
    Timestamp, ViewSettings, Window, WritePaths,
};
use copydesk_store::{
    Admission, Claimed, Finish, Finished, Idempotency, JobFilter, Lease, LeaseError, LeaseLost, NewJob, NewProject,
    QueueTerms, Store, StoreError, Vault,
};
use copydesk_testbase::{Backend, ManualClock, TestDatabase};

/// What a worker learns whose job was taken away.
pub const LOST: LeaseError = LeaseError::Lost(LeaseLost::Lost);
/// What a worker learns whose job a client has cancelled.
pub const CANCELLED: LeaseError = LeaseError::Lost(LeaseLost::Cancelled);

/// That a worker has lost its job is no failure of the store.
pub fn or_lost<T>(done: Result<T, LeaseError>) -> Result<(), StoreError> {
    match done {
        Err(LeaseError::Store(error)) => Err(error),
        Ok(_) | Err(LeaseError::Lost(_)) => Ok(()),
    }
}

/// A rate limit that is switched off.
pub const OFF: Window = Window { limit: 0, period: Duration::from_secs(3600) };

pub const SECOND: Duration = Duration::from_secs(1);
pub const MILLISECOND: Duration = Duration::from_millis(1);
pub const HOUR: Duration = Duration::from_secs(3600);

/// How long a lease lasts in these tests.
pub const LEASE: Duration = Duration::from_secs(30);

/// An empty database and a process that uses it.
pub struct Desk {
    pub db: Arc<TestDatabase>,
    pub clock: Arc<ManualClock>,
    pub store: Store,
    /// Where secrets are sealed; nothing is there until something is.
    pub vault: Vault,
}

/// Runs one behaviour on a database of its own. A behaviour that hangs fails.
pub fn run<F: Future<Output = ()>>(backend: Backend, threads: usize, behaviour: fn(Desk) -> F) {
    let mut builder = match threads {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = builder.worker_threads(threads).enable_all().build().unwrap();
    let whole = async {
        let db = Arc::new(TestDatabase::new(backend).await);
        let clock = Arc::new(ManualClock::new());
        let store = db.store(clock.clone()).await;
        let folder = tempfile::tempdir().unwrap();
        let vault = Vault::new(folder.path().join("credentials.key"));
        behaviour(Desk { db: db.clone(), clock, store, vault }).await;
        db.destroy().await;
    };
    let bounded = async { tokio::time::timeout(Duration::from_secs(180), whole).await };
    runtime.block_on(bounded).expect("the behaviour came to no end");
}

impl Desk {
    /// The same database as another process sees it.
    pub async fn beside(&self) -> Store {
        self.db.store(self.clock.clone()).await
    }

    pub async fn several_beside(&self, count: usize) -> Vec<Store> {
        let mut stores = Vec::new();
        for _ in 0..count {
            stores.push(self.beside().await);
        }
        stores
    }

    pub fn is_postgres(&self) -> bool {
        matches!(self.db.address(), copydesk_store::DatabaseAddress::Postgres { .. })
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// Makes a project and gives its id.
    pub async fn project(&self, name: &str) -> ProjectId {
        self.store.create_project(new_project(name)).await.unwrap().unwrap().id
    }

    /// Makes a project with a running limit of its own.
    pub async fn project_running(&self, name: &str, max_running: u32) -> ProjectId {
        let new = NewProject { max_running: Some(max_running), ..new_project(name) };
        self.store.create_project(new).await.unwrap().unwrap().id
    }

    /// Creates a job and gives its id.
    pub async fn create(&self, project: &ProjectId) -> JobId {
        create(&self.store, project).await
    }

    pub async fn message(&self, project: &ProjectId, job: &JobId) -> Admission {
        message(&self.store, project, job).await
    }

    pub async fn job(&self, project: &ProjectId, id: &JobId) -> Job {
        self.store.job(project, id).await.unwrap().expect("there is such a job")
    }

    pub async fn jobs(&self, project: &ProjectId) -> Vec<Job> {
        self.store.jobs(project, JobFilter { limit: 1000, ..JobFilter::default() }).await.unwrap()
    }

    /// Claims the next job, of which there is one.
    pub async fn claim(&self, worker: &str) -> Claimed {
        claim(&self.store, worker).await.expect("there is a job to claim")
    }

    /// Ends a job well, with all its prompts taken in.
    pub async fn finish(&self, claimed: &Claimed) {
        let finish = done(claimed);
        assert_eq!(self.store.finish(&claimed.lease, finish).await, Ok(Finished::Ended));
    }

    /// Creates a job and ends it with `outcome`.
    pub async fn ended(&self, project: &ProjectId, outcome: Outcome) -> JobId {
        let id = self.create(project).await;
        let claimed = self.claim("ender").await;
        assert_eq!(claimed.job.id, id, "no other job is in the way");
        let finish = Finish::new(outcome, "Done.", 1);
        assert_eq!(self.store.finish(&claimed.lease, finish).await, Ok(Finished::Ended));
        id
    }

    /// What the job's events are called, oldest first.
    pub async fn kinds(&self, job: &JobId) -> Vec<String> {
        self.store.events(job, 0, 1000).await.unwrap().into_iter().map(|event| event.kind).collect()
    }
}

/// A pull request that has just been opened.
pub fn opened(url: &str) -> PullRequest {
    PullRequest { number: 7, url: url.to_owned(), state: PullRequestState::Open, draft: false, merged_at: None }
}

pub fn new_project(name: &str) -> NewProject {
    NewProject {
        id: None,
        name: name.to_owned(),
        repository: Repository::parse("https://example.com/acme/docs.git", Path::new("/")).unwrap(),
        base_ref: "main".to_owned(),
        docs_paths: vec!["docs".to_owned()],
        write_paths: WritePaths::default(),
        time_zone: "UTC".to_owned(),
        jobs_per_hour: None,
        max_running: None,
        time_limit_seconds: None,
        job_cost: None,
        on_findings: OnFindings::default(),
        views: ViewSettings::default(),
        host: HostSettings::default(),
    }
}

pub fn new_job(project: &ProjectId) -> NewJob {
    NewJob {
        project_id: project.clone(),
        repository: "https://example.com/acme/docs".to_owned(),
        base_ref: "main".to_owned(),
        model: "builtin".to_owned(),
        draft: false,
        open_pull_request: true,
        client_reference: None,
        max_cost: None,
        changes: None,
        prompt: Prompt::parse("Fix the typos.").unwrap(),
    }
}

pub async fn create(store: &Store, project: &ProjectId) -> JobId {
    let admission = store.create_job(new_job(project), OFF, None, render).await.unwrap();
    admitted(&admission).to_owned()
}

pub async fn message(store: &Store, project: &ProjectId, job: &JobId) -> Admission {
    let prompt = Prompt::parse("And another thing.").unwrap();
    store.message_job(project, job, prompt, OFF, None, render).await.unwrap()
}

/// The job that was created or messaged.
pub fn admitted(admission: &Admission) -> &JobId {
    match admission {
        Admission::Done { job_id, .. } => job_id,
        other => panic!("not admitted: {other:?}"),
    }
}

/// An answer that tells any two states of a job apart.
pub fn render(job: &Job) -> String {
    format!("{job:?}")
}

pub fn key(key: &str, fingerprint: &str) -> Option<Idempotency> {
    Some(Idempotency { key: key.to_owned(), fingerprint: fingerprint.to_owned() })
}

/// No limit of running jobs, three tries, half an hour, a day in the queue.
pub fn terms() -> QueueTerms {
    QueueTerms {
        lease: LEASE,
        running_per_project: 0,
        job_time: Duration::from_secs(1800),
        queue_time: Duration::from_secs(24 * 3600),
        attempts: 3,
        host_wait: Duration::from_secs(3600),
    }
}

pub fn models() -> Vec<String> {
    vec!["builtin".to_owned()]
}

pub async fn claim(store: &Store, worker: &str) -> Option<Claimed> {
    claim_with(store, worker, &models(), &terms()).await.unwrap()
}

/// Claims one job.
pub async fn claim_with(
    store: &Store,
    worker: &str,
    models: &[String],
    terms: &QueueTerms,
) -> Result<Option<Claimed>, StoreError> {
    let mut claimed = store.claim(worker, models, terms, 1, &[]).await?;
    assert!(claimed.len() <= 1, "{claimed:?}");
    Ok(claimed.pop())
}

/// Makes one lease longer. One whose row somebody holds is tried again, as workers do.
pub async fn heartbeat(store: &Store, lease: &Lease, length: Duration) -> Result<(), LeaseError> {
    loop {
        let beat = store.look_after(std::slice::from_ref(lease), Some(length)).await?[0];
        beat.stands?;
        if beat.is_longer {
            return Ok(());
        }
        tokio::task::yield_now().await;
    }
}

/// The end of a job that went well, with every prompt that `claimed` knows of taken in.
pub fn done(claimed: &Claimed) -> Finish {
    let taken_through = claimed.messages.last().map_or(0, |message| message.number);
    Finish::new(Outcome::NoChanges, "Nothing to do.", taken_through)
}

pub fn lease_of(job: &JobId, worker: &str, attempt: i64) -> Lease {
    Lease { job_id: job.clone(), worker: worker.to_owned(), attempt }
}
