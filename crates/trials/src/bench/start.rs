use std::path::PathBuf;
use std::time::Duration;

use crate::args::program;
use crate::figures::{Latencies, millis};
use crate::process::{Installation, megabytes};

/// How long the server takes to be ready, and how much memory it has when idle.
#[derive(Debug, Clone, clap::Args)]
pub struct StartOptions {
    /// The program `copydesk`.
    #[arg(long, value_parser = program)]
    pub binary: PathBuf,
    /// How often to start it.
    #[arg(long, default_value_t = 5)]
    pub times: usize,
}

/// Starts the server on an existing data folder, again and again; prints how long it takes to be ready and how much
/// memory it has a second later.
pub async fn bench_start(options: &StartOptions) {
    let folder = tempfile::tempdir().unwrap();
    let installation = Installation { binary: &options.binary, folder: folder.path(), settings: Vec::new() };
    // Makes the data folder; not counted.
    drop(installation.serve().await);
    let mut starts = Latencies::default();
    let mut memory = Vec::new();
    for _ in 0..options.times {
        let (server, took) = installation.serve().await;
        starts.add(took);
        tokio::time::sleep(Duration::from_secs(1)).await;
        memory.push(server.resident());
    }
    memory.sort_unstable();
    println!(
        "start to ready on an existing data folder: median {}, worst {}; idle memory: median {}, worst {}",
        millis(starts.within(0.5)),
        millis(starts.within(1.0)),
        megabytes(memory[memory.len() / 2]),
        megabytes(memory[memory.len() - 1]),
    );
}
