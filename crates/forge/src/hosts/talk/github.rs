use copydesk_domain::{Person, Timestamp};
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use super::super::exchange::HostResponse;
use super::super::github::Github;
use super::super::refusal::Act;
use super::super::repository::escaped;
use super::{Talk, all_linked, ask_each, find, linked, may_not, try_out, writes};
use crate::{Ability, ForgeError, Issue, LineRemark, Place, Remark};

#[derive(Deserialize)]
struct User {
    login: String,
    #[serde(default, rename = "type")]
    kind: String,
}

/// A comment, or a review: both say who, where and what.
#[derive(Deserialize)]
struct Said {
    /// None of somebody who is gone.
    user: Option<User>,
    body: Option<String>,
    #[serde(default)]
    html_url: String,
    /// What a comment is on.
    #[serde(default)]
    issue_url: String,
    /// Of a review that was not handed in yet: `PENDING`.
    #[serde(default)]
    state: String,
    #[serde(default)]
    id: u64,
    submitted_at: Option<Timestamp>,
}

#[derive(Deserialize)]
struct AtLine {
    path: String,
    line: Option<u64>,
    #[serde(default)]
    body: String,
}

#[derive(Deserialize)]
struct IssueView {
    title: String,
    body: Option<String>,
    html_url: String,
    state: String,
    #[serde(default)]
    labels: Vec<Named>,
    pull_request: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
struct Permission {
    permission: String,
}

#[derive(Deserialize)]
struct Body {
    body: Option<String>,
}

impl Said {
    fn remark(self, at_lines: Vec<LineRemark>) -> Option<Remark> {
        let user = self.user?;
        Some(Remark {
            is_of_program: user.kind == "Bot",
            by: Person { id: user.login.clone(), name: user.login },
            url: self.html_url,
            text: self.body.unwrap_or_default(),
            at_lines,
        })
    }
}

impl Talk for Github {
    const LONG_PAGES: &'static [(&'static str, &'static str)] = &[("per_page", "100")];

    async fn read_comment(&self, pull: u64, id: u64) -> Result<Option<Remark>, ForgeError> {
        let said: Option<Said> = find(&self.client, &format!("{}/issues/comments/{id}", self.path)).await?;
        let is_here = |said: &Said| said.issue_url.ends_with(&format!("/{pull}"));
        Ok(said.filter(is_here).and_then(|said| said.remark(Vec::new())))
    }

    async fn read_review(&self, pull: u64, id: u64) -> Result<Option<Remark>, ForgeError> {
        let path = format!("{}/pulls/{pull}/reviews/{id}", self.path);
        let said: Option<Said> = find(&self.client, &path).await?;
        let Some(said) = said.filter(|said| said.state != "PENDING") else { return Ok(None) };
        let path = format!("{path}/comments");
        let lines = all_linked(&self.client, &path, &[("per_page", "100")]).await?;
        let lines = lines.into_iter().map(|it: AtLine| LineRemark { path: it.path, line: it.line, text: it.body });
        Ok(said.remark(lines.collect()))
    }

    async fn list_reviews(&self, pull: u64) -> Result<Vec<(u64, Timestamp)>, ForgeError> {
        let path = format!("{}/pulls/{pull}/reviews", self.path);
        let all = all_linked(&self.client, &path, &[("per_page", "100")]).await?;
        Ok(all.into_iter().filter_map(|said: Said| Some((said.id, said.submitted_at?))).collect())
    }

    async fn read_issue(&self, number: u64) -> Result<Option<Issue>, ForgeError> {
        let issue: Option<IssueView> = find(&self.client, &format!("{}/issues/{number}", self.path)).await?;
        Ok(issue.filter(|issue| issue.pull_request.is_none()).map(|issue| Issue {
            title: issue.title,
            text: issue.body.unwrap_or_default(),
            url: issue.html_url,
            is_open: issue.state == "open",
            labels: issue.labels.into_iter().map(|label| label.name).collect(),
        }))
    }

    async fn access_of(&self, person: &Person) -> Result<Ability, ForgeError> {
        let path = format!("{}/collaborators/{}/permission", self.path, escaped(&person.id));
        let answer = self.client.look(&path).await?;
        match answer.status {
            404 => Ok(may_not(&self.client, person)),
            403 => Ok(Ability::Unknown(format!(
                "GitHub does not tell the {} what {} may do: it must belong to somebody who may push",
                self.client.subject().credential.title(),
                person.name
            ))),
            _ => {
                let told: Permission = self.client.read(Act::Look, &answer)?;
                Ok(if writes(&told.permission) { Ability::Yes } else { may_not(&self.client, person) })
            }
        }
    }

    fn comments_path(&self, place: Place) -> String {
        let (Place::Pull(number) | Place::Issue(number)) = place;
        format!("{}/issues/{number}/comments", self.path)
    }

    fn comments_on(&self, answer: &HostResponse) -> Result<(Vec<String>, Option<String>), ForgeError> {
        let (said, next) = linked::<Body>(&self.client, answer)?;
        Ok((said.into_iter().filter_map(|said| said.body).collect(), next))
    }

    async fn label(&self, pull: u64, labels: &[String]) -> Result<Vec<String>, ForgeError> {
        let path = format!("{}/issues/{pull}/labels", self.path);
        let body = json!({ "labels": labels });
        Ok(try_out(&self.client, Method::POST, &path, body, "no labels").await?.into_iter().collect())
    }

    async fn ask_reviewers(&self, pull: u64, reviewers: &[String]) -> Result<Vec<String>, ForgeError> {
        ask_each(&self.client, &format!("{}/pulls/{pull}/requested_reviewers", self.path), reviewers).await
    }
}
