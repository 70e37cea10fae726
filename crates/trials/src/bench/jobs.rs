use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use copydesk_testkit::GitRepo;
use copydesk_testkit::model::{KEY, ModelServer, OPENAI_MODEL};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::jobs_git::BareGit;
use super::jobs_peers::{Peers, Rivals};
use super::jobs_sample::{Change, model, repository};
use crate::args::program;
use crate::connection::{Connection, request};
use crate::figures::{Latencies, millis, thousands};
use crate::process::{Installation, Server, megabytes};

/// How long a job of one edit takes with a model that answers at once, beside bare git and other agents.
#[derive(Debug, Clone, clap::Args)]
pub struct JobsOptions {
    /// The program `copydesk`.
    #[arg(long, value_parser = program)]
    pub binary: PathBuf,
    /// How many jobs in each of the two repositories.
    #[arg(long, default_value_t = 30)]
    pub times: usize,
    #[command(flatten)]
    pub peers: Option<Peers>,
}

/// Pages of the small repository and of the large one.
const SMALL: usize = 2_000;
const LARGE: usize = 50_000;

/// Other agents take seconds.
const MOST_RIVAL_RUNS: usize = 10;

/// How long a job may take before something is wrong.
const PATIENCE: Duration = Duration::from_secs(60);

/// Measures a job of one edit from its creation to its end, in a small repository and in a large one, beside the bare
/// git commands that write the same commit and push it. They take turns, so that whatever else the machine does falls
/// on all of them.
pub async fn bench_jobs(options: &JobsOptions) {
    let mut small = Subject::new(options, SMALL).await;
    let mut large = Subject::new(options, LARGE).await;
    for number in 1..=options.times {
        for subject in [&mut small, &mut large] {
            subject.run_job(number).await;
            subject.run_git(number);
        }
    }
    small.report();
    large.report();
    let (job, bare, job_large) = (small.jobs.within(0.5), small.git.within(0.5), large.jobs.within(0.5));
    println!("jobs ratio: {:.2} times bare git at {} pages (at most 2)", ratio(job, bare), thousands(SMALL as u64));
    println!(
        "jobs ratio: {:.2} times bare git at {} pages; {:.2} times the job at {} pages (at most 1.5)",
        ratio(job_large, large.git.within(0.5)),
        thousands(LARGE as u64),
        ratio(job_large, job),
        thousands(SMALL as u64),
    );
    if let Some(peers) = &options.peers {
        compare(&mut small, peers, options.times).await;
    }
}

