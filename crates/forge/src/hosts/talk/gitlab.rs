use copydesk_domain::Person;
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use super::super::exchange::HostResponse;
use super::super::gitlab::{DEVELOPER, Gitlab};
use super::super::interface::Dialect;
use super::super::refusal::Act;
use super::super::repository::escaped;
use super::{Talk, find, linked, may_not, try_out};
use crate::{Ability, ForgeError, Issue, LineRemark, Place, Remark};

#[derive(Deserialize)]
struct User {
    id: u64,
    username: String,
    #[serde(default)]
    bot: bool,
}

#[derive(Deserialize)]
struct Note {
    author: User,
    #[serde(default)]
    body: String,
    /// Whether GitLab has written it.
    #[serde(default)]
    system: bool,
    /// The line that it is on.
    position: Option<Position>,
}

#[derive(Deserialize)]
struct Position {
    new_path: Option<String>,
    new_line: Option<u64>,
}

#[derive(Deserialize)]
struct Web {
    web_url: String,
}

#[derive(Deserialize)]
struct IssueView {
    title: String,
    description: Option<String>,
    web_url: String,
    state: String,
    #[serde(default)]
    labels: Vec<String>,
}

#[derive(Deserialize)]
struct Reviewed {
    #[serde(default)]
    reviewers: Vec<User>,
}

#[derive(Deserialize)]
struct Member {
    access_level: u32,
}

impl Talk for Gitlab {
    const LONG_PAGES: &'static [(&'static str, &'static str)] = &[("per_page", "100")];

    async fn read_comment(&self, pull: u64, id: u64) -> Result<Option<Remark>, ForgeError> {
        let note: Option<Note> = find(&self.client, &format!("{}/notes/{id}", self.pull_path(pull))).await?;
        let Some(note) = note.filter(|note| !note.system) else { return Ok(None) };
        let page: Web = self.client.get(&self.pull_path(pull), Act::Read).await?;
        let place = note.position.and_then(|at| Some((at.new_path?, at.new_line)));
        // What is said of a line is said there only.
        let (text, at_lines) = match place {
            Some((path, line)) => (String::new(), vec![LineRemark { path, line, text: note.body }]),
            None => (note.body, Vec::new()),
        };
        Ok(Some(Remark {
            is_of_program: note.author.bot,
            by: Person { id: note.author.id.to_string(), name: note.author.username },
            url: format!("{}#note_{id}", page.web_url),
            text,
            at_lines,
        }))
    }

    async fn read_issue(&self, number: u64) -> Result<Option<Issue>, ForgeError> {
        let issue: Option<IssueView> = find(&self.client, &format!("{}/issues/{number}", self.path)).await?;
        Ok(issue.map(|issue| Issue {
            title: issue.title,
            text: issue.description.unwrap_or_default(),
            url: issue.web_url,
            is_open: issue.state == "opened",
            labels: issue.labels,
        }))
    }

    async fn access_of(&self, person: &Person) -> Result<Ability, ForgeError> {
        let path = format!("{}/members/all/{}", self.path, escaped(&person.id));
        let member: Option<Member> = find(&self.client, &path).await?;
        let may = member.is_some_and(|member| member.access_level >= DEVELOPER);
        Ok(if may { Ability::Yes } else { may_not(&self.client, person) })
    }

    fn comments_path(&self, place: Place) -> String {
        match place {
            Place::Pull(number) => format!("{}/notes", self.pull_path(number)),
            Place::Issue(number) => format!("{}/issues/{number}/notes", self.path),
        }
    }

    fn comments_on(&self, answer: &HostResponse) -> Result<(Vec<String>, Option<String>), ForgeError> {
        let (notes, next) = linked::<Note>(&self.client, answer)?;
        Ok((notes.into_iter().map(|note| note.body).collect(), next))
    }

    async fn label(&self, pull: u64, labels: &[String]) -> Result<Vec<String>, ForgeError> {
        let body = json!({ "add_labels": labels.join(",") });
        let missed = try_out(&self.client, Method::PUT, &self.pull_path(pull), body, "no labels").await?;
        Ok(missed.into_iter().collect())
    }

    async fn ask_reviewers(&self, pull: u64, reviewers: &[String]) -> Result<Vec<String>, ForgeError> {
        let (mut ids, mut missed) = (Vec::new(), Vec::new());
        for name in reviewers {
            let request = self.client.transport.request(Method::GET, "users")?.with_query(&[("username", name)]);
            let answer = self.client.ask(&request).await?;
            let users: Vec<User> = self.client.read(Act::Look, &answer)?;
            match users.iter().find(|user| user.username.eq_ignore_ascii_case(name)) {
                Some(user) => ids.push(user.id),
                None => missed.push(format!("{name} was not asked to review: GitLab knows nobody of that name")),
            }
        }
        if !ids.is_empty() {
            // Those whom somebody, or a rule of the project, has asked already stay asked.
            let there: Reviewed = self.client.get(&self.pull_path(pull), Act::Read).await?;
            ids.extend(there.reviewers.iter().map(|user| user.id).filter(|id| !ids.contains(id)).collect::<Vec<_>>());
            let body = json!({ "reviewer_ids": ids });
            let what = "nobody was asked to review";
            missed.extend(try_out(&self.client, Method::PUT, &self.pull_path(pull), body, what).await?);
        }
        Ok(missed)
    }
}
