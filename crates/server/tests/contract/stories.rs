//! Random stories of jobs, held against the contract's table of transitions.

use copydesk_testkit::{Backend, ProjectClient};
use proptest::prelude::*;
use proptest::test_runner::Config;
use serde_json::Value;

use crate::stage::{Stage, runtime};

/// What a client does; the number picks one of the jobs there are.
#[derive(Debug, Clone)]
enum Act {
    Create,
    Message(usize),
    Cancel(usize),
    Archive(usize),
    List(usize),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        2 => Just(Act::Create),
        2 => (0..8usize).prop_map(Act::Message),
        3 => (0..8usize).prop_map(Act::Cancel),
        1 => (0..8usize).prop_map(Act::Archive),
        2 => (1..4usize).prop_map(Act::List),
    ]
}

/// A job as it must be: its id and its status.
type Model = Vec<(String, &'static str)>;

async fn play(project: &ProjectClient, story: Vec<Act>) {
    let mut model: Model = Vec::new();
    for act in story {
        if model.is_empty() && !matches!(act, Act::List(_)) {
            model.push((project.job().await, "active"));
        }
        let count = model.len();
        match act {
            Act::Create => model.push((project.job().await, "active")),
            Act::Message(at) => step(project, &mut model[at % count], "message").await,
            Act::Cancel(at) => step(project, &mut model[at % count], "cancel").await,
            Act::Archive(at) => step(project, &mut model[at % count], "archive").await,
            Act::List(limit) => compare(project, &model, limit).await,
        }
    }
    compare(project, &model, 3).await;
}

/// The transitions of the contract, as statuses of answers and of jobs.
async fn step(project: &ProjectClient, job: &mut (String, &'static str), act: &str) {
    let (answered, next) = match (act, job.1) {
        ("message", "archived") => (400, "archived"),
        ("message", _) => (200, "active"),
        ("cancel", "active") => (200, "failed"),
        ("cancel", other) => (409, other),
        _ => (200, "archived"),
    };
    let answer = match act {
        "message" => project.message(&job.0, "And another thing.").await,
        "cancel" => project.cancel(&job.0).await,
        _ => project.archive(&job.0).await,
    };
    assert_eq!(answer.status, answered, "{act} of a job that is {}", job.1);
    job.1 = next;
    let now = project.get(&job.0).await.expect(200);
    assert_eq!(now["status"], next);
    assert_eq!(now["archivedAt"].is_null(), next != "archived");
    assert_eq!(now["outcome"].is_null(), next == "active");
    assert_eq!(now["prLink"], Value::Null);
}

/// The list, read page by page and status by status, is the model.
async fn compare(project: &ProjectClient, model: &Model, limit: usize) {
    for status in ["", "&status=active", "&status=failed", "&status=archived", "&status=completed"] {
        let mut read = Vec::new();
        let mut query = format!("limit={limit}{status}");
        loop {
            let page = project.list(&query).await.expect(200);
            for job in page["jobs"].as_array().unwrap() {
                read.push((job["id"].as_str().unwrap().to_owned(), job["status"].as_str().unwrap().to_owned()));
            }
            let Some(cursor) = page["nextCursor"].as_str() else { break };
            query = format!("limit={limit}{status}&cursor={cursor}");
        }
        let wanted = model.iter().rev().filter(|job| status.is_empty() || status.ends_with(job.1));
        let wanted: Vec<_> = wanted.map(|(id, status)| (id.clone(), (*status).to_owned())).collect();
        assert_eq!(read, wanted, "{status}");
    }
}

fn tell(backend: Backend) {
    let runtime = runtime(2);
    let (stage, app) = runtime.block_on(async {
        let stage = Stage::new(backend).await;
        let app = stage.app().await;
        (stage, app)
    });
    let config = Config { cases: 12, failure_persistence: None, max_shrink_iters: 60, ..Config::default() };
    proptest!(config, |(story in prop::collection::vec(act(), 1..16))| {
        runtime.block_on(async {
            // A project of its own for every story.
            let project = app.project("Story").await;
            play(&project, story).await;
        });
    });
    runtime.block_on(stage.end());
}

#[test]
fn jobs_keep_to_the_table_of_transitions_on_sqlite() {
    tell(Backend::Sqlite);
}

#[test]
fn jobs_keep_to_the_table_of_transitions_on_postgres() {
    tell(Backend::Postgres);
}
