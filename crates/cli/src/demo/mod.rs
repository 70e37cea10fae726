//! `copydesk demo`: a whole installation in a folder of its own, and a real job through all of it.

mod readers;
mod sample;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use copydesk_desk::people::{INVITED, Newcomer, NotIn, People};
use copydesk_domain::{
    ApiKey, HostSettings, OnFindings, ProjectId, Repository, Scope, ViewSettings, WritePaths, event_line, random_token,
};
use copydesk_store::{NewKey, NewProject, Store};
use serde_json::{Value, json};

use crate::args::DemoFlags;
use crate::client::Client;
use crate::config::{Config, FlagValue, Sources};
use crate::failure::Failure;
use crate::output::{self, line};
use crate::serve::{Server, stop_signal};
use crate::{job, store, user};

const PROMPT: &str = "Replace \"Acme Cloud\" with \"Acme Sky\" in docs/ and fix the typos in docs/";
/// What is proposed to be tried next: a new file, and the navigation that lists it. Without an apostrophe, since it stands
/// between two in a command.
const NEXT_PROMPT: &str = "Add a page \"Regions\" at docs/guides/regions.mdx under \"Guides\" with the description \"Where your \
                           programs run.\" and with the text: Programs run in Oslo, Lagos and Lima. See [limits](/guides/limits).";

