//! Pull requests that Copydesk keeps itself, and who may open them.

use copydesk_domain::{JobId, Outcome, ProjectId, Status};
use copydesk_store::{Claimed, Edit, Finish, NewPull, Permit, Publishing, Round, Step, Verdict};
use futures_util::future::join_all;

use crate::desk::{CANCELLED, Desk, LOST, SECOND, opened};

behaviours! {
    pull_requests_are_numbered_in_their_project,
    a_branch_has_one_pull_request,
    many_opened_at_once_are_told_apart,
    a_cancelled_job_opens_none,
    an_address_cannot_be_mixed_up,
    publishing_is_for_completed_jobs_with_a_change,
    one_publishes_at_a_time,
    a_publisher_that_died_is_replaced,
    a_published_job_keeps_its_link,
    pull_requests_go_with_their_project,
}

fn new_pull(project: &ProjectId, head: &str) -> NewPull {
    NewPull {
        project_id: project.clone(),
        head: head.to_owned(),
        base: "main".to_owned(),
        title: "Fix".to_owned(),
        body: "I fixed it.".to_owned(),
        draft: false,
    }
}

async fn begun(desk: &Desk, project: &ProjectId) -> (Claimed, Permit) {
    desk.create(project).await;
    let claimed = desk.claim("w").await;
    let permit = Permit::Lease(claimed.lease.clone());
    (claimed, permit)
}

/// A job that has committed a change and ended without a pull request.
async fn ready(desk: &Desk, project: &ProjectId) -> JobId {
    let (claimed, _) = begun(desk, project).await;
    let round = Round {
        number: 1,
        run: 1,
        first_message: 1,
        base_commit: "b".to_owned(),
        parent_commit: "b".to_owned(),
        edit: None,
        branch: None,
        commit: None,
        pushed: false,
        dropped: false,
        merged: None,
    };
    let edit = Edit {
        title: "Fix".to_owned(),
        summary: String::new(),
        taken_through: 1,
        verdict: Verdict::Good,
        checks: Vec::new(),
        changes: Vec::new(),
        diff: Vec::new(),
        made_at: desk.now(),
    };
    let commit = Some(("copydesk/x".to_owned(), "c".to_owned()));
    for step in [Step::Prepared(round), Step::Edited { round: 1, edit: Box::new(edit), commit }] {
        desk.store.advance(&claimed.lease, Some(step), Vec::new()).await.unwrap();
    }
    let finish = Finish::new(Outcome::ChangesReady, "Ready.", 1);
    desk.store.finish(&claimed.lease, finish).await.unwrap();
    claimed.job.id
}

async fn begin(desk: &Desk, project: &ProjectId, job: &JobId) -> Publishing {
    desk.store.begin_publishing(project, job, SECOND * 60).await.unwrap().unwrap()
}

async fn permit(desk: &Desk, project: &ProjectId, job: &JobId) -> Permit {
    match begin(desk, project, job).await {
        Publishing::Begun(permit, _) => permit,
        other => panic!("{other:?}"),
    }
}

async fn pull_requests_are_numbered_in_their_project(desk: Desk) {
    let (one, other) = (desk.project("One").await, desk.project("Other").await);
    for (project, head, number) in [(&one, "a", 1), (&one, "b", 2), (&other, "a", 1), (&one, "c", 3)] {
        let (_, permit) = begun(&desk, project).await;
        let pull = desk.store.put_local_pull(&permit, new_pull(project, head)).await.unwrap();
        assert_eq!((pull.number, pull.head.as_str()), (number, head));
        assert_eq!(desk.store.local_pull(project, head).await.unwrap(), Some(pull));
    }
    assert_eq!(desk.store.local_pull(&other, "c").await.unwrap(), None);
}

async fn a_branch_has_one_pull_request(desk: Desk) {
    let project = desk.project("Docs").await;
    let (_, permit) = begun(&desk, &project).await;
    let first = desk.store.put_local_pull(&permit, new_pull(&project, "x")).await.unwrap();
    desk.advance(SECOND);
    let new = NewPull { title: "New\0".to_owned(), draft: true, ..new_pull(&project, "x") };
    let second = desk.store.put_local_pull(&permit, new).await.unwrap();
    assert_eq!((second.number, &second.token, second.created_at), (first.number, &first.token, first.created_at));
    assert_eq!((second.title.as_str(), second.draft), ("New\u{fffd}", true));
    assert!(second.updated_at > first.updated_at);
}

async fn many_opened_at_once_are_told_apart(desk: Desk) {
    let project = desk.project("Docs").await;
    let mut permits = Vec::new();
    for _ in 0..16 {
        permits.push(begun(&desk, &project).await.1);
    }
    let opened = permits.iter().enumerate().map(|(at, permit)| {
        let new = new_pull(&project, &format!("branch-{at}"));
        async { desk.store.put_local_pull(permit, new).await.unwrap() }
    });
    let mut numbers: Vec<_> = join_all(opened).await.into_iter().map(|pull| pull.number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=16).collect::<Vec<_>>());
}

