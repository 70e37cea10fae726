use copydesk_boxed::boxed;
use copydesk_domain::JobId;
use tokio::sync::broadcast;

use crate::announce::Interest;

/// Something that a waiting part of the program may want to look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// A job can be claimed.
    Ready,
    /// A job has ended, so that another of its project may run.
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

/// A subscription to changes.
#[derive(Debug)]
pub struct Changes {
    receiver: broadcast::Receiver<Change>,
    /// Other processes know of it for as long as this is here.
    _interest: Option<Interest>,
}

#[boxed]
impl Changes {
    pub(crate) fn new(receiver: broadcast::Receiver<Change>, interest: Option<Interest>) -> Self {
        Self { receiver, _interest: interest }
    }

    /// Waits until `wanted` says yes to a change, or until changes were missed and anything may have happened.
    pub async fn wait_for(&mut self, mut wanted: impl FnMut(&Change) -> bool) {
        loop {
            match self.receiver.recv().await {
                Ok(change) if wanted(&change) => return,
                Ok(_) => {}
                Err(broadcast::error::RecvError::Lagged(_)) => return,
                // The store is gone; callers have a timer beside this.
                Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
            }
        }
    }
}
