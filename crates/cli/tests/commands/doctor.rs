//! `copydesk doctor`: every kind of trouble has a line, a reason and what to do, and nothing is left behind.

use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use copydesk_testkit::{Backend, GitRepo};
use serde_json::{Value, json};

use crate::credentials::{KEY_FILE, TOKEN, project, set};
use crate::support::{Desk, Ran, post};

/// A project whose repository is on this machine.
fn desk_with_docs(desk: Desk) -> (Desk, GitRepo) {
    let repo = GitRepo::new([("docs/index.md", "# Docs\n\nTeh first page.\n")]);
    let path = repo.path().to_str().unwrap().to_owned();
    desk.run(&["project", "create", "--name", "docs", "--id", "docs", "--repository", &path, "--base-ref", "main"])
        .ok();
    (desk, repo)
}

/// All files below a folder with what they hold.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => found.extend(files(&path)),
            kind if kind.is_file() => found.push((path.clone(), std::fs::read(&path).unwrap())),
            _ => {}
        }
    }
    found.sort();
    found
}

fn line<'a>(ran: &'a Ran, words: &str) -> &'a str {
    ran.out.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("no {words:?} in {}", ran.out))
}

fn checks(ran: &Ran) -> Vec<Value> {
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    report["checks"].as_array().unwrap().clone()
}

async fn a_healthy_installation(backend: Backend) {
    let (desk, _repo) = desk_with_docs(Desk::on(backend).await);
    let before = files(&desk.path().join("copydesk-data"));
    let ran = desk.run(&["doctor"]).ok();
    for words in [
        "ok       git: version ",
        "ok       disk: copydesk-data belongs to ",
        "ok       disk: files can be written",
        "ok       model: none is configured; jobs are done by `builtin`",
        "is up to date and takes writes",
        "ok       page views: there are none yet",
        "ok       mirror of docs: it is not there yet; the first job makes it",
        "ok       code host of docs: the settings can be used for a repository on this machine",
        "ok       code host of docs: git may push a branch",
    ] {
        line(&ran, words);
    }
    assert!(ran.out.ends_with("Nothing failed.\n"), "{}", ran.out);
    if backend == Backend::Postgres {
        line(&ran, "ok       clock: it agrees with that of the database");
        line(&ran, "ok       database: postgres");
    }
    // SQLite's own files come and go with every reader.
    let kept = |files: Vec<(PathBuf, Vec<u8>)>| -> Vec<_> {
        files.into_iter().filter(|(path, _)| !path.to_string_lossy().contains("copydesk.db-")).collect()
    };
    assert_eq!(kept(files(&desk.path().join("copydesk-data"))), kept(before), "it changes nothing");

    let server = desk.serve(&[]);
    let beside = desk.run(&["doctor", "--project", "docs", "--json"]).ok();
    let found = checks(&beside);
    assert!(found.iter().all(|check| check["result"] == "ok"), "{found:?}");
    assert!(found.iter().any(|check| check["name"] == "mirror" && check["project"] == "docs"), "{found:?}");
    assert_eq!(server.terminate().0, Some(0));
    let unknown = desk.run(&["doctor", "--project", "nobody"]);
    assert!(unknown.code == 1 && unknown.err.contains("there is no project \"nobody\""), "{}", unknown.err);
}

#[tokio::test]
async fn a_healthy_installation_on_sqlite() {
    a_healthy_installation(Backend::Sqlite).await;
}

#[tokio::test]
async fn a_healthy_installation_on_postgres() {
    a_healthy_installation(Backend::Postgres).await;
}

#[test]
fn where_nothing_is_nothing_is_made() {
    let desk = Desk::new();
    let ran = desk.run(&["doctor"]);
    assert_eq!(ran.code, 1);
    line(&ran, "FAILED   disk: there is no data folder at copydesk-data");
    line(&ran, "FAILED   database: there is no Copydesk database at copydesk-data/copydesk.db");
    line(&ran, "unknown  projects: the database does not tell which there are");
    assert!(!desk.path().join("copydesk-data").exists());
}

