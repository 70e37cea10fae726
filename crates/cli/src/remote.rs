//! `copydesk --url URL project …` and `key …`: the same on a server elsewhere, through its administration.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use copydesk_desk::projects::{Checked, ProjectDraft, ProjectView, TalkDraft, TestView};
use copydesk_domain::{ApiKey, KeyRecord, Project, Scope};
use copydesk_store::ProjectChange;
use reqwest::redirect::Policy;
use reqwest::{Method, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use url::Url;

use crate::args::{KeyCommand, ProjectCommand};
use crate::failure::Failure;
use crate::{client, key, project};

/// The administration of a server.
pub(crate) struct Remote {
    http: reqwest::Client,
    /// Ends with a slash.
    base: Url,
    key: ApiKey,
}

impl Remote {
    pub(crate) fn new(url: &str, environment: &[(OsString, OsString)]) -> Result<Self, Failure> {
        let hint = "`copydesk key create --all-projects --scope admin` makes one, on the server";
        let (base, key) = (client::base(url)?, client::key(environment, hint)?);
        // A redirect could carry the key elsewhere. A connection test takes as long as the host does.
        let builder = reqwest::Client::builder().timeout(Duration::from_secs(300)).redirect(Policy::none());
        Ok(Self { http: client::build(builder, base.scheme() == "http")?, base, key })
    }

    async fn send(&self, method: Method, path: &[&str], body: Option<&Value>) -> Result<Value, Failure> {
        let mut url = self.base.clone();
        let mut segments = url.path_segments_mut().map_err(|()| Failure::usage("the server's address has no path"))?;
        segments.pop_if_empty().extend(["v1", "admin"]).extend(path);
        drop(segments);
        self.ask(method, url, body).await
    }

    async fn ask(&self, method: Method, url: Url, body: Option<&Value>) -> Result<Value, Failure> {
        let mut request = self.http.request(method, url).bearer_auth(self.key.reveal());
        request = request.header("accept", "application/json");
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = request.send().await.map_err(|error| client::unreachable(&self.base, &error))?;
        if answer.status() == StatusCode::NO_CONTENT { Ok(Value::Null) } else { client::read(answer).await }
    }

    async fn view(&self, id: &str) -> Result<ProjectView, Failure> {
        read(self.send(Method::GET, &["projects", id], None).await?)
    }

    async fn project(&self, id: &str) -> Result<Project, Failure> {
        Ok(self.view(id).await?.into())
    }
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, Failure> {
    serde_json::from_value(value).map_err(|_| {
        Failure::error("the server's answer cannot be read").hint("check that it runs the same version of Copydesk")
    })
}

pub(crate) async fn run_project(command: ProjectCommand, remote: &Remote) -> Result<ExitCode, Failure> {
    match command {
        ProjectCommand::Create { name, repository, id, settings, json } => {
            let mut body = given(project::draft(Some(name), Some(repository), settings), None)?;
            body.extend(id.map(|id| ("id".to_owned(), json!(id))));
            shown(remote.send(Method::POST, &["projects"], Some(&body.into())).await?, json)
        }
        ProjectCommand::List { json } => {
            let mut answer = remote.send(Method::GET, &["projects"], None).await?;
            let views: Vec<ProjectView> = read(answer["projects"].take())?;
            project::list(&views, json)
        }
        ProjectCommand::Show { id, json } => project::show(&remote.view(&id).await?, json),
        ProjectCommand::Update { id, name, repository, settings, json } => {
            let old = remote.project(&id).await?;
            let body = given(project::draft(name, repository, settings), Some(&old))?;
            shown(remote.send(Method::PATCH, &["projects", &id], Some(&body.into())).await?, json)
        }
        ProjectCommand::Test { id, json } => {
            let there = remote.project(&id).await?;
            let test: TestView = read(remote.send(Method::POST, &["projects", &id, "test"], None).await?)?;
            project::test(&test, &there, json)
        }
        ProjectCommand::Delete { id, yes, json } => {
            let there = remote.project(&id).await?;
            if !yes && !project::confirmed(&there)? {
                return Err(Failure::error("nothing was deleted"));
            }
            remote.send(Method::DELETE, &["projects", &id], None).await?;
            project::deleted_project(&id, json)
        }
        ProjectCommand::Hook { .. }
        | ProjectCommand::Asks { .. }
        | ProjectCommand::Credential(_)
        | ProjectCommand::Source(_) => Err(only_there()),
    }
}

pub(crate) fn only_there() -> Failure {
    Failure::usage("this command works only on the machine of the server, without --url")
}

fn shown(answer: Value, json: bool) -> Result<ExitCode, Failure> {
    project::saved(read(answer)?, json)
}

/// What was given, as the interface takes it. What is wrong is said here, by its flag; but files and folders are those of
/// the server, which looks at them itself.
fn given(mut draft: ProjectDraft, old: Option<&Project>) -> Result<Map<String, Value>, Failure> {
    let (repository, ca_file) = (draft.repository.take(), draft.host.ca_file.take());
    let (kind, api_url) = (draft.host.kind, draft.host.api_url.clone());
    let any_certificate = draft.host.accept_any_certificate;
    let talk = talk_given(&draft.host.talk);
    let checked = draft.check(old, Path::new("/")).map_err(|invalid| Failure::flag(&invalid))?;
    let Checked { change: ProjectChange { views, write_paths, .. }, .. } = &checked;
    let mut body = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(name.to_owned(), value);
        }
    };
    let change = &checked.change;
    put("name", change.name.as_ref().map(|it| json!(it)));
    put("repository", repository.map(|it| json!(it)));
    put("baseRef", change.base_ref.as_ref().map(|it| json!(it)));
    put("docsPaths", change.docs_paths.as_ref().map(|it| json!(it)));
    put("timeZone", change.time_zone.as_ref().map(|it| json!(it)));
    put("jobsPerHour", change.jobs_per_hour.map(|it| json!(it)));
    put("maxRunning", change.max_running.map(|it| json!(it)));
    put("timeLimitSeconds", change.time_limit_seconds.map(|it| json!(it)));
    put("jobCost", change.job_cost.map(|it| json!(it)));
    put("onFindings", change.on_findings.map(|it| json!(it)));
    put("writePaths", write_paths.as_ref().map(|it| json!(it)));
    put("views", views.as_ref().map(|it| json!(it)));
    let mut host = Map::new();
    host.extend(kind.map(|kind| ("kind".to_owned(), json!(kind))));
    let or_null = |text: String, word: &str| if text == word { Value::Null } else { json!(text) };
    host.extend(api_url.map(|url| ("apiUrl".to_owned(), or_null(url, "default"))));
    host.extend(ca_file.map(|file| ("caFile".to_owned(), or_null(file, "none"))));
    host.extend(any_certificate.map(|any| ("acceptAnyCertificate".to_owned(), json!(any))));
    host.extend(talk);
    if !host.is_empty() {
        body.insert("host".to_owned(), host.into());
    }
    Ok(body)
}

