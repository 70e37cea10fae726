//! Connections that send requests which were made beforehand.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::events::Ready;
use crate::connection::Connection;
use crate::figures::{Latencies, Measured};

/// Sends requests from so many connections, at a pace if there is one, for so long.
///
/// What was measured, and how many events the server has said to have.
pub(super) async fn send(
    address: SocketAddr,
    ready: Vec<Ready>,
    connections: usize,
    pace: Option<u32>,
    time: Duration,
    ids: Arc<AtomicU64>,
) -> (Measured, u64) {
    let mut open = Vec::new();
    for _ in 0..connections {
        open.push(Connection::open(address).await.unwrap());
    }
    let started = Instant::now();
    let mut senders = JoinSet::new();
    for (number, connection) in open.into_iter().enumerate() {
        // Each has a part of the requests for itself.
        let own = ready.iter().skip(number).step_by(connections).cloned().collect();
        let pace = pace.map(|pace| Pace {
            next: started + Duration::from_secs(1) * number as u32 / pace,
            every: Duration::from_secs(1) * connections as u32 / pace,
        });
        senders.spawn(repeat(connection, own, pace, started + time, ids.clone()));
    }
    let (mut measured, mut accepted) = (Measured::default(), 0);
    for (latencies, events) in senders.join_all().await {
        measured.latencies.join(latencies);
        accepted += events;
    }
    measured.time = started.elapsed();
    (measured, accepted)
}

/// When a connection may send.
struct Pace {
    next: Instant,
    every: Duration,
}

impl Pace {
    async fn wait(&mut self) {
        tokio::time::sleep_until(self.next.into()).await;
        self.next += self.every;
    }
}

async fn repeat(
    mut connection: Connection,
    mut ready: Vec<Ready>,
    mut pace: Option<Pace>,
    until: Instant,
    ids: Arc<AtomicU64>,
) -> (Latencies, u64) {
    let (mut latencies, mut accepted, mut sent) = (Latencies::default(), 0, 0);
    while Instant::now() < until {
        if let Some(pace) = &mut pace {
            pace.wait().await;
        }
        let number = sent % ready.len();
        let request = &mut ready[number];
        sent += 1;
        let mut next = ids.fetch_add(request.events, Ordering::Relaxed);
        request.renew_ids(&mut next);
        let before = Instant::now();
        let reply = connection.exchange(&request.bytes).await.unwrap();
        latencies.add(before.elapsed());
        // Cheaper than to read it: all or nothing of a batch is right.
        let all = format!("{{\"accepted\":{},", request.events);
        assert!(
            reply.status == 200 && reply.body.starts_with(all.as_bytes()),
            "{} {}",
            reply.status,
            String::from_utf8_lossy(reply.body)
        );
        accepted += request.events;
    }
    (latencies, accepted)
}
