//! The kill runs of documentation jobs: processes are killed at every step and at any moment, and in the end every job
//! must have one branch, one pull request, all of its edits, and no answer of a model that was paid for twice.

mod clock;
mod hosts;
mod jobs;
mod life;
mod moments;
mod trial_host;

mod seen;
mod steps;
mod story;
mod verify;
mod worker;
mod world;

pub use hosts::{HostsOptions, run_hosts};
pub use jobs::{JobsOptions, run_jobs};
pub use steps::run_steps;
pub use worker::{DocsWorkerOptions, run_docs_worker};
