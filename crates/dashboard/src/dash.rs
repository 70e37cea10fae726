use std::path::PathBuf;
use std::sync::Arc;

use copydesk_desk::Desk;
use copydesk_domain::Timestamp;
use url::{Origin, Url};

use crate::assets::Assets;
use crate::streams::Streams;

/// How many pages may be watched at once: a quarter of the connections that a server has unless it is told otherwise.
const STREAMS: usize = 256;

/// What every page may need. Cheap to clone.
#[derive(Clone)]
pub struct Dash(Arc<Inner>);

struct Inner {
    desk: Desk,
    settings: Settings,
    origin: Option<Origin>,
    assets: Assets,
    started_at: Timestamp,
    streams: Streams,
}

/// How the dashboard is set up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address under which people reach the server, without a slash at its end.
    pub public_url: String,
    /// What the program is called with its version.
    pub version: &'static str,
    /// Workers of this process.
    pub workers: usize,
    /// Where the process keeps what it has on disk, if it is known.
    pub data_dir: Option<PathBuf>,
}

impl Dash {
    pub fn new(desk: Desk, settings: Settings) -> Self {
        let origin = Url::parse(&settings.public_url).ok().map(|url| url.origin());
        let started_at = desk.store.now();
        let streams = Streams::new(STREAMS);
        Self(Arc::new(Inner { desk, settings, origin, assets: Assets::new(), started_at, streams }))
    }

    pub(crate) fn desk(&self) -> &Desk {
        &self.0.desk
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Where browsers say that our own pages are.
    pub(crate) fn origin(&self) -> Option<&Origin> {
        self.0.origin.as_ref()
    }

    /// Whether browsers reach us through TLS, so that a cookie may ask for it.
    pub(crate) fn is_https(&self) -> bool {
        self.0.settings.public_url.starts_with("https://")
    }

    /// Since when this process serves pages.
    pub(crate) fn started_at(&self) -> Timestamp {
        self.0.started_at
    }

    /// The pages that are watched.
    pub(crate) fn streams(&self) -> &Streams {
        &self.0.streams
    }

    pub(crate) fn assets(&self) -> &Assets {
        &self.0.assets
    }
}
