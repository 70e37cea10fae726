use copydesk_domain::ProjectId;
use serde_json::{Value, json};

use crate::{Answer, Call, Client, eventually};

/// A key that was made for a test.
#[derive(Debug, Clone)]
pub struct TestKey {
    pub id: String,
    pub secret: String,
}

/// A project through the eyes of somebody with a key for it.
#[derive(Clone)]
pub struct ProjectClient {
    pub id: ProjectId,
    pub key: TestKey,
    client: Client,
}

impl ProjectClient {
    pub(crate) fn new(client: &Client, id: &ProjectId, key: TestKey) -> Self {
        Self { id: id.clone(), client: client.with_key(&key.secret), key }
    }

    /// The same project with another key.
    pub fn with_key(&self, key: &TestKey) -> Self {
        Self::new(&self.client, &self.id, key.clone())
    }

    /// The client that carries the key.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// `/v2/agent/{projectId}/…`
    pub fn path(&self, rest: &str) -> String {
        format!("/v2/agent/{}/{rest}", self.id)
    }

    /// The address of a job, or of something of a job: `job_path(id, "/cancel")`.
    pub fn job_path(&self, id: &str, rest: &str) -> String {
        self.path(&format!("job/{id}{rest}"))
    }

    /// A request that creates a job, for the test to fill.
    pub fn creation(&self) -> Call {
        self.client.post(&self.path("job"))
    }

    /// A request that sends a message, for the test to fill.
    pub fn follow_up(&self, id: &str) -> Call {
        self.client.post(&self.job_path(id, "/message"))
    }

    /// Sends a body to create a job with.
    pub async fn try_create(&self, body: Value) -> Answer {
        self.creation().json(&body).send().await
    }

    pub async fn create(&self, prompt: &str) -> Answer {
        self.try_create(json!({ "prompt": prompt })).await.expect(201)
    }

    /// Creates a job and gives its id.
    pub async fn job(&self) -> String {
        self.create("Fix the broken links.").await["id"].as_str().unwrap().to_owned()
    }

    pub async fn message(&self, id: &str, prompt: &str) -> Answer {
        self.follow_up(id).json(&json!({ "prompt": prompt })).send().await
    }

    pub async fn get(&self, id: &str) -> Answer {
        self.client.get(&self.job_path(id, "")).send().await
    }

    /// Lists jobs; `query` is what stands behind the question mark.
    pub async fn list(&self, query: &str) -> Answer {
        self.client.get(&self.path(&format!("jobs?{query}"))).send().await
    }

    pub async fn cancel(&self, id: &str) -> Answer {
        self.client.post(&self.job_path(id, "/cancel")).send().await
    }

    pub async fn archive(&self, id: &str) -> Answer {
        self.client.post(&self.job_path(id, "/archive")).send().await
    }

    /// A job's events, oldest first.
    pub async fn events(&self, id: &str) -> Vec<Value> {
        let answer = self.client.get(&self.job_path(id, "/events")).header("accept", "application/json").send().await;
        answer.expect(200)["events"].as_array().unwrap().clone()
    }

    /// What a job's events are called, oldest first.
    pub async fn event_types(&self, id: &str) -> Vec<String> {
        self.events(id).await.iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits until a job stands so, and gives it.
    pub async fn until(&self, id: &str, status: &str) -> Answer {
        eventually(&format!("the job is {status}"), async || {
            let job = self.get(id).await.expect(200);
            assert!(job["status"] != "failed" || status == "failed", "it failed, and was to be {status}: {job:?}");
            (job["status"] == status).then_some(job)
        })
        .await
    }
}
