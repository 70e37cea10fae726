//! Backups that are checked, brought back elsewhere, and hold still there.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use copydesk_domain::HostKind;
use copydesk_testkit::hosts::{FakeHost, Rights};
use copydesk_testkit::{Backend, GitRepo};
use serde_json::{Value, json};

use crate::credentials::{KEY_FILE, TOKEN, desk_with, set};
use crate::support::{Desk, Ran, Serving, body_of, get, mcp_call, post};

const HERE: (&str, &str) = ("COPYDESK_WEBHOOKS__ALLOW_PRIVATE", "127.0.0.1");
pub const NO_WORKERS: (&str, &str) = ("COPYDESK_RUNNER__WORKERS", "0");
const REPOSITORY: &str = "acme/docs";
/// Every loop of a server looks at what is due at least once a second, and at pages after two.
const LONG_ENOUGH: Duration = Duration::from_secs(5);

fn backup(desk: &Desk) -> PathBuf {
    desk.run(&["backup", "copy", "--verify"]).ok();
    desk.path().join("copy")
}

fn restore(desk: &Desk, backup: &Path) -> Ran {
    desk.run(&["restore", backup.to_str().unwrap()])
}

fn only_verify(desk: &Desk, backup: &Path) -> Ran {
    desk.run(&["backup", backup.to_str().unwrap(), "--only-verify"])
}

/// A desk with a project, a job and some page views, stopped.
async fn busy_desk(backend: Backend) -> (Desk, String, String) {
    let desk = Desk::on(backend).await;
    let (project, key) = desk.project_and_key("Docs");
    let server = desk.serve(&[NO_WORKERS]);
    for page in 0..20 {
        let event = json!({ "path": format!("/{page}"), "userAgent": "curl/8 Mozilla/5.0 Firefox/140.0" });
        assert_eq!(post(&server.url, &format!("/v1/analytics/{project}/events"), &key, &event).0, 200);
    }
    // Whatever PostgreSQL's text does not take must come across as well.
    let job = json!({ "prompt": "Fix it\u{0} – ünïcode ✓", "model": "noop" });
    assert_eq!(post(&server.url, &format!("/v2/agent/{project}/job"), &key, &job).0, 201);
    server.terminate();
    (desk, project, key)
}

fn jobs(server: &Serving, project: &str, key: &str) -> Vec<Value> {
    let (status, answer) = get(&server.url, &format!("/v2/agent/{project}/jobs"), key);
    assert_eq!(status, 200, "{answer}");
    body_of(&answer)["jobs"].as_array().unwrap().clone()
}

async fn every_way(from: Backend, to: Backend) {
    let (desk, project, key) = busy_desk(from).await;
    let said = desk.run(&["backup", "copy", "--verify", "--json"]).json();
    let rows = &said["backup"]["rows"];
    assert_eq!((&rows["projects"], &rows["jobs"], &rows["messages"]), (&json!(1), &json!(1), &json!(1)));
    let copy = desk.path().join("copy");
    assert!(only_verify(&desk, &copy).ok().out.contains("is whole"));

    let other = Desk::on(to).await;
    let restored = restore(&other, &copy).ok();
    assert!(restored.out.contains("1 project, 1 job, ") && restored.out.contains("copydesk wake"), "{}", restored.out);
    let server = other.serve(&[]);
    let before = desk.serve(&[NO_WORKERS]);
    let mut here = jobs(&server, &project, &key);
    let why = here[0]["message"].take();
    assert!(why.as_str().unwrap().contains("dormant"), "a job that nobody works on says so: {why}");
    assert_eq!(here, jobs(&before, &project, &key), "the key opens the same jobs");
    let views = |server: &Serving| body_of(&get(&server.url, &format!("/v1/analytics/{project}/views"), &key).1);
    assert_eq!(views(&server), views(&before));
    before.terminate();
    server.terminate();
    // A second backup of what was restored has the same in it, but for what the restore says of itself.
    let again = other.run(&["backup", "again", "--json"]).json();
    let without = |rows: &Value| {
        let mut rows = rows.as_object().unwrap().clone();
        rows.retain(|table, _| !["deeds", "dormancy", "health", "invitations"].contains(&table.as_str()));
        rows
    };
    assert_eq!(without(&again["backup"]["rows"]), without(rows));
    assert_eq!(again["backup"]["views"], said["backup"]["views"]);
    other.run(&["wake"]).ok();
    assert!(other.run(&["wake"]).ok().out.contains("not dormant"));
    let server = other.serve(&[]);
    let done = eventually(|| jobs(&server, &project, &key)[0]["status"] == "completed");
    assert!(done, "the job that waited runs: {:?}", jobs(&server, &project, &key));
}

