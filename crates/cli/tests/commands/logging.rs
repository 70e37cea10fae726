//! What the log looks like, and where links of workers lead.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use copydesk_testkit::GitRepo;
use serde_json::{Value, json};

use crate::support::{Desk, get, mcp_call};

/// The line in which a server says that it listens, as it writes it to a terminal.
fn on_a_terminal(environment: &[(&str, &str)]) -> String {
    let desk = Desk::new();
    let master = rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY).unwrap();
    rustix::pty::grantpt(&master).unwrap();
    rustix::pty::unlockpt(&master).unwrap();
    let name = rustix::pty::ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let terminal = std::fs::OpenOptions::new().read(true).write(true).open(name).unwrap();
    let mut command = desk.command(&["serve", "--listen", "127.0.0.1:0"]);
    let mut child = command.envs(environment.iter().copied()).stdout(Stdio::null()).stderr(terminal).spawn().unwrap();
    let lines = BufReader::new(std::fs::File::from(master)).lines().map(Result::unwrap);
    let said = lines.into_iter().find(|line| line.contains("listening"));
    child.kill().unwrap();
    child.wait().unwrap();
    said.expect("it says that it listens")
}

#[test]
fn people_at_a_terminal_read_text_and_programs_json() {
    let text = on_a_terminal(&[]);
    assert!(!text.contains('{') && text.contains("INFO") && text.contains("127.0.0.1:"), "{text}");
    let json = on_a_terminal(&[("COPYDESK_LOG_FORMAT", "json")]);
    assert!(serde_json::from_str::<Value>(json.trim()).is_ok(), "{json}");
    let desk = Desk::new();
    // It reads its log as JSON.
    let (_, log) = desk.serve(&[]).terminate();
    assert!(log.iter().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{log:?}");
}

#[test]
fn requests_can_be_left_out_of_the_log() {
    for (setting, lines) in [("true", 1), ("false", 0)] {
        let desk = Desk::new();
        let server = desk.serve(&[("COPYDESK_ACCESS_LOG", setting)]);
        assert_eq!(get(&server.url, "/healthz", "").0, 200);
        let (_, log) = server.terminate();
        assert_eq!(log.iter().filter(|line| line.contains("copydesk::access")).count(), lines, "{log:?}");
        assert!(log.iter().any(|line| line.contains("stopped")), "the rest is there: {log:?}");
    }
}

#[test]
fn what_agents_say_to_tools_is_in_no_log() {
    let (desk, git) = (Desk::new(), GitRepo::new([("docs/index.md", "# Home\n")]));
    let repository = git.path().to_str().unwrap();
    desk.run(&["project", "create", "--name", "Docs", "--repository", repository]).ok();
    let key = desk.run(&["key", "create", "--project", "docs", "--json"]).json()["key"].as_str().unwrap().to_owned();
    let server = desk.serve(&[("COPYDESK_LOG", "debug")]);
    let planted = json!({ "prompt": "planted-prompt", "clientReference": "planted-reference", "model": "noop" });
    let job = mcp_call(&server.url, "docs", &key, "", "create_job", &planted);
    let wait = json!({ "id": job["id"], "timeoutSeconds": 60 });
    assert_eq!(mcp_call(&server.url, "docs", &key, "", "wait_for_job", &wait)["stillActive"], false);
    let (_, log) = server.terminate();
    assert!(log.iter().any(|line| line.contains("/mcp/docs")), "the calls themselves are told: {log:?}");
    let told: Vec<&String> = log.iter().filter(|line| line.contains("planted") || line.contains(&key)).collect();
    assert!(told.is_empty(), "{told:?}");
}

#[test]
fn a_worker_takes_the_address_of_the_servers_and_misses_it() {
    let desk = Desk::new();
    let arguments = ["worker", "--admin-listen", "127.0.0.1:0"];
    let (_, log) = desk.start(&arguments, &[], "admin_listen").terminate();
    assert!(log.iter().any(|line| line.contains("public_url is not set")), "{log:?}");
    let told = [&arguments[..], &["--public-url", "https://docs.example.com"]].concat();
    let (_, log) = desk.start(&told, &[], "admin_listen").terminate();
    assert!(!log.iter().any(|line| line.contains("public_url is not set")), "{log:?}");
}
