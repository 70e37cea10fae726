//! Pull requests on Bitbucket Cloud.

use copydesk_domain::{PullRequest, PullRequestState};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{HostClient, HostPull};
use super::exchange::{Failed, HostResponse};
use super::interface::{Dialect, Posted};
use super::refusal::{Act, needed, no_main_branch, of_branches, refused};
use super::report::{self, Rights, Unseen};
use super::subject::CredentialKind;
use crate::{Ability, ForgeError, NewPullRequest, PullWords};

/// One repository on Bitbucket Cloud.
pub(super) struct Bitbucket {
    pub(super) client: HostClient,
    /// `repositories/acme/docs`.
    pub(super) path: String,
}

#[derive(Deserialize)]
struct Repository {
    mainbranch: Option<Branch>,
}

#[derive(Deserialize)]
struct Branch {
    name: String,
}

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    values: Vec<Pull>,
    next: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Pull {
    id: u64,
    state: String,
    #[serde(default)]
    title: String,
    description: Option<String>,
    #[serde(default)]
    draft: bool,
    links: Links,
    source: Option<Side>,
    destination: Option<Side>,
}

#[derive(Deserialize)]
struct Links {
    html: Link,
}

#[derive(Deserialize)]
struct Link {
    href: String,
}

#[derive(Deserialize)]
struct Side {
    branch: Option<Branch>,
    /// None if the fork is gone.
    repository: Option<Named>,
}

#[derive(Deserialize)]
struct Named {
    full_name: String,
}

impl HostPull for Pull {
    /// Bitbucket does not say when a pull request was merged.
    fn view(&self) -> PullRequest {
        let state = match self.state.as_str() {
            "OPEN" => PullRequestState::Open,
            "MERGED" => PullRequestState::Merged,
            // Declined, or superseded by another one.
            _ => PullRequestState::Closed,
        };
        PullRequest { number: self.id, url: self.links.html.href.clone(), state, draft: self.draft, merged_at: None }
    }

    fn words(&self) -> PullWords {
        PullWords { title: self.title.clone(), body: self.description.clone().unwrap_or_default() }
    }

    fn is_from(&self, branch: &str) -> bool {
        let (Some(source), Some(destination)) = (&self.source, &self.destination) else { return false };
        let of = |side: &Side| side.repository.as_ref().map(|repository| repository.full_name.to_lowercase());
        let is_own = of(source).is_some() && of(source) == of(destination);
        is_own && source.branch.as_ref().is_some_and(|found| found.name == branch)
    }
}

fn body(new: &NewPullRequest, with_branches: bool) -> Value {
    let mut body = json!({ "title": new.title, "description": new.body, "draft": new.draft });
    if with_branches {
        body["source"] = json!({ "branch": { "name": new.head } });
        body["destination"] = json!({ "branch": { "name": new.base } });
    }
    body
}

impl Dialect for Bitbucket {
    type Pull = Pull;

    fn client(&self) -> &HostClient {
        &self.client
    }

    fn pull_path(&self, number: u64) -> String {
        format!("{}/pullrequests/{number}", self.path)
    }

    async fn find_pull(&self, head: &str) -> Result<Option<PullRequest>, ForgeError> {
        let question = format!("source.branch.name = \"{}\"", head.replace('\\', "\\\\").replace('"', "\\\""));
        let query = [
            ("q", question.as_str()),
            ("state", "OPEN"),
            ("state", "MERGED"),
            ("state", "DECLINED"),
            ("state", "SUPERSEDED"),
            ("sort", "-created_on"),
            ("pagelen", "20"),
        ];
        let page = |answer: &HostResponse| {
            let list: List = self.client.read(Act::Look, answer)?;
            Ok((list.values, list.next))
        };
        self.client.find_pull(&format!("{}/pullrequests", self.path), &query, head, page).await
    }

    async fn post_pull(&self, new: &NewPullRequest) -> Result<Posted, Failed> {
        // It does not refuse a second one from the same branch.
        if let Some(there) = self.find_open(new).await? {
            return Ok(Posted::Open(there));
        }
        let answer = self.client.send(Method::POST, &format!("{}/pullrequests", self.path), body(new, true)).await?;
        let words = answer.message();
        match answer.status {
            400 | 409 | 422 if words.contains("already exists") => Ok(Posted::Exists),
            400 | 404 | 409 | 422 => {
                let told = of_branches(self.client.subject(), &words, &new.head, &new.base);
                Err(told.unwrap_or_else(|| refused(self.client.subject(), Act::Write, &answer)).into())
            }
            _ => Ok(Posted::Open(self.client.read::<Pull>(Act::Write, &answer)?.view())),
        }
    }

    async fn update_pull(&self, number: u64, new: &NewPullRequest) -> Result<PullRequest, ForgeError> {
        let answer = self.client.send(Method::PUT, &self.pull_path(number), body(new, false)).await?;
        Ok(self.client.read::<Pull>(Act::Write, &answer)?.view())
    }

    async fn main_branch(&self) -> Result<String, ForgeError> {
        let repository: Repository = self.client.get(&self.path, Act::Look).await?;
        Ok(repository.mainbranch.ok_or_else(|| no_main_branch(self.client.subject()))?.name)
    }

    async fn rights(&self, _pushes: bool) -> Result<Rights, Unseen> {
        let (_, answer) = report::look::<Repository>(&self.client, &self.path).await?;
        let subject = self.client.subject();
        let needed = needed(subject.kind, Act::Write);
        let scopes = answer.header("x-oauth-scopes");
        let has =
            |wanted: &[&str]| scopes.map(|scopes| scopes.split([',', ' ']).any(|scope| wanted.contains(&scope.trim())));
        let pull_requests = match (subject.credential, has(&["pullrequest:write", "write:pullrequest:bitbucket"])) {
            (CredentialKind::None, _) => Ability::No("Bitbucket takes no pull request without a token".to_owned()),
            (_, Some(has_scope)) => Ability::when(has_scope, format!("the token needs {needed}")),
            (_, None) => Ability::Unknown(format!("Bitbucket does not say what this token may do; it needs {needed}")),
        };
        // The old scope for pull requests holds the one for repositories.
        let writes = has(&["repository:write", "pullrequest:write", "write:repository:bitbucket"]);
        Ok(Rights { writable: report::writable(subject, writes), pull_requests })
    }
}
