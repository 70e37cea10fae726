use std::sync::Arc;
use std::time::Duration;

use copydesk_domain::{Clock, SystemClock};

/// How code hosts are spoken to.
#[derive(Debug, Clone)]
pub struct HostsSettings {
    /// How long one request may take.
    pub time_limit: Duration,
    /// How often a request is made in all before it has failed; at least once.
    pub tries: u32,
    /// How long to wait before the second try; it doubles with every further one.
    pub first_pause: Duration,
    /// The longest wait that a host may ask for; what wants more time fails and says until when.
    pub longest_wait: Duration,
    pub user_agent: String,
    /// Where the time comes from.
    pub clock: Arc<dyn Clock>,
}

impl Default for HostsSettings {
    fn default() -> Self {
        Self {
            time_limit: Duration::from_secs(30),
            tries: 4,
            first_pause: Duration::from_millis(500),
            longest_wait: Duration::from_secs(20),
            user_agent: concat!("copydesk/", env!("CARGO_PKG_VERSION")).to_owned(),
            clock: Arc::new(SystemClock),
        }
    }
}
