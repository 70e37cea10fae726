use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use copydesk_desk::Sender;
use copydesk_desk::mirrors::{self, Swept};
use copydesk_desk::projects::{
    self, Checked, HostDraft, NotDeleted, NotSaved, ProjectDraft, ProjectView, TestView, ViewsDraft, WritePathsDraft,
};
use copydesk_domain::{Comments, OnFindings, Project, ProjectId, format_duration};
use copydesk_store::Asked;
use serde_json::json;

use crate::args::{ProjectCommand, ProjectSettings};
use crate::config::Config;
use crate::failure::Failure;
use crate::host_flags::{host_draft, talk_draft, trial_line};
use crate::output::note;
use crate::serve::job_rules;
use crate::views::open_views;
use crate::{credential, engines, output, secrets, source, store};

pub(crate) async fn run(
    command: ProjectCommand,
    config: &Config,
    working_dir: &Path,
    environment: &[(OsString, OsString)],
) -> Result<ExitCode, Failure> {
    match command {
        ProjectCommand::Create { name, repository, id, settings, json } => {
            let checked = draft(Some(name), Some(repository), settings).check(None, working_dir);
            create(checked.map_err(|invalid| Failure::flag(&invalid))?, id, config, json).await
        }
        ProjectCommand::List { json } => {
            let projects = store::open_ready(config).await?.projects().await?;
            list(&projects.iter().map(|project| view(project, config)).collect::<Vec<_>>(), json)
        }
        ProjectCommand::Show { id, json } => {
            let project = store::project(&store::open_ready(config).await?, &id).await?;
            show(&view(&project, config), json)
        }
        ProjectCommand::Update { id, name, repository, settings, json } => {
            let store = store::open_ready(config).await?;
            let old = store::project(&store, &id).await?;
            let checked = draft(name, repository, settings).check(Some(&old), working_dir);
            let Checked { change, notes } = checked.map_err(|invalid| Failure::flag(&invalid))?;
            let project = store.update_project(&old.id, change).await?.ok_or_else(|| Failure::unknown_project(&id))?;
            saved(view(&project, config).with_notes(notes), json)
        }
        ProjectCommand::Test { id, json } => {
            let store = store::open_ready(config).await?;
            let project = store::project(&store, &id).await?;
            let workshop = engines::workshop(config, &store, environment, config.public_url())?;
            let trials = projects::trials(&workshop, &project, &job_rules(config)).await;
            test(&TestView::new(&project, &trials), &project, json)
        }
        ProjectCommand::Hook { id, rotate, json } => {
            let store = store::open_ready(config).await?;
            let project = store::project(&store, &id).await?;
            let secret = secrets::of_sender(config, store, &project.id, Sender::Hook, &rotate).await?;
            hook(&project, &secret, config, json)
        }
        ProjectCommand::Asks { id, limit, json } => {
            let store = store::open_ready(config).await?;
            let project = store::project(&store, &id).await?;
            asks(&store.asks(&project.id, limit).await?, json)
        }
        ProjectCommand::Delete { id, yes, json } => delete(&id, yes, config, json).await,
        ProjectCommand::Credential(command) => credential::run(command, config, environment).await,
        ProjectCommand::Source(command) => source::run(command, config, working_dir, environment).await,
    }
}

async fn create(checked: Checked, id: Option<String>, config: &Config, json: bool) -> Result<ExitCode, Failure> {
    // Before anything is made.
    let id = id.map(|id| ProjectId::parse(&id)).transpose().map_err(|invalid| Failure::flag(&invalid))?;
    let store = store::open_or_make(config).await?;
    let (project, notes) = projects::create(&store, id, checked, None).await?;
    saved(view(&project, config).with_notes(notes), json)
}

/// Shows a project that was made or changed, with what is noted about it.
pub(crate) fn saved(mut view: ProjectView, json: bool) -> Result<ExitCode, Failure> {
    let notes = std::mem::take(&mut view.notes);
    note(&notes);
    view.not_in_force.iter().for_each(|why| eprintln!("copydesk: warning: {why}"));
    show(&view, json)
}

/// A project as the server of this configuration has it.
fn view(project: &Project, config: &Config) -> ProjectView {
    ProjectView::new(project, &job_rules(config))
}

impl From<NotDeleted> for Failure {
    fn from(error: NotDeleted) -> Self {
        Self::error(error.to_string())
    }
}

