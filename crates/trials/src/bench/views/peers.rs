//! DuckDB and chDB, driven by a script in Python, each in a process of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use super::questions::{Figures, RANGES, end};

const ENGINES: [&str; 2] = ["duckdb", "chdb"];

// Where they are.
#[derive(Debug, Clone, clap::Args)]
pub struct ViewPeers {
    /// A Python that has the packages `duckdb` and `chdb`; without it and the next, they are left out.
    #[arg(long, required = false, requires = "script")]
    pub python: PathBuf,
    /// `scripts/bench-views-peers.py`
    #[arg(long, required = false, requires = "python")]
    pub script: PathBuf,
}

/// What they are given.
pub(super) enum Data<'a> {
    /// A file with a line for each view.
    Views(&'a Path),
    /// A file with their daily rollup.
    Rollup(&'a Path),
}

/// What one of them came to.
#[derive(Debug, Deserialize)]
pub(super) struct Peer {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) load_seconds: f64,
    pub(super) rollup_seconds: f64,
    pub(super) rollup_rows: u64,
    pub(super) rollup_bytes: u64,
    pub(super) peak_memory: u64,
    pub(super) ranges: Vec<PeerRange>,
}

/// Its answer for a range.
#[derive(Debug, Deserialize)]
pub(super) struct PeerRange {
    /// The median.
    pub(super) seconds: f64,
    totals: (u64, u64),
    rows: Vec<(String, u64, u64)>,
}

impl PeerRange {
    pub(super) fn figures(&self) -> Figures {
        Figures { totals: self.totals, rows: self.rows.clone() }
    }
}

impl ViewPeers {
    /// Lets each load the data and answer, one after the other.
    pub(super) fn run(&self, folder: &Path, data: &Data<'_>) -> Vec<Peer> {
        ENGINES.iter().map(|engine| self.run_one(engine, &folder.join(engine), data)).collect()
    }

    fn run_one(&self, engine: &str, folder: &Path, data: &Data<'_>) -> Peer {
        fs::create_dir_all(folder).unwrap();
        let (flag, file) = match data {
            Data::Views(file) => ("--views", file),
            Data::Rollup(file) => ("--rollup", file),
        };
        let mut command = Command::new(&self.python);
        command.arg(&self.script).arg(engine).arg("--folder").arg(folder).arg(flag).arg(file);
        command.args(["--end", &end(), "--days", &RANGES.map(|days| days.to_string()).join(",")]);
        let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().unwrap();
        assert!(output.status.success(), "{engine} failed");
        // The disk may be needed for the next one.
        fs::remove_dir_all(folder).unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }
}
