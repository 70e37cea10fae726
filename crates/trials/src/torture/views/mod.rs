//! Page views under SIGKILL, torn tails and full disks: every acknowledged event is counted once, nothing twice, and the
//! server starts again by itself.

mod event;
mod full_disk;
mod kills;
mod ledger;
mod torn;
mod world;

use std::path::PathBuf;

use copydesk_domain::random_fraction;

use crate::args::program;

/// The server is killed at any moment while page views come in, its log is torn and its disk gets full; every
/// acknowledged view must be counted once.
#[derive(Debug, Clone, clap::Args)]
pub struct ViewsOptions {
    /// The program `copydesk`.
    #[arg(long, value_parser = program)]
    pub binary: PathBuf,
    /// How many times to kill.
    #[arg(long, default_value_t = 200)]
    pub kills: usize,
    /// How many times the disk gets full; needs root, for a file system of its own.
    #[arg(long, default_value_t = 20)]
    pub full_disks: usize,
    /// The seed of an earlier run, to have the same requests and pauses again.
    #[arg(long, default_value_t = (random_fraction() * 1e9) as u64, hide_default_value = true)]
    pub seed: u64,
}

/// Violations that are shown.
const SHOWN: usize = 50;

/// Runs it, prints what came out, and says whether all was well.
pub async fn run_views(options: ViewsOptions) -> bool {
    println!("views: seed {}", options.seed);
    let killed = kills::run(&options).await;
    let filled = options.full_disks == 0 || full_disk::run(&options).await;
    killed && filled
}

fn show(violations: &[String]) {
    violations.iter().take(SHOWN).for_each(|violation| eprintln!("VIOLATION {violation}"));
}
