use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use copydesk_domain::SystemClock;
use copydesk_store::{QueueTerms, Store};
use copydesk_testkit::{Backend, TestDatabase};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use crate::args::program;
use crate::connection::{Connection, request};
use crate::figures::{Latencies, millis, thousands};
use crate::process::Installation;

/// How many jobs a second processes with workers run from one PostgreSQL, how soon one of many idle ones takes a job, and how
/// long the look for a job takes in a long queue.
#[derive(Debug, Clone, clap::Args)]
pub struct WorkersOptions {
    /// The program `copydesk`.
    #[arg(long, value_parser = program)]
    pub binary: PathBuf,
    /// How many processes there are, one figure after the other.
    #[arg(long, value_delimiter = ',', default_value = "1,4,16,50")]
    pub processes: Vec<usize>,
    /// How many jobs each process runs at a time. The program's own default.
    #[arg(long, default_value_t = 2)]
    pub workers: usize,
    /// How often each figure is measured, in turns, so that whatever else the machine does falls on all.
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
    /// Jobs in each run.
    #[arg(long, default_value_t = 4000)]
    pub jobs: usize,
    /// How long a commit takes longer than it does here, in milliseconds.
    #[arg(long, default_value_t = 0)]
    pub sync: u32,
    /// Processes that wait for a job, for the time until one takes it; none if 0.
    #[arg(long, default_value_t = 100)]
    pub idle: usize,
    /// Only the look in a long queue.
    #[arg(long)]
    pub only_look: bool,
}

const PROJECTS: usize = 1_000;
const PATIENCE: Duration = Duration::from_secs(600);
/// Jobs that are created one by one for the idle processes.
const ONE_BY_ONE: usize = 100;

pub async fn bench_workers(options: &WorkersOptions) {
    if !options.only_look {
        let mut speeds = vec![Vec::new(); options.processes.len()];
        for _ in 0..options.rounds {
            for (processes, speeds) in options.processes.iter().zip(&mut speeds) {
                speeds.push(backlog(options, *processes).await);
            }
        }
        for (processes, mut speeds) in options.processes.iter().zip(speeds) {
            speeds.sort_by(f64::total_cmp);
            println!("workers, {processes} processes: median {:.0} jobs/s", speeds[speeds.len() / 2]);
        }
        if options.idle > 0 {
            idle(options).await;
        }
    }
    look().await;
}

/// How many processes listen for jobs.
const LISTENING: &str = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                         AND application_name = 'copydesk wake-ups' AND query <> '' AND state = 'idle'";

/// A database of PostgreSQL with projects, and a connection to it.
struct Desk {
    database: TestDatabase,
    connection: PgConnection,
    folder: tempfile::TempDir,
}

impl Desk {
    /// Prepared by the program that is measured, which may be another version.
    async fn new(options: &WorkersOptions, projects: usize) -> Self {
        let database = TestDatabase::new(Backend::Postgres).await;
        let connection = PgConnection::connect(&database.url()).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut desk = Self { database, connection, folder };
        let installation = desk.installation(&options.binary, options.workers);
        let id = installation.project_id("Docs", "/none");
        desk.run(&format!(
            "INSERT INTO projects SELECT (jsonb_populate_record(p, jsonb_build_object('id', 'p' || n))).* \
             FROM projects p, generate_series(1, {projects}) n WHERE p.id = '{id}'"
        ))
        .await;
        let delay = options.sync * 1000;
        // Each alone: they cannot be part of a transaction.
        desk.run(&format!("ALTER SYSTEM SET commit_delay = {delay}")).await;
        desk.run("ALTER SYSTEM SET commit_siblings = 0").await;
        desk.run("SELECT pg_reload_conf()").await;
        desk
    }

    fn installation<'a>(&'a self, binary: &'a Path, workers: usize) -> Installation<'a> {
        let settings = vec![
            ("COPYDESK_DATABASE_URL", self.database.url()),
            ("COPYDESK_RUNNER__WORKERS", workers.to_string()),
            ("COPYDESK_LOG", "warn".to_owned()),
        ];
        Installation { binary, folder: self.folder.path(), settings }
    }

