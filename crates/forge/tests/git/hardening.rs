use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use copydesk_forge::{CommitId, Credential, ForgeErrorKind, Mirror, Remote};

use crate::push::make_executable;
use crate::sandbox::{NOW, Sandbox, put};

const SECRET: &str = "hunter2-planted-secret";

#[tokio::test]
async fn no_hook_of_the_mirror_runs() {
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    let mirror = sandbox.mirror().await;
    let hooks = sandbox.mirror_folder().join("hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for name in ["reference-transaction", "pre-push", "post-update"] {
        std::fs::write(hooks.join(name), format!("#!/bin/sh\ntouch '{}'\n", sandbox.path("ran").display())).unwrap();
        make_executable(&hooks.join(name));
    }
    let base = mirror.fetch("main").await.unwrap();
    let commit = mirror.commit(&base, &[put("a.md", "2\n")], "Two", NOW).unwrap();
    mirror.push(&commit, "x", None).await.unwrap();
    assert!(!sandbox.path("ran").exists());
}

/// A mirror whose pushes hang in a hook of the remote, which tells its process id.
async fn hanging(sandbox: &Sandbox) -> (Mirror, CommitId) {
    let hook = sandbox.path("remote.git/hooks/pre-receive");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let script =
        format!("#!/bin/sh\necho $$ > '{0}.new'\nmv '{0}.new' '{0}'\nsleep 600\n", sandbox.path("pid").display());
    std::fs::write(&hook, script).unwrap();
    make_executable(&hook);
    let mirror = sandbox.mirror().await;
    let base = mirror.fetch("main").await.unwrap();
    let commit = mirror.commit(&base, &[put("a.md", "2\n")], "Two", NOW).unwrap();
    (mirror, commit)
}

/// Waits until the hook is no more: gone, or dead and not yet buried.
fn assert_dies(sandbox: &Sandbox) {
    let id = std::fs::read_to_string(sandbox.path("pid")).unwrap();
    let command_line = Path::new("/proc").join(id.trim()).join("cmdline");
    let until = Instant::now() + Duration::from_secs(60);
    while std::fs::read(&command_line).is_ok_and(|text| !text.is_empty()) {
        assert!(Instant::now() < until, "the hook lives on");
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn a_git_that_takes_too_long_is_killed_with_all_it_started() {
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    let (_, commit) = hanging(&sandbox).await;
    // A busy machine may need longer to get as far as the hook.
    for seconds in [1, 4, 16, 64] {
        let mirror = sandbox.mirror_within(Duration::from_secs(seconds)).await;
        let error = mirror.push(&commit, "x", None).await.unwrap_err();
        assert_eq!(error.kind, ForgeErrorKind::Passing);
        assert!(error.message.contains("has not finished within"), "{error}");
        if sandbox.path("pid").exists() {
            break;
        }
    }
    assert_dies(&sandbox);
}

#[tokio::test]
async fn a_git_that_nobody_waits_for_is_killed() {
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    let (mirror, commit) = hanging(&sandbox).await;
    let appeared = async {
        while !sandbox.path("pid").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        _ = mirror.push(&commit, "x", None) => panic!("the hook hangs"),
        () = appeared => {}
    }
    assert_dies(&sandbox);
}

/// Runs a test of this file in a process of its own, with more in its environment.
fn in_child(name: &str, environment: &[(&str, &str)]) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("hardening::{name}"), "--nocapture"]).env("COPYDESK_TEST_CHILD", "1");
    let output = command.envs(environment.iter().copied()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

fn is_child() -> bool {
    std::env::var_os("COPYDESK_TEST_CHILD").is_some()
}

#[tokio::test]
async fn settings_and_environment_of_others_have_no_say() {
    if !is_child() {
        let home = tempfile::TempDir::new().unwrap();
        let config = "[url \"file:///nowhere/\"]\n\tinsteadOf = file:///\n[core]\n\thooksPath = /nowhere\n[bad\n";
        std::fs::write(home.path().join(".gitconfig"), config).unwrap();
        let trace = home.path().join("trace");
        in_child(
            "settings_and_environment_of_others_have_no_say",
            &[
                ("HOME", home.path().to_str().unwrap()),
                ("GIT_CONFIG_GLOBAL", home.path().join(".gitconfig").to_str().unwrap()),
                ("GIT_DIR", "/nowhere"),
                ("GIT_OBJECT_DIRECTORY", "/nowhere"),
                ("GIT_TRACE", trace.to_str().unwrap()),
                ("GIT_CONFIG_COUNT", "1"),
                ("GIT_CONFIG_KEY_0", "url.file:///nowhere/.insteadOf"),
                ("GIT_CONFIG_VALUE_0", "file:///"),
            ],
        );
        assert!(!trace.exists());
        return;
    }
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    let mirror = sandbox.mirror().await;
    let base = mirror.fetch("main").await.unwrap();
    let commit = mirror.commit(&base, &[put("a.md", "2\n")], "Two", NOW).unwrap();
    mirror.push(&commit, "x", None).await.unwrap();
}

/// Answers every request with `answer` and gives what was asked, for as long as it is asked.
fn web_server(answer: &'static str) -> (String, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/acme/docs.git", listener.local_addr().unwrap());
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = vec![0; 8192];
            let length = stream.read(&mut request).unwrap_or(0);
            let head = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            _ = stream.write_all(head.as_bytes());
            if sender.send(String::from_utf8_lossy(&request[..length]).into_owned()).is_err() {
                return;
            }
        }
    });
    (address, receiver)
}

