//! The queue: who may take which job, and when.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use copydesk_domain::{ProjectId, Status};
use copydesk_store::{
    Claimed, DatabaseAddress, Finished, NewJob, NewProject, ProjectChange, QueueDepth, QueueState, QueueTerms, Retry,
    Store,
};
use copydesk_testbase::eventually;
use futures_util::future::join_all;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::desk::{
    Desk, LEASE, MILLISECOND, OFF, SECOND, admitted, claim, claim_with, create, done, heartbeat, models, new_job,
    new_project, render, terms,
};
use crate::raw;

behaviours! {
    an_empty_queue_gives_nothing,
    the_job_that_waited_longest_comes_first,
    projects_take_turns_however_many_jobs_one_of_them_has,
    several_jobs_at_once_are_of_as_many_projects_as_there_are,
    a_project_that_is_alone_gets_as_many_as_it_may_have,
    jobs_of_near_projects_come_a_little_before_their_turn,
    a_job_that_no_worker_sees_is_found,
    a_lane_whose_jobs_have_ended_is_removed,
    a_project_that_is_always_in_use_gets_its_turn,
    a_claim_reads_few_jobs_though_none_waited_when_they_were_counted,
    a_claim_reads_few_jobs_though_each_project_had_few_when_they_were_counted,
    a_claim_reads_few_jobs_though_many_run_in_other_projects,
    whether_there_is_work_is_told_without_taking_it,
    a_worker_gets_only_models_it_can_run,
    a_job_is_not_claimed_before_its_pause_is_over,
    a_claim_brings_all_that_is_needed_to_run_the_job,
    the_time_limit_is_the_projects_own_if_it_has_one,
    two_workers_never_hold_one_job,
    who_reaches_for_a_job_that_was_just_taken_gets_the_next,
    a_project_that_somebody_holds_for_long_keeps_nobody_waiting,
    a_full_project_waits_and_holds_no_other_back,
    a_project_overrides_the_running_limit,
    a_limit_of_zero_lets_all_run,
    the_running_limit_is_never_exceeded,
    a_limit_raised_lets_more_run,
    next_due_names_the_next_instant_with_something_to_do,
    the_depth_counts_those_that_wait_and_those_that_run,
}

fn limited(running_per_project: u32) -> QueueTerms {
    QueueTerms { running_per_project, ..terms() }
}

async fn claim_limited(store: &Store, limit: u32) -> Option<Claimed> {
    claim_with(store, "worker", &models(), &limited(limit)).await.unwrap()
}

/// Claims until there is nothing left, and says how many there were.
async fn claim_all(store: &Store, limit: u32) -> usize {
    let mut count = 0;
    while claim_limited(store, limit).await.is_some() {
        count += 1;
    }
    count
}

async fn an_empty_queue_gives_nothing(desk: Desk) {
    assert!(claim(&desk.store, "worker").await.is_none());
    assert_eq!(desk.store.next_due().await.unwrap(), None);
    assert_eq!(desk.store.queue_depth().await.unwrap(), QueueDepth { waiting: 0, running: 0 });
    assert_eq!(desk.store.queue_state().await.unwrap(), QueueState { oldest_waiting: None, busy_workers: 0 });
}

async fn the_job_that_waited_longest_comes_first(desk: Desk) {
    let (one, other) = (desk.project("One").await, desk.project("Other").await);
    let mut wanted = Vec::new();
    for (at, project) in [&other, &one, &one, &other, &one].into_iter().enumerate() {
        if at % 2 == 0 {
            desk.advance(MILLISECOND);
        }
        wanted.push(desk.create(project).await);
    }
    let mut claimed = Vec::new();
    while let Some(next) = claim(&desk.store, "worker").await {
        claimed.push(next.job.id);
    }
    assert_eq!(claimed, wanted);
}

