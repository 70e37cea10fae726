use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRef;
use copydesk_desk::Desk;
use copydesk_store::Store;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::bodies::{Bodies, BodyBounds};
use crate::large_bodies::LargeBodies;
use crate::operation::Operation;

/// What every request may need. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Inner>);

struct Inner {
    desk: Desk,
    operation: Operation,
    limits: Limits,
    streams: Arc<Semaphore>,
    bodies: Bodies,
    large_bodies: LargeBodies,
}

/// The limits of the HTTP face.
#[derive(Debug, Clone)]
pub struct Limits {
    /// How long a request may take.
    pub request_time: Duration,
    /// How long the head of a request may take.
    pub head_time: Duration,
    /// Connections open at a time.
    pub connections: usize,
    /// Connections of one address at a time, proxies of ours apart; 0 for no limit.
    pub connections_per_peer: usize,
    /// Bytes that the bodies of all requests may take up in memory.
    pub body_memory: usize,
    /// Bytes of a body that have to come in a second, after the first seconds.
    pub body_rate: u32,
    /// Whether the figures are shown to everybody.
    pub public_metrics: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_time: Duration::from_secs(30),
            head_time: Duration::from_secs(10),
            connections: 1024,
            connections_per_peer: 256,
            body_memory: 256_000_000,
            body_rate: 2000,
            public_metrics: false,
        }
    }
}

impl App {
    pub fn new(desk: Desk, limits: Limits) -> Self {
        // Streams last, so they may not take up the connections that everybody else needs.
        let streams = Arc::new(Semaphore::new(limits.connections.div_ceil(2)));
        let (store, metrics, stop) = (desk.store.clone(), desk.metrics.clone(), desk.stop.clone());
        let operation = Operation::new(store, metrics, stop, limits.request_time, desk.views.clone());
        let bodies = Bodies::new(BodyBounds { memory: limits.body_memory, rate: limits.body_rate });
        Self(Arc::new(Inner { desk, operation, limits, streams, bodies, large_bodies: LargeBodies::default() }))
    }

    pub fn desk(&self) -> &Desk {
        &self.0.desk
    }

    /// What answers for the process itself.
    pub fn operation(&self) -> &Operation {
        &self.0.operation
    }

    pub fn store(&self) -> &Store {
        &self.0.desk.store
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    pub(crate) fn bodies(&self) -> &Bodies {
        &self.0.bodies
    }

    pub(crate) fn large_bodies(&self) -> &LargeBodies {
        &self.0.large_bodies
    }

    /// A place for one more stream of events; none if there are too many.
    pub(crate) fn stream_slot(&self) -> Option<OwnedSemaphorePermit> {
        self.0.streams.clone().try_acquire_owned().ok()
    }
}

impl FromRef<App> for Operation {
    fn from_ref(app: &App) -> Self {
        app.operation().clone()
    }
}
