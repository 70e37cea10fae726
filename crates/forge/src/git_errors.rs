use crate::git::Git;
use crate::{ForgeError, ForgeErrorKind};

/// The most of a host's own words that is passed on.
const MOST_QUOTED: usize = 400;

/// What git says where a remote has no such branch.
pub(crate) const NO_REFERENCE: &[&str] = &["couldn't find remote ref"];

const DAMAGED: &str = "the repository is damaged where it is kept; run `git fsck --no-dangling` there";

const NOT_THERE: &str = "there is no git repository at the address";
const NOT_SEEN: &str = "there is no git repository at the address, or the credential does not let it be seen";

/// What git complains about, if it is a known complaint: what to look for, whether it may pass, and what to say.
/// Sentences are about "the repository"; whoever reads them knows which one.
const KNOWN: &[(&[&str], ForgeErrorKind, &str)] = &[
    (&["no space left on device", "disk quota exceeded"], ForgeErrorKind::Passing, "the disk is full"),
    (
        &["dubious ownership"],
        ForgeErrorKind::Lasting,
        "the repository's folder belongs to another user than the one that Copydesk runs as",
    ),
    (
        &["mismatched algorithms", "unsupported object format", "unknown repository extension", "object format"],
        ForgeErrorKind::Lasting,
        "the repository uses SHA-256 object names or another extension that is not supported",
    ),
    (
        &["unrelated histories"],
        ForgeErrorKind::Lasting,
        "the base branch was rewritten and shares no history with the branch of the job; create a new job",
    ),
    (
        &["usage: git merge-tree", "unknown option `write-tree'"],
        ForgeErrorKind::Lasting,
        "the git program of this machine is older than 2.38 and cannot bring the branch up to date",
    ),
    (
        &["corruption on the remote side", "pack-objects died", "object file ./objects", "object file objects"],
        ForgeErrorKind::Passing,
        DAMAGED,
    ),
    (&["transport '"], ForgeErrorKind::Lasting, "the repository's address is not one that git may use"),
    (
        &[
            "could not resolve host",
            "could not resolve proxy",
            "name or service not known",
            "temporary failure in name resolution",
        ],
        ForgeErrorKind::Away,
        "the repository's host name cannot be resolved",
    ),
    (&["connection refused"], ForgeErrorKind::Away, "the repository's host refuses the connection"),
    (
        &["connection timed out", "operation timed out", "timeout was reached", "operation too slow"],
        ForgeErrorKind::Away,
        "the repository's host does not answer in time",
    ),
    (
        &["failed to connect", "couldn't connect", "could not connect"],
        ForgeErrorKind::Away,
        "the repository's host refuses the connection, or nothing listens there",
    ),
    (
        &["host key verification failed"],
        ForgeErrorKind::Lasting,
        "the SSH key of the repository's host is not the one in `known_hosts`, or none is known",
    ),
    (
        &["load key ", "invalid format", "error in libcrypto"],
        ForgeErrorKind::Lasting,
        "the SSH key of the project cannot be read; give it as OpenSSH writes it, without a passphrase",
    ),
    (
        &["ssl certificate", "certificate verification failed", "server certificate"],
        ForgeErrorKind::Lasting,
        "the TLS certificate of the repository's host is not trusted by this machine; name the certificate of its \
         authority with `--host-ca-file`",
    ),
    (&["returned error: 429"], ForgeErrorKind::Away, "the repository's host asks for fewer requests"),
    (&["returned error: 5"], ForgeErrorKind::Away, "the repository's host has an internal error"),
];

/// What the host may say of its own accord, besides git: it is asked for before what git makes of it.
const SAID: &[(&[&str], ForgeErrorKind, &str)] = &[
    (
        &["is archived", "been archived", "was archived"],
        ForgeErrorKind::Lasting,
        "the repository is archived; nothing can be pushed to it",
    ),
    (
        &[
            "read only",
            "read-only",
            "readonly",
            "not authorized",
            "not allowed",
            "unauthorized",
            "permission",
            "denied",
            "write access",
            "forbidden",
        ],
        ForgeErrorKind::Lasting,
        "the repository's host does not accept the credential for this",
    ),
];

