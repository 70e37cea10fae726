use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use copydesk_domain::Clock;

use super::format::{Format, Parser};

#[derive(Debug, Clone)]
pub struct Options {
    /// The project whose views they hold.
    pub project: String,
    /// Their format; told by their first lines if there is none.
    pub format: Option<Format>,
    /// The hosts whose requests count; all if there are none.
    pub hosts: Vec<String>,
    /// Counts without keeping anything.
    pub dry_run: bool,
    /// The logs will not grow: a last line without an end is a line.
    pub complete: bool,
    /// Views that become durable together, more or less.
    pub batch: usize,
    pub clock: Arc<dyn Clock>,
}

impl Options {
    /// All requests in logs of any format, for this project.
    pub fn new(project: impl Into<String>, clock: Arc<dyn Clock>) -> Self {
        let project = project.into();
        Self { project, format: None, hosts: Vec::new(), dry_run: false, complete: false, batch: 128 * 1024, clock }
    }

    /// What reads a log that begins with `head`, or why nothing does.
    pub(super) fn parser(&self, head: &[u8]) -> Result<Parser, String> {
        let detected = || Format::detect(head).ok_or("its first lines match no known format");
        let format = self.format.clone().map_or_else(detected, Ok)?;
        if !self.hosts.is_empty() && !format.tells_host() {
            return Err(format!("its format ({format}) does not name the host, so lines cannot be chosen by it"));
        }
        Ok(Parser::new(&format))
    }
}

/// Tells an import to stop. What was read by then is kept.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
