//! The rate limit of a project: creations and messages together, in any hour.

use std::time::Duration;

use copydesk_store::ProjectChange;
use copydesk_testkit::{Answer, ProjectClient};
use futures_util::future::join_all;
use serde_json::json;

use crate::stage::Stage;

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

/// A server with this limit for every project, and one project.
async fn limited(stage: &Stage, jobs_per_hour: u32) -> ProjectClient {
    let app = stage.app_with(|setup| setup.rules(|rules| rules.jobs_per_hour = jobs_per_hour)).await;
    app.project("Docs").await
}

async fn try_create(project: &ProjectClient) -> Answer {
    project.try_create(json!({ "prompt": "Fix it." })).await
}

/// What the headers say: limit, remaining, reset.
#[track_caller]
fn standing(answer: &Answer) -> [u64; 3] {
    ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"].map(|name| answer.number(name))
}

fn has_no_standing(answer: &Answer) -> bool {
    answer.headers.keys().all(|name| !name.as_str().starts_with("ratelimit"))
}

async fn creations_and_messages_count_together(stage: &Stage) {
    let project = limited(stage, 4).await;
    let first = try_create(&project).await.expect(201);
    assert_eq!(standing(&first), [4, 3, 3600]);
    let id = first["id"].as_str().unwrap();
    stage.advance(600 * SECOND);
    let message = project.message(id, "x").await.expect(200);
    assert_eq!(standing(&message), [4, 2, 3000]);
    assert_eq!(standing(&try_create(&project).await.expect(201)), [4, 1, 3000]);
    assert_eq!(standing(&project.message(id, "x").await.expect(200)), [4, 0, 3000]);
    for refused in [try_create(&project).await, project.message(id, "x").await] {
        let refused = refused.refused(429, "rate_limited");
        assert_eq!(standing(&refused), [4, 0, 3000]);
        assert_eq!(refused.number("retry-after"), 3000);
    }
    assert_eq!(project.list("").await.expect(200)["jobs"].as_array().unwrap().len(), 2, "the refused did nothing");
    assert_eq!(project.event_types(id).await, ["created", "message", "message"]);
}

async fn waiting_for_retry_after_is_enough_and_less_is_not(stage: &Stage) {
    let project = limited(stage, 2).await;
    stage.advance(MILLISECOND);
    try_create(&project).await.expect(201);
    stage.advance(10 * SECOND + 300 * MILLISECOND);
    try_create(&project).await.expect(201);
    let refused = try_create(&project).await.refused(429, "rate_limited");
    let wait = refused.number("retry-after");
    assert_eq!(wait, 3590, "rounded up");
    stage.advance((u32::try_from(wait).unwrap() - 1) * SECOND);
    try_create(&project).await.refused(429, "rate_limited");
    stage.advance(SECOND);
    let answer = try_create(&project).await.expect(201);
    // The second one still counts, and is the next to fall out.
    assert_eq!(standing(&answer), [2, 0, 10]);
    try_create(&project).await.refused(429, "rate_limited");
}

async fn an_hour_is_any_hour(stage: &Stage) {
    let project = limited(stage, 1).await;
    try_create(&project).await.expect(201);
    stage.advance(3600 * SECOND - MILLISECOND);
    assert_eq!(try_create(&project).await.refused(429, "rate_limited").number("retry-after"), 1);
    stage.advance(MILLISECOND);
    try_create(&project).await.expect(201);
}

async fn a_project_can_have_a_limit_of_its_own(stage: &Stage) {
    let app = stage.app_with(|setup| setup.rules(|rules| rules.jobs_per_hour = 1)).await;
    let usual = app.project("Usual").await;
    let wide = app.project_with("Wide", |new| new.jobs_per_hour = Some(3)).await;
    let free = app.project_with("Free", |new| new.jobs_per_hour = Some(0)).await;
    assert_eq!(standing(&try_create(&usual).await.expect(201)), [1, 0, 3600]);
    try_create(&usual).await.refused(429, "rate_limited");
    assert_eq!(standing(&try_create(&wide).await.expect(201)), [3, 2, 3600]);
    try_create(&wide).await.expect(201);
    assert_eq!(standing(&try_create(&wide).await.expect(201)), [3, 0, 3600]);
    try_create(&wide).await.refused(429, "rate_limited");
    for _ in 0..5 {
        assert!(has_no_standing(&try_create(&free).await.expect(201)));
    }
}