/// What git makes of an answer that says no.
const REFUSED: &[(&[&str], ForgeErrorKind, &str)] = &[
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
        ForgeErrorKind::Lasting,
        "the repository's host does not accept the credential for this, or none is set",
    ),
    (
        &["redirect", "returned error: 30"],
        ForgeErrorKind::Lasting,
        "the repository's address redirects elsewhere; set it to the new address",
    ),
    (
        &[
            "does not appear to be a git repository",
            "not a git repository",
            "not found",
            "does not exist",
            "cannot find",
        ],
        ForgeErrorKind::Lasting,
        NOT_SEEN,
    ),
    (
        &[
            "hung up unexpectedly",
            "early eof",
            "connection reset",
            "connection closed",
            "closed by remote host",
            "rpc failed",
            "unexpected disconnect",
            "broken pipe",
            "network is unreachable",
            "no route to host",
        ],
        ForgeErrorKind::Away,
        "the connection to the repository's host broke",
    ),
];

/// Why there is no such branch: the repository may have none at all.
pub(crate) async fn no_branch(git: &Git<'_>, branch: &str) -> ForgeError {
    let arguments = ["ls-remote", "--quiet", "--heads", git.address.url.as_str()];
    match git.run(&arguments, None).await {
        Ok(output) if output.success && output.stdout.trim().is_empty() => {
            ForgeError::lasting(format!("the repository is empty; push a first commit to `{branch}`"))
        }
        _ => ForgeError::lasting(format!("the repository has no branch `{branch}`")),
    }
}

/// Turns what git printed into one sentence without a credential and without our own paths. The log has git's own words.
pub(crate) fn explain(git: &Git<'_>, stderr: &str) -> ForgeError {
    let error = meaning(git, stderr);
    let (repository, said) = (git.address.url.as_str(), quoted(git, stderr));
    tracing::warn!(repository, said, meaning = error.message, "git failed");
    error
}

fn meaning(git: &Git<'_>, stderr: &str) -> ForgeError {
    if let Some(line) = damage_there(stderr) {
        return ForgeError::lasting(format!("{DAMAGED}; it says: {}", quoted(git, line)));
    }
    let remarks = remarks_of(stderr);
    let (low, said) = (stderr.to_lowercase(), remarks.to_lowercase());
    if let Some((kind, sentence)) = find(KNOWN, &low) {
        return ForgeError { kind, message: with_git_s_words(git, kind, sentence, stderr) };
    }
    if let Some((kind, sentence)) = find(SAID, &said).or_else(|| find(REFUSED, &low)) {
        // Nothing is shown to a folder of this machine.
        let is_here = git.address.folder().is_some();
        let sentence = if is_here && sentence == NOT_SEEN { NOT_THERE } else { sentence };
        let message = match kind {
            ForgeErrorKind::Lasting => with_remarks(git, sentence, &remarks),
            _ => with_git_s_words(git, kind, sentence, stderr),
        };
        return ForgeError { kind, message };
    }
    if low.contains("could not read from remote repository") {
        return ForgeError::passing(with_remarks(git, "the repository's host does not serve git", &remarks));
    }
    let line = telling_line(stderr).or_else(|| stderr.lines().last()).unwrap_or("no reason given");
    ForgeError::passing(format!("git failed: {}", quoted(git, line)))
}

/// The line in which the other side says what it cannot read of its own repository. It will not get better by itself, unlike
/// a program there that was killed.
fn damage_there(stderr: &str) -> Option<&str> {
    const SIGNS: [&str; 6] =
        ["unable to read", "is corrupt", "bad object", "bad tree object", "missing blob", "missing tree"];
    let line = stderr.lines().filter_map(|line| Some(line.trim().strip_prefix("remote:")?.trim()));
    line.filter(|line| line.starts_with("fatal:") || line.starts_with("error:"))
        .find(|line| SIGNS.iter().any(|sign| line.contains(sign)))
}

/// The line in which git says what is the matter.
fn telling_line(stderr: &str) -> Option<&str> {
    stderr.lines().find(|line| ["fatal:", "error:", "ssh:"].iter().any(|start| line.starts_with(start)))
}

