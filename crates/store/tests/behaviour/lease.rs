//! What the holder of a lease may do, and what it is told.

use std::time::Duration;

use copydesk_domain::{CheckSummary, FindingSummary, NotJudged, Outcome, Status, Timestamp, Usage};
use copydesk_store::{DatabaseAddress, Finish, Finished, Reaped, Retry};
use copydesk_testbase::eventually;
use serde_json::json;
use sqlx::{Connection, PgConnection};

use crate::desk::{CANCELLED, Desk, LEASE, LOST, MILLISECOND, SECOND, claim, done, heartbeat, message, terms};
use crate::raw;

behaviours! {
    the_attempt_grows_with_every_claim,
    a_heartbeat_prolongs_the_lease,
    a_pulse_looks_and_prolongs_nothing,
    a_step_is_recorded_as_an_event,
    an_end_is_written_whole,
    an_end_with_odd_characters_is_written_all_the_same,
    a_job_with_a_prompt_not_taken_in_goes_on,
    what_comes_before_the_end_of_a_job_is_not_passed_over,
    a_job_out_of_time_ends_even_with_a_prompt_not_taken_in,
    a_cancelled_worker_is_told_at_every_turn,
    a_cancelled_job_ends_cancelled_whatever_its_worker_says,
    a_cancelled_job_that_is_released_or_put_back_ends_cancelled,
    a_released_job_is_free_at_once_and_the_try_does_not_count,
    pauses_grow_until_the_job_is_given_up,
    jitter_shortens_a_pause_by_half_at_most,
    a_job_out_of_time_is_not_tried_again,
    a_follow_up_has_all_its_tries,
}

async fn the_attempt_grows_with_every_claim(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    let first = desk.claim("worker").await;
    desk.store.release(&first.lease).await.unwrap();
    let second = desk.claim("worker").await;
    desk.store.retry_later(&second.lease, "no answer", 9, 1.0).await.unwrap();
    desk.advance(SECOND * 10);
    let third = desk.claim("other").await;
    desk.advance(LEASE);
    desk.store.reap(&terms(), || 0.0).await.unwrap();
    desk.advance(SECOND * 10);
    let fourth = desk.claim("worker").await;
    desk.finish(&fourth).await;
    desk.message(&project, &id).await;
    let fifth = desk.claim("worker").await;
    let attempts = [first, second, third, fourth, fifth].map(|claimed| claimed.lease.attempt);
    assert_eq!(attempts, [1, 2, 3, 4, 5], "over a follow-up too");
}

async fn a_heartbeat_prolongs_the_lease(desk: Desk) {
    let project = desk.project("Docs").await;
    desk.create(&project).await;
    let claimed = desk.claim("worker").await;
    desk.advance(LEASE - MILLISECOND);
    let pulse = heartbeat(&desk.store, &claimed.lease, LEASE).await;
    assert_eq!(pulse, Ok(()));
    desk.advance(LEASE - MILLISECOND);
    assert_eq!(desk.store.reap(&terms(), || 0.0).await.unwrap(), Reaped::default());
    desk.advance(MILLISECOND);
    assert_eq!(desk.store.reap(&terms(), || 0.0).await.unwrap().requeued, 1);
}

async fn a_pulse_looks_and_prolongs_nothing(desk: Desk) {
    let project = desk.project("Docs").await;
    desk.create(&project).await;
    let claimed = desk.claim("worker").await;
    desk.advance(LEASE - MILLISECOND);
    assert_eq!(desk.store.check_lease(&claimed.lease).await, Ok(()));
    desk.advance(MILLISECOND);
    assert_eq!(desk.store.reap(&terms(), || 0.0).await.unwrap().requeued, 1);
}

async fn a_step_is_recorded_as_an_event(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    let claimed = desk.claim("worker").await;
    desk.advance(SECOND);
    let data = json!({ "path": "docs/\u{0}ü.md", "lines": [1, 2] });
    assert_eq!(desk.store.record_step(&claimed.lease, "edited", data.clone()).await, Ok(()));
    let event = desk.store.events(&id, 2, 10).await.unwrap().remove(0);
    assert_eq!((event.number, event.kind.as_str(), event.data), (3, "edited", data));
    assert_eq!(event.created_at, desk.now());
    assert_eq!(desk.job(&project, &id).await.updated_at, desk.now());
}