async fn a_changed_limit_holds_at_once(stage: &Stage) {
    let app = stage.app().await;
    let project = app.project("Docs").await;
    for _ in 0..3 {
        try_create(&project).await.expect(201);
        stage.advance(SECOND);
    }
    let set = async |jobs_per_hour| {
        let change = ProjectChange { jobs_per_hour: Some(jobs_per_hour), ..ProjectChange::default() };
        app.store().update_project(&project.id, change).await.unwrap().unwrap();
    };
    set(Some(2)).await;
    // Two of the three must fall out, the second of them is one second younger than the first.
    assert_eq!(try_create(&project).await.refused(429, "rate_limited").number("retry-after"), 3598);
    set(Some(4)).await;
    assert_eq!(standing(&try_create(&project).await.expect(201)), [4, 0, 3597]);
    set(None).await;
    assert!(has_no_standing(&try_create(&project).await.expect(201)));
}

async fn zero_is_off(stage: &Stage) {
    let project = limited(stage, 0).await;
    for _ in 0..5 {
        let created = try_create(&project).await.expect(201);
        assert!(has_no_standing(&created));
        assert!(has_no_standing(&project.message(created["id"].as_str().unwrap(), "x").await.expect(200)));
    }
}

async fn projects_do_not_share_an_hour(stage: &Stage) {
    let app = stage.app_with(|setup| setup.rules(|rules| rules.jobs_per_hour = 1)).await;
    let (one, other) = (app.project("One").await, app.project("Other").await);
    try_create(&one).await.expect(201);
    try_create(&one).await.refused(429, "rate_limited");
    try_create(&other).await.expect(201);
}

async fn what_is_refused_does_not_count(stage: &Stage) {
    let project = limited(stage, 3).await;
    let id = project.job().await;
    project.try_create(json!({ "prompt": " " })).await.expect(400);
    project.try_create(json!({ "prompt": "x", "colour": 1 })).await.expect(400);
    project.creation().body("x").send().await.expect(415);
    project.message("01890a5d-ac96-774b-bcce-b302099a8057", "x").await.expect(404);
    project.archive(&id).await.expect(200);
    project.message(&id, "x").await.expect(400);
    assert_eq!(standing(&try_create(&project).await.expect(201)), [3, 1, 3600]);
}

async fn reading_cancelling_and_archiving_are_free(stage: &Stage) {
    let project = limited(stage, 1).await;
    let id = project.job().await;
    try_create(&project).await.refused(429, "rate_limited");
    assert!(has_no_standing(&project.get(&id).await.expect(200)));
    assert!(has_no_standing(&project.list("").await.expect(200)));
    project.cancel(&id).await.expect(200);
    project.archive(&id).await.expect(200);
}

async fn the_limit_is_exact_when_all_come_at_once(stage: &Stage) {
    // Two servers, as two processes would be.
    let project = limited(stage, 5).await;
    let there = limited(stage, 5).await.client().with_key(&project.key.secret);
    let calls = (0..20).map(|at| {
        let client = if at % 2 == 0 { project.client() } else { &there };
        let call = client.post(&project.path("job")).json(&json!({ "prompt": "Fix it." }));
        async move { call.send().await }
    });
    let answers = join_all(calls).await;
    let of = |status| answers.iter().filter(|answer| answer.status == status).count();
    assert_eq!((of(201), of(429)), (5, 15));
    let mut left: Vec<_> = answers.iter().filter(|it| it.status == 201).map(|it| standing(it)[1]).collect();
    left.sort_unstable();
    assert_eq!(left, [0, 1, 2, 3, 4], "each was told what was left after it");
}

async fn what_waiting_cannot_mend_is_said_before_the_limit(stage: &Stage) {
    let project = limited(stage, 1).await;
    let id = project.job().await;
    try_create(&project).await.refused(429, "rate_limited");
    project.message(&id, "x").await.refused(429, "rate_limited");
    project.archive(&id).await.expect(200);
    project.message(&id, "x").await.refused(400, "job_archived");
    project.message("01a1dd04-dcf6-71bb-bab7-624ef2a95cdf", "x").await.refused(404, "job_not_found");
}

behaviours!(
    what_waiting_cannot_mend_is_said_before_the_limit,
    creations_and_messages_count_together,
    waiting_for_retry_after_is_enough_and_less_is_not,
    an_hour_is_any_hour,
    a_project_can_have_a_limit_of_its_own,
    a_changed_limit_holds_at_once,
    zero_is_off,
    projects_do_not_share_an_hour,
    what_is_refused_does_not_count,
    reading_cancelling_and_archiving_are_free,
    the_limit_is_exact_when_all_come_at_once,
);
