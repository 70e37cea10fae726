use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use copydesk_testkit::Backend;
use serde_json::{Value, json};

use crate::support::{Desk, Ran};

pub const TOKEN: &str = "planted-token-Zq7";
pub const KEY_FILE: &str = "copydesk-data/credentials.key";

pub fn desk_with(repository: &str) -> Desk {
    let desk = Desk::new();
    project(&desk, "docs", repository);
    desk
}

pub fn project(desk: &Desk, id: &str, repository: &str) {
    desk.run(&["project", "create", "--name", id, "--id", id, "--repository", repository, "--base-ref", "main"]).ok();
}

pub fn set(desk: &Desk, id: &str, flags: &[&str], input: &str) -> Ran {
    let arguments = [&["project", "credential", "set", id], flags].concat();
    let mut command = desk.command(&arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // It may have ended without a look at it.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    Ran::new(child.wait_with_output().unwrap())
}

pub fn show(desk: &Desk, id: &str) -> Value {
    desk.run(&["project", "credential", "show", id, "--json"]).json()
}

pub fn write(desk: &Desk, name: &str, text: &str) {
    std::fs::write(desk.path().join(name), text).unwrap();
}

#[tokio::test]
async fn a_credential_on_sqlite() {
    comes_and_goes(Backend::Sqlite).await;
}

#[tokio::test]
async fn a_credential_on_postgres() {
    comes_and_goes(Backend::Postgres).await;
}

async fn comes_and_goes(backend: Backend) {
    let desk = Desk::on(backend).await;
    project(&desk, "docs", "https://github.com/acme/docs");
    assert_eq!(show(&desk, "docs"), json!({ "project": "docs", "source": null, "kind": null, "problem": null }));
    assert!(!desk.path().join(KEY_FILE).exists(), "a look makes no key");

    let stored = set(&desk, "docs", &[], &format!("{TOKEN}\n")).ok();
    assert!(stored.err.is_empty(), "{}", stored.err);
    assert!(stored.out.starts_with("Stored for docs: token, encrypted with the key "), "{}", stored.out);
    let mode = std::fs::metadata(desk.path().join(KEY_FILE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let shown = show(&desk, "docs");
    assert_eq!(
        (&shown["source"], &shown["kind"], &shown["problem"]),
        (&json!("stored"), &json!("token"), &Value::Null)
    );
    assert!(stored.out.contains(shown["keyId"].as_str().unwrap()));

    let again = set(&desk, "docs", &["--username", "bot", "--json"], TOKEN).json();
    assert_eq!(again["kind"], "user name and password");
    assert_eq!(again["createdAt"], shown["createdAt"]);
    let text = desk.run(&["project", "credential", "show", "docs"]).ok().out;
    assert!(text.contains("user name and password") && text.contains("encrypted with"), "{text}");

    desk.run(&["project", "credential", "remove", "docs"]).ok();
    assert_eq!(show(&desk, "docs")["source"], Value::Null);
    assert_eq!(desk.run(&["project", "credential", "remove", "docs"]).code, 1);
    for command in ["show", "remove", "set"] {
        let ran = desk.run(&["project", "credential", command, "nobody"]);
        assert!(ran.code == 1 && ran.err.contains("there is no project"), "{}", ran.err);
    }
}

#[test]
fn each_kind_is_read_from_where_it_was_said() {
    let desk = desk_with("git@github.com:acme/docs.git");
    let key = "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n";
    write(&desk, "key.pem", key);
    write(&desk, "hosts", "# Ours\ngithub.com ssh-ed25519 AAAA\n");
    write(&desk, "token", TOKEN);
    let kind = |flags: &[&str]| {
        let ran = set(&desk, "docs", flags, "");
        assert!(ran.code == 0, "{flags:?}: {}", ran.err);
        show(&desk, "docs")["kind"].as_str().unwrap().to_owned()
    };
    assert_eq!(kind(&["--ssh-key-file", "key.pem"]), "SSH key");
    let both = ["--ssh-key-file", "key.pem", "--known-hosts-file", "hosts", "--token-file", "token"];
    assert_eq!(kind(&both), "SSH key and token");
    assert_eq!(kind(&["--github-app", "12", "--private-key-file", "key.pem", "--installation", "7"]), "GitHub App");
    assert_eq!(kind(&["--token-file", "token"]), "token");
    let arguments = ["project", "credential", "set", "docs", "--token-env", "OF_CI"];
    assert!(desk.run_with(&arguments, &[("OF_CI", TOKEN)]).ok().err.contains("--ssh-key-file"), "it does not fit");
}

#[test]
fn what_cannot_be_a_credential_is_refused_without_being_shown() {
    let desk = desk_with("https://github.com/acme/docs");
    write(&desk, "secret.txt", "planted-text");
    write(&desk, "public.pem", "ssh-ed25519 planted me@here\n");
    let long = "planted".repeat(10_000);
    let wrong: &[(&[&str], &str, &str)] = &[
        (&[], "", "is empty"),
        (&[], "\n", "is empty"),
        (&[], "planted\nplanted", "more than one line"),
        (&[], "planted\u{1b}[2J", "control characters"),
        (&[], &long, "longer than 64 KiB"),
        (&["--token-env", "NOT_THERE"], "", "no variable"),
        (&["--token-file", "nowhere"], "", "nowhere"),
        (&["--username", "a b"], "planted", "--username"),
        (&["--ssh-key-file", "secret.txt"], "", "not a private key"),
        (&["--ssh-key-file", "public.pem"], "", "public key"),
        (&["--github-app", "1", "--private-key-file", "secret.txt"], "", "not a private key"),
        (&["--github-app", "1"], "", "--private-key-file"),
        (
            &["--github-app", "1", "--private-key-file", "secret.txt", "--token-file", "secret.txt"],
            "",
            "cannot be used",
        ),
        (&["--known-hosts-file", "secret.txt"], "", "--ssh-key-file"),
        (&["--token", "planted"], "", "unexpected argument"),
    ];
    for (flags, input, said) in wrong {
        let ran = set(&desk, "docs", flags, input);
        assert!(ran.code == 2 && ran.err.contains(said), "{flags:?}: {}", ran.err);
        // What was wrongly written as an argument was shown already.
        assert!(flags.contains(&"planted") || !ran.err.contains("planted"), "{}", ran.err);
    }
    assert_eq!(show(&desk, "docs")["source"], Value::Null);
    assert!(!desk.path().join(KEY_FILE).exists());
}

#[test]
fn a_token_that_is_typed_is_not_shown() {
    let desk = desk_with("https://github.com/acme/docs");
    let master = rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY).unwrap();
    rustix::pty::grantpt(&master).unwrap();
    rustix::pty::unlockpt(&master).unwrap();
    let name = rustix::pty::ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let terminal = std::fs::OpenOptions::new().read(true).write(true).open(name).unwrap();
    let mut command = desk.command(&["project", "credential", "set", "docs"]);
    let mut child =
        command.stdin(terminal.try_clone().unwrap()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut asked = [0; 19];
    child.stderr.as_mut().unwrap().read_exact(&mut asked).unwrap();
    assert_eq!(std::str::from_utf8(&asked).unwrap(), "Token (not shown): ");
    let mut master = std::fs::File::from(master);
    master.write_all(format!("{TOKEN}\n").as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(show(&desk, "docs")["kind"], "token");
    drop((terminal, command));
    let mut seen = Vec::new();
    // With nobody at the other end it ends in an error, after all that was shown.
    let _ = master.read_to_end(&mut seen);
    assert!(!seen.is_empty() && !String::from_utf8_lossy(&seen).contains("planted"), "{seen:?}");
}

#[test]
fn a_variable_gives_the_token_where_none_is_stored() {
    let desk = Desk::new();
    project(&desk, "acme-docs", "https://github.com/acme/docs");
    let environment = [("COPYDESK_CREDENTIAL_ACME_DOCS", TOKEN)];
    let arguments = ["project", "credential", "show", "acme-docs", "--json"];
    let shown = desk.run_with(&arguments, &environment).json();
    assert_eq!(shown["source"], "environment");
    assert_eq!(shown["variable"], "COPYDESK_CREDENTIAL_ACME_DOCS");
    let wrong = desk.run_with(&arguments, &[("COPYDESK_CREDENTIAL_ACME_DOCS", "planted\nb")]).json();
    let problem = wrong["problem"].as_str().unwrap();
    assert!(problem.contains("COPYDESK_CREDENTIAL_ACME_DOCS") && !problem.contains("planted"), "{problem}");
    assert_eq!(desk.run_with(&arguments, &[("COPYDESK_CREDENTIAL_ACME_DOCS", "")]).json()["source"], Value::Null);

    set(&desk, "acme-docs", &[], TOKEN).ok();
    assert_eq!(desk.run_with(&arguments, &environment).json()["source"], "stored", "what is stored wins");
    let removed = desk.run_with(&["project", "credential", "remove", "acme-docs"], &environment).ok();
    assert!(removed.err.contains("COPYDESK_CREDENTIAL_ACME_DOCS"), "{}", removed.err);
}

#[test]
fn host_settings_are_set_shown_and_taken_back() {
    let desk = desk_with("https://git.example.com/acme/docs");
    let update = |flags: &[&str]| desk.run(&[&["project", "update", "docs", "--json"], flags].concat());
    let shown = |flags: &[&str]| update(flags).json();
    let plain = json!({
        "kind": null, "apiUrl": null, "caFile": null, "acceptAnyCertificate": false, "comments": "mentions",
        "mention": null, "jobLabel": null, "labels": [], "reviewers": [],
    });
    let first = shown(&[]);
    assert_eq!((&first["host"], &first["hostKind"]), (&plain, &json!("git")));
    write(&desk, "ca.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    let flags = ["--host", "gitea", "--host-api-url", "http://git.example.com/api/v1/", "--host-ca-file", "ca.pem"];
    let changed = update(&[&flags[..], &["--host-accept-any-certificate"]].concat());
    assert_eq!(changed.err.matches("anybody in between").count(), 2, "{}", changed.err);
    let changed = changed.json();
    assert_eq!((&changed["hostKind"], &changed["host"]["kind"]), (&json!("forgejo"), &json!("forgejo")));
    assert_eq!(changed["host"]["apiUrl"], "http://git.example.com/api/v1");
    assert!(changed["host"]["caFile"].as_str().unwrap().starts_with('/'), "{changed}");
    assert_eq!(changed["host"]["acceptAnyCertificate"], true);
    let text = desk.run(&["project", "show", "docs"]).ok().out;
    assert!(text.contains("Forgejo or Gitea") && text.contains("any is accepted"), "{text}");
    assert_eq!(shown(&["--base-ref", "next"])["host"], changed["host"], "what is not named stays");

    let back = ["--host", "auto", "--host-api-url", "default", "--host-ca-file", "none"];
    assert_eq!(shown(&[&back[..], &["--host-accept-any-certificate=false"]].concat())["host"], plain);
    write(&desk, "empty.pem", "");
    for wrong in [
        ["--host", "svn"],
        ["--host-api-url", "https://me:planted@git.example.com"],
        ["--host-api-url", "git.example.com"],
        ["--host-ca-file", "nowhere.pem"],
        ["--host-ca-file", "empty.pem"],
        ["--host-ca-file", "."],
    ] {
        let ran = update(&wrong);
        assert!(ran.code == 2 && !ran.err.contains("planted"), "{wrong:?}: {}", ran.err);
    }
}

/// All bytes below a folder.
fn everything(folder: &std::path::Path, all: &mut Vec<u8>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => everything(&entry.path(), all),
            kind if kind.is_file() => all.extend(std::fs::read(entry.path()).unwrap()),
            _ => {}
        }
    }
}

/// What others see of a process that runs. It shows nothing for a moment after its start.
fn command_line(pid: u32) -> String {
    let read = || String::from_utf8(std::fs::read(format!("/proc/{pid}/cmdline")).unwrap()).unwrap();
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(30);
    std::iter::repeat_with(read)
        .find(|line| !line.is_empty() || std::time::Instant::now() > patience)
        .filter(|line| line.contains("copydesk"))
        .expect("it has a command line")
}

#[test]
fn a_credential_is_in_no_log_no_output_no_command_line_and_no_file() {
    let desk = desk_with("https://github.com/acme/docs");
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("token");
    std::fs::write(&file, TOKEN).unwrap();
    let mut said = Vec::new();
    let mut note = |ran: Ran| said.push(format!("{}{}", ran.out, ran.err));

    // It waits for its input, so there is time to look.
    let mut setting = desk.command(&["project", "credential", "set", "docs"]);
    let setting = setting.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut setting = setting.spawn().unwrap();
    let set_line = command_line(setting.id());
    setting.stdin.take().unwrap().write_all(TOKEN.as_bytes()).unwrap();
    note(Ran::new(setting.wait_with_output().unwrap()).ok());
    note(set(&desk, "docs", &["--token-file", file.to_str().unwrap(), "--json"], "").ok());

    let debug = [("COPYDESK_LOG", "trace"), ("COPYDESK_CREDENTIAL_DOCS", TOKEN), ("COPYDESK_CREDENTIAL_MORE", TOKEN)];
    project(&desk, "more", "https://github.com/acme/more");
    let server = desk.serve(&debug);
    let server_line = command_line(server.child.id());
    for arguments in [
        &["project", "credential", "show", "docs"][..],
        &["project", "credential", "show", "docs", "--json"],
        &["project", "credential", "show", "more"],
        &["project", "credential", "show", "more", "--json"],
        &["project", "show", "docs", "--json"],
        &["project", "list", "--json"],
        &["config", "--json"],
        &["credentials", "rotate", "--json"],
        // A mistake elsewhere must not make the environment part of an error.
        &["config", "--data-dir", ""],
    ] {
        note(desk.run_with(arguments, &debug));
    }
    // The name of a setting where that of a project was meant.
    let mistaken = desk.run_with(&["config"], &[("COPYDESK_CREDENTIALS_DOCS", TOKEN)]);
    assert_eq!(mistaken.code, 2);
    note(mistaken);
    // Uses that fail.
    let keys = std::fs::read(desk.path().join(KEY_FILE)).unwrap();
    for broken in ["", "copydesk-key-v1 other AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"] {
        std::fs::write(desk.path().join(KEY_FILE), broken).unwrap();
        let failed = desk.run_with(&["project", "credential", "show", "docs"], &debug);
        assert!(failed.out.contains("problem"), "{}", failed.out);
        note(failed);
        note(desk.run(&["credentials", "rotate"]));
    }
    std::fs::write(desk.path().join(KEY_FILE), keys).unwrap();
    let worked = desk.run(&["project", "credential", "show", "docs"]).ok();
    assert!(!worked.out.contains("problem"), "{}", worked.out);
    note(worked);
    let (_, log) = server.terminate();
    assert!(!log.is_empty());
    said.extend(log);
    said.extend([set_line, server_line]);
    for text in &said {
        assert!(!text.contains(TOKEN), "{text}");
    }

    let mut stored = Vec::new();
    everything(desk.path(), &mut stored);
    // Plain, and as base64 has it at each of three places.
    for needle in [TOKEN, "cGxhbnRlZC10b2tlbi1acT", "BsYW50ZWQtdG9rZW4tWnE3", "wbGFudGVkLXRva2VuLVpxN"] {
        assert!(!stored.windows(needle.len()).any(|part| part == needle.as_bytes()), "{needle}");
    }
}
