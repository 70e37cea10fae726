//! What was read, by whom and when.

mod agents;
mod dates;
mod figures;
mod paging;
mod requests;
mod series;

use std::sync::Arc;

use copydesk_testkit::{Answer, ProjectClient, TestApp, Who, see};
use serde_json::Value;

use crate::stage::Stage;

/// A server with one project, whose views a test writes and asks for.
struct Site {
    app: Arc<TestApp>,
    project: ProjectClient,
}

impl Site {
    async fn new(stage: &Stage) -> Self {
        let app = stage.app().await;
        let project = app.project("Docs").await;
        Self { app, project }
    }

    async fn saw(&self, path: &str, at: &str, who: Who, count: u32) {
        see(self.app.views(), &self.project.id, path, at, who, count).await;
    }

    async fn get(&self, rest: &str) -> Answer {
        self.project.client().get(&format!("/v1/analytics/{}/views{rest}", &self.project.id)).send().await
    }
}

/// `[path, human, ai, total]` of each row.
fn rows(answer: &Answer) -> Vec<(String, u64, u64, u64)> {
    let number = |row: &Value, name: &str| row[name].as_u64().unwrap();
    let row = |row: &Value| {
        (row["path"].as_str().unwrap().to_owned(), number(row, "human"), number(row, "ai"), number(row, "total"))
    };
    answer["views"].as_array().unwrap().iter().map(row).collect()
}

fn paths(answer: &Answer) -> Vec<String> {
    rows(answer).into_iter().map(|row| row.0).collect()
}

/// `[human, ai, total]` of the whole range.
fn totals(answer: &Answer) -> [u64; 3] {
    ["human", "ai", "total"].map(|name| answer["totals"][name].as_u64().unwrap())
}