#[test]
fn git_and_open_folders_are_told() {
    let (desk, _repo) = desk_with_docs(Desk::new());
    let empty = desk.path().join("bin");
    std::fs::create_dir(&empty).unwrap();
    let ran = desk.run_with(&["doctor"], &[("PATH", empty.to_str().unwrap())]);
    assert_eq!(ran.code, 1);
    line(&ran, "FAILED   git: there is no git on the PATH; Copydesk needs git 2.38 or newer");
    line(&ran, "what to do: install git from the packages of the system");

    let folder = desk.path().join("copydesk-data");
    std::fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    let ran = desk.run(&["doctor"]);
    assert_eq!(ran.code, 1);
    line(&ran, "FAILED   disk: copydesk-data is open to other users (mode 0755)");
    line(&ran, "what to do: close it with `chmod 700 copydesk-data`");
    let mode = std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o755, "it is left as it is");
}

#[test]
fn a_damaged_mirror_is_told_with_its_folder() {
    let (desk, _repo) = desk_with_docs(Desk::new());
    let server = desk.serve(&[]);
    let key = desk.run(&["key", "create", "--project", "docs", "--json"]).json()["key"].as_str().unwrap().to_owned();
    let environment = [("COPYDESK_URL", &*server.url), ("COPYDESK_PROJECT", "docs"), ("COPYDESK_API_KEY", &*key)];
    desk.run_with(&["job", "create", "Replace `Teh` with `The`", "--wait"], &environment);
    line(&desk.run(&["doctor"]).ok(), "ok       mirror of docs: it is sound");
    let mirrors = desk.path().join("copydesk-data/mirrors");
    let pack =
        files(&mirrors).into_iter().map(|(path, _)| path).find(|path| path.extension().is_some_and(|it| it == "pack"));
    std::fs::remove_file(pack.expect("what was fetched is a pack")).unwrap();
    let ran = desk.run(&["doctor"]);
    assert_eq!(ran.code, 1);
    line(&ran, "FAILED   mirror of docs: it is damaged: git finds fault with it: ");
    assert!(line(&ran, "what to do: remove the folder ").contains("/mirrors/"), "{}", ran.out);
}

#[test]
fn a_key_file_that_is_gone_and_a_host_that_is_not_there_are_told() {
    let desk = Desk::new();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    project(&desk, "docs", &format!("http://{free}/docs.git"));
    set(&desk, "docs", &[], TOKEN).ok();
    let ran = desk.run(&["doctor"]);
    assert_eq!(ran.code, 1);
    assert!(
        line(&ran, "FAILED   code host of docs: it is not true that git reaches").contains("refuses the connection"),
        "{}",
        ran.out
    );
    line(&ran, &format!("unknown  clock: no time could be had from {}", free.ip()));
    assert!(line(&ran, " failed, ").contains("could not be checked"), "{}", ran.out);
    std::fs::remove_file(desk.path().join(KEY_FILE)).unwrap();
    let ran = desk.run(&["doctor"]);
    assert!(line(&ran, "FAILED   credential of docs: ").contains("is missing"), "{}", ran.out);
    line(&ran, "what to do: put the key file back, or set it again with `copydesk project credential set docs`");
    assert!(!ran.out.contains(TOKEN));
}

#[test]
fn page_views_that_take_too_long_to_read_do_not_keep_it() {
    let (desk, _repo) = desk_with_docs(Desk::new());
    let key = desk.run(&["key", "create", "--project", "docs", "--json"]).json()["key"].as_str().unwrap().to_owned();
    let server = desk.serve(&[]);
    let event = json!({ "path": "/a", "userAgent": "Mozilla/5.0 Firefox/140.0" });
    assert_eq!(post(&server.url, "/v1/analytics/docs/events", &key, &event).0, 200);
    assert_eq!(server.terminate().0, Some(0));
    let views = files(&desk.path().join("copydesk-data/views/projects/docs"));
    let segment = views.into_iter().map(|(path, _)| path).find(|path| path.extension().is_some_and(|it| it == "seg"));
    // Whoever opens a pipe that nobody writes to waits for ever.
    let segment = segment.expect("what was counted is in a file");
    std::fs::remove_file(&segment).unwrap();
    assert!(Command::new("mkfifo").arg(&segment).status().unwrap().success());
    let ran = Ran::new(
        Command::new("timeout")
            .args(["60", env!("CARGO_BIN_EXE_copydesk"), "doctor"])
            .current_dir(desk.path())
            .output()
            .unwrap(),
    );
    line(&ran, "unknown  page views: there are too many to read all of them now");
    assert_eq!(ran.code, 0, "it ends by itself: {}{}", ran.out, ran.err);
}

