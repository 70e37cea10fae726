use crate::ForgeError;
use crate::git::Git;

/// The most of a host's own words that is passed on.
const MOST_QUOTED: usize = 400;

/// What git complains about, if it is a known complaint: what to look for, whether it may pass, and what to say.
/// Sentences are about "the repository"; whoever reads them knows which one.
const KNOWN: &[(&[&str], bool, &str)] = &[
    (&["no space left on device", "disk quota exceeded"], true, "the disk is full"),
    (
        &["dubious ownership"],
        false,
        "the repository's folder belongs to another user than the one that Copydesk runs as",
    ),
    (
        &["mismatched algorithms", "unsupported object format", "unknown repository extension", "object format"],
        false,
        "the repository uses SHA-256 object names or another extension that is not supported",
    ),
    (
        &["unrelated histories"],
        false,
        "the base branch was begun anew and has nothing in common with the branch of the job; create a new job",
    ),
    (
        &["usage: git merge-tree", "unknown option `write-tree'"],
        false,
        "the git program of this machine is older than 2.38 and cannot bring the branch up to date",
    ),
    (&["transport '"], false, "the repository's address is not one that git may use"),
    (
        &[
            "could not resolve host",
            "could not resolve proxy",
            "name or service not known",
            "temporary failure in name resolution",
        ],
        true,
        "the repository's host name cannot be resolved",
    ),
    (&["connection refused"], true, "the repository's host refuses the connection"),
    (
        &["connection timed out", "operation timed out", "timeout was reached", "operation too slow"],
        true,
        "the repository's host does not answer in time",
    ),
    (
        &["host key verification failed"],
        false,
        "the SSH key of the repository's host is not the one in `known_hosts`, or none is known",
    ),
    (
        &["load key ", "invalid format", "error in libcrypto"],
        false,
        "the SSH key of the project cannot be read; give it as OpenSSH writes it, without a passphrase",
    ),
    (
        &["ssl certificate", "certificate verification failed", "server certificate"],
        false,
        "the TLS certificate of the repository's host is not trusted by this machine; set the host's `ca_file` to the \
         certificate of its authority",
    ),
    (
        &[
            "authentication failed",
            "could not read username",
            "could not read password",
            "terminal prompts disabled",
            "permission denied (",
            "returned error: 401",
            "returned error: 403",
            "invalid credentials",
            "access denied",
            "write access to repository not granted",
        ],
        false,
        "the repository's host does not accept the credential for this, or none is set",
    ),
    (&["returned error: 429"], true, "the repository's host asks for fewer requests"),
    (&["returned error: 5"], true, "the repository's host has an internal error"),
    (
        &["redirect", "returned error: 30"],
        false,
        "the repository's address redirects elsewhere; set it to the new address",
    ),
    (
        &["does not appear to be a git repository", "not a git repository", "not found", "does not exist"],
        false,
        "there is no git repository at the address, or the credential does not let it be seen",
    ),
    (
        &[
            "hung up unexpectedly",
            "early eof",
            "connection reset",
            "rpc failed",
            "unexpected disconnect",
            "broken pipe",
            "failed to connect",
            "couldn't connect",
            "could not connect",
            "network is unreachable",
            "no route to host",
        ],
        true,
        "the connection to the repository's host broke",
    ),
];

/// Turns what git printed into one sentence without a credential and without our own paths.
pub(crate) fn explain(git: &Git<'_>, stderr: &str) -> ForgeError {
    let low = stderr.to_lowercase();
    for (needles, passing, sentence) in KNOWN {
        if needles.iter().any(|needle| low.contains(needle)) {
            return if *passing { ForgeError::passing(*sentence) } else { ForgeError::lasting(*sentence) };
        }
    }
    let telling = |line: &&str| line.starts_with("fatal:") || line.starts_with("error:");
    let line = stderr.lines().find(telling).or_else(|| stderr.lines().last()).unwrap_or("no reason given");
    ForgeError::passing(format!("git failed: {}", quoted(git, line)))
}

/// What the other side says when it rejects a push: the reason and the `remote:` lines.
pub(crate) fn rejected(git: &Git<'_>, summary: &str, stderr: &str) -> ForgeError {
    let low = format!("{summary}\n{stderr}").to_lowercase();
    if low.contains(".lock': file exists") {
        return ForgeError::passing("another process is writing to the repository");
    }
    if low.contains("no space left on device") || low.contains("unpacker error") {
        return ForgeError::passing("the repository's host cannot store the push; its disk may be full");
    }
    let reason = summary.split_once('(').and_then(|(_, reason)| reason.strip_suffix(')')).unwrap_or(summary);
    let sentence = format!("the repository's host rejects the push: {}", quoted(git, reason));
    let remarks: Vec<&str> = stderr.lines().filter_map(|line| Some(line.strip_prefix("remote:")?.trim())).collect();
    let remarks = quoted(git, &remarks.join(" "));
    ForgeError::lasting(if remarks.is_empty() { sentence } else { format!("{sentence}; it says: {remarks}") })
}

