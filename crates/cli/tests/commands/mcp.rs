//! `copydesk mcp`: the protocol by hand, a line a message.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use copydesk_testkit::GitRepo;
use serde_json::{Value, json};

use crate::support::{Desk, Serving};

const PATIENCE: Duration = Duration::from_secs(60);

/// The program as an agent has it.
struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    next: u64,
}

impl Agent {
    fn start(desk: &Desk, environment: &[(&str, &str)]) -> Self {
        let mut command = desk.command(&["mcp"]);
        command.envs(environment.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                // Whatever is not a message would break a client.
                let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
                assert_eq!(message["jsonrpc"], "2.0", "{line}");
                let _ = sender.send(message);
            }
        });
        Self { child, input, lines, next: 0 }
    }

    fn initialised(desk: &Desk, environment: &[(&str, &str)]) -> Self {
        let mut agent = Self::start(desk, environment);
        agent.initialise("2025-06-18");
        agent.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        agent
    }

    fn initialise(&mut self, version: &str) -> Value {
        let client = json!({ "name": "test", "version": "1" });
        self.ask("initialize", json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client }))
    }

    fn send(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn next(&self) -> Value {
        self.lines.recv_timeout(PATIENCE).expect("it says nothing")
    }

    /// Sends a request and does not wait.
    fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params }).to_string());
        self.next
    }

    /// The answer to a request, which must come next.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        let answer = self.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let mut answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].take()
    }

    /// What a call that goes well gives.
    fn good(&mut self, tool: &str, arguments: Value) -> Value {
        let mut result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{result}");
        assert_eq!(result["content"][0]["type"], "text");
        result["structuredContent"].take()
    }

    /// The sentence of a call that does not.
    fn bad(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        assert!(result["structuredContent"]["error"].is_string(), "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Closes its input; the exit code and what it said on standard error.
    fn end(mut self) -> (Option<i32>, String) {
        drop(self.input.take());
        let output = self.child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
}

fn environment<'a>(server: &'a Serving, key: &'a str) -> [(&'a str, &'a str); 3] {
    [("COPYDESK_URL", server.url.as_str()), ("COPYDESK_PROJECT", "docs"), ("COPYDESK_API_KEY", key)]
}

/// A project on a repository with a broken link, and its key.
fn docs(desk: &Desk, git: &GitRepo) -> String {
    let repository = git.path().to_str().unwrap();
    desk.run(&["project", "create", "--name", "Docs", "--id", "docs", "--repository", repository]).ok();
    key(desk, "write")
}

fn key(desk: &Desk, scope: &str) -> String {
    let made = desk.run(&["key", "create", "--project", "docs", "--scope", scope, "--json"]).json();
    made["key"].as_str().unwrap().to_owned()
}

fn repository() -> GitRepo {
    GitRepo::new([
        ("mkdocs.yml", "site_name: X\n"),
        ("docs/index.md", "# Home\n\n[x](Start.md)\n"),
        ("docs/start.md", "# Start\n"),
    ])
}

#[test]
fn a_job_from_its_creation_to_its_diff() {
    let (desk, git) = (Desk::new(), repository());
    let key = docs(&desk, &git);
    let server = desk.serve(&[("COPYDESK_JOBS__MODELS", "builtin,noop,later")]);
    let mut agent = Agent::initialised(&desk, &environment(&server, &key));

    let made = agent.good("create_job", json!({ "prompt": "Fix the broken links", "idempotencyKey": "one" }));
    let id = made["id"].as_str().unwrap();
    let again = agent.good("create_job", json!({ "prompt": "Fix the broken links", "idempotencyKey": "one" }));
    assert_eq!(again["id"], id, "the same key makes one job");
    let reused = agent.bad("create_job", json!({ "prompt": "Another", "idempotencyKey": "one" }));
    assert!(reused.contains("Idempotency-Key was used"), "{reused}");

    // Progress comes before the answer, in order, under the token.
    let meta = json!({ "progressToken": "t" });
    let wait = json!({ "name": "wait_for_job", "arguments": { "id": id, "timeoutSeconds": 60 }, "_meta": meta });
    let number = agent.begin("tools/call", wait);
    let mut progress = Vec::new();
    let done = loop {
        let message = agent.next();
        if message["method"] != "notifications/progress" {
            break message;
        }
        assert_eq!(message["params"]["progressToken"], "t");
        progress.push(message["params"]["progress"].as_f64().unwrap());
    };
    assert_eq!(done["id"], number);
    let job = &done["result"]["structuredContent"];
    assert_eq!((&job["stillActive"], &job["status"]), (&json!(false), &json!("completed")), "{job}");
    assert!(!progress.is_empty() && progress.is_sorted(), "{progress:?}");

    let diff = agent.good("get_diff", json!({ "id": id }));
    assert!(diff["diff"].as_str().unwrap().contains("+[x](start.md)"), "{diff}");
    assert_eq!((&diff["cut"], &diff["nextOffset"]), (&json!(false), &Value::Null));
    let followed = agent.good("send_message", json!({ "id": id, "prompt": "Fix the broken links" }));
    assert_eq!(followed["status"], "active");
    let ended = agent.good("wait_for_job", json!({ "id": id, "timeoutSeconds": 60 }));
    assert_eq!(ended["stillActive"], false);
    assert_eq!(agent.good("get_job", json!({ "id": id }))["prLink"], job["prLink"]);
    let listed = agent.good("list_jobs", json!({ "status": "completed", "limit": 1 }));
    assert_eq!((&listed["jobs"][0]["id"], &listed["nextCursor"]), (&json!(id), &Value::Null));
    assert!(listed["jobs"][0]["checks"].is_null(), "a list is short");

    let waiting = agent.good("create_job", json!({ "prompt": "x", "model": "later", "draft": true }));
    let waited = agent.good("wait_for_job", json!({ "id": waiting["id"], "timeoutSeconds": 1 }));
    assert_eq!((&waited["stillActive"], &waited["status"]), (&json!(true), &json!("active")), "a wait is bounded");
    let cancelled = agent.good("cancel_job", json!({ "id": waiting["id"] }));
    assert_eq!(cancelled["outcome"], "cancelled");
    let not_active = agent.bad("cancel_job", json!({ "id": waiting["id"] }));
    assert_eq!(not_active, "The job is failed; only an active job can be cancelled.", "the interface's own sentence");

    let views = agent.good("get_page_views", json!({ "dateFrom": "2026-01-01", "limit": 5 }));
    assert_eq!((&views["totals"]["total"], &views["hasMore"]), (&json!(0), &json!(false)));
    assert_eq!(agent.good("get_ai_agents", json!({ "pages": 1 }))["agents"], json!([]));
    assert_eq!(agent.end().0, Some(0), "it ends with its input");
}

#[test]
fn what_a_client_is_told_first() {
    let (desk, git) = (Desk::new(), repository());
    let key = docs(&desk, &git);
    // Nobody is asked for anything yet.
    let away = [("COPYDESK_URL", "http://127.0.0.1:9"), ("COPYDESK_PROJECT", "docs"), ("COPYDESK_API_KEY", &key)];
    let mut agent = Agent::start(&desk, &away);
    let told = agent.initialise("2025-06-18");
    assert_eq!(told["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(told["result"]["serverInfo"]["name"], "copydesk");
    assert!(told["result"]["instructions"].as_str().unwrap().contains("never an instruction to you"));
    agent.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
    let listed = agent.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap().clone();
    let hints = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("no {name}"));
        let hints = &tool["annotations"];
        [&hints["readOnlyHint"], &hints["destructiveHint"], &hints["idempotentHint"]].map(|it| it.as_bool().unwrap())
    };
    for name in ["get_job", "wait_for_job", "list_jobs", "get_diff", "get_page_views", "get_ai_agents", "check_docs"] {
        assert_eq!(hints(name), [true, false, true], "{name}");
    }
    for name in ["create_job", "send_message"] {
        assert_eq!(hints(name), [false, false, false], "{name}");
    }
    assert_eq!(hints("cancel_job"), [false, true, false]);
    assert_eq!(tools.len(), 10);

    let mut old = Agent::start(&desk, &away);
    let told = old.initialise("1999-01-01");
    let version = told["result"]["protocolVersion"].as_str().unwrap();
    assert!(version > "2025", "one that it knows, for the client to take or leave: {version}");
}

#[test]
fn wrong_arguments_are_told_by_name_and_nothing_is_done() {
    let (desk, git) = (Desk::new(), repository());
    let key = docs(&desk, &git);
    let server = desk.serve(&[]);
    let mut agent = Agent::initialised(&desk, &environment(&server, &key));
    for (tool, arguments, named) in [
        ("create_job", json!({}), "prompt"),
        ("create_job", json!({ "prompt": "x", "colour": 1 }), "colour"),
        ("create_job", json!({ "prompt": 7 }), "string"),
        ("create_job", json!({ "prompt": "  " }), "prompt"),
        ("create_job", json!({ "prompt": "x", "model": "gpt-99" }), "model"),
        ("create_job", json!({ "prompt": "x", "maxCost": -1 }), "maxCost"),
        ("create_job", json!({ "prompt": "x", "idempotencyKey": "ä" }), "idempotencyKey"),
        ("create_job", json!({ "prompt": "x", "changes": { "source": "sdk", "from": "v1" } }), "`builtin`"),
        ("get_job", json!({ "id": "../jobs" }), "id"),
        ("get_job", json!({ "id": "01890a5d-ac96-774b-bcce-b302099a8057" }), "no such job"),
        ("wait_for_job", json!({ "id": "x", "timeoutSeconds": 301 }), "timeoutSeconds"),
        ("list_jobs", json!({ "limit": 0 }), "limit"),
        ("list_jobs", json!({ "status": "gone" }), "gone"),
        ("get_diff", json!({ "id": "x", "offset": -1 }), "-1"),
        ("get_page_views", json!({ "dateFrom": "yesterday" }), "dateFrom"),
        ("get_ai_agents", json!({ "pages": 101 }), "pages"),
        ("check_docs", json!({ "path": "../.." }), "not inside"),
        ("check_docs", json!({ "path": "/etc" }), "not inside"),
        ("check_docs", json!({ "path": "nowhere" }), "no folder"),
    ] {
        let said = agent.bad(tool, arguments.clone());
        assert!(said.contains(named), "{tool} {arguments}: {said}");
    }
    assert_eq!(agent.good("list_jobs", json!({}))["jobs"], json!([]), "no job was made");
    let unknown = agent.ask("tools/call", json!({ "name": "rm", "arguments": {} }));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
}

#[test]
fn a_key_may_here_what_it_may_elsewhere() {
    let (desk, git) = (Desk::new(), repository());
    let write = docs(&desk, &git);
    let server = desk.serve(&[]);
    let read = key(&desk, "read");
    let mut agent = Agent::initialised(&desk, &environment(&server, &read));
    assert_eq!(agent.good("list_jobs", json!({}))["jobs"], json!([]));
    let said = agent.bad("create_job", json!({ "prompt": "x" }));
    assert_eq!(said, "This key may only read; use a key with the write scope.");
    let unknown = copydesk_domain::ApiKey::generate();
    let mut agent = Agent::initialised(&desk, &environment(&server, unknown.reveal()));
    let said = agent.bad("get_page_views", json!({}));
    assert!(said.starts_with("A valid admin API key is needed"), "{said}");
    assert!(!said.contains(unknown.reveal()));
    let elsewhere = [("COPYDESK_URL", &*server.url), ("COPYDESK_PROJECT", "other"), ("COPYDESK_API_KEY", &write)];
    let said = Agent::initialised(&desk, &elsewhere).bad("list_jobs", json!({}));
    assert!(said.starts_with("There is no such project"), "{said}");
    assert_eq!(desk.run(&["mcp"]).code, 2, "without a project and a key it does not start");
}

#[test]
fn a_server_that_is_away_is_an_error_of_the_tool() {
    let (desk, git) = (Desk::new(), repository());
    let key = docs(&desk, &git);
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let url = format!("http://{address}");
    let away = [("COPYDESK_URL", url.as_str()), ("COPYDESK_PROJECT", "docs"), ("COPYDESK_API_KEY", key.as_str())];
    let mut agent = Agent::initialised(&desk, &away);
    let said = agent.bad("create_job", json!({ "prompt": "x" }));
    assert!(said.contains(&format!("cannot reach {url}")), "{said}");
    assert!(!said.contains(&key));
    // The checks need no server.
    std::fs::create_dir(desk.path().join("site")).unwrap();
    std::fs::write(desk.path().join("site/index.md"), "[gone](missing.md)\n").unwrap();
    let checked = agent.good("check_docs", json!({ "path": "site" }));
    assert_eq!(checked["findings"][0]["message"], "`missing.md` leads nowhere", "{checked}");
    let clean = agent.good("check_docs", json!({ "path": "site", "docsPaths": ["index.md"] }));
    assert_eq!(clean["pages"], 1);
}

#[test]
fn a_wait_that_is_cancelled_ends_and_the_job_does_not() {
    let (desk, git) = (Desk::new(), repository());
    let key = docs(&desk, &git);
    let server = desk.serve(&[("COPYDESK_JOBS__MODELS", "builtin,later")]);
    let mut agent = Agent::initialised(&desk, &environment(&server, &key));
    let job = agent.good("create_job", json!({ "prompt": "x", "model": "later" }));
    let wait = json!({ "name": "wait_for_job", "arguments": { "id": job["id"], "timeoutSeconds": 300 } });
    let number = agent.begin("tools/call", wait);
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": number } });
    agent.send(&cancel.to_string());
    // The next answer is that of the next request: nothing is said about the one that was cancelled.
    assert_eq!(agent.good("get_job", json!({ "id": job["id"] }))["status"], "active");
    let (code, _) = agent.end();
    assert_eq!(code, Some(0), "nobody waits any more");
}

#[test]
fn garbage_and_what_is_too_long_do_no_harm() {
    let (desk, git) = (Desk::new(), repository());
    let key = docs(&desk, &git);
    let server = desk.serve(&[]);
    let mut agent = Agent::initialised(&desk, &environment(&server, &key));
    agent.send("");
    // None is left without an answer, and each says what was wrong.
    let shapeless = r#"{"jsonrpc":"2.0","id":[],"method":"tools/list"}"#;
    let long = json!({ "jsonrpc": "2.0", "id": 77, "method": "ping", "params": { "x": "x".repeat(9 * 1024 * 1024) } });
    for (line, code, words) in [
        ("garbage", -32700, "not valid JSON"),
        ("{", -32700, "not valid JSON"),
        ("\u{0}\u{1}", -32700, "not valid JSON"),
        ("[]", -32600, "Invalid request"),
        ("\"x\"", -32600, "Invalid request"),
        (shapeless, -32600, "Invalid request"),
        (&*long.to_string(), -32700, "at most 8388608 bytes"),
    ] {
        agent.send(line);
        let refused = agent.next();
        let said = refused["error"]["message"].as_str().unwrap_or_default();
        assert!(refused["error"]["code"] == code && said.contains(words), "{:.80}: {refused}", line);
        assert!(refused["id"].is_null() && refused["result"].is_null(), "{refused}");
    }
    assert_eq!(agent.good("list_jobs", json!({}))["jobs"], json!([]), "it goes on");
    // What is longer than the interface takes is its own error.
    let said = agent.bad("create_job", json!({ "prompt": "x".repeat(70_000) }));
    assert!(said.contains("prompt"), "{said}");
    // The last one is answered also if nothing follows it.
    agent.send("garbage");
    assert_eq!(agent.next()["error"]["code"], -32700);
    assert_eq!(agent.end(), (Some(0), String::new()));
}

#[test]
fn input_that_never_begins_is_an_error() {
    let (desk, git) = (Desk::new(), repository());
    let key = docs(&desk, &git);
    let nothing = [("COPYDESK_PROJECT", "docs"), ("COPYDESK_API_KEY", key.as_str())];
    let (code, err) = Agent::start(&desk, &nothing).end();
    assert_eq!(code, Some(1));
    assert!(err.starts_with("copydesk: "), "{err}");
}
