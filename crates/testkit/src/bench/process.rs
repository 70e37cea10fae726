//! The product in a process of its own, and what the system says about that process.

use std::ffi::OsStr;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::connection::{Connection, request};

/// How long a start, and a stop, may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A folder with a configuration that only the environment makes.
pub(super) struct Installation<'a> {
    /// The program `copydesk`.
    pub(super) binary: &'a Path,
    /// Where its data folder is, or will be.
    pub(super) folder: &'a Path,
    /// Settings, as environment variables.
    pub(super) settings: Vec<(&'static str, String)>,
}

impl Installation<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.binary);
        command.args(arguments).current_dir(self.folder).stdin(Stdio::null()).stderr(Stdio::null());
        command.env("COPYDESK_DATA_DIR", self.folder.join("data"));
        command.envs(self.settings.iter().map(|(name, value)| (name, OsStr::new(value))));
        command
    }

    /// Runs a command that prints JSON.
    pub(super) fn ask(&self, arguments: &[&str]) -> Value {
        let output = self.command(arguments).arg("--json").output().unwrap();
        assert!(output.status.success(), "copydesk {arguments:?} failed");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Makes a project of this repository that has no limit of jobs an hour, and gives the path of its jobs.
    pub(super) fn project(&self, name: &str, repository: &str) -> String {
        let made = self.ask(&["project", "create", "--name", name, "--repository", repository, "--jobs-per-hour", "0"]);
        format!("/v2/agent/{}/job", made["id"].as_str().unwrap())
    }

    /// Makes a key that opens every project.
    pub(super) fn key(&self) -> String {
        self.ask(&["key", "create", "--all-projects"])["key"].as_str().unwrap().to_owned()
    }

    /// Starts the server, and says how long it took from there to the first 200 of `/readyz`.
    pub(super) async fn serve(&self) -> (Server, Duration) {
        let address = free_address();
        let started = Instant::now();
        let mut command = self.command(&["serve", "--listen", &address.to_string()]);
        let mut server = Server { child: command.stdout(Stdio::null()).spawn().unwrap(), address };
        let ask = request("GET", "/readyz", "none", &[], None);
        while !ready(address, &ask).await {
            if let Ok(Some(ended)) = server.child.try_wait() {
                panic!("{} ended with {ended} instead of serving", self.binary.display());
            }
            assert!(started.elapsed() < PATIENCE, "{} is not ready after {PATIENCE:?}", self.binary.display());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        (server, started.elapsed())
    }
}

/// A server in a process of its own. It is stopped when it is dropped.
pub(super) struct Server {
    child: Child,
    pub(super) address: SocketAddr,
}

impl Server {
    /// Bytes of memory that it has now.
    pub(super) fn resident(&self) -> u64 {
        self.status("VmRSS:")
    }

    /// Bytes of memory that it had at the most.
    pub(super) fn peak(&self) -> u64 {
        self.status("VmHWM:")
    }

    fn status(&self, field: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// How long processors have worked for it so far: for itself, and for the programs that it started and that ended.
    pub(super) fn processor_time(&self) -> (Duration, Duration) {
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

/// Bytes in words.
pub(super) fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

async fn ready(address: SocketAddr, ask: &[u8]) -> bool {
    let Ok(mut connection) = Connection::open(address).await else { return false };
    connection.exchange(ask).await.is_ok_and(|reply| reply.status == 200)
}

/// An address that was free a moment ago.
fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}
