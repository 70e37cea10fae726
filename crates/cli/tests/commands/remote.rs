//! `--url`: the same commands on a server elsewhere, with the same output.

use serde_json::json;

use crate::support::{Desk, Ran};

/// Somewhere else, with nothing but a key.
fn elsewhere(key: &str, url: &str, arguments: &[&str]) -> Ran {
    let away = Desk::new();
    let ran = away.run_with(&[&["--url", url], arguments].concat(), &[("COPYDESK_API_KEY", key)]);
    assert_eq!(std::fs::read_dir(away.path()).unwrap().count(), 0, "nothing is made there");
    ran
}

#[test]
fn projects_and_keys_are_managed_from_elsewhere() {
    let desk = Desk::new();
    let admin = desk.run(&["key", "create", "--all-projects", "--scope", "admin", "--json"]).json();
    let server = desk.serve(&[]);
    let run = |arguments: &[&str]| elsewhere(admin["key"].as_str().unwrap(), &server.url, arguments);
    let create = [
        "project",
        "create",
        "--name",
        "Acme Docs",
        "--repository",
        "https://x:secret@example.com/docs.git",
        "--base-ref",
        "main",
        "--time-limit",
        "45m",
        "--domain",
        "docs.example.com",
        "--host",
        "gitlab",
    ];
    let created = run(&[&create[..], &["--json"]].concat());
    assert!(created.err.contains("note: the credential"), "{}", created.err);
    let created = created.json();
    assert_eq!((&created["id"], &created["timeLimitSeconds"]), (&json!("acme-docs"), &json!(2700)));
    // The same words as on the machine itself.
    for arguments in [
        &["project", "list"][..],
        &["project", "list", "--json"],
        &["project", "show", "acme-docs"],
        &["project", "show", "acme-docs", "--json"],
    ] {
        assert_eq!(run(arguments).ok().out, desk.run(arguments).ok().out, "{arguments:?}");
    }
    let update = [
        "project",
        "update",
        "acme-docs",
        "--time-limit",
        "default",
        "--allow",
        "data/*.json",
        "--domain",
        "none",
        "--host",
        "auto",
        "--json",
    ];
    let changed = run(&update).json();
    assert_eq!((&changed["timeLimitSeconds"], &changed["views"]["domains"]), (&json!(null), &json!([])));
    assert_eq!((&changed["writePaths"]["allow"], &changed["host"]["kind"]), (&json!(["data/*.json"]), &json!(null)));
    let made = run(&["key", "create", "--project", "acme-docs", "--name", "CI", "--json"]).json();
    assert!(made["key"].as_str().unwrap().starts_with("copydesk_"));
    assert_eq!(run(&["key", "list"]).ok().out, desk.run(&["key", "list"]).ok().out);
    assert_eq!(run(&["key", "list", "--project", "acme-docs", "--json"]).json().as_array().unwrap().len(), 2);
    let revoked = run(&["key", "revoke", made["id"].as_str().unwrap()]).ok().out;
    assert!(revoked.starts_with("Revoked the key"), "{revoked}");
    let unconfirmed = run(&["project", "delete", "acme-docs"]);
    assert_eq!(unconfirmed.code, 2, "{}", unconfirmed.err);
    run(&["project", "delete", "acme-docs", "--yes"]).ok();
    assert_eq!(desk.run(&["project", "show", "acme-docs"]).code, 1);
}

#[test]
fn a_connection_is_tested_from_elsewhere() {
    let desk = Desk::new();
    let repo = copydesk_testkit::GitRepo::new([("docs/index.md", "# Docs\n")]);
    let admin = desk.run(&["key", "create", "--all-projects", "--scope", "admin", "--json"]).json();
    let server = desk.serve(&[]);
    let run = |arguments: &[&str]| elsewhere(admin["key"].as_str().unwrap(), &server.url, arguments);
    let path = repo.path().to_str().unwrap();
    run(&["project", "create", "--name", "Docs", "--repository", path]).ok();
    assert_eq!(run(&["project", "test", "docs"]).ok().out, desk.run(&["project", "test", "docs"]).ok().out);
    run(&["project", "update", "docs", "--repository", "/no/such/folder"]).ok();
    let failed = run(&["project", "test", "docs", "--json"]);
    assert_eq!(failed.code, 1);
    assert!(failed.out.contains("\"works\": false"), "{}", failed.out);
}

#[test]
fn what_goes_wrong_elsewhere_is_a_sentence() {
    let desk = Desk::new();
    let (project, key) = desk.project_and_key("Docs");
    let server = desk.serve(&[]);
    let forbidden = elsewhere(&key, &server.url, &["project", "list"]);
    assert_eq!(forbidden.code, 1);
    assert!(forbidden.err.contains("scope admin") && !forbidden.err.contains(&key), "{}", forbidden.err);
    let none = Desk::new().run(&["--url", &server.url, "project", "list"]);
    assert!(none.err.contains("COPYDESK_API_KEY") && none.err.contains("--scope admin"), "{}", none.err);
    let wrong = elsewhere(&key, &server.url, &["project", "update", &project, "--time-limit", "8d"]);
    assert_ne!(wrong.code, 0);
    for command in [&["project", "credential", "show", "docs"][..], &["project", "hook", "docs"], &["views", "status"]]
    {
        let refused = elsewhere(&key, &server.url, command);
        assert_eq!(refused.code, 2, "{command:?}");
        assert!(refused.err.contains("only on the machine of the server"), "{}", refused.err);
    }
    let away = elsewhere(&key, "http://127.0.0.1:1", &["key", "list"]);
    assert!(away.err.contains("cannot reach"), "{}", away.err);
    // A key for one project cannot be one of the administration.
    let refused = desk.run(&["key", "create", "--project", &project, "--scope", "admin"]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("--scope can be admin only for all projects"), "{}", refused.err);
}

#[test]
fn a_server_that_is_not_reached_or_not_ours_is_told_apart() {
    let desk = Desk::new();
    let (project, key) = desk.project_and_key("Docs");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap();
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        for stream in other.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\nconnection: close\r\n\r\nnope");
        }
    });
    for (url, words) in [
        ("http://nowhere.invalid:4400".to_owned(), "cannot reach http://nowhere.invalid:4400/: its name is not known"),
        (format!("http://{closed}"), "it refuses the connection"),
        (format!("http://{address}"), "the server there is not Copydesk: it answered 404 Not Found\n"),
    ] {
        // No job, so that nothing is tried again.
        for command in
            [&["--url", &url, "project", "list"][..], &["job", "cancel", "x", "--project", &project, "--url", &url]]
        {
            let ran = desk.run_with(command, &[("COPYDESK_API_KEY", &key)]);
            assert!(ran.code == 1 && ran.err.contains(words), "{command:?}: {}", ran.err);
        }
    }
}
