//! The load run: a real server, many clients that do everything at once, and a command line beside them that makes
//! and revokes keys. Afterwards the books must balance.

mod check;
mod client;
mod keys;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use client::Client;
use copydesk_domain::{ProjectId, SystemClock};
use copydesk_testkit::{Backend, TestDatabase};
use tokio::task::JoinSet;

use crate::args::seconds;
use crate::figures::{Latencies, Measured, millis, thousands};
use crate::product::{Product, create_key, create_project, open_store};
use crate::torture::{Journal, MODEL, RecordingEngine};

/// Many clients do everything at once on a real server; afterwards the books must balance.
#[derive(Debug, Clone, clap::Args)]
pub struct LoadOptions {
    /// sqlite, or postgres (on COPYDESK_TEST_POSTGRES).
    #[arg(long = "database")]
    pub backend: Backend,
    /// For how long.
    #[arg(long = "seconds", value_parser = seconds, default_value = "5")]
    pub time: Duration,
    /// How many clients.
    #[arg(long, default_value_t = 32)]
    pub clients: usize,
}

/// How many jobs are worked on at a time.
const WORKERS: usize = 4;

/// What the clients know of each other.
struct Desk {
    address: SocketAddr,
    project: ProjectId,
    key: String,
    until: Instant,
    book: Mutex<check::Book>,
}

/// Runs it, prints what came out, and says whether all was well.
pub async fn run_load(options: LoadOptions) -> bool {
    let database = TestDatabase::new(options.backend).await;
    let folder = tempfile::tempdir().unwrap();
    let store = open_store(&database).await;
    let engine = Arc::new(RecordingEngine {
        journal: Journal::open(&folder.path().join("journal")).unwrap(),
        shortest: Duration::ZERO,
        longest: Duration::from_millis(50),
        seldom: Duration::from_millis(200),
    });
    let product = Product::start(store.clone(), MODEL, engine, WORKERS, Duration::from_secs(10)).await;

    let desk = Arc::new(Desk {
        address: product.address,
        project: create_project(&store, Some(0)).await,
        key: create_key(&store).await,
        until: Instant::now() + options.time,
        book: Mutex::default(),
    });
    let started = Instant::now();
    let mut clients = JoinSet::new();
    for _ in 0..options.clients {
        clients.spawn(Client::new(desk.clone()).run());
    }
    tokio::spawn(check::watch_crowd(store.clone(), desk.clone()));
    // The store of another process.
    let keys = tokio::spawn(keys::make_and_revoke(database.open(Arc::new(SystemClock)).await, desk.clone()));
    let latencies = clients.join_all().await;
    let keys = keys.await.unwrap();
    let mut measured = Measured { time: started.elapsed(), ..Measured::default() };
    latencies.into_iter().for_each(|some| measured.latencies.join(some));

    let drained = check::drained(&store).await;
    let stopped = product.stop().await;
    let mut book = std::mem::take(&mut *desk.book.lock().unwrap());
    book.wrong.extend(drained.err());
    book.wrong.extend(stopped.err());
    book.balance(&store, &desk.project).await;
    report(&options, &book, &measured, &keys);
    book.wrong.is_empty()
}

fn report(options: &LoadOptions, book: &check::Book, measured: &Measured, keys: &Latencies) {
    for wrong in book.wrong.iter().take(50) {
        eprintln!("VIOLATION {wrong}");
    }
    println!(
        "load on {}: {} clients, {} requests: {}, {} jobs, {} of them once for several requests with one key, \
         {} messages, {} cancelled, {} archived, {} keys made and revoked (slowest {}), {} violations",
        options.backend,
        options.clients,
        thousands(measured.latencies.count() as u64),
        measured.in_words("requests"),
        book.created.len(),
        book.replayed(),
        book.messages,
        book.cancelled,
        book.archived.len(),
        keys.count() / 2,
        millis(keys.within(1.0)),
        book.wrong.len(),
    );
}
