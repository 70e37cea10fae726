use serde_json::{Value, json};

use crate::support::{Desk, Serving, body_of, get, post};

const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const CHATGPT: &str =
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot";

/// Tells the server of somebody who read a page.
fn read(server: &Serving, project: &str, key: &str, path: &str, user_agent: &str) {
    let event = json!({ "path": path, "userAgent": user_agent });
    let (status, answer) = post(&server.url, &format!("/v1/analytics/{project}/events"), key, &event);
    assert_eq!(status, 200, "{answer}");
}

fn totals(server: &Serving, project: &str, key: &str) -> [u64; 2] {
    let (status, answer) = get(&server.url, &format!("/v1/analytics/{project}/views"), key);
    assert_eq!(status, 200, "{answer}");
    human_and_ai(&body_of(&answer))
}

fn human_and_ai(views: &Value) -> [u64; 2] {
    ["human", "ai"].map(|name| views["totals"][name].as_u64().unwrap())
}

#[test]
fn commands_see_the_views_of_a_running_server_and_of_one_that_was_killed() {
    let desk = Desk::new();
    let (project, key) = desk.project_and_key("Docs");
    let mut server = desk.serve(&[]);
    read(&server, &project, &key, "/a", FIREFOX);
    read(&server, &project, &key, "/a.md", CHATGPT);
    for running in [true, false] {
        if !running {
            server.child.kill().unwrap();
            server.child.wait().unwrap();
        }
        let top = desk.run(&["views", "top", &project, "--json"]).json();
        assert_eq!(human_and_ai(&top), [1, 1], "running: {running}");
        assert_eq!(top["views"][0]["path"], "/a");
        let agents = desk.run(&["views", "agents", &project, "--json"]).json();
        assert_eq!((&agents[0]["agent"], &agents[0]["countsAs"]), (&"ChatGPT-User".into(), &"ai".into()));
        let status = desk.run(&["views", "status", "--json"]).json();
        assert_eq!((&status[0]["project"], &status[0]["views"]), (&project.clone().into(), &2.into()));
        assert!(status[0]["bytes"].as_u64() > Some(0), "they are in the log: {status}");
    }
    let shown = desk.run(&["views", "top", &project]).ok().out;
    assert!(shown.contains("TOTAL") && shown.contains("(all pages)") && shown.contains("/a"), "{shown}");
    assert!(desk.run(&["views", "agents", &project]).ok().out.contains("token:ChatGPT-User"));
    assert!(desk.run(&["views", "status", &project]).ok().out.contains(&project));
    let none = desk.run(&["views", "top", &project, "--to", "2001-01-01", "--json"]).json();
    assert_eq!(human_and_ai(&none), [0, 0]);
    for wrong in [["--from", "soon"], ["--to", ""]] {
        assert_eq!(desk.run(&[&["views", "top", &*project][..], &wrong].concat()).code, 2);
    }
    assert_eq!(desk.run(&["views", "top", "nobody"]).code, 1);
}

#[test]
fn a_command_that_needs_a_project_takes_the_one_of_the_environment() {
    let desk = Desk::new();
    let (project, _) = desk.project_and_key("Docs");
    desk.project_and_key("Other");
    let there = [("COPYDESK_PROJECT", &*project)];
    let log =
        "203.0.113.7 - - [05/Jan/2026:10:00:00 +0000] \"GET /a HTTP/1.1\" 200 5 \"-\" \"Mozilla/5.0 Firefox/140.0\"\n";
    std::fs::write(desk.path().join("access.log"), log).unwrap();
    desk.run_with(&["import", "access.log"], &there).ok();
    assert_eq!(human_and_ai(&desk.run_with(&["views", "top", "--json"], &there).json()), [1, 0]);
    for command in [["views", "agents"], ["views", "drain"]] {
        desk.run_with(&command, &there).ok();
    }
    let forgotten = desk.run_with(&["views", "restore"], &there);
    assert!(forgotten.code == 1 && forgotten.err.contains("nothing was forgotten"), "{}", forgotten.err);
    let made = |words: &[&str]| desk.run_with(&[&["key", "create", "--json"], words].concat(), &there).json();
    assert_eq!(made(&[])["projectId"], project);
    assert!(made(&["--all-projects"])["projectId"].is_null());
    assert_eq!(made(&["--project", "other"])["projectId"], "other", "what is named goes before it");
    let all = desk.run_with(&["views", "status", "--json"], &there).json();
    assert_eq!(all.as_array().unwrap().len(), 2, "what is about all projects stays so");
    for needs in [["views", "top"], ["views", "restore"], ["import", "access.log"], ["key", "create"]] {
        for nothing in [&[][..], &[("COPYDESK_PROJECT", "")]] {
            let ran = desk.run_with(&needs, nothing);
            assert!(ran.code == 2 && ran.err.contains("set COPYDESK_PROJECT"), "{needs:?}: {}", ran.err);
        }
    }
}

