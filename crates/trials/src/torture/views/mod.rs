//! Page views under SIGKILL, torn tails and full disks: every acknowledged event is counted once, nothing twice, and the
//! server starts again by itself.

mod event;
mod full_disk;
mod kills;
mod ledger;
mod torn;
mod world;

use std::path::PathBuf;

/// How a run goes.
#[derive(Debug, Clone)]
pub struct ViewsOptions {
    /// The program `copydesk`.
    pub binary: PathBuf,
    /// How many times the server is killed.
    pub kills: usize,
    /// How many times the disk gets full.
    pub full_disks: usize,
    /// What chance begins with.
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
