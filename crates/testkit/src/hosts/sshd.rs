//! Git over SSH: Debian's openssh-server on loopback, with keys of its own.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::programs::{Running, find, free_port, listens};
use crate::GitRepo;

/// An SSH server that lets one key in, and lets it do nothing but git.
pub struct Sshd {
    _server: Running,
    _folder: TempDir,
    address: String,
    private_key: String,
    known_hosts: String,
}

impl Sshd {
    /// Serves a repository; none if Debian's packages `openssh-server` and `openssh-client` are not installed.
    pub fn start(git: &GitRepo) -> Option<Self> {
        Self::doing(git, "exec git shell -c \"$SSH_ORIGINAL_COMMAND\"")
    }

    /// One whose git is broken. It lets the same key in.
    pub fn broken(git: &GitRepo) -> Option<Self> {
        Self::doing(git, "exit 1")
    }

    fn doing(git: &GitRepo, act: &str) -> Option<Self> {
        let (server, keygen) = (find("sshd")?, find("ssh-keygen")?);
        let folder = tempfile::tempdir().unwrap();
        let (host_key, user_key) = (folder.path().join("host"), folder.path().join("user"));
        for key in [&host_key, &user_key] {
            let made = Command::new(&keygen).args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"]).arg(key).status();
            assert!(made.unwrap().success(), "ssh-keygen failed");
        }
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        // Whatever command is asked for, only git's are done, and the shell of the user is never given.
        let shell = folder.path().join("git-only");
        std::fs::write(&shell, format!("#!/bin/sh\n{act}\n")).unwrap();
        std::fs::write(folder.path().join("banner"), "Unauthorized access is prohibited!\n").unwrap();
        std::fs::set_permissions(&shell, std::fs::Permissions::from_mode(0o755)).unwrap();
        let allowed = format!("restrict,command=\"{}\" {}", shell.display(), read(&user_key.with_extension("pub")));
        std::fs::write(folder.path().join("authorized"), allowed).unwrap();
        make_separate();
        let port = free_port();
        let settings = folder.path().join("sshd_config");
        std::fs::write(&settings, config(folder.path(), port)).unwrap();
        let mut command = Command::new(server);
        command
            .args(["-D", "-e", "-f"])
            .arg(&settings)
            .stderr(std::fs::File::create(folder.path().join("log")).unwrap());
        let mut running = Running::start(&mut command);
        running.wait("sshd", || listens(port));
        let host = read(&host_key.with_extension("pub"));
        Some(Self {
            _server: running,
            address: format!("ssh://{}@127.0.0.1:{port}{}", user(), git.path().display()),
            private_key: read(&user_key),
            known_hosts: format!("[127.0.0.1]:{port} {host}"),
            _folder: folder,
        })
    }

    /// What git clones from.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The key that is let in, as OpenSSH writes it.
    pub fn private_key(&self) -> &str {
        &self.private_key
    }

    /// What the server's key is, as a line of `known_hosts`.
    pub fn known_hosts(&self) -> &str {
        &self.known_hosts
    }
}

fn config(folder: &Path, port: u16) -> String {
    let folder = folder.display();
    format!(
        "ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host\nPidFile none\nAuthorizedKeysFile {folder}/authorized\n\
         StrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
         PermitRootLogin forced-commands-only\nAcceptEnv GIT_PROTOCOL\nPrintMotd no\nBanner {folder}/banner\n"
    )
}

/// The empty folder that sshd wants to see when root starts it. Debian's service makes it, which does not run here.
fn make_separate() {
    if rustix::process::geteuid().is_root() {
        std::fs::create_dir_all("/run/sshd").unwrap();
    }
}

/// The user who runs the tests, as which everybody is let in.
fn user() -> String {
    let output = Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
