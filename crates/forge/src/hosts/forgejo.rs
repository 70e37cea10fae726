//! Pull requests on Forgejo, Gitea and Codeberg.

use copydesk_domain::{PullRequest, PullRequestState, Timestamp};
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use super::client::{HostClient, HostPull};
use super::draft_title::{is_marked, marked, without};
use super::exchange::{Failed, HostResponse};
use super::interface::{Dialect, Posted, is_open};
use super::refusal::{Act, no_main_branch, of_branches, refused};
use super::report::{self, Permissions, Rights, Unseen};
use super::repository::escaped;
use super::subject::{CredentialKind, Subject};
use crate::{Ability, ForgeError, ForgeErrorKind, HostInterface, NewPullRequest, PullWords};

/// What the host takes for the mark of a draft, unless somebody has set it up otherwise.
const MARKS: &[&str] = &["wip:", "[wip]", "draft:"];

/// One repository on Forgejo or Gitea.
pub(super) struct Forgejo {
    pub(super) client: HostClient,
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
    /// What the account may, whatever its token may.
    permissions: Option<Permissions>,
}

#[derive(Deserialize)]
pub(super) struct Pull {
    number: u64,
    html_url: String,
    state: String,
    #[serde(default)]
    title: String,
    body: Option<String>,
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

impl HostPull for Pull {
    fn view(&self) -> PullRequest {
        let state = match (self.merged, self.state.as_str()) {
            (true, _) => PullRequestState::Merged,
            (false, "open") => PullRequestState::Open,
            (false, _) => PullRequestState::Closed,
        };
        let draft = self.draft.unwrap_or_else(|| is_marked(&self.title, MARKS));
        PullRequest { number: self.number, url: self.html_url.clone(), state, draft, merged_at: self.merged_at }
    }

    fn words(&self) -> PullWords {
        PullWords { title: without(&self.title, MARKS).to_owned(), body: self.body.clone().unwrap_or_default() }
    }

    fn is_from(&self, branch: &str) -> bool {
        let (Some(head), Some(base)) = (&self.head, &self.base) else { return false };
        (head.label == branch || head.branch == branch) && head.repo_id == base.repo_id
    }
}

impl Forgejo {
    /// Why a pull request cannot be opened. That something was not found does not tell what, so it is looked for.
    async fn explain(&self, new: &NewPullRequest, answer: &HostResponse) -> Result<ForgeError, ForgeError> {
        let mut hint = answer.message();
        if answer.status == 404 {
            for (side, branch) in [("base", &new.base), ("head", &new.head)] {
                let path = format!("{}/branches/{}", self.path, escaped(branch));
                if self.client.look(&path).await?.status == 404 {
                    hint = format!("{side} not found");
                    break;
                }
            }
        }
        let told = of_branches(self.client.subject(), &hint, &new.head, &new.base);
        Ok(told.unwrap_or_else(|| refused(self.client.subject(), Act::Write, answer)))
    }
}

fn title(new: &NewPullRequest) -> String {
    marked(&new.title, "WIP: ", MARKS, new.draft)
}

impl Dialect for Forgejo {
    type Pull = Pull;

    fn client(&self) -> &HostClient {
        &self.client
    }

    fn pull_path(&self, number: u64) -> String {
        format!("{}/pulls/{number}", self.path)
    }

    /// Most versions cannot be asked for a branch, so the list, whose newest come first, is gone through.
    async fn find_pull(&self, head: &str) -> Result<Option<PullRequest>, ForgeError> {
        let query = [("state", "all"), ("head", head), ("limit", "50")];
        let page = |answer: &HostResponse| Ok((self.client.read::<Vec<Pull>>(Act::Look, answer)?, answer.next_link()));
        let found = self.client.find_pull(&format!("{}/pulls", self.path), &query, head, page).await;
        if found.as_ref().is_err_and(|error| error.kind == ForgeErrorKind::Lasting) {
            // Where they are switched off there is no list either.
            self.check(false).await?;
        }
        found
    }

    /// The one between two branches can be asked for, however long the list is.
    async fn find_open(&self, new: &NewPullRequest) -> Result<Option<PullRequest>, ForgeError> {
        let path = format!("{}/pulls/{}/{}", self.path, escaped(&new.base), escaped(&new.head));
        let answer = self.client.look(&path).await?;
        if answer.is_success() {
            let pull: Pull = self.client.read(Act::Read, &answer)?;
            if pull.is_from(&new.head) && is_open(&pull.view()) {
                return Ok(Some(pull.view()));
            }
        }
        Ok(self.find_pull(&new.head).await?.filter(is_open))
    }

    async fn post_pull(&self, new: &NewPullRequest) -> Result<Posted, Failed> {
        let body = json!({ "title": title(new), "body": new.body, "head": new.head, "base": new.base });
        let answer = self.client.send(Method::POST, &format!("{}/pulls", self.path), body).await?;
        match answer.status {
            409 => Ok(Posted::Exists),
            404 | 422 => Err(self.explain(new, &answer).await?.into()),
            _ => Ok(Posted::Open(self.client.read::<Pull>(Act::Write, &answer)?.view())),
        }
    }

    async fn update_pull(&self, number: u64, new: &NewPullRequest) -> Result<PullRequest, ForgeError> {
        let body = json!({ "title": title(new), "body": new.body });
        let answer = self.client.send(Method::PATCH, &self.pull_path(number), body).await?;
        Ok(self.client.read::<Pull>(Act::Write, &answer)?.view())
    }

    async fn main_branch(&self) -> Result<String, ForgeError> {
        let repository: Repository = self.client.get(&self.path, Act::Look).await?;
        let is_known = !repository.empty && !repository.default_branch.is_empty();
        if is_known { Ok(repository.default_branch) } else { Err(no_main_branch(self.client.subject())) }
    }

    async fn rights(&self, pushes: bool) -> Result<Rights, Unseen> {
        let (repository, _) = report::look::<Repository>(&self.client, &self.path).await?;
        let subject = self.client.subject();
        if repository.archived {
            return Ok(report::archived(subject));
        }
        let writable = report::writable(subject, repository.permissions.map(|may| may.push));
        // Pushing and opening want the same scope of a token.
        let silent = "the host does not say what a token may do; it needs the scope `write:repository`";
        let pull_requests = if repository.has_pull_requests == Some(false) {
            switched_off(subject)
        } else if subject.credential == CredentialKind::None {
            Ability::No("the host takes no pull request without a token".to_owned())
        } else if pushes {
            Ability::Yes
        } else {
            Ability::Unknown(silent.to_owned())
        };
        Ok(Rights { writable, pull_requests })
    }
}

fn switched_off(subject: &Subject) -> Ability {
    Ability::No(format!("pull requests are switched off in {}", subject.repository))
}
