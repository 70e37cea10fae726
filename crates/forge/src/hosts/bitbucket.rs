//! Pull requests on Bitbucket Cloud.

use std::sync::Arc;

use copydesk_domain::{PullRequest, PullRequestState};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::access::Access;
use super::gate::Gate;
use super::http::Line;
use super::message::{Failed, Page};
use super::opening::{self, Opener, Posted};
use super::refusal::{Act, needed, of_branches, refused};
use super::report;
use crate::{Abilities, Ability, CodeHost, ForgeError, NewPullRequest};

/// One repository on Bitbucket Cloud.
pub(super) struct Bitbucket {
    pub(super) line: Arc<Line>,
    pub(super) gate: Arc<Gate>,
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
struct Pull {
    id: u64,
    state: String,
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

impl Pull {
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

    fn is_from(&self, branch: &str) -> bool {
        let (Some(source), Some(destination)) = (&self.source, &self.destination) else { return false };
        let of = |side: &Side| side.repository.as_ref().map(|repository| repository.full_name.to_lowercase());
        let is_own = of(source).is_some() && of(source) == of(destination);
        is_own && source.branch.as_ref().is_some_and(|found| found.name == branch)
    }
}

impl Bitbucket {
    async fn find_now(&self, head: &str) -> Result<Option<PullRequest>, ForgeError> {
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
        let first = self.line.call(Method::GET, &format!("{}/pullrequests", self.path))?.with_query(&query);
        let found = self.line.search(first, |answer| {
            let list: List = self.line.read(Act::Look, answer)?;
            Ok(match list.values.iter().find(|pull| pull.is_from(head)) {
                Some(pull) => Page::Found(pull.view()),
                None => Page::Next(list.next),
            })
        });
        found.await
    }

    async fn post_now(&self, new: &NewPullRequest) -> Result<Posted, Failed> {
        let call = self.line.call(Method::POST, &format!("{}/pullrequests", self.path))?.with_body(body(new, true));
        let answer = self.line.send(&call).await?;
        let words = answer.words();
        match answer.status {
            400 | 409 | 422 if words.contains("already exists") => Ok(Posted::Exists),
            400 | 404 | 409 | 422 => {
                let told = of_branches(&self.line, &words, &new.head, &new.base);
                Err(told.unwrap_or_else(|| refused(&self.line, Act::Write, &answer)).into())
            }
            _ => Ok(Posted::New(self.line.read::<Pull>(Act::Write, &answer)?.view())),
        }
    }

    async fn update_now(&self, number: u64, new: &NewPullRequest) -> Result<PullRequest, ForgeError> {
        let path = format!("{}/pullrequests/{number}", self.path);
        let call = self.line.call(Method::PUT, &path)?.with_body(body(new, false));
        Ok(self.line.read::<Pull>(Act::Write, &self.line.send(&call).await?)?.view())
    }

    async fn abilities_now(&self) -> Abilities {
        let scopes = match report::look::<Repository>(&self.line, &self.path).await {
            Ok((_, answer)) => answer.header("x-oauth-scopes").map(str::to_owned),
            Err(abilities) => return *abilities,
        };
        let has = |wanted: &[&str]| {
            let scopes = scopes.as_deref()?;
            Some(scopes.split([',', ' ']).any(|scope| wanted.contains(&scope.trim())))
        };
        // The first brings the second along.
        let may_open = has(&["pullrequest:write", "write:pullrequest:bitbucket"]);
        let may_write = has(&["repository:write", "pullrequest:write", "write:repository:bitbucket"]);
        let push = match (self.gate.may_push(&self.line).await, may_write) {
            (Ability::Unknown(_), Some(is_so)) => Ability::when(is_so, "the token needs the scope `repository:write`"),
            (told, _) => told,
        };
        let wish = needed(self.line.kind, Act::Write);
        let pull_requests = match (&self.line.access, may_open) {
            (Access::None, _) => Ability::No("Bitbucket takes no pull request without a token".to_owned()),
            (_, Some(is_so)) => Ability::when(is_so, format!("the token needs {wish}")),
            (_, None) => Ability::Unknown(format!("Bitbucket does not say what this token may do; it needs {wish}")),
        };
        Abilities { reachable: Ability::Yes, readable: Ability::Yes, push, pull_requests }
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

impl Opener for Bitbucket {
    fn post<'a>(&'a self, new: &'a NewPullRequest) -> BoxFuture<'a, Result<Posted, Failed>> {
        self.post_now(new).boxed()
    }
}

impl CodeHost for Bitbucket {
    fn find<'a>(&'a self, head: &'a str) -> BoxFuture<'a, Result<Option<PullRequest>, ForgeError>> {
        self.find_now(head).boxed()
    }

    fn open<'a>(&'a self, new: &'a NewPullRequest) -> BoxFuture<'a, Result<PullRequest, ForgeError>> {
        async move {
            // It does not refuse a second one from the same branch.
            match self.find_now(&new.head).await?.filter(opening::is_open) {
                Some(there) => Ok(there),
                None => opening::open(self, &self.line, new).await,
            }
        }
        .boxed()
    }

    fn update<'a>(&'a self, number: u64, new: &'a NewPullRequest) -> BoxFuture<'a, Result<PullRequest, ForgeError>> {
        self.update_now(number, new).boxed()
    }

    fn read(&self, number: u64) -> BoxFuture<'_, Result<PullRequest, ForgeError>> {
        async move { Ok(self.line.get::<Pull>(&format!("{}/pullrequests/{number}", self.path), Act::Read).await?.view()) }
            .boxed()
    }

    fn comment<'a>(&'a self, number: u64, text: &'a str) -> BoxFuture<'a, Result<(), ForgeError>> {
        let path = format!("{}/pullrequests/{number}/comments", self.path);
        super::post_comment(&self.line, path, json!({ "content": { "raw": text } })).boxed()
    }

    fn default_branch(&self) -> BoxFuture<'_, Result<String, ForgeError>> {
        async {
            let repository: Repository = self.line.get(&self.path, Act::Look).await?;
            Ok(repository.mainbranch.ok_or_else(|| super::empty(&self.line))?.name)
        }
        .boxed()
    }

    fn abilities(&self) -> BoxFuture<'_, Abilities> {
        self.abilities_now().boxed()
    }
}
