//! Pull requests on Forgejo, Gitea and Codeberg.

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
use super::message::{Answer, Failed, Page};
use super::opening::{self, Opener, Posted, is_open};
use super::place::escaped;
use super::refusal::{Act, of_branches, refused};
use super::report;
use super::title::{is_marked, marked};
use crate::{Abilities, Ability, CodeHost, ForgeError, NewPullRequest};

/// What the host takes for the mark of a draft, unless somebody has set it up otherwise.
const MARKS: &[&str] = &["wip:", "[wip]", "draft:"];

/// One repository on Forgejo or Gitea.
pub(super) struct Forgejo {
    pub(super) line: Arc<Line>,
    pub(super) gate: Arc<Gate>,
    /// `repos/acme/docs`.
    pub(super) path: String,
}

#[derive(Deserialize)]
struct Repository {
    #[serde(default)]
    default_branch: String,
    #[serde(default)]
    archived: bool,
    #[serde(default)]
    empty: bool,
    has_pull_requests: Option<bool>,
    permissions: Option<Permissions>,
}

#[derive(Deserialize)]
struct Permissions {
    #[serde(default)]
    push: bool,
}

#[derive(Deserialize)]
struct Pull {
    number: u64,
    html_url: String,
    state: String,
    #[serde(default)]
    title: String,
    draft: Option<bool>,
    #[serde(default)]
    merged: bool,
    merged_at: Option<Timestamp>,
    head: Option<Side>,
    base: Option<Side>,
}

#[derive(Deserialize)]
struct Side {
    /// The branch; it stays when the branch is gone.
    #[serde(default)]
    label: String,
    #[serde(default, rename = "ref")]
    branch: String,
    /// -1 if the fork is gone.
    #[serde(default)]
    repo_id: i64,
}

impl Pull {
    fn view(&self) -> PullRequest {
        let state = match (self.merged, self.state.as_str()) {
            (true, _) => PullRequestState::Merged,
            (false, "open") => PullRequestState::Open,
            (false, _) => PullRequestState::Closed,
        };
        let draft = self.draft.unwrap_or_else(|| is_marked(&self.title, MARKS));
        PullRequest { number: self.number, url: self.html_url.clone(), state, draft, merged_at: self.merged_at }
    }

    fn is_from(&self, branch: &str) -> bool {
        let (Some(head), Some(base)) = (&self.head, &self.base) else { return false };
        (head.label == branch || head.branch == branch) && head.repo_id == base.repo_id
    }
}

impl Forgejo {
    /// Most versions cannot be asked for a branch, so the list, whose newest come first, is gone through.
    async fn find_now(&self, head: &str) -> Result<Option<PullRequest>, ForgeError> {
        let query = [("state", "all"), ("head", head), ("limit", "50")];
        let first = self.line.call(Method::GET, &format!("{}/pulls", self.path))?.with_query(&query);
        let found = self.line.search(first, |answer| {
            let pulls: Vec<Pull> = self.line.read(Act::Look, answer)?;
            Ok(match pulls.iter().find(|pull| pull.is_from(head)) {
                Some(pull) => Page::Found(pull.view()),
                None => Page::Next(answer.next_link()),
            })
        });
        found.await
    }

    /// The one between two branches, however long the list is.
    async fn find_between(&self, new: &NewPullRequest) -> Result<Option<PullRequest>, ForgeError> {
        let path = format!("{}/pulls/{}/{}", self.path, escaped(&new.base), escaped(&new.head));
        let answer = self.line.send(&self.line.call(Method::GET, &path)?).await?;
        if answer.is_success() {
            let pull: Pull = self.line.read(Act::Read, &answer)?;
            if pull.is_from(&new.head) && is_open(&pull.view()) {
                return Ok(Some(pull.view()));
            }
        }
        Ok(self.find_now(&new.head).await?.filter(is_open))
    }

