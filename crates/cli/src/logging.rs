use std::ffi::OsString;
use std::io::IsTerminal;

use copydesk_domain::TRACE_TARGET;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt};

use crate::config::{Config, LogFormat, choice_name};
use crate::failure::Failure;
use crate::telemetry::{Telemetry, TraceLayer};

/// Sends log lines to standard error, and traces to a collector if they are wanted, as the configuration says.
pub(crate) fn start(config: &Config, environment: &[(OsString, OsString)]) -> Result<Option<Telemetry>, Failure> {
    let level = choice_name(&config.log);
    // Failures stay: what caused them is said nowhere else.
    let access = if config.access_log { "" } else { ",copydesk::access=error" };
    // The libraries below us have much to say that only matters when we are debugged ourselves. Traces are no log.
    let filter = format!("{level},sqlx=warn,hyper=warn,reqwest=warn,rmcp=off{access},{TRACE_TARGET}=off");
    let is_terminal = std::io::stderr().is_terminal();
    let as_text = match config.log_format {
        LogFormat::Auto => is_terminal,
        LogFormat::Json => false,
        LogFormat::Text => true,
    };
    let lines = fmt::layer().with_writer(std::io::stderr);
    let lines = if as_text {
        // Which part of the program speaks says nothing to people who run it.
        lines.with_ansi(is_terminal).with_target(false).boxed()
    } else {
        lines.json().flatten_event(true).with_current_span(false).with_span_list(false).boxed()
    };
    let (telemetry, traces) = Telemetry::start(config, environment)?.unzip();
    let traces = traces.map(|traces| traces.with_filter(filter_fn(TraceLayer::wants)));
    tracing_subscriber::registry().with(lines.with_filter(EnvFilter::new(filter))).with(traces).init();
    Ok(telemetry)
}

/// Sends what went wrong to standard error, for a command that has no log of its own.
pub(crate) fn warnings() {
    fmt()
        .with_env_filter(EnvFilter::new("warn"))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}