/// Measures other agents, and jobs again, in turns.
async fn compare(small: &mut Subject, peers: &Peers, times: usize) {
    let mut rivals = Rivals::new(peers, &small.repository, SMALL).await;
    // The first runs read the programs from the disk and fill their caches; not counted.
    let warm_up = Change::new(0, SMALL);
    rivals.codex.warm_up(&warm_up);
    rivals.aider.warm_up(&warm_up);
    small.jobs = Latencies::default();
    for number in 1..=times.min(MOST_RIVAL_RUNS) {
        let change = Change::new(number, SMALL);
        rivals.codex.run(&change);
        rivals.aider.run(&change);
        small.run_job(times + number).await;
    }
    let fastest = rivals.codex.report().min(rivals.aider.report());
    let job = small.jobs.within(0.5);
    println!("jobs beside them, push and pull request included: median {}", millis(job));
    println!("jobs ratio: {:.3} of the faster of the two (at most 0.25)", ratio(job, fastest));
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// A repository, the server that works on it, and the clone that bare git works in.
struct Subject {
    pages: usize,
    server: Server,
    caller: Caller,
    bare: BareGit,
    repository: GitRepo,
    jobs: Latencies,
    git: Latencies,
    /// What the server had used up when it was warm.
    spent: (Duration, Duration),
    _model: ModelServer,
    _folder: TempDir,
}

impl Subject {
    async fn new(options: &JobsOptions, pages: usize) -> Self {
        let (repository, model) = (repository(pages), model(pages).await);
        let folder = tempfile::tempdir().unwrap();
        let settings = model_settings(model.url());
        let installation = Installation { binary: &options.binary, folder: folder.path(), settings };
        let (jobs, key) = (installation.project("Docs", &repository.address()), installation.key());
        let (server, _) = installation.serve().await;
        let caller = Caller { address: server.address, jobs, key };
        let bare = BareGit::new(&repository);
        let mut subject = Self {
            pages,
            server,
            caller,
            bare,
            repository,
            jobs: Latencies::default(),
            git: Latencies::default(),
            spent: Default::default(),
            _model: model,
            _folder: folder,
        };
        subject.warm_up().await;
        subject
    }

    /// The first job fetches the whole repository into the mirror; that is said, and not counted.
    async fn warm_up(&mut self) {
        let first = self.run_job(0).await;
        self.run_git(0);
        (self.jobs, self.git) = Default::default();
        self.spent = self.server.processor_time();
        let pages = thousands(self.pages as u64);
        println!("jobs, {pages} pages: the first job, which fetches the repository, took {}", millis(first));
    }

    async fn run_job(&mut self, number: usize) -> Duration {
        let change = Change::new(number, self.pages);
        let started = Instant::now();
        let id = self.caller.create(&change.prompt()).await;
        self.caller.follow(&id).await;
        let took = started.elapsed();
        self.jobs.add(took);
        let job = self.caller.job(&id).await;
        assert_eq!(job["outcome"], "pr_created", "{job:#}");
        let page = format!("{}:{}", job["branch"].as_str().unwrap(), change.path);
        assert!(self.repository.git(&["cat-file", "blob", &page]).contains(&change.new), "{job:#}");
        took
    }

    fn run_git(&mut self, number: usize) {
        let change = Change::new(number, self.pages);
        let started = Instant::now();
        self.bare.change(&change);
        self.git.add(started.elapsed());
    }

    fn report(&self) {
        let count = u32::try_from(self.jobs.count()).unwrap();
        let (own, children) = self.server.processor_time();
        let words =
            |times: &Latencies| format!("median {}, worst {}", millis(times.within(0.5)), millis(times.within(1.0)));
        println!(
            "jobs, {} pages, {count} jobs of one edit, from creation to completed: {}; bare git: {}; processor time a \
             job: {} own, {} git; peak memory {}",
            thousands(self.pages as u64),
            words(&self.jobs),
            words(&self.git),
            millis((own - self.spent.0) / count),
            millis((children - self.spent.1) / count),
            megabytes(self.server.peak()),
        );
    }
}

/// The settings that make the server use a scripted model.
pub(super) fn model_settings(url: &str) -> Vec<(&'static str, String)> {
    [
        ("COPYDESK_MODEL__PROVIDER", "openai"),
        ("COPYDESK_MODEL__NAME", OPENAI_MODEL),
        ("COPYDESK_MODEL__BASE_URL", &format!("{url}/v1/")),
        ("COPYDESK_MODEL__API_KEY", KEY),
    ]
    .map(|(name, value)| (name, value.to_owned()))
    .into()
}

/// Who creates jobs and waits for them.
#[derive(Clone)]
pub(super) struct Caller {
    pub(super) address: SocketAddr,
    /// The path of the project's jobs.
    pub(super) jobs: String,
    pub(super) key: String,
}

impl Caller {
    /// Creates a job and gives its id.
    pub(super) async fn create(&self, prompt: &str) -> String {
        let body = json!({"prompt": prompt}).to_string();
        let create = request("POST", &self.jobs, &self.key, &[], Some(&body));
        self.exchange(&create, 201).await["id"].as_str().unwrap().to_owned()
    }

    pub(super) async fn job(&self, id: &str) -> Value {
        self.exchange(&request("GET", &format!("{}/{id}", self.jobs), &self.key, &[], None), 200).await
    }

    async fn exchange(&self, request: &[u8], status: u16) -> Value {
        let mut connection = Connection::open(self.address).await.unwrap();
        let reply = connection.exchange(request).await.unwrap();
        assert_eq!(reply.status, status, "{}", String::from_utf8_lossy(reply.body));
        serde_json::from_slice(reply.body).unwrap()
    }

    /// Reads the stream of a job's events until it says that the job has ended.
    async fn follow(&self, id: &str) {
        let path = format!("{}/{id}/events", self.jobs);
        let ask = request("GET", &path, &self.key, &[("accept", "text/event-stream")], None);
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(&ask).await.unwrap();
        let mut read = Vec::new();
        let ended = async {
            while !["event: completed\n", "event: failed\n"].iter().any(|end| holds(&read, end.as_bytes())) {
                assert_ne!(stream.read_buf(&mut read).await.unwrap(), 0, "{}", String::from_utf8_lossy(&read));
            }
        };
        tokio::time::timeout(PATIENCE, ended).await.expect("a job has not ended in time");
    }
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