fn check(name: &str) -> CheckSummary {
    let finding =
        FindingSummary { path: "a.md".to_owned(), line: 1, column: 2, message: name.to_owned(), warning: false };
    let not_judged = vec![NotJudged { reason: "nobody can tell".to_owned(), count: 2 }];
    CheckSummary {
        check: name.to_owned(),
        ran: true,
        judged: 3,
        not_judged,
        new_findings: 1,
        repaired: 0,
        findings: vec![finding],
    }
}

async fn an_end_is_written_whole(desk: Desk) {
    let project = desk.project("Docs").await;
    for (outcome, status) in [
        (Outcome::PrCreated, Status::Completed),
        (Outcome::NoChanges, Status::Completed),
        (Outcome::ChecksFailed, Status::Failed),
        (Outcome::Blocked, Status::Failed),
        (Outcome::TimedOut, Status::Failed),
        (Outcome::Error, Status::Failed),
        (Outcome::Cancelled, Status::Failed),
    ] {
        let id = desk.create(&project).await;
        let claimed = desk.claim("worker").await;
        desk.advance(SECOND);
        let finish = Finish {
            outcome,
            message: Some("Said.".to_owned()),
            title: Some("Title".to_owned()),
            branch: Some("copydesk/1".to_owned()),
            pr_link: Some("https://example.com/pr/1".to_owned()),
            usage: Usage {
                input_tokens: u64::MAX,
                cached_input_tokens: 1,
                output_tokens: 2,
                model_calls: 1,
                cost_usd: Some(0.1),
            },
            checks: ["links", "anchors"].map(check).to_vec(),
            taken_through: 1,
        };
        assert_eq!(desk.store.finish(&claimed.lease, finish.clone()).await, Ok(Finished::Ended));
        let wanted = copydesk_domain::Job {
            status,
            outcome: Some(outcome),
            message: finish.message,
            title: finish.title,
            branch: finish.branch,
            pr_link: finish.pr_link,
            usage: finish.usage,
            checks: finish.checks,
            updated_at: desk.now(),
            ..claimed.job
        };
        assert_eq!(desk.job(&project, &id).await, wanted);
        assert!(claim(&desk.store, "worker").await.is_none());
    }
}

async fn an_end_with_odd_characters_is_written_all_the_same(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    let claimed = desk.claim("worker").await;
    let finish = Finish {
        title: Some("a\0b".to_owned()),
        checks: vec![check("\0")],
        ..Finish::new(Outcome::NoChanges, "ü\0🦀", 1)
    };
    assert_eq!(desk.store.finish(&claimed.lease, finish).await, Ok(Finished::Ended));
    let job = desk.job(&project, &id).await;
    assert_eq!((job.title.as_deref(), job.message.as_deref()), (Some("a\u{fffd}b"), Some("ü\u{fffd}🦀")));
    assert_eq!(job.checks, [check("\0")]);

    desk.message(&project, &id).await;
    let claimed = desk.claim("worker").await;
    assert_eq!(desk.store.retry_later(&claimed.lease, "no\0answer", 1, 0.0).await, Ok(Retry::GaveUp));
    assert!(desk.job(&project, &id).await.message.unwrap().contains("no\u{fffd}answer"));
}

async fn a_job_with_a_prompt_not_taken_in_goes_on(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    let claimed = desk.claim("worker").await;
    desk.message(&project, &id).await;
    let (before, kinds) = (desk.job(&project, &id).await, desk.kinds(&id).await);
    desk.advance(SECOND);
    for outcome in [Outcome::PrCreated, Outcome::NoChanges, Outcome::ChecksFailed, Outcome::Error] {
        let finish = Finish { title: Some("Early".to_owned()), ..Finish::new(outcome, "Done.", 1) };
        assert_eq!(desk.store.finish(&claimed.lease, finish).await, Ok(Finished::NewMessages));
    }
    assert_eq!((desk.job(&project, &id).await, desk.kinds(&id).await), (before, kinds), "nothing was written");
    assert_eq!(heartbeat(&desk.store, &claimed.lease, LEASE).await, Ok(()));
    let finish = Finish::new(Outcome::NoChanges, "Done.", 2);
    assert_eq!(desk.store.finish(&claimed.lease, finish).await, Ok(Finished::Ended));
    assert_eq!(desk.job(&project, &id).await.run, 1);
}