async fn projects_take_turns_however_many_jobs_one_of_them_has(desk: Desk) {
    let (many, few) = (desk.project("Many").await, desk.project("Few").await);
    for _ in 0..5 {
        desk.create(&many).await;
    }
    desk.advance(SECOND);
    for _ in 0..2 {
        desk.create(&few).await;
    }
    let next = async || {
        desk.advance(MILLISECOND);
        claim(&desk.store, "worker").await.map(|claimed| claimed.job.project_id)
    };
    for project in [&many, &few, &many, &few] {
        assert_eq!(next().await.as_ref(), Some(project));
    }
    // Who comes with a first job has not had to wait for those who wait for their next.
    desk.advance(SECOND);
    desk.create(&few).await;
    for project in [&many, &few, &many, &many] {
        assert_eq!(next().await.as_ref(), Some(project));
    }
    assert_eq!(next().await, None);
}

/// How many jobs of each project one claim of `most` takes.
async fn shares(desk: &Desk, limit: u32, most: usize) -> Vec<usize> {
    let claimed = desk.store.claim("worker", &models(), &limited(limit), most, &[]).await.unwrap();
    let mut shares = BTreeMap::<_, usize>::new();
    for claimed in &claimed {
        *shares.entry(&claimed.job.project_id).or_default() += 1;
        assert_eq!((claimed.messages.len(), claimed.tries), (1, 1));
        assert!(desk.store.check_lease(&claimed.lease).await.is_ok());
    }
    shares.into_values().collect()
}

async fn several_jobs_at_once_are_of_as_many_projects_as_there_are(desk: Desk) {
    for name in ["One", "Two", "Three"] {
        let project = desk.project(name).await;
        for _ in 0..4 {
            desk.create(&project).await;
        }
    }
    assert_eq!(shares(&desk, 0, 2).await, [1, 1], "one of each, though the first has more that waited longer");
    assert_eq!(shares(&desk, 0, 6).await, [2, 2, 2]);
    assert_eq!(shares(&desk, 0, 16).await.iter().sum::<usize>(), 4, "all that are left");
    assert_eq!(shares(&desk, 0, 16).await, [0_usize; 0]);
}

async fn a_project_that_is_alone_gets_as_many_as_it_may_have(desk: Desk) {
    let project = desk.project("Docs").await;
    for _ in 0..6 {
        desk.create(&project).await;
    }
    assert_eq!(shares(&desk, 4, 3).await, [3]);
    assert_eq!(shares(&desk, 4, 3).await, [1], "the limit of the project");
    assert_eq!(shares(&desk, 4, 3).await, [0_usize; 0]);
    assert_eq!(shares(&desk, 0, 3).await, [2]);
}

/// Where one machine has everything, nothing is nearer.
async fn jobs_of_near_projects_come_a_little_before_their_turn(desk: Desk) {
    let (far, near) = (desk.project("Far").await, desk.project("Near").await);
    let claim = async |near: &[ProjectId]| {
        let claimed = desk.store.claim("worker", &models(), &limited(0), 1, near).await.unwrap();
        let [claimed] = claimed.as_slice() else { panic!("one job waits at least") };
        desk.finish(claimed).await;
        claimed.job.project_id.clone()
    };
    for (later, is_preferred) in [(SECOND, true), (2 * SECOND, true), (2 * SECOND + MILLISECOND, false)] {
        desk.create(&far).await;
        desk.advance(later);
        desk.create(&near).await;
        let is_preferred = is_preferred && desk.is_postgres();
        let first = claim(&["nowhere".into(), near.clone()]).await;
        assert_eq!(first, if is_preferred { near.clone() } else { far.clone() }, "{later:?} later");
        claim(std::slice::from_ref(&near)).await;
    }
    // Both are taken where there are hands enough, and a near project that has nothing keeps nobody waiting.
    desk.create(&far).await;
    desk.create(&near).await;
    let claimed = desk.store.claim("worker", &models(), &limited(0), 4, std::slice::from_ref(&near)).await.unwrap();
    assert_eq!(claimed.len(), 2);
    desk.create(&far).await;
    assert_eq!(claim(&[near]).await, far);
}

