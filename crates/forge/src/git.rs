use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use copydesk_domain::TRACE_TARGET;
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tracing::Instrument;

use crate::mirror_folder::MirrorFolder;
use crate::remote::{Address, SshKey};
use crate::{ForgeError, Remote, certificates};

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

/// How long to wait before a host is believed that it does not know a credential.
const SECOND_LOOKS: [Duration; 2] = [Duration::from_millis(300), Duration::from_secs(1)];

/// What the file of certificates for one command is called.
const AUTHORITIES: &str = "authorities.pem";

/// How ssh is started: it asks nobody, ends when the other side is silent, lends nothing of this machine, and does not pass
/// on the banner of the host, which says of everybody that this is forbidden.
const SSH_COMMAND: &str = "ssh -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15 -o ForwardAgent=no \
                           -o PermitLocalCommand=no -o LogLevel=ERROR";

/// One way to start the git program; there is no other.
pub(crate) struct Git<'a> {
    pub(crate) folder: &'a MirrorFolder,
    pub(crate) address: &'a Address,
    pub(crate) remote: &'a Remote,
    pub(crate) time_limit: Duration,
}

/// What git printed and whether it was content.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) success: bool,
    /// With what it ended; none if it was killed.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Git<'_> {
    /// Runs git, and again if a credential is not known to a host that may be Gitea: it says so of the best of tokens too,
    /// while it is being stopped. A moment later it is gone, and that is another matter.
    pub(crate) async fn run(&self, arguments: &[&str], lock: Option<&File>) -> Result<Output, ForgeError> {
        let what = arguments.first().copied().unwrap_or_default();
        let span = tracing::info_span!(target: TRACE_TARGET, "git", git.command = what, failed = tracing::field::Empty);
        let ran = self.run_patiently(arguments, lock).instrument(span.clone()).await;
        span.record("failed", !ran.as_ref().is_ok_and(|output| output.success));
        ran
    }

    async fn run_patiently(&self, arguments: &[&str], lock: Option<&File>) -> Result<Output, ForgeError> {
        for pause in SECOND_LOOKS {
            let output = self.run_once(arguments, lock).await?;
            let is_doubted = self.remote.may_be_gitea && self.remote.shows_credential();
            if output.success || !is_doubted || !is_unknown_credential(&output.stderr) {
                return Ok(output);
            }
            tokio::time::sleep(pause).await;
        }
        self.run_once(arguments, lock).await
    }

    /// Runs git to its end, to the time limit or until nobody waits any more; then it and all that it started is gone.
    /// It keeps `lock` held as long as it lives, even if this process is killed.
    async fn run_once(&self, arguments: &[&str], lock: Option<&File>) -> Result<Output, ForgeError> {
        let key_files = self.ssh_key().map(|key| KeyFiles::write(self.folder, key)).transpose()?;
        let authorities = self.authorities()?;
        let authorities_file = authorities.as_ref().map(|folder| folder.path().join(AUTHORITIES));
        let mut command = self.command(arguments, key_files.as_ref(), authorities_file.as_deref())?;
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
        let mut group = ProcessGroup::of(child.id());
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
        Ok(Output { success: status.success(), code: status.code(), stdout, stderr })
    }

    /// The key to show, if the address is one where a key is shown.
    fn ssh_key(&self) -> Option<&SshKey> {
        self.remote.ssh_key.as_ref().filter(|_| self.address.scheme() == "ssh")
    }

    /// A folder with all the certificates to trust, if some were named; it goes when the command has ended.
    fn authorities(&self) -> Result<Option<TempDir>, ForgeError> {
        let Some(named) = self.remote.trust.ca_file.as_ref().filter(|_| self.address.is_http()) else {
            return Ok(None);
        };
        let bundle = certificates::bundle(named)?;
        let folder = self.folder.key_folder().map_err(ForgeError::from_io)?;
        std::fs::write(folder.path().join(AUTHORITIES), bundle).map_err(ForgeError::from_io)?;
        Ok(Some(folder))
    }

    fn command(
        &self,
        arguments: &[&str],
        key_files: Option<&KeyFiles>,
        authorities: Option<&Path>,
    ) -> Result<Command, ForgeError> {
        let mut command = Command::new("git");
        command.env_clear();
        self.set_environment(&mut command);
        self.set_credential(&mut command, authorities);
        if let Some(files) = key_files {
            command.current_dir(files.folder.path()).env("GIT_SSH_COMMAND", files.ssh_command());
            // Only the key that was given, not those that somebody's agent holds.
            command.env_remove("SSH_AUTH_SOCK");
        }
        // Named outright, so that no repository is searched for and none above the mirror is ever taken.
        command.arg("--git-dir").arg(std::path::absolute(&self.folder.git_dir).map_err(ForgeError::from_io)?);
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
        Ok(command)
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
        command.env("GIT_SSH_VARIANT", "ssh").env("GIT_SSH_COMMAND", SSH_COMMAND);
    }

    /// In the environment, because everybody on the machine can read arguments. Only for the address's own host.
    fn set_credential(&self, command: &mut Command, authorities: Option<&Path>) {
        if !self.address.is_http() {
            return;
        }
        let mut settings = Vec::new();
        if let Some(credential) = &self.remote.credential {
            settings.push(("extraHeader", format!("Authorization: {}", credential.header_value())));
        }
        if self.remote.trust.accept_any_certificate {
            settings.push(("sslVerify", "false".to_owned()));
        }
        if let Some(file) = authorities.and_then(Path::to_str) {
            // This one goes before a setting.
            command.env_remove("GIT_SSL_CAINFO");
            settings.push(("sslCAInfo", file.to_owned()));
        }
        command.env("GIT_CONFIG_COUNT", settings.len().to_string());
        for (number, (name, value)) in settings.into_iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{number}"), format!("http.{}/.{name}", self.address.origin()));
            command.env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
    }
}

