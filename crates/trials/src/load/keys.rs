use std::sync::Arc;
use std::time::{Duration, Instant};

use copydesk_domain::{ProjectId, Scope};
use copydesk_store::{NewKey, Store};

use super::Desk;
use crate::connection::{Connection, request};
use crate::figures::Latencies;

/// What a command line does beside a busy server: makes a key, which must open the door at once, and revokes it,
/// which must shut it for the very next request. Says how long each write took, behind those of the server.
pub(super) async fn make_and_revoke(store: Store, desk: Arc<Desk>) -> Latencies {
    let mut connection = Connection::open(desk.address).await.unwrap();
    let path = format!("/v2/agent/{}/jobs?limit=1", desk.project);
    let mut writes = Latencies::default();
    while Instant::now() < desk.until {
        if let Err(wrong) = once(&store, &desk.project, &path, &mut connection, &mut writes).await {
            desk.book.lock().unwrap().wrong.push(wrong);
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    writes
}

async fn once(
    store: &Store,
    project: &ProjectId,
    path: &str,
    connection: &mut Connection,
    writes: &mut Latencies,
) -> Result<(), String> {
    let new = NewKey {
        project_id: Some(project.clone()),
        name: "for a moment".to_owned(),
        scope: Scope::Read,
        expires_at: None,
    };
    let started = Instant::now();
    let made = store.create_key(new).await.map_err(|error| format!("a key could not be made: {error}"))?;
    writes.add(started.elapsed());
    let (record, key) = made.ok_or("a key could not be made: no project")?;
    let look = request("GET", path, key.reveal(), &[], None);
    let broke = |error| format!("a request with a new key broke: {error}");
    match connection.exchange(&look).await.map_err(broke)?.status {
        200 => {}
        status => return Err(format!("a new key was answered with {status}")),
    }
    let started = Instant::now();
    store.revoke_key(&record.id).await.map_err(|error| format!("a key could not be revoked: {error}"))?;
    writes.add(started.elapsed());
    match connection.exchange(&look).await.map_err(broke)?.status {
        401 => Ok(()),
        status => Err(format!("a revoked key was answered with {status}")),
    }
}