/// A program of an earlier version puts jobs back and knows nothing of lanes.
async fn a_job_that_no_worker_sees_is_found(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    assert_eq!(desk.store.mend_lanes().await.unwrap(), 0);
    for unseen in [
        "DELETE FROM lanes",
        "UPDATE lanes SET next_at = next_at + 60000",
        // What it leaves of a pause, and what a clock does that is an hour fast.
        "UPDATE lanes SET turn_at = turn_at + 3600000",
    ] {
        desk.db.execute(unseen).await;
        assert!(claim(&desk.store, "worker").await.is_none(), "{unseen}");
        assert_eq!(desk.store.mend_lanes().await.unwrap(), 1, "{unseen}");
        let claimed = desk.claim("worker").await;
        assert_eq!(claimed.job.id, id);
        desk.store.release(&claimed.lease).await.unwrap();
    }
}

/// Other projects have jobs all the while, and one claim waits for it all the same.
async fn a_project_that_is_always_in_use_gets_its_turn(desk: Desk) {
    let DatabaseAddress::Postgres { address, .. } = desk.db.address() else { return };
    let (used, other) = (desk.project("Used").await, desk.project("Other").await);
    desk.create(&used).await;
    let mut holder = PgConnection::connect(address).await.unwrap();
    let hold = "BEGIN; SELECT FROM projects WHERE name = 'Used' FOR UPDATE";
    sqlx::raw_sql(hold).execute(&mut holder).await.unwrap();
    let take_turns = async {
        for _ in 0..500 {
            desk.create(&other).await;
            let claimed = desk.claim("worker").await;
            if claimed.job.project_id == used {
                return;
            }
            desk.finish(&claimed).await;
        }
        panic!("it never had its turn");
    };
    let let_go = async {
        eventually("a claim waits for it", async || (waiting_for_locks(&desk).await > 0).then_some(())).await;
        sqlx::raw_sql("ROLLBACK").execute(&mut holder).await.unwrap();
    };
    tokio::join!(take_turns, let_go);
}

async fn waiting_for_locks(desk: &Desk) -> i64 {
    let waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    raw::number(desk.db.address(), waiting).await
}

async fn a_lane_whose_jobs_have_ended_is_removed(desk: Desk) {
    let (ended, waits) = (desk.project("Ended").await, desk.project("Waits").await);
    let id = desk.create(&ended).await;
    desk.store.archive_job(&ended, &id).await.unwrap();
    let other = desk.create(&waits).await;
    let lanes = "SELECT count(*) FROM lanes";
    assert_eq!(raw::number(desk.db.address(), lanes).await, 2);
    assert_eq!(desk.store.mend_lanes().await.unwrap(), 0, "no job was lost");
    assert_eq!(raw::number(desk.db.address(), lanes).await, 1);
    assert_eq!(desk.claim("worker").await.job.id, other);
    let next = desk.create(&ended).await;
    assert_eq!(desk.claim("worker").await.job.id, next);
}

/// PostgreSQL believes what it counted last, and that may have been while nobody had anything to do.
async fn a_claim_reads_few_jobs_though_none_waited_when_they_were_counted(desk: Desk) {
    a_claim_reads_few_jobs(desk, 0, 0, 0).await;
}

/// Then to read all jobs of a project and to sort them looks cheap.
async fn a_claim_reads_few_jobs_though_each_project_had_few_when_they_were_counted(desk: Desk) {
    a_claim_reads_few_jobs(desk, 2_500, 1_000, 0).await;
}

async fn a_claim_reads_few_jobs_though_many_run_in_other_projects(desk: Desk) {
    a_claim_reads_few_jobs(desk, 0, 1_000, 1_000).await;
}

