//! Figures: `bench api` and `bench start`. Build it with `--release`, or they mean nothing.

use std::fs::{File, OpenOptions};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use copydesk_testkit::Backend;
use copydesk_testkit::bench::{ApiOptions, StartOptions, bench_api, bench_start};
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
}

fn main() -> std::io::Result<()> {
    match Args::parse() {
        Args::Api { database, seconds, connections, workers } => {
            start_log(OpenOptions::new().write(true).open("/dev/null")?);
            let time = Duration::from_secs(seconds);
            bench_api(&ApiOptions { backend: database, time, connections, workers });
        }
        Args::Start { binary, times } => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(bench_start(&StartOptions { binary: binary.canonicalize()?, times }));
        }
    }
    Ok(())
}

/// The log of the product, every line of it formatted and written; only that nobody keeps it.
fn start_log(file: File) {
    let filter = EnvFilter::new("info,sqlx=warn,hyper=warn,reqwest=warn");
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(Arc::new(file));
    lines.json().flatten_event(true).with_current_span(false).with_span_list(false).init();
}
