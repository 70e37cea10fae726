//! Many processes at once: nothing fails, nothing is lost, nothing is done twice.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use copydesk_domain::{ProjectId, Prompt, Scope, Status};
use copydesk_store::{
    After, Attempt, Blame, CancelError, DatabaseAddress, Finish, Finished, JobFilter, LeaseError, NewKey, QueueTerms,
    Store, StoreError,
};
use copydesk_testbase::eventually;
use futures_util::future::{join_all, try_join_all};
use serde_json::json;

use crate::desk::{
    Desk, LEASE, LOST, OFF, SECOND, claim, claim_with, create, done, heartbeat, models, new_job, or_lost, render, terms,
};
use crate::raw;

behaviours! {
    many_processes_that_read_and_write_meet_no_error,
    commands_come_and_go_beside_a_busy_server,
    a_store_that_is_dropped_lets_go_of_the_database,
    projects_deleted_while_their_jobs_run_give_no_error,
    claims_over_many_projects_give_no_error,
    every_job_comes_to_its_end_though_workers_die,
}

/// All that a busy server and the commands beside it do, over and over.
async fn work(store: Store, project: ProjectId, rounds: usize) -> Result<usize, LeaseError> {
    let mut finished = 0;
    for round in 0..rounds {
        let id = create(&store, &project).await;
        let prompt = Prompt::parse("More.").unwrap();
        store.message_job(&project, &id, prompt, OFF, None, render).await?;
        assert!(store.job(&project, &id).await?.is_some());
        store.jobs(&project, JobFilter { limit: 5, ..JobFilter::default() }).await?;
        if let Some(claimed) = claim_with(&store, "worker", &models(), &terms()).await? {
            heartbeat(&store, &claimed.lease, LEASE).await?;
            store.record_step(&claimed.lease, "working", json!({ "round": round })).await?;
            // Its message may come between the claim and this.
            let finish = Finish { taken_through: 2, ..done(&claimed) };
            assert_eq!(store.finish(&claimed.lease, finish).await?, Finished::Ended);
            finished += 1;
        }
        let new = NewKey { project_id: Some(project.clone()), name: "CI".into(), scope: Scope::Read, expires_at: None };
        let (record, key) = store.create_key(new).await?.unwrap();
        store.touch_keys(vec![(record.id.clone(), store.now())]).await?;
        assert!(store.access(key.digest(), Some(project.clone())).await?.is_some());
        store.revoke_key(&record.id).await?;
        store.reap(&terms(), || 0.0).await?;
        store.purge().await?;
        store.fan_out(3, crate::outbox::body).await?;
        for endpoint in store.due_webhooks().await? {
            for due in store.take_deliveries(&endpoint.id, 3, SECOND).await? {
                let attempt = Attempt { status: Some(200), answer: None, error: None, took: SECOND };
                store.record_attempt(&due.delivery, attempt, After::Delivered, Blame::None).await?;
            }
        }
        store.queue_depth().await?;
        store.next_due().await?;
        store.migrate().await?;
    }
    Ok(finished)
}

async fn many_processes_that_read_and_write_meet_no_error(desk: Desk) {
    let project = desk.project("Docs").await;
    crate::webhooks::hook(&desk, &project).await;
    let stores = desk.several_beside(4).await;
    let tasks = (0..16).map(|at| {
        let (store, project) = (stores[at % stores.len()].clone(), project.clone());
        tokio::spawn(async move { work(store, project, 8).await.unwrap() })
    });
    let finished: usize = join_all(tasks).await.into_iter().map(|finished| finished.unwrap()).sum();
    let jobs = desk.jobs(&project).await;
    assert_eq!(jobs.len(), 16 * 8);
    let mut completed = 0;
    for job in jobs {
        completed += desk.kinds(&job.id).await.iter().filter(|kind| *kind == "completed").count();
    }
    assert_eq!(completed, finished);
}

