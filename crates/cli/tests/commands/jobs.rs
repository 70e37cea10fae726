use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use copydesk_testkit::{Backend, GitRepo};

use crate::support::{Desk, Ran, Serving};

struct Client<'a> {
    desk: &'a Desk,
    environment: [(&'a str, &'a str); 3],
}

impl Client<'_> {
    fn run(&self, arguments: &[&str]) -> Ran {
        self.desk.run_with(&[&["job"], arguments].concat(), &self.environment)
    }
}

fn client<'a>(desk: &'a Desk, server: &'a Serving, project: &'a str, key: &'a str) -> Client<'a> {
    let environment = [("COPYDESK_URL", server.url.as_str()), ("COPYDESK_PROJECT", project), ("COPYDESK_API_KEY", key)];
    Client { desk, environment }
}

async fn story(backend: Backend) {
    let desk = Desk::on(backend).await;
    let (project, key) = desk.project_and_key("Docs");
    // Nobody runs the jobs of `later`, so that they wait.
    let server = desk.serve(&[("COPYDESK_JOBS__MODELS", "builtin,noop,later")]);
    let client = client(&desk, &server, &project, &key);

    let done = client.run(&["create", "Fix it", "--model", "noop", "--wait"]).ok();
    assert!(done.out.contains("completed"), "{}", done.out);
    assert!(done.err.starts_with("job 0"), "its id comes first: {}", done.err);
    let told: Vec<_> = done.err.lines().skip(1).filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(told, ["created", "claimed", "read", "completed"], "one line a change when piped");

    let waiting = client.run(&["create", "Fix it", "--json", "--client-reference", "mine", "--model", "later"]).json();
    assert_eq!((&waiting["status"], &waiting["model"]), (&"active".into(), &"later".into()));
    assert_eq!(waiting["clientReference"], "mine");
    let id = waiting["id"].as_str().unwrap();
    assert_eq!(client.run(&["get", id, "--json"]).json()["id"], id);
    let cancelled = client.run(&["cancel", id, "--json"]).json();
    assert_eq!((&cancelled["status"], &cancelled["outcome"]), (&"failed".into(), &"cancelled".into()));
    let failed = client.run(&["get", id, "--wait"]);
    assert_eq!(failed.code, 1, "a job that failed is exit code 1");
    assert_eq!(client.run(&["cancel", id]).code, 1, "not active");
    assert_eq!(client.run(&["message", id, "Again", "--json"]).json()["status"], "active");
    assert_eq!(client.run(&["archive", id, "--json"]).json()["status"], "archived");
    let active = client.run(&["list", "--status", "archived", "--json"]).json();
    assert_eq!(active["jobs"].as_array().unwrap().len(), 1);
    let (code, _) = server.terminate();
    assert_eq!(code, Some(0));
}

#[tokio::test]
async fn a_job_by_command_line_on_sqlite() {
    story(Backend::Sqlite).await;
}

#[tokio::test]
async fn a_job_by_command_line_on_postgres() {
    story(Backend::Postgres).await;
}

#[test]
fn what_is_missing_is_a_usage_error() {
    let desk = Desk::new();
    assert_eq!(desk.run(&["job", "create", "x"]).code, 2, "no project");
    let no_key = desk.run(&["job", "create", "x", "--project", "p"]);
    assert_eq!(no_key.code, 2);
    assert!(no_key.err.contains("COPYDESK_API_KEY"), "{}", no_key.err);
    let bad_key = desk.run_with(&["job", "get", "x", "--project", "p"], &[("COPYDESK_API_KEY", "copydesk_short")]);
    assert_eq!(bad_key.code, 2);
    assert!(!bad_key.err.contains("copydesk_short"), "{}", bad_key.err);
    assert_eq!(desk.run(&["job", "frobnicate"]).code, 2);
    let key = copydesk_domain::ApiKey::generate();
    let with_user = ["job", "list", "--project", "p", "--url", "http://me:hunter2@127.0.0.1:9"];
    let refused = desk.run_with(&with_user, &[("COPYDESK_API_KEY", key.reveal())]);
    assert_eq!(refused.code, 2);
    assert!(!refused.err.contains("hunter2"), "{}", refused.err);
}

