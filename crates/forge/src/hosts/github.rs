//! Pull requests on GitHub and GitHub Enterprise.

use copydesk_domain::{PullRequest, PullRequestState, Timestamp};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::client::{HostClient, HostPull};
use super::exchange::{Failed, HostResponse};
use super::host_message::with_message;
use super::interface::{Dialect, Posted};
use super::refusal::{Act, needed, of_branches, refused};
use super::report::{self, Permissions, Rights, Unseen};
use super::subject::CredentialKind;
use crate::{Ability, ForgeError, NewPullRequest, PullWords};

/// One repository on GitHub.
pub(super) struct Github {
    pub(super) client: HostClient,
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
    /// What the account may, whatever its token may.
    permissions: Option<Permissions>,
}

#[derive(Deserialize)]
struct Owner {
    login: String,
}

#[derive(Deserialize)]
pub(super) struct Pull {
    number: u64,
    html_url: String,
    state: String,
    #[serde(default)]
    title: String,
    body: Option<String>,
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

impl HostPull for Pull {
    fn view(&self) -> PullRequest {
        let state = match (self.merged_at, self.state.as_str()) {
            (Some(_), _) => PullRequestState::Merged,
            (None, "open") => PullRequestState::Open,
            (None, _) => PullRequestState::Closed,
        };
        let (number, url) = (self.number, self.html_url.clone());
        PullRequest { number, url, state, draft: self.draft, merged_at: self.merged_at }
    }

    fn words(&self) -> PullWords {
        PullWords { title: self.title.clone(), body: self.body.clone().unwrap_or_default() }
    }

    fn is_from(&self, branch: &str) -> bool {
        let (Some(head), Some(base)) = (&self.head, &self.base) else { return false };
        let id = |side: &Side| side.repo.as_ref().map(|repo| repo.id);
        head.branch == branch && id(head).is_some() && id(head) == id(base)
    }
}

impl Github {
    async fn repository(&self) -> Result<Repository, ForgeError> {
        self.client.get(&self.path, Act::Look).await
    }

    async fn owner(&self) -> Result<&str, ForgeError> {
        let asked = self.owner.get_or_try_init(|| async { Ok(self.repository().await?.owner.login) });
        asked.await.map(String::as_str)
    }

    /// Turns a pull request into a draft or back, which only the other interface of GitHub can. Gives what it is then.
    async fn set_draft(&self, pull: &Pull, draft: bool) -> Result<bool, ForgeError> {
        let name = if draft { "convertPullRequestToDraft" } else { "markPullRequestReadyForReview" };
        let query = format!("mutation($id: ID!) {{ {name}(input: {{pullRequestId: $id}}) {{ clientMutationId }} }}");
        let body = json!({ "query": query, "variables": { "id": pull.node_id } });
        let request = self.client.transport.request_at(Method::POST, &self.graphql_url())?;
        let answer = self.client.ask(&request.with_body(body).repeatable()).await?;
        let told: Value = self.client.read(Act::Write, &answer)?;
        if told.get("errors").is_none_or(Value::is_null) {
            return Ok(draft);
        }
        let words = answer.message();
        if knows_no_drafts(&words) {
            return Ok(pull.draft);
        }
        let wish = if draft { "make the pull request a draft" } else { "mark the pull request as ready" };
        let sentence = with_message(&format!("GitHub does not {wish}"), &words);
        let is_passing = words.to_ascii_lowercase().contains("rate limit");
        Err(if is_passing { ForgeError::passing(sentence) } else { ForgeError::lasting(sentence) })
    }

    /// `https://api.github.com/graphql`, or `https://github.example.com/api/graphql` beside `/api/v3`.
    fn graphql_url(&self) -> String {
        let api = &self.client.transport.api;
        format!("{}/graphql", api.strip_suffix("/v3").filter(|rest| rest.ends_with("/api")).unwrap_or(api))
    }
}

/// Private repositories of some plans have none.
fn knows_no_drafts(words: &str) -> bool {
    words.to_ascii_lowercase().contains("draft pull requests are not supported")
}

impl Dialect for Github {
    type Pull = Pull;

    fn client(&self) -> &HostClient {
        &self.client
    }

    fn pull_path(&self, number: u64) -> String {
        format!("{}/pulls/{number}", self.path)
    }

    async fn find_pull(&self, head: &str) -> Result<Option<PullRequest>, ForgeError> {
        let from = format!("{}:{head}", self.owner().await?);
        let query =
            [("head", from.as_str()), ("state", "all"), ("sort", "created"), ("direction", "desc"), ("per_page", "30")];
        let page = |answer: &HostResponse| Ok((self.client.read::<Vec<Pull>>(Act::Read, answer)?, answer.next_link()));
        self.client.find_pull(&format!("{}/pulls", self.path), &query, head, page).await
    }

    async fn post_pull(&self, new: &NewPullRequest) -> Result<Posted, Failed> {
        let mut draft = new.draft;
        loop {
            let body = json!({
                "title": new.title, "body": new.body, "head": new.head, "base": new.base, "draft": draft,
            });
            let answer = self.client.send(Method::POST, &format!("{}/pulls", self.path), body).await?;
            if answer.status != 422 {
                return Ok(Posted::Open(self.client.read::<Pull>(Act::Write, &answer)?.view()));
            }
            let words = answer.message();
            if words.contains("already exists") {
                return Ok(Posted::Exists);
            }
            if !draft || !knows_no_drafts(&words) {
                let told = of_branches(self.client.subject(), &words, &new.head, &new.base);
                return Err(told.unwrap_or_else(|| refused(self.client.subject(), Act::Write, &answer)).into());
            }
            draft = false;
        }
    }

    async fn update_pull(&self, number: u64, new: &NewPullRequest) -> Result<PullRequest, ForgeError> {
        let body = json!({ "title": new.title, "body": new.body });
        let answer = self.client.send(Method::PATCH, &self.pull_path(number), body).await?;
        let pull: Pull = self.client.read(Act::Write, &answer)?;
        let is_open = pull.state == "open";
        let draft =
            if is_open && pull.draft != new.draft { self.set_draft(&pull, new.draft).await? } else { pull.draft };
        Ok(PullRequest { draft, ..pull.view() })
    }

    async fn main_branch(&self) -> Result<String, ForgeError> {
        Ok(self.repository().await?.default_branch)
    }

    async fn rights(&self, _pushes: bool) -> Result<Rights, Unseen> {
        let (repository, answer) = report::look::<Repository>(&self.client, &self.path).await?;
        let subject = self.client.subject();
        if repository.archived {
            return Ok(report::archived(subject));
        }
        // Of an App it says what a stranger may, and not what the App was allowed.
        let told = repository.permissions.filter(|_| subject.credential != CredentialKind::App);
        let writable = report::writable(subject, told.map(|may| may.push));
        let needed = needed(subject.kind, Act::Write);
        let pull_requests = match (subject.credential, answer.header("x-oauth-scopes")) {
            (CredentialKind::None, _) => Ability::No("GitHub takes no pull request without a token".to_owned()),
            // Its token would not have been given without the permission.
            (CredentialKind::App, _) => Ability::Yes,
            (_, Some(scopes)) => {
                let has_repo = scopes.split(',').any(|scope| matches!(scope.trim(), "repo" | "public_repo"));
                Ability::when(has_repo, format!("the token needs {needed}"))
            }
            _ => Ability::Unknown(format!("GitHub does not say what a fine-grained token may do; it needs {needed}")),
        };
        Ok(Rights { writable, pull_requests })
    }
}
