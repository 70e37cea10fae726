use std::fs::File;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use crate::ForgeError;
use crate::remote::{Address, Credential};

/// How much of what git prints is kept; the rest is read and thrown away.
const MOST_OUTPUT: u64 = 1024 * 1024;

/// What git needs of our environment besides `PATH`, by scheme. Everything else stays out: `GIT_DIR`, `GIT_SSH` and the
/// like could turn a command into another one, and `HOME` leads to `.netrc`, whose credentials are not ours to use.
const NETWORK: &[&str] = &[
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
];
const SSH: &[&str] = &["HOME", "SSH_AUTH_SOCK", "USER", "LOGNAME"];

/// One way to start the git program; there is no other.
pub(crate) struct Git<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) address: &'a Address,
    pub(crate) credential: Option<&'a Credential>,
    pub(crate) time_limit: Duration,
}

/// What git printed and whether it was content.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) success: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Git<'_> {
    /// Runs git to its end, to the time limit or until nobody waits any more; then it and all that it started is gone.
    /// It keeps `lock` held as long as it lives, even if this process is killed.
    pub(crate) async fn run(&self, arguments: &[&str], lock: Option<&File>) -> Result<Output, ForgeError> {
        let mut command = self.command(arguments);
        // An empty file reads like `/dev/null`. Being the same open file as ours, it holds the same lock.
        command.stdin(match lock {
            Some(lock) => Stdio::from(lock.try_clone().map_err(ForgeError::from_io)?),
            None => Stdio::null(),
        });
        let mut child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => ForgeError::lasting("the git program is not installed"),
            kind => ForgeError::passing(format!("the git program cannot be started: {kind}")),
        })?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let mut group = Group::of(child.id());
        let ended = tokio::time::timeout(self.time_limit, async {
            tokio::join!(bounded(stdout), bounded(stderr), child.wait())
        });
        let Ok((stdout, stderr, status)) = ended.await else {
            drop(group);
            // Killed, so this does not take long, unless the machine itself hangs; without it the dead process would
            // stay in the table.
            _ = tokio::time::timeout(Duration::from_secs(5), child.wait()).await;
            let seconds = self.time_limit.as_secs();
            return Err(ForgeError::passing(format!("git has not finished within {seconds} seconds")));
        };
        group.disarm();
        let status = status.map_err(ForgeError::from_io)?;
        Ok(Output { success: status.success(), stdout, stderr })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.env_clear();
        self.set_environment(&mut command);
        // Named outright, so that no repository is searched for and none above the mirror is ever taken.
        command.arg("--git-dir").arg(self.folder);
        // No `refs/replace` that swaps one object for another.
        command.arg("--no-replace-objects");
        // Nothing is written in passing.
        command.arg("--no-optional-locks");
        for setting in [
            // No hook runs, whatever is in the mirror.
            "core.hooksPath=/dev/null",
            // A command that git would start to learn about changed files.
            "core.fsmonitor=false",
            // No helper is asked for a credential, and none is told one.
            "credential.helper=",
            // A credential is not carried to where a host redirects.
            "http.followRedirects=false",
            // A stalled transfer ends, even if this process is gone and cannot end it.
            "http.lowSpeedLimit=1",
            "http.lowSpeedTime=60",
            // Objects arrive as a pack that appears as a whole, or not at all.
            "fetch.unpackLimit=1",
            "transfer.unpackLimit=1",
            // Commits that are not pushed yet are reachable from nothing; nobody may sweep them away.
            "gc.auto=0",
            "maintenance.auto=false",
            // Other repositories that this one names are none of our business.
            "submodule.recurse=false",
            "fetch.recurseSubmodules=false",
            "push.recurseSubmodules=no",
            "push.gpgSign=false",
        ] {
            command.args(["-c", setting]);
        }
        command.args(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own, so that helpers such as `git-remote-https` and `ssh` are killed along with it.
        command.process_group(0).kill_on_drop(true);
        command
    }

    fn set_environment(&self, command: &mut Command) {
        let of_scheme = match self.address.scheme() {
            "ssh" => SSH,
            "http" | "https" => NETWORK,
            _ => &[],
        };
        for name in of_scheme.iter().chain(&["PATH"]) {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        // No configuration but ours: neither the machine's nor the user's.
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_ATTR_NOSYSTEM", "1");
        // Nobody is there to answer a question.
        command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_ASKPASS", "").env("SSH_ASKPASS_REQUIRE", "never");
        // Only what the address itself says: no `ext::`, and nothing else by way of a redirect or a submodule.
        command.env("GIT_ALLOW_PROTOCOL", self.address.scheme());
        // Missing objects are an error, not a reason to ask somebody else for them.
        command.env("GIT_NO_LAZY_FETCH", "1");
        // Messages are read by this program.
        command.env("LC_ALL", "C");
        command.env("GIT_SSH_VARIANT", "ssh").env(
            "GIT_SSH_COMMAND",
            "ssh -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15 -o ForwardAgent=no -o PermitLocalCommand=no",
        );
        // The environment, because everybody on the machine can read arguments. Only for the address's own host.
        if let (Some(credential), "http" | "https") = (self.credential, self.address.scheme()) {
            command.env("GIT_CONFIG_COUNT", "1");
            command.env("GIT_CONFIG_KEY_0", format!("http.{}/.extraHeader", self.address.origin()));
            command.env("GIT_CONFIG_VALUE_0", credential.header());
        }
    }
}

/// Reads to the end and keeps the beginning.
async fn bounded(pipe: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut pipe) = pipe else {
        return String::new();
    };
    let mut kept = Vec::new();
    // A pipe that breaks has said what it had to say.
    _ = (&mut pipe).take(MOST_OUTPUT).read_to_end(&mut kept).await;
    _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&kept).into_owned()
}

/// Kills a process group when it is dropped.
struct Group(Option<Pid>);

impl Group {
    fn of(leader: Option<u32>) -> Self {
        Self(leader.and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)))
    }

    fn disarm(&mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It fails if all of the group are gone already.
            _ = kill_process_group(group, Signal::KILL);
        }
    }
}
