//! Jobs in the hands of a worker, as a client sees them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use copydesk_desk::runner::{Engine, Failure, Noop, Task};
use copydesk_domain::{CheckSummary, Outcome, Usage};
use copydesk_store::{Finish, LeaseError, ProjectChange, QueueTerms};
use copydesk_testkit::{GateEngine, ProjectClient, TestApp, eventually};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::stage::Stage;

const LINK: &str = "https://example.com/acme/docs/pull/7";

/// A server with one worker on a gate, and a project.
async fn gated(stage: &Stage) -> (ProjectClient, Arc<GateEngine>) {
    let (app, engine) = gated_with(stage, |_| {}).await;
    (app.project("Docs").await, engine)
}

async fn gated_with(stage: &Stage, terms: impl FnOnce(&mut QueueTerms)) -> (Arc<TestApp>, Arc<GateEngine>) {
    let engine = GateEngine::new("gate");
    let app = stage.app_with(|setup| setup.terms(terms).runner(1, vec![engine.clone()])).await;
    (app, engine)
}

async fn the_no_op_engine_takes_a_job_to_its_end(stage: &Stage) {
    let app = stage.app_with(|setup| setup.runner(2, vec![Arc::new(Noop)])).await;
    let project = app.project("Docs").await;
    let id = project.job().await;
    let job = project.until(&id, "completed").await;
    assert_eq!((&job["outcome"], &job["model"]), (&json!("no_changes"), &json!("noop")));
    assert_eq!([&job["prLink"], &job["branch"], &job["source"]["ref"]], [&Value::Null; 3], "nothing was changed");
    assert!(job["message"].as_str().unwrap().contains("changes nothing"), "and it says why");
    assert_eq!(project.event_types(&id).await, ["created", "claimed", "read", "completed"]);
}

async fn a_pull_request_shows_when_the_job_is_done(stage: &Stage) {
    let (project, engine) = gated(stage).await;
    let id = project.job().await;
    let run = engine.next().await;
    assert_eq!((&run.job_id, run.attempt, run.prompts.len()), (&id, 1, 1));
    let job = project.get(&id).await.expect(200);
    assert_eq!((&job["status"], &job["prLink"], &job["outcome"]), (&json!("active"), &Value::Null, &Value::Null));
    let mut finish = Finish::new(Outcome::PrCreated, "I fixed three links.", 0);
    finish.title = Some("Fix three links".to_owned());
    finish.branch = Some("copydesk/fix".to_owned());
    finish.pr_link = Some(LINK.to_owned());
    finish.usage =
        Usage { input_tokens: 12, cached_input_tokens: 4, output_tokens: 3, model_calls: 1, cost_usd: Some(0.25) };
    finish.checks = vec![CheckSummary { check: "links".to_owned(), ran: true, repaired: 3, ..CheckSummary::default() }];
    run.finish(finish.clone());
    let job = project.until(&id, "completed").await;
    assert_eq!((&job["prLink"], &job["outcome"]), (&json!(LINK), &json!("pr_created")));
    assert_eq!((&job["source"]["ref"], &job["branch"]), (&json!("copydesk/fix"), &json!("copydesk/fix")));
    assert_eq!((&job["title"], &job["message"]), (&json!("Fix three links"), &json!("I fixed three links.")));
    let usage =
        json!({ "inputTokens": 12, "cachedInputTokens": 4, "outputTokens": 3, "modelCalls": 1, "costUsd": 0.25 });
    assert_eq!(job["usage"], usage);
    assert_eq!(job["checks"], json!(finish.checks));
    assert_eq!(project.archive(&id).await.expect(200)["prLink"], LINK, "an archived job keeps its link");
}

async fn a_follow_up_reopens_the_job_and_hides_the_link_meanwhile(stage: &Stage) {
    let (project, engine) = gated(stage).await;
    let id = project.create("Fix the links.").await["id"].as_str().unwrap().to_owned();
    engine.next().await.open_pull_request("copydesk/fix", LINK);
    project.until(&id, "completed").await;
    for (prompt, opens) in [("Shorter, please.", false), ("Longer, please.", true)] {
        let reopened = project.message(&id, prompt).await.expect(200);
        let run = engine.next().await;
        assert_eq!((run.prompts[0].as_str(), run.prompts.last().unwrap().as_str()), ("Fix the links.", prompt));
        for job in [reopened, project.get(&id).await.expect(200)] {
            assert_eq!(job["status"], "active");
            assert_eq!([&job["prLink"], &job["outcome"], &job["message"]], [&Value::Null; 3]);
            assert_eq!(job["source"]["ref"], "copydesk/fix", "it goes on with its branch");
        }
        if opens {
            run.open_pull_request("copydesk/fix", LINK)
        } else {
            run.complete()
        }
        let done = project.until(&id, "completed").await;
        assert_eq!(done["prLink"], LINK, "the same link again");
        assert_eq!(done["source"]["ref"], "copydesk/fix");
    }
}

