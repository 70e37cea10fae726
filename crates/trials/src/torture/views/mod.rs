//! Page views under SIGKILL, torn tails and full disks: every acknowledged event is counted once, nothing twice, and the
//! server starts again by itself.

mod clocks;
mod crowds;
mod event;
mod flips;
mod full_disk;
mod kills;
mod ledger;
mod live_logs;
mod torn;
mod world;

use std::path::PathBuf;

use copydesk_domain::random_fraction;

use crate::args::program;

/// The server is killed at any moment while page views come in, its log is torn, its disk gets full, bits of its files are
/// flipped, its clock leaps and a crowd comes; every acknowledged view must be counted once, or the answer must say that one
/// may not be. Those who import and follow logs that are being written and rotated are killed too; every line that is in a
/// file must be counted once.
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
    /// How many bits are flipped in its files, each in a copy of its own: an answer is right, or says that it is not.
    #[arg(long, default_value_t = 100)]
    pub flips: usize,
    /// How many lives with a clock that leaps; needs libfaketime.
    #[arg(long, default_value_t = 10)]
    pub clocks: usize,
    /// How many pages a crowd makes, which asks many questions at once about them.
    #[arg(long, default_value_t = 200_000)]
    pub crowd_pages: u64,
    /// How many lines are written to logs that are rotated in every way, while those who import them are killed.
    #[arg(long, default_value_t = 500_000)]
    pub live_lines: u64,
    /// The seed of an earlier run, to have the same requests and pauses again.
    #[arg(long, default_value_t = (random_fraction() * 1e9) as u64, hide_default_value = true)]
    pub seed: u64,
}

/// Violations that are shown.
const SHOWN: usize = 50;

/// Runs it, prints what came out, and says whether all was well.
pub async fn run_views(options: ViewsOptions) -> bool {
    println!("views: seed {}", options.seed);
    // Each runs even if another failed.
    let killed = options.kills == 0 || kills::run(&options).await;
    let filled = options.full_disks == 0 || full_disk::run(&options).await;
    let flipped = options.flips == 0 || flips::run(&options).await;
    let leapt = options.clocks == 0 || clocks::run(&options).await;
    let crowded = options.crowd_pages == 0 || crowds::run(&options).await;
    let live = options.live_lines == 0 || live_logs::run(&options).await;
    killed && filled && flipped && leapt && crowded && live
}

fn show(violations: &[String]) {
    violations.iter().take(SHOWN).for_each(|violation| eprintln!("VIOLATION {violation}"));
}