/// Of many that wait in one project. As many as were there when they were `counted`, and those that run, are in so many `others`, if
/// there are any.
async fn a_claim_reads_few_jobs(desk: Desk, counted: u32, others: u32, running: u32) {
    let DatabaseAddress::Postgres { address, .. } = desk.db.address().clone() else { return };
    let mut projects = Vec::new();
    for name in 0..16 {
        projects.push(desk.project(&format!("project {name}")).await);
    }
    let id = desk.create(&projects[0]).await;
    let copies = async |table: &str, count: u32, of: &str, changed: &str| {
        let mut connection = PgConnection::connect(&address).await.unwrap();
        let copy = format!(
            "INSERT INTO {table} SELECT (jsonb_populate_record(it, jsonb_build_object({changed}))).* \
             FROM {table} it, generate_series(1, {count}) n WHERE id = '{of}'"
        );
        sqlx::raw_sql(AssertSqlSafe(copy)).execute(&mut connection).await.unwrap();
    };
    copies("projects", others, &projects[0], "'id', 'other' || n").await;
    let project = if others > 0 { format!("'other' || 1 + n % {others}") } else { format!("'{}'", projects[0]) };
    copies("jobs", 20_000, &id, &format!("'id', 'ended' || n, 'status', 'completed', 'project_id', {project}")).await;
    copies("jobs", counted, &id, &format!("'id', 'counted' || n, 'project_id', {project}")).await;
    desk.store.archive_job(&projects[0], &id).await.unwrap();
    desk.db.execute("VACUUM ANALYZE jobs").await;
    desk.db.execute(&format!("UPDATE jobs SET status = 'active' WHERE id = '{id}'")).await;
    copies("jobs", 5_000, &id, "'id', 'waits' || n").await;
    let leased = format!("'id', 'runs' || n, 'project_id', {project}, 'worker', 'other', 'lease_expires_at', 9e12");
    copies("jobs", running, &id, &leased).await;
    for project in &projects {
        desk.create(project).await;
    }
    desk.store.mend_lanes().await.unwrap();
    let read = async || {
        let read = "SELECT COALESCE(SUM(idx_tup_read), 0)::bigint FROM pg_stat_user_indexes WHERE relname = 'jobs'";
        raw::number(desk.db.address(), read).await
    };
    // What a connection has counted is there for all when it is closed.
    let closed = async || {
        let others =
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
        eventually("nobody else is connected", async || {
            (raw::number(desk.db.address(), others).await == 0).then_some(())
        })
        .await;
    };
    drop(desk.store);
    closed().await;
    let before = read().await;
    let store = desk.db.store(desk.clock).await;
    let claimed = store.claim("worker", &models(), &limited(0), 16, &[]).await.unwrap();
    assert_eq!(claimed.len(), 16);
    drop(store);
    closed().await;
    let read = read().await - before;
    assert!(read < 2_000, "{read} entries of indexes were read for 16 jobs");
}

async fn whether_there_is_work_is_told_without_taking_it(desk: Desk) {
    let has_work = |limit| {
        let store = desk.store.clone();
        async move { store.has_work(&models(), &limited(limit)).await.unwrap() }
    };
    let project = desk.project("Docs").await;
    assert!(!has_work(1).await);
    for _ in 0..2 {
        desk.create(&project).await;
    }
    assert!(has_work(1).await);
    claim_limited(&desk.store, 1).await.unwrap();
    assert!(!has_work(1).await, "its project is full");
    assert!(has_work(2).await);
}

async fn a_worker_gets_only_models_it_can_run(desk: Desk) {
    let project = desk.project("Docs").await;
    let mut ids = BTreeMap::new();
    for model in ["gpt", "claude", "builtin"] {
        let new = NewJob { model: model.to_owned(), ..new_job(&project) };
        let admission = desk.store.create_job(new, OFF, None, render).await.unwrap();
        ids.insert(model, admitted(&admission).to_owned());
    }
    let claim = |models: &'static [&'static str]| {
        let (store, models) = (desk.store.clone(), models.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
        async move { claim_with(&store, "worker", &models, &terms()).await.unwrap().map(|claimed| claimed.job.id) }
    };
    assert_eq!(claim(&[]).await, None);
    assert_eq!(claim(&["other", "GPT"]).await, None);
    assert_eq!(claim(&["builtin", "claude"]).await.as_ref(), ids.get("claude"));
    assert_eq!(claim(&["builtin", "claude"]).await.as_ref(), ids.get("builtin"));
    assert_eq!(claim(&["builtin", "claude"]).await, None);
    assert_eq!(claim(&["gpt"]).await.as_ref(), ids.get("gpt"));
}

