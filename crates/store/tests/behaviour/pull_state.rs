//! Where pull requests stand on their code hosts.

use copydesk_domain::{EventKind, JobId, ProjectId, PullRequest, PullRequestState};
use copydesk_store::Step;
use futures_util::future::join_all;

use crate::desk::{Desk, SECOND, opened};
use crate::outbox::fan_out;
use crate::webhooks::{deliveries, hook_for};

behaviours! {
    a_job_shows_how_its_pull_request_stands,
    one_asks_at_a_time_and_not_too_often,
    a_change_of_state_is_told_once,
    a_pull_request_leads_to_its_job,
    a_link_without_a_number_is_only_a_link,
    webhooks_are_told_of_every_end_once,
    a_worker_that_is_late_does_not_open_what_was_merged,
    open_pull_requests_are_followed_where_somebody_wants_to_know,
    pull_requests_that_keep_old_jobs_are_asked_about_once_a_day,
}

/// A finished job with this pull request, and its project.
async fn with(desk: &Desk, pull: PullRequest) -> (ProjectId, JobId) {
    let project = desk.project("Docs").await;
    desk.create(&project).await;
    let claimed = desk.claim("w").await;
    desk.store.advance(&claimed.lease, Some(Step::Opened { pull }), Vec::new()).await.unwrap();
    desk.finish(&claimed).await;
    (project, claimed.job.id)
}

async fn a_job_shows_how_its_pull_request_stands(desk: Desk) {
    let (project, job) = with(&desk, PullRequest { draft: true, ..opened("http://x/7") }).await;
    let seen = desk.job(&project, &job).await;
    assert_eq!(seen.visible_pull_request(), Some(&PullRequest { draft: true, ..opened("http://x/7") }));
    assert_eq!(seen.visible_pr_link(), Some("http://x/7"));
    let merged = PullRequest { state: PullRequestState::Merged, merged_at: Some(desk.now()), ..opened("http://y/7") };
    desk.advance(SECOND);
    let seen = desk.store.record_pull(&job, &merged).await.unwrap().unwrap();
    assert_eq!((seen.pull_request.as_ref(), seen.pr_link.as_deref()), (Some(&merged), Some("http://y/7")));
    assert_eq!(seen.updated_at, desk.now());
    let late = desk.store.record_pull(&job, &opened("http://x/7")).await.unwrap().unwrap();
    assert_eq!(late.pull_request.as_ref(), Some(&merged), "a merge is final");
    assert_eq!(desk.store.record_pull(&"nobody".into(), &merged).await.unwrap(), None);
}

async fn webhooks_are_told_of_every_end_once(desk: Desk) {
    let (project, job) = with(&desk, opened("http://x/7")).await;
    let kinds = [EventKind::PullRequestMerged, EventKind::PullRequestClosed];
    let hook = hook_for(&desk, &project, &kinds).await;
    let closed = PullRequest { state: PullRequestState::Closed, ..opened("http://x/7") };
    let merged = PullRequest { state: PullRequestState::Merged, merged_at: Some(desk.now()), ..closed.clone() };
    for pull in [closed.clone(), opened("http://x/7"), closed, merged] {
        desk.advance(SECOND);
        for recorded in join_all((0..8).map(|_| desk.store.record_pull(&job, &pull))).await {
            recorded.unwrap();
        }
    }
    desk.store.record_pull(&job, &opened("http://x/7")).await.unwrap();
    fan_out(&desk.store).await;
    let told: Vec<_> = deliveries(&desk, &hook).await.into_iter().rev().map(|it| it.kind).collect();
    assert_eq!(told, ["pull_request.closed", "pull_request.closed", "pull_request.merged"], "reopened between");
}

/// It has found the pull request open, which was merged before it could say so.
async fn a_worker_that_is_late_does_not_open_what_was_merged(desk: Desk) {
    let (project, job) = with(&desk, opened("http://x/7")).await;
    let hook = hook_for(&desk, &project, &[EventKind::PullRequestMerged]).await;
    desk.message(&project, &job).await;
    let claimed = desk.claim("w").await;
    let merged = PullRequest { state: PullRequestState::Merged, merged_at: Some(desk.now()), ..opened("http://x/7") };
    desk.store.record_pull(&job, &merged).await.unwrap();
    let late = Step::Opened { pull: opened("http://x/7") };
    desk.store.advance(&claimed.lease, Some(late), Vec::new()).await.unwrap();
    assert_eq!(desk.job(&project, &job).await.pull_request.as_ref(), Some(&merged));
    desk.store.record_pull(&job, &merged).await.unwrap();
    fan_out(&desk.store).await;
    assert_eq!(deliveries(&desk, &hook).await.len(), 1, "it is told of once");
    // Another pull request of the job is another matter.
    let next = PullRequest { number: 8, ..opened("http://x/8") };
    desk.store.advance(&claimed.lease, Some(Step::Opened { pull: next.clone() }), Vec::new()).await.unwrap();
    assert_eq!(desk.job(&project, &job).await.pull_request, Some(next));
}

