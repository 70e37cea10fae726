//! What clients send to the administration, parsed into drafts.

use std::fmt::Display;
use std::path::Path;

use copydesk_desk::projects::{Checked, HostDraft, ProjectDraft, Reach, TalkDraft, ViewsDraft, WritePathsDraft};
use copydesk_domain::{Comments, HostKind, Invalid, OnFindings, Project, Source};
use serde::{Deserialize, Deserializer};
use utoipa::{IntoParams, ToSchema};

use crate::problem::{Detail, Problem};

/// A project to create
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CreateProject {
    /// The id in addresses; made from the name if not given.
    #[schema(pattern = "^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$")]
    pub(super) id: Option<String>,
    /// What people call it.
    name: String,
    /// An address that git can clone, or an absolute path on the server.
    #[schema(example = "https://github.com/acme/docs")]
    repository: String,
    /// The branch that jobs start from; the main branch of the repository if not given.
    base_ref: Option<String>,
    /// The folders that jobs may edit; `docs` if not given.
    docs_paths: Option<Vec<String>>,
    #[serde(default, deserialize_with = "crate::body::object")]
    write_paths: Option<WritePathsBody>,
    /// An IANA name; `UTC` if not given.
    time_zone: Option<String>,
    #[schema(maximum = 1_000_000)]
    jobs_per_hour: Option<u32>,
    #[schema(maximum = 1_000_000)]
    max_running: Option<u32>,
    #[schema(minimum = 1, maximum = 604_800)]
    time_limit_seconds: Option<u32>,
    /// US dollars that a prompt of a job may cost; it can only lower what the server allows.
    #[schema(exclusive_minimum = 0, maximum = 1_000_000)]
    job_cost: Option<f64>,
    on_findings: Option<OnFindings>,
    #[serde(default, deserialize_with = "crate::body::object")]
    views: Option<ViewsBody>,
    #[serde(default, deserialize_with = "crate::body::object")]
    host: Option<HostBody>,
}

/// What to change in a project; fields that are not given stay as they are
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ChangeProject {
    #[schema(nullable = false)]
    name: Option<String>,
    #[schema(nullable = false)]
    repository: Option<String>,
    #[schema(nullable = false)]
    base_ref: Option<String>,
    #[schema(nullable = false)]
    docs_paths: Option<Vec<String>>,
    #[serde(default, deserialize_with = "crate::body::object")]
    write_paths: Option<WritePathsBody>,
    #[schema(nullable = false)]
    time_zone: Option<String>,
    /// Null: the server's default.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<u32>, maximum = 1_000_000)]
    jobs_per_hour: Option<Option<u32>>,
    /// Null: the server's default.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<u32>, maximum = 1_000_000)]
    max_running: Option<Option<u32>>,
    /// Null: the server's default.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 604_800)]
    time_limit_seconds: Option<Option<u32>>,
    /// US dollars that a prompt of a job may cost; it can only lower what the server allows. Null: what the server allows.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<f64>, exclusive_minimum = 0, maximum = 1_000_000)]
    job_cost: Option<Option<f64>>,
    on_findings: Option<OnFindings>,
    #[serde(default, deserialize_with = "crate::body::object")]
    views: Option<ViewsBody>,
    #[serde(default, deserialize_with = "crate::body::object")]
    host: Option<HostBody>,
}

/// What else jobs may or may not write; a list that is not given stays as it is
#[derive(Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = WritePathsChange)]
pub(super) struct WritePathsBody {
    allow: Option<Vec<String>>,
    deny: Option<Vec<String>>,
}

/// How page views are collected; what is not given stays as it is
#[derive(Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = ViewsChange)]
pub(super) struct ViewsBody {
    domains: Option<Vec<String>>,
    people: Option<Source>,
    machines: Option<Source>,
    /// Null: the server's default; 0: for ever.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<u32>, maximum = 1_000_000)]
    keep_days: Option<Option<u32>>,
}

/// How to reach the code host and what to do there; fields that are not given stay as they are
#[derive(Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = HostChange)]
pub(super) struct HostBody {
    /// Null: found from the address.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<HostKind>)]
    kind: Option<Option<HostKind>>,
    /// Null: the usual address for that kind of host.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    api_url: Option<Option<String>>,
    /// An absolute path on the server; null: none.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    ca_file: Option<Option<String>>,
    accept_any_certificate: Option<bool>,
    comments: Option<Comments>,
    /// The name by which comments mention it; null: `copydesk`.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    mention: Option<Option<String>>,
    /// The label that turns an issue into a job; null: none.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    job_label: Option<Option<String>>,
    /// The labels that pull requests get.
    labels: Option<Vec<String>>,
    /// The reviewers of pull requests.
    reviewers: Option<Vec<String>>,
}

