use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::process::CommandExt;

use copydesk_testkit::Backend;

use crate::support::{Desk, Ran, STRANGER};

#[test]
fn a_project_is_made_shown_changed_and_deleted() {
    let desk = Desk::new();
    let created = desk.run(&[
        "project",
        "create",
        "--name",
        "Acme Docs",
        "--repository",
        "https://x:secret@example.com/docs.git",
        "--base-ref",
        "main",
        "--json",
    ]);
    assert!(!created.err.contains("secret") && created.err.contains("credential"), "{}", created.err);
    let project = created.json();
    assert_eq!(project["id"], "acme-docs");
    assert_eq!(project["repository"], "https://example.com/docs");
    assert_eq!((&project["baseRef"], &project["timeZone"]), (&"main".into(), &"UTC".into()));
    assert_eq!(project["docsPaths"], serde_json::json!(["docs"]));

    let change =
        ["project", "update", "acme-docs", "--docs-path", "a", "--docs-path", "b/c", "--time-limit", "45m", "--json"];
    let changed = desk.run(&change).json();
    assert_eq!(changed["docsPaths"], serde_json::json!(["a", "b/c"]));
    assert_eq!(changed["timeLimitSeconds"], 2700);
    let opened = ["project", "update", "acme-docs", "--allow", "data/*.json", "--deny", "a/legal/", "--json"];
    let written = desk.run(&opened).json()["writePaths"].clone();
    assert_eq!(written, serde_json::json!({ "allow": ["data/*.json"], "deny": ["a/legal"] }));
    let closed = desk.run(&["project", "update", "acme-docs", "--allow", "none", "--json"]).json();
    assert_eq!(closed["writePaths"], serde_json::json!({ "allow": [], "deny": ["a/legal"] }));
    let back = desk.run(&["project", "update", "acme-docs", "--time-limit", "default", "--json"]).json();
    assert!(back["timeLimitSeconds"].is_null());
    assert_eq!(desk.run(&["project", "show", "acme-docs", "--json"]).json(), back);
    assert_eq!(desk.run(&["project", "list", "--json"]).json(), serde_json::json!([back]));

    let unconfirmed = desk.run(&["project", "delete", "acme-docs"]);
    assert_eq!(unconfirmed.code, 2);
    assert!(unconfirmed.err.contains("--yes"));
    desk.run(&["project", "delete", "acme-docs", "--yes", "--json"]).json();
    assert_eq!(desk.run(&["project", "show", "acme-docs"]).code, 1);
}

#[test]
fn looking_into_a_wrong_folder_makes_nothing_there() {
    let desk = Desk::new();
    for command in [&["project", "list"][..], &["project", "show", "x"], &["key", "list"], &["views", "status"]] {
        let ran = desk.run(command);
        assert_eq!(ran.code, 1, "{command:?}: {}", ran.err);
        assert!(ran.err.contains("no Copydesk database") && ran.err.contains("--data-dir"), "{}", ran.err);
    }
    assert_eq!(std::fs::read_dir(desk.path()).unwrap().count(), 0);
}

#[test]
fn a_data_folder_that_is_open_to_others_is_closed_or_refused() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let open = |name: &str, mode: u32| {
        let path = desk.path().join(name);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let make = |path: &std::path::Path, name: &str| {
        let base = ["project", "create", "--repository", "https://github.com/acme/docs", "--base-ref", "main"];
        desk.run(&[&base[..], &["--name", name, "--data-dir", path.to_str().unwrap()]].concat())
    };
    let empty = open("empty", 0o755);
    let made = make(&empty, "a");
    assert!(made.code == 0 && made.err.contains("closed the data folder"), "{}", made.err);
    assert_eq!(mode(&empty), 0o700);
    assert!(!make(&empty, "b").err.contains("closed the data folder"), "once is enough");
    open("empty", 0o755);
    assert!(make(&empty, "c").err.contains("closed the data folder"), "also one that is in use");
    assert_eq!(mode(&empty), 0o700);

    let fresh = open("fresh", 0o755);
    std::fs::create_dir(fresh.join("lost+found")).unwrap();
    assert_eq!(make(&fresh, "a").ok().code, 0, "a new file system is as good as empty");
    assert_eq!(mode(&fresh), 0o700);

    let others = open("others", 0o755);
    std::fs::write(others.join("letter.txt"), "not ours").unwrap();
    let shared = open("shared", 0o1777);
    for (path, before) in [(&others, 0o755), (&shared, 0o1777)] {
        let refused = make(path, "d");
        assert!(refused.code == 1 && refused.err.contains("is open to other users"), "{}", refused.err);
        assert!(refused.err.contains("chmod 700"), "{}", refused.err);
        assert_eq!(mode(path), before, "it is not ours to close");
        assert!(!path.join("copydesk.db").exists());
    }
}

