//! The events of a job: numbered from 1, without gaps, whoever writes.

use copydesk_domain::{Outcome, Prompt};
use copydesk_store::{Course, NewEvent};
use futures_util::future::join_all;
use serde_json::json;

use crate::desk::{Desk, LEASE, OFF, SECOND, admitted, heartbeat, render, terms};

behaviours! {
    a_job_tells_its_whole_story,
    events_are_read_on_from_any_number,
    each_job_has_its_own_numbers,
    numbers_have_no_gaps_under_many_writers,
    a_heartbeat_is_no_event,
    what_events_come_to_is_told_without_reading_them,
}

async fn a_job_tells_its_whole_story(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    let claimed = desk.claim("worker").await;
    desk.store.release(&claimed.lease).await.unwrap();
    let claimed = desk.claim("worker").await;
    desk.store.retry_later(&claimed.lease, "the host said no", 9, 0.0).await.unwrap();
    desk.advance(SECOND);
    let claimed = desk.claim("worker").await;
    desk.finish(&claimed).await;
    desk.message(&project, &id).await;
    desk.claim("worker").await;
    desk.store.cancel_job(&project, &id).await.unwrap().unwrap();
    desk.advance(LEASE);
    desk.store.reap(&terms(), || 0.0).await.unwrap();
    desk.store.archive_job(&project, &id).await.unwrap();
    let story = [
        "created",
        "claimed",
        "released",
        "claimed",
        "retrying",
        "claimed",
        "completed",
        "message",
        "claimed",
        "cancelling",
        "failed",
        "archived",
    ];
    assert_eq!(desk.kinds(&id).await, story);
    let events = desk.store.events(&id, 0, 100).await.unwrap();
    assert_eq!(events.iter().map(|event| event.number).collect::<Vec<_>>(), (1..=12).collect::<Vec<_>>());
    assert!(events.is_sorted_by_key(|event| event.created_at));
    assert_eq!(events[3].data, json!({ "attempt": 2 }));
    assert_eq!(events[4].data["reason"], "the host said no");
    assert_eq!(events[6].data["outcome"], "no_changes");
    assert_eq!(events[7].data, json!({ "message": 2 }));
    assert_eq!(events[10].data["outcome"], "cancelled");
}

async fn events_are_read_on_from_any_number(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    for _ in 0..9 {
        desk.message(&project, &id).await;
    }
    let numbers = |after, limit| {
        let (store, id) = (desk.store.clone(), id.clone());
        async move {
            let events = store.events(&id, after, limit).await.unwrap();
            events.into_iter().map(|event| event.number).collect::<Vec<_>>()
        }
    };
    assert_eq!(numbers(0, 3).await, [1, 2, 3]);
    assert_eq!(numbers(3, 3).await, [4, 5, 6]);
    assert_eq!(numbers(8, 3).await, [9, 10]);
    assert!(numbers(10, 3).await.is_empty());
    assert!(numbers(u32::MAX, 3).await.is_empty());
    assert!(numbers(0, 0).await.is_empty());
}

async fn each_job_has_its_own_numbers(desk: Desk) {
    let project = desk.project("Docs").await;
    let (one, other) = (desk.ended(&project, Outcome::NoChanges).await, desk.create(&project).await);
    assert_eq!(desk.kinds(&one).await, ["created", "claimed", "completed"]);
    assert_eq!(desk.kinds(&other).await, ["created"]);
}

/// One holder, clients and a canceller, in several processes, all write to one job.
async fn numbers_have_no_gaps_under_many_writers(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    let claimed = desk.claim("worker").await;
    let stores = desk.several_beside(3).await;
    let writers = (0..60).map(|at| {
        let (store, lease) = (stores[at % stores.len()].clone(), claimed.lease.clone());
        let (project, id) = (project.clone(), id.clone());
        tokio::spawn(async move {
            if at % 2 == 0 {
                store.record_step(&lease, "working", json!({ "at": at })).await.unwrap();
            } else {
                let prompt = Prompt::parse("More.").unwrap();
                let sent = store.message_job(&project, &id, prompt, OFF, None, render).await.unwrap();
                assert_eq!(*admitted(&sent), id);
            }
        })
    });
    for written in join_all(writers).await {
        written.unwrap();
    }
    let events = desk.store.events(&id, 0, 1000).await.unwrap();
    assert_eq!(events.iter().map(|event| event.number).collect::<Vec<_>>(), (1..=62).collect::<Vec<_>>());
    assert_eq!(events.iter().filter(|event| event.kind == "working").count(), 30);
    let told: Vec<_> = events.iter().filter_map(|event| event.data["message"].as_u64()).collect();
    assert_eq!(told, (2..=31).collect::<Vec<_>>(), "messages are told of in their order");
    let numbers: Vec<_> = desk.store.messages(&id).await.unwrap().iter().map(|message| message.number).collect();
    assert_eq!(numbers, (1..=31).collect::<Vec<_>>());
}

async fn a_heartbeat_is_no_event(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    let claimed = desk.claim("worker").await;
    heartbeat(&desk.store, &claimed.lease, LEASE).await.unwrap();
    desk.store.check_lease(&claimed.lease).await.unwrap();
    assert_eq!(desk.kinds(&id).await, ["created", "claimed"]);
}

async fn what_events_come_to_is_told_without_reading_them(desk: Desk) {
    let project = desk.project("Docs").await;
    let job = desk.create(&project).await;
    assert_eq!(desk.store.course(&"nobody".into()).await.unwrap(), Course::default());
    let claimed = desk.claim("w").await;
    let told = [("resumed", json!({ "tokensSaved": 5 })), ("plan", json!({}))];
    let told = told.into_iter().map(|(kind, data)| NewEvent::new(kind, data)).collect();
    desk.store.advance(&claimed.lease, None, told).await.unwrap();
    desk.store.release(&claimed.lease).await.unwrap();
    desk.claim("x").await;
    let course = desk.store.course(&job).await.unwrap();
    assert_eq!((course.last, course.claims), (6, 2));
    assert_eq!(course.resumed, [json!({ "tokensSaved": 5 })]);
    let kinds = desk.store.events_of(&job, &["claimed", "plan"]).await.unwrap();
    assert_eq!(kinds.iter().map(|event| event.number).collect::<Vec<_>>(), [2, 4, 6]);
}