fn talk_given(talk: &TalkDraft) -> Map<String, Value> {
    let or_null = |text: &String, word: &str| if text == word { Value::Null } else { json!(text) };
    let or_none = |list: &[String]| match list {
        [] => None,
        [none] if none == "none" => Some(json!([])),
        list => Some(json!(list)),
    };
    let given = [
        ("comments", talk.comments.map(|it| json!(it))),
        ("mention", talk.mention.as_ref().map(|it| or_null(it, "default"))),
        ("jobLabel", talk.job_label.as_ref().map(|it| or_null(it, "none"))),
        ("labels", or_none(&talk.labels)),
        ("reviewers", or_none(&talk.reviewers)),
    ];
    given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

pub(crate) async fn run_key(command: KeyCommand, remote: &Remote) -> Result<ExitCode, Failure> {
    match command {
        KeyCommand::Create { project, all_projects, scope, expires, name, json } => {
            let project = key::of_key(project, all_projects)?;
            let scope = Scope::from(scope).as_str();
            let body = json!({ "projectId": project, "name": name, "scope": scope, "expires": expires });
            let mut made = remote.send(Method::POST, &["keys"], Some(&body)).await?;
            let secret: String = read(made["key"].take())?;
            let record: KeyRecord = read(made)?;
            match key::reveal(&record, &secret, json) {
                Ok(code) => Ok(code),
                Err(error) => {
                    // A key that nobody has seen is only a risk.
                    remote.send(Method::DELETE, &["keys", &record.id], None).await?;
                    Err(key::not_printed(&error))
                }
            }
        }
        KeyCommand::List { project, json } => {
            let mut url = remote.base.clone();
            url.set_path(&format!("{}v1/admin/keys", url.path()));
            if let Some(project) = project {
                url.query_pairs_mut().append_pair("projectId", &project);
            }
            let mut answer = remote.ask(Method::GET, url, None).await?;
            key::list(&read::<Vec<KeyRecord>>(answer["keys"].take())?, json)
        }
        KeyCommand::Revoke { id, json } => {
            key::revoked_key(&read(remote.send(Method::DELETE, &["keys", &id], None).await?)?, json)
        }
    }
}