impl From<NotSaved> for Failure {
    fn from(error: NotSaved) -> Self {
        match error {
            NotSaved::Invalid(invalid) => Self::flag(&invalid),
            NotSaved::Taken(_) => Self::error(error.to_string()).hint("choose another --id, or leave it out"),
            NotSaved::Store(error) => error.into(),
        }
    }
}

pub(crate) fn list(projects: &[ProjectView], json: bool) -> Result<ExitCode, Failure> {
    if json {
        return output::json(&json!(projects));
    }
    let row = |project: &ProjectView| vec![project.id.to_string(), project.name.clone(), project.repository.clone()];
    output::table(&["id", "name", "repository"], &projects.iter().map(row).collect::<Vec<_>>());
    Ok(ExitCode::SUCCESS)
}

async fn delete(id: &str, yes: bool, config: &Config, json: bool) -> Result<ExitCode, Failure> {
    let store = store::open_ready(config).await?;
    let project = store::project(&store, id).await?;
    if !yes && !confirmed(&project)? {
        return Err(Failure::error("nothing was deleted"));
    }
    // Made ready before anything is gone: what fails here fails with everything still there.
    let forge = engines::forge(config)?;
    let views = open_views(config).await?;
    let deleted = projects::delete(&store, views.as_ref(), &project.id).await;
    views.close().await;
    if !deleted? {
        return Err(Failure::unknown_project(id));
    }
    // A server hears of it only where the database tells it.
    match mirrors::sweep(&store, &forge).await {
        Ok(Swept { left: 0, .. }) => {}
        Ok(Swept { left, .. }) => {
            let mirrors = output::counted(left as u64, "mirror");
            note(&[format!("{mirrors} in use, or not to be removed, stay for now; a server tries again")]);
        }
        Err(error) => {
            note(&[format!("the mirrors of the project are left: {error}; a server tries again within an hour")])
        }
    }
    deleted_project(id, json)
}

pub(crate) fn deleted_project(id: &str, json: bool) -> Result<ExitCode, Failure> {
    if json {
        return output::json(&json!({ "id": id, "deleted": true }));
    }
    output::line(&format!("Deleted the project {id} with its keys, jobs and page views."));
    Ok(ExitCode::SUCCESS)
}

/// Where a code host tells of pull requests, and what it signs with.
fn hook(project: &Project, secret: &str, config: &Config, as_json: bool) -> Result<ExitCode, Failure> {
    let address = format!("{}/hooks/{}", config.public_url(), project.id);
    if as_json {
        return output::json(&json!({ "address": address, "secret": secret, "contentType": "application/json" }));
    }
    for (label, value) in [("address", address.as_str()), ("secret", secret), ("content type", "application/json")] {
        output::field(label, value, 13);
    }
    Ok(ExitCode::SUCCESS)
}

fn asks(asks: &[Asked], as_json: bool) -> Result<ExitCode, Failure> {
    if as_json {
        let view = |it: &Asked| {
            json!({ "ask": it.key, "pullRequest": it.ask.pull(), "state": it.state.as_str(), "note": it.note,
                "jobId": it.job_id.as_ref().map(|id| id.as_str()), "heardAt": it.heard_at })
        };
        return output::json(&asks.iter().map(view).collect());
    }
    let row = |it: &Asked| {
        let job = it.job_id.as_ref().map(ToString::to_string).unwrap_or_default();
        let place = it.ask.pull().map(|pull| format!(" on #{pull}")).unwrap_or_default();
        let what = format!("{}{place}", it.key);
        vec![it.heard_at.to_string(), what, it.state.as_str().to_owned(), job, it.note.clone().unwrap_or_default()]
    };
    output::table(&["told of", "what", "state", "job", "note"], &asks.iter().map(row).collect::<Vec<_>>());
    Ok(ExitCode::SUCCESS)
}

/// Asks at a terminal; elsewhere nobody could answer.
pub(crate) fn confirmed(project: &Project) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(
            Failure::usage("deleting a project takes its keys, jobs and page views with it").hint("confirm with --yes")
        );
    }
    let question = format!(
        "Delete {:?} with all its keys, jobs and page views? Type its id, {}, to confirm: ",
        project.name, project.id
    );
    Ok(output::asked(&question).is_ok_and(|answer| answer.trim() == project.id.as_str()))
}

