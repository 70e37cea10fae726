//! The kill run: workers are killed with SIGKILL again and again while they work, and every job must still be run to
//! its end, by one worker at a time.

mod engine;
mod fleet;
mod history;
mod journal;
mod kills;
mod verify;
mod worker;

pub use engine::{MODEL, RecordingEngine};
pub use history::check_history;
pub use journal::Journal;
pub use kills::{KillOptions, run_kills};
pub use worker::{WorkerOptions, run_worker};

use std::time::Duration;

use copydesk_domain::Window;
use copydesk_server::{Limits, Settings};
use copydesk_store::QueueTerms;

/// A rate limit that is switched off.
pub(crate) const OFF: Window = Window { limit: 0, period: Duration::from_secs(3600) };

/// A server's settings with everything at its default but the models and the time for a shutdown.
pub(crate) fn settings(model: &str) -> Settings {
    Settings {
        models: vec![model.to_owned()],
        default_model: model.to_owned(),
        limits: Limits {
            jobs_per_hour: 100,
            request_time: Duration::from_secs(30),
            connections: 1024,
            shutdown_time: Duration::from_secs(4),
        },
    }
}

/// The rules of the queue in these runs: a short lease, so that they are brisk, and so many tries that no job is
/// given up for being killed often.
pub(crate) fn terms(lease: Duration) -> QueueTerms {
    let hour = Duration::from_secs(3600);
    QueueTerms { lease, running_per_project: 0, job_time: hour, queue_time: hour, attempts: 1000 }
}