/// As `copydesk key create` and its like do beside `copydesk serve`.
async fn commands_come_and_go_beside_a_busy_server(desk: Desk) {
    let project = desk.project("Docs").await;
    let server: Vec<_> = (0..4).map(|_| tokio::spawn(work(desk.store.clone(), project.clone(), 25))).collect();
    let mut commands = 0;
    while !server.iter().all(|task| task.is_finished()) || commands == 0 {
        let store = desk.beside().await;
        create(&store, &project).await;
        store.projects().await.unwrap();
        commands += 1;
    }
    for task in server {
        task.await.unwrap().unwrap();
    }
    assert_eq!(desk.jobs(&project).await.len(), 4 * 25 + commands);
}

async fn a_store_that_is_dropped_lets_go_of_the_database(desk: Desk) {
    desk.project("Docs").await;
    let address = desk.db.address().clone();
    drop(desk.store);
    match address {
        // The last to close a file takes its log away.
        DatabaseAddress::Sqlite(path) => {
            let log = path.with_extension("db-wal");
            eventually("the log is gone", async || (!log.exists()).then_some(())).await;
        }
        DatabaseAddress::Postgres { .. } => {
            let others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                          AND pid <> pg_backend_pid()";
            eventually("the connections are closed", async || (raw::number(&address, others).await == 0).then_some(()))
                .await;
        }
    }
}

/// One deletes the project, while its jobs are created, claimed, stepped, finished, cancelled, archived and reaped.
async fn projects_deleted_while_their_jobs_run_give_no_error(desk: Desk) {
    let stores = desk.several_beside(3).await;
    for round in 0..12 {
        let project = desk.project(&format!("round {round}")).await;
        crate::webhooks::hook(&desk, &project).await;
        let mut ids = Vec::new();
        let mut held = Vec::new();
        for _ in 0..12 {
            ids.push(desk.create(&project).await);
        }
        for _ in 0..6 {
            held.push(desk.claim("worker").await);
        }
        let started = Arc::new(tokio::sync::Barrier::new(4));
        let mut tasks = Vec::new();
        for (at, store) in stores.iter().cloned().enumerate() {
            let (project, ids, held, started) = (project.clone(), ids.clone(), held.clone(), started.clone());
            tasks.push(tokio::spawn(async move {
                started.wait().await;
                match at {
                    0 => {
                        for claimed in &held {
                            or_lost(store.record_step(&claimed.lease, "working", json!({})).await)?;
                            or_lost(store.finish(&claimed.lease, done(claimed)).await)?;
                        }
                    }
                    1 => {
                        for id in ids.iter().rev() {
                            match store.cancel_job(&project, id).await {
                                Err(CancelError::Store(error)) => return Err(error),
                                Ok(_) | Err(CancelError::Refused(_)) => {}
                            }
                            store.archive_job(&project, id).await?;
                        }
                    }
                    _ => {
                        for _ in 0..6 {
                            store.create_job(new_job(&project), OFF, None, render).await?;
                            claim_with(&store, "other", &models(), &terms()).await?;
                            store.fan_out(50, crate::outbox::body).await?;
                            for endpoint in store.due_webhooks().await? {
                                for due in store.take_deliveries(&endpoint.id, 3, SECOND).await? {
                                    let attempt = Attempt { status: None, answer: None, error: None, took: SECOND };
                                    store.record_attempt(&due.delivery, attempt, After::GiveUp, Blame::None).await?;
                                    store.redeliver(&due.delivery.id).await?;
                                }
                            }
                        }
                    }
                }
                Ok::<_, StoreError>(())
            }));
        }
        let deleting = {
            let (store, project) = (desk.store.clone(), project.clone());
            tokio::spawn(async move {
                started.wait().await;
                for _ in 0..round {
                    store.ping().await?;
                }
                store.delete_project(&project).await.map(drop)
            })
        };
        tasks.push(deleting);
        let ended = try_join_all(tasks).await.unwrap();
        assert!(ended.iter().all(Result::is_ok), "round {round}: {ended:?}");
        assert!(desk.jobs(&project).await.is_empty());
    }
}