pub(crate) async fn run(flags: DemoFlags) -> Result<ExitCode, Failure> {
    let folder = DemoFolder::make(flags.folder)?;
    let repository = folder.path().join("docs-repository");
    let config = config(folder.path().join("data"))?;
    line("1. A git repository with a small documentation site");
    sample::write(&repository)?;
    line(&format!("   {}", repository.display()));

    line("2. A database, a project and a key");
    let store = store::open_or_make(&config).await?;
    let (project, key) = set_up(&store, &repository).await?;
    line(&format!("   project {project}, key {}", key.hint()));

    let by = store.clone();
    let server = Server::start(&config, &[], store).await?;
    let url = format!("http://{}", server.address);
    line("3. A server");
    line(&format!("   {url}, described at {url}/docs/"));

    line("4. A job, created over HTTP as any client would");
    line(&format!("   POST /v2/agent/{project}/job"));
    line(&format!("   {}", json!({ "prompt": PROMPT })));
    let client = Client::connect(&url, key.clone(), project.to_string())?;
    let created = client.post(&["job"], Some(&json!({ "prompt": PROMPT })), Some("demo")).await?;
    let ended = follow(&client, created).await?;

    line("5. The result");
    let good = show(&client, &ended).await?;

    line("");
    line("6. Page views, sent as a web server would");
    readers::send(&client, &project).await?;
    readers::show(&client).await?;
    if good && !flags.exit {
        let dashboard = way_in(&server.people, &by, &url).await?;
        invite(&dashboard, &url, &project, &key, &repository, &ended, folder.is_temporary());
        stop_signal().await;
    }
    server.stop().await;
    if flags.exit {
        line("");
        line("Ended, as --exit asks: the addresses above answer no more. Without --exit the server goes on.");
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

enum DemoFolder {
    Temporary(tempfile::TempDir),
    Given(PathBuf),
}

impl DemoFolder {
    fn make(folder: Option<PathBuf>) -> Result<Self, Failure> {
        let Some(folder) = folder else {
            let made = tempfile::Builder::new().prefix("copydesk-demo-").tempdir();
            let cannot = |error| Failure::error(format!("cannot make a temporary folder: {error}"));
            return made.map(Self::Temporary).map_err(cannot);
        };
        let cannot = |error| Failure::error(format!("cannot use {}: {error}", folder.display()));
        std::fs::create_dir_all(&folder).map_err(cannot)?;
        if std::fs::read_dir(&folder).map_err(cannot)?.next().is_some() {
            let wrong = Failure::usage(format!("{} is not empty", folder.display()));
            return Err(wrong.hint("choose a folder that does not exist yet"));
        }
        std::path::absolute(&folder).map(Self::Given).map_err(cannot)
    }

    fn path(&self) -> &Path {
        match self {
            Self::Temporary(folder) => folder.path(),
            Self::Given(folder) => folder,
        }
    }

    fn is_temporary(&self) -> bool {
        matches!(self, Self::Temporary(_))
    }
}

/// Defaults only: a demonstration should not depend on what happens to lie about.
fn config(data_dir: PathBuf) -> Result<Config, Failure> {
    let flag = |key, value: String| FlagValue { key, value: value.into(), flag: "demo" };
    let flags = vec![flag("data_dir", data_dir.display().to_string()), flag("listen", "127.0.0.1:0".to_owned())];
    let sources = Sources { config_file: None, working_dir: data_dir, environment: Vec::new(), flags };
    Config::load(sources).map_err(|errors| Failure::error(errors.to_string()))
}

async fn set_up(store: &Store, repository: &Path) -> Result<(ProjectId, ApiKey), Failure> {
    let repository = Repository::parse(&repository.display().to_string(), repository)?;
    let new = NewProject {
        id: None,
        name: "Acme docs".to_owned(),
        repository,
        base_ref: "main".to_owned(),
        docs_paths: vec!["docs".to_owned()],
        write_paths: WritePaths::default(),
        time_zone: "UTC".to_owned(),
        jobs_per_hour: None,
        max_running: None,
        time_limit_seconds: None,
        job_cost: None,
        on_findings: OnFindings::default(),
        views: ViewSettings::default(),
        host: HostSettings::default(),
    };
    let missing = || Failure::error("the project that was just created is gone");
    let project = store.create_project(new).await?.ok_or_else(missing)?;
    let key =
        NewKey { project_id: Some(project.id.clone()), name: "demo".to_owned(), scope: Scope::Write, expires_at: None };
    let (_, key) = store.create_key(key).await?.ok_or_else(missing)?;
    Ok((project.id, key))
}

/// Prints the steps of the job as they come, and gives the job when it has ended.
async fn follow(client: &Client, created: Value) -> Result<Value, Failure> {
    job::follow(client, created, 0, |event| line(&format!("   {}", event_line(event))), line).await
}

/// Prints how the job ended and what it changed, and says whether all is as it should be.
async fn show(client: &Client, ended: &Value) -> Result<bool, Failure> {
    let text = |field: &str| ended[field].as_str().unwrap_or("-").to_owned();
    for field in ["status", "outcome", "title", "branch", "prLink"] {
        line(&format!("   {field:<8} {}", text(field)));
    }
    text("message").lines().for_each(|text| line(&format!("   | {text}")));
    let Some(link) = ended["prLink"].as_str() else { return Ok(false) };
    if !client.is_there(link).await {
        return Err(Failure::error(format!("the pull request at {link} cannot be fetched")));
    }
    let diff = client.diff(ended["id"].as_str().unwrap_or_default()).await?;
    line("");
    output::diff(&diff, "   ");
    Ok(ended["status"] == "completed" && !diff.is_empty())
}

/// A user, and a link that signs them in: nobody should have to think of a password for this.
async fn way_in(people: &People, store: &Store, url: &str) -> Result<String, Failure> {
    let cannot = |error: NotIn| Failure::error(format!("cannot let you into the dashboard: {error}"));
    let newcomer =
        Newcomer { email: "demo@example.com".to_owned(), name: "Demo".to_owned(), password: random_token().into() };
    people.add(store, newcomer, true).await.map_err(cannot)?;
    let link = people.link_again(store, "demo@example.com", INVITED).await.map_err(cannot)?;
    link.map(|link| user::at(url, &link)).ok_or_else(|| Failure::error("the user that was just created is gone"))
}

fn invite(dashboard: &str, url: &str, project: &str, key: &ApiKey, repository: &Path, ended: &Value, temporary: bool) {
    let branch = ended["branch"].as_str().unwrap_or_default();
    line("");
    line("Still serving. Look at:");
    line("");
    line(&format!("  {dashboard}   the dashboard"));
    line(&format!("  {}   the pull request", ended["prLink"].as_str().unwrap_or_default()));
    line(&format!("  {url}/docs/   the interface"));
    line(&format!("  git -C {} show {branch}", repository.display()));
    line("");
    line("Another job:");
    line("");
    line(&format!("  curl -H 'Authorization: Bearer {}' -H 'Content-Type: application/json' \\", key.reveal()));
    line(&format!("    -d '{}' {url}/v2/agent/{project}/job", json!({ "prompt": NEXT_PROMPT })));
    line("");
    line(if temporary { "Press Ctrl-C to stop and remove everything." } else { "Press Ctrl-C to stop." });
}