/// Both wait for the job's row, and whoever ends it comes second.
async fn what_comes_before_the_end_of_a_job_is_not_passed_over(desk: Desk) {
    let DatabaseAddress::Postgres { address, .. } = desk.db.address() else { return };
    let project = desk.project("Docs").await;
    let mut holder = PgConnection::connect(address).await.unwrap();
    for (comes, wanted) in [("a prompt", Finished::NewMessages), ("a cancellation", Finished::Cancelled)] {
        let id = desk.create(&project).await;
        let claimed = desk.claim("worker").await;
        sqlx::raw_sql("BEGIN; SELECT FROM jobs FOR UPDATE").execute(&mut holder).await.unwrap();
        let (first, second) = (desk.beside().await, desk.beside().await);
        let (project, asked) = (project.clone(), id.clone());
        let first = tokio::spawn(async move {
            match comes {
                "a prompt" => drop(message(&first, &project, &asked).await),
                _ => drop(first.cancel_job(&project, &asked).await.unwrap().unwrap()),
            }
        });
        wait_for(&desk, 1).await;
        let (lease, finish) = (claimed.lease.clone(), done(&claimed));
        let second = tokio::spawn(async move { second.finish(&lease, finish).await });
        wait_for(&desk, 2).await;
        sqlx::raw_sql("ROLLBACK").execute(&mut holder).await.unwrap();
        first.await.unwrap();
        assert_eq!(second.await.unwrap(), Ok(wanted), "{comes}");
        if wanted == Finished::NewMessages {
            let finish = Finish { taken_through: 2, ..done(&claimed) };
            assert_eq!(desk.store.finish(&claimed.lease, finish).await, Ok(Finished::Ended));
            assert_eq!(desk.kinds(&id).await, ["created", "claimed", "message", "completed"]);
        }
    }
}

/// Until so many wait for a lock.
async fn wait_for(desk: &Desk, count: i64) {
    let waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let look = async || (raw::number(desk.db.address(), waiting).await == count).then_some(());
    eventually("they wait", look).await;
}

async fn a_job_out_of_time_ends_even_with_a_prompt_not_taken_in(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    let claimed = desk.claim("worker").await;
    desk.message(&project, &id).await;
    let finish = Finish::new(Outcome::TimedOut, "Too long.", 1);
    assert_eq!(desk.store.finish(&claimed.lease, finish).await, Ok(Finished::Ended));
    assert_eq!(desk.job(&project, &id).await.outcome, Some(Outcome::TimedOut));
}

async fn a_cancelled_worker_is_told_at_every_turn(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    let claimed = desk.claim("worker").await;
    desk.store.cancel_job(&project, &id).await.unwrap().unwrap();
    let kinds = desk.kinds(&id).await;
    assert_eq!(desk.store.check_lease(&claimed.lease).await, Err(CANCELLED));
    assert_eq!(heartbeat(&desk.store, &claimed.lease, LEASE).await, Err(CANCELLED));
    let step = desk.store.record_step(&claimed.lease, "pushing", json!({})).await;
    assert_eq!(step, Err(CANCELLED));
    assert_eq!(desk.kinds(&id).await, kinds, "the step was not recorded");
    assert_eq!(desk.job(&project, &id).await.status, Status::Active, "ending it is the worker's part");
}

async fn a_cancelled_job_ends_cancelled_whatever_its_worker_says(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    let claimed = desk.claim("worker").await;
    desk.message(&project, &id).await;
    desk.store.cancel_job(&project, &id).await.unwrap().unwrap();
    let finish = Finish {
        pr_link: Some("https://example.com/pr/1".to_owned()),
        ..Finish::new(Outcome::PrCreated, "Opened.", 1)
    };
    assert_eq!(desk.store.finish(&claimed.lease, finish).await, Ok(Finished::Cancelled));
    let job = desk.job(&project, &id).await;
    assert_eq!((job.status, job.outcome), (Status::Failed, Some(Outcome::Cancelled)));
    assert_eq!((job.pr_link, job.cancel_requested), (None, false));
    assert_eq!(desk.store.check_lease(&claimed.lease).await, Err(LOST));
}