/// Whether the host said that it does not know the credential, and not that this one may not do something.
fn is_unknown_credential(stderr: &str) -> bool {
    const SIGNS: &[&str] =
        &["could not read Username", "could not read Password", "Authentication failed", "returned error: 401"];
    SIGNS.iter().any(|sign| stderr.contains(sign))
}

/// A folder that only this user can open, with the key for one command. It goes when the command has ended.
struct KeyFiles {
    folder: TempDir,
    has_known_hosts: bool,
}

impl KeyFiles {
    fn write(beside: &MirrorFolder, key: &SshKey) -> Result<Self, ForgeError> {
        let folder = beside.key_folder().map_err(ForgeError::from_io)?;
        let write = |name: &str, text: &str| {
            let mut options = File::options();
            let file = options.write(true).create_new(true).mode(0o600).open(folder.path().join(name));
            file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(ForgeError::from_io)
        };
        write("key", key.private_key.expose())?;
        if let Some(known_hosts) = &key.known_hosts {
            write("known_hosts", known_hosts)?;
        }
        Ok(Self { has_known_hosts: key.known_hosts.is_some(), folder })
    }

    /// Names the files from their own folder, in which the command runs: a path could hold what a shell or ssh reads as
    /// something else.
    fn ssh_command(&self) -> String {
        let known = " -o UserKnownHostsFile=known_hosts -o GlobalKnownHostsFile=/dev/null -o StrictHostKeyChecking=yes";
        let known = if self.has_known_hosts { known } else { "" };
        format!("{SSH_COMMAND} -i key -o IdentitiesOnly=yes{known}")
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
struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    fn of(leader: Option<u32>) -> Self {
        Self(leader.and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)))
    }

    fn disarm(&mut self) {
        self.0 = None;
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It fails if all of the group are gone already.
            _ = kill_process_group(group, Signal::KILL);
        }
    }
}
