//! Figures: `bench api`, `start`, `jobs`, `waiting`, `check`, `views`, `ingest` and `import`. Build it with `--release`, or they mean nothing.

use std::fs::{File, OpenOptions};
use std::path::{PathBuf, absolute};
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use copydesk_testkit::Backend;
use copydesk_trials::bench::{
    ApiOptions, CheckOptions, ImportOptions, IngestOptions, JobsOptions, Peers, StartOptions, ViewPeers, ViewsOptions,
    WaitingOptions, bench_api, bench_check, bench_import, bench_ingest, bench_jobs, bench_start, bench_views,
    bench_waiting,
};
use tracing_subscriber::EnvFilter;

/// The allocator of the product.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(about = "Measures Copydesk.")]
enum Args {
    /// How fast jobs are read, beside a bare axum route in the same process, and how fast they are created.
    Api {
        /// sqlite, or postgres (on COPYDESK_TEST_POSTGRES).
        #[arg(long, default_value_t = Backend::Sqlite)]
        database: Backend,
        /// For how long each is measured.
        #[arg(long, default_value_t = 5)]
        seconds: u64,
        /// Over how many connections.
        #[arg(long, default_value_t = 32)]
        connections: usize,
        /// How many workers the server has; none of them can run the jobs that are created.
        #[arg(long, default_value_t = 2)]
        workers: usize,
    },
    /// How long the server takes to be ready, and how much memory it has when idle.
    Start {
        /// The program `copydesk`.
        #[arg(long)]
        binary: PathBuf,
        /// How often to start it.
        #[arg(long, default_value_t = 5)]
        times: usize,
    },
    /// How long a job of one edit takes with a model that answers at once, beside bare git and other agents.
    Jobs {
        /// The program `copydesk`.
        #[arg(long)]
        binary: PathBuf,
        /// How many jobs in each of the two repositories.
        #[arg(long, default_value_t = 30)]
        times: usize,
        /// The program `codex`; without it and the next two, other agents are left out.
        #[arg(long, requires = "aider", requires = "home")]
        codex: Option<PathBuf>,
        /// The program `aider`.
        #[arg(long, requires = "codex")]
        aider: Option<PathBuf>,
        /// The folder that is home to both.
        #[arg(long, requires = "codex")]
        home: Option<PathBuf>,
    },
    /// How much memory jobs take that wait for a slow model, and how fast the server is meanwhile.
    Waiting {
        /// The program `copydesk`.
        #[arg(long)]
        binary: PathBuf,
        /// How many jobs wait at once.
        #[arg(long, default_value_t = 1000)]
        jobs: usize,
        /// For how long others are created and read meanwhile.
        #[arg(long, default_value_t = 15)]
        seconds: u64,
    },
    /// How long checking a folder of MDX pages takes.
    Check {
        /// The program `copydesk`.
        #[arg(long)]
        binary: PathBuf,
        /// How many pages.
        #[arg(long, default_value_t = 1000)]
        pages: usize,
        /// How often to check them.
        #[arg(long, default_value_t = 10)]
        times: usize,
    },
    /// How fast page views are answered over HTTP, beside DuckDB and chDB with the same views.
    Views {
        /// The program `copydesk`.
        #[arg(long)]
        binary: PathBuf,
        /// How many views.
        #[arg(long, default_value_t = 50_000_000)]
        views: u64,
        /// Of how many pages.
        #[arg(long, default_value_t = 10_000)]
        paths: usize,
        /// Put the views straight into the store's files and the others' daily rollups.
        #[arg(long)]
        straight: bool,
        /// A Python that has the packages `duckdb` and `chdb`; without it and the next, they are left out.
        #[arg(long, requires = "script")]
        python: Option<PathBuf>,
        /// `scripts/bench-views-peers.py`
        #[arg(long, requires = "python")]
        script: Option<PathBuf>,
    },
    /// How many events a second are taken in and durable, and how fast questions are answered meanwhile.
    Ingest {
        /// The program `copydesk`.
        #[arg(long)]
        binary: PathBuf,
        /// For how long each way of sending is measured.
        #[arg(long, default_value_t = 10)]
        seconds: u64,
        /// Views that are there before.
        #[arg(long, default_value_t = 5_000_000)]
        views: u64,
        /// Of how many pages.
        #[arg(long, default_value_t = 10_000)]
        paths: usize,
    },
    /// How fast a log is imported, beside GoAccess with the same log.
    Import {
        /// The program `copydesk`.
        #[arg(long)]
        binary: PathBuf,
        /// The program `goaccess`; without it, it is left out.
        #[arg(long)]
        goaccess: Option<PathBuf>,
        /// How many lines.
        #[arg(long, default_value_t = 10_000_000)]
        lines: u64,
    },
}

fn main() -> std::io::Result<()> {
    match Args::parse() {
        Args::Api { database, seconds, connections, workers } => {
            start_log(OpenOptions::new().write(true).open("/dev/null")?);
            let time = Duration::from_secs(seconds);
            bench_api(&ApiOptions { backend: database, time, connections, workers });
        }
        Args::Start { binary, times } => {
            runtime()?.block_on(bench_start(&StartOptions { binary: binary.canonicalize()?, times }));
        }
        Args::Jobs { binary, times, codex, aider, home } => {
            let peers = match (codex, aider, home) {
                (Some(codex), Some(aider), Some(home)) => {
                    Some(Peers { codex: absolute(codex)?, aider: absolute(aider)?, home: absolute(home)? })
                }
                _ => None,
            };
            runtime()?.block_on(bench_jobs(&JobsOptions { binary: binary.canonicalize()?, times, peers }));
        }
        Args::Waiting { binary, jobs, seconds } => {
            let time = Duration::from_secs(seconds);
            runtime()?.block_on(bench_waiting(&WaitingOptions { binary: binary.canonicalize()?, jobs, time }));
        }
        Args::Check { binary, pages, times } => {
            bench_check(&CheckOptions { binary: binary.canonicalize()?, pages, times });
        }
        Args::Views { binary, views, paths, straight, python, script } => {
            let peers = python.zip(script).map(|(python, script)| ViewPeers { python, script });
            let options = ViewsOptions { binary: binary.canonicalize()?, views, paths, straight, peers };
            runtime()?.block_on(bench_views(&options));
        }
        Args::Ingest { binary, seconds, views, paths } => {
            let time = Duration::from_secs(seconds);
            let options = IngestOptions { binary: binary.canonicalize()?, time, views, paths };
            runtime()?.block_on(bench_ingest(&options));
        }
        Args::Import { binary, goaccess, lines } => {
            bench_import(&ImportOptions { binary: binary.canonicalize()?, goaccess, lines });
        }
    }
    Ok(())
}

/// One thread for the client and one for the model, which has to answer while the client waits for a program.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()
}

/// The log of the product, every line of it formatted and written; only that nobody keeps it.
fn start_log(file: File) {
    let filter = EnvFilter::new("info,sqlx=warn,hyper=warn,reqwest=warn");
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(Arc::new(file));
    lines.json().flatten_event(true).with_current_span(false).with_span_list(false).init();
}
