use std::path::PathBuf;
use std::process::ExitCode;

use copydesk_domain::{ApiKey, OnFindings, Repository, Scope};
use copydesk_store::{NewKey, NewProject, Store};
use serde_json::json;

use crate::args::DemoFlags;
use crate::client::Client;
use crate::config::{Config, FlagValue, Sources};
use crate::failure::Failure;
use crate::output::{self, line};
use crate::serve::{Server, stop_signal};
use crate::{job, store};

const PROMPT: &str = "Fix the typos in the getting started guide";

/// `copydesk demo`: a whole installation in a temporary folder, and a job through all of it.
pub(crate) async fn run(flags: DemoFlags) -> Result<ExitCode, Failure> {
    let folder = tempfile::Builder::new()
        .prefix("copydesk-demo-")
        .tempdir()
        .map_err(|error| Failure::error(format!("cannot make a temporary folder: {error}")))?;
    let config = config(folder.path().join("data"))?;
    line("1. A data folder with a SQLite database, a project and a key");
    let store = store::open_ready(&config).await?;
    let (project, key) = set_up(&store, &folder.path().join("docs-repository")).await?;
    line(&format!("   project {project}, key {}", key.hint()));

    let server = Server::start(&config, store).await?;
    let url = format!("http://{}", server.address);
    line(&format!("2. A server at {url}, with the API described at {url}/docs/"));

    line("3. A job is created over HTTP, as any client would");
    line(&format!("   POST /v2/agent/{project}/job"));
    let client = Client::connect(&url, key.clone(), project.clone())?;
    let body = json!({ "prompt": PROMPT, "model": "noop" });
    let created = client.post(&["job"], Some(&body), Some("demo")).await?;
    print_json(&created);

    line("4. The client follows it to its end");
    let ended = job::wait_for(&client, created).await?;
    print_json(&ended);
    line("");
    line("The job was stored, leased, run and finished. It ran on the no-op engine, which changes no files: the");
    line("engines that edit documentation and open pull requests are not part of this version.");

    if flags.keep_running {
        line("");
        line("Still serving; Ctrl-C ends it and removes the temporary folder. Another job:");
        line("");
        line(&format!("  curl -H 'Authorization: Bearer {}' -H 'Content-Type: application/json' \\", key.reveal()));
        line(&format!("    -d '{{\"prompt\": \"{PROMPT}\", \"model\": \"noop\"}}' {url}/v2/agent/{project}/job"));
        stop_signal().await;
    }
    server.stop().await;
    Ok(if ended["status"] == "completed" { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Defaults only: a demonstration should not depend on what happens to lie about.
fn config(data_dir: PathBuf) -> Result<Config, Failure> {
    let flag = |key, value: String| FlagValue { key, value, flag: "demo" };
    let flags = vec![flag("data_dir", data_dir.display().to_string()), flag("listen", "127.0.0.1:0".to_owned())];
    let sources = Sources { config_file: None, working_dir: data_dir, environment: Vec::new(), flags };
    Config::load(sources).map_err(|errors| Failure::error(errors.to_string()))
}

async fn set_up(store: &Store, repository: &std::path::Path) -> Result<(String, ApiKey), Failure> {
    let repository = Repository::parse(&repository.display().to_string(), repository)?;
    let new = NewProject {
        id: None,
        name: "Demo docs".to_owned(),
        repository,
        base_ref: "main".to_owned(),
        docs_paths: vec!["docs".to_owned()],
        time_zone: "UTC".to_owned(),
        jobs_per_hour: None,
        max_running: None,
        time_limit_seconds: None,
        on_findings: OnFindings::default(),
    };
    let missing = || Failure::error("the project that was just made is gone");
    let project = store.create_project(new).await?.ok_or_else(missing)?;
    let key =
        NewKey { project_id: Some(project.id.clone()), name: "demo".to_owned(), scope: Scope::Write, expires_at: None };
    let (_, key) = store.create_key(key).await?.ok_or_else(missing)?;
    Ok((project.id, key))
}

fn print_json(value: &serde_json::Value) {
    output::pretty(value).lines().for_each(|text| line(&format!("   {text}")));
}
