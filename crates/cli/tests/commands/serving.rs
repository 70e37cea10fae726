use std::io::{BufRead, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::restoring::eventually;
use crate::support::{Desk, Serving, body_of, get, post};

#[test]
fn the_command_line_works_beside_a_running_server() {
    let desk = Desk::new();
    let (project, key) = desk.project_and_key("Docs");
    let server = desk.serve(&[]);
    let path = format!("/v2/agent/{project}/jobs");
    assert_eq!(get(&server.url, &path, &key).0, 200);
    let keys = desk.run(&["key", "list", "--json"]).json();
    desk.run(&["key", "revoke", keys[0]["id"].as_str().unwrap()]).ok();
    assert_eq!(get(&server.url, &path, &key).0, 401, "refused by the very next request");
    let (other, other_key) = desk.project_and_key("Another");
    assert_eq!(get(&server.url, &format!("/v2/agent/{other}/jobs"), &other_key).0, 200);
}

#[test]
fn neither_the_log_nor_the_command_lines_hold_a_key() {
    let desk = Desk::new();
    let (project, key) = desk.project_and_key("Docs");
    let server = desk.serve(&[("COPYDESK_LOG", "debug")]);
    get(&server.url, &format!("/v2/agent/{project}/jobs?key={key}"), &key);
    get(&server.url, &format!("/v2/agent/{key}/jobs"), &key);
    let pid = server.child.id();
    let command_line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
    assert!(!String::from_utf8_lossy(&command_line).contains(&key));
    let (_, log) = server.terminate();
    assert!(log.iter().any(|line| line.contains("\"status\":200")), "{log:?}");
    assert!(!log.iter().any(|line| line.contains(&key)), "{log:?}");
}

#[test]
fn a_signal_stops_it_in_order_and_a_kill_loses_nothing() {
    let desk = Desk::new();
    let (project, key) = desk.project_and_key("Docs");
    let server = desk.serve(&[]);
    let environment =
        [("COPYDESK_URL", server.url.as_str()), ("COPYDESK_PROJECT", &*project), ("COPYDESK_API_KEY", &*key)];
    let job = desk.run_with(&["job", "create", "x", "--json"], &environment).json();
    let pid = server.child.id().to_string();
    assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
    drop(server);
    let server = desk.serve(&[]);
    let path = format!("/v2/agent/{project}/job/{}", job["id"].as_str().unwrap());
    assert_eq!(get(&server.url, &path, &key).0, 200, "a job answered with 201 is there after a kill");
    let (code, log) = server.terminate();
    assert_eq!(code, Some(0));
    assert!(log.last().unwrap().contains("stopped"), "{log:?}");
}

#[test]
fn without_a_git_that_can_do_the_work_nothing_starts() {
    let desk = Desk::new();
    let fake = desk.path().join("bin");
    std::fs::create_dir(&fake).unwrap();
    let path = [("PATH", fake.to_str().unwrap())];
    let refused = |words: &str| {
        for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["worker"]] {
            let ran = desk.run_with(command, &path);
            assert_eq!(ran.code, 1, "{}", ran.err);
            assert!(ran.err.contains(words) && ran.err.contains("hint: install git"), "{}", ran.err);
        }
    };
    refused("there is no git on the PATH; Copydesk needs git 2.38 or newer");
    let say = |version: &str| {
        let program = fake.join("git");
        std::fs::write(&program, format!("#!/bin/sh\necho 'git version {version}'\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    say("2.34.1");
    refused("the git on the PATH is version 2.34.1; Copydesk needs git 2.38 or newer");
    assert!(!desk.path().join("copydesk-data").exists(), "nothing is made");
    say("2.38.0");
    desk.serve(&path);
}

fn files(pid: u32) -> Rlimit {
    prlimit(Pid::from_raw(pid.cast_signed()), Resource::Nofile, Rlimit { current: Some(80), maximum: Some(80) })
        .unwrap()
}

#[test]
fn a_process_that_is_out_of_files_goes_on_accepting() {
    let desk = Desk::new();
    let server = desk.serve(&[]);
    files(server.child.id());
    let address = server.url.strip_prefix("http://").unwrap();
    let idle: Vec<_> = (0..120).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
    let begun = Instant::now();
    // One that comes while the others are being let go may be among them; the next is answered.
    let is_well = || {
        let mut stream = std::net::TcpStream::connect(address).ok()?;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.starts_with("HTTP/1.1 200").then_some(())
    };
    while is_well().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(5), "not before the time of the idle ones was up");
    }
    drop(idle);
}

#[test]
fn a_server_may_have_as_many_files_open_as_the_machine_allows() {
    let desk = Desk::new();
    let program = desk.command(&["serve", "--listen", "127.0.0.1:0"]);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -Sn 300; ulimit -Hn 600; exec \"$0\" \"$@\""]).arg(program.get_program());
    command.args(program.get_args()).current_dir(desk.path());
    let server = Serving::start(command, "listen");
    assert_eq!(files(server.child.id()), Rlimit { current: Some(600), maximum: Some(600) });
}