async fn a_job_is_not_claimed_before_its_pause_is_over(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    let first = desk.claim("worker").await;
    let retry = desk.store.retry_later(&first.lease, "no answer", 3, 1.0).await.unwrap();
    assert_eq!(retry, Retry::At(desk.now().plus(SECOND)));
    desk.advance(SECOND - MILLISECOND);
    assert!(claim(&desk.store, "worker").await.is_none());
    let later = desk.create(&project).await;
    desk.advance(MILLISECOND);
    assert_eq!(desk.claim("worker").await.job.id, later, "it stands where its pause ends");
    assert_eq!(desk.claim("worker").await.job.id, id);
}

async fn a_claim_brings_all_that_is_needed_to_run_the_job(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    desk.message(&project, &id).await;
    desk.advance(SECOND);
    let claimed = desk.claim("worker 7").await;
    assert_eq!(claimed.lease, crate::desk::lease_of(&id, "worker 7", 1));
    assert_eq!(claimed.job, desk.job(&project, &id).await);
    assert_eq!((claimed.job.status, claimed.job.updated_at), (Status::Active, desk.now()));
    assert_eq!(claimed.messages, desk.store.messages(&id).await.unwrap());
    assert_eq!((claimed.messages.len(), claimed.tries), (2, 1));
    assert_eq!(claimed.deadline_at, desk.now().plus(terms().job_time));
}

async fn the_time_limit_is_the_projects_own_if_it_has_one(desk: Desk) {
    let new = NewProject { time_limit_seconds: Some(90), ..new_project("Docs") };
    let project = desk.store.create_project(new).await.unwrap().unwrap().id;
    desk.create(&project).await;
    let first = desk.claim("worker").await;
    let deadline = desk.now().plus(SECOND * 90);
    assert_eq!(first.deadline_at, deadline);
    desk.advance(SECOND * 20);
    desk.store.release(&first.lease).await.unwrap();
    assert_eq!(desk.claim("worker").await.deadline_at, deadline, "being handed over gains no time");
}

async fn two_workers_never_hold_one_job(desk: Desk) {
    let project = desk.project("Docs").await;
    for _ in 0..40 {
        desk.create(&project).await;
    }
    let stores = desk.several_beside(3).await;
    let workers = (0..9).map(|at| {
        let store = stores[at % stores.len()].clone();
        tokio::spawn(async move {
            let mut mine = Vec::new();
            loop {
                let claimed = store.claim(&format!("worker {at}"), &models(), &terms(), 1 + at, &[]).await.unwrap();
                if claimed.is_empty() {
                    return mine;
                }
                mine.extend(claimed.into_iter().map(|claimed| claimed.lease));
            }
        })
    });
    let leases: Vec<_> = join_all(workers).await.into_iter().flat_map(|mine| mine.unwrap()).collect();
    let by_job: BTreeMap<_, _> = leases.iter().map(|lease| (&lease.job_id, lease)).collect();
    assert_eq!((leases.len(), by_job.len()), (40, 40), "each job went to one worker");
    for lease in leases {
        assert!(heartbeat(&desk.store, &lease, LEASE).await.is_ok(), "who was given it holds it");
    }
}

async fn who_reaches_for_a_job_that_was_just_taken_gets_the_next(desk: Desk) {
    let project = desk.project("Docs").await;
    let stores = desk.several_beside(3).await;
    for _ in 0..5 {
        for _ in 0..12 {
            desk.create(&project).await;
        }
        let workers = (0..12).map(|at| {
            let store = stores[at % stores.len()].clone();
            tokio::spawn(async move { claim(&store, &format!("worker {at}")).await.is_some() })
        });
        let claimed = join_all(workers).await.into_iter().filter(|claimed| *claimed.as_ref().unwrap()).count();
        assert_eq!(claimed, 12, "there was one for each");
    }
}