async fn fetch_from(address: &str) -> copydesk_forge::ForgeError {
    let sandbox = Sandbox::empty();
    let credential = Some(Credential::new("x-access-token", SECRET));
    assert!(!format!("{credential:?}").contains(SECRET));
    let remote = Remote { credential, ..Remote::at(address) };
    let error = sandbox.forge().mirror(&remote).await.unwrap().fetch("main").await.unwrap_err();
    assert!(!error.message.contains(SECRET), "{error}");
    assert!(!error.message.contains(sandbox.path("").to_str().unwrap()), "{error}");
    error
}

#[tokio::test]
async fn what_a_web_server_answers_becomes_a_sentence() {
    for (answer, trouble, words) in [
        (
            "401 Unauthorized\r\nWWW-Authenticate: Basic realm=x",
            ForgeErrorKind::Lasting,
            "does not accept the credential",
        ),
        ("403 Forbidden", ForgeErrorKind::Lasting, "does not accept the credential"),
        ("404 Not Found", ForgeErrorKind::Lasting, "there is no git repository"),
        ("429 Too Many Requests", ForgeErrorKind::Away, "fewer requests"),
        ("503 Service Unavailable", ForgeErrorKind::Away, "internal error"),
        ("302 Found\r\nLocation: http://127.0.0.1:1/elsewhere.git", ForgeErrorKind::Lasting, "redirects elsewhere"),
    ] {
        let (address, requests) = web_server(answer);
        let error = fetch_from(&address).await;
        assert_eq!(error.kind, trouble, "{answer}: {error}");
        assert!(error.message.contains(words), "{answer}: {error}");
        let asked = requests.recv().unwrap();
        // `x-access-token:` and the secret.
        assert!(asked.contains("Authorization: Basic eC1hY2Nlc3MtdG9rZW46aHVudGVyMi1wbGFudGVkLXNlY3JldA=="), "{asked}");
    }
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = fetch_from(&format!("http://{closed}/x.git")).await;
    assert_eq!(error.kind, ForgeErrorKind::Away, "{error}");
}

#[tokio::test]
async fn the_credential_is_in_no_argument() {
    if !is_child() {
        // Our own `git` in front of the real one, which writes down how it was called.
        let folder = tempfile::TempDir::new().unwrap();
        let log = folder.path().join("log");
        let path = std::env::var("PATH").unwrap();
        let script = format!(
            "#!/bin/sh\nprintf '%s\\n' \"$@\" >> '{}'\nenv | grep -c '^GIT_CONFIG_VALUE_0=Authorization' >> '{}'\nPATH='{path}' exec git \"$@\"\n",
            log.display(),
            folder.path().join("environment").display(),
        );
        std::fs::write(folder.path().join("git"), script).unwrap();
        make_executable(&folder.path().join("git"));
        let path = format!("{}:{path}", folder.path().display());
        in_child("the_credential_is_in_no_argument", &[("PATH", &path)]);
        let arguments = std::fs::read_to_string(log).unwrap();
        assert!(arguments.contains("fetch"), "{arguments}");
        assert!(!arguments.contains(SECRET) && !arguments.contains("aHVudGVyMi1"), "{arguments}");
        let counts = std::fs::read_to_string(folder.path().join("environment")).unwrap();
        assert_eq!(counts.lines().last(), Some("1"), "the last git has it in its environment");
        return;
    }
    let (address, _requests) = web_server("404 Not Found");
    fetch_from(&address).await;
}

#[tokio::test]
async fn only_the_protocol_of_the_address_is_spoken() {
    // The remote says that its objects are to be had from somewhere else, by a command.
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    let marker = sandbox.path("ran");
    let command = format!("ext::sh -c \"touch% {}\"", marker.display());
    sandbox.remote(&["config", "remote.origin.url", &command]);
    sandbox.remote(&["config", "remote.origin.promisor", "true"]);
    sandbox.remote(&["config", "extensions.partialClone", "origin"]);
    sandbox.remote(&["config", "core.repositoryFormatVersion", "1"]);
    let blob = sandbox.remote(&["rev-parse", "main:a.md"]).trim().to_owned();
    let (start, rest) = blob.split_at(2);
    std::fs::remove_file(sandbox.path("remote.git/objects").join(start).join(rest)).unwrap();
    assert!(sandbox.mirror().await.fetch("main").await.is_err());
    assert!(!marker.exists());
}
