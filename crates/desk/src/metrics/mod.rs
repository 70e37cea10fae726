//! What a process counts, for those who run it.

mod process;
mod text;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use copydesk_domain::{Outcome, Timestamp, Usage};
use copydesk_store::{Backlog, QueueDepth};
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use process::Process;
pub use text::Format;

/// What the process counts. Labels never hold a project, a path or anything else a client can choose.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    process: Process,
    requests: Family<RequestLabels, Counter>,
    durations: Family<RouteLabel, Histogram, fn() -> Histogram>,
    finished: Family<OutcomeLabel, Counter>,
    job_durations: Family<OutcomeLabel, Histogram, fn() -> Histogram>,
    leases_lost: Counter,
    queue: Family<QueueLabel, Gauge>,
    queue_oldest: Gauge,
    model_calls: Family<OutcomeLabel, Counter>,
    model_tokens: Family<TokenLabel, Counter>,
    model_cost: Counter<f64, AtomicU64>,
    views: Family<ViewLabel, Counter>,
    view_losses: Gauge,
    deliveries: Family<OutcomeLabel, Counter>,
    deliveries_waiting: Gauge,
    deliveries_oldest: Gauge,
    spans: Family<OutcomeLabel, Counter>,
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

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct TokenLabel {
    kind: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct BuildLabels {
    version: &'static str,
    commit: &'static str,
}

/// From a chore to the longest that a job may take.
fn job_histogram() -> Histogram {
    Histogram::new([1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0])
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
        Self::watching(None, env!("CARGO_PKG_VERSION"))
    }

    /// The same, of a program of this version, `0.1.0 (1a2b3c4)` if its commit is known; with what is free where this
    /// folder is.
    pub fn watching(data: Option<PathBuf>, version: &'static str) -> Self {
        let mut registry = Registry::default();
        let process = Process::new(&mut registry, data);
        let build = Family::<BuildLabels, Gauge>::default();
        let (version, commit) = version.split_once(" (").unwrap_or((version, ""));
        build.get_or_create(&BuildLabels { version, commit: commit.trim_end_matches(')') }).set(1);
        let inner = Inner {
            process,
            requests: Family::default(),
            durations: Family::new_with_constructor(histogram),
            finished: Family::default(),
            job_durations: Family::new_with_constructor(job_histogram),
            leases_lost: Counter::default(),
            queue: Family::default(),
            queue_oldest: Gauge::default(),
            model_calls: Family::default(),
            model_tokens: Family::default(),
            model_cost: Counter::default(),
            views: Family::default(),
            view_losses: Gauge::default(),
            deliveries: Family::default(),
            deliveries_waiting: Gauge::default(),
            deliveries_oldest: Gauge::default(),
            spans: Family::default(),
            registry: Registry::default(),
        };
        // What has not happened yet is 0, not missing: an alert cannot tell that from a process that is gone.
        for outcome in [Outcome::PrCreated, Outcome::NoChanges, Outcome::Error, Outcome::TimedOut].map(Outcome::as_str)
        {
            drop(inner.finished.get_or_create(&OutcomeLabel { outcome }));
            drop(inner.job_durations.get_or_create(&OutcomeLabel { outcome }));
        }
        for outcome in ["answered", "failed"] {
            drop(inner.model_calls.get_or_create(&OutcomeLabel { outcome }));
        }
        for kind in ["input", "cached_input", "output"] {
            drop(inner.model_tokens.get_or_create(&TokenLabel { kind }));
        }
        drop(inner.views.get_or_create(&ViewLabel { outcome: "counted" }));
        let ours = registry.sub_registry_with_prefix("copydesk");
        ours.register("build_info", "The version that runs; always 1", build);
        ours.register("http_requests", "Requests answered", inner.requests.clone());
        ours.register("http_request_duration_seconds", "Time to the head of the answer", inner.durations.clone());
        ours.register("jobs_finished", "Jobs that this process ended", inner.finished.clone());
        let durations = "Time from the prompt to the end of the job, of jobs that this process ended";
        ours.register("job_duration_seconds", durations, inner.job_durations.clone());
        ours.register("leases_lost", "Jobs taken from workers of this process", inner.leases_lost.clone());
        ours.register("queue_jobs", "Active jobs in the database", inner.queue.clone());
        let oldest = "How long the job has waited that has waited longest and may run";
        ours.register("queue_oldest_seconds", oldest, inner.queue_oldest.clone());
        ours.register("model_calls", "Calls of models by this process", inner.model_calls.clone());
        ours.register(
            "model_tokens",
            "Tokens of answered calls; cached ones are input, too",
            inner.model_tokens.clone(),
        );
        ours.register(
            "model_cost_dollars",
            "What answered calls cost, where prices are known",
            inner.model_cost.clone(),
        );
        ours.register("views", "Page views that this process was told of, by what became of them", inner.views.clone());
        let losses = "Damages of the view store that have cost something and that nobody has accepted";
        ours.register("views_losses", losses, inner.view_losses.clone());
        ours.register("webhook_deliveries", "Tries of this process to deliver to a webhook", inner.deliveries.clone());
        ours.register("webhooks_waiting", "Events and deliveries that wait", inner.deliveries_waiting.clone());
        ours.register("webhooks_oldest_seconds", "Age of the oldest that waits", inner.deliveries_oldest.clone());
        let spans = "Spans of traces, sent to the collector or dropped because it did not take them in time";
        ours.register("trace_spans", spans, inner.spans.clone());
        Self(Arc::new(Inner { registry, ..inner }))
    }

    pub fn request(&self, method: &'static str, route: &str, status: u16, took: Duration) {
        let route = Route(route.into());
        self.0.durations.get_or_create(&RouteLabel { route: route.clone() }).observe(took.as_secs_f64());
        self.0.requests.get_or_create(&RequestLabels { method, route, status }).inc();
    }

    /// A job ended, so long after its last prompt.
    pub(crate) fn finished(&self, outcome: Outcome, took: Duration) {
        let outcome = OutcomeLabel { outcome: outcome.as_str() };
        self.0.job_durations.get_or_create(&outcome).observe(took.as_secs_f64());
        self.0.finished.get_or_create(&outcome).inc();
    }

    /// A model answered.
    pub(crate) fn model_answered(&self, usage: &Usage) {
        self.0.model_calls.get_or_create(&OutcomeLabel { outcome: "answered" }).inc();
        let count = |kind, tokens| self.0.model_tokens.get_or_create(&TokenLabel { kind }).inc_by(tokens);
        count("input", usage.input_tokens);
        count("cached_input", usage.cached_input_tokens);
        count("output", usage.output_tokens);
        if let Some(cost) = usage.cost_usd.filter(|cost| *cost > 0.0) {
            self.0.model_cost.inc_by(cost);
        }
    }

    /// A call of a model failed.
    pub(crate) fn model_failed(&self) {
        self.0.model_calls.get_or_create(&OutcomeLabel { outcome: "failed" }).inc();
    }

    pub(crate) fn lease_lost(&self) {
        self.0.leases_lost.inc();
    }

    pub fn queue(&self, depth: QueueDepth) {
        let set = |state, count: u32| self.0.queue.get_or_create(&QueueLabel { state }).set(i64::from(count));
        set("waiting", depth.waiting);
        set("running", depth.running);
    }

    /// The job that has waited longest and may run has waited since then.
    pub fn queue_oldest(&self, oldest: Option<Timestamp>, now: Timestamp) {
        self.0.queue_oldest.set(age(oldest, now));
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

    /// This became of so many spans of traces.
    pub fn spans(&self, outcome: &'static str, count: u64) {
        self.0.spans.get_or_create(&OutcomeLabel { outcome }).inc_by(count);
    }

    /// So much waits to be delivered.
    pub fn backlog(&self, backlog: Backlog, now: Timestamp) {
        self.0.deliveries_waiting.set(i64::from(backlog.waiting));
        self.0.deliveries_oldest.set(age(backlog.oldest, now));
    }

    /// Everything, in one of the formats.
    pub fn render(&self, format: Format) -> String {
        self.0.process.look();
        let mut told = String::new();
        // Writing to a String cannot fail.
        let _ = encode(&mut told, &self.0.registry);
        if format == Format::OpenMetrics { told } else { text::prometheus(&told) }
    }
}

fn age(since: Option<Timestamp>, now: Timestamp) -> i64 {
    since.map_or(0, |since| i64::try_from(now.since(since).as_secs()).unwrap_or(i64::MAX))
}
