//! Credentials that jobs on code hosts have worked with, successfully and in vain, are nowhere to be found afterwards.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use copydesk_domain::HostKind;
use copydesk_testkit::GitRepo;
use copydesk_testkit::hosts::{FakeHost, Fault, Holder, Rights, Sshd};

use crate::credentials::set;
use crate::support::{Desk, Ran, Serving, get};

const REPOSITORY: &str = "acme/docs";
/// How the tokens begin that an App signs with its key.
const SIGNED: [&str; 2] = ["eyJhbGciOiJSUzI1NiI", "eyJ0eXAiOiJKV1Qi"];

/// What must not be found, in every form that it may have.
#[derive(Default)]
struct Needles(BTreeSet<String>);

impl Needles {
    /// As it is, and as base64 has it wherever it begins: so it is in the header that git shows.
    fn add(&mut self, secret: &str) {
        self.0.insert(secret.to_owned());
        for before in 0..3 {
            let text = STANDARD.encode([&b"xx"[..before], secret.as_bytes()].concat());
            // The first and the last few characters depend on what stands around it.
            let (from, to) = ((before * 8).div_ceil(6), (before + secret.len()) * 8 / 6);
            self.0.insert(text[from..to].to_owned());
        }
    }

    /// Every line of a key that is long enough to mean something.
    fn add_key(&mut self, key: &str) {
        key.lines().filter(|line| line.len() > 20 && !line.starts_with("-----")).for_each(|line| self.add(line));
    }

    /// Which of them is in `text`.
    fn find(&self, text: &[u8]) -> Option<&str> {
        let is_there = |needle: &&String| text.windows(needle.len()).any(|part| part == needle.as_bytes());
        self.0.iter().find(is_there).map(String::as_str)
    }

    fn assert_none(&self, place: &str, text: impl AsRef<[u8]>) {
        let text = text.as_ref();
        let found = self.find(text);
        assert!(found.is_none(), "{place} holds {found:?}: {}", String::from_utf8_lossy(text));
    }
}

#[test]
fn the_search_finds_a_secret_in_each_of_its_forms() {
    let mut needles = Needles::default();
    needles.add("planted-token-Zq7");
    needles.add_key("-----BEGIN KEY-----\nMIIEowIBAAKCAQEA0000\nshort\n-----END KEY-----\n");
    for user in ["", "x", "oauth2", "x-access-token", "x-token-auth", "me@acme.example"] {
        let header = STANDARD.encode(format!("{user}:planted-token-Zq7"));
        assert!(needles.find(format!("Authorization: Basic {header}").as_bytes()).is_some(), "{header}");
    }
    assert!(needles.find(b"git push https://me:planted-token-Zq7@example.com").is_some());
    assert!(needles.find(b"\0MIIEowIBAAKCAQEA0000\n").is_none(), "a line of 20 is too short to be told apart");
    needles.add_key("MIIEowIBAAKCAQEA00001111\n");
    assert!(needles.find(b"\0MIIEowIBAAKCAQEA00001111\n").is_some());
    assert_eq!(needles.find(b"planted-token-Zq"), None);
}

/// Looks at what all processes of the machine were started with, again and again.
struct Watch {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<BTreeSet<String>>,
}

impl Watch {
    fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut seen = BTreeSet::new();
            while !stopped.load(Ordering::SeqCst) {
                seen.extend(command_lines());
                std::thread::sleep(Duration::from_millis(1));
            }
            seen
        });
        Self { stop, thread }
    }

    fn end(self) -> BTreeSet<String> {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.join().unwrap()
    }
}

fn command_lines() -> impl Iterator<Item = String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    // A process may be gone by the time that it is looked at.
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
}

/// A server, and all that was said by it and by the program.
struct Trial {
    desk: Desk,
    server: Serving,
    needles: Needles,
    said: Vec<(String, String)>,
}

impl Trial {
    fn note(&mut self, place: &str, ran: Ran) -> i32 {
        self.said.push((place.to_owned(), format!("{}{}", ran.out, ran.err)));
        ran.code
    }

    /// A project, with a key to its interface.
    fn project(&mut self, id: &str, flags: &[&str]) -> String {
        let create = [&["project", "create", "--name", id, "--id", id], flags].concat();
        self.desk.run(&create).ok();
        let key = self.desk.run(&["key", "create", "--project", id, "--json"]).json();
        key["key"].as_str().unwrap().to_owned()
    }

