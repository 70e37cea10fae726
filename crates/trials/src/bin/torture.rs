//! Runs that try to break Copydesk: `torture kills`, `torture steps`, `torture hosts`, `torture jobs`, `torture load` and `torture
//! views`. Each prints its figures and every violation it found; without any it exits with 0.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a run that cannot be set up should stop at once")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use copydesk_domain::random_fraction;
use copydesk_testkit::Backend;
use copydesk_trials::load::{LoadOptions, run_load};
use copydesk_trials::torture::{
    DocsWorkerOptions, Errand, HostsOptions, JobsOptions, KillOptions, ViewsOptions, WorkerOptions, run_docs_worker,
    run_hosts, run_jobs, run_kills, run_steps, run_views, run_worker,
};

#[derive(Parser)]
#[command(about = "Tries to break Copydesk.")]
enum Args {
    /// Workers are killed with SIGKILL while they work; every job must be run to its end, once at a time.
    Kills {
        /// sqlite (one process with all workers) or postgres (a process for each, on COPYDESK_TEST_POSTGRES).
        #[arg(long)]
        database: Backend,
        /// For how long to kill.
        #[arg(long, default_value_t = 20)]
        seconds: u64,
        /// How many jobs.
        #[arg(long, default_value_t = 200)]
        jobs: usize,
        /// How many workers.
        #[arg(long, default_value_t = 8)]
        workers: usize,
        /// How often to kill.
        #[arg(long, default_value_t = 500)]
        every_ms: u64,
        /// How long a lease lasts.
        #[arg(long, default_value_t = 1000)]
        lease_ms: u64,
    },
    /// A documentation job is killed between any two of its steps and in the middle of its acts outside; another process
    /// must bring it to the same end.
    Steps {
        /// sqlite, or postgres (on COPYDESK_TEST_POSTGRES).
        #[arg(long)]
        database: Backend,
    },
    /// A documentation job whose pull request lives on a code host is killed between its steps and at its requests;
    /// another process must bring it to the same end, with one pull request.
    Hosts {
        /// sqlite, or postgres (on COPYDESK_TEST_POSTGRES).
        #[arg(long)]
        database: Backend,
        /// Kill at every step and every request, not only at those that change something and some of the others.
        #[arg(long)]
        full: bool,
    },
    /// Processes are killed at any moment while they work on documentation jobs; every job must come to its one end.
    Jobs {
        /// sqlite (few processes with many workers) or postgres (many with few, on COPYDESK_TEST_POSTGRES).
        #[arg(long)]
        database: Backend,
        /// How many times to kill.
        #[arg(long, default_value_t = 200)]
        kills: usize,
        /// How many jobs.
        #[arg(long, default_value_t = 60)]
        jobs: usize,
        /// How long a lease lasts.
        #[arg(long, default_value_t = 1000)]
        lease_ms: u64,
    },
    /// Many clients do everything at once on a real server; afterwards the books must balance.
    Load {
        /// sqlite, or postgres (on COPYDESK_TEST_POSTGRES).
        #[arg(long)]
        database: Backend,
        /// For how long.
        #[arg(long, default_value_t = 5)]
        seconds: u64,
        /// How many clients.
        #[arg(long, default_value_t = 32)]
        clients: usize,
    },
    /// The server is killed at any moment while page views come in, its log is torn and its disk gets full; every
    /// acknowledged view must be counted once.
    Views {
        /// The program `copydesk`.
        #[arg(long)]
        binary: PathBuf,
        /// How many times to kill.
        #[arg(long, default_value_t = 200)]
        kills: usize,
        /// How many times the disk gets full; needs root, for a file system of its own.
        #[arg(long, default_value_t = 20)]
        full_disks: usize,
        /// The seed of an earlier run, to have the same requests and pauses again.
        #[arg(long)]
        seed: Option<u64>,
    },
    /// A worker process of `kills`.
    #[command(hide = true)]
    Worker {
        #[arg(long)]
        workers: usize,
        #[arg(long)]
        lease_ms: u64,
        #[arg(long)]
        journal: PathBuf,
    },
    /// A worker process of `steps`, `hosts` and `jobs`.
    #[command(hide = true)]
    DocsWorker(DocsWorker),
}

#[derive(clap::Args)]
struct DocsWorker {
    #[arg(long)]
    workers: usize,
    #[arg(long)]
    lease_ms: u64,
    #[arg(long)]
    mirrors: PathBuf,
    #[arg(long)]
    model_url: String,
    #[arg(long, default_value_t = 0)]
    ahead_ms: u64,
    #[arg(long, requires = "project")]
    job: Option<String>,
    #[arg(long)]
    project: Option<String>,
    #[arg(long = "follow-up")]
    follow_ups: Vec<String>,
    #[arg(long)]
    publish: bool,
}

impl From<DocsWorker> for DocsWorkerOptions {
    fn from(args: DocsWorker) -> Self {
        let DocsWorker { follow_ups, publish, .. } = args;
        let errand = args.project.zip(args.job);
        Self {
            workers: args.workers,
            lease: Duration::from_millis(args.lease_ms),
            mirrors: args.mirrors,
            model_url: args.model_url,
            ahead: Duration::from_millis(args.ahead_ms),
            errand: errand.map(|(project, job)| Errand { project, job, follow_ups, publish }),
        }
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    start_log();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let well = match args {
        Args::Kills { database, seconds, jobs, workers, every_ms, lease_ms } => {
            runtime.block_on(run_kills(KillOptions {
                backend: database,
                time: Duration::from_secs(seconds),
                jobs,
                workers,
                every: Duration::from_millis(every_ms),
                lease: Duration::from_millis(lease_ms),
            }))
        }
        Args::Steps { database } => runtime.block_on(run_steps(database)),
        Args::Hosts { database, full } => runtime.block_on(run_hosts(HostsOptions { backend: database, full })),
        Args::Jobs { database, kills, jobs, lease_ms } => {
            let lease = Duration::from_millis(lease_ms);
            runtime.block_on(run_jobs(JobsOptions { backend: database, kills, jobs, lease }))
        }
        Args::Views { binary, kills, full_disks, seed } => {
            let seed = seed.unwrap_or_else(|| (random_fraction() * 1e9) as u64);
            runtime.block_on(run_views(ViewsOptions {
                binary: binary.canonicalize().unwrap(),
                kills,
                full_disks,
                seed,
            }))
        }
        Args::DocsWorker(args) => return runtime.block_on(run_docs_worker(args.into())),
        Args::Load { database, seconds, clients } => {
            let time = Duration::from_secs(seconds);
            runtime.block_on(run_load(LoadOptions { backend: database, time, clients }))
        }
        Args::Worker { workers, lease_ms, journal } => {
            let lease = Duration::from_millis(lease_ms);
            return runtime.block_on(run_worker(WorkerOptions { workers, journal, lease }));
        }
    };
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Errors are shown; with `RUST_LOG` more.
fn start_log() {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env();
    let filter = filter.unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("error"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}