pub(crate) fn draft(name: Option<String>, repository: Option<String>, settings: ProjectSettings) -> ProjectDraft {
    let ProjectSettings { views, host, talk, .. } = settings;
    ProjectDraft {
        name,
        repository,
        base_ref: settings.base_ref,
        docs_paths: settings.docs_path,
        write_paths: WritePathsDraft { allow: settings.allow, deny: settings.deny },
        time_zone: settings.time_zone,
        jobs_per_hour: settings.jobs_per_hour,
        max_running: settings.max_running,
        time_limit: settings.time_limit,
        job_cost: settings.job_cost,
        on_findings: settings.on_findings.map(OnFindings::from),
        views: ViewsDraft {
            domains: views.domain,
            people_from: views.people_from.map(Into::into),
            machines_from: views.machines_from.map(Into::into),
            keep: views.keep_views,
        },
        host: HostDraft { talk: talk_draft(talk), ..host_draft(host) },
    }
}

/// Exit code 0 if a job would come through.
pub(crate) fn test(test: &TestView, project: &Project, as_json: bool) -> Result<ExitCode, Failure> {
    if as_json {
        output::json(&json!(test))?;
    } else {
        test.trials.iter().for_each(|trial| output::line(&trial_line(trial)));
        let opens_none = project.host.untold(&project.repository).is_some();
        output::line(match (test.works, opens_none) {
            (true, false) => "A job can run.",
            (true, true) => "A job can run, but it will not open a pull request; see above.",
            (false, _) => "A job would fail; see above.",
        });
    }
    Ok(if test.works { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn days(keep: Option<u32>) -> String {
    match keep {
        None => "default".to_owned(),
        Some(0) => "for ever".to_owned(),
        Some(days) => output::counted(days.into(), "day"),
    }
}

pub(crate) fn show(project: &ProjectView, json: bool) -> Result<ExitCode, Failure> {
    if json {
        return output::json(&json!(project));
    }
    let number = |limit: Option<u32>| match limit {
        None => "default".to_owned(),
        Some(0) => "no limit".to_owned(),
        Some(number) => number.to_string(),
    };
    let time = project.time_limit_seconds.map(|it| format_duration(std::time::Duration::from_secs(it.into())));
    let cost = project.job_cost.map(|it| format!("{it} US dollars"));
    for (label, value) in [
        ("id", project.id.to_string()),
        ("name", project.name.clone()),
        ("repository", project.repository.clone()),
        ("base branch", project.base_ref.clone()),
        ("docs folders", project.docs_paths.join(", ")),
        ("allowed", project.write_paths.allow.join(", ")),
        ("denied", project.write_paths.deny.join(", ")),
        ("time zone", project.time_zone.clone()),
        ("jobs an hour", number(project.jobs_per_hour)),
        ("jobs at a time", number(project.max_running)),
        ("time limit", time.unwrap_or_else(|| "default".to_owned())),
        ("cost of a prompt", cost.unwrap_or_else(|| "default".to_owned())),
        ("new findings", project.on_findings.as_str().to_owned()),
        ("domains", project.views.domains.join(", ")),
        ("people from", project.views.sources.people.as_str().to_owned()),
        ("machines from", project.views.sources.machines.as_str().to_owned()),
        ("views kept", days(project.views.keep_days)),
    ] {
        // A list of nothing says nothing.
        if !value.is_empty() {
            output::field(label, &value, 16);
        }
    }
    for (label, value) in host_rows(project) {
        output::field(label, &value, 16);
    }
    output::field("created", &project.created_at.to_string(), 16);
    for why in &project.not_in_force {
        output::field("not in force", why, 16);
    }
    Ok(ExitCode::SUCCESS)
}

/// Labels and values, of which those that say nothing are left out.
fn host_rows(project: &ProjectView) -> Vec<(&'static str, String)> {
    let host = &project.host;
    let told = if host.kind.is_none() { ", by the repository's address" } else { "" };
    let mut rows = vec![("code host", format!("{}{told}", project.host_kind.title()))];
    rows.extend(host.api_url.clone().map(|url| ("host interface", url)));
    rows.extend(host.ca_file.clone().map(|file| ("host CA file", file)));
    if host.accept_any_certificate {
        rows.push(("certificates", "any is accepted".to_owned()));
    }
    rows.push(match host.comments {
        Comments::Mentions => ("comments", format!("those that mention @{}", host.mention())),
        Comments::All => ("comments", "all".to_owned()),
        Comments::Off => ("comments", "none".to_owned()),
    });
    rows.extend(host.job_label.clone().map(|label| ("job label", label)));
    rows.extend([("labels", host.labels.join(", ")), ("reviewers", host.reviewers.join(", "))]);
    rows.retain(|(_, value)| !value.is_empty());
    rows
}
