//! Runs that try to break Copydesk: `torture kills`, `torture steps`, `torture hosts`, `torture jobs`, `torture load`, `torture sockets`,
//! `torture views`, `torture backups`, `torture move`, `torture cluster` and `torture clickhouse`. Each prints its figures and every violation it found; without any it exits with 0.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a run that cannot be set up should stop at once")]

use std::process::ExitCode;

use clap::Parser;
use copydesk_testkit::Backend;
use copydesk_trials::load::{LoadOptions, run_load};
use copydesk_trials::torture::{
    BackupsOptions, ClickHouseOptions, ClusterOptions, DocsWorkerOptions, HostsOptions, JobsOptions, KillOptions,
    MovesOptions, SocketsOptions, ViewsOptions, WorkerOptions, run_backups, run_clickhouse, run_cluster,
    run_docs_worker, run_hosts, run_jobs, run_kills, run_moves, run_sockets, run_steps, run_views, run_worker,
};

#[derive(Parser)]
#[command(about = "Tries to break Copydesk.")]
enum Args {
    Kills(KillOptions),
    /// A documentation job is killed between any two of its steps and in the middle of its acts outside; another process
    /// must bring it to the same end.
    Steps {
        /// sqlite, or postgres (on COPYDESK_TEST_POSTGRES).
        #[arg(long)]
        database: Backend,
    },
    Hosts(HostsOptions),
    Jobs(JobsOptions),
    Load(LoadOptions),
    Sockets(SocketsOptions),
    Views(ViewsOptions),
    Backups(BackupsOptions),
    Cluster(ClusterOptions),
    #[command(name = "clickhouse")]
    ClickHouse(ClickHouseOptions),
    Move(MovesOptions),
    #[command(hide = true)]
    Worker(WorkerOptions),
    #[command(hide = true)]
    DocsWorker(DocsWorkerOptions),
}

fn main() -> ExitCode {
    let args = Args::parse();
    start_log();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let well = match args {
        Args::Kills(options) => runtime.block_on(run_kills(options)),
        Args::Steps { database } => runtime.block_on(run_steps(database)),
        Args::Hosts(options) => runtime.block_on(run_hosts(options)),
        Args::Jobs(options) => runtime.block_on(run_jobs(options)),
        Args::Load(options) => runtime.block_on(run_load(options)),
        Args::Sockets(options) => runtime.block_on(run_sockets(options)),
        Args::Views(options) => runtime.block_on(run_views(options)),
        Args::Backups(options) => runtime.block_on(run_backups(options)),
        Args::Cluster(options) => runtime.block_on(run_cluster(options)),
        Args::ClickHouse(options) => runtime.block_on(run_clickhouse(options)),
        Args::Move(options) => runtime.block_on(run_moves(options)),
        Args::Worker(options) => return runtime.block_on(run_worker(options)),
        Args::DocsWorker(options) => return runtime.block_on(run_docs_worker(options)),
    };
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Errors are shown; with `RUST_LOG` more.
fn start_log() {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env();
    let filter = filter.unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("error"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}
