//! Wake-ups: whoever waits is told, in this process and, on PostgreSQL, in every other one.

use copydesk_domain::Outcome;
use copydesk_store::{CancelError, Change, Changes, NewJob, ProjectChange, QueueTerms, Store};
use copydesk_testbase::PATIENCE;
use serde_json::json;

use crate::desk::{CANCELLED, Desk, LEASE, LOST, OFF, SECOND, admitted, claim, done, new_job, render, terms};

// One thread: a store that was just opened cannot announce anything before the test has subscribed to it.
behaviours! { 1;
    a_worker_that_waits_is_told_of_a_new_job,
    a_worker_that_waits_is_told_of_a_follow_up,
    a_worker_that_waits_is_told_of_a_job_that_came_back,
    a_worker_that_waits_is_told_when_a_project_has_room_again,
    the_holder_of_a_job_is_told_of_its_cancellation,
    whoever_watches_a_job_is_told_of_every_event,
    what_was_refused_is_not_announced,
    other_processes_are_told_on_postgres_and_see_it_on_both,
    an_idle_process_is_told_of_room_made_elsewhere,
}

/// A process that listens: its store, and its subscription, with the greeting of a new listener out of the way.
async fn listener(desk: &Desk) -> (Store, Changes) {
    let store = desk.db.open(desk.clock.clone()).await;
    let mut changes = store.changes_of_jobs();
    if desk.is_postgres() {
        told(&mut changes, &Change::Ready(None)).await;
    }
    (store, changes)
}

/// Waits for `wanted` and gives all that came before it. Not to be told is to fail.
async fn told(changes: &mut Changes, wanted: &Change) -> Vec<Change> {
    let mut before = Vec::new();
    let wait = changes.wait_for(|change| {
        let found = change == wanted;
        if !found {
            before.push(change.clone());
        }
        found
    });
    if tokio::time::timeout(PATIENCE, wait).await.is_err() {
        panic!("nobody told of {wanted:?}");
    }
    before
}

/// Does something over and over until it is told of elsewhere. Not to be told is to fail.
async fn until_told<F: Future<Output = ()>>(changes: &mut Changes, wanted: &Change, act: impl Fn() -> F) {
    let acting = async {
        loop {
            act().await;
            tokio::time::sleep(SECOND / 50).await;
        }
    };
    tokio::select! {
        _ = told(changes, wanted) => {}
        () = acting => {}
    }
}

/// Room in a project matters to those who have nothing to do, and they may be in another process.
async fn an_idle_process_is_told_of_room_made_elsewhere(desk: Desk) {
    let project = desk.project("Docs").await;
    let (idle, _) = listener(&desk).await;
    let mut changes = idle.changes_for_idle();
    let end_one = || async {
        // One that runs, and another that it may stand in the way of.
        desk.create(&project).await;
        desk.create(&project).await;
        let claimed = desk.claim("worker").await;
        desk.finish(&claimed).await;
    };
    if desk.is_postgres() {
        until_told(&mut changes, &Change::Room, end_one).await;
    }
}

async fn a_worker_that_waits_is_told_of_a_new_job(desk: Desk) {
    let project = desk.project("Docs").await;
    let (store, mut changes) = listener(&desk).await;
    assert!(claim(&store, "worker").await.is_none());
    let id = crate::desk::create(&store, &project).await;
    told(&mut changes, &Change::Ready(Some(project.clone()))).await;
    assert_eq!(claim(&store, "worker").await.unwrap().job.id, id, "what is announced is there");
}

async fn a_worker_that_waits_is_told_of_a_follow_up(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.ended(&project, Outcome::NoChanges).await;
    let (store, mut changes) = listener(&desk).await;
    let desk = Desk { store, ..desk };
    desk.message(&project, &id).await;
    told(&mut changes, &Change::Ready(Some(project.clone()))).await;
    assert_eq!(desk.claim("worker").await.job.id, id);
}

async fn a_worker_that_waits_is_told_of_a_job_that_came_back(desk: Desk) {
    let project = desk.project("Docs").await;
    desk.create(&project).await;
    let (store, mut changes) = listener(&desk).await;
    let first = desk.claim("worker").await;
    store.release(&first.lease).await.unwrap();
    told(&mut changes, &Change::Ready(Some(project.clone()))).await;
    let second = desk.claim("worker").await;
    store.retry_later(&second.lease, "no answer", 9, 0.0).await.unwrap();
    told(&mut changes, &Change::Ready(Some(project.clone()))).await;
    desk.advance(SECOND);
    desk.claim("worker").await;
    desk.advance(LEASE);
    store.reap(&terms(), || 0.0).await.unwrap();
    told(&mut changes, &Change::Ready(Some(project.clone()))).await;
}

