//! How fast a log is imported, beside GoAccess with the same log.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::log_lines::{self, Held};
use super::sample::Sample;
use super::views::settings;
use crate::args::program;
use crate::figures::thousands;
use crate::process::{Installation, Run, megabytes, watch};

/// How fast a log is imported, beside GoAccess with the same log.
#[derive(Debug, Clone, clap::Args)]
pub struct ImportOptions {
    /// The program `copydesk`.
    #[arg(long, value_parser = program)]
    pub binary: PathBuf,
    /// The program `goaccess`; without it, it is left out.
    #[arg(long)]
    pub goaccess: Option<PathBuf>,
    /// How many lines.
    #[arg(long, default_value_t = 10_000_000)]
    pub lines: u64,
}

/// How often each of them reads the log, in turn; the median counts.
const TIMES: usize = 3;

/// Writes a log, lets both read it, and prints how fast they were and how much memory they took. Fails if one of them
/// did not find in it what is there.
pub fn bench_import(options: &ImportOptions) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("access.log");
    let sample = Sample::new(50_000_000, 10_000);
    let file = BufWriter::with_capacity(1 << 20, File::create(&log).unwrap());
    let held = log_lines::write(options.lines, &sample, file).unwrap();
    println!("import: {} lines of nginx, {}", thousands(held.lines), megabytes(held.bytes));
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for time in 0..TIMES {
        // Both find it in memory.
        io::copy(&mut File::open(&log).unwrap(), &mut io::sink()).unwrap();
        ours.push(copydesk(options, &folder.path().join(time.to_string()), &log, held));
        theirs.extend(options.goaccess.as_deref().map(|program| goaccess(program, folder.path(), &log, held)));
    }
    let mine = show("copydesk import, into a store on disk", &mut ours, held);
    if !theirs.is_empty() {
        let other = show("goaccess, into its memory", &mut theirs, held);
        println!(
            "copydesk import is {:.1} times as fast (aim: at least 5), with {:.0} % of the memory",
            other.time.as_secs_f64() / mine.time.as_secs_f64(),
            100.0 * mine.peak as f64 / other.peak as f64,
        );
    }
}

fn show(what: &str, runs: &mut [Run], held: Held) -> Run {
    runs.sort_unstable_by_key(|run| run.time);
    let median = runs[runs.len() / 2];
    let seconds = median.time.as_secs_f64();
    println!(
        "{what}: {} lines/s, {:.2} s, {:.0} MB/s, memory at most {}",
        thousands((held.lines as f64 / seconds) as u64),
        seconds,
        held.bytes as f64 / 1e6 / seconds,
        megabytes(median.peak),
    );
    median
}

/// Into a store of its own, because what was imported once is not imported again.
fn copydesk(options: &ImportOptions, folder: &Path, log: &Path, held: Held) -> Run {
    std::fs::create_dir_all(folder).unwrap();
    let installation = Installation { binary: &options.binary, folder, settings: settings() };
    let project = installation.project_id("views", "https://example.com/docs");
    let mut command = installation.command(&["import", "--project", &project, "--json"]);
    let (run, said) = succeeded(command.arg(log));
    let report: Value = serde_json::from_slice(&said).unwrap();
    let found = |name: &str| report["total"][name].as_u64();
    assert_eq!(
        (found("lines"), found("human"), found("ai")),
        (Some(held.lines), Some(held.human), Some(held.ai)),
        "{report}"
    );
    run
}

/// As Debian gives it, and without what it would show meanwhile.
fn goaccess(program: &Path, folder: &Path, log: &Path, held: Held) -> Run {
    let report = folder.join("goaccess.json");
    let mut command = Command::new(program);
    command.arg(log).args(["--no-global-config", "--log-format=COMBINED", "--no-progress", "-o"]).arg(&report);
    let (run, _) = succeeded(command.stdin(Stdio::null()).stderr(Stdio::null()));
    let report: Value = serde_json::from_reader(File::open(&report).unwrap()).unwrap();
    let general = &report["general"];
    assert_eq!(general["total_requests"].as_u64(), Some(held.lines), "{general}");
    run
}

fn succeeded(command: &mut Command) -> (Run, Vec<u8>) {
    let (run, output) = watch(command);
    assert!(output.status.success(), "{command:?} failed");
    (run, output.stdout)
}
