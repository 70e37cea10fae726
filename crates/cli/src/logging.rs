use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::{Config, LogFormat, choice_name};

/// Sends log lines to standard error, as the configuration says.
pub(crate) fn start(config: &Config) {
    let level = choice_name(&config.log);
    // The libraries below us have much to say that only matters when we are debugged ourselves.
    let filter = EnvFilter::new(format!("{level},sqlx=warn,hyper=warn,reqwest=warn"));
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match config.log_format {
        LogFormat::Json => lines.json().flatten_event(true).with_current_span(false).with_span_list(false).init(),
        LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).init(),
    }
}

/// Sends what went wrong to standard error, for a command that has no log of its own.
pub(crate) fn warnings() {
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new("warn"))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}
