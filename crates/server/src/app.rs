use std::sync::{Arc, OnceLock};
use std::time::Duration;

use copydesk_domain::{Project, Window};
use copydesk_store::Store;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::Metrics;
use crate::auth::KeyUse;
use crate::docs_job::Workshop;
use crate::large_bodies::LargeBodies;
use crate::problem::Problem;
use crate::views::Views;
use crate::webhooks::Webhooks;

/// What every request may need. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Inner>);

struct Inner {
    store: Store,
    settings: Settings,
    metrics: Metrics,
    key_use: KeyUse,
    streams: Arc<Semaphore>,
    large_bodies: LargeBodies,
    stopping: watch::Sender<bool>,
    workshop: OnceLock<Arc<Workshop>>,
    views: OnceLock<Arc<Views>>,
    webhooks: OnceLock<Arc<Webhooks>>,
}

/// How the server behaves.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The models and engines that a job may name.
    pub models: Vec<String>,
    /// The one for a job that names none.
    pub default_model: String,
    /// The limits.
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
    /// How long a shutdown waits for what still runs.
    pub shutdown_time: Duration,
}

impl App {
    /// An application on `store`.
    pub fn new(store: Store, settings: Settings, metrics: Metrics) -> Self {
        let (stopping, _) = watch::channel(false);
        // Streams last, so they may not take up the connections that everybody else needs.
        let streams = Arc::new(Semaphore::new(settings.limits.connections.div_ceil(2)));
        let (key_use, large_bodies) = (KeyUse::default(), LargeBodies::default());
        let (workshop, views, webhooks) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self(Arc::new(Inner {
            store,
            settings,
            metrics,
            key_use,
            streams,
            large_bodies,
            stopping,
            workshop,
            views,
            webhooks,
        }))
    }

    /// Gives it a workshop, with which pull requests can be opened. Once.
    #[must_use]
    pub fn with_workshop(self, workshop: Arc<Workshop>) -> Self {
        // A second one would be a mistake of the caller's, and the first is as good.
        let _ = self.0.workshop.set(workshop);
        self
    }

    /// The workshop, if it has one.
    pub(crate) fn workshop(&self) -> Option<&Arc<Workshop>> {
        self.0.workshop.get()
    }

    /// Gives it a place for page views. Once.
    #[must_use]
    pub fn with_views(self, views: Arc<Views>) -> Self {
        views.count_in(self.metrics().clone());
        let _ = self.0.views.set(views);
        self
    }

    /// The page views, if this process has them.
    pub(crate) fn views(&self) -> Result<&Arc<Views>, Problem> {
        self.0.views.get().ok_or_else(|| Problem::unavailable("This server keeps no page views."))
    }

    /// Gives it what webhooks are delivered with. Once.
    #[must_use]
    pub fn with_webhooks(self, webhooks: Arc<Webhooks>) -> Self {
        let _ = self.0.webhooks.set(webhooks);
        self
    }

    /// What webhooks are delivered with, if this process does.
    pub(crate) fn webhooks(&self) -> Option<&Arc<Webhooks>> {
        self.0.webhooks.get()
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// The metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub(crate) fn key_use(&self) -> &KeyUse {
        &self.0.key_use
    }

    /// Room for large bodies.
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

    /// From now on requests are refused and long answers come to their end.
    pub fn stop(&self) {
        self.0.stopping.send_replace(true);
    }

    /// Whether [`App::stop`] was called.
    pub fn is_stopping(&self) -> bool {
        *self.0.stopping.borrow()
    }

    /// Waits for [`App::stop`].
    pub async fn stopped(&self) {
        let mut stopping = self.0.stopping.subscribe();
        // Fails only when the sender is gone, and `self` holds it.
        let _ = stopping.wait_for(|stopping| *stopping).await;
    }
}
