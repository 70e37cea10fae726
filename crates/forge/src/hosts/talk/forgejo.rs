use std::collections::HashMap;

use copydesk_domain::{Person, Timestamp};
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use super::super::exchange::HostResponse;
use super::super::forgejo::Forgejo;
use super::super::refusal::Act;
use super::super::repository::escaped;
use super::{Talk, all_linked, ask_each, find, found, linked, may_not, try_out, writes};
use crate::{Ability, ForgeError, Issue, LineRemark, Place, Remark};

/// In how many reviews a reply is looked for.
const MOST_REVIEWS: usize = 50;

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
    /// Of a review: what it says of lines.
    #[serde(default)]
    comments_count: u64,
}

#[derive(Deserialize)]
struct AtLine {
    id: u64,
    user: Option<User>,
    #[serde(default)]
    html_url: String,
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

/// A team that has something to do with the repository.
#[derive(Deserialize)]
struct Team {
    #[serde(default)]
    permission: String,
    /// What it may of each part, since Gitea 1.16; the rest is old.
    units_map: Option<HashMap<String, String>>,
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

impl From<AtLine> for LineRemark {
    fn from(it: AtLine) -> Self {
        Self { path: it.path, line: Some(it.position).filter(|line| *line > 0), text: it.body }
    }
}

impl Forgejo {
    async fn all_reviews(&self, pull: u64) -> Result<Vec<Said>, ForgeError> {
        let path = format!("{}/pulls/{pull}/reviews", self.path);
        let all = all_linked::<Said>(&self.client, &path, &[("limit", "50")]).await?;
        Ok(all.into_iter().filter(Said::is_handed_in).collect())
    }

    /// What a review says of lines, with what others have replied to it there.
    async fn at_lines(&self, pull: u64, review: u64) -> Result<Vec<AtLine>, ForgeError> {
        self.client.get(&format!("{}/pulls/{pull}/reviews/{review}/comments", self.path), Act::Read).await
    }

    /// A reply to what a review says of a line. It is told of like any comment, and shown with that review alone, which is
    /// not named.
    async fn reply_at_line(&self, pull: u64, id: u64) -> Result<Option<Remark>, ForgeError> {
        let reviews = self.all_reviews(pull).await?;
        for review in reviews.iter().rev().filter(|review| review.comments_count > 0).take(MOST_REVIEWS) {
            let lines = self.at_lines(pull, review.id).await?;
            if let Some(mut line) = lines.into_iter().find(|line| line.id == id) {
                let Some(user) = line.user.take() else { return Ok(None) };
                let (by, url) = (Person { id: user.login.clone(), name: user.login }, line.html_url.clone());
                let text = String::new();
                return Ok(Some(Remark { is_of_program: false, by, url, text, at_lines: vec![line.into()] }));
            }
        }
        Ok(None)
    }

    /// Whether somebody may write of whom the host does not say it plainly: `is_told` if it says what they were given by
    /// name, which leaves what their teams may. To whom issues can be assigned is told to whoever may read: those who may
    /// write, and in a repository of an organisation also members of teams that may only read.
    async fn seems_to_write(&self, person: &Person, is_told: bool) -> Result<Ability, ForgeError> {
        let people: Vec<User> = self.client.get(&format!("{}/assignees", self.path), Act::Look).await?;
        if !people.iter().any(|user| user.login.eq_ignore_ascii_case(&person.id)) {
            return Ok(may_not(&self.client, person));
        }
        let answer = self.client.look(&format!("{}/teams", self.path)).await?;
        // There are none in the repository of a person.
        if answer.status == 405 {
            return Ok(if is_told { may_not(&self.client, person) } else { Ability::Yes });
        }
        let teams: Vec<Team> = self.client.read(Act::Look, &answer)?;
        if teams.iter().all(Team::writes) {
            return Ok(Ability::Yes);
        }
        let (subject, name) = (self.client.subject(), &person.name);
        Ok(Ability::Unknown(format!(
            "{} does not say whether {name} may write to {} or is in a team that may only read; make {name} a collaborator, \
             and the account of the {} an administrator of the repository",
            subject.host(),
            subject.repository,
            subject.credential.title()
        )))
    }
}

impl Team {
    fn writes(&self) -> bool {
        let code = self.units_map.as_ref().and_then(|units| units.get("repo.code"));
        writes(code.unwrap_or(&self.permission))
    }
}

impl Talk for Forgejo {
    /// They come all at once.
    const LONG_PAGES: &'static [(&'static str, &'static str)] = &[];

    async fn read_comment(&self, pull: u64, id: u64) -> Result<Option<Remark>, ForgeError> {
        let answer = self.client.look(&format!("{}/issues/comments/{id}", self.path)).await?;
        // It is there, and stands at a line.
        if answer.status == 204 {
            return self.reply_at_line(pull, id).await;
        }
        let said: Option<Said> = found(&self.client, &answer)?;
        let is_here = |said: &Said| said.pull_request_url.ends_with(&format!("/{pull}"));
        Ok(said.filter(is_here).and_then(|said| said.remark(Vec::new())))
    }

    async fn read_review(&self, pull: u64, id: u64) -> Result<Option<Remark>, ForgeError> {
        let path = format!("{}/pulls/{pull}/reviews/{id}", self.path);
        let said: Option<Said> = find(&self.client, &path).await?;
        let Some(said) = said.filter(Said::is_handed_in) else { return Ok(None) };
        let lines = self.at_lines(pull, id).await?;
        // What others have replied is not what the reviewer says.
        let login = said.user.as_ref().map(|user| user.login.clone());
        let own = |line: &AtLine| line.user.as_ref().map(|user| &user.login) == login.as_ref();
        Ok(said.remark(lines.into_iter().filter(own).map(LineRemark::from).collect()))
    }

    async fn list_reviews(&self, pull: u64) -> Result<Vec<(u64, Timestamp)>, ForgeError> {
        let all = self.all_reviews(pull).await?;
        Ok(all.into_iter().filter_map(|said| Some((said.id, said.submitted_at?))).collect())
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
        match answer.status {
            404 => Ok(may_not(&self.client, person)),
            // Only those who administer the repository are told of others.
            403 => self.seems_to_write(person, false).await,
            // What somebody may as a member of a team is left out.
            _ if writes(&self.client.read::<Permission>(Act::Look, &answer)?.permission) => Ok(Ability::Yes),
            _ => self.seems_to_write(person, true).await,
        }
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
        let known = all_linked::<Label>(&self.client, &path, &[("limit", "50")]).await?;
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
        ask_each(&self.client, &format!("{}/pulls/{pull}/requested_reviewers", self.path), reviewers).await
    }
}