#[test]
fn a_backup_of_a_running_server_can_be_restored_and_served() {
    let desk = Desk::new();
    let (project, key) = desk.project_and_key("Docs");
    let server = desk.serve(&[]);
    read(&server, &project, &key, "/a", FIREFOX);
    let secret =
        |folder: &str| desk.run(&["views", "drain", &project, "--json", "--data-dir", folder]).json()["secret"].clone();
    let before = secret("copydesk-data");
    let done = desk.run(&["backup", "kept", "--json"]).json();
    assert_eq!(done["backup"]["database"], "SQLite");
    read(&server, &project, &key, "/a", FIREFOX);
    desk.run(&["restore", "kept", "--data-dir", "copy"]).ok();
    let copied = desk.serve(&[("COPYDESK_DATA_DIR", "copy")]);
    assert_eq!(totals(&copied, &project, &key), [1, 0], "the key opens it, and the views are of that moment");
    assert_eq!(totals(&server, &project, &key), [2, 0]);
    assert_eq!(secret("copy"), before, "its keys open what is sealed");
    let again = desk.run(&["backup", "kept"]);
    assert!(again.code == 2 && again.err.contains("already"), "{}", again.err);
}

#[test]
fn deleting_a_project_takes_its_views_with_it() {
    let desk = Desk::new();
    let create = [
        "project",
        "create",
        "--name",
        "Docs",
        "--repository",
        "https://example.com/d.git",
        "--id",
        "docs",
        "--base-ref",
        "main",
    ];
    desk.run(&create).ok();
    let key = |desk: &Desk| {
        desk.run(&["key", "create", "--project", "docs", "--json"]).json()["key"].as_str().unwrap().to_owned()
    };
    let first = key(&desk);
    let server = desk.serve(&[]);
    read(&server, "docs", &first, "/a", FIREFOX);
    desk.run(&["project", "delete", "docs", "--yes"]).ok();
    desk.run(&create).ok();
    assert_eq!(totals(&server, "docs", &key(&desk)), [0, 0]);
}

#[test]
fn two_servers_on_one_folder_share_the_views() {
    let desk = Desk::new();
    let (project, key) = desk.project_and_key("Docs");
    let (first, second) = (desk.serve(&[]), desk.serve(&[]));
    read(&first, &project, &key, "/a", FIREFOX);
    read(&second, &project, &key, "/a", FIREFOX);
    assert_eq!((totals(&first, &project, &key), totals(&second, &project, &key)), ([2, 0], [2, 0]));
    assert_eq!(first.terminate().0, Some(0));
    read(&second, &project, &key, "/a", FIREFOX);
    assert_eq!(totals(&second, &project, &key), [3, 0], "it has taken over");
}

/// A list of one's own makes an agent of what was a bot, from now on and, if wanted, in the past.
#[test]
fn history_is_judged_again_when_the_list_improves() {
    let desk = Desk::new();
    let (project, key) = desk.project_and_key("Docs");
    let server = desk.serve(&[]);
    read(&server, &project, &key, "/a", "AcmeReader/1.0 (+https://acme.example/bot)");
    read(&server, &project, &key, "/a", FIREFOX);
    assert_eq!(totals(&server, &project, &key), [1, 0]);
    let same = desk.run(&["reclassify", "--json"]).json();
    assert_eq!(same, json!({ "applied": false, "projects": [] }));
    let lists = desk.path().join("copydesk-data/lists");
    std::fs::create_dir_all(&lists).unwrap();
    let agent = "date = \"2026-11-15\"\n[[agent]]\nname = \"AcmeReader\"\noperator = \"Acme\"\n\
                 purpose = \"Reads for people\"\nclass = \"assistant\"\ndocs = \"https://acme.example/bot\"\n";
    std::fs::write(lists.join("agents.toml"), agent).unwrap();
    let shown = desk.run(&["reclassify"]).ok().out;
    assert!(shown.contains("AcmeReader") && shown.contains("+1") && shown.contains("Nothing was changed"), "{shown}");
    assert_eq!(totals(&server, &project, &key), [1, 0], "only shown");
    let done = desk.run(&["reclassify", "--project", &project, "--yes", "--json"]).json();
    assert_eq!((&done["applied"], &done["projects"][0]["then"]["assistant"]), (&true.into(), &1.into()), "{done}");
    assert_eq!(totals(&server, &project, &key), [1, 1]);
    drop(server);
    assert_eq!(totals(&desk.serve(&[]), &project, &key), [1, 1], "it stays so");
    std::fs::write(lists.join("agents.toml"), "nonsense").unwrap();
    let broken = desk.run(&["reclassify"]);
    assert!(broken.code == 1 && broken.err.contains("agents.toml"), "{}", broken.err);
}