async fn a_running_job_is_cancelled_without_waiting_for_its_lease(stage: &Stage) {
    let (project, engine) = gated(stage).await;
    let id = project.job().await;
    let run = engine.next().await;
    let answer = project.cancel(&id).await.expect(200);
    assert!(["active", "failed"].contains(&answer["status"].as_str().unwrap()));
    let job = project.until(&id, "failed").await;
    run.dropped().await;
    assert_eq!((&job["outcome"], &job["prLink"]), (&json!("cancelled"), &Value::Null));
    assert_eq!(project.event_types(&id).await, ["created", "claimed", "cancelling", "failed"]);
    project.cancel(&id).await.refused(409, "job_not_active");
    // The worker is free again.
    project.job().await;
    engine.next().await.complete();
}

/// Whoever is faster, the cancellation that was accepted stands.
async fn no_pull_request_appears_after_a_cancellation(stage: &Stage) {
    let (project, engine) = gated(stage).await;
    for _ in 0..5 {
        let id = project.job().await;
        let run = engine.next().await;
        project.cancel(&id).await.expect(200);
        run.open_pull_request("copydesk/fix", LINK);
        let job = project.until(&id, "failed").await;
        assert_eq!(
            (&job["outcome"], &job["prLink"], &job["branch"]),
            (&json!("cancelled"), &Value::Null, &Value::Null)
        );
    }
}

async fn a_cancelled_run_may_not_take_another_step(stage: &Stage) {
    let (project, engine) = gated(stage).await;
    let id = project.job().await;
    let run = engine.next().await;
    project.cancel(&id).await.expect(200);
    assert!(!run.step("pushing", json!({})).await, "a step is leave to act, and there is none");
    project.until(&id, "failed").await;
    assert!(!project.event_types(&id).await.contains(&"pushing".to_owned()));
}

async fn a_message_during_a_run_is_taken_in(stage: &Stage) {
    let (project, engine) = gated(stage).await;
    let id = project.create("Fix the links.").await["id"].as_str().unwrap().to_owned();
    let run = engine.next().await;
    assert_eq!(project.message(&id, "And the titles.").await.expect(200)["status"], "active");
    run.open_pull_request("copydesk/fix", LINK);
    let run = engine.next().await;
    assert_eq!(run.prompts, ["Fix the links.", "And the titles."]);
    assert_eq!(project.get(&id).await.expect(200)["status"], "active", "not done while a prompt is unread");
    run.complete();
    project.until(&id, "completed").await;
    assert!(engine.is_idle().await);
}

async fn archiving_takes_a_running_job_from_its_worker(stage: &Stage) {
    let (project, engine) = gated(stage).await;
    let id = project.job().await;
    let run = engine.next().await;
    let archived = project.archive(&id).await.expect(200);
    assert_eq!((&archived["status"], &archived["outcome"]), (&json!("archived"), &json!("cancelled")));
    assert!(!run.step("pushing", json!({})).await);
    run.dropped().await;
    // Once the worker has done another job it can have nothing left to say about this one.
    let other = project.job().await;
    engine.next().await.complete();
    project.until(&other, "completed").await;
    assert_eq!(project.get(&id).await.expect(200).json(), archived.json());
    assert_eq!(project.event_types(&id).await, ["created", "claimed", "failed", "archived"]);
}

#[track_caller]
fn timed_out(job: &copydesk_testkit::Answer) {
    assert_eq!((&job["status"], &job["outcome"]), (&json!("failed"), &json!("timed_out")));
    assert_eq!(
        (&job["message"], &job["prLink"]),
        (&json!("The job took longer than the project allows."), &Value::Null)
    );
}

