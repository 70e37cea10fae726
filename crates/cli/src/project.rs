use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use copydesk_domain::{
    HostSettings, MAX_DOMAINS, OnFindings, Project, ProjectId, Repository, ViewSettings, docs_path, domain, git_ref,
    time_zone,
};
use copydesk_store::{NewProject, ProjectChange};
use copydesk_views::store::ViewStore;
use serde_json::{Value, json};

use crate::args::{ProjectCommand, ProjectSettings, ViewFlags};
use crate::config::{Config, format_duration, parse_duration};
use crate::failure::Failure;
use crate::views::open_views;
use crate::{credential, engines, host, main_branch, output, project_test, secret, store};

pub(crate) async fn run(
    command: ProjectCommand,
    config: &Config,
    working_dir: &Path,
    environment: &[(OsString, OsString)],
) -> Result<ExitCode, Failure> {
    match command {
        ProjectCommand::Create { name, repository, id, settings, json } => {
            let change = read(Some(name), Some(repository), settings, &Default::default(), working_dir)?;
            create(change, id, config, json).await
        }
        ProjectCommand::List { json } => list(config, json).await,
        ProjectCommand::Show { id, json } => {
            let project = store::project(&store::open_ready(config).await?, &id).await?;
            show(&project, json)
        }
        ProjectCommand::Update { id, name, repository, settings, json } => {
            let store = store::open_ready(config).await?;
            let old = store::project(&store, &id).await?;
            let change = read(name, repository, settings, &(old.views, old.host), working_dir)?;
            let project = store.update_project(&id, change).await?.ok_or_else(|| Failure::unknown_project(&id))?;
            show(&project, json)
        }
        ProjectCommand::Test { id, json } => {
            let store = store::open_ready(config).await?;
            let project = store::project(&store, &id).await?;
            let workshop = engines::workshop(config, &store, environment, config.public_url())?;
            project_test::run(&workshop, &project, json).await
        }
        ProjectCommand::Hook { id, json } => {
            let project = store::project(&store::open_ready(config).await?, &id).await?;
            hook(&project, config, json)
        }
        ProjectCommand::Delete { id, yes, json } => delete(&id, yes, config, json).await,
        ProjectCommand::Credential(command) => credential::run(command, config, environment).await,
    }
}

async fn create(change: ProjectChange, id: Option<String>, config: &Config, json: bool) -> Result<ExitCode, Failure> {
    let id = id.map(|id| ProjectId::parse(&id)).transpose()?;
    let missing = |what: &str| Failure::usage(format!("{what} is missing"));
    let repository = change.repository.ok_or_else(|| missing("--repository"))?;
    let host = change.host.unwrap_or_default();
    let base_ref = match change.base_ref {
        Some(named) => named,
        None => main_branch::ask(&repository, &host).await,
    };
    let new = NewProject {
        id: id.clone(),
        name: change.name.ok_or_else(|| missing("--name"))?,
        repository,
        base_ref,
        docs_paths: change.docs_paths.unwrap_or_else(|| vec!["docs".to_owned()]),
        time_zone: change.time_zone.unwrap_or_else(|| "UTC".to_owned()),
        jobs_per_hour: change.jobs_per_hour.flatten(),
        max_running: change.max_running.flatten(),
        time_limit_seconds: change.time_limit_seconds.flatten(),
        on_findings: change.on_findings.unwrap_or_default(),
        views: change.views.unwrap_or_default(),
        host,
    };
    let taken = || {
        let id = id.as_ref().map_or("", ProjectId::as_str);
        Failure::error(format!("the id {id} is taken")).hint("choose another --id, or leave it out")
    };
    let project = store::open_or_make(config).await?.create_project(new).await?.ok_or_else(taken)?;
    show(&project, json)
}

async fn list(config: &Config, json: bool) -> Result<ExitCode, Failure> {
    let projects = store::open_ready(config).await?.projects().await?;
    if json {
        return output::json(&projects.iter().map(view).collect());
    }
    let row = |project: &Project| {
        vec![project.id.clone(), project.name.clone(), project.repository.public_address().to_owned()]
    };
    output::table(&["id", "name", "repository"], &projects.iter().map(row).collect::<Vec<_>>());
    Ok(ExitCode::SUCCESS)
}