/// What may pass is not in the reader's hands, and git's own words help whoever has to look for it. What does not pass is said
/// in ours, which tell what to do.
fn with_git_s_words(git: &Git<'_>, kind: ForgeErrorKind, sentence: &str, stderr: &str) -> String {
    match telling_line(stderr).filter(|_| kind != ForgeErrorKind::Lasting) {
        Some(line) => format!("{sentence}; git says: {}", quoted(git, line)),
        None => sentence.to_owned(),
    }
}

fn find(known: &'static [(&[&str], ForgeErrorKind, &str)], low: &str) -> Option<(ForgeErrorKind, &'static str)> {
    let (_, kind, sentence) = known.iter().find(|(needles, ..)| needles.iter().any(|needle| low.contains(needle)))?;
    Some((*kind, sentence))
}

/// What the host says of its own accord. Git passes it on after `remote:`, and ssh as it comes: Gitea's lines begin with
/// `error:` then. All else that begins so is git's, as are some lines that are known by heart.
fn remarks_of(stderr: &str) -> String {
    const OWN: &[&str] =
        &["fatal:", "error:", "hint:", "warning:", "Warning:", "ssh:", "To ", "Please make sure you have"];
    let (before, over_ssh) = match stderr.split_once("fatal: Could not read from remote repository") {
        Some((before, _)) => (before, true),
        None => (stderr, false),
    };
    let remark = |line: &'_ str| -> Option<String> {
        let line = line.trim();
        let said = match line.strip_prefix("remote:") {
            Some(said) => said.trim_start().trim_start_matches("error:"),
            None if over_ssh => line.trim_start_matches("error:").trim_start_matches("ERROR:"),
            None => line,
        };
        let is_own = said == line && OWN.iter().any(|own| line.starts_with(own));
        Some(said.trim().to_owned()).filter(|said| !is_own && !said.is_empty())
    };
    before.lines().filter_map(remark).collect::<Vec<_>>().join(" ")
}

fn with_remarks(git: &Git<'_>, sentence: &str, remarks: &str) -> String {
    match quoted(git, remarks) {
        remarks if remarks.is_empty() => sentence.to_owned(),
        remarks => format!("{sentence}; it says: {remarks}"),
    }
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
    let message = with_remarks(git, &sentence, &remarks.join(" "));
    // A host that is being stopped refuses in its hook what it cannot ask itself any more. A broken one does so for
    // good, which is why it is tried again only so often.
    let is_broken = INSIDE.iter().any(|words| low.contains(words));
    if is_broken { ForgeError::passing(message) } else { ForgeError::lasting(message) }
}

