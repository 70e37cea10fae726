//! How page views come in.

mod browsers;
mod drains;
mod events;
mod signatures;

use std::io::Write;
use std::sync::Arc;

use copydesk_testkit::{Answer, ProjectClient, TestApp};
use serde_json::{Value, json};

use crate::stage::Stage;

/// A browser.
const CHROME: &str =
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
/// The second at which the stage's clock stands.
const NOW: i64 = 1_773_576_000;

/// A server with a project whose site is `docs.example.com`.
async fn site(stage: &Stage) -> (Arc<TestApp>, ProjectClient) {
    let app = stage.app().await;
    let project = app.project_with("Docs", |new| new.views.domains = vec!["docs.example.com".to_owned()]).await;
    (app, project)
}

fn events_path(project: &ProjectClient) -> String {
    format!("/v1/analytics/{}/events", project.id)
}

/// Sends events as JSON.
async fn send(project: &ProjectClient, body: &Value) -> Answer {
    project.client().post(&events_path(project)).json(body).send().await
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

/// What is said of a batch, without the sentences.
fn summary(answer: &Answer) -> Value {
    let rejected = answer["rejected"].as_array().unwrap();
    let rejected: Vec<_> = rejected.iter().map(|event| json!([event["index"], event["code"]])).collect();
    json!([answer["accepted"], answer["duplicates"], answer["ignored"], rejected])
}
