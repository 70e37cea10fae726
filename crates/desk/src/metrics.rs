use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::sync::Arc;

use copydesk_domain::{Outcome, Timestamp};
use copydesk_store::{Backlog, QueueDepth};

/// What the process counts. Labels never hold a project, a path or anything else a client can choose.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    durations: Family<RouteLabel, Histogram, fn() -> Histogram>,
    finished: Family<OutcomeLabel, Counter>,
    leases_lost: Counter,
    queue: Family<QueueLabel, Gauge>,
    views: Family<ViewLabel, Counter>,
    view_losses: Gauge,
    deliveries: Family<OutcomeLabel, Counter>,
    deliveries_waiting: Gauge,
    deliveries_oldest: Gauge,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: Route,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RouteLabel {
    route: Route,
}

/// The pattern of an address, as the router has it.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct Route(Arc<str>);

impl EncodeLabelValue for Route {
    fn encode(&self, encoder: &mut prometheus_client::encoding::LabelValueEncoder<'_>) -> Result<(), std::fmt::Error> {
        EncodeLabelValue::encode(&&*self.0, encoder)
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct QueueLabel {
    state: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ViewLabel {
    outcome: &'static str,
}

fn histogram() -> Histogram {
    Histogram::new([0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0])
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// A new set, all at zero.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("copydesk");
        let requests = Family::<RequestLabels, Counter>::default();
        let durations = Family::<RouteLabel, Histogram, fn() -> Histogram>::new_with_constructor(histogram);
        let finished = Family::<OutcomeLabel, Counter>::default();
        let leases_lost = Counter::default();
        let queue = Family::<QueueLabel, Gauge>::default();
        registry.register("http_requests", "Requests answered", requests.clone());
        registry.register("http_request_seconds", "Time to the head of the answer", durations.clone());
        registry.register("jobs_finished", "Jobs that this process ended", finished.clone());
        registry.register("leases_lost", "Jobs taken from workers of this process", leases_lost.clone());
        registry.register("queue_jobs", "Active jobs in the database", queue.clone());
        let views = Family::<ViewLabel, Counter>::default();
        registry.register("views", "Page views that this process was told of, by what became of them", views.clone());
        let view_losses = Gauge::default();
        let losses = "Damages of the view store that have cost something and that nobody has accepted";
        registry.register("views_losses", losses, view_losses.clone());
        let deliveries = Family::<OutcomeLabel, Counter>::default();
        let (deliveries_waiting, deliveries_oldest) = (Gauge::default(), Gauge::default());
        registry.register("webhook_deliveries", "Tries of this process to deliver to a webhook", deliveries.clone());
        registry.register("webhooks_waiting", "Events and deliveries that wait", deliveries_waiting.clone());
        registry.register("webhooks_oldest_seconds", "Age of the oldest that waits", deliveries_oldest.clone());
        Self(Arc::new(Inner {
            registry,
            requests,
            durations,
            finished,
            leases_lost,
            queue,
            views,
            view_losses,
            deliveries,
            deliveries_waiting,
            deliveries_oldest,
        }))
    }

    pub fn request(&self, method: &'static str, route: &str, status: u16, took: Duration) {
        let route = Route(route.into());
        self.0.durations.get_or_create(&RouteLabel { route: route.clone() }).observe(took.as_secs_f64());
        self.0.requests.get_or_create(&RequestLabels { method, route, status }).inc();
    }

    pub(crate) fn finished(&self, outcome: Outcome) {
        self.0.finished.get_or_create(&OutcomeLabel { outcome: outcome.as_str() }).inc();
    }

    pub(crate) fn lease_lost(&self) {
        self.0.leases_lost.inc();
    }

    pub fn queue(&self, depth: QueueDepth) {
        let set = |state, count: u32| self.0.queue.get_or_create(&QueueLabel { state }).set(i64::from(count));
        set("waiting", depth.waiting);
        set("running", depth.running);
    }

    /// So many page views were told of, and this became of them.
    pub(crate) fn views(&self, outcome: &'static str, count: u64) {
        if count > 0 {
            self.0.views.get_or_create(&ViewLabel { outcome }).inc_by(count);
        }
    }

    /// So many losses of the view store are known.
    pub fn view_losses(&self, count: usize) {
        self.0.view_losses.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// A delivery was tried, and this became of it.
    pub(crate) fn delivery(&self, outcome: &'static str) {
        self.0.deliveries.get_or_create(&OutcomeLabel { outcome }).inc();
    }

    /// So much waits to be delivered.
    pub fn backlog(&self, backlog: Backlog, now: Timestamp) {
        self.0.deliveries_waiting.set(i64::from(backlog.waiting));
        let oldest = backlog.oldest.map_or(0, |oldest| now.since(oldest).as_secs());
        self.0.deliveries_oldest.set(i64::try_from(oldest).unwrap_or(i64::MAX));
    }

    /// Everything, in the text format of Prometheus.
    pub fn render(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode(&mut text, &self.0.registry);
        text
    }
}
