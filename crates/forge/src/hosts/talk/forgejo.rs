use copydesk_domain::{Person, Timestamp};
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use super::super::exchange::HostResponse;
use super::super::forgejo::Forgejo;
use super::super::refusal::Act;
use super::super::repository::escaped;
use super::{Talk, find, linked, may_not, pages, try_out, writes};
use crate::{Ability, ForgeError, Issue, LineRemark, Place, Remark};

#[derive(Deserialize)]
struct User {
    login: String,
}

/// A comment, or a review: both say who, where and what.
#[derive(Deserialize)]
struct Said {
    id: u64,
    user: Option<User>,
    #[serde(default)]
    body: String,
    #[serde(default)]
    html_url: String,
    /// What a comment is on, if that is a pull request.
    #[serde(default)]
    pull_request_url: String,
    /// Of a review: `APPROVED`, `COMMENT`, `REQUEST_CHANGES`, and two that say nothing: `PENDING`, `REQUEST_REVIEW`.
    #[serde(default)]
    state: String,
    submitted_at: Option<Timestamp>,
}

#[derive(Deserialize)]
struct AtLine {
    path: String,
    /// The line in the new file.
    #[serde(default)]
    position: u64,
    #[serde(default)]
    body: String,
}

#[derive(Deserialize)]
struct IssueView {
    title: String,
    #[serde(default)]
    body: String,
    html_url: String,
    state: String,
    labels: Option<Vec<Label>>,
    pull_request: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Label {
    id: u64,
    name: String,
}

#[derive(Deserialize)]
struct Permission {
    permission: String,
}

impl Said {
    fn is_handed_in(&self) -> bool {
        !matches!(self.state.as_str(), "PENDING" | "REQUEST_REVIEW")
    }

    fn remark(self, at_lines: Vec<LineRemark>) -> Option<Remark> {
        let login = self.user?.login;
        let by = Person { id: login.clone(), name: login };
        // The host has no accounts for programs.
        Some(Remark { is_of_program: false, by, url: self.html_url, text: self.body, at_lines })
    }
}

impl Forgejo {
    /// Whether somebody is among those to whom issues can be assigned: those who may write. Whoever may read the
    /// repository can ask for them.
    async fn is_assignee(&self, person: &Person) -> Result<bool, ForgeError> {
        let path = format!("{}/assignees", self.path);
        let people: Vec<User> = self.client.get(&path, Act::Look).await?;
        Ok(people.iter().any(|user| user.login.eq_ignore_ascii_case(&person.id)))
    }
}

impl Talk for Forgejo {
    async fn read_comment(&self, pull: u64, id: u64) -> Result<Option<Remark>, ForgeError> {
        let said: Option<Said> = find(&self.client, &format!("{}/issues/comments/{id}", self.path)).await?;
        let is_here = |said: &Said| said.pull_request_url.ends_with(&format!("/{pull}"));
        Ok(said.filter(is_here).and_then(|said| said.remark(Vec::new())))
    }

    async fn read_review(&self, pull: u64, id: u64) -> Result<Option<Remark>, ForgeError> {
        let path = format!("{}/pulls/{pull}/reviews/{id}", self.path);
        let said: Option<Said> = find(&self.client, &path).await?;
        let Some(said) = said.filter(Said::is_handed_in) else { return Ok(None) };
        let lines: Vec<AtLine> = self.client.get(&format!("{path}/comments"), Act::Read).await?;
        let line =
            |it: AtLine| LineRemark { path: it.path, line: Some(it.position).filter(|it| *it > 0), text: it.body };
        Ok(said.remark(lines.into_iter().map(line).collect()))
    }

    async fn list_reviews(&self, pull: u64) -> Result<Vec<(u64, Timestamp)>, ForgeError> {
        let path = format!("{}/pulls/{pull}/reviews", self.path);
        let all = pages(&self.client, &path, &[("limit", "50")], |answer| linked::<Said>(&self.client, answer)).await?;
        Ok(all.into_iter().filter(Said::is_handed_in).filter_map(|said| Some((said.id, said.submitted_at?))).collect())
    }

    async fn read_issue(&self, number: u64) -> Result<Option<Issue>, ForgeError> {
        let issue: Option<IssueView> = find(&self.client, &format!("{}/issues/{number}", self.path)).await?;
        Ok(issue.filter(|issue| issue.pull_request.is_none()).map(|issue| Issue {
            title: issue.title,
            text: issue.body,
            url: issue.html_url,
            is_open: issue.state == "open",
            labels: issue.labels.unwrap_or_default().into_iter().map(|label| label.name).collect(),
        }))
    }

    async fn access_of(&self, person: &Person) -> Result<Ability, ForgeError> {
        let path = format!("{}/collaborators/{}/permission", self.path, escaped(&person.id));
        let answer = self.client.look(&path).await?;
        let may = match answer.status {
            404 => false,
            // Only those who administer the repository are told of others.
            403 => self.is_assignee(person).await?,
            _ => writes(&self.client.read::<Permission>(Act::Look, &answer)?.permission),
        };
        Ok(if may { Ability::Yes } else { may_not(&self.client, person) })
    }

    fn comments_path(&self, place: Place) -> String {
        let (Place::Pull(number) | Place::Issue(number)) = place;
        format!("{}/issues/{number}/comments", self.path)
    }

    fn comments_on(&self, answer: &HostResponse) -> Result<(Vec<String>, Option<String>), ForgeError> {
        let (said, next) = linked::<Said>(&self.client, answer)?;
        Ok((said.into_iter().map(|said| said.body).collect(), next))
    }

    /// Labels go by their numbers; versions of before 2024 know no names.
    async fn label(&self, pull: u64, labels: &[String]) -> Result<Vec<String>, ForgeError> {
        let path = format!("{}/labels", self.path);
        let known =
            pages(&self.client, &path, &[("limit", "50")], |answer| linked::<Label>(&self.client, answer)).await?;
        let (mut ids, mut missed) = (Vec::new(), Vec::new());
        for name in labels {
            match known.iter().find(|label| label.name.eq_ignore_ascii_case(name)) {
                Some(label) => ids.push(label.id),
                None => missed.push(format!("no label {name:?}: the repository has no such label")),
            }
        }
        if !ids.is_empty() {
            let path = format!("{}/issues/{pull}/labels", self.path);
            let body = json!({ "labels": ids });
            missed.extend(try_out(&self.client, Method::POST, &path, body, "no labels").await?);
        }
        Ok(missed)
    }

    async fn ask_reviewers(&self, pull: u64, reviewers: &[String]) -> Result<Vec<String>, ForgeError> {
        let path = format!("{}/pulls/{pull}/requested_reviewers", self.path);
        let mut missed = Vec::new();
        for name in reviewers {
            let body = match name.split_once('/') {
                Some((_, team)) => json!({ "team_reviewers": [team] }),
                None => json!({ "reviewers": [name] }),
            };
            let what = format!("{name} was not asked to review");
            missed.extend(try_out(&self.client, Method::POST, &path, body, &what).await?);
        }
        Ok(missed)
    }
}