async fn a_job_that_takes_too_long_is_ended(stage: &Stage) {
    let (app, engine) = gated_with(stage, |terms| terms.job_time = Duration::from_millis(200)).await;
    let project = app.project("Docs").await;
    let id = project.job().await;
    let run = engine.next().await;
    timed_out(&project.until(&id, "failed").await);
    run.dropped().await;
    // A follow-up has its own time, here enough for a busy machine.
    let enough = ProjectChange { time_limit_seconds: Some(Some(3600)), ..ProjectChange::default() };
    app.store().update_project(&project.id, enough).await.unwrap();
    project.message(&id, "Try again.").await.expect(200);
    engine.next().await.complete();
    project.until(&id, "completed").await;
}

async fn a_project_can_have_a_time_limit_of_its_own(stage: &Stage) {
    let (app, engine) = gated_with(stage, |_| {}).await;
    let project = app.project_with("Docs", |new| new.time_limit_seconds = Some(1)).await;
    let started = Instant::now();
    let id = project.job().await;
    let run = engine.next().await;
    timed_out(&project.until(&id, "failed").await);
    assert!(started.elapsed() >= Duration::from_secs(1));
    run.dropped().await;
}

async fn a_job_that_nobody_can_run_does_not_wait_for_ever(stage: &Stage) {
    let (app, _engine) = gated_with(stage, |terms| terms.lease = Duration::from_millis(300)).await;
    let project = app.project("Docs").await;
    let created = project.try_create(json!({ "prompt": "x", "model": "builtin" })).await.expect(201);
    stage.advance(Duration::from_secs(24 * 3600));
    let job = project.until(created["id"].as_str().unwrap(), "failed").await;
    assert_eq!(job["outcome"], "timed_out");
    assert!(job["message"].as_str().unwrap().contains("No worker"));
}

/// Waits until the job is put back, then until its pause is over.
async fn let_pause_pass(stage: &Stage, project: &ProjectClient, id: &str, retries: usize) {
    eventually("the job is put back", async || {
        let events = project.event_types(id).await;
        (events.iter().filter(|event| *event == "retrying").count() == retries).then_some(())
    })
    .await;
    stage.advance(Duration::from_secs(5));
}

async fn a_try_that_failed_is_made_again(stage: &Stage) {
    let (project, engine) = gated(stage).await;
    let id = project.job().await;
    engine.next().await.fail(Failure::Retry("the model was busy".to_owned()));
    let_pause_pass(stage, &project, &id, 1).await;
    assert_eq!(project.get(&id).await.expect(200)["status"], "active");
    let run = engine.next().await;
    assert_eq!(run.attempt, 2);
    run.panic();
    let_pause_pass(stage, &project, &id, 2).await;
    let run = engine.next().await;
    assert_eq!(run.attempt, 3);
    run.complete();
    assert_eq!(project.until(&id, "completed").await["outcome"], "no_changes");
    let events = project.event_types(&id).await;
    assert_eq!(events, ["created", "claimed", "retrying", "claimed", "retrying", "claimed", "completed"]);
}

async fn a_job_is_given_up_after_enough_tries(stage: &Stage) {
    let (app, engine) = gated_with(stage, |terms| terms.attempts = 2).await;
    let project = app.project("Docs").await;
    let id = project.job().await;
    engine.next().await.fail(Failure::Retry("the model was busy".to_owned()));
    let_pause_pass(stage, &project, &id, 1).await;
    engine.next().await.panic();
    let job = project.until(&id, "failed").await;
    assert_eq!(job["outcome"], "error");
    assert_eq!(job["message"], "The job was stopped after 2 attempts; the last one failed: the engine crashed.");
    // A follow-up starts over.
    project.message(&id, "Try again.").await.expect(200);
    engine.next().await.complete();
    project.until(&id, "completed").await;
}

async fn an_error_that_will_not_pass_ends_the_job(stage: &Stage) {
    let (project, engine) = gated(stage).await;
    let id = project.job().await;
    engine.next().await.fail(Failure::Fatal("The repository is empty.".to_owned()));
    let job = project.until(&id, "failed").await;
    assert_eq!((&job["outcome"], &job["message"]), (&json!("error"), &json!("The repository is empty.")));
    assert_eq!(job["prLink"], Value::Null);
    assert_eq!(project.event_types(&id).await, ["created", "claimed", "failed"]);
}

/// Breaks down before it has begun.
struct Broken;

impl Engine for Broken {
    fn model(&self) -> &str {
        "gate"
    }

    fn run<'a>(&'a self, _task: Task<'a>) -> BoxFuture<'a, Result<Finish, Failure>> {
        panic!("the test asked for it")
    }
}

