//! Webhooks: made over HTTP, delivered to a real server on this machine, and what comes of it.

mod deliveries;
mod first_view;
mod retries;
mod routes;
mod signatures;

use std::time::Duration;

use copydesk_domain::Clock;
use copydesk_testkit::{Answer, ProjectClient, Receiver, eventually};
use reqwest::Method;
use serde_json::{Value, json};

use crate::stage::Stage;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// A webhook through the eyes of somebody with a key for its project.
struct Hook<'a> {
    project: &'a ProjectClient,
    id: String,
    secret: String,
}

fn base(project: &ProjectClient) -> String {
    format!("/v1/webhooks/{}", project.id)
}

async fn try_add(project: &ProjectClient, body: Value) -> Answer {
    project.client().post(&base(project)).json(&body).send().await
}

/// Adds a webhook that leads to `receiver` and is told everything.
async fn add<'a>(project: &'a ProjectClient, receiver: &Receiver) -> Hook<'a> {
    add_for(project, receiver, &[]).await
}

async fn add_for<'a>(project: &'a ProjectClient, receiver: &Receiver, events: &[&str]) -> Hook<'a> {
    made(project, json!({ "url": receiver.url(), "events": events })).await
}

async fn add_at<'a>(project: &'a ProjectClient, url: &str) -> Hook<'a> {
    made(project, json!({ "url": url, "events": [] })).await
}

async fn made(project: &ProjectClient, new: Value) -> Hook<'_> {
    let made = try_add(project, new).await.expect(201);
    let text = |field: &str| made[field].as_str().unwrap().to_owned();
    Hook { project, id: text("id"), secret: text("secret") }
}

impl Hook<'_> {
    fn path(&self, rest: &str) -> String {
        format!("{}/{}{rest}", base(self.project), self.id)
    }

    async fn get(&self) -> Answer {
        self.project.client().get(&self.path("")).send().await.expect(200)
    }

    async fn post(&self, rest: &str) -> Answer {
        self.project.client().post(&self.path(rest)).send().await
    }

    async fn delete(&self) -> Answer {
        self.project.client().request(Method::DELETE, &self.path("")).send().await
    }

    /// Its deliveries, newest first; `query` is what stands behind the question mark.
    async fn deliveries(&self, query: &str) -> Vec<Value> {
        let answer = self.project.client().get(&self.path(&format!("/deliveries?{query}"))).send().await.expect(200);
        answer["deliveries"].as_array().unwrap().clone()
    }

    /// Waits until its newest delivery is as wanted.
    async fn newest(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        eventually(what, async || self.deliveries("limit=1").await.into_iter().next().filter(|it| wanted(it))).await
    }

    /// Waits until its newest delivery was tried so often, the last time now.
    async fn tried(&self, stage: &Stage, tries: u64) -> Value {
        let now = stage.clock.now().to_string();
        let tried_now = |it: &Value| it["tries"] == tries && it["lastTriedAt"] == now;
        self.newest(&format!("it was tried {tries} times"), tried_now).await
    }
}
