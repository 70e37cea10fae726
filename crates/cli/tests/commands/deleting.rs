//! What a project leaves behind when it is deleted: nothing, on any machine.

use std::path::Path;

use copydesk_testkit::{Backend, GitRepo};
use serde_json::json;

use crate::restoring::{NO_WORKERS, eventually};
use crate::support::{Desk, Serving, body_of, get, post};

/// Tables in which a deleted project may not be found.
const TABLES: [&str; 14] = [
    "admin_keys",
    "jobs",
    "messages",
    "events",
    "rounds",
    "edits",
    "pull_requests",
    "secrets",
    "sources",
    "webhook_endpoints",
    "webhook_deliveries",
    "outbox",
    "idempotency",
    "page_health",
];

fn mirrors(desk: &Desk, data_dir: &str) -> usize {
    let folder = desk.path().join(data_dir).join("mirrors");
    std::fs::read_dir(folder).map_or(0, |entries| {
        entries.filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|kind| kind == "git")).count()
    })
}

fn is_swept(desk: &Desk, data_dir: &str) -> bool {
    std::fs::read_dir(desk.path().join(data_dir).join("mirrors")).unwrap().next().is_none()
}

fn create(desk: &Desk, id: &str, repository: &Path) {
    let place = ["--repository", repository.to_str().unwrap(), "--base-ref", "main"];
    desk.run(&[&["project", "create", "--name", id, "--id", id], &place[..]].concat()).ok();
}

fn edit(desk: &Desk, server: &Serving, project: &str, word: &str) {
    let key = desk.run(&["key", "create", "--project", project, "--json"]).json()["key"].as_str().unwrap().to_owned();
    let body = json!({ "prompt": format!("Replace \"One\" with \"{word}\" in docs/."), "model": "builtin" });
    let (status, job) = post(&server.url, &format!("/v2/agent/{project}/job"), &key, &body);
    assert_eq!(status, 201, "{job}");
    let path = format!("/v2/agent/{project}/job/{}", job["id"].as_str().unwrap());
    assert!(eventually(|| body_of(&get(&server.url, &path, &key).1)["outcome"] == "pr_created"));
    let event =
        json!({ "path": "/a", "userAgent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0" });
    assert_eq!(post(&server.url, &format!("/v1/analytics/{project}/events"), &key, &event).0, 200);
}

async fn story(backend: Backend) {
    let desk = Desk::on(backend).await;
    let (docs, code) = (GitRepo::new([("docs/a.md", "# A\n\nOne.\n")]), GitRepo::new([("lib.rs", "fn one() {}\n")]));
    for project in ["first", "second"] {
        create(&desk, project, docs.path());
    }
    desk.run(&["project", "source", "add", "first", "code", code.path().to_str().unwrap()]).ok();
    desk.run(&["webhook", "add", "first", "https://example.com/hook"]).ok();
    let server = desk.serve(&[]);
    edit(&desk, &server, "first", "Two");
    edit(&desk, &server, "second", "Three");
    server.terminate();
    assert_eq!(mirrors(&desk, "copydesk-data"), 2, "both projects share the one of the documentation");
    desk.run(&["project", "delete", "first", "--yes"]).ok();
    assert_eq!(mirrors(&desk, "copydesk-data"), 1, "the other project has it still");
    desk.run(&["project", "delete", "second", "--yes"]).ok();
    assert!(is_swept(&desk, "copydesk-data"));
    let left = desk.run(&["backup", "after", "--json"]).json()["backup"].clone();
    assert_eq!(left["views"], json!({}));
    for table in TABLES {
        assert_eq!(left["rows"][table], 0, "{table}");
    }
}

#[tokio::test]
async fn a_project_takes_everything_with_it_on_sqlite() {
    story(Backend::Sqlite).await;
}

#[tokio::test]
async fn a_project_takes_everything_with_it_on_postgres() {
    story(Backend::Postgres).await;
}

#[test]
fn a_project_that_is_gone_is_told_so_whatever_becomes_of_its_mirrors() {
    let desk = Desk::new();
    let code = GitRepo::new([("lib.rs", "fn one() {}\n")]);
    for project in ["first", "second"] {
        create(&desk, project, code.path());
    }
    desk.run(&["project", "source", "add", "second", "code", code.path().to_str().unwrap()]).ok();
    std::fs::create_dir_all(desk.path().join("copydesk-data/mirrors/nobodys-0123456789abcdef0123.git")).unwrap();
    let database = rusqlite::Connection::open(desk.path().join("copydesk-data/copydesk.db")).unwrap();
    database.execute("UPDATE sources SET host = 'no JSON'", []).unwrap();
    drop(database);
    let deleted = desk.run(&["project", "delete", "first", "--yes"]).ok();
    assert!(deleted.out.contains("Deleted the project first"), "{}", deleted.out);
    assert!(deleted.err.contains("note: the mirrors of the project are left"), "{}", deleted.err);
    assert_eq!(desk.run(&["project", "show", "first"]).code, 1);
}

#[test]
fn a_folder_of_mirrors_that_cannot_be_read_is_told() {
    let desk = Desk::new();
    create(&desk, "first", GitRepo::new([("docs/a.md", "# A\n")]).path());
    // Nobody, whatever they may do, can list what is no folder.
    std::fs::write(desk.path().join("copydesk-data/mirrors"), "").unwrap();
    let deleted = desk.run(&["project", "delete", "first", "--yes"]).ok();
    assert!(deleted.out.contains("Deleted the project first"), "{}", deleted.out);
    let note = "the mirrors of the project are left: the folder of mirrors cannot be read: ";
    assert!(deleted.err.contains(note), "{}", deleted.err);
}

#[tokio::test]
async fn other_machines_clean_up_too() {
    let desk = Desk::on(Backend::Postgres).await;
    let docs = GitRepo::new([("docs/a.md", "# A\n\nOne.\n")]);
    create(&desk, "docs", docs.path());
    let elsewhere = [("COPYDESK_DATA_DIR", "elsewhere"), NO_WORKERS];
    let server = desk.serve(&elsewhere);
    let worker = ["worker", "--data-dir", "worker", "--admin-listen", "127.0.0.1:0"];
    let worker = desk.start(&worker, &[], "admin_listen");
    edit(&desk, &server, "docs", "Two");
    assert_eq!(mirrors(&desk, "worker"), 1);
    let views = || desk.run(&["views", "status", "--data-dir", "elsewhere", "--json"]).json();
    assert_eq!(views()[0]["views"], 1);
    server.terminate();
    desk.run(&["project", "delete", "docs", "--yes"]).ok();
    assert!(eventually(|| is_swept(&desk, "worker")), "the worker hears of it");
    worker.terminate();
    let server = desk.serve(&elsewhere);
    assert!(eventually(|| views() == json!([])), "a server that was away looks: {}", views());
    server.terminate();
}