/// What a host says in its hook when it is its own inside that fails, and not the push.
const INSIDE: &[&str] = &[
    "internal server connection error",
    "internal server error",
    "internal error",
    "internal api",
    "connection refused",
    "connection reset",
    "bad gateway",
    "service unavailable",
    "gateway timeout",
    "context canceled",
    "context deadline exceeded",
    "timed out",
    "try again later",
    "unable to contact",
];

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
                ForgeErrorKind::Away,
                "cannot be resolved",
            ),
            (
                "fatal: unable to access: Failed to connect to x port 443: Connection refused",
                ForgeErrorKind::Away,
                "refuses",
            ),
            ("ssh: connect to host x port 22: Connection timed out", ForgeErrorKind::Away, "in time"),
            ("error: RPC failed; curl 28 Operation too slow.", ForgeErrorKind::Away, "in time"),
            ("fatal: the remote end hung up unexpectedly", ForgeErrorKind::Away, "broke"),
            (
                "Connection closed by 127.0.0.1 port 22\nfatal: Could not read from remote repository.",
                ForgeErrorKind::Away,
                "broke",
            ),
            ("fatal: unable to access: The requested URL returned error: 502", ForgeErrorKind::Away, "internal error"),
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
    fn the_host_s_own_reason_is_told_and_a_read_only_key_fails_at_once() {
        let rights = "\n\nPlease make sure you have the correct access rights\nand the repository exists.\n";
        let no = "fatal: Could not read from remote repository.";
        for (said, words) in [
            (
                format!("error:\nerror: Deploy Key: 1:ro is not authorized to write to a/b.\nerror:\n{no}{rights}"),
                "does not accept the credential for this; it says: Deploy Key: 1:ro is not authorized to write to a/b.",
            ),
            (
                format!("ERROR: The key you are authenticating with has been marked as read only.\n{no}{rights}"),
                "it says: The key you are authenticating with has been marked as read only.",
            ),
            (
                format!("remote: \nremote: ERROR: This deploy key does not have write access.\nremote: \n{no}{rights}"),
                "it says: ERROR: This deploy key does not have write access.",
            ),
            (format!("error:\nerror: Repo: a/b is archived.\nerror:\n{no}{rights}"), "the repository is archived"),
            (format!("error:\nerror: Cannot find repository: a/b\nerror:\n{no}{rights}"), "there is no git repository"),
            (
                "remote: This repo is archived. You can view files and clone it, but cannot push.\n\
                 fatal: unable to access 'http://x/': The requested URL returned error: 403"
                    .to_owned(),
                "the repository is archived; nothing can be pushed to it; it says: This repo is archived.",
            ),
        ] {
            let error = with_git(|git| explain(git, &said));
            assert_eq!(error.kind, ForgeErrorKind::Lasting, "{said}: {error}");
            assert!(error.message.contains(words), "{said}: {error}");
        }
        let odd = with_git(|git| explain(git, &format!("error: A strange day.\n{no}{rights}")));
        assert_eq!(odd.kind, ForgeErrorKind::Passing);
        assert!(odd.message.ends_with("it says: A strange day."), "{odd}");
        let named = "fatal: unable to access 'https://x/is archived/permission': Empty reply from server";
        assert_eq!(with_git(|git| explain(git, named)).kind, ForgeErrorKind::Passing, "an address is no reason");
    }

    #[test]
    fn git_s_own_words_follow_what_may_pass_without_a_secret() {
        for (stderr, words) in [
            (
                "fatal: unable to access 'http://x/': Failed to connect to x port 1 after 0 ms: Couldn't connect to server",
                "the repository's host refuses the connection, or nothing listens there; git says: fatal: unable to access \
                 'http://x/': Failed to connect to x port 1 after 0 ms: Couldn't connect to server",
            ),
            (
                "fatal: unable to access 'http://planted-secret@x/': Could not resolve host: x",
                "the repository's host name cannot be resolved; git says: fatal: unable to access 'http://…@x/': Could not \
                 resolve host: x",
            ),
            (
                "remote: aborting due to possible repository corruption on the remote side.\nerror: git upload-pack: \
                 git-pack-objects died with error.",
                "the repository is damaged where it is kept; run `git fsck --no-dangling` there; git says: error: git \
                 upload-pack: git-pack-objects died with error.",
            ),
        ] {
            assert_eq!(with_git(|git| explain(git, stderr)).message, words);
        }
    }

    #[test]
    fn a_repository_that_lacks_something_for_good_is_not_waited_for() {
        for damage in ["loose object 76 (stored in ./objects/76) is corrupt", "unable to read c091a132167d"] {
            let stderr = format!(
                "remote: fatal: {damage}\nremote: aborting\nerror: git upload-pack: git-pack-objects died with error."
            );
            let error = with_git(|git| explain(git, &stderr));
            assert_eq!(error.kind, ForgeErrorKind::Lasting, "{error}");
            assert!(error.message.ends_with(&format!("it says: fatal: {damage}")), "{error}");
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
        let stopped = "remote: error: Internal Server Connection Error        \nremote: error:";
        let error = with_git(|git| rejected(git, "[remote rejected] (pre-receive hook declined)", stopped));
        assert_eq!(error.kind, ForgeErrorKind::Passing, "a host that is being stopped is tried again: {error}");
        assert!(error.message.contains("Internal Server Connection Error"), "{error}");
        let full = "remote: fatal: No space left on device";
        assert_eq!(
            with_git(|git| rejected(git, "[remote rejected] (unpacker error)", full)).kind,
            ForgeErrorKind::Passing
        );
    }
}