    async fn run(&mut self, sql: &str) {
        sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut self.connection).await.unwrap();
    }

    async fn number(&mut self, sql: &str) -> i64 {
        sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(&mut self.connection).await.unwrap()
    }

    /// Puts so many jobs into the queue, of project `project(n)`.
    async fn queue(&mut self, jobs: usize, project: &str) {
        let now = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint - 60000 + n / 10";
        self.run(&format!(
            "INSERT INTO jobs (id, project_id, status, repository, base_ref, model, draft, open_pull_request, usage, checks, \
             turn, created_at, updated_at, queued_at, not_before, tries, attempt) \
             SELECT 'job-' || lpad(n::text, 8, '0'), {project}, 'active', '/none', 'main', 'noop', 0, 1, '{{}}', '[]', 1, \
             {now}, {now}, {now}, {now}, 0, 0 FROM generate_series(1, {jobs}) n; \
             INSERT INTO messages (job_id, number, project_id, prompt, created_at) \
             SELECT id, 1, project_id, 'Fix typos'::bytea, created_at FROM jobs"
        ))
        .await;
        if self.number("SELECT count(*) FROM pg_tables WHERE tablename = 'lanes'").await > 0 {
            self.run(
                "INSERT INTO lanes (project_id, model, next_at, next_id, turn_at) SELECT DISTINCT ON (project_id) project_id, \
                 model, not_before, id, not_before FROM jobs ORDER BY project_id, not_before, id",
            )
            .await;
        }
        // Only what holds something: an empty table that was analysed is taken for one that stays so.
        self.run("ANALYZE projects, jobs, messages").await;
    }

    async fn transactions(&mut self) -> i64 {
        self.number("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()").await
    }
}

/// Processes that only run jobs. They are stopped when it is dropped.
struct Fleet(Vec<Child>);

