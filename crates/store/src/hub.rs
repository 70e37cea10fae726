use copydesk_domain::{JobId, ProjectId};
use tokio::sync::broadcast;

/// Something that a waiting part of the program may want to look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// A job can be claimed: one of this project, or nobody knows of which.
    Ready(Option<ProjectId>),
    /// A job has ended, so that another of its project, which waits, may run.
    Room,
    /// Whoever works on the job is to let go of it: it was cancelled or archived.
    Called(JobId),
    /// A job has changed, its events included.
    Job(JobId),
    /// There is something that webhooks may have to tell.
    Outbox,
    /// A code host has told of something that somebody asks for.
    Asked,
    /// A project or a code source is gone, and what belongs to it outside of the database may go.
    Removed,
}

/// Who tells whom that something changed. It only wakes: what happened is read from the database, so a lost
/// wake-up costs time, never truth.
#[derive(Debug, Clone)]
pub(crate) struct Hub(broadcast::Sender<Change>);

impl Hub {
    pub(crate) fn new() -> Self {
        Self(broadcast::channel(1024).0)
    }

    pub(crate) fn publish(&self, change: Change) {
        // Fails only when nobody listens.
        let _ = self.0.send(change);
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.0.subscribe()
    }
}
