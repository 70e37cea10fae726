//! The schema: made once, by whoever comes first, and never touched when it is newer than the program.

use copydesk_store::{Store, StoreError};
use copydesk_testkit::{Backend, TestDatabase};
use futures_util::future::join_all;

use crate::desk::Desk;
use crate::raw;

behaviours! {
    an_empty_database_is_older,
    a_fresh_database_gets_every_version_once,
    migrating_again_keeps_what_is_there,
    processes_that_start_at_once_migrate_once,
    a_newer_database_is_refused_and_left_alone,
}

fn backend(desk: &Desk) -> Backend {
    if desk.is_postgres() { Backend::Postgres } else { Backend::Sqlite }
}

/// A database without a schema, and a store on it.
async fn empty(desk: &Desk) -> (TestDatabase, Store) {
    let db = TestDatabase::new(backend(desk)).await;
    let store = db.open(desk.clock.clone()).await;
    (db, store)
}

async fn an_empty_database_is_older(desk: Desk) {
    let (db, store) = empty(&desk).await;
    let Err(error) = store.check_schema().await else { panic!("there is no schema") };
    assert!(matches!(error, StoreError::Older { found: 0, known: 1.. }), "{error:?}");
    assert!(error.to_string().contains("copydesk migrate"), "it says what to do: {error}");
    store.ping().await.unwrap();
    db.destroy().await;
}

async fn a_fresh_database_gets_every_version_once(desk: Desk) {
    let (db, store) = empty(&desk).await;
    let added = store.migrate().await.unwrap();
    assert_eq!(added, (1..=*added.last().unwrap()).collect::<Vec<_>>());
    store.check_schema().await.unwrap();
    assert_eq!(store.migrate().await.unwrap(), [] as [i64; 0]);
    let versions = raw::number(db.address(), "SELECT count(*) FROM schema_versions").await;
    assert_eq!(versions as usize, added.len());
    db.destroy().await;
}

async fn migrating_again_keeps_what_is_there(desk: Desk) {
    let project = desk.project("Docs").await;
    let job = desk.create(&project).await;
    let before = raw::all_of_jobs(desk.db.address()).await;
    let again = desk.beside().await;
    assert!(again.job(project, job).await.unwrap().is_some());
    assert_eq!(raw::all_of_jobs(desk.db.address()).await, before);
}

async fn processes_that_start_at_once_migrate_once(desk: Desk) {
    for _ in 0..5 {
        // Not even the file is there.
        let db = TestDatabase::new(backend(&desk)).await;
        let starts = (0..4).map(|_| {
            let (address, clock) = (db.address().clone(), desk.clock.clone());
            tokio::spawn(async move {
                let store = Store::open(&address, clock).await.unwrap();
                let added = store.migrate().await.unwrap();
                store.check_schema().await.unwrap();
                added
            })
        });
        let added: Vec<_> = join_all(starts).await.into_iter().map(|added| added.unwrap()).collect();
        let who = added.iter().filter(|added| !added.is_empty()).count();
        assert_eq!(who, 1, "{added:?}");
        db.destroy().await;
    }
}

async fn a_newer_database_is_refused_and_left_alone(desk: Desk) {
    let (db, store) = empty(&desk).await;
    let known = *store.migrate().await.unwrap().last().unwrap();
    let found = known + 41;
    let insert = format!("INSERT INTO schema_versions (version, name, applied_at) VALUES ({found}, 'tomorrow', 0)");
    db.execute(&insert).await;
    for store in [store, db.open(desk.clock.clone()).await] {
        for refused in [store.check_schema().await.map(|()| Vec::new()), store.migrate().await] {
            let Err(error) = refused else { panic!("it must not be used") };
            let StoreError::Newer { found: said, known: knows } = error else { panic!("newer, not {error:?}") };
            assert_eq!((said, knows), (found, known));
            assert!(error.to_string().contains("newer Copydesk"), "{error}");
        }
    }
    assert_eq!(raw::number(db.address(), "SELECT max(version) FROM schema_versions").await, found);
    db.destroy().await;
}
