//! How a project and its trials are shown: by the interface, and by the command line as JSON.

use copydesk_domain::{
    Dollars, HostKind, HostSettings, OnFindings, Project, ProjectId, Repository, Timestamp, ViewSettings, WritePaths,
};
use copydesk_forge::Ability;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::trial::Trial;
use crate::jobs::JobRules;

/// A project
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Project)]
pub struct ProjectView {
    /// The id in every address.
    #[schema(value_type = String)]
    pub id: ProjectId,
    /// What people call it.
    pub name: String,
    /// The repository with its documentation, without a credential.
    pub repository: String,
    /// The branch that jobs start from.
    pub base_ref: String,
    /// The folders that jobs may edit.
    pub docs_paths: Vec<String>,
    pub write_paths: WritePaths,
    /// IANA name of the zone in which days are reported.
    pub time_zone: String,
    /// Job creations and messages an hour; null: the server's default; 0: no limit.
    #[schema(required)]
    pub jobs_per_hour: Option<u32>,
    /// Jobs running at a time; null: the server's default; 0: no limit.
    #[schema(required)]
    pub max_running: Option<u32>,
    /// How long a job may run, in seconds; null: the server's default.
    #[schema(required)]
    pub time_limit_seconds: Option<u32>,
    /// US dollars that a prompt of a job may cost, where the prices of the model are known; null: what the server allows,
    /// which this can only lower.
    #[schema(required, value_type = Option<f64>)]
    pub job_cost: Option<Dollars>,
    pub on_findings: OnFindings,
    pub views: ViewSettings,
    /// The kind of its code host, set or told by the address.
    pub host_kind: HostKind,
    pub host: HostSettings,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When it was last changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// What is allowed but may be a mistake, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub notes: Vec<String>,
    /// Settings that have no effect on this server, one sentence with the reason each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub not_in_force: Vec<String>,
}

impl ProjectView {
    /// A project as it is on a server with these rules.
    pub fn new(project: &Project, rules: &JobRules) -> Self {
        Self { not_in_force: rules.budget_not_in_force(project).into_iter().collect(), ..Self::from(project) }
    }

    #[must_use]
    pub fn with_notes(mut self, notes: Vec<String>) -> Self {
        self.notes = notes;
        self
    }
}

impl From<&Project> for ProjectView {
    fn from(project: &Project) -> Self {
        Self {
            id: project.id.clone(),
            name: project.name.clone(),
            repository: project.repository.public_address().to_owned(),
            base_ref: project.base_ref.clone(),
            docs_paths: project.docs_paths.clone(),
            write_paths: project.write_paths.clone(),
            time_zone: project.time_zone.clone(),
            jobs_per_hour: project.jobs_per_hour,
            max_running: project.max_running,
            time_limit_seconds: project.time_limit_seconds,
            job_cost: project.job_cost,
            on_findings: project.on_findings,
            views: project.views.clone(),
            host_kind: project.host.kind_of(&project.repository),
            host: project.host.clone(),
            created_at: project.created_at,
            updated_at: project.updated_at,
            notes: Vec::new(),
            not_in_force: Vec::new(),
        }
    }
}

impl From<ProjectView> for Project {
    /// What a server has shown; its repository has the address that is for everybody.
    fn from(view: ProjectView) -> Self {
        Self {
            id: view.id,
            name: view.name,
            repository: Repository::from_stored(view.repository),
            base_ref: view.base_ref,
            docs_paths: view.docs_paths,
            write_paths: view.write_paths,
            time_zone: view.time_zone,
            jobs_per_hour: view.jobs_per_hour,
            max_running: view.max_running,
            time_limit_seconds: view.time_limit_seconds,
            job_cost: view.job_cost,
            on_findings: view.on_findings,
            views: view.views,
            host: view.host,
            created_at: view.created_at,
            updated_at: view.updated_at,
        }
    }
}

/// The result of a test
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TrialResult {
    Yes,
    No,
    Unknown,
}

/// One thing that was tested
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Trial)]
pub struct TrialView {
    /// A fixed word, for programs.
    pub trial: String,
    /// What was tested, in words.
    pub what: String,
    pub result: TrialResult,
    /// Why not, or why it is not known.
    #[schema(required)]
    pub why: Option<String>,
}

impl From<&Trial> for TrialView {
    fn from(trial: &Trial) -> Self {
        let (result, why) = match &trial.ability {
            Ability::Yes => (TrialResult::Yes, None),
            Ability::No(why) => (TrialResult::No, Some(why.clone())),
            Ability::Unknown(why) => (TrialResult::Unknown, Some(why.clone())),
        };
        Self { trial: trial.name.to_owned(), what: trial.what.clone(), result, why }
    }
}

/// The results of testing a project's code host
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ProjectTest)]
pub struct TestView {
    #[schema(value_type = String)]
    pub project: ProjectId,
    /// Whether a job would succeed.
    pub works: bool,
    pub trials: Vec<TrialView>,
}

impl TestView {
    pub fn new(project: &Project, trials: &[Trial]) -> Self {
        let project = project.id.clone();
        Self { project, works: super::works(trials), trials: trials.iter().map(TrialView::from).collect() }
    }
}
