use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use copydesk_testkit::{Backend, TestDatabase};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A user of the machine who is neither root nor anybody's.
pub const STRANGER: u32 = 12_345;

/// An installation in a folder of its own.
pub struct Desk {
    folder: TempDir,
    database: Option<TestDatabase>,
}

/// What a command did.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn new(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }

    pub fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{}{}", self.out, self.err);
        self
    }

    pub fn json(self) -> Value {
        let ran = self.ok();
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.out))
    }
}

impl Desk {
    /// On the default database, a SQLite file in the data folder.
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), database: None }
    }

    pub async fn on(backend: Backend) -> Self {
        match backend {
            Backend::Sqlite => Self::new(),
            Backend::Postgres => Self { database: Some(TestDatabase::new(backend).await), ..Self::new() },
        }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Its PostgreSQL database.
    pub fn database(&self) -> &TestDatabase {
        self.database.as_ref().expect("it is on PostgreSQL")
    }

    /// The program, run in the folder, with nothing of the caller's environment that concerns it.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_copydesk"));
        command.current_dir(self.path()).args(arguments).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("COPYDESK_") {
                command.env_remove(name);
            }
        }
        if let Some(database) = &self.database {
            command.env("COPYDESK_DATABASE_URL", database.url());
        }
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        Ran::new(self.command(arguments).output().unwrap())
    }

    pub fn run_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Ran {
        Ran::new(self.command(arguments).envs(environment.iter().copied()).output().unwrap())
    }

    /// A project and a key for it.
    pub fn project_and_key(&self, name: &str) -> (String, String) {
        // Nobody is asked for a branch that is named.
        let repository = ["--repository", "https://example.com/docs.git", "--base-ref", "main"];
        let arguments = [&["project", "create", "--name", name, "--json"], &repository[..]].concat();
        let project = self.run(&arguments).json()["id"].as_str().unwrap().to_owned();
        let key = self.run(&["key", "create", "--project", &project, "--json"]).json();
        (project, key["key"].as_str().unwrap().to_owned())
    }

    /// A server on a free port; it ends with the value.
    pub fn serve(&self, environment: &[(&str, &str)]) -> Serving {
        self.start(&["serve", "--listen", "127.0.0.1:0"], environment, "listen")
    }

    /// A process that says in its log under `field` where it listens; it ends with the value.
    pub fn start(&self, arguments: &[&str], environment: &[(&str, &str)], field: &str) -> Serving {
        let mut command = self.command(arguments);
        command.envs(environment.iter().copied());
        Serving::start(command, field)
    }
}

/// The status and the whole answer of a request by hand.
pub fn get(url: &str, path: &str, key: &str) -> (u16, String) {
    request(url, "GET", path, key, "")
}

/// Sends JSON, and takes JSON.
pub fn post(url: &str, path: &str, key: &str, body: &Value) -> (u16, Value) {
    let (status, answer) = request(url, "POST", path, key, &body.to_string());
    (status, body_of(&answer))
}

/// Calls a tool of the Model Context Protocol over HTTP; `headers` are whole lines. What the tool gives back.
pub fn mcp_call(url: &str, project: &str, key: &str, headers: &str, tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let headers = format!("Accept: application/json, text/event-stream\r\n{headers}");
    let (status, answer) = request_with(url, "POST", &format!("/mcp/{project}"), key, &headers, &body);
    assert_eq!(status, 200, "{answer}");
    // A call that waits is answered with events.
    let lines = answer.lines().map(|line| line.strip_prefix("data:").unwrap_or(line));
    let mut said = lines.filter_map(|line| serde_json::from_str::<Value>(line.trim()).ok());
    let mut said = said.find(|said| said["id"] == 1).unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(said["result"]["isError"], false, "{said}");
    said["result"]["structuredContent"].take()
}

/// What JSON is in a whole answer.
pub fn body_of(answer: &str) -> Value {
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap_or_default()
}

fn request(url: &str, method: &str, path: &str, key: &str, body: &str) -> (u16, String) {
    request_with(url, method, path, key, "", body)
}

fn request_with(url: &str, method: &str, path: &str, key: &str, headers: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\
         {headers}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer)
}

/// A running server.
pub struct Serving {
    pub child: Child,
    pub url: String,
    /// What it logged before it listened.
    pub early: Vec<String>,
    log: Option<std::thread::JoinHandle<Vec<String>>>,
}

impl Serving {
    /// Starts a process that says in its log under `field` where it listens.
    pub fn start(mut command: Command, field: &str) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut early = Vec::new();
        let address = lines
            .by_ref()
            .map(Result::unwrap)
            .inspect(|line| early.push(line.clone()))
            .map(|line| serde_json::from_str::<Value>(&line).unwrap())
            .find_map(|line| line[field].as_str().map(str::to_owned))
            .expect("the server ended before it listened");
        // Somebody has to read on, or the server would stop at a full pipe.
        let log = std::thread::spawn(move || lines.map_while(Result::ok).collect());
        Self { child, url: format!("http://{address}"), early, log: Some(log) }
    }

    /// Sends SIGTERM; the exit code and the log.
    pub fn terminate(mut self) -> (Option<i32>, Vec<String>) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let code = self.child.wait().unwrap().code();
        (code, self.log.take().unwrap().join().unwrap())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
