//! Pull requests that Copydesk keeps itself, and who may open them.

use copydesk_domain::{JobId, Outcome, ProjectId, PullRequest, PullRequestState, Status};
use copydesk_store::{
    Claimed, DeedFilter, Edit, Finish, Merging, NewPull, Permit, Publishing, Round, RoundSources, Step, Verdict,
};
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
    a_merge_is_final_and_the_job_follows,
    a_pull_request_can_be_closed_and_opened_again,
    a_merge_that_comes_to_nothing_is_forgotten,
    nothing_is_merged_under_a_running_or_archived_job,
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
        sources: RoundSources::default(),
    };
    let edit = Edit {
        title: "Fix".to_owned(),
        summary: String::new(),
        not_done: Vec::new(),
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

/// A finished job whose pull request Copydesk keeps, and its number.
async fn kept(desk: &Desk, project: &ProjectId) -> (JobId, u32) {
    let (claimed, permit) = begun(desk, project).await;
    let head = format!("copydesk/{}", claimed.job.id);
    let pull = desk.store.put_local_pull(&permit, new_pull(project, &head)).await.unwrap();
    let told = PullRequest { number: u64::from(pull.number), ..opened("http://x/pull") };
    desk.store.advance(&claimed.lease, Some(Step::Opened { pull: told }), Vec::new()).await.unwrap();
    desk.finish(&claimed).await;
    (claimed.job.id, pull.number)
}

async fn state(desk: &Desk, project: &ProjectId, number: u32) -> (PullRequestState, PullRequestState) {
    let pull = desk.store.local_pull_of(project, number).await.unwrap().unwrap();
    let job = desk.job(project, &pull.job_id).await;
    (pull.state, job.pull_request.unwrap().state)
}

async fn a_merge_is_final_and_the_job_follows(desk: Desk) {
    let project = desk.project("Docs").await;
    let (job, number) = kept(&desk, &project).await;
    let events = desk.kinds(&job).await.len();
    assert!(matches!(desk.store.begin_merge(&project, number, "c1", false).await, Ok(Some(Merging::Done(_)))));
    assert_eq!(state(&desk, &project, number).await, (PullRequestState::Open, PullRequestState::Open));
    desk.advance(SECOND);
    let merged = desk.store.record_merge(&project, number, "c1").await.unwrap().unwrap();
    assert_eq!(merged.pull_request.as_ref().unwrap().merged_at, Some(desk.now()));
    assert_eq!(merged.pr_link.as_deref(), Some("http://x/pull"), "it is where it was");
    let at = desk.now();
    desk.advance(SECOND);
    desk.store.record_merge(&project, number, "c2").await.unwrap().unwrap();
    let pull = desk.store.local_pull_of(&project, number).await.unwrap().unwrap();
    assert_eq!((pull.merged_at, pull.merged_commit.as_deref()), (Some(at), Some("c1")), "once");
    for closes in [true, false] {
        let said = desk.store.close_pull(&project, number, closes).await;
        assert!(matches!(said, Ok(Some(Merging::Is(PullRequestState::Merged)))), "{said:?}");
    }
    let said = desk.store.begin_merge(&project, number, "c3", false).await;
    assert!(matches!(said, Ok(Some(Merging::Is(PullRequestState::Merged)))), "{said:?}");
    assert_eq!(state(&desk, &project, number).await, (PullRequestState::Merged, PullRequestState::Merged));
    assert_eq!(desk.kinds(&job).await[events..], ["pull_request"]);
    let deeds = desk.store.deeds(DeedFilter { limit: 50, ..DeedFilter::default() }).await.unwrap();
    assert_eq!(deeds.iter().filter(|deed| deed.action == "pull_request.merge").count(), 1);
    let other = desk.project("Other").await;
    assert!(desk.store.begin_merge(&other, number, "c", false).await.unwrap().is_none());
    assert!(desk.store.record_merge(&other, number, "c").await.unwrap().is_none());
}

async fn a_pull_request_can_be_closed_and_opened_again(desk: Desk) {
    let project = desk.project("Docs").await;
    let (_, number) = kept(&desk, &project).await;
    for (closes, wanted) in
        [(true, PullRequestState::Closed), (true, PullRequestState::Closed), (false, PullRequestState::Open)]
    {
        let said = desk.store.close_pull(&project, number, closes).await;
        assert!(matches!(said, Ok(Some(Merging::Done(_)))), "{said:?}");
        assert_eq!(state(&desk, &project, number).await, (wanted, wanted));
        let pull = desk.store.local_pull_of(&project, number).await.unwrap().unwrap();
        assert_eq!(pull.closed_at.is_some(), wanted == PullRequestState::Closed);
    }
    // Whoever has pushed is right, whatever was clicked meanwhile.
    desk.store.close_pull(&project, number, true).await.unwrap();
    desk.store.record_merge(&project, number, "c").await.unwrap();
    assert_eq!(state(&desk, &project, number).await, (PullRequestState::Merged, PullRequestState::Merged));
}

async fn a_merge_that_comes_to_nothing_is_forgotten(desk: Desk) {
    let project = desk.project("Docs").await;
    let (_, number) = kept(&desk, &project).await;
    desk.store.begin_merge(&project, number, "c1", false).await.unwrap();
    let planned = async || desk.store.local_pull_of(&project, number).await.unwrap().unwrap().merged_commit;
    desk.store.forget_merge(&project, number, "other").await.unwrap();
    assert_eq!(planned().await.as_deref(), Some("c1"), "that is somebody else's");
    desk.store.forget_merge(&project, number, "c1").await.unwrap();
    assert_eq!(planned().await, None);
}

async fn nothing_is_merged_under_a_running_or_archived_job(desk: Desk) {
    let project = desk.project("Docs").await;
    let (job, number) = kept(&desk, &project).await;
    desk.message(&project, &job).await;
    assert!(matches!(desk.store.begin_merge(&project, number, "c", false).await, Ok(Some(Merging::Running))));
    assert!(matches!(desk.store.close_pull(&project, number, true).await, Ok(Some(Merging::Running))));
    desk.store.archive_job(&project, &job).await.unwrap();
    assert!(matches!(desk.store.begin_merge(&project, number, "c", false).await, Ok(Some(Merging::Archived))));
    assert_eq!(state(&desk, &project, number).await.0, PullRequestState::Open);
}
