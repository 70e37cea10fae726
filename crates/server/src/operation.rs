use std::sync::Arc;
use std::time::Duration;

use copydesk_desk::views::Views;
use copydesk_desk::{Metrics, Stop};
use copydesk_store::Store;

/// What is needed to answer for the process itself: that it lives, whether it can work, and its figures. A worker has this
/// too. Cheap to clone.
#[derive(Clone)]
pub struct Operation(Arc<Inner>);

struct Inner {
    store: Store,
    metrics: Metrics,
    stop: Stop,
    request_time: Duration,
    views: Option<Arc<Views>>,
}

impl Operation {
    /// Requests may take `request_time`.
    pub fn new(store: Store, metrics: Metrics, stop: Stop, request_time: Duration, views: Option<Arc<Views>>) -> Self {
        Self(Arc::new(Inner { store, metrics, stop, request_time, views }))
    }

    pub(crate) fn views(&self) -> Option<&Views> {
        self.0.views.as_deref()
    }

    pub(crate) fn store(&self) -> &Store {
        &self.0.store
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub(crate) fn stop(&self) -> &Stop {
        &self.0.stop
    }

    pub(crate) fn request_time(&self) -> Duration {
        self.0.request_time
    }
}
