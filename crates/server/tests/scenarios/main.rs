//! Every folder in `scenarios/`, run from end to end: a real repository, a real server, and a scripted model over the
//! wire formats of real ones.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop at once")]

mod play;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use copydesk_testkit::model::scenario::{self, Scenario};
use copydesk_testkit::model::{Api, ModelServer};
use copydesk_testkit::{Backend, TestDatabase};
use futures_util::{FutureExt, StreamExt};

/// How many are played at a time.
const AT_A_TIME: usize = 8;

#[test]
fn every_scenario_ends_as_it_is_written_with_an_openai_compatible_model() {
    run(Api::OpenAi);
}

#[test]
fn every_scenario_ends_as_it_is_written_with_an_anthropic_model() {
    run(Api::Anthropic);
}

/// Plays all scenarios of a wire format, or those whose name holds what `COPYDESK_TEST_SCENARIO` says, and names all
/// that did not end as they should.
fn run(api: Api) {
    let wanted = std::env::var("COPYDESK_TEST_SCENARIO").unwrap_or_default();
    let scenarios: Vec<Scenario> = scenario::all()
        .into_iter()
        .filter(|scenario| scenario.apis.contains(&api) && scenario.name.contains(&wanted))
        .collect();
    assert!(wanted.is_empty() == (scenarios.len() >= 25), "{} scenarios", scenarios.len());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    let failed = runtime.block_on(play_all(api, scenarios));
    assert!(failed.is_empty(), "{} scenarios failed:\n{}", failed.len(), failed.join("\n"));
}

async fn play_all(api: Api, scenarios: Vec<Scenario>) -> Vec<String> {
    let mut builder = ModelServer::builder();
    for scenario in &scenarios {
        builder = builder.script(&scenario.name, scenario.script.clone());
    }
    let server = Arc::new(builder.start().await);
    let plays = scenarios.into_iter().map(|scenario| {
        let server = server.clone();
        async move {
            let database = Arc::new(TestDatabase::new(Backend::Sqlite).await);
            let play = AssertUnwindSafe(play::play(&scenario, api, &server, database.clone())).catch_unwind();
            let result = play.await;
            database.destroy().await;
            result.err().map(|panic| format!("{}: {}", scenario.name, said(&*panic)))
        }
    });
    let mut failed: Vec<String> =
        futures_util::stream::iter(plays).buffer_unordered(AT_A_TIME).filter_map(async |failed| failed).collect().await;
    failed.extend(server.take_violations().iter().map(|violation| format!("the model server: {violation:?}")));
    failed.sort();
    failed
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}