#[test]
fn a_folder_that_may_not_be_looked_into_is_not_said_to_be_empty() {
    let desk = Desk::new();
    desk.project_and_key("Docs");
    let data = desk.path().join("copydesk-data");
    for arguments in [&["project", "list"][..], &["serve", "--listen", "127.0.0.1:0"], &["worker"]] {
        let mut command = desk.command(&[arguments, &["--data-dir", data.to_str().unwrap()]].concat());
        if rustix::process::geteuid().is_root() {
            std::fs::set_permissions(desk.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
            command.uid(STRANGER).gid(STRANGER).current_dir("/");
        } else {
            std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o000)).unwrap();
        }
        let ran = Ran::new(command.output().unwrap());
        std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(ran.code, 1, "{}", ran.err);
        assert!(ran.err.contains("permission denied: this user may not look into the data folder"), "{}", ran.err);
        assert!(ran.err.contains("; it belongs to the user ") && ran.err.contains("`sudo -u "), "{}", ran.err);
    }
}

#[test]
fn root_leaves_nothing_in_the_folder_of_the_service() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can try what root does");
        return;
    }
    let desk = Desk::new();
    let data = desk.path().join("copydesk-data");
    std::fs::DirBuilder::new().mode(0o700).create(&data).unwrap();
    std::os::unix::fs::chown(&data, Some(STRANGER), Some(STRANGER)).unwrap();
    let create = ["project", "create", "--name", "x", "--repository", "https://example.com/x", "--base-ref", "main"];
    for command in [&create[..], &["key", "list"], &["migrate"]] {
        let ran = desk.run(command);
        let words =
            format!("belongs to the user '#{STRANGER}'; the service could not read files that root creates there");
        assert!(ran.code == 1 && ran.err.contains(&words), "{command:?}: {}", ran.err);
        assert!(ran.err.contains(&format!("`sudo -u '#{STRANGER}' copydesk …`")), "{}", ran.err);
    }
    std::fs::write(desk.path().join("the service.toml"), "data_dir = \"copydesk-data\"\n").unwrap();
    let hint = format!("`sudo -u '#{STRANGER}' copydesk --config 'the service.toml' …`");
    for (words, variable) in [
        (&["key", "list", "--config", "the service.toml"][..], ("UNRELATED", "")),
        (&["key", "list"], ("COPYDESK_CONFIG", "the service.toml")),
    ] {
        let ran = desk.run_with(words, &[variable]);
        assert!(ran.code == 1 && ran.err.contains(&hint), "{words:?}: {}", ran.err);
    }
    assert_eq!(std::fs::read_dir(&data).unwrap().count(), 0, "nothing is made");
    // A service that runs as root in a folder of somebody else's, as in a container, is root's all the same.
    drop(desk.serve(&[]));
    desk.run(&create).ok();
}

#[test]
fn a_path_becomes_a_file_address() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path().join("repo")).unwrap();
    let create = ["project", "create", "--name", "x", "--repository", "./repo", "--base-ref", "main", "--json"];
    let project = desk.run(&create);
    assert!(project.err.contains("there is no git repository at the address"), "{}", project.err);
    assert!(!project.err.contains("credential"), "a path has none: {}", project.err);
    let expected = format!("file://{}/repo", desk.path().canonicalize().unwrap().display());
    let shown = project.json()["repository"].as_str().unwrap().to_owned();
    assert_eq!(shown.rsplit('/').next(), expected.rsplit('/').next());
    assert!(shown.starts_with("file:///"));
}

#[test]
fn an_address_without_its_scheme_is_no_path() {
    let desk = Desk::new();
    let create = |repository: &str| {
        let flags = ["--repository", repository, "--base-ref", "main", "--json"];
        desk.run(&[&["project", "create", "--name", "x"], &flags[..]].concat())
    };
    let made = create("github.com/acme/docs");
    let note = "the repository is taken for https://github.com/acme/docs; a folder of this machine is `./github.com/acme/docs`";
    assert!(made.err.contains(note), "{}", made.err);
    let project = made.json();
    assert_eq!(
        (&project["repository"], &project["hostKind"]),
        (&"https://github.com/acme/docs".into(), &"github".into())
    );
    let folder = create("./github.com/acme/docs");
    assert!(folder.err.contains("there is nothing at file://"), "{}", folder.err);
}

#[test]
fn a_duration_without_a_unit_is_answered_with_all_that_it_may_be() {
    let desk = Desk::new();
    let (project, _) = desk.project_and_key("Docs");
    let ran = desk.run(&["key", "create", "--project", &project, "--expires", "3"]);
    let words =
        "--expires is not a duration: add its unit: 3d for days, 3h for hours, 3m for minutes or 3s for seconds";
    assert!(ran.code == 2 && ran.err.contains(words), "{}", ran.err);
}

