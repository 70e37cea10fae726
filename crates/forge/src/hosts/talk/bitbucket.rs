use copydesk_domain::Person;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::bitbucket::Bitbucket;
use super::super::exchange::HostResponse;
use super::super::interface::Dialect;
use super::super::refusal::Act;
use super::super::repository::escaped;
use super::{Talk, find, may_not, try_out, writes};
use crate::{Ability, ForgeError, Issue, LineRemark, Place, Remark};

#[derive(Deserialize)]
struct User {
    #[serde(default)]
    uuid: String,
    nickname: Option<String>,
    display_name: Option<String>,
    #[serde(default, rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct Comment {
    user: Option<User>,
    content: Content,
    #[serde(default)]
    deleted: bool,
    inline: Option<Inline>,
    links: Option<Links>,
}

#[derive(Deserialize, Default)]
struct Content {
    raw: Option<String>,
}

#[derive(Deserialize)]
struct Inline {
    path: String,
    to: Option<u64>,
}

#[derive(Deserialize)]
struct Links {
    html: Option<Link>,
}

#[derive(Deserialize)]
struct Link {
    href: String,
}

#[derive(Deserialize)]
struct Comments {
    #[serde(default)]
    values: Vec<Comment>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Permission {
    permission: String,
}

#[derive(Deserialize)]
struct Reviewed {
    title: String,
    #[serde(default)]
    reviewers: Vec<User>,
}

impl Talk for Bitbucket {
    const LONG_PAGES: &'static [(&'static str, &'static str)] = &[("pagelen", "100")];

    async fn read_comment(&self, pull: u64, id: u64) -> Result<Option<Remark>, ForgeError> {
        let comment: Option<Comment> = find(&self.client, &format!("{}/comments/{id}", self.pull_path(pull))).await?;
        let Some(comment) = comment.filter(|comment| !comment.deleted) else { return Ok(None) };
        let Some(user) = comment.user else { return Ok(None) };
        let raw = comment.content.raw.unwrap_or_default();
        let (text, at_lines) = match comment.inline {
            Some(at) => (String::new(), vec![LineRemark { path: at.path, line: at.to, text: raw }]),
            None => (raw, Vec::new()),
        };
        let name = user.nickname.or(user.display_name).unwrap_or_else(|| user.uuid.clone());
        Ok(Some(Remark {
            // Apps and tokens of repositories are no users.
            is_of_program: user.kind != "user",
            by: Person { id: user.uuid, name },
            url: comment.links.and_then(|links| links.html).map(|link| link.href).unwrap_or_default(),
            text,
            at_lines,
        }))
    }

    /// Its issues have no labels.
    async fn read_issue(&self, _number: u64) -> Result<Option<Issue>, ForgeError> {
        Ok(None)
    }

    async fn access_of(&self, person: &Person) -> Result<Ability, ForgeError> {
        let path = format!("{}/permissions-config/users/{}", self.path, escaped(&person.id));
        let answer = self.client.look(&path).await?;
        match answer.status {
            404 => Ok(may_not(&self.client, person)),
            403 => Ok(Ability::Unknown(format!(
                "Bitbucket does not tell what {} may do: the {} needs the scope `repository:admin`",
                person.name,
                self.client.subject().credential.title()
            ))),
            _ => {
                let told: Permission = self.client.read(Act::Look, &answer)?;
                Ok(if writes(&told.permission) { Ability::Yes } else { may_not(&self.client, person) })
            }
        }
    }

    fn comments_path(&self, place: Place) -> String {
        match place {
            Place::Pull(number) => format!("{}/comments", self.pull_path(number)),
            Place::Issue(number) => format!("{}/issues/{number}/comments", self.path),
        }
    }

    fn new_comment(text: &str) -> Value {
        json!({ "content": { "raw": text } })
    }

    fn comments_on(&self, answer: &HostResponse) -> Result<(Vec<String>, Option<String>), ForgeError> {
        let list: Comments = self.client.read(Act::Read, answer)?;
        Ok((list.values.into_iter().filter_map(|comment| comment.content.raw).collect(), list.next))
    }

    async fn label(&self, _pull: u64, _labels: &[String]) -> Result<Vec<String>, ForgeError> {
        Ok(vec!["no labels: Bitbucket has none for pull requests".to_owned()])
    }

    /// They go by the ids of accounts. Who is asked already, such as the repository's default reviewers, stays so.
    async fn ask_reviewers(&self, pull: u64, reviewers: &[String]) -> Result<Vec<String>, ForgeError> {
        let path = self.pull_path(pull);
        let mut missed = Vec::new();
        for id in reviewers {
            let there: Reviewed = self.client.get(&path, Act::Read).await?;
            if there.reviewers.iter().any(|user| user.uuid == *id) {
                continue;
            }
            let mut all: Vec<Value> = there.reviewers.iter().map(|user| json!({ "uuid": user.uuid })).collect();
            all.push(json!({ "uuid": id }));
            let body = json!({ "title": there.title, "reviewers": all });
            let what = format!("{id} was not asked to review");
            missed.extend(try_out(&self.client, Method::PUT, &path, body, &what).await?);
        }
        Ok(missed)
    }
}
