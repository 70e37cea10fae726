//! What `scripts/bench` prints: how fast the server answers, beside a route that does nothing; how fast it starts and
//! how much memory it takes; how long a job takes, beside bare git commands and other agents; how it bears a thousand
//! jobs that wait; how many jobs a second many processes run; how fast documentation is checked; how fast the dashboard is; how fast page views are taken in, imported and answered, beside
//! DuckDB, chDB and GoAccess.

mod alias;
mod api;
mod check;
mod check_shapes;
mod events;
mod generator;
mod import;
mod ingest;
mod jobs;
mod jobs_git;
mod jobs_peers;
mod jobs_sample;
mod log_lines;
mod pages;
mod sample;
mod senders;
mod start;
mod views;
mod waiting;
mod workers;

pub use api::{ApiOptions, bench_api};
pub use check::{CheckOptions, bench_check};
pub use import::{ImportOptions, bench_import};
pub use ingest::{IngestOptions, bench_ingest};
pub use jobs::{JobsOptions, bench_jobs};
pub use pages::{PagesOptions, bench_pages};
pub use start::{StartOptions, bench_start};
pub use views::{ViewsOptions, bench_views};
pub use waiting::{WaitingOptions, bench_waiting};
pub use workers::{WorkersOptions, bench_workers};