/// Which keys to list
#[derive(IntoParams)]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
#[allow(dead_code, reason = "describes the query, which is read by hand so that every mistake is an error")]
pub(super) struct ListKeys {
    /// Only keys for this project.
    project_id: Option<String>,
}

/// What is there, if only as null, is told from what is not.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

fn or_default(limit: Option<Option<impl Display>>, unit: &str) -> Option<String> {
    limit.map(|limit| limit.map_or_else(|| "default".to_owned(), |number| format!("{number}{unit}")))
}

/// A list that is there and empty takes all away.
fn or_none(list: Option<Vec<String>>) -> Vec<String> {
    match list {
        Some(list) if list.is_empty() => vec!["none".to_owned()],
        list => list.unwrap_or_default(),
    }
}

impl From<CreateProject> for ProjectDraft {
    fn from(body: CreateProject) -> Self {
        let change = ChangeProject {
            name: Some(body.name),
            repository: Some(body.repository),
            base_ref: body.base_ref,
            docs_paths: body.docs_paths,
            write_paths: body.write_paths,
            time_zone: body.time_zone,
            jobs_per_hour: body.jobs_per_hour.map(Some),
            max_running: body.max_running.map(Some),
            time_limit_seconds: body.time_limit_seconds.map(Some),
            job_cost: body.job_cost.map(Some),
            on_findings: body.on_findings,
            views: body.views,
            host: body.host,
        };
        change.into()
    }
}

impl From<ChangeProject> for ProjectDraft {
    fn from(body: ChangeProject) -> Self {
        let (paths, views) = (body.write_paths.unwrap_or_default(), body.views.unwrap_or_default());
        let host = body.host.unwrap_or_default();
        Self {
            name: body.name,
            repository: body.repository,
            base_ref: body.base_ref,
            docs_paths: body.docs_paths.unwrap_or_default(),
            write_paths: WritePathsDraft { allow: or_none(paths.allow), deny: or_none(paths.deny) },
            time_zone: body.time_zone,
            jobs_per_hour: or_default(body.jobs_per_hour, ""),
            max_running: or_default(body.max_running, ""),
            time_limit: or_default(body.time_limit_seconds, "s"),
            job_cost: or_default(body.job_cost, ""),
            on_findings: body.on_findings,
            views: ViewsDraft {
                domains: or_none(views.domains),
                people_from: views.people,
                machines_from: views.machines,
                keep: or_default(views.keep_days, ""),
            },
            host: HostDraft {
                kind: host.kind,
                api_url: host.api_url.map(|url| url.unwrap_or_else(|| "default".to_owned())),
                ca_file: host.ca_file.map(|file| file.unwrap_or_else(|| "none".to_owned())),
                accept_any_certificate: host.accept_any_certificate,
                talk: TalkDraft {
                    comments: host.comments,
                    mention: host.mention.map(|name| name.unwrap_or_else(|| "default".to_owned())),
                    job_label: host.job_label.map(|label| label.unwrap_or_else(|| "none".to_owned())),
                    labels: or_none(host.labels),
                    reviewers: or_none(host.reviewers),
                },
            },
        }
    }
}

/// Checks a draft of somebody who owns the machine. Paths have to be whole: there is no folder to take them from.
pub(super) async fn checked(draft: ProjectDraft, old: Option<&Project>) -> Result<Checked, Problem> {
    Reach::Anywhere.check(&draft).await.map_err(|invalid| named(&invalid))?;
    if draft.host.ca_file.as_deref().is_some_and(|file| file != "none" && !file.starts_with('/')) {
        return Err(Problem::invalid("host.caFile", "must be an absolute path on the server"));
    }
    draft.check(old, Path::new("/")).map_err(|invalid| named(&invalid))
}

/// What is wrong, by the name that the field has in the interface.
pub(super) fn named(invalid: &Invalid) -> Problem {
    let field = match invalid.field {
        "base_ref" => "baseRef",
        "docs_path" => "docsPaths",
        "allow" => "writePaths.allow",
        "deny" => "writePaths.deny",
        "time_zone" => "timeZone",
        "jobs_per_hour" => "jobsPerHour",
        "max_running" => "maxRunning",
        "time_limit" => "timeLimitSeconds",
        "job_cost" => "jobCost",
        "domain" => "views.domains",
        "keep_views" => "views.keepDays",
        "host_api_url" => "host.apiUrl",
        "host_ca_file" => "host.caFile",
        "mention" => "host.mention",
        "job_label" => "host.jobLabel",
        "label" => "host.labels",
        "reviewer" => "host.reviewers",
        "private_key" => "privateKey",
        "known_hosts" => "knownHosts",
        "app_id" => "appId",
        "installation" => "installationId",
        field => field,
    };
    Problem::invalid_all(vec![Detail::new(field, invalid.message.clone())])
}