async fn an_engine_that_breaks_down_takes_no_worker_along(stage: &Stage) {
    let engines: Vec<Arc<dyn Engine>> = vec![Arc::new(Broken), Arc::new(Noop)];
    let app = stage.app_with(|setup| setup.terms(|terms| terms.attempts = 1).runner(1, engines)).await;
    let project = app.project("Docs").await;
    let id = project.job().await;
    assert_eq!(project.until(&id, "failed").await["outcome"], "error");
    let other = project.try_create(json!({ "prompt": "x", "model": "noop" })).await.expect(201);
    project.until(other["id"].as_str().unwrap(), "completed").await;
}

async fn a_project_runs_no_more_than_its_limit_at_a_time(stage: &Stage) {
    let engine = GateEngine::new("gate");
    let app = stage.app_with(|setup| setup.runner(2, vec![engine.clone()])).await;
    let narrow = app.project_with("Narrow", |new| new.max_running = Some(1)).await;
    let other = app.project("Other").await;
    let (first, second, third) = (narrow.job().await, narrow.job().await, other.job().await);
    // The second has waited longer than the third, so only the limit can have held it back.
    let (one, two) = (engine.next().await, engine.next().await);
    let (one, two) = if one.job_id == first { (one, two) } else { (two, one) };
    assert_eq!((&one.job_id, &two.job_id), (&first, &third));
    let metrics = app.client().get("/metrics").send().await.expect(200).text();
    assert!(metrics.contains("copydesk_queue_jobs{state=\"running\"} 2"), "{metrics}");
    assert!(metrics.contains("copydesk_queue_jobs{state=\"waiting\"} 1"), "{metrics}");
    one.complete();
    let run = engine.next().await;
    assert_eq!(run.job_id, second);
    run.complete();
    two.complete();
    narrow.until(&second, "completed").await;
}

/// The worker is killed, as far as the database can tell: it never speaks again.
async fn a_job_whose_worker_died_is_taken_up_by_another(stage: &Stage) {
    let app = stage.app().await;
    let project = app.project("Docs").await;
    let id = project.try_create(json!({ "prompt": "x", "model": "noop" })).await.expect(201)["id"].clone();
    let id = id.as_str().unwrap();
    let terms = QueueTerms {
        lease: Duration::from_secs(3),
        running_per_project: 0,
        job_time: Duration::from_secs(1800),
        queue_time: Duration::from_secs(24 * 3600),
        attempts: 3,
        host_wait: Duration::from_secs(3600),
    };
    let claimed = app.store().claim("the dead", &["noop".to_owned()], &terms, 1, &[]).await.unwrap().remove(0);
    stage.app_with(|setup| setup.terms(|it| it.lease = Duration::from_secs(3)).runner(1, vec![Arc::new(Noop)])).await;
    assert_eq!(project.get(id).await.expect(200)["status"], "active");
    stage.advance(Duration::from_secs(3));
    let_pause_pass(stage, &project, id, 1).await;
    let job = project.until(id, "completed").await;
    // It comes back from the dead, and has nothing to say any more.
    let late = Finish::new(Outcome::Error, "It did not work.", 1);
    assert!(matches!(app.store().finish(&claimed.lease, late).await, Err(LeaseError::Lost(_))));
    assert_eq!(project.get(id).await.expect(200).json(), job.json());
    assert_eq!(project.event_types(id).await, ["created", "claimed", "retrying", "claimed", "read", "completed"]);
}

behaviours!(
    the_no_op_engine_takes_a_job_to_its_end,
    a_pull_request_shows_when_the_job_is_done,
    a_follow_up_reopens_the_job_and_hides_the_link_meanwhile,
    a_running_job_is_cancelled_without_waiting_for_its_lease,
    no_pull_request_appears_after_a_cancellation,
    a_cancelled_run_may_not_take_another_step,
    a_message_during_a_run_is_taken_in,
    archiving_takes_a_running_job_from_its_worker,
    a_job_that_takes_too_long_is_ended,
    a_project_can_have_a_time_limit_of_its_own,
    a_job_that_nobody_can_run_does_not_wait_for_ever,
    a_try_that_failed_is_made_again,
    a_job_is_given_up_after_enough_tries,
    an_error_that_will_not_pass_ends_the_job,
    an_engine_that_breaks_down_takes_no_worker_along,
    a_project_runs_no_more_than_its_limit_at_a_time,
    a_job_whose_worker_died_is_taken_up_by_another,
);