async fn a_cancelled_job_that_is_released_or_put_back_ends_cancelled(desk: Desk) {
    let project = desk.project("Docs").await;
    for by_release in [true, false] {
        let id = desk.create(&project).await;
        let claimed = desk.claim("worker").await;
        desk.store.cancel_job(&project, &id).await.unwrap().unwrap();
        if by_release {
            assert_eq!(desk.store.release(&claimed.lease).await, Ok(()));
        } else {
            let retry = desk.store.retry_later(&claimed.lease, "no answer", 9, 0.0).await;
            assert_eq!(retry, Ok(Retry::GaveUp));
        }
        let job = desk.job(&project, &id).await;
        assert_eq!((job.status, job.outcome), (Status::Failed, Some(Outcome::Cancelled)));
        desk.advance(SECOND * 10);
        assert!(claim(&desk.store, "worker").await.is_none());
    }
}

async fn a_released_job_is_free_at_once_and_the_try_does_not_count(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    for _ in 0..10 {
        let claimed = desk.claim("worker").await;
        assert_eq!((claimed.tries, claimed.job.id.as_str()), (1, id.as_str()));
        assert_eq!(desk.store.release(&claimed.lease).await, Ok(()));
    }
    let claimed = desk.claim("worker").await;
    let retry = desk.store.retry_later(&claimed.lease, "no answer", 2, 0.0).await;
    assert!(matches!(retry, Ok(Retry::At(_))), "ten releases have used up no try: {retry:?}");
}

async fn pauses_grow_until_the_job_is_given_up(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    let mut pauses = Vec::new();
    loop {
        let claimed = desk.claim("worker").await;
        assert_eq!(claimed.tries as usize, pauses.len() + 1);
        match desk.store.retry_later(&claimed.lease, "the host said no", 6, 1.0).await.unwrap() {
            Retry::At(at) => {
                pauses.push(at.since(desk.now()).as_secs());
                desk.advance(at.since(desk.now()));
            }
            Retry::GaveUp => break,
        }
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16], "six tries, five pauses");
    let job = desk.job(&project, &id).await;
    assert_eq!((job.status, job.outcome), (Status::Failed, Some(Outcome::Error)));
    assert!(job.message.unwrap().contains("the host said no"));
    desk.advance(SECOND * 600);
    assert!(claim(&desk.store, "worker").await.is_none());
}

async fn jitter_shortens_a_pause_by_half_at_most(desk: Desk) {
    let project = desk.project("Docs").await;
    for (jitter, millis) in [(0.0, 500), (0.5, 750), (1.0, 1000), (-7.0, 500), (f64::INFINITY, 1000)] {
        desk.create(&project).await;
        let claimed = desk.claim("worker").await;
        let retry = desk.store.retry_later(&claimed.lease, "no answer", 9, jitter).await;
        assert_eq!(retry, Ok(Retry::At(desk.now().plus(Duration::from_millis(millis)))), "{jitter}");
    }
}

async fn a_job_out_of_time_is_not_tried_again(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    let claimed = desk.claim("worker").await;
    let left = |at: Timestamp| at.since(desk.now());
    desk.advance(left(claimed.deadline_at) - MILLISECOND);
    assert!(matches!(desk.store.retry_later(&claimed.lease, "no answer", 9, 0.0).await, Ok(Retry::At(_))));
    desk.advance(SECOND);
    let again = desk.claim("worker").await;
    assert_eq!(again.deadline_at, claimed.deadline_at);
    assert_eq!(desk.store.retry_later(&again.lease, "no answer", 9, 0.0).await, Ok(Retry::GaveUp));
    let job = desk.job(&project, &id).await;
    assert_eq!((job.status, job.outcome), (Status::Failed, Some(Outcome::TimedOut)));
}

async fn a_follow_up_has_all_its_tries(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    let claimed = desk.claim("worker").await;
    assert_eq!(desk.store.retry_later(&claimed.lease, "no answer", 1, 0.0).await, Ok(Retry::GaveUp));
    desk.message(&project, &id).await;
    let again = desk.claim("worker").await;
    assert_eq!(again.tries, 1);
    assert_eq!(desk.store.finish(&again.lease, done(&again)).await, Ok(Finished::Ended));
}