impl Fleet {
    fn start(installation: &Installation<'_>, processes: usize) -> Self {
        let start = |at: usize| {
            let mut command = installation.command(&["worker"]);
            // Each is another machine.
            command.env("COPYDESK_DATA_DIR", installation.folder.join(format!("machine-{at}")));
            let secret = installation.folder.join("data/credentials.key");
            if secret.exists() {
                let folder = installation.folder.join(format!("machine-{at}"));
                std::fs::create_dir_all(&folder).unwrap();
                std::fs::copy(secret, folder.join("credentials.key")).unwrap();
            }
            command.stdout(Stdio::null()).spawn().unwrap()
        };
        Self((0..processes).map(start).collect())
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for child in &self.0 {
            let _ = kill_process(Pid::from_child(child), Signal::TERM);
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
    }
}

/// Lets processes run a long queue of jobs of many projects to its end. Gives jobs a second.
async fn backlog(options: &WorkersOptions, processes: usize) -> f64 {
    let mut desk = Desk::new(options, PROJECTS).await;
    desk.queue(options.jobs, &format!("'p' || (1 + n % {PROJECTS})")).await;
    let workers = options.workers;
    let fleet = Fleet::start(&desk.installation(&options.binary, workers), processes);
    let ended = "SELECT count(*) FROM jobs WHERE status <> 'active'";
    let (warm, all) = (options.jobs as i64 / 5, options.jobs as i64);
    let give_up = Instant::now() + PATIENCE;
    let mut began = None;
    let (jobs, time, transactions, connections) = loop {
        let count = desk.number(ended).await;
        match began {
            // Processes that are only starting take the time of those that work.
            None if count >= warm && desk.number(LISTENING).await >= processes as i64 => {
                began = Some((count, Instant::now(), desk.transactions().await))
            }
            Some((first, at, transactions)) if count >= all => {
                let time = at.elapsed();
                let connections =
                    desk.number("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()");
                let connections = connections.await - 1;
                // What a process has counted reaches the figures of the server within a second or so.
                tokio::time::sleep(Duration::from_secs(2)).await;
                break (count - first, time, desk.transactions().await - transactions, connections);
            }
            _ => {}
        }
        assert!(Instant::now() < give_up, "only {count} jobs have ended");
        assert!(began.is_some() || count < all, "all jobs have ended before all processes were there: use --jobs");
        // Seldom, because the look takes time of those that work.
        tokio::time::sleep(Duration::from_millis(250)).await;
    };
    drop(fleet);
    let failed = desk.number("SELECT count(*) FROM jobs WHERE status <> 'completed'").await;
    assert_eq!(failed, 0, "all jobs end well");
    let speed = jobs as f64 / time.as_secs_f64();
    println!(
        "workers, {processes} processes of {workers}, sync {} ms more: {speed:.0} jobs/s, {:.1} transactions a job, \
         {connections} connections",
        options.sync,
        transactions as f64 / jobs as f64,
    );
    desk.database.destroy().await;
    speed
}

/// Creates jobs one by one while many processes wait for one.
async fn idle(options: &WorkersOptions) {
    let mut desk = Desk::new(options, 1).await;
    desk.run("CREATE EXTENSION IF NOT EXISTS pg_stat_statements").await;
    let installation = desk.installation(&options.binary, 0);
    let key = installation.key();
    let (server, _) = installation.serve().await;
    let fleet = Fleet::start(&desk.installation(&options.binary, 1), options.idle);
    let give_up = Instant::now() + PATIENCE;
    while desk.number(LISTENING).await < options.idle as i64 {
        assert!(Instant::now() < give_up, "not all processes listen");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    // They have found nothing by then, and sleep.
    tokio::time::sleep(Duration::from_secs(15)).await;
    let claims = "SELECT COALESCE(sum(calls), 0)::bigint FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid \
                  WHERE d.datname = current_database() AND query LIKE '%FROM lanes l CROSS JOIN LATERAL%'";
    let before = desk.number(claims).await;
    let body = json!({"prompt": "Fix typos", "model": "noop"}).to_string();
    let create = request("POST", "/v2/agent/p1/job", &key, &[], Some(&body));
    let mut connection = Connection::open(server.address).await.unwrap();
    for _ in 0..ONE_BY_ONE {
        let reply = connection.exchange(&create).await.unwrap();
        assert_eq!(reply.status, 201, "{}", String::from_utf8_lossy(reply.body));
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    let waited =
        "SELECT e.created_at - j.created_at FROM jobs j JOIN events e ON e.job_id = j.id AND e.kind = 'claimed'";
    let waited: Vec<i64> = sqlx::query_scalar(waited).fetch_all(&mut desk.connection).await.unwrap();
    assert_eq!(waited.len(), ONE_BY_ONE, "each was claimed once");
    let mut times = Latencies::default();
    for millis in waited {
        times.add(Duration::from_millis(u64::try_from(millis).unwrap_or(0)));
    }
    let claims = desk.number(claims).await - before;
    println!(
        "workers, {} idle processes: a job is claimed after p50 {}, p99 {}, by {:.1} claims",
        options.idle,
        millis(times.within(0.5)),
        millis(times.within(0.99)),
        claims as f64 / ONE_BY_ONE as f64,
    );
    drop((fleet, server));
    desk.database.destroy().await;
}

/// Looks for a job among many projects while many jobs wait behind one that is full.
async fn look() {
    let database = TestDatabase::new(Backend::Postgres).await;
    let store = database.store(Arc::new(SystemClock)).await;
    let folder = tempfile::tempdir().unwrap();
    let connection = PgConnection::connect(&database.url()).await.unwrap();
    let mut desk = Desk { database, connection, folder };
    let (projects, jobs) = (10_000, 50_000);
    desk.run(&format!(
        "INSERT INTO projects (id, name, repository, base_ref, docs_paths, time_zone, created_at, updated_at) \
         SELECT 'p' || n, 'Docs', '/none', 'main', '[]', 'UTC', 0, 0 FROM generate_series(1, {projects}) n"
    ))
    .await;
    desk.queue(jobs, "'p1'").await;
    desk.run(
        "UPDATE jobs SET worker = 'w', lease_expires_at = not_before + 86400000, attempt = 1 WHERE id IN \
         (SELECT id FROM jobs ORDER BY id LIMIT 4); ANALYZE jobs, lanes",
    )
    .await;
    let terms = QueueTerms {
        lease: Duration::from_secs(60),
        running_per_project: 4,
        job_time: Duration::from_secs(1800),
        queue_time: Duration::from_secs(86_400),
        attempts: 3,
        host_wait: Duration::ZERO,
    };
    let mut times = Latencies::default();
    for _ in 0..500 {
        let started = Instant::now();
        assert!(!has_work(&store, &terms).await, "the project is full");
        times.add(started.elapsed());
    }
    println!(
        "workers, a look with {} projects and {} jobs behind a full one: p50 {}, p99 {}",
        thousands(projects),
        thousands(jobs as u64),
        millis(times.within(0.5)),
        millis(times.within(0.99)),
    );
    drop(store);
    desk.database.destroy().await;
}

async fn has_work(store: &Store, terms: &QueueTerms) -> bool {
    store.has_work(&["noop".to_owned()], terms).await.unwrap()
}
