//! The load run: a real server, many clients that do everything at once, and a command line beside them that makes
//! and revokes keys. Afterwards the books must balance.

mod check;
mod client;
mod keys;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use copydesk_domain::{Repository, Scope, SystemClock};
use copydesk_server::runner::{Engine, Runner};
use copydesk_server::{App, Metrics, Served, api, keep_up, serve};
use copydesk_store::{NewKey, NewProject, Store};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::figures::{Latencies, Measured, millis, thousands};
use crate::torture::{Journal, MODEL, RecordingEngine, settings, terms};
use crate::{Backend, TestDatabase};

use client::Client;

/// How a load run goes.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// On which database.
    pub backend: Backend,
    /// For how long.
    pub time: Duration,
    /// How many clients at a time.
    pub clients: usize,
}

/// How many jobs are worked on at a time.
const WORKERS: usize = 4;

/// What the clients know of each other.
struct Desk {
    address: SocketAddr,
    project: String,
    key: String,
    until: Instant,
    book: std::sync::Mutex<check::Book>,
}

/// Runs it, prints what came out, and says whether all was well.
pub async fn run_load(options: LoadOptions) -> bool {
    let database = TestDatabase::new(options.backend).await;
    let folder = tempfile::tempdir().unwrap();
    let store = database.store(Arc::new(SystemClock)).await;
    let (project, key) = create_project(&store).await;

    let app = App::new(store.clone(), settings(MODEL), Metrics::new());
    let engine: Arc<dyn Engine> = Arc::new(RecordingEngine {
        journal: Journal::open(&folder.path().join("journal")).unwrap(),
        shortest: Duration::ZERO,
        longest: Duration::from_millis(50),
        seldom: Duration::from_millis(200),
    });
    let runner = Runner::new(app.clone(), vec![engine], terms(Duration::from_secs(10)));
    let runner = tokio::spawn(runner.run(WORKERS));
    let upkeep = tokio::spawn(keep_up(app.clone()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let served = tokio::spawn(serve(app.clone(), api::router(app.clone()), listener));

    let until = Instant::now() + options.time;
    let desk = Arc::new(Desk { address, project, key, until, book: std::sync::Mutex::default() });
    let started = Instant::now();
    let mut clients = JoinSet::new();
    for _ in 0..options.clients {
        clients.spawn(Client::new(desk.clone()).run());
    }
    // The store of another process.
    let keys = tokio::spawn(keys::make_and_revoke(database.open(Arc::new(SystemClock)).await, desk.clone()));
    let latencies = clients.join_all().await;
    let keys = keys.await.unwrap();
    let mut measured = Measured { time: started.elapsed(), ..Measured::default() };
    latencies.into_iter().for_each(|some| measured.latencies.join(some));

    let drained = check::drained(&store).await;
    app.stop();
    let stopped = tokio::time::timeout(Duration::from_secs(15), async { tokio::join!(served, runner, upkeep) }).await;
    let mut book = std::mem::take(&mut *desk.book.lock().unwrap());
    book.wrong.extend(drained.err());
    match stopped {
        Ok((Ok(Served::Finished), Ok(()), Ok(()))) => {}
        other => book.wrong.push(format!("the server did not stop as asked: {other:?}")),
    }
    book.balance(&store, &desk.project).await;
    report(&options, &book, &measured, &keys);
    book.wrong.is_empty()
}

async fn create_project(store: &Store) -> (String, String) {
    let new = NewProject {
        id: None,
        name: "Load".to_owned(),
        repository: Repository::from_stored("https://example.com/docs".to_owned()),
        base_ref: "main".to_owned(),
        docs_paths: vec![".".to_owned()],
        time_zone: "UTC".to_owned(),
        jobs_per_hour: Some(0),
        max_running: Some(0),
        time_limit_seconds: None,
    };
    let project = store.create_project(new).await.unwrap().unwrap().id;
    let new =
        NewKey { project_id: Some(project.clone()), name: "load".to_owned(), scope: Scope::Write, expires_at: None };
    let (_, key) = store.create_key(new).await.unwrap().unwrap();
    (project, key.reveal().to_owned())
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