    /// Creates a job, waits for its end, and reads all that there is to read about it. Gives its status.
    fn job(&mut self, project: &str, key: &str, what: &str) -> String {
        let environment =
            [("COPYDESK_URL", self.server.url.as_str()), ("COPYDESK_PROJECT", project), ("COPYDESK_API_KEY", key)];
        let prompt = format!("Replace \"One\" with \"Two {what}\" in docs/.");
        let created = self.desk.run_with(&["job", "create", &prompt, "--json"], &environment).json();
        let id = created["id"].as_str().unwrap().to_owned();
        let waited = self.desk.run_with(&["job", "get", &id, "--wait", "--json"], &environment);
        let job: serde_json::Value = serde_json::from_str(&waited.out).unwrap();
        self.note(&format!("{project}, {what}: the program"), waited);
        for rest in [format!("job/{id}"), format!("job/{id}/events"), format!("job/{id}/diff"), "jobs".to_owned()] {
            let path = format!("/v2/agent/{project}/{rest}");
            // Those of a job that has ended come to an end.
            let (_, answer) = get(&self.server.url, &path, key);
            self.said.push((format!("{project}, {what}: {path}"), answer));
        }
        job["status"].as_str().unwrap().to_owned()
    }

    fn test(&mut self, project: &str, what: &str) -> i32 {
        let debug = [("COPYDESK_LOG", "trace")];
        let code = self.note(what, self.desk.run_with(&["project", "test", project], &debug));
        self.note(what, self.desk.run_with(&["project", "test", project, "--json"], &debug));
        code
    }

    /// Jobs that go well, and that go wrong in all of these ways.
    fn play(&mut self, project: &str, key: &str, host: &FakeHost) {
        assert_eq!(self.test(project, "a test that passes"), 0, "{:?}", self.said.last());
        assert_eq!(self.job(project, key, "well"), "completed", "{:?}", self.said);
        host.fail(1, "POST", host.api_url().trim_start_matches(host.url()), Fault::Echo(403));
        assert_eq!(self.job(project, key, "not opened"), "failed", "{:?}", self.said);
        host.fail(2, "*", "git-receive-pack", Fault::Echo(403));
        assert_eq!(self.job(project, key, "not pushed"), "failed", "{:?}", self.said);
        host.tokens().iter().for_each(|token| self.needles.add(token));
        host.tokens().iter().for_each(|token| host.revoke(token));
        host.revoke_installation_tokens();
    }

    /// When nothing works any more, and the host repeats what it was shown.
    fn play_on(&mut self, project: &str, key: &str, host: &FakeHost) {
        assert_eq!(self.job(project, key, "revoked"), "failed", "{:?}", self.said);
        assert_eq!(self.test(project, "a test that fails"), 1);
        host.fail(10_000, "*", "", Fault::Echo(403));
        assert_eq!(self.job(project, key, "echo"), "failed", "{:?}", self.said);
        assert_eq!(self.test(project, "a test with an echo"), 1);
    }
}

/// A host of this kind with a repository that only holders of a credential see.
async fn host(kind: HostKind) -> (FakeHost, Arc<GitRepo>) {
    let host = FakeHost::start(kind).await;
    let git = host.add(REPOSITORY, GitRepo::new([("docs/a.md", "# A\n\nOne.\n")]));
    host.make_private(REPOSITORY);
    (host, git)
}

/// What is in the files below a folder, and, unpacked, in the repositories among them.
fn contents(folder: &Path, all: &mut Vec<(PathBuf, Vec<u8>)>) {
    if folder.join("HEAD").is_file() {
        all.push((folder.to_owned(), objects(folder)));
    }
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => contents(&entry.path(), all),
            kind if kind.is_file() => all.push((entry.path(), std::fs::read(entry.path()).unwrap())),
            _ => {}
        }
    }
}