/// Workers race for the jobs of many projects with little room each, so that most look more than once.
async fn claims_over_many_projects_give_no_error(desk: Desk) {
    for name in 0..8 {
        let project = desk.project(&format!("project {name}")).await;
        for _ in 0..8 {
            desk.create(&project).await;
        }
    }
    let stores = desk.several_beside(4).await;
    let workers = (0..16).map(|at| {
        let store = stores[at % stores.len()].clone();
        tokio::spawn(async move {
            let terms = QueueTerms { running_per_project: 1, ..terms() };
            let mut ran = 0;
            while store.queue_depth().await.unwrap().waiting > 0 {
                let Some(claimed) = claim_with(&store, &format!("worker {at}"), &models(), &terms).await.unwrap()
                else {
                    tokio::task::yield_now().await;
                    continue;
                };
                assert_eq!(store.finish(&claimed.lease, done(&claimed)).await, Ok(Finished::Ended));
                ran += 1;
            }
            ran
        })
    });
    let ran: usize = join_all(workers).await.into_iter().map(|ran| ran.unwrap()).sum();
    assert_eq!(ran, 64, "each job once");
}

/// A worker that claims, writes, and every third time dies with the job in its hands.
async fn mortal_worker(store: Store, name: String, over: Arc<AtomicBool>) -> usize {
    let (mut lives, mut claims) = (0, 0);
    while !over.load(Ordering::SeqCst) {
        let worker = format!("{name}, life {lives}");
        let Some(claimed) = claim(&store, &worker).await else {
            tokio::task::yield_now().await;
            continue;
        };
        claims += 1;
        let step = store.record_step(&claimed.lease, "working", json!({ "attempt": claimed.lease.attempt })).await;
        if claims % 3 == 0 {
            lives += 1;
        } else if step != Err(LOST) {
            step.unwrap();
            or_lost(store.finish(&claimed.lease, done(&claimed)).await).unwrap();
        }
    }
    lives
}

/// Time runs as fast as the reaper does, so that leases end under the hands of live workers too.
async fn every_job_comes_to_its_end_though_workers_die(desk: Desk) {
    let project = desk.project("Docs").await;
    let mut ids = Vec::new();
    for _ in 0..60 {
        ids.push(desk.create(&project).await);
    }
    let over = Arc::new(AtomicBool::new(false));
    let stores = desk.several_beside(3).await;
    let workers: Vec<_> = (0..6)
        .map(|at| tokio::spawn(mortal_worker(stores[at % stores.len()].clone(), format!("worker {at}"), over.clone())))
        .collect();
    let patient = QueueTerms { attempts: 1000, ..terms() };
    let mut depth = desk.store.queue_depth().await.unwrap();
    while depth.waiting + depth.running > 0 {
        desk.advance(SECOND);
        desk.store.reap(&patient, || 0.0).await.unwrap();
        depth = desk.store.queue_depth().await.unwrap();
    }
    over.store(true, Ordering::SeqCst);
    let lives: usize = join_all(workers).await.into_iter().map(|lives| lives.unwrap()).sum();
    assert!(lives > 0, "some have died");
    let jobs: BTreeMap<_, _> = desk.jobs(&project).await.into_iter().map(|job| (job.id.clone(), job)).collect();
    for id in ids {
        assert!(jobs[&id].status != Status::Active, "{:?}", jobs[&id]);
        let events = desk.store.events(&id, 0, 1000).await.unwrap();
        let attempts: Vec<_> = events.iter().filter_map(|event| event.data["attempt"].as_i64()).collect();
        // Each attempt is claimed once and writes at most once, and none after the next has begun.
        assert!(attempts.is_sorted(), "{attempts:?}");
        let claims: Vec<_> = events.iter().filter(|event| event.kind == "claimed").collect();
        assert!(claims.iter().enumerate().all(|(at, event)| event.data["attempt"] == at as i64 + 1));
        assert_eq!(events.iter().filter(|event| ["completed", "failed"].contains(&event.kind.as_str())).count(), 1);
    }
}
