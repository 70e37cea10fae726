//! The connections to PostgreSQL: what a server that vanishes, and callers who walk away, leave of them.

use std::future::pending;

use copydesk_domain::ProjectId;
use copydesk_store::{Change, Changes, DatabaseAddress, Store, StoreError};
use copydesk_testbase::{PATIENCE, ServerEnd, eventually, relay};
use futures_util::future::join_all;
use sqlx::{Connection, PgConnection};
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::desk::{Desk, MILLISECOND, claim, create};
use crate::raw;

behaviours! { 1;
    a_server_that_vanishes_is_connected_to_anew,
    whoever_walks_away_leaves_nothing_behind,
    no_more_connections_are_opened_than_were_given,
}

/// A way to a server that can be cut: what has come in by then stays open on this side and passes on nothing any more, as when a
/// machine loses its power and another one takes its place.
struct Relay {
    address: String,
    cut: watch::Sender<()>,
}

impl Relay {
    async fn to(address: &str) -> Self {
        let cut = watch::Sender::new(());
        let cuts = cut.clone();
        let address = relay(address, move |client, server| pass_on(client, server, cuts.subscribe())).await;
        Self { address, cut }
    }

    /// A process behind it, which has begun to listen.
    async fn store(&self, desk: &Desk) -> (Store, Changes) {
        let address = DatabaseAddress::Postgres { address: self.address.clone(), listen: None, connections: 3 };
        let store = Store::open(&address, desk.clock.clone()).await.unwrap();
        let mut changes = store.changes();
        told(&mut changes, Change::Ready(None)).await;
        (store, changes)
    }
}

async fn pass_on(mut client: TcpStream, mut server: ServerEnd, mut cut: watch::Receiver<()>) {
    tokio::select! {
        _ = copy_bidirectional(&mut client, &mut server) => {}
        _ = cut.changed() => {
            drop(server);
            pending().await
        }
    }
}

async fn told(changes: &mut Changes, wanted: Change) {
    let told = tokio::time::timeout(PATIENCE, changes.wait_for(|change| *change == wanted)).await;
    assert!(told.is_ok(), "nobody told of {wanted:?}");
}

async fn a_server_that_vanishes_is_connected_to_anew(desk: Desk) {
    let DatabaseAddress::Postgres { address, .. } = desk.db.address() else { return };
    let (project, held) = (desk.project("Docs").await, desk.project("Held").await);
    let mut holder = PgConnection::connect(address).await.unwrap();
    let hold = "BEGIN; SELECT FROM projects WHERE name = 'Held' FOR UPDATE";
    sqlx::raw_sql(hold).execute(&mut holder).await.unwrap();
    let patient = tokio::spawn({
        let store = desk.beside().await;
        async move { create(&store, &held).await }
    });
    let relay = Relay::to(address).await;
    let (store, mut changes) = relay.store(&desk).await;
    // As many as there are places for, so that none is opened later.
    for depth in join_all([store.queue_depth(), store.queue_depth()]).await {
        assert_eq!(depth.unwrap().waiting, 0);
    }
    relay.cut.send(()).unwrap();
    let answers = tokio::time::timeout(PATIENCE, join_all([store.queue_depth(), store.queue_depth()])).await;
    for answer in answers.expect("whoever waits in vain is told") {
        assert!(matches!(answer, Err(StoreError::Unreachable(_))), "{answer:?}");
    }
    let id = desk.create(&project).await;
    assert_eq!(claim(&store, "worker").await.unwrap().job.id, id);
    told(&mut changes, Change::Ready(None)).await;
    desk.create(&project).await;
    told(&mut changes, Change::Ready(Some(project))).await;
    assert!(!patient.is_finished(), "a server that is slow is waited for");
    sqlx::raw_sql("ROLLBACK").execute(&mut holder).await.unwrap();
    patient.await.unwrap();
}

/// Connections of the store, by a condition on what they do.
async fn count(desk: &Desk, what: &str) -> i64 {
    let own = "datname = current_database() AND application_name = 'copydesk'";
    raw::number(desk.db.address(), &format!("SELECT count(*) FROM pg_stat_activity WHERE {own} AND {what}")).await
}

/// A client hangs up, and what was done for it ends where it stands.
async fn whoever_walks_away_leaves_nothing_behind(desk: Desk) {
    let DatabaseAddress::Postgres { address, listen, .. } = desk.db.address().clone() else { return };
    let project = desk.project("Docs").await;
    let only_one = DatabaseAddress::Postgres { address, listen, connections: 2 };
    let store = Store::open(&only_one, desk.clock.clone()).await.unwrap();
    store.queue_depth().await.unwrap();
    for steps in 0..40 {
        let act = async {
            create(&store, &project).await;
            store.queue_depth().await.unwrap();
            claim(&store, "worker").await;
        };
        tokio::select! {
            biased;
            () = act => {}
            () = tokio::time::sleep(steps * MILLISECOND / 4) => {}
        }
        let depth = store.queue_depth().await.unwrap();
        assert_eq!((depth.waiting + depth.running) as usize, desk.jobs(&project).await.len());
    }
    eventually("nothing goes on", async || (count(&desk, "state <> 'idle'").await == 0).then_some(())).await;
}

async fn no_more_connections_are_opened_than_were_given(desk: Desk) {
    let DatabaseAddress::Postgres { address, listen, .. } = desk.db.address().clone() else { return };
    let projects: Vec<ProjectId> = vec![desk.project("One").await, desk.project("Two").await];
    let three = DatabaseAddress::Postgres { address, listen, connections: 3 };
    let before = count(&desk, "true").await;
    let store = Store::open(&three, desk.clock.clone()).await.unwrap();
    let all = (0..20).map(|at| {
        let (store, project) = (store.clone(), projects[at % 2].clone());
        tokio::spawn(async move { create(&store, &project).await })
    });
    for created in join_all(all).await {
        created.unwrap();
    }
    assert_eq!(count(&desk, "true").await - before, 2, "one is for the wake-ups, and called otherwise");
}
