use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, Response};
use axum::routing::post;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::jobs::{Caller, model_settings};
use super::jobs_sample::{Change, model, repository};
use crate::args::{program, seconds};
use crate::connection::{Connection, request};
use crate::figures::{Latencies, millis, thousands};
use crate::process::{Installation, megabytes};

/// How much memory jobs take that wait for a slow model, and how fast the server is meanwhile.
#[derive(Debug, Clone, clap::Args)]
pub struct WaitingOptions {
    /// The program `copydesk`.
    #[arg(long, value_parser = program)]
    pub binary: PathBuf,
    /// How many jobs wait at once.
    #[arg(long, default_value_t = 1000)]
    pub jobs: usize,
    /// For how long others are created and read meanwhile.
    #[arg(long = "seconds", value_parser = seconds, default_value = "15")]
    pub time: Duration,
}

const PAGES: usize = 2_000;
/// Where the model is asked.
const PATH: &str = "/v1/chat/completions";
/// Reads of waiting jobs for each job that is created.
const READS: usize = 10;
/// A creation and its reads begin so often.
const EVERY: Duration = Duration::from_millis(20);
/// How long all jobs together may take to come to the model, and later to their ends.
const PATIENCE: Duration = Duration::from_secs(600);

/// Lets many jobs wait for a slow model in one process, prints what that takes and how others fare meanwhile, and lets
/// them all come to their ends.
pub async fn bench_waiting(options: &WaitingOptions) {
    let (repository, model) = (repository(PAGES), model(PAGES).await);
    let gate = Gate::start(model.url()).await;
    let folder = tempfile::tempdir().unwrap();
    let mut settings = model_settings(&gate.url);
    settings.push(("COPYDESK_RUNNER__WORKERS", options.jobs.to_string()));
    settings.push(("COPYDESK_LIMITS__RUNNING_PER_PROJECT", "0".to_owned()));
    settings.push(("COPYDESK_MODEL__SILENCE", "30m".to_owned()));
    let installation = Installation { binary: &options.binary, folder: folder.path(), settings };
    let (jobs, others) = (installation.project("Docs", &repository.address()), installation.project("Other", "/none"));
    let key = installation.key();
    let (server, _) = installation.serve().await;
    let caller = Caller { address: server.address, jobs, key };
    let idle = server.resident();

    let started = Instant::now();
    let mut ids = Vec::new();
    for number in 0..options.jobs {
        ids.push(caller.create(&Change::new(number, PAGES).prompt()).await);
    }
    gate.until_waiting(options.jobs).await;
    let arrived = started.elapsed();
    let spent = server.processor_time();
    let (creations, reads) = load(options.time, &Caller { jobs: others, ..caller.clone() }, &caller, &ids).await;
    let busy = server.processor_time().0 - spent.0;
    println!(
        "waiting, {} jobs at once on a slow model, all there after {:.1} s: memory {} (idle {}), peak {}; processor \
         {:.0} % of a core with the load",
        thousands(options.jobs as u64),
        arrived.as_secs_f64(),
        megabytes(server.resident()),
        megabytes(idle),
        megabytes(server.peak()),
        100.0 * busy.as_secs_f64() / options.time.as_secs_f64(),
    );
    let words = |times: &Latencies| {
        format!("{} times, p50 {}, p99 {}", times.count(), millis(times.within(0.5)), millis(times.within(0.99)))
    };
    println!("waiting, others meanwhile: create {}; read {}", words(&creations), words(&reads));

    let opened = Instant::now();
    gate.open();
    for id in &ids {
        let job = ended(&caller, id).await;
        assert_eq!(job["outcome"], "pr_created", "{job:#}");
    }
    let seconds = opened.elapsed().as_secs_f64();
    println!(
        "waiting, let go: all completed with a pull request after {seconds:.1} s, {:.1} jobs/s; peak memory {}",
        options.jobs as f64 / seconds,
        megabytes(server.peak()),
    );
}

/// Creates jobs for `others` and reads waiting ones, over one connection, at a steady pace.
async fn load(time: Duration, others: &Caller, caller: &Caller, ids: &[String]) -> (Latencies, Latencies) {
    let mut connection = Connection::open(caller.address).await.unwrap();
    // A job that does nothing, so that it is soon done when there are workers again.
    let body = json!({"prompt": "Fix typos", "model": "noop"}).to_string();
    let create = request("POST", &others.jobs, &others.key, &[], Some(&body));
    let (mut creations, mut reads) = (Latencies::default(), Latencies::default());
    let mut pace = tokio::time::interval(EVERY);
    let until = Instant::now() + time;
    let mut next = ids.iter().cycle();
    while Instant::now() < until {
        pace.tick().await;
        creations.add(timed(&mut connection, &create, 201).await);
        for id in next.by_ref().take(READS) {
            let read = request("GET", &format!("{}/{id}", caller.jobs), &caller.key, &[], None);
            reads.add(timed(&mut connection, &read, 200).await);
        }
    }
    (creations, reads)
}

async fn timed(connection: &mut Connection, request: &[u8], status: u16) -> Duration {
    let started = Instant::now();
    let reply = connection.exchange(request).await.unwrap();
    assert_eq!(reply.status, status, "{}", String::from_utf8_lossy(reply.body));
    started.elapsed()
}

async fn ended(caller: &Caller, id: &str) -> serde_json::Value {
    let give_up = Instant::now() + PATIENCE;
    loop {
        let job = caller.job(id).await;
        if job["status"] != "active" {
            return job;
        }
        assert!(Instant::now() < give_up, "{job:#}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Stands before a model and lets nobody through until it is opened.
struct Gate {
    url: String,
    waiting: Arc<AtomicUsize>,
    opened: watch::Sender<bool>,
}

#[derive(Clone)]
struct Keeper {
    model: String,
    http: reqwest::Client,
    waiting: Arc<AtomicUsize>,
    opened: watch::Receiver<bool>,
}

impl Gate {
    async fn start(model: &str) -> Self {
        let (opened, receiver) = watch::channel(false);
        let waiting = Arc::new(AtomicUsize::new(0));
        let http = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
        let keeper = Keeper { model: model.to_owned(), http, waiting: waiting.clone(), opened: receiver };
        let router = Router::new().route(PATH, post(pass)).with_state(keeper);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async { axum::serve(listener, router).await });
        Self { url, waiting, opened }
    }

    /// Waits until so many stand before it.
    async fn until_waiting(&self, count: usize) {
        let give_up = Instant::now() + PATIENCE;
        while self.waiting.load(SeqCst) < count {
            assert!(Instant::now() < give_up, "only {} jobs have come to the model", self.waiting.load(SeqCst));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn open(&self) {
        self.opened.send_replace(true);
    }
}

async fn pass(State(mut keeper): State<Keeper>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    keeper.waiting.fetch_add(1, SeqCst);
    // The sender lives as long as the run.
    let _ = keeper.opened.wait_for(|opened| *opened).await;
    let mut call = keeper.http.post(format!("{}{PATH}", keeper.model)).body(body);
    for name in [AUTHORIZATION, CONTENT_TYPE] {
        if let Some(value) = headers.get(&name) {
            call = call.header(&name, value);
        }
    }
    let answer = call.send().await.unwrap();
    let mut response = Response::builder().status(answer.status());
    if let Some(kind) = answer.headers().get(CONTENT_TYPE) {
        response = response.header(CONTENT_TYPE, kind);
    }
    response.body(Body::from(answer.bytes().await.unwrap())).unwrap()
}
