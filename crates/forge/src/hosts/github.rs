//! Pull requests on GitHub and GitHub Enterprise.

use std::sync::Arc;

use copydesk_domain::{PullRequest, PullRequestState, Timestamp};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::access::Access;
use super::gate::Gate;
use super::http::Line;
use super::message::{Failed, Page};
use super::opening::{self, Opener, Posted};
use super::refusal::{Act, needed, of_branches, refused};
use super::report;
use super::words::with_words;
use crate::{Abilities, Ability, CodeHost, ForgeError, NewPullRequest};

/// One repository on GitHub.
pub(super) struct Github {
    pub(super) line: Arc<Line>,
    pub(super) gate: Arc<Gate>,
    /// `repos/acme/docs`.
    pub(super) path: String,
    /// Who it belongs to now: it may have been given to somebody else since its address was set.
    pub(super) owner: OnceCell<String>,
}

#[derive(Deserialize)]
struct Repository {
    default_branch: String,
    owner: Owner,
    #[serde(default)]
    archived: bool,
    permissions: Option<Permissions>,
}

#[derive(Deserialize)]
struct Owner {
    login: String,
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
    draft: bool,
    merged_at: Option<Timestamp>,
    #[serde(default)]
    node_id: String,
    head: Option<Side>,
    base: Option<Side>,
}

#[derive(Deserialize)]
struct Side {
    #[serde(rename = "ref")]
    branch: String,
    /// None if the fork is gone.
    repo: Option<Id>,
}

#[derive(Deserialize)]
struct Id {
    id: u64,
}

impl Pull {
    fn view(&self) -> PullRequest {
        let state = match (self.merged_at, self.state.as_str()) {
            (Some(_), _) => PullRequestState::Merged,
            (None, "open") => PullRequestState::Open,
            (None, _) => PullRequestState::Closed,
        };
        let (number, url) = (self.number, self.html_url.clone());
        PullRequest { number, url, state, draft: self.draft, merged_at: self.merged_at }
    }

    /// Whether it comes from that branch of the repository itself and not from a fork's branch of that name.
    fn is_from(&self, branch: &str) -> bool {
        let (Some(head), Some(base)) = (&self.head, &self.base) else { return false };
        let id = |side: &Side| side.repo.as_ref().map(|repo| repo.id);
        head.branch == branch && id(head).is_some() && id(head) == id(base)
    }
}

impl Github {
    async fn repository(&self) -> Result<Repository, ForgeError> {
        self.line.get(&self.path, Act::Look).await
    }

    async fn owner(&self) -> Result<&str, ForgeError> {
        let asked = self.owner.get_or_try_init(|| async { Ok(self.repository().await?.owner.login) });
        asked.await.map(String::as_str)
    }

    async fn find_now(&self, head: &str) -> Result<Option<PullRequest>, ForgeError> {
        let from = format!("{}:{head}", self.owner().await?);
        let query =
            [("head", from.as_str()), ("state", "all"), ("sort", "created"), ("direction", "desc"), ("per_page", "30")];
        let first = self.line.call(Method::GET, &format!("{}/pulls", self.path))?.with_query(&query);
        let found = self.line.search(first, |answer| {
            let pulls: Vec<Pull> = self.line.read(Act::Read, answer)?;
            Ok(match pulls.iter().find(|pull| pull.is_from(head)) {
                Some(pull) => Page::Found(pull.view()),
                None => Page::Next(answer.next_link()),
            })
        });
        found.await
    }

    async fn post_now(&self, new: &NewPullRequest, draft: bool) -> Result<Posted, Failed> {
        let body = json!({
            "title": new.title, "body": new.body, "head": new.head, "base": new.base, "draft": draft,
        });
        let call = self.line.call(Method::POST, &format!("{}/pulls", self.path))?.with_body(body);
        let answer = self.line.send(&call).await?;
        if answer.status != 422 {
            return Ok(Posted::New(self.line.read::<Pull>(Act::Write, &answer)?.view()));
        }
        let words = answer.words();
        if words.contains("already exists") {
            return Ok(Posted::Exists);
        }
        if draft && knows_no_drafts(&words) {
            return Box::pin(self.post_now(new, false)).await;
        }
        let told = of_branches(&self.line, &words, &new.head, &new.base);
        Err(told.unwrap_or_else(|| refused(&self.line, Act::Write, &answer)).into())
    }

    async fn update_now(&self, number: u64, new: &NewPullRequest) -> Result<PullRequest, ForgeError> {
        let body = json!({ "title": new.title, "body": new.body });
        let call = self.line.call(Method::PATCH, &format!("{}/pulls/{number}", self.path))?.with_body(body);
        let pull: Pull = self.line.read(Act::Write, &self.line.send(&call).await?)?;
        let is_open = pull.state == "open";
        let draft =
            if is_open && pull.draft != new.draft { self.set_draft(&pull, new.draft).await? } else { pull.draft };
        Ok(PullRequest { draft, ..pull.view() })
    }

