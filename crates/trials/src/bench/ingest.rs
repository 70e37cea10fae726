//! How many events a second are taken in and on disk, and how fast questions are answered meanwhile.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use copydesk_domain::{Clock, SystemClock};
use serde_json::Value;

use super::events::{Maker, Ready};
use super::sample::Sample;
use super::senders::send;
use super::views::settings;
use crate::args::{program, seconds};
use crate::connection::{Connection, request};
use crate::figures::{Latencies, Measured, millis, thousands};
use crate::process::{Installation, megabytes};

/// How many events a second are taken in and durable, and how fast questions are answered meanwhile.
#[derive(Debug, Clone, clap::Args)]
pub struct IngestOptions {
    /// The program `copydesk`.
    #[arg(long, value_parser = program)]
    pub binary: PathBuf,
    /// For how long each way of sending is measured.
    #[arg(long = "seconds", value_parser = seconds, default_value = "10")]
    pub time: Duration,
    /// Views that are there before.
    #[arg(long, default_value_t = 5_000_000)]
    pub views: u64,
    /// Of how many pages.
    #[arg(long, default_value_t = 10_000)]
    pub paths: usize,
}

/// Events in a batch, and connections that send them.
const BATCH: usize = 1000;
const BATCHERS: usize = 8;
/// Connections that send one event at a time.
const SINGLES: usize = 256;
/// Different batches and different single events.
const BATCHES: usize = 64;
const EVENTS: usize = 8192;
/// How long nobody asks after an answer.
const PAUSE: Duration = Duration::from_millis(5);
const WARM_UP: Duration = Duration::from_secs(2);

/// A way of sending.
struct Way {
    name: &'static str,
    ready: Vec<Ready>,
    connections: usize,
    /// Requests a second; none: as many as there can be.
    pace: Option<u32>,
}

/// Sends events in batches and one by one to a server that has a year of views already, while somebody asks it about
/// them, and prints both. Fails unless in the end every event was counted.
pub async fn bench_ingest(options: &IngestOptions) {
    let folder = tempfile::tempdir().unwrap();
    let installation = Installation { binary: &options.binary, folder: folder.path(), settings: settings() };
    // People are counted on both channels: the sample has them from the script, and events are the server's.
    let flags =
        ["project", "create", "--name", "views", "--repository", "https://example.com/docs", "--base-ref", "main"];
    let made = installation.ask(&[&flags[..], &["--people-from", "both", "--machines-from", "both"]].concat());
    let project = made["id"].as_str().unwrap();
    let key = installation.key();
    let sample = Sample::new(options.views, options.paths);
    super::views::append(&sample, &folder.path().join("data/views"), project).await;

    let (server, _) = installation.serve().await;
    let now = SystemClock.now().as_millis() / 1000;
    let maker = Maker { sample: &sample, project, key: &key, now };
    let asked = request("GET", &format!("/v1/analytics/{project}/views?limit=50"), &key, &[], None);
    let ways = ways(&maker);
    let (mut sent, mut next_id) = (sample.views, 0);
    for way in ways {
        measure(&way, server.address, &asked, WARM_UP, &mut sent, &mut next_id);
        let before = server.processor_time().0;
        let (events, questions) = measure(&way, server.address, &asked, options.time, &mut sent, &mut next_id);
        let busy = server.processor_time().0 - before;
        println!(
            "ingest, {} over {} connections: {} durable events/s; requests p50 {}, p99 {}; questions meanwhile p50 {}, p99 \
             {}, worst {} ({} of them); server: {:.2} cores, memory {}",
            way.name,
            way.connections,
            thousands((events.rate() * way.ready[0].events as f64) as u64),
            millis(events.latencies.within(0.5)),
            millis(events.latencies.within(0.99)),
            millis(questions.within(0.5)),
            millis(questions.within(0.99)),
            millis(questions.within(1.0)),
            questions.count(),
            busy.as_secs_f64() / events.time.as_secs_f64(),
            megabytes(server.resident()),
        );
    }
    let counted = count(server.address, &asked).await;
    assert_eq!(counted, sent, "every acknowledged event is counted once");
    println!("ingest: all {} views are counted", thousands(counted));
}

/// In batches and one by one, each without ids, with ids, and with ids at the pace that is aimed at: only then does it tell
/// how questions fare, because without a pace whoever sends takes all that there is of the machine.
fn ways(maker: &Maker<'_>) -> [Way; 6] {
    let batches =
        |name, ids, pace| Way { name, ready: maker.requests(BATCHES, BATCH, ids), connections: BATCHERS, pace };
    let singles = |name, ids, pace| Way { name, ready: maker.requests(EVENTS, 1, ids), connections: SINGLES, pace };
    [
        batches("batches of 1,000", false, None),
        batches("batches of 1,000 with ids", true, None),
        batches("batches of 1,000 with ids, 100 a second", true, Some(100)),
        singles("one event a request", false, None),
        singles("one event with an id a request", true, None),
        singles("one event with an id a request, 10,000 a second", true, Some(10_000)),
    ]
}

/// Sends for a while, and asks meanwhile. Both are threads with runtimes of their own.
fn measure(
    way: &Way,
    address: SocketAddr,
    asked: &[u8],
    time: Duration,
    sent: &mut u64,
    next_id: &mut u64,
) -> (Measured, Latencies) {
    let over = Arc::new(AtomicBool::new(false));
    let ids = Arc::new(AtomicU64::new(*next_id));
    let asker = {
        let (over, asked) = (over.clone(), asked.to_vec());
        thread::spawn(move || alone(ask(address, asked, over)))
    };
    let sender = {
        let (ready, ids, connections, pace) = (way.ready.clone(), ids.clone(), way.connections, way.pace);
        thread::spawn(move || alone(send(address, ready, connections, pace, time, ids)))
    };
    let (events, accepted) = sender.join().unwrap();
    over.store(true, Ordering::SeqCst);
    *sent += accepted;
    *next_id = ids.load(Ordering::SeqCst);
    (events, asker.join().unwrap())
}

fn alone<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

async fn ask(address: SocketAddr, asked: Vec<u8>, over: Arc<AtomicBool>) -> Latencies {
    let mut connection = Connection::open(address).await.unwrap();
    let mut latencies = Latencies::default();
    while !over.load(Ordering::SeqCst) {
        let before = Instant::now();
        let reply = connection.exchange(&asked).await.unwrap();
        latencies.add(before.elapsed());
        assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(reply.body));
        tokio::time::sleep(PAUSE).await;
    }
    latencies
}

async fn count(address: SocketAddr, asked: &[u8]) -> u64 {
    let mut connection = Connection::open(address).await.unwrap();
    let reply = connection.exchange(asked).await.unwrap();
    let page: Value = serde_json::from_slice(reply.body).unwrap();
    page["totals"]["total"].as_u64().unwrap()
}