async fn delete(id: &str, yes: bool, config: &Config, json: bool) -> Result<ExitCode, Failure> {
    let store = store::open_ready(config).await?;
    let project = store::project(&store, id).await?;
    if !yes && !confirmed(&project)? {
        return Err(Failure::error("nothing was deleted"));
    }
    // Opened before anything is gone: what fails here fails with everything still there.
    let views = open_views(config).await?;
    let deleted = store.delete_project(id).await;
    let removed = if matches!(deleted, Ok(true)) { views.remove(id).await } else { Ok(()) };
    views.close().await;
    if !deleted? {
        return Err(Failure::unknown_project(id));
    }
    removed?;
    if json {
        return output::json(&json!({ "id": id, "deleted": true }));
    }
    output::line(&format!("Deleted the project {id} with its keys, jobs and page views."));
    Ok(ExitCode::SUCCESS)
}

/// Where a code host tells of pull requests, and what it signs with.
fn hook(project: &Project, config: &Config, as_json: bool) -> Result<ExitCode, Failure> {
    let secret = secret::read_or_make(config)?.hook_secret(&project.id);
    let address = format!("{}/hooks/{}", config.public_url(), project.id);
    if as_json {
        return output::json(&json!({ "address": address, "secret": secret, "contentType": "application/json" }));
    }
    for (label, value) in [("address", address.as_str()), ("secret", &secret), ("content type", "application/json")] {
        output::line(&format!("{label:<13} {value}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Asks at a terminal; elsewhere nobody could answer.
fn confirmed(project: &Project) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(
            Failure::usage("deleting a project takes its keys, jobs and page views with it").hint("confirm with --yes")
        );
    }
    let question = format!(
        "Delete {:?} with all its keys, jobs and page views? Type its id, {}, to confirm: ",
        project.name, project.id
    );
    Ok(output::asked(&question).is_ok_and(|answer| answer.trim() == project.id))
}

/// Checks what was given; what is none was not.
fn read(
    name: Option<String>,
    repository: Option<String>,
    settings: ProjectSettings,
    old: &(ViewSettings, HostSettings),
    working_dir: &Path,
) -> Result<ProjectChange, Failure> {
    let views = read_views(&settings.views, old.0.clone())?;
    let host = host::read(&settings.host, old.1.clone(), working_dir)?;
    let docs_paths = settings.docs_path.iter().map(|path| docs_path(path)).collect::<Result<Vec<_>, _>>()?;
    Ok(ProjectChange {
        name: name.map(check_name).transpose()?,
        repository: repository.map(|text| read_repository(&text, working_dir)).transpose()?,
        base_ref: settings.base_ref.map(|text| git_ref("base_ref", &text)).transpose()?,
        docs_paths: (!docs_paths.is_empty()).then_some(docs_paths),
        time_zone: settings.time_zone.map(|text| time_zone(&text)).transpose()?,
        jobs_per_hour: settings.jobs_per_hour.map(|text| limit("--jobs-per-hour", &text)).transpose()?,
        max_running: settings.max_running.map(|text| limit("--max-running", &text)).transpose()?,
        time_limit_seconds: settings.time_limit.map(|text| time_limit(&text)).transpose()?,
        on_findings: settings.on_findings.map(OnFindings::from),
        views: Some(views),
        host: Some(host),
    })
}

/// What is to be of the page views, from what is.
fn read_views(settings: &ViewFlags, mut views: ViewSettings) -> Result<ViewSettings, Failure> {
    match settings.domain.as_slice() {
        [] => {}
        [none] if none == "none" => views.domains.clear(),
        domains if domains.len() > MAX_DOMAINS => {
            return Err(Failure::usage(format!("a project has at most {MAX_DOMAINS} domains")));
        }
        domains => {
            views.domains = domains.iter().map(|it| domain(it)).collect::<Result<_, _>>()?;
            views.domains.sort();
            views.domains.dedup();
        }
    }
    if let Some(people) = settings.people_from {
        views.sources.people = people.into();
    }
    if let Some(machines) = settings.machines_from {
        views.sources.machines = machines.into();
    }
    if let Some(days) = &settings.keep_views {
        views.keep_days = limit("--keep-views", days)?;
    }
    Ok(views)
}

fn check_name(name: String) -> Result<String, Failure> {
    let name = name.trim().to_owned();
    if (1..=200).contains(&name.chars().count()) && !name.chars().any(char::is_control) {
        Ok(name)
    } else {
        Err(Failure::usage("the name must have 1 to 200 characters and no control characters"))
    }
}

fn read_repository(text: &str, working_dir: &Path) -> Result<Repository, Failure> {
    let repository = Repository::parse(text, working_dir)?;
    if repository.credential_dropped() {
        eprintln!("copydesk: note: the credential in the repository's address was not kept");
    }
    let path = url::Url::parse(repository.clone_address()).ok().filter(|url| url.scheme() == "file");
    if path.and_then(|url| url.to_file_path().ok()).is_some_and(|path| !path.exists()) {
        eprintln!("copydesk: note: there is nothing at {} yet", repository.clone_address());
    }
    Ok(repository)
}

/// A count; `default` is none.
fn limit(flag: &str, text: &str) -> Result<Option<u32>, Failure> {
    if text == "default" {
        return Ok(None);
    }
    let wrong = || Failure::usage(format!("{flag} must be a whole number up to 1000000 or `default`, not {text:?}"));
    text.parse::<u32>().ok().filter(|number| *number <= 1_000_000).map(Some).ok_or_else(wrong)
}

fn time_limit(text: &str) -> Result<Option<u32>, Failure> {
    if text == "default" {
        return Ok(None);
    }
    let time = parse_duration(text).map_err(|error| Failure::usage(format!("--time-limit: {error}")))?;
    let seconds = u32::try_from(time.as_secs()).ok().filter(|seconds| (1..=7 * 24 * 3600).contains(seconds));
    seconds.map(Some).ok_or_else(|| Failure::usage("--time-limit must be from 1s to 7d"))
}

/// There is no such project.
fn view(project: &Project) -> Value {
    json!({
        "id": project.id,
        "name": project.name,
        "repository": project.repository.public_address(),
        "baseRef": project.base_ref,
        "docsPaths": project.docs_paths,
        "timeZone": project.time_zone,
        "jobsPerHour": project.jobs_per_hour,
        "maxRunning": project.max_running,
        "timeLimitSeconds": project.time_limit_seconds,
        "onFindings": project.on_findings,
        "views": project.views,
        "hostKind": project.host.kind_of(&project.repository),
        "host": project.host,
        "createdAt": project.created_at,
        "updatedAt": project.updated_at,
    })
}

fn days(keep: Option<u32>) -> String {
    match keep {
        None => "default".to_owned(),
        Some(0) => "for ever".to_owned(),
        Some(days) => format!("{days} days"),
    }
}

fn show(project: &Project, json: bool) -> Result<ExitCode, Failure> {
    if json {
        return output::json(&view(project));
    }
    let number = |limit: Option<u32>| match limit {
        None => "default".to_owned(),
        Some(0) => "no limit".to_owned(),
        Some(number) => number.to_string(),
    };
    let time = project.time_limit_seconds.map(|it| format_duration(std::time::Duration::from_secs(it.into())));
    for (label, value) in [
        ("id", project.id.clone()),
        ("name", project.name.clone()),
        ("repository", project.repository.public_address().to_owned()),
        ("base branch", project.base_ref.clone()),
        ("docs folders", project.docs_paths.join(", ")),
        ("time zone", project.time_zone.clone()),
        ("jobs an hour", number(project.jobs_per_hour)),
        ("jobs at a time", number(project.max_running)),
        ("time limit", time.unwrap_or_else(|| "default".to_owned())),
        ("new findings", project.on_findings.as_str().to_owned()),
        ("domains", project.views.domains.join(", ")),
        ("people from", project.views.sources.people.as_str().to_owned()),
        ("machines from", project.views.sources.machines.as_str().to_owned()),
        ("views kept", days(project.views.keep_days)),
    ] {
        output::line(&format!("{label:<15} {value}"));
    }
    for (label, value) in host::shown(project) {
        output::line(&format!("{label:<15} {value}"));
    }
    output::line(&format!("{:<15} {}", "created", project.created_at));
    Ok(ExitCode::SUCCESS)
}
