//! Jobs that ended long ago.

use std::time::Duration;

use copydesk_domain::{Outcome, PullRequest, PullRequestState};
use copydesk_store::NewPull;

use crate::desk::{Desk, HOUR, opened};

behaviours! {
    only_jobs_that_ended_long_ago_are_forgotten,
    numbers_of_pull_requests_are_not_given_twice,
    events_go_and_the_job_stays,
    a_dormant_copy_forgets_nothing,
}

const DAY: Duration = Duration::from_secs(24 * 3600);

async fn only_jobs_that_ended_long_ago_are_forgotten(desk: Desk) {
    let project = desk.project("Docs").await;
    crate::webhooks::hook(&desk, &project).await;
    let merged = PullRequest { state: PullRequestState::Merged, merged_at: Some(desk.now()), ..opened("http://x/7") };
    let (plain, open, done) = (
        desk.ended(&project, Outcome::NoChanges).await,
        desk.ended(&project, Outcome::PrCreated).await,
        desk.ended(&project, Outcome::PrCreated).await,
    );
    desk.store.record_pull(&open, &opened("http://x/7")).await.unwrap();
    desk.store.record_pull(&done, &merged).await.unwrap();
    // Whatever webhooks have to be told is told first.
    let before = desk.now().minus(DAY);
    desk.advance(3 * DAY);
    let young = desk.ended(&project, Outcome::Error).await;
    let active = desk.create(&project).await;
    assert_eq!(desk.store.forget_jobs(before.plus(2 * DAY), 100).await, Ok(0), "they are still to be told of");
    desk.store.fan_out(100, |_, _| String::new()).await.unwrap();
    assert_eq!(desk.store.forget_jobs(before, 100).await, Ok(0), "none is so old");
    let old = desk.now().minus(DAY);
    assert_eq!(desk.store.forget_jobs(old, 1).await, Ok(1), "only so many at a time");
    assert_eq!(desk.store.forget_jobs(old, 100).await, Ok(1));
    assert_eq!(desk.store.forget_jobs(old, 100).await, Ok(0));
    let left: Vec<_> = desk.jobs(&project).await.into_iter().map(|job| job.id).collect();
    assert_eq!(left, [active, young, open.clone()]);
    for gone in [&plain, &done] {
        assert_eq!(desk.store.job(&project, gone).await.unwrap(), None);
        assert!(desk.kinds(gone).await.is_empty() && desk.store.messages(gone).await.unwrap().is_empty());
    }
    let rows = desk.store.row_counts().await.unwrap();
    assert_eq!((rows["jobs"], rows["messages"]), (3, 3));
    // It is merged in the end.
    desk.store.record_pull(&open, &merged).await.unwrap();
    desk.store.fan_out(100, |_, _| String::new()).await.unwrap();
    desk.advance(3 * DAY);
    assert_eq!(desk.store.forget_jobs(desk.now().minus(DAY), 100).await, Ok(2), "and the young one is old by now");
}

async fn numbers_of_pull_requests_are_not_given_twice(desk: Desk) {
    let project = desk.project("Docs").await;
    let mut numbers = Vec::new();
    for head in ["a", "b"] {
        desk.create(&project).await;
        let claimed = desk.claim("w").await;
        let new = NewPull {
            project_id: project.clone(),
            head: head.to_owned(),
            base: "main".to_owned(),
            title: String::new(),
            body: String::new(),
            draft: false,
        };
        let permit = copydesk_store::Permit::Lease(claimed.lease.clone());
        numbers.push(desk.store.put_local_pull(&permit, new).await.unwrap().number);
        desk.finish(&claimed).await;
        desk.store.close_pull(&project, *numbers.last().unwrap(), true).await.unwrap();
    }
    desk.store.fan_out(100, |_, _| String::new()).await.unwrap();
    desk.advance(3 * DAY);
    assert_eq!(desk.store.forget_jobs(desk.now().minus(DAY), 100).await, Ok(1));
    assert!(desk.store.local_pull_of(&project, numbers[0]).await.unwrap().is_none());
    assert!(desk.store.local_pull_of(&project, numbers[1]).await.unwrap().is_some(), "the next is counted from it");
}

async fn events_go_and_the_job_stays(desk: Desk) {
    let project = desk.project("Docs").await;
    let job = desk.ended(&project, Outcome::PrCreated).await;
    desk.message(&project, &job).await;
    desk.finish(&desk.claim("w").await).await;
    // How the runs ended is not what came last.
    let merged = PullRequest { state: PullRequestState::Merged, merged_at: Some(desk.now()), ..opened("http://x/7") };
    desk.store.record_pull(&job, &merged).await.unwrap();
    desk.store.fan_out(100, |_, _| String::new()).await.unwrap();
    let told = desk.store.events(&job, 0, 100).await.unwrap();
    let kept: Vec<_> =
        told.iter().filter(|it| ["created", "completed", "pull_request"].contains(&&*it.kind)).cloned().collect();
    assert!(kept.len() == 4 && kept.last() == told.last() && told.len() > 5, "{told:?}");
    desk.advance(2 * DAY);
    assert_eq!(desk.store.forget_events(desk.now().minus(3 * DAY), 100).await, Ok(0));
    let gone = desk.store.forget_events(desk.now().minus(DAY), 100).await.unwrap();
    assert_eq!(gone, (told.len() - kept.len()) as u64);
    assert_eq!(desk.store.events(&job, 0, 100).await.unwrap(), kept, "what it came to stays");
    assert_eq!(desk.store.forget_events(desk.now().minus(DAY), 100).await, Ok(0));
    desk.store.archive_job(&project, &job).await.unwrap().unwrap();
    let last = desk.store.events(&job, 0, 100).await.unwrap().pop().unwrap();
    assert_eq!(last.number, told[told.len() - 1].number + 1);
}

async fn a_dormant_copy_forgets_nothing(desk: Desk) {
    let project = desk.project("Docs").await;
    desk.ended(&project, Outcome::NoChanges).await;
    desk.store.fan_out(100, |_, _| String::new()).await.unwrap();
    desk.store.make_dormant(desk.now()).await.unwrap();
    desk.advance(2 * DAY);
    let old = desk.now().minus(HOUR);
    assert_eq!((desk.store.forget_jobs(old, 100).await, desk.store.forget_events(old, 100).await), (Ok(0), Ok(0)));
    desk.store.wake().await.unwrap();
    assert_eq!(desk.store.forget_jobs(old, 100).await, Ok(1));
}
