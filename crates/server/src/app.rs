use std::sync::Arc;
use std::time::Duration;

use copydesk_desk::Desk;
use copydesk_domain::{Project, Window};
use copydesk_store::Store;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::large_bodies::LargeBodies;

/// What every request may need. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Inner>);

struct Inner {
    desk: Desk,
    settings: Settings,
    streams: Arc<Semaphore>,
    large_bodies: LargeBodies,
}

/// How the server behaves.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The models and engines that a job may name.
    pub models: Vec<String>,
    /// The one for a job that names none.
    pub default_model: String,
    pub limits: Limits,
}

/// The limits of the contract and of the HTTP face.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Job creations and messages of a project in an hour, unless the project says otherwise; 0 is off.
    pub jobs_per_hour: u32,
    /// How long a request may take.
    pub request_time: Duration,
    /// Connections open at a time.
    pub connections: usize,
}

impl App {
    pub fn new(desk: Desk, settings: Settings) -> Self {
        // Streams last, so they may not take up the connections that everybody else needs.
        let streams = Arc::new(Semaphore::new(settings.limits.connections.div_ceil(2)));
        Self(Arc::new(Inner { desk, settings, streams, large_bodies: LargeBodies::default() }))
    }

    pub fn desk(&self) -> &Desk {
        &self.0.desk
    }

    pub fn store(&self) -> &Store {
        &self.0.desk.store
    }

    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(crate) fn large_bodies(&self) -> &LargeBodies {
        &self.0.large_bodies
    }

    /// A place for one more stream of events; none if there are too many.
    pub(crate) fn stream_slot(&self) -> Option<OwnedSemaphorePermit> {
        self.0.streams.clone().try_acquire_owned().ok()
    }

    /// The rate limit of a project's creations and messages.
    pub(crate) fn job_window(&self, project: &Project) -> Window {
        Window::hourly(project.jobs_per_hour.unwrap_or(self.0.settings.limits.jobs_per_hour))
    }
}
