use copydesk_boxed::boxed;
use copydesk_domain::{Job, Message, Project};
use copydesk_store::{Finish, Lease, LeaseError, LeaseLost, NewEvent, Step, Store, StoreError};
use futures_util::future::BoxFuture;

use super::Near;
use crate::metrics::Metrics;

/// What works on a job: given the prompts, it says how the job ended.
pub trait Engine: Send + Sync {
    /// The model whose jobs it runs.
    fn model(&self) -> &str;

    /// The projects that it has something of on this machine.
    fn near(&self) -> Option<&Near> {
        None
    }

    /// Works on a job. It is dropped in the middle when the job is cancelled, lost or out of time.
    fn run<'a>(&'a self, task: Task<'a>) -> BoxFuture<'a, Result<Finish, Failure>>;
}

/// A job in the hands of an engine.
pub struct Task<'a> {
    pub job: &'a Job,
    /// All prompts, oldest first.
    pub messages: &'a [Message],
    pub(super) lease: &'a Lease,
    pub(super) store: &'a Store,
    pub(super) metrics: &'a Metrics,
}

#[boxed]
impl Task<'_> {
    /// Records a step, and fails if the job is no longer to be worked on. Call it before every act outside.
    pub async fn step(&self, step: &'static str, data: serde_json::Value) -> Result<(), Failure> {
        Ok(self.store.record_step(self.lease, step, data).await?)
    }

    /// Records a step of a documentation job, with the events that came before it.
    pub(crate) async fn advance(&self, step: Step, told: Vec<NewEvent>) -> Result<(), Failure> {
        Ok(self.store.advance(self.lease, Some(step), told).await?)
    }

    pub(crate) async fn tell(&self, told: Vec<NewEvent>) -> Result<(), Failure> {
        Ok(self.store.advance(self.lease, None, told).await?)
    }

    pub(crate) async fn project(&self) -> Result<Project, Failure> {
        let project = self.store.project(&self.job.project_id).await?;
        // A project goes with its jobs.
        project.ok_or(Failure::Lost(LeaseLost::Lost))
    }

    pub(crate) fn store(&self) -> &Store {
        self.store
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        self.metrics
    }

    pub(crate) fn lease(&self) -> &Lease {
        self.lease
    }

    /// The number of this attempt; it grows every time the job is taken up.
    pub fn attempt(&self) -> i64 {
        self.lease.attempt
    }

    /// The number of the last prompt.
    pub fn last_message(&self) -> u32 {
        self.messages.last().map_or(0, |message| message.number)
    }
}

/// Why an engine could not end a job, and so what is to be done; decided where it failed.
#[derive(Debug)]
pub enum Failure {
    /// It may work later; it is tried again so often.
    Retry(String),
    /// The code host is away. It is waited for, which uses up no tries and none of the job's time.
    Away(String),
    /// It will not work; what to tell the user.
    Fatal(String),
    /// What the prompts ask for cannot be done; what to tell the user, which may quote them.
    Refused(String),
    /// The job is not this worker's any more.
    Lost(LeaseLost),
}

/// A reason as a sentence: users read it.
pub(crate) fn as_sentence(reason: &str) -> String {
    let reason = reason.trim();
    let mut letters = reason.chars();
    let mut out: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    out.push_str(letters.as_str());
    if !out.ends_with(['.', '!', '?']) {
        out.push('.');
    }
    out
}

impl From<LeaseError> for Failure {
    fn from(error: LeaseError) -> Self {
        match error {
            LeaseError::Lost(lost) => Self::Lost(lost),
            LeaseError::Store(error) => error.into(),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        // What the database says is for the operator.
        tracing::warn!(%error, "the database failed in the middle of a job");
        Self::Retry("the database could not be used".to_owned())
    }
}