#[test]
fn an_address_in_use_is_a_sentence() {
    let desk = Desk::new();
    let server = desk.serve(&[]);
    let taken = server.url.strip_prefix("http://").unwrap();
    let ran = desk.run(&["serve", "--listen", taken]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("cannot listen on") && ran.err.contains("--listen"), "{}", ran.err);
}

#[test]
fn servers_and_workers_have_a_listener_for_those_who_run_them() {
    let desk = Desk::new();
    for command in [["serve", "--listen", "127.0.0.1:0"].as_slice(), ["worker"].as_slice()] {
        let arguments = [command, &["--admin-listen", "127.0.0.1:0"]].concat();
        let process = desk.start(&arguments, &[], "admin_listen");
        let admin = process.url.clone();
        for path in ["/healthz", "/readyz", "/metrics"] {
            assert_eq!(get(&admin, path, "").0, 200, "{command:?} {path}");
        }
        assert_eq!(get(&admin, "/openapi.json", "").0, 404);
        let taken = desk.run(&["worker", "--admin-listen", admin.strip_prefix("http://").unwrap()]);
        assert!(taken.code == 1 && taken.err.contains("--admin-listen"), "{}", taken.err);
        assert_eq!(process.terminate().0, Some(0));
    }
    let server = desk.serve(&[]);
    assert_eq!(get(&server.url, "/metrics", "").0, 404, "not for everybody");
    let server = desk.serve(&[("COPYDESK_LIMITS__PUBLIC_METRICS", "true")]);
    assert_eq!(get(&server.url, "/metrics", "").0, 200);
}

#[test]
fn a_worker_beside_an_api_server_runs_its_jobs() {
    let desk = Desk::new();
    let (project, key) = desk.project_and_key("Docs");
    let server = desk.serve(&[("COPYDESK_RUNNER__WORKERS", "0")]);
    let mut worker = desk.command(&["worker"]).stderr(std::process::Stdio::null()).spawn().unwrap();
    let environment =
        [("COPYDESK_URL", server.url.as_str()), ("COPYDESK_PROJECT", &*project), ("COPYDESK_API_KEY", &*key)];
    let ran = desk.run_with(&["job", "create", "x", "--model", "noop", "--wait"], &environment);
    assert!(Command::new("kill").args(["-TERM", &worker.id().to_string()]).status().unwrap().success());
    assert!(worker.wait().unwrap().success());
    ran.ok();
}

#[test]
fn the_demonstration_runs_a_job_to_its_end() {
    let desk = Desk::new();
    let ran = desk.run(&["demo", "--exit"]).ok();
    for part in ["status   completed", "outcome  pr_created", "+Acme Sky prints the address", "`recieve` → `receive`"]
    {
        assert!(ran.out.contains(part), "{part} is not in {}", ran.out);
    }
    assert_eq!(std::fs::read_dir(desk.path()).unwrap().count(), 0, "it leaves nothing behind");
}