async fn a_cancelled_job_opens_none(desk: Desk) {
    let project = desk.project("Docs").await;
    let (claimed, permit) = begun(&desk, &project).await;
    desk.store.cancel_job(&project, &claimed.job.id).await.unwrap().unwrap();
    let opened = desk.store.put_local_pull(&permit, new_pull(&project, "x")).await;
    assert_eq!(opened, Err(CANCELLED));
    assert_eq!(desk.store.local_pull(&project, "x").await.unwrap(), None);
}

async fn an_address_cannot_be_mixed_up(desk: Desk) {
    let project = desk.project("Docs").await;
    let (_, permit) = begun(&desk, &project).await;
    let one = desk.store.put_local_pull(&permit, new_pull(&project, "x")).await.unwrap();
    let other = desk.store.put_local_pull(&permit, new_pull(&project, "y")).await.unwrap();
    assert_ne!(one.token, other.token);
    assert_eq!(one.token.len(), 32);
    assert_eq!(desk.store.local_pull_at(&other.token).await.unwrap(), Some(other));
    assert_eq!(desk.store.local_pull_at("").await.unwrap(), None);
}

async fn publishing_is_for_completed_jobs_with_a_change(desk: Desk) {
    let project = desk.project("Docs").await;
    let unchanged = desk.ended(&project, Outcome::NoChanges).await;
    assert!(matches!(begin(&desk, &project, &unchanged).await, Publishing::NothingChanged));
    let failed = desk.ended(&project, Outcome::Error).await;
    assert!(matches!(begin(&desk, &project, &failed).await, Publishing::NotCompleted(Status::Failed)));
    let active = desk.create(&project).await;
    assert!(matches!(begin(&desk, &project, &active).await, Publishing::NotCompleted(Status::Active)));
    let other = desk.project("Other").await;
    assert!(desk.store.begin_publishing(&other, &unchanged, SECOND).await.unwrap().is_none());
}

async fn one_publishes_at_a_time(desk: Desk) {
    let project = desk.project("Docs").await;
    let job = ready(&desk, &project).await;
    let tries = join_all((0..8).map(|_| begin(&desk, &project, &job))).await;
    let begun: Vec<_> = tries.iter().filter(|it| matches!(it, Publishing::Begun(..))).collect();
    let busy = tries.iter().filter(|it| matches!(it, Publishing::Busy)).count();
    assert_eq!((begun.len(), busy), (1, 7));
    let Publishing::Begun(permit, _) = begun[0] else { panic!("one has begun") };
    desk.store.end_publishing(permit, None).await.unwrap();
    assert!(matches!(begin(&desk, &project, &job).await, Publishing::Begun(..)), "it was given back");
}

async fn a_publisher_that_died_is_replaced(desk: Desk) {
    let project = desk.project("Docs").await;
    let job = ready(&desk, &project).await;
    let dead = permit(&desk, &project, &job).await;
    desk.advance(SECOND * 61);
    let alive = permit(&desk, &project, &job).await;
    let late = desk.store.put_local_pull(&dead, new_pull(&project, "copydesk/x")).await;
    assert_eq!(late, Err(LOST));
    assert_eq!(desk.store.record_published(&dead, 1).await, Err(LOST));
    assert!(desk.store.end_publishing(&dead, Some(opened("http://x/2"))).await.is_err());
    desk.store.put_local_pull(&alive, new_pull(&project, "copydesk/x")).await.unwrap();
}

async fn a_published_job_keeps_its_link(desk: Desk) {
    let project = desk.project("Docs").await;
    let job = ready(&desk, &project).await;
    let permit = permit(&desk, &project, &job).await;
    desk.store.record_published(&permit, 1).await.unwrap();
    let ended = desk.store.end_publishing(&permit, Some(opened("http://x/1"))).await.unwrap();
    assert_eq!((ended.status, ended.outcome), (Status::Completed, Some(Outcome::PrCreated)));
    assert_eq!((ended.visible_pr_link(), ended.branch.as_deref()), (Some("http://x/1"), Some("copydesk/x")));
    assert!(ended.open_pull_request, "a follow-up adds to it");
    assert!(matches!(begin(&desk, &project, &job).await, Publishing::Done(_)));
    assert_eq!(desk.kinds(&job).await.last().unwrap(), "opened");
}

async fn pull_requests_go_with_their_project(desk: Desk) {
    let project = desk.project("Docs").await;
    let (_, permit) = begun(&desk, &project).await;
    let pull = desk.store.put_local_pull(&permit, new_pull(&project, "x")).await.unwrap();
    assert!(desk.store.delete_project(&project).await.unwrap());
    assert_eq!(desk.store.local_pull_at(&pull.token).await.unwrap(), None);
}
