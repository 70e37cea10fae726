//! Edit scenarios: folders that say what a repository holds, what is asked, what the model says, what the repository
//! holds then, and what becomes of the job. `scenarios/README.md` describes them for those who write them.

mod files;
mod load;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use copydesk_testbase::PATIENCE;
use serde::Deserialize;

pub use files::{Entry, Files, check_out};

use super::{Api, KEY, Script};

#[derive(Debug, Clone)]
pub struct Scenario {
    /// The name of its folder.
    pub name: String,
    /// What it is about, as one sentence.
    pub about: String,
    /// The wire formats to run it with.
    pub apis: Vec<Api>,
    /// The repository at the base commit.
    pub before: Files,
    /// The repository on the branch of the pull request; none if there must be no branch.
    pub after: Option<Files>,
    /// The code sources of the project by name: one commit after the other, each with the tag that it gets.
    pub sources: BTreeMap<String, Vec<(String, Files)>>,
    /// What the user asks, first to last.
    pub prompts: Vec<String>,
    /// What the model says.
    pub script: Script,
    /// How the project is set.
    pub project: ProjectSettings,
    /// What the job is asked for beside its prompt.
    pub job: JobSettings,
    /// How the engine is set.
    pub model: ModelLimits,
    /// What the job is after the last prompt.
    pub expect: Expect,
    /// What it is after the prompts before, if anything is said about that.
    pub earlier: Vec<Expect>,
}

/// How the project of a scenario is set.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProjectSettings {
    /// The folders that hold documentation.
    pub docs_paths: Vec<String>,
    /// What becomes of a change with new findings.
    pub on_findings: Policy,
}

/// What becomes of a change with new findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// A pull request that is a draft.
    Draft,
    /// The job fails.
    Fail,
}

impl Default for ProjectSettings {
    fn default() -> Self {
        Self { docs_paths: vec!["docs".to_owned()], on_findings: Policy::Draft }
    }
}

/// What a job is asked for beside its prompt.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JobSettings {
    /// Whether a pull request is to be opened.
    pub open_pull_request: bool,
    /// Whether it is to be a draft in any case.
    pub draft: bool,
    /// The range of commits of a code source that it is about, as `sdk:v1.4..v1.5`.
    pub changes: Option<String>,
}

impl Default for JobSettings {
    fn default() -> Self {
        Self { open_pull_request: true, draft: false, changes: None }
    }
}

/// How the engine of a scenario is set, where it differs from the usual.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelLimits {
    /// The key that is shown to the provider.
    pub api_key: String,
    /// The most answers a turn of the job.
    pub turns: Option<u32>,
    /// The most tokens a job.
    pub tokens: Option<u64>,
    /// How many tokens the model is thought to take in.
    pub context_tokens: Option<u32>,
}

impl Default for ModelLimits {
    fn default() -> Self {
        Self { api_key: KEY.to_owned(), turns: None, tokens: None, context_tokens: None }
    }
}

/// What is expected of a job. What is not said is not looked at, unless it says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    pub status: String,
    pub outcome: String,
    pub title: Option<String>,
    /// What its message holds.
    #[serde(default)]
    pub message_contains: Vec<String>,
    /// What its message must not hold.
    #[serde(default)]
    pub message_lacks: Vec<String>,
    /// Whether it has a `prLink`. If it is not said: if the outcome is `pr_created`.
    pub pull_request: Option<bool>,
    /// Whether the pull request is a draft. If it is not said: it is not.
    #[serde(default)]
    pub draft: bool,
    /// What the text of the pull request holds.
    #[serde(default)]
    pub body_contains: Vec<String>,
    /// What the text of the pull request must not hold.
    #[serde(default)]
    pub body_lacks: Vec<String>,
    /// How many commits the branch has above the base.
    pub commits: Option<usize>,
    /// How many new findings each check has; one that is not named must have none.
    #[serde(default)]
    pub findings: BTreeMap<String, usize>,
    /// How many answers of the model the job counts.
    pub model_calls: Option<u64>,
    /// How many requests the model server gets, failed ones too.
    pub requests: Option<usize>,
    /// The tokens that the job counts as read.
    pub input_tokens: Option<u64>,
    /// The tokens that the job counts as written.
    pub output_tokens: Option<u64>,
    /// What the model is told in answers of tools or by the user, in the last request.
    #[serde(default)]
    pub told: Vec<String>,
    /// Kinds of events that must occur.
    #[serde(default)]
    pub events: BTreeSet<String>,
    /// Kinds of events that must not occur.
    #[serde(default)]
    pub no_events: BTreeSet<String>,
    /// How long it may take from the prompt to the end, in seconds.
    #[serde(default = "usual_seconds")]
    within_seconds: u64,
}

fn usual_seconds() -> u64 {
    PATIENCE.as_secs()
}

impl Expect {
    /// Whether the job has a link to a pull request.
    pub fn has_pull_request(&self) -> bool {
        self.pull_request.unwrap_or(self.outcome == "pr_created")
    }

    /// How long it may take from the prompt to the end.
    pub fn within(&self) -> Duration {
        Duration::from_secs(self.within_seconds)
    }
}

impl Scenario {
    /// The prompt of this number, from 0, that leads to the script in a conversation of its own by `key`.
    pub fn prompt(&self, number: usize, key: &str) -> String {
        match number {
            0 => format!("{}\n\n[[script:{}#{key}]]", self.prompts[0], self.name),
            _ => self.prompts[number].clone(),
        }
    }

    /// The name of that conversation on the model server.
    pub fn conversation(&self, key: &str) -> String {
        format!("{}#{key}", self.name)
    }
}

/// Where the scenarios of this repository are.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// All scenarios of this repository by name. Stops with a clear word at the first that cannot be read.
pub fn all() -> Vec<Scenario> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(folder())
        .expect("the repository has scenarios")
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders.iter().map(|folder| Scenario::load(folder).unwrap_or_else(|problem| panic!("{problem}"))).collect()
}
