use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::{Config, LogFormat, choice_name};

/// Sends log lines to standard error, as the configuration says.
pub(crate) fn start(config: &Config) {
    let level = choice_name(&config.log);
    // Failures stay: what caused them is said nowhere else.
    let access = if config.access_log { "" } else { ",copydesk::access=error" };
    // The libraries below us have much to say that only matters when we are debugged ourselves.
    let filter = EnvFilter::new(format!("{level},sqlx=warn,hyper=warn,reqwest=warn{access}"));
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let is_terminal = std::io::stderr().is_terminal();
    let as_text = match config.log_format {
        LogFormat::Auto => is_terminal,
        LogFormat::Json => false,
        LogFormat::Text => true,
    };
    if as_text {
        // Which part of the program speaks says nothing to people who run it.
        lines.with_ansi(is_terminal).with_target(false).init();
    } else {
        lines.json().flatten_event(true).with_current_span(false).with_span_list(false).init();
    }
}
