//! The kill run: workers are killed with SIGKILL again and again while they work, and every job must still be run to
//! its end, by one worker at a time. And the same for documentation jobs, which act outside of the database as well.

mod backups;
mod clickhouse;
mod cluster;
mod docs;
mod engine;
mod fleet;
mod history;
mod journal;
mod kills;
mod moves;
mod sockets;
mod stalls;
mod verify;
mod views;
mod worker;

pub use backups::{BackupsOptions, run_backups};
pub use clickhouse::{ClickHouseOptions, run_clickhouse};
pub use cluster::{ClusterOptions, run_cluster};
pub use docs::{DocsWorkerOptions, HostsOptions, JobsOptions, run_docs_worker, run_hosts, run_jobs, run_steps};
pub use engine::{MODEL, RecordingEngine};
pub use history::check_history;
pub use journal::Journal;
pub use kills::{KillOptions, run_kills};
pub use moves::{MovesOptions, run_moves};
pub use sockets::{SocketsOptions, run_sockets};
pub use views::{ViewsOptions, run_views};
pub use worker::{WorkerOptions, run_worker};
