//! Traces for a collector of OpenTelemetry: spans of `tracing` whose target is that of traces, sent as OTLP over HTTP in
//! JSON. Nothing that runs ever waits for it: what the collector does not take in time is dropped and counted.

mod export;
mod layer;
mod settings;

use std::ffi::OsString;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use copydesk_desk::Metrics;
use tokio::sync::{mpsc, oneshot};

use crate::config::Config;
use crate::failure::Failure;
pub(crate) use layer::TraceLayer;

/// Spans that wait for the collector; some megabytes.
const WAITING: usize = 4096;
/// How long the end of the process waits for the last spans to go out.
const LAST_WAIT: Duration = Duration::from_secs(3);

/// What is put into the queue.
enum Item {
    Span(Box<layer::Ended>),
    /// Everything before it is to go out now; whoever asked is told when it has.
    Flush(oneshot::Sender<()>),
}

/// The figures, once there are any.
type Counts = Arc<OnceLock<Metrics>>;

/// The way out for spans.
pub(crate) struct Telemetry {
    items: mpsc::Sender<Item>,
    counts: Counts,
}

impl Telemetry {
    /// None if no traces are wanted.
    pub(crate) fn start(
        config: &Config,
        environment: &[(OsString, OsString)],
    ) -> Result<Option<(Self, TraceLayer)>, Failure> {
        if !config.otlp.traces {
            return Ok(None);
        }
        let settings = settings::Settings::read(config, environment)?;
        let (items, waiting) = mpsc::channel(WAITING);
        let counts = Counts::default();
        tokio::spawn(export::export(settings, waiting, counts.clone())?);
        let layer = TraceLayer::new(items.clone(), counts.clone());
        Ok(Some((Self { items, counts }, layer)))
    }

    /// From now on it is counted what is sent and what is dropped.
    pub(crate) fn count_in(&self, metrics: Metrics) {
        // There is one set of figures in a process.
        let _ = self.counts.set(metrics);
    }

    /// Sends what waits, but does not wait for long.
    pub(crate) async fn end(self) {
        let (tell, told) = oneshot::channel();
        let flush = async {
            if self.items.send(Item::Flush(tell)).await.is_ok() {
                let _ = told.await;
            }
        };
        let _ = tokio::time::timeout(LAST_WAIT, flush).await;
    }
}

fn count(counts: &Counts, outcome: &'static str, spans: u64) {
    if let Some(metrics) = counts.get() {
        metrics.spans(outcome, spans);
    }
}