pub fn eventually(mut is_so: impl FnMut() -> bool) -> bool {
    let give_up = Instant::now() + Duration::from_secs(30);
    while Instant::now() < give_up {
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

#[tokio::test]
async fn from_sqlite_to_sqlite() {
    every_way(Backend::Sqlite, Backend::Sqlite).await;
}

#[tokio::test]
async fn from_sqlite_to_postgres() {
    every_way(Backend::Sqlite, Backend::Postgres).await;
}

#[tokio::test]
async fn from_postgres_to_sqlite() {
    every_way(Backend::Postgres, Backend::Sqlite).await;
}

#[tokio::test]
async fn from_postgres_to_postgres() {
    every_way(Backend::Postgres, Backend::Postgres).await;
}

/// Counts who calls, and answers 200.
fn receiver() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut stream = stream.unwrap();
            // The whole of it is small enough to come at once.
            let _ = stream.read(&mut [0; 64 * 1024]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
    });
    (url, count)
}

async fn holds_still(backend: Backend) {
    let host = FakeHost::start(HostKind::Github).await;
    host.add(REPOSITORY, GitRepo::new([("docs/a.md", "# A\n\nOne.\n")]));
    let token = host.token(Rights::ALL);
    let (hook, told) = receiver();
    let desk = Desk::on(backend).await;
    let (address, api) = (host.address(REPOSITORY), host.api_url());
    let place = ["--repository", &address, "--host", "github", "--host-api-url", &api, "--base-ref", "main"];
    desk.run(&[&["project", "create", "--name", "docs", "--id", "docs"], &place[..]].concat()).ok();
    set(&desk, "docs", &[], &token).ok();
    desk.run_with(&["webhook", "add", "docs", &hook], &[HERE]).ok();
    let key = desk.run(&["key", "create", "--project", "docs", "--json"]).json()["key"].as_str().unwrap().to_owned();
    let prompt =
        |word: &str| json!({ "prompt": format!("Replace \"One\" with \"{word}\" in docs/."), "model": "builtin" });
    let create = |server: &Serving, body: &Value| {
        let (status, job) = post(&server.url, "/v2/agent/docs/job", &key, body);
        assert_eq!(status, 201, "{job}");
        job["id"].as_str().unwrap().to_owned()
    };
    let job = |server: &Serving, id: &str| body_of(&get(&server.url, &format!("/v2/agent/docs/job/{id}"), &key).1);

    // One job with a pull request, one with a change to look at, one that waits.
    let server = desk.serve(&[HERE]);
    let opened = create(&server, &prompt("Two"));
    assert!(eventually(|| job(&server, &opened)["prLink"].is_string()), "{}", job(&server, &opened));
    let mut shelved = prompt("Three");
    shelved["openPullRequest"] = json!(false);
    let shelved = create(&server, &shelved);
    assert!(eventually(|| job(&server, &shelved)["outcome"] == "changes_ready"), "{}", job(&server, &shelved));
    assert!(eventually(|| told.load(Ordering::SeqCst) >= 4), "created and completed, twice");
    server.terminate();
    let server = desk.serve(&[NO_WORKERS, HERE]);
    let waiting = create(&server, &prompt("Four"));
    assert!(eventually(|| told.load(Ordering::SeqCst) >= 5), "created");
    server.terminate();
    let copy = backup(&desk);

    let other = Desk::on(backend).await;
    restore(&other, &copy).ok();
    let (asked, heard) = (host.seen().len(), told.load(Ordering::SeqCst));
    let server = other.serve(&[HERE]);
    let worker = other.start(&["worker", "--admin-listen", "127.0.0.1:0"], &[HERE], "admin_listen");
    for process in [&server, &worker] {
        let (status, ready) = get(&process.url, "/readyz", "none");
        assert!(status == 200 && ready.contains("dormant"), "{ready}");
    }
    let late = create(&server, &prompt("Five"));
    for id in [&opened, &shelved, &waiting, &late] {
        assert!(job(&server, id)["id"].is_string());
    }
    // What people do by hand goes out no more than what is due.
    let (status, refused) = post(&server.url, &format!("/v2/agent/docs/job/{shelved}/pull-request"), &key, &json!({}));
    assert!(status == 503 && refused["error"].as_str().unwrap().contains("dormant"), "{refused}");
    let webhook = other.run(&["webhook", "list", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
    let tested = other.run_with(&["webhook", "test", &webhook], &[HERE]);
    assert!(tested.code == 1 && tested.err.contains("dormant"), "{}", tested.err);
    let tried = other.run(&["project", "test", "docs"]);
    assert!(tried.code == 1 && (tried.out + &tried.err).contains("dormant"));
    let examined = other.run_with(&["doctor"], &[HERE]).ok();
    for line in [
        "warning  dormancy: This copy was restored from a backup of ",
        "what to do: run `copydesk wake` if the original is gone",
        "unknown  projects: not looked at, because nothing goes out of a dormant copy",
    ] {
        assert!(examined.out.contains(line), "{line:?} in {}", examined.out);
    }
    let more = ["--repository", &address, "--host", "github", "--host-api-url", &api];
    let made = other.run(&[&["project", "create", "--name", "more"], &more[..]].concat()).ok();
    assert!(made.err.contains("jobs start from `main`") && made.err.contains("dormant"), "{}", made.err);
    // Whoever waits is told why nothing happens, and once.
    let wait = json!({ "id": late, "timeoutSeconds": 1 });
    let called = mcp_call(&server.url, "docs", &key, "", "wait_for_job", &wait);
    assert!(called["stillActive"] == true && called["message"].as_str().unwrap().contains("dormant"), "{called}");
    let environment = [("COPYDESK_URL", &*server.url), ("COPYDESK_PROJECT", "docs"), ("COPYDESK_API_KEY", &*key)];
    let mut waits = other.command(&["job", "get", &late, "--wait"]);
    let waits = waits.envs(environment).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(LONG_ENOUGH);
    assert_eq!(host.seen().len(), asked, "{:?}", host.seen().split_off(asked));
    assert_eq!(told.load(Ordering::SeqCst), heard);
    for id in [&waiting, &late] {
        assert_eq!(job(&server, id)["status"], "active");
    }

    other.run(&["wake"]).ok();
    for id in [&waiting, &late] {
        assert!(eventually(|| job(&server, id)["prLink"].is_string()), "{}", job(&server, id));
    }
    assert!(host.seen().len() > asked);
    assert!(eventually(|| told.load(Ordering::SeqCst) >= heard + 3), "created, and completed twice");
    assert!(!get(&server.url, "/readyz", "none").1.contains("dormant"));
    let waited = Ran::new(waits.wait_with_output().unwrap()).ok();
    assert_eq!(waited.err.matches("is dormant").count(), 1, "{}", waited.err);
    assert!(!waited.out.contains("dormant"), "{}", waited.out);
    for process in [worker, server] {
        let (code, log) = process.terminate();
        let woken = log.iter().filter(|line| line.contains("this copy is awake")).count();
        assert_eq!((code, woken), (Some(0), 1), "{log:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_goes_out_before_it_is_woken_on_sqlite() {
    holds_still(Backend::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_goes_out_before_it_is_woken_on_postgres() {
    holds_still(Backend::Postgres).await;
}

/// Whether nothing was written: the data folder is not there, or empty.
fn is_untouched(desk: &Desk) -> bool {
    std::fs::read_dir(desk.path().join("copydesk-data")).map_or(true, |mut entries| entries.next().is_none())
}

#[tokio::test]
async fn whatever_is_wrong_with_a_backup_is_told_and_it_is_not_restored() {
    let (desk, ..) = busy_desk(Backend::Sqlite).await;
    let copy = backup(&desk);
    let manifest = std::fs::read_to_string(copy.join("backup.json")).unwrap();
    let files: Vec<String> =
        serde_json::from_str::<Value>(&manifest).unwrap()["files"].as_object().unwrap().keys().cloned().collect();
    assert!(files.len() > 3 && files.contains(&"copydesk.db".to_owned()), "{files:?}");
    let refused = |said: &str| {
        let verified = only_verify(&desk, &copy);
        assert!(verified.code == 1 && verified.err.contains(said), "{said}: {}{}", verified.out, verified.err);
        let other = Desk::new();
        let restored = restore(&other, &copy);
        assert!(restored.code == 1 && restored.err.contains(said), "{said}: {}", restored.err);
        assert!(is_untouched(&other), "{said}");
    };
    for name in &files {
        let path = copy.join(name);
        let content = std::fs::read(&path).unwrap();
        if !content.is_empty() {
            let mut flipped = content.clone();
            flipped[content.len() / 2] ^= 4;
            std::fs::write(&path, &flipped).unwrap();
            refused(&format!("{name} is damaged"));
            std::fs::write(&path, &content[..content.len() / 2]).unwrap();
            refused(&format!("{name} has {} bytes instead of {}", content.len() / 2, content.len()));
        }
        std::fs::remove_file(&path).unwrap();
        refused(&format!("{name} is missing"));
        std::fs::write(&path, &content).unwrap();
    }
    only_verify(&desk, &copy).ok();
    std::fs::write(copy.join("views/more"), "x").unwrap();
    refused("views/more does not belong to the backup");
    std::fs::remove_file(copy.join("views/more")).unwrap();

    // A link could lead anywhere, and a pipe would never end.
    let lists = copy.join("views").join("link");
    std::os::unix::fs::symlink("/etc/hostname", &lists).unwrap();
    refused("views/link is not an ordinary file");
    std::fs::remove_file(&lists).unwrap();
    std::process::Command::new("mkfifo").arg(copy.join("pipe")).status().unwrap();
    refused("pipe is not an ordinary file");
    std::fs::remove_file(copy.join("pipe")).unwrap();

    // A count that is not right, though every file is as it was written.
    let write = |text: &str| {
        std::fs::write(copy.join("backup.json"), text).unwrap();
        let sum = std::process::Command::new("sha256sum").arg("backup.json").current_dir(&copy).output().unwrap();
        std::fs::write(copy.join("backup.json.sha256"), sum.stdout).unwrap();
    };
    write(&manifest.replace("\"jobs\": 1", "\"jobs\": 2"));
    refused("rows of the table jobs: 1 instead of 2");
    write(&manifest.replace("\"docs\": 20", "\"docs\": 21"));
    refused("page views of the project docs: 20 instead of 21");
    write(&manifest.replace("\"format\": 1", "\"format\": 9"));
    refused("has the format 9");
    let mut newer: Value = serde_json::from_str(&manifest).unwrap();
    newer["schema"] = json!(999);
    write(&newer.to_string());
    let other = Desk::new();
    let restored = restore(&other, &copy);
    assert!(restored.code == 1 && restored.err.contains("newer Copydesk"), "{}", restored.err);
    assert!(is_untouched(&other));
    std::fs::write(copy.join("backup.json"), manifest.replace("\"jobs\": 1", "\"jobs\": 2")).unwrap();
    refused("backup.json is not as it was written");
    std::fs::remove_file(copy.join("backup.json")).unwrap();
    refused("backup.json is missing");
}

#[tokio::test]
async fn only_an_empty_place_is_restored_into() {
    let (desk, ..) = busy_desk(Backend::Sqlite).await;
    let copy = backup(&desk);
    let into_itself = restore(&desk, &copy);
    assert!(into_itself.code == 1 && into_itself.err.contains("copydesk-data has"), "{}", into_itself.err);
    // A backup is not used where it lies: it would be none afterwards.
    let lists = ["lists", "update", "--from", "http://127.0.0.1:9"];
    for arguments in [&["serve", "--listen", "127.0.0.1:0"][..], &["worker"], &["project", "list"], &["wake"], &lists] {
        let refused = desk.run(&[arguments, &["--data-dir", "copy"]].concat());
        assert!(refused.code == 1 && refused.err.contains("is a backup"), "{arguments:?}: {}", refused.err);
    }
    // Those that look at files before the database leave it whole as well.
    for arguments in [&["backup", "another"][..], &["doctor"]] {
        let refused = desk.run(&[arguments, &["--data-dir", "copy"]].concat());
        assert!(refused.code == 1, "{arguments:?}: {}", refused.err);
        assert!(format!("{}{}", refused.out, refused.err).contains("is a backup"), "{}{}", refused.out, refused.err);
    }
    only_verify(&desk, &copy).ok();
    let (postgres, ..) = busy_desk(Backend::Postgres).await;
    let elsewhere = [&["restore", copy.to_str().unwrap()], &["--data-dir", "new"][..]].concat();
    let refused = postgres.run(&elsewhere);
    assert!(refused.code == 1 && refused.err.contains("has tables already"), "{}", refused.err);
    assert!(!postgres.path().join("new").exists());
    let database = desk.path().join("there.db");
    std::fs::write(&database, "x").unwrap();
    let address = format!("sqlite:{}", database.display());
    let other = Desk::new();
    // A log that somebody has left is no part of what is restored.
    let log = [("COPYDESK_DATABASE_URL", format!("sqlite:{}", desk.path().join("gone.db").display()))];
    let log: Vec<(&str, &str)> = log.iter().map(|(name, value)| (*name, value.as_str())).collect();
    std::fs::write(desk.path().join("gone.db-wal"), "x").unwrap();
    let refused = other.run_with(&["restore", copy.to_str().unwrap()], &log);
    assert!(refused.code == 1 && refused.err.contains("gone.db-wal") && is_untouched(&other), "{}", refused.err);
    std::fs::remove_file(desk.path().join("gone.db-wal")).unwrap();
    std::fs::write(desk.path().join("gone.db.restoring-wal"), "of a restore that was killed").unwrap();
    // And a backup may have lost its modes on its way.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(copy.join("copydesk.db"), open).unwrap();
    let third = Desk::new();
    third.run_with(&["restore", copy.to_str().unwrap()], &log).ok();
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(desk.path().join("gone.db")).unwrap());
    assert_eq!(mode & 0o777, 0o600);
    let refused = other.run_with(&["restore", copy.to_str().unwrap()], &[("COPYDESK_DATABASE_URL", &address)]);
    assert!(refused.code == 1 && refused.err.contains("there.db") && is_untouched(&other), "{}", refused.err);
}

#[tokio::test]
async fn a_folder_is_the_same_however_it_is_written() {
    let (desk, ..) = busy_desk(Backend::Sqlite).await;
    let made = desk.run(&["backup", "copy//"]).ok();
    assert!(made.out.starts_with("copy holds "), "{}", made.out);
    let copy = desk.path().join("copy");
    assert!(copy.join("backup.json").is_file() && !desk.path().join("copy.partial").exists());
    for written in [format!("{}/", copy.display()), format!("/{}", copy.display()), "./copy/.".to_owned()] {
        desk.run(&["backup", &written, "--only-verify"]).ok();
        let refused = desk.run(&["backup", &written]);
        assert!(refused.code == 2 && refused.err.contains("something"), "{written}: {}", refused.err);
        desk.run(&["restore", &written, "--data-dir", "new"]).ok();
        std::fs::remove_dir_all(desk.path().join("new")).unwrap();
    }
}

#[tokio::test]
async fn a_restore_that_fails_takes_back_what_it_wrote_elsewhere() {
    let desk = desk_with("https://github.com/acme/docs");
    set(&desk, "docs", &[], TOKEN).ok();
    std::fs::create_dir(desk.path().join("copydesk-data/lists")).unwrap();
    std::fs::write(desk.path().join("copydesk-data/lists/agents.toml"), "").unwrap();
    let copy = backup(&desk);
    assert!(copy.join("credentials.key").is_file() && copy.join("lists").is_dir());
    let other = Desk::new();
    let place = |name: &str| other.path().join(name).to_str().unwrap().to_owned();
    let (keys, lists) = (place("docs.key"), place("lists"));
    let nowhere = format!("sqlite:{}", place("nowhere/copydesk.db"));
    let elsewhere = [
        ("COPYDESK_CREDENTIALS__KEY_FILE", &*keys),
        ("COPYDESK_VIEWS__LISTS", &*lists),
        ("COPYDESK_DATABASE_URL", &*nowhere),
    ];
    let try_it = || other.run_with(&["restore", copy.to_str().unwrap()], &elsewhere);
    let failed = try_it();
    assert!(failed.code == 1 && failed.err.contains("nowhere"), "{}", failed.err);
    assert!(is_untouched(&other) && !Path::new(&keys).exists() && !Path::new(&lists).exists(), "{}", failed.err);
    // What somebody had put there stays.
    std::fs::create_dir(&lists).unwrap();
    std::fs::write(&keys, "mine").unwrap();
    assert_eq!(try_it().code, 1);
    assert!(is_untouched(&other) && Path::new(&lists).is_dir());
    assert_eq!(std::fs::read_to_string(&keys).unwrap(), "mine");
    std::fs::remove_file(&keys).unwrap();
    std::fs::create_dir(other.path().join("nowhere")).unwrap();
    try_it().ok();
    assert!(Path::new(&keys).is_file());
}

/// Killed at whatever moment, it leaves nothing, or something that nobody takes for whole, or all of it.
async fn killed(backend: Backend) {
    let (desk, project, key) = busy_desk(Backend::Sqlite).await;
    let copy = backup(&desk);
    let (mut unfinished, mut finished, mut pause) = (0, 0, Duration::from_millis(1));
    while finished < 2 {
        let other = Desk::on(backend).await;
        let mut command = other.command(&["restore", copy.to_str().unwrap()]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(pause);
        let _ = child.kill();
        let ended = child.wait().unwrap();
        assert!(ended.success() || ended.code().is_none(), "it failed by itself");
        pause += pause / 5 + Duration::from_millis(2);
        if other.path().join("copydesk-data/restore.unfinished").exists() {
            unfinished += 1;
            for arguments in [&["serve", "--listen", "127.0.0.1:0"][..], &["worker"], &["project", "list"]] {
                let refused = other.run(arguments);
                assert!(refused.code == 1 && refused.err.contains("did not end"), "{arguments:?}: {}", refused.err);
            }
            continue;
        }
        finished += usize::from(ended.success());
        if is_untouched(&other) {
            continue;
        }
        let server = other.serve(&[]);
        assert_eq!(jobs(&server, &project, &key).len(), 1);
        assert!(get(&server.url, "/readyz", "none").1.contains("dormant"));
        server.terminate();
    }
    assert!(unfinished > 0, "it was never met in the middle");
}

#[tokio::test]
async fn a_restore_that_is_killed_leaves_no_half_on_sqlite() {
    killed(Backend::Sqlite).await;
}

#[tokio::test]
async fn a_restore_that_is_killed_leaves_no_half_on_postgres() {
    killed(Backend::Postgres).await;
}

#[test]
fn keys_that_are_kept_elsewhere_are_asked_for() {
    let desk = desk_with("https://github.com/acme/docs");
    let elsewhere = [("COPYDESK_CREDENTIALS__KEY_FILE", "keys/docs.key"), ("OF_CI", TOKEN)];
    desk.run_with(&["project", "credential", "set", "docs", "--token-env", "OF_CI"], &elsewhere).ok();
    desk.run_with(&["backup", "copy"], &elsewhere).ok();
    let copy = desk.path().join("copy");
    let other = Desk::new();
    let restored = restore(&other, &copy).ok();
    assert!(
        restored.err.contains("which is not in the key file") && restored.err.contains(KEY_FILE),
        "{}",
        restored.err
    );
    let other = Desk::new();
    std::fs::create_dir(other.path().join("copydesk-data")).unwrap();
    std::fs::copy(desk.path().join("keys/docs.key"), other.path().join(KEY_FILE)).unwrap();
    let restored = restore(&other, &copy).ok();
    assert!(!restored.err.contains("key file"), "{}", restored.err);
    let shown = other.run(&["project", "credential", "show", "docs", "--json"]).json();
    assert_eq!(shown["problem"], Value::Null);
}
