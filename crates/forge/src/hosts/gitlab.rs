//! Merge requests on GitLab.

use copydesk_domain::{PullRequest, PullRequestState, Timestamp};
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use super::client::{HostClient, HostPull};
use super::draft_title::{marked, without};
use super::exchange::{Failed, HostResponse};
use super::interface::{Dialect, Posted};
use super::refusal::{Act, needed, no_main_branch, of_branches, refused};
use super::report::{self, Rights, Unseen};
use super::subject::CredentialKind;
use crate::{Ability, ForgeError, NewPullRequest, PullWords};

/// The role from which on branches can be pushed and merge requests opened.
pub(super) const DEVELOPER: u32 = 30;
/// What GitLab takes for the mark of a draft.
const MARKS: &[&str] = &["draft:", "[draft]", "(draft)"];

/// One project on GitLab.
pub(super) struct Gitlab {
    pub(super) client: HostClient,
    /// `projects/group%2Fdocs`.
    pub(super) path: String,
}

#[derive(Deserialize)]
struct Project {
    default_branch: Option<String>,
    #[serde(default)]
    archived: bool,
    merge_requests_access_level: Option<String>,
    permissions: Option<Permissions>,
}

#[derive(Deserialize)]
struct Permissions {
    project_access: Option<Role>,
    group_access: Option<Role>,
}

#[derive(Deserialize)]
struct Role {
    access_level: u32,
}

#[derive(Deserialize)]
struct TokenInfo {
    scopes: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct MergeRequest {
    iid: u64,
    web_url: String,
    state: String,
    #[serde(default)]
    title: String,
    description: Option<String>,
    draft: Option<bool>,
    /// What it was called in old versions.
    work_in_progress: Option<bool>,
    merged_at: Option<Timestamp>,
    #[serde(default)]
    source_branch: String,
    /// None if the fork is gone.
    source_project_id: Option<u64>,
    target_project_id: Option<u64>,
}

impl HostPull for MergeRequest {
    fn view(&self) -> PullRequest {
        let state = match self.state.as_str() {
            "merged" => PullRequestState::Merged,
            // It is locked while it is merged.
            "opened" | "locked" => PullRequestState::Open,
            _ => PullRequestState::Closed,
        };
        let draft = self.draft.or(self.work_in_progress).unwrap_or_default();
        PullRequest { number: self.iid, url: self.web_url.clone(), state, draft, merged_at: self.merged_at }
    }

    fn words(&self) -> PullWords {
        PullWords { title: without(&self.title, MARKS).to_owned(), body: self.description.clone().unwrap_or_default() }
    }

    fn is_from(&self, branch: &str) -> bool {
        let is_own = self.source_project_id.is_some() && self.source_project_id == self.target_project_id;
        is_own && self.source_branch == branch
    }
}

impl Gitlab {
    /// Whether the token may write through the interface; it can be asked about itself.
    async fn has_scope(&self) -> Ability {
        match self.client.get::<TokenInfo>("personal_access_tokens/self", Act::Look).await {
            Ok(token) => {
                Ability::when(token.scopes.iter().any(|scope| scope == "api"), "the token needs the scope `api`")
            }
            Err(_) => {
                Ability::Unknown("GitLab does not say what this token may do; it needs the scope `api`".to_owned())
            }
        }
    }
}

fn title(new: &NewPullRequest) -> String {
    marked(&new.title, "Draft: ", MARKS, new.draft)
}

impl Dialect for Gitlab {
    type Pull = MergeRequest;

    fn client(&self) -> &HostClient {
        &self.client
    }

    fn pull_path(&self, number: u64) -> String {
        format!("{}/merge_requests/{number}", self.path)
    }

    async fn find_pull(&self, head: &str) -> Result<Option<PullRequest>, ForgeError> {
        let query = [
            ("source_branch", head),
            ("state", "all"),
            ("order_by", "created_at"),
            ("sort", "desc"),
            ("per_page", "20"),
        ];
        let page =
            |answer: &HostResponse| Ok((self.client.read::<Vec<MergeRequest>>(Act::Look, answer)?, answer.next_link()));
        self.client.find_pull(&format!("{}/merge_requests", self.path), &query, head, page).await
    }

    async fn post_pull(&self, new: &NewPullRequest) -> Result<Posted, Failed> {
        let body = json!({
            "source_branch": new.head,
            "target_branch": new.base,
            "title": title(new),
            "description": new.body,
        });
        let answer = self.client.send(Method::POST, &format!("{}/merge_requests", self.path), body).await?;
        let words = answer.message();
        match answer.status {
            409 => Ok(Posted::Exists),
            400 | 422 if words.contains("already exists") => Ok(Posted::Exists),
            400 | 422 => {
                let told = of_branches(self.client.subject(), &words, &new.head, &new.base);
                Err(told.unwrap_or_else(|| refused(self.client.subject(), Act::Write, &answer)).into())
            }
            _ => Ok(Posted::Open(self.client.read::<MergeRequest>(Act::Write, &answer)?.view())),
        }
    }

    async fn update_pull(&self, number: u64, new: &NewPullRequest) -> Result<PullRequest, ForgeError> {
        let body = json!({ "title": title(new), "description": new.body });
        let answer = self.client.send(Method::PUT, &self.pull_path(number), body).await?;
        Ok(self.client.read::<MergeRequest>(Act::Write, &answer)?.view())
    }

    async fn main_branch(&self) -> Result<String, ForgeError> {
        let project: Project = self.client.get(&self.path, Act::Look).await?;
        project.default_branch.ok_or_else(|| no_main_branch(self.client.subject()))
    }

    async fn rights(&self, _pushes: bool) -> Result<Rights, Unseen> {
        let (project, _) = report::look::<Project>(&self.client, &self.path).await?;
        let subject = self.client.subject();
        if project.archived {
            return Ok(report::archived(subject));
        }
        let roles = project.permissions.map(|given| [given.project_access, given.group_access]);
        // What somebody is by way of an invited group is not shown, so one who seems to be less may be a developer.
        let mut levels = roles.into_iter().flatten().flatten().map(|role| role.access_level);
        let is_developer = levels.any(|level| level >= DEVELOPER);
        let writable = report::writable(subject, is_developer.then_some(true));
        let pull_requests = if project.merge_requests_access_level.as_deref() == Some("disabled") {
            Ability::No(format!("merge requests are switched off in {}", subject.repository))
        } else if subject.credential == CredentialKind::None {
            Ability::No("GitLab takes no merge request without a token".to_owned())
        } else {
            match self.has_scope().await {
                Ability::Yes if !is_developer => Ability::Unknown(format!(
                    "GitLab does not say which role comes by way of another group; the token needs {}",
                    needed(subject.kind, Act::Write)
                )),
                told => told,
            }
        };
        Ok(Rights { writable, pull_requests })
    }
}
