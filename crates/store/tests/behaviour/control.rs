//! What clients do to a job that is there: follow-ups, cancelling, archiving.

use copydesk_domain::{CheckSummary, Outcome, PullRequest, PullRequestState, Refusal, Status, Usage};
use copydesk_store::{Admission, CancelError, Finish, Finished};

use crate::desk::{CANCELLED, Desk, SECOND, admitted, claim, done, opened, terms};

behaviours! {
    a_message_to_a_finished_job_starts_another_turn,
    a_follow_up_keeps_the_branch_and_the_pull_request,
    a_message_to_a_waiting_job_is_there_when_it_is_claimed,
    a_message_to_a_held_job_is_seen_by_its_worker,
    a_message_to_an_archived_job_is_refused_and_adds_nothing,
    a_message_to_what_is_merged_is_refused_and_adds_nothing,
    cancelling_a_waiting_job_ends_it_at_once,
    cancelling_a_held_job_asks_its_worker,
    cancelling_a_held_job_again_changes_nothing,
    only_an_active_job_is_cancelled,
    a_cancelled_job_can_be_followed_up,
    a_job_is_archived_from_every_state,
    archiving_again_changes_nothing,
    archiving_a_held_job_takes_it_from_its_worker,
}

async fn a_message_to_a_finished_job_starts_another_turn(desk: Desk) {
    let project = desk.project("Docs").await;
    for outcome in [Outcome::PrCreated, Outcome::NoChanges, Outcome::TimedOut, Outcome::ChecksFailed, Outcome::Error] {
        let id = desk.ended(&project, outcome).await;
        let ended = desk.job(&project, &id).await;
        assert!(ended.status != Status::Active && ended.outcome == Some(outcome));
        desk.advance(SECOND);
        assert_eq!(*admitted(&desk.message(&project, &id).await), id);
        let again = desk.job(&project, &id).await;
        assert_eq!((again.status, again.outcome, again.message, again.run), (Status::Active, None, None, 2));
        assert_eq!((again.created_at, again.updated_at), (ended.created_at, desk.now()));
        let claimed = desk.claim("worker").await;
        assert_eq!((claimed.job.id.as_str(), claimed.messages.len(), claimed.tries), (id.as_str(), 2, 1));
        assert_eq!(claimed.deadline_at, desk.now().plus(terms().job_time), "a run has its own time");
        desk.finish(&claimed).await;
    }
}

async fn a_follow_up_keeps_the_branch_and_the_pull_request(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    let first = desk.claim("worker").await;
    let finish = Finish {
        branch: Some("copydesk/1".to_owned()),
        pr_link: Some("https://example.com/pr/1".to_owned()),
        title: Some("Fix typos".to_owned()),
        usage: Usage {
            input_tokens: 3,
            cached_input_tokens: 1,
            output_tokens: 2,
            model_calls: 1,
            cost_usd: Some(0.25),
        },
        checks: vec![CheckSummary { check: "links".to_owned(), ran: true, ..CheckSummary::default() }],
        ..Finish::new(Outcome::PrCreated, "Opened.", 1)
    };
    assert_eq!(desk.store.finish(&first.lease, finish).await, Ok(Finished::Ended));
    let before = desk.job(&project, &id).await;
    assert_eq!(before.visible_pr_link(), Some("https://example.com/pr/1"));

    desk.message(&project, &id).await;
    let during = desk.job(&project, &id).await;
    assert_eq!(during.visible_pr_link(), None);
    let second = desk.claim("worker").await;
    assert_eq!(second.job.branch.as_deref(), Some("copydesk/1"), "the worker goes on where it was");
    assert_eq!(second.job.pr_link.as_deref(), Some("https://example.com/pr/1"));

    let finish = Finish::new(Outcome::Error, "The model is away.", 2);
    assert_eq!(desk.store.finish(&second.lease, finish).await, Ok(Finished::Ended));
    let after = desk.job(&project, &id).await;
    assert_eq!(after.visible_pr_link(), Some("https://example.com/pr/1"));
    let kept = |job: copydesk_domain::Job| (job.branch, job.title, job.usage, job.checks);
    assert_eq!(kept(after), kept(before), "an end that says nothing of these leaves them as they are");
}

async fn a_message_to_a_waiting_job_is_there_when_it_is_claimed(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    desk.message(&project, &id).await;
    assert_eq!(desk.job(&project, &id).await.run, 1);
    let claimed = desk.claim("worker").await;
    let numbers: Vec<_> = claimed.messages.iter().map(|message| message.number).collect();
    assert_eq!((numbers, claimed.job.run), (vec![1, 2], 1));
    assert!(claim(&desk.store, "other").await.is_none(), "it is still one job");
}

async fn a_message_to_a_held_job_is_seen_by_its_worker(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    let claimed = desk.claim("worker").await;
    desk.message(&project, &id).await;
    assert_eq!(desk.store.finish(&claimed.lease, done(&claimed)).await, Ok(Finished::NewMessages));
    assert_eq!(desk.job(&project, &id).await.run, 1);
}

async fn a_message_to_an_archived_job_is_refused_and_adds_nothing(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    desk.store.archive_job(&project, &id).await.unwrap();
    let (job, kinds) = (desk.job(&project, &id).await, desk.kinds(&id).await);
    desk.advance(SECOND);
    assert_eq!(desk.message(&project, &id).await, Admission::Refused(Refusal(Status::Archived)));
    assert_eq!((desk.job(&project, &id).await, desk.kinds(&id).await), (job, kinds));
    assert_eq!(desk.store.messages(&id).await.unwrap().len(), 1);
}