#[test]
fn the_server_is_the_one_that_is_configured_here() {
    let desk = Desk::new();
    let (project, key) = desk.project_and_key("Docs");
    let server = desk.serve(&[]);
    let listen = server.url.strip_prefix("http://").unwrap();
    std::fs::write(desk.path().join("copydesk.toml"), format!("listen = \"{listen}\"\n")).unwrap();
    let environment = [("COPYDESK_API_KEY", key.as_str()), ("COPYDESK_PROJECT", project.as_str())];
    assert_eq!(desk.run_with(&["job", "list", "--json"], &environment).json()["jobs"], serde_json::json!([]));
    std::fs::write(desk.path().join("copydesk.toml"), "listen = 1\n").unwrap();
    let broken = desk.run_with(&["job", "list"], &environment);
    assert!(broken.code == 2 && broken.err.contains("listen"), "{}", broken.err);
    let named = [&environment[..], &[("COPYDESK_URL", server.url.as_str())]].concat();
    desk.run_with(&["job", "list"], &named).ok();
}

#[test]
fn the_same_idempotency_key_makes_one_job() {
    let desk = Desk::new();
    let (project, key) = desk.project_and_key("Docs");
    let server = desk.serve(&[]);
    let client = client(&desk, &server, &project, &key);
    let create = ["create", "x", "--idempotency-key", "once", "--json"];
    assert_eq!(client.run(&create).json()["id"], client.run(&create).json()["id"]);
    let wrong = client.run(&["create", "y", "--idempotency-key", "once"]);
    assert_eq!(wrong.code, 1);
    assert!(wrong.err.contains("Idempotency-Key"), "{}", wrong.err);
    let unknown = client.run(&["create", "x", "--model", "gpt-99"]);
    assert!(unknown.err.contains("model") && unknown.err.contains("noop"), "{}", unknown.err);
}

#[test]
fn a_job_whose_model_is_gone_says_that_it_waits_and_until_when() {
    let desk = Desk::new();
    let (project, key) = desk.project_and_key("Docs");
    let server = desk.serve(&[("COPYDESK_JOBS__MODELS", "builtin,later")]);
    let made = client(&desk, &server, &project, &key).run(&["create", "Fix it", "--json", "--model", "later"]).json();
    assert!(made["message"].is_null(), "the model may be run by a worker elsewhere: {made}");
    let id = made["id"].as_str().unwrap();
    server.terminate();

    let server = desk.serve(&[("COPYDESK_LIMITS__QUEUE_TIME", "2h")]);
    let client = client(&desk, &server, &project, &key);
    let job = client.run(&["get", id, "--json"]).json();
    let said = job["message"].as_str().unwrap();
    let words = "The job waits for the model `later`, which is not among `jobs.models` of this server any more. It goes on when \
                 a worker runs that model, and fails at 20";
    assert!(said.starts_with(words) && said.ends_with("Z if none does."), "{said}");
    assert_eq!((&job["status"], &job["outcome"]), (&"active".into(), &serde_json::Value::Null));
    let listed = client.run(&["list", "--json"]).json();
    assert_eq!(listed["jobs"][0]["message"], said);
}

#[test]
fn a_job_that_fails_is_a_warning_with_its_project_and_the_reason() {
    let desk = Desk::new();
    let git = GitRepo::new([("docs/index.md", "# Docs\n")]);
    let project = "docs".to_owned();
    let create = ["project", "create", "--name", "x", "--id", &project, "--repository", git.path().to_str().unwrap()];
    desk.run(&create).ok();
    let key = desk.run(&["key", "create", "--project", &project, "--json"]).json()["key"].as_str().unwrap().to_owned();
    let server = desk.serve(&[]);
    let failed = |words: &[&str]| -> serde_json::Value {
        let failed = client(&desk, &server, &project, &key).run(words);
        assert_eq!(failed.code, 1, "{}", failed.err);
        serde_json::from_str(&failed.out).unwrap()
    };
    let of_branch = failed(&["create", "Fix typos", "--base-ref", "nowhere", "--json", "--wait"]);
    let of_prompt = failed(&["create", "Sing a song", "--json", "--wait"]);
    let (_, log) = server.terminate();
    let line = |job: &serde_json::Value| -> serde_json::Value {
        let is_it = |line: &&String| line.contains("\"job failed\"") && line.contains(job["id"].as_str().unwrap());
        serde_json::from_str(log.iter().find(is_it).unwrap_or_else(|| panic!("{log:?}"))).unwrap()
    };
    let told = line(&of_branch);
    let is_of = (&told["level"], &told["project"]);
    assert_eq!(is_of, (&"WARN".into(), &project.as_str().into()));
    assert_eq!(told["reason"], of_branch["message"], "{told}");
    assert!(of_prompt["message"].as_str().unwrap().contains("Sing a song"), "{of_prompt}");
    assert_eq!(line(&of_prompt)["reason"], "what the prompt asks for cannot be done; the job says why");
    assert!(!log.iter().any(|line| line.contains("Sing a song")), "prompts are not for the log: {log:?}");
}