    /// Turns a pull request into a draft or back, which only the other interface of GitHub can. Gives what it is then.
    async fn set_draft(&self, pull: &Pull, draft: bool) -> Result<bool, ForgeError> {
        let name = if draft { "convertPullRequestToDraft" } else { "markPullRequestReadyForReview" };
        let query = format!("mutation($id: ID!) {{ {name}(input: {{pullRequestId: $id}}) {{ clientMutationId }} }}");
        let body = json!({ "query": query, "variables": { "id": pull.node_id } });
        let call = self.line.call_at(Method::POST, &self.graphql_url())?.with_body(body).repeatable();
        let answer = self.line.send(&call).await?;
        let told: Value = self.line.read(Act::Write, &answer)?;
        if told.get("errors").is_none_or(Value::is_null) {
            return Ok(draft);
        }
        let words = answer.words();
        if knows_no_drafts(&words) {
            return Ok(pull.draft);
        }
        let wish = if draft { "make the pull request a draft" } else { "mark the pull request as ready" };
        let sentence = with_words(&format!("GitHub does not {wish}"), &words);
        let is_passing = words.to_ascii_lowercase().contains("rate limit");
        Err(if is_passing { ForgeError::passing(sentence) } else { ForgeError::lasting(sentence) })
    }

    /// `https://api.github.com/graphql`, or `https://github.example.com/api/graphql` beside `/api/v3`.
    fn graphql_url(&self) -> String {
        let api = &self.line.api;
        format!("{}/graphql", api.strip_suffix("/v3").filter(|rest| rest.ends_with("/api")).unwrap_or(api))
    }

    async fn abilities_now(&self) -> Abilities {
        let (repository, answer) = match report::look::<Repository>(&self.line, &self.path).await {
            Ok(looked) => looked,
            Err(abilities) => return *abilities,
        };
        if repository.archived {
            return report::archived(&self.line);
        }
        let role = repository.permissions.map(|permissions| permissions.push);
        let push = match (self.gate.may_push(&self.line).await, role) {
            (Ability::Unknown(_), Some(false)) => report::no_push(&self.line),
            (Ability::Unknown(_), Some(true)) if self.knows_rights(answer.header("x-oauth-scopes")) => Ability::Yes,
            (told, _) => told,
        };
        let pull_requests = self.may_open(answer.header("x-oauth-scopes"));
        Abilities { reachable: Ability::Yes, readable: Ability::Yes, push, pull_requests }
    }

    /// Whether the role of the user is all that counts: not so for tokens with permissions of their own.
    fn knows_rights(&self, scopes: Option<&str>) -> bool {
        matches!(self.line.access, Access::App(_)) || scopes.is_some_and(has_repo)
    }

    fn may_open(&self, scopes: Option<&str>) -> Ability {
        let needed = needed(self.line.kind, Act::Write);
        match (&self.line.access, scopes) {
            (Access::None, _) => Ability::No("GitHub takes no pull request without a token".to_owned()),
            // Its token would not have been given without the permission.
            (Access::App(_), _) => Ability::Yes,
            (_, Some(scopes)) => Ability::when(has_repo(scopes), format!("the token needs {needed}")),
            _ => Ability::Unknown(format!("GitHub does not say what a fine-grained token may do; it needs {needed}")),
        }
    }
}

/// The scopes of a classic token.
fn has_repo(scopes: &str) -> bool {
    scopes.split(',').any(|scope| matches!(scope.trim(), "repo" | "public_repo"))
}

/// Private repositories of some plans have none.
fn knows_no_drafts(words: &str) -> bool {
    words.to_ascii_lowercase().contains("draft pull requests are not supported")
}

impl Opener for Github {
    fn post<'a>(&'a self, new: &'a NewPullRequest) -> BoxFuture<'a, Result<Posted, Failed>> {
        self.post_now(new, new.draft).boxed()
    }
}

impl CodeHost for Github {
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
            let pull: Pull = self.line.get(&format!("{}/pulls/{number}", self.path), Act::Read).await?;
            Ok(pull.view())
        }
        .boxed()
    }

    fn comment<'a>(&'a self, number: u64, text: &'a str) -> BoxFuture<'a, Result<(), ForgeError>> {
        // A pull request is an issue, too, and this is where its talk is.
        super::post_comment(&self.line, format!("{}/issues/{number}/comments", self.path), json!({ "body": text }))
            .boxed()
    }

    fn default_branch(&self) -> BoxFuture<'_, Result<String, ForgeError>> {
        async { Ok(self.repository().await?.default_branch) }.boxed()
    }

    fn abilities(&self) -> BoxFuture<'_, Abilities> {
        self.abilities_now().boxed()
    }
}
