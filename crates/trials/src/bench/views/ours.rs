//! Copydesk with a sample: written, served by the program itself, and asked.

use std::path::Path;
use std::time::Duration;

use super::questions::{Asker, Figures, RANGES, Times, first_question};
use crate::figures::Latencies;
use crate::process::Installation;

/// How often the program is started.
const STARTS: usize = 5;

pub(super) struct Ours {
    /// How the views were written, and how long it took.
    pub(super) way: &'static str,
    pub(super) writing: Duration,
    pub(super) figures: Vec<Figures>,
    pub(super) times: [Times; RANGES.len()],
    /// From the start of the process to the first answer.
    pub(super) starts: Latencies,
    pub(super) resident: u64,
    pub(super) peak: u64,
    /// On disk.
    pub(super) bytes: u64,
}

/// Settings without a limit for how often may be asked.
pub(in crate::bench) fn settings() -> Vec<(&'static str, String)> {
    vec![("COPYDESK_LIMITS__ANALYTICS_PER_MINUTE", "0".to_owned())]
}

/// Serves what is in the data folder, and asks in so many rounds.
pub(super) async fn measure(
    installation: &Installation<'_>,
    project: &str,
    written: (&'static str, Duration),
    rounds: u32,
) -> Ours {
    let key = installation.key();
    let first = first_question(project, &key);
    let mut starts = Latencies::default();
    for _ in 1..STARTS {
        let (_server, took) = installation.serve_until(&first).await;
        starts.add(took);
    }
    let (server, took) = installation.serve_until(&first).await;
    starts.add(took);
    let mut asker = Asker::new(server.address, project, &key).await;
    let mut figures = Vec::new();
    for days in RANGES {
        figures.push(asker.figures(days).await);
    }
    // Once for the warmth.
    asker.times(1).await;
    let times = asker.times(rounds).await;
    let (resident, peak) = (server.resident(), server.peak());
    drop(server);
    let folder = installation.folder.join("data/views");
    let bytes = match folder.is_dir() {
        true => size(&folder),
        false => installation.ask(&["views", "status", project])[0]["bytes"].as_u64().unwrap(),
    };
    Ours { way: written.0, writing: written.1, figures, times, starts, resident, peak, bytes }
}

/// Bytes of all files below a folder.
pub(super) fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let of = |entry: std::fs::DirEntry| {
        let kind = entry.metadata().unwrap();
        if kind.is_dir() { size(&entry.path()) } else { kind.len() }
    };
    entries.map(of).sum()
}