#[test]
fn a_call_of_the_model_that_fails_names_its_job_in_the_log() {
    let desk = Desk::new();
    let git = GitRepo::new([("docs/index.md", "# Docs\n")]);
    let made =
        desk.run(&["project", "create", "--name", "x", "--repository", git.path().to_str().unwrap(), "--id", "docs"]);
    made.ok();
    let key = desk.run(&["key", "create", "--project", "docs", "--json"]).json()["key"].as_str().unwrap().to_owned();
    let provider = TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}/v1", provider.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in provider.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 65536]);
            let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
    let model = [
        ("COPYDESK_MODEL__PROVIDER", "ollama"),
        ("COPYDESK_MODEL__NAME", "small"),
        ("COPYDESK_MODEL__BASE_URL", base_url.as_str()),
    ];
    let server = desk.serve(&model);
    let failed =
        client(&desk, &server, "docs", &key).run(&["create", "Fix it", "--json", "--wait", "--model", "small"]);
    let job: serde_json::Value = serde_json::from_str(&failed.out).unwrap();
    let (_, log) = server.terminate();
    let line =
        log.iter().find(|line| line.contains("a call of the model did not work")).unwrap_or_else(|| panic!("{log:?}"));
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!((&line["level"], &line["job"]), (&"WARN".into(), &job["id"]), "{line}");
    assert_eq!(line["why"], "The model provider does not know this model or address.", "{line}");
}

/// The server goes away while somebody waits: the command that is named works as it stands, in a shell that knows only the key.
#[test]
fn a_wait_that_was_cut_off_names_a_command_that_works() {
    let desk = Desk::new();
    let (project, key) = desk.project_and_key("Docs");
    let later = ("COPYDESK_JOBS__MODELS", "builtin,later");
    let server = desk.serve(&[later]);
    let url = server.url.clone();
    let arguments = ["job", "create", "x", "--model", "later", "--wait", "--project", &project, "--url", &url];
    let mut command = desk.command(&arguments);
    command.env("COPYDESK_API_KEY", &key).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut waiting = command.spawn().unwrap();
    let mut said = BufReader::new(waiting.stderr.take().unwrap()).lines().map(Result::unwrap);
    let id = said.next().unwrap().strip_prefix("job ").unwrap().to_owned();
    assert_eq!(server.terminate().0, Some(0));
    let said: Vec<String> = said.collect();
    assert_eq!(waiting.wait().unwrap().code(), Some(1));
    let hint = said.iter().find(|line| line.contains("the job goes on")).unwrap_or_else(|| panic!("{said:?}"));
    let again = hint.split('`').nth(1).unwrap();
    let wanted = format!("copydesk job get {id} --wait --project {project} --url {url}");
    assert_eq!(again, wanted);

    let listen = url.strip_prefix("http://").unwrap();
    let _server = desk.start(&["serve", "--listen", listen], &[later], "listen");
    let there = [("COPYDESK_API_KEY", &*key), ("COPYDESK_PROJECT", &project), ("COPYDESK_URL", &url)];
    desk.run_with(&["job", "cancel", &id], &there).ok();
    let program = Path::new(env!("CARGO_BIN_EXE_copydesk"));
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", again]).env_clear().current_dir(desk.path());
    shell.env("PATH", program.parent().unwrap()).env("COPYDESK_API_KEY", &key);
    let ran = Ran::new(shell.output().unwrap());
    assert_eq!(ran.code, 1, "the job was cancelled: {}", ran.err);
    assert!(ran.out.contains(&id) && ran.out.contains("cancelled"), "{}{}", ran.out, ran.err);
}
