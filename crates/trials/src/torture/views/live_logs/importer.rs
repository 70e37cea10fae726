//! Whoever reads the log: by following it, or now and then; killed again and again.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::format::Format;
use crate::process::Installation;
use crate::seeded::Seeded;

/// The time that a follower lives, and an import, in milliseconds.
const FOLLOWS: (usize, usize) = (50, 1500);
const IMPORTS: (usize, usize) = (10, 400);
/// Imports that are let live.
const SPARED: f64 = 0.5;
/// How long the end may take.
const PATIENCE: Duration = Duration::from_secs(120);

pub(super) struct Importer<'a> {
    installation: &'a Installation<'a>,
    project: &'a str,
    log: &'a Path,
    format: Format,
    follows: bool,
    seeded: Seeded,
    pub(super) kills: usize,
}

impl<'a> Importer<'a> {
    pub(super) fn new(
        installation: &'a Installation<'a>,
        project: &'a str,
        log: &'a Path,
        format: Format,
        mut seeded: Seeded,
    ) -> Self {
        let follows = seeded.chance(0.6);
        Self { installation, project, log, format, follows, seeded, kills: 0 }
    }

    pub(super) fn how(&self) -> &'static str {
        if self.follows { "by following it" } else { "now and then" }
    }

    /// Imports, and is killed, until all is written.
    pub(super) fn import_until(&mut self, written: &AtomicBool) {
        while !written.load(Ordering::SeqCst) {
            let mut command = if self.follows { self.follow() } else { self.command(&self.files()) };
            if self.format == Format::OpenEnded {
                command.args(["--format", self.format.name()]);
            }
            let (mut child, spared) = (command.spawn().unwrap(), !self.follows && self.seeded.chance(SPARED));
            let (from, to) = if self.follows { FOLLOWS } else { IMPORTS };
            let dies = Instant::now() + Duration::from_millis(self.seeded.within(from, to) as u64);
            while matches!(child.try_wait(), Ok(None)) && (spared || Instant::now() < dies) {
                std::thread::sleep(Duration::from_millis(1));
            }
            self.kills += usize::from(matches!(child.try_wait(), Ok(None)));
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Has all that was written imported, by whoever did it before.
    pub(super) async fn catch_up(&self) -> Vec<String> {
        if !self.follows {
            let files = self.files();
            return if files.is_empty() { Vec::new() } else { self.import_all(&files).await };
        }
        // It must get as far as to hear signals: then it looks a last time. One that does not is simply gone.
        for seconds in 1..10 {
            let mut child = self.follow().args(["--format", self.format.name()]).spawn().unwrap();
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            let _ = kill_process(Pid::from_child(&child), Signal::TERM);
            let wrong = ended(&mut child);
            if child.wait().unwrap().signal().is_none() {
                return wrong;
            }
        }
        vec!["a follower does not get as far as to hear signals".to_owned()]
    }

    /// Imports files to their end.
    pub(super) async fn import_all(&self, files: &[PathBuf]) -> Vec<String> {
        // A copy may begin with half a line and have no other.
        let mut command = self.command(files);
        ended(&mut command.args(["--format", self.format.name()]).spawn().unwrap())
    }

    /// The log and all that was moved away, in no order.
    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.log.parent().unwrap()).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    fn follow(&self) -> Command {
        self.command(&["--follow".into(), self.log.to_owned()])
    }

    fn command(&self, files: &[PathBuf]) -> Command {
        let mut command = self.installation.command(&["import", "--project", self.project]);
        command.stdout(Stdio::null());
        command.args(files);
        command
    }
}

/// Waits until it has ended, and says what was wrong with that.
fn ended(child: &mut Child) -> Vec<String> {
    let give_up = Instant::now() + PATIENCE;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Vec::new(),
            Ok(Some(status)) => return vec![format!("an import ended with {status}")],
            _ if Instant::now() >= give_up => {
                let _ = child.kill();
                return vec![format!("an import did not end within {PATIENCE:?}")];
            }
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}
