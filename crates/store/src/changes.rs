use copydesk_boxed::boxed;
use tokio::sync::broadcast;

use crate::announce::Interest;
use crate::hub::Change;

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

    /// Leaves out all that was told so far.
    pub fn skip(&mut self) {
        self.receiver = self.receiver.resubscribe();
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