#[test]
fn another_repository_with_the_old_base_branch_is_noted() {
    let desk = Desk::new();
    desk.project_and_key("Docs");
    let update = |more: &[&str]| desk.run(&[&["project", "update", "docs"], more].concat()).ok().err;
    let words = "jobs still start from the branch `main`; change the base branch if the new repository has another";
    assert!(update(&["--repository", "https://example.com/other"]).contains(words));
    assert!(!update(&["--repository", "https://example.com/other"]).contains(words), "it is the same now");
    assert!(!update(&["--repository", "https://example.com/third", "--base-ref", "trunk"]).contains(words));
    assert!(!update(&["--name", "Other"]).contains(words));
}

#[test]
fn a_test_does_not_praise_a_credential_that_is_not_set() {
    let desk = Desk::new();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let repository = format!("http://{closed}/acme/docs");
    let create = ["project", "create", "--name", "x", "--base-ref", "main", "--repository", &repository];
    desk.run(&[&create[..], &["--host", "github"]].concat()).ok();
    let tested = desk.run(&["project", "test", "x"]);
    assert!(tested.out.contains("yes  the settings can be used for GitHub; no credential is set\n"), "{}", tested.out);
    desk.run_with(&["project", "credential", "set", "x", "--token-env", "T"], &[("T", "ghp_x")]).ok();
    let tested = desk.run(&["project", "test", "x"]);
    assert!(tested.out.contains("yes  the settings and the credential can be used for GitHub\n"), "{}", tested.out);
}

#[test]
fn defaults_are_those_of_a_new_project() {
    let desk = Desk::new();
    let help = |command: &str| desk.run(&["project", command, "--help"]).ok().out;
    assert!(help("create").contains("[default: docs]"), "{}", help("create"));
    for default in ["[default: docs]", "[default: the main branch"] {
        assert!(!help("update").contains(default), "{}", help("update"));
    }
    assert!(help("update").contains("A folder that jobs may edit"), "{}", help("update"));
}

#[test]
fn bad_values_are_usage_errors_and_make_nothing() {
    let desk = Desk::new();
    let base = ["project", "create", "--name", "x", "--repository", "https://example.com/x"];
    for wrong in [
        ["--base-ref", "a..b"],
        ["--docs-path", "../x"],
        ["--allow", "/etc/*"],
        ["--deny", "."],
        ["--time-zone", "Mars/Olympus"],
        ["--jobs-per-hour", "-1"],
        ["--time-limit", "10"],
        ["--id", "Not Safe"],
    ] {
        let ran = desk.run(&[&base[..], &wrong].concat());
        assert_eq!(ran.code, 2, "{wrong:?}: {}", ran.err);
    }
    assert_eq!(desk.run(&["project", "list", "--json"]).code, 1, "there is nothing yet");
}

async fn keys(backend: Backend) {
    let desk = Desk::on(backend).await;
    let (project, key) = desk.project_and_key("Docs");
    assert!(copydesk_domain::ApiKey::parse(&key).is_ok());
    let expiring =
        desk.run(&["key", "create", "--project", &project, "--scope", "read", "--expires", "90d", "--json"]).json();
    assert_eq!(expiring["scope"], "read");
    assert!(expiring["expiresAt"].is_string());
    let listed = desk.run(&["key", "list", "--project", &project]).ok().out;
    assert!(!listed.contains(&key), "a key is printed once");
    let id = expiring["id"].as_str().unwrap();
    assert!(desk.run(&["key", "revoke", id, "--json"]).json()["revokedAt"].is_string());
    assert_eq!(desk.run(&["key", "revoke", "nobody"]).code, 1);
    assert_eq!(desk.run(&["key", "create", "--project", "nobody"]).code, 1);
    assert_eq!(desk.run(&["key", "create"]).code, 2);
    assert_eq!(desk.run(&["key", "create", "--project", &project, "--expires", "90"]).code, 2);
}

#[test]
fn a_key_that_could_not_be_printed_opens_nothing() {
    let desk = Desk::new();
    let (project, _) = desk.project_and_key("Docs");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status = desk.command(&["key", "create", "--project", &project]).stdout(full).status().unwrap();
    assert_eq!(status.code(), Some(1));
    let keys = desk.run(&["key", "list", "--json"]).json();
    assert!(keys[1]["revokedAt"].is_string(), "{keys}");
    assert_eq!(desk.run(&["key", "list", "--project", "nobody"]).code, 1);
}

#[tokio::test]
async fn keys_on_sqlite() {
    keys(Backend::Sqlite).await;
}

#[tokio::test]
async fn keys_on_postgres() {
    keys(Backend::Postgres).await;
}
