//! The keys that credentials are sealed with: their file, backups of it, and their rotation.

use std::fs::Permissions;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::sync::Arc;

use copydesk_domain::{ProjectId, SystemClock};
use copydesk_store::{DatabaseAddress, NewProject, SecretName, Store, Vault};
use copydesk_testkit::Backend;
use serde_json::{Value, json};

use crate::credentials::{KEY_FILE, TOKEN, desk_with, project, set, show, write};
use crate::support::Desk;

#[test]
fn a_key_file_that_is_missing_open_or_damaged_is_a_sentence() {
    let desk = desk_with("https://github.com/acme/docs");
    project(&desk, "more", "https://github.com/acme/more");
    set(&desk, "docs", &[], TOKEN).ok();
    let file = desk.path().join(KEY_FILE);
    let keys = std::fs::read(&file).unwrap();
    let problem = |said: &str| {
        let shown = show(&desk, "docs");
        assert!(shown["problem"].as_str().unwrap().contains(said), "{shown}");
        assert_eq!(shown["kind"], "token", "what it is can be said without opening it");
        for ran in [set(&desk, "more", &[], TOKEN), desk.run(&["credentials", "rotate"])] {
            assert!(ran.code == 1 && ran.err.contains(said), "{}", ran.err);
        }
    };
    std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    problem("chmod 600");
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&file, "").unwrap();
    problem("damaged: it holds no key");
    std::fs::write(&file, &keys[..keys.len() / 2]).unwrap();
    problem("damaged: line 1");
    std::fs::remove_file(&file).unwrap();
    problem("is missing");
    std::fs::write(&file, &keys).unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    assert_eq!(show(&desk, "docs")["problem"], Value::Null);
}

#[test]
fn keys_are_kept_where_the_setting_says() {
    let desk = desk_with("https://github.com/acme/docs");
    let elsewhere = [("COPYDESK_CREDENTIALS__KEY_FILE", "keys/docs.key"), ("OF_CI", TOKEN)];
    let arguments = ["project", "credential", "set", "docs", "--token-env", "OF_CI"];
    desk.run_with(&arguments, &elsewhere).ok();
    assert!(desk.path().join("keys/docs.key").exists() && !desk.path().join(KEY_FILE).exists());
    let backup = desk.run_with(&["backup", "without"], &elsewhere).ok();
    assert!(backup.out.contains("keys/docs.key"), "{}", backup.out);
    assert!(!desk.path().join("without/credentials.key").exists());
    let lost = show(&desk, "docs");
    assert!(lost["problem"].as_str().unwrap().contains("credentials.key_file"), "{lost}");
}

#[test]
fn a_backup_has_the_keys_of_its_credentials() {
    let desk = desk_with("https://github.com/acme/docs");
    set(&desk, "docs", &[], TOKEN).ok();
    desk.run(&["backup", "kept"]).ok();
    desk.run(&["credentials", "rotate"]).ok();
    desk.run(&["restore", "kept", "--data-dir", "copy"]).ok();
    let shown = desk.run(&["project", "credential", "show", "docs", "--json", "--data-dir", "copy"]).json();
    assert_eq!((&shown["source"], &shown["problem"]), (&json!("stored"), &Value::Null));
}

#[test]
fn a_rotation_says_what_it_did_and_finishes_one_that_was_cut_short() {
    let desk = desk_with("https://github.com/acme/docs");
    project(&desk, "more", "https://github.com/acme/more");
    for id in ["docs", "more"] {
        set(&desk, id, &[], TOKEN).ok();
    }
    let file = desk.path().join(KEY_FILE);
    let keys = || std::fs::read_to_string(&file).unwrap();
    let before = keys();
    let rotated = desk.run(&["credentials", "rotate"]).ok();
    assert!(rotated.err.contains("encrypted 2 of 2"), "{}", rotated.err);
    assert!(rotated.out.contains("Encrypted again: 2. Old keys removed: 1."), "{}", rotated.out);
    assert!(keys() != before && keys().lines().count() == 1);

    // As a crash leaves it: another key is there and seals already, and a file was on its way.
    let fresh = Desk::new();
    project(&fresh, "x", "https://github.com/acme/x");
    set(&fresh, "x", &[], TOKEN).ok();
    let other = std::fs::read_to_string(fresh.path().join(KEY_FILE)).unwrap();
    std::fs::write(&file, format!("{other}{}", keys())).unwrap();
    write(&desk, "copydesk-data/.credentials-cut", "copydesk-key-v1 abc");
    set(&desk, "more", &[], TOKEN).ok();
    let rotated = desk.run(&["credentials", "rotate", "--json"]).json();
    assert_eq!((&rotated["resealed"], &rotated["droppedKeys"], &rotated["left"]), (&json!(2), &json!(2), &json!([])));
    for id in ["docs", "more"] {
        let shown = show(&desk, id);
        assert_eq!((&shown["problem"], &shown["keyId"]), (&Value::Null, &rotated["keyId"]));
    }

    // What was sealed with a key that is gone is left, and said.
    std::fs::write(&file, other).unwrap();
    set(&desk, "more", &[], TOKEN).ok();
    let left = desk.run(&["credentials", "rotate"]);
    assert!(left.code == 1 && left.out.contains("Not encrypted again, git of docs"), "{}", left.out);
    assert_eq!(show(&desk, "more")["problem"], Value::Null);
}