fn objects(repository: &Path) -> Vec<u8> {
    let mut git = Command::new("git");
    git.arg("-C").arg(repository).args(["cat-file", "--batch", "--batch-all-objects"]);
    let output = git.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[tokio::test(flavor = "multi_thread")]
async fn what_jobs_show_to_code_hosts_is_found_nowhere() {
    let desk = Desk::new();
    let server = desk.serve(&[("COPYDESK_LOG", "trace")]);
    let mut trial = Trial { desk, server, needles: Needles::default(), said: Vec::new() };
    let watch = Watch::start();
    let mut hosts = Vec::new();
    for kind in [HostKind::Github, HostKind::Gitlab, HostKind::Forgejo, HostKind::Bitbucket] {
        let (host, git) = host(kind).await;
        let (address, api) = (host.address(REPOSITORY), host.api_url());
        let id = kind.as_str();
        let key = trial.project(id, &["--repository", &address, "--host", id, "--host-api-url", &api]);
        let token = match kind {
            HostKind::Bitbucket => host.token_of(Holder::Repository, Rights::ALL),
            _ => host.token(Rights::ALL),
        };
        set(&trial.desk, id, &[], &token).ok();
        trial.play(id, &key, &host);
        trial.play_on(id, &key, &host);
        hosts.push((host, git));
    }
    hosts.push(play_app(&mut trial).await);
    play_ssh(&mut trial);

    let Trial { desk, server, needles, mut said } = trial;
    let (_, log) = server.terminate();
    assert!(log.iter().any(|line| line.contains("job")), "the log tells of jobs");
    said.push(("the log".to_owned(), log.join("\n")));
    let lines = watch.end();
    assert!(lines.iter().any(|line| line.contains("git") && line.contains(" push ")), "no push was seen: {lines:?}");
    said.extend(lines.into_iter().map(|line| ("a command line".to_owned(), line)));
    for (host, git) in &hosts {
        said.extend(host.seen().into_iter().map(|seen| ("an address".to_owned(), seen.path)));
        let pulls = host.pulls(REPOSITORY);
        assert!(!pulls.is_empty());
        said.extend(pulls.into_iter().map(|pull| ("a pull request".to_owned(), format!("{pull:?}"))));
        needles.assert_none("what was pushed", objects(git.path()));
        host.take_violations();
    }
    for (place, text) in &said {
        needles.assert_none(place, text);
        let signed = SIGNED.iter().find(|start| text.contains(*start));
        assert!(signed.is_none(), "{place} holds a signed token: {text}");
    }
    let mut kept = Vec::new();
    contents(desk.path(), &mut kept);
    assert!(kept.iter().any(|(path, _)| path.ends_with("copydesk.db")), "the database is there");
    for (path, content) in &kept {
        let found = needles.find(content);
        assert!(found.is_none(), "{} holds {found:?}", path.display());
    }
}

/// The same with a GitHub App, whose key makes tokens that live for an hour.
async fn play_app(trial: &mut Trial) -> (FakeHost, Arc<GitRepo>) {
    let (host, git) = host(HostKind::Github).await;
    let app = host.app(&[REPOSITORY], Rights::ALL);
    let (address, api) = (host.address(REPOSITORY), host.api_url());
    let key = trial.project("app", &["--repository", &address, "--host", "github", "--host-api-url", &api]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app.pem");
    std::fs::write(&file, &app.private_key).unwrap();
    let (file, id) = (file.to_str().unwrap(), app.id.to_string());
    set(&trial.desk, "app", &["--github-app", &id, "--private-key-file", file], "").ok();
    trial.needles.add_key(&app.private_key);
    trial.play("app", &key, &host);
    host.suspend(&app);
    trial.play_on("app", &key, &host);
    (host, git)
}

/// The same with an SSH key, if there is a server to show it to.
fn play_ssh(trial: &mut Trial) {
    let git = GitRepo::new([("docs/a.md", "# A\n\nOne.\n")]);
    let Some(sshd) = Sshd::start(&git) else { return };
    let key = trial.project("ssh", &["--repository", sshd.address(), "--host", "git"]);
    let folder = tempfile::tempdir().unwrap();
    let (file, known) = (folder.path().join("key"), folder.path().join("known"));
    std::fs::write(&file, sshd.private_key()).unwrap();
    std::fs::write(&known, sshd.known_hosts()).unwrap();
    let flags = ["--ssh-key-file", file.to_str().unwrap(), "--known-hosts-file", known.to_str().unwrap()];
    set(&trial.desk, "ssh", &flags, "").ok();
    trial.needles.add_key(sshd.private_key());
    trial.job("ssh", &key, "over SSH");
    trial.test("ssh", "a test over SSH");
    drop(sshd);
    trial.test("ssh", "a test without a server");
}