/// Whether git says that the mirror itself is broken, so that it must be made anew.
pub(crate) fn is_damage(stderr: &str) -> bool {
    const SIGNS: &[&str] = &[
        "is corrupt",
        "is empty",
        "bad object",
        "missing blob object",
        "missing tree object",
        "missing commit object",
        "unable to read tree",
        "unable to unpack",
        "packfile",
        "pack has bad",
        "broken ref",
        "reference broken",
        "bad ref",
        "not a git repository: ",
        "inflate: data stream error",
        "garbage at end of loose object",
        "unable to resolve reference",
        "bad config",
    ];
    stderr.lines().filter(|line| !line.starts_with("remote:")).any(|line| {
        let line = line.to_lowercase();
        SIGNS.iter().any(|sign| line.contains(sign))
    })
}

/// A stranger's words, fit to be shown: one line, bounded, no control characters, no secret, no path of ours.
fn quoted(git: &Git<'_>, text: &str) -> String {
    let mut text = git.remote.credential.as_ref().map_or_else(|| text.to_owned(), |credential| credential.mask(text));
    if let Some(folder) = git.folder.git_dir.to_str() {
        text = text.replace(folder, "the mirror");
    }
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    let text: String = text.chars().map(visible).take(MOST_QUOTED).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use crate::mirror_folder::MirrorFolder;
    use crate::remote::Address;
    use crate::{Credential, ForgeErrorKind, Remote};

    fn with_git<T>(act: impl FnOnce(&Git<'_>) -> T) -> T {
        let address = Address::parse("https://host.example/x.git").unwrap();
        let credential = Some(Credential::new("x", "planted-secret"));
        let remote = Remote { credential, ..Remote::default() };
        let mut folder = MirrorFolder::of(Path::new("/var/mirrors"), "x");
        folder.git_dir = "/var/mirrors/x.git".into();
        act(&Git { folder: &folder, address: &address, remote: &remote, time_limit: Duration::from_secs(1) })
    }

    #[test]
    fn known_complaints_become_sentences() {
        for (stderr, kind, words) in [
            (
                "fatal: unable to access 'https://x/': Could not resolve host: x",
                ForgeErrorKind::Passing,
                "cannot be resolved",
            ),
            (
                "fatal: unable to access: Failed to connect to x port 443: Connection refused",
                ForgeErrorKind::Passing,
                "refuses",
            ),
            ("ssh: connect to host x port 22: Connection timed out", ForgeErrorKind::Passing, "in time"),
            ("error: RPC failed; curl 28 Operation too slow.", ForgeErrorKind::Passing, "in time"),
            ("fatal: the remote end hung up unexpectedly", ForgeErrorKind::Passing, "broke"),
            ("error: unable to write file: No space left on device", ForgeErrorKind::Passing, "the disk is full"),
            ("fatal: Authentication failed for 'https://x/'", ForgeErrorKind::Lasting, "credential"),
            ("git@x: Permission denied (publickey).", ForgeErrorKind::Lasting, "credential"),
            (
                "fatal: could not read Username for 'https://x': terminal prompts disabled",
                ForgeErrorKind::Lasting,
                "credential",
            ),
            (
                "remote: Repository not found.\nfatal: repository 'https://x/' not found",
                ForgeErrorKind::Lasting,
                "no git repository",
            ),
            ("Host key verification failed.", ForgeErrorKind::Lasting, "SSH key"),
            ("fatal: unable to access: SSL certificate problem: self-signed", ForgeErrorKind::Lasting, "certificate"),
            ("fatal: detected dubious ownership in repository at '/x'", ForgeErrorKind::Lasting, "another user"),
            ("fatal: mismatched algorithms: client sha1; server sha256", ForgeErrorKind::Lasting, "SHA-256"),
        ] {
            let error = with_git(|git| explain(git, stderr));
            assert_eq!(error.kind, kind, "{stderr}: {error}");
            assert!(error.message.contains(words), "{stderr}: {error}");
        }
    }

    #[test]
    fn unknown_complaints_are_quoted_without_secret_path_and_control_characters() {
        let secret = "hint: x\nfatal: odd \u{1b}[31mthing in /var/mirrors/x.git with planted-secret and eDpwbGFudGVkLXNlY3JldA==";
        let error = with_git(|git| explain(git, secret));
        assert_eq!(error.message, "git failed: fatal: odd [31mthing in the mirror with … and …");
        let error = with_git(|git| explain(git, &format!("fatal: {}", "long ".repeat(1000))));
        assert!(error.message.len() < 500);
        assert_eq!(with_git(|git| explain(git, "")).message, "git failed: no reason given");
    }

    #[test]
    fn a_rejection_is_quoted_unless_it_will_pass() {
        let stderr =
            "remote: error: GH006: Protected branch update failed.\nremote: Ask an admin.\nerror: failed to push";
        let error = with_git(|git| rejected(git, "[remote rejected] (protected branch hook declined)", stderr));
        let words = "the repository's host rejects the push: protected branch hook declined; \
                     it says: error: GH006: Protected branch update failed. Ask an admin.";
        assert_eq!((error.kind, error.message.as_str()), (ForgeErrorKind::Lasting, words));
        let busy = "error: Unable to create '/x/refs/heads/y.lock': File exists.";
        assert_eq!(with_git(|git| rejected(git, "[remote rejected] (failed)", busy)).kind, ForgeErrorKind::Passing);
        let full = "remote: fatal: No space left on device";
        assert_eq!(
            with_git(|git| rejected(git, "[remote rejected] (unpacker error)", full)).kind,
            ForgeErrorKind::Passing
        );
    }
}