#[tokio::test]
async fn a_rotation_that_is_killed_loses_nothing() {
    const COUNT: usize = 200;
    let desk = desk_with("https://github.com/acme/docs");
    let vault = Vault::new(desk.path().join(KEY_FILE));
    let database = DatabaseAddress::Sqlite(desk.path().join("copydesk-data/copydesk.db"));
    let store = Store::open(&database, Arc::new(SystemClock)).await.unwrap();
    let model = store.project(&"docs".into()).await.unwrap().unwrap();
    let ids: Vec<ProjectId> = (0..COUNT).map(|number| format!("p{number}").as_str().into()).collect();
    for id in &ids {
        let new = NewProject {
            id: Some(id.clone()),
            name: id.to_string(),
            repository: model.repository.clone(),
            base_ref: model.base_ref.clone(),
            docs_paths: model.docs_paths.clone(),
            write_paths: model.write_paths.clone(),
            time_zone: model.time_zone.clone(),
            jobs_per_hour: None,
            max_running: None,
            time_limit_seconds: None,
            job_cost: None,
            on_findings: model.on_findings,
            views: model.views.clone(),
            host: model.host.clone(),
        };
        store.create_project(new).await.unwrap().unwrap();
        store.set_secret(&vault, id, &SecretName::Git, "token", id.as_bytes()).await.unwrap().unwrap();
    }
    // Killed before anything, when it has begun, and in the middle.
    for seen in ["", "encrypted 1 of ", "encrypted 100 of "] {
        let mut command = desk.command(&["credentials", "rotate"]);
        let mut rotating = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(rotating.stderr.take().unwrap()).lines().map_while(Result::ok);
        assert!(seen.is_empty() || lines.any(|line| line.contains(seen)), "{seen}");
        rotating.kill().unwrap();
        rotating.wait().unwrap();
        for id in &ids {
            let (_, content) = store.secret(&vault, id, &SecretName::Git).await.unwrap().unwrap();
            assert_eq!(content, id.as_bytes());
        }
    }
    let rotated = desk.run(&["credentials", "rotate", "--json"]).json();
    assert_eq!((&rotated["resealed"], &rotated["left"]), (&json!(COUNT), &json!([])));
    assert_eq!(std::fs::read_to_string(vault.path()).unwrap().lines().count(), 1);
    for id in &ids {
        let (secret, content) = store.secret(&vault, id, &SecretName::Git).await.unwrap().unwrap();
        assert_eq!((content, json!(secret.key_id)), (id.as_bytes().to_vec(), rotated["keyId"].clone()));
    }
}

#[tokio::test]
async fn a_second_machine_with_other_keys_is_refused_until_they_are_copied() {
    let desk = Desk::on(Backend::Postgres).await;
    project(&desk, "docs", "https://github.com/acme/docs");
    set(&desk, "docs", &[], TOKEN).ok();
    let second = [("COPYDESK_DATA_DIR", "second")];
    let (here, there) = (desk.path().join(KEY_FILE), desk.path().join("second/credentials.key"));
    let commands = [&["serve", "--listen", "127.0.0.1:0"][..], &["worker"]];
    let refused = || {
        for command in commands {
            let ran = desk.run_with(command, &second);
            assert_eq!(ran.code, 1, "{}", ran.err);
            assert!(
                ran.err.contains("the database holds secrets that another machine encrypted with the key "),
                "{}",
                ran.err
            );
            assert!(
                ran.err.contains("hint: copy credentials.key from the data folder of that machine to "),
                "{}",
                ran.err
            );
        }
    };
    refused();
    assert!(!there.exists(), "no key is made");
    // Another installation's.
    let other = desk_with("https://github.com/acme/docs");
    set(&other, "docs", &[], TOKEN).ok();
    std::fs::copy(other.path().join(KEY_FILE), &there).unwrap();
    refused();
    std::fs::copy(&here, &there).unwrap();
    desk.serve(&second);
}