    async fn post_now(&self, new: &NewPullRequest) -> Result<Posted, Failed> {
        let body = json!({ "title": title(new), "body": new.body, "head": new.head, "base": new.base });
        let call = self.line.call(Method::POST, &format!("{}/pulls", self.path))?.with_body(body);
        let answer = self.line.send(&call).await?;
        match answer.status {
            409 => Ok(Posted::Exists),
            404 | 422 => Err(self.explain(new, &answer).await?.into()),
            _ => Ok(Posted::New(self.line.read::<Pull>(Act::Write, &answer)?.view())),
        }
    }

    /// Why a pull request cannot be opened. That something was not found does not tell what, so it is looked for.
    async fn explain(&self, new: &NewPullRequest, answer: &Answer) -> Result<ForgeError, ForgeError> {
        let words = answer.words();
        let mut hint = words.clone();
        if answer.status == 404 {
            for (side, branch) in [("base", &new.base), ("head", &new.head)] {
                let path = format!("{}/branches/{}", self.path, escaped(branch));
                if self.line.send(&self.line.call(Method::GET, &path)?).await?.status == 404 {
                    hint = format!("{side} not found");
                    break;
                }
            }
        }
        let told = of_branches(&self.line, &hint, &new.head, &new.base);
        Ok(told.unwrap_or_else(|| refused(&self.line, Act::Write, answer)))
    }

    async fn update_now(&self, number: u64, new: &NewPullRequest) -> Result<PullRequest, ForgeError> {
        let body = json!({ "title": title(new), "body": new.body });
        let call = self.line.call(Method::PATCH, &format!("{}/pulls/{number}", self.path))?.with_body(body);
        Ok(self.line.read::<Pull>(Act::Write, &self.line.send(&call).await?)?.view())
    }

    async fn abilities_now(&self) -> Abilities {
        let repository: Repository = match report::look(&self.line, &self.path).await {
            Ok((repository, _)) => repository,
            Err(abilities) => return *abilities,
        };
        if repository.archived {
            return report::archived(&self.line);
        }
        let role = repository.permissions.map(|permissions| permissions.push);
        let probe = self.gate.may_push(&self.line).await;
        let push = match (&probe, role) {
            (Ability::Unknown(_), Some(false)) => report::no_push(&self.line),
            _ => probe,
        };
        let pull_requests = if repository.has_pull_requests == Some(false) {
            Ability::No(format!("pull requests are switched off in {}", self.line.name()))
        } else if matches!(self.line.access, Access::None) {
            Ability::No("the host takes no pull request without a token".to_owned())
        } else if push == Ability::Yes {
            // Both want the same scope of a token.
            Ability::Yes
        } else {
            Ability::Unknown(
                "the host does not say what a token may do; it needs the scope `write:repository`".to_owned(),
            )
        };
        Abilities { reachable: Ability::Yes, readable: Ability::Yes, push, pull_requests }
    }
}

fn title(new: &NewPullRequest) -> String {
    marked(&new.title, "WIP: ", MARKS, new.draft)
}

impl Opener for Forgejo {
    fn post<'a>(&'a self, new: &'a NewPullRequest) -> BoxFuture<'a, Result<Posted, Failed>> {
        self.post_now(new).boxed()
    }

    fn find_open<'a>(&'a self, new: &'a NewPullRequest) -> BoxFuture<'a, Result<Option<PullRequest>, ForgeError>> {
        self.find_between(new).boxed()
    }
}

impl CodeHost for Forgejo {
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
        async move { Ok(self.line.get::<Pull>(&format!("{}/pulls/{number}", self.path), Act::Read).await?.view()) }
            .boxed()
    }

    fn comment<'a>(&'a self, number: u64, text: &'a str) -> BoxFuture<'a, Result<(), ForgeError>> {
        super::post_comment(&self.line, format!("{}/issues/{number}/comments", self.path), json!({ "body": text }))
            .boxed()
    }

    fn default_branch(&self) -> BoxFuture<'_, Result<String, ForgeError>> {
        async {
            let repository: Repository = self.line.get(&self.path, Act::Look).await?;
            let is_known = !repository.empty && !repository.default_branch.is_empty();
            if is_known { Ok(repository.default_branch) } else { Err(super::empty(&self.line)) }
        }
        .boxed()
    }

    fn abilities(&self) -> BoxFuture<'_, Abilities> {
        self.abilities_now().boxed()
    }
}
