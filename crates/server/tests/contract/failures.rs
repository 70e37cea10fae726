//! What a client sees when something is wrong inside: 500 and 503, and nothing of the reason.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use copydesk_domain::{Clock, Timestamp};
use copydesk_testkit::{Answer, Backend, eventually};
use reqwest::Method;
use serde_json::json;

use crate::stage::Stage;

/// The answer is a 500 that leads to the log and says nothing else.
fn says_only_the_request_id(answer: Answer) {
    let answer = answer.refused(500, "internal");
    let id = answer.header("x-request-id").unwrap().to_owned();
    let expected = format!("Something went wrong inside Copydesk; its log says more under the request id {id}.");
    assert_eq!(answer.json(), &json!({ "error": expected, "code": "internal" }));
}

async fn an_error_of_the_store_says_nothing_of_the_inside(stage: &Stage) {
    let app = stage.app().await;
    let project = app.project("Docs").await;
    let id = project.job().await;
    stage.db.execute("ALTER TABLE events RENAME TO elsewhere").await;
    stage.db.execute("ALTER TABLE jobs RENAME TO elsewhere_too").await;
    says_only_the_request_id(project.get(&id).await);
    says_only_the_request_id(project.list("").await);
    says_only_the_request_id(project.try_create(json!({ "prompt": "x" })).await);
    says_only_the_request_id(project.message(&id, "x").await);
    says_only_the_request_id(project.cancel(&id).await);
    says_only_the_request_id(project.archive(&id).await);
    app.client().get("/metrics").send().await.expect(200);
    let own = project.client().get(&project.path("jobs")).header("x-request-id", "my-own.id_7").send().await;
    assert_eq!(own.header("x-request-id"), Some("my-own.id_7"));
    says_only_the_request_id(own);
    let head = project.client().request(Method::HEAD, &project.path("jobs")).send().await.expect(500);
    assert!(head.bytes.is_empty());
    stage.db.execute("ALTER TABLE elsewhere_too RENAME TO jobs").await;
    stage.db.execute("ALTER TABLE elsewhere RENAME TO events").await;
    project.get(&id).await.expect(200);
}

async fn a_row_that_cannot_be_read_says_nothing_of_the_inside(stage: &Stage) {
    let project = stage.project().await;
    let id = project.job().await;
    stage.db.execute("UPDATE jobs SET status = 'secret'").await;
    says_only_the_request_id(project.get(&id).await);
}

/// Breaks on demand.
#[derive(Debug)]
struct BrokenClock {
    whole: Arc<dyn Clock>,
    broken: AtomicBool,
}

impl Clock for BrokenClock {
    fn now(&self) -> Timestamp {
        assert!(!self.broken.load(Ordering::SeqCst), "the spring of copydesk_s3cret is broken");
        self.whole.now()
    }
}

async fn a_panic_is_an_answer_like_any_other(stage: &Stage) {
    let clock = Arc::new(BrokenClock { whole: stage.clock.clone(), broken: AtomicBool::new(false) });
    let app = stage.app_with(|setup| setup.clock(clock.clone()).without_chores()).await;
    let project = app.project("Docs").await;
    clock.broken.store(true, Ordering::SeqCst);
    // Its own id, because a new one needs the time.
    let answer = project.client().get(&project.path("jobs")).header("x-request-id", "r1").send().await;
    says_only_the_request_id(answer);
    clock.broken.store(false, Ordering::SeqCst);
    project.list("").await.expect(200);
}

async fn a_request_that_takes_too_long_is_given_up(stage: &Stage) {
    let limit = Duration::from_secs(2);
    let app = stage.app_with(|setup| setup.http(|limits| limits.request_time = limit)).await;
    let project = app.project("Docs").await;
    let lock = stage.db.lock().await;
    let started = Instant::now();
    project.try_create(json!({ "prompt": "x" })).await.refused(503, "timed_out");
    assert!(started.elapsed() >= limit);
    project.list("").await.expect(200);
    drop(lock);
    eventually("writing works again", async || (project.message("x", "x").await.status == 404).then_some(())).await;
}

/// A database that has gone away, which a file cannot while the server has it open.
async fn without_the_database_everything_but_the_pulse_is_503(stage: &Stage) {
    if stage.backend == Backend::Sqlite {
        return;
    }
    let app = stage.app().await;
    let project = app.project("Docs").await;
    let id = project.job().await;
    app.client().get("/readyz").send().await.expect(200);
    stage.db.destroy().await;
    let anonymous = app.client();
    for answer in [
        project.get(&id).await,
        project.list("").await,
        project.try_create(json!({ "prompt": "x" })).await,
        project.message(&id, "x").await,
        project.cancel(&id).await,
        project.archive(&id).await,
        project.client().get(&project.job_path(&id, "/events")).send().await,
        anonymous.get("/readyz").send().await,
    ] {
        let answer = answer.refused(503, "unavailable");
        assert_eq!(answer["error"], "The database cannot be reached at the moment; try again.");
        assert!(answer.number("retry-after") >= 1);
    }
    assert_eq!(anonymous.get("/healthz").send().await.expect(200)["status"], "ok");
    // The figures of the process matter most when something is wrong.
    anonymous.get("/metrics").send().await.expect(200);
    anonymous.get(&project.path("jobs")).send().await.refused(401, "unauthorized");
}

behaviours!(
    an_error_of_the_store_says_nothing_of_the_inside,
    a_row_that_cannot_be_read_says_nothing_of_the_inside,
    a_panic_is_an_answer_like_any_other,
    a_request_that_takes_too_long_is_given_up,
    without_the_database_everything_but_the_pulse_is_503,
);