async fn a_message_to_what_is_merged_is_refused_and_adds_nothing(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.ended(&project, Outcome::PrCreated).await;
    let with = |state| PullRequest { state, ..opened("http://x/7") };
    desk.store.record_pull(&id, &with(PullRequestState::Merged)).await.unwrap();
    let (job, kinds) = (desk.job(&project, &id).await, desk.kinds(&id).await);
    desk.advance(SECOND);
    assert_eq!(desk.message(&project, &id).await, Admission::Merged);
    assert_eq!((desk.job(&project, &id).await, desk.kinds(&id).await), (job, kinds));
    assert_eq!(desk.store.messages(&id).await.unwrap().len(), 1);
    // One that is closed may be open again by the time somebody looks.
    let closed = desk.ended(&project, Outcome::PrCreated).await;
    desk.store.record_pull(&closed, &with(PullRequestState::Closed)).await.unwrap();
    assert!(matches!(desk.message(&project, &closed).await, Admission::Done { .. }));
}

async fn cancelling_a_waiting_job_ends_it_at_once(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    desk.advance(SECOND);
    let cancelled = desk.store.cancel_job(&project, &id).await.unwrap().unwrap();
    assert_eq!((cancelled.status, cancelled.outcome), (Status::Failed, Some(Outcome::Cancelled)));
    assert_eq!((cancelled.updated_at, cancelled.cancel_requested), (desk.now(), false));
    assert!(cancelled.message.is_some());
    assert_eq!(desk.job(&project, &id).await, cancelled);
    assert!(claim(&desk.store, "worker").await.is_none());
}

async fn cancelling_a_held_job_asks_its_worker(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    let claimed = desk.claim("worker").await;
    let cancelled = desk.store.cancel_job(&project, &id).await.unwrap().unwrap();
    assert_eq!((cancelled.status, cancelled.outcome), (Status::Active, None));
    assert!(cancelled.cancel_requested);
    assert_eq!(desk.store.check_lease(&claimed.lease).await, Err(CANCELLED));
}

async fn cancelling_a_held_job_again_changes_nothing(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    desk.claim("worker").await;
    let first = desk.store.cancel_job(&project, &id).await.unwrap().unwrap();
    desk.advance(SECOND);
    assert_eq!(desk.store.cancel_job(&project, &id).await.unwrap().unwrap(), first);
    assert_eq!(desk.kinds(&id).await, ["created", "claimed", "cancelling"]);
}

async fn only_an_active_job_is_cancelled(desk: Desk) {
    let project = desk.project("Docs").await;
    let completed = desk.ended(&project, Outcome::PrCreated).await;
    let failed = desk.ended(&project, Outcome::Error).await;
    let archived = desk.ended(&project, Outcome::NoChanges).await;
    desk.store.archive_job(&project, &archived).await.unwrap();
    for (id, status) in [(completed, Status::Completed), (failed, Status::Failed), (archived, Status::Archived)] {
        let before = desk.job(&project, &id).await;
        desk.advance(SECOND);
        assert_eq!(desk.store.cancel_job(&project, &id).await, Err(CancelError::Refused(Refusal(status))));
        assert_eq!(desk.job(&project, &id).await, before);
    }
}

async fn a_cancelled_job_can_be_followed_up(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    let held = desk.claim("worker").await;
    desk.store.cancel_job(&project, &id).await.unwrap().unwrap();
    assert_eq!(desk.store.finish(&held.lease, done(&held)).await, Ok(Finished::Cancelled));
    desk.message(&project, &id).await;
    let again = desk.claim("worker").await;
    assert!(desk.store.check_lease(&again.lease).await.is_ok(), "the old cancellation is over");
    desk.finish(&again).await;
    assert_eq!(desk.job(&project, &id).await.status, Status::Completed);
}

async fn a_job_is_archived_from_every_state(desk: Desk) {
    let project = desk.project("Docs").await;
    let completed = desk.ended(&project, Outcome::PrCreated).await;
    let failed = desk.ended(&project, Outcome::Error).await;
    let held = desk.create(&project).await;
    assert_eq!(desk.claim("worker").await.job.id, held);
    let asked_to_stop = desk.create(&project).await;
    assert_eq!(desk.claim("worker").await.job.id, asked_to_stop);
    desk.store.cancel_job(&project, &asked_to_stop).await.unwrap().unwrap();
    let waiting = desk.create(&project).await;
    desk.advance(SECOND);
    for (id, outcome) in [
        (completed, Outcome::PrCreated),
        (failed, Outcome::Error),
        (held, Outcome::Cancelled),
        (asked_to_stop, Outcome::Cancelled),
        (waiting, Outcome::Cancelled),
    ] {
        let archived = desk.store.archive_job(&project, &id).await.unwrap().unwrap();
        assert_eq!((archived.status, archived.outcome), (Status::Archived, Some(outcome)));
        assert_eq!((archived.archived_at, archived.updated_at), (Some(desk.now()), desk.now()));
        assert!(!archived.cancel_requested);
        assert_eq!(desk.job(&project, &id).await, archived);
    }
    assert!(claim(&desk.store, "worker").await.is_none());
    let depth = desk.store.queue_depth().await.unwrap();
    assert_eq!((depth.waiting, depth.running), (0, 0));
}

async fn archiving_again_changes_nothing(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.ended(&project, Outcome::NoChanges).await;
    let first = desk.store.archive_job(&project, &id).await.unwrap().unwrap();
    let kinds = desk.kinds(&id).await;
    desk.advance(SECOND);
    assert_eq!(desk.store.archive_job(&project, &id).await.unwrap(), Some(first));
    assert_eq!(desk.kinds(&id).await, kinds);
}

async fn archiving_a_held_job_takes_it_from_its_worker(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    let claimed = desk.claim("worker").await;
    desk.store.archive_job(&project, &id).await.unwrap();
    crate::fencing::assert_lost(&desk, &claimed).await;
}
