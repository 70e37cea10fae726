use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::connection::{Connection, request};
use crate::figures::{Latencies, millis};

/// How the start is measured.
#[derive(Debug, Clone)]
pub struct StartOptions {
    /// The program `copydesk`.
    pub binary: PathBuf,
    /// How often it is started.
    pub times: usize,
}

/// How long a start, and a stop, may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Starts the server on an existing data folder, again and again; prints how long it takes to be ready and how much
/// memory it has a second later.
pub async fn bench_start(options: &StartOptions) {
    let folder = tempfile::tempdir().unwrap();
    // Makes the data folder; not counted.
    drop(Server::start(&options.binary, folder.path()).await);
    let mut starts = Latencies::default();
    let mut memory = Vec::new();
    for _ in 0..options.times {
        let (server, took) = Server::start(&options.binary, folder.path()).await;
        starts.add(took);
        tokio::time::sleep(Duration::from_secs(1)).await;
        memory.push(server.resident());
    }
    memory.sort_unstable();
    let megabytes = |kilobytes: u64| format!("{:.1} MB", kilobytes as f64 * 1024.0 / 1e6);
    println!(
        "start to ready on an existing data folder: median {}, worst {}; idle memory: median {}, worst {}",
        millis(starts.within(0.5)),
        millis(starts.within(1.0)),
        megabytes(memory[memory.len() / 2]),
        megabytes(memory[memory.len() - 1]),
    );
}

/// A server in a process of its own.
struct Server(Child);

impl Server {
    /// Starts it, and says how long it took from there to the first 200 of `/readyz`.
    async fn start(binary: &Path, folder: &Path) -> (Self, Duration) {
        let address = free_address();
        let started = Instant::now();
        let child = Command::new(binary)
            .args(["serve", "--listen", &address.to_string(), "--data-dir"])
            .arg(folder.join("data"))
            .current_dir(folder)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut server = Self(child);
        let ask = request("GET", "/readyz", "none", &[], None);
        while !ready(address, &ask).await {
            if let Ok(Some(ended)) = server.0.try_wait() {
                panic!("{} ended with {ended} instead of serving", binary.display());
            }
            assert!(started.elapsed() < PATIENCE, "{} is not ready after {PATIENCE:?}", binary.display());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        (server, started.elapsed())
    }

    /// Kilobytes of memory that it has.
    fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let give_up = Instant::now() + PATIENCE;
        while Instant::now() < give_up {
            if !matches!(self.0.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn ready(address: SocketAddr, ask: &[u8]) -> bool {
    let Ok(mut connection) = Connection::open(address).await else { return false };
    connection.exchange(ask).await.is_ok_and(|reply| reply.status == 200)
}

/// An address that was free a moment ago.
fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}