/// Ends the job that is in the way, each time in another manner, and expects the one who waits to hear of it.
async fn a_worker_that_waits_is_told_when_a_project_has_room_again(desk: Desk) {
    let project = desk.project_running("Docs", 1).await;
    let aside = NewJob { model: "nobody".to_owned(), ..new_job(&project) };
    let marker = admitted(&desk.store.create_job(aside, OFF, None, render).await.unwrap()).to_owned();
    let (store, mut changes) = listener(&desk).await;
    let desk = Desk { store: store.clone(), ..desk };
    for way in ["finish", "cancel and finish", "cancel and release", "give up", "archive", "die", "raise the limit"] {
        let id = desk.create(&project).await;
        let held = desk.claim("worker").await;
        let waiting = desk.create(&project).await;
        if way.starts_with("cancel") {
            store.cancel_job(&project, &id).await.unwrap().unwrap();
        }
        assert!(claim(&store, "worker").await.is_none(), "full");
        // Announcements come in order, so this one is heard after all that came before it.
        desk.message(&project, &marker).await;
        told(&mut changes, &Change::Job(marker.clone())).await;
        match way {
            "finish" | "cancel and finish" => drop(store.finish(&held.lease, done(&held)).await),
            "cancel and release" => store.release(&held.lease).await.unwrap(),
            "give up" => drop(store.retry_later(&held.lease, "no answer", 1, 0.0).await.unwrap()),
            "archive" => drop(store.archive_job(&project, &id).await.unwrap()),
            "die" => {
                desk.advance(LEASE);
                store.reap(&QueueTerms { attempts: 1, ..terms() }, || 0.0).await.unwrap();
            }
            _ => {
                let change = ProjectChange { max_running: Some(Some(2)), ..ProjectChange::default() };
                store.update_project(&project, change).await.unwrap();
            }
        }
        let wait = changes.wait_for(|change| matches!(change, Change::Ready(_) | Change::Room));
        assert!(tokio::time::timeout(PATIENCE, wait).await.is_ok(), "not told after: {way}");
        assert_eq!(desk.claim("worker").await.job.id, waiting, "{way}");
        store.archive_job(&project, &waiting).await.unwrap();
    }
}

async fn the_holder_of_a_job_is_told_of_its_cancellation(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    desk.claim("worker").await;
    let (store, mut changes) = listener(&desk).await;
    store.cancel_job(&project, &id).await.unwrap().unwrap();
    told(&mut changes, &Change::Called(id)).await;
}

async fn whoever_watches_a_job_is_told_of_every_event(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    let (store, mut changes) = listener(&desk).await;
    let change = Change::Job(id.clone());
    let desk = Desk { store: store.clone(), ..desk };
    let claimed = desk.claim("worker").await;
    told(&mut changes, &change).await;
    store.record_step(&claimed.lease, "working", json!({})).await.unwrap();
    told(&mut changes, &change).await;
    desk.message(&project, &id).await;
    told(&mut changes, &change).await;
    let finish = copydesk_store::Finish::new(Outcome::NoChanges, "Done.", 2);
    store.finish(&claimed.lease, finish).await.unwrap();
    told(&mut changes, &change).await;
    store.archive_job(&project, &id).await.unwrap();
    told(&mut changes, &change).await;
}

async fn what_was_refused_is_not_announced(desk: Desk) {
    // All by one process: what another has announced comes a moment later.
    let (store, mut changes) = listener(&desk).await;
    let desk = Desk { store: store.clone(), ..desk };
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    let held = desk.claim("worker").await;
    store.archive_job(&project, &id).await.unwrap();
    let marker = desk.create(&project).await;
    told(&mut changes, &Change::Job(marker.clone())).await;
    desk.message(&project, &marker).await;
    told(&mut changes, &Change::Job(marker.clone())).await;
    desk.message(&project, &id).await;
    assert!(matches!(store.cancel_job(&project, &id).await, Err(CancelError::Refused(_))));
    store.archive_job(&project, &id).await.unwrap();
    assert_eq!(store.record_step(&held.lease, "late", json!({})).await, Err(LOST));
    assert_eq!(store.release(&held.lease).await, Err(LOST));
    assert_eq!(store.finish(&held.lease, done(&held)).await, Err(LOST));
    desk.message(&project, &marker).await;
    assert_eq!(told(&mut changes, &Change::Job(marker)).await, []);
}

/// SQLite serves one process that works; what a command beside it changed is found by a look.
async fn other_processes_are_told_on_postgres_and_see_it_on_both(desk: Desk) {
    let project = desk.project("Docs").await;
    let (there, mut changes) = listener(&desk).await;
    let (_third, mut third) = listener(&desk).await;
    let id = desk.create(&project).await;
    if desk.is_postgres() {
        told(&mut changes, &Change::Ready(Some(project.clone()))).await;
        told(&mut third, &Change::Ready(Some(project.clone()))).await;
    }
    let claimed = claim(&there, "worker").await.unwrap();
    assert_eq!(claimed.job.id, id);
    told(&mut changes, &Change::Job(id.clone())).await;
    if desk.is_postgres() {
        // Others tell of what happens to jobs once they have heard that somebody watches.
        let step = || there.record_step(&claimed.lease, "working", json!({}));
        until_told(&mut third, &Change::Job(id.clone()), || async { step().await.unwrap() }).await;
    }
    desk.store.cancel_job(&project, &id).await.unwrap().unwrap();
    if desk.is_postgres() {
        told(&mut changes, &Change::Called(id.clone())).await;
        told(&mut third, &Change::Called(id)).await;
    }
    assert_eq!(there.check_lease(&claimed.lease).await, Err(CANCELLED));
}
