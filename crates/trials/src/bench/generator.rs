use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::connection::Connection;
use crate::figures::{Latencies, Measured};

/// Sends one request again and again over many connections, from a thread of its own with a runtime of its own, so
/// that it shares nothing with the server but the machine. Fails if an answer is not `status`.
pub(super) fn generate(
    address: SocketAddr,
    request: Vec<u8>,
    status: u16,
    connections: usize,
    time: Duration,
) -> Measured {
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(run(address, request.into(), status, connections, time))
    });
    thread.join().unwrap()
}

async fn run(address: SocketAddr, request: bytes::Bytes, status: u16, connections: usize, time: Duration) -> Measured {
    let mut open = Vec::new();
    for _ in 0..connections {
        open.push(Connection::open(address).await.unwrap());
    }
    let started = Instant::now();
    let until = started + time;
    let mut clients = JoinSet::new();
    for connection in open {
        clients.spawn(repeat(connection, request.clone(), status, until));
    }
    let mut measured = Measured::default();
    for latencies in clients.join_all().await {
        measured.latencies.join(latencies);
    }
    measured.time = started.elapsed();
    measured
}

async fn repeat(mut connection: Connection, request: bytes::Bytes, status: u16, until: Instant) -> Latencies {
    let mut latencies = Latencies::default();
    let mut before = Instant::now();
    while before < until {
        let reply = connection.exchange(&request).await.unwrap();
        assert_eq!(reply.status, status, "{}", String::from_utf8_lossy(reply.body));
        let after = Instant::now();
        latencies.add(after - before);
        before = after;
    }
    latencies
}