/// The job that it proposes at its end has something to show: a page, and the navigation that lists it.
#[test]
fn what_the_demonstration_proposes_to_try_next_changes_something() {
    let desk = Desk::new();
    let mut demo = desk.command(&["demo"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let lines = std::io::BufReader::new(demo.stdout.take().unwrap()).lines().map(Result::unwrap);
    let said: Vec<String> = lines.take_while(|line| !line.starts_with("Press Ctrl-C")).collect();
    let between = |start: &str, end: &str| {
        let line = said.iter().rev().find(|line| line.contains(start)).unwrap_or_else(|| panic!("{said:?}"));
        line.split_once(start).unwrap().1.split_once(end).unwrap().0.to_owned()
    };
    let (key, body) = (between("Bearer ", "'"), serde_json::from_str(&between("-d '", "' http")).unwrap());
    let (url, path) = (format!("http://{}", between("' http://", "/")), format!("/{}", said_path(&said)));
    let (status, mut job) = post(&url, &path, &key, &body);
    let path = format!("{path}/{}", job["id"].as_str().unwrap_or_default());
    let has_ended = eventually(|| {
        job = body_of(&get(&url, &path, &key).1);
        job["status"] != "active"
    });
    let diff = get(&url, &format!("{path}/diff"), &key).1;
    assert!(Command::new("kill").args(["-TERM", &demo.id().to_string()]).status().unwrap().success());
    assert!(demo.wait().unwrap().success());
    assert!(status == 201 && has_ended && job["outcome"] == "pr_created", "{status} {job}");
    assert!(diff.contains("b/docs/guides/regions.mdx") && diff.contains("b/docs/docs.json"), "{diff}");
}

/// The path that the proposed command posts to.
fn said_path(said: &[String]) -> &str {
    let line = said.iter().find(|line| line.contains("-d '")).unwrap();
    line.rsplit_once("http://").unwrap().1.split_once('/').unwrap().1
}

#[test]
fn the_demonstration_can_be_kept() {
    let desk = Desk::new();
    desk.run(&["demo", "--exit", "--folder", "kept"]).ok();
    let repository = desk.path().join("kept/docs-repository");
    let branches =
        Command::new("git").arg("-C").arg(&repository).args(["branch", "--list", "copydesk/*"]).output().unwrap();
    assert_eq!(String::from_utf8(branches.stdout).unwrap().lines().count(), 1, "the branch is in the repository");
    let again = desk.run(&["demo", "--exit", "--folder", "kept"]);
    assert_eq!(again.code, 2, "what is there is not touched: {}", again.err);
}

#[test]
fn a_folder_is_checked() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path().join("docs")).unwrap();
    let page = desk.path().join("docs/index.md");
    std::fs::write(&page, "# Welcome\n\nSee [there](nowhere.md).\n").unwrap();
    let ran = desk.run(&["check", "."]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(ran.out.starts_with("docs/index.md:3:"), "{}", ran.out);
    assert!(ran.out.contains("[links]") && ran.out.contains("1 finding"), "{}", ran.out);
    let found = desk.run(&["check", "--json"]);
    assert_eq!(found.code, 1);
    let found: serde_json::Value = serde_json::from_str(&found.out).unwrap();
    assert_eq!(found["findings"][0]["check"], "links");
    std::fs::write(&page, "# Welcome\n").unwrap();
    let out = desk.run(&["check", ".", "--docs-path", "docs"]).ok().out;
    assert!(
        out.starts_with("Not checked, because there is nothing of the kind here")
            && out.ends_with("\n1 page, 0 findings\n"),
        "{out}"
    );
    assert_eq!(desk.run(&["check", "missing"]).code, 2);
    assert_eq!(desk.run(&["check", ".", "--docs-path", "missing"]).code, 2);
}

#[test]
fn the_description_is_the_servers_own() {
    let desk = Desk::new();
    let server = desk.serve(&[]);
    let (_, answer) = get(&server.url, "/openapi.json", "");
    let served: serde_json::Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!(desk.run(&["openapi"]).json(), served);
}
