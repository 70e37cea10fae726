//! A PostgreSQL server for one test, which may crash it.

use std::fs::read_dir;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use sqlx::{Connection, PgConnection};
use tempfile::TempDir;

use crate::eventually;

/// Where Debian keeps PostgreSQL's programs, by version.
const PROGRAMS: &str = "/usr/lib/postgresql";

pub struct PostgresServer {
    folder: TempDir,
    programs: PathBuf,
}

impl PostgresServer {
    /// Starts one that leaves in memory, for as long as it may, what was not committed yet.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // PostgreSQL does not run as root, and whoever it runs as instead must get in.
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
        let server = Self { folder, programs: programs() };
        server
            .run("initdb", &["-U", "copydesk", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"])
            .unwrap();
        let socket = server.folder.path().display();
        let settings = format!(
            "-c listen_addresses='' -c unix_socket_directories='{socket}' -c fsync=off -c shared_buffers=16MB \
             -c wal_writer_delay=10s -c max_connections=30"
        );
        server.control(&["-o", &settings, "start"]).unwrap();
        server
    }

    pub fn url(&self) -> String {
        format!("postgres://copydesk@localhost/postgres?host={}", self.folder.path().display())
    }

    /// Crashes it, and waits until it is there again.
    pub fn crash(&self) {
        self.control(&["-m", "immediate", "restart"]).unwrap();
    }

    /// Kills one of its processes, which ends all others, and waits until it is there again.
    pub async fn crash_one_process(&self) {
        let (mut victim, mut witness) = (self.connect().await.unwrap(), self.connect().await.unwrap());
        let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut victim).await.unwrap();
        assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
        eventually("the other processes end", async || witness.ping().await.err()).await;
        eventually("the server is there again", async || self.connect().await.ok()).await;
    }

    async fn connect(&self) -> sqlx::Result<PgConnection> {
        PgConnection::connect(&self.url()).await
    }

    fn control(&self, what: &[&str]) -> io::Result<()> {
        let log = self.folder.path().join("log");
        self.run("pg_ctl", &[&["-w", "-t", "60", "-l", log.to_str().unwrap()], what].concat())
    }

    fn run(&self, program: &str, arguments: &[&str]) -> io::Result<()> {
        let program = self.programs.join(program);
        let mut command = Command::new(&program);
        if self.folder.path().metadata()?.uid() == 0 {
            command = Command::new("setpriv");
            command.args(["--reuid", "postgres", "--regid", "postgres", "--clear-groups", "--"]).arg(&program);
        }
        // What it starts must not keep the test's own output open.
        command.arg("-D").arg(self.folder.path().join("data")).args(arguments).stdout(Stdio::null());
        if command.status()?.success() { Ok(()) } else { Err(io::Error::other(program.display().to_string())) }
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // It may not have started.
        let _ = self.control(&["-m", "immediate", "stop"]);
    }
}

/// Those of the newest version that Debian has put there, or what is on the PATH.
fn programs() -> PathBuf {
    let version = |folder: &PathBuf| folder.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    let versions = read_dir(PROGRAMS).into_iter().flatten().map(|entry| entry.unwrap().path());
    let newest = versions.max_by_key(version).map(|folder| folder.join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = newest.into_iter().chain(std::env::split_paths(&path)).find(|folder| folder.join("initdb").is_file());
    found.expect("a test needs the programs of a PostgreSQL server")
}
