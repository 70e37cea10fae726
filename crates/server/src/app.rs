use std::sync::Arc;
use std::time::Duration;

use copydesk_desk::Desk;
use copydesk_store::Store;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::large_bodies::LargeBodies;

/// What every request may need. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Inner>);

struct Inner {
    desk: Desk,
    limits: Limits,
    streams: Arc<Semaphore>,
    large_bodies: LargeBodies,
}

/// The limits of the HTTP face.
#[derive(Debug, Clone)]
pub struct Limits {
    /// How long a request may take.
    pub request_time: Duration,
    /// Connections open at a time.
    pub connections: usize,
}

impl App {
    pub fn new(desk: Desk, limits: Limits) -> Self {
        // Streams last, so they may not take up the connections that everybody else needs.
        let streams = Arc::new(Semaphore::new(limits.connections.div_ceil(2)));
        Self(Arc::new(Inner { desk, limits, streams, large_bodies: LargeBodies::default() }))
    }

    pub fn desk(&self) -> &Desk {
        &self.0.desk
    }

    pub fn store(&self) -> &Store {
        &self.0.desk.store
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    pub(crate) fn large_bodies(&self) -> &LargeBodies {
        &self.0.large_bodies
    }

    /// A place for one more stream of events; none if there are too many.
    pub(crate) fn stream_slot(&self) -> Option<OwnedSemaphorePermit> {
        self.0.streams.clone().try_acquire_owned().ok()
    }
}
