use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Something that happens once, and that one task waits for.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    is_given: AtomicBool,
    wake: Notify,
}

impl Signal {
    pub(crate) fn give(&self) {
        self.is_given.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    pub(crate) async fn given(&self) {
        while !self.is_given.load(Ordering::Acquire) {
            self.wake.notified().await;
        }
    }
}
