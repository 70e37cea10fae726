//! Merge requests on GitLab.

use std::sync::Arc;

use copydesk_domain::{PullRequest, PullRequestState, Timestamp};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use super::access::Access;
use super::gate::Gate;
use super::http::Line;
use super::message::{Failed, Page};
use super::opening::{self, Opener, Posted};
use super::refusal::{Act, needed, of_branches, refused};
use super::report;
use super::title::marked;
use crate::{Abilities, Ability, CodeHost, ForgeError, NewPullRequest};

/// The role from which on branches can be pushed and merge requests opened.
const DEVELOPER: u32 = 30;
/// What GitLab takes for the mark of a draft.
const MARKS: &[&str] = &["draft:", "[draft]", "(draft)"];

/// One project on GitLab.
pub(super) struct Gitlab {
    pub(super) line: Arc<Line>,
    pub(super) gate: Arc<Gate>,
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
struct MergeRequest {
    iid: u64,
    web_url: String,
    state: String,
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

impl MergeRequest {
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

    fn is_from(&self, branch: &str) -> bool {
        let is_own = self.source_project_id.is_some() && self.source_project_id == self.target_project_id;
        is_own && self.source_branch == branch
    }
}

impl Gitlab {
    async fn find_now(&self, head: &str) -> Result<Option<PullRequest>, ForgeError> {
        let query = [
            ("source_branch", head),
            ("state", "all"),
            ("order_by", "created_at"),
            ("sort", "desc"),
            ("per_page", "20"),
        ];
        let first = self.line.call(Method::GET, &format!("{}/merge_requests", self.path))?.with_query(&query);
        let found = self.line.search(first, |answer| {
            let requests: Vec<MergeRequest> = self.line.read(Act::Look, answer)?;
            Ok(match requests.iter().find(|request| request.is_from(head)) {
                Some(request) => Page::Found(request.view()),
                None => Page::Next(answer.next_link()),
            })
        });
        found.await
    }

    async fn post_now(&self, new: &NewPullRequest) -> Result<Posted, Failed> {
        let body = json!({
            "source_branch": new.head,
            "target_branch": new.base,
            "title": title(new),
            "description": new.body,
        });
        let call = self.line.call(Method::POST, &format!("{}/merge_requests", self.path))?.with_body(body);
        let answer = self.line.send(&call).await?;
        let words = answer.words();
        match answer.status {
            409 => Ok(Posted::Exists),
            400 | 422 if words.contains("already exists") => Ok(Posted::Exists),
            400 | 422 => {
                let told = of_branches(&self.line, &words, &new.head, &new.base);
                Err(told.unwrap_or_else(|| refused(&self.line, Act::Write, &answer)).into())
            }
            _ => Ok(Posted::New(self.line.read::<MergeRequest>(Act::Write, &answer)?.view())),
        }
    }

    async fn update_now(&self, number: u64, new: &NewPullRequest) -> Result<PullRequest, ForgeError> {
        let body = json!({ "title": title(new), "description": new.body });
        let call = self.line.call(Method::PUT, &format!("{}/merge_requests/{number}", self.path))?.with_body(body);
        let request: MergeRequest = self.line.read(Act::Write, &self.line.send(&call).await?)?;
        Ok(request.view())
    }

    async fn abilities_now(&self) -> Abilities {
        let project: Project = match report::look(&self.line, &self.path).await {
            Ok((project, _)) => project,
            Err(abilities) => return *abilities,
        };
        if project.archived {
            return report::archived(&self.line);
        }
        let roles = project.permissions.map(|given| [given.project_access, given.group_access]);
        let level = roles.map(|roles| roles.into_iter().flatten().map(|role| role.access_level).max().unwrap_or(0));
        let push = match (self.gate.may_push(&self.line).await, level) {
            (Ability::Unknown(_), Some(level)) if level >= DEVELOPER => Ability::Yes,
            (Ability::Unknown(_), Some(_)) => report::no_push(&self.line),
            (told, _) => told,
        };
        let pull_requests = if project.merge_requests_access_level.as_deref() == Some("disabled") {
            Ability::No(format!("merge requests are switched off in {}", self.line.name()))
        } else if matches!(self.line.access, Access::None) {
            Ability::No("GitLab takes no merge request without a token".to_owned())
        } else if level.is_some_and(|level| level < DEVELOPER) {
            Ability::No(format!("the token needs {}", needed(self.line.kind, Act::Write)))
        } else {
            self.has_scope().await
        };
        Abilities { reachable: Ability::Yes, readable: Ability::Yes, push, pull_requests }
    }

    /// Whether the token may write through the interface; it can be asked about itself.
    async fn has_scope(&self) -> Ability {
        match self.line.get::<TokenInfo>("personal_access_tokens/self", Act::Look).await {
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

impl Opener for Gitlab {
    fn post<'a>(&'a self, new: &'a NewPullRequest) -> BoxFuture<'a, Result<Posted, Failed>> {
        self.post_now(new).boxed()
    }
}

impl CodeHost for Gitlab {
    fn find<'a>(&'a self, head: &'a str) -> BoxFuture<'a, Result<Option<PullRequest>, ForgeError>> {
        self.find_now(head).boxed()
    }

    fn open<'a>(&'a self, new: &'a NewPullRequest) -> BoxFuture<'a, Result<PullRequest, ForgeError>> {
        opening::open(self, &self.line, new).boxed()
    }

    fn update<'a>(&'a self, number: u64, new: &'a NewPullRequest) -> BoxFuture<'a, Result<PullRequest, ForgeError>> {
        self.update_now(number, new).boxed()
    }

    fn read(&self, number: u64) -> BoxFuture<'_, Result<PullRequest, ForgeError>> {
        async move {
            let path = format!("{}/merge_requests/{number}", self.path);
            Ok(self.line.get::<MergeRequest>(&path, Act::Read).await?.view())
        }
        .boxed()
    }

    fn comment<'a>(&'a self, number: u64, text: &'a str) -> BoxFuture<'a, Result<(), ForgeError>> {
        let path = format!("{}/merge_requests/{number}/notes", self.path);
        super::post_comment(&self.line, path, json!({ "body": text })).boxed()
    }

    fn default_branch(&self) -> BoxFuture<'_, Result<String, ForgeError>> {
        async {
            let project: Project = self.line.get(&self.path, Act::Look).await?;
            project.default_branch.ok_or_else(|| super::empty(&self.line))
        }
        .boxed()
    }

    fn abilities(&self) -> BoxFuture<'_, Abilities> {
        self.abilities_now().boxed()
    }
}
