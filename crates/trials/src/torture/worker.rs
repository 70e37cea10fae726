use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use copydesk_desk::runner::{Engine, Runner};
use copydesk_desk::{Metrics, Stop};
use copydesk_domain::SystemClock;
use copydesk_store::{DatabaseAddress, Store};
use tokio::signal::unix::{SignalKind, signal};

use super::{Journal, RecordingEngine};
use crate::args::milliseconds;
use crate::product::{SHUTDOWN_TIME, terms};

/// Names the database to a worker process; not an argument, because it may hold a password.
pub(super) const DATABASE: &str = "COPYDESK_TORTURE_DATABASE";

/// A worker process of `kills`.
#[derive(Debug, Clone, clap::Args)]
pub struct WorkerOptions {
    #[arg(long)]
    pub workers: usize,
    #[arg(long)]
    pub journal: PathBuf,
    #[arg(long = "lease-ms", value_parser = milliseconds)]
    pub lease: Duration,
}

/// A process that works on jobs until SIGTERM, as `copydesk worker` does, or until its parent is gone.
pub async fn run_worker(options: WorkerOptions) -> ExitCode {
    std::thread::spawn(end_with_parent);
    let mut terminate = signal(SignalKind::terminate()).unwrap();
    let store = match Store::open(&address(), Arc::new(SystemClock)).await {
        Ok(store) => store,
        Err(error) => {
            eprintln!("a worker cannot open the database: {error}");
            return ExitCode::FAILURE;
        }
    };
    let engine: Arc<dyn Engine> = Arc::new(RecordingEngine {
        journal: Journal::open(&options.journal).unwrap(),
        shortest: Duration::from_millis(50),
        longest: Duration::from_millis(300),
        seldom: options.lease.mul_f64(2.5),
    });
    let stop = Stop::new(SHUTDOWN_TIME);
    let runner = Runner::new(store, vec![engine], terms(options.lease), Metrics::new(), stop.clone());
    tokio::spawn(async move {
        terminate.recv().await;
        stop.ask();
    });
    runner.run(options.workers).await;
    ExitCode::SUCCESS
}

pub(super) fn address() -> DatabaseAddress {
    let url = std::env::var(DATABASE).unwrap();
    match url.strip_prefix("sqlite:") {
        Some(path) => DatabaseAddress::Sqlite(path.into()),
        None => DatabaseAddress::Postgres { address: url, listen: None, connections: 5 },
    }
}

/// The parent holds the other end of standard input and never writes to it: the end of it is the end of the parent.
pub(super) fn end_with_parent() {
    let _ = std::io::stdin().read(&mut [0]);
    std::process::exit(3);
}