#[test]
fn a_sender_gets_a_new_secret_when_somebody_asks_for_it() {
    let desk = Desk::new();
    let (project, _) = desk.project_and_key("Docs");
    for command in [["views", "drain"], ["project", "hook"]] {
        let ask =
            |flags: &[&str]| desk.run(&[&command[..], &[&project, "--json"], flags].concat()).json()["secret"].clone();
        let first = ask(&[]);
        assert_eq!(first.as_str().unwrap().len(), 64);
        assert_eq!(ask(&[]), first);
        let second = ask(&["--rotate"]);
        assert_ne!(second, first);
        let third = ask(&["--rotate", "--at-once"]);
        assert_ne!(third, second);
        assert_eq!(ask(&[]), third);
        assert_eq!(desk.run(&[&command[..], &[&project, "--at-once"]].concat()).code, 2);
        assert_eq!(desk.run(&[&command[..], &["nobody", "--rotate"]].concat()).code, 1);
    }
    assert!(!desk.path().join("copydesk-data/secret.key").exists(), "there is one key file");
    let rotated = desk.run(&["credentials", "rotate", "--json"]).json();
    assert_eq!(rotated["resealed"], 4, "{rotated}");
}

#[test]
fn a_log_counts_once_while_it_grows_in_the_middle_of_lines_and_in_copies() {
    let desk = Desk::new();
    let (project, _) = desk.project_and_key("Docs");
    let line = |number: usize| {
        let at = format!("10/Oct/2024:13:{:02}:{:02} +0000", number / 60, number % 60);
        format!("192.0.2.1 - - [{at}] \"GET /page-{} HTTP/1.1\" 200 512 \"-\" \"{FIREFOX}\"\n", number % 3)
    };
    let log: String = (0..100).map(line).collect();
    let path = desk.path().join("access.log");
    let file = path.to_str().unwrap();
    let import = |flags: &[&str]| desk.run(&[&["import", "--project", &project, file][..], flags].concat());
    std::fs::write(&path, &log[..log.len() * 2 / 3]).unwrap();
    let shown = import(&[]).ok().out;
    assert!(shown.contains("is not finished and is left for the next import"), "{shown}");
    std::fs::write(&path, log.trim_end()).unwrap();
    let report = import(&["--complete", "--json"]).json();
    assert_eq!((&report["total"]["lines"], &report["total"]["human"]), (&100.into(), &34.into()), "{report}");
    // A shorter copy, and a running server that holds the views.
    let _server = desk.serve(&[]);
    std::fs::write(&path, &log[..log.len() / 2]).unwrap();
    let report = import(&["--json"]).json();
    assert_eq!((&report["total"]["human"], &report["files"][0]["state"]), (&0.into(), &"already_imported".into()));
    let top = desk.run(&["views", "top", &project, "--json"]).json();
    assert_eq!(human_and_ai(&top), [100, 0]);
}

#[test]
fn an_import_that_only_looks_does_not_say_that_it_imported() {
    let desk = Desk::new();
    desk.project_and_key("Docs");
    let line = |path: &str, status: u32| {
        format!("192.0.2.7 - - [10/Oct/2026:13:00:36 +0000] \"GET {path} HTTP/1.1\" {status} 23 \"-\" \"curl/8.5.0\"\n")
    };
    std::fs::write(desk.path().join("access.log"), [line("/a", 200), line("/b", 301), line("/c", 404)].concat())
        .unwrap();
    let looked = desk.run(&["import", "access.log", "--project", "docs", "--dry-run"]).ok();
    assert!(looked.out.starts_with("access.log (combined): would be imported\n"), "{}", looked.out);
    assert!(looked.out.contains("  2 other statuses\n") && !looked.out.contains("error"), "{}", looked.out);
    let missing = desk.run(&["import", "nope.log", "--project", "docs"]);
    assert!(missing.code == 1 && missing.out.starts_with("nope.log: could not be read: "), "{}", missing.out);
}