/// A provider of models that answers every request in the same way, with a clock of its own.
fn provider(status: &'static str, date: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0; 4096]);
            let head = format!("HTTP/1.1 {status}\r\nDate: {date}\r\nContent-Length: {}\r\n", body.len());
            let _ = write!(stream, "{head}Connection: close\r\n\r\n{body}");
        }
    });
    url
}

#[test]
fn a_model_that_refuses_or_does_not_know_the_name_is_told_without_a_call() {
    let (desk, _repo) = desk_with_docs(Desk::new());
    let doctor = |url: &str, flags: &[&str]| {
        let environment = [
            ("COPYDESK_MODEL__PROVIDER", "openai"),
            ("COPYDESK_MODEL__NAME", "writer-1"),
            ("COPYDESK_MODEL__BASE_URL", url),
            ("COPYDESK_MODEL__API_KEY", TOKEN),
        ];
        desk.run_with(&[&["doctor"], flags].concat(), &environment)
    };
    let old = "Sun, 06 Nov 1994 08:49:37 GMT";
    let refusing = provider("401 Unauthorized", old, r#"{"error":{"message":"no such key"}}"#);
    let ran = doctor(&refusing, &[]);
    assert_eq!(ran.code, 1);
    let refused = line(&ran, "FAILED   model: it is not true that 127.0.0.1 lets us in");
    assert!(refused.contains("refused the API key"), "{}", ran.out);
    assert!(line(&ran, "FAILED   clock: this machine is ").contains(" ahead of that of 127.0.0.1"), "{}", ran.out);
    assert!(!ran.out.contains(TOKEN));

    let others = provider("200 OK", "now", r#"{"data":[{"id":"writer-2"}]}"#);
    let ran = doctor(&others, &[]).ok();
    line(
        &ran,
        "unknown  model: not known whether 127.0.0.1 offers writer-1: it is not in the list of models that it gives",
    );
    assert_eq!(doctor(&others, &["--strict"]).code, 1, "what could not be checked is no success there");
    let good = provider("200 OK", "now", r#"{"data":[{"id":"writer-1"}]}"#);
    line(&doctor(&good, &[]).ok(), "ok       model: 127.0.0.1 offers writer-1");
    // It answers calls with a list of models, which is no answer to one.
    let called = doctor(&good, &["--call-model", "--json"]);
    let model: Vec<Value> = checks(&called).into_iter().filter(|check| check["name"] == "model").collect();
    assert_eq!((called.code, &model[0]["result"]), (1, &json!("failed")), "{model:?}");
}

#[test]
fn webhooks_that_lead_nowhere_or_are_paused_are_told() {
    let (desk, _repo) = desk_with_docs(Desk::new());
    let add =
        |url: &str| desk.run(&["webhook", "add", "docs", url, "--json"]).json()["id"].as_str().unwrap().to_owned();
    let (gone, inside, paused) =
        (add("https://gone.invalid/x"), add("https://localhost/x"), add("https://a.example/x"));
    desk.run(&["webhook", "pause", &paused]).ok();
    let ran = desk.run(&["doctor"]);
    assert_eq!(ran.code, 1);
    line(
        &ran,
        &format!("FAILED   webhook of docs: {gone} cannot be reached: the name gone.invalid cannot be resolved"),
    );
    line(&ran, &format!("{inside} cannot be reached: localhost leads only to addresses that webhooks may not go to"));
    line(&ran, &format!("warning  webhook of docs: {paused} is paused: Somebody paused it."));
}
