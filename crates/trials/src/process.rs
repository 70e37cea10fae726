//! The product in a process of its own, and what the system says about that process.

use std::ffi::OsStr;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::connection::{Connection, request};

/// How long a start, and a stop, may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A folder with a configuration that only the environment makes.
pub(crate) struct Installation<'a> {
    pub(crate) binary: &'a Path,
    /// Where its data folder is, or will be.
    pub(crate) folder: &'a Path,
    /// Settings, as environment variables.
    pub(crate) settings: Vec<(&'static str, String)>,
}

impl Installation<'_> {
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.binary);
        command.args(arguments).current_dir(self.folder).stdin(Stdio::null()).stderr(Stdio::null());
        command.env("COPYDESK_DATA_DIR", self.folder.join("data"));
        command.envs(self.settings.iter().map(|(name, value)| (name, OsStr::new(value))));
        command
    }

    /// Runs a command that prints JSON.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Value {
        let output = self.command(arguments).arg("--json").stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "copydesk {arguments:?} failed: {said}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Makes a project of this repository that has no limit of jobs an hour, and gives the path of its jobs.
    pub(crate) fn project(&self, name: &str, repository: &str) -> String {
        format!("/v2/agent/{}/job", self.project_id(name, repository))
    }

    /// Makes a project of this repository that has no limit of jobs an hour, and gives its id.
    pub(crate) fn project_id(&self, name: &str, repository: &str) -> String {
        let flags = ["--name", name, "--repository", repository, "--base-ref", "main", "--jobs-per-hour", "0"];
        let made = self.ask(&[&["project", "create"], &flags[..]].concat());
        made["id"].as_str().unwrap().to_owned()
    }

    /// Makes a key that opens every project.
    pub(crate) fn key(&self) -> String {
        self.ask(&["key", "create", "--all-projects"])["key"].as_str().unwrap().to_owned()
    }

    /// Starts the server, and says how long it took from there to the first 200 of `/readyz`.
    pub(crate) async fn serve(&self) -> (Server, Duration) {
        self.serve_until(&request("GET", "/readyz", "none", &[], None)).await
    }

    /// Starts the server, and says how long it took from there to the first 200 for `ask`.
    pub(crate) async fn serve_until(&self, ask: &[u8]) -> (Server, Duration) {
        let started = Instant::now();
        let mut server = self.start();
        match server.answers(ask, PATIENCE).await {
            Ok(()) => (server, started.elapsed()),
            Err(why) => panic!("{} does not serve: {why}", self.binary.display()),
        }
    }

    /// Starts the server, and does not wait for it.
    pub(crate) fn start(&self) -> Server {
        self.start_with_log(Stdio::null())
    }

    /// The same, with its log in a file.
    pub(crate) fn start_with_log(&self, log: impl Into<Stdio>) -> Server {
        let address = free_address();
        let mut command = self.command(&["serve", "--listen", &address.to_string()]);
        Server { child: command.stdout(Stdio::null()).stderr(log).spawn().unwrap(), address }
    }
}

/// A server in a process of its own. It is stopped when it is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Waits until it answers `ask` with 200.
    pub(crate) async fn answers(&mut self, ask: &[u8], patience: Duration) -> Result<(), String> {
        let give_up = Instant::now() + patience;
        while !ready(self.address, ask).await {
            if let Ok(Some(ended)) = self.child.try_wait() {
                return Err(format!("it ended with {ended}"));
            }
            if Instant::now() >= give_up {
                return Err(format!("it is not ready after {patience:?}"));
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }

    /// Kills it with SIGKILL; false if it had ended by itself.
    pub(crate) fn kill(mut self) -> bool {
        let alive = matches!(self.child.try_wait(), Ok(None));
        let _ = self.child.kill();
        let _ = self.child.wait();
        alive
    }

    /// Bytes of memory that it has now.
    pub(crate) fn resident(&self) -> u64 {
        self.status("VmRSS:")
    }

    /// Bytes of memory that it had at the most.
    pub(crate) fn peak(&self) -> u64 {
        self.status("VmHWM:")
    }

    fn status(&self, field: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// How long processors have worked for it so far: for itself, and for the programs that it started and that ended.
    pub(crate) fn processor_time(&self) -> (Duration, Duration) {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        // The name of the program comes first, in brackets, and may hold anything.
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        let ticks: Vec<u64> = fields.split(' ').skip(11).take(4).map(|field| field.parse().unwrap()).collect();
        let time = |ticks: u64| Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64);
        (time(ticks[0] + ticks[1]), time(ticks[2] + ticks[3]))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The number of one that was waited for may be another's by now.
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let give_up = Instant::now() + PATIENCE;
        while Instant::now() < give_up {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a program took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) time: Duration,
    /// Bytes of memory at the most.
    pub(crate) peak: u64,
}

/// How often the memory of a process is looked at.
const LOOK: Duration = Duration::from_millis(2);

/// Runs a program, and gives what it took and what it printed.
pub(crate) fn watch(command: &mut Command) -> (Run, Output) {
    let started = Instant::now();
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let reader = std::thread::spawn(move || child.wait_with_output().unwrap());
    let mut peak = 0;
    while !reader.is_finished() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let kilobytes =
            text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        peak = peak.max(kilobytes.unwrap_or(0) * 1024);
        std::thread::sleep(LOOK);
    }
    let output = reader.join().unwrap();
    (Run { time: started.elapsed(), peak }, output)
}

pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

async fn ready(address: SocketAddr, ask: &[u8]) -> bool {
    let Ok(mut connection) = Connection::open(address).await else { return false };
    connection.exchange(ask).await.is_ok_and(|reply| reply.status == 200)
}

/// An address that was free a moment ago.
pub(crate) fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}
