use copydesk_domain::{Invalid, Standing, Status};
use copydesk_store::{CancelError, StoreError};

/// Why something was not done with a job.
#[derive(Debug)]
pub enum JobError {
    /// These fields break a rule.
    Invalid(Vec<Invalid>),
    NoProject,
    NotFound,
    /// The project has used up its hour.
    Limited(Standing),
    /// The idempotency key belongs to another request.
    KeyReused,
    Archived,
    /// The job's pull request is merged: nothing can be added to it.
    Merged,
    /// The job stands so, and only an active one can be cancelled.
    NotActive(Status),
    /// The job has no pull request that Copydesk keeps.
    NoLink,
    /// The link has ended with the job.
    LinkEnded,
    /// Somebody works on the job.
    Busy,
    Store(StoreError),
}

impl From<StoreError> for JobError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<CancelError> for JobError {
    fn from(error: CancelError) -> Self {
        match error {
            CancelError::Refused(refusal) => Self::NotActive(refusal.0),
            CancelError::Store(error) => Self::Store(error),
        }
    }
}
