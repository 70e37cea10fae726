//! Comments, reviews, issues, labels and reviewers, as each host has them.

mod bitbucket;
mod forgejo;
mod github;
mod gitlab;

use std::future::Future;

use copydesk_domain::{Person, Timestamp};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::Method;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::client::HostClient;
use super::exchange::HostResponse;
use super::interface::Dialect;
use super::refusal::{Act, refused};
use crate::{Ability, ForgeError, HostTalk, Issue, Place, Remark};

/// What each kind of host does in its own way. Whatever talks is a [`HostTalk`].
pub(super) trait Talk: Dialect {
    fn read_comment(&self, pull: u64, id: u64) -> impl Future<Output = Result<Option<Remark>, ForgeError>> + Send;

    /// Not all hosts have reviews; what is said of lines is a comment of its own there.
    fn read_review(&self, _pull: u64, _id: u64) -> impl Future<Output = Result<Option<Remark>, ForgeError>> + Send {
        async { Ok(None) }
    }

    fn list_reviews(&self, _pull: u64) -> impl Future<Output = Result<Vec<(u64, Timestamp)>, ForgeError>> + Send {
        async { Ok(Vec::new()) }
    }

    fn read_issue(&self, number: u64) -> impl Future<Output = Result<Option<Issue>, ForgeError>> + Send;

    fn access_of(&self, person: &Person) -> impl Future<Output = Result<Ability, ForgeError>> + Send;

    /// Where the comments of a place are, below the interface's address.
    fn comments_path(&self, place: Place) -> String;

    /// What a comment to make is sent as.
    fn new_comment(text: &str) -> Value {
        json!({ "body": text })
    }

    /// What asks for long pages of them.
    const LONG_PAGES: &'static [(&'static str, &'static str)];

    /// What the comments on a page say, and where the next page is.
    fn comments_on(&self, answer: &HostResponse) -> Result<(Vec<String>, Option<String>), ForgeError>;

    fn label(&self, pull: u64, labels: &[String]) -> impl Future<Output = Result<Vec<String>, ForgeError>> + Send;

    fn ask_reviewers(
        &self,
        pull: u64,
        reviewers: &[String],
    ) -> impl Future<Output = Result<Vec<String>, ForgeError>> + Send;
}

impl<T: Talk> HostTalk for T {
    fn comment(&self, pull: u64, id: u64) -> BoxFuture<'_, Result<Option<Remark>, ForgeError>> {
        self.read_comment(pull, id).boxed()
    }

    fn review(&self, pull: u64, id: u64) -> BoxFuture<'_, Result<Option<Remark>, ForgeError>> {
        self.read_review(pull, id).boxed()
    }

    fn reviews(&self, pull: u64) -> BoxFuture<'_, Result<Vec<(u64, Timestamp)>, ForgeError>> {
        self.list_reviews(pull).boxed()
    }

    fn issue(&self, number: u64) -> BoxFuture<'_, Result<Option<Issue>, ForgeError>> {
        self.read_issue(number).boxed()
    }

    fn may_write<'a>(&'a self, person: &'a Person) -> BoxFuture<'a, Result<Ability, ForgeError>> {
        self.access_of(person).boxed()
    }

    fn reply<'a>(&'a self, place: Place, mark: &'a str, text: &'a str) -> BoxFuture<'a, Result<(), ForgeError>> {
        reply(self, place, mark, text).boxed()
    }

    fn furnish<'a>(
        &'a self,
        pull: u64,
        labels: &'a [String],
        reviewers: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<String>, ForgeError>> {
        async move {
            let mut missed = if labels.is_empty() { Vec::new() } else { self.label(pull, labels).await? };
            if !reviewers.is_empty() {
                missed.extend(self.ask_reviewers(pull, reviewers).await?);
            }
            Ok(missed)
        }
        .boxed()
    }
}

/// Says something once. After an end that leaves unclear what the host has done, it looks before it asks again.
async fn reply<T: Talk>(host: &T, place: Place, mark: &str, text: &str) -> Result<(), ForgeError> {
    let (client, path) = (host.client(), host.comments_path(place));
    let mut tries = 0;
    loop {
        tries += 1;
        if is_said(host, &path, mark).await? {
            return Ok(());
        }
        match client.send(Method::POST, &path, T::new_comment(text)).await {
            Ok(answer) => return client.read::<Value>(Act::Write, &answer).map(drop),
            Err(failed) if failed.is_unclear && tries < client.transport.settings.tries => {
                client.transport.pause(tries, None).await;
            }
            Err(failed) => return Err(failed.error),
        }
    }
}

async fn is_said<T: Talk>(host: &T, path: &str, mark: &str) -> Result<bool, ForgeError> {
    let is_it = |texts: &[String]| texts.iter().any(|text| text.contains(mark));
    let said = host.client().pages(path, T::LONG_PAGES, |answer| host.comments_on(answer), is_it).await?;
    Ok(is_it(&said))
}

/// All that is on the pages of a list that link to each other, as far as they are read.
async fn all_linked<T: DeserializeOwned>(
    client: &HostClient,
    path: &str,
    query: &[(&str, &str)],
) -> Result<Vec<T>, ForgeError> {
    client.pages(path, query, |answer| linked(client, answer), |_| false).await
}

/// A page of a list that links to the next one in its head.
fn linked<T: DeserializeOwned>(
    client: &HostClient,
    answer: &HostResponse,
) -> Result<(Vec<T>, Option<String>), ForgeError> {
    Ok((client.read::<Vec<T>>(Act::Read, answer)?, answer.next_link()))
}

/// What is at a path; none if there is nothing.
async fn find<T: DeserializeOwned>(client: &HostClient, path: &str) -> Result<Option<T>, ForgeError> {
    found(client, &client.look(path).await?)
}

fn found<T: DeserializeOwned>(client: &HostClient, answer: &HostResponse) -> Result<Option<T>, ForgeError> {
    if matches!(answer.status, 404 | 410) { Ok(None) } else { client.read(Act::Read, answer).map(Some) }
}

/// Sends something that is no loss if the host will not have it: a refusal that lasts becomes a sentence.
async fn try_out(
    client: &HostClient,
    method: Method,
    path: &str,
    body: Value,
    what: &str,
) -> Result<Option<String>, ForgeError> {
    // The same twice is the same once.
    let answer = client.ask(&client.transport.request(method, path)?.with_body(body).repeatable()).await?;
    if answer.is_success() {
        return Ok(None);
    }
    let error = refused(client.subject(), Act::Write, &answer);
    if error.may_pass() { Err(error) } else { Ok(Some(format!("{what}: {error}"))) }
}

/// Asks people one by one: somebody who cannot be asked must not keep the others away. `acme/writers` is a team.
async fn ask_each(client: &HostClient, path: &str, reviewers: &[String]) -> Result<Vec<String>, ForgeError> {
    let mut missed = Vec::new();
    for name in reviewers {
        let body = match name.split_once('/') {
            Some((_, team)) => json!({ "team_reviewers": [team] }),
            None => json!({ "reviewers": [name] }),
        };
        let what = format!("{name} was not asked to review");
        missed.extend(try_out(client, Method::POST, path, body, &what).await?);
    }
    Ok(missed)
}

/// Whether a right that a host names is one to write.
fn writes(permission: &str) -> bool {
    matches!(permission, "owner" | "admin" | "maintain" | "write")
}

fn may_not(client: &HostClient, person: &Person) -> Ability {
    Ability::No(format!("{} may not write to {}", person.name, client.subject().repository))
}
