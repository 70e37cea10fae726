//! Real servers of other programs, for tests that a fake of ours should not decide.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::PATIENCE;

/// Where Debian keeps programs that users do not call.
const ELSEWHERE: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// Where a program is. If it is nowhere, the test that needs it is skipped, which is said; where the variable
/// `COPYDESK_TEST_SERVERS` says `required`, it fails instead.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    let required = std::env::var("COPYDESK_TEST_SERVERS").is_ok_and(|value| value == "required");
    find_or(name, required)
}

fn find_or(name: &str, required: bool) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(ELSEWHERE.map(PathBuf::from));
    let found = folders.map(|folder| folder.join(name)).find(|program| program.is_file());
    if found.is_none() {
        assert!(!required, "{name} is missing, and COPYDESK_TEST_SERVERS says that it is required");
        eprintln!("skipped: {name} is not installed");
    }
    found
}

/// A program that is killed, by its own number, when this is dropped.
pub(super) struct Running(Child);

impl Running {
    /// Starts it; it says nothing unless the test fails.
    pub(super) fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
    }

    /// Waits until `ready` holds; fails if it does not, or the program ends before.
    pub(super) fn wait(&mut self, what: &str, ready: impl Fn() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !ready() {
            assert!(self.0.try_wait().unwrap().is_none(), "{what} has ended");
            assert!(Instant::now() < deadline, "{what} did not start");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port on loopback that nobody has at the moment.
pub(super) fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Whether somebody listens on a port.
pub(super) fn listens(port: u16) -> bool {
    std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::find_or;

    #[test]
    fn what_is_missing_is_skipped_unless_it_is_required() {
        assert_eq!(find_or("copydesk-is-no-server", false), None);
        assert!(find_or("sh", true).is_some());
        assert!(std::panic::catch_unwind(|| find_or("copydesk-is-no-server", true)).is_err());
    }
}