/// As whoever deletes a large one does.
async fn a_project_that_somebody_holds_for_long_keeps_nobody_waiting(desk: Desk) {
    let DatabaseAddress::Postgres { address, .. } = desk.db.address() else { return };
    let project = desk.project("Docs").await;
    desk.create(&project).await;
    let mut holder = PgConnection::connect(address).await.unwrap();
    sqlx::raw_sql("BEGIN; SELECT FROM projects FOR UPDATE").execute(&mut holder).await.unwrap();
    assert!(claim(&desk.store, "worker").await.is_none());
    let waiting = tokio::spawn({
        let store = desk.store.clone();
        async move { claim(&store, "worker").await }
    });
    let in_vain =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    eventually("the claim waits", async || (raw::number(desk.db.address(), in_vain).await > 0).then_some(())).await;
    // It comes while the claim waits for the first, which is still held.
    let other = desk.project("Other").await;
    desk.create(&other).await;
    assert_eq!(waiting.await.unwrap().unwrap().job.project_id, other);
    sqlx::raw_sql("ROLLBACK").execute(&mut holder).await.unwrap();
    assert!(claim(&desk.store, "worker").await.is_some());
}

async fn a_full_project_waits_and_holds_no_other_back(desk: Desk) {
    let (full, free) = (desk.project("Full").await, desk.project("Free").await);
    for _ in 0..3 {
        desk.create(&full).await;
    }
    let other = desk.create(&free).await;
    let first = claim_limited(&desk.store, 1).await.unwrap();
    assert_eq!(first.job.project_id, full);
    assert_eq!(claim_limited(&desk.store, 1).await.unwrap().job.id, other);
    assert!(claim_limited(&desk.store, 1).await.is_none());
    desk.finish(&first).await;
    assert_eq!(claim_limited(&desk.store, 1).await.unwrap().job.project_id, full);
    assert!(claim_limited(&desk.store, 1).await.is_none());
}

async fn a_project_overrides_the_running_limit(desk: Desk) {
    for (name, own, of_all, running) in
        [("Higher", 4, 2, 4), ("Lower", 1, 2, 1), ("Unlimited", 0, 2, 6), ("Limited", 3, 0, 3)]
    {
        let project = desk.project_running(name, own).await;
        for _ in 0..6 {
            desk.create(&project).await;
        }
        assert_eq!(claim_all(&desk.store, of_all).await, running, "{name}");
        desk.store.delete_project(&project).await.unwrap();
    }
}

async fn a_limit_of_zero_lets_all_run(desk: Desk) {
    let project = desk.project("Docs").await;
    for _ in 0..12 {
        desk.create(&project).await;
    }
    assert_eq!(claim_all(&desk.store, 0).await, 12);
}

/// The models of the workers in [`the_running_limit_is_never_exceeded`]. Workers of one model reach for the same job;
/// only those of several can take different jobs of one project at the same instant. Half of them run all, and meet several lanes
/// of one project in one claim.
const MODELS: [&str; 4] = ["a", "b", "c", "d"];

/// Several workers of several processes run all jobs of three projects; at no instant do more of one project run
/// than it allows. The count goes up after the claim and down before the end, so it is never more than the truth.
async fn the_running_limit_is_never_exceeded(desk: Desk) {
    let mut running = BTreeMap::new();
    for (name, limit) in [("one", 1), ("two", 2), ("default", 3)] {
        let project = match name {
            "default" => desk.project(name).await,
            _ => desk.project_running(name, limit as u32).await,
        };
        for at in 0..24 {
            let new = NewJob { model: MODELS[at % MODELS.len()].to_owned(), ..new_job(&project) };
            desk.store.create_job(new, OFF, None, render).await.unwrap();
        }
        running.insert(project, (AtomicUsize::new(0), limit));
    }
    let running = Arc::new(running);
    let stores = desk.several_beside(4).await;
    let workers = (0..8).map(|at| {
        let (store, running) = (stores[at % stores.len()].clone(), running.clone());
        let models = if at % 2 == 0 { &MODELS[..] } else { std::slice::from_ref(&MODELS[at / 2]) };
        tokio::spawn(run_all(store, models, 1 + 3 * at, running))
    });
    let ran: usize = join_all(workers).await.into_iter().map(|ran| ran.unwrap()).sum();
    assert_eq!(ran, 72);
}