async fn open_pull_requests_are_followed_where_somebody_wants_to_know(desk: Desk) {
    let (project, job) = with(&desk, opened("http://x/7")).await;
    let (pause, month) = (SECOND * 300, SECOND * 3600 * 24 * 30);
    let due = async || desk.store.pulls_to_follow(pause, month, 5).await.unwrap();
    desk.advance(pause);
    hook_for(&desk, &project, &[EventKind::JobCompleted]).await;
    assert_eq!(due().await, [], "nobody wants to know");
    let hook = hook_for(&desk, &project, &[EventKind::PullRequestMerged]).await;
    assert_eq!(due().await, [(project.clone(), job.clone())]);
    desk.store.pause_webhook(&hook, "Not now.").await.unwrap().unwrap();
    assert_eq!(due().await, []);
    hook_for(&desk, &project, &[]).await;
    assert!(desk.store.begin_pull_check(&job, pause).await.unwrap());
    assert_eq!(due().await, [], "somebody has just asked");
    desk.advance(pause);
    assert_eq!(due().await.len(), 1);
    desk.advance(month);
    assert_eq!(due().await, [], "it stays open for ever");
    let (_, second) = with(&desk, opened("http://x/8")).await;
    let merged = PullRequest { state: PullRequestState::Merged, merged_at: Some(desk.now()), ..opened("http://x/8") };
    desk.store.record_pull(&second, &merged).await.unwrap();
    desk.advance(pause);
    assert_eq!(due().await, [], "it has ended");
}

async fn pull_requests_that_keep_old_jobs_are_asked_about_once_a_day(desk: Desk) {
    let (project, job) = with(&desk, opened("http://x/7")).await;
    let day = SECOND * 3600 * 24;
    let due = async || desk.store.pulls_of_old_jobs(desk.now().minus(10 * day), day, 5).await.unwrap();
    desk.advance(9 * day);
    assert_eq!(due().await, [], "it is not so old");
    desk.advance(2 * day);
    assert_eq!(due().await, [(project.clone(), job.clone())]);
    assert!(desk.store.begin_pull_check(&job, day).await.unwrap());
    assert_eq!(due().await, [], "somebody has just asked");
    desk.advance(day);
    assert_eq!(due().await.len(), 1);
    desk.store.make_dormant(desk.now()).await.unwrap();
    assert_eq!(due().await, [], "a dormant copy asks nobody");
    desk.store.wake().await.unwrap();
    desk.message(&project, &job).await;
    desk.advance(20 * day);
    assert_eq!(due().await, [], "it goes on");
    desk.finish(&desk.claim("w").await).await;
    let merged = PullRequest { state: PullRequestState::Merged, merged_at: Some(desk.now()), ..opened("http://x/7") };
    desk.store.record_pull(&job, &merged).await.unwrap();
    desk.advance(20 * day);
    assert_eq!(due().await, [], "it has ended");
}

async fn one_asks_at_a_time_and_not_too_often(desk: Desk) {
    let (_, job) = with(&desk, opened("http://x/7")).await;
    let pause = SECOND * 60;
    assert!(!desk.store.begin_pull_check(&job, pause).await.unwrap(), "it was just opened");
    desk.advance(pause);
    let asked = join_all((0..8).map(|_| desk.store.begin_pull_check(&job, pause))).await;
    assert_eq!(asked.into_iter().filter(|asks| *asks.as_ref().unwrap()).count(), 1);
    desk.advance(pause);
    assert!(desk.store.begin_pull_check(&job, pause).await.unwrap());
    assert!(!desk.store.begin_pull_check(&"nobody".into(), pause).await.unwrap());
}

async fn a_change_of_state_is_told_once(desk: Desk) {
    let (_, job) = with(&desk, opened("http://x/7")).await;
    let before = desk.kinds(&job).await.len();
    let closed = PullRequest { state: PullRequestState::Closed, ..opened("http://x/7") };
    for pull in [opened("http://x/7"), closed.clone(), closed] {
        desk.store.record_pull(&job, &pull).await.unwrap().unwrap();
    }
    assert_eq!(desk.kinds(&job).await[before..], ["pull_request"]);
}

async fn a_pull_request_leads_to_its_job(desk: Desk) {
    let (project, job) = with(&desk, opened("http://x/7")).await;
    assert_eq!(desk.store.job_of_pull(&project, 7).await.unwrap().unwrap().id, job);
    assert_eq!(desk.store.job_of_pull(&project, 8).await.unwrap(), None);
    assert_eq!(desk.store.job_of_pull(&"other".into(), 7).await.unwrap(), None);
}

async fn a_link_without_a_number_is_only_a_link(desk: Desk) {
    let (project, job) = with(&desk, PullRequest { number: 0, ..opened("http://x#branch") }).await;
    let seen = desk.job(&project, &job).await;
    assert_eq!((seen.visible_pull_request(), seen.visible_pr_link()), (None, Some("http://x#branch")));
    desk.advance(SECOND * 3600);
    assert!(!desk.store.begin_pull_check(&job, SECOND).await.unwrap(), "there is nothing to ask for");
}