async fn run_all(
    store: Store,
    models: &'static [&'static str],
    most: usize,
    running: Arc<BTreeMap<ProjectId, (AtomicUsize, usize)>>,
) -> usize {
    let models: Vec<String> = models.iter().map(|model| (*model).to_owned()).collect();
    let mut ran = 0;
    while store.queue_depth().await.unwrap().waiting > 0 {
        let claimed = store.claim("worker", &models, &limited(3), most, &[]).await.unwrap();
        if claimed.is_empty() {
            tokio::task::yield_now().await;
        }
        for claimed in &claimed {
            let (count, limit) = &running[&claimed.job.project_id];
            let now = count.fetch_add(1, Ordering::SeqCst) + 1;
            assert!(now <= *limit, "{now} of {} run", claimed.job.project_id);
        }
        for claimed in claimed {
            store.record_step(&claimed.lease, "working", serde_json::json!({})).await.unwrap();
            running[&claimed.job.project_id].0.fetch_sub(1, Ordering::SeqCst);
            assert_eq!(store.finish(&claimed.lease, done(&claimed)).await, Ok(Finished::Ended));
            ran += 1;
        }
    }
    ran
}

async fn a_limit_raised_lets_more_run(desk: Desk) {
    let project = desk.project_running("Docs", 1).await;
    for _ in 0..4 {
        create(&desk.store, &project).await;
    }
    assert_eq!(claim_all(&desk.store, 0).await, 1);
    let raise = |limit| ProjectChange { max_running: Some(limit), ..ProjectChange::default() };
    desk.store.update_project(&project, raise(Some(3))).await.unwrap();
    assert_eq!(claim_all(&desk.store, 0).await, 2);
    desk.store.update_project(&project, raise(None)).await.unwrap();
    assert_eq!(claim_all(&desk.store, 0).await, 1);
}

async fn next_due_names_the_next_instant_with_something_to_do(desk: Desk) {
    let project = desk.project("Docs").await;
    desk.create(&project).await;
    assert_eq!(desk.store.next_due().await.unwrap(), None, "what can be claimed now was announced");
    let first = desk.claim("worker").await;
    assert_eq!(desk.store.next_due().await.unwrap(), Some(desk.now().plus(LEASE)), "the end of a lease");
    desk.advance(SECOND);
    heartbeat(&desk.store, &first.lease, LEASE).await.unwrap();
    assert_eq!(desk.store.next_due().await.unwrap(), Some(desk.now().plus(LEASE)));
    desk.create(&project).await;
    let second = desk.claim("worker").await;
    desk.store.retry_later(&second.lease, "no answer", 3, 0.0).await.unwrap();
    let pause = Duration::from_millis(500);
    assert_eq!(desk.store.next_due().await.unwrap(), Some(desk.now().plus(pause)), "the end of a pause");
    desk.advance(pause);
    assert_eq!(desk.store.next_due().await.unwrap(), Some(desk.now().plus(LEASE - pause)));
    desk.finish(&first).await;
    assert_eq!(desk.store.next_due().await.unwrap(), None);
}

async fn the_depth_counts_those_that_wait_and_those_that_run(desk: Desk) {
    let project = desk.project("Docs").await;
    let depth = || async { desk.store.queue_depth().await.unwrap() };
    for _ in 0..3 {
        desk.create(&project).await;
    }
    assert_eq!(depth().await, QueueDepth { waiting: 3, running: 0 });
    let claimed = desk.claim("worker").await;
    assert_eq!(depth().await, QueueDepth { waiting: 2, running: 1 });
    let state = desk.store.queue_state().await.unwrap();
    assert_eq!(state, QueueState { oldest_waiting: Some(desk.now()), busy_workers: 1 });
    desk.store.release(&claimed.lease).await.unwrap();
    assert_eq!(depth().await, QueueDepth { waiting: 3, running: 0 });
    let claimed = desk.claim("worker").await;
    desk.finish(&claimed).await;
    assert_eq!(depth().await, QueueDepth { waiting: 2, running: 0 });
}
